"""The watchdog of a session that says it works: what starts its clock again, and what it never says."""

from __future__ import annotations

from typing import Any, Callable

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from stallkit.press.hang import (
    HUNG_AFTER_S,
    MAX_GAP_S,
    TOOL_S,
    ActivitySample,
    HangDetector,
    TurnCounters,
    turn_counters,
)
from stallkit.probes.activity import Activity, Connection, ProcessActivity
from stallkit.terminal.screen import Screen

STEP_S = 5.0
AGENT = ProcessActivity(7, 100, "claude", parent=1, age_s=900.0, cpu_s=9.0, foreground=True)
SERVER = ProcessActivity(8, 110, "node", parent=7, age_s=899.0, cpu_s=1.0, foreground=True)
TOOL = ProcessActivity(9, 900, "sleep", parent=7, age_s=3.0, cpu_s=0.0, foreground=False)
ASKED = Connection("10.0.0.2:4711", "10.0.0.9:443", received=90, sent=800, received_s=1.0, sent_s=0.5)
ANSWERED = evolve(ASKED, received_s=0.5, sent_s=1.0)


def seen(
    *processes: ProcessActivity, connections: tuple[Connection, ...] | None = (ASKED,), at: float = 0.0, **counts: Any
) -> ActivitySample:
    return ActivitySample(Activity(at, processes or (AGENT, SERVER), connections), **counts)


def later(sample: ActivitySample, by_s: float, spent: float = 0.0) -> ActivitySample:
    """The same after a while in which nothing happened, but that `spent` cores were used by the agent's redraw."""
    activity = sample.activity
    assert activity is not None
    aged = [evolve(one, age_s=one.age_s + by_s) for one in activity.processes]
    aged[0] = evolve(aged[0], cpu_s=aged[0].cpu_s + spent * by_s)
    old = activity.connections
    quiet = old and tuple(evolve(one, received_s=one.received_s + by_s, sent_s=one.sent_s + by_s) for one in old)
    counted = None if sample.elapsed_s is None else sample.elapsed_s + by_s
    said = None if sample.said_s is None else sample.said_s + by_s
    return evolve(sample, activity=Activity(activity.at + by_s, tuple(aged), quiet), elapsed_s=counted, said_s=said)


def silent(
    first: ActivitySample, for_s: float, spent: float = 0.2, rested: bool = True
) -> tuple[HangDetector, ActivitySample]:
    """The detector after a turn that began with `first`, and in which nothing happened for so long."""
    dog = HangDetector.begin(-STEP_S, None).then(0.0, first) if rested else HangDetector.begin(0.0, first)
    now, sample = 0.0, first
    while now < for_s:
        now, sample = now + STEP_S, later(sample, STEP_S, spent)
        dog = dog.then(now, sample)
    return dog, sample


def test_silence_behind_a_spinner_is_told_with_what_shows_it() -> None:
    dog, _ = silent(seen(elapsed_s=1.0, tokens="1.2k", said_s=2.0), HUNG_AFTER_S)
    hung = dog.hung()
    assert hung is not None and hung.since_s == HUNG_AFTER_S
    assert hung.evidence == (
        "nothing came on 1 TCP connection for 181 s",
        "what was sent 180 s ago has no answer",
        "no tool runs",
        "its token count stands at 1.2k",
        "its own counter says 181 s",
        "it last said something new of itself 182 s ago",
    )


def test_silence_is_told_after_its_time_with_and_without_a_connection() -> None:
    dog, _ = silent(seen(), 170.0)
    assert dog.hung() is None and dog.hung(after_s=160.0) is not None
    hung = silent(seen(connections=()), HUNG_AFTER_S)[0].hung()
    assert hung is not None and hung.evidence[0] == "no TCP connection is open"


def test_what_is_not_known_is_no_hang() -> None:
    assert silent(seen(connections=None), 1_000.0)[0].hung() is None, "its connections"
    dog = HangDetector.begin(0.0, ActivitySample())
    for now in range(5, 1_000, 5):
        dog = dog.then(float(now), ActivitySample())
    assert dog.hung() is None, "its processes"
    dog, sample = silent(seen(), 500.0)
    dog = dog.then(500.0 + MAX_GAP_S + 1, later(sample, MAX_GAP_S + 1))
    assert dog.hung() is None, "what happened in a long gap"


def test_a_tool_that_this_turn_started_is_waited_for_also_where_it_sleeps() -> None:
    dog, sample = silent(seen(AGENT, SERVER, TOOL), 1_000.0)
    assert dog.hung() is None and [one.name for one in dog.tools] == ["sleep"]
    assert sample.activity is not None
    over = evolve(sample, activity=evolve(sample.activity, processes=sample.activity.processes[:2]))
    dog = dog.then(1_005.0, over)
    assert dog.hung() is None and dog.since == 1_000.0, "when it was last there"


