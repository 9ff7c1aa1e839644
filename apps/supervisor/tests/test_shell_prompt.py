"""A command goes to a shell at its own prompt alone, and the program is seen in front, whatever was left there."""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Iterator

import pytest
from stallkit_supervisor.shell_prompt import ShellPrompt, idle_shell, prompt_of
from terminals import Server, wait_for

from stallkit.detect.engine import Engine
from stallkit.evidence.snapshot import Snapshot
from stallkit.press.gate import End, Outcome
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells this much")]

SHELLS = {"bash": ["bash", "--norc"], "dash": ["dash"], "zsh": ["zsh", "-f"], "fish": ["fish", "--no-config"]}
PS1 = "dev@box:~$ "
BACK = ("python3", "-c", "print('it\\'s $HOME\\\\', 'back'); input()")
SHOWN = "it's $HOME\\ back"

# What a full-screen program leaves, in each way to end: another screen, no cursor, no echo, the mouse, a picture.
FULL_SCREEN = """
import os, sys, tty
tty.setraw(0)
print("\\x1b[?1049h\\x1b[?25l\\x1b[?2004h\\x1b[?1003h\\x1b[?2026h\\x1b[2J\\x1b[5;1HGo on? (y/n) ", end="", flush=True)
print("\\x1b[?2026l", end="", flush=True)
sys.stdin.read(1)
how = sys.argv[1]
os._exit(1) if how == "exit 1" else os.kill(os.getpid(), int(how))
"""

ENDS = {"SIGTERM": "15", "SIGKILL": "9", "a crash": "11", "exit 1": "exit 1"}


class Noted(TmuxTransport):
    """It keeps what was pressed."""

    def __init__(self, name: str, server: Server) -> None:
        super().__init__(name, server.options)
        self.pressed: list[Keys] = []

    def send(self, keys: Keys, seen: Snapshot) -> None:
        self.pressed.append(keys)
        super().send(keys, seen)


@pytest.fixture
def full_screen(tmp_path: Path) -> Path:
    made = tmp_path / "full_screen.py"
    made.write_text(FULL_SCREEN)
    return made


@pytest.fixture
def pane(server: Server) -> Iterator[Noted]:
    """The pane of the session `one`, once there is one."""
    made = Noted("one", server)
    yield made
    made.close()


def run(pane: Noted, engine: Engine) -> Outcome:
    return ShellPrompt(pane, engine).run(BACK)


def shown(server: Server) -> str:
    """Its screen, and where the cursor is."""
    return server.tmux("capture-pane", "-p", "-J", "-t", "=one:", ";", "display", "-p", "-t", "=one:", "#{cursor_x}")


def at_prompt(pane: Noted) -> None:
    """Wait until a shell is there by the kernel."""
    wait_for(lambda: not isinstance(idle_shell(pane.capture()), str), "a shell at its prompt")


def typed(server: Server, *keys: str) -> None:
    server.tmux("send-keys", "-t", "=one:", *keys)


@pytest.mark.parametrize("shell", SHELLS)
def test_below_what_a_killed_full_screen_program_left_it_is_seen_in_front(
    server: Server, pane: Noted, engine: Engine, full_screen: Path, shell: str
) -> None:
    failed = []
    server.tmux("new-session", "-d", "-s", "keeps", "cat")
    for end, how in ENDS.items() if shell == "bash" else [("SIGKILL", "9")]:
        server.start("one", "env", "PS1=" + PS1, *SHELLS[shell]).close()
        with Noted("one", server) as pane:
            at_prompt(pane)
            typed(server, f"python3 {full_screen} '{how}'", "Enter")
            server.wait(pane, "Go on?")
            typed(server, "x")
            at_prompt(pane)
            outcome = run(pane, engine)
            left = server.tmux(
                "display-message", "-p", "-t", "=one:", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}"
            )
            screen = shown(server)
        if outcome.end is not End.CLEARED or SHOWN not in screen or left.strip() != "0 0 1":
            failed.append((end, outcome.end, outcome.why, left, screen))
        server.tmux("kill-session", "-t", "=one:")
    assert not failed


