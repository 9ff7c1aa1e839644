"""The screen and the kernel joined: the rows of docs/judge.md, and what must hold for all of them."""

from __future__ import annotations

import itertools

import pytest
from attrs import evolve

from stallkit.core.engine import Engine
from stallkit.core.facts import KernelFacts, TtyFacts
from stallkit.core.judge import judge
from stallkit.core.marks import MarksReader
from stallkit.core.screen import Screen
from stallkit.core.signature import Certainty, Clause, Pack, Signature, State
from stallkit.core.verdict import ProcessFacts, Snapshot, Verdict

ENGINE = Engine(
    [
        Pack(
            "acme",
            signatures=[
                Signature("asks", "", "waiting", [Clause("[y/N] ", where="prompt_line")], kind="confirm"),
                Signature("dialog", "", "waiting", ["Choose one", "> first"], kind="select"),
                Signature("busy", "", "working", ["Compiling"]),
                Signature("rests", "", "idle", ["Ask anything"]),
                Signature("shell", "", "ended", [Clause(pattern=r"\$ $", where="prompt_line")]),
            ],
        )
    ]
)
SCREENS = {
    "nothing": "some text",
    "line": "Proceed? [y/N] ",
    "dialog": "Choose one\n> first\n  second",
    "busy": "Compiling",
    "idle": "Ask anything",
    "shell": "dev@box:~$ ",
}
READS = KernelFacts(listening=True, how="read", foreground="acme")
POLLS = KernelFacts(listening=True, how="epoll", foreground="acme")
NOBODY = KernelFacts(listening=False, foreground="acme")
COOKED, RAW, HIDDEN = TtyFacts(True, True), TtyFacts(False, False), TtyFacts(False, True)
UNKNOWN = KernelFacts()


def verdict(
    shown: str,
    kernel: KernelFacts | None,
    tty: TtyFacts | None,
    quiet_s: float | None = 1.0,
    foreground: str | None = "acme",
) -> Verdict:
    text = SCREENS[shown]
    lines = text.split("\n")
    screen = Screen.from_text(text, cursor=(len(lines[-1]), len(lines) - 1))
    look = Snapshot(
        screen=screen, alive=True, process=ProcessFacts(foreground), kernel=kernel, tty=tty, quiet_s=quiet_s
    )
    return judge(ENGINE.detect(screen), look)


@pytest.mark.parametrize(
    ("shown", "kernel", "tty", "quiet_s", "state", "certainty", "kind"),
    [
        # nothing reads the terminal
        ("nothing", NOBODY, COOKED, 1.0, "working", "sure", None),
        ("line", NOBODY, COOKED, 1.0, "working", "maybe", None),
        ("line", NOBODY, RAW, 1.0, "waiting", "maybe", "confirm"),
        ("dialog", NOBODY, COOKED, 1.0, "working", "maybe", None),
        ("dialog", NOBODY, RAW, 1.0, "waiting", "maybe", "select"),
        ("busy", NOBODY, COOKED, 1.0, "working", "sure", None),
        # something polls it in canonical mode: who knows
        ("nothing", POLLS, COOKED, 1.0, "working", "maybe", None),
        ("line", POLLS, COOKED, 1.0, "waiting", "sure", "confirm"),
        # something reads it, and nothing moves
        ("nothing", READS, HIDDEN, 1.0, "waiting", "sure", "secret"),
        ("line", READS, HIDDEN, 1.0, "waiting", "sure", "secret"),
        ("line", READS, COOKED, 1.0, "waiting", "sure", "confirm"),
        ("dialog", POLLS, RAW, 1.0, "waiting", "sure", "select"),
        ("nothing", READS, COOKED, 1.0, "waiting", "maybe", "text"),
        ("nothing", POLLS, RAW, 1.0, "waiting", "maybe", "text"),
        ("nothing", evolve(READS, relay="ssh"), RAW, 1.0, "working", "maybe", None),
        ("busy", READS, COOKED, 1.0, "working", "maybe", None),
        ("idle", POLLS, RAW, 1.0, "idle", "sure", None),
        # something reads it, and the screen changes
        ("nothing", READS, COOKED, 0.0, "working", "maybe", None),
        ("line", READS, COOKED, 0.0, "working", "maybe", None),
        ("dialog", POLLS, RAW, 0.0, "waiting", "sure", "select"),
        # a stopped job
        ("line", evolve(READS, stopped=True), COOKED, 1.0, "unknown", "maybe", None),
        # the kernel is silent, the terminal hides what is typed
        ("line", UNKNOWN, HIDDEN, 1.0, "waiting", "maybe", "secret"),
    ],
)
def test_a_row_of_the_table(
    shown: str,
    kernel: KernelFacts,
    tty: TtyFacts,
    quiet_s: float,
    state: str,
    certainty: str,
    kind: str | None,
) -> None:
    found = verdict(shown, kernel, tty, quiet_s)
    assert (found.state, found.certainty, found.kind) == (state, certainty, kind), found.reasons


