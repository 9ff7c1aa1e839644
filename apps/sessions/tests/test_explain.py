"""Why a session ended: a table of what witnesses say, and that no code is ever made up."""

from __future__ import annotations

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from stallkit_sessions.containers.container_events import ContainerFacts
from stallkit_sessions.end_facts import PaneFacts, ServerEnd
from stallkit_sessions.explain import DYING_S, PATIENCE_S, EndFacts, complete, event_of, explain
from stallkit_sessions.model import CRASHED, DROP, STOPPED, Cause, Order, Source, Status

from stallkit.transports.base import Presence

HERE, AWAY, DARK = Presence.THERE, Presence.GONE, Presence.UNSEEN
ALIVE = PaneFacts(HERE)
BLANK = PaneFacts(HERE, dead=True)  # dead, and tmux does not know how
LOST = PaneFacts(AWAY)


def dead(code: int | None = None, signal: int | None = None) -> PaneFacts:
    return PaneFacts(HERE, dead=True, code=code, signal=signal)


def test_a_program_in_a_pane() -> None:
    for facts, cause, status, event in [
        (EndFacts(dead(0)), Cause.EXITED, Status(Source.PANE, 0), STOPPED),
        (EndFacts(dead(3)), Cause.EXITED, Status(Source.PANE, 3), CRASHED),
        (EndFacts(dead(signal=9)), Cause.SIGNALLED, Status(Source.PANE, signal=9), CRASHED),
        (EndFacts(BLANK), Cause.UNKNOWN, None, DROP),
        (EndFacts(LOST), Cause.SESSION_KILLED, None, DROP),
        (EndFacts(LOST, ServerEnd.ENDED), Cause.SERVER_ENDED, None, DROP),
        (EndFacts(LOST, ServerEnd.CRASHED), Cause.SERVER_CRASHED, None, DROP),
        (EndFacts(LOST, ServerEnd.GONE), Cause.SERVER_GONE, None, DROP),
        (EndFacts(LOST, ServerEnd.GONE, same_boot=False), Cause.MACHINE_RESTARTED, None, DROP),
        (EndFacts(dead(143), order=Order.STOP), Cause.STOPPED, Status(Source.PANE, 143), STOPPED),
        (EndFacts(LOST, order=Order.REPLACE), Cause.REPLACED, None, STOPPED),
    ]:
        found = explain(facts)
        assert found is not None, (facts, cause)
        assert (found.cause, found.status, event_of(found)) == (cause, status, event), (facts, cause)


RUNS = ContainerFacts(HERE, running=True)
ENDED = ContainerFacts(HERE)
REMOVED = ContainerFacts(AWAY)
ITSELF = ContainerFacts(AWAY, removes_itself=True)
UNANSWERED = ContainerFacts(DARK)


def test_a_container() -> None:
    for pane, container, cause, status in [
        (dead(7), evolve(ENDED, event_code=7, inspect_code=7), Cause.EXITED, Status(Source.EVENT, 7)),
        (dead(0), evolve(ENDED, inspect_code=0), Cause.EXITED, Status(Source.INSPECT, 0)),
        (dead(7), ITSELF, Cause.EXITED, Status(Source.CLIENT, 7)),
        (dead(0), ITSELF, Cause.UNKNOWN, None),  # or it was detached before
        (dead(0), ENDED, Cause.UNKNOWN, None),
        (dead(125), ITSELF, Cause.UNKNOWN, None),
        (dead(137), ITSELF, Cause.UNKNOWN, None),
        (dead(0), RUNS, Cause.CLIENT_ENDED, None),  # Ctrl-P Ctrl-Q
        (dead(signal=9), RUNS, Cause.CLIENT_ENDED, None),
        (dead(0), UNANSWERED, Cause.CLIENT_ENDED, None),
        (LOST, RUNS, Cause.SESSION_KILLED, None),
        (dead(7), REMOVED, Cause.CONTAINER_REMOVED, Status(Source.CLIENT, 7)),
        (
            dead(137),
            evolve(REMOVED, event_code=137, event_signal=9),
            Cause.CONTAINER_REMOVED,
            Status(Source.EVENT, 137),
        ),
        (dead(137), evolve(ITSELF, event_code=137, event_signal=9), Cause.SIGNALLED, Status(Source.EVENT, 137)),
        (dead(137), evolve(ENDED, event_code=137, oom=True), Cause.OUT_OF_MEMORY, Status(Source.EVENT, 137)),
        (dead(9), evolve(ENDED, event_code=9, oom=True), Cause.EXITED, Status(Source.EVENT, 9)),  # a child was killed
        (dead(137), evolve(ENDED, doubtful=True), Cause.UNKNOWN, None),
        (dead(9), evolve(ENDED, doubtful=True), Cause.UNKNOWN, None),
        (dead(125), evolve(UNANSWERED, engine_died=True), Cause.ENGINE_DIED, None),
        (dead(7), evolve(ENDED, engine_died=True), Cause.ENGINE_DIED, None),
        (dead(127), evolve(ENDED, started=False), Cause.NOT_STARTED, None),
        (dead(125), REMOVED, Cause.NOT_STARTED, None),  # no such image
        (dead(125), evolve(REMOVED, seen_to_start=True), Cause.CONTAINER_REMOVED, None),
        (dead(125), evolve(ITSELF, seen_to_start=False), Cause.NOT_STARTED, None),
    ]:
        found = explain(EndFacts(pane, container=container))
        assert found is not None, (pane, container)
        assert (found.cause, found.status) == (cause, status), (pane, container)


