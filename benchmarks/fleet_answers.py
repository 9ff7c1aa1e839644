"""A real `stallkit watch` in a fleet: what its operators' answers come to, and what the fleet costs it.

For `fleet_bus.py`; by itself it is an operator, who gives everything that waits one reply, until SIGTERM.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

from attrs import define, field
from fleet_servers import Nats, complain, faketime, percentile
from nats.aio.client import Client
from overnight import SETTLES_S, Cpu, Panes, memory, share
from stallkit_fleet import bus, view
from stallkit_fleet.settings import FleetSettings
from stallkit_fleet.view import FleetItem
from timing import table

from stallkit.errors import StallkitError

# Without aiohttp, which the bus's client imports if it is there: it is no part of what stallkit-fleet needs.
STALLKIT = (sys.executable, "-c", "import sys; sys.modules['aiohttp'] = None; import stallkit.cli.main as m; m.main()")
OPERATORS = {"ada": "y", "bob": "n"}  # what each of them replies to every prompt
AGAIN_S = 3.0  # before an operator answers again what still waits
EACH = 5  # prompts of a session
PROMPTS = """
for number in $(seq 1 $3); do
    read -r -p "Delete $1-$number? [y/N] " got
    echo "$1-$number $got" >> "$2"
done
echo over
cat >> "$2"
"""


@define
class Watch:
    """A `stallkit watch` of all sessions of one tmux server, with settings and state of its own."""

    folder: Path
    tmux: str
    environment: dict[str, str] = field(init=False)
    _process: subprocess.Popen[bytes] | None = None

    def __attrs_post_init__(self) -> None:
        self.folder.mkdir(mode=0o700)
        own = {"STALLKIT_STATE_DIR": str(self.folder / "state"), "XDG_CONFIG_HOME": str(self.folder / "config")}
        self.environment = {**os.environ, **own}

    def join(self, server: Nats, *more: str) -> None:
        subprocess.run([*STALLKIT, "fleet", "join", server.url, *more], env=self.environment, check=True)

    def start(self, *more: str, **environment: str) -> int:
        """Its process."""
        words = [*STALLKIT, "watch", "--all", "-S", self.tmux, "--json", *more]
        with (self.folder / "out").open("ab") as out, (self.folder / "errors").open("ab") as errors:
            self._process = subprocess.Popen(
                words, cwd=self.folder, env={**self.environment, **environment}, stdout=out, stderr=errors
            )
        return self._process.pid

    @property
    def filed(self) -> dict[int, float]:
        """When its event log said that something waits, by the number of the item."""
        events = map(json.loads, (self.folder / "state" / "events.jsonl").read_text().splitlines())
        return {one["item"]: datetime.fromisoformat(one["time"]).timestamp() for one in events if one.get("item")}

    def end(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)


# --- answers ---


def answers(options: argparse.Namespace, folder: Path, over: ExitStack) -> None:
    """Two operators answer each prompt of one host at once, one with yes and one with no: each prompt gets one key."""
    server, socket = Nats(folder), str(folder / "socket")
    server.start()
    over.callback(server.kill)
    tmux = ["tmux", "-u", "-f", "/dev/null", "-S", socket]
    names = [f"w{number}" for number in range(options.prompts // EACH)]
    for name in names:
        words = ["bash", "-c", PROMPTS, "-", name, str(folder / f"{name}.got"), str(EACH)]
        subprocess.run([*tmux, "new-session", "-d", "-s", name, "-x", "80", "-y", "24", *words], check=True)
    over.callback(subprocess.run, [*tmux, "kill-server"], check=True)
    watch = Watch(folder / "host", socket)
    watch.join(server, "--host", "c", *(word for name in OPERATORS for word in ("--answers", name)))
    operators = [
        subprocess.Popen([sys.executable, __file__, server.url, *each], stdout=subprocess.PIPE, text=True)
        for each in OPERATORS.items()
    ]
    for operator in operators:
        over.callback(operator.kill)
    watch.start(**faketime(options.skew))
    over.callback(watch.end)

    def got() -> list[str]:
        files = [folder / f"{name}.got" for name in names]
        return [line for file in files if file.exists() for line in file.read_text().splitlines()]

    begun, kills = time.monotonic(), 0
    while len(got()) < len(names) * EACH and time.monotonic() - begun < options.seconds:
        time.sleep(1.0)
        if kills < options.kills and len(got()) > (kills + 1) * len(names) * EACH / (options.kills + 1):
            server.kill()
            time.sleep(1.0)
            server.start()
            kills += 1
    span = time.monotonic() - begun
    time.sleep(5.0)  # a second key would come now
    for one in operators:
        one.send_signal(signal.SIGTERM)
    told = [json.loads(line) for one in operators for line in one.communicate()[0].splitlines()]
    _told(
        got(),
        told,
        watch.filed,
        len(names) * EACH,
        f"{span:.0f} s, {kills} kills, clock {options.skew or 'as it is'}",
    )
    print((watch.folder / "errors").read_text())


def _told(lines: list[str], told: list[dict[str, Any]], filed: dict[int, float], prompts: int, how: str) -> None:
    """Print what the programs read beside what the operators were told."""
    keys = Counter(line.split(" ")[0] for line in lines)
    done = [one for one in told if one["result"] == "done"]
    meant = {f"{one['asked']} {OPERATORS[one['operator']]}" for one in done}
    first: dict[tuple[str, int], float] = {}
    for one in told:
        first.setdefault((one["operator"], one["id"]), one["seen"])
    delays = [seen - filed[id] for (_, id), seen in first.items() if id in filed]
    late = f"{percentile(delays, 0.5):.2f} s, {percentile(delays, 0.99):.2f} s"
    rows = [
        ["prompts that got exactly one answer", f"{sum(count == 1 for count in keys.values())} of {prompts}", "all"],
        ["lines that no prompt asked for", str(len(lines) - len(keys)), "0"],
        ["read otherwise than an operator was told", str(sum(line not in meant for line in lines)), "0"],
        ["told done", f"{len(done)}, of these twice {len(done) - len(meant)}", "as answered"],
        ["from the notice to an operator: p50, p99", late, "p99 1 s"],
    ]
    table([f"answers: {how}", "measured", "must"], rows)
    for name in OPERATORS:
        why = Counter(f"{one['result']}: {one['why'].partition(';')[0]}" for one in told if one["operator"] == name)
        print(f"{name} was told: {'; '.join(f'{count} {each}' for each, count in why.most_common())}")


@define
class Operator:
    """Answers everything that waits, and prints what came of each."""

    name: str
    text: str
    _tried: dict[str, tuple[int, float]] = field(factory=dict)
    _tasks: set[asyncio.Task[None]] = field(factory=set)

    async def run(self, url: str) -> None:
        while True:
            try:
                async with bus.connected(
                    FleetSettings(url, operator=self.name), None, f"operator.{self.name}"
                ) as client:
                    async for found in view.changes(client):
                        for one in found.items():
                            self._begin(client, one)
            except StallkitError as error:
                complain(f"{self.name}: {error}")
                await asyncio.sleep(0.5)

    def _begin(self, client: Client, shown: FleetItem) -> None:
        revision, next_at = self._tried.get(shown.ref, (0, 0.0))
        if shown.item.revision != revision or time.monotonic() > next_at:
            self._tried[shown.ref] = shown.item.revision, time.monotonic() + AGAIN_S
            task = asyncio.create_task(self._answer(client, shown))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, client: Client, shown: FleetItem) -> None:
        seen = time.time()
        try:
            reply = await view.answer(client, self.name, "reply", shown, self.text)
        except StallkitError as error:
            reply = {"result": "failed", "why": error.why}
        asked = shown.item.line.removeprefix("Delete ").partition("?")[0]
        facts = {"operator": self.name, "asked": asked, "id": shown.item.id, "seen": seen}
        print(json.dumps({**facts, "result": reply["result"], "why": reply["why"]}), flush=True)


# --- cost ---


def cost(options: argparse.Namespace, folder: Path, over: ExitStack) -> None:
    """A `stallkit watch` of 50 live panes, with and without the fleet, in turns."""
    server = Nats(folder)
    server.start()
    over.callback(server.kill)
    panes = Panes(folder, 50)
    over.callback(panes.end)
    found: dict[bool, list[tuple[float, float, float, int]]] = {False: [], True: []}
    for number in range(options.rounds):
        for joined in found:
            watch = Watch(folder / f"host{number}{joined}", str(panes.socket))
            if joined:
                watch.join(server, "--host", "c")
            pid = watch.start("--policy", "observe")
            try:
                time.sleep(SETTLES_S)
                before = Cpu.of(pid)
                time.sleep(options.seconds)
                own, clients = share(before, Cpu.of(pid))
                events = (watch.folder / "out").read_bytes().count(b"\n")
                found[joined].append((own, clients, memory(pid), events))
            finally:
                watch.end()
    rows = []
    for at, name in enumerate(("CPU", "CPU of its tmux clients", "memory")):
        values = [[one[at] for one in found[joined]] for joined in (False, True)]
        without, within = map(statistics.median, values)
        shows = "{:.1f} MB" if name == "memory" else "{:.2%}"
        all_of = ["; ".join(shows.format(one) for one in each) for each in values]
        rows.append([name, *all_of, ("{:+.1f} MB" if name == "memory" else "{:+.2%}").format(within - without)])
    rows.append(["events", *(str([one[3] for one in each]) for each in found.values()), ""])
    table([f"{options.rounds} times {options.seconds:.0f} s", "without", "with [fleet]", "medians"], rows)


if __name__ == "__main__":
    url, name, text = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    asyncio.run(Operator(name, text).run(url))
