"""One watched session: its last look, its state, and what a new supervisor restores of it."""

from __future__ import annotations

import fcntl
import os
import sys
import termios
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Mapping

from attrs import define, evolve, field, frozen
from stallkit_wrap.askpass.prompts import AskedPrompts

from stallkit.detect.engine import Detection, Engine
from stallkit.detect.signature import Certainty, State
from stallkit.errors import SessionGone
from stallkit.evidence.agents import asked, starts_others
from stallkit.evidence.snapshot import Member, Snapshot
from stallkit.judging.judge import judge
from stallkit.judging.verdict import Hung, Verdict
from stallkit.press.gate import End
from stallkit.press.hang import HangDetector, activity_sample
from stallkit.press.resets import resets_at
from stallkit.press.rules import Scene
from stallkit.probes.activity import TcpSockets
from stallkit.signals.collect import AskedInside, asked_inside
from stallkit.terminal.screen import Screen
from stallkit_supervisor.escalations import Filed
from stallkit_supervisor.loop_files import signal_stamp, working_directory
from stallkit_supervisor.notices import ANSWERED, over
from stallkit_supervisor.notification import Need, NoticeSubject, Notification
from stallkit_supervisor.prompt_state import Observed, PromptState
from stallkit_supervisor.recovery_state import Hang, RecoveryState
from stallkit_supervisor.session_state import (
    LOOK_S,
    Emit,
    HaltState,
    QuotaState,
    Schedule,
    SessionState,
    Step,
    WatchConfig,
    next_look,
)
from stallkit_supervisor.status_text import StatusNeed
from stallkit_supervisor.store import ACTS, Store
from stallkit_supervisor.transitions import on_look

_NEEDS: dict[Need, StatusNeed] = {
    Need.WAITS: "wait",
    Need.ASKS: "wait",
    Need.FAILED: "failed",
    Need.HUNG: "hung",
    Need.ENDED: "ended",
    Need.LIMIT: "limit",
}
RESTS_S = 3.0  # without its word that it works, before it is at rest: a screen that is drawn anew lacks it for a look
_TICK_S = 0.02  # by which the clock that dates reads may be behind
_PTS = range(136, 144)  # the major numbers of Linux's pseudo-terminals
FINISHES_S = 60.0  # after an answer, for a program to end because of it
INSIDE_S = 2.0  # between two looks at who reads inside its work, and that it has to read before it is told
SAMPLE_S = 15.0  # between two samples of a session at work: half a millisecond of CPU for each of its processes


@frozen
class _Inner:
    """Who reads a terminal inside an agent's work, and since when."""

    reader: AskedInside
    since: float

    def after(self, before: _Inner | None) -> _Inner:
        """It as the look after another one finds it: the words stay while it reads."""
        if before is None:
            return self
        return _Inner(evolve(self.reader, prompt=self.reader.prompt or before.reader.prompt), before.since)

    def stands(self, now: float) -> bool:
        return now - self.since >= (INSIDE_S if self.reader.prompt else 2 * INSIDE_S)


