"""Policies as data: what a file may say, and that what it may not say is one line that tells what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from looks import reads, snapshot, verdict

from stallkit.errors import ConfigError
from stallkit.press.policy import CAREFUL
from stallkit.press.policy_file import DAEMON, DAEMON_FILE, PROFILES, load_policy, policy_from
from stallkit.press.rules import CONDITIONS, Act, Rule, Scene

WHOLE = """
format = 1
name = "mine"
profile = "daemon"
agents = ["claude", "codex"]

[[rule]]
do = "escalate"
why = "that one a person looks at"
session = "tmux:prod-*"

[[rule]]
do = "press"
signature = ["acme:asks", "acme:dialog_*"]
severity = "medium"
agent = "any"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "own.toml"
    path.write_text(text)
    return path


def test_a_whole_file(tmp_path: Path) -> None:
    policy = load_policy(written(tmp_path, WHOLE))
    assert (policy.name, policy.patient, policy.may_restart, policy.dialogs) == ("mine", True, True, True)
    assert policy.agents == {"claude", "codex"} and policy.patience_s == 180.0
    assert policy.rules == (
        Rule(do=Act.ESCALATE, why="that one a person looks at", session="tmux:prod-*"),
        Rule(do=Act.PRESS, signature=["acme:asks", "acme:dialog_*"], severity="medium", agent="any"),
        *DAEMON.rules,
    )


def test_a_file_adds_to_its_profile_and_an_empty_one_is_careful(tmp_path: Path) -> None:
    assert load_policy(written(tmp_path, "")) == evolve(CAREFUL, name="own")
    assert [load_policy(name) for name in PROFILES] == list(PROFILES.values())
    assert load_policy(written(tmp_path, "patient = true")) == evolve(CAREFUL, name="own", patience_s=180.0)
    assert load_policy(written(tmp_path, 'profile = "daemon"\npatient = false')).patience_s == DAEMON.patience_s == 180


def test_observe_stays_an_observer(tmp_path: Path) -> None:
    for act in ('"press"\nsignature = "a:b"', '"restart"', '"resume"', '"send"\ntext = "go on"'):
        rule = f'[[rule]]\nsession = "tmux:one"\ndo = {act}'
        with pytest.raises(ConfigError, match="presses, sends and restarts nothing; take profile careful"):
            load_policy(written(tmp_path, f'profile = "observe"\n{rule}'))
    assert not load_policy(written(tmp_path, 'profile = "observe"\n[[rule]]\ndo = "ignore"')).presses


def test_daemon_is_its_file_and_each_of_its_rules_that_presses_is_for_agents_alone() -> None:
    assert load_policy(DAEMON_FILE) == DAEMON
    assert DAEMON.agents == frozenset() and DAEMON.dialogs
    assert {rule.agent for rule in DAEMON.rules if rule.do is not Act.RESTART} == {("any",)}
    assert {rule.do for rule in DAEMON.rules} == {Act.PRESS, Act.SEND, Act.RESUME, Act.RESTART}


BROKEN = [
    # what the file says, what the error says of it, and what to do
    ("profile = ", "Invalid value", "it has to be TOML in UTF-8"),
    ("profile = 'nobody'", "there is no profile 'nobody'", "take one of careful, observe, daemon"),
    ("profile = []", "there is no profile []", "take one of"),
    ("profile = {}", "there is no profile {}", "take one of"),
    ("format = 2", "it is of format 2", "update stallkit, or write format = 1"),
    ("presses = ['high']", "unknown key presses", "a policy has format, name, profile, patient, agents, trust, rule"),
    ("restarts = true", "unknown key restarts", "a policy has format, name"),
    ("patient = 'yes'", "patient is not true or false", "write patient = true"),
    ("agents = ['claude', 'node']", "node runs any program, so it is no agent", 'write agents = ["NAME"]'),
    ("[[rule]]\ndo = 'press'\nsession = 'tmux:a'", 'rule 1: a rule with do = "press" names what: add', "correct it"),
    ("[[rule]]\ndo = 'press'\nsignature = 'a:b'", 'rule 1: a rule with do = "press" names where: add', "correct it"),
    ("[[rule]]\ndo = 'press'\nsignature = '*'\nagent = 'any'", 'rule 1: a rule with do = "press" names what', "add"),
    ("[[rule]]\ndo = 'resume'", 'rule 1: a rule with do = "resume" names where: add', "correct it"),
    ("name = 3", "name is not a text", 'write name = "own"'),
    ("agents = 'claude'", "agents is not a list of names", 'write agents = ["NAME"]'),
    ("agents = [1]", "agents is not a list of names", 'write agents = ["NAME"]'),
    ("rule = 'press'", "rule is not a list of tables", "begin each rule with [[rule]]"),
    ("[rule]\ndo = 'press'", "rule is not a list of tables", "begin each rule with [[rule]]"),
    ("rule = ['press']", "rule 1: it is not a table", "begin it with [[rule]]"),
    ("[[rule]]\nstate = 'waiting'", "rule 1: it does not say what to do", "add do = one of press, escalate"),
    ("[[rule]]\ndo = 'ignore'\n[[rule]]\ndo = 'type'", "rule 2: 'type' is not a valid Act", "correct it"),
    ("[[rule]]\ndo = ['press']", "rule 1: do is not a text", "write do ="),
    ("[[rule]]\ndo = 'press'\nwhy = ['a']", "rule 1: why is not a text", "write why ="),
    ("[[rule]]\ndo = 'press'\nkind = 3", "rule 1: kind is not a text", "write kind ="),
    ("[[rule]]\ndo = 'press'\nkind = ['confirm', 3]", "rule 1: kind is not a text", "write kind ="),
    ("[[rule]]\ndo = 'press'\nkeys = 'y'", "rule 1: unknown key keys", "a rule has do, why, text, state"),
    ("[[rule]]\ndo = 'press'\nstate = 'waitng'", "rule 1: state is one of working, waiting", "correct it"),
    ("[[rule]]\ndo = 'press'\nseverity = ['low', 'none']", "rule 1: severity is one of low, medium, high", "correct"),
    ("[[rule]]\ndo = 'stop'\nsession = []", "rule 1: session is empty", "leave session out"),
    ("[[rule]]\ndo = 'press'\nforeground = ''", "rule 1: foreground is empty", "leave foreground out"),
    ("a = 1\na = 2", "Cannot overwrite a value", "correct it"),
    ("a = " + "1" * 5000, "Exceeds the limit", "correct it"),
    ("a = " + "[" * 5000, "recursion", "correct it"),
]


