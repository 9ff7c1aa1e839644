"""What a clause cannot do without: texts of its pattern outside of what is optional, and the edges of its line.

It errs on the side of *nothing*: what is not understood needs nothing.
"""

from __future__ import annotations

from typing import Sequence

from attrs import frozen

from stallkit.core.pattern import Chars, Edge, Group, Literal, Node, NotUnderstood, Repeat, parsed

__all__ = ["Needs", "folded", "needs", "rarity", "texts"]

_MOST = 400  # texts of one set: braille has 256 characters


@frozen
class Needs:
    """What a clause cannot do without: one of each set of its keywords, and a character at an edge of the prompt line.

    All in one case (`folded`); blanks around them do not count.  No set, and None: nothing is known.
    """

    keywords: tuple[frozenset[str], ...] = ()
    begins: frozenset[str] | None = None
    ends: frozenset[str] | None = None

    def met_by(self, first: str, final: str) -> bool:
        """Whether a prompt line may begin and end with these characters."""
        return (self.begins is None or first in self.begins) and (self.ends is None or final in self.ends)


def needs(text: str | None, pattern: str | None, where: str) -> Needs:
    """What a clause of a text or a pattern needs of the region that it looks at.

    >>> needs(None, r"^(?:Allow|Permit) it now\\?", "prompt_line").keywords[-1]
    frozenset({'it now?'})
    """
    keywords = tuple(dict.fromkeys(frozenset(map(folded, some)) for some in texts(text, pattern)))
    if where != "prompt_line" or pattern is None:
        return Needs(keywords)
    nodes = _nodes(pattern)
    return Needs(keywords, _edge(nodes, "^"), _edge(nodes[::-1], "$"))


def texts(text: str | None, pattern: str | None) -> list[frozenset[str]]:
    """Sets of texts, as they are written, of which such a clause needs one each.

    >>> texts(None, r"(?:Yes|No)[,.] .*\\?")[0] == {"Yes", "No"}
    True
    """
    if pattern is not None:
        return _texts(_nodes(pattern))
    lines = (line.strip() for line in (text or "").split("\n"))
    return [frozenset({line}) for line in lines if line]


def _nodes(pattern: str) -> tuple[Node, ...]:
    try:
        return parsed(pattern)
    except NotUnderstood:
        return ()


def folded(text: str) -> str:
    """The text in one case, character by character: to a pattern that ignores case, İ and ı are an i."""
    return text.replace("İ", "i").casefold().replace("ı", "i")


def rarity(some: frozenset[str]) -> tuple[int, int]:
    """Greater for texts that are seldom there: a guess from their lengths."""
    return min(len(text.encode("utf-8", "surrogatepass")) for text in some), -len(some)


def _texts(nodes: Sequence[Node]) -> list[frozenset[str]]:
    """Sets of which the sequence needs one text each."""
    found: list[frozenset[str]] = []
    run = ""
    for node in (*nodes, None):
        if isinstance(node, Literal) and node.char != "\n":
            run += node.char
            continue
        if isinstance(node, Edge) and not node.name:
            continue
        if text := run.strip():
            found.append(frozenset({text}))
        run = ""
        if isinstance(node, Repeat) and node.least:
            found += _texts([node.node])
        elif isinstance(node, Group):
            found += _of_branches(node)
        elif isinstance(node, Chars) and node.known and not any(map(_common, node.known)):
            found.append(node.known)
    return found


def _common(char: str) -> bool:
    """Whether nearly every screen has one of its kind."""
    return char.isspace() or (char.isascii() and char.isalnum())


def _of_branches(group: Group) -> list[frozenset[str]]:
    if len(group.branches) == 1:
        return _texts(group.branches[0])
    best = [max(_texts(branch), key=rarity, default=None) for branch in group.branches]
    union = frozenset[str]().union(*(one for one in best if one is not None))
    return [union] if None not in best and len(union) <= _MOST else []


def _edge(nodes: Sequence[Node], name: str) -> frozenset[str] | None:
    """The characters that can come first of a sequence that stands at this edge; None if it may be any."""
    if not nodes or nodes[0] != Edge(name):
        return None
    chars = _first(nodes[1:], backwards=name == "$")
    return None if chars is None or "" in chars else frozenset(map(folded, chars))


def _first(nodes: Sequence[Node], backwards: bool) -> frozenset[str] | None:
    """The characters, other than blanks, that can come first; "": there may be none; None: it may be any."""
    found = frozenset[str]()
    for node in nodes:
        one = _first_of(node, backwards)
        if one is None:
            return None
        found |= one - {""}
        if "" not in one:
            return found
    return found | {""}


def _first_of(node: Node, backwards: bool) -> frozenset[str] | None:
    match node:
        case Literal(char):
            return frozenset({"" if char.isspace() else char})
        case Chars(known):
            return known and frozenset("" if char.isspace() else char for char in known)
        case Edge():
            return frozenset({""})
        case Repeat(inner, least):
            one = _first_of(inner, backwards)
            return one if least or one is None else one | {""}
        case Group(branches):
            every = [_first(branch[::-1] if backwards else branch, backwards) for branch in branches]
            chars = [one for one in every if one is not None]
            return frozenset[str]().union(*chars) if len(chars) == len(every) else None