@define
class Watched:
    """A session by its target, with everything about it that changes."""

    target: str
    state: SessionState = field(factory=SessionState)
    verdict: Verdict | None = None
    snapshot: Snapshot | None = None
    error: str | None = None  # why it could not be looked at, since the last look
    gone: bool = False  # at the last look there was no such session
    configured: Path | None = None  # its loop's directory; None: its first process's working directory
    home: Path | None = None  # its first process's working directory when it was first seen
    _home_of: str = ""  # that process, by its session's identity
    _signal: str | None = None
    _judged: Verdict | None = None  # without what the watchdog says
    _agent_seen: Snapshot | None = None  # the latest look at which an agent was there
    _chats: Member | None = None  # the agent that no pack names, as it was last seen to read
    _watchdog: HangDetector | None = None
    _sampled: float = float("-inf")
    _worked: float = float("-inf")
    _inside: Mapping[int, _Inner] = field(factory=dict)  # by pid: who read a terminal inside its work ...
    _inside_at: float = float("-inf")  # ... at that time
    looked_at: float | None = None
    refusals: frozenset[str] = frozenset()  # why actions at this prompt were refused
    unresolved: bool = False  # a press of the last supervisor has no outcome
    _settled: tuple[SessionState, WatchConfig] | None = None  # at the last look, if that led to nothing
    _passed_at: float | None = None  # the latest look without a thought, since that one
    answered_at: float | None = None  # the latest answer that ended what a person was told of
    untouched: bool = False  # nobody has typed in it since what a person is told of is there, as its terminal proves
    _read: float | None = None  # when its terminal had last been read then
    _felt: float = 0.0  # when the last look was judged, by the wall clock
    _looked: float = 0.0  # the same of the look before: what the last one saw was there after that

    @classmethod
    def remembered(cls, target: str, store: Store | None, now: float, directory: Path | None = None) -> Watched:
        """The session as the last supervisor left it.  Raises StoreError."""
        watched = cls(target, configured=directory)
        if store is None:
            return watched
        counts, restarts = store.counts(target, *ACTS), store.counts(target, "restart")
        halted, identity = store.halted(target), store.identity(target)
        adopts = identity is None  # it is about to be started, or was never seen
        of, recovery, prompt = identity or "", RecoveryState(counts=counts, restarts=restarts), PromptState()
        last = store.last(target)
        if last is not None and last.shown and last.outcome in (None, End.UNKNOWN, End.UNCHANGED):
            # A key was pressed at it, or may have been: never press again while it is there.
            shown, adopts = Observed.kept(last.shown), adopts or last.identity != identity
            of, cured = last.identity, last.act in ("interrupt", "restart") and shown.state is State.WORKING
            prompt = PromptState(seen=shown, logged=shown, at=shown, pressed=not cured)
            if cured:
                recovery = evolve(recovery, hang=Hang(interrupted_at=now, restarted=last.act == "restart"))
            watched.unresolved = last.outcome in (None, End.UNKNOWN)
        waiting, quota = store.waiting(target), QuotaState()
        if waiting is not None:
            left = None if waiting.free_at is None else waiting.free_at - time.time()
            quota = QuotaState(True, None if left is None else now + left)
        watched.state = SessionState(of, adopts, None, prompt, recovery, quota, HaltState(halted))
        watched._signal = store.signalled(target)
        watched.home, watched._home_of = store.home(target), identity or ""
        return watched

    def resume(self, filed: Filed, now: float) -> None:
        """Go on with what an earlier supervisor told of it, unless that was another session."""
        if self.state.identity not in ("", filed.identity):
            return
        began, told_at = (now - max(0.0, time.time() - at) for at in (filed.since, filed.told_at))
        subject = NoticeSubject(filed.what, words=filed.key, kind=filed.kind)
        told = Notification(subject, began, began, now, told=filed.told, told_at=told_at, sure=True, key=filed.key)
        self.state = evolve(
            self.state,
            identity=filed.identity,
            prompt=evolve(self.state.prompt, reported=frozenset({ANSWERED})),
            notice=evolve(self.state.notice, notification=evolve(told, silent=not filed.open)),
        )

    def look(self, snapshot: Snapshot | None, engine: Engine) -> Verdict | None:
        """Judge a look (None: no change); the engine is only asked where the screen changed."""
        self.error, self.gone = None, False
        if snapshot is None:
            return self.verdict
        if self._passed_at is not None and self.state.notice.notification is not None:  # it was there until then
            self._knows(evolve(self.state.notice.notification, seen=self._passed_at))
        self._passed_at = None
        before = self.snapshot if self.snapshot and self.snapshot.identity == snapshot.identity else None
        detection = asked(engine, snapshot, self.verdict.detection if self.verdict and before else None)
        seen = self._agent_seen if self._agent_seen and self._agent_seen.identity == snapshot.identity else None
        self.verdict = self._judged = judge(detection, snapshot, (before,) if before else (), seen, unnamed=self._chats)
        self._chats = self._talks_with(snapshot)
        self.snapshot = snapshot
        if self.verdict.shows_agent:
            self._agent_seen = snapshot
        if snapshot.identity and snapshot.identity != self._home_of:
            self.home, self._home_of = self._working_directory(), snapshot.identity
        return self.verdict

    def _talks_with(self, snapshot: Snapshot) -> Member | None:
        """The process of an agent that no pack names, as it was last seen to read."""
        reader = next(iter((snapshot.kernel and snapshot.kernel.readers) or ()), None)
        if self.state.notice.unnamed is None:
            return None
        return self._chats if reader is None or starts_others(reader) else reader

    @property
    def certainty(self) -> Certainty | None:
        """How sure the last verdict is; None before the first."""
        return self.verdict.certainty if self.verdict else None

    @property
    def finished(self) -> bool:
        """Whether it ended well right after somebody answered it: that needs nobody's look."""
        told, seen, answered_at = self.state.notice.notification, self.snapshot, self.answered_at
        if told is None or seen is None or answered_at is None or told.subject.need is not Need.ENDED:
            return False
        return seen.exit_status == 0 and told.appeared - answered_at < FINISHES_S

    def lost(self, error: SessionGone) -> None:
        """Note that the session is gone; its last screen stays known."""
        screen = self.snapshot.screen if self.snapshot else Screen.from_text("")
        gone = Snapshot(screen=screen, alive=False, exit_status=error.exit_status, target=self.target)
        self.gone = True
        self.snapshot, self.verdict, self._watchdog = gone, judge(Detection(screen), gone), None

    def over(self, now: float, config: WatchConfig) -> tuple[Emit, ...]:
        """That what a person heard of it is over, as it is gone."""
        said = over(self.state, now, config)
        self._knows(None)
        return said

    def _knows(self, notification: Notification | None) -> None:
        self.state = evolve(self.state, notice=evolve(self.state.notice, notification=notification))

    def watch_over(self, now: float, hung_after_s: float, sockets: TcpSockets, prompts: AskedPrompts) -> None:
        """While it says that it works: take a sample every few seconds, perhaps it hangs; see what is asked inside."""
        verdict, snapshot = self._judged, self.snapshot
        if verdict is None or snapshot is None or self.gone:
            return
        works = verdict.state is State.WORKING
        hung = self._hung(verdict, snapshot, now, hung_after_s, sockets) if hung_after_s else None
        asked = (_asked_inside(snapshot, prompts) if works else None) or self._reads_inside(verdict, snapshot, now)
        self.verdict = verdict.but_asked_inside(asked) if asked else verdict.but_hung(hung if works else None)

    def _reads_inside(self, verdict: Verdict, snapshot: Snapshot, now: float) -> str | None:
        """What a tool asks that has read its terminal for a while; for its words it is waited as long again."""
        if not verdict.may_ask_inside:
            self._inside = {}
        elif now - self._inside_at >= INSIDE_S:
            found = [one for one in asked_inside(snapshot) if one.asks_surely]
            self._inside = {one.pid: _Inner(one, now).after(self._inside.get(one.pid)) for one in found}
            self._inside_at = now
        return next((one.reader.asks for one in self._inside.values() if one.stands(now)), None)

    def _hung(
        self, verdict: Verdict, snapshot: Snapshot, now: float, after_s: float, sockets: TcpSockets
    ) -> Hung | None:
        if verdict.retrying is not None:  # it says itself why nothing comes
            self._watchdog = None
            return None
        dog = self._watchdog
        if verdict.says_it_works:
            self._worked = now
        overdue = dog is not None and dog.overdue(now, after_s)  # it is about to be told, or interrupted
        if verdict.says_it_works and (overdue or now - self._sampled >= min(SAMPLE_S, after_s / 4)):
            seen = activity_sample(verdict, snapshot, sockets)
            self._watchdog, self._sampled = dog.then(now, seen) if dog else HangDetector.begin(now, seen), now
        elif dog is not None and now - self._worked >= RESTS_S:
            self._watchdog = dog.at_rest(now)
        return self._watchdog.hung(after_s) if self._watchdog else None

    def step(self, now: float, config: WatchConfig) -> tuple[Step, ...]:
        """What to do after the last look."""
        assert self.verdict is not None and self.snapshot is not None  # after a look
        self.looked_at = now
        free = resets_at(self.verdict, datetime.now(UTC).astimezone())
        free_in = None if free is None else (free - datetime.now(UTC)).total_seconds()
        before = self.state
        self.state, steps = on_look(before, self.verdict, self.snapshot, now, config, free_in)
        self._feel(before.notice.notification)
        self._settled = (self.state, config) if not steps and _is_settled(before, self.state) else None
        self._passed_at = None
        return steps

    def _feel(self, before: Notification | None) -> None:
        """Note whether somebody typed since the look before: Linux notes when a terminal was read, in steps of 8 s."""
        told = self.state.notice.notification
        read = _read_at(self.snapshot) if told or before else None
        self.untouched = read is not None and read == self._read and self._looked // 8 > read // 8
        if self._read is None or not (told and before and told.appeared == before.appeared):
            self._read = read
        self._looked, self._felt = self._felt, time.time() - _TICK_S

    def passes(self, now: float, config: WatchConfig) -> bool:
        """Whether a look that shows nothing new needs no thought: the last one led to nothing, and was not long ago."""
        if self._settled is None or self.error is not None or self.looked_at is None:
            return False
        state, by = self._settled
        recently = now - self.looked_at < min(LOOK_S, config.schedule.interval_s)
        if self.state is not state or config is not by or not recently:
            return False
        self._passed_at = now
        return True

    def due(self, now: float, schedule: Schedule) -> bool:
        """Whether it is time for another look."""
        heartbeat, verdict = self.state.heartbeat, self.verdict
        if heartbeat is None or verdict is None or self.looked_at is None:
            return True
        works = verdict.state is State.WORKING and verdict.certainty is Certainty.SURE
        return now >= next_look(heartbeat, self.looked_at, schedule, suspicious=not works)

    @property
    def directory(self) -> Path | None:
        """The directory of its loop's files; of a program that ended, where it began."""
        return self.configured or self._working_directory() or self.home

    @property
    def directories(self) -> tuple[Path, ...]:
        """Where an ``.auto-stop`` holds it: a program that went elsewhere is held where it began as well."""
        if self.configured:
            return (self.configured,)
        return tuple({place: None for place in (self.home, self._working_directory()) if place is not None})

    def _working_directory(self) -> Path | None:
        return working_directory(self.snapshot.process.pid if self.snapshot and self.snapshot.process else None)

    def new_signal(self) -> str | None:
        """The stamp of a signal that was not there at the last look."""
        directory = self.directory  # once: /proc is asked
        stamp = signal_stamp(directory) if directory else None
        if stamp is None or stamp == self._signal:
            return None
        self._signal = stamp
        return stamp

    @property
    def need(self) -> StatusNeed | None:
        """What it needs, for `summary`; one that is gone needs nothing that a glance at a line could give."""
        if self.state.halt.halted:
            return "stopped"
        if self.error is not None:
            return None if self.gone else "unseen"
        if self.verdict is not None and self.verdict.state is State.WAITING:
            return "wait"
        told = self.state.notice.notification
        need = _NEEDS.get(told.subject.need) if told and (told.sure or told.told) else None
        return need or ("limit" if self.state.quota.waits else None)

    def _history(self) -> dict[str, Any] | None:
        """What a person hears of, since when it is there, at how many looks it was, and whether it was answered."""
        told = self.state.notice.notification
        if told is None or told.subject.need is Need.DONE or self.looked_at is None:
            return None
        return {
            "what": str(told.subject.need),
            "since": self._on_the_wall(told.appeared),
            "looks": told.looks,
            "told": told.told,
            "answered_by": "stallkit" if told.answered else None,
        }

    def _on_the_wall(self, at: float) -> str:
        """A moment before the last look, by the wall clock."""
        ago = timedelta(seconds=max(0.0, (self.looked_at or at) - at))
        return (datetime.now(UTC) - ago).isoformat(timespec="seconds")

    def as_object(self) -> dict[str, Any]:
        """As plain values, for tables and JSON."""
        verdict, state = self.verdict, self.state
        match = verdict.match if verdict else None
        return {
            "state": str(verdict.state) if verdict else "unknown",
            "certainty": str(self.certainty) if self.certainty else None,
            "kind": str(verdict.kind) if verdict and verdict.kind else None,
            "signature": f"{match.pack.name}:{match.signature.id}" if match else None,
            "line": match.line if match else None,
            "foreground": Scene.of(self.snapshot).foreground if self.snapshot else None,
            "needs": self._history(),
            "unchanged": state.heartbeat.unchanged if state.heartbeat else 0,
            "still_since": self._on_the_wall(state.heartbeat.since) if state.heartbeat else None,
            "recoveries": state.recovery.counts.total,
            "restarts": state.recovery.restarts.total,
            "halted": state.halt.halted,
            "held": state.halt.held,
            "waits_for_quota": state.quota.waits,
            "error": self.error,
        }


