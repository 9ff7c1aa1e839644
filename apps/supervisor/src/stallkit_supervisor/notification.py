"""When a person is told of a session: soon, once, again after a while, and that it is over.  Pure.

It does not wait for a screen at rest, nor for a policy that acts later.  Times are seconds of one monotonic clock.
"""

from __future__ import annotations

import math
from typing import Any, Mapping

from attrs import Attribute, evolve, field, frozen

from stallkit.press.gate import REST_S
from stallkit.settings import seconds
from stallkit_supervisor.notice_subject import Need, NoticeSubject

__all__ = ["Cleared", "MAYBE_S", "NOTIFY_AFTER_S", "Notify", "REMIND_S", "Tell", "Notification", "on_subject"]

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
    """How soon a person is told, in seconds since it appeared; raises ValueError for an invalid time.

    `after_s` has an entry for what differs from the default (`AFTER_S`, `NOTIFY_AFTER_S`), such as ``{"failed": 0}``;
    `maybe_s` is for what is not sure, `remind_s` until it is told again, None for never.
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
    """It is over, after `waited_s`; `told`: a person was told of it; `answered`: stallkit pressed a key at it.

    `over`: that key is known to have ended it.
    """

    subject: NoticeSubject
    waited_s: float
    told: bool
    answered: bool
    over: bool = False


@frozen
class Notification:
    """What there is to tell of a session, since when, and how often it was told.

    `appeared` is when this very prompt was first seen, `began` when the first one without a gap was: of prompts that
    follow each other faster than they are told, one is told in time all the same.
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

    `works`: without a subject, it surely works, so that what was there is over.  What is there stays there while a look
    is doubtful, for `GONE_S`, and what is tried again while it is tried, for `BACK_S`.  `busy`: something is being done
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
    """That it is over, where somebody may have waited for it: a doubtful look that nobody was told of was nothing."""
    waited = (at.sure or at.told) and not (at.key and at.silent)
    if not waited or at.subject.need is Need.DONE:
        return ()
    return (Cleared(at.subject, now - at.appeared, told=at.told > 0, answered=at.answered, over=at.over),)
