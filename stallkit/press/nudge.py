"""The answer to an agent that ended its turn with a plain question whether to go on, and with nothing else.  Pure.

These are the literal phrases of requirement D4, each as the whole of the last sentence; every other question is a
person's, or a rule's.  An agent's message is written by a model, which may have read what somebody else wrote: so the
whole message has to be in sight, and nothing in it may speak of what a machine does not decide.
"""

from __future__ import annotations

import re

from stallkit.core.consequences import consequence
from stallkit.core.ended_turn import EndedTurn, How
from stallkit.core.evidence import speaks_of_secret

__all__ = ["nudge"]

_ANSWERS = (
    (re.compile(r"continue\?", re.IGNORECASE), "continue"),
    (re.compile(r"(?:shall i continue|do you want to proceed)\?", re.IGNORECASE), "yes"),
)


def nudge(turn: EndedTurn | None) -> str | None:
    """What to type at the composer of an agent whose turn ended like this; None where a person has to.

    >>> nudge(EndedTurn(How.ASKS, "I read the tests. Shall I continue?", question="Shall I continue?", whole=True))
    'yes'
    >>> nudge(EndedTurn(How.ASKS, "All is deleted. Shall I continue?", question="Shall I continue?", whole=True))
    """
    if turn is None or turn.how is not How.ASKS or not turn.whole:
        return None
    if consequence(turn.message) is not None or speaks_of_secret(turn.message):
        return None
    return next((text for pattern, text in _ANSWERS if pattern.fullmatch(turn.question)), None)
