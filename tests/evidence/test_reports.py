"""What the shell and a progress bar say, joined with screen and kernel: the rows of docs/judge.md."""

from __future__ import annotations

import pytest
from acme import ENGINE, screen

from stallkit.cli.check_commands import arguments
from stallkit.evidence.snapshot import KernelFacts, Member, ProcessFacts, Snapshot, TtyFacts
from stallkit.judging.judge import judge
from stallkit.judging.verdict import Verdict
from stallkit.terminal.marks import MarksReader

READS = KernelFacts(listening=True, how="read")
NOBODY = KernelFacts(listening=False)
COOKED = TtyFacts(True, True)


def said(stream: str, shown: str, foreground: str = "acme", kernel: KernelFacts | None = None) -> Verdict:
    """The verdict on a screen, and on what else was in the stream: OSC codes without their frame."""
    reader = MarksReader()
    for code in stream.split():
        reader.feed(f"\x1b]{code}\x1b\\".encode(), 0.0)
    look = Snapshot(
        screen=screen(shown),
        process=ProcessFacts(foreground),
        kernel=kernel,
        tty=COOKED if kernel else None,
        marks=reader.marks,
        quiet_s=1.0,
    )
    return judge(ENGINE.detect(look.screen), look)


@pytest.mark.parametrize(
    ("stream", "shown", "foreground", "state", "certainty"),
    [
        ("133;A 133;B", "nothing", "zsh", "ended", "maybe"),  # a prompt that no signature knows
        ("133;A 133;B", "nothing", "acme", "waiting", "maybe"),  # a program that prints a shell's marks
        ("133;A 133;B 133;C", "nothing", "zsh", "waiting", "maybe"),
        ("133;A", "nothing", "zsh", "waiting", "maybe"),  # the prompt is not drawn yet
        ("133;A 133;B", "line", "zsh", "waiting", "sure"),  # what a signature knows stands
        ("133;A 133;B 133;C", "shell", "zsh", "ended", "maybe"),  # a transcript
        ("133;A 133;B", "shell", "zsh", "ended", "sure"),
        ("633;A 633;B", "nothing", "fish", "ended", "maybe"),
        ("9;4;1;40", "nothing", "acme", "working", "maybe"),  # it shows progress, and keeps the keyboard open
        ("9;4;3", "nothing", "acme", "working", "maybe"),
        ("9;4;4;40", "nothing", "acme", "waiting", "maybe"),  # paused
        ("9;4;2;40", "nothing", "acme", "waiting", "maybe"),  # failed
        ("9;4;1;40 9;4;0", "nothing", "acme", "waiting", "maybe"),
        ("9;4;1;40", "line", "acme", "waiting", "sure"),  # apt asks with its progress bar shown
        ("9;4;1;40 7501;state=blocked:app=acme", "nothing", "acme", "waiting", "sure"),
    ],
)
def test_progress_and_the_shells_marks(stream: str, shown: str, foreground: str, state: str, certainty: str) -> None:
    found = said(stream, shown, foreground, READS)
    assert (found.state, found.certainty) == (state, certainty), found.reasons


@pytest.mark.parametrize(("canonical", "certainty"), [(False, "sure"), (True, "maybe")])
def test_a_command_that_an_agent_said_runs_is_over_with_it(canonical: bool, certainty: str) -> None:
    """It was killed.  A shell that reads a line for a command of its own does so in canonical mode."""
    shell, agent = Member(7, "bash", "S", started=1, interactive=True), Member(8, "acme", "S", started=2, parent=7)
    before = Snapshot(screen=screen("busy"), kernel=KernelFacts(members=(agent,), complete=True))
    reader = MarksReader()
    reader.feed(b"\x1b]133;C\x07", 0.0)
    how = "read" if canonical else "select"
    facts = KernelFacts(members=(shell,), readers=(shell,), complete=True, listening=True, how=how, foreground="bash")
    tty, process = TtyFacts(echo=canonical, canonical=canonical), ProcessFacts("bash")
    look = Snapshot(screen=screen("shell"), process=process, kernel=facts, tty=tty, marks=reader.marks, quiet_s=1.0)
    found = judge(ENGINE.detect(look.screen), look, (), before)
    assert (found.state, found.certainty, found.ended) == ("ended", certainty, "agent"), found.reasons


def test_a_notice_is_a_reason_to_look_and_no_more() -> None:
    without, told = said("", "line", kernel=READS), said("9;Built", "line", kernel=READS)
    (notice,) = told.signals
    assert (notice.source, notice.words, notice.counts, notice.age_s) == ("notice", "Built", False, None)
    assert notice.says == ("notice", None, None, "Built", None)
    assert (told.state, told.certainty, told.kind) == (without.state, without.certainty, without.kind)


def test_marks_say_what_they_argue_for() -> None:
    reader = MarksReader()
    reader.feed(b"\x1b]133;C\x07\x1b]9;4;1;40\x07", 0.0)
    look = Snapshot(screen=screen("busy"), marks=reader.marks)
    assert [row for row in arguments(look, ENGINE.words) if "OSC" in row[0]] == [
        ("the shell runs a command (OSC 133)", "that the program is still there"),
        ("the program shows progress: normal 40 % (OSC 9;4)", "working"),
    ]
