"""What an operator mistypes: the answer names the cause and the next step, on one line, with the same exit code."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from started import House
from terminals import Server

from stallkit.cli.output import Exit

pytestmark = pytest.mark.e2e

UNKNOWN = [  # a name that nothing has, or a path where nothing is
    (["check", "nosuch"], "no session 'nosuch' was started; write tmux:NAME"),
    (["check", "file:/no/such"], "file:/no/such: there is no such file"),
    (["explain", "/no/such"], "there is no file '/no/such'"),
    (["output", "nosuch"], "stallkit list shows all"),
    (["output", "--postmortem", "nosuch"], "stallkit list shows all"),
    (["stop", "nosuch"], "stallkit list shows all"),
    (["send", "nosuch", "text"], "write tmux:NAME"),
    (["status", "tmux:nosuch"], "stallkit status lists all"),
    (["report", "--incidents", "tmux:nosuch"], "stallkit status lists all"),
    (["stuck", "release", "tmux:nosuch"], "stallkit status lists all"),
    (["pack", "show", "shell_yn:nosuch"], "see: stallkit pack list --signatures"),
    (["pack", "matrix", "nosuch"], "stallkit pack matrix lists those"),
    (["pack", "lint", "nosuch"], "installed: "),
    (["pack", "tune", "shell_yn:nosuch", "--corpus", "/no/such"], "'/no/such' does not exist"),
    (["policy", "explain", "-", "--policy", "nosuch"], "name one of careful, observe, daemon"),
    (["watch", "--all", "--policy", "nosuch"], "name one of careful, observe, daemon"),
    (["watch", "--all", "--config", "/no/such"], "/no/such: there is no such file"),
    (["watch", "--service", "--config", "/no/such"], "/no/such: there is no such file"),
    (["watch", "--service"], "write one (docs/watch.md), or name it with --config"),
    (["config", "show", "--config", "/no/such"], "/no/such: there is no such file"),
    (["sandbox", "manifest", "nosuch"], "stallkit start --manifest"),
    (["sandbox", "audit", "show", "nosuch"], "see: stallkit sandbox audit show"),
    (["record", "replay", "/no/such"], "'/no/such' does not exist"),
    (["eval", "/no/such"], "'/no/such' does not exist"),
    (["stuck", "mute", "tmux:nosuch"], "stallkit status lists all"),
    (["stuck", "unmute", "tmux:nosuch"], "stallkit status lists all"),
    (["watch", "--service", "nosuch.toml"], "leave out TARGET, --all and --host"),
    (["start", "--manifest", "nosuch.toml"], "nosuch.toml: there is no such file"),
    (["explain", "--pid", "99999999"], "there is no process 99999999"),
    (["sandbox", "routes", "edit", "nosuch"], "there is no such file; write it (docs/sandboxes.md)"),
    (["run", "nosuchcommand"], "no program of that name is on PATH; check the spelling, or give its path"),
    (["run", "./nosuchcommand"], "there is no such file; check its path"),
    (["run", "--", "./plain.txt"], "it cannot be executed; chmod +x ./plain.txt"),
    (["record", "--", "nosuchcommand"], "no program of that name is on PATH"),
    (["start", "a", "--", "nosuchcommand"], "no program 'nosuchcommand' is installed"),
    (["nosuch"], "stallkit --help lists all"),
]


@pytest.mark.parametrize(("words", "told"), UNKNOWN, ids=lambda one: " ".join(one or ())[:40])
def test_an_unknown_name_has_one_exit_code(house: House, words: list[str], told: str) -> None:
    (house.folder / "plain.txt").write_text("text\n")
    done = house.call(*words)
    assert done.returncode == Exit.USAGE, done.stderr
    assert done.stderr.count("\n") == 1 and told in done.stderr and not done.stdout
    assert done.stderr.startswith("stallkit")


def test_what_may_have_been_meant(house: House, server: Server) -> None:
    server.tmux("new-session", "-d", "-s", "worker", "cat")
    house.begin("builder", "cat")
    at = {"STALLKIT_TMUX": str(server.socket)}
    assert "did you mean 'tmux:worker'?" in house.call("check", "worker", **at).stderr
    assert "did you mean 'builder'?" in house.call("output", "bilder").stderr


def test_a_wrong_socket_is_named(house: House) -> None:
    done = house.call("check", "tmux:worker", "-L", "no-such-server")
    assert done.returncode == Exit.ENDED
    assert "no tmux server there: " in done.stdout and "no-such-server" in done.stdout
    assert "name its server with -L or -S" in done.stdout


@pytest.mark.parametrize("words", [["wrap"], ["run", "--exit-status"]], ids=" ".join)
def test_a_code_that_is_the_commands_own_is_the_shells(house: House, words: list[str]) -> None:
    done = house.call(*words, "nosuchcommand")
    assert done.returncode == 127 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("stallkit: could not start nosuchcommand: no program of that name is on PATH")


@pytest.mark.parametrize(
    "words",
    ["check T", "explain T", "pack capture T -o x.txt", "send T text", "record T", "policy explain T"],
)
def test_a_session_of_tmux_that_is_not_there_has_ended(house: House, words: str) -> None:
    done = house.call(*words.replace("T", "tmux:nosuch").split(), TMUX_TMPDIR=str(house.folder))
    assert done.returncode == Exit.ENDED and "tmux server there" in done.stdout + done.stderr


def test_supervise_reads_the_users_file(house: House) -> None:
    folder = house.folder / "stallkit"
    folder.mkdir()
    (folder / "stallkit.toml").write_text("[watch]\nall = true\nstall_timeout_s = 77\n")
    done = house.call("watch", "--service", "--check")
    assert done.returncode == 0 and "a stall is suspected after 77 s" in done.stdout, done.stderr
    (house.folder / "stallkit.toml").write_text("[watch]\nstall_timeout_s = 78\n")
    done = house.call("watch", "--service", "--check")
    assert "after 77 s" in done.stdout and "watch.stall_timeout_s is ignored" in done.stderr, "nobody allowed it"
    assert house.call("config", "allow", str(house.folder), "--yes").returncode == 0
    done = house.call("watch", "--service", "--check")
    assert "after 78 s" in done.stdout and " and " in done.stdout, "that of the directory takes precedence"


def test_what_is_piped_in_is_not_logged_unasked(house: House, tmp_path: Path) -> None:
    def check(*words: str) -> None:
        environment = {**os.environ, **house.environment}
        given = [house.command, "check", "-", *words]
        done = subprocess.run(
            given, env=environment, input="Proceed? [y/N] ", text=True, capture_output=True, check=False
        )
        assert done.returncode == 3, done.stderr

    check()
    assert not (house.state / "events.jsonl").exists()
    check("--log", str(tmp_path / "own.jsonl"))
    assert json.loads((tmp_path / "own.jsonl").read_text())["event"] == "detection"
