"""Variables of a session: the program has them, and nobody else can read or find them afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Mapping

import pytest
from boxed import need_bwrap
from stallkit_sessions.containers.runtime_call import BWRAP
from stallkit_sessions.explain import start_command
from stallkit_sessions.launch import SecretPipe, sourced
from stallkit_sessions.lifecycle import start_in_place, stop
from stallkit_sessions.manager import Sessions
from stallkit_sessions.model import Session
from stallkit_sessions.register import RunningSession
from started import House
from terminals import wait_for

from stallkit.errors import StartRefused

pytestmark = pytest.mark.e2e

SECRET = "nobody-reads-4711"  # no form that a redactor would know
SHOW = 'printf "%s" "$TOKEN" >told.new; mv told.new told; exec cat'


class Listing:
    """Every command line of the machine, read again and again until it is left."""

    def __init__(self) -> None:
        self.found: set[bytes] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> Listing:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _read(self) -> None:
        while not self._over.is_set():
            for name in os.listdir("/proc"):  # noqa: PTH208  # a path for each would halve the rounds
                if name.isdigit():
                    with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:  # noqa: PTH123
                        self.found.add(file.read())

    def has(self, text: str) -> bool:
        return any(text.encode() in line for line in self.found)


@pytest.fixture
def env_file(house: House) -> Path:
    file = house.folder / "secrets.env"
    file.write_text(f"TOKEN='{SECRET}'\n")
    return file


def began(
    house: House, name: str = "a", script: str = SHOW, env: Mapping[str, str] | None = None, **more: object
) -> Session:
    at = {"directory": house.work, "tmux_socket_path": house.socket, **more}
    with Sessions(house.state / "sessions.db") as sessions:
        return sessions.start(name, ["sh", "-c", script], env=env, **at)  # type: ignore[arg-type]


def told(house: House) -> str:
    file = house.work / "told"
    wait_for(file.exists, "the program's word")
    text = file.read_text()
    file.unlink()
    return text


def traces(house: House) -> list[str]:
    """Everything that is kept of sessions, and all that tmux tells of its own."""
    kept = [file for file in house.state.rglob("*") if file.is_file()]
    assert kept
    words = [["show-environment", "-g"], ["show-environment", "-t", "=a"]]
    words += [["list-panes", "-a", "-F", "#{pane_start_command}"], ["show-options", "-p", "-t", "=a:"]]
    logs = [file.read_text("latin-1") for file in [*kept, house.work / ".stallkit" / "runtime.log"]]
    return [*logs, *(house.tmux(*one) for one in words)]


def ended(house: House, name: str = "a") -> None:
    house.tmux("send-keys", "-t", f"={name}:", "C-d")
    house.end_of(name)


@pytest.mark.parametrize("relayed", [False, True])
def test_a_value_is_in_the_program_and_nowhere_else(house: House, env_file: Path, relayed: bool) -> None:
    with Listing() as listing:
        for _ in range(50):  # a start is short: the rounds of a busy machine may miss it
            began(house, env={"OTHER": SECRET}, env_files=[env_file], relayed=relayed)
            assert told(house) == SECRET
            ended(house)
            if listing.has("/fd/"):
                break
    assert listing.has("/fd/"), "a start was seen"
    assert not listing.has(SECRET)
    assert not [one for one in traces(house) if SECRET in one]
    record = house.end_of("a")
    assert record.session.env == ("OTHER",) and record.session.env_files == (str(env_file),)
    assert f"--env-file {env_file} --env OTHER -- sh" in start_command(record.session)


def test_by_the_command(house: House, env_file: Path) -> None:
    house.begin("keeper", "cat")  # a tmux server has the environment of whoever started it
    given = ("--env", "TOKEN", "--env", "PLAIN=yes", "--env-file", str(env_file))
    words = ["start", "a", "-S", str(house.socket), "--cwd", str(house.work), *given, "--json", "--"]
    with Listing() as listing:
        done = house.call(*words, "sh", "-c", SHOW.replace("$TOKEN", "$TOKEN $PLAIN"), TOKEN=f"own-{SECRET}")
    assert done.returncode == 0, done.stderr
    assert told(house) == f"own-{SECRET} yes", "a word comes before a file"
    assert not listing.has(SECRET)
    ended(house)
    shown = [house.call("output", "--postmortem", "a", "--json").stdout, house.call("list", "--json").stdout]
    shown += [house.call("output", "--postmortem", "a").stdout, done.stdout, done.stderr]
    assert not [one for one in [*shown, *traces(house)] if SECRET in one]
    session = json.loads(shown[0])["ended"]["session"]
    assert (session["env"], session["env_files"]) == (["PLAIN", "TOKEN"], [str(env_file)])


def test_what_cannot_be_given_starts_nothing(house: House) -> None:
    for words, why in [
        (["--env", f"={SECRET}"], "write NAME=VALUE"),
        (["--env", "NOT_SET"], "NOT_SET is not set here"),
        (["--env", f"A B={SECRET}"], "no name of a variable"),
        (["--env", f"STALLKIT_SESSION={SECRET}"], "set by stallkit itself"),
        (["--port", "0", "--env", f"PORT={SECRET}"], "set by stallkit itself"),
        (["--env-file", "/no/such/file"], "No such file"),
        (["--docker", "bb:1", "--env", f"A={SECRET}\nB"], "one line"),
    ]:
        done = house.call("start", "a", "-S", str(house.socket), *words, "--", "cat")
        assert done.returncode == 64 and why in done.stderr and SECRET not in done.stderr, done.stderr
        assert house.register.latest("a") is None, (words, why)


# --- another start ---


def in_place(house: House, name: str = "a") -> Session:
    record = house.end_of(name)
    again = house.session(name, *record.session.command, env=record.session.env, env_files=record.session.env_files)
    return start_in_place(house.register, record, again)


def test_another_start_reads_the_file_again(house: House, env_file: Path) -> None:
    began(house, env_files=[env_file])
    assert told(house) == SECRET
    ended(house)
    env_file.write_text("TOKEN=another\n")
    in_place(house)
    assert told(house) == "another"
    found = house.register.latest("a")
    assert isinstance(found, RunningSession)
    stop(house.register, found)
    env_file.write_text("TOKEN=third\n")
    house.start("a", "sh", "-c", SHOW, env_files=(str(env_file),))
    assert told(house) == "third"


@pytest.mark.parametrize("kept", ["named", "file"])
def test_another_start_without_its_values_is_refused(house: House, env_file: Path, kept: str) -> None:
    began(house, env={"TOKEN": SECRET} if kept == "named" else {}, env_files=[env_file])
    told(house)
    ended(house)
    env_file.unlink()
    why = "the values of TOKEN are kept nowhere" if kept == "named" else "its variables cannot be read: .*secrets.env"
    with pytest.raises(StartRefused, match=why):
        in_place(house)
    assert not isinstance(house.register.latest("a"), RunningSession)
    assert house.tmux("list-panes", "-a", "-F", "#{pane_dead}") == "1\n"


# --- in a sandbox ---


def test_in_a_sandbox(house: House, env_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_bwrap(monkeypatch)
    with Listing() as listing:
        began(house, env={"OTHER": SECRET}, env_files=[env_file], engine=BWRAP)
        assert told(house) == SECRET
    assert not listing.has(SECRET)
    assert not [one for one in traces(house) if SECRET in one]


# --- the pipe that they come through ---
def test_a_giver_that_was_killed_starts_nothing() -> None:
    code = (
        "import os, signal, subprocess\n"
        "from stallkit_sessions.launch import SecretPipe, sourced\n"
        "pipe = SecretPipe('a', 'export A=1\\n')\n"
        "print(pipe.path, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stdout.strip()
    done = subprocess.run(sourced(path, ["echo", "started"]), capture_output=True, text=True, check=False)
    assert done.returncode != 0 and done.stdout == "" and path in done.stderr


def test_who_does_not_read_is_not_waited_for_forever() -> None:
    with SecretPipe("a", "export A=1\n") as pipe:
        pipe.delivered(lambda: True)  # its program has ended
        with pytest.raises(StartRefused, match="did not take its variables"):
            pipe.delivered(lambda: False, within_s=0.05)


def test_more_than_a_pipe_holds_is_refused_and_a_lot_is_not() -> None:
    lot = "export A=" + "x" * 500_000 + "\n"
    with SecretPipe("a", lot) as pipe:
        done = subprocess.run(["sh", "-c", 'wc -c <"$0"', pipe.path], capture_output=True, text=True, check=True)
        assert int(done.stdout) == len(lot)
    with pytest.raises(StartRefused, match="its variables take"):
        SecretPipe("a", "x" * 2_000_000)
    with pytest.raises(StartRefused, match="needs /proc"):
        SecretPipe("a", "", proc="/nowhere")
