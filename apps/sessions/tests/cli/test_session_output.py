"""What is printed of sessions: wild screens, panels, colours, checks; and what does not answer."""

from __future__ import annotations

import json
import os
import re
import signal
from typing import Any

import pytest
from ended_session import TOKEN, on_terminal
from started import House, alive
from terminals import HEARD, wait_for

from stallkit.terminal.text import cells, strip

pytestmark = pytest.mark.e2e


# --- what is on the screen, and on ours ---

WILD = r"printf '\033[31mred\033[0m \342\200\256rtl \346\274\242\345\255\227 \360\237\231\202 e\314\201\n'"


def test_a_wild_screen_does_nothing_to_ours(house: House) -> None:
    house.start("keeper")
    house.begin("a", "sh", "-c", f"{WILD}; printf '\\033]0;\\033[2Jtitle\\007'; echo token {TOKEN}; {HEARD}; exit 3")
    house.end_of("a")
    for words in (["output", "a"], ["list"]):
        code, said = on_terminal(house, *words, NO_COLOR="1")
        assert code in (0, 4)
        assert TOKEN not in said
        assert "\u202e" not in said
        assert not re.search("\x1b(?!\\[[0-9;]*m)", said), repr(said)
    assert "漢字" in on_terminal(house, "output", "a")[1]


