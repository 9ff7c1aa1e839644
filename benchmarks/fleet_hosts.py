"""Simulated hosts of a fleet, a nats-server of one's own, and who reads there: for `fleet_bus.py`.

A simulated host writes real events with a real `EventLog`, and sends them by its own `Outbox` and `Link`; each event
has a number that counts within its session, by which a reader tells what is lost, out of order, or there twice.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Mapping

from attrs import define, field
from fleet_servers import complain, faketime, wait_for
from stallkit_fleet import bus, view
from stallkit_fleet.link import Link
from stallkit_fleet.messages import FleetEvent, Seen, session_key
from stallkit_fleet.outbox import Outbox
from stallkit_fleet.settings import FleetSettings

from stallkit.packs.registry import installed_engine
from stallkit.press.events import Event, EventLog
from stallkit.transports.base import Options

SESSIONS = 200  # of each host
FACTS: Mapping[str, Any] = {
    "kind": "confirmation",
    "severity": "high",
    "signature": "shell.confirm",
    "line": "Delete 17 files in /srv/build/cache? [y/N]",
    "why": "the policy does not answer what may destroy something",
    "options": ["y", "N"],
    "foreground": "bash",
    "revision": 3,
    "waits": "12 s",
}
AGAIN_S = 60.0  # that a reader reads again after its connection broke
DRAINS_S = 120.0  # for what is written to be sent, at the end


# --- a process of simulated hosts ---


@define
class Simulated(Link):
    """The real link of a host whose sessions nobody watches; of some the rows are what the events said last."""

    folder: Path = field(kw_only=True)
    rows: dict[str, dict[str, Any]] | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        self._outbox = Outbox(self.log, self.folder, self.fleet.name)

    @property
    def behind(self) -> int:
        return self._outbox.behind

    def begin(self) -> None:
        """Keep the mark before the first event: what was written earlier would not be sent."""
        with self._outbox.only() as ours:
            assert ours

    async def _rows(self, js: Any) -> None:
        await (asyncio.Event().wait() if self.rows is None else Link._rows(self, js))

    def _found(self) -> dict[str, bytes]:
        rows = dict(self.rows or {})
        return {session_key(self._name, name): self._dumped({"session": row}) for name, row in rows.items()}


def worker(options: argparse.Namespace) -> None:
    """Write and send the events of some hosts until SIGTERM; then print how far each session's numbers came."""
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    links, logs, numbers = [], [], dict[tuple[str, str], int]()
    for at in range(options.first, options.first + options.hosts):
        name, folder = f"h{at}", options.folder / f"h{at}"
        folder.mkdir(exist_ok=True, mode=0o700)
        log = EventLog(folder / "events.jsonl", max_bytes=options.rotated)
        of_host = FleetSettings(options.url, name), log.path, Options(), installed_engine, lambda: None, complain
        links.append(Simulated(*of_host, folder=folder, rows={} if options.rows else None))
        links[-1].begin()
        logs.append(log)
        numbers |= {(name, target): number for target, number in written(log.path).items()}
    loop = threading.Thread(target=lambda: asyncio.run(_all(links)))
    loop.start()
    begun, count, rand = time.monotonic(), 0, random.Random(os.getpid())
    while not over.is_set():
        link, log = links[count % len(links)], logs[count % len(links)]
        target = f"tmux:w{rand.randrange(SESSIONS)}"
        key = link.fleet.name, target
        numbers[key] = number = numbers.get(key, 0) + 1
        facts = {**FACTS, "number": number, "written": time.time()}
        log.write(Event("escalation", target, facts))
        if link.rows is not None:
            link.rows[target] = {"target": target, "state": "waiting", "number": number, "written": facts["written"]}
        count += 1
        time.sleep(max(0.0, begun + count / options.rate - time.monotonic()))
    span, end = time.monotonic() - begun, time.monotonic() + DRAINS_S
    while time.monotonic() < end and any(link.behind for link in links):
        time.sleep(0.2)
    for link in links:
        link.stop()
    loop.join()
    print(json.dumps({"written": [[*key, number] for key, number in numbers.items()], "count": count, "span": span}))


async def _all(links: list[Simulated]) -> None:
    await asyncio.gather(*(link.run() for link in links))


def written(log: Path) -> dict[str, int]:
    """How far the numbers of each session came in a log, with the files that it was rotated into."""
    found: dict[str, int] = {}
    for path in (log, *(Path(f"{log}.{number}") for number in range(1, EventLog.KEPT + 1))):
        for line in path.read_bytes().splitlines() if path.exists() else ():
            try:
                event = json.loads(line)
                found[event["target"]] = max(found.get(event["target"], 0), event["number"])
            except (ValueError, KeyError):  # a line that a kill -9 cut off
                continue
    return found


# --- who starts them, and who reads ---


