"""Waiting until a session is ready: one that is not there yet, one that never comes, and one that went."""

from __future__ import annotations

import time
from typing import Any, Callable

import pytest
from attrs import evolve
from checked import ALLOWS, GO, OWN, line
from checked import ENGINE as PROMPTS
from looks import reads
from terminals import Server, wait_for

from stallkit import Engine, TransportError, wait_until_ready
from stallkit.detect.signature import State
from stallkit.judging.verdict import Verdict
from stallkit.press.send import LOOK_S, Ready
from stallkit.testing import FakeClock, MemoryTransport
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.e2e

ASKS = ("bash", "-c", "read -p 'Delete all? [y/N] '")


def asks(verdict: Verdict) -> bool:
    return verdict.state is State.WAITING


def first(act: Callable[[], object]) -> Callable[[float], None]:
    """A `sleep` in which, the first time, something happens."""
    done: list[object] = []

    def sleep(seconds: float) -> None:
        if not done:
            done.append(act())
        time.sleep(seconds)

    return sleep


def test_a_session_that_is_not_there_yet_is_waited_for(engine: Engine, server: Server) -> None:
    for name, before in (("later", None), ("later-on", "another")):  # no server yet; a longer name is another session
        if before:
            server.tmux("new-session", "-d", "-s", f"{name}-{before}", "sleep", "1000")
        later = TmuxTransport(name, server.options)
        start = first(lambda name=name: server.tmux("new-session", "-d", "-s", name, *ASKS))
        found = wait_until_ready(later, engine=engine, until=asks, sleep=start)
        assert (found.ready, found.why) == (Ready.READY, found.last and found.last.verdict.reasons[-1])


def test_a_patient_policy_lets_a_prompt_stand_before_it_answers() -> None:
    patient = evolve(ALLOWS, patience_s=180.0)
    transport, clock = MemoryTransport(GO, lambda keys: line("Ask")), FakeClock()
    with_it: Any = {"policy": patient, "engine": PROMPTS, "timeout_s": 9.0, "clock": clock, "sleep": clock.sleep}
    found = wait_until_ready(transport, **with_it)
    assert (found.ready, found.dismissed, transport.sent) == (Ready.TIMEOUT, (), []), found
    transport.now = evolve(transport.now, quiet_s=181.0)
    found = wait_until_ready(transport, **with_it)
    assert (found.ready, found.dismissed, transport.sent) == (Ready.READY, ("p:go",), [b"y"]), found


def test_a_dialog_whose_reader_is_not_known_yet_is_looked_at_again() -> None:
    """A program that is still busy with its start reads a moment later; who never reads is left to a person."""
    with_it: Any = {"engine": OWN, "timeout_s": 9.0, "clock": (clock := FakeClock())}
    transport = MemoryTransport(GO, lambda keys: line("Ask"))
    transport.now = evolve(transport.now, kernel=evolve(reads("acme"), readers=None))
    found = wait_until_ready(transport, sleep=clock.sleep, **with_it)
    assert (found.ready, transport.sent) == (Ready.BLOCKED, []) and "which process reads is unknown" in found.why

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        if seconds == LOOK_S:
            transport.now = evolve(transport.now, kernel=reads("acme"))

    found = wait_until_ready(transport, sleep=sleep, **with_it)
    assert (found.ready, found.dismissed, transport.sent) == (Ready.READY, ("acme:go",), [b"y"]), found


def test_a_session_that_never_comes_or_that_went_is_told(engine: Engine, server: Server) -> None:
    server.tmux("new-session", "-d", "-s", "other", "sleep", "1000")
    found = wait_until_ready(TmuxTransport("later", server.options), timeout_s=0.1, engine=engine)
    assert (found.ready, found.last) == (Ready.TIMEOUT, None)
    assert found.why == "it was not ready within 0.1 s: can't find session: later"
    begun = wait_until_ready(TmuxTransport("begun", server.options), engine=engine, begun=True)
    assert begun.ready is Ready.VANISHED
    server.start("short", *ASKS, shows="Delete").close()
    kill = first(lambda: server.tmux("kill-session", "-t", "=short"))  # between the first look and the second
    gone = wait_until_ready(TmuxTransport("short", server.options), engine=engine, sleep=kill)
    assert gone.ready is Ready.VANISHED
    server.tmux("new-session", "-d", "-s", "dead", "sh", "-c", "exit 3")
    dead = ("run-shell", "-b", ":", ";", "display-message", "-p", "-t", "dead", "#{pane_dead_status}")
    wait_for(lambda: server.tmux(*dead).strip() == "3", "its status")  # tmux may miss the signal of the only child
    ended = wait_until_ready(TmuxTransport("dead", server.options), engine=engine)
    assert (ended.ready, ended.why) == (Ready.VANISHED, "the process ended, exit status 3")
    nowhere = TmuxTransport("any", server.options, binary="no-such-tmux")
    with pytest.raises(TransportError, match="tmux is not installed"):
        wait_until_ready(nowhere, timeout_s=0.0, engine=engine)
