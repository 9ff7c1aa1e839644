"""A person's answer to a prompt: text or keys, through the gate of `press`.

Text is typed and then Enter is pressed, but Enter only where it still belongs to the same prompt: many programs take a
single key, and an Enter behind it would answer the next question.
"""

from __future__ import annotations

import time
from typing import Callable

from stallkit.core.keys import Keys
from stallkit.core.signature import Kind, State
from stallkit.core.verdict import Snapshot, Verdict
from stallkit.transports.base import Transport
from stallkit.watch.press import End, Judged, Outcome, Plan, press

__all__ = ["answer", "is_secret"]

SETTLE_S = 1.0  # for a program to show that it took the answer
_MASKS = frozenset("*•●·▪")  # what prompts show in place of a secret's characters
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
        plan = Plan(keys, doubt, there=lambda verdict: False, settle_s=SETTLE_S, gone=False)
        return press(transport, plan, seen, judged, clock, sleep)

    if isinstance(given, Keys):
        return give(given, seen)
    typed = Keys.typed(given)
    if seen.tty is not None and seen.tty.canonical:  # the kernel gathers a line: nothing reacts before its end
        return give(Keys((*typed.sequence, *_ENTER.sequence)), seen)
    if not given:
        return give(_ENTER, seen)
    first = give(typed, seen)
    if first.keys is None or first.after is None or not _same_prompt(seen, first.after, given):
        return first
    last = give(_ENTER, first.after)
    return last if last.keys is not None else Outcome(End.UNCHANGED, f"typed, but {last.why}", typed, after=last.after)


def is_secret(verdict: Verdict, seen: Snapshot) -> bool:
    """Whether what is asked for must not be shown: by its kind, or because the terminal hides what is typed."""
    hides = seen.tty is not None and seen.tty.echo is False and seen.tty.canonical is True
    return hides or verdict.kind is Kind.SECRET


def _same_prompt(before: Snapshot, after: Snapshot, typed: str) -> bool:
    """Whether the same question stands there still, behind it just what was typed: shown, masked or not at all."""
    was, now = before.screen.prompt_line, after.screen.prompt_line
    if before.foreground != after.foreground or was.row != now.row:
        return False
    asked, shown = was.text.rstrip(), now.text.rstrip()
    behind = shown.removeprefix(asked).strip()
    echoed = shown.startswith(asked) and (behind == typed.strip() or (bool(behind) and _MASKS.issuperset(behind)))
    return (bool(asked) and echoed) or before.screen.fingerprint == after.screen.fingerprint
