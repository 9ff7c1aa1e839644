"""A session that says it works while nothing happens in it: since when, and by what that is known.

`HangDetector` is fed with samples of a session at work.  What arrives starts its clock again: data, a token count, the
program's own word; so does the first request since data came.  What only moves does not: an animation takes CPU time, a
status line starts a child every few seconds, a request is sent again without an answer.  While a tool runs below the
agent, a `sleep` too, its silence is the tool's and the session is not hung.  What is not known never makes it so.

A single check has no history.  It knows for how long nothing has come or gone on the session's connections, for how
long the turn has taken by the screen's own count or the program's word, and which tools run now.  Where any of these is
unknown, or no connection is open, a check never says that a session is hung.
"""

from __future__ import annotations

import re

from attrs import evolve, field, frozen

from stallkit.detect.signature import State
from stallkit.evidence.agents import agents_of
from stallkit.evidence.signal import Guard
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.verdict import Hung, Verdict
from stallkit.probes.activity import Activity, Connection, ProcessActivity, TcpSockets, sample
from stallkit.signals.collect import at_work
from stallkit.terminal.screen import Screen

HUNG_AFTER_S = 180.0
MAX_GAP_S = 60.0  # between two samples: after a longer one it is not known what happened in between
TOOL_S = 10.0  # a process that is older is a tool at work; a younger one may be a status line's
COMPANION_S = 60.0  # a process that starts within this of its parent belongs to it, as a language server does
SLACK_S = 2.0  # by which a program's own times may be off


@frozen
class ActivitySample:
    """One look at a session that says it works."""

    activity: Activity | None = None
    elapsed_s: float | None = None  # for how long this turn has taken, by its own count
    tokens: str | None = None  # as shown
    said_s: float | None = None  # how long ago the program last said something new of itself

    @property
    def connections(self) -> tuple[Connection, ...] | None:
        """Those to others; None if they are unknown."""
        return self.activity.connections if self.activity else None


