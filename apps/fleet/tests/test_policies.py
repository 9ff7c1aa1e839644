"""Policies that the fleet hands out: signed, kept, and never above a ceiling."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from attrs import evolve
from looks import reads, verdict
from stallkit_fleet.policies import Bounded, PolicyRefused, PolicyVersion, keep, kept_policy, kept_version
from stallkit_fleet.settings import FleetSettings, in_force
from stallkit_fleet.signing import is_signed, new_key, sign

from stallkit.detect.signature import Certainty, Kind, State
from stallkit.errors import ConfigError
from stallkit.press.policy import CAREFUL, OBSERVE, Choose, Escalate, Interrupt, Policy, Press, Restart, Resume, Send
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import Rule, Scene

ACTS = (Press, Choose, Send, Restart, Resume, Interrupt)
PRESSES = Policy("presses", dialogs=True, rules=[Rule(do="press", signature="acme:*", session="tmux:*")])
STARTS = Policy("starts", rules=[Rule(do="restart", session="tmux:*"), Rule(do="stop", state="quota")])
WAITS = Policy("waits", rules=[Rule(do="wait", session="tmux:*")])
POLICIES = (OBSERVE, CAREFUL, DAEMON, PRESSES, STARTS, WAITS)
HERE = Scene("tmux:one", "acme", kernel=reads("acme"))


def test_below_a_ceiling_nothing_is_done_that_the_ceiling_would_not_do() -> None:
    acted = kept = 0
    for given, ceiling, state, certainty, kind in product(POLICIES, POLICIES, State, Certainty, Kind):
        both, seen = Bounded.below(ceiling, given), verdict(state.value, certainty.value, kind=kind.value)
        done, wanted, allowed = both.decide(seen, HERE), given.decide(seen, HERE), ceiling.decide(seen, HERE)
        if isinstance(done, ACTS):
            assert (type(done), type(allowed)) == (type(wanted), type(wanted)), (given, ceiling, done, allowed)
            acted += 1
        elif isinstance(wanted, ACTS):
            assert isinstance(done, Escalate) and ceiling.name in done.why
            kept += 1
        else:
            assert done == wanted
        assert both.may_restart <= ceiling.may_restart and both.presses <= ceiling.presses
        assert both.resumes(seen, HERE) <= ceiling.resumes(seen, HERE)
        assert both.patience_s == max(given.patience_s, ceiling.patience_s)
    assert acted > 50 and kept > 50, "both were tried"


def test_only_the_key_that_a_host_names_signs() -> None:
    seed, public = new_key()
    version = PolicyVersion(3, 'profile = "daemon"', "ada", 1.0, "for the night")
    signature = sign(version.signed_part, seed)
    assert is_signed(version.signed_part, signature, public)
    for changed in ({"version": 4}, {"text": 'profile = "careful"'}, {"by": "eve"}, {"at": 2.0}, {"note": ""}):
        assert not is_signed(evolve(version, **changed).signed_part, signature, public), changed
    for other in (new_key()[1], "", "U", "ä", seed, public[:-4] + "AAAA"[:3]):
        assert not is_signed(version.signed_part, signature, other), other
    for wrong in ("", "x", signature[:-4], "ä" * 20):
        assert not is_signed(version.signed_part, wrong, public), wrong
    for no_key in ("", "SU", "hunter2", public):
        with pytest.raises(ValueError, match="it holds no key"):
            sign(b"", no_key)


def test_a_version_survives_the_bucket_and_what_is_none_is_refused() -> None:
    version = PolicyVersion(3, 'profile = "daemon"', "ada", 1.0, "n", "s")
    assert PolicyVersion.loaded(version.dumped()) == version and version.policy.patience_s == DAEMON.patience_s
    for data in (b"", b"[", b"[]", b"{}", b'{"format": 2}', b'{"format": 1, "version": "x"}', b"[" * 100_000):
        with pytest.raises(PolicyRefused, match="stays in force"):
            PolicyVersion.loaded(data)
    for text in ("profile = 1", 'profile = "none"', "[[rule]]\ndo = 'fly'", "x" * 300_000, "= ="):
        with pytest.raises(PolicyRefused, match="it is no policy"):
            assert evolve(version, text=text).policy


def test_the_last_good_one_is_kept_for_the_key_that_signed_it(tmp_path: Path) -> None:
    file, (_, public) = tmp_path / "fleet" / "policy.json", new_key()
    assert kept_policy(file, public) is None
    keep(PolicyVersion(3, 'profile = "daemon"', "ada", 1.0), public, file)
    found = kept_version(file, public)
    assert found is not None and found.version == 3 and kept_policy(file, public) is not None
    assert kept_version(file, new_key()[1]) is None and kept_version(file, None) is None
    file.write_bytes(file.read_bytes()[:-9])
    assert kept_version(file, public) is None, "cut"


def test_a_machine_that_takes_none_has_its_own_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(tmp_path))
    _, public = new_key()
    fleet = FleetSettings("nats://bus", "a", policy_key=public)
    assert in_force(fleet, CAREFUL) is CAREFUL
    keep(PolicyVersion(1, 'profile = "daemon"', "ada", 1.0), public, tmp_path / "fleet" / "policy.json")
    taken = in_force(evolve(fleet, ceiling="observe"), CAREFUL)
    assert isinstance(taken, Bounded) and not taken.presses and taken.name == "fleet-1"
    assert in_force(evolve(fleet, policy_key=None), CAREFUL) is CAREFUL and in_force(fleet, OBSERVE) is OBSERVE
    with pytest.raises(ConfigError, match=r"none\.toml"):
        in_force(evolve(fleet, ceiling="none.toml"), CAREFUL)
