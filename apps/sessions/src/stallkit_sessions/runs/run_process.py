"""The state of a run: its looks, its verdict, the end of its output, its answers.  For one thread."""

from __future__ import annotations

import logging
import time
from typing import Any, Callable, Sequence

from attrs import evolve, frozen

from stallkit.detect.engine import Engine, Match
from stallkit.detect.signature import NEVER_ANSWERED
from stallkit.evidence.snapshot import Snapshot
from stallkit.jsonio import unstructure
from stallkit.judging.judge import judged
from stallkit.judging.verdict import Verdict
from stallkit.press.events import Event, typed
from stallkit.press.gate import End, Outcome, answer, is_secret
from stallkit.short_repr import short_repr
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.terminal.text import strip
from stallkit.transports.pty import PtyTransport
from stallkit_sessions.model import signal_name
from stallkit_sessions.runs.wait_limits import (
    Finish,
    Observation,
    QuietNotifier,
    RunStatus,
    WaitLimits,
    needs,
    next_look,
)

KEPT = 262_144  # bytes: some thousand lines of a build, little against the 50 MB that a run may take
MAX_HALF = 4_096  # bytes of a cut line, which is left out; a longer piece is not a line of text


class Tail:
    """The last bytes of a stream, `kept` at least and twice that at most; `lost` counts those before them."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._data = bytearray()
        self.lost = 0

    def add(self, data: bytes) -> None:
        """Add what was read."""
        self._data += data
        if len(self._data) > 2 * self._kept:
            self.lost += len(self._data) - self._kept
            del self._data[: -self._kept]

    @property
    def text(self) -> str:
        """What is kept, as plain text from the first whole line: control sequences removed, invalid UTF-8 replaced."""
        data = bytes(self._data)
        if self.lost:
            half, _, rest = data.partition(b"\n")
            data = rest if rest and len(half) < MAX_HALF else data
        return strip(data.decode("utf-8", "replace"))


Observer = Callable[[Event], object]
_log = logging.getLogger("stallkit")


@frozen
class RunState:
    """What a run does, and what was seen then."""

    status: RunStatus
    why: str
    verdict: Verdict
    snapshot: Snapshot
    output: str  # the end of what it wrote, as plain text
    output_lost: int  # bytes of output that came before it
    seconds: float  # since it was started
    exit_status: int | None = None  # None while it runs, and where a signal ended it
    signal: str | None = None  # the name of the signal that ended it
    answers: tuple[Outcome, ...] = ()  # the outcomes of the answers that were given beforehand

    __repr__ = short_repr("status", "exit_status", "signal", "verdict")

    @property
    def match(self) -> Match | None:
        """The signature that matched, if one did."""
        return self.verdict.match

    @property
    def screen(self) -> Screen:
        """What the terminal shows, for the caller's own judgement."""
        return self.snapshot.screen


