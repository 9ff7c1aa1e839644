"""Labelled screens in JSON lines, one case a line; the label is the state that the program was driven into.

Required keys: id, screen and label.state.  The others (docs/measure.md) are facts, unknown if they are missing.
"""

from __future__ import annotations

import json
import re
from typing import Any

from attrs import evolve, field, frozen

from stallkit.detect.signature import Kind, State
from stallkit.errors import StoreError
from stallkit.evidence.kernel import STILL_S
from stallkit.evidence.snapshot import How, KernelFacts, ProcessFacts, Snapshot, Standstill, TtyFacts
from stallkit.terminal.marks import Marks, MarksReader
from stallkit.terminal.screen import Screen
from stallkit.word_tables import RELAYS


@frozen
class Label:
    """The truth about a case; `dismissable_keys` are a safe way out, not the only right answer.

    `harmful_default`: what a plain Enter takes is known to do harm; False only means that no such note was made.
    """

    state: State
    kind: Kind | None = None
    dismissable_keys: tuple[str, ...] | None = None
    hard: bool = False
    harmful_default: bool = False


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


TRUE_STATES = tuple(state for state in State if state is not State.UNKNOWN)  # states that a program can be driven into

_SAMPLES = 5  # of a second, in the corpora
_HOW: dict[str, How] = {"read": "read", "readv": "read", "poll": "poll", "ppoll": "poll", "select": "select"}
_HOW |= {"pselect": "select", "epoll_wait": "epoll", "epoll_pwait": "epoll"}
_FOR_A_CHILD = ("wait4", "waitid", "rt_sigsuspend")
_RANK: tuple[How, ...] = ("read", "select", "poll", "epoll")
_REQUIRED = object()
# The note for it in the labels of the first corpora, which have no field for it.
_HARMFUL_NOTE = re.compile(r"\bdefault is no\b", re.IGNORECASE)


@frozen
class Line:
    """One line of a corpus, not read yet: so it can be handed to another process, and read there."""

    path: str
    number: int
    content: bytes

    def read(self) -> Case:
        """The case on this line.  Raises StoreError, naming file and line, if it holds none."""
        try:
            return _case(json.loads(self.content))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise StoreError("corpus case", f"{self.path}:{self.number}", _why(error), "correct the line") from error


def _why(error: Exception) -> str:
    match error:
        case _Wrong():
            return str(error)
        case json.JSONDecodeError():  # its own line number counts within this line
            return f"it is not JSON: {error.msg}, at character {error.pos + 1}"
        case UnicodeDecodeError():
            return f"it is not UTF-8, from byte {error.start + 1} on"
        case _:
            return f"{type(error).__name__}: {error}"


class _Wrong(ValueError):
    """A case is invalid; the message says why."""


def _get(data: Any, key: str, *types: type, default: Any = _REQUIRED) -> Any:
    """The value of a dotted key, of one of these types; null is the same as missing."""
    for part in key.split("."):
        data = data.get(part) if isinstance(data, dict) else None
    if data is None:
        if default is _REQUIRED:
            raise _Wrong(f"it has no {key}")
        return default
    if type(data) not in types:  # and true is not a number
        raise _Wrong(f"{key} is {data!r:.60}, not {' or '.join(one.__name__ for one in types)}")
    return data


def _case(data: Any) -> Case:
    if not isinstance(data, dict):
        raise _Wrong("not a JSON object")
    id, shown, label = _get(data, "id", str), _get(data, "screen", str), _label(data)
    column, row = (_get(data, key, int, default=None) for key in ("cursor_x", "cursor_y"))
    columns, rows = (_get(data, key, int, default=None) for key in ("cols", "rows"))
    screen = Screen.from_text(
        shown,
        cursor=None if column is None or row is None else (column, row),
        size=(columns, rows) if columns and rows else None,
        cursor_visible=_get(data, "cursor_visible", bool, default=None),
        title=_get(data, "pane_title", str, default=None),
        alternate=_get(data, "alternate_on", bool, default=None),
    )
    command = _get(data, "pane_current_command", str, default=None)
    echo, icanon = (_get(data, key, bool, default=None) for key in ("tty.echo", "tty.icanon"))
    snapshot = Snapshot(
        screen=screen,
        process=ProcessFacts(command) if command else None,
        kernel=_kernel(data, command),
        tty=TtyFacts(echo, icanon) if data.get("tty") else None,
        marks=_marks(data),
        quiet_s=_quiet_s(data),
        target=id,
    )
    return Case(
        id=id,
        program=_get(data, "program", str, default=""),
        snapshot=snapshot,
        label=label,
        history=(snapshot,) if snapshot.quiet_s else (),
    )


