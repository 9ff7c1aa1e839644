"""One dismissal: what is allowed is pressed once and verified, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from checked import ALLOWS, ENGINE, GO, OWN, line
from looks import reads
from terminals import Server

import stallkit
from stallkit.detect.engine import Engine
from stallkit.detect.signature import Kind, Signature
from stallkit.errors import CaptureTimeout
from stallkit.press.check import Status, check, dismiss
from stallkit.press.gate import End
from stallkit.press.policy import Policy
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import Rule
from stallkit.testing import MemoryTransport


def test_what_careful_allows_is_dismissed_without_a_private_value() -> None:
    transport = MemoryTransport(GO, lambda keys: "Working", foreground="acme", kernel=reads("acme"))
    outcome = stallkit.dismiss(transport, engine=OWN)
    assert (bool(outcome), outcome.end, str(outcome.keys)) == (True, End.CLEARED, "y")
    assert transport.sent == [b"y"] and not transport.gone


@pytest.mark.parametrize(
    ("text", "given", "why"),
    [
        ("Which? ", {}, "any program may show this prompt; to allow it: a rule with signature = "),
        ("Go? [y/N] ", {"policy": "observe"}, "policy observe leaves it to a person; to allow it: a rule with"),
        ("Password: ", {}, "a machine never answers a secret"),
        ("hmm", {"signature": "p:guess"}, "doubtful: the signature itself is never sure"),
        ("Working", {}, "nothing is to be pressed"),
        ("box $ ", {"policy": DAEMON}, "a rule of policy daemon: restart where state ended"),
        ("Go? [y/N] ", {"signature": "p:dialog"}, "it does not show dialog: p:go on the line 'Go? [y/N]'"),
        ("nothing known", {"signature": "p:go"}, "it does not show go: no signature matches"),
    ],
)
def test_what_is_not_to_be_dismissed_gets_no_key(text: str, given: dict[str, Any], why: str) -> None:
    transport = MemoryTransport(line(text), lambda keys: "Working", foreground="bash")
    outcome = dismiss(transport, **given, engine=ENGINE)
    assert (bool(outcome), outcome.end, outcome.pressed, transport.sent) == (False, End.REFUSED, False, [])
    assert why in outcome.why


@pytest.mark.parametrize("policy", ["careful", "daemon"])
def test_a_preview_is_told_and_gets_no_key(policy: str) -> None:
    (pack,) = ENGINE.packs
    go = evolve(pack.signatures[0], preview=True)
    engine = Engine([evolve(pack, signatures=[go])])
    transport = MemoryTransport(GO, lambda keys: "Working")
    found = check(transport, policy, engine=engine)
    assert (found.status, found.verdict.kind, transport.sent) == (Status.MAYBE, Kind.CONFIRM, [])
    assert "the signature is a preview: it was not measured yet" in found.verdict.reasons
    assert not dismiss(transport, "p:go", policy=policy, engine=engine) and transport.sent == []


@pytest.mark.parametrize("wanted", ["p:dialog", ENGINE.packs[0].signatures[1]], ids=["name", "value"])
def test_the_signature_that_is_asked_for_is_dismissed(wanted: str | Signature) -> None:
    transport = MemoryTransport(line("Which? "), lambda keys: "Working")
    assert dismiss(transport, wanted, policy=ALLOWS, engine=ENGINE)
    assert transport.sent == [b"1"]


@pytest.mark.parametrize("name", ["dialog", "p:dialogue", "p:", ""])
def test_the_name_of_a_signature_that_no_pack_has_is_the_callers_mistake(name: str) -> None:
    transport = MemoryTransport(GO)
    with pytest.raises(ValueError, match=r"^no pack has a signature .*PACK:ID"):
        dismiss(transport, name, engine=ENGINE)
    assert transport.captures == 0


def test_nothing_is_dismissed_in_a_session_that_is_gone_or_cannot_be_looked_at() -> None:
    transport = MemoryTransport(GO)
    transport.gone = True
    assert dismiss(transport, engine=ENGINE).end is End.GONE
    transport.failing = CaptureTimeout("memory:", 2.0)
    with pytest.raises(CaptureTimeout):
        dismiss(transport, engine=ENGINE)


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
