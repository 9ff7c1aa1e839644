"""The screen and the kernel joined: the rows of docs/judge.md, and what must hold for all of them."""

from __future__ import annotations

import itertools

import pytest
from acme import ENGINE, SCREENS, screen
from attrs import evolve

from stallkit.detect.engine import Detection
from stallkit.detect.signature import Certainty, State
from stallkit.evidence.snapshot import KernelFacts, Member, ProcessFacts, Snapshot, TtyFacts
from stallkit.judging.judge import judge
from stallkit.judging.verdict import Verdict
from stallkit.terminal.screen import Screen

READS = KernelFacts(listening=True, how="read")
POLLS = KernelFacts(listening=True, how="epoll")
NOBODY = KernelFacts(listening=False)
COOKED, RAW, HIDDEN = TtyFacts(True, True), TtyFacts(False, False), TtyFacts(False, True)
UNKNOWN = KernelFacts()


def verdict(
    shown: str,
    kernel: KernelFacts | None,
    tty: TtyFacts | None,
    quiet_s: float | None = 1.0,
    foreground: str | None = "acme",
) -> Verdict:
    kernel = evolve(kernel, foreground=foreground) if kernel else None
    look = Snapshot(
        screen=screen(shown), alive=True, process=ProcessFacts(foreground), kernel=kernel, tty=tty, quiet_s=quiet_s
    )
    return judge(ENGINE.detect(look.screen), look)


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
        # one that takes single keys may look for one now and then, unless it computes
        ("nothing", NOBODY, RAW, 1.0, "working", "maybe", None),
        ("nothing", evolve(NOBODY, running=1), RAW, 1.0, "working", "sure", None),
        # something polls it in canonical mode: who knows, but for a prompt in the cursor's line
        ("nothing", POLLS, COOKED, 1.0, "working", "maybe", None),
        ("line", POLLS, COOKED, 1.0, "waiting", "sure", "confirm"),
        ("line", POLLS, COOKED, 0.0, "waiting", "maybe", "confirm"),
        ("line", POLLS, HIDDEN, 1.0, "waiting", "maybe", "secret"),
        ("dialog", POLLS, COOKED, 1.0, "waiting", "maybe", "select"),
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
        # nobody asked the kernel
        ("line", None, COOKED, 1.0, "waiting", "maybe", "confirm"),
        ("dialog", None, RAW, 1.0, "waiting", "maybe", "select"),
        ("idle", None, RAW, 1.0, "idle", "maybe", None),
        ("busy", None, RAW, 1.0, "working", "maybe", None),
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


@pytest.mark.parametrize(
    ("shown", "leads", "reads", "state", "who"),
    [
        ("line", "make", "sh", "waiting", "sh"),
        ("shell", "make", "sh", "waiting", "sh"),  # a script that another program started is no shell at its prompt
        ("line", "bash", "node", "waiting", "node"),
        ("line", "bash", "cat", "waiting", "bash"),  # it reads for the script
        ("line", "cat", "sh", "waiting", "sh"),
    ],
)
def test_what_reads_is_who_asks(shown: str, leads: str, reads: str, state: str, who: str) -> None:
    reader = Member(2, reads, "S", interactive=False)
    kernel = evolve(READS, members=(Member(1, leads, "S", interactive=False), reader), readers=(reader,))
    found = verdict(shown, kernel, COOKED, foreground=leads)
    assert found.state == state and any(one.startswith(f"{who} waits in read") for one in found.reasons), found.reasons


def test_what_make_runs_may_ask() -> None:
    assert verdict("line", READS, COOKED, foreground="make").state is State.WAITING
    assert verdict("line", NOBODY, COOKED, foreground="make").state is State.WORKING
    assert verdict("line", None, None, foreground="make").state is State.WORKING
    assert verdict("line", READS, COOKED, foreground="cat").state is State.WORKING, (
        "whatever cat reads, it asks nothing"
    )


@pytest.mark.parametrize(
    ("shown", "column", "kernel", "tty", "foreground", "state"),
    [
        ("acme> go", 8, POLLS, RAW, "acme", "waiting"),
        ("Again?\n", 0, POLLS, RAW, "acme", "waiting"),
        ("  one\n❯ two\n\n", 0, POLLS, RAW, "acme", "waiting"),
        ("acme> go\n", 0, READS, COOKED, "acme", "waiting"),  # whole lines are read without a prompt
        ("acme> go\n", 0, evolve(POLLS, listening=None), RAW, "acme", "working"),
        ("watching files", 14, evolve(POLLS, running=1), RAW, "acme", "working"),
        ("dev@box:~% ls", 13, POLLS, RAW, "bash", "ended"),
        ("Whither", 7, POLLS, RAW, "acme", "waiting"),
    ],
)
def test_what_is_read_without_a_signature(
    shown: str, column: int, kernel: KernelFacts, tty: TtyFacts, foreground: str, state: str
) -> None:
    seen = Screen.from_text(shown, cursor=(column, shown.count("\n")), cursor_visible=True)
    look = Snapshot(screen=seen, process=ProcessFacts(foreground), kernel=kernel, tty=tty, quiet_s=1.0)
    found = judge(Detection(seen), look)
    assert (found.state, found.certainty) == (state, Certainty.MAYBE), found.reasons


