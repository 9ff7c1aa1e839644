"""The queue on the disk: what a person has to answer survives kill -9 of everybody, and is answered once.

One file for each user (`stallkit.database`), which supervisors, endpoints and commands share.  What is asked passes the
redactor; the answer to a notice is kept as it was typed, since it is delivered as it was typed.
"""

from __future__ import annotations

import json
import secrets
import socket
import sqlite3
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Mapping

from attrs import asdict, evolve
from stallkit_supervisor.notification import ClearedBy

from stallkit.database import BUSY_S, Database
from stallkit.errors import StallkitError, StoreError
from stallkit.jsonio import structure
from stallkit.probes.procfs import Process, boot_id
from stallkit.redact.redact import redact
from stallkit.transports.tmux.identity import Identity
from stallkit_operator.item import (
    OPEN,
    Category,
    Choice,
    ChoiceKind,
    Claim,
    Delivery,
    Draft,
    Item,
    ItemState,
    Source,
    Who,
)

FETCHED_KEPT = 100  # keys of one item, but for those that came with words of their own
CLOSED_KEPT = 10_000  # the newest that are over; those that are open are kept in any case
SHOWN_KEPT_S = 30 * 86_400.0  # longer than a message waits
_AUTHOR = Who("stallkit", "the clock")

_STEPS = (
    """
create table if not exists item (
    id integer primary key autoincrement, session text not null, source text not null, kind text,
    words text not null, options text not null, action text not null, about text not null, identity text not null,
    created real not null, expires real, state text not null,
    by text, at real, through text, text text, claim text, server text
);
create index if not exists item_open on item (state, session);
create table if not exists message (
    sandbox text not null, key text not null, item integer not null, at real not null,
    primary key (sandbox, key)
) without rowid;
create index if not exists message_of on message (item);
""",
    "alter table item add column category text",
    "alter table item add column delivery text not null default 'held'",
    """
alter table item add column revision integer not null default 1;
create table if not exists shown (
    place text not null, item integer not null, revision integer not null, as_json integer not null, at real not null,
    primary key (place, item)
) without rowid;
create index if not exists shown_at on shown (at);
create index if not exists item_kept on item (id) where delivery = 'kept';
""",
    """
alter table item add column told integer not null default 1;
alter table item add column told_at real;
""",
    """
alter table item add column asked text not null default '';
alter table item add column questions integer not null default 1;
alter table item add column several integer not null default 0;
""",
)
_OPEN = ", ".join(f"'{state}'" for state in sorted(OPEN))


class NoItem(StallkitError):
    """There is no item of that number."""

    def __init__(self, id: int) -> None:
        super().__init__("no item", str(id), "nothing of that number was asked", "see: stallkit stuck list --all")


def claim_of(who: Who) -> Claim:
    """A claim of this process, for one answer."""
    ours = Process.ours()
    return Claim(who, ours.pid, ours.started, boot_id(), secrets.token_hex(8))


def _lives(claim: Claim | None) -> bool:
    return claim is not None and claim.boot == boot_id() and Process(claim.pid, claim.started).alive()


def _server_is_gone(item: Item) -> bool:
    """Whether its tmux server ended: no such process, and nobody at its socket, whose folder is here."""
    if item.server is None or not Path(item.server).parent.is_dir():
        return False
    with suppress(ValueError):  # of no pane of tmux
        if Identity.of(item.identity).server.process() is None:
            with socket.socket(socket.AF_UNIX) as client:
                try:
                    client.connect(item.server)
                except (FileNotFoundError, ConnectionRefusedError):
                    return True
                except OSError:
                    pass
    return False


