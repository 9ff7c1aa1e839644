"""Private tmux servers of several versions: the machine's own, and those that tests/soak/tmux.sh fetched."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from terminals import Server, wait_for

from stallkit.transports.tmux.pane import TmuxTransport

FETCHED = Path(__file__).resolve().parents[2] / ".cache" / "tmux"
WANTED = ("3.1c", "3.3a", "3.5a")
# Every byte that comes goes to a file, as it is; the file is there as soon as the terminal is raw.
RECORD = 'stty raw -echo; exec cat >"$0"'
# The same, to a file of the process's own, so that one that takes the same place later has another.
RECORD_OWN = 'stty raw -echo; exec cat >"$0/$$"'


def versions() -> dict[str, str]:
    found = {}
    for binary in [shutil.which("tmux") or "tmux", *sorted(map(str, FETCHED.glob("*/tmux")))]:
        said = subprocess.run([binary, "-V"], capture_output=True, text=True, check=True).stdout
        found.setdefault(said.split()[-1], binary)
    return dict(sorted(found.items()))


class SoakServer(Server):
    """A private server of the given binary."""

    def __init__(self, folder: Path, binary: str = "tmux") -> None:
        folder.mkdir(exist_ok=True)
        super().__init__(folder)
        self.binary = binary
        if os.sep in binary:
            self._environment["PATH"] = os.pathsep.join([str(Path(binary).parent), self._environment["PATH"]])

    def transport(self, name: str) -> TmuxTransport:
        return TmuxTransport(name, self.options, self.binary)


class Recorder:
    """A pane whose program writes down each byte that it gets."""

    def __init__(self, server: SoakServer, name: str) -> None:
        self._file = server.socket.parent / f"{name}.bytes"
        server.tmux("new-session", "-d", "-s", name, "-x", "80", "-y", "24", "sh", "-c", RECORD, str(self._file))
        wait_for(self._file.exists, f"{name} to be ready")
        self.transport = server.transport(name)
        self._taken = 0

    def got(self, length: int, patient: bool = True) -> bytes:
        """The bytes since the last call, as soon as there are as many as `length`; fewer if they do not come."""
        if patient:
            with suppress(AssertionError):
                wait_for(lambda: self._file.stat().st_size >= self._taken + length, "bytes")
        with self._file.open("rb") as file:
            file.seek(self._taken)
            new = file.read()
        self._taken += len(new)
        return new