def test_a_hang_that_moves_is_one() -> None:
    """An animation takes most of a core, and a status line starts a child every few seconds."""
    dog, sample = HangDetector.begin(-STEP_S, None).then(0.0, seen()), seen()
    for number in range(1, 1 + int(HUNG_AFTER_S / STEP_S)):
        sample = later(sample, STEP_S, spent=0.9)
        child = evolve(TOOL, pid=1_000 + number, age_s=TOOL_S / 5)
        assert sample.activity is not None
        dog = dog.then(number * STEP_S, _processes(sample, *sample.activity.processes, child))
    hung = dog.hung()
    assert hung is not None and hung.since_s == HUNG_AFTER_S, "though a child is there at this very look"


def test_a_server_that_an_earlier_turn_left_is_no_tool_of_this_one() -> None:
    old = evolve(TOOL, age_s=500.0)
    assert silent(seen(AGENT, SERVER, old), HUNG_AFTER_S)[0].hung() is not None
    assert silent(seen(AGENT, SERVER, old, elapsed_s=10.0), HUNG_AFTER_S, rested=False)[0].hung() is not None
    assert silent(seen(AGENT, SERVER, old), 1_000.0, rested=False)[0].hung() is None, "when this turn began is unknown"


MOVES: dict[str, Callable[[ActivitySample], ActivitySample]] = {
    "data came": lambda one: _connections(one, evolve(ASKED, received=91)),
    "data came on a new connection": lambda one: _connections(one, evolve(ANSWERED, local="10.0.0.2:4712")),
    "a request went out": lambda one: _connections(one, evolve(ASKED, sent=801)),
    "a connection was opened": lambda one: _connections(
        one, ANSWERED, evolve(ASKED, local="10.0.0.2:4712", received=0)
    ),
    "a token was counted": lambda one: evolve(one, tokens="1.3k"),
    "another turn is counted": lambda one: evolve(one, elapsed_s=0.0),
    "it said something": lambda one: evolve(one, said_s=0.0),
}


def _connections(one: ActivitySample, *connections: Connection) -> ActivitySample:
    assert one.activity is not None
    return evolve(one, activity=evolve(one.activity, connections=connections))


def _processes(one: ActivitySample, *processes: ProcessActivity) -> ActivitySample:
    assert one.activity is not None
    return evolve(one, activity=evolve(one.activity, processes=processes))


def test_whatever_arrives_starts_the_clock_again() -> None:
    first = seen(connections=(ANSWERED,), elapsed_s=1.0, tokens="1.2k", said_s=1.0)
    hung, sample = silent(first, 500.0, spent=0.0)
    assert hung.hung() is not None
    now = hung.at + STEP_S
    for name, move in MOVES.items():
        dog = hung.then(now, move(later(sample, STEP_S)))
        assert dog.hung() is None and dog.since == now, name


def test_a_request_that_is_sent_again_and_again_is_no_sign_of_life() -> None:
    dog, sample = silent(seen(connections=(ANSWERED,)), 100.0)
    sent = 0
    for now in range(105, 405, 5):
        sample = later(sample, STEP_S)
        if now % 60 == 45:  # it gives up, and asks again on another connection; or on the same one
            sent += 100
            local = f"10.0.0.2:{4800 + now // 120}"
            sample = _connections(sample, evolve(ASKED, local=local, received=0, sent=sent))
        dog = dog.then(float(now), sample)
        hung = dog.hung()
        assert (hung is None) is (now < 105 + HUNG_AFTER_S), f"{now}: the first time counts, {dog}"
    assert hung is not None and "has no answer" in hung.evidence[1]
    answered = _connections(later(sample, STEP_S), evolve(ANSWERED, local="10.0.0.2:4900", received=7))
    assert dog.then(405.0, answered).since == 405.0


@given(moves=st.lists(st.sampled_from([None, *MOVES]), max_size=60), spent=st.floats(0, 1))
def test_a_hang_is_never_older_than_the_last_thing_that_happened(moves: list[str | None], spent: float) -> None:
    first = seen(elapsed_s=1.0, tokens="1.2k", said_s=1.0)
    dog, happened, sample = HangDetector.begin(-STEP_S, None).then(0.0, first), 0.0, first
    for number, move in enumerate(moves, 1):
        now = number * STEP_S
        before, sample = sample, later(sample, STEP_S, spent)
        if move is not None:
            sample = MOVES[move](sample)
        dog, since = dog.then(now, sample), dog.since
        if move is not None and _differs(before, sample, move):
            happened = now
        assert since <= dog.since <= dog.at == now, "what happened is never forgotten"
        assert dog.since >= happened
        hung = dog.hung(after_s=30.0)
        assert hung is None or (hung.since_s >= 30.0 and dog.at - happened >= 30.0)
        assert dog.hung(after_s=60.0) is None or hung is not None, "hung after a minute: hung after half of one"


