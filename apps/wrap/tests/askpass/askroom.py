"""Programs that ask by stallkit's askpass program, in real tmux, and a person who looks on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pexpect
from stallkit_wrap.askpass.launcher import environment
from stallkit_wrap.askpass.prompts import AskedPrompt, prompts
from terminals import Server, wait_for

PASSPHRASE = f"moth 41 quarry {os.getpid()}"  # that no other worker of the tests has on a command line

# As an agent's composer: it reads single keys, notes them, and runs one command, on its terminal, at Ctrl-R.  What
# that prints goes to a file, as a tool call's output goes to the agent.
_COMPOSER = """
import os, subprocess, sys, threading, tty
tty.setraw(0)
keys, output, command = open(sys.argv[1], "wb", 0), open(sys.argv[2], "wb", 0), sys.argv[3:]
def call():
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    os.write(output.fileno(), b"\\nover %d\\n" % done.returncode)
print("composer", end="\\r\\n", flush=True)
while True:
    key = os.read(0, 100)
    keys.write(key)
    if key == b"\\x12":
        threading.Thread(target=call, daemon=True).start()
"""


class AskRoom:
    """A tmux server, a key with a passphrase, and the folder of the askpass program."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.asked = folder / "state" / "askpass"
        self.key = folder / "key"
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", PASSPHRASE, "-f", str(self.key)]
        subprocess.run(made, check=True, timeout=20)
        self.variables = environment(self.asked)

    @property
    def ask_for_passphrase(self) -> list[str]:
        """A command that needs the passphrase, and prints the public key."""
        return ["ssh-keygen", "-y", "-f", str(self.key)]

    def words(self, *command: str, **more: str) -> list[str]:
        """The command with the askpass program in its environment."""
        given = {**self.variables, **more}
        return ["env", "-u", "DISPLAY", *(f"{name}={value}" for name, value in given.items()), *command]

    def compose(self, name: str, *command: str) -> Composer:
        """A composer in a pane of its own, which runs this command when it is told to."""
        composer = Composer(self, name)
        words = [sys.executable, "-c", _COMPOSER, str(composer.keys), str(composer.output), *command]
        self.server.start(name, *self.words(*words), shows="composer")
        return composer

    def attach(self, name: str) -> Person:
        """A person who attaches to a session."""
        return Person(self.server, name)

    def pane_pid(self, name: str) -> int:
        return int(self.server.tmux("display-message", "-p", "-t", f"={name}:", "#{pane_pid}"))

    def waits(self, place: str | None, below: int | None = None) -> AskedPrompt:
        """The one prompt that waits, as soon as it is asked at this place."""
        found: list[AskedPrompt] = []

        def asked() -> bool:
            found[:] = prompts(below, self.asked)
            return len(found) == 1 and found[0].place == place

        wait_for(asked, f"a prompt at {place}")
        return found[0]

    def left(self) -> list[str]:
        """What lies in the folder beside the program itself and its lock."""
        return sorted(one.name for one in self.asked.iterdir() if one.name not in ("askpass", "pop-up.lock"))

    def files_with(self, secret: str) -> list[Path]:
        """The files that hold a text, of all that was written here."""
        files = [one for one in self.folder.rglob("*") if one.is_file() and not one.is_symlink()]
        return [one for one in files if secret.encode() in one.read_bytes()]


class Composer:
    """The fake agent of one pane."""

    def __init__(self, room: AskRoom, name: str) -> None:
        self.name, self._room = name, room
        self.keys, self.output = room.folder / f"{name}.keys", room.folder / f"{name}.output"

    def call(self) -> None:
        """Let it run its command."""
        self._room.server.tmux("send-keys", "-t", f"={self.name}:", "C-r")

    def printed(self, text: str) -> str:
        """All that its command printed, as soon as a text is in it."""
        wait_for(lambda: self.output.exists() and text in self.output.read_text(), f"{text!r} in {self.output}")
        return self.output.read_text()

    def typed(self) -> bytes:
        """What reached it, after one more key proved that it reads."""
        self._room.server.tmux("send-keys", "-t", f"={self.name}:", "Z")
        wait_for(lambda: self.keys.read_bytes().endswith(b"Z"), "the composer's key")
        return self.keys.read_bytes()


class Person:
    """Somebody at a terminal on which a tmux session is attached."""

    def __init__(self, server: Server, name: str, *options: str) -> None:
        variables = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        variables.pop("TMUX", None)
        self.terminal = pexpect.spawn(
            "tmux",
            ["-u", "-S", str(server.socket), "attach", *options, "-t", f"={name}"],
            env=variables,
            encoding="utf-8",
            codec_errors="replace",
            dimensions=(40, 120),
            timeout=20,
        )
        wait_for(lambda: server.tmux("list-clients", "-t", f"={name}").strip(), "the client")

    def sees(self, text: str) -> None:
        """Wait until a text appears."""
        self.terminal.expect_exact(text)

    def types(self, text: str) -> None:
        self.terminal.send(text)

    def leaves(self) -> None:
        self.terminal.close(force=True)
