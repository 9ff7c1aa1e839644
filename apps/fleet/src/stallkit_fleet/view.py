"""The side of who looks and answers: the rows and items of all hosts, their events, and a request to one of them.

A host that the bus has not heard of for some seconds is *unreachable*, whatever its rows say; by the server's clock.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from typing import Any, AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping

import nats.errors
from attrs import define, field, frozen
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext, api
from stallkit_operator.item import Item, ItemJson

from stallkit.errors import StallkitError, UnknownName
from stallkit.json_form import alike
from stallkit.jsonio import structure
from stallkit_fleet import bus
from stallkit_fleet.messages import (
    ALIVE,
    ALIVE_S,
    EVENTS,
    OFFER,
    STATE,
    VERSION,
    Answer,
    FleetEvent,
    Outcome,
    Seen,
    ask_subject,
)

EVERY_S = 0.2  # between two looks at what changed
ANSWER_S = 60.0  # for a host to press and verify


@frozen
class HostRow:
    """A host: what it last said of itself, when by the server's clock, and whether that is recent."""

    name: str
    alive: bool
    heard: float
    facts: Mapping[str, Any]

    @property
    def silence(self) -> str:
        """What its silence is called: nobody watches there, or it cannot be reached."""
        return "unwatched" if self.facts.get("ended") or self.facts.get("run") == "joined" else "unreachable"


@frozen
class SessionRow:
    """A session of a host.  Of a host that is unreachable the state is what it was."""

    host: HostRow
    facts: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.host.name}/{self.facts.get('target')}"

    @property
    def state(self) -> str:
        if not self.host.alive:
            return self.host.silence
        sure = self.facts.get("certainty") != "maybe"
        return f"{self.facts.get('state')}{'' if sure else '?'}"

    @property
    def since(self) -> float | None:
        """Since when it needs somebody, or its host was not heard, in seconds of the wall clock."""
        if not self.host.alive:
            return self.host.heard
        needs = self.facts.get("needs")
        if not isinstance(needs, dict) or not isinstance(needs.get("since"), str):
            return None
        try:
            return datetime.fromisoformat(needs["since"]).timestamp()
        except ValueError:
            return None


@frozen
class FleetItem:
    """What waits for a person on a host; `item` is as it was shown there."""

    host: HostRow
    item: Item

    @property
    def ref(self) -> str:
        return f"{self.host.name}/{self.item.id}"


@define
class FleetView:
    """What the buckets hold; `put` takes one entry after the other."""

    _rows: dict[str, tuple[dict[str, Any], float]] = field(factory=dict)
    _alive: dict[str, float] = field(factory=dict)
    _clock: Callable[[], float] = time.monotonic
    _latest: tuple[float, float] = (0.0, 0.0)  # an entry's time by the server's clock, and by ours

    @property
    def now(self) -> float:
        """The server's clock, as far as it is known."""
        at, ours = self._latest
        return at + self._clock() - ours

    def put(self, bucket: str, key: str, value: bytes | None, at: float) -> None:
        """One entry, written at that time of the server; None: it was taken away."""
        if at >= self._latest[0]:
            self._latest = at, self._clock()
        if bucket == ALIVE:
            self._alive[key] = at if value is not None else 0.0
            return
        plain = _plain(value) if value is not None else None
        if plain is None:
            self._rows.pop(key, None)
        else:
            self._rows[key] = plain, at

    def hosts(self) -> dict[str, HostRow]:
        """The hosts by name."""
        found = {}
        for key, (plain, at) in sorted(self._rows.items()):
            name, _, rest = key.partition(".")
            facts = plain.get("host")
            if rest == "host" and isinstance(facts, dict):
                heard = max(at, self._alive.get(name, 0.0))
                alive = name in self._alive and self.now - self._alive[name] < ALIVE_S
                found[name] = HostRow(name, alive, heard, {**facts, "run": plain.get("run")})
        return found

    def sessions(self) -> list[SessionRow]:
        """The sessions of the latest run of each host; those that need somebody first."""
        rows = [SessionRow(host, one) for host, one in self._of_hosts("session")]
        return sorted(rows, key=lambda row: (row.facts.get("needs") is None, row.host.alive, row.name))

    def items(self) -> list[FleetItem]:
        """What waits for a person, the oldest first."""
        found = [FleetItem(host, item) for host, one in self._of_hosts("item") if (item := item_of(one)) is not None]
        return sorted(found, key=lambda one: (one.item.created, one.ref))

    def item(self, host: str, id: int) -> FleetItem:
        """The open item of that number.  Raises UnknownName."""
        for one in self.items():
            if (one.host.name, one.item.id) == (host, id):
                return one
        known = host in self.hosts()
        why = "nothing of that number waits there now" if known else f"no host {host!r} is in the fleet"
        raise UnknownName("item", f"{host}/{id}", why, "see: stallkit fleet stuck list")

    def _of_hosts(self, kind: str) -> Iterator[tuple[HostRow, dict[str, Any]]]:
        hosts = self.hosts()
        for key, (plain, _) in self._rows.items():
            host, facts = hosts.get(key.partition(".")[0]), plain.get(kind)
            if host is not None and isinstance(facts, dict) and plain.get("run") == host.facts["run"]:
                yield host, facts


