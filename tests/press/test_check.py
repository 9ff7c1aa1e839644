"""One check, from the first look to the outcome."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from attrs import evolve
from checked import ALLOWS, ENGINE, GO, OWN, line
from looks import reads

import stallkit
from stallkit.detect.engine import Engine
from stallkit.detect.signature import Certainty, State
from stallkit.errors import CaptureTimeout, SessionGone, StoreError, TransportError
from stallkit.evidence.snapshot import ProcessFacts, Snapshot
from stallkit.press.check import (
    GAP_S,
    MORE_LOOKS,
    CheckResult,
    Status,
    check,
    check_session,
)
from stallkit.press.events import EventLog
from stallkit.press.gate import End
from stallkit.press.policy import CAREFUL, Escalate, Ignore, Policy, Press, Wait
from stallkit.press.policy_file import DAEMON
from stallkit.terminal.screen import Screen
from stallkit.testing import MemoryTransport


def run(transport: MemoryTransport, engine: Engine = ENGINE, **more: Any) -> CheckResult:
    return check_session(transport, engine, **{"sleep": lambda seconds: None} | more)


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("text", "foreground", "status", "state"),
    [
        ("Go? [y/N] ", None, Status.STALLED, State.WAITING),
        ("Which? ", None, Status.STALLED, State.WAITING),
        ("Password: ", None, Status.STALLED, State.WAITING),
        ("hmm", None, Status.MAYBE, State.WAITING),
        ("Go? [y/N] ", "cat", Status.NOT_STALLED, State.WORKING),
        ("Working", None, Status.NOT_STALLED, State.WORKING),
        ("nothing known", None, Status.MAYBE, State.WAITING),
        ("nothing known", "gcc", Status.MAYBE, State.WAITING),
        ("Ask", None, Status.NOT_STALLED, State.IDLE),
        ("limit", None, Status.NOT_STALLED, State.QUOTA),
        ("box $ ", "bash", Status.ENDED, State.ENDED),
        ("box $ ", "psql", Status.MAYBE, State.WAITING),
        ("a" * 60 + "!", None, Status.MAYBE, State.WAITING),  # no signature is decided, but it is read
    ],
)
def test_statuses(text: str, foreground: str | None, status: Status, state: State) -> None:
    transport = MemoryTransport(line(text), foreground=foreground)
    result = run(transport)
    assert (result.status, result.verdict.state) == (status, state)
    assert (result.decision, result.outcome, transport.sent) == (None, None, [])
    assert result.match is result.verdict.match
    assert (result.target, result.snapshot) == ("memory:", transport.now)


def test_it_looks_twice_with_a_pause_between() -> None:
    transport = MemoryTransport(GO)
    pauses: list[float] = []
    result = run(transport, sleep=pauses.append)
    assert (pauses, transport.captures) == ([GAP_S], 2)
    assert result.verdict.certainty is Certainty.SURE


def test_a_prompt_that_came_between_two_looks_is_looked_at_again() -> None:
    transport = MemoryTransport(line("Gone? [y/N] "))
    result = run(transport, sleep=lambda seconds: transport.show(GO))
    assert (result.status, transport.captures) == (Status.STALLED, 3)
    assert result.snapshot.screen == GO  # the last look is the one that counts


def test_a_line_that_keeps_moving_is_not_sure_and_not_looked_at_for_ever() -> None:
    transport = MemoryTransport(GO)
    result = run(transport, sleep=lambda seconds: transport.show(line(f"{transport.captures} Go? [y/N] ")))
    assert (result.status, result.verdict.certainty) == (Status.NOT_STALLED, Certainty.MAYBE)
    assert transport.captures == 2 + MORE_LOOKS


def test_a_picture_is_looked_at_once() -> None:
    transport = MemoryTransport(GO)
    transport.now = evolve(transport.now, alive=None)
    pauses: list[float] = []
    result = run(transport, sleep=pauses.append, policy=CAREFUL)
    assert (pauses, transport.captures) == ([], 1)
    assert result.status is Status.MAYBE
    assert transport.sent == []


@pytest.mark.parametrize("policy", [None, CAREFUL, DAEMON])
def test_a_dead_program_is_ended_whatever_it_shows(policy: Any) -> None:
    transport = MemoryTransport(GO)
    transport.now = evolve(transport.now, alive=False, exit_status=1)
    result = run(transport, policy=policy)
    assert (result.status, result.verdict.state, transport.sent) == (Status.ENDED, State.GONE, [])


# --- with a policy ---


def acme(on_keys: Any = lambda keys: "Working", shows: Screen = GO, path: str | None = None) -> MemoryTransport:
    """A session in which the program acme asks, whose own pack `OWN` is."""
    return MemoryTransport(shows, on_keys, foreground="acme", kernel=reads("acme", path))


@pytest.mark.parametrize(
    ("engine", "policy"), [(OWN, CAREFUL), (OWN, DAEMON), (ENGINE, ALLOWS)], ids=["careful", "daemon", "by a rule"]
)
def test_what_has_a_ground_is_dismissed(tmp_path: Path, engine: Engine, policy: Policy) -> None:
    transport = acme()
    transport.now = evolve(transport.now, quiet_s=policy.patience_s or None)
    log = EventLog(tmp_path / "events.jsonl")
    result = run(transport, engine, policy=policy, log=log)
    assert (result.status, transport.sent) == (Status.DISMISSED, [b"y"])
    assert isinstance(result.decision, Press)
    assert result.outcome is not None and result.outcome.end is End.CLEARED
    seen, done = events(log.path)
    assert (seen["event"], seen["signature"], seen["state"]) == ("detection", "go", "waiting")
    del done["time"]
    assert done == {
        "version": 1,
        "event": "dismissal",
        "target": "memory:",
        "signature": "go",
        "keys": "y",
        "outcome": "cleared",
        "why": "the prompt went away",
    }


def test_what_has_none_is_left_to_a_person() -> None:
    which = line("Which? ")
    for engine, transport, why in (
        (ENGINE, acme(), "any program may show this prompt; to allow it: a rule with signature = "),
        (OWN, acme(shows=which), "severity medium: it is left to a person; to allow it: a rule with signature = "),
        (OWN, acme(path="/usr/bin/node"), "that acme reads the terminal is not proven: it is /usr/bin/node"),
        (OWN, acme(path=""), "that acme reads the terminal is not proven: it is acme"),
        (OWN, MemoryTransport(GO, foreground="acme", kernel=None), "doubtful"),
    ):
        for policy in (CAREFUL, DAEMON):
            result = run(transport, engine, policy=policy)
            assert (result.outcome, transport.sent) == (None, []), (why, policy)
            assert isinstance(result.decision, Escalate) and why in result.decision.why, (why, result.decision)


def test_a_program_that_draws_is_looked_at_until_it_reads() -> None:
    for looks, pressed in ((3, True), (2 + MORE_LOOKS + 1, False)):
        transport = acme()
        then = transport.now
        runs = evolve(reads("acme"), readers=None, listening=None)
        transport.now = evolve(then, kernel=runs)

        def pause(
            seconds: float, transport: MemoryTransport = transport, then: Snapshot = then, at: int = looks
        ) -> None:
            if transport.captures + 1 >= at:
                transport.now = then

        result = run(transport, OWN, sleep=pause, policy=CAREFUL)
        assert bool(transport.sent) is pressed, (looks, result.decision)


def test_a_patient_policy_waits_until_the_prompt_has_stood() -> None:
    for stands_s, pressed in ((None, False), (179.0, False), (181.0, True)):
        transport = acme()
        transport.now = evolve(transport.now, quiet_s=stands_s)
        result = run(transport, policy=evolve(ALLOWS, patience_s=180.0))
        assert bool(transport.sent) is pressed, stands_s
        if not pressed:
            assert isinstance(result.decision, Wait)
            assert "presses once the prompt has stood for 180 s: that is in " in result.decision.why
            assert result.status is Status.STALLED
    transport = acme()
    transport.now = evolve(transport.now, printed_at=time.time() - 200.0)
    assert run(transport, policy=evolve(ALLOWS, patience_s=180.0)).status is Status.DISMISSED


@pytest.mark.parametrize(
    ("text", "decision"), [("Password: ", Escalate), ("hmm", Escalate), ("Working", Ignore), ("x", Escalate)]
)
def test_what_is_not_to_be_pressed_is_not(text: str, decision: type) -> None:
    transport = MemoryTransport(line(text))
    result = run(transport, policy=DAEMON)
    assert type(result.decision) is decision
    assert (result.outcome, transport.sent) == (None, [])


def test_a_dismissal_that_did_not_work_leaves_it_stalled() -> None:
    transport = MemoryTransport(GO)
    result = run(transport, policy=ALLOWS)
    assert (result.status, transport.sent) == (Status.STALLED, [b"y"])
    assert result.outcome is not None and result.outcome.end is End.UNCHANGED


def test_another_prompt_in_its_place_is_stalled_too() -> None:
    transport = MemoryTransport(GO, lambda keys: "Which? ")
    result = run(transport, policy=ALLOWS)
    assert (result.status, transport.sent) == (Status.STALLED, [b"y"])  # the other one is not pressed in the same check


def test_a_session_that_ends_on_the_key_is_ended() -> None:
    transport = MemoryTransport(GO, lambda keys: transport.close())
    assert run(transport, policy=ALLOWS).status is Status.ENDED


# --- gone, or not to be seen ---


class Flickering(MemoryTransport):
    """A session that some looks do not find."""

    def __init__(self, screen: Screen, *missing: int, exit_status: int | None = None) -> None:
        super().__init__(screen)
        self.looks, self.missing, self.exit_status = 0, missing, exit_status

    def capture(self) -> Snapshot:
        self.looks += 1
        if self.looks in self.missing:
            raise SessionGone(self.target, "not in the list", self.exit_status)
        return super().capture()


def test_a_session_that_two_looks_do_not_find_is_ended(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl")
    result = run(Flickering(GO, 1, 2, exit_status=137), policy=DAEMON, log=log)
    assert (result.status, result.verdict.state, result.match) == (Status.ENDED, State.GONE, None)
    assert result.snapshot.exit_status == 137
    (event,) = events(log.path)
    assert (event["event"], event["state"], event["target"]) == ("detection", "gone", "memory:")


@pytest.mark.parametrize("missing", [1, 2])
def test_one_look_that_finds_nothing_is_no_proof(missing: int) -> None:
    assert run(Flickering(GO, missing)).status is Status.STALLED


def test_who_could_not_look_says_so(tmp_path: Path) -> None:
    transport = MemoryTransport(GO)
    transport.failing = CaptureTimeout("memory:", 2.0)
    log = EventLog(tmp_path / "events.jsonl")
    with pytest.raises(CaptureTimeout):
        run(transport, log=log)
    assert not log.path.exists()


def test_a_log_that_cannot_be_written_costs_no_verdict_but_every_key(tmp_path: Path) -> None:
    transport = MemoryTransport(GO)
    result = run(transport, policy=ALLOWS, log=EventLog(tmp_path))
    assert str(result.verdict.state) == "waiting" and isinstance(result.unlogged, StoreError)
    assert result.decision is None and transport.sent == []


# --- by the name of a target ---


@pytest.fixture
def scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, MemoryTransport]:
    """The sessions that ``memory:NAME`` opens: a third party's scheme, installed for this test."""
    sessions: dict[str, MemoryTransport] = {}
    info = tmp_path / "memory_scheme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: memory-scheme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[stallkit.transports]\nmemory = memory_scheme:open\n")
    module = ModuleType("memory_scheme")
    module.open = lambda address, options: sessions[address]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "memory_scheme", module)
    monkeypatch.syspath_prepend(tmp_path)
    return sessions


