"""start, list, stop and postmortem as a user types them, and the other commands on a session that ended."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from ended_session import TOKEN, on_terminal
from stallkit_sessions.register import RunningSession
from started import House
from terminals import HEARD

from stallkit.terminal.text import cells, strip

pytestmark = pytest.mark.e2e


# --- start ---


def test_a_program_that_ends_before_it_asked_vanished_during_its_start(house: House) -> None:
    words = ["-S", str(house.socket), "--cwd", str(house.work)]
    done = house.call("start", "a", *words, "--wait", "5", "--", "sh", "-c", f"echo cannot start >&2; {HEARD}; exit 3")
    assert done.returncode == 4, done.stderr
    assert "a: vanished during its start" in done.stdout
    assert "cannot start" in done.stdout and "code 3 (says pane_dead_status)" in done.stdout
    assert [one["event"] for one in house.events("a")] == ["session_started", "session_crashed"]
    done = house.call("start", "b", *words, "--wait", "30", "--json", "--", "sh", "-c", "echo up; sleep 2; exit 3")
    assert done.returncode == 4, done.stderr
    told = json.loads(done.stdout)
    assert (told["ready"], told["ended"]["cause"], told["ended"]["screen"]) == ("vanished", "exited", ["up"])
    assert house.final("b")["event"] == "session_crashed"


def test_a_program_that_shows_no_prompt_is_a_time_out(house: House) -> None:
    words = ["start", "a", "-S", str(house.socket), "--cwd", str(house.work), "--wait", "0.5", "--json", "--"]
    done = house.call(*words, "sh", "-c", "echo working; exec cat")
    assert done.returncode == 6, done.stderr
    told = json.loads(done.stdout)
    assert (told["ready"], told["ended"]) == ("timeout", None)
    assert [one["event"] for one in house.own_events("a")] == ["session_started", "start_timeout"]
    assert isinstance(house.register.latest("a"), RunningSession)


def test_a_name_that_is_not_started_yet_is_waited_for(house: House) -> None:
    house.begin("keeper", "cat")
    never = house.call("wait", "never", "--timeout", "0.1")
    assert (never.returncode, never.stderr) == (6, "")
    assert never.stdout.startswith("never: timeout, no session of that name was started within 0.1 s; ")
    environment = {**os.environ, **house.environment}
    waits = subprocess.Popen([house.command, "wait", "later"], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        house.begin("later", "sh", "-c", "printf 'Delete all? [y/N] '; read line")
        assert waits.wait(30) == 2
    finally:
        waits.kill()
        said = waits.communicate()[0]
    why = "any program may show this prompt; to allow it: stallkit policy allow tmux:later"
    assert said == f"later: blocked, it asks for confirm: {why}\n"


def test_what_cannot_be_started_is_one_line(house: House) -> None:
    house.start("holder")
    no_program = "could not start a: no program 'no-such-program' is installed; "
    for words, code, says in (
        (("a.b", "--", "cat"), 64, "not a name for a session"),
        (("a", "--size", "wide", "--", "cat"), 64, "is not a size"),
        (("a", "--docker", "i", "--podman", "i", "--", "cat"), 64, "give one of"),
        (("a", "--port", "4000", "--port", "4000", "--", "cat"), 64, "a port is given twice"),
        ((TOKEN, "--", "cat"), 64, "is not a name"),
        (("a", "--", "no-such-program"), 64, no_program),
        (("holder", "--", "cat"), 1, "could not start holder: a session of this name runs since "),
    ):
        done = house.call("start", "-S", str(house.socket), *words)
        assert (done.returncode, done.stdout) == (code, ""), words
        assert says in done.stderr.splitlines()[-1] and TOKEN not in done.stderr, words
        assert not says.startswith("could not start") or re.fullmatch(rf"stallkit: {says}[^\n]*\n", done.stderr)
    assert [one["target"] for one in house.events()] == ["holder"]


def test_a_state_directory_that_cannot_be_is_one_line(house: House) -> None:
    (house.folder / "file").write_text("")
    for words in (["start", "a", "-S", str(house.socket), "--", "cat"], ["stop", "--all"]):
        done = house.call(*words, STALLKIT_STATE_DIR=str(house.folder / "file" / "below"))
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("stallkit: ") and done.stderr.count("\n") == 1
    assert not house.socket.exists()


def test_sessions_in_a_directory_that_is_read_only_or_gone_are_told_of(house: House) -> None:
    (house.work / ".stallkit").write_text("in the way, as a directory without leave would be")
    house.start("keeper")
    house.begin("a", "sh", "-c", f"rm -r {house.work}; exit 3")
    done = house.call("output", "a")
    house.end_of("a")
    assert house.call("output", "a").returncode == 4, done.stderr
    assert [one["event"] for one in house.events("a")] == ["session_started", "session_crashed"]


# --- those that ended ---


MEETS = [("output", "a"), ("send", "a", "text"), ("check", "a"), ("wait", "a"), ("explain", "a")]


def test_every_command_shows_how_it_ended(dead: House) -> None:
    for words in MEETS:
        done = dead.call(*words)
        assert done.returncode == 4, done.stderr
        parts = ("its program exited with 3", "code 3 (says pane_dead_status)", "the last words", "stallkit start a")
        assert not [part for part in parts if part not in done.stdout], words
        assert TOKEN not in done.stdout, words
        told = dead.call(*words, "--json")
        assert told.returncode == 4, told.stderr
        record = json.loads(told.stdout)["ended"]
        status = {"source": "pane_dead_status", "code": 3, "signal": None}
        assert (record["cause"], record["status"]) == ("exited", status), words
        assert record["recovery"][0]["command"].startswith("stallkit start a "), words
        assert TOKEN not in told.stdout, words


def test_a_name_that_was_never_started(dead: House) -> None:
    before = dead.events()
    for words in (
        ("output",),
        ("check",),
        (
            "output",
            "--postmortem",
        ),
        ("stop", "keeper"),
        ("send",),
    ):
        done = dead.call(*words, "never", *["text"] * (words == ("send",)))
        assert (done.returncode, done.stdout) == (64, ""), words
        assert "'never'" in done.stderr.splitlines()[-1], words
    assert dead.events() == before
    assert isinstance(dead.register.latest("keeper"), RunningSession), "nothing is stopped"
    done = dead.call("output", "--postmortem", "keeper")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "keeper is running, and has never ended\n")


def test_list_says_what_lives_and_why_the_others_do_not(dead: House) -> None:
    done = dead.call("list")
    assert done.returncode == 0
    assert re.search(r"^keeper +running", done.stdout, re.M)
    assert re.search(r"^a +exited, code 3", done.stdout, re.M)
    assert "a: its program exited with 3; stallkit start a" in done.stdout
    rows = {one["name"]: one for one in json.loads(dead.call("list", "--json").stdout)["sessions"]}
    assert (rows["keeper"]["state"], rows["a"]["state"]) == ("running", "ended")
    assert rows["a"]["ended"]["why"] == "its program exited with 3"
    assert "a " not in dead.call("list", "--living").stdout.split("\n", 1)[1]


def test_a_panel_lists_earlier_ends_of_its_name(house: House) -> None:
    for code in (1, 2, 3):
        house.start("a", "sh", "-c", f"exit {code}")
        house.end_of("a")
    assert "it died of this 3 times in a row" in house.call("output", "--postmortem", "a").stdout
    house.begin("a", "cat")
    done = house.call("output", "--postmortem", "a")
    assert "code 3" in done.stdout and done.stderr == "a was started again, and is running\n"
    assert house.call("stop", "a").returncode == 0
    listed = r"^earlier +{0}  exited, code 3\n +{0}  exited, code 2\n +{0}  exited, code 1$"
    assert re.search(listed.format(r"[-\d]{10} [:\d]{8}"), house.call("output", "a").stdout, re.M)
    house.start("a", "sh", "-c", f"seq 100; {HEARD}; exit 4")
    house.end_of("a")
    for words in (["output", "a"], ["send", "a", "text"], ["output", "--postmortem", "a"]):
        said = house.call(*words).stdout
        assert re.search(r"^earlier +.{19}  stopped, .*\n.*  exited, code 3\n.*  exited, code 2\n", said, re.M)
        assert "code 1" not in said and "all of them: stallkit output --postmortem a --all" in said
        told = json.loads(house.call(*words, "--json").stdout)["ended"]["earlier_ends"]
        assert [one["cause"] for one in told] == ["stopped", "exited", "exited"]
        assert [one["status"]["code"] for one in told[1:]] == [3, 2]
        assert told == sorted(told, key=lambda one: float(one["ended_at"]), reverse=True)
        assert set(told[0]) == {"cause", "why", "status", "ended_at", "duration_s", "incident"}
    [listed_one] = json.loads(house.call("list", "--json").stdout)["sessions"]
    assert listed_one["ended"]["earlier_ends"] == told
    ends = json.loads(house.call("output", "--postmortem", "a", "--all", "--json").stdout)["ended"]
    assert [len(one["earlier_ends"]) for one in ends] == [0, 1, 2, 3, 3]
    assert ends[-1]["earlier_ends"] == told and [one["earlier"] for one in ends] == [0, 1, 2, 0, 0]
    code, said = on_terminal(house, "output", "a", width=80)
    shown = sum(max(1, -(-cells(strip(line.rstrip("\r"))) // 80)) for line in said.rstrip("\n").split("\n"))
    assert code == 4 and "100" in said
    assert shown < 24, "its beginning left the terminal"


def test_the_recovering_command_recovers(house: House) -> None:
    house.start("keeper")
    house.begin("a", "sh", "-c", f"echo 'a $HOME;'; {HEARD}; exit 3")
    house.end_of("a")
    command = json.loads(house.call("output", "--postmortem", "a", "--json").stdout)["ended"]["recovery"][0]["command"]
    told = house.call("stop", "a")
    assert told.returncode == 0 and "exited, code 3" in told.stdout
    folder = Path(house.command).parent
    done = subprocess.run(
        command, shell=True, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert house.end_of("a").screen == ("a $HOME;",)
    assert len(house.register.records("a")) == 2


def test_stop_all_stops_ours_alone(house: House) -> None:
    house.start("a")
    house.begin("b", "sh", "-c", "trap '' TERM HUP; while :; do sleep 0.05; done")
    house.tmux("new-session", "-d", "-s", "theirs", "cat")
    done = house.call("stop", "--all", "--grace", "0.5", "--json")
    assert done.returncode == 0, done.stderr
    assert [(one["name"], one["cause"]) for one in json.loads(done.stdout)["sessions"]] == [
        ("a", "stopped"), ("b", "stopped"),
    ]  # fmt: skip
    assert house.tmux("list-sessions", "-F", "#{session_name}") == "theirs\n"
    assert [house.final(name)["event"] for name in "ab"] == ["session_stopped"] * 2
    again = house.call("stop", "--all", "--json")
    assert (again.returncode, json.loads(again.stdout)["sessions"]) == (0, [])
    assert house.call("stop").returncode == 64


def test_a_panel_tells_which_earlier_ends_were_one_incident(house: House) -> None:
    for name in ("a", "b"):
        house.start(name)
    house.kill_tmux()
    number = house.end_of("a").incident
    assert number is not None
    house.start("a", "sh", "-c", "exit 3")
    house.end_of("a")
    said = " ".join(re.sub("[│\n ]+", " ", house.call("output", "a").stdout).split())
    assert re.search(rf"earlier .{{19}} tmux server \w+, status unknown, incident {number}\b", said)
    assert json.loads(house.call("output", "a", "--json").stdout)["ended"]["earlier_ends"][0]["incident"] == number