def _plain(value: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("version") == VERSION else None


def item_of(plain: Mapping[str, Any]) -> Item | None:
    """The item that a host sent; None for what is none.  It has no identity: nothing here presses."""
    try:
        found = structure(plain, ItemJson)
        times = {name: _seconds(getattr(found, name)) for name in ("created", "expires", "at")}
        return alike(Item, found, about="", identity="", **times) if found.id > 0 else None
    except (ValueError, OverflowError):
        return None


def _seconds(time: str | None) -> float | None:
    return None if time is None else datetime.fromisoformat(time).timestamp()


# --- reads ---


async def read(js: JetStreamContext) -> FleetView:
    """What the buckets hold now.  Raises what the bus raises."""
    view = FleetView()
    for name in (STATE, ALIVE):
        async with aclosing(_entries(js, name)) as entries:
            async for entry in entries:
                if entry is None:
                    break
                view.put(name, *entry)
    return view


async def changes(client: Client) -> AsyncIterator[FleetView]:
    """The same view several times a second, as it is then, until the connection ends.  Raises what the bus raises."""
    view, begun, js = FleetView(), set[str](), client.jetstream(timeout=bus.REPLY_S)

    async def follow(name: str) -> None:
        async for entry in _entries(js, name):
            if entry is None:
                begun.add(name)
            else:
                view.put(name, *entry)

    tasks = {name: asyncio.create_task(follow(name)) for name in (STATE, ALIVE)}
    try:
        while True:
            await asyncio.sleep(EVERY_S)
            if client.is_closed:  # they would wait for ever
                raise nats.errors.ConnectionClosedError
            for task in tasks.values():
                if task.done():
                    task.result()
            if len(begun) == len(tasks):
                yield view
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)


async def _entries(js: JetStreamContext, name: str) -> AsyncGenerator[tuple[str, bytes | None, float] | None, None]:
    """Key, value (None: it was taken away) and time of each entry of a bucket: the latest, then None, then each change.

    The client's own watcher may say that all was read before it has read anything.
    """
    config = api.ConsumerConfig(deliver_policy=api.DeliverPolicy.LAST_PER_SUBJECT, ack_policy=api.AckPolicy.NONE)
    subscription = await js.subscribe(f"$KV.{name}.>", stream=f"KV_{name}", config=config)
    try:
        info = await subscription.consumer_info()
        there = (info.num_pending or 0) + (info.delivered.consumer_seq if info.delivered else 0)
        for got in itertools.count():
            if got == there:
                yield None
            message = await _next(subscription, waits=got >= there)
            if message.metadata.sequence.consumer != got + 1:
                raise bus.BusError(name, "changes came too fast, and some were missed", "it reads all again")
            taken = (message.headers or {}).get("KV-Operation") in ("DEL", "PURGE")
            key, at = message.subject.removeprefix(f"$KV.{name}."), message.metadata.timestamp.timestamp()
            yield key, None if taken else message.data, at
    finally:
        with suppress(nats.errors.Error):
            await subscription.unsubscribe()