class Queue(Database):
    """What a person has to answer, by number; numbers are never used again."""

    def __init__(self, path: Path, *, busy_s: float = BUSY_S, now: Callable[[], float] = time.time) -> None:
        """Open or make it; raises StoreError.  `now` is the wall clock, in seconds."""
        super().__init__(path, "queue", _STEPS, busy_s=busy_s)
        self._now = now

    def file(self, draft: Draft) -> Item:
        """What is open of the same prompt, bound to how it looks now, or a new item: it is on the disk on return."""
        with self.writing() as base:
            row = base.execute(
                f"select * from item where session = ? and identity = ? and about = ? and state in ({_OPEN})"
                " and source != 'agent' order by id desc limit 1",
                (_plain(draft.session), draft.identity, draft.about),
            ).fetchone()
            if row is None:
                return self._insert(base, draft)
            before = _item(row)
            return _write(base, before, self._told(_bound(before, draft)))

    def told(self, id: int) -> Item:
        """Note that a person hears of it again, unchanged.  Raises NoItem."""
        return self._change(id, self._told)

    def _told(self, item: Item) -> Item:
        return evolve(item, told=item.told + 1, told_at=self._now())

    def notify(
        self,
        sandbox: str,
        key: str,
        words: str,
        expires: float | None = None,
        delivery: Delivery = Delivery.HELD,
    ) -> Item:
        """An agent's message, once by its key: a new item, or appended to the one that waits for an answer.

        It is on the disk on return.  The same key finds its item again, whatever became of it.  Raises ValueError if
        too much waits already.
        """
        with self.writing() as base:
            if (row := _by_key(base, sandbox, key)) is not None:
                return _item(row)
            row = base.execute(
                f"select * from item where session = ? and source = 'agent' and state in ({_OPEN})"
                " and (expires is null or expires > ?) order by id desc limit 1",
                (sandbox, self._now()),
            ).fetchone()
            if row is None:
                item = self._insert(base, Draft(sandbox, Source.AGENT, None, words, expires=expires, delivery=delivery))
            else:
                before = _item(row)
                item = _write(base, before, before.appended(_redacted(words), delivery))
            given = (sandbox, key, item.id, self._now())
            base.execute("insert into message (sandbox, key, item, at) values (?, ?, ?, ?)", given)
            return item

    def known(self, sandbox: str, key: str) -> Item | None:
        """The item of a message that was filed before; None: it is new."""
        with self.reading() as base:
            row = _by_key(base, sandbox, key)
        return _item(row) if row else None

    def fetch(self, sandbox: str, key: str) -> Item | None:
        """The item of that key, or the newest that a hook of the sandbox filed, now that somebody waits for its reply.

        That one is found again by the key.  None: there is none.  Raises NotOpen while its reply is being typed.
        """
        with self.writing() as base:
            row = _by_key(base, sandbox, key)
            row = (
                row
                or base.execute(
                    "select * from item where session = ? and source = 'agent' and delivery != 'held'"
                    " order by id desc limit 1",
                    (sandbox,),
                ).fetchone()
            )
            if row is None:
                return None
            before = _item(row)
            item = _write(base, before, before.awaited(_lives(before.claim)))
            base.execute(  # each costs its sandbox nothing
                "insert or ignore into message (sandbox, key, item, at) select ?, ?, ?, ?"
                " where (select count(*) from message where item = ?) < ?",
                (sandbox, key, item.id, self._now(), item.id, FETCHED_KEPT),
            )
            return item

    def close_item(
        self,
        id: int,
        state: ItemState,
        who: Who,
        text: str | None = None,
        claim: Claim | None = None,
        seen: int | None = None,
    ) -> Item:
        """End it; `claim` is the caller's own, `seen` the revision that they were shown.

        Raises NotOpen if somebody was first, NotAsShown, NoItem if there is none.
        """

        def ended(item: Item) -> Item:
            other_lives = item.claim != claim and _lives(item.claim)
            return item.as_shown(seen).closed(state, who, self._now(), text, other_lives)

        return self._change(id, ended)

    def claim(self, id: int, claim: Claim, seen: int | None = None) -> Item:
        """Be the one who answers it; `seen` as in `close_item`.  Raises NotOpen, NotAsShown, NoItem."""
        return self._change(id, lambda item: item.as_shown(seen).claimed(claim, _lives(item.claim)))

    def release(self, id: int, claim: Claim) -> Item:
        """Leave it open: the answer was not pressed, or did not help."""
        return self._change(id, lambda item: item.let_go(claim))

    def rebind(self, id: int, claim: Claim, draft: Draft) -> Item:
        """Leave it open, bound to how the same prompt looks now: it changed after it was seen."""
        return self._change(id, lambda item: _bound(item.let_go(claim), draft) if item.open else item)

    def kept(self) -> list[Item]:
        """Those whose reply must be typed into a composer, or fetched; the oldest answer first."""
        with self.reading() as base:
            rows = base.execute("select * from item where delivery = 'kept' order by at").fetchall()
        return list(_readable(rows))

    def typing(self, id: int, claim: Claim) -> bool:
        """Be the one who types a kept reply; False: it is no longer kept, or another types it.  Raises NoItem."""
        return self._change(id, lambda item: item.typing(claim, _lives(item.claim))).claim == claim

    def typed(self, id: int, claim: Claim, delivery: Delivery) -> Item:
        """Note whether its reply was typed.  Raises NoItem."""
        return self._change(id, lambda item: item.typed(claim, delivery))

    def gone(self, id: int, by: str) -> Item:
        """Its prompt is no longer there, ended `by`; what is over stays as it is."""
        return self._change(id, lambda item: item.prompt_gone(self._now(), _lives(item.claim), by))

    def answerer(self, id: int) -> str | None:
        """Who answers it now, or did, through stallkit; None: nobody.  Raises NoItem."""
        item = self.item(id)
        if item.open:
            return item.claim.who.name if item.claim is not None and _lives(item.claim) else None
        answered = item.state in (ItemState.ANSWERED, ItemState.DECLINED) and not item.off_the_list
        return item.by if answered else None

    def triage(self, id: int, category: Category | None) -> Item:
        """Say what blocks its agent; None: it is not known.  Raises NoItem."""
        return self._change(id, lambda item: evolve(item, category=category))

    def expire(self) -> int:
        """End what nobody answered in time; returns how many."""
        now = self._now()
        due = f"state in ({_OPEN}) and expires <= ?"
        with self.reading() as base:
            if base.execute(f"select 1 from item where {due} limit 1", (now,)).fetchone() is None:
                return 0
        with self.writing() as base:
            rows = base.execute(f"select * from item where {due}", (now,)).fetchall()
            late = [item for item in _readable(rows) if not _lives(item.claim)]
            for item in late:
                _write(base, item, item.closed(ItemState.EXPIRED, _AUTHOR, now, "nobody answered in time"))
        return len(late)

    def bury(self) -> int:
        """End what was asked in sessions of tmux servers that are surely gone; returns how many."""
        dead = [item for item in self.items() if _server_is_gone(item)]
        for item in dead:
            self.gone(item.id, ClearedBy.GONE)
        return len(dead)

    def item(self, id: int) -> Item:
        """The item of that number.  Raises NoItem."""
        with self.reading() as base:
            return _by_id(base, id)

    def items(self, over: bool = False, limit: int = 1_000) -> list[Item]:
        """All that is open, the oldest first; with `over` also the newest of what is over, `limit` at most."""
        newest = f"select id from item where state not in ({_OPEN}) order by id desc limit ?"
        query = f"select * from item where state in ({_OPEN}) or id in ({newest}) order by id"
        with self.reading() as base:
            rows = base.execute(query, (limit if over else 0,)).fetchall()
        return list(_readable(rows))

    def unreadable(self) -> list[int]:
        """What is open, and no item, since stallkit did not write it."""
        with self.reading() as base:
            rows = base.execute(f"select * from item where state in ({_OPEN})").fetchall()
        return sorted({row["id"] for row in rows} - {item.id for item in _readable(rows)})

    def over(self, ids: Iterable[int]) -> dict[int, Item]:
        """Of these, what is over."""
        wanted, found = sorted(ids), {}
        with self.reading() as base:
            for at in range(0, len(wanted), 500):
                part = wanted[at : at + 500]
                marks = ", ".join("?" * len(part))
                query = f"select * from item where id in ({marks}) and state not in ({_OPEN})"
                found.update({item.id: item for item in _readable(base.execute(query, part))})
        return found

    def note_shown(self, place: str, items: Iterable[Item], as_json: bool = False) -> None:
        """Note that these items were shown as they are in one terminal session: a bare number there means that.

        What was shown to a program (`as_json`) takes the place of nothing that a person was shown: a prompt of a shell
        that counts what waits is read by nobody.
        """
        with self.reading() as base:
            rows = base.execute("select item, revision, as_json from shown where place = ?", (place,)).fetchall()
        known = {row["item"]: (row["revision"], bool(row["as_json"])) for row in rows}

        def is_news(item: Item) -> bool:
            before = known.get(item.id)
            return before is None or (before != (item.revision, as_json) and (before[1] or not as_json))

        now = time.time()
        new = [(place, item.id, item.revision, as_json, now) for item in items if item.open and is_news(item)]
        if new:
            with self.writing() as base:
                base.execute("delete from shown where at < ?", (now - SHOWN_KEPT_S,))
                base.executemany("insert or replace into shown values (?, ?, ?, ?, ?)", new)

    def revision_shown(self, place: str, id: int) -> int:
        """The revision of an item that was shown there last; 0: none was."""
        with self.reading() as base:
            row = base.execute("select revision from shown where place = ? and item = ?", (place, id)).fetchone()
        return int(row["revision"]) if row else 0

    def version(self) -> int:
        """A number that changes with every write of anybody; cheap to ask for."""
        with self.reading() as base:
            return int(base.execute("pragma data_version").fetchone()[0])

    def _insert(self, base: sqlite3.Connection, draft: Draft) -> Item:
        state = ItemState.AUTH_REQUIRED if draft.secret else ItemState.INPUT_REQUIRED
        item = Item(
            *(0, _plain(draft.session), draft.source, draft.kind, _redacted(draft.words), _named(draft.options)),
            *(draft.action, draft.about, draft.identity, draft.since or self._now(), draft.expires, state),
            server=draft.server,
            told_at=self._now(),
            delivery=draft.delivery,
            asked=_redacted(draft.asked),
            questions=draft.questions,
            several=draft.several,
        )
        row = _row(item)
        row.pop("id")
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        done = base.execute(f"insert into item ({names}) values ({marks})", tuple(row.values()))
        assert done.lastrowid is not None  # an insert has one
        old = base.execute(
            f"delete from item where id <= ? and state not in ({_OPEN})", (done.lastrowid - CLOSED_KEPT,)
        )
        if old.rowcount:
            base.execute("delete from message where item not in (select id from item)")
        return evolve(item, id=done.lastrowid)

    def _change(self, id: int, step: Callable[[Item], Item]) -> Item:
        with self.writing() as base:
            before = _by_id(base, id)
            return _write(base, before, step(before))


