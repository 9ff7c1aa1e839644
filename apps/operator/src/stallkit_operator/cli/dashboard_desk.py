"""What the dashboard reads and does, each a call that may take seconds: the screen that shows it is elsewhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing, nullcontext, suppress
from datetime import datetime
from functools import cached_property
from typing import ContextManager, Iterable, Protocol

from attrs import evolve
from rich.text import Text
from stallkit_sessions.model import ExitRecord
from stallkit_sessions.register import Register, RunningSession
from stallkit_supervisor.cli.status_commands import noted, told_of, watched_rows

from stallkit.cli.common import engine
from stallkit.cli.output import shown
from stallkit.config import sandboxes_file, sessions_file
from stallkit.distributions import offered
from stallkit.errors import ConfigError, StallkitError
from stallkit.packs.registry import Engine
from stallkit.press.gate import SEALED
from stallkit.redact.redact import redact
from stallkit.settings_files import settings_files
from stallkit.terminal.text import coloured, painted, strip
from stallkit.transports.base import Options, Transport
from stallkit.transports.tmux.pane import TmuxTransport
from stallkit_operator.answering import carry_out
from stallkit_operator.board import Board, FarItem, Row, host_of, name_of, rows
from stallkit_operator.cli.sandbox_commands import manifest_lines
from stallkit_operator.cli.sandbox_commands import opened as opened_sandboxes
from stallkit_operator.cli.stuck_commands import (
    manifests_log,
    note,
    open_session,
    opened_queue,
    outcome,
    place_of,
    who,
)
from stallkit_operator.item import Item, Source
from stallkit_operator.orders import Look, Order, Triage, by_itself, ref
from stallkit_operator.sandbox.sandbox_start import composer_of

_HISTORY = 20  # incidents of a session
_ITSELF = "from stallkit.cli.main import main; main()"


class Fleet(Protocol):
    """The other hosts of the fleet that this machine is in."""

    def board(self) -> Board:
        """All sessions and questions there, as far as they are known."""
        ...

    def answer(self, order: Order, seen: FarItem) -> str:
        """Answer an item as it was shown, and return what became of it.  Raises StallkitError."""
        ...


def fleet_desk() -> ContextManager[Fleet | None]:
    """The fleet that the settings name; without one nothing is imported for it.  Raises ConfigError."""
    named = any("fleet" in found.counts for found in settings_files())
    opened = offered("fleet_desk") if named else None
    return opened() if opened else nullcontext()


class Desk:
    """The reads and the writes, for one tmux server and a fleet; they may be called from any thread."""

    def __init__(
        self, socket_name: str | None = None, socket_path: str | None = None, fleet: Fleet | None = None
    ) -> None:
        self._options, self._fleet = Options(socket_name, socket_path), fleet
        self.who = who("dashboard")  # now: while the dashboard runs, standard input is its own

    @cached_property
    def _engine(self) -> Engine:
        return engine()

    def board(self) -> Board:
        """All sessions and questions, as they are now.  Raises StoreError."""
        began = time.time()
        with opened_queue() as queue:
            items = queue.items()
        there = self._fleet.board() if self._fleet else Board()
        found = rows(watched_rows()[0], _sessions(), _branches(), items, there.rows)
        waits = sorted([*items, *there.items], key=lambda item: item.created) if self._fleet else items
        return evolve(there, rows=tuple(found), items=tuple(waits), at=began)

    def do(self, order: Order | Triage, seen: Item | None) -> str:
        """Do what a person orders, and return what became of it; `seen` is the item as it was shown to them, if it was.

        Raises StallkitError, ValueError.
        """
        if isinstance(order, Order) and order.host:
            if self._fleet is None or not isinstance(seen, FarItem):
                raise ValueError(f"{ref(order.host, order.id)} was not shown to you here: nothing was done")
            return self._fleet.answer(order, seen)
        with opened_queue() as queue:
            if isinstance(order, Triage):
                item = queue.triage(order.id, order.category)
                return shown(f"{item.id} ", item.session, f": {item.category or 'no category'}")
            audit = manifests_log().append
            revision = seen.revision if seen is not None else 0
            return outcome(carry_out(queue, order, self.who, lambda: self._engine, self._reach, revision, audit))

    def shown(self, items: Iterable[Item]) -> None:
        """Note that these are shown here, for a command that is run on this terminal."""
        with opened_queue() as queue:
            note(queue, [one for one in items if not host_of(one)])

    def item(self, look: Look) -> Item:
        """An item that is not on the board, as it is over, or new.  Raises NoItem, ValueError."""
        if look.host:
            raise ValueError(f"{ref(look.host, look.id)}: nothing of that number waits there now")
        with opened_queue() as queue:
            return queue.item(look.id)

    def screen(self, row: Row) -> Text:
        """What its screen shows now, in its colours; no other control sequence is left.  Raises as `window`."""
        with closing(self._open(row)) as transport:
            screen = transport.capture().screen
            drawn = redact(painted(transport.drawn() if isinstance(transport, TmuxTransport) else screen.text))
        if redact(plain := strip(drawn)) != plain:  # a secret that its colours hid
            drawn = redact(plain)
        lines = Text.from_ansi(coloured(drawn.rstrip())).split("\n", allow_blank=True)
        columns = screen.size.columns if screen.size else 0
        rows = [row for line in lines for row in line.divide(range(columns, len(line), columns) if columns else ())]
        return Text("\n").join(rows)

    def history(self, row: Row) -> Text:
        """What happened to it: what was asked and answered, and the incidents of the supervisors."""
        found: list[tuple[float, str]] = []
        with opened_queue() as queue:
            for item in queue.items(over=True):
                if name_of(item.session) == row.name:
                    words = " ".join(item.words.split())[:60]
                    found.append((item.created, f"{item.id} asked: {words}"))
                    if item.at is not None:
                        found.append((item.at, f"{item.id} {item.state}{item.how}: {item.text or ''}"))
        store = noted()
        if store is not None:
            with closing(store):
                for one in store.incidents(row.target, _HISTORY):
                    told = told_of(one["facts"])
                    found.append((one["at"], f"{one['event']}: {told}" if told else one["event"]))
        lines = [f"{datetime.fromtimestamp(at).astimezone():%m-%d %H:%M:%S}  {what}" for at, what in sorted(found)]
        return Text("\n".join(shown(line) for line in reversed(lines)) or "nothing happened yet")

    def manifest(self, row: Row) -> Text:
        """What it was started from, and what changed in it."""
        if not row.sandbox:
            return Text("it was not started from a manifest")
        with opened_sandboxes() as sandboxes:
            return Text("\n".join(manifest_lines(sandboxes.get(row.name), sandboxes.history(row.name))))

    def window(self, row: Row) -> list[str]:
        """The command that brings a person to its terminal.  Raises StallkitError, ValueError if there is none."""
        if row.host:
            raise ValueError(by_itself("tmux", row.host))
        with closing(self._open(row)) as transport:
            seen = transport.capture()
        if seen.sealed:
            raise StallkitError("not attached", row.name, SEALED, "look at its screen here")
        target, options = place_of(row.target, row.server, self._options)
        if not target.startswith("tmux:"):
            raise StallkitError("not attached", row.name, "it is not in tmux", "look at its screen here")
        path, name = options.tmux_socket_path, options.tmux_socket_name
        server = ["-S", path] if path else ["-L", name] if name else []
        own = os.environ.get("TMUX", "").partition(",")[0]
        verb = "switch-client" if own and seen.identity and _same_server(server, own) else "attach-session"
        return ["tmux", *server, verb, "-t", target.removeprefix("tmux:")]

    @staticmethod
    def call(words: list[str], wait: bool) -> None:
        """Run a program on this terminal until its end; with `wait` until a person has read what it said."""
        environment = {
            name: value for name, value in os.environ.items() if name != "TMUX" or "attach-session" not in words
        }
        before = signal.signal(signal.SIGINT, lambda number, frame: None)  # a Ctrl-C is for the program
        try:
            done = subprocess.run(words, env=environment, check=False)
            if wait:
                with suppress(EOFError):
                    input(f"\nexit code {done.returncode}; Enter goes back to the dashboard ")
        finally:
            signal.signal(signal.SIGINT, before)

    @staticmethod
    def itself(words: tuple[str, ...]) -> list[str]:
        """The words that run a command of stallkit."""
        return [sys.executable, "-P", "-c", _ITSELF, *words]  # -P: nothing is imported from the working directory

    def _reach(self, item: Item) -> Transport | None:
        if item.source is Source.AGENT:
            return composer_of(item)
        return open_session(item.session, item.server, self._options)

    def _open(self, row: Row) -> Transport:
        return open_session(row.target, row.server, self._options)


def _same_server(words: list[str], own: str) -> bool:
    asked = ["tmux", *words, "display-message", "-p", "#{socket_path}"]
    environment = {name: value for name, value in os.environ.items() if words == [] or name != "TMUX"}
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, timeout=10, check=False)
    return done.stdout.strip() == own


def _sessions() -> list[RunningSession | ExitRecord]:
    if not sessions_file().exists():
        return []
    with closing(Register(sessions_file(), or_copy=True)) as register:
        return register.listing()


def _branches() -> dict[str, str | None]:
    """The sandboxes, and the branches that their manifests name."""
    if not sandboxes_file().exists():
        return {}
    found: dict[str, str | None] = {}
    with opened_sandboxes() as sandboxes:
        for one in sandboxes.listing():
            found[one.name] = None
            with suppress(ConfigError):  # an earlier stallkit read it otherwise
                found[one.name] = one.manifest.branch
    return found
