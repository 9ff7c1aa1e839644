"""What goes over the bus, as values: events, the rows of the list, and requests to a host.  Pure.

Which host an event is of, and who sends a request, is read from the subject alone: the server lets each user write to
their own subjects only, whatever a message says of itself.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from enum import StrEnum
from typing import Any, Mapping
from urllib.parse import quote

from attrs import Factory, define, frozen

from stallkit.jsonlog import encode

VERSION = 1
ABOUT = f"stallkit fleet {VERSION}"  # what a stream or a bucket says of itself
EVENTS = "STALLKIT_EVENTS"  # the stream of all events
STATE = "stallkit_state"  # the bucket of rows and items, by host
ALIVE = "stallkit_alive"  # the bucket of heartbeats, which the server forgets after `ALIVE_S`
POLICY = "stallkit_policy"  # the bucket of the policy's versions
ALIVE_S, BEAT_S = 15.0, 5.0
MOST = 500_000  # bytes of one event: of a longer one goes only what it was
OFFER_S = 15.0  # for an answer, after its host was asked for an offer
_PLAIN = "".join(map(chr, range(0x20, 0x7F))).replace('"', "").replace("%", "")


def event_subject(host: str) -> str:
    """Where the events of a host go."""
    return f"stallkit.event.{host}"


def ask_subject(host: str, operator: str) -> str:
    """Where a person asks a host."""
    return f"stallkit.ask.{host}.{operator}"


def session_key(host: str, target: str) -> str:
    """The key of a session's row: its name may have any characters."""
    return f"{host}.session.{hashlib.sha256(target.encode('utf-8', 'replace')).hexdigest()[:24]}"


def item_key(host: str, place: int) -> str:
    """The key of what waits for a person: a place is used again, as a mark of each deleted key stays for a week."""
    return f"{host}.item.{place}"


# --- events ---


@frozen
class FleetEvent:
    """An event of a host.  Within one `epoch` of a host the sequence only grows, also over restarts."""

    host: str
    epoch: str
    sequence: int
    event: Mapping[str, Any]

    @property
    def target(self) -> str:
        return str(self.event.get("target", ""))

    @property
    def id(self) -> str:
        """The same however often it is sent."""
        return f"{self.epoch}-{self.sequence}"

    @property
    def headers(self) -> dict[str, str]:
        """The attributes of CloudEvents 1.0 (binary mode over NATS), with the id by which doubles are dropped."""
        named = {
            "specversion": "1.0",
            "id": self.id,
            "source": f"//{self.host}/stallkit",
            "type": f"stallkit.{self.event.get('event')}",
            "time": str(self.event.get("time", "")),
            "datacontenttype": "application/json",
            "sequence": str(self.sequence),
            "epoch": self.epoch,
            **({"subject": self.target} if self.target else {}),
        }
        found = {f"ce-{name}": quote(value, safe=_PLAIN)[:1_000] for name, value in named.items() if value}
        return {"Nats-Msg-Id": self.id, **found}

    @property
    def body(self) -> bytes:
        """The event, redacted, as one line of JSON."""
        return encode(self.event).encode()

    @classmethod
    def read(cls, subject: str, headers: Mapping[str, str], data: bytes) -> FleetEvent | None:
        """The event in a message; None for what is none."""
        try:
            event = json.loads(data)
            epoch, sequence = headers["ce-epoch"], int(headers["ce-sequence"])
        except (ValueError, KeyError, RecursionError, TypeError):
            return None
        if not isinstance(event, dict) or not isinstance(event.get("event"), str):
            return None
        return cls(subject.rpartition(".")[2], epoch, sequence, event)


@define
class Seen:
    """What a reader has seen, so that it knows an event that is sent again, after however long, from a new one."""

    _last: dict[tuple[str, str], tuple[str, int]] = Factory(dict)

    def is_new(self, one: FleetEvent) -> bool:
        """Whether this event was not seen before; then it is now."""
        key = one.host, one.target
        epoch, sequence = self._last.get(key, ("", 0))
        if epoch == one.epoch and one.sequence <= sequence:
            return False
        self._last[key] = one.epoch, one.sequence
        return True


def shortened(event: Mapping[str, Any], size: int) -> Mapping[str, Any]:
    """The event, of that many bytes; of one that is too long for the bus only what it was, and how long."""
    if size <= MOST:
        return event
    head = {name: str(event.get(name, ""))[:200] for name in ("time", "event", "target")}
    return {"version": VERSION, **head, "left_out_bytes": size}


# --- requests to a host ---

OFFER = json.dumps({"version": VERSION, "do": "offer"}).encode()  # asks a host for an offer


class Outcome(StrEnum):
    """What a host says of a request; the first five are those of `stallkit stuck`."""

    DONE = "done"
    REFUSED = "refused"
    CHANGED = "changed"
    UNSEEN = "unseen"
    OVER = "over"
    NOT_TAKEN = "not_taken"  # late, replayed, no right, or nothing that can be read: nothing was done


@frozen
class Answer:
    """An answer to one item of a host, bound to the item as it was shown; `offer` is the host's own, for this once."""

    offer: str
    verb: str
    item: int
    revision: int
    action: str
    text: str = ""

    @property
    def body(self) -> bytes:
        names = ("offer", "verb", "item", "revision", "action", "text")
        return json.dumps(
            {"version": VERSION, "do": "answer", **{name: getattr(self, name) for name in names}}
        ).encode()

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Answer:
        """Raises ValueError for anything else."""
        kinds = {"offer": str, "verb": str, "item": int, "revision": int, "action": str, "text": str}
        for name, kind in kinds.items():
            if type(plain.get(name)) is not kind:
                raise ValueError(f"its {name} is no {'text' if kind is str else 'number'}")
        return cls(**{name: plain[name] for name in kinds})


def read_request(data: bytes) -> Mapping[str, Any]:
    """The request in a message.  Raises ValueError for what is none."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is no request") from error
    if not isinstance(found, dict) or found.get("version") != VERSION:
        raise ValueError(f"it is no request of version {VERSION}: update stallkit-fleet")
    return found


class NotTaken(ValueError):
    """A request that a host does not take; nothing was done."""


@define
class Offers:
    """What a host has offered to take an answer for: each once, from the one who asked, and not for long.

    The time is the host's own, so that no other clock matters, and no captured request can be sent again.
    """

    most: int = 1_000
    _open: dict[str, tuple[str, float]] = Factory(dict)
    _used: dict[str, None] = Factory(dict)

    def make(self, operator: str, now: float) -> str:
        """A new offer for this person."""
        self._open = {key: one for key, one in self._open.items() if now - one[1] < 60 * OFFER_S}
        if len(self._open) >= self.most:
            raise NotTaken(f"{self.most} answers are under way here: try again later")
        offer = secrets.token_urlsafe(18)
        self._open[offer] = operator, now
        return offer

    def take(self, offer: str, operator: str, now: float) -> None:
        """Use it up.  Raises NotTaken."""
        if offer in self._used:
            raise NotTaken("it was sent before: nothing more was done")
        found = self._open.pop(offer, None)
        if found is None or found[0] != operator:
            raise NotTaken("this host made no such offer to you: nothing was done")
        self._used[offer] = None
        while len(self._used) > self.most:
            del self._used[next(iter(self._used))]
        if now - found[1] > OFFER_S:
            raise NotTaken(
                f"it came {now - found[1]:.0f} s after the host was asked, {OFFER_S:.0f} are allowed: answer again"
            )
