"""What a person is told of is the same, whatever moves on it, and another as soon as it asks another thing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from looks import verdict
from stallkit_supervisor.notification import Need, NoticeSubject, subject_of

from stallkit.detect.engine import Detection
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.evidence.snapshot import Snapshot
from stallkit.evidence.turn import EndedTurn, TurnOutcome
from stallkit.judging.judge import judge
from stallkit.judging.verdict import Verdict
from stallkit.packs.registry import installed_engine
from stallkit.terminal.screen import Screen

CORPUS = Path(__file__).parents[3] / "tests" / "corpus"

WORDS = st.lists(st.from_regex(r"[a-zA-Zäß中]{1,8}", fullmatch=True), min_size=1, max_size=8).map(" ".join)
SAME = [
    # two looks at one prompt
    ("⠋ Proceed? [y/N]", "⠹ Proceed? [y/N]"),
    ("● Bash  Proceed?", "  Bash  Proceed?"),
    ("❯ 1. Yes   2. No", "  1. Yes ❯ 2. No"),
    ("Proceed? (waited 12s)", "Proceed? (waited 1m 3s)"),
    ("Proceed? 12% done", "Proceed? 13% done"),
    ("Proceed? 1.2k tokens", "Proceed? 1.9k tokens"),
    ("12:03:01 Proceed?", "12:03:02 Proceed?"),
    ("Continue in 9", "Continue in 8"),
    ("Continue (9)", "Continue (8)"),
    ("╭──╮ Proceed? │", "Proceed?"),
]
ANOTHER = [
    ("Delete a.txt?", "Delete b.txt?"),
    ("Delete part 1?", "Delete part 2?"),
    ("Proceed? [y/N]", "Proceed with force? [y/N]"),
    ("Löschen?", "Loschen?"),
    ("删除文件吗?", "保留文件吗?"),
]


def seen(text: str) -> Verdict:
    screen = Screen.from_text(text, size=(80, 24), cursor=(79, 23), cursor_visible=False)
    return judge(installed_engine().detect(screen), Snapshot(screen=screen))


def words_of(line: str) -> NoticeSubject:
    found = subject_of(verdict(line=line))
    assert found is not None
    return found


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_moves_is_left_out(one: str, other: str) -> None:
    assert words_of(one) == words_of(other)


@pytest.mark.parametrize(("one", "other"), ANOTHER)
def test_another_question_is_another(one: str, other: str) -> None:
    assert words_of(one) != words_of(other)
    assert words_of(one).key != words_of(other).key


@given(WORDS, st.text("⠋⠙⠹✢✳✶●○◐│╭─▌ ", max_size=6), st.integers(0, 99999), st.sampled_from(["s", " tokens", "%", "m"]))
def test_glyphs_and_counters_say_nothing(words: str, glyphs: str, number: int, unit: str) -> None:
    assert words_of(f"{glyphs} {words} {number}{unit} {glyphs}") == words_of(f"{words} 7{unit}")


@given(WORDS, st.integers(3, 500))
def test_a_countdown_is_learned_from_two_looks(words: str, start: int) -> None:
    shown = [NoticeSubject(Need.WAITS, "x", f"{words} {number} left") for number in range(start, start - 4, -1)]
    looks: list[NoticeSubject] = []
    for one in shown:
        looks.append(one.after(looks[-1] if looks else None))
    assert looks[2] == looks[3], "it fell twice"


@given(st.lists(st.integers(0, 30), min_size=2, max_size=20))
def test_numbers_that_grow_are_told_apart(numbers: list[int]) -> None:
    """Of questions that follow each other."""
    before: NoticeSubject | None = None
    for number in sorted(set(numbers)):
        now = NoticeSubject(Need.WAITS, "x", f"Delete part {number}").after(before)
        assert now != before
        before = now


def test_how_a_turn_ended_is_what_is_told() -> None:
    idle = verdict("idle", id="rests")
    assert subject_of(idle) is None
    for how, what in ((TurnOutcome.DONE, Need.DONE), (TurnOutcome.ASKS, Need.ASKS), (TurnOutcome.FAILED, Need.FAILED)):
        object.__setattr__(idle, "ended_turn", EndedTurn(how, "Shall I continue?", "network"))
        found = subject_of(idle)
        assert found is not None and (found.need, found.message) == (what, "Shall I continue?")


def test_what_fails_again_at_each_try_is_a_failure_and_stays_the_same_when_it_is_given_up() -> None:
    tries = evolve(verdict("working"), retrying="✻ 401 invalid x-api-key · retrying in 1s · attempt 3/10")
    given_up = EndedTurn(TurnOutcome.FAILED, "API Error: 401 invalid x-api-key", "authentication_failed")
    first, last = subject_of(tries), subject_of(evolve(verdict("idle"), ended_turn=given_up))
    assert first is not None and last is not None
    assert (first.need, first.by, first.message) == (Need.FAILED, "authentication_failed", tries.retrying)
    assert last.after(first) == first and last.after(None) != first
    overloaded = subject_of(evolve(tries, retrying="Provider is overloaded [retrying in 2s attempt #1]"))
    assert overloaded is not None and overloaded.need is Need.RETRYING


def test_who_works_has_nothing_to_tell() -> None:
    assert subject_of(verdict("working", id="busy")) is None


def test_the_words_are_not_in_the_key() -> None:
    assert "Proceed" not in words_of("Proceed? [y/N]").key


def test_an_end_is_the_same_by_whatever_it_is_known() -> None:
    """An agent was killed: first its own screen stands there, then the prompt of the shell that started it."""
    assert subject_of(verdict("ended", id="composer")) == subject_of(verdict("ended", id="shell_prompt"))


def test_a_scroll_bar_beside_it_says_nothing() -> None:
    """Qwen Code draws one for the first moment of a dialog, also beside rows that are blank."""
    cases = (CORPUS / "captured-agent_clis.jsonl").read_text().splitlines()
    shown = next(case for line in cases if "qwen-code-0-24-4-permission-run-80" in (case := json.loads(line))["id"])
    rows = [row.ljust(79) for row in shown["screen"].split("\n")]
    barred = "\n".join(f"{row}{'█' if number > 4 else ' '}" for number, row in enumerate(rows))
    topics = [subject_of(seen(text)) for text in ("\n".join(rows), barred)]
    assert topics[0] == topics[1] and topics[0] is not None, topics


def test_a_prompt_in_a_spinners_row_stays_the_same_while_that_counts() -> None:
    def told(row: str, kind: Kind) -> NoticeSubject | None:
        found = Detection(Screen.from_text(row))
        return subject_of(Verdict(State.WAITING, Certainty.SURE, kind, found, ("it blocks in a read",), by_read=True))

    first = told("\u2839 Uploading part 3 of 900 Overwrite it? [y/N]", Kind.CONFIRM)
    assert first is not None and first == told("\u2807 Uploading part 14 of 900 Overwrite it? [y/N]", Kind.TEXT)
    assert first != told("\u2839 Uploading part 3 of 900 Remove it? [y/N]", Kind.CONFIRM)
