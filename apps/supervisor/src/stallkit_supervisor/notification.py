"""What a person may have to hear of a session, and when: soon, once, again later, and that it is over.  Pure.

A prompt is known by its signature and its rows, except what moves on them: glyphs that turn or blink, counters,
clocks, percentages, countdowns.

Telling does not wait for a screen at rest, nor for a policy that acts later.  Times are seconds of one monotonic clock.
"""

from __future__ import annotations

import hashlib
import math
import re
from enum import StrEnum
from itertools import count
from typing import Any, Mapping

from attrs import Attribute, evolve, field, frozen

from stallkit.detect.engine import Match
from stallkit.detect.signature import Certainty, State
from stallkit.evidence.signal import decisive
from stallkit.evidence.turn import LASTING, TurnOutcome, class_of
from stallkit.judging.verdict import Verdict
from stallkit.press.gate import REST_S
from stallkit.settings import seconds

# --- what it is about ---


class Need(StrEnum):
    """What a person hears of."""

    WAITS = "waits"  # for a key or a text
    ASKS = "asks"  # its turn ended with a question
    FAILED = "failed"  # its turn ended with an error
    DONE = "done"  # its turn ended
    ENDED = "ended"
    LIMIT = "limit"  # of usage
    HUNG = "hung"  # it says that it works, and nothing happens
    RETRYING = "retrying"  # it works, and cannot reach its model
    UNKNOWN = "unknown"


class ClearedBy(StrEnum):
    """How it came that it is over, if no person answered it through stallkit: then it is their name."""

    STALLKIT = "stallkit"
    TYPED = "typed there"
    ITSELF = "by itself"  # nobody typed anything, or no key helps against it
    GONE = "gone with its session"


_BY_ITSELF = frozenset({Need.LIMIT, Need.HUNG, Need.RETRYING, Need.UNKNOWN})


def cleared_by(what: str | None, gone: bool) -> ClearedBy:
    """How it came that this is over, as far as a look shows it; `gone`: its session is."""
    return ClearedBy.GONE if gone else ClearedBy.ITSELF if what in _BY_ITSELF else ClearedBy.TYPED


def ending(by: str) -> str:
    """How it came that it is over, for people.

    >>> ending("ada"), ending("gone with its session")
    ('answered by ada', 'gone with its session')
    """
    return by if by in (ClearedBy.TYPED, ClearedBy.ITSELF, ClearedBy.GONE) else f"answered by {by}"


_TURNS = {TurnOutcome.ASKS: Need.ASKS, TurnOutcome.FAILED: Need.FAILED, TurnOutcome.DONE: Need.DONE}
BY_STATE = {
    State.WAITING: Need.WAITS,
    State.QUOTA: Need.LIMIT,
    State.ENDED: Need.ENDED,
    State.GONE: Need.ENDED,
    State.UNKNOWN: Need.UNKNOWN,
}

# Numbers that move by themselves: with a unit of time or of a count, percentages, clocks, countdowns, fractions.
_UNITS = "ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|days?|tokens?|[kmg]i?b(?:/s)?|b|bytes|k"
_MOVES = re.compile(
    rf"\d+(?::\d\d)+(?:[.,]\d+)? | \d+(?:[.,]\d+)?\s*(?:%|(?:{_UNITS})\b) | (?<=\bin\s)\d+ | [\[(]\s*\d+\s*[\])]",
    re.VERBOSE | re.IGNORECASE,
)
_GLYPHS = re.compile(r"[^\w?]+")  # marks, bullets, spinners, frames: a selected row may move, and it is the same prompt
_NUMBER = re.compile(r"\d+")
_DIGITS = 18  # of a number that may be a countdown
_MOST = 2_000  # characters of the words


