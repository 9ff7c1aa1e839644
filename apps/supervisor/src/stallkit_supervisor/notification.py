"""When a person is told of a session: soon, once, again after a while, and that it is over.  Pure.

Telling is never patient: it does not wait for a screen at rest, nor for a policy that acts later.  Times are seconds of
one monotonic clock.
"""

from __future__ import annotations

import math
from typing import Any, Mapping

from attrs import Attribute, evolve, field, frozen

from stallkit.press.gate import REST_S
from stallkit.settings import seconds
from stallkit_supervisor.topic import Topic, What

__all__ = ["Cleared", "MAYBE_S", "NOTIFY_AFTER_S", "Notify", "REMIND_S", "Tell", "Telling", "on_topic"]

NOTIFY_AFTER_S = 2.0  # a person at the keyboard, or a policy that answers at once, is faster
# No key helps where a limit is used up; a hang has taken minutes already; what is tried again may well succeed.
AFTER_S = {What.LIMIT: 0.0, What.HUNG: 0.0, What.RETRYING: 60.0}
MAYBE_S = 60.0
REMIND_S = 900.0
BUSY_S = REST_S + 5.0  # for an answer that has to wait until its screen was left alone, and for its effect
BACK_S = 120.0  # without what is tried again, before it is over: a try takes that long, and fails for the same cause
GONE_S = 2.0  # without it, before it is over: a screen that is drawn anew hides its prompt for a look


def _each(holder: object, attribute: Attribute[Any], given: Mapping[str, float]) -> None:
    for name, after_s in given.items():
        if name not in set(What):
            raise ValueError(f"{attribute.name} knows {', '.join(What)}, not {name!r}")
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

    def due(self, topic: Topic) -> float:
        """Seconds from the appearance of this to the notice."""
        if not topic.sure:
            return self.maybe_s
        return self.after_s.get(topic.what, AFTER_S.get(topic.what, NOTIFY_AFTER_S))


@frozen
class Tell:
    """Tell a person of it, for the `times`-th time; it has been there for `waited_s`."""

    topic: Topic
    waited_s: float
    times: int


@frozen
class Cleared:
    """It is over, after `waited_s`; `told`: a person was told of it; `answered`: stallkit pressed a key at it.

    `over`: that key is known to have ended it.
    """

    topic: Topic
    waited_s: float
    told: bool
    answered: bool
    over: bool = False


@frozen
class Telling:
    """What there is to tell of a session, since when, and how often it was told.

    `appeared` is when this very prompt was first seen, `began` when the first one without a gap was: of prompts that
    follow each other faster than they are told, one is told in time all the same.
    """

    topic: Topic
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
    key: str = ""  # of its topic, while no more is known of that: an earlier supervisor told of it

    @classmethod
    def of(cls, topic: Topic, now: float) -> Telling:
        """Of one that is seen for the first time."""
        return cls(topic, appeared=now, began=now, seen=now, sure=topic.sure)

    def recognised(self, topic: Topic | None) -> Telling:
        """It with its topic, if that is what an earlier supervisor told of."""
        return evolve(self, topic=topic, key="") if topic is not None and topic.key == self.key else self


def on_topic(
    before: Telling | None,
    topic: Topic | None,
    now: float,
    notify: Notify,
    *,
    works: bool = False,
    busy: bool = False,
    said: bool = False,
) -> tuple[Telling | None, tuple[Tell | Cleared, ...]]:
    """What is known after a look that showed this topic, as `Topic.after` gives it, and what to say, in order.

    `works`: without a topic, it surely works, so that what was there is over.  What is there stays there while a look
    is doubtful, for `GONE_S`, and what is tried again while it is tried, for `BACK_S`.  `busy`: something is being done
    about it, which may take until `BUSY_S`.
    `said`: this look leads to a notice of another kind, which is enough.
    """
    if before is not None and before.over:
        after, says = on_topic(None, topic, now, notify, busy=busy, said=said)
        return after, (*_cleared(before, now), *says)
    if before is None:
        return _told(Telling.of(topic, now), now, notify, busy, said) if topic else (None, ())
    if topic is not None and topic.what is What.RETRYING and before.topic.tries_again:
        topic = before.topic  # a limit is the cause still, though its words went out of sight
    if topic == before.topic:
        sure = before.sure or topic.sure
        return _told(evolve(before, topic=topic, seen=now, looks=before.looks + 1, sure=sure), now, notify, busy, said)
    certain = works if topic is None else topic.sure
    tries = topic is None and before.topic.tries_again
    if (tries or not certain) and now - before.seen < (BACK_S if tries else GONE_S):
        return before, ()
    over = _cleared(before, now)
    if topic is None:
        return None, over
    at = Telling.of(topic, now)
    if (topic.what, topic.by) == (before.topic.what, before.topic.by):
        at = evolve(at, began=before.began, told_at=before.told_at)
    after, told = _told(at, now, notify, busy, said)
    return after, (*over, *told)


def _told(at: Telling, now: float, notify: Notify, busy: bool, said: bool) -> tuple[Telling, tuple[Tell, ...]]:
    if said:
        return evolve(at, told=at.told + 1, told_at=now), ()
    if at.told and at.told_at is not None:
        due = None if notify.remind_s is None else at.told_at + notify.remind_s
    else:
        after_s = notify.due(evolve(at.topic, sure=at.sure))  # a doubtful look at what was sure is no doubt of it
        due = (at.began if at.told_at is None else at.appeared) + (max(after_s, BUSY_S) if busy else after_s)
    if due is None or now < due or (at.told and at.topic.what is What.DONE):
        return at, ()
    at = evolve(at, told=at.told + 1, told_at=now)
    return at, (Tell(at.topic, now - at.appeared, at.told),)


def _cleared(at: Telling, now: float) -> tuple[Cleared, ...]:
    """That it is over, where somebody may have waited for it: a doubtful look that nobody was told of was nothing."""
    waited = (at.sure or at.told) and not (at.key and at.silent)
    if not waited or at.topic.what is What.DONE:
        return ()
    return (Cleared(at.topic, now - at.appeared, told=at.told > 0, answered=at.answered, over=at.over),)
