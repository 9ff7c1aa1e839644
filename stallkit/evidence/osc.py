"""What the session's own output says of its program, as signals: status reports (OSC 7501), the title, a notice.

Pure.  A report counts as the program's own only under the name of a program in the foreground; a title is whatever was
printed last; a notice (OSC 9, 99, 777) names no state.  What a program said that is gone is stale: a shell alone is in
front, and reads.
"""

from __future__ import annotations

from typing import Collection, Iterator

from attrs import evolve

from stallkit.detect.agent import Vocabulary
from stallkit.detect.signature import Kind, State
from stallkit.evidence.signal import Guard, Signal
from stallkit.evidence.snapshot import Snapshot, plain
from stallkit.terminal.marks import Status
from stallkit.terminal.marks import plain as one_line
from stallkit.word_tables import SHELLS

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
    members, decides = snapshot.kernel.members if snapshot.kernel else (), marks.strongest if marks else None
    names = {name for member in members for name in member.names}.union(filter(None, [snapshot.foreground]))
    said = [*([_report(decides, names, snapshot.taken_at)] if decides else ()), *_title(title, words)]
    if _only_a_shell_reads(snapshot):
        gone = "its program is gone, and a shell reads"
        said = [one if one.app in names else evolve(one, stale=gone) for one in said]
    if marks is not None and marks.notice is not None:
        said.append(Signal("notice", words=marks.notice.text, age_s=_age(marks.notice.at, snapshot.taken_at)))
    return said


def _only_a_shell_reads(snapshot: Snapshot) -> bool:
    """Whether the foreground is known to be a shell alone that takes commands."""
    kernel = snapshot.kernel
    if kernel is None or not kernel.complete or not kernel.listening or kernel.relay is not None:
        return False
    there = [one for one in (*kernel.members, *kernel.below) if not one.ended]
    return bool(there) and all(one.names & SHELLS and one.interactive is not False for one in there)


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
        age_s=_age(status.at, now),
        since_s=_age(status.at, now),
        guard=Guard.NAMED if named else Guard.NONE,
    )


def _title(title: str | None, words: Vocabulary) -> Iterator[Signal]:
    for app, name, text in words.titled(title or ""):
        state = State(name)
        kind = Kind.PERMISSION if state is State.WAITING else None
        yield Signal("title", state, kind, app=app, words=one_line(text))


def _age(at: float, now: float | None) -> float | None:
    return None if now is None else max(0.0, now - at)
