"""A person's answer to a prompt: text or keys, through the gate of `press`.

Text is typed, and then Enter is pressed only where the same prompt is still shown: many programs take a single key, and
an Enter after it would answer the next question.
"""

from __future__ import annotations

import time
from itertools import zip_longest
from typing import Callable

from stallkit.core.engine import Engine
from stallkit.core.keys import Keys
from stallkit.core.screen import Screen
from stallkit.core.verdict import Snapshot
from stallkit.press.gate import Answer, End, Outcome, press
from stallkit.transports.base import Transport

__all__ = ["ENTER", "answer", "as_line"]

_MASKS = frozenset("*•●·▪")  # what prompts show in place of a secret's characters
_CARETS = " _█▌▏"  # what programs draw in place of a cursor that they hide
ENTER = Keys.parse("Enter")


def answer(
    transport: Transport,
    given: str | Keys,
    seen: Snapshot,
    engine: Engine,
    *,
    secret: bool = False,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Answer the prompt that was `seen`: with a text, followed by Enter where the prompt needs it, or with keys alone.

    Refused, with nothing pressed, where the session is not waiting or has changed since, where a `secret` would be
    shown, and where other text would be typed into a prompt for a secret.  `clock` and `sleep` are in seconds.  Raises
    ValueError for a text that cannot be typed; a session or server that fails is an outcome.

    >>> import sys
    >>> from stallkit import Engine
    >>> from stallkit.transports.pty import PtyTransport
    >>> session = PtyTransport.spawn([sys.executable, "-c", "input('Proceed? [y/N] '); input('Sure? [y/N] ')"])
    >>> while "Proceed" not in session.capture().screen.text: pass
    >>> outcome = answer(session, "y", session.capture(), Engine.default())
    >>> str(outcome.end), outcome.match.line
    ('replaced', 'Sure? [y/N]')
    >>> session.close()
    """
    text = not isinstance(given, Keys)
    first, *enter = _steps(given, seen)
    outcome = press(transport, Answer(first, text, secret), seen, engine, clock, sleep)
    if not enter or not outcome.pressed or outcome.after is None or not _same_prompt(seen, outcome.after, str(given)):
        return outcome
    last = press(transport, Answer(ENTER, text, secret), outcome.after, engine, clock, sleep)
    return last if last.pressed else Outcome(End.UNCHANGED, f"typed, but {last.why}", first, after=last.after)


def as_line(text: str) -> Keys:
    """The keys that type a text and press Enter.  Raises ValueError for a text that cannot be typed."""
    return Keys((*Keys.typed(text).sequence, *ENTER.sequence))


def _steps(given: str | Keys, seen: Snapshot) -> tuple[Keys, ...]:
    """What is pressed at once, and what is pressed only if the same prompt is still shown after it."""
    if isinstance(given, Keys):
        return (given,)
    if seen.tty is not None and seen.tty.canonical:  # the kernel gathers a line: no program reacts before its end
        return (as_line(given),)
    return (Keys.typed(given), ENTER) if given else (ENTER,)


def _same_prompt(before: Snapshot, after: Snapshot, typed: str) -> bool:
    """Whether the same question is still shown, followed only by what was typed: in clear, masked or not at all."""
    if before.foreground != after.foreground:
        return False
    if before.screen.cursor is not None and before.screen.cursor.visible is False:
        return before.screen.fingerprint == after.screen.fingerprint or _only_typed(before.screen, after.screen, typed)
    was, now = before.screen.prompt_line, after.screen.prompt_line
    if was.row != now.row:
        return False
    asked, shown = was.text.rstrip(), now.text.rstrip()
    behind = shown.removeprefix(asked).strip()
    echoed = shown.startswith(asked) and _shows(behind, typed)
    return (bool(asked) and echoed) or before.screen.fingerprint == after.screen.fingerprint


def _only_typed(before: Screen, after: Screen, typed: str) -> bool:
    """The same for a program that draws its own cursor: one line got longer, by exactly what was typed."""
    lines = zip_longest(before.text.split("\n"), after.text.split("\n"), fillvalue="")
    changed = [(was, now) for was, now in lines if was != now]
    if len(changed) != 1:
        return False
    asked, shown = (line.rstrip(_CARETS) for line in changed[0])
    return shown.startswith(asked) and _shows(shown.removeprefix(asked).strip(), typed)


def _shows(shown: str, typed: str) -> bool:
    return shown == typed.strip() or (bool(shown) and _MASKS.issuperset(shown))
