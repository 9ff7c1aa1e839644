"""The policy: which decision each verdict leads to, cell by cell; a key has one of two grounds."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from attrs import evolve
from looks import ONE_LINE, SIZE, reads

from stallkit.detect.engine import Detection, Match
from stallkit.detect.signature import Certainty, Dismissal, Kind, Pack, Severity, Signature, State
from stallkit.evidence.snapshot import KernelFacts, Member
from stallkit.judging.verdict import Verdict
from stallkit.press.policy import CAREFUL, OBSERVE, Decision, Escalate, Ignore, Policy, Press, Restart, Wait
from stallkit.press.policy_file import DAEMON, PROFILES, as_policy
from stallkit.press.reader_check import is_proven, proven
from stallkit.press.rules import Rule, Scene
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen

ANYTHING = Policy("anything", dialogs=True, rules=[Rule(do="press", signature=["own:*", "any:*"], session="tmux:one")])
OWN, ANY = Pack("own", foreground=["acme", "node"]), Pack("any")
HERE = Scene("tmux:one", "acme", kernel=reads("acme"))
NEVER = {"secret", "login", "permission", "plan_approval", "question"}


def verdict(
    state: str = "waiting",
    severity: str = "low",
    certainty: str = "sure",
    kind: str | None = "confirm",
    keys: str | None = "y Enter",
    matched: bool = True,
    pack: Pack = OWN,
    line: str = "Proceed?",
    **more: Any,
) -> Verdict:
    """A verdict as `judge` might give it; the signature has keys even where none could be written in a pack."""
    given: Any = {"state": "waiting", "kind": "confirm", "severity": severity, "all_of": ["?"]}
    dismissal = Dismissal(keys=keys, **more) if keys else None
    signature = Signature(id="one", title="one", dismissal=dismissal, dialog=ONE_LINE, **given)
    screen = Screen.from_text(line, size=SIZE)
    match = Match(signature, pack, (), line) if matched else None
    doubts = () if certainty == "sure" else ("because of that",)
    asks_for = None if kind is None else Kind(kind)
    found = Detection(screen, match, executables={"acme": ()})
    return Verdict(State(state), Certainty(certainty), asks_for, found, ("seen", *doubts))


def expected(
    policy: Policy, pack: Pack, state: str, severity: str, certainty: str, kind: str, keys: str | None
) -> type[Decision]:
    ruled = policy is ANYTHING
    if state in ("working", "idle"):
        return Escalate if ruled else Ignore
    if state == "quota":
        return Escalate if ruled else Wait
    if state == "ended" and certainty == "sure" and policy is DAEMON:
        return Restart
    if state != "waiting" or certainty != "sure" or not keys or kind in NEVER or kind == "trust":
        return Escalate
    by_dialog = policy is not OBSERVE and pack is OWN and severity == "low"
    return Press if by_dialog or (ruled and severity != "high") else Escalate


def test_every_cell() -> None:
    wrong = []
    policies = (CAREFUL, DAEMON, OBSERVE, ANYTHING)
    given = product(policies, [OWN, ANY], State, Severity, Certainty, Kind, ["y Enter", None])
    for policy, pack, state, severity, certainty, kind, keys in given:
        words: tuple[str, str, str, str] = (state.value, severity.value, certainty.value, kind.value)
        decision = policy.decide(verdict(*words, keys, pack=pack), HERE)
        if type(decision) is not expected(policy, pack, *words, keys):
            wrong.append((policy.name, pack.name, *words, keys, decision))
    assert not wrong, wrong


NAMED = "is answered only by a rule that names its option"
WHYS: list[tuple[Policy, dict[str, Any], str]] = [
    (CAREFUL, {"severity": "medium"}, "severity medium: it is left to a person; to allow it: stallkit policy allow"),
    (DAEMON, {"severity": "high"}, "severity high: it is left to a person"),
    (CAREFUL, {"pack": ANY}, "any program may show this prompt; to allow it: stallkit policy allow tmux:one"),
    (OBSERVE, {}, "policy observe leaves it to a person"),
    (ANYTHING, {"certainty": "maybe"}, "doubtful: because of that"),
    (ANYTHING, {"kind": "secret"}, "a machine never answers a secret"),
    (ANYTHING, {"kind": "login"}, "a machine never answers a login"),
    (CAREFUL, {"kind": "permission"}, "a machine never answers a permission; to allow it: stallkit policy allow"),
    (ANYTHING, {"kind": "plan_approval"}, NAMED),
    (ANYTHING, {"kind": "question"}, NAMED),
    (ANYTHING, {"severity": "high"}, f"a confirm of severity high {NAMED}"),
    (ANYTHING, {"kind": "trust"}, "it does not show which folder is to be trusted"),
    (ANYTHING, {"keys": None}, "no safe answer is known"),
    (CAREFUL, {"keys": None}, "no safe answer is known"),
    (ANYTHING, {"affirmative": True}, "which key says yes cannot be read from it"),
    (CAREFUL, {"matched": False}, "no signature says what is asked"),
    (ANYTHING, {"state": "gone"}, "it is gone: nothing waits for a key"),
    (CAREFUL, {"state": "ended"}, "the session is ended"),
    (CAREFUL, {"state": "unknown"}, "the session is unknown"),
]


def test_a_person_is_told_why() -> None:
    for policy, given, why in WHYS:
        decision = policy.decide(verdict(**given), HERE)
        assert isinstance(decision, Escalate) and why in decision.why, (policy.name, given, decision)
    decision = CAREFUL.decide(verdict(), evolve(HERE, kernel=reads("acme", "/usr/bin/node")))
    assert decision == Escalate("that acme reads the terminal is not proven: it is /usr/bin/node")


def test_what_is_pressed_is_what_the_signature_gives() -> None:
    decision = CAREFUL.decide(verdict(keys="1 Enter"), HERE)
    assert isinstance(decision, Press)
    assert decision.keys == Keys.parse("1 Enter")


# What a prompt shows, and what is typed for yes; None: a person decides.
LETTERS = {
    "Proceed? [y/N] ": "y",
    "Fortfahren? [j/N] ": "j",
    "Continuer ? [o/N] ": "o",
    "¿Continuar? [s/N] ": "s",
    "Continuar? (sim/não) ": "sim",
    "Kontynuować? [t/n] ": "t",
    "Продолжить? [Д/н] ": "д",
    "Продовжити? [Т/н] ": "т",
    "Devam edilsin mi? [e/H] ": "e",
    "Jatketaanko? [k/E] ": "k",
    "Folytatja? [i/N] ": "i",
    "Συνέχεια; [ν/Ο] ": "ν",
    "Doorgaan? (ja/nee) ": "ja",
    "Vill du fortsätta? (ja/nej) ": "ja",
    "Really? (yes|no) ": "yes",
    "[Y]es/[N]o: ": "y",
    "Is this ok [y/d/N]: ": "y",
    "Go on [Y]? ": "y",
    "Go on? [no] ": None,
    "Delete? [x/z] ": None,
    "Jatketaanko? [y/E] ": None,
    "Proceed? ": None,
}


def test_yes_is_typed_as_the_prompt_spells_it() -> None:
    wrong = []
    for line, word in LETTERS.items():
        decision = ANYTHING.decide(verdict(pack=ANY, line=line, affirmative=True), HERE)
        typed = Keys((*Keys.typed(word).sequence, *Keys.parse("Enter").sequence)) if word else None
        if (decision.keys if isinstance(decision, Press) else None) != typed:
            wrong.append((line, decision))
    assert not wrong


def test_a_signature_of_such_a_kind_is_not_pressed_whatever_the_verdict_calls_it() -> None:
    for kind in NEVER:
        signature = Signature(id="s", title="s", state="waiting", kind=kind, severity="low", all_of=["?"])  # type: ignore[arg-type]
        object.__setattr__(signature, "dismissal", Dismissal(keys="Enter"))  # as no pack could say it
        seen = Detection(Screen.from_text("?"), Match(signature, OWN, (), "?"), executables={"acme": ()})
        decision = CAREFUL.decide(Verdict(State.WAITING, Certainty.SURE, Kind.CONFIRM, seen, ("seen",)), HERE)
        assert isinstance(decision, Escalate), kind


def test_the_profiles_are_known_by_name() -> None:
    assert PROFILES == {"careful": CAREFUL, "daemon": DAEMON, "observe": OBSERVE}
    assert {name for name, policy in PROFILES.items() if policy.presses} == {"careful", "daemon"}
    assert [as_policy(name) for name in PROFILES] == list(PROFILES.values())
    assert as_policy(ANYTHING) is ANYTHING
    with pytest.raises(ValueError, match=r"^a profile is one of careful, observe, daemon, not 'bold'$"):
        as_policy("bold")


# --- who reads ---

PROVEN = [
    # the name, its file, the patterns of its pack, and whether it is that program
    ("acme", "/usr/bin/acme", (), True),
    ("acme", "/tmp/acme", (), True),
    ("acme", "/tmp/acme.js", (), False),
    ("acme", "/tmp/acme/cli", (), False),
    ("acme", "/usr/bin/acme2", (), False),
    ("acme", "/usr/bin/Acme", (), False),
    ("acme", "", (), False),
    ("acme", "/usr/bin/node", (), False),
    ("acme", "/home/me/node_modules/acme-cli/cli.js", ("*/node_modules/acme-cli/*",), True),
    ("acme", "/tmp/acme", ("*/node_modules/acme-cli/*",), False),
    ("acme", "/home/me/node_modules/acme-cli2/cli.js", ("*/node_modules/acme-cli/*",), False),
    ("/opt/acme", "/opt/acme", (), True),
    ("/opt/acme", "/tmp/opt/acme", (), False),
]


def test_the_file_that_runs_proves_the_program() -> None:
    for name, path, patterns, holds in PROVEN:
        found = is_proven(name, path or None, patterns), proven({name: patterns}, reads("acme", path)) == {name}
        assert found == (holds, holds), (name, path, patterns)


def test_where_who_reads_is_unknown_or_somebody_else_nothing_is_proven() -> None:
    known = reads("acme")
    other = Member(2, "acme", "S", path="/usr/bin/cat")
    assert proven({"acme": (), "other": ()}, known) == {"acme"}
    for kernel in (
        None,
        KernelFacts(),
        evolve(known, readers=None),
        evolve(known, readers=()),
        evolve(known, reader="pinentry"),
        evolve(known, readers=(*known.members, other)),
    ):
        assert proven({"acme": ()}, kernel) == frozenset()
        decision = CAREFUL.decide(verdict(), evolve(HERE, kernel=kernel))
        assert isinstance(decision, Escalate) and "that acme reads the terminal is not proven" in decision.why


HELPED = [
    ({"acme"}, "/usr/bin/acme", Press),
    ({"acme", "other"}, "/usr/bin/acme", Press),
    ({"/usr/bin/acme"}, "/usr/bin/acme", Press),
    ({"/opt/acme"}, "/usr/bin/acme", Escalate),
    ({"other"}, "/usr/bin/acme", Escalate),
    ({"acme"}, "/usr/bin/bash", Escalate),
    ({"acme"}, "", Escalate),
]


def test_only_the_agents_that_are_named_are_helped() -> None:
    for agents, path, decision in HELPED:
        named = evolve(CAREFUL, agents=agents)
        assert type(named.decide(verdict(), evolve(HERE, kernel=reads("acme", path)))) is decision, (agents, path)
        assert isinstance(named.decide(verdict()), Escalate), "without a scene nobody reads"
    for name in ("node", "python3.12", "bash", "sh", "bun"):
        with pytest.raises(ValueError, match=f"^{name} runs any program, so it is no agent"):
            Policy("mine", agents={"claude", name})


def test_any_agent_is_one_that_packs_name_and_the_process_proves() -> None:
    asked = verdict(severity="medium", pack=ANY)
    rule = Rule(do="press", signature="any:one", agent="any")
    wrong = []
    for path, agents, presses in (
        ("/usr/bin/acme", (), True),
        ("/usr/bin/unknown", (), False),
        ("/usr/bin/node", (), False),
        ("", (), False),
        ("/home/me/mine", ("/home/me/mine",), True),
        ("/home/me/mine", ("mine",), True),
        ("/usr/bin/acme", ("mine",), False),
    ):
        policy = Policy("mine", rules=[rule], agents=agents)
        decision = policy.decide(asked, evolve(HERE, kernel=reads("acme", path)))
        if isinstance(decision, Press) is not presses:
            wrong.append((path, agents, decision))
    assert not wrong


def test_a_rule_names_a_program_that_no_pack_knows() -> None:
    asked, wrong = verdict(severity="medium", pack=ANY), []
    for agent, path, presses in (
        ("mine.cjs", "/home/me/mine.cjs", True),
        ("/home/me/mine.cjs", "/home/me/mine.cjs", True),
        ("mine.cjs", "/home/me/other.cjs", False),
        ("mine.cjs", "", False),
        ("any", "/home/me/any", False),
    ):
        policy = Policy("mine", rules=[Rule(do="press", signature="any:one", agent=agent)])
        decision = policy.decide(asked, evolve(HERE, kernel=reads("node", path)))
        if isinstance(decision, Press) is not presses:
            wrong.append((agent, path, decision))
    assert not wrong


# --- rules ---


def test_without_a_scene_no_rule_about_it_holds() -> None:
    for condition in ({"session": "*"}, {"foreground": "*"}, {"agent": "any"}):
        policy = evolve(CAREFUL, rules=[Rule(do="ignore", **condition)])  # type: ignore[arg-type]
        assert policy.rule_for(verdict()) is None
        assert isinstance(policy.decide(verdict(), HERE), Ignore)


NAMES_NOTHING: list[tuple[dict[str, Any], str]] = [
    ({}, "names what"),
    ({"session": "tmux:one"}, "names what"),
    ({"agent": "any", "kind": "confirm", "severity": "low"}, "names what"),
    ({"signature": "*", "session": "tmux:one"}, "names what"),
    ({"signature": ["acme:asks", "**"], "session": "tmux:one"}, "names what"),
    ({"option": "?*", "session": "tmux:one"}, "names what"),
    ({"request": {"command": "*"}, "session": "tmux:one"}, "names what"),
    ({"signature": "acme:asks"}, "names where"),
    ({"signature": "acme:asks", "foreground": "claude"}, "names where"),
    ({"signature": "acme:asks", "session": "*"}, "names where"),
    ({"signature": "acme:asks", "agent": "*"}, "names where"),
    ({"request": {"command": "git status*"}}, "names where"),
]


def test_a_rule_that_presses_names_what_and_where() -> None:
    for given, why in NAMES_NOTHING:
        with pytest.raises(ValueError, match=why):
            Rule(do="press", **given)
    with pytest.raises(ValueError, match="names where"):
        Rule(do="resume", state="quota")
    full: list[dict[str, Any]] = [{"signature": "a:*", "agent": "any"}, {"option": "Yes", "session": "tmux:ci-*"}]
    for given in full:
        assert str(Rule(do="press", **given)).startswith("press where ")


def test_a_rule_may_say_what_must_not_stand_there() -> None:
    never = Rule(do="press", signature="any:one", session="tmux:one", never=["*volume*"])
    policy = Policy("mine", rules=[never])
    for line, presses in (("Proceed?", True), ("Delete the old Volumes?", False), ("Volumes:\nProceed?", False)):
        decision = policy.decide(verdict(pack=ANY, line=line), HERE)
        assert isinstance(decision, Press) is presses, line


def test_a_limit_is_only_waited_for_where_a_rule_resumes() -> None:
    for policy, agent, resumes in ((DAEMON, "acme", True), (DAEMON, "bash", False), (CAREFUL, "acme", False)):
        held, scene = verdict("quota"), evolve(HERE, kernel=reads(agent))
        assert isinstance(policy.decide(held, scene), Wait)
        assert policy.resumes(held, scene) is resumes
    resumed = Policy("mine", rules=[Rule(do="resume", session="tmux:one")])
    decision = resumed.decide(verdict(), HERE)
    assert isinstance(decision, Escalate) and "no limit holds it up" in decision.why
