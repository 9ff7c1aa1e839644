"""A person is told soon, once, again after a while, and that it is over; of the same thing, whatever moves on it."""

from __future__ import annotations

import json
from pathlib import Path

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from looks import verdict
from stallkit_supervisor.notification import (
    BACK_S,
    BUSY_S,
    GONE_S,
    NOTIFY_AFTER_S,
    Cleared,
    Need,
    NoticeSubject,
    Notification,
    Notify,
    Tell,
    on_subject,
    subject_of,
)

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


def test_what_moves_is_left_out_and_another_question_is_another() -> None:
    assert [pair for pair in SAME if words_of(pair[0]) != words_of(pair[1])] == []
    assert [pair for pair in ANOTHER if words_of(pair[0]).key == words_of(pair[1]).key] == []
    assert all(words_of(one) != words_of(other) for one, other in ANOTHER)
    assert "Proceed" not in words_of("Proceed? [y/N]").key


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
    before: NoticeSubject | None = None
    for number in sorted(set(numbers)):
        now = NoticeSubject(Need.WAITS, "x", f"Delete part {number}").after(before)
        assert now != before
        before = now


def test_how_a_turn_ended_is_what_is_told() -> None:
    idle = verdict("idle", id="rests")
    assert subject_of(idle) is None is subject_of(verdict("working", id="busy"))
    for how, what in ((TurnOutcome.DONE, Need.DONE), (TurnOutcome.ASKS, Need.ASKS), (TurnOutcome.FAILED, Need.FAILED)):
        object.__setattr__(idle, "ended_turn", EndedTurn(how, "Shall I continue?", "network"))
        found = subject_of(idle)
        assert found is not None and (found.need, found.message) == (what, "Shall I continue?")
    # an agent was killed: first its own screen stands there, then the prompt of the shell that started it
    assert subject_of(verdict("ended", id="composer")) == subject_of(verdict("ended", id="shell_prompt"))


def test_what_fails_again_at_each_try_is_a_failure_and_stays_the_same_when_it_is_given_up() -> None:
    tries = evolve(verdict("working"), retrying="✻ 401 invalid x-api-key · retrying in 1s · attempt 3/10")
    given_up = EndedTurn(TurnOutcome.FAILED, "API Error: 401 invalid x-api-key", "authentication_failed")
    first, last = subject_of(tries), subject_of(evolve(verdict("idle"), ended_turn=given_up))
    assert first is not None and last is not None
    assert (first.need, first.by, first.message) == (Need.FAILED, "authentication_failed", tries.retrying)
    assert last.after(first) == first and last.after(None) != first
    overloaded = subject_of(evolve(tries, retrying="Provider is overloaded [retrying in 2s attempt #1]"))
    assert overloaded is not None and overloaded.need is Need.RETRYING


def test_a_scroll_bar_beside_it_says_nothing() -> None:
    cases = (CORPUS / "captured-agent_clis.jsonl").read_text().splitlines()
    shown = next(case for line in cases if "qwen-code-0-24-4-permission-run-80" in (case := json.loads(line))["id"])
    rows = [row.ljust(79) for row in shown["screen"].split("\n")]
    barred = "\n".join(f"{row}{'█' if number > 4 else ' '}" for number, row in enumerate(rows))
    topics = [subject_of(seen(text)) for text in ("\n".join(rows), barred)]
    assert topics[0] == topics[1] and topics[0] is not None, topics


def test_a_prompt_in_a_spinners_row_stays_the_same_while_that_counts() -> None:
    def said_of(row: str, kind: Kind) -> NoticeSubject | None:
        found = Detection(Screen.from_text(row))
        return subject_of(Verdict(State.WAITING, Certainty.SURE, kind, found, ("it blocks in a read",), by_read=True))

    first = said_of("\u2839 Uploading part 3 of 900 Overwrite it? [y/N]", Kind.CONFIRM)
    assert first is not None and first == said_of("\u2807 Uploading part 14 of 900 Overwrite it? [y/N]", Kind.TEXT)
    assert first != said_of("\u2839 Uploading part 3 of 900 Remove it? [y/N]", Kind.CONFIRM)


ONE, OTHER = NoticeSubject(Need.WAITS, "pack:asks", "Proceed?"), NoticeSubject(Need.WAITS, "pack:asks", "Really?")
DOUBTFUL = evolve(ONE, sure=False)
LIMIT, RETRYING = NoticeSubject(Need.LIMIT, "limit", tries_again=True), NoticeSubject(Need.RETRYING, tries_again=True)
Looks = list[tuple[float, NoticeSubject | None]]


def said_of(looks: Looks, notify: Notify = Notify(), works: bool = True) -> list[tuple[float, Tell | Cleared]]:  # noqa: B008
    """What is said, and when."""
    at: Notification | None = None
    said: list[tuple[float, Tell | Cleared]] = []
    for now, topic in looks:
        shown = topic.after(at.subject if at else None) if topic else None
        at, says = on_subject(at, shown, now, notify, works=works)
        said += [(now, one) for one in says]
    return said


def every(seconds: float, until: float, topic: NoticeSubject | None, start: float = 0.0) -> Looks:
    return [(start + number * seconds, topic) for number in range(int((until - start) / seconds) + 1)]