def test_below_an_unfinished_line(server: Server, pane: Noted, engine: Engine) -> None:
    server.start("one", "env", "PS1=bash-5.2# ", "bash", "--norc", shows="bash-5.2#").close()
    typed(server, "clear; printf 'Go on? (y/n) '", "Enter")
    server.wait(pane, "Go on? (y/n) bash-5.2#")
    at_prompt(pane)
    outcome = run(pane, engine)
    assert outcome.end is End.CLEARED and "python3" in outcome.why, outcome
    assert SHOWN in shown(server)


def test_what_takes_no_line_gets_none_and_what_does_not_stay_was_not_started(
    server: Server, pane: Noted, engine: Engine
) -> None:
    server.start("one", "env", "PS1=" + PS1, "bash", "--norc", shows=PS1.strip()).close()
    at_prompt(pane)
    assert ShellPrompt(pane, engine).run(("echo", "a\nb")).end is End.REFUSED
    before = shown(server)
    server.tmux("set-option", "-p", "-t", "=one:", "@stallkit_sealed", "1")
    assert run(pane, engine).end is End.REFUSED
    server.tmux("set-option", "-p", "-t", "=one:", "-u", "@stallkit_sealed")
    server.tmux("copy-mode", "-t", "=one:")
    assert run(pane, engine).end is End.REFUSED
    server.tmux("send-keys", "-t", "=one:", "-X", "cancel")
    assert pane.pressed == [] and shown(server) == before, "nor was it reset"
    for command in (("no-such-program",), ("true",)):
        outcome = ShellPrompt(pane, engine).run(command)
        assert outcome.end is End.UNCHANGED and "no program stays in front" in outcome.why, outcome
    assert ShellPrompt(pane, engine).run(("exec", "cat")).end is End.CLEARED, "what the shell becomes is in front"


PYTHON = f"python3 -c 'input(\"{PS1}\")'"

PICTURES = {
    "printf, and then sleep": ["sh", "-c", f"printf '{PS1}'; exec sleep 1000"],
    "bash that waits for sleep": ["bash", "-c", f"printf '{PS1}'; sleep 1000; :"],
    "read": ["bash", "-c", f"read -p '{PS1}' x; echo got \"$x\"; exec cat"],
    "read with an editor": ["bash", "-c", f"read -e -p '{PS1}' x; echo got \"$x\"; exec cat"],
    "read of single keys": ["bash", "-c", f"read -s -n1 -p '{PS1}' x; echo got \"$x\"; exec cat"],
    "read in dash": ["dash", "-c", f"printf '{PS1}'; read x; echo got $x; exec cat"],
    "vared in zsh": ["zsh", "-f", "-c", f"x=; vared -p '{PS1}' x; echo got $x; exec cat"],
    "read in fish": ["fish", "--no-config", "-c", f"read -P '{PS1}' x; echo got $x; exec cat"],
    "cat": ["sh", "-c", f"printf '{PS1}'; exec cat"],
    "input of python": ["sh", "-c", f"exec {PYTHON}"],
    "select": ["bash", "-c", f"PS3='{PS1}'; select x in a b; do echo got $x; done"],
    "a relay, with a shell behind it": ["script", "-qc", f"PS1='{PS1}' bash --norc", "/dev/null"],
    "python by the name of a shell": ["bash", "-c", f"exec -a bash {PYTHON}"],
}

# What is done at a shell's prompt before: by it no prompt alone is there any more.  None: the shells' own.
TYPED = {
    "a half-typed command": (["rm -rf x"], tuple(SHELLS)),
    "a half-typed command that ends as a prompt does": (["cat > "], tuple(SHELLS)),
    "a half-typed command, the cursor at its begin": (["rm -rf x", "C-a"], ("bash", "zsh", "fish")),
    "a here document": (["cat <<END", "Enter"], ("bash", "dash", "zsh")),
    "a quote that goes on": (["echo 'one", "Enter"], ("bash", "dash", "zsh")),
    "a loop that goes on": (["for x in 1 2", "Enter"], tuple(SHELLS)),
    "select in the shell": (["select x in a b; do echo $x; done", "Enter"], ("bash", "zsh")),
    "read in the shell": ([f"printf '{PS1}'; read x", "Enter"], ("bash", "dash", "zsh")),
    "read of a key in the shell": ([f"printf '{PS1}'; read -n1 x", "Enter"], ("bash",)),
    "a question of zsh": ([f"read -q '?{PS1}'", "Enter"], ("zsh",)),
    "a stopped job": (["cat", "Enter", "C-z"], tuple(SHELLS)),
    "a job in the background": (["sleep 1000 &", "Enter"], tuple(SHELLS)),
    "a program in front": (["cat", "Enter"], tuple(SHELLS)),
}


