"""The supervisor's commands as a user types them: watch, supervise, status, incidents, policy, send, wait."""

from __future__ import annotations

import json
import select
import shlex
import signal
import socket
import subprocess
import sys
import threading
from datetime import datetime
from pathlib import Path
from typing import Any, Iterator

import pytest
from checked import allowing
from queued import Desk
from terminals import Server, had_a_child, wait_for

pytestmark = pytest.mark.e2e

ASKS = "read -n1 -s -r -p 'Press any key to continue...'; printf '\\nwent on\\n'; exec sleep 100"


class Command(Desk):
    """`stallkit` in a folder of its own, over one tmux server."""

    server: Server

    def json(self, *words: str) -> Any:
        done = self(*words, "--json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def start(self, *words: str) -> Process:
        return Process(self.begin(*words), self.folder)

    @property
    def at(self) -> tuple[str, str]:
        return "-S", str(self.server.socket)


class Process:
    """A command that goes on."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self.process, self.folder = process, folder

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines if line.startswith("{")]

    @property
    def lines(self) -> list[str]:
        return (self.folder / "out").read_text().split("\n")[:-1]

    def has(self, name: str, count: int = 1) -> bool:
        return sum(event["event"] == name for event in self.events) >= count

    @property
    def errors(self) -> str:
        return "\n".join(line for line in self.lines if not line.startswith("{"))

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


@pytest.fixture
def stallkit(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    monkeypatch.delenv("STALLKIT_STALL_TIMEOUT", raising=False)
    command = Command(tmp_path, server)
    yield command
    command.end()


def ask(server: Server, name: str, script: str, shows: str) -> None:
    server.start(name, "bash", "-c", script, shows=shows).close()


def test_watch_presses_tells_and_is_told_of_afterwards(stallkit: Command, server: Server) -> None:
    for command in ("status", "incidents"):
        assert stallkit(command).returncode == 0, "nothing was noted yet"
    ask(server, "asks", ASKS, "Press any key")
    ask(server, "harm", "read -p 'Delete all? [y/N] '", "Delete")
    allowed = allowing(stallkit.folder, "shell_tools:press_any_key")
    watch = stallkit.start("watch", "tmux:asks", "tmux:harm", "--policy", allowed, "--interval", "1", *stallkit.at)
    wait_for(lambda: watch.has("dismissal") and watch.has("escalation"), "a press and an escalation")
    assert watch.end(signal.SIGINT) == 0
    assert [event["event"] for event in watch.events][-1] == "stop"
    status = {one["target"]: one for one in stallkit.json("status")["sessions"]}
    harm = status["tmux:harm"]
    assert (harm["state"], status["tmux:asks"]["recoveries"]) == ("waiting", 1)
    assert datetime.fromisoformat(harm["seen_time"]).timestamp() == pytest.approx(harm["seen_at"], abs=0.001)
    assert (harm["free_at"], harm["free_time"]) == (None, None)
    assert "shell_yn" in stallkit("status").stdout
    incidents = stallkit.json("report", "--incidents", "tmux:asks")["incidents"]
    assert [(one["event"], one["facts"]["outcome"]) for one in incidents] == [("dismissal", "cleared")]
    assert datetime.fromisoformat(incidents[0]["time"]).timestamp() == pytest.approx(incidents[0]["at"], abs=0.001)
    assert "dismissal" in stallkit("report", "--incidents").stdout
    log = (stallkit.folder / "state" / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in log] == [event["event"] for event in watch.events]
    (stallkit.folder / "state").rename(stallkit.folder / "kept")
    (stallkit.folder / "state").write_text("a file where the directory should be")
    for command in (["status"], ["report", "--incidents"]):
        done = stallkit(*command)
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr.count("\n") == 1 and done.stderr.startswith("stallkit: store "), done.stderr


def test_supervise_is_ready_reloads_refuses_and_drains(stallkit: Command, server: Server) -> None:
    ask(server, "harm", "read -p 'Delete all? [y/N] '", "Delete")
    config = stallkit.folder / "stallkit.toml"
    good = '[watch]\ntargets = ["tmux:harm"]\ninterval_s = 1\n'
    config.write_text(good)
    assert stallkit("watch", "--service", "--check", "--config", "stallkit.toml").returncode == 0
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as system:
        system.bind(str(stallkit.folder / "notify"))
        system.settimeout(30)
        stallkit.environment |= {"NOTIFY_SOCKET": str(stallkit.folder / "notify"), "WATCHDOG_USEC": "2000000"}
        supervise = stallkit.start("watch", "--service", "--config", "stallkit.toml", *stallkit.at)
        assert [system.recv(100) for _ in range(2)] == [b"READY=1", b"WATCHDOG=1"]
        system.setblocking(False)
        reader = threading.Thread(target=drain, args=(system, supervise.process))
        reader.start()
        wait_for(lambda: supervise.has("escalation"), "an escalation")
        config.write_text("[watch]\nwat = 1\n")
        supervise.process.send_signal(signal.SIGHUP)
        wait_for(lambda: supervise.has("reload_refused"), "a refusal")
        assert "the old settings are kept" in supervise.errors
        config.write_text(good + '[policy]\nprofile = "observe"\n')
        supervise.process.send_signal(signal.SIGHUP)
        wait_for(lambda: supervise.has("reload"), "new settings")
        assert supervise.events[-1]["policy"] == "observe"
        assert supervise.end() == 0
        assert supervise.events[-1]["event"] == "stop"
        reader.join()


def drain(system: socket.socket, process: subprocess.Popen[bytes]) -> None:
    """Read what systemd is told, as it does: else who tells it waits."""
    while process.poll() is None:
        if select.select([system], [], [], 0.2)[0]:
            system.recv(100)


def test_what_cannot_be_done_is_said_in_one_line(stallkit: Command, server: Server) -> None:
    server.tmux("new-session", "-d", "-s", "a", "sleep", "100")
    server.start("deaf", "sh", "-c", "stty -echo; echo deaf; exec sleep 1000", shows="deaf").close()
    for words, code, said in (
        (("watch",), 64, "name a session"),
        (("watch", "nonsense:x"), 64, "nonsense"),
        (("watch", "tmux:a", "--policy", "no.toml"), 64, "no.toml"),
        (("watch", "tmux:a", "--webhook", "ftp://x", "--for", "1"), 1, "not an http"),
        (("watch", "--service", "--config", "no.toml"), 64, "no.toml"),
        (("policy", "explain", "tmux:none"), 4, "none"),
        (("send", "tmux:none", "hello"), 4, "ended"),
        # nobody reads, and nothing is echoed: it may be typed, and it may be lost
        (("send", "tmux:deaf", "hello", "--force"), 1, "tmux:deaf: unseen,"),
    ):
        done = stallkit(*words, *stallkit.at)
        assert done.returncode == code, (words, done.stderr)
        assert said in done.stderr + done.stdout and "Traceback" not in done.stderr, words


def test_a_check_says_what_a_start_would(stallkit: Command) -> None:
    config = stallkit.folder / "stallkit.toml"
    begin = '[watch]\nall = true\n[events]\nexec = "true"\n'
    config.write_text(f'{begin}webhook = "http://127.0.0.1:9/token"\nmetrics = ":0"\n')
    done = stallkit("watch", "--service", "--check", "--config", "stallkit.toml")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == [
        "webhook: an address of 127.0.0.1, which was not called",
        "metrics: :0 can be served",
    ]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for wrong, said in (
            (f'metrics = ":{port}"', "in use"),
            ('webhook = "ftp://x"', "not an http"),
            ('exec = ""', ""),
            ('exec = "/no/such/hook --loud"', "no program '/no/such/hook' is there"),
        ):
            config.write_text(
                f"{begin}{wrong}\n".replace('exec = "true"\n', "" if "exec" in wrong else 'exec = "true"\n')
            )
            done = stallkit("watch", "--service", "--check", "--config", "stallkit.toml")
            assert (done.returncode, done.stdout) == (1, "") and said in done.stderr, done.stderr


def test_a_server_that_is_not_there_yet_is_waited_for_and_said_once(stallkit: Command, server: Server) -> None:
    watch = stallkit.start("watch", "--all", "--interval", "0.2", *stallkit.at)
    wait_for(lambda: watch.has("no_session"), "that there is none")
    ask(server, "harm", "read -p 'Delete all? [y/N] '", "Delete")
    wait_for(lambda: watch.has("escalation"), "an escalation")
    assert watch.end() == 0 and not watch.has("no_session", 2)


COMPOSER = r"""import sys, termios, tty
state = termios.tcgetattr(0)
tty.setcbreak(0)
def draw(text): print("\x1b[2J\x1b[H" + text, end="", flush=True)
if len(sys.argv) > 1:
    draw("Press any key to continue...")
    sys.stdin.read(1)
rule = "\u2500" * 78
draw(rule + "\n\u276f \n" + rule + "\n  ? for shortcuts\x1b[2;3H")
line = ""
while (key := sys.stdin.read(1)) not in "\r\n":
    line += key
    print(key, end="", flush=True)
draw("got " + line + "\n")
import time; time.sleep(100)
"""


def test_text_is_held_while_a_prompt_stands_there(stallkit: Command, server: Server) -> None:
    program = stallkit.folder / "agent.py"
    program.write_text(COMPOSER)
    ask(server, "harm", "read -p 'Delete all? [y/N] '; exec sleep 100", "Delete")
    assert stallkit("send", "tmux:harm", "hello", *stallkit.at).returncode == 2
    assert "hello" not in server.tmux("capture-pane", "-p", "-t", "=harm:")
    named = f"exec -a claude {sys.executable} {shlex.quote(str(program))} ask"
    server.start("agent", "bash", "-c", named, shows="Press any key").close()
    assert stallkit("wait", "tmux:agent", *stallkit.at).returncode == 2, "nobody allowed it"
    allowed = allowing(stallkit.folder, "shell_tools:press_any_key")
    ready = stallkit.json("wait", "tmux:agent", "--policy", allowed, *stallkit.at)
    assert (ready["ready"], ready["dismissed"]) == ("ready", ["shell_tools:press_any_key"])
    sent = stallkit("send", "tmux:agent", "run the tests", *stallkit.at)
    assert (sent.returncode, sent.stdout) == (0, "tmux:agent: typed\n")
    wait_for(lambda: "got run the tests" in server.tmux("capture-pane", "-p", "-t", "=agent:"), "the text")
    forced = stallkit("send", "tmux:harm", "n", "--force", *stallkit.at)
    assert forced.returncode == 0
    log = (stallkit.folder / "state" / "events.jsonl").read_text().splitlines()
    last = json.loads(log[-1])
    assert (last["event"], last["forced"], last["characters"]) == ("send", True, 1)


def test_a_start_that_needs_a_person_or_vanishes_is_told(stallkit: Command, server: Server) -> None:
    ask(server, "harm", "read -p 'Delete all? [y/N] '", "Delete")
    assert stallkit("wait", "tmux:harm", *stallkit.at).returncode == 2
    server.tmux("new-session", "-d", "-s", "dies", "sh", "-c", "exit 3")
    assert stallkit("wait", "tmux:dies", *stallkit.at).returncode == 4
    server.tmux("new-session", "-d", "-s", "slow", "sleep", "100")
    later = stallkit.start("wait", "tmux:later", "--json", *stallkit.at)
    wait_for(lambda: had_a_child(later.process.pid), "a look at what is not there")
    ask(server, "later", "read -p 'Delete all? [y/N] '", "Delete")
    assert later.process.wait(30) == 2, later.errors
    assert stallkit("wait", "tmux:slow", "--timeout", "1", *stallkit.at).returncode == 6