async def _next(subscription: JetStreamContext.PushSubscription, waits: bool) -> Msg:
    """The next message; with `waits` however long that takes."""
    while True:
        try:
            return await subscription.next_msg(timeout=bus.REPLY_S)
        except (nats.errors.TimeoutError, TimeoutError):
            if not waits:
                raise


async def events(js: JetStreamContext, since: float | None = None, host: str = "*") -> AsyncIterator[FleetEvent | None]:
    """Each event once, in order within a session, from that time or from now on; None whenever none is there yet."""
    seen, config = Seen(), api.ConsumerConfig(deliver_policy=api.DeliverPolicy.NEW)
    if since is not None:
        begin = datetime.fromtimestamp(since, UTC)
        config = api.ConsumerConfig(deliver_policy=api.DeliverPolicy.BY_START_TIME, opt_start_time=begin)
    while True:
        config.ack_policy = api.AckPolicy.NONE
        subscription = await js.subscribe(f"stallkit.event.{host}", stream=EVENTS, config=config)
        waits, got, latest = (await subscription.consumer_info()).num_pending or 0, 0, 0
        while True:
            try:
                message = await subscription.next_msg(timeout=bus.REPLY_S if waits else EVERY_S)
            except (nats.errors.TimeoutError, TimeoutError):
                yield None
                continue
            sequence = message.metadata.sequence
            if sequence.consumer != got + 1:
                break  # this client was too slow, and some were dropped: read on from the last one
            waits, got, latest = message.metadata.num_pending or 0, got + 1, sequence.stream
            found = FleetEvent.read(message.subject, message.headers or {}, message.data)
            if found is not None and seen.is_new(found):
                yield found
        await subscription.unsubscribe()
        if latest:
            begin_at = api.DeliverPolicy.BY_START_SEQUENCE
            config = api.ConsumerConfig(deliver_policy=begin_at, opt_start_seq=latest + 1)


# --- requests ---


async def ask(client: Client, host: str, operator: str, body: bytes, patience_s: float) -> Mapping[str, Any]:
    """What a host replies.  Raises StallkitError."""
    perhaps = "perhaps it was done" if b'"answer"' in body else "nothing was done"
    request = asyncio.ensure_future(client.request(ask_subject(host, operator), body, timeout=patience_s))
    while client.is_connected and not request.done():
        await asyncio.wait([request], timeout=EVERY_S)
    try:
        if not request.done():
            request.cancel()
            raise StallkitError("fleet", host, f"the connection broke: {perhaps}", "see: stallkit fleet list")
        reply = request.result()
    except nats.errors.NoRespondersError as error:
        why, todo = "no such host is connected: nothing was done", "see: stallkit fleet list"
        raise StallkitError("fleet", host, why, todo) from error
    except (nats.errors.TimeoutError, TimeoutError) as error:
        raise StallkitError(
            "fleet", host, f"it did not reply in time: {perhaps}", "see: stallkit fleet list"
        ) from error
    plain = _plain(reply.data)
    if plain is None:
        raise StallkitError("fleet", host, "its reply cannot be read", "update stallkit-fleet here or there")
    return plain


async def answer(client: Client, operator: str, verb: str, shown: FleetItem, text: str) -> Mapping[str, Any]:
    """Answer what a person was shown: ask its host for an offer, then use it.  Raises StallkitError."""
    host, item = shown.host.name, shown.item
    offered = await ask(client, host, operator, OFFER, bus.REPLY_S)
    offer = offered.get("offer")
    if not isinstance(offer, str):
        return {"result": Outcome.NOT_TAKEN, "why": "it made no offer", **offered}
    body = Answer(offer, verb, item.id, item.revision, item.action, text).body
    return await ask(client, host, operator, body, ANSWER_S)