@frozen
class HangDetector:
    """Since when nothing has happened in a session.

    >>> from stallkit.probes.activity import Activity, Connection, ProcessActivity
    >>> silent = Connection("10.0.0.2:4711", "10.0.0.9:443", 90, 800, received_s=200.0, sent_s=199.0)
    >>> agent = ProcessActivity(7, 1, "acme", parent=1, age_s=900.0, cpu_s=9.0, foreground=True)
    >>> hung = HangDetector.begin(0.0, ActivitySample(Activity(0.0, (agent,), (silent,)), elapsed_s=201.0)).hung()
    >>> hung.evidence[:2]
    ('nothing came on 1 TCP connection for 200 s', 'what was sent 199 s ago has no answer')
    """

    at: float  # the latest look, in seconds of any clock that never goes back
    since: float  # when something last happened
    began: float | None = None  # the turn, where that is known
    seen: ActivitySample | None = field(default=None, repr=False)  # the latest at work ...
    seen_at: float = float("-inf")  # ... and when that was
    asked: bool = False  # something was sent since data last came
    rests: bool = False  # it did not work at the latest look ...
    rested: bool = False  # ... nor at the one before it, or surely not: its turn is over

    @classmethod
    def begin(cls, now: float, seen: ActivitySample | None) -> HangDetector:
        """After the first look, at `now`; `seen` is None if the session does not work.

        How long nothing has been received or sent, how long the turn has taken and when the program last said something
        go back before that look.
        """
        if seen is None:
            return cls(now, now, rests=True)
        known = [age for age in (seen.elapsed_s, seen.said_s) if age is not None]
        connections = seen.connections
        quiet = min(min(one.received_s, one.sent_s) for one in connections) if connections else 0.0
        since = now - min([quiet, *known]) if known else now
        return cls(now, since, _began(None, now, seen), seen, now, _asks(seen))

    def then(self, now: float, seen: ActivitySample | None) -> HangDetector:
        """After another look; `seen` as for `begin`."""
        if seen is None:
            return evolve(self, at=now, rests=True, rested=self.rests)
        before = self.seen if now - self.seen_at <= MAX_GAP_S else None
        known = before is not None and before.activity is not None and seen.activity is not None
        came, went = (_came(before, seen), _went(before, seen)) if before else (True, False)
        asked = _asks(seen) if came else self.asked or went
        arrived = came or (went and not self.asked) or before is None or _counted(before, seen)
        if self.rested or not known or arrived or any(one.age_s >= TOOL_S for one in self._tools_of(seen, now)):
            if self.rests:  # its turn began since that look, or goes on after a dialog
                turn_s = 0.0 if seen.elapsed_s is None else seen.elapsed_s
                return HangDetector(now, now, min(self.at, now - turn_s), seen, now, asked)
            anew = before is None or self.began is None or _began_anew(before, seen)
            began = _began(self.began, now, seen) if anew else self.began
            if not known:
                return evolve(HangDetector.begin(now, seen), began=began)
            return HangDetector(now, now, began, seen, now, asked)
        # a look at rest in between was none
        on = evolve(self, at=now, seen=seen, seen_at=now, asked=asked, rests=False, rested=False)
        said_at = self.since if seen.said_s is None else now - seen.said_s
        return evolve(on, since=said_at) if said_at > self.since + SLACK_S else on

    def at_rest(self, now: float) -> HangDetector:
        """After looks that surely show it at rest: what it does next is another turn."""
        return evolve(self, at=now, rests=True, rested=True)

    def hung(self, after_s: float = HUNG_AFTER_S) -> Hung | None:
        """What is known of a session in which nothing has happened for `after_s` seconds; None for every other one."""
        seen = self.seen
        if seen is None or seen.activity is None or not self.overdue(self.at, after_s):
            return None
        if any(one.age_s >= TOOL_S for one in self.tools):  # a younger one was not asked for: nothing came
            return None
        return Hung(self.at - self.since, tuple(self._evidence(seen, seen.activity)))

    def overdue(self, now: float, after_s: float) -> bool:
        """Whether it is hung by `now` unless something happened since the latest look, or a tool runs."""
        activity = self.seen.activity if self.seen else None
        known = activity is not None and activity.processes and activity.connections is not None
        return bool(known) and not self.rests and now - self.since >= after_s

    @property
    def tools(self) -> tuple[ProcessActivity, ...]:
        """The processes that this turn started, not those that the agent keeps."""
        return self._tools_of(self.seen, self.seen_at)

    def _tools_of(self, seen: ActivitySample | None, now: float) -> tuple[ProcessActivity, ...]:
        processes = seen.activity.processes if seen and seen.activity else ()
        by_pid = {one.pid: one for one in processes}
        return tuple(one for one in processes if self._is_tool(one, by_pid.get(one.parent), now))

    def _is_tool(self, process: ProcessActivity, parent: ProcessActivity | None, now: float) -> bool:
        if parent is None:  # the agent itself, or what it runs in
            return False
        if self.began is not None:
            return now - process.age_s > self.began - SLACK_S
        return not process.foreground or parent.age_s - process.age_s > COMPANION_S

    def _evidence(self, seen: ActivitySample, activity: Activity) -> list[str]:
        span = self.at - self.since
        found = []
        connections = activity.connections or ()
        if connections:
            quiet = max(span, min(one.received_s for one in connections))  # one may be open only since a moment ago
            several = "" if len(connections) == 1 else "s"
            found.append(f"nothing came on {len(connections)} TCP connection{several} for {quiet:.0f} s")
        else:
            found.append("no TCP connection is open")
        if asked := [one.sent_s for one in connections if one.unanswered]:
            found.append(f"what was sent {min(asked):.0f} s ago has no answer")
        found.append("no tool runs")
        if seen.tokens is not None and span:
            found.append(f"its token count stands at {seen.tokens}")
        if seen.elapsed_s is not None:
            found.append(f"its own counter says {seen.elapsed_s:.0f} s")
        if seen.said_s is not None:
            found.append(f"it last said something new of itself {seen.said_s:.0f} s ago")
        return found


# --- what one look finds, and what a single check can know ---


def hung_now(verdict: Verdict, snapshot: Snapshot, after_s: float = HUNG_AFTER_S) -> Hung | None:
    """Whether a session is hung, as far as one check can know it; None if it is not, or that is unknown."""
    dog = HangDetector.begin(0.0, activity_sample(verdict, snapshot))
    return None if dog.tools else dog.hung(after_s)  # what asked for a tool that has just begun is not known


