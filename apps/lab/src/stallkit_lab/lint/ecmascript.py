"""A pattern in JavaScript's syntax and as a true regular expression, for a checker that reads nothing else.

The result is wider than the pattern: lookarounds are left out, atomic groups are plain ones, ``{0,80}`` is ``*``.  So
the checker may report a false danger: each is tried first (`runaways`).
"""

from __future__ import annotations

from typing import Sequence

from stallkit.detect.pattern import Chars, Edge, Group, Literal, Node, parsed

__all__ = ["ecmascript"]

_MANY = 4  # a higher bound is dropped: each step of a repeat is a state of the checker's automaton


def ecmascript(pattern: str) -> str:
    """The pattern, to be read with the flag ``m``.  Raises NotUnderstood.

    >>> ecmascript("(?>a|b)++[^c](?=d){0,9}")
    '(?:(?:a|b)){1,}[^c](?:(?:)){0,}'
    """
    return _sequence(parsed(pattern))


def _sequence(nodes: Sequence[Node]) -> str:
    return "".join(map(_node, nodes))


def _node(node: Node) -> str:
    match node:
        case Literal(char):
            return char if char.isascii() and char.isalnum() else f"\\u{min(ord(char), 0xFFFF):04x}"
        case Chars():
            return node.source
        case Edge(name):
            return name or "(?:)"
        case Group(branches):
            return f"(?:{'|'.join(map(_sequence, branches))})"
    most = "" if node.most is None or node.most > _MANY else node.most
    return f"(?:{_node(node.node)}){{{min(node.least, _MANY)},{most}}}"
