"""Real tmux servers for tests: private sockets, conditions instead of sleeps, nothing left behind."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Callable

from stallkit.evidence.snapshot import Snapshot
from stallkit.transports.base import Options
from stallkit.transports.tmux.pane import TmuxTransport

HEARD = f"sh {Path(__file__).with_name('heard.sh')}"  # for a shell, before it ends, where its last words are asked for
SOON_S, LATE_S = 0.02, 0.1  # between two looks at a condition
PATIENCE_S = 20.0  # before a condition is given up: a loaded machine is slow, not wrong


def wait_for(condition: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> None:
    """Return as soon as the condition holds; raise AssertionError if it does not come true.

    It is asked again after a tenth of the time that it took so far: often it starts a program, and five tests that ask
    for many at once would take the processor from those that they wait for.
    """
    begun = time.monotonic()
    while not condition():
        waited_s = time.monotonic() - begun
        assert waited_s < patience_s, f"gave up waiting for {what}"
        time.sleep(min(max(waited_s / 10, SOON_S), LATE_S))


def read_of(pid: int, file: str) -> bytes:
    """A file of /proc; of a process that ended meanwhile it is empty."""
    try:
        return Path(f"/proc/{pid}/{file}").read_bytes()
    except OSError:
        return b""


def had_a_child(pid: int) -> bool:
    """Whether a process has waited for a child of its own, as a look at tmux is one; or is no more."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return stat[0] == "Z" or int(stat[8]) > 0  # cminflt: faults of children that were waited for


class Server:
    """One private tmux server; its sessions end with it."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "tmux.sock"
        self.options = Options(tmux_socket_path=str(self.socket))
        self._folder = folder
        self._config = folder / "tmux.conf"
        self._config.write_text("set -g remain-on-exit on\n")  # an end is seen, and the server outlives it
        self._environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "HOME": str(folder)}
        self._environment.pop("TMUX", None)

    def tmux(self, *command: str, given: str = "") -> str:
        """What one tmux command prints; raises if it fails.  `given` is its standard input."""
        client = ["tmux", "-u", "-f", str(self._config), "-S", str(self.socket)]
        done = subprocess.run(
            [*client, *command],
            env=self._environment,
            cwd=self._folder,
            input=given,
            check=False,
            capture_output=True,
            text=True,
            timeout=20,
        )
        assert done.returncode == 0, f"tmux {command[0]}: {done.stderr}"
        return done.stdout

    def start(self, name: str, *command: str, shows: str = "", size: tuple[int, int] = (80, 24)) -> TmuxTransport:
        """A session that runs a command (argv, no shell), once its screen shows a text."""
        width, height = map(str, size)
        self.tmux("new-session", "-d", "-s", name, "-x", width, "-y", height, *command)
        transport = TmuxTransport(name, self.options)
        self.wait(transport, shows)
        return transport

    def wait(self, transport: TmuxTransport, shows: str) -> Snapshot:
        """The first look that shows a text."""
        looks: list[Snapshot] = []

        def shown() -> bool:
            looks.append(transport.capture())
            return shows in looks[-1].screen.text

        wait_for(shown, f"{shows!r} in {transport.target}, which shows {looks[-1:]}")
        return looks[-1]

    @property
    def pid(self) -> int:
        return int(self.tmux("display-message", "-p", "#{pid}"))

    def end(self) -> None:
        """End the server and everything in it, also what outlives the loss of its terminal (make does)."""
        if not self.socket.exists():
            return
        groups: list[int] = []
        with contextlib.suppress(AssertionError):  # it may have ended by itself, or have no session
            groups = [int(pid) for pid in self.tmux("list-panes", "-a", "-F", "#{pane_pid}").split()]
        with contextlib.suppress(AssertionError):
            self.tmux("kill-server")
        for group in groups:
            if group <= 0:  # a pane without a process: 0 would be our own group
                continue
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


SIZES = [(80, 24), (120, 35)]  # of the terminals that people have


class OnTerminal:
    """A command on a terminal of its own, as a person starts it, and what is to be seen there.

    The terminal stays after its end, with all that scrolled away, and shows ``over`` and the exit code.  There is no
    pager, unless ``NO_PAGER=""`` is given.
    """

    # As a shell does it: Ctrl-C and Ctrl-\ are for the command.  What is left of the terminal's settings stands before
    # "over".
    _SCRIPT = """trap : INT QUIT
"$@"
code=$?
echo "$(stty -a | tr ' ;' '\\n\\n' | grep -x -e echo -e icanon -e isig | tr '\\n' ' ')over $code"
exec sleep 1000
"""

    def __init__(self, server: Server, size: tuple[int, int], *words: str, **environment: str) -> None:
        given = [f"{name}={value}" for name, value in {"NO_PAGER": "1", **environment}.items()]
        command = ["env", "-u", "COLUMNS", "-u", "LINES", *given, *words]
        width, height = map(str, size)
        new = ("new-session", "-d", "-P", "-F", "#{pane_id}", "-x", width, "-y", height)
        self._server = server
        self._pane = server.tmux(*new, "sh", "-c", self._SCRIPT, "sh", *command).strip()

    @property
    def screen(self) -> str:
        """What is to be seen now."""
        return self._server.tmux("capture-pane", "-p", "-t", self._pane)

    @property
    def text(self) -> str:
        """The same, and all that scrolled away."""
        return self._server.tmux("capture-pane", "-p", "-S", "-", "-t", self._pane).rstrip()

    @property
    def styled(self) -> str:
        """What is to be seen now, with its colours as control sequences."""
        return self._server.tmux("capture-pane", "-p", "-e", "-t", self._pane)

    @property
    def lines(self) -> list[str]:
        """All that was written, with the lines whole that the terminal had to break."""
        joined = self._server.tmux("capture-pane", "-p", "-J", "-S", "-", "-t", self._pane)
        return [line.rstrip() for line in joined.rstrip().splitlines()]

    @property
    def wrapped(self) -> list[str]:
        """Lines that the terminal had to break, wherever their end happened to be."""
        rows = {row.rstrip() for row in self.text.splitlines()}
        return [line for line in self.lines if line not in rows]

    def shows(self, *parts: str, patience_s: float = PATIENCE_S) -> str:
        """The first screen that shows all of these regular expressions; ``^`` and ``$`` in them are those of a line."""
        seen: list[str] = [""]

        def shown() -> bool:
            seen[0] = self.screen
            return all(re.search(part, seen[0], re.M) for part in parts)

        try:
            wait_for(shown, "it", patience_s)
        except AssertionError:
            missing = [part for part in parts if not re.search(part, seen[0], re.M)]
            raise AssertionError(f"{missing} are not to be seen in\n{seen[0]}") from None
        return seen[0]

    def press(self, *keys: str) -> None:
        """Keys as tmux names them, or text."""
        self._server.tmux("send-keys", "-t", self._pane, *keys)

    def over(self, code: int = 0) -> str:
        """All that it left, once it has ended: with that code, and the terminal as it was."""
        self.shows(r"over \d+$", patience_s=5 * PATIENCE_S)  # some judge thousands of screens
        text, _, end = self.text.rpartition("\n") if "\n" in self.text else ("", "", self.text)
        assert end.strip() == f"isig icanon echo over {code}", f"{end}\n{text}"
        assert "Traceback" not in text and "a bug in stallkit" not in text, text
        state = ("display-message", "-p", "-t", self._pane, "#{cursor_flag} #{alternate_on}")
        assert self._server.tmux(*state).split() == ["1", "0"], "the cursor is hidden, or the alternate screen stays"
        return text.rstrip()
