"""What a person who looks after many sessions sees: one list of them, and who asks for a person first.  Pure.

It joins what the supervisors say, the sessions that stallkit started, the sandboxes, and what waits in the queue.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Any, Iterable, Mapping

from attrs import evolve, frozen
from stallkit_sessions.model import ExitRecord
from stallkit_sessions.register import RunningSession

from stallkit.cli.states import look_of
from stallkit_operator.item import Item
from stallkit_operator.orders import ref


@frozen
class Row:
    """One session or sandbox; `target` reaches its screen, `since` is in seconds of the wall clock."""

    name: str
    target: str
    state: str
    since: float | None = None
    asks: str = ""
    agent: str = ""
    branch: str = ""
    sandbox: bool = False
    server: str | None = None  # the socket of its tmux server, if that is known
    host: str = ""  # empty: this machine
    facts: tuple[str, ...] = ()  # of another host's: what is known here of it, in lines

    @property
    def key(self) -> str:
        """What it is called among the sessions of all hosts, whose own names have no slash."""
        return f"{self.host}/{self.name}"


@frozen
class FarItem(Item):
    """What waits for a person on another host, as it is shown there; `alive`: the host was heard just now."""

    host: str = ""
    alive: bool = True


def host_of(item: Item) -> str:
    """The other host that asks; empty: this machine does."""
    return item.host if isinstance(item, FarItem) else ""


def ref_of(item: Item) -> str:
    """What it is called in an order."""
    return ref(host_of(item), item.id)


def key_of(item: Item) -> str:
    """The key of the session that asks."""
    return f"{host_of(item)}/{name_of(item.session)}"


@frozen
class Entry:
    """A line of the list: a session, and one thing that it asks if it asks any."""

    row: Row
    item: Item | None = None

    @property
    def key(self) -> str:
        """What it is called in the list: no session is called as an item is."""
        return ref_of(self.item) if self.item else self.row.key

    @property
    def state(self) -> str:
        """What its session does: whatever asks a person waits."""
        if isinstance(self.item, FarItem) and not self.item.alive:
            return "unreachable"
        return "waiting" if self.item else self.row.state

    @property
    def since(self) -> float | None:
        """Since when, in seconds of the wall clock; None if that is unknown."""
        return self.item.created if self.item else self.row.since

    @property
    def asks(self) -> str:
        """What it asks, in words; of one that asks nothing, why it is as it is."""
        return self.item.line if self.item else self.row.asks


@frozen
class Board:
    """All sessions and questions, as they were read at a time of the wall clock."""

    rows: tuple[Row, ...] = ()
    items: tuple[Item, ...] = ()  # the oldest first
    at: float = 0.0
    host: str = ""  # what this machine is called in its fleet; empty: it is in none
    trouble: str = ""  # why nothing new is heard of the other hosts

    def item(self, ref: str) -> Item | None:
        """The open item that is called that."""
        return next((one for one in self.items if ref_of(one) == ref), None)

    def row(self, key: str) -> Row | None:
        """The session that is called that."""
        return next((one for one in self.rows if one.key == key), None)

    @cached_property
    def entries(self) -> list[Entry]:
        """All of it as one list: who waits for a person first, the oldest of these first of all, what is over last."""
        known = {row.key: row for row in self.rows}
        asking = [Entry(known.get(key_of(one)) or _asking(one), one) for one in self.items]
        asked = {one.row.key for one in asking}
        rest = [Entry(row) for row in sorted(self.rows, key=lambda row: (row.name, row.host)) if row.key not in asked]
        return sorted([*asking, *rest], key=lambda one: look_of(one.state).urgency)


def _asking(item: Item) -> Row:
    """The session of an item of which nothing else is known."""
    return Row(name_of(item.session), item.session, "unknown", server=item.server, host=host_of(item))


def name_of(target: str) -> str:
    """What a session is called in each of its sources.

    >>> name_of("tmux:web")
    'web'
    """
    return target.removeprefix("tmux:")


def rows(
    statuses: Iterable[Mapping[str, Any]],
    sessions: Iterable[RunningSession | ExitRecord],
    branches: Mapping[str, str | None],
    items: Iterable[Item],
    others: Iterable[Row] = (),
) -> list[Row]:
    """A row for each session, each sandbox and each session that asks something.

    `statuses` are rows of ``stallkit status --json``, `branches` are those of the sandboxes whose manifests name one,
    `others` are the rows of other hosts.
    """
    found: dict[str, Row] = {}
    for one in sessions:
        found[one.session.name] = _started(one)
    for status in statuses:
        name = name_of(status["target"])
        known = found.get(name)
        if known is None or known.state == "running":  # of one that ended, a supervisor's last look is older
            found[name] = _watched(name, status, known)
    for name, branch in branches.items():
        row = found.get(name) or Row(name, name, "not started")
        found[name] = evolve(row, branch=branch or "", sandbox=True)
    for item in items:
        row = found.get(name_of(item.session)) or _asking(item)
        found[row.name] = evolve(row, server=row.server or item.server)
    return [*found.values(), *others]


def _started(one: RunningSession | ExitRecord) -> Row:
    session = one.session
    agent = session.command[0].rpartition("/")[2] if session.command else ""
    if isinstance(one, ExitRecord):
        return Row(session.name, session.name, "ended", one.ended_at, agent=agent)
    return Row(session.name, session.name, "running" if one.bound else "starting", session.started_at, agent=agent)


def _watched(name: str, status: Mapping[str, Any], known: Row | None) -> Row:
    needs, pack = status.get("needs"), (status.get("signature") or "").partition(":")[0]
    since = datetime.fromisoformat(needs["since"]).timestamp() if needs else None
    state = "halted" if status.get("halted") else status["state"] + ("?" if status.get("certainty") == "maybe" else "")
    if status.get("supervisor") is None:  # what was noted last: nobody looks now
        state, since = f"({state})", status.get("seen_at")
    agent = status.get("foreground") or pack or (known.agent if known else "")
    asks = status.get("halted") or status.get("error") or status.get("kind") or ""
    target = known.target if known else status["target"]
    return Row(name, target, state, since, asks, agent, server=status.get("server"))