def test_a_panel_fits_its_terminal_and_has_colours_where_they_are_wanted(dead: House) -> None:
    for width in [50, 20, 200]:
        code, said = on_terminal(dead, "output", "a", width=width)
        assert code == 4, width
        frame = [strip(line.rstrip("\r")) for line in said.split("\n") if "│" in line or "╭" in line]
        assert frame, width
        assert {cells(line) for line in frame} == {width}, width
    assert "\x1b[" in on_terminal(dead, "output", "a")[1]
    assert not re.search("\x1b\\[[0-9;]*3[0-7]", on_terminal(dead, "output", "a", NO_COLOR="1")[1])
    assert "\x1b" not in dead.call("output", "a").stdout
    assert "\x1b" not in dead.call("list").stdout
    done = dead.call("output", "a", LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 4, done.stderr
    assert "its program exited with 3" in done.stdout


def test_output_of_one_that_lives(house: House) -> None:
    house.begin("a", "sh", "-c", f"seq 100; echo token {TOKEN}; exec cat")
    wait_for(lambda: "token" in house.tmux("capture-pane", "-p", "-t", "=a:"), "its screen")
    done = house.call("output", "a", "--lines", "3")
    assert done.stdout.splitlines()[:2] == ["99", "100"]
    assert len(done.stdout.splitlines()) == 3
    assert TOKEN not in done.stdout
    told: dict[str, Any] = json.loads(house.call("output", "a", "--check-stall", "--json").stdout)
    assert told["lines"][:1] == ["62"] and told["status"] is not None


CHECKED = ("status", "state", "certainty", "kind", "severity", "signature", "pack", "line", "resets_at", "outcome")
ANY_KEY = "read -n 1 -s -r -p 'Press any key to continue . . . ' key; echo; echo pressed; sleep 1000"
STALLS = [  # a session, what it shows, status and exit code
    (("bash", "-c", "read -p 'Proceed? [y/N] ' x"), "Proceed?", "stalled", 2),
    (("env", "PS1=dev@box:~$ ", "bash", "--norc", "--noprofile", "-i"), "dev@box", "ended", 4),
]


def test_a_check_of_an_output_is_a_check(house: House) -> None:
    for number, (command, shows, status, code) in enumerate(STALLS):
        name = f"a{number}"
        house.begin(name, *command)
        wait_for(
            lambda name=name, shows=shows: shows in house.tmux("capture-pane", "-p", "-t", f"={name}:"), "its screen"
        )
        wait_for(lambda name=name, code=code: house.call("check", name).returncode == code, f"{status} by check")
        wanted = json.loads(house.call("check", name, "--json").stdout)
        before = len(house.events(name))
        done = house.call("output", name, "--check-stall", "--json")
        assert done.returncode == code, done.stderr
        told = json.loads(done.stdout)
        assert (told["version"], told["target"], told["status"]) == (1, name, status)
        assert {field: told[field] for field in CHECKED} == {field: wanted[field] for field in CHECKED}
        assert told["reasons"] and shows in "\n".join(told["lines"])
        [event] = house.events(name)[before:]
        assert (event["event"], event["state"], event["signature"]) == ("detection", told["state"], told["signature"])


def test_an_output_dismisses_only_where_it_is_asked_to(house: House) -> None:
    house.begin("a", "bash", "-c", ANY_KEY)
    wait_for(lambda: house.call("check", "a").returncode == 2, "the prompt")
    log = house.folder / "events of its own"
    done = house.call("output", "a", "--check-stall", "--log", str(log))
    assert (done.returncode, "pressed" in done.stdout) == (2, False)
    assert "a: stalled (waiting, asks for press_key, sure)" in done.stderr
    assert [json.loads(line)["event"] for line in log.read_text().splitlines()] == ["detection"]
    done = house.call("output", "a", "--check-stall", "--dismiss")
    assert done.returncode == 2 and "nothing pressed: any program may show this prompt" in done.stderr
    assert "to allow it: stallkit policy allow tmux:a" in done.stderr, "nobody has allowed it yet"
    assert "pressed" not in house.call("output", "a").stdout.replace("Press", "")
    for words, why in (
        (["--dismiss"], "--dismiss needs --check-stall"),
        (["--check-stall", "--policy", "daemon"], "--policy needs --dismiss"),
    ):
        done = house.call("output", "a", *words)
        assert (done.returncode, done.stdout) == (64, "") and why in done.stderr
    settings = house.folder / "stallkit" / "stallkit.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(f"policy = '{house.folder / 'mine.toml'}'\n")
    rule = '[[rule]]\ndo = "press"\nsignature = "shell_tools:press_any_key"\nsession = "tmux:a"\n'
    (house.folder / "mine.toml").write_text(rule)
    done = house.call("output", "a", "--check-stall", "--dismiss", "--policy", "careful")
    assert done.returncode == 2, "the flag goes before the settings"
    before = len(house.events("a"))
    done = house.call("output", "a", "--check-stall", "--dismiss", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["status"], told["outcome"]["end"]) == (0, "dismissed", "cleared")
    assert told["signature"] == "press_any_key"
    assert [one["event"] for one in house.events("a")[before:]] == ["detection", "dismissal"]
    assert house.call("output", "a").stdout.count("pressed") == 1


# --- what does not answer ---


def test_a_tmux_that_does_not_answer(house: House) -> None:
    house.start("a")
    pid = house.tmux_pid
    os.kill(pid, signal.SIGSTOP)
    try:
        done = house.call("output", "a")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.count("\n") == 1 and "could not look" in done.stderr
        listed = house.call("list", "--json")
        assert [one["state"] for one in json.loads(listed.stdout)["sessions"]] == ["running"]
    finally:
        os.kill(pid, signal.SIGCONT)
    assert [one["event"] for one in house.events()] == ["session_started"]


def test_a_monitor_that_does_not_answer(house: House) -> None:
    house.start("keeper")
    house.begin("a", "sh", "-c", "read line; exit 3")
    [monitor] = house.monitors
    os.kill(monitor, signal.SIGSTOP)
    house.tmux("send-keys", "-t", "=a:", "Enter")
    try:
        done = house.call("output", "a")
        assert done.returncode == 4 and "code 3" in done.stdout
    finally:
        os.kill(monitor, signal.SIGCONT)
    assert house.call("list").returncode == 0
    assert house.final("a")["event"] == "session_crashed"
    assert alive(monitor)
