"""What a clause cannot do without: texts of its pattern outside of what is optional, and the edges of its rows.

It errs on the side of *nothing*: what is not understood needs nothing.
"""

from __future__ import annotations

from typing import Iterable, Sequence

from stallkit.detect.pattern import Chars, Edge, Group, Literal, Node, NotUnderstood, Repeat, parsed

__all__ = ["ASIDE", "begun", "ended", "folded", "needs", "rarity", "searched", "texts"]

_MOST = 400  # texts of one set: braille has 256 characters
ASIDE = "│┃|" + "".join(char for char in map(chr, range(0x3001)) if char.isspace())  # are no edges of a row
_EDGE = "\n"  # stands for the edge of a row, in front of its first character and behind its last one


def needs(text: str | None, pattern: str | None) -> tuple[frozenset[str], ...]:
    """Keywords, in one case (`folded`): sets of which a clause needs one each, in a row as it is `searched`.

    >>> needs(None, r"^[❯›] \\d$") == (begun("❯›"), frozenset("❯›"))
    True
    """
    sets = texts(text, pattern) if pattern is None else _sets(_nodes(pattern), edges=True)
    return tuple(dict.fromkeys(frozenset(map(folded, some)) for some in sets))


def begun(chars: Iterable[str]) -> frozenset[str]:
    """The keywords of a row that begins with one of some characters, blanks and the sides of boxes aside."""
    return frozenset(_EDGE + folded(char)[:1] for char in chars)


def ended(chars: Iterable[str]) -> frozenset[str]:
    """The keywords of a row that ends with one of some characters."""
    return frozenset(folded(char)[-1:] + _EDGE for char in chars)


def searched(row: str) -> str:
    """A row as keywords are looked for in it."""
    shown = folded(row)
    inner = shown.strip(ASIDE)
    return f"{shown}\0{inner[-1:]}{_EDGE}{inner[:1]}"


def texts(text: str | None, pattern: str | None) -> list[frozenset[str]]:
    """Sets of texts, as they are written, of which such a clause needs one each.

    >>> texts(None, r"(?:Yes|No)[,.] .*\\?")[0] == {"Yes", "No"}
    True
    """
    if pattern is not None:
        return _sets(_nodes(pattern), edges=False)
    lines = (line.strip() for line in (text or "").split("\n"))
    return [frozenset({line}) for line in lines if line]


def _nodes(pattern: str) -> tuple[Node, ...]:
    try:
        return parsed(pattern)
    except NotUnderstood:
        return ()


def folded(text: str) -> str:
    """The text in one case, character by character: to a pattern that ignores case, İ and ı are an i."""
    return text.lower() if text.isascii() else text.replace("İ", "i").casefold().replace("ı", "i")


def rarity(some: frozenset[str]) -> tuple[int, int]:
    """Greater for texts that are seldom there: a guess from their lengths."""
    return min(len(text.encode("utf-8", "surrogatepass")) for text in some), -len(some)


def _sets(nodes: Sequence[Node], edges: bool) -> list[frozenset[str]]:
    """Sets of which the sequence needs one text each; `edges`: also what its rows begin and end with."""
    found: list[frozenset[str]] = []
    run = ""
    for place, node in enumerate((*nodes, None)):
        if isinstance(node, Literal) and node.char != "\n":
            run += node.char
            continue
        if node == Edge():
            continue
        if text := run.strip():
            found.append(frozenset({text}))
        run = ""
        if edges and node in (Edge("^"), Literal("\n")):
            found += filter(None, [begun(_first(nodes[place + 1 :]) or ())])
        if edges and node in (Edge("$"), Literal("\n")):
            found += filter(None, [ended(_first(nodes[:place][::-1], backwards=True) or ())])
        if isinstance(node, Repeat) and node.least:
            found += _sets([node.node], edges)
        elif isinstance(node, Group):
            found += _of_branches(node, edges)
        elif isinstance(node, Chars) and node.known and not any(map(_common, node.known)):
            found.append(node.known)
    return found


def _common(char: str) -> bool:
    """Whether nearly every screen has one of its kind."""
    return char.isspace() or (char.isascii() and char.isalnum())


def _of_branches(group: Group, edges: bool) -> list[frozenset[str]]:
    if len(group.branches) == 1:
        return _sets(group.branches[0], edges)
    best = [max(_sets(branch, edges), key=rarity, default=None) for branch in group.branches]
    union = frozenset[str]().union(*(one for one in best if one is not None))
    return [union] if None not in best and len(union) <= _MOST else []


def _first(nodes: Sequence[Node], backwards: bool = False) -> frozenset[str] | None:
    """The characters that come first of a sequence, blanks and the sides of boxes aside; None where it may be any."""
    chars = _perhaps(nodes, backwards)
    return None if chars is None or "" in chars else chars


def _perhaps(nodes: Sequence[Node], backwards: bool) -> frozenset[str] | None:
    """The same; "": there may be none."""
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
            return frozenset({_inner(char)})
        case Chars(known):
            return known and frozenset(map(_inner, known))
        case Edge():
            return frozenset({""})
        case Repeat(inner, least):
            one = _first_of(inner, backwards)
            return one if least or one is None else one | {""}
        case Group(branches):
            every = [_perhaps(branch[::-1] if backwards else branch, backwards) for branch in branches]
            chars = [one for one in every if one is not None]
            return frozenset[str]().union(*chars) if len(chars) == len(every) else None


def _inner(char: str) -> str:
    return "" if char in ASIDE else char
