"""The policy: which decision each verdict leads to, cell by cell."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from attrs import evolve
from looks import ONE_LINE, SIZE

from stallkit.core.engine import Detection, Match
from stallkit.core.keys import Keys
from stallkit.core.screen import Screen
from stallkit.core.signature import Certainty, Dismissal, Kind, Pack, Severity, Signature, State
from stallkit.core.verdict import Verdict
from stallkit.press.decisions import Decision, Escalate, Ignore, Press, Restart, Wait
from stallkit.press.policy import CAREFUL, OBSERVE, Policy
from stallkit.press.policy_file import DAEMON, PROFILES, as_policy
from stallkit.press.rules import Rule, Scene

ANYTHING = Policy("anything", presses={"low", "medium"}, restarts=True)  # as much as a policy may
MAY_PRESS = {
    CAREFUL: {"low"},
    DAEMON: {"low", "medium"},
    OBSERVE: set(),
    ANYTHING: {"low", "medium"},
}
NEVER = {"secret", "login", "permission", "plan_approval", "question"}


def verdict(
    state: str = "waiting",
    severity: str = "low",
    certainty: str = "sure",
    kind: str | None = "confirm",
    keys: str | None = "y Enter",
    matched: bool = True,
) -> Verdict:
    """A verdict as `judge` might give it; the signature has keys even where none could be written in a pack."""
    given: Any = {"state": "waiting", "kind": "confirm", "severity": severity, "all_of": ["?"]}
    dismissal = Dismissal(keys=keys) if keys else None
    signature = Signature(id="one", title="one", dismissal=dismissal, dialog=ONE_LINE, **given)
    screen = Screen.from_text("?", size=SIZE)
    match = Match(signature, Pack(name="p"), (), "?") if matched else None
    doubts = () if certainty == "sure" else ("because of that",)
    asks_for = None if kind is None else Kind(kind)
    return Verdict(State(state), Certainty(certainty), asks_for, Detection(screen, match), ("seen", *doubts))


def expected(policy: Policy, state: str, severity: str, certainty: str, kind: str, keys: str | None) -> type[Decision]:
    if state in ("working", "idle"):
        return Ignore
    if state == "quota":
        return Wait
    if state == "ended" and certainty == "sure" and policy in (DAEMON, ANYTHING):
        return Restart
    if state == "waiting" and certainty == "sure" and keys and kind not in NEVER and severity in MAY_PRESS[policy]:
        return Press
    return Escalate


@pytest.mark.parametrize("policy", MAY_PRESS, ids=lambda policy: policy.name)
@pytest.mark.parametrize("state", list(State))
def test_every_cell(policy: Policy, state: State) -> None:
    for severity, certainty, kind, keys in product(Severity, Certainty, Kind, ["y Enter", None]):
        cell = (state.value, severity.value, certainty.value, kind.value, keys)
        assert type(policy.decide(verdict(*cell))) is expected(policy, *cell), cell


@pytest.mark.parametrize(
    ("policy", "given", "why"),
    [
        (CAREFUL, {"severity": "medium"}, "severity medium: policy careful leaves it to a person"),
        (DAEMON, {"severity": "high"}, "severity high: policy daemon leaves it to a person"),
        (OBSERVE, {}, "severity low: policy observe"),
        (ANYTHING, {"certainty": "maybe"}, "doubtful: because of that"),
        (ANYTHING, {"kind": "secret"}, "a machine never answers a secret"),
        (ANYTHING, {"kind": "login"}, "a machine never answers a login"),
        (ANYTHING, {"kind": "permission"}, "a machine never answers a permission"),
        (ANYTHING, {"kind": "plan_approval"}, "a machine never answers a plan_approval"),
        (ANYTHING, {"kind": "question"}, "a machine never answers a question"),
        (ANYTHING, {"keys": None}, "no safe answer is known"),
        (ANYTHING, {"matched": False}, "no signature says what is asked"),
        (ANYTHING, {"state": "gone"}, "the session is gone"),
        (CAREFUL, {"state": "ended"}, "the session is ended"),
        (ANYTHING, {"state": "unknown"}, "the session is unknown"),
    ],
)
def test_a_person_is_told_why(policy: Policy, given: dict[str, Any], why: str) -> None:
    decision = policy.decide(verdict(**given))
    assert isinstance(decision, Escalate)
    assert why in decision.why


def test_what_is_pressed_is_what_the_signature_gives() -> None:
    decision = CAREFUL.decide(verdict(keys="1 Enter"))
    assert isinstance(decision, Press)
    assert decision.keys == Keys.parse("1 Enter")


@pytest.mark.parametrize("kind", sorted(NEVER))
def test_a_signature_of_such_a_kind_is_not_pressed_whatever_the_verdict_calls_it(kind: str) -> None:
    signature = Signature(id="s", title="s", state="waiting", kind=kind, severity="low", all_of=["?"])  # type: ignore[arg-type]
    object.__setattr__(signature, "dismissal", Dismissal(keys="Enter"))  # as no pack could say it
    screen = Screen.from_text("?")
    seen = Detection(screen, Match(signature, Pack(name="p"), (), "?"))
    decision = ANYTHING.decide(Verdict(State.WAITING, Certainty.SURE, Kind.CONFIRM, seen, ("seen",)))
    assert isinstance(decision, Escalate)


def test_the_profiles_are_known_by_name() -> None:
    assert PROFILES == {"careful": CAREFUL, "daemon": DAEMON, "observe": OBSERVE}


@pytest.mark.parametrize(
    ("presses", "error"), [(frozenset(Severity), ValueError), ({"high"}, ValueError), ("low", TypeError)]
)
def test_no_policy_presses_at_high_severity(presses: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        Policy("mine", presses=presses)  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize(("foreground", "decision"), [("claude", Press), ("bash", Escalate), (None, Escalate)])
def test_only_the_agents_that_are_named_are_helped(foreground: str | None, decision: type[Decision]) -> None:
    named = evolve(CAREFUL, agents={"claude"})
    assert type(named.decide(verdict(), Scene("tmux:one", foreground))) is decision
    assert type(named.decide(verdict(), Scene(foreground=foreground))) is decision


def test_without_a_scene_the_foreground_says_nothing() -> None:
    assert isinstance(evolve(CAREFUL, agents={"claude"}).decide(verdict()), Press)


@pytest.mark.parametrize("condition", [{"session": "*"}, {"foreground": "*"}])
def test_without_a_scene_no_rule_about_it_holds(condition: dict[str, str]) -> None:
    policy = evolve(CAREFUL, rules=[Rule(do="ignore", **condition)])  # type: ignore[arg-type]
    assert isinstance(policy.decide(verdict()), Press)
    assert isinstance(policy.decide(verdict(), Scene("tmux:one", "claude")), Ignore)


def test_a_policy_is_given_by_the_name_of_its_profile() -> None:
    assert [as_policy(name) for name in PROFILES] == list(PROFILES.values())
    assert as_policy(ANYTHING) is ANYTHING
    with pytest.raises(ValueError, match=r"^a profile is one of careful, daemon, observe, not 'bold'$"):
        as_policy("bold")
