"""What a person may have to be told of a session, and whether it is still the same at the next look.  Pure.

A prompt is known by its signature and its rows, but for what moves on them: glyphs that turn or blink, counters,
clocks, percentages, countdowns.
"""

from __future__ import annotations

import hashlib
import math
import re
from enum import StrEnum
from itertools import count

from attrs import evolve, field, frozen

from stallkit.detect.engine import Match
from stallkit.detect.signature import Certainty, State
from stallkit.evidence.signal import decisive
from stallkit.evidence.turn import LASTING, TurnOutcome, class_of
from stallkit.judging.verdict import Verdict

__all__ = ["BY_STATE", "ClearedBy", "NoticeSubject", "Need", "cleared_by", "ending", "subject_of"]


class Need(StrEnum):
    """What a person is told of."""

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
    """What a person may be told of; two are equal where it is the same: what it is, who knows it by, and its words.

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
    """What there is to tell of this look; None where it works."""
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
    """The places of the numbers that fell, counted from the first; none where anything else changed as well.

    A number that grows may be that of the next question.
    """
    if before == now or _NUMBER.sub("0", before) != _NUMBER.sub("0", now):
        return frozenset()
    pairs = list(zip(_NUMBER.findall(before), _NUMBER.findall(now), strict=True))
    fell = frozenset(place for place, (was, is_now) in enumerate(pairs) if int(was[:_DIGITS]) > int(is_now[:_DIGITS]))
    return fell if all(was == is_now or place in fell for place, (was, is_now) in enumerate(pairs)) else frozenset()