def _read_at(seen: Snapshot | None) -> float | None:
    """When the first process's terminal was last read from, by the wall clock; None if that is unknown.

    Unknown too while a key waits to be read: the terminal shows what is typed before its program reads it.
    """
    if seen is None or seen.process is None:
        return None
    try:
        opened = os.open(f"/proc/{seen.process.pid}/fd/0", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if os.major(os.fstat(opened).st_rdev) not in _PTS:
            return None
        unread = int.from_bytes(fcntl.ioctl(opened, termios.FIONREAD, bytes(4)), sys.byteorder)
        return None if unread else os.fstat(opened).st_atime
    except OSError:
        return None
    finally:
        os.close(opened)


def _is_settled(before: SessionState, after: SessionState) -> bool:
    """Whether a look changed nothing but how often it saw what a person has heard of."""
    was, is_now = before.notice.notification, after.notice.notification
    if was is not None and is_now is not None and was.told == is_now.told > 0 and was.subject == is_now.subject:
        after = evolve(after, notice=evolve(after.notice, notification=was))
    return after == before


def _asked_inside(snapshot: Snapshot, prompts: AskedPrompts) -> str | None:
    """The first prompt that waits below the session, by the reports of stallkit's askpass program."""
    pid = snapshot.process.pid if snapshot.process else None
    asked = prompts.below(pid) if pid is not None else []
    return f"{asked[0].who} (pid {asked[0].pid}) asks: {asked[0].prompt}" if asked else None