def test_a_password_behind_two_relays_is_one() -> None:
    """The first su does not read, and the program in its session is not seen."""
    seen = verdict("line", NOBODY, HIDDEN, foreground="su")
    assert (seen.state, seen.certainty, seen.kind) == ("waiting", "maybe", "secret")
    assert verdict("line", NOBODY, HIDDEN).state is State.WORKING, "who hides and does not read has read it"


def test_reasons_are_for_a_person() -> None:
    assert "acme waits in read on the terminal for 1.0 s" in verdict("line", READS, COOKED).reasons
    assert any("quoted or answered" in reason for reason in verdict("line", NOBODY, COOKED).reasons)


@pytest.mark.parametrize(
    ("words", "tty", "kind"),
    [
        ("Type your PIN. Proceed? [y/N] ", RAW, "secret"),
        ("Die Geheimzahl folgt.\nProceed? [y/N] ", RAW, "secret"),
        ("输入密码\nProceed? [y/N] ", RAW, "secret"),
        ("Type your PIN. Proceed? [y/N] ", COOKED, "confirm"),
        ("Type your PIN. Proceed? [y/N] ", TtyFacts(True, False), "confirm"),
        ("Your password was changed.\n\nProceed? [y/N] ", RAW, "confirm"),
        ("Spinning up. Proceed? [y/N] ", RAW, "confirm"),
    ],
)
def test_words_of_a_secret_over_keys_that_are_not_shown(words: str, tty: TtyFacts, kind: str) -> None:
    lines = words.split("\n")
    shown = Screen.from_text(words, cursor=(len(lines[-1]), len(lines) - 1))
    look = Snapshot(screen=shown, alive=True, process=ProcessFacts("acme"), kernel=READS, tty=tty, quiet_s=1.0)
    found = judge(ENGINE.detect(shown), look)
    assert (str(found.kind), found.certainty) == (kind, Certainty.SURE)


EVERY = list(
    itertools.product(SCREENS, [None, UNKNOWN, READS, POLLS, NOBODY], [None, COOKED, RAW, HIDDEN], [None, 1.0, 0.0])
)


def test_what_must_hold_for_all_of_them() -> None:
    """A kernel that says nothing is no kernel at all, and a verdict always has its reasons."""
    wrong = []
    for shown, kernel, tty, quiet_s in EVERY:
        found = verdict(shown, kernel, tty, quiet_s)
        holds = {
            "it has reasons": bool(found.reasons),
            "unknown facts never decide": kernel is not UNKNOWN or found == verdict(shown, None, tty, quiet_s),
            "what nothing reads is never surely waiting": kernel is not NOBODY
            or (found.state, found.certainty) != (State.WAITING, Certainty.SURE),
        }
        wrong += [(rule, shown, kernel, tty, quiet_s) for rule, well in holds.items() if not well]
    assert not wrong


def test_removing_a_fact_never_turns_maybe_into_sure() -> None:
    """Of the kernel's facts, the terminal's, quiet time and the foreground's name; exempt: docs/judge.md."""
    wrong = []
    for (shown, kernel, tty, quiet_s), foreground in itertools.product(EVERY, ("acme", "bash", "ssh", "cat", "vim")):
        if verdict(shown, kernel, tty, quiet_s, foreground).certainty is not Certainty.MAYBE:
            continue
        without = (
            verdict(shown, None, tty, quiet_s, foreground),
            verdict(shown, kernel, None, quiet_s, foreground),
            verdict(shown, kernel, tty, None, foreground),
            verdict(shown, kernel, tty, quiet_s, None),
        )
        if any(after.certainty is Certainty.SURE for after in without):
            wrong.append((shown, kernel, tty, quiet_s, foreground))
    assert not wrong


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Password\n> \n(enter to confirm)", "secret"),
        ("⠏ Releasing\n? API token ‣ ", "secret"),
        ("Passwort für den Schlüssel: ", "text"),  # a guess, from how a line ends
        ("Neues Kennwort: ***", "secret"),
        ("PIN?", "secret"),
        ("Name\n> ", "text"),
        ("The token was refused.\nWhat now", "text"),
    ],
)
def test_what_no_signature_knows_is_no_text_where_it_may_be_a_secret(text: str, kind: str) -> None:
    shown = Screen.from_text(text, cursor=(0, text.count("\n")))
    kernel = KernelFacts(listening=True, how="read", source="syscall", foreground="acme")
    seen = judge(ENGINE.detect(shown), Snapshot(screen=shown, kernel=kernel, quiet_s=2.0, tty=TtyFacts(True, True)))
    assert (seen.state, seen.certainty, str(seen.kind)) == (State.WAITING, Certainty.MAYBE, kind)


@pytest.mark.parametrize(
    ("kernel", "quiet_s", "state"),
    [(READS, 1.0, "waiting"), (READS, 0.0, "unknown"), (NOBODY, 1.0, "unknown"), (None, 1.0, "unknown")],
)
def test_what_reads_the_terminal_behind_an_undecided_signature_waits(
    kernel: KernelFacts | None, quiet_s: float, state: str
) -> None:
    """It may be the prompt itself: never working, and never sure."""
    look = Snapshot(screen=screen("nothing"), process=ProcessFacts("acme"), kernel=kernel, tty=COOKED, quiet_s=quiet_s)
    rule = ENGINE.rules[0]
    found = judge(Detection(look.screen, None, ((rule, rule.signature.all_of[0]),)), look)
    assert (found.state, found.certainty) == (state, "maybe")
    assert f"undecided: {rule.name}" in found.reasons[0]