def test_a_target_is_opened_and_closed_again(scheme: dict[str, MemoryTransport]) -> None:
    scheme["works"] = MemoryTransport(line("Working"))
    assert check("memory:works", engine=ENGINE).status is Status.NOT_STALLED
    assert scheme["works"].gone


def test_a_target_that_fails_is_closed_as_well(scheme: dict[str, MemoryTransport]) -> None:
    broken = scheme["broken"] = MemoryTransport(GO)
    broken.failing = TransportError("memory:", "no", "wait")
    with pytest.raises(TransportError):
        check("memory:broken", engine=ENGINE)
    assert broken.gone


def test_a_transport_that_is_given_stays_open() -> None:
    transport = MemoryTransport(line("Working"))
    assert check(transport, engine=ENGINE).status is Status.NOT_STALLED
    assert not transport.gone


def test_a_saved_screen_through_the_public_name(tmp_path: Path) -> None:
    path = tmp_path / "screen.txt"
    path.write_text("---\ncursor = [10, 0]\n---\nGo? [y/N]\n")
    result = stallkit.check(f"file:{path}", engine=ENGINE)
    assert (result.status, result.match and result.match.signature.id) == (Status.MAYBE, "go")


@pytest.mark.parametrize("target", ["worker1", "tmux:", "carrier-pigeon:home", ""])
def test_a_target_that_cannot_be_read_is_the_callers_mistake(target: str) -> None:
    with pytest.raises(ValueError, match="tmux, file"):
        check(target, engine=ENGINE)


