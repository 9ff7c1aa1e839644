"""What the session's own output says of its program, as signals: status reports (OSC 7501), the title, a notice.

Pure.  A report counts as the program's own only under the name of a program in the foreground; a title is whatever was
printed last; a notice (OSC 9, 99, 777) names no state.  What a program said that is gone is stale: a shell alone is in
front, and reads.
"""

from __future__ import annotations

from typing import Collection, Iterator

from attrs import evolve

from stallkit.detect.agent import Vocabulary
from stallkit.detect.families import SHELLS
from stallkit.detect.signature import Kind, State
from stallkit.evidence.facts import plain
from stallkit.evidence.signal import Guard, Signal
from stallkit.evidence.snapshot import Snapshot
from stallkit.terminal.marks import Marks, Status
from stallkit.terminal.marks import plain as one_line

__all__ = ["claims"]

# By `StatusState` and `StatusKind`, which are such words: most looks have no report to import them for.
_STATES: dict[str, State] = {
    "blocked": State.WAITING,
    "working": State.WORKING,
    "idle": State.IDLE,
    "done": State.IDLE,
    "error": State.IDLE,
}
_KINDS: dict[str, Kind] = {"permission": Kind.PERMISSION, "question": Kind.QUESTION, "auth": Kind.LOGIN}


def claims(snapshot: Snapshot, words: Vocabulary) -> list[Signal]:
    """The signals in the session's own output, the ones that decide first; `words` tell what titles mean."""
    marks, title = snapshot.marks, snapshot.screen.title
    if marks is None and not title:
        return []
    names, taken_at = _names(snapshot), snapshot.taken_at
    said = [*_reports(marks, names, taken_at), *_title(title, words)]
    if _only_a_shell_reads(snapshot):
        said = [
            one if one.app in names else evolve(one, stale="its program is gone, and a shell reads") for one in said
        ]
    return [*said, *_notice(marks, taken_at)]


def _only_a_shell_reads(snapshot: Snapshot) -> bool:
    """Whether the foreground is known to be a shell alone that takes commands."""
    kernel = snapshot.kernel
    if kernel is None or not kernel.complete or not kernel.listening or kernel.relay is not None:
        return False
    there = [one for one in (*kernel.members, *kernel.below) if not one.ended]
    return bool(there) and all(one.names & SHELLS and one.interactive is not False for one in there)


def _names(snapshot: Snapshot) -> frozenset[str]:
    """The names of the programs in the foreground."""
    members = snapshot.kernel.members if snapshot.kernel else ()
    names = {name for member in members for name in member.names}
    return frozenset(names | ({snapshot.foreground} if snapshot.foreground else set()))


def _reports(marks: Marks | None, names: Collection[str], now: float | None) -> Iterator[Signal]:
    decides = marks.strongest if marks else None
    if decides is not None:
        yield _report(decides, names, now)


def _report(status: Status, names: Collection[str], now: float | None) -> Signal:
    own = {status.app, plain(status.app), status.app.partition("-")[0]} if status.app else set[str]()
    named = not status.judged and not own.isdisjoint(names)
    words = status.msg or status.title or ""
    return Signal(
        source="wrap" if status.judged else "osc7501",
        state=_STATES[status.state],
        kind=_KINDS[status.kind] if status.kind else None,
        app=status.app,
        words=words,
        error="unknown" if status.state == "error" else None,
        age_s=None if now is None else max(0.0, now - status.at),
        since_s=None if now is None else max(0.0, now - status.at),
        guard=Guard.NAMED if named else Guard.NONE,
    )


def _title(title: str | None, words: Vocabulary) -> Iterator[Signal]:
    for app, name, text in words.titled(title or ""):
        state = State(name)
        kind = Kind.PERMISSION if state is State.WAITING else None
        yield Signal("title", state, kind, app=app, words=one_line(text))


def _notice(marks: Marks | None, now: float | None) -> Iterator[Signal]:
    if marks is not None and marks.notice is not None:
        age_s = None if now is None else max(0.0, now - marks.notice.at)
        yield Signal("notice", words=marks.notice.text, age_s=age_s)