def activity_sample(verdict: Verdict, snapshot: Snapshot, sockets: TcpSockets | None = None) -> ActivitySample | None:
    """What one look at a session at work finds; None if the verdict is not that its program says it works.

    Takes a sample of its processes.  `sockets` are shared by all sessions that are looked at together.  Never raises.
    """
    if not verdict.says_it_works:
        return None
    counters = turn_counters(snapshot.screen)
    says = (one for one in verdict.signals if one.counts and one.state is State.WORKING and one.guard is Guard.PROCESS)
    said_s = min((one.since_s for one in says if one.since_s is not None), default=None)
    return ActivitySample(sample(_working(verdict, snapshot), sockets), counters.elapsed_s, counters.tokens, said_s)


def _working(verdict: Verdict, snapshot: Snapshot) -> tuple[int, ...]:
    """The processes that work: the agent's own, without the shell or launcher above it, whose tool it would seem."""
    there = at_work(snapshot)
    own = {one.pid for one in agents_of(verdict.detection.agents, snapshot.kernel)}
    return tuple(pid for pid in there if pid in own) or there


# --- what happened from one look to the next ---


def _began(before: float | None, now: float, seen: ActivitySample) -> float | None:
    """When the turn began, by the screen's own count; what was known before, where it shows none."""
    return now - seen.elapsed_s if seen.elapsed_s is not None else before


def _began_anew(before: ActivitySample, now: ActivitySample) -> bool:
    """Whether the screen's own count went back: it is another turn's, or another step's."""
    return before.elapsed_s is not None and now.elapsed_s is not None and now.elapsed_s < before.elapsed_s


def _counted(before: ActivitySample, now: ActivitySample) -> bool:
    """Whether its own counts say that something happened between two looks."""
    return now.tokens != before.tokens or _began_anew(before, now)


def _came(before: ActivitySample, now: ActivitySample) -> bool:
    """Whether data came, or whether that is not known."""
    known, received = _by_ends(before), now.connections
    if known is None or received is None:
        return (known is None) is not (received is None)
    return any(
        one.received > (known[ends].received if (ends := (one.local, one.peer)) in known else 0) for one in received
    )


def _went(before: ActivitySample, now: ActivitySample) -> bool:
    """Whether anything was sent, or a connection was opened to send it."""
    known = _by_ends(before) or {}
    return any(
        (one.local, one.peer) not in known or one.sent > known[one.local, one.peer].sent
        for one in now.connections or ()
    )


def _asks(seen: ActivitySample) -> bool:
    return any(one.unanswered for one in seen.connections or ())


def _by_ends(seen: ActivitySample) -> dict[tuple[str, str], Connection] | None:
    return None if seen.connections is None else {(one.local, one.peer): one for one in seen.connections}


# What an agent's screen counts while it works: (3m 12s • esc to interrupt), (12s · ↓ 1.2k tokens), Working · 93 B.
ROWS = 14  # above the screen's end, with the composer and its footer
_BRACKETS = re.compile(r"\(([^()]{1,120})\)")
_TIME = re.compile(r"(?:^|[\s·•,])(?:(\d{1,3})h ?)?(?:(\d{1,4})m ?)?(?:(\d{1,6})s)?(?=$|[\s·•,])")
_WORKS = re.compile(r"…|\.\.\.|\besc\b|\btokens?\b", re.IGNORECASE)
_TOKENS = re.compile(r"(?<![\w.])(\d[\d.,]*(?: ?[kKM](?= ))?) ?(?:tokens?|[KM]i?B|B)\b")


@frozen
class TurnCounters:
    """The counters at work, as far as they are shown."""

    elapsed_s: float | None = None
    tokens: str | None = None  # as shown: it is compared, not counted with


def turn_counters(screen: Screen) -> TurnCounters:
    """The counters in the screen's lowest rows; of several, the lowest.

    >>> turn_counters(Screen.from_text("✽ Herding… (3m 12s · ↓ 1.2k tokens)"))
    TurnCounters(elapsed_s=192.0, tokens='1.2k')
    """
    rows = screen.text.rstrip().split("\n")[-ROWS:]
    elapsed = [time for row in rows if _WORKS.search(row) for part in _BRACKETS.findall(row) if (time := _time(part))]
    tokens = [found for row in rows for found in _TOKENS.findall(row)]
    return TurnCounters(elapsed[-1] if elapsed else None, " ".join(tokens) or None)


def _time(text: str) -> float | None:
    """The seconds that a text in brackets counts; None if it counts none, and for none yet."""
    for hours, minutes, seconds in _TIME.findall(text):
        if hours or minutes or seconds:
            return 3600.0 * int(hours or 0) + 60.0 * int(minutes or 0) + float(seconds or 0)
    return None
