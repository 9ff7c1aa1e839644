"""What tests of the fleet share: a real nats-server, and hosts that join it, each with its own state and tmux."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any, Awaitable, Callable, TypeVar

import pytest
from nats.aio.client import Client
from queued import Desk
from stallkit_fleet import bus as buses
from stallkit_fleet import view
from stallkit_fleet.settings import FleetSettings
from stallkit_fleet.view import FleetView
from stallkit_operator.item import Item
from terminals import Server, wait_for

_T = TypeVar("_T")

SAMPLE = Path(__file__).parent.parent / "docs" / "examples" / "fleet-nats.conf"
ASKS = "read -p 'Delete all in {0}? [y/N] ' it; clear; echo went on with $it; exec sleep 1000"


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Bus:
    """A nats-server of its own on loopback; without a configuration it has no users."""

    def __init__(self, folder: Path, config: str = "") -> None:
        program = shutil.which("nats-server")
        if program is None:
            pytest.skip("nats-server is not installed")
        self.folder, self.port, self._program = folder, free_port(), program
        folder.mkdir(exist_ok=True)
        self._config, self._guarded = folder / "nats.conf", bool(config)
        given = config or 'listen: "0.0.0.0:4222"\njetstream { store_dir: "/var/lib/nats" }\n'
        here = given.replace('"0.0.0.0:4222"', f'"127.0.0.1:{self.port}"').replace(
            "/var/lib/nats", str(folder / "store")
        )
        self._config.write_text(here)
        self.start()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, also again on what it kept."""
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen([self._program, "-c", str(self._config)], stdout=log, stderr=log)
        wait_for(self._answers, f"the bus: {self.log[-500:]}")

    def call(self, what: Callable[[Client], Awaitable[_T]], person: str = "ada") -> _T:
        """Do something on the bus, as that person."""
        credentials = self.folder / f"{person}.login"
        if self._guarded and not credentials.exists():
            credentials.touch(0o600)
            credentials.write_text(f"{person}:change-{person}")

        async def connected() -> _T:
            login = str(credentials) if self._guarded else None
            async with buses.connected(FleetSettings(self.url, "x"), login, f"operator.{person}") as client:
                return await what(client)

        return asyncio.run(connected())

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.log[-2_000:]
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as one:
                return one.recv(4) == b"INFO"
        except OSError:
            return False

    def kill(self) -> None:
        """End it as kill -9 does."""
        self.process.kill()
        self.process.wait()


class FleetHost(Desk):
    """A machine of the fleet: its own state directory, settings and tmux server."""

    def __init__(self, folder: Path, name: str, bus: Bus | None) -> None:
        home = folder / name
        home.mkdir()
        super().__init__(home, Server(home))
        self.name, self.bus = name, bus

    def join(self, *words: str, url: str = "") -> subprocess.CompletedProcess[str]:
        """Join, as host and operator; `words` are further options."""
        return self("fleet", "join", url or self.bus.url, "--host", self.name, *words)  # type: ignore[union-attr]

    def credentials(self, name: str, text: str = "") -> str:
        """A file that only its user can read, with the password of the sample's user, or that text."""
        file = self.folder / f"{name}.login"
        file.touch(0o600)
        file.chmod(0o600)
        file.write_text(text or f"{name}:change-{name}\n")
        return str(file)

    def asks(self, session: str = "web") -> None:
        """A session that asks something."""
        assert self.server is not None
        self.server.start(session, "bash", "-c", ASKS.format(self.name), shows="Delete all").close()

    def screen(self, session: str = "web") -> str:
        assert self.server is not None
        return self.server.tmux("capture-pane", "-p", "-t", f"={session}:")

    def fleet(self, *words: str) -> Any:
        """What a command of the fleet prints as JSON."""
        done = self("fleet", *words, "--json")
        assert done.stdout, (words, done.stderr)
        return json.loads(done.stdout)

    def state(self, host: str, session: str = "web") -> str | None:
        """What is seen on the bus of a session of that host."""
        name = f"{host}/tmux:{session}"
        return next((row.state for row in self.seen().sessions() if row.name == name), None)

    def item(self, host: str) -> Item | None:
        """What that host asks, as it stands on the bus."""
        return next((one.item for one in self.seen().items() if one.host.name == host), None)

    def seen(self) -> FleetView:
        """What the buckets hold, for the person of this machine."""
        assert self.bus is not None
        return self.bus.call(lambda client: view.read(client.jetstream()))

    def said(self) -> str:
        out = self.folder / "out"
        return out.read_text() if out.exists() else ""

    def end(self) -> None:
        super().end()
        assert self.server is not None
        self.server.end()
