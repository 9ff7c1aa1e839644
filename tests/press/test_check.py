"""One check or one dismissal, from the first look to the outcome: what is allowed is pressed once, nothing else is."""

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
from terminals import Server

import stallkit
from stallkit.detect.engine import Engine
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.errors import CaptureTimeout, SessionGone, StoreError, TransportError
from stallkit.evidence.snapshot import ProcessFacts, Snapshot
from stallkit.press.check import GAP_S, MORE_LOOKS, CheckResult, Status, check, check_session, dismiss
from stallkit.press.events import EventLog
from stallkit.press.gate import End
from stallkit.press.policy import CAREFUL, Escalate, Ignore, Policy, Press, Wait
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import Rule
from stallkit.terminal.screen import Screen
from stallkit.testing import MemoryTransport

WHICH = line("Which? ")


def run(transport: MemoryTransport, engine: Engine = ENGINE, **more: Any) -> CheckResult:
    return check_session(transport, engine, **{"sleep": lambda seconds: None} | more)


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in path.read_text().splitlines()]


STATUSES = [
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
]


def test_statuses() -> None:
    for text, foreground, status, state in STATUSES:
        transport = MemoryTransport(line(text), foreground=foreground)
        result = run(transport)
        assert (result.status, result.verdict.state) == (status, state), (text, foreground)
        assert (result.decision, result.outcome, transport.sent) == (None, None, [])
        assert (result.match, result.target, result.snapshot) == (result.verdict.match, "memory:", transport.now)


# --- how often it looks ---


def test_it_looks_twice_with_a_pause_between_and_at_a_picture_once() -> None:
    for alive, pauses, status in ((True, [GAP_S], Status.STALLED), (None, [], Status.MAYBE)):
        transport, slept = MemoryTransport(GO), list[float]()
        transport.now = evolve(transport.now, alive=alive)
        result = run(transport, sleep=slept.append, policy=None if alive else CAREFUL)
        assert (slept, transport.captures, result.status) == (pauses, 1 + len(pauses), status)
        assert (result.verdict.certainty is Certainty.SURE) is bool(alive) and transport.sent == []


def test_a_prompt_that_came_between_two_looks_is_looked_at_again_but_not_for_ever() -> None:
    transport = MemoryTransport(line("Gone? [y/N] "))
    result = run(transport, sleep=lambda seconds: transport.show(GO))
    assert (result.status, transport.captures) == (Status.STALLED, 3)
    assert result.snapshot.screen == GO, "the last look is the one that counts"
    moving = MemoryTransport(GO)
    result = run(moving, sleep=lambda seconds: moving.show(line(f"{moving.captures} Go? [y/N] ")))
    assert (result.status, result.verdict.certainty) == (Status.NOT_STALLED, Certainty.MAYBE)
    assert moving.captures == 2 + MORE_LOOKS


def test_a_dead_program_is_ended_whatever_it_shows() -> None:
    for policy in (None, CAREFUL, DAEMON):
        transport = MemoryTransport(GO)
        transport.now = evolve(transport.now, alive=False, exit_status=1)
        result = run(transport, policy=policy)
        assert (result.status, result.verdict.state, transport.sent) == (Status.ENDED, State.GONE, [])


# --- with a policy ---


def acme(on_keys: Any = lambda keys: "Working", shows: Screen = GO, path: str | None = None) -> MemoryTransport:
    """A session in which the program acme asks, whose own pack `OWN` is."""
    return MemoryTransport(shows, on_keys, foreground="acme", kernel=reads("acme", path))


