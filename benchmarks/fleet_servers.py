"""The servers that `fleet_bus.py` starts, kills and takes the network of; and what its parts share."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Callable

from attrs import define, field
from stallkit_fleet import bus
from stallkit_fleet.settings import FleetSettings

CONFIG = """listen: "0.0.0.0:{port}"
max_payload: 1MB
jetstream {{ store_dir: "{store}", max_file_store: 20GB }}
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@define
class Nats:
    """A nats-server of one's own, which can be killed and started again on the same store."""

    folder: Path
    port: int = field(factory=free_port)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        config = self.folder / "nats.conf"
        config.write_text(CONFIG.format(port=self.port, store=self.folder / "store"))
        with (self.folder / "nats.log").open("ab") as out:
            self._process = subprocess.Popen(["nats-server", "-c", str(config)], stdout=out, stderr=out)
        wait_for(lambda: _answers(self.port), 30.0, "nats-server")

    def kill(self) -> None:
        """As `kill -9` does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def create(self) -> None:
        """The stream and the buckets."""

        async def made() -> None:
            async with bus.connected(FleetSettings(self.url), None, "host.admin") as client:
                await bus.create(client.jetstream(timeout=bus.REPLY_S), self.url)

        asyncio.run(made())


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1.0) as one:
            return one.recv(4) == b"INFO"
    except OSError:
        return False


def wait_for(there: Callable[[], object], within_s: float, what: str) -> None:
    end = time.monotonic() + within_s
    while not there():
        if time.monotonic() > end:
            raise SystemExit(f"{what}: not there after {within_s:.0f} s")
        time.sleep(0.05)


@define
class Redis:
    """A redis-server of one's own, whose stream is on the disk by an append-only file."""

    fsync: str
    folder: Path
    port: int = field(factory=free_port)

    def start(self) -> subprocess.Popen[bytes]:
        self.folder.mkdir()
        words = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", ""]
        words += ["--appendonly", "yes", "--appendfsync", self.fsync]
        process = subprocess.Popen(["redis-server", *words], stdout=subprocess.DEVNULL)
        wait_for((self.folder / "appendonlydir").exists, 30.0, "redis-server")
        time.sleep(1.0)
        return process


HERE, THERE = "10.213.57.1", "10.213.57.2"  # the ends of a network of one's own


def network(over: ExitStack) -> tuple[str, str]:
    """A network namespace, and the link to it on this side."""
    far, link = f"fleet{os.getpid()}", f"fl{os.getpid()}"
    run("ip", "netns", "add", far)
    over.callback(run, "ip", "netns", "del", far)
    run("ip", "link", "add", link, "type", "veth", "peer", "name", "there", "netns", far)
    run("ip", "address", "add", f"{HERE}/30", "dev", link)
    run("ip", "link", "set", link, "up")
    for words in (f"address add {THERE}/30 dev there", "link set there up", "link set lo up"):
        run("ip", "-n", far, *words.split())
    return far, link


def run(*words: str) -> None:
    subprocess.run(words, check=True)


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else 0.0


def faketime(skew: str | None) -> dict[str, str]:
    """The environment in which the wall clock is shifted by so much, as ``+300s``."""
    if skew is None:
        return {}
    library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    return {"LD_PRELOAD": str(library), "FAKETIME": skew}


def complain(said: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {said}", file=sys.stderr, flush=True)
