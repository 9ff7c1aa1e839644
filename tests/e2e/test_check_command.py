"""`stallkit check` on real sessions: verdicts, exit codes, and what is never pressed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from checked import allowing
from terminals import Server, wait_for

pytestmark = pytest.mark.e2e

ASK = "input('Proceed? [y/N] ')"
ANY_KEY = "read -n 1 -s -r -p 'Press any key to continue . . . ' key; echo \"[$key] at $(date +%N)\" >> keys; {then}"


class Command:
    """The installed command, pointed at one tmux server."""

    def __init__(self, path: str, server: Server, folder: Path) -> None:
        self._path, self._server, self.log = path, server, folder / "events.jsonl"

    def __call__(self, verb: str, *arguments: str, input: str = "") -> subprocess.CompletedProcess[str]:
        socket = ["-S", str(self._server.socket)] if verb in ("check", "explain") else []
        log = ["--log", str(self.log)] if verb == "check" else []
        command = [self._path, verb, *socket, *log, *arguments]
        return subprocess.run(command, input=input, check=False, capture_output=True, text=True, timeout=30)

    def json(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        done = self("check", "--json", *arguments)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    def dismiss(self, target: str) -> tuple[int, dict[str, Any]]:
        """A check that may press where a person allowed the pause of `ANY_KEY`."""
        folder = self.log.parent
        return self.json(target, "--dismiss", "--policy", allowing(folder, "shell_tools:press_any_key"))

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def stallkit(stallkit_command: str, server: Server, tmp_path: Path) -> Command:
    return Command(stallkit_command, server, tmp_path)


def test_a_state_directory_that_cannot_be_written_costs_a_warning(
    server: Server, stallkit: Command, tmp_path: Path
) -> None:
    server.start("worker1", sys.executable, "-c", ASK, shows="[y/N]")
    stallkit.log = tmp_path / "a file" / "events.jsonl"
    stallkit.log.parent.touch()
    done = stallkit("check", "tmux:worker1")
    assert done.returncode == 2 and "stalled (waiting, asks for confirm" in done.stdout, done.stderr
    assert done.stderr.count("\n") == 1 and "event log" in done.stderr


def test_a_prompt_is_a_stall(server: Server, stallkit: Command) -> None:
    server.start("worker1", sys.executable, "-c", ASK, shows="[y/N]")
    code, found = stallkit.json("tmux:worker1")
    assert code == 2
    assert found | {"reasons": [], "version": 1} == {
        "version": 1,
        "target": "tmux:worker1",
        "status": "stalled",
        "state": "waiting",
        "certainty": "sure",
        "by_signal": False,
        "by_read": False,
        "kind": "confirm",
        "severity": "medium",
        "signature": "yes_no",
        "pack": "shell_yn",
        "line": "Proceed? [y/N]",
        "request": {"question": "Proceed? [y/N]"},
        "options": [],
        "ambiguity": None,
        "reasons": [],
        "agents": None,
        "ended": None,
        "retrying": None,
        "ended_turn": None,
        "asks_inside": None,
        "hung": None,
        "signals": [],
        "resets_at": None,
        "outcome": None,
        "inside": [],
    }
    assert any("yes_no" in reason for reason in found["reasons"])
    assert [event["event"] for event in stallkit.events] == ["detection"]


@pytest.mark.parametrize(
    "code",
    [
        "import itertools\nfor n in itertools.count(): print('Compiling', n)",
        "print('Linking', flush=True)\nwhile True: pass",
        "print('Waiting for the lock', flush=True)\nimport time; time.sleep(1000)",
    ],
)
def test_a_busy_session_is_none(server: Server, stallkit: Command, code: str) -> None:
    server.start("busy", sys.executable, "-c", code)
    exit_code, found = stallkit.json("tmux:busy")
    assert (exit_code, found["status"], found["state"]) == (0, "not_stalled", "working")


def test_prefix_missing_and_ended(server: Server, stallkit: Command) -> None:
    server.start("worker10", sys.executable, "-c", ASK, shows="[y/N]")
    for name in ("worker", "worker1"):
        code, found = stallkit.json(f"tmux:{name}")
        assert (code, found["status"], found["state"]) == (4, "ended", "gone")
        assert name in found["reasons"][0]
    server.start("short", "sh", "-c", "sleep 0.5; exit 3")
    wait_for(lambda: stallkit.json("tmux:short")[0] == 4, "the end of short")
    reason = stallkit.json("tmux:short")[1]["reasons"][0]
    assert reason.endswith(("exit status 3", "exit status unknown")), "tmux sometimes loses it: docs/tmux.md"


def test_an_empty_pane_is_no_stall(server: Server, stallkit: Command) -> None:
    server.start("empty", "sleep", "1000")
    assert stallkit.json("tmux:empty")[0] == 0


def test_a_stopped_server_is_an_operational_error(server: Server, stallkit: Command) -> None:
    server.start("worker1", sys.executable, "-c", ASK, shows="[y/N]")
    pid = server.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        done = stallkit("check", "tmux:worker1")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr.startswith("stallkit: could not look at tmux:worker1: no answer") and done.stderr.count("\n") == 1
    )


def test_dismiss_presses_once_and_only_what_is_safe(server: Server, stallkit: Command, tmp_path: Path) -> None:
    server.start("key", "bash", "-c", f"cd {tmp_path}; " + ANY_KEY.format(then="exec cat"), shows="Press any key")
    code, _ = stallkit.json("tmux:key")
    assert code == 2 and not (tmp_path / "keys").exists(), "without --dismiss nothing is pressed"
    for policy in ("careful", "daemon", "observe"):
        code, found = stallkit.json("tmux:key", "--dismiss", "--policy", policy)
        assert (code, found["outcome"], (tmp_path / "keys").exists()) == (2, None, False), policy
    stallkit.log.unlink()
    code, found = stallkit.dismiss("tmux:key")
    assert (code, found["status"], found["outcome"]["end"]) == (0, "dismissed", "cleared")
    assert len((tmp_path / "keys").read_text().splitlines()) == 1
    assert [event["event"] for event in stallkit.events] == ["detection", "dismissal"]

    server.start("worker1", sys.executable, "-c", ASK, shows="[y/N]")
    code, found = stallkit.dismiss("tmux:worker1")
    assert (code, found["status"], found["outcome"]) == (2, "stalled", None)
    assert server.wait(server.start("other", "cat"), "").alive


def test_two_checks_at_once_press_once(server: Server, stallkit: Command, tmp_path: Path) -> None:
    """The program is slow to react, and its next question is one that no key may answer."""
    script = ANY_KEY.format(then="sleep 0.2; read -p 'Format the disk [Y/n]? ' x; echo wrong >> keys; exec cat")
    server.start("wizard", "bash", "-c", f"cd {tmp_path}; {script}", shows="Press any key")
    with ThreadPoolExecutor() as pool:
        codes = list(pool.map(lambda _: stallkit.dismiss("tmux:wizard")[0], range(3)))
    assert len((tmp_path / "keys").read_text().splitlines()) == 1
    assert set(codes) <= {0, 2, 3}


def test_a_prompt_that_comes_back_is_not_pressed_again(server: Server, stallkit: Command, tmp_path: Path) -> None:
    """The same prompt stands there again after the key: one press, and the outcome is not called a success."""
    loop = "while :; do " + ANY_KEY.format(then="printf '\\033[H\\033[2J'") + "; done"
    server.start("loop", "bash", "-c", f"cd {tmp_path}; printf '\\033[H\\033[2J'; {loop}", shows="Press any key")
    code, found = stallkit.dismiss("tmux:loop")
    assert (code, found["status"], found["outcome"]["end"]) == (2, "stalled", "unchanged")
    assert len((tmp_path / "keys").read_text().splitlines()) == 1


def test_copy_mode_is_never_typed_into(server: Server, stallkit: Command, tmp_path: Path) -> None:
    server.start("key", "bash", "-c", f"cd {tmp_path}; " + ANY_KEY.format(then="exec cat"), shows="Press any key")
    server.tmux("copy-mode", "-t", "=key:")
    code, found = stallkit.dismiss("tmux:key")
    assert (code, found["status"], found["outcome"]["end"]) == (2, "stalled", "refused")
    assert "copy mode" in found["outcome"]["why"]
    assert not (tmp_path / "keys").exists()


def test_a_secret_is_told_and_left_alone(server: Server, stallkit: Command) -> None:
    server.start("secret", sys.executable, "-c", "import getpass; getpass.getpass()", shows="assword")
    code, found = stallkit.json("tmux:secret", "--dismiss")
    assert (code, found["kind"], found["outcome"]) == (2, "secret", None)


def test_text_on_standard_input_and_files(stallkit: Command, tmp_path: Path) -> None:
    done = stallkit("check", "-", input="\x1b[1mProceed?\x1b[0m [y/N] ")
    assert done.returncode == 3, "where the cursor is, nobody knows"
    saved = tmp_path / "screen.txt"
    saved.write_text("---\nsize = [80, 24]\ncursor = [15, 0]\n---\nProceed? [y/N]\n")
    assert stallkit("check", f"file:{saved}").returncode == 3, "one look is not two"
    assert (
        stallkit("check", "-", input="The docs say: type y at Proceed? [y/N] and wait.\n$ make\ncc main.c\n").returncode
        == 0
    )


@pytest.mark.parametrize(
    "junk", [b"\x00\xff\xfe" * 4000, b"\x1b]0;never ended", b"[y/N]" * 400_000, b"\x1b[" * 5000, b""]
)
def test_garbage_gets_an_honest_verdict(stallkit_command: str, junk: bytes) -> None:
    done = subprocess.run(
        [stallkit_command, "check", "-", "--json"], input=junk, check=False, capture_output=True, timeout=20
    )
    assert done.returncode in (0, 3) and json.loads(done.stdout)["certainty"] == "maybe"
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["worker1"], "no session 'worker1' was started"),
        (["carrier-pigeon:1"], "no transport for 'carrier-pigeon'"),
        (["tmux:"], "is not a target"),
        ([], "Missing argument"),
        (["tmux:a", "--frobnicate"], "No such option"),
    ],
)
def test_usage_errors_are_64(stallkit: Command, arguments: list[str], said: str) -> None:
    done = stallkit("check", *arguments)
    assert done.returncode == 64 and said in done.stderr


def test_what_cannot_be_read_or_written_is_one_line(stallkit: Command, tmp_path: Path) -> None:
    done = stallkit("check", "file:/no/such/file")
    assert (done.returncode, done.stderr.count("\n")) == (64, 1)
    assert "/no/such/file: there is no such file" in done.stderr
    broken = tmp_path / "broken.txt"
    broken.write_text("---\ncursor = 7\n---\nhi\n")
    done = stallkit("check", f"file:{broken}")
    assert done.returncode == 1 and "broken.txt:2 (cursor)" in done.stderr
    done = stallkit("check", "-", "--log", "/proc/nowhere/events")
    assert done.returncode == 3 and "--log" in done.stderr and done.stderr.count("\n") == 1


def test_explain_says_which_clause_held(server: Server, stallkit: Command) -> None:
    server.start("worker1", sys.executable, "-c", ASK, shows="[y/N]")
    done = stallkit("explain", "tmux:worker1")
    assert done.returncode == 0
    assert done.stdout.startswith("match: shell_yn:yes_no (") and "all_of held" in done.stdout
    reports = json.loads(stallkit("explain", "tmux:worker1", "--json").stdout)["signatures"]
    packs = json.loads(stallkit("pack", "list", "--json").stdout)
    assert [report["signature"] for report in reports] == packs["order"]
    assert [report["signature"] for report in reports if report["fate"] == "match"] == ["shell_yn:yes_no"]


def test_watching_on_finds_a_prompt_that_comes_later(server: Server, stallkit: Command) -> None:
    server.start("later", sys.executable, "-c", f"import time; time.sleep(2); {ASK}")
    code, found = stallkit.json("tmux:later", "--for", "20")
    assert (code, found["status"]) == (2, "stalled")


def test_a_printed_prompt_is_quoted_and_never_pressed(server: Server, stallkit: Command) -> None:
    """The words, the cursor and the foreground process are those of a prompt; only nothing reads the terminal."""
    fake = "printf 'Press any key to continue . . . '; while :; do :; done"
    server.start("fake", "bash", "-c", fake, shows="Press any key")
    code, found = stallkit.dismiss("tmux:fake")
    assert (code, found["state"], found["outcome"]) == (0, "working", None)
    assert any("quoted or answered" in reason for reason in found["reasons"])


def test_explain_says_what_each_fact_argues_for(server: Server, stallkit: Command) -> None:
    server.start("secret", sys.executable, "-c", "import getpass; getpass.getpass('Tell me: ')", shows="Tell")
    facts = json.loads(stallkit("explain", "tmux:secret", "--json").stdout)["facts"]
    assert {fact["argues_for"] for fact in facts} >= {"waiting", "a secret, if it reads"}
    shown = stallkit("explain", "-", input="Proceed? [y/N] ").stdout
    assert "fact: reads the terminal: unknown; argues for nothing" in shown


def test_a_vanishing_session_never_breaks_a_check(server: Server, stallkit: Command) -> None:
    server.start("other", "cat")
    for _ in range(3):
        server.start("brief", "sleep", "0.2")
        assert stallkit("check", "tmux:brief").returncode in (0, 4)
        server.tmux("kill-session", "-t", "=brief")
