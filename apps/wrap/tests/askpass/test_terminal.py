"""A prompt at the program's own terminal: asked there where nobody else reads it, reported while it waits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from askroom import PASSPHRASE, AskRoom
from stallkit_wrap.askpass.prompts import AskedPrompt, prompts
from terminals import OnTerminal, wait_for

from stallkit.probes.procfs import Process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who reads a terminal")


def on_terminal(room: AskRoom, *command: str) -> OnTerminal:
    return OnTerminal(room.server, (300, 24), *room.words(*command))


def asked_at(room: AskRoom, *before: str) -> tuple[OnTerminal, AskedPrompt]:
    """Somebody at whose terminal the passphrase is asked for, and the report of that."""
    shell = on_terminal(room, *before, *room.ask_for_passphrase)
    shell.shows("^Enter passphrase")
    return shell, room.waits("terminal")


def test_a_passphrase_is_asked_at_the_terminal_and_reported(ask_room: AskRoom) -> None:
    shell, prompt = asked_at(ask_room)
    assert (prompt.who, prompt.kind, prompt.prompt) == ("ssh-keygen", "secret", "Enter passphrase:")
    assert Process.of(prompt.pid) is not None and Path(prompt.directory).is_dir()
    shell.press("-l", PASSPHRASE)
    shell.press("Enter")
    shell.shows("^ssh-ed25519 ")
    assert PASSPHRASE not in shell.over()
    assert ask_room.left() == [] and ask_room.files_with(PASSPHRASE) == []
    shell = on_terminal(ask_room, "sh", "-c", 'read x; exec "$@"', "sh", *ask_room.ask_for_passphrase)
    shell.press("Enter", "-l", "rm -rf build\n")
    shell.shows("^Enter passphrase")
    ask_room.waits("terminal")
    shell.press("-l", PASSPHRASE)
    shell.press("Enter")
    shell.over()  # what was typed ahead is no answer


def test_keys_and_signals_that_end_a_question_leave_nothing_of_it(ask_room: AskRoom) -> None:
    shell, _ = asked_at(ask_room)
    shell.press("-l", "half of it")
    shell.press("C-c")
    shell.over(130)
    wait_for(lambda: ask_room.left() == [], "the end of the report")
    shell, _ = asked_at(ask_room)
    shell.press("C-\\", "Enter")
    assert "ssh-ed25519" not in shell.over(131)
    wait_for(lambda: not prompts(folder=ask_room.asked), "that it is not listed")
    _, killed = asked_at(ask_room)
    os.kill(killed.waits, signal.SIGKILL)
    wait_for(lambda: not prompts(folder=ask_room.asked), "that it is not listed")
    assert ask_room.left() != []
    _, second = asked_at(ask_room)
    assert ask_room.left() == [f"{second.waits}-{second.waits_started}.json"], "what was left is not swept"


def test_after_a_signal_the_terminal_echoes_before_anybody_is_in_front(ask_room: AskRoom) -> None:
    """The program that asks dies of it at once, so the settings must be back before it is sent."""
    program = """
import os, signal, subprocess, sys, termios
if os.fork():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.wait()
    sys.exit(0 if termios.tcgetattr(0)[3] & termios.ECHO else 1)
signal.signal(signal.SIGINT, signal.SIG_DFL)  # and no finally, nor anybody to wait for what was started
os.execvp(sys.argv[1], sys.argv[1:])
"""
    for _ in range(3):
        shell = on_terminal(ask_room, sys.executable, "-c", program, *ask_room.ask_for_passphrase)
        shell.shows("^Enter passphrase")
        ask_room.waits("terminal")
        shell.press("C-c")
        shell.over(0)
        wait_for(lambda: ask_room.left() == [], "the end of the report")


def test_ctrl_z_gives_the_terminal_back_and_the_question_is_put_again(ask_room: AskRoom) -> None:
    shell = on_terminal(ask_room, "bash", "--norc", "-i")
    shell.shows(r"[$#]$")
    shell.press("-l", " ".join(ask_room.ask_for_passphrase))
    shell.press("Enter")
    shell.shows("^Enter passphrase")
    ask_room.waits("terminal")
    shell.press("-l", "half of it")
    shell.press("C-z")
    shell.shows("Stopped")
    shell.press("-l", "stty -a | grep -ow -e -echo -e echo")
    shell.press("Enter")
    shell.shows("^echo$")
    shell.press("-l", "clear; fg")
    shell.press("Enter")
    shell.shows("^ssh-keygen", "^Enter passphrase")
    shell.press("-l", PASSPHRASE)
    shell.press("Enter")
    shell.shows("^ssh-ed25519 ")


def test_those_below_a_process_are_told_from_others(ask_room: AskRoom) -> None:
    for name in ("one", "two"):
        words = ask_room.words(*ask_room.ask_for_passphrase)
        ask_room.server.start(name, "sh", "-c", '"$@"; exec sleep 1000', "sh", *words, shows="Enter passphrase")
    wait_for(lambda: len(prompts(folder=ask_room.asked)) == 2, "two prompts")
    one, two = (ask_room.waits("terminal", ask_room.pane_pid(name)) for name in ("one", "two"))
    assert one != two


def test_who_begins_to_read_as_well_ends_the_question(ask_room: AskRoom) -> None:
    """Nothing of what was typed until then reaches the one that reads now."""
    script = """
import os, subprocess, sys, threading
asks = subprocess.Popen(sys.argv[2:])
while not os.path.exists(sys.argv[1]): threading.Event().wait(0.02)
os.write(1, ("heard " + ascii(os.read(0, 100)) + chr(10)).encode())  # in one piece: ssh-keygen writes there as well
asks.wait()  # its last word comes before the end of the command
"""
    mark = ask_room.folder / "mark"
    shell = on_terminal(ask_room, sys.executable, "-c", script, str(mark), *ask_room.ask_for_passphrase)
    shell.shows("^Enter passphrase")
    ask_room.waits("terminal")
    shell.press("-l", "moth 41")
    mark.touch()
    shell.shows(r"reads its terminal, and there is no pop-up")
    shell.press("-l", "hello")
    shell.press("Enter")
    shell.shows(r"heard b'hello\\n'")
    shell.over()


def test_a_terminal_that_another_program_types_into_is_not_asked_at(ask_room: AskRoom) -> None:
    """As that of an agent's interactive tool: whoever reads the screen there types the answer, too."""
    script = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:], lambda fd: __import__('os').read(fd, 1024)) >> 8)"
    shell = on_terminal(ask_room, sys.executable, "-c", script, *ask_room.ask_for_passphrase)
    shell.shows(r"its terminal is one that python\S* holds and types into")
    shell.over(255)


def test_without_any_terminal_it_fails_with_a_line(ask_room: AskRoom) -> None:
    for given, code in [("Enter passphrase: ", 1), (None, 2)]:
        words = [ask_room.variables["GIT_ASKPASS"], *([given] if given else [])]
        unset = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
        done = subprocess.run(
            words, env=unset, capture_output=True, text=True, start_new_session=True, timeout=60, check=False
        )
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (code, "", 1), (given, code)
        if given:
            assert "it has no terminal, and there is no pop-up: it does not run in tmux; run it in" in done.stderr, (
                given,
                code,
            )
