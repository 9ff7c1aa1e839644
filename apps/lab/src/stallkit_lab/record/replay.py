"""``stallkit record replay``: the verdict on a recorded session at each moment, beside the truth.

Looks are as in a check, `GAP_S` apart while the screen changes, once it rested for that long, and where facts were
noted.
"""

from __future__ import annotations

import time
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Iterable, Iterator

import click
from attrs import frozen
from rich.live import Live
from rich.table import Table
from rich.text import Text

from stallkit.cli.common import engine, print_json
from stallkit.cli.output import Exit, plain_console, progress, shown
from stallkit.cli.states import look_of
from stallkit.detect.engine import Detection, Engine
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.errors import StallkitError
from stallkit.evidence.agents import asked
from stallkit.evidence.snapshot import Snapshot
from stallkit.jsonio import dump
from stallkit.judging.judge import judge
from stallkit.judging.verdict import Verdict
from stallkit_lab.messages import name_problems
from stallkit_lab.record.asciicast import EXIT, FACTS, OUTPUT, Event
from stallkit_lab.record.cast import GAP_S, Player, Recording
from stallkit_lab.record.recording import Interval, Marked, encode_marker, truth_at

_Words = tuple[State | None, Certainty | None, Kind | None, str | None]
_END = ""  # the code for the end, which is not an event


@frozen
class Look:
    """One look at a recorded session, and its verdict."""

    at: float
    snapshot: Snapshot
    verdict: Verdict


@frozen
class Change:
    """From `at` on, in seconds, this was the verdict, and this the truth (a marker's text; None: unknown)."""

    at: float
    state: State | None
    certainty: Certainty | None
    kind: Kind | None
    signature: str | None
    truth: str | None

    @property
    def right(self) -> bool | None:
        """Whether the state is right; None if the truth is unknown."""
        return None if self.truth is None else self.truth.partition(":")[0] == self.state


@frozen
class Timeline:
    """Every change of verdict or truth, in order; `agreement` is the share of the marked time with the right state."""

    duration: float
    changes: tuple[Change, ...]
    markers: tuple[dict[str, Any], ...]
    agreement: float | None


def looks(recording: Recording, engine: Engine, *, with_facts: bool = True) -> Iterator[Look]:
    """Every look at a recording, in order."""
    if recording.header is None:
        return
    player, taken = recording.player(with_facts=with_facts), _Looks(engine)
    rested, latest = True, -GAP_S
    last = Event(recording.marked.duration, _END, "")
    for event in chain(recording.events(), (last,)):
        if not rested and event.at - player.rests_since >= GAP_S:
            rested, latest = True, player.rests_since + GAP_S
            yield taken.look(player, latest)
        player.feed(event)
        if event.code == OUTPUT and event.data:
            rested = False
            if event.at - latest < GAP_S:
                continue
        elif event.code not in (FACTS, EXIT):
            continue
        latest = event.at
        yield taken.look(player, latest)
    if not rested:
        yield taken.look(player, last.at)


