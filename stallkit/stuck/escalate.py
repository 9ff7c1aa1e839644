"""What of a supervisor's notice becomes an item of the queue, and what its answer is bound to.  Pure.

An item is bound to the session, to its prompt, and to every character of it: the rows of a dialog of one program that
was wholly recognised, else the whole screen, of which a few rows are kept and shown.
"""

from __future__ import annotations

from stallkit.core.dialog import Role
from stallkit.core.reading import Option
from stallkit.core.signature import NEVER_ANSWERED, State
from stallkit.core.topic import Topic, What, rows_of
from stallkit.core.verdict import Snapshot, Verdict
from stallkit.press.gate import is_secret
from stallkit.stuck.item import Choice, ChoiceKind, Draft, Source, action_of

__all__ = ["COMPOSER", "PROMPT", "choices", "draft_of", "keys_of"]

PROMPT = What.WAITS  # answered by keys at the prompt
COMPOSER = frozenset({What.ASKS, What.FAILED})  # answered by a text in the agent's composer
_SEALED = "(Its sandbox is sealed: this cannot be answered.  Rebuild it, or decline this to take it off the list.)"
_KINDS = {
    Role.ONCE: ChoiceKind.ALLOW_ONCE,
    Role.ALWAYS: ChoiceKind.ALLOW_ALWAYS,
    Role.REJECT: ChoiceKind.REJECT_ONCE,
}


def draft_of(target: str, topic: Topic, verdict: Verdict, seen: Snapshot, screen: bool = False) -> Draft:
    """The item of what a person is told of this look; `topic` is what it is, as `topic_of` gives it.

    It holds the rows of the prompt alone, or the whole `screen`; an answer is bound to the same either way.
    """
    inside = topic.by == "askpass"
    source = Source.ASKPASS if inside else Source.PROMPT
    asks = topic.what is PROMPT and not inside
    secret = inside or (asks and (verdict.kind in NEVER_ANSWERED or is_secret(verdict, seen)))
    words, fingerprint = _words(topic, verdict), _fingerprint(verdict, seen)
    action = action_of(seen.identity, topic.key, fingerprint if asks else "", words)
    if screen and topic.what is PROMPT and not topic.message:
        words = seen.screen.text.rstrip()
    if seen.sealed:
        words += f"\n\n{_SEALED}"
    return Draft(
        session=target,
        source=source,
        kind=topic.kind if asks and topic.kind else str(topic.what),
        words=words,
        options=choices(verdict) if asks and not secret and not seen.sealed else (),
        action=action,
        about=topic.key,
        identity=seen.identity,
        secret=secret,
    )


def choices(verdict: Verdict) -> tuple[Choice, ...]:
    """The options of a dialog that was wholly recognised, as far as one of its keys chooses them."""
    return tuple(Choice(id, one.text, _KINDS.get(one.role) if one.role else None) for id, one in _options(verdict))


def keys_of(verdict: Verdict, id: str) -> str | None:
    """What is typed for the option of that id: its number, or nothing but Enter where it is the selected one."""
    option = dict(_options(verdict)).get(id)
    if option is None:
        return None
    return str(option.number) if option.number is not None else ""


def _options(verdict: Verdict) -> list[tuple[str, Option]]:
    """The options that can be chosen without moving over others, by what is typed for them."""
    reading = verdict.detection.reading
    if verdict.state is not State.WAITING or reading is None or not reading.whole:
        return []
    numbered = [(str(one.number), one) for one in reading.options if one.number is not None and one.number < 10]
    return numbered or [("enter", one) for one in reading.options if one.selected]


def _fingerprint(verdict: Verdict, seen: Snapshot) -> str:
    match, reading = verdict.match, verdict.detection.reading
    if match is not None and match.pack.foreground and reading is not None and reading.whole:
        return "\n".join(row.text for row in reading.rows)
    return seen.screen.fingerprint


def _words(topic: Topic, verdict: Verdict) -> str:
    if topic.message:
        return topic.message
    if topic.what is not PROMPT:
        return "; ".join(verdict.reasons)
    return "\n".join(rows_of(verdict))
