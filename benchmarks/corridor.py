"""Which modules lead from a screen to a key, and from a dead pane to its record: `python benchmarks/corridor.py`.

A program in a private tmux server asks for any key, and a policy allows it; a session is killed, and explained with no
monitor beside it.  Listed are the modules in which a function of stallkit runs, in the order in which they are first
entered, and how often the next function called is in another module.  What runs while a module is imported does not
count.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Iterator

import stallkit_sessions
from stallkit_sessions import Sessions
from stallkit_sessions.monitor_client import LOCK

import stallkit
from stallkit import Options, Policy, Rule, check
from stallkit.daemon import held
from stallkit.packs.registry import installed_engine
from stallkit.transports.tmux.identity import Identity

PACKAGES = {f"{Path(one.__path__[0])}/": one.__name__ for one in (stallkit, stallkit_sessions)}
ASKS = "read -n1 -s -p 'Press any key to continue '; exec sleep 99"


class Trace:
    """The modules that were entered, and the changes between them."""

    def __init__(self) -> None:
        self.entered: dict[str, int] = {}
        self.changes = 0
        self._last = ""

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        folder = next((one for one in PACKAGES if code.co_filename.startswith(one)), None)
        if event != "call" or code.co_name == "<module>" or folder is None:
            return
        module = f"{PACKAGES[folder]}/{code.co_filename.removeprefix(folder).removesuffix('.py')}"
        self.entered[module] = self.entered.get(module, 0) + 1
        self.changes += module != self._last
        self._last = module


@contextmanager
def traced(what: str) -> Iterator[None]:
    """Trace what runs, and print it."""
    trace = Trace()
    sys.setprofile(trace)
    yield
    sys.setprofile(None)
    print(what)
    for module, calls in trace.entered.items():
        print(f"{calls:6} {module}")
    print(f"{len(trace.entered)} modules, {trace.changes} changes\n")


def to_a_key(socket: str) -> None:
    policy = Policy("any key", rules=[Rule(do="press", signature="shell_tools:press_any_key", session="tmux:asks")])
    engine, options = installed_engine(), Options(tmux_socket_path=socket)
    tmux = ["tmux", "-f", "/dev/null", "-S", socket]
    subprocess.run([*tmux, "new-session", "-d", "-s", "asks", "bash", "-c", ASKS], check=True)
    time.sleep(1.0)
    check("tmux:asks", engine=engine, options=options)  # once before, for what is made at the first use
    with traced("from a screen to a key"):
        result = check("tmux:asks", policy, engine=engine, options=options)
    assert str(result.status) == "dismissed", result


def to_a_record(socket: str, state: Path) -> None:
    with Sessions() as sessions:
        session = sessions.start("ends", ["sleep", "99"], tmux_socket_path=socket)
        monitor = ["pgrep", "-f", f"stallkit_sessions.monitor {state}"]
        for pid in map(int, subprocess.run(monitor, check=True, capture_output=True).stdout.split()):
            os.kill(pid, signal.SIGKILL)
        while held(state / LOCK):
            time.sleep(0.05)
        os.kill(Identity.of(session.identity).pid, signal.SIGKILL)
        time.sleep(1.0)
        with traced("from a dead pane to its record"):
            ended = sessions.latest("ends")
        assert ended is not None and ended != session, ended


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        socket, state = f"{folder}/tmux", Path(folder, "state")
        os.environ["STALLKIT_STATE_DIR"] = str(state)
        try:
            to_a_key(socket)
            to_a_record(socket, state)
        finally:
            subprocess.run(["tmux", "-S", socket, "kill-server"], check=False)


if __name__ == "__main__":
    main()
