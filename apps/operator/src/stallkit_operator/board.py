"""What a person who looks after many sessions sees: a row for each session and sandbox.  Pure.

It joins what the supervisors say, the sessions that stallkit started, the sandboxes, and what waits in the queue.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Iterable, Mapping

from attrs import evolve, frozen
from stallkit_sessions.model import ExitRecord
from stallkit_sessions.register import RunningSession

from stallkit_operator.item import Item
from stallkit_operator.orders import ref

_OVER = ("ended", "gone")


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
    item: int | None = None
    sandbox: bool = False
    kind: str = ""  # of what it asks
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
class Board:
    """All that is there, as it was read at a time of the wall clock."""

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

    def of(self, row: Row) -> list[Item]:
        """What waits of that session, the oldest first."""
        return [one for one in self.items if key_of(one) == row.key]


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
    """Those that a person is asked by first, what is over last.

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
        name = name_of(item.session)
        row = found.get(name) or Row(name, item.session, "unknown")
        if item.open and row.item is None:  # the oldest
            server = row.server or item.server
            found[name] = evolve(row, item=item.id, kind=item.kind or "notice", asks=item.line, server=server)
    return sorted(
        [*found.values(), *others],
        key=lambda row: (row.item is None, row.item or 0, row.state.strip("()?") in _OVER, row.name, row.host),
    )


def _started(one: RunningSession | ExitRecord) -> Row:
    session = one.session
    agent = session.command[0].rpartition("/")[2] if session.command else ""
    if isinstance(one, ExitRecord):
        return Row(session.name, session.name, "ended", one.ended_at, agent=agent)
    return Row(session.name, session.name, "running" if one.bound else "starting", session.started_at, agent=agent)


def _watched(name: str, status: Mapping[str, Any], known: Row | None) -> Row:
    needs, pack = status.get("needs"), (status.get("signature") or "").partition(":")[0]
    since = datetime.fromisoformat(needs["since"]).timestamp() if needs else None
    state = status["state"] + ("?" if status.get("certainty") == "maybe" else "")
    if status.get("supervisor") is None:  # what was noted last: nobody looks now
        state, since = f"({state})", status.get("seen_at")
    agent = status.get("foreground") or pack or (known.agent if known else "")
    asks = status.get("halted") or status.get("error") or status.get("kind") or ""
    target = known.target if known else status["target"]
    return Row(name, target, state, since, asks, agent, server=status.get("server"))
