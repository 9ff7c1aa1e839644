"""The process beside all sessions: it looks at them once a second, hears how they end, and writes it down.

One for each state directory; `stallkit start` starts it, and it ends when no session is left.  Whatever it knows that
nobody could find out later is in its memory alone (how a tmux server ended, what an engine said): where it is killed,
the next command or the next warden settles what it finds, and says *unknown* to the rest.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Iterable

from stallkit.errors import PackError, StallkitError, TransportError
from stallkit.packs.registry import Engine
from stallkit.press.check import installed_engine
from stallkit.sessions.explain import complete
from stallkit.sessions.finalize import Ended, settle, write_out
from stallkit.sessions.monitor_client import LOCK, SOCKET, in_folder
from stallkit.sessions.register import Living, Register
from stallkit.sessions.server_monitors import ServerMonitors
from stallkit.sessions.witnesses import adopt, look

__all__ = ["Monitor", "main"]

PACE_S = 1.0  # between two looks
SOON_S = 0.05  # ... where a witness is waited for
ORDER_S = 30.0  # for what was ordered to come about, after whoever carried it out was killed
LINGER_S = 10.0  # without a session, before it ends: starts come in groups
LOCK_S = 1.0  # for those who only ask whether a warden lives


class Monitor:
    """Looks after every session of a register until none is left; `stop` ends it sooner."""

    def __init__(self, register: Register, engine: Engine | None) -> None:
        self._register = register
        self._vigils = ServerMonitors(register, engine)
        self._since: dict[str, float] = {}  # when a session's end was first seen
        self._puzzling: set[str] = set()  # that nobody could explain, once all witnesses had their time
        self._orphaned: dict[str, float] = {}  # ... or that nobody carries out what was ordered of it
        self._wake, self._stopped = asyncio.Event(), False
        self._passes = asyncio.Condition()
        self._done = 0  # passes that came to their end

    def stop(self) -> None:
        """Come to an end: sessions live on without it."""
        self._stopped = True
        self._wake.set()

    async def run(self) -> None:
        """Until no session was there for `LINGER_S`, or it is stopped."""
        empty_since = time.monotonic()
        try:
            while not self._stopped and self._register.path.exists():
                self._wake.clear()
                try:
                    living = await self._pass()
                except StallkitError as error:  # no room on the disk: the next pass finds the same
                    print(error, file=sys.stderr, flush=True)
                    living = True
                except Exception:  # a defect, or no room for another process: what it knows nobody else does
                    traceback.print_exc()
                    living = True
                async with self._passes:
                    self._done += 1
                    self._passes.notify_all()
                if living:
                    empty_since = time.monotonic()
                elif time.monotonic() - empty_since > LINGER_S:
                    return
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), SOON_S if self._waits() else PACE_S)
        finally:
            await self._vigils.close()

    async def settled(self) -> None:
        """Look now, and return when nothing that ended before the call is left unexplained."""
        async with self._passes:
            began = self._done + 1  # the one that runs now may have looked before
            while self._done <= began or self._waits():
                self._wake.set()
                await self._passes.wait()

    def _waits(self) -> bool:
        """Whether a witness of an end is waited for."""
        return bool(self._since.keys() - self._puzzling)

    async def _pass(self) -> bool:
        livings = await asyncio.to_thread(self._register.living)
        bound = await asyncio.to_thread(lambda: [one for one in livings if adopt(self._register, one)])
        suspects = await self._vigils.suspects(bound)
        now = time.monotonic()
        self._since = {one.session.id: self._since.get(one.session.id, now) for one in suspects}
        self._puzzling &= self._since.keys()
        ended = await asyncio.gather(*(asyncio.to_thread(look, one, self._vigils.heard(one)) for one in suspects))
        await asyncio.to_thread(self._settle, self._ready(ended, now))
        await asyncio.to_thread(self._withdraw, [one for one in bound if one.session.id not in self._since], now)
        return bool(livings)

    def _withdraw(self, livings: Iterable[Living], now: float) -> None:
        """Of those that live on, take orders back that nobody carries out: a later end is not theirs."""
        ordered = [one for one in livings if one.order is not None and not one.claimed_by.alive()]
        self._orphaned = {one.session.id: self._orphaned.get(one.session.id, now) for one in ordered}
        for id, since in self._orphaned.items():
            if now - since >= ORDER_S:
                self._register.order(id, None)

    def _ready(self, ended: Iterable[Ended], now: float) -> list[Ended]:
        """Those to which nobody could add anything; what died of the same thing is complete at the same time."""
        return [one for one in ended if complete(one.facts, now - self._since[one.living.session.id])]

    def _settle(self, ended: list[Ended]) -> None:
        written = {record.session.id for record in settle(self._register, ended)}
        for one in ended:
            if one.living.session.id in written:
                self._since.pop(one.living.session.id, None)
            else:
                self._puzzling.add(one.living.session.id)
        write_out(self._register)


async def _serve(warden: Monitor, folder: Path) -> asyncio.AbstractServer:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await reader.readline()
            await warden.settled()
            writer.write(b"settled\n")
            await writer.drain()
        writer.close()

    with in_folder(folder) as path:
        Path(path, SOCKET).unlink(missing_ok=True)  # of a warden that was killed: this one holds the lock
        before = os.umask(0o077)
        try:
            return await asyncio.start_unix_server(answer, f"{path}/{SOCKET}")
        finally:
            os.umask(before)


def _locked(folder: Path) -> int | None:
    """The lock, held as long as this process lives; None where another warden has it."""
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + LOCK_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return None
            time.sleep(0.02)
        else:
            return handle


def _engine() -> Engine | None:
    """What tells what a screen shows; a warden without packs still tells how sessions end."""
    try:
        return installed_engine()
    except PackError:
        return None


async def _watch(folder: Path) -> None:
    register = Register(folder / "sessions.db")
    try:
        warden = Monitor(register, _engine())
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, warden.stop)
        server = await _serve(warden, folder)
        print("ready", flush=True)
        sys.stdout.close()  # who started it waits for nothing more
        try:
            await warden.run()
        finally:
            server.close()  # whoever still waits for an answer is left without: there will be none
    finally:
        register.close()


def main() -> int:
    """Watch over the sessions of one state directory."""
    folder = Path(sys.argv[1])
    os.environ["STALLKIT_STATE_DIR"] = str(folder)
    try:
        if _locked(folder) is None:
            return 0
        asyncio.run(_watch(folder))
    except (StallkitError, TransportError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