def test_a_file_that_cannot_be_read_is_a_transport_error(tmp_path: Path) -> None:
    with pytest.raises(TransportError):
        check(f"file:{tmp_path / 'none.txt'}", engine=ENGINE)


def test_a_foreground_that_changes_between_two_looks_stops_the_key() -> None:
    transport = MemoryTransport(line("Which? "), lambda keys: "Working", foreground="acme")
    hooked = transport.capture

    def capture() -> Snapshot:
        if transport.captures == 2:  # the look of the dismissal
            transport.now = evolve(transport.now, process=ProcessFacts("bash"))
        return hooked()

    transport.capture = capture  # type: ignore[method-assign]
    result = run(transport, policy=ALLOWS)
    assert (result.status, transport.sent) == (Status.STALLED, [])
    assert result.outcome is not None and result.outcome.end is End.REFUSED


# --- a policy by its name ---


def test_a_policy_may_be_given_by_the_name_of_its_profile() -> None:
    transport = MemoryTransport(line("Which? "))
    result = check(transport, "careful", engine=ENGINE)
    assert isinstance(result.decision, Escalate) and "any program" in result.decision.why
    with pytest.raises(ValueError, match="a profile is one of careful, observe, daemon, not 'bold'"):
        check(transport, "bold", engine=ENGINE)
    assert transport.sent == []