def test_a_shells_prompt_needs_a_shell() -> None:
    assert verdict("shell", READS, RAW, foreground="bash").state is State.ENDED
    assert verdict("shell", READS, RAW, foreground="acme").state is State.WAITING


def test_what_make_runs_may_ask() -> None:
    assert verdict("line", READS, COOKED, foreground="make").state is State.WAITING
    assert verdict("line", NOBODY, COOKED, foreground="make").state is State.WORKING
    assert verdict("line", None, None, foreground="make").state is State.WORKING
    assert verdict("line", READS, COOKED, foreground="cat").state is State.WORKING, (
        "whatever cat reads, it asks nothing"
    )


def test_reasons_are_for_a_person() -> None:
    assert "acme waits in read on the terminal for 1.0 s" in verdict("line", READS, COOKED).reasons
    assert any("quoted or answered" in reason for reason in verdict("line", NOBODY, COOKED).reasons)


def reported(report: str, shown: str, foreground: str = "acme", kernel: KernelFacts | None = None) -> Verdict:
    reader = MarksReader()
    reader.feed(f"\x1b]7501;{report}\x1b\\\\".encode(), 0.0)
    text = SCREENS[shown]
    lines = text.split("\n")
    screen = Screen.from_text(text, cursor=(len(lines[-1]), len(lines) - 1))
    look = Snapshot(
        screen=screen,
        process=ProcessFacts(foreground),
        kernel=kernel,
        tty=COOKED if kernel else None,
        marks=reader.marks,
        quiet_s=1.0,
    )
    return judge(ENGINE.detect(screen), look)


@pytest.mark.parametrize(
    ("report", "shown", "state", "certainty", "kind"),
    [
        ("state=blocked:kind=permission", "nothing", "waiting", "sure", "permission"),
        ("state=blocked:kind=auth", "nothing", "waiting", "sure", "login"),
        ("state=blocked:kind=question", "dialog", "waiting", "sure", "select"),
        ("state=blocked", "busy", "waiting", "sure", None),
        ("state=working", "nothing", "working", "sure", None),
        ("state=working", "line", "working", "sure", None),
        ("state=working", "dialog", "waiting", "sure", "select"),
        ("state=idle", "dialog", "waiting", "sure", "select"),
        ("state=idle", "nothing", "idle", "sure", None),
        ("state=done", "busy", "idle", "sure", None),
        ("state=error", "nothing", "idle", "sure", None),
        ("state=nonsense", "line", "waiting", "sure", "confirm"),
    ],
)
def test_what_the_program_reports(report: str, shown: str, state: str, certainty: str, kind: str | None) -> None:
    found = reported(report, shown)
    assert (found.state, found.certainty, found.kind) == (state, certainty, kind), found.reasons


def test_a_report_that_outlived_its_program_only_raises_a_doubt() -> None:
    assert reported("state=working", "shell", "bash").state is State.ENDED
    assert reported("state=working", "shell", "bash").certainty is Certainty.MAYBE
    assert reported("state=done", "shell", "bash").certainty is Certainty.SURE


def test_a_report_that_was_printed_beside_a_fake_prompt_lifts_no_doubt() -> None:
    """Else a file that holds both would have its prompt answered."""
    for shown in ("line", "dialog"):
        found = reported("state=blocked:kind=question", shown, kernel=NOBODY)
        assert (found.state, found.certainty) == (State.WAITING, Certainty.MAYBE)


EVERY = list(
    itertools.product(SCREENS, [None, UNKNOWN, READS, POLLS, NOBODY], [None, COOKED, RAW, HIDDEN], [None, 1.0, 0.0])
)


@pytest.mark.parametrize(("shown", "kernel", "tty", "quiet_s"), EVERY)
def test_unknown_facts_never_decide(
    shown: str, kernel: KernelFacts | None, tty: TtyFacts | None, quiet_s: float | None
) -> None:
    """A kernel that says nothing is no kernel at all, and a verdict always has its reasons."""
    found = verdict(shown, kernel, tty, quiet_s)
    assert found.reasons
    if kernel is UNKNOWN:
        assert found == verdict(shown, None, tty, quiet_s)


@pytest.mark.parametrize(("shown", "kernel", "tty", "quiet_s"), EVERY)
def test_what_nothing_reads_is_never_surely_waiting(
    shown: str, kernel: KernelFacts | None, tty: TtyFacts | None, quiet_s: float | None
) -> None:
    found = verdict(shown, kernel, tty, quiet_s)
    if kernel is NOBODY:
        assert (found.state, found.certainty) != (State.WAITING, Certainty.SURE)