@define
class Senders:
    """Processes of simulated hosts; one that is killed goes on from its own logs."""

    folder: Path
    rate: float  # of one host
    rotated: int = EventLog.ROTATED
    _hosts: int = 0
    _commands: list[tuple[list[str], dict[str, str]]] = field(factory=list)
    _running: dict[int, subprocess.Popen[str]] = field(factory=dict)

    def start(
        self, hosts: int, url: str, before: tuple[str, ...] = (), rows: bool = False, skew: str | None = None
    ) -> None:
        """Start a process of so many further hosts; `before` are the words before its own."""
        words = [*before, sys.executable, __file__, "--folder", str(self.folder), "--url", url]
        words += ["--first", str(self._hosts), "--hosts", str(hosts), "--rate", str(self.rate * hosts)]
        words += ["--rotated", str(self.rotated), *(["--rows"] if rows else [])]
        self._hosts += hosts
        self._commands.append((words, {**os.environ, "STALLKIT_STATE_DIR": str(self.folder), **faketime(skew)}))
        self._open(len(self._commands) - 1)

    def kill(self, number: int) -> None:
        """As `kill -9` does; and start it again."""
        self._running[number].kill()
        self._running[number].communicate()
        self._open(number)

    def end(self) -> dict[tuple[str, str], int]:
        """End all, after what they wrote is sent; how far the numbers of each session came."""
        for process in self._running.values():
            process.terminate()
        said = [json.loads(process.communicate()[0]) for process in self._running.values()]
        return {(host, target): number for one in said for host, target, number in one["written"]}

    @property
    def said(self) -> list[str]:
        """What they complained of."""
        return (self.folder / "senders.log").read_text().splitlines()

    def stop(self) -> None:
        """Kill those that still run."""
        for process in self._running.values():
            process.kill()
            process.wait()

    def _open(self, number: int) -> None:
        words, environment = self._commands[number]
        with (self.folder / "senders.log").open("ab") as said:
            self._running[number] = subprocess.Popen(
                words, env=environment, stdout=subprocess.PIPE, stderr=said, text=True
            )


@define
class Check:
    """What a reader got, by session: each number once, one after the other?"""

    events: int = 0
    doubled: int = 0
    disordered: int = 0
    delays: list[float] = field(factory=list)  # from before the write of an event to the reader
    row_delays: list[float] = field(factory=list)
    _last: dict[tuple[str, str], int] = field(factory=dict)
    _missing: set[tuple[str, str, int]] = field(factory=set)

    def take(self, one: FleetEvent) -> None:
        key, number = (one.host, one.target), one.event["number"]
        last = self._last.get(key, 0)
        self.events += 1
        self.delays.append(time.time() - one.event["written"])
        if number > last:
            self._missing.update((*key, each) for each in range(last + 1, number))
            self._last[key] = number
        elif (*key, number) in self._missing:
            self._missing.remove((*key, number))
            self.disordered += 1
        else:
            self.doubled += 1

    def lost(self, numbers: Mapping[tuple[str, str], int]) -> int:
        """Events that were written, and did not come."""
        behind = [number - self._last.get(key, 0) for key, number in numbers.items()]
        return len(self._missing) + sum(behind)


@define
class Reader:
    """Reads all events, in a thread, and if the connection breaks connects again; and follows the rows."""

    url: str
    check: Check = field(factory=Check)
    connections: int = 0
    _over: threading.Event = field(factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Reader:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._thread.start()
        wait_for(lambda: self.connections, 30.0, "the reader")
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    async def _run(self) -> None:
        seen, since = Seen(), time.time()
        while not self._over.is_set():
            try:
                async with bus.connected(FleetSettings(self.url), None, "operator.reader") as client:
                    js = client.jetstream(timeout=bus.REPLY_S)
                    rows = asyncio.create_task(self._rows(client))
                    try:
                        self.connections += 1
                        async for one in view.events(js, since - AGAIN_S):
                            if self._over.is_set():
                                return
                            if one is not None:
                                since = time.time()
                                if seen.is_new(one):
                                    self.check.take(one)
                    finally:
                        rows.cancel()
                        await asyncio.gather(rows, return_exceptions=True)
            except bus.BusError as error:
                complain(f"reader: {error}")
                await asyncio.sleep(1.0)

    async def _rows(self, client: Any) -> None:
        shown: dict[str, int] = {}
        async for each in view.changes(client):
            now = time.time()
            for row in each.sessions():
                if row.facts["number"] > shown.get(row.name, 0):
                    shown[row.name] = row.facts["number"]
                    self.check.row_delays.append(now - row.facts["written"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=worker.__doc__)
    kinds = {"folder": Path, "url": str, "first": int, "hosts": int, "rate": float, "rotated": int}
    for name, kind in kinds.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    parser.add_argument("--rows", action="store_true")
    worker(parser.parse_args())
