"""What ``stallkit dashboard`` shows of the other hosts, kept up to date by a thread of its own, and answers to them.

Whatever the bus does and whatever a host writes there, the rows of this machine go on.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from contextlib import contextmanager, suppress
from typing import Any, Iterator

from attrs import define, evolve, field
from stallkit_operator.board import Board, FarItem, Row, name_of, ref_of
from stallkit_operator.orders import Order
from stallkit_supervisor.settings import Overrides, load_settings

from stallkit.cli.output import shown
from stallkit.json_form import alike
from stallkit_fleet import bus, view
from stallkit_fleet.cli.common import on_bus
from stallkit_fleet.settings import FleetSettings, Settings, token
from stallkit_fleet.view import FleetItem, FleetView, HostRow, SessionRow

PAUSE_S, FIRST_S = 2.0, 60.0  # between two tries to reach the bus; for all that is there to arrive
_MOST, _WORD = 300, 40  # characters of a name or a fact, and of a word, that a host may have written


@contextmanager
def fleet_desk() -> Iterator[FleetDesk | None]:
    """A desk for the fleet of the settings, while the context lasts; None if they name none.  Raises ConfigError."""
    settings = load_settings(None, Overrides(), os.environ, ["fleet"])
    if not isinstance(settings, Settings) or settings.fleet.url is None:
        yield None
        return
    loop, over = asyncio.new_event_loop(), asyncio.Event()
    desk = FleetDesk(settings.fleet, loop)

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            following = loop.create_task(desk.follow())
            runner.run(over.wait())
            following.cancel()

    thread = threading.Thread(target=run, name="stallkit fleet", daemon=True)
    thread.start()
    try:
        yield desk
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(bus.REPLY_S)


@define
class FleetDesk:
    """The other hosts, for a person at this machine.  `follow` runs in the loop, all else in other threads."""

    _fleet: FleetSettings
    _loop: asyncio.AbstractEventLoop
    _view: FleetView = field(factory=FleetView)  # which the loop alone uses
    _trouble: str = ""

    def board(self) -> Board:
        """The sessions of the other hosts and what waits there, as far as they are known."""
        return asyncio.run_coroutine_threadsafe(self._board(), self._loop).result()

    def answer(self, order: Order, seen: FarItem) -> str:
        """Answer an item as it was shown, and return what became of it.  Raises StallkitError."""
        item, me = FleetItem(HostRow(seen.host, seen.alive, 0.0, {}), seen), self._fleet.person
        reply = on_bus(self._fleet, lambda client: view.answer(client, me, order.verb, item, order.text))
        after = reply.get("item") if reply.get("result") == "done" else None
        state = after.get("state") if isinstance(after, dict) else None
        told = dict.fromkeys(str(one)[:_MOST] for one in (state, reply.get("why")) if one)  # mostly both are "answered"
        return shown(f"{ref_of(seen)} ", seen.session, f": {', '.join(told)}")

    async def follow(self) -> None:
        """Keep the view up to date, and know why if that fails, until it is cancelled."""
        credentials = self._fleet.operator_credentials or self._fleet.credentials
        while True:
            try:
                async with bus.connected(self._fleet, credentials, f"operator.{self._fleet.person}") as client:
                    changes = view.changes(client)
                    while client.is_connected:
                        self._view = await asyncio.wait_for(anext(changes), FIRST_S)
                        self._trouble = ""
                self._trouble = "no bus: the connection broke"
            except Exception as error:  # a library's own mistake does not end it either
                self._trouble = f"no bus: {getattr(error, 'why', error)}"
            await asyncio.sleep(PAUSE_S)

    async def _board(self) -> Board:
        ahead = time.time() - self._view.now
        found = [one for one in self._view.items() if self._is_other(one.host)]
        items = {one.ref: _far(one) for one in found}
        asking = [SessionRow(one.host, {"target": one.item.session, "state": "unknown"}) for one in found]
        watched = [one for one in self._view.sessions() if self._is_other(one.host)]
        rows = {row.key: row for row in (_row(one, ahead) for one in (*asking, *watched))}
        return Board(tuple(rows.values()), tuple(items.values()), host=self._fleet.name, trouble=self._trouble)

    def _is_other(self, host: HostRow) -> bool:
        with suppress(ValueError):  # no host of stallkit is called that
            return token("host", host.name) != self._fleet.name
        return False


def _far(one: FleetItem) -> FarItem:
    """An item as the dashboard has it, without what its host may have written for our terminal."""
    far = alike(FarItem, one.item, host=one.host.name, alive=one.host.alive)
    return evolve(far, session=far.session[:_MOST], kind=far.kind and shown(far.kind)[:_WORD])


def _row(one: SessionRow, ahead: float) -> Row:
    """A session as the dashboard has it; `ahead` is our clock before the server's."""
    host, told = one.host, {name: _words(value) for name, value in one.facts.items() if value}
    target, agent = told.pop("target", ""), told.get("foreground") or told.get("signature", "").partition(":")[0]
    asks = told.get("halted") or told.get("error") or told.get("kind", "")
    since = one.since if host.alive else host.heard + ahead
    was = "" if host.alive else ", which is unreachable; what it was:"
    facts = (f"its screen is on {host.name}{was}", *(shown(f"    {name}: {value}") for name, value in told.items()))
    return Row(name_of(target), target, one.state[:_WORD], since, asks, agent, host=host.name, facts=facts)


def _words(value: Any) -> str:
    parts = [f"{name} {part}" for name, part in value.items() if part] if isinstance(value, dict) else [str(value)]
    return ", ".join(parts)[:_MOST]
