"""A small network on this machine alone: a bus and hosts, each with a network, processes and a home of its own.

Needs root.  Each machine is a network namespace, knows the others by their names, and may have files of its own in
place of this machine's.  All that runs there ends with it, at the latest when whoever made it ends, also by kill -9.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Iterable, Self

from terminals import wait_for

PREFIX = "stallkit-"  # of the names of namespaces; the number of the process that made them follows
# The first process of a machine: it takes in what others leave behind, and ends with its input.
_FIRST = """hostname "$0" && mount --bind "$1" /etc/hosts && ip link set lo up && echo up && exec 3<&0 || exit 1
cat <&3 >/dev/null & wait
"""


def lacking() -> str | None:
    """Why no such network can be made here, in one line; None if it can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    absent = [name for name in ("ip", "unshare", "nsenter", "nats-server", "tmux") if shutil.which(name) is None]
    if absent:
        return f"not installed: {', '.join(absent)} (apt install iproute2 util-linux nats-server tmux)"
    tried = f"{PREFIX}{os.getpid()}-try"
    done = subprocess.run(["ip", "netns", "add", tried], check=False, capture_output=True, text=True)
    if done.returncode:
        return f"ip netns add: {' '.join(done.stderr.split())}"
    _run("ip", "netns", "delete", tried)
    return None


def namespaces(maker: int) -> list[str]:
    """The namespaces that this process made and that are still there."""
    listed = subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True).stdout
    return [line.split()[0] for line in listed.splitlines() if line.startswith(f"{PREFIX}{maker}-")]


class Machine:
    """One of the machines, as ada sees it, who is root there; it is there while it is entered."""

    def __init__(self, name: str, folder: Path, hosts: Path) -> None:
        self.name, self.home, self._hosts = name, folder / name, hosts
        self.namespace = f"{PREFIX}{os.getpid()}-{name}"
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(self.home),
            "TMUX_TMPDIR": str(self.home),
            "STALLKIT_CACHE": os.environ.get("STALLKIT_CACHE", str(folder / "cache")),
            "LOGNAME": "ada",
            "SHELL": "/bin/bash",
            "TERM": "xterm-256color",
            "LC_ALL": "C.UTF-8",
            "COLUMNS": "100",
        }
        self._begun: list[subprocess.Popen[bytes]] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with self._stack:
            self.home.mkdir(mode=0o700)
            self._stack.callback(_run, "ip", "netns", "delete", self.namespace)
            _run("ip", "netns", "add", self.namespace)
            self._start()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()
        for process in self._begun:
            process.wait()

    def _start(self) -> None:
        own = ["unshare", "--uts", "--mount", "--pid", "--fork", "--mount-proc"]
        keeper = subprocess.Popen(
            ["ip", "netns", "exec", self.namespace, *own, "sh", "-c", _FIRST, self.name, str(self._hosts)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # a person's Ctrl-C is not for it
        )
        self._stack.callback(_ended, keeper)
        assert keeper.stdout is not None and keeper.stdout.readline() == b"up\n", f"{self.name} does not start"
        [self._first] = Path(f"/proc/{keeper.pid}/task/{keeper.pid}/children").read_text().split()

    def words(self, *command: str) -> list[str]:
        """The command, with what makes it run there, in its home."""
        return ["nsenter", "--target", self._first, "--all", "env", "-C", str(self.home), *command]

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """A command there, to its end; it has no terminal."""
        return subprocess.run(
            self.words(*command),
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def does(self, *command: str) -> str:
        """What a command there prints; it has to succeed."""
        done = self.run(*command)
        assert done.returncode == 0, f"{' '.join(command)} on {self.name}: {done.stderr}{done.stdout}"
        return done.stdout

    def begin(self, *command: str) -> None:
        """Begin a command there that runs on; the file ``said`` of its home gets what it says."""
        words, none = self.words(*command), subprocess.DEVNULL
        with (self.home / "said").open("ab") as said:
            self._begun.append(subprocess.Popen(words, env=self.environment, stdin=none, stdout=said, stderr=said))

    def has(self, path: str, content: Path) -> None:
        """It has that file or folder in place of this machine's."""
        self.does("mount", "--bind", str(content), path)


class Network:
    """Machines on one wire, while it is entered.  The first is in the middle: its bridge connects the others."""

    def __init__(self, folder: Path, names: Iterable[str]) -> None:
        hosts = folder / "hosts"
        self.machines = {name: Machine(name, folder, hosts) for name in names}
        self._addresses = {name: f"10.77.0.{number}" for number, name in enumerate(self.machines, 1)}
        lines = [f"{address} {name}" for name, address in {"localhost": "127.0.0.1", **self._addresses}.items()]
        hosts.write_text("\n".join(lines) + "\n")
        self._stack = ExitStack()

    def __getitem__(self, name: str) -> Machine:
        return self.machines[name]

    def __enter__(self) -> Self:
        with self._stack:
            middle, *others = [self._stack.enter_context(machine) for machine in self.machines.values()]
            _run("ip", "-n", middle.namespace, "link", "add", "eth0", "type", "bridge")
            for one in others:
                ends = ["eth0", "netns", one.namespace, "type", "veth", "peer", "name", one.name]
                _run("ip", "link", "add", *ends, "netns", middle.namespace)
                _run("ip", "-n", middle.namespace, "link", "set", "dev", one.name, "master", "eth0", "up")
            for one in (middle, *others):
                _run("ip", "-n", one.namespace, "address", "add", f"{self._addresses[one.name]}/24", "dev", "eth0")
                _run("ip", "-n", one.namespace, "link", "set", "eth0", "up")
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def cut(self, name: str) -> None:
        """Pull that machine's cable."""
        self[name].does("ip", "link", "set", "eth0", "down")

    def join(self, name: str) -> None:
        """Put it in again."""
        self[name].does("ip", "link", "set", "eth0", "up")


def await_server(machine: Machine, host: str, port: int = 4222) -> None:
    """Return as soon as a nats-server greets that machine there."""
    greeted = f"exec 3<>/dev/tcp/{host}/{port} && read -r -t 5 line <&3 && [[ $line == INFO* ]]"
    wait_for(lambda: machine.run("bash", "-c", greeted).returncode == 0, f"nats-server at {host}:{port}")


def _ended(keeper: subprocess.Popen[bytes]) -> None:
    """End a machine's first process, and so, by the kernel, all others there."""
    assert keeper.stdin is not None and keeper.stdout is not None
    keeper.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        keeper.wait(20)
    keeper.kill()
    keeper.wait()
    keeper.stdout.close()


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr.strip()}"
