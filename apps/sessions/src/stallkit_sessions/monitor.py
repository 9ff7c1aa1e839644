"""The process beside all sessions: it looks at them once a second, sees how they end, and writes it down.

There is one for each state directory; `stallkit start` starts it, and it ends when no session is left.  Some facts are
only in its memory (how a tmux server ended, what a container runtime reported): if it is killed, the next command or
monitor finalizes what it finds, and records the rest as *unknown*.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, Iterable

from stallkit import daemon
from stallkit.daemon_socket import Progress, Server
from stallkit.errors import PackError, StallkitError, StoreError
from stallkit.packs.registry import Engine, installed_engine
from stallkit.redact.redact import redact
from stallkit_sessions.explain import complete
from stallkit_sessions.finalize import EndedSession, finalize, write_out
from stallkit_sessions.monitor_client import LOCK, SOCKET
from stallkit_sessions.register import Register, RunningSession
from stallkit_sessions.server_monitors import ServerMonitors
from stallkit_sessions.witnesses import adopt, look

PACE_S = 1.0  # between two looks
SOON_S = 0.05  # ... while it waits for a witness
ORDER_S = 30.0  # for an order to take effect, after the process that carried it out was killed
LINGER_S = 10.0  # without a session, before it ends: starts come in groups


class Monitor:
    """Watches every session of a register until none is left, or `stop` is called."""

    def __init__(
        self,
        register: Register,
        engine: Engine | None,
        *,
        pace_s: float = PACE_S,
        linger_s: float = LINGER_S,
        order_s: float = ORDER_S,
    ) -> None:
        self._register = register
        self._pace_s, self._linger_s, self._order_s = pace_s, linger_s, order_s
        self._servers = ServerMonitors(register, engine)
        self._since: dict[str, float] = {}  # when a session's end was first seen
        self._puzzling: set[str] = set()  # unexplained though all witnesses had their time
        self._orphaned: dict[str, float] = {}  # ... or that no process carries out its order
        self._wake, self._stopped = asyncio.Event(), False
        self._passes = asyncio.Condition()
        self._done, self._over = 0, False  # passes that ended; whether there are no more

    def stop(self) -> None:
        """End; sessions run on without it."""
        self._stopped = True
        self._wake.set()

    async def run(self) -> None:
        """Watch until no session was there for `linger_s`, or it is stopped."""
        empty_since = time.monotonic()
        try:
            while not self._stopped and self._register.path.exists():
                self._wake.clear()
                try:
                    living = await self._pass()
                except StallkitError as error:  # a full disk: the next pass finds the same
                    print(redact(str(error)), file=sys.stderr, flush=True)
                    living = True
                except Exception:  # a bug, or no room for another process: only this one has these facts
                    print(redact(traceback.format_exc()), file=sys.stderr, flush=True)
                    living = True
                async with self._passes:
                    self._done += 1
                    self._passes.notify_all()
                if living:
                    empty_since = time.monotonic()
                elif time.monotonic() - empty_since > self._linger_s:
                    return
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), SOON_S if self._waits() else self._pace_s)
        finally:
            async with self._passes:
                self._over = True
                self._passes.notify_all()
            await self._servers.close()

    async def finalized(self) -> None:
        """Look now, and return when everything that ended before the call is explained.

        Raises StoreError if it ends before that.
        """
        async with self._passes:
            began = self._done + 1  # the current pass may have looked before
            while self._done <= began or self._waits():
                if self._over:
                    raise StoreError("monitor", str(self._register.path), "it is ending", "finalize it yourself")
                self._wake.set()
                await self._passes.wait()

    def _waits(self) -> bool:
        """Whether it waits for a witness of an end."""
        return bool(self._since.keys() - self._puzzling)

    async def _pass(self) -> bool:
        livings = await asyncio.to_thread(self._register.living)
        bound = await asyncio.to_thread(lambda: [one for one in livings if adopt(self._register, one)])
        suspects = await self._servers.suspects(bound)
        now = time.monotonic()
        self._since = {one.session.id: self._since.get(one.session.id, now) for one in suspects}
        self._puzzling &= self._since.keys()
        ended = await asyncio.gather(*(asyncio.to_thread(look, one, self._servers.heard(one)) for one in suspects))
        ready = [one for one in ended if complete(one.facts, now - self._since[one.living.session.id])]
        await asyncio.to_thread(self._finalize, ready)
        await asyncio.to_thread(self._withdraw, [one for one in bound if one.session.id not in self._since], now)
        return bool(livings)

    def _withdraw(self, livings: Iterable[RunningSession], now: float) -> None:
        """Take back orders that no process carries out, for sessions that run on: a later end has another cause."""
        ordered = [one for one in livings if one.order is not None and not one.claimed_by.alive()]
        self._orphaned = {one.session.id: self._orphaned.get(one.session.id, now) for one in ordered}
        for id, since in self._orphaned.items():
            if now - since >= self._order_s:
                self._register.order(id, None)

    def _finalize(self, ended: list[EndedSession]) -> None:
        written = {record.session.id for record in finalize(self._register, ended)}
        for one in ended:
            if one.living.session.id in written:
                self._since.pop(one.living.session.id, None)
            else:
                self._puzzling.add(one.living.session.id)
        write_out(self._register)


def _engine() -> Engine | None:
    """The engine, if any packs are installed; a monitor without packs still reports how sessions end."""
    try:
        return installed_engine()
    except PackError:
        return None


async def _watch(folder: Path) -> None:
    register = Register(folder / "sessions.db")
    try:
        monitor, loop = Monitor(register, _engine()), asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, monitor.stop)

        def answer(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
            if request.get("do") != "settle":
                raise ValueError(f"unknown request {request.get('do')!r}")
            asyncio.run_coroutine_threadsafe(monitor.finalized(), loop).result()
            return {"settled": True}

        server = Server(folder / SOCKET, answer)
        try:
            daemon.announce(ready=True)
            await monitor.run()
        finally:
            await asyncio.to_thread(server.close)
    finally:
        register.close()


def main() -> int:
    """Watch the sessions of one state directory."""
    daemon.escape_errors()
    folder = Path(sys.argv[1])
    os.environ["STALLKIT_STATE_DIR"] = str(folder)
    try:
        if daemon.lock(folder / LOCK) is None:
            daemon.announce(error="another monitor runs")
            return 0
        asyncio.run(_watch(folder))
    except (StallkitError, OSError) as error:
        print(redact(str(error)), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