@frozen
class NoticeSubject:
    """What a person may hear of; two are equal if need, source and words are.

    `words` are without what moves, and not redacted.  `sure`, `message` and what is known of its numbers are of one
    look: `changed` are the places of those that fell since the look before it, counted from the first; one that
    fell twice in a row, alone, is a countdown, and left out of the words (`counters`).
    """

    need: Need
    by: str = ""  # the signature, the class of an error, or the source of a signal
    words: str = ""
    sure: bool = field(default=True, eq=False)
    kind: str | None = field(default=None, eq=False)
    message: str = field(default="", eq=False)  # an agent's last one, where its turn ended; what shows that it hangs
    counters: frozenset[int] = field(default=frozenset(), eq=False)
    changed: frozenset[int] = field(default=frozenset(), eq=False)
    tries_again: bool = field(default=False, eq=False)  # its program goes on by itself, for all that it says

    @property
    def key(self) -> str:
        """It as one short word, to be stored: it holds nothing of the words."""
        shown = f"{self.need} {self.by} {self.words}"
        return hashlib.sha256(shown.encode("utf-8", "replace")).hexdigest()[:16]

    def after(self, before: NoticeSubject | None) -> NoticeSubject:
        """It as the look after another one shows it, without the countdowns that are known by then.

        >>> looks = [NoticeSubject(Need.WAITS, "menu", f"Starts by itself, {left} left") for left in (9, 8, 7, 6)]
        >>> second = looks[1].after(looks[0])
        >>> third = looks[2].after(second)
        >>> third == looks[3].after(third)
        True
        """
        if before is None or (before.need, before.by) != (self.need, self.by):
            return self
        if self.need is Need.FAILED and not before.words:
            return evolve(self, words="")  # it gave up what it was told to have failed with
        masked = self._without(before.counters)
        changed = _changed(before.words, masked.words)
        if changed & before.changed:
            masked = self._without(before.counters | (changed & before.changed))
        return evolve(masked, changed=changed or (before.changed if masked.words == before.words else changed))

    def _without(self, counters: frozenset[int]) -> NoticeSubject:
        """It without the numbers at these places."""
        places = count()
        words = _NUMBER.sub(lambda found: "0" if next(places) in counters else found.group(), self.words)
        return evolve(self, words=words, counters=counters)


def subject_of(verdict: Verdict) -> NoticeSubject | None:
    """What this look has to tell; None if it works."""
    if verdict.inside is not None and verdict.state is State.WORKING:
        return NoticeSubject(Need.WAITS, "askpass", _still(verdict.inside), message=verdict.inside)
    if verdict.hung is not None:
        return NoticeSubject(Need.HUNG, message="; ".join(verdict.hung.evidence))
    if verdict.state is State.WORKING and verdict.retrying is not None:
        error = class_of(verdict.retrying)
        lasts = error in LASTING
        because = Need.FAILED if lasts else Need.RETRYING
        return NoticeSubject(because, error if lasts else "", tries_again=not lasts, message=verdict.retrying)
    turn = verdict.ended_turn if verdict.state is State.IDLE else None
    need = _TURNS[turn.how] if turn else BY_STATE.get(verdict.state)
    if need is None:
        return None
    sure, kind = verdict.certainty is Certainty.SURE, str(verdict.kind) if verdict.kind else None
    tries_again = need is Need.LIMIT and verdict.retrying is not None
    if turn is not None:
        return NoticeSubject(need, turn.error or "", _still(turn.message), sure, message=turn.message)
    if need is Need.ENDED:  # however that is known: what the agent left, then the prompt of its shell
        return NoticeSubject(need, sure=sure)
    if need is Need.LIMIT:  # whichever signature or signal says so: one look shows it so, the next otherwise
        return NoticeSubject(need, sure=sure or tries_again, kind=kind, tries_again=tries_again)
    match, says = verdict.match, decisive(verdict.signals)
    if match is not None and match.signature.state is verdict.state:
        words = _still(_rows(verdict, match)) if need is Need.WAITS else ""
        by = f"{match.pack.name}:{match.signature.id}"
        return NoticeSubject(need, by, words, sure, kind)
    if says is not None and says.state is verdict.state:
        return NoticeSubject(need, says.source, _still(says.words), sure, kind)
    unseen = verdict.inside if need is Need.WAITS else None
    line = unseen or (verdict.detection.screen.prompt_line.text if need is Need.WAITS else "")
    if verdict.by_read:  # perhaps in a spinner's row, with numbers of its own: they and its kind change at each look
        return NoticeSubject(need, "read", _NUMBER.sub("0", _still(line)), sure, kind, unseen or "")
    return NoticeSubject(need, kind or "", _still(line), sure, kind, unseen or "")


