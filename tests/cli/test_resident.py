"""A supervisor that runs answers `check` and `status --short`: the same as the commands themselves, or not at all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Iterator

import pytest
from attrs import frozen
from terminals import Server, wait_for

from stallkit.core.engine import Engine
from stallkit.errors import StallkitError
from stallkit.packs.registry import installed_engine
from stallkit.process_context import context
from stallkit.supervise.resident_check import ResidentChecks, _changed_since

STALLKIT = "from stallkit.cli.main import main; main()"
NO_ANSWER = 99
RESIDENT = f"""
import sys
from stallkit.cli.resident import answered
code = answered(sys.argv[1:])
sys.exit({NO_ANSWER} if code is None else code)
"""
ASKS = "read -p 'Proceed? [y/N] ' answer; clear; echo went on; exec sleep 1000"


@frozen
class Place:
    """A tmux server with a session that asks, a state directory, and a working directory without settings."""

    server: Server
    folder: Path

    @property
    def socket(self) -> str:
        return self.server.tmux("display-message", "-p", "#{socket_path}").strip()

    def run(self, code: str, *words: str, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, *words],
            input=given,
            encoding="utf-8",
            errors="surrogateescape",
            cwd=self.folder,
            env=self.environment | environment,
            check=False,
            capture_output=True,
        )

    @property
    def environment(self) -> dict[str, str]:
        ours = {name: value for name, value in os.environ.items() if name not in ("TMUX", "STALLKIT_TMUX")}
        return ours | {"STALLKIT_STATE_DIR": str(self.folder / "state")}

    def check(self, *words: str, by: str = RESIDENT, **environment: str) -> subprocess.CompletedProcess[str]:
        return self.run(by, "check", "tmux:asks", "-S", self.socket, *words, **environment)


@pytest.fixture
def place(server: Server, tmp_path: Path) -> Place:
    (tmp_path / "here").mkdir()
    server.start("asks", "bash", "-c", ASKS, shows="Proceed?").close()
    return Place(server, tmp_path / "here")


@pytest.fixture
def supervisor(place: Place) -> Iterator[subprocess.Popen[bytes]]:
    """A supervisor of that session, in a process of its own, once it has looked."""
    words = [sys.executable, "-c", STALLKIT, "watch", "tmux:asks", "-S", place.socket, "--policy", "observe"]
    process = subprocess.Popen(words, cwd=place.folder, env=place.environment, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: "asks" in place.run(RESIDENT, "status", "--short").stdout, "what the supervisor says")
        yield process
    finally:
        process.kill()
        process.wait()


def plain(text: str) -> str:
    """Without the seconds that a program has waited, and the times of events."""
    return re.sub(r"\d+(\.\d+)?", "N", text)


@pytest.mark.e2e
@pytest.mark.parametrize("words", [(), ("--json",), ("--idle-ok",)])
def test_its_answer_is_that_of_the_command(place: Place, supervisor: object, words: tuple[str, ...]) -> None:
    answer = place.check(*words)
    assert answer.returncode == 2, answer
    itself = place.check(*words, "--watch-for", "0", by=STALLKIT)  # which no supervisor answers
    assert plain(answer.stdout) == plain(itself.stdout)
    assert answer.returncode == itself.returncode
    command = place.check(*words, by=STALLKIT)
    assert (plain(command.stdout), command.returncode) == (plain(answer.stdout), answer.returncode)
    logged = (place.folder / "state" / "events.jsonl").read_text()
    assert logged.count('"event": "detection"') >= 4, "each is in the event log, as without a supervisor"


@pytest.mark.e2e
def test_its_answer_is_of_now_and_of_any_session(place: Place, supervisor: object) -> None:
    place.server.tmux("send-keys", "-t", "=asks:", "y", "Enter")
    wait_for(lambda: "went on" in place.server.tmux("capture-pane", "-p", "-t", "=asks:"), "the session going on")
    assert "not_stalled" in place.check().stdout or "unknown" in place.check().stdout
    place.server.start("other", "bash", "-c", ASKS, shows="Proceed?").close()
    other = place.run(RESIDENT, "check", "tmux:other", "-S", place.socket)
    assert (other.returncode, other.stdout.splitlines()[0][:10]) == (2, "tmux:other")
    gone = [place.run(by, "check", "tmux:gone", "-S", place.socket) for by in (RESIDENT, STALLKIT)]
    assert gone[0].returncode == gone[1].returncode == 4
    assert gone[0].stdout == gone[1].stdout


@pytest.mark.e2e
@pytest.mark.parametrize(
    "text", ["Proceed? [y/N] ", "", "$ ls\n", "\udcff ❯ 1. Yes\n  2. No\x1b[0m", "API_KEY=abcdef123456"]
)
def test_a_text_is_checked_as_by_the_command(place: Place, supervisor: object, text: str) -> None:
    for words in ((), ("--json",)):
        answer = place.run(RESIDENT, "check", "-", *words, given=text)
        itself = place.run(STALLKIT, "check", "-", *words, "--watch-for", "0", given=text)
        assert (answer.stdout, answer.returncode) == (itself.stdout, itself.returncode)
        assert answer.returncode != NO_ANSWER
    assert place.run(RESIDENT, "check", "-", given="a\n" * 500_000).returncode == NO_ANSWER, "longer than a request"
    long = place.run(STALLKIT, "check", "-", given="a\n" * 500_000 + text)  # not asked: the command has the text still
    assert long.returncode == place.run(STALLKIT, "check", "-", "--watch-for", "0", given="a\n" * 99 + text).returncode


@pytest.mark.e2e
def test_a_status_line_is_that_of_the_command(place: Place, supervisor: object) -> None:
    answer = place.run(RESIDENT, "status", "--short")
    assert (answer.stdout, answer.returncode) == ("1 wait: asks\n", 2)
    itself = place.run(STALLKIT, "status", "--short", "-L", "any")  # with an option it is not asked for
    assert (itself.stdout, itself.returncode) == (answer.stdout, answer.returncode)


@pytest.mark.e2e
def test_where_it_could_be_another_answer_there_is_none(place: Place, supervisor: subprocess.Popen[bytes]) -> None:
    for words in (["--dismiss"], ["--watch-for", "1"], ["--log", "x"], ["--hung-after", "9"], ["-L"], ["tmux:other"]):
        assert place.check(*words).returncode == NO_ANSWER, words
    for target in ("file:x", "asks", "tmux:{last}", "tmux:", "tmux:a b", "acme:x"):
        assert place.run(RESIDENT, "check", target, "-S", place.socket).returncode == NO_ANSWER, target
    assert place.check(TZ="Asia/Tokyo").returncode == NO_ANSWER
    assert place.check(PYTHONPATH=f"{os.environ.get('PYTHONPATH', '')}:/elsewhere").returncode == NO_ANSWER
    assert place.run(RESIDENT, "check", "tmux:asks", STALLKIT_TMUX="x").returncode == NO_ANSWER
    (place.folder / "stallkit.toml").write_text('[tmux]\nsocket = "other"\n')
    assert place.run(RESIDENT, "check", "tmux:asks").returncode == NO_ANSWER, "settings name another server"
    supervisor.kill()
    supervisor.wait()
    assert place.check().returncode == NO_ANSWER, "it was killed, and its socket is still there"
    assert place.check(by=STALLKIT).returncode == 2, "the command itself answers all the same"


def test_without_a_supervisor_nobody_is_asked(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{RESIDENT.replace('sys.exit', 'print(sorted(sys.modules)); sys.exit')}", "status"],
        env=os.environ | {"STALLKIT_STATE_DIR": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == NO_ANSWER
    for heavy in ("click", "attrs", "stallkit.core", "json", "socket"):
        assert f"'{heavy}'" not in done.stdout


def refused(checks: ResidentChecks, **request: Any) -> str:
    with pytest.raises(StallkitError) as error:
        checks({"target": "tmux:nothing", "socket_name": "stallkit-nothing", **request})
    return str(error.value)


def test_a_supervisor_refuses_what_is_not_certain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(tmp_path))
    checks = ResidentChecks(installed_engine())
    ours = context()
    assert "another context" in refused(checks)
    for key in ours:
        assert "another context" in refused(checks, context={**ours, key: "other"}), key
        assert "another context" in refused(checks, context={one: ours[one] for one in ours if one != key})
    found = checks({"target": "tmux:nothing", "socket_name": "stallkit-nothing", "context": ours})
    assert found["status"] == "ended", "it was looked for"
    own = Engine(installed_engine().packs)
    assert "not that of the installed packs" in refused(ResidentChecks(own), context=ours)


def test_a_file_that_changed_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "just_made.py").touch()
    before = time.time_ns()
    wait_for(lambda: time.time_ns() > before + 20_000_000, "a tick of the file system's clock")
    now = time.time_ns()
    monkeypatch.syspath_prepend(tmp_path)
    __import__("just_made")
    assert not _changed_since(now)
    (tmp_path / "just_made.py").write_text("x = 1\n")
    assert _changed_since(now)
    (tmp_path / "just_made.py").unlink()
    assert _changed_since(time.time_ns() + 10**12), "a file that is gone was replaced"
    del sys.modules["just_made"]