def test_what_lives_or_was_not_seen_has_not_ended() -> None:
    wrong = [
        facts
        for facts in [
            EndFacts(ALIVE),
            EndFacts(ALIVE, order=Order.STOP),
            EndFacts(ALIVE, container=RUNS),
            EndFacts(ALIVE, container=UNANSWERED),
            EndFacts(ALIVE, container=REMOVED),  # which its client has not made yet
            EndFacts(ALIVE, container=evolve(ENDED, started=False)),
            EndFacts(ALIVE, container=evolve(UNANSWERED, engine_died=True)),
            EndFacts(PaneFacts(DARK), ServerEnd.UNSEEN),
            EndFacts(PaneFacts(AWAY), ServerEnd.UNSEEN),
            EndFacts(PaneFacts(DARK), ServerEnd.UNSEEN, container=RUNS),
        ]
        if explain(facts) is not None
    ]
    assert wrong == []


# --- how long an end is left unexplained: until the last witness spoke, and never for long ---
SAID = {
    "an exit code": EndFacts(evolve(BLANK, code=0)),
    "a signal": EndFacts(evolve(BLANK, signal=9)),
    "its session was killed": EndFacts(LOST, ServerEnd.LIVES),
    "kill-server": EndFacts(LOST, ServerEnd.ENDED),
    "kill -9 of tmux": EndFacts(LOST, ServerEnd.CRASHED),
    "another boot": EndFacts(PaneFacts(DARK), ServerEnd.UNSEEN, same_boot=False),
    "a container's event": EndFacts(ALIVE, container=evolve(ENDED, event_code=0)),
    "the engine, whose events were heard": EndFacts(ALIVE, container=evolve(ENDED, heard=True, inspect_code=0)),
    "it runs on without its terminal": EndFacts(LOST, container=evolve(ENDED, running=True)),
}
UNSAID = {
    "no status yet": EndFacts(BLANK),
    "how its server ended": EndFacts(LOST, ServerEnd.GONE),
    "nobody could look": EndFacts(LOST, ServerEnd.UNSEEN),
    "an engine that was not asked yet": EndFacts(ALIVE, container=evolve(ENDED, heard=True)),
    "the engine's word, where its client has spoken": EndFacts(evolve(BLANK, code=0), container=ENDED),
    "a client that may be detached": EndFacts(evolve(BLANK, code=0), container=evolve(ENDED, running=True)),
}


def test_what_is_known_is_told_at_once() -> None:
    wrong = [facts for facts in SAID.values() if not (complete(facts, 0.0))]
    assert wrong == []


def test_who_knows_is_waited_for_but_not_for_ever() -> None:
    dying = EndFacts(LOST, ServerEnd.LIVES, program_lives=True)
    assert not complete(dying, DYING_S * 0.99) and complete(dying, DYING_S)
    for facts in UNSAID.values():
        assert not complete(facts, 0.0), facts
        assert not complete(facts, PATIENCE_S * 0.99), facts
        assert complete(facts, PATIENCE_S), facts


# --- whatever the witnesses say ---
codes = st.none() | st.integers(0, 255)
signals = st.none() | st.integers(1, 64)
panes = st.builds(PaneFacts, st.sampled_from(Presence), st.booleans(), codes, signals)
containers = st.builds(
    ContainerFacts,
    st.sampled_from(Presence),
    running=st.booleans(),
    removes_itself=st.booleans(),
    started=st.booleans(),
    event_code=codes,
    event_signal=signals,
    inspect_code=codes,
    oom=st.booleans(),
    engine_died=st.booleans(),
)
every = st.builds(
    EndFacts,
    panes,
    st.sampled_from(ServerEnd),
    st.none() | containers,
    st.none() | st.sampled_from(Order),
    st.booleans(),
    st.none() | st.booleans(),
)


@given(every)
def test_no_code_is_made_up(facts: EndFacts) -> None:
    found = explain(facts)
    if found is None or found.status is None:
        return
    told, pane, container = found.status, facts.pane, facts.container
    match told.source:
        case Source.EVENT:
            assert container is not None and told.code == container.event_code
        case Source.INSPECT:
            assert container is not None and told.code == container.inspect_code
        case Source.CLIENT:
            assert container is not None and pane.dead and told.code == pane.code != 0
        case Source.PANE:
            assert container is None and pane.dead and (told.code, told.signal) != (None, None)
            assert told.signal == pane.signal and told.code == (None if pane.signal else pane.code)
    assert (told.code is None) != (told.signal is None)


@given(every)
def test_a_container_nobody_speaks_for_has_no_code_0(facts: EndFacts) -> None:
    """Zero is what an engine, a client and an empty field say when they do not know."""
    if facts.container is None:
        return
    silent = evolve(facts, container=evolve(facts.container, event_code=None, inspect_code=None))
    found = explain(silent)
    assert found is None or found.status is None or found.status.code != 0
