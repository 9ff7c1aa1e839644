"""Texts that may make a pattern run long: what a repeat takes, many times, then what it cannot.

Simple: repeats in repeats, neighbours that take the same characters, and beginnings that may fill a text.  recheck
(`runaways`) looks deeper and takes longer.
"""

from __future__ import annotations

from typing import Iterator, Sequence

from stallkit.detect.pattern import Chars, Group, Literal, Node, NotUnderstood, Repeat, parsed
from stallkit.detect.signature import Clause

__all__ = ["NOTHING", "pumps"]

NOTHING = "\u00a4"  # the currency sign: hardly any pattern has it
_MANY = 30  # a bound below it multiplies the time by no more
_USUAL = " a0-:\n"
_ANYWHERE = (" ", "a", "a ", "0", "-", "? ", "(y) ", "y/n ", "a: ", "\n", "a\n")  # what may fill a screen
_MOST = 8  # pumps tried at one repeat


def pumps(clause: Clause) -> Iterator[tuple[str, str]]:
    """Pairs of a text that leads to a repeat and one that it repeats, each once; some lead to no repeat."""
    try:
        nodes = parsed(clause.pattern or "")
    except NotUnderstood:
        nodes = ()
    alphabet = "".join(dict.fromkeys([*_USUAL, *_literals(nodes)]))
    repeats = list(_repeats(nodes, ""))
    made = [("", pump) for pump in (*_ANYWHERE, *_samples(nodes, "")[:_MOST], *(before for before, _ in repeats))]
    made += [(before, text) for before, inner in repeats for text in _samples([inner], alphabet)[:_MOST]]
    yield from ((before, pump) for before, pump in dict.fromkeys(made) if pump)


def _repeats(nodes: Sequence[Node], before: str) -> Iterator[tuple[str, Node]]:
    """What each repeat without a near bound repeats, with a text that leads to it."""
    for node in nodes:
        if isinstance(node, Repeat):
            if node.most is None or node.most > _MANY:
                yield before, node.node
            yield from _repeats([node.node], before)
        elif isinstance(node, Group):
            for branch in node.branches:
                yield from _repeats(branch, before)
        before += next(iter(_samples([node], "")), "")


def _samples(nodes: Sequence[Node], alphabet: str) -> list[str]:
    """Texts that a sequence takes: one for each branch and, for a class, each of the alphabet that it may take."""
    found = [""]
    for node in nodes:
        found = [head + tail for head in found for tail in _choices(node, alphabet)][:_MOST]
    return found


def _choices(node: Node, alphabet: str) -> list[str]:
    match node:
        case Literal(char):
            return [char]
        case Chars(known):
            return [char for char in alphabet or _USUAL if known is None or char in known] or sorted(known or "x")[:1]
        case Group(branches):
            return [text for branch in branches for text in _samples(branch, alphabet)]
        case Repeat(inner, least):
            one = _samples([inner], alphabet)
            return [text * least for text in one] if least else [*one[:1], ""] if alphabet else [""]
    return [""]


def _literals(nodes: Sequence[Node]) -> Iterator[str]:
    for node in nodes:
        match node:
            case Literal(char):
                yield char
            case Chars(known) if known and len(known) <= _MANY:
                yield from sorted(known)
            case Group(branches):
                for branch in branches:
                    yield from _literals(branch)
            case Repeat(inner):
                yield from _literals([inner])
