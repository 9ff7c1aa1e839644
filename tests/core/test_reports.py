"""What the program and the shell say of themselves, joined with screen and kernel: the rows of docs/judge.md."""

from __future__ import annotations

import pytest
from acme import ENGINE, screen

from stallkit.core.facts import KernelFacts, TtyFacts
from stallkit.core.judge import judge
from stallkit.core.marks import MarksReader
from stallkit.core.reports import reported as told
from stallkit.core.signature import Certainty, State
from stallkit.core.verdict import ProcessFacts, Snapshot, Verdict

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


def reported(report: str, shown: str, foreground: str = "acme", kernel: KernelFacts | None = None) -> Verdict:
    return said(f"7501;{report}", shown, foreground, kernel)


@pytest.mark.parametrize(
    ("report", "shown", "state", "certainty", "kind"),
    [
        ("state=blocked:kind=permission", "nothing", "waiting", "sure", "permission"),
        ("state=blocked:kind=auth", "nothing", "waiting", "sure", "login"),
        ("state=blocked:kind=question", "dialog", "waiting", "maybe", "select"),
        ("state=blocked", "busy", "waiting", "sure", None),
        ("state=working", "nothing", "working", "sure", None),
        ("state=working", "line", "working", "sure", None),
        ("state=working", "dialog", "waiting", "maybe", "select"),
        ("state=idle", "dialog", "waiting", "maybe", "select"),
        ("state=idle", "nothing", "idle", "sure", None),
        ("state=done", "busy", "idle", "sure", None),
        ("state=error", "nothing", "idle", "sure", None),
        ("state=nonsense", "line", "waiting", "maybe", "confirm"),
    ],
)
def test_what_the_program_reports(report: str, shown: str, state: str, certainty: str, kind: str | None) -> None:
    found = reported(report, shown)
    assert (found.state, found.certainty, found.kind) == (state, certainty, kind), found.reasons


def test_a_judgement_is_not_said_to_be_the_programs_word() -> None:
    """What a relay of another stallkit judged is no word of the program's, and where it doubts it says nothing."""
    for by, words in (("stallkit", "a relay around the program says blocked"), ("acme", "the program reports blocked")):
        assert any(words in reason for reason in reported(f"state=blocked:by={by}", "nothing").reasons)
    doubted = reported("state=idle:by=stallkit:certainty=maybe", "nothing")
    assert not any("OSC 7501" in reason for reason in doubted.reasons) and doubted.state is State.WORKING


def test_a_report_that_outlived_its_program_only_raises_a_doubt() -> None:
    assert reported("state=working", "shell", "bash", READS).state is State.ENDED
    assert reported("state=working", "shell", "bash", READS).certainty is Certainty.MAYBE
    assert reported("state=done", "shell", "bash", READS).certainty is Certainty.SURE


def test_a_report_that_was_printed_beside_a_fake_prompt_lifts_no_doubt() -> None:
    """Else a file that holds both would have its prompt answered."""
    for shown in ("line", "dialog"):
        found = reported("state=blocked:kind=question", shown, kernel=NOBODY)
        assert (found.state, found.certainty) == (State.WAITING, Certainty.MAYBE)


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
        ("9;4;1;40 7501;state=blocked", "nothing", "acme", "waiting", "sure"),
    ],
)
def test_progress_and_the_shells_marks(stream: str, shown: str, foreground: str, state: str, certainty: str) -> None:
    found = said(stream, shown, foreground, READS)
    assert (found.state, found.certainty) == (state, certainty), found.reasons


def test_marks_say_what_they_argue_for() -> None:
    reader = MarksReader()
    reader.feed(b"\x1b]133;C\x07\x1b]9;4;1;40\x07\x1b]7501;state=working\x07", 0.0)
    assert told(reader.marks) == [
        ("OSC 7501: working", "working"),
        ("the shell runs a command (OSC 133)", "that the program is still there"),
        ("the program shows progress: normal 40 % (OSC 9;4)", "working"),
    ]
    assert told(None) == [("OSC 7501: none", "nothing")]