def test_what_has_a_ground_is_dismissed(tmp_path: Path) -> None:
    for engine, policy in ((OWN, CAREFUL), (OWN, DAEMON), (ENGINE, ALLOWS)):
        transport, log = acme(), EventLog(tmp_path / f"{policy.name}.jsonl")
        transport.now = evolve(transport.now, quiet_s=policy.patience_s or None)
        result = run(transport, engine, policy=policy, log=log)
        assert (result.status, transport.sent) == (Status.DISMISSED, [b"y"])
        assert isinstance(result.decision, Press)
        assert result.outcome is not None and result.outcome.end is End.CLEARED
        seen, done = events(log.path)
        assert (seen["event"], seen["signature"], seen["state"]) == ("detection", "go", "waiting")
        del done["time"]
        told = {"version": 1, "event": "dismissal", "target": "memory:", "signature": "go", "keys": "y"}
        assert done == {**told, "outcome": "cleared", "why": "the prompt went away"}
    transport = acme()
    outcome = stallkit.dismiss(transport, engine=OWN)
    assert (bool(outcome), outcome.end, str(outcome.keys)) == (True, End.CLEARED, "y")
    assert transport.sent == [b"y"] and not transport.gone


def test_what_has_none_is_left_to_a_person() -> None:
    for engine, transport, why in (
        (ENGINE, acme(), "any program may show this prompt; to allow it: a rule with signature = "),
        (OWN, acme(shows=WHICH), "severity medium: it is left to a person; to allow it: a rule with signature = "),
        (OWN, acme(path="/usr/bin/node"), "that acme reads the terminal is not proven: it is /usr/bin/node"),
        (OWN, acme(path=""), "that acme reads the terminal is not proven: it is acme"),
        (OWN, MemoryTransport(GO, foreground="acme", kernel=None), "doubtful"),
    ):
        for policy in (CAREFUL, DAEMON):
            result = run(transport, engine, policy=policy)
            assert (result.outcome, transport.sent) == (None, []), (why, policy)
            assert isinstance(result.decision, Escalate) and why in result.decision.why, (why, result.decision)
    for text, decision in (("Password: ", Escalate), ("hmm", Escalate), ("Working", Ignore), ("x", Escalate)):
        transport = MemoryTransport(line(text))
        result = run(transport, policy=DAEMON)
        assert (type(result.decision), result.outcome, transport.sent) == (decision, None, []), text


NOT_DISMISSED: list[tuple[str, dict[str, Any], str]] = [
    ("Which? ", {}, "any program may show this prompt; to allow it: a rule with signature = "),
    ("Go? [y/N] ", {"policy": "observe"}, "policy observe leaves it to a person; to allow it: a rule with"),
    ("Password: ", {}, "a machine never answers a secret"),
    ("hmm", {"signature": "p:guess"}, "doubtful: the signature itself is never sure"),
    ("Working", {}, "nothing is to be pressed"),
    ("box $ ", {"policy": DAEMON}, "a rule of policy daemon: restart where state ended"),
    ("Go? [y/N] ", {"signature": "p:dialog"}, "it does not show dialog: p:go on the line 'Go? [y/N]'"),
    ("nothing known", {"signature": "p:go"}, "it does not show go: no signature matches"),
]


def test_what_is_not_to_be_dismissed_gets_no_key() -> None:
    for text, given, why in NOT_DISMISSED:
        transport = MemoryTransport(line(text), lambda keys: "Working", foreground="bash")
        outcome = dismiss(transport, **given, engine=ENGINE)
        assert (bool(outcome), outcome.end, outcome.pressed, transport.sent) == (False, End.REFUSED, False, []), text
        assert why in outcome.why, (text, outcome)


def test_a_preview_is_told_and_gets_no_key() -> None:
    (pack,) = ENGINE.packs
    engine = Engine([evolve(pack, signatures=[evolve(pack.signatures[0], preview=True)])])
    for policy in ("careful", "daemon"):
        transport = MemoryTransport(GO, lambda keys: "Working")
        found = check(transport, policy, engine=engine)
        assert (found.status, found.verdict.kind, transport.sent) == (Status.MAYBE, Kind.CONFIRM, [])
        assert "the signature is a preview: it was not measured yet" in found.verdict.reasons
        assert not dismiss(transport, "p:go", policy=policy, engine=engine) and transport.sent == []