def test_what_nobody_understands_is_one_line(tmp_path: Path) -> None:
    for text, why, todo in BROKEN:
        path = written(tmp_path, text)
        with pytest.raises(ConfigError) as caught:
            load_policy(path)
        said = str(caught.value)
        assert said.startswith(f"config {path}") and "\n" not in said, (text[:80], said)
        assert why in said and todo in said.split(why)[1], (text[:80], said)


def test_what_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"name = '\xff'")
    for path in (tmp_path, tmp_path / "none", tmp_path / "none" / "none", tmp_path / "bytes", Path("a\0b")):
        with pytest.raises(ConfigError) as caught:
            load_policy(path)
        assert str(path).split("\0")[0] in str(caught.value) and "\n" not in str(caught.value)


# --- what a rule is about ---

HOLDS: list[tuple[dict[str, object], bool]] = [
    # a condition, and whether it holds of a prompt acme:asks (confirm, low) in tmux:one with claude in front
    ({}, True),
    ({"state": "waiting"}, True),
    ({"state": "wait*"}, True),
    ({"state": ["working", "waiting"]}, True),
    ({"state": "working"}, False),
    ({"kind": "confirm", "severity": "low"}, True),
    ({"kind": "confirm", "severity": "high"}, False),
    ({"signature": "acme:*"}, True),
    ({"signature": "asks"}, False),
    ({"signature": "ACME:asks"}, False),
    ({"session": "tmux:o?e"}, True),
    ({"session": "one"}, False),
    ({"foreground": ["node", "claude"]}, True),
    ({"foreground": "*"}, True),
    ({"foreground": "bash"}, False),
    ({"agent": "any"}, True),
    ({"agent": ["codex", "claude"]}, True),
    ({"agent": "cl*"}, True),
    ({"agent": "codex"}, False),
    ({"agent": "bash"}, False),
    ({"option": "Yes"}, False),
    ({"never": "*proceed*"}, False),
    ({"never": "*delete*"}, True),
]


def test_conditions() -> None:
    here = evolve(Scene.of(snapshot()), kernel=reads("claude"))
    given = verdict()
    given = evolve(given, detection=evolve(given.detection, executables={"claude": (), "codex": ()}))
    for conditions, holds in HOLDS:
        rule = Rule(do=Act.ESCALATE, **conditions)  # type: ignore[arg-type]  # as a file gives them
        assert rule.holds(given, here) is holds, conditions
        assert str(rule).startswith("escalate ")


def test_a_fact_that_is_unknown_matches_nothing() -> None:
    nothing, here = verdict("unknown", "maybe"), Scene.of(snapshot(foreground=None))
    rules = {name: Rule(do=Act.STOP, **{name: "*"}) for name in CONDITIONS}  # type: ignore[arg-type]
    known = {name for name, rule in rules.items() if rule.holds(nothing, here)}
    assert known == {"state", "session"}, "these two are always known"


def test_the_first_rule_that_holds_decides(tmp_path: Path) -> None:
    text = "[[rule]]\ndo = 'ignore'\nsession = 'tmux:one'\n[[rule]]\ndo = 'stop'"
    policy = load_policy(written(tmp_path, text))
    decided = [type(policy.decide(verdict(), Scene(name))).__name__ for name in ("tmux:one", "tmux:two")]
    assert decided == ["Ignore", "Stop"]


toml_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from([*Act, *PROFILES]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["do", "state", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["format", "name", "profile", "patient", "agents", "rule"]), toml_values))
def test_any_table_is_a_policy_or_a_config_error(table: dict[str, object]) -> None:
    try:
        policy = policy_from(table, "here.toml")
    except ConfigError as error:
        assert "here.toml" in str(error) and "\n" not in str(error)
    else:
        for rule in policy.rules:
            if rule.do is Act.PRESS:
                assert (rule.signature or rule.option or rule.request) and (rule.session or rule.agent)
