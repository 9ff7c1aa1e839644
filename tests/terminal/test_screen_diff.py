"""A dialog over a moving status line is still a dialog; and nothing that moves, or is quoted, makes a wait sure."""

from __future__ import annotations

import functools
from pathlib import Path

from acme import ENGINE, screen
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from stallkit_lab.corpus_lines import Case
from stallkit_lab.evaluate.corpus import load

from stallkit.detect.signature import Certainty, State
from stallkit.evidence.agents import asked
from stallkit.evidence.snapshot import KernelFacts, ProcessFacts, Snapshot, TtyFacts
from stallkit.judging.judge import judge
from stallkit.judging.verdict import Verdict
from stallkit.packs.registry import installed_engine
from stallkit.terminal.screen import Screen, only_a_clock

CORPUS = Path(__file__).parents[1] / "corpus"
POLLS, RAW = KernelFacts(listening=True, how="epoll"), TtyFacts(False, False)
SPINNERS = ["⠋ Working…", "| waiting", "✻ Thinking (12s)", "12:30:01  main  3 tokens", "◐ 48 s left"]
MARKS = ["> ", "│ ", "  | ", "# "]


def looks(*shown: Screen, kernel: KernelFacts = POLLS) -> Verdict:
    """The verdict on the last of these screens, each of which differs from the one before it."""
    first, *rest = [
        Snapshot(screen=one, process=ProcessFacts("acme"), kernel=kernel, tty=RAW, quiet_s=0.0) for one in shown
    ]
    return judge(ENGINE.detect(shown[-1]), rest[-1] if rest else first, [first, *rest][:-1])


def above(text: str, shown: str) -> Screen:
    below = screen(shown)
    assert below.cursor is not None
    return Screen.from_text(f"{text}\n{below.text}", cursor=(below.cursor.column, below.cursor.row + 1))


def test_a_prompt_below_a_spinner_waits_and_is_doubtful() -> None:
    found = looks(above("⠋ fetching", "line"), above("⠙ fetching", "line"))
    assert (found.state, found.certainty, found.kind) == (State.WAITING, Certainty.MAYBE, "confirm"), found.reasons
    assert "other rows of the screen move" in found.reasons


def test_a_prompt_that_came_between_two_looks_or_changes_itself_does_not() -> None:
    assert looks(above("⠋ fetching", "nothing"), above("⠙ fetching", "line")).state is State.WORKING
    assert looks(screen("line")).state is State.WORKING, "what moved is not known"
    left = [f"In {seconds} s. {screen('line').text} " for seconds in (5, 4)]
    counted = looks(*(Screen.from_text(text, cursor=(len(text), 0)) for text in left))
    assert counted.match is not None and counted.state is State.WORKING, "it goes on by itself"


def test_a_dialog_over_what_moves_is_one() -> None:
    for spinner in SPINNERS:
        found = looks(above(f"{spinner} 1", "dialog"), above(f"{spinner} 2", "dialog"))
        assert (found.state, found.kind) == (State.WAITING, "select"), spinner


CLOCKS = [
    ("12:30:59  calendar\n\n  dentist", "12:31:00  calendar\n\n  dentist", "waiting"),
    ("[12:59] calendar", "[13:00] calendar", "waiting"),
    ("12:30:59  calendar 1", "12:31:00  calendar 2", "working"),  # something else moves
    ("12:30:58 a\n12:30:58 b", "12:30:59 a\n12:30:59 b", "working"),
    ("1:2:3:4 peers", "1:2:3:5 peers", "working"),  # no time of day
]


def test_a_full_screen_program_with_a_clock_rests() -> None:
    for was, now, state in CLOCKS:
        before, after = (Screen.from_text(text, cursor=(0, 4), size=(80, 24), alternate=True) for text in (was, now))
        found = looks(before, after)
        assert (found.state, found.certainty) == (state, Certainty.MAYBE), (was, found.reasons)
        inline = (evolve(one, alternate=False) for one in (before, after))
        assert looks(*inline).state is State.WORKING, "a log's lines have times, too"


@given(st.text(max_size=60), st.text(max_size=60), st.booleans())
def test_what_is_said_of_two_screens_holds_both_ways(was: str, now: str, full: bool) -> None:
    before, after = (Screen.from_text(text, cursor=(0, 0), alternate=full) for text in (was, now))
    assert only_a_clock(before, after) is only_a_clock(after, before)
    match = ENGINE.detect(screen("line")).match
    assert match is not None
    if match.stays(before, after):
        assert before.prompt_line.text == after.prompt_line.text


@functools.cache
def not_surely_waiting() -> list[Case]:
    """Screens of real programs that do not wait for sure."""
    found = []
    for case in (*load(CORPUS / "cli.jsonl"), *load(CORPUS / "agents.jsonl")):
        one = case.read() if hasattr(case, "read") else case
        if one.label.state is not State.WAITING and not _surely_waits(one.snapshot, one.history):
            found.append(one)
    return found


def _surely_waits(now: Snapshot, history: tuple[Snapshot, ...]) -> bool:
    found = judge(asked(installed_engine(), now), now, history)
    return (found.state, found.certainty) == (State.WAITING, Certainty.SURE)


def _with(case: Case, text: str) -> Snapshot:
    """The same look with another text."""
    was = case.snapshot.screen
    cursor = (was.cursor.column, was.cursor.row) if was.cursor else None
    return evolve(case.snapshot, screen=Screen.from_text(text, cursor=cursor, alternate=was.alternate, title=was.title))


@settings(deadline=None)
@given(st.data(), st.sampled_from(SPINNERS))
def test_a_spinner_below_makes_no_wait_sure(data: st.DataObject, spinner: str) -> None:
    case = data.draw(st.sampled_from(not_surely_waiting()))
    now = _with(case, f"{case.snapshot.screen.text}\n{spinner}")
    assert not _surely_waits(now, (now,) if case.history else ()), case.id


@settings(deadline=None)
@given(st.data(), st.sampled_from(MARKS))
def test_a_quote_mark_before_makes_no_wait_sure(data: st.DataObject, mark: str) -> None:
    case = data.draw(st.sampled_from(not_surely_waiting()))
    now = _with(case, "\n".join(mark + line for line in case.snapshot.screen.text.split("\n")))
    assert not _surely_waits(now, (now,) if case.history else ()), case.id