def test_a_program_that_draws_is_looked_at_until_it_reads() -> None:
    for looks, pressed in ((3, True), (2 + MORE_LOOKS + 1, False)):
        transport = acme()
        then = transport.now
        transport.now = evolve(then, kernel=evolve(reads("acme"), readers=None, listening=None))

        def pause(s: float, transport: MemoryTransport = transport, then: Snapshot = then, at: int = looks) -> None:
            if transport.captures + 1 >= at:
                transport.now = then

        result = run(transport, OWN, sleep=pause, policy=CAREFUL)
        assert bool(transport.sent) is pressed, (looks, result.decision)


def test_a_patient_policy_waits_until_the_prompt_has_stood() -> None:
    patient = evolve(ALLOWS, patience_s=180.0)
    for stands_s, pressed in ((None, False), (179.0, False), (181.0, True)):
        transport = acme()
        transport.now = evolve(transport.now, quiet_s=stands_s)
        result = run(transport, policy=patient)
        assert bool(transport.sent) is pressed, stands_s
        if not pressed:
            assert isinstance(result.decision, Wait)
            assert "presses once the prompt has stood for 180 s: that is in " in result.decision.why
            assert result.status is Status.STALLED
    transport = acme()
    transport.now = evolve(transport.now, printed_at=time.time() - 200.0)
    assert run(transport, policy=patient).status is Status.DISMISSED


def test_what_came_of_the_key_decides_the_status() -> None:
    unchanged, other = MemoryTransport(GO), MemoryTransport(GO, lambda keys: WHICH)
    ended = MemoryTransport(GO, lambda keys: ended.close())
    for transport, status in ((unchanged, Status.STALLED), (other, Status.STALLED), (ended, Status.ENDED)):
        result = run(transport, policy=ALLOWS)
        assert (result.status, transport.sent) == (status, [b"y"]), "another prompt is not pressed in the same check"
        assert result.outcome is not None and (result.outcome.end is End.UNCHANGED) is (transport is unchanged)


def test_a_foreground_that_changes_between_two_looks_stops_the_key() -> None:
    transport = MemoryTransport(WHICH, lambda keys: "Working", foreground="acme")
    hooked = transport.capture

    def capture() -> Snapshot:
        if transport.captures == 2:  # the look of the dismissal
            transport.now = evolve(transport.now, process=ProcessFacts("bash"))
        return hooked()

    transport.capture = capture  # type: ignore[method-assign]
    result = run(transport, policy=ALLOWS)
    assert (result.status, transport.sent) == (Status.STALLED, [])
    assert result.outcome is not None and result.outcome.end is End.REFUSED


# --- gone, or not to be seen ---


class Flickering(MemoryTransport):
    """A session that some looks do not find."""

    def __init__(self, *missing: int) -> None:
        super().__init__(GO)
        self.looks, self.missing = 0, missing

    def capture(self) -> Snapshot:
        self.looks += 1
        if self.looks in self.missing:
            raise SessionGone(self.target, "not in the list", 137)
        return super().capture()


