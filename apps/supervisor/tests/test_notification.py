"""A person is told soon, once, again after a while, and that it is over: however unsure a look is."""

from __future__ import annotations

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
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
)

ONE, OTHER = NoticeSubject(Need.WAITS, "pack:asks", "Proceed?"), NoticeSubject(Need.WAITS, "pack:asks", "Really?")
DOUBTFUL = evolve(ONE, sure=False)
Looks = list[tuple[float, NoticeSubject | None]]


def run(looks: Looks, notify: Notify = Notify(), works: bool = True) -> list[tuple[float, Tell | Cleared]]:  # noqa: B008
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
    assert short(run(looks, Notify(remind_s=40))) == [
        (2, "tell 1"), (42, "tell 2"), (82, "tell 3"), (101, "cleared")
    ]  # fmt: skip


def test_what_is_doubtful_takes_a_minute() -> None:
    assert short(run(every(1, 70, DOUBTFUL))) == [(60, "tell 1")]


def test_it_is_surely_there_since_it_appeared() -> None:
    """A look that is sure at last tells what has been there for long."""
    assert short(run([*every(1, 20, DOUBTFUL), (21.0, ONE)])) == [(21, "tell 1")]


def test_what_was_surely_there_is_told_in_time_at_a_doubtful_look() -> None:
    assert short(run([(0.0, ONE), *every(1, 20, DOUBTFUL, start=1.0)])) == [(2, "tell 1")]


@given(st.lists(st.sampled_from([ONE, DOUBTFUL, None]), min_size=1, max_size=30))
def test_more_or_less_sure_is_told_once(between: list[NoticeSubject | None]) -> None:
    """A look that shows nothing for a moment, as while a screen is drawn anew, is no end."""
    looks: Looks = [(0.0, ONE)]
    for number, one in enumerate(between):
        looks += [(number + 0.5, one), (number + 1.0, ONE)]
    looks += every(1, 60, ONE, start=len(between) + 1)
    said = run(looks, Notify(remind_s=None), works=False)
    assert [name for _, name in short(said)] == ["tell 1"]


@given(st.lists(st.sampled_from([ONE, OTHER]), min_size=10, max_size=40), st.floats(0.2, 2.0))
def test_prompts_that_follow_each_other_do_not_hide_each_other(shown: list[NoticeSubject], pause: float) -> None:
    """However fast: a person is told within the time, and a look."""
    said = run([(number * pause, one) for number, one in enumerate(shown)])
    told = [at for at, one in said if isinstance(one, Tell)]
    long_enough = (len(shown) - 1) * pause >= NOTIFY_AFTER_S
    assert bool(told) == long_enough and (not told or told[0] <= NOTIFY_AFTER_S + pause)


def test_the_next_prompt_is_told_as_well() -> None:
    looks = every(1, 10, ONE) + every(1, 20, OTHER, start=11)
    assert short(run(looks)) == [(2, "tell 1"), (11, "cleared"), (13, "tell 1")]


def test_a_countdown_is_told_once() -> None:
    looks: Looks = [(float(n), NoticeSubject(Need.WAITS, "x", f"Starts by itself {60 - n} left")) for n in range(40)]
    assert [name for _, name in short(run(looks, works=False))].count("tell 1") == 1


def test_what_is_done_is_told_once_and_not_cleared() -> None:
    done = NoticeSubject(Need.DONE, "", "All tests pass.")
    assert short(run([*every(1, 5000, done), (5001.0, None)])) == [(2, "tell 1")]


def test_who_answers_in_time_is_not_told_but_counted() -> None:
    said = run([(0.0, ONE), (1.0, ONE), (2.0, None)])
    assert [(at, one.told, one.waited_s) for at, one in said if isinstance(one, Cleared)] == [(2.0, False, 2.0)]
    assert run([(0.0, DOUBTFUL), (5.0, None)]) == [], "a doubtful look that nobody was told of was nothing"


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


LIMIT, RETRYING = NoticeSubject(Need.LIMIT, "limit", tries_again=True), NoticeSubject(Need.RETRYING, tries_again=True)


def test_a_limit_that_comes_back_after_a_try_is_one() -> None:
    """It is shown while its program waits, and not while it tries again, which may take longer than the wait."""
    shown = [*every(1, 58, LIMIT), *every(1, 146, None, start=59.0), *every(1, 204, LIMIT, start=147.0)]
    assert short(run(shown)) == [(0, "tell 1")]
    over = every(1, 400, None, start=205.0)
    assert short(run([*shown, *over])) == [(0, "tell 1"), (204 + BACK_S, "cleared")]


def test_what_is_tried_again_in_turns_ripens() -> None:
    turns = [(float(at), RETRYING if at % 15 < 5 else None) for at in range(70)]
    assert short(run(turns)) == [(60, "tell 1")]


def test_a_limit_whose_words_went_out_of_sight_is_the_cause_of_the_next_try() -> None:
    assert short(run([*every(1, 20, LIMIT), *every(1, 90, RETRYING, start=21.0)])) == [(0, "tell 1")]


def test_a_limit_with_an_end_of_its_own_is_over_at_once() -> None:
    assert short(run([(0.0, evolve(LIMIT, tries_again=False)), (5.0, None)])) == [(0, "tell 1"), (5, "cleared")]
