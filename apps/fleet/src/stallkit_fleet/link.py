"""A host's side of the fleet, beside its supervisor: events, rows and items go out, answers and policies come in.

It runs in a thread with a loop of its own, and the supervisor does not notice how the bus is.  What happens is in the
supervisor's log first; from there it is sent at least once, in order within a session.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
import time
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping

import nats.errors
from attrs import define, evolve, field
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.errors import KeyNotFoundError, NotFoundError
from stallkit_operator.answering import carry_out
from stallkit_operator.cli.stuck_commands import manifests_log, open_session
from stallkit_operator.item import Item, Source, Who
from stallkit_operator.orders import Order, Verb
from stallkit_operator.queue import Queue
from stallkit_operator.sandbox.sandbox_start import composer_of
from stallkit_supervisor.cli.status_commands import watched_rows

from stallkit.config import queue_file
from stallkit.detect.engine import Engine
from stallkit.distributions import own_version
from stallkit.errors import StallkitError
from stallkit.jsonio import unstructure
from stallkit.jsonlog import encode
from stallkit.transports.base import Options, Transport
from stallkit_fleet import bus
from stallkit_fleet.messages import (
    ALIVE,
    BEAT_S,
    MOST,
    POLICY,
    STATE,
    VERSION,
    Answer,
    NotTaken,
    Offers,
    Outcome,
    ask_subject,
    event_subject,
    item_key,
    read_request,
    session_key,
    shortened,
)
from stallkit_fleet.outbox import Outbox, Pending
from stallkit_fleet.policies import PolicyRefused, PolicyVersion, keep, kept_version
from stallkit_fleet.settings import FleetSettings, folder, policy_file
from stallkit_fleet.signing import is_signed

POLL_S = 0.2  # between two looks at the log
ROWS_S = 5.0  # between two looks at the rows, if nothing happens
POLICY_S = 5.0
LANES = 64  # events of different sessions that are under way at once
PAUSES_S = (1.0, 2.0, 4.0, 8.0, 15.0)  # between two tries to reach the bus
WORDS = 20_000  # characters of what is asked, of which an agent may write a million
_CUT = "[the rest stands on its own list]"
KEPT_S = 43_200.0  # after which a row that did not change is sent again, before the bus forgets it
# What goes out of a session's row: nothing that changes with each look.
_COLUMNS = ("target", "state", "certainty", "kind", "signature", "foreground", "needs", "halted", "held", "error")


@contextmanager
def running(
    fleet: FleetSettings,
    log: Path,
    options: Options,
    engine: Callable[[], Engine],
    renew: Callable[[], object],
    tell: Callable[[str], object],
) -> Iterator[None]:
    """A link in a thread of its own, while the context lasts."""
    link = Link(fleet, log, options, engine, renew, tell)
    thread = threading.Thread(target=lambda: asyncio.run(link.run()), name="stallkit fleet", daemon=True)
    thread.start()
    try:
        yield
    finally:
        link.stop()
        thread.join(timeout=bus.REPLY_S)


@define
class Link:
    """The host's side; `run` ends after `stop`.  `renew` is called if another policy is in force."""

    fleet: FleetSettings
    log: Path
    options: Options
    engine: Callable[[], Engine]
    renew: Callable[[], object]
    tell: Callable[[str], object]
    pauses_s: tuple[float, ...] = PAUSES_S
    run_id: int = field(factory=lambda: secrets.randbits(48))  # rows of an earlier run do not count
    offers: Offers = field(factory=Offers)
    _sent: dict[str, tuple[bytes, float]] = field(factory=dict)  # what stands in the bucket, and since when
    _places: dict[int, int] = field(factory=dict)  # of items, by id: a bucket keeps a mark of each key that was deleted
    _refused: str = ""  # why the latest policy was not taken
    _news: bool = True
    _replying: set[asyncio.Task[None]] = field(factory=set)
    _over: threading.Event = field(factory=threading.Event)
    _outbox: Outbox = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._outbox = Outbox(self.log, folder(), self.fleet.name)

    def stop(self) -> None:
        """End, after what is under way; from any thread."""
        self._over.set()

    async def run(self) -> None:
        """Be a host until `stop`: wait while another process sends the same log, and try again while the bus fails."""
        told, tries = "", 0
        while not self._over.is_set():
            try:
                with self._outbox.only() as ours:
                    if ours:
                        async with bus.connected(self.fleet, self.fleet.credentials, f"host.{self._name}") as client:
                            await self._begin(client)
                            if told:
                                self.tell("fleet: it is reached again")
                            told, tries = "", 0
                            await self._serve(client)
                    else:
                        await self._pause(2.0)
            except Exception as error:  # whatever it is: a host that says nothing any more would be worse
                if str(error) != told:
                    self.tell(f"{error}; what happens here is kept, and sent later")
                told = str(error)
                await self._pause(self.pauses_s[min(tries, len(self.pauses_s) - 1)])
                tries += 1

    @property
    def _name(self) -> str:
        return self.fleet.name

    async def _begin(self, client: Client) -> None:
        """See that the buckets are there and take a heartbeat."""
        js = client.jetstream(timeout=bus.REPLY_S)
        await bus.check_version(js, str(self.fleet.url))
        await self._beat(js)

    async def _serve(self, client: Client) -> None:
        """Everything at once, until the connection breaks or it is to end."""
        js = client.jetstream(timeout=bus.REPLY_S)
        self._sent, self._news = dict.fromkeys(self._sent, (b"", 0.0)), True  # what ended meanwhile is taken away
        self._outbox.again()
        await client.subscribe(ask_subject(self._name, "*"), cb=self._asked)
        tasks = [asyncio.create_task(each(js)) for each in (self._events, self._rows, self._beats, self._policies)]
        tasks.append(asyncio.create_task(self._until_over(client)))
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await self._beat(js, ended=True)

    async def _until_over(self, client: Client) -> None:
        """Until it is to end, and what was written until then is sent."""
        while not self._over.is_set() or self._outbox.behind:
            if not client.is_connected:
                raise bus.BusError(str(self.fleet.url), "the connection broke", "it is tried again")
            await asyncio.sleep(POLL_S)

    async def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self._over.is_set() and time.monotonic() < end:
            await asyncio.sleep(POLL_S)

    # --- out ---

    async def _events(self, js: JetStreamContext) -> None:
        """Send what the log has, in order within each session; the mark follows."""
        while True:
            batch = self._outbox.read()
            if not batch:
                await asyncio.sleep(POLL_S)
                continue
            self._news = True
            lanes: dict[str, list[Pending]] = {}
            for one in batch:
                lanes.setdefault(one.event.target, []).append(one)
            free = asyncio.Semaphore(LANES)
            sent: set[int] = set()
            results = await asyncio.gather(
                *(self._lane(js, lane, free, sent) for lane in lanes.values()), return_exceptions=True
            )
            whole = next((at for at, one in enumerate(batch) if one.event.sequence not in sent), len(batch))
            if whole:
                self._outbox.sent(batch[whole - 1].then)
            for error in results:
                if isinstance(error, BaseException):
                    raise error

    async def _lane(self, js: JetStreamContext, lane: list[Pending], free: asyncio.Semaphore, sent: set[int]) -> None:
        """Send the events of one session, each once the one before it is on the server's disk."""
        for one in lane:
            async with free:
                try:
                    await js.publish(event_subject(self._name), one.event.body, headers=one.event.headers)
                except nats.errors.MaxPayloadError:  # of a server that takes less than others
                    short = evolve(one.event, event=shortened(one.event.event, MOST + 1))
                    await js.publish(event_subject(self._name), short.body, headers=short.headers)
            sent.add(one.event.sequence)

    async def _rows(self, js: JetStreamContext) -> None:
        """Keep the rows and the items in the bucket as they are here."""
        state, looked = bus.bucket(js, STATE), 0.0
        while True:
            if self._news or time.monotonic() - looked >= ROWS_S:
                self._news, looked = False, time.monotonic()
                found = await asyncio.to_thread(self._found)
                for key in [key for key in self._sent if key not in found]:
                    await state.delete(key)
                    del self._sent[key]
                for key, row in found.items():
                    before, at = self._sent.get(key, (b"", 0.0))
                    if before != row or time.monotonic() - at > KEPT_S:
                        with suppress(nats.errors.MaxPayloadError):  # it stays on the host's own list
                            await state.put(key, row)
                        self._sent[key] = row, time.monotonic()
            await asyncio.sleep(POLL_S)

    def _found(self) -> dict[str, bytes]:
        """The rows of the sessions that a supervisor watches, and what waits for a person, by key."""
        found = {}
        for row in watched_rows()[0]:
            if row.get("supervisor") is not None:
                kept = {name: row.get(name) for name in _COLUMNS}
                if kept["needs"]:  # how often it was looked at changes with each look
                    kept["needs"] = {name: kept["needs"].get(name) for name in ("what", "since", "told")}
                found[session_key(self._name, row["target"])] = self._dumped({"session": kept})
        if queue_file().exists():
            with closing(Queue(queue_file())) as queue:
                items = {item.id: item for item in queue.items()}
            self._places = {id: place for id, place in self._places.items() if id in items}
            for id, item in items.items():
                if id not in self._places:
                    self._places[id] = next(place for place in count(1) if place not in self._places.values())
                found[item_key(self._name, self._places[id])] = self._dumped({"item": _told(item)})
        return found

    def _dumped(self, facts: Mapping[str, Any]) -> bytes:
        return encode({"version": VERSION, "run": self.run_id, **facts}).encode()

    async def _beats(self, js: JetStreamContext) -> None:
        """Say that this host is alive, how it is, and which policy is in force."""
        while True:
            await self._beat(js)
            await asyncio.sleep(BEAT_S)

    async def _beat(self, js: JetStreamContext, ended: bool = False) -> None:
        body = self._dumped({"host": {**self._pulse(), "ended": ended}})
        await bus.bucket(js, STATE).put(f"{self._name}.host", body)
        if ended:
            await bus.bucket(js, ALIVE).delete(self._name)
        else:
            await bus.bucket(js, ALIVE).put(self._name, body)

    def _pulse(self) -> dict[str, Any]:
        fleet = self.fleet
        kept = kept_version(policy_file(), fleet.policy_key)
        return {
            "at": time.time(),
            "stallkit": own_version(),
            "behind_bytes": self._outbox.behind,
            "sent": self._outbox.mark.sequence,
            "lost_files": self._outbox.mark.lost,
            "operators": fleet.operators,
            "policy": kept.version if kept else None,
            "takes_policies": fleet.policy_key is not None,
            "policy_refused": self._refused or None,
        }

    # --- in ---

    async def _policies(self, js: JetStreamContext) -> None:
        """Take the latest policy if this machine takes any, it is newer, signed and valid."""
        fleet, policies = self.fleet, bus.bucket(js, POLICY)
        while fleet.policy_key:
            try:
                entry = await policies.get("policy")
                self._take(PolicyVersion.loaded(entry.value or b""), fleet.policy_key)
                self._refused = ""
            except PolicyRefused as refused:
                if str(refused) != self._refused:
                    self.tell(str(refused))
                self._refused = str(refused)
            except (KeyNotFoundError, NotFoundError):
                self._refused = ""
            await asyncio.sleep(POLICY_S)
        await asyncio.Event().wait()

    def _take(self, found: PolicyVersion, public: str) -> None:
        kept = kept_version(policy_file(), public)
        if kept is not None and found.version <= kept.version:
            if found != kept:
                raise PolicyRefused(found.version, f"{kept.version} was taken before it: roll back by a new version")
            return
        if not is_signed(found.signed_part, found.signature, public):
            raise PolicyRefused(found.version, "it is not signed by the key of [fleet] policy_key")
        assert found.policy  # it raises where it is none
        keep(found, public, policy_file())
        self.renew()

    async def _asked(self, message: Msg) -> None:
        """Answer one request; whoever sent it is who the server let write to that subject."""
        operator = message.subject.rpartition(".")[2]
        task = asyncio.create_task(self._replied(message, operator))
        self._replying.add(task)
        task.add_done_callback(self._replying.discard)

    async def _replied(self, message: Msg, operator: str) -> None:
        try:
            reply = await self._done(message.data, operator)
        except (NotTaken, ValueError) as error:
            reply = {"result": Outcome.NOT_TAKEN, "why": str(error)}
        except StallkitError as error:
            reply = {"result": Outcome.REFUSED, "why": str(error)}
        whole = {"version": VERSION, "host": self._name, **reply}
        text = json.dumps(whole) if "offer" in reply else encode(whole)  # an offer may look like a secret
        with suppress(*bus.FAILURES):
            await message.respond(text.encode())

    async def _done(self, data: bytes, operator: str) -> dict[str, Any]:
        if operator not in self.fleet.operators:
            raise NotTaken(f"{operator} may not answer here: nothing was done; [fleet] operators of this host says who")
        request = read_request(data)
        now = time.monotonic()
        match request.get("do"):
            case "offer":
                return {"offer": self.offers.make(operator, now), "at": time.time()}
            case "answer":
                answer = Answer.read(request)
                self.offers.take(answer.offer, operator, now)
                return await asyncio.to_thread(self._answered, answer, operator)
        raise NotTaken("this host does not know this request: update stallkit-fleet")

    def _answered(self, answer: Answer, operator: str) -> dict[str, Any]:
        """Carry it out as `stallkit stuck` does, if the item is still as it was shown."""
        try:
            order = Order(Verb(answer.verb), answer.item, answer.text)
        except ValueError:
            raise NotTaken(f"there is no answer {answer.verb!r}: nothing was done") from None
        with closing(Queue(queue_file())) as queue:
            item = queue.item(answer.item)
            if item.open and item.action != answer.action:
                raise NotTaken("the question changed since it was shown to you: nothing was done; look again")
            who = Who(operator, "fleet")
            reach = partial(_reached, options=self.options)
            done = carry_out(queue, order, who, self.engine, reach, answer.revision, manifests_log().append)
        self._news = True
        return {"result": str(done.result), "why": done.why, "item": _told(done.item)}


def _told(item: Item) -> dict[str, Any]:
    """The item as it goes out, with the beginning of what is asked."""
    whole = len(item.words) <= WORDS
    return unstructure(item if whole else evolve(item, words=f"{item.words[:WORDS]}\n{_CUT}"))


def _reached(item: Item, options: Options) -> Transport | None:
    if item.source is Source.AGENT:
        return composer_of(item)
    return open_session(item.session, item.server, options)