def _rows(verdict: Verdict, match: Match) -> str:
    """The rows of the prompt: those of its dialog, or its line with its paragraph; a scroll bar is no word of it."""
    lines, reading = verdict.detection.screen.lines, verdict.detection.reading
    if reading is not None and reading.whole and reading.submit is not None:  # what is ticked is no other question
        asked = (text for name, text in reading.fields.items() if not reading.specs[name].aside)
        return "\n".join((*asked, *(one.text for one in reading.options)))
    if reading is not None and reading.whole:
        return "\n".join(row.text for row in reading.rows)
    if not math.isfinite(match.bottom) or match.bottom >= len(lines):
        return match.line
    first = last = int(match.bottom)
    while first > 0 and _still(lines[first - 1]):
        first -= 1
    while last + 1 < len(lines) and _still(lines[last + 1]):
        last += 1
    return "\n".join(lines[first : last + 1])


def _still(text: str) -> str:
    """The words of a text without what moves on it, however it is wrapped."""
    return " ".join(_GLYPHS.sub(" ", _MOVES.sub(" ", text)).split())[:_MOST]


def _changed(before: str, now: str) -> frozenset[int]:
    """The places of the numbers that fell, counted from the first; none if anything else changed as well.

    A number that grows may be that of the next question.
    """
    if before == now or _NUMBER.sub("0", before) != _NUMBER.sub("0", now):
        return frozenset()
    pairs = list(zip(_NUMBER.findall(before), _NUMBER.findall(now), strict=True))
    fell = frozenset(place for place, (was, is_now) in enumerate(pairs) if int(was[:_DIGITS]) > int(is_now[:_DIGITS]))
    return fell if all(was == is_now or place in fell for place, (was, is_now) in enumerate(pairs)) else frozenset()


# --- when it is told ---

NOTIFY_AFTER_S = 2.0  # a person at the keyboard, or a policy that answers at once, is faster
# No key helps where a limit is used up; a hang has taken minutes already; what is tried again may well succeed.
AFTER_S = {Need.LIMIT: 0.0, Need.HUNG: 0.0, Need.RETRYING: 60.0}
MAYBE_S = 60.0
REMIND_S = 900.0
BUSY_S = REST_S + 5.0  # for an answer that has to wait until its screen was left alone, and for its effect
BACK_S = 120.0  # without what is tried again, before it is over: a try takes that long, and fails for the same cause
GONE_S = 2.0  # without it, before it is over: a screen that is drawn anew hides its prompt for a look


def _each(holder: object, attribute: Attribute[Any], given: Mapping[str, float]) -> None:
    for name, after_s in given.items():
        if name not in set(Need):
            raise ValueError(f"{attribute.name} knows {', '.join(Need)}, not {name!r}")
        if not (after_s >= 0 and math.isfinite(after_s)):
            raise ValueError(f"{attribute.name} must be seconds, 0 or more, not {after_s!r}")


@frozen
class Notify:
    """How soon a person hears of it, in seconds since it appeared; raises ValueError for an invalid time.

    `after_s` has an entry for what differs from the default (`AFTER_S`, `NOTIFY_AFTER_S`), such as ``{"failed": 0}``;
    `maybe_s` is for what is not sure, `remind_s` until the reminder, None for never.
    """

    after_s: Mapping[str, float] = field(factory=dict, validator=_each, hash=False)
    maybe_s: float = field(default=MAYBE_S, converter=float, validator=seconds)
    remind_s: float | None = field(default=REMIND_S, validator=seconds)

    def due(self, subject: NoticeSubject) -> float:
        """Seconds from the appearance of this to the notice."""
        if not subject.sure:
            return self.maybe_s
        return self.after_s.get(subject.need, AFTER_S.get(subject.need, NOTIFY_AFTER_S))


@frozen
class Tell:
    """Tell a person of it, for the `times`-th time; it has been there for `waited_s`."""

    subject: NoticeSubject
    waited_s: float
    times: int


@frozen
class Cleared:
    """It is over, after `waited_s`; `told`: a person heard of it; `answered`: stallkit pressed a key at it.

    `over`: that key is known to have ended it.
    """

    subject: NoticeSubject
    waited_s: float
    told: bool
    answered: bool
    over: bool = False