def _differs(before: ActivitySample, now: ActivitySample, move: str) -> bool:
    """Whether this move is none that was made before: the same number twice is no change."""
    old, new = before.activity, now.activity
    assert old is not None and new is not None
    back = (before.elapsed_s or 0.0) > (now.elapsed_s or 0.0)
    got = {one.local: one.received for one in old.connections or ()}
    came = any(one.received > got.get(one.local, 0) for one in new.connections or ())
    return came or before.tokens != now.tokens or back or now.said_s == 0.0


@given(looks=st.lists(st.tuples(st.floats(0.1, 100), st.booleans(), st.booleans()), max_size=60))
def test_one_that_rests_or_that_was_not_looked_at_is_not_hung(looks: list[tuple[float, bool, bool]]) -> None:
    sample = seen()
    dog, now = HangDetector.begin(0.0, None), 0.0
    for gap, works, known in looks:
        now, sample = now + gap, later(sample, gap)
        dog = dog.then(now, (sample if known else ActivitySample()) if works else None)
        hung = dog.hung(after_s=1.0)
        assert hung is None or (works and known and gap <= MAX_GAP_S)
        assert hung is None or hung.since_s <= now


def test_one_look_at_rest_between_two_at_work_is_no_new_turn() -> None:
    dog, sample = silent(seen(), 100.0)
    dog = dog.then(105.0, None)
    assert dog.hung(after_s=50.0) is None
    dog = dog.then(110.0, later(sample, 10.0))
    assert dog.since == 0.0 and dog.hung(after_s=50.0) is not None


def test_a_turn_that_begins_after_a_rest_is_not_as_old_as_the_one_before() -> None:
    """Its request may not be out yet, and the connections of the turn before are as they were."""
    dog, sample = silent(seen(), 10.0)
    for rested in (dog.then(15.0, None).then(20.0, None), dog.at_rest(20.0)):
        again = rested.then(62.0, later(sample, 52.0))
        assert again.since == 62.0 and again.hung(after_s=50.0) is None
        assert again.then(120.0, later(sample, 110.0)).hung(after_s=50.0) is not None


def test_a_tool_that_ran_before_a_dialog_of_the_same_turn_is_waited_for() -> None:
    old = evolve(TOOL, age_s=100.0)
    dog, _ = silent(seen(AGENT, SERVER, old, elapsed_s=110.0), 1_000.0)
    assert dog.hung() is None and dog.tools


def test_one_check_knows_what_the_connections_and_the_screen_say_and_nothing_else() -> None:
    known = later(seen(elapsed_s=1.0), 200.0)
    assert HangDetector.begin(0.0, known).hung() is not None
    unknown = {
        "how long it works": later(seen(), 200.0),
        "that nothing came": seen(elapsed_s=200.0),
        "since a request went out": _connections(known, evolve(ASKED, received_s=200.0, sent_s=1.0)),
        "without a connection": _connections(known),
        "its connections": later(seen(connections=None, elapsed_s=1.0), 200.0),
        "beside a tool": later(seen(AGENT, SERVER, TOOL, elapsed_s=10.0), 200.0),
    }
    assert [name for name, first in unknown.items() if HangDetector.begin(0.0, first).hung() is not None] == []


# --- what the screens of agents at work count ---

COUNTERS = {  # a row of theirs, seconds and tokens
    "• Working (3s • esc to interrupt)": (3, None),
    "◦ Working (1m 02s • esc to interrupt)": (62, None),
    "⠦ Dividing by zero... just kidding! (esc to cancel, 2s)": (2, None),
    "⠙ Thinking... (esc to cancel, 1m 15s)": (75, None),
    "⠴ Thinking... (esc to cancel)": (None, None),
    "✽ Boondoggling… (3s · ↓ 163 tokens)": (3, "163"),
    "✻ Herding… (1h 2m 3s · ↑ 1.2k tokens · esc to interrupt)": (3723, "1.2k"),
    " ◎ Working · 100 B   esc esc interrupt": (None, "100"),
    " ■■■⬝⬝⬝⬝⬝  esc interrupt      2.2K": (None, None),
    "⠽⠺⠫ ( 3s • esc to interrupt )": (3, None),
    ". Tuning the cosmic frequencies... (7s · esc to cancel)": (7, None),
    "I waited (12s) for it.": (None, None),
    "": (None, None),
}
BELOW = "────────────────────\n❯ \n────────────────────\n  ? for shortcuts"


def test_what_they_count() -> None:
    found = {row: turn_counters(Screen.from_text(f"● Done.\n\n{row}\n\n{BELOW}")) for row in COUNTERS}
    assert found == {row: TurnCounters(*counted) for row, counted in COUNTERS.items()}
    several = Screen.from_text("It showed (9m 1s · esc to interrupt).\n\n✽ Herding… (4s · thinking)\n\n❯ ")
    assert turn_counters(several).elapsed_s == 4, "the lowest counts"


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    turn_counters(Screen.from_text(text))
