"""Three hosts in one list, a prompt answered from afar, a host that is cut off and comes back: ``scripts/demo-fleet``.

Everything is real and on this machine alone: four network namespaces, nats-server with the sample's rights, a tmux
server and a supervisor on each host.  Nothing is left behind.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator, NoReturn

from small_network import Network, await_server, lacking, namespaces
from terminals import wait_for

CONFIG = Path(__file__).parent.parent / "docs" / "examples" / "fleet-nats.conf"
URL, HOSTS = "nats://bus:4222", ("a", "b", "c")
CLEAN = """read -p 'Delete all? [y/N] '
echo "$HOSTNAME got <$REPLY>"
exec sleep 1000
"""
SLOW_S = 90.0  # a host is unreachable after 15 s, and may try to reach the bus but every 15 s


class Wrong(Exception):
    """The demonstration did not go as it must."""


class Demo:
    """A person, ada, at host a, with what the others do."""

    def __init__(self, network: Network) -> None:
        self.network = network

    # --- what is printed ---

    def does(self, host: str, *words: str, silent: bool = False) -> str:
        """A command of ada's at that host, shown with what it prints.  Raises Wrong if it fails."""
        print(f"  ada@{host}$ {shlex.join(words)}", flush=True)
        done = self.network[host].run(*words)
        for line in () if silent else (done.stderr + done.stdout).splitlines():
            print(f"    {line.rstrip()}", flush=True)
        if done.returncode:
            raise Wrong(f"{shlex.join(words)} at {host} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def soon(self, what: str, holds: Callable[[Any], bool], *words: str) -> Any:
        """What a command of the fleet at host a says as JSON, as soon as that holds."""
        found: list[Any] = []

        def looked() -> bool:
            done = self.network["a"].run("stallkit", "fleet", *words, "--json")
            found[:] = [json.loads(done.stdout)] if done.stdout else []
            return bool(found) and holds(found[0])

        wait_for(looked, what, SLOW_S)
        return found[0]

    def listed(self, what: str, **states: str) -> None:
        """The list, as soon as the sessions of these hosts are in these states."""

        def holds(found: Any) -> bool:
            seen = {(one["host"], one["state"]) for one in found["sessions"]}
            return seen >= {*states.items()}

        self.soon(what, holds, "list")
        self.does("a", "stallkit", "fleet", "list")

    def screen(self, host: str, text: str) -> None:
        """What the session at that host shows, as soon as that is in it."""
        words = ("tmux", "capture-pane", "-p", "-t", "clean")
        shown: list[str] = []

        def shows() -> bool:
            shown[:] = [line for line in self.network[host].does(*words).splitlines() if line]
            return any(text in line for line in shown)

        wait_for(shows, f"{text!r} at {host}")
        print(f"  ada@{host}$ {shlex.join(words)}")
        for line in shown:
            print(f"    {line}", flush=True)

    # --- what happens ---

    def bus(self) -> None:
        title("A bus, and three hosts that reach it: four network namespaces")
        bus = self.network["bus"]
        (bus.home / "lib").mkdir()
        bus.has("/var/lib", bus.home / "lib")  # the server keeps its streams there
        print(f"  root@bus# nats-server -c docs/examples/{CONFIG.name} &", flush=True)
        bus.begin("nats-server", "-c", str(CONFIG))
        await_server(self.network["a"], "bus")
        self._credentials("a", "admin", "ada")
        self.does("a", "stallkit", "fleet", "create", URL, "--credentials", "admin")

    def join(self) -> None:
        title("Each joins, has a session that asks, and is watched")
        for host in HOSTS:
            self._credentials(host, host)
            mine = ["--operator-credentials", "ada"] if host == "a" else []
            join = ["stallkit", "fleet", "join", URL, "--host", host, "--credentials", host, *mine, "--answers", "ada"]
            self.does(host, *join, silent=True)
            machine = self.network[host]
            (machine.home / "clean").write_text(CLEAN)
            machine.does("tmux", "new", "-d", "-s", "clean", "bash", "clean")
            machine.begin("stallkit", "watch", "--all", "--policy", "observe")
        print("  ada@a, b, c$ tmux new -d -s clean bash clean; stallkit watch --all --policy observe &")

    def one_list(self) -> None:
        title("1  One list of all hosts")
        self.listed("all three to wait", a="waiting", b="waiting", c="waiting")

    def answer(self) -> None:
        title("2  What host c asks, answered from host a")
        items = self.soon("three items", lambda found: len(found["items"]) == len(HOSTS), "stuck", "list")["items"]
        self.does("a", "stallkit", "fleet", "stuck", "list")
        [ref] = [f"c/{one['item']['id']}" for one in items if one["host"] == "c"]
        self.does("a", "stallkit", "fleet", "reply", ref, "y")
        self.screen("c", "c got <y>")

    def cut_off(self) -> None:
        title("3  Host b is cut off, and goes on by itself")
        print("  root@b# ip link set eth0 down", flush=True)
        self.network.cut("b")
        self.does("b", "stallkit", "stuck", "list")
        self.does("b", "stallkit", "stuck", "reply", "1", "n")
        self.screen("b", "b got <n>")
        self.listed("b to be unreachable", b="unreachable", a="waiting")

    def back(self) -> None:
        title("4  It comes back, and tells what happened meanwhile")
        print("  root@b# ip link set eth0 up", flush=True)
        self.network.join("b")
        self.listed("b to be back", b="working", c="working")

        def told(found: Any) -> bool:
            return any(one["session"] == "b/clean" and not one["still_waits"] for one in found["sessions"])

        self.soon("the report to know of the answer at b", told, "report", "b")
        self.does("a", "stallkit", "fleet", "report", "b")

    def doctor(self) -> None:
        title("5  What is wrong")
        self.soon("nothing to be wrong", lambda found: not found["findings"], "doctor")
        self.does("a", "stallkit", "fleet", "doctor")

    def _credentials(self, host: str, *users: str) -> None:
        """Files by which these users of the sample log in, which only ada can read."""
        for user in users:
            file = self.network[host].home / user
            file.touch(mode=0o600)
            file.write_text(f"{user}:change-{user}\n")

    def run(self) -> None:
        for part in (self.bus, self.join, self.one_list, self.answer, self.cut_off, self.back, self.doctor):
            part()


def title(text: str) -> None:
    print(f"\n{text}", flush=True)


def _ended(number: int, frame: object) -> NoReturn:
    """What was started is ended first, undisturbed."""
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    sys.exit(128 + number)


@contextmanager
def _folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix=f"demo-fleet-{os.getpid()}-", dir="/tmp"))  # a socket's path is short
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def main() -> int:
    """Run it; 0 if all went as it must, and nothing is left."""
    if missing := lacking():
        print(f"missing: {missing}", file=sys.stderr)
        return 1
    began, failed = time.monotonic(), ""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _ended)
    with _folder() as folder:
        try:
            with Network(folder, ("bus", *HOSTS)) as network:
                Demo(network).run()
        except (Wrong, AssertionError) as error:
            failed = str(error)
    rest = namespaces(os.getpid())
    title(f"{time.monotonic() - began:.0f} s")
    if failed:
        print(f"  failed: {failed}")
    else:
        print(f"  3 hosts in one list, 1 answer from afar, 1 host cut off and back; left behind: {len(rest)}")
    return 1 if failed or rest or folder.exists() else 0


if __name__ == "__main__":
    sys.exit(main())