def short(said: list[tuple[float, Tell | Cleared]]) -> list[tuple[float, str]]:
    return [(at, f"tell {one.times}" if isinstance(one, Tell) else "cleared") for at, one in said]


def test_soon_once_again_and_over() -> None:
    looks = [*every(1, 100, ONE), (101.0, None)]
    assert short(said_of(looks, Notify(remind_s=40))) == [
        (2, "tell 1"), (42, "tell 2"), (82, "tell 3"), (101, "cleared")
    ]  # fmt: skip


def test_when_each_is_told_and_over() -> None:
    done = NoticeSubject(Need.DONE, "", "All tests pass.")
    countdown = [(float(n), NoticeSubject(Need.WAITS, "x", f"Starts by itself {60 - n} left")) for n in range(40)]
    for looks, said in (
        (every(1, 70, DOUBTFUL), [(60, "tell 1")]),
        ([*every(1, 20, DOUBTFUL), (21.0, ONE)], [(21, "tell 1")]),  # a sure look tells what has been there for long
        ([(0.0, ONE), *every(1, 20, DOUBTFUL, start=1.0)], [(2, "tell 1")]),
        (every(1, 10, ONE) + every(1, 20, OTHER, start=11), [(2, "tell 1"), (11, "cleared"), (13, "tell 1")]),
        ([*every(1, 5000, done), (5001.0, None)], [(2, "tell 1")]),
        ([*every(1, 20, LIMIT), *every(1, 90, RETRYING, start=21.0)], [(0, "tell 1")]),  # the cause of the next try
        ([(0.0, evolve(LIMIT, tries_again=False)), (5.0, None)], [(0, "tell 1"), (5, "cleared")]),
    ):
        assert short(said_of(looks)) == said
    assert [name for _, name in short(said_of(countdown, works=False))].count("tell 1") == 1


@given(st.lists(st.sampled_from([ONE, DOUBTFUL, None]), min_size=1, max_size=30))
def test_more_or_less_sure_is_told_once(between: list[NoticeSubject | None]) -> None:
    looks: Looks = [(0.0, ONE)]
    for number, one in enumerate(between):
        looks += [(number + 0.5, one), (number + 1.0, ONE)]
    looks += every(1, 60, ONE, start=len(between) + 1)
    said = said_of(looks, Notify(remind_s=None), works=False)
    assert [name for _, name in short(said)] == ["tell 1"]


@given(st.lists(st.sampled_from([ONE, OTHER]), min_size=10, max_size=40), st.floats(0.2, 2.0))
def test_prompts_that_follow_each_other_do_not_hide_each_other(shown: list[NoticeSubject], pause: float) -> None:
    said = said_of([(number * pause, one) for number, one in enumerate(shown)])
    told = [at for at, one in said if isinstance(one, Tell)]
    long_enough = (len(shown) - 1) * pause >= NOTIFY_AFTER_S
    assert bool(told) == long_enough and (not told or told[0] <= NOTIFY_AFTER_S + pause)


def test_who_answers_in_time_is_not_told_but_counted() -> None:
    said = said_of([(0.0, ONE), (1.0, ONE), (2.0, None)])
    assert [(at, one.told, one.waited_s) for at, one in said if isinstance(one, Cleared)] == [(2.0, False, 2.0)]
    assert said_of([(0.0, DOUBTFUL), (5.0, None)]) == [], "a doubtful look that nobody was told of was nothing"


def test_an_answer_on_its_way_is_waited_for() -> None:
    at: Notification | None = None
    told = []
    for now in range(20):
        at, says = on_subject(at, ONE, float(now), Notify(), busy=True)
        told += [now for one in says if isinstance(one, Tell)]
    assert told == [BUSY_S]


def test_an_answer_of_ours_is_said() -> None:
    at = evolve(Notification.of(ONE, 0.0), answered=True, over=True)
    now, says = on_subject(at, ONE, 5.0, Notify())
    assert [one.answered for one in says if isinstance(one, Cleared)] == [True]
    assert now is not None and now.appeared == 5.0, "the same prompt after an answer is the next one"


def test_doubt_is_no_end() -> None:
    at: Notification | None = Notification.of(ONE, 0.0)
    at, says = on_subject(at, None, GONE_S / 2, Notify(), works=False)
    assert at is not None and says == ()
    at, says = on_subject(at, None, GONE_S, Notify(), works=False)
    assert at is None and isinstance(says[0], Cleared)


def test_a_limit_that_comes_back_after_a_try_is_one() -> None:
    shown = [*every(1, 58, LIMIT), *every(1, 146, None, start=59.0), *every(1, 204, LIMIT, start=147.0)]
    assert short(said_of(shown)) == [(0, "tell 1")]
    over = every(1, 400, None, start=205.0)
    assert short(said_of([*shown, *over])) == [(0, "tell 1"), (204 + BACK_S, "cleared")]


def test_what_is_tried_again_in_turns_ripens() -> None:
    turns = [(float(at), RETRYING if at % 15 < 5 else None) for at in range(70)]
    assert short(said_of(turns)) == [(60, "tell 1")]
