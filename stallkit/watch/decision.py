"""What may be done about a verdict, as values."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen

from stallkit.core.keys import Keys
from stallkit.core.signature import Signature

__all__ = ["Act", "Decision", "Deed", "Escalate", "Ignore", "Press", "Restart", "Resume", "Stop", "Wait"]


@frozen
class Press:
    """Press the keys that the signature gives, once, and verify."""

    signature: Signature

    @property
    def keys(self) -> Keys:
        assert self.signature.dismissal is not None  # Policy.decide made sure
        return self.signature.dismissal.keys


@frozen
class Escalate:
    """Tell a person: `why` says what keeps a machine from answering."""

    why: str


@frozen
class Wait:
    """Time mends it."""

    why: str


@frozen
class Restart:
    """The program ended and may be started again."""

    why: str


@frozen
class Resume:
    """A limit of use should be free again: press the keys that are configured for it."""

    why: str


@frozen
class Stop:
    """Leave the session alone from now on: a person has to look before anything more is done to it."""

    why: str


@frozen
class Ignore:
    """Nothing is wrong."""


Deed = Press | Restart | Resume  # what is carried out, and has an outcome
Decision = Press | Escalate | Wait | Restart | Resume | Stop | Ignore


class Act(StrEnum):
    """What a rule of a policy may ask for."""

    PRESS = "press"
    ESCALATE = "escalate"
    WAIT = "wait"
    RESTART = "restart"
    STOP = "stop"
    IGNORE = "ignore"