class _Looks:
    """Looks at a player, each judged with the one before it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._before: Snapshot | None = None
        self._agent_seen: Snapshot | None = None
        self._detection: Detection | None = None
        self._changed = 0.0

    def look(self, player: Player, at: float) -> Look:
        seen = player.look(at, None)
        before = self._before
        if before is None or self._detection is None or seen.screen.fingerprint != before.screen.fingerprint:
            self._changed = player.rests_since
        seen = player.look(at, max(0.0, at - self._changed))
        self._before, self._detection = seen, asked(self._engine, seen, self._detection)
        verdict = judge(self._detection, seen, (before,) if before else (), self._agent_seen)
        if verdict.shows_agent:
            self._agent_seen = seen
        return Look(at, seen, verdict)


def timeline(seen: Iterable[Look], found: Marked) -> Timeline:
    """The changes of verdict in the looks, beside those of the truth in the markers."""
    verdicts: list[tuple[float, _Words]] = []
    for look in seen:
        verdict = _words(look.verdict)
        if not verdicts or verdicts[-1][1] != verdict:
            verdicts.append((look.at, verdict))
    borders = {edge for one in found.intervals for edge in (one.start, one.end)}
    moments = sorted({at for at, _ in verdicts} | {edge for edge in borders if edge < found.duration})
    changes: list[Change] = []
    marked_s = right_s = 0.0
    nothing: _Words = (None, None, None, None)
    index = 0
    for moment, following in pairwise([*moments, found.duration]):
        while index < len(verdicts) and verdicts[index][0] <= moment:
            index += 1
        change = Change(round(moment, 3), *(verdicts[index - 1][1] if index else nothing), _truth(found, moment))
        if change.right is not None:
            marked_s += following - moment
            right_s += following - moment if change.right else 0.0
        if not changes or _said(changes[-1]) != _said(change):
            changes.append(change)
    markers = tuple(
        {"at": round(one.at, 3), "label": one.text, "known": one.label is not None, "line": one.line}
        for one in found.markers
    )
    agreement = round(right_s / marked_s, 4) if marked_s > 0 else None
    return Timeline(round(found.duration, 3), tuple(changes), markers, agreement)


def _words(verdict: Verdict) -> _Words:
    match = verdict.match
    name = f"{match.pack.name}:{match.signature.id}" if match else None
    return verdict.state, verdict.certainty, verdict.kind, name


def _said(change: Change) -> tuple[str | None, ...]:
    return change.state, change.certainty, change.kind, change.signature, change.truth


def _truth(found: Marked, at: float) -> str | None:
    interval: Interval | None = truth_at(found.intervals, at)
    if interval is None or interval.start < interval.end <= at:  # its end is not part of it
        return None
    return encode_marker(interval.label)


# --- the command ---


_LETTERS = {"waiting": "w", "working": "k", "idle": "i", "quota": "q", "ended": "e", "gone": "g", "unknown": "?"}
_SHOWN_PROBLEMS = 20
_LEAST = 120  # columns for the table: a narrower terminal wraps it, and no name is cut


@click.command("replay", short_help="Play a recording, and show how the verdict changed.")
@click.argument("path", metavar="FILE.cast", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/recordings.md).")
@click.option(
    "--speed", type=click.FloatRange(min=0, min_open=True), metavar="X",
    help="Show it as it went, X times as fast, before the table.",
)  # fmt: skip
@click.option("--no-facts", is_flag=True, help="Treat every fact but the screen as unknown.")
@click.pass_context
def replay_command(ctx: click.Context, path: Path, as_json: bool, speed: float | None, no_facts: bool) -> None:
    """Play a recording through the emulator and show how the verdict changed, beside the truth that markers give.

    \b
    Exit codes: 0; 7 something in the recording cannot be read; 1 operational error; 64 usage.
    Example:    stallkit record replay session.cast
    """
    problems: list[StallkitError] = []
    recording, made = Recording(path, problems), engine()
    found = recording.marked
    taken = looks(recording, made, with_facts=not no_facts)
    if speed and not as_json:  # two displays at once would draw over each other
        line = timeline(_in_time(taken, speed), found)
    else:
        with progress(f"replaying {path.name}") as tell:
            line = timeline(_with_progress(taken, found.duration, tell), found)
    recording.problems.close()
    if as_json:
        print_json({**dump(line), "problems": [str(problem) for problem in problems]})
    elif recording.header is not None:
        _show(line)
    name_problems(problems, _SHOWN_PROBLEMS)
    ctx.exit(Exit.FINDINGS if problems else Exit.OK)


def _with_progress(taken: Iterator[Look], duration: float, tell: Any) -> Iterator[Look]:
    began = time.monotonic()
    for look in taken:
        if time.monotonic() - began > 1:
            tell(time.monotonic() - began, f"{look.at:.0f} of {duration:.0f} s")
        yield look


def _in_time(taken: Iterator[Look], speed: float) -> Iterator[Look]:
    """The same looks, each shown when its time has come; the screen is redrawn, no control sequence is replayed."""
    began = time.monotonic()
    made = plain_console()
    with Live(console=made, screen=made.is_terminal, auto_refresh=False) as live:
        for look in taken:
            time.sleep(max(0.0, began + look.at / speed - time.monotonic()))
            verdict = look.verdict
            kind = f":{verdict.kind}" if verdict.kind else ""
            head = f"{look.at:8.1f} s  {verdict.state}{kind}, {verdict.certainty}"
            rows = [shown(row) for row in look.snapshot.screen.lines]
            picture = Text(f"{head}\n", style=look_of(verdict.state).colour).append("\n".join(rows), style="default")
            if made.is_terminal:
                live.update(picture, refresh=True)
            yield look


def _show(line: Timeline) -> None:
    made = plain_console()
    width = max(10, min(made.width, 100) - 10)  # of the lanes
    made.width = max(made.width, _LEAST)
    table = Table("at", "verdict", "certainty", "kind", "signature", "truth", "", box=None, pad_edge=False)
    for change in line.changes:
        right = {True: "right", False: "WRONG", None: ""}[change.right]
        words = (change.state, change.certainty, change.kind, change.signature, change.truth)
        cells = [shown(word or "-") for word in words]
        style = None if change.right is not False else "red"
        table.add_row(f"{change.at:.1f}", *cells, right, style=style)
    made.print(table)
    made.print()
    _lane(made, "truth", [_state_at(line, moment, truth=True) for moment in _moments(line, width)])
    _lane(made, "verdict", [_state_at(line, moment, truth=False) for moment in _moments(line, width)])
    used = {change.state for change in line.changes} | {
        (change.truth or "").partition(":")[0] for change in line.changes
    }
    legend = ", ".join(f"{letter} {state}" for state, letter in _LETTERS.items() if state in used)
    made.print(f"{'':10}{line.duration:.1f} s; {legend}" if legend else f"{'':10}{line.duration:.1f} s")
    if line.agreement is None:
        made.print("nothing is marked, so accuracy is unknown")
    else:
        made.print(f"right: {line.agreement:.1%} of the marked time")


def _moments(line: Timeline, width: int) -> list[float]:
    return [line.duration * (cell + 0.5) / width for cell in range(width)]


def _state_at(line: Timeline, moment: float, truth: bool) -> str:
    """The state at a moment, or nothing."""
    found = ""
    for change in line.changes:
        if change.at > moment:
            break
        found = (change.truth or "").partition(":")[0] if truth else change.state or ""
    return found


def _lane(made: Any, name: str, states: list[str]) -> None:
    lane = Text(f"{name:10}")
    for state in states:
        lane.append(_LETTERS.get(state, "."), style=f"black on {look_of(state).colour}" if state else "")
    made.print(lane, no_wrap=True, crop=False)
