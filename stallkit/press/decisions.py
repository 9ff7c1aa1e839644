"""What a policy may decide about a verdict, as values."""

from __future__ import annotations

from attrs import frozen

from stallkit.detect.signature import Signature
from stallkit.terminal.keys import Keys

__all__ = [
    "Action",
    "Choose",
    "Decision",
    "Escalate",
    "Ignore",
    "Interrupt",
    "Press",
    "Restart",
    "Resume",
    "Send",
    "Stop",
    "Wait",
]

_ESCAPE = Keys.parse("Escape")


@frozen
class Press:
    """Press the keys that the signature gives, or those that a rule's request was `given`, once, and verify.

    >>> from stallkit import Dismissal, Signature
    >>> asks = Signature("key", "a key", "waiting", ["any key"], "press_key", "low", dismissal=Dismissal("Space"))
    >>> str(Press(asks).signature.dismissal.keys)
    'Space'
    """

    signature: Signature
    given: Keys | None = None

    @property
    def keys(self) -> Keys:
        """What is pressed.  Raises ValueError where the signature gives no keys, which `Policy.decide` rules out."""
        if self.given is not None:
            return self.given
        if self.signature.dismissal is None:
            raise ValueError(f"{self.signature.id} gives no keys")
        return self.signature.dismissal.keys


@frozen
class Choose:
    """Choose the option of this label, by its own key or by moving to it, looking at every step.

    >>> from stallkit import Signature
    >>> Choose(Signature("gate", "a gate", "waiting", ["Trust?"], "trust", "low"), "Yes, I trust this folder").option
    'Yes, I trust this folder'
    """

    signature: Signature
    option: str


@frozen
class Escalate:
    """Tell a person; `why` is the reason against an answer by a machine, with the rule that would allow it.

    >>> Escalate("severity medium").why
    'severity medium'
    """

    why: str


@frozen
class Wait:
    """Do nothing: it passes with time.

    >>> Wait("a usage limit holds it up").why
    'a usage limit holds it up'
    """

    why: str


@frozen
class Restart:
    """The program ended and may be started again; `resumes`: it hangs, is ended first, and goes on with its session.

    >>> Restart("a shell's prompt where the program was").resumes
    False
    """

    why: str
    resumes: bool = False


@frozen
class Interrupt:
    """An agent says that it works, and hangs: press Escape, once, which ends its turn."""

    why: str

    @property
    def keys(self) -> Keys:
        """What is pressed."""
        return _ESCAPE


@frozen
class Resume:
    """A usage limit should be free again: press the keys that are configured for it.

    >>> Resume("the limit is over").why
    'the limit is over'
    """

    why: str
    keys: Keys | None = None  # None: not looked up, or none are configured


@frozen
class Send:
    """Type this text into the agent's own empty composer, once: its turn ended, and it waits for a word."""

    text: str
    why: str


@frozen
class Stop:
    """Leave the session alone from now on: a person has to look before anything more is done to it.

    >>> Stop("a rule says so").why
    'a rule says so'
    """

    why: str


@frozen
class Ignore:
    """Nothing is wrong.

    >>> Ignore()
    Ignore()
    """


Action = Press | Choose | Restart | Resume | Send | Interrupt  # the decisions that are carried out, and have an outcome
Decision = Press | Choose | Send | Interrupt | Escalate | Wait | Restart | Resume | Stop | Ignore
