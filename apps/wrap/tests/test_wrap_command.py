"""`stallkit wrap`, `start --wrap` and `run --wrap` as a user meets them, in tmux panes, beside the same without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stallkit_sessions.explain import start_command
from stallkit_wrap.relay.driver import wrapped
from started import House, alive
from terminals import OnTerminal, Server, wait_for

from stallkit.press.check import CheckResult, check
from stallkit.press.policy import Policy
from stallkit.press.rules import Rule
from stallkit.probes.procfs import Process
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.e2e

SIZE = (80, 24)
QUIET = "stty -echo; echo begun; exec sleep 1000"
REPORTING = r"printf '\033]7501;state=blocked:kind=permission:app=cat\007'; echo Shall I go on; exec cat"
# What a look makes of each, in words of the verdict, has to be the same behind a relay.
SCENES = {  # by the command, and what it shows once it is there
    "a question": ("read -p 'Proceed? [y/N] ' x", "Proceed"),
    "a secret": ("read -s -p 'Password: ' x", "Password"),
    "work": ("echo building; exec sleep 1000", "building"),
    "quoted": ("printf 'Proceed? [y/N] '; exec sleep 1000", "Proceed"),
    "a pager": ("seq 200 | less", ":"),
    "a shell": ("PS1='$ ' exec bash --norc --noprofile -i", "$"),
    "a line editor": ("exec python3 -q", ">>>"),
    "lines": ("exec cat", ""),
    "a key": ("read -n1 -p 'Press any key to continue '; exec sleep 1000", "Press"),
}


def rested(transport: TmuxTransport) -> CheckResult:
    """A check of it once its screen rests."""

    def rests() -> bool:
        found = check(transport).snapshot
        return bool(found.kernel and found.kernel.listening is not None and (found.quiet_s or 0) > 0)

    wait_for(rests, f"{transport.target} to rest")
    return check(transport)


def test_a_look_sees_the_program_and_not_its_relay(server: Server) -> None:
    begun = {}
    for number, (script, shows) in enumerate(SCENES.values()):
        command = ["bash", "--norc", "-c", script]
        sides = {f"bare{number}": command, f"behind{number}": wrapped(command)}
        begun[number] = [server.start(name, *words, shows=shows, size=SIZE) for name, words in sides.items()]
    for scene, pair in zip(SCENES, begun.values(), strict=True):
        bare, behind = map(rested, pair)
        told = [(one.status, one.verdict.state, one.verdict.certainty, one.verdict.kind) for one in (bare, behind)]
        assert told[0] == told[1], (scene, bare.verdict.reasons, behind.verdict.reasons)
        one, other = bare.snapshot, behind.snapshot
        assert one.kernel and other.kernel and one.tty == other.tty, scene
        assert one.screen.fingerprint == other.screen.fingerprint, scene
        seen = [(look.foreground, look.kernel.listening, look.kernel.how) for look in (one, other) if look.kernel]
        assert seen[0] == seen[1], scene
        assert other.kernel.through == "stallkit" and other.kernel.first_seen, scene
        names = [[member.names for member in look.kernel.members] for look in (one, other) if look.kernel]
        assert names[0] == names[1], scene


def test_a_key_is_pressed_through_it_and_what_the_program_reports_is_known(server: Server) -> None:
    command = wrapped(["bash", "--norc", "-c", SCENES["a key"][0]])
    transport = server.start("key", *command, shows="Press", size=SIZE)
    rested(transport)
    rule = Rule(do="press", signature="shell_tools:press_any_key", session=transport.target)
    done = check(transport, Policy("mine", rules=[rule]))
    assert done.outcome is not None and done.outcome.pressed and done.outcome, done.outcome
    command = wrapped(["bash", "--norc", "-c", REPORTING])
    seen = rested(server.start("reports", *command, shows="Shall", size=SIZE))
    assert (seen.verdict.state, seen.verdict.certainty, seen.verdict.kind) == ("waiting", "sure", "permission")
    assert any("osc7501" in reason for reason in seen.verdict.reasons)


class Side:
    """A program in a pane, directly or behind a relay."""

    def __init__(self, server: Server, name: str, command: list[str]) -> None:
        self.server, self.name = server, name
        server.tmux("new-session", "-d", "-s", name, "-x", str(SIZE[0]), "-y", str(SIZE[1]), *command)

    @property
    def shown(self) -> str:
        """Every cell with its colours, the cursor, and the modes."""
        names = ("cursor_x", "cursor_y", "cursor_flag", "alternate_on", "keypad_cursor_flag", "mouse_any_flag")
        state = " ".join(f"#{{{name}}}" for name in names)
        cells = self.server.tmux("capture-pane", "-p", "-e", "-t", self.name)
        return cells + self.server.tmux("display-message", "-p", "-t", self.name, state)


FULL_SCREEN: dict[str, tuple[str, str, list[str]]] = {  # a command, what it shows, and keys
    "vim": ("vim -u NONE -n -c 'syntax on' text.py", "import", ["i", "new é✳ ", "Escape", ":split", "Enter", "G"]),
    "nano": ("nano -I text.py", "import", ["Down", "Right", "x", "C-k", "C-u"]),
    "less": ("less -N text.py", "import", ["/", "def", "Enter", "Space", "g"]),
    "mc": ("mc -u -a .", "text.py", ["Down", "F3"]),
    "dialog": ("dialog --menu choose 15 50 5 a one b two c three", "choose", ["Down", "Tab"]),
    "whiptail": ("whiptail --checklist choose 15 50 3 a one off b two on c three off", "choose", ["Down", "Space"]),
    "tmux": (
        "env -u TMUX tmux -f /dev/null -S ./inner-$$ new 'seq 30; exec cat' ';' set -g destroy-unattached on",
        "30",
        ["a", "C-b", "%", "b"],
    ),
    "man": ("man -P less bash", "BASH", ["Space", "/", "job", "Enter"]),
    "watch": ("watch -t -n 1000 seq 40", "20", []),
    "python": ("python3 -q", ">>>", ["1 + 1", "Enter", "Up", "Left", "2"]),
    "readline": ("PS1='$ ' exec bash --norc --noprofile", "$", ["echo x", "C-a", "C-r", "ech"]),
    "select": ("PS3='which? '; select x in $(seq 30); do echo $x; done", "which", ["7", "Enter"]),
}


def test_full_screen_programs_look_the_same(server: Server, tmp_path: Path) -> None:
    begun = {}
    for name, (line, _, _) in FULL_SCREEN.items():
        (at := tmp_path / name).mkdir()
        (at / "text.py").write_text("import os\n\n\n" + "def long(x: int) -> str:\n    return f'{x}'\n" * 40)
        command = ["bash", "--norc", "-c", f"cd {at}; {line}"]
        begun[name] = [Side(server, f"bare-{name}", command), Side(server, f"behind-{name}", wrapped(command))]
    for name, (_, shows, keys) in FULL_SCREEN.items():
        sides = begun[name]

        def same(sides: list[Side] = sides) -> bool:
            bare, behind = (side.shown for side in sides)
            return bare == behind

        for side in sides:
            wait_for(lambda side=side, shows=shows: shows in side.shown, f"{shows} in {side.shown}")
        wait_for(same, f"the same screen of {name}")
        for key in keys:
            for side in sides:
                server.tmux("send-keys", "-t", side.name, key)
            wait_for(same, f"the same screen of {name} after {key}: {[side.shown for side in sides]}")
        for side in sides:
            server.tmux("resize-window", "-t", side.name, "-x", "100", "-y", "30")
        wait_for(same, f"the same screen of {name} at another size: {[side.shown for side in sides]}")


def test_a_person_gets_code_and_terminal_back(server: Server, stallkit_command: str) -> None:
    at = OnTerminal(server, SIZE, stallkit_command, "wrap", "--", "sh", "-c", "stty raw -echo; echo over; exit 3")
    assert "over" in at.over(3)
    at = OnTerminal(server, SIZE, stallkit_command, "wrap", "--", "no-such-program")
    assert "could not start no-such-program" in at.over(127)
    at = OnTerminal(server, SIZE, stallkit_command, "wrap", "--no-judge", "--", "sh", "-c", QUIET)
    at.shows("begun")
    at.press("C-c")
    at.over(130)


def test_a_session_is_started_behind_a_relay(house: House) -> None:
    house.begin("w", "bash", "--norc", "-c", "read -p 'Proceed? [y/N] ' x; exit 7", given=("--wrap",))

    def stalled() -> bool:
        found = json.loads(house.call("check", "w", "--json").stdout)
        return bool(found["status"] == "stalled" and found["kind"] == "confirm")

    wait_for(stalled, "the question")
    assert list((house.state / "relays").glob("*.sock"))
    house.tmux("send-keys", "-t", "w", "n", "Enter")
    wait_for(lambda: house.call("check", "w").returncode == 4, "its end")
    ended = house.end_of("w")
    assert ended.status is not None and ended.status.code == 7 and ended.session.relayed
    assert ended.session.command[0] == "bash" and " --wrap " in start_command(ended.session)
    assert not list((house.state / "relays").glob("*.sock"))


def test_a_session_behind_a_relay_ends_by_its_signal_and_leaves_nothing(house: House) -> None:
    house.begin("w", "bash", "--norc", "-c", "echo $$; sleep 1000 & wait", given=("--wrap",))
    relay = Process(*map(int, next(_relays(house)).stem.split("-")))
    family = [relay.pid, *_below(relay.pid)]
    assert len(family) >= 3
    done = house.call("stop", "w")
    assert done.returncode == 0, done.stderr
    assert "stopped" in done.stdout
    wait_for(lambda: not any(map(alive, family)), "all of it to end")


def _relays(house: House) -> Any:
    wait_for(lambda: any((house.state / "relays").glob("*.sock")), "its relay")
    return (house.state / "relays").glob("*.sock")


def _below(pid: int) -> list[int]:
    found = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [*found, *(one for child in found for one in _below(child))]


def test_a_run_behind_a_relay_is_answered_and_has_its_own_exit_status(house: House) -> None:
    asks = house.call("run", "--wrap", "--json", "--", "bash", "--norc", "-c", "read -p 'Proceed? [y/N] ' x; exit 7")
    found = json.loads(asks.stdout)
    assert (asks.returncode, found["status"], found["kind"]) == (2, "waiting", "confirm"), asks
    answered = house.call("attach", found["id"], "--answer", "y", "--exit-status")
    assert answered.returncode == 7, answered
    listed = house.call("attach", "--json")
    assert json.loads(listed.stdout)["runs"][0]["command"][0] == "bash"
    assert house.call("run", "--wrap", "--exit-status", "--", "sh", "-c", "kill -TERM $$").returncode == 143