def _label(data: dict[str, Any]) -> Label:
    word = _get(data, "label.state", str)
    if word not in TRUE_STATES:
        raise _Wrong(f"label.state {word!r} is not a state: use {', '.join(TRUE_STATES)}")
    state, kind = State(word), _get(data, "label.kind", str, default=None)
    if state is not State.WAITING:
        kind = None  # corpora say there in prose why it does not wait
    elif kind is not None and kind not in tuple(Kind):
        raise _Wrong(f"label.kind {kind!r} is not a kind: use {', '.join(Kind)}")
    keys = _get(data, "label.dismissable_keys", list, default=None)
    if keys is not None and not all(isinstance(key, str) for key in keys):
        raise _Wrong("label.dismissable_keys is not a list of strings")
    note = _get(data, "label.note", str, default="")
    return Label(
        state=state,
        kind=None if kind is None else Kind(kind),
        dismissable_keys=None if keys is None else tuple(keys),
        hard=_get(data, "label.hard", bool, default=False),
        harmful_default=_get(data, "label.harmful_default", bool, default=bool(_HARMFUL_NOTE.search(note))),
    )


def _quiet_s(data: dict[str, Any]) -> float | None:
    """How long the screen stayed the same after the capture, as far as it was observed."""
    if (probe := data.get("probe_1s")) and probe.get("screen_same") is not None:
        return 1.0 if probe["screen_same"] else 0.0
    if (after := data.get("after_1500ms")) and after.get("screen_changed") is not None:
        return 0.0 if after["screen_changed"] else 1.5
    return None


def _marks(data: dict[str, Any]) -> Marks | None:
    """The program's last report, parsed as from its stream."""
    reports = (data.get("from_raw64k") or {}).get("osc7501_last")
    if reports is None:
        return None
    reader = MarksReader()
    for number, report in enumerate(reports):
        reader.feed(f"\x1b]7501;{report}\x1b\\".encode(), float(number))
    return reader.marks


def _kernel(data: dict[str, Any], command: str | None) -> KernelFacts | None:
    """Whether a thread waits for the terminal: in four of five samples, since one may fall between two reads.

    Fewer are no proof of either: it may look for a key now and then.
    """
    waits = [process["tty_wait"] for process in data.get("proc") or () if "tty_wait" in process]
    probe = data.get("probe_1s") or {}
    if not waits or probe.get("tty_wait_samples", 0) < _SAMPLES:
        return None
    seen = [wait["how"] for wait in waits if wait]
    hits = probe["tty_wait_hits"]
    listening = hits >= _SAMPLES - 1 or (None if hits else False)
    how = min((_HOW[name.rstrip("0123456789")] for name in seen), key=_RANK.index, default=None)
    relay = command if command in RELAYS else None
    stands = Standstill({}, STILL_S) if _stands(data) else None
    itself = data["proc"][0].get("comm", command)  # of a script its own name, where tmux gives its interpreter's
    return KernelFacts(
        foreground=itself,
        listening=listening,
        how=how if listening else None,
        relay=relay,
        running=probe.get("running_hits"),
        standstill=stands,
    )


def _stands(data: dict[str, Any]) -> bool:
    """Whether nothing ran in the second that was observed, and all of the job reads the terminal or waits for a child.

    A second is all that the corpora have; it stands for the two that a look takes.  Of a process with several threads
    only the first one's system call is known.
    """
    probe = data["probe_1s"]
    rested = (probe.get("tty_wait_hits"), probe.get("running_hits"), probe.get("cpu_ms")) == (_SAMPLES, 0, 0)
    return rested and all(
        process.get("threads") == 1 and (_blocks(process) or process.get("syscall_name") in _FOR_A_CHILD)
        for process in data["proc"]
    )


def _blocks(process: dict[str, Any]) -> bool:
    """Whether it blocks in a read of the terminal, and does not only watch it."""
    return (process.get("tty_wait") or {}).get("how") in ("read", "readv")
