"""What the bus of a fleet bears: `python benchmarks/fleet_bus.py load|hurt|compare|answers|cost`.

A real nats-server on a loopback port, with a store of its own, and the hosts of `fleet_hosts.py`.

load     50 hosts with 200 sessions each write 1,200 events a second: is each there once, in order, and how soon?
hurt     the same, slower, while nats-server and senders are killed, a network is cut, a disk is full, clocks are wrong
compare  how fast events are acknowledged, beside Redis Streams
answers  two persons answer each prompt of a host at once: does each get one answer?
cost     memory and CPU of a `stallkit watch`, with the fleet and without

`hurt` needs root, for its network and its disk, and libfaketime, as `answers --skew` does.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import statistics
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Awaitable, Callable, Mapping

import redis.asyncio
from fleet_answers import answers, cost
from fleet_hosts import FACTS, Check, Reader, Senders
from fleet_servers import HERE, Nats, Redis, network, percentile, run
from overnight import Cpu, memory, share
from stallkit_fleet import bus, view
from stallkit_fleet.link import LANES
from stallkit_fleet.messages import EVENTS, FleetEvent
from stallkit_fleet.settings import FleetSettings
from timing import table


def stored(url: str) -> tuple[int, int]:
    """Messages and bytes of the stream."""

    async def read() -> tuple[int, int]:
        async with bus.connected(FleetSettings(url), None, "operator.reader") as client:
            state = (await client.jetstream().stream_info(EVENTS)).state
            return state.messages, state.bytes

    return asyncio.run(read())


def verdict(check: Check, numbers: Mapping[tuple[str, str], int], more: list[list[str]]) -> None:
    """Print what a reader got beside what was written."""
    total = sum(numbers.values())
    rows = [
        ["events written", f"{total:,} by {len(numbers):,} sessions", "told"],
        ["lost", f"{check.lost(numbers)} of {total:,}", "0"],
        ["out of order within a session", str(check.disordered), "0"],
        ["seen twice by a reader", str(check.doubled), "0"],
    ]
    table(["figure", "measured", "must"], [*rows, *more])


# --- the parts ---


def load(options: argparse.Namespace, folder: Path, over: ExitStack) -> None:
    """50 hosts with 200 sessions each; two of them alone in a process, as real ones are, and these have rows too."""
    server = Nats(folder)
    server.start()
    over.callback(server.kill)
    server.create()
    senders = Senders(folder, options.rate / 50)
    over.callback(senders.stop)
    with Reader(server.url) as reader:
        for hosts in (12, 12, 12, 12):
            senders.start(hosts, server.url)
        for _ in range(2):
            senders.start(1, server.url, rows=True)
        time.sleep(10.0)
        before, begun, count = Cpu.of(server.pid), time.monotonic(), reader.check.events
        time.sleep(options.seconds)
        rate = (reader.check.events - count) / (time.monotonic() - begun)
        cpu, rss = share(before, Cpu.of(server.pid))[0], memory(server.pid)
        numbers = senders.end()
        time.sleep(2.0)
    check, (messages, size) = reader.check, stored(server.url)
    delays = [
        f"{percentile(each, 0.5):.2f} s, {percentile(each, 0.99):.2f} s, {max(each, default=0.0):.2f} s"
        for each in (check.delays, check.row_delays)
    ]
    more = [
        ["events a second, as the reader got them", f"{rate:,.0f} for {options.seconds:.0f} s", "1,000"],
        ["from the write to the reader: p50, p99, longest", delays[0], "p99 1 s"],
        [f"from the write to the list, {len(check.row_delays):,} rows", delays[1], "p99 1 s"],
        ["stored twice", str(messages - sum(numbers.values())), "told"],
        ["nats-server", f"{cpu:.0%} of a core, {rss:.0f} MB, {size / max(1, messages):.0f} bytes a message", "told"],
        ["connections of the reader", str(reader.connections), "1"],
    ]
    verdict(check, numbers, more)


def hurt(options: argparse.Namespace, folder: Path, over: ExitStack) -> None:
    """40 hosts: 10 have a network of their own, 10 a clock 5 minutes ahead, 10 one 5 minutes behind."""
    store = folder / "store"
    store.mkdir()
    run("truncate", "-s", "256M", str(folder / "disk"))
    run("mkfs.ext4", "-q", str(folder / "disk"))
    run("mount", "-o", "loop", str(folder / "disk"), str(store))
    over.callback(run, "umount", str(store))
    far, link = network(over)
    server = Nats(folder)
    server.start()
    over.callback(server.kill)
    server.create()
    senders, begun = Senders(folder, options.rate / 40, rotated=200_000), time.time()
    over.callback(senders.stop)
    with Reader(server.url) as reader:
        senders.start(10, server.url.replace("127.0.0.1", HERE), ("ip", "netns", "exec", far))
        for skew in ("+300s", "-300s"):
            senders.start(10, server.url, skew=skew)
        senders.start(10, server.url)
        for number in range(10):
            time.sleep(15.0)
            server.kill()
            time.sleep(2.0)
            server.start()
            if number % 2:
                time.sleep(1.0)
                senders.kill(number // 2 % 4)
        time.sleep(15.0)
        _say("partition of 60 s")
        run("ip", "link", "set", link, "down")
        time.sleep(60.0)
        run("ip", "link", "set", link, "up")
        time.sleep(20.0)
        _say("disk full for 30 s")
        _fill(store / "ballast")
        time.sleep(30.0)
        (store / "ballast").unlink()
        _say("there is room again")
        count = reader.check.events
        time.sleep(30.0)
        recovers = reader.check.events > count
        if not recovers:
            server.kill()
            server.start()
        numbers = senders.end()
        time.sleep(5.0)
    check, again = reader.check, asyncio.run(_reread(server.url, begun - 600.0))
    more = [
        [
            "lost, out of order, twice, as read again later",
            f"{again.lost(numbers)}, {again.disordered}, {again.doubled}",
            "0",
        ],
        ["stored twice", str(stored(server.url)[0] - sum(numbers.values())), "told"],
        ["after a full disk the server goes on", "by itself" if recovers else "once it is restarted", "told"],
        ["connections of the reader", str(reader.connections), "told"],
    ]
    verdict(check, numbers, more)
    for line, count in Counter(line.partition(" ")[2] for line in senders.said).most_common(12):
        print(f"{count:4} {line[:180]}")


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", flush=True)


def _fill(ballast: Path) -> None:
    """Write until the disk is full."""
    with suppress(OSError), ballast.open("wb", buffering=0) as out:
        while out.write(bytes(65_536)) == 65_536:
            pass


async def _reread(url: str, since: float) -> Check:
    """What a reader gets that reads all of it later."""
    check = Check()
    async with bus.connected(FleetSettings(url), None, "operator.later") as client:
        async for one in view.events(client.jetstream(timeout=bus.REPLY_S), since):
            if one is None:
                break
            check.take(one)
    return check


# --- compare ---


def compare(options: argparse.Namespace, folder: Path, over: ExitStack) -> None:
    """The same events to NATS and to Redis Streams, in turns; each sender waits until one is acknowledged."""
    server = Nats(folder)
    server.start()
    over.callback(server.kill)
    server.create()
    pids, ports = {"nats": server.pid}, {"nats": server.port}
    for fsync in ("everysec", "always"):
        rival = Redis(fsync, folder / fsync)
        process = rival.start()
        over.callback(process.kill)
        pids[f"redis {fsync}"], ports[f"redis {fsync}"] = process.pid, rival.port
    for senders, count in ((1, 2_000), (LANES, 10_000)):
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in pids}
        for number in range(options.rounds):
            facts = {**FACTS, "event": "escalation", "time": "2026-01-01T00:00:00.000+00:00", "target": "tmux:w1"}
            events = [FleetEvent("h", f"{senders}-{number}", at, {**facts, "number": at}) for at in range(count)]
            messages = [(one.body, one.headers) for one in events]
            for name, pid in pids.items():
                send = _to_nats if name == "nats" else _to_redis
                before, own, begun = Cpu.of(pid), time.process_time(), time.perf_counter()
                asyncio.run(send(ports[name], messages, senders))
                span = time.perf_counter() - begun
                served = Cpu.of(pid).own - before.own
                found[name].append((count / span, (time.process_time() - own) / count * 1e6, served / count * 1e6))
        middle = {
            name: [statistics.median(each) for each in zip(*rounds, strict=True)] for name, rounds in found.items()
        }
        head = [
            f"{senders} senders, {options.rounds} times {count:,}",
            "events a second",
            "ratio",
            "CPU of the sender",
            "of the server",
        ]
        base = middle["nats"][0]
        table(
            head,
            [
                [name, f"{one[0]:,.0f}", f"{one[0] / base:.2f}", *(f"{each:.0f} µs" for each in one[1:])]
                for name, one in middle.items()
            ],
        )


Messages = list[tuple[bytes, dict[str, str]]]


async def _to_nats(port: int, messages: Messages, senders: int) -> None:
    """As `Link` sends: one connection."""
    async with bus.connected(FleetSettings(f"nats://127.0.0.1:{port}"), None, "host.h") as client:
        js = client.jetstream(timeout=60.0)
        await _by(senders, messages, lambda body, headers: js.publish("stallkit.event.h", body, headers=headers))


async def _to_redis(port: int, messages: Messages, senders: int) -> None:
    """A connection for each sender, as one of redis-py takes one command at a time."""
    pool = redis.asyncio.BlockingConnectionPool(port=port, max_connections=senders)
    client = redis.asyncio.Redis(connection_pool=pool)

    async def add(body: bytes, headers: dict[str, str]) -> None:
        fields: dict[Any, Any] = {"data": body, **headers}  # Any: as redis-py wants it, which tells keys from values
        await client.xadd("events", fields)

    await _by(senders, messages, add)
    await pool.disconnect()


async def _by(senders: int, messages: Messages, send: Callable[[bytes, dict[str, str]], Awaitable[object]]) -> None:
    left = iter(messages)

    async def one() -> None:
        for body, headers in left:
            await send(body, headers)

    await asyncio.gather(*(one() for _ in range(senders)))


PARTS = {"load": load, "hurt": hurt, "compare": compare, "answers": answers, "cost": cost}
SECONDS = {"load": 600.0, "answers": 600.0, "cost": 60.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--seconds", type=float, help="of load or cost (600, 60); the most for answers (600)")
    parser.add_argument("--rate", type=float, help="events a second, of all hosts (load 1,200, hurt 300)")
    parser.add_argument("--prompts", type=int, default=100, help="of answers")
    parser.add_argument("--kills", type=int, default=0, help="of nats-server while answers are given")
    parser.add_argument("--skew", help="of the answering host's wall clock, as +300s")
    parser.add_argument("--rounds", type=int, default=3, help="of cost and compare")
    options = parser.parse_args()
    options.rate = options.rate or {"load": 1_200.0}.get(options.part, 300.0)
    options.seconds = options.seconds or SECONDS.get(options.part, 0.0)
    with ExitStack() as over:
        folder = Path(tempfile.mkdtemp(prefix="fleet-bus-"))
        over.callback(shutil.rmtree, folder, ignore_errors=True)
        print(f"load {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores\n", flush=True)
        PARTS[options.part](options, folder, over)


if __name__ == "__main__":
    main()