class RunProcess:
    """One program on its terminal, from its first look to its end."""

    def __init__(
        self,
        transport: PtyTransport,
        engine: Engine,
        window_s: float,
        answers: Sequence[str | Keys] = (),
        observer: Observer | None = None,
    ) -> None:
        self.transport, self._engine = transport, engine
        self._answers, self._observer = list(answers), observer
        self._given: list[Outcome] = []
        self._tried: int | None = None  # the spell in which an answer given beforehand had no effect
        self._tail = Tail()
        transport.on_output = self._take
        self._started = self._printed = self._changed = time.monotonic()
        self._spells = QuietNotifier(window_s, self._started)
        self.known: int | None = None  # the spell for which a caller knows that it may be waiting
        self._spell = 0
        self._seen: Snapshot | None = None
        self.look()

    @property
    def over(self) -> bool:
        """Whether the program has ended."""
        return not self.observation.alive

    @property
    def due(self) -> float:
        """When to look again."""
        return next_look(self._looked, self._printed)

    def look(self) -> None:
        """Look, and use an answer given beforehand if a prompt surely waits for one."""
        self._see()
        if self._answers and self._may_be_answered():
            self._use_answer()

    def answer(self, given: str | Keys, secret: bool = False, fingerprint: str | None = None) -> Outcome:
        """Answer the prompt of the latest look, through the gate; the event does not contain a secret.

        Refused where the caller saw another screen, by its `fingerprint`.
        """
        if self.over:
            return Outcome(End.GONE, "its program ended")
        seen, verdict = self._latest, self.observation.verdict
        if fingerprint is not None and fingerprint != seen.screen.fingerprint:
            return Outcome(End.REFUSED, "the screen is not the one that was seen")
        outcome = answer(self.transport, given, seen, self._engine, secret=secret)
        # An answer that was not typed may be a secret for a prompt that comes a moment later.
        hidden = secret or not outcome.pressed or is_secret(verdict, seen)
        logged = None if hidden else typed(given, verdict.detection.said.options)
        if outcome.keys is not None:
            self._spells = self._spells.answered(time.monotonic())
        self.tell("run_answered", **unstructure(verdict), answer=logged, outcome=str(outcome.end), why=outcome.why)
        self._see()
        return outcome

    def stop(self) -> None:
        """End the program: SIGHUP, SIGTERM, SIGKILL, half a second between them."""
        if not self.over:
            self.transport.close()
            now = evolve(self._latest, alive=False, exit_status=self.transport.exit_status, accepts_keys=False)
            self._seen = now
            self._record(now, judged(self._engine, now))

    def notice(self) -> None:
        """Tell the observer that it waits, or that it may: once for each quiet period, or window."""
        now = time.monotonic()
        notice = self._spells.notice(self.observation, now)
        if notice is not None:
            self._spells = self._spells.after(self.observation, notice, now)
            name = "run_waiting" if notice.status is RunStatus.WAITING else "run_may_wait"
            self.tell(name, **{**unstructure(self.observation.verdict), "why": notice.why})

    def state(self, finish: Finish | None = None) -> RunState:
        """The state for a caller, who then knows that it may be waiting; without `finish`, what holds now."""
        now = WaitLimits(0.0, float("inf")).decide(self.observation, 0.0) or Finish(RunStatus.BACKGROUND, "it runs")
        finish = finish or now
        if finish.status in (RunStatus.WAITING, RunStatus.MAYBE):
            self._spells = self._spells.after(self.observation, finish, time.monotonic())
            self.known = self._spell
        status, number = self._ended()
        return RunState(
            status=finish.status,
            why=finish.why,
            verdict=self.observation.verdict,
            snapshot=self._latest,
            output=self._tail.text,
            output_lost=self._tail.lost,
            seconds=time.monotonic() - self._started,
            exit_status=status,
            signal=number,
            answers=tuple(self._given),
        )

    def glance(self) -> tuple[float, str]:
        """Seconds since the start, and the last line on the screen; from any thread."""
        return time.monotonic() - self._started, self._latest.screen.tail(1).text.strip()

    def tell(self, name: str, **facts: Any) -> None:
        """Hand an event to the observer, whose failures are only logged."""
        if self._observer is not None:
            try:
                self._observer(Event(name, self.transport.target, facts))
            except Exception:
                _log.exception("an observer of %s failed", self.transport.target)

    @property
    def _latest(self) -> Snapshot:
        assert self._seen is not None  # __init__ takes the first look
        return self._seen

    def _see(self) -> None:
        if self._seen is not None and self.over:
            return
        before, now = self._seen, self.transport.capture()
        self._seen, self._looked = now, time.monotonic()
        if before is None or before.screen.fingerprint != now.screen.fingerprint:
            self._spell, self._changed = self._spell + 1, self._looked
        self._record(now, judged(self._engine, now, before))

    def _take(self, data: bytes) -> None:
        self._printed = time.monotonic()
        self._tail.add(data)

    def _record(self, now: Snapshot, verdict: Verdict) -> None:
        alive = now.alive is not False
        self.observation = Observation(verdict, alive, self._looked - self._changed, self._spell)
        if not alive:
            status, number = self._ended()
            seconds = round(time.monotonic() - self._started, 3)
            self.tell("run_ended", exit_status=status, signal=number, seconds=seconds)

    def _may_be_answered(self) -> bool:
        """Whether an answer given before the prompt was seen may be used: it surely waits, and for no secret.

        A prompt that a caller knows of is left to that caller.
        """
        if self._spell in (self._tried, self.known):
            return False
        finish, verdict = needs(self.observation), self.observation.verdict
        waits = finish is not None and finish.status is RunStatus.WAITING
        return waits and verdict.kind not in NEVER_ANSWERED and not is_secret(verdict, self._latest)

    def _use_answer(self) -> None:
        """Give the next answer: only typing uses it up, and a prompt that stays takes no second one."""
        spell, outcome = self._spell, self.answer(self._answers[0])
        self._given = [*(given for given in self._given if given.pressed), outcome]
        if not outcome.pressed:
            self._tried = spell
            return
        del self._answers[0]
        self._tried = None if outcome.end in (End.CLEARED, End.REPLACED) else self._spell

    def _ended(self) -> tuple[int | None, str | None]:
        """Exit status or signal; neither while it runs, or if they are unknown."""
        status = self._latest.exit_status
        return (status, None) if status is None or status >= 0 else (None, signal_name(-status))
