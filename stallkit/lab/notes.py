"""What a recording holds beside its output: markers, which are the truth, and facts, which the kernel told."""

from __future__ import annotations

import json
from typing import Any

from stallkit.core.facts import KernelFacts, TtyFacts
from stallkit.core.signature import Kind, State
from stallkit.lab.evaluate.corpus_lines import Label

__all__ = ["LETTERS", "NO_TRUTH", "encode_facts", "encode_marker", "read_facts", "read_marker"]

NO_TRUTH = State.UNKNOWN  # a marker that says: from here on nobody vouches for anything
LETTERS = {
    "w": State.WAITING,
    "k": State.WORKING,
    "i": State.IDLE,
    "q": State.QUOTA,
    "e": State.ENDED,
    "u": NO_TRUTH,
}
_FLAGS = ("listening", "stopped")
_TEXTS = ("foreground", "how", "relay", "through", "reader")
_HOW = ("read", "poll", "select", "epoll")


def read_marker(text: str) -> Label:
    """The label that a marker gives: ``waiting:confirm``, ``working``; ``unknown`` takes the truth back.

    Raises ValueError for any other text.

    >>> read_marker("waiting:confirm").kind
    <Kind.CONFIRM: 'confirm'>
    """
    state, colon, kind = text.partition(":")
    if state not in tuple(State):
        raise ValueError(f"marker {text!r:.60} is none: {', '.join(State)} are, and waiting:KIND")
    if not colon:
        return Label(State(state))
    if state != State.WAITING:
        raise ValueError(f"marker {text!r:.60}: only waiting has a kind")
    if kind not in tuple(Kind):
        raise ValueError(f"marker {text!r:.60}: {kind!r:.40} is no kind; {', '.join(Kind)} are")
    return Label(State(state), Kind(kind))


def encode_marker(label: Label) -> str:
    """The text of a label's marker."""
    return f"{label.state}:{label.kind}" if label.kind else str(label.state)


def encode_facts(kernel: KernelFacts | None, tty: TtyFacts | None) -> str:
    """What is known, as a JSON object; what is unknown is left out.

    >>> encode_facts(KernelFacts(foreground="rm", listening=True, how="read"), TtyFacts(echo=True))
    '{"listening": true, "foreground": "rm", "how": "read", "echo": true}'
    """
    kernel, tty = kernel or KernelFacts(), tty or TtyFacts()
    told: dict[str, Any] = {name: getattr(kernel, name) for name in (*_FLAGS, *_TEXTS)}
    told |= {"echo": tty.echo, "canonical": tty.canonical}
    return json.dumps({name: value for name, value in told.items() if value is not None})


def read_facts(text: str) -> tuple[KernelFacts, TtyFacts]:
    """What `encode_facts` wrote; keys that nobody knows are passed over.  Raises ValueError for anything else."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"facts that are no JSON: {text!r:.60}") from error
    if not isinstance(told, dict):
        raise ValueError(f"facts that are no JSON object: {text!r:.60}")
    for name in (*_FLAGS, "echo", "canonical"):
        if type(told.get(name)) not in (bool, type(None)):
            raise ValueError(f"the fact {name} is {told[name]!r:.40}, neither true nor false")
    for name in _TEXTS:
        if not isinstance(told.get(name), str | None):
            raise ValueError(f"the fact {name} is {told[name]!r:.40}, no text")
    if told.get("how") not in (None, *_HOW):
        raise ValueError(f"the fact how is {told['how']!r:.40}; {', '.join(_HOW)} are known")
    known: dict[str, Any] = {name: told.get(name) for name in (*_FLAGS, *_TEXTS)}
    return KernelFacts(**known), TtyFacts(told.get("echo"), told.get("canonical"))