def _by_id(base: sqlite3.Connection, id: int) -> Item:
    row = base.execute("select * from item where id = ?", (id,)).fetchone()
    if row is None:
        raise NoItem(id)
    return _item(row)


def _by_key(base: sqlite3.Connection, sandbox: str, key: str) -> Any:
    query = "select item.* from message join item on item.id = message.item where sandbox = ? and key = ?"
    return base.execute(query, (sandbox, key)).fetchone()


def _plain(text: str) -> str:
    """Text as SQLite can keep it: names and screens need not be UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def _redacted(text: str) -> str:
    return _plain(redact(text))


def _named(options: Iterable[Choice]) -> tuple[Choice, ...]:
    """The options as they may be kept: a dialog repeats in them what it asks for."""
    return tuple(evolve(one, name=_redacted(one.name), about=_redacted(one.about)) for one in options)


def _bound(item: Item, draft: Draft) -> Item:
    """It, bound to how the same prompt looks now."""
    words, asked, options = _redacted(draft.words), _redacted(draft.asked), _named(draft.options)
    return evolve(item, words=words, asked=asked, options=options, action=draft.action)


def _write(base: sqlite3.Connection, before: Item, after: Item) -> Item:
    """What an item became, with the revision that it has now."""
    item = after.revised(before)
    if item != before:
        row = _row(item)
        given = ", ".join(f"{name} = ?" for name in row)  # names of ours
        base.execute(f"update item set {given} where id = ?", (*row.values(), item.id))
    return item


def _row(item: Item) -> dict[str, Any]:
    options = [[one.id, one.name, one.kind, one.about, one.selected] for one in item.options]
    words = {name: str(getattr(item, name)) for name in ("source", "state", "delivery")}
    text = None if item.text is None else _plain(item.text)
    claim = json.dumps(asdict(item.claim)) if item.claim else None
    return {**asdict(item, recurse=False), **words, "text": text, "options": json.dumps(options), "claim": claim}


def _readable(rows: Iterable[Mapping[str, Any]]) -> Iterator[Item]:
    """The items among the rows; one that stallkit did not write takes no other one with it."""
    for row in rows:
        with suppress(StoreError):
            yield _item(row)


def _item(row: Mapping[str, Any]) -> Item:
    """Raises StoreError for a row that is not as stallkit writes it."""
    values = {name: row[name] for name in row.keys()}  # noqa: SIM118  # an sqlite3.Row iterates over its values
    try:
        for name in ("session", "words", "action", "about", "identity"):
            values[name].encode()  # a text, and one that can be printed
        for name in ("created", "expires", "at", "told_at"):
            datetime.fromtimestamp(values[name] or 0)
        options = json.loads(values["options"])
        values["options"] = tuple(
            Choice(id, name, kind and ChoiceKind(kind), *more) for id, name, kind, *more in options
        )
        values["claim"] = structure(json.loads(values["claim"]), Claim) if values["claim"] else None
        values["category"] = values["category"] and Category(values["category"])
        values["several"] = bool(values["several"])
        for name, kind in (("source", Source), ("state", ItemState), ("delivery", Delivery)):
            values[name] = kind(values[name])
        return Item(**values)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, OSError) as error:
        todo = "update stallkit, or take the row out"
        raise StoreError("queue", f"item {row['id']}", "it is not as stallkit writes it", todo) from error
