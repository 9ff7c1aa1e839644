"""How long an end is left unexplained: until the last witness spoke, and never for long."""

from __future__ import annotations

from attrs import evolve
from stallkit_sessions.containers.container_events import ContainerFacts
from stallkit_sessions.end_facts import PaneFacts, ServerEnd
from stallkit_sessions.explain import PATIENCE_S, EndFacts, complete

from stallkit.transports.base import Presence

DEAD = PaneFacts(Presence.THERE, dead=True)
GONE = PaneFacts(Presence.GONE)
IN_CONTAINER = ContainerFacts(Presence.THERE)

SAID = {
    "an exit code": EndFacts(evolve(DEAD, code=0)),
    "a signal": EndFacts(evolve(DEAD, signal=9)),
    "its session was killed": EndFacts(GONE, ServerEnd.LIVES),
    "kill-server": EndFacts(GONE, ServerEnd.ENDED),
    "kill -9 of tmux": EndFacts(GONE, ServerEnd.CRASHED),
    "another boot": EndFacts(PaneFacts(Presence.UNSEEN), ServerEnd.UNSEEN, same_boot=False),
    "a container's event": EndFacts(PaneFacts(Presence.THERE), container=evolve(IN_CONTAINER, event_code=0)),
    "it runs on without its terminal": EndFacts(GONE, container=evolve(IN_CONTAINER, running=True)),
}
UNSAID = {
    "no status yet": EndFacts(DEAD),
    "how its server ended": EndFacts(GONE, ServerEnd.GONE),
    "nobody could look": EndFacts(GONE, ServerEnd.UNSEEN),
    "the engine's word, where its client has spoken": EndFacts(evolve(DEAD, code=0), container=IN_CONTAINER),
    "a client that may be detached": EndFacts(evolve(DEAD, code=0), container=evolve(IN_CONTAINER, running=True)),
}


def test_what_is_known_is_told_at_once() -> None:
    wrong = [facts for facts in SAID.values() if not (complete(facts, 0.0))]
    assert wrong == []


def test_who_knows_is_waited_for_but_not_for_ever() -> None:
    for facts in UNSAID.values():
        assert not complete(facts, 0.0), facts
        assert not complete(facts, PATIENCE_S * 0.99), facts
        assert complete(facts, PATIENCE_S), facts
