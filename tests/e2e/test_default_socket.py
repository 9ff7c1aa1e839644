"""The tmux server of ``STALLKIT_TMUX`` and of ``stallkit.toml``, for each command that talks to one."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from started import House
from terminals import wait_for

pytestmark = pytest.mark.e2e

ASKS = "read -p 'Proceed? [y/N] ' answer"


@pytest.fixture
def asking(house: House) -> House:
    """A session `asks` on the house's server, which no variable of tmux leads to."""
    subprocess.run(
        ["tmux", "-f", "/dev/null", "-S", str(house.socket), "new", "-d", "-s", "asks", "bash", "-c", ASKS], check=True
    )
    wait_for(lambda: "Proceed?" in house.tmux("capture-pane", "-p", "-t", "=asks:"), "its question")
    return house


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["check", "tmux:asks"], 2),
        (["explain", "tmux:asks"], 0),
        (["policy", "explain", "tmux:asks"], 0),
        (["send", "tmux:asks", "text"], 2),
        (["wait", "tmux:asks", "--timeout", "20"], 2),
        (["pack", "capture", "tmux:asks", "-o", "seen.screen"], 0),
        (["watch", "tmux:asks", "--policy", "observe", "--for", "1"], 0),
    ],
)
def test_each_command_reaches_it(asking: House, words: list[str], code: int) -> None:
    by_variable = asking.call(*words, STALLKIT_TMUX=str(asking.socket))
    assert by_variable.returncode == code, by_variable.stderr + by_variable.stdout
    assert "error connecting" not in by_variable.stdout + by_variable.stderr


def test_the_settings_count_below_the_variable_and_that_below_a_flag(asking: House) -> None:
    (asking.folder / "stallkit").mkdir()
    (asking.folder / "stallkit" / "stallkit.toml").write_text('[tmux]\nsocket = "../t.sock"\n')
    assert asking.call("check", "tmux:asks").returncode == 2
    nowhere = str(asking.folder / "none.sock")
    assert asking.call("check", "tmux:asks", STALLKIT_TMUX=nowhere).returncode == 4
    assert asking.call("check", "tmux:asks", "-S", str(asking.socket), STALLKIT_TMUX=nowhere).returncode == 2
    (asking.folder / "stallkit" / "stallkit.toml").write_text("[tmux]\nsocket = 3\n")
    done = asking.call("check", "tmux:asks")
    assert done.returncode == 1 and "stallkit.toml:2, [tmux]: 3 is not a text" in done.stderr


def test_a_session_is_started_there_and_found_from_anywhere(house: House) -> None:
    done = house.call("start", "a", "--cwd", str(house.work), "--", "cat", STALLKIT_TMUX=str(house.socket))
    assert done.returncode == 0, done.stderr
    assert house.tmux("list-sessions", "-F", "#{session_name}") == "a\n"
    [row] = json.loads(house.call("list", "--json").stdout)["sessions"]
    assert row["session"]["tmux_socket_path"] == str(house.socket)
    assert house.call("stop", "a").returncode == 0


def test_supervise_and_its_hooks_reach_the_server_of_its_file(asking: House) -> None:
    hook = asking.folder / "hook"
    hook.write_text('#!/bin/sh\necho "$STALLKIT_TMUX" >"$0.new"; mv "$0.new" "$0.told"\n')
    hook.chmod(0o755)
    config = asking.folder / "night.toml"
    config.write_text(f'[tmux]\nsocket = "./t.sock"\n[watch]\ntargets = ["tmux:asks"]\n[events]\nexec = "{hook}"\n')
    done = asking.call("watch", "--service", "--config", str(config), "--check")
    assert done.returncode == 0 and f"tmux: the server at {asking.socket}\n" in done.stdout, done.stderr
    environment = {**os.environ, **asking.environment}
    words = [asking.command, "watch", "--service", "--config", str(config)]
    process = subprocess.Popen(words, env=environment, cwd=asking.work, stdout=subprocess.DEVNULL)
    try:
        told = Path(f"{hook}.told")
        wait_for(told.exists, "the hook of an escalation")
        assert told.read_text() == f"{asking.socket}\n"
    finally:
        process.terminate()
        assert process.wait(30) == 0