def test_a_session_that_two_looks_do_not_find_is_ended_and_one_is_no_proof(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl")
    result = run(Flickering(1, 2), policy=DAEMON, log=log)
    assert (result.status, result.verdict.state, result.match) == (Status.ENDED, State.GONE, None)
    assert result.snapshot.exit_status == 137
    (event,) = events(log.path)
    assert (event["event"], event["state"], event["target"]) == ("detection", "gone", "memory:")
    assert [run(Flickering(missing)).status for missing in (1, 2)] == [Status.STALLED] * 2


def test_who_could_not_look_says_so(tmp_path: Path) -> None:
    transport, log = MemoryTransport(GO), EventLog(tmp_path / "events.jsonl")
    transport.failing = CaptureTimeout("memory:", 2.0)
    for tried in (lambda: run(transport, log=log), lambda: dismiss(transport, engine=ENGINE)):
        with pytest.raises(CaptureTimeout):
            tried()
    assert not log.path.exists()
    transport.failing, transport.gone = None, True
    assert dismiss(transport, engine=ENGINE).end is End.GONE


def test_a_log_that_cannot_be_written_costs_no_verdict_but_every_key(tmp_path: Path) -> None:
    transport = MemoryTransport(GO)
    result = run(transport, policy=ALLOWS, log=EventLog(tmp_path))
    assert str(result.verdict.state) == "waiting" and isinstance(result.unlogged, StoreError)
    assert result.decision is None and transport.sent == []


# --- by the names of targets, policies and signatures ---


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


def test_a_target_is_opened_and_closed_again_and_a_transport_stays_open(scheme: dict[str, MemoryTransport]) -> None:
    works, broken, given = (MemoryTransport(line("Working")) for _ in range(3))
    scheme["works"], scheme["broken"] = works, broken
    broken.failing = TransportError("memory:", "no", "wait")
    assert check("memory:works", engine=ENGINE).status is Status.NOT_STALLED
    with pytest.raises(TransportError):
        check("memory:broken", engine=ENGINE)
    assert check(given, engine=ENGINE).status is Status.NOT_STALLED
    assert (works.gone, broken.gone, given.gone) == (True, True, False)


def test_a_saved_screen_through_the_public_name(tmp_path: Path) -> None:
    path = tmp_path / "screen.txt"
    path.write_text("---\ncursor = [10, 0]\n---\nGo? [y/N]\n")
    result = stallkit.check(f"file:{path}", engine=ENGINE)
    assert (result.status, result.match and result.match.signature.id) == (Status.MAYBE, "go")
    with pytest.raises(TransportError):
        check(f"file:{tmp_path / 'none.txt'}", engine=ENGINE)


def test_a_name_that_nothing_has_is_the_callers_mistake() -> None:
    transport = MemoryTransport(WHICH)
    for target in ("worker1", "tmux:", "carrier-pigeon:home", ""):
        with pytest.raises(ValueError, match="tmux, file"):
            check(target, engine=ENGINE)
    for name in ("dialog", "p:dialogue", "p:", ""):
        with pytest.raises(ValueError, match=r"^no pack has a signature .*PACK:ID"):
            dismiss(transport, name, engine=ENGINE)
    with pytest.raises(ValueError, match="a profile is one of careful, observe, daemon, not 'bold'"):
        check(transport, "bold", engine=ENGINE)
    assert (transport.captures, transport.sent) == (0, [])


def test_a_policy_and_a_signature_may_be_given_by_their_names() -> None:
    result = check(MemoryTransport(WHICH), "careful", engine=ENGINE)
    assert isinstance(result.decision, Escalate) and "any program" in result.decision.why
    for wanted in ("p:dialog", ENGINE.packs[0].signatures[1]):
        transport = MemoryTransport(WHICH, lambda keys: "Working")
        assert dismiss(transport, wanted, policy=ALLOWS, engine=ENGINE)
        assert transport.sent == [b"1"]


@pytest.mark.e2e
def test_a_real_prompt_in_tmux_is_dismissed_by_its_target(server: Server) -> None:
    script = "read -n1 -p 'Press any key to continue '; clear; exec sleep 1000"
    transport = server.start("setup", "bash", "-c", script, shows="Press any key")
    named: dict[str, Any] = {"options": server.options}
    assert dismiss("tmux:setup", "shell_yn:yes_no", **named).end is End.REFUSED
    for policy in ("observe", "careful", "daemon"):
        assert dismiss("tmux:setup", policy=policy, **named).end is End.REFUSED
    rule = Rule(do="press", signature="shell_tools:press_any_key", session="tmux:setup")
    outcome = dismiss("tmux:setup", "shell_tools:press_any_key", policy=Policy("mine", rules=[rule]), **named)
    assert (outcome.end, str(outcome.keys)) == (End.CLEARED, "Space")
    assert "Press any key" not in transport.capture().screen.text
    assert not dismiss("tmux:setup", **named).pressed, "nothing waits any more"
