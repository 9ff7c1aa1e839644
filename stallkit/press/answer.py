"""A person's answer to a prompt: text or keys, through the gate of `press`.

Text is typed and then Enter is pressed, but Enter only where it still belongs to the same prompt: many programs take a
single key, and an Enter behind it would answer the next question.
"""

from __future__ import annotations

import time
from itertools import zip_longest
from typing import Callable

from stallkit.core.keys import Keys
from stallkit.core.screen import Screen
from stallkit.core.signature import Kind, State
from stallkit.core.verdict import Snapshot, Verdict
from stallkit.press.gate import End, Judged, Outcome, Plan, press
from stallkit.transports.base import Transport

__all__ = ["answer", "is_secret"]

VERIFY_TIMEOUT_S = 1.0  # for a program to show that it took the answer
_MASKS = frozenset("*•●·▪")  # what prompts show in place of a secret's characters
_CARETS = " _█▌▏"  # what programs draw in place of a cursor that they hide
_ENTER = Keys.parse("Enter")


def answer(
    transport: Transport,
    given: str | Keys,
    seen: Snapshot,
    judged: Judged,
    *,
    secret: bool = False,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Give an answer to the prompt that was `seen`: a text, which Enter follows where that is due, or just some keys.

    Refused, nothing pressed: where it is not waiting, where it changed since, and where a `secret` would be shown, or a
    text that is none would be typed into a prompt for one.
    """

    def doubt(now: Snapshot, verdict: Verdict) -> str | None:
        if verdict.state not in (State.WAITING, State.IDLE, State.ENDED):
            return f"nothing waits for it: it is {verdict.state} ({verdict.reasons[-1]})"
        if secret and not is_secret(verdict, now):
            return "it does not ask for a secret, and would show what is typed"
        if not secret and is_secret(verdict, now) and not isinstance(given, Keys):
            return "what it asks for is a secret, and the answer was not given as one"
        return None

    def give(keys: Keys, seen: Snapshot) -> Outcome:
        plan = Plan(keys, doubt, there=lambda verdict: False, verify_timeout_s=VERIFY_TIMEOUT_S, gone=False)
        return press(transport, plan, seen, judged, clock, sleep)

    if isinstance(given, Keys):
        return give(given, seen)
    typed = Keys.typed(given)
    if seen.tty is not None and seen.tty.canonical:  # the kernel gathers a line: nothing reacts before its end
        return give(Keys((*typed.sequence, *_ENTER.sequence)), seen)
    if not given:
        return give(_ENTER, seen)
    first = give(typed, seen)
    if not first.pressed or first.after is None or not _same_prompt(seen, first.after, given):
        return first
    last = give(_ENTER, first.after)
    return last if last.pressed else Outcome(End.UNCHANGED, f"typed, but {last.why}", typed, after=last.after)


def is_secret(verdict: Verdict, seen: Snapshot) -> bool:
    """Whether what is asked for must not be shown: by its kind, or because the terminal hides what is typed."""
    hides = seen.tty is not None and seen.tty.echo is False and seen.tty.canonical is True
    return hides or verdict.kind is Kind.SECRET


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
