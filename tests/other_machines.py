"""Other machines for tests: each an sshd on a port of its own, with its own state directory and tmux server."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

from terminals import Server, read_of, wait_for

SSHD, BIN = shutil.which("sshd", path="/usr/sbin:/usr/bin"), Path(sys.executable).parent
STALLKIT = str(BIN / "stallkit")
LATE_S = 90.0  # a partition is noticed after 20 s, and a connection is tried again after 30
_HARM = "read -p 'Delete all? [y/N] '"


class Machine:
    """Another machine: an sshd in the foreground, what its logins find, and a tmux server."""

    def __init__(self, name: str, folder: Path, key: Path, inside: str | None = None, at: str = "127.0.0.1") -> None:
        self.name, self.folder, self.at = name, folder, at
        folder.mkdir()
        self.server = Server(folder)
        self.host_key = keygen(folder / "host")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._prefix = ["ip", "netns", "exec", inside] if inside else []
        self._authorized = folder / "authorized"
        shutil.copy(key.with_suffix(".pub"), self._authorized)
        self._process: subprocess.Popen[bytes] | None = None

    def up(self, path: Path = BIN, login: str = "") -> None:
        """Begin to listen; `path` has its stallkit, `login` is the command of each login, by default what is asked."""
        home, cache = self.folder, os.environ["STALLKIT_CACHE"]
        environment = (
            f"HOME={home} XDG_CONFIG_HOME={home} MACHINE={home} PATH={path}:/usr/bin:/bin STALLKIT_CACHE={cache}"
        )
        own = f"STALLKIT_STATE_DIR={home / 'state'} STALLKIT_TMUX={self.server.socket}"
        lines = [
            f"Port {self.port}", f"ListenAddress {self.at}", f"HostKey {self.host_key}", "PidFile none",
            f"AuthorizedKeysFile {self._authorized}", "StrictModes no", "UsePAM no", "PasswordAuthentication no",
            f"SetEnv {environment} {own}",
        ]  # fmt: skip
        (self.folder / "sshd.conf").write_text(
            "\n".join([*lines, *([f"ForceCommand {login}"] if login else [])]) + "\n"
        )
        assert SSHD is not None
        command = [*self._prefix, SSHD, "-D", "-e", "-f", str(self.folder / "sshd.conf")]
        with (self.folder / "sshd.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(lambda: b"listening on" in (self.folder / "sshd.log").read_bytes(), "sshd")

    def asks(self, name: str) -> None:
        """A session that asks."""
        self.server.start(name, "bash", "-c", _HARM, shows="Delete").close()

    @property
    def processes(self) -> list[int]:
        """What logins began there and still lives."""
        return _processes("environ", f"MACHINE={self.folder}\0")

    def of(self, word: bytes) -> list[int]:
        """Those of a program with this word in its command line."""
        return [pid for pid in self.processes if word in read_of(pid, "cmdline").split(b"\0")]

    def cut_off(self) -> None:
        """End each connection at this side, without a word to the program that it serves."""
        assert self._process is not None
        sessions = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        assert sessions
        for pid in map(int, sessions):
            os.kill(pid, signal.SIGKILL)

    def down(self) -> None:
        """No longer listen."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)

    def end(self) -> None:
        self.down()
        self.server.end()


def _processes(file: str, mark: str) -> list[int]:
    """The processes with this text in that file of /proc."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if mark.encode() in read_of(pid, file)]


def keygen(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path


class Here:
    """This machine: its ssh, which reads a file of the test's alone, and its stallkit."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.key = folder, keygen(folder / "key")
        self._config, self._known = folder / "config", folder / "known"
        self._config.write_text("")
        self._known.write_text("")
        ssh = folder / "bin" / "ssh"
        ssh.parent.mkdir()
        ssh.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self._config} "$@"\n')
        ssh.chmod(0o755)
        self.environment = {
            "PATH": f"{ssh.parent}:{BIN}:/usr/bin:/bin", "HOME": str(folder), "XDG_CONFIG_HOME": str(folder),
            "STALLKIT_STATE_DIR": str(folder / "here"), "STALLKIT_CACHE": os.environ["STALLKIT_CACHE"],
            "LC_ALL": "C.UTF-8",
        }  # fmt: skip
        self._ends: list[Callable[[], object]] = []

    def machine(self, name: str, **given: Any) -> Machine:
        """A machine that is not up yet; its host key is known here."""
        made = Machine(name, self.folder / name, self.key, **given)
        self._ends.append(made.end)
        self.knows(name, made, self.key, made.host_key)
        return made

    def knows(self, name: str, machine: Machine, key: Path, host_key: Path | None) -> None:
        """A name for a machine: the key to log in with, and the one that it is expected to have."""
        lines = (
            f"HostName {machine.at}\nPort {machine.port}\nIdentityFile {key}\nIdentitiesOnly yes\nHostKeyAlias {name}"
        )
        known = f"UserKnownHostsFile {self._known}\nGlobalKnownHostsFile /dev/null"
        with self._config.open("a") as config:
            config.write(f"Host {name}\n{lines}\n{known}\n")
        if host_key is not None:
            with self._known.open("a") as file:
                file.write(f"{name} {host_key.with_suffix('.pub').read_text()}")

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [STALLKIT, "watch", *words]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)

    def watch(self, *hosts: str) -> Running:
        words = [word for host in hosts for word in ("--host", host)]
        made = Running([STALLKIT, "watch", *words], self.environment, self.folder / secrets.token_hex(4))
        self._ends.append(made.end)
        return made

    def end(self) -> None:
        for end in reversed(self._ends):
            end()


class Running:
    """`stallkit watch --host` while it runs, with what it printed."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path) -> None:
        folder.mkdir()
        self._out, self._err = folder / "out", folder / "err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(command, env=environment, stdout=out, stderr=err)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._out.read_text().split("\n")[:-1]]

    @property
    def errors(self) -> list[str]:
        return self._err.read_text().splitlines()

    def has(self, host: str, name: str, count: int = 1) -> list[dict[str, Any]]:
        """The events of this name, as soon as there are so many."""
        found: list[dict[str, Any]] = []

        def there() -> bool:
            found[:] = [one for one in self.events if (one["host"], one["event"]) == (host, name)]
            return len(found) >= count

        wait_for(there, f"{count} {name} of {host}", LATE_S)
        return found

    @property
    def control(self) -> Path:
        """The folder of the sockets of its connections."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        words = b"\0".join(read_of(int(pid), "cmdline") for pid in children).decode().split("\0")
        [folder] = {Path(word).parent for word in words if word.startswith("ControlPath=")}
        return Path(str(folder).removeprefix("ControlPath="))

    def end(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(30)


def kept(control: Path) -> list[int]:
    """The processes of ssh that keep a connection with a socket in this folder."""
    return _processes("cmdline", f"ssh: {control}/")


def nothing_left(*machines: Machine) -> None:
    wait_for(lambda: not any(one.processes for one in machines), "the end of what logins began")
