"""A person's answer to a prompt: text or keys, through the gate of `press`.

Text is typed and then Enter is pressed, but Enter only where it still belongs to the same prompt: many programs take a
single key, and an Enter behind it would answer the next question.
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

__all__ = ["answer", "as_line"]

_MASKS = frozenset("*•●·▪")  # what prompts show in place of a secret's characters
_CARETS = " _█▌▏"  # what programs draw in place of a cursor that they hide
_ENTER = Keys.parse("Enter")


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
    """Give an answer to the prompt that was `seen`: a text, which Enter follows where that is due, or just some keys.

    Refused, nothing pressed: where it is not waiting, where it changed since, and where a `secret` would be shown, or a
    text that is none would be typed into a prompt for one.  Times of `clock` and `sleep` are seconds.  Raises
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
    last = press(transport, Answer(_ENTER, text, secret), outcome.after, engine, clock, sleep)
    return last if last.pressed else Outcome(End.UNCHANGED, f"typed, but {last.why}", first, after=last.after)


def as_line(text: str) -> Keys:
    """The keys that type a text and press Enter.  Raises ValueError for a text that cannot be typed."""
    return Keys((*Keys.typed(text).sequence, *_ENTER.sequence))


def _steps(given: str | Keys, seen: Snapshot) -> tuple[Keys, ...]:
    """What is pressed at once, and what only where the same prompt still stands after it."""
    if isinstance(given, Keys):
        return (given,)
    if seen.tty is not None and seen.tty.canonical:  # the kernel gathers a line: nothing reacts before its end
        return (as_line(given),)
    return (Keys.typed(given), _ENTER) if given else (_ENTER,)


def _same_prompt(before: Snapshot, after: Snapshot, typed: str) -> bool:
    """Whether the same question stands there still, behind it just what was typed: shown, masked or not at all."""
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
    """The same where a program draws a cursor of its own: one line got longer, by just what was typed."""
    lines = zip_longest(before.text.split("\n"), after.text.split("\n"), fillvalue="")
    changed = [(was, now) for was, now in lines if was != now]
    if len(changed) != 1:
        return False
    asked, shown = (line.rstrip(_CARETS) for line in changed[0])
    return shown.startswith(asked) and _shows(shown.removeprefix(asked).strip(), typed)


def _shows(shown: str, typed: str) -> bool:
    return shown == typed.strip() or (bool(shown) and _MASKS.issuperset(shown))
