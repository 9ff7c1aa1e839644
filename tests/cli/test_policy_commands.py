"""`stallkit policy show` prints what a policy says, and `policy allow` the rule that would answer what is asked."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from attrs import evolve
from started import House
from terminals import Server

from stallkit.press.policy_file import DAEMON_FILE, PROFILES, load_policy

pytestmark = pytest.mark.e2e

ASKS = "read -p 'Proceed? [j/N] ' it; echo \"got <$it>\"; exec sleep 1000"
RULE = """# Proceed? [j/N]
[[rule]]
do = "press"
signature = "shell_yn:yes_no"
session = "tmux:one"
"""


def test_what_is_shown_of_a_policy_is_a_file_that_says_it(house: House, tmp_path: Path) -> None:
    for name, profile in PROFILES.items():
        (tmp_path / "shown.toml").write_text(house.call("policy", "show", name).stdout)
        assert evolve(load_policy(tmp_path / "shown.toml"), name=name) == profile, name
    assert house.call("policy", "show").stdout == DAEMON_FILE.read_text("utf-8")
    assert house.call("policy", "show", "daemon").stdout.startswith("# This profile says yes to whatever an agent asks")
    (tmp_path / "own.toml").write_text("# mine\n")
    assert house.call("policy", "show", str(tmp_path / "own.toml")).stdout == "# mine\n"
    unknown = house.call("policy", "show", "bold")
    assert (unknown.returncode, unknown.stdout) == (64, "")
    (tmp_path / "own.toml").write_text("rule = 3\n")
    assert house.call("policy", "show", str(tmp_path / "own.toml")).returncode == 1


def test_a_prompt_is_allowed_by_name_and_then_answered(house: House, server: Server, tmp_path: Path) -> None:
    server.start("one", "bash", "-c", ASKS, shows="[j/N]").close()
    on, mine = ("tmux:one", "-S", str(server.socket)), tmp_path / "mine.toml"
    refused = house.call("check", *on, "--dismiss")
    assert refused.returncode == 2 and "to allow it: stallkit policy allow tmux:one" in refused.stderr + refused.stdout
    told = house.call("policy", "allow", *on)
    assert (told.returncode, told.stdout) == (0, RULE)
    assert "in the log of the last day it would have answered 1" in told.stderr and "Proceed? [j/N]" in told.stderr
    assert not mine.exists() and house.call("check", *on).returncode == 2, "it is only shown"
    for given in (["--append", str(mine)], ["--append", str(mine), "--agent", "any"]):
        assert house.call("policy", "allow", *on, *given).returncode == 0
    assert [rule.session or rule.agent for rule in load_policy(mine).rules] == [("tmux:one",), ("any",)]
    done = house.call("check", *on, "--dismiss", "--policy", str(mine))
    assert done.returncode == 0, done
    assert "got <j>" in server.tmux("capture-pane", "-p", "-t", "=one:"), "the letter that it shows for yes"


def test_what_no_rule_can_allow_says_why_and_writes_nothing(house: House, server: Server, tmp_path: Path) -> None:
    server.start("one", "bash", "-c", ASKS, shows="[j/N]").close()
    server.start("two", "bash", "-c", "read -s -p 'Password: ' it; exec sleep 1000", shows="Password").close()
    server.start("three", "sh", "-c", "echo compiling; exec sleep 1000", shows="compiling").close()
    mine = tmp_path / "mine.toml"

    def allow(target: str, *words: str) -> subprocess.CompletedProcess[str]:
        return house.call("policy", "allow", target, "-S", str(server.socket), "--append", str(mine), *words)

    for done, why in (
        (allow("tmux:two"), "a machine never answers a secret"),
        (allow("tmux:three"), "no signature says what is asked"),
        (allow("tmux:one", "--option", "Perhaps"), "it has no option 'Perhaps'"),
        (allow("tmux:one", "--agent", "*"), "names where"),
    ):
        assert done.returncode == 1 and why in done.stderr and done.stderr.count("\n") == 1, done
        assert not mine.exists()
    mine.write_text('profile = "observe"\n')
    done = allow("tmux:one")
    assert done.returncode != 0 and "presses, sends and restarts nothing" in done.stderr
    assert mine.read_text() == 'profile = "observe"\n' and [*tmp_path.glob(".mine*")] == []
