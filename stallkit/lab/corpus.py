"""Labelled screens in JSON lines, one case a line; the label is what the program was driven into.

Required keys: id, screen and label.state.  The others (docs/screens.md) are facts, unknown where they are missing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Iterator

from attrs import evolve, field, frozen

from stallkit.core.facts import RELAYS, How, KernelFacts, TtyFacts
from stallkit.core.marks import Marks, MarksReader
from stallkit.core.screen import Screen
from stallkit.core.signature import Kind, State
from stallkit.core.verdict import ProcessFacts, Snapshot
from stallkit.errors import StoreError

__all__ = ["Case", "Label", "load"]

# What corpora call a session that does not wait, beside `State`'s names; none of them is a kind of waiting.
_SAMPLES = 5  # of a second, in the corpora
_HOW: dict[str, How] = {"read": "read", "readv": "read", "poll": "poll", "ppoll": "poll", "select": "select"}
_HOW |= {"pselect": "select", "epoll_wait": "epoll", "epoll_pwait": "epoll"}
_RANK: tuple[How, ...] = ("read", "select", "poll", "epoll")
_NO_KIND = frozenset({"working", "idle_input", "quota", "error", "exited", "shell_prompt"})


@frozen
class Label:
    """The truth about a case; `dismissable_keys` are a safe way out, not the only right answer."""

    state: State
    kind: Kind | None = None
    dismissable_keys: tuple[str, ...] | None = None
    hard: bool = False


@frozen
class Case:
    """One labelled look at one program."""

    id: str
    program: str
    snapshot: Snapshot
    label: Label
    history: tuple[Snapshot, ...] = field(default=(), repr=False)

    @property
    def screen_only(self) -> Case:
        """The same case with every fact but the screen unknown."""
        bare = Snapshot(screen=self.snapshot.screen)
        return evolve(self, snapshot=bare, history=tuple(Snapshot(screen=look.screen) for look in self.history))


def load(path: str | Path) -> Iterator[Case]:
    """The cases of a corpus, in order.  Raises OSError, and StoreError naming file and line for a broken case."""
    with Path(path).open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield _case(json.loads(line))
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    why = f"{type(error).__name__}: {error}"
                    raise StoreError("corpus case", f"{path}:{number}", why, "correct the line") from error


def _case(data: dict[str, Any]) -> Case:
    cursor = None
    if data.get("cursor_x") is not None and data.get("cursor_y") is not None:
        cursor = (data["cursor_x"], data["cursor_y"])
    screen = Screen.from_text(
        data["screen"],
        cursor=cursor,
        size=(data["cols"], data["rows"]) if data.get("cols") and data.get("rows") else None,
        cursor_visible=data.get("cursor_visible"),
        title=data.get("pane_title"),
        alternate=data.get("alternate_on"),
    )
    command = data.get("pane_current_command")
    snapshot = Snapshot(
        screen=screen,
        process=ProcessFacts(command) if command else None,
        kernel=_kernel(data),
        tty=TtyFacts(data["tty"].get("echo"), data["tty"].get("icanon")) if data.get("tty") else None,
        marks=_marks(data),
        quiet_s=_quiet_s(data),
        target=data["id"],
    )
    label = data["label"]
    kind = label.get("kind")
    keys = label.get("dismissable_keys")
    return Case(
        id=data["id"],
        program=data.get("program", ""),
        snapshot=snapshot,
        label=Label(
            state=State(label["state"]),
            kind=None if kind in _NO_KIND or kind is None else Kind(kind),
            dismissable_keys=None if keys is None else tuple(keys),
            hard=bool(label.get("hard")),
        ),
        history=(snapshot,) if snapshot.quiet_s else (),
    )


def _quiet_s(data: dict[str, Any]) -> float | None:
    """How long the screen stayed as it was after the capture, as far as somebody looked."""
    if (probe := data.get("probe_1s")) and probe.get("screen_same") is not None:
        return 1.0 if probe["screen_same"] else 0.0
    if (after := data.get("after_1500ms")) and after.get("screen_changed") is not None:
        return 0.0 if after["screen_changed"] else 1.5
    return None


def _marks(data: dict[str, Any]) -> Marks | None:
    """What the program reported last, read as from its stream."""
    reports = (data.get("from_raw64k") or {}).get("osc7501_last")
    if reports is None:
        return None
    reader = MarksReader()
    for number, report in enumerate(reports):
        reader.feed(f"\x1b]7501;{report}\x1b\\".encode(), float(number))
    return reader.marks


def _kernel(data: dict[str, Any]) -> KernelFacts | None:
    """Whether a thread waits for the terminal: in four of five samples, since one may fall between two reads."""
    waits = [process["tty_wait"] for process in data.get("proc", ()) if "tty_wait" in process]
    probe = data.get("probe_1s") or {}
    if not waits or probe.get("tty_wait_samples", 0) < _SAMPLES:
        return None
    seen = [wait["how"] for wait in waits if wait]
    listening = probe["tty_wait_hits"] >= _SAMPLES - 1
    how = min((_HOW[name.rstrip("0123456789")] for name in seen), key=_RANK.index, default=None)
    command = data.get("pane_current_command")
    relay = command if command in RELAYS else None
    return KernelFacts(foreground=command, listening=listening, how=how if listening else None, relay=relay)