@frozen
class Notification:
    """What to tell a person of a session, since when, and how often they heard it.

    `appeared` is when this very prompt was first seen, `began` when the first one without a gap was: of prompts that
    follow each other too fast for a notice each, a person hears of one in time anyway.
    """

    subject: NoticeSubject
    appeared: float
    began: float
    seen: float  # last
    looks: int = 1
    told: int = 0  # how often, this one
    told_at: float | None = None  # the latest, of any since `began`
    sure: bool = False  # once, at least
    answered: bool = False  # by stallkit
    over: bool = False  # by that answer: what the next look shows is another one
    silent: bool = False  # of one that is not seen again it is not said that it is over: perhaps that was said
    key: str = ""  # of its subject, while no more is known of that: an earlier supervisor told of it

    @classmethod
    def of(cls, subject: NoticeSubject, now: float) -> Notification:
        """Of one that is seen for the first time."""
        return cls(subject, appeared=now, began=now, seen=now, sure=subject.sure)

    def recognised(self, subject: NoticeSubject | None) -> Notification:
        """It with its subject, if that is what an earlier supervisor told of."""
        return evolve(self, subject=subject, key="") if subject is not None and subject.key == self.key else self


def on_subject(
    before: Notification | None,
    subject: NoticeSubject | None,
    now: float,
    notify: Notify,
    *,
    works: bool = False,
    busy: bool = False,
    said: bool = False,
) -> tuple[Notification | None, tuple[Tell | Cleared, ...]]:
    """What is known after a look that showed this subject, as its `after` gives it, and what to say, in order.

    `works`: without a subject, it surely works, so that the old one is over.  A subject stays while a look is
    doubtful, for `GONE_S`, and what is tried again while it is tried, for `BACK_S`.  `busy`: something is being done
    about it, which may take until `BUSY_S`.
    `said`: this look leads to a notice of another kind, which is enough.
    """
    if before is not None and before.over:
        after, says = on_subject(None, subject, now, notify, busy=busy, said=said)
        return after, (*_cleared(before, now), *says)
    if before is None:
        return _told(Notification.of(subject, now), now, notify, busy, said) if subject else (None, ())
    if subject is not None and subject.need is Need.RETRYING and before.subject.tries_again:
        subject = before.subject  # a limit is the cause still, though its words went out of sight
    if subject == before.subject:
        sure = before.sure or subject.sure
        return _told(
            evolve(before, subject=subject, seen=now, looks=before.looks + 1, sure=sure), now, notify, busy, said
        )
    certain = works if subject is None else subject.sure
    tries = subject is None and before.subject.tries_again
    if (tries or not certain) and now - before.seen < (BACK_S if tries else GONE_S):
        return before, ()
    over = _cleared(before, now)
    if subject is None:
        return None, over
    at = Notification.of(subject, now)
    if (subject.need, subject.by) == (before.subject.need, before.subject.by):
        at = evolve(at, began=before.began, told_at=before.told_at)
    after, told = _told(at, now, notify, busy, said)
    return after, (*over, *told)


def _told(
    at: Notification, now: float, notify: Notify, busy: bool, said: bool
) -> tuple[Notification, tuple[Tell, ...]]:
    if said:
        return evolve(at, told=at.told + 1, told_at=now), ()
    if at.told and at.told_at is not None:
        due = None if notify.remind_s is None else at.told_at + notify.remind_s
    else:
        after_s = notify.due(evolve(at.subject, sure=at.sure))  # a doubtful look at what was sure is no doubt of it
        due = (at.began if at.told_at is None else at.appeared) + (max(after_s, BUSY_S) if busy else after_s)
    if due is None or now < due or (at.told and at.subject.need is Need.DONE):
        return at, ()
    at = evolve(at, told=at.told + 1, told_at=now)
    return at, (Tell(at.subject, now - at.appeared, at.told),)


def _cleared(at: Notification, now: float) -> tuple[Cleared, ...]:
    """That it is over, if somebody may have waited for it: a doubtful look that nobody heard of was nothing."""
    waited = (at.sure or at.told) and not (at.key and at.silent)
    if not waited or at.subject.need is Need.DONE:
        return ()
    return (Cleared(at.subject, now - at.appeared, told=at.told > 0, answered=at.answered, over=at.over),)