def _differs(server: Server, before: str) -> bool:
    return shown(server) != before


def untouched(server: Server, pane: Noted, engine: Engine) -> str | None:
    """Why it was not left alone; None if it was."""
    rests: list[str] = [shown(server)]

    def same() -> bool:
        rests.append(shown(server))
        return len(rests) > 5 and len(set(rests[-5:])) == 1

    wait_for(same, "a screen that rests")
    outcome = run(pane, engine)
    if outcome.end is not End.REFUSED or pane.pressed or shown(server) != rests[-1]:
        return f"{outcome.end}: {outcome.why}; {pane.pressed}; {rests[-1].strip()!r} became {shown(server)!r}"
    return None


def test_a_picture_of_a_prompt_gets_nothing(server: Server, engine: Engine) -> None:
    failed = []
    server.tmux("new-session", "-d", "-s", "keeps", "cat")
    for name, words in PICTURES.items():
        server.start("one", *words, shows=PS1.strip()).close()
        with Noted("one", server) as pane:
            if why := untouched(server, pane, engine):
                failed.append(f"{name}: {why}")
        server.tmux("kill-session", "-t", "=one:")
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_that_is_at_something_else_gets_nothing(server: Server, engine: Engine, shell: str) -> None:
    failed = []
    server.tmux("new-session", "-d", "-s", "keeps", "cat")
    for name, (keys, shells) in TYPED.items():
        if shell not in shells:
            continue
        server.start("one", "env", "PS1=" + PS1, *SHELLS[shell]).close()
        with Noted("one", server) as pane:
            at_prompt(pane)
            for key in keys:
                before = shown(server)
                typed(server, key)
                wait_for(partial(_differs, server, before), f"{key} on the screen")
            if why := untouched(server, pane, engine):
                failed.append(f"{name}: {why}")
        server.tmux("kill-session", "-t", "=one:")
    assert not failed, "\n".join(failed)


def test_keys_that_nobody_has_read_are_not_followed(server: Server, pane: Noted, engine: Engine) -> None:
    server.start("one", "env", "PS1=" + PS1, "sh", "-c", "bash --norc; :", shows=PS1.strip()).close()
    at_prompt(pane)
    seen = pane.capture()
    shell = idle_shell(seen)
    assert not isinstance(shell, str)
    os.kill(shell.process.pid, signal.SIGSTOP)
    try:
        typed(server, "x")
        wait_for(lambda: "has not read yet" in str(idle_shell(seen)), "a key that waits")
    finally:
        os.kill(shell.process.pid, signal.SIGCONT)


def test_a_function_that_asks_at_the_line_editor_is_told_nothing(server: Server, pane: Noted, engine: Engine) -> None:
    server.start("one", "env", "PS1=" + PS1, "bash", "--norc", shows=PS1.strip()).close()
    at_prompt(pane)
    typed(server, "clear; read -e -p 'box$ ' x; echo got \"$x\"; exec cat", "Enter")
    server.wait(pane, "box$")
    outcome = run(pane, engine)
    assert outcome.end in (End.CLEARED, End.REFUSED), outcome
    assert "got" not in shown(server)


PROMPTS = ["$ ", "# ", "bash-5.2# ", "dev@box:~/work$ ", "[root@db1 ~]# ", "me@host ~/src> ", "vm% ", "~/work ❯ "]


PROMPTS += ["➜  web ", "➜  ~ git:(main) ✗ "]


NO_PROMPTS = [
    "",
    "> ",
    "quote> ",
    "for then> ",
    "#? ",
    "?# ",
    "dev@box:~$ ls",
    "dev@box:~$ cat > ",
    "% echo $",
    "Go on? ",
]


def test_what_is_a_prompt_alone() -> None:
    def at_end(text: str) -> str | None:
        return prompt_of(Screen.from_text(text, cursor=(len(text), 0)))

    assert [text for text in PROMPTS if at_end(text) != text] == []
    assert [text for text in NO_PROMPTS if at_end(text) is not None] == []
    behind = [prompt_of(Screen.from_text(text, cursor=(2, 0))) for text in ("$ rm x", "$ ──────", "$        12:30")]
    assert behind == [None, "$ ", "$ "], "a command whose begin is edited; a picture; what stands at the right edge"
