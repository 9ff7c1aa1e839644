"""Which signatures may hold on a screen, by the texts without which their clauses cannot: their keywords.

A pack's author may give them; else they are derived: texts outside of what is optional, one of each alternative, and
the characters that a clause of the prompt line begins or ends with.  Both err on the side of *it may hold*.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Callable, Collection, Sequence

from attrs import frozen

from stallkit.core.matcher import region
from stallkit.core.pattern import Chars, Edge, Group, Literal, Node, NotUnderstood, Repeat, parsed
from stallkit.core.screen import Screen
from stallkit.core.signature import Clause, Signature

__all__ = ["Keywords", "Needs", "Search", "fastest", "in_one_pass", "needs", "one_by_one", "texts"]

_MOST = 400  # keywords of one set: braille has 256 characters

Search = Callable[[str], Collection[int]]  # gives the numbers of the keywords that are in a text


@frozen
class Needs:
    """What a clause cannot do without: one of each set of its keywords, and a character at an edge of the prompt line.

    All in one case (`_folded`); blanks around them do not count.  No set, and None: nothing is known.
    """

    keywords: tuple[frozenset[str], ...] = ()
    begins: frozenset[str] | None = None
    ends: frozenset[str] | None = None

    def met(self, text: str, found: frozenset[str]) -> bool:
        """Whether a region has all of it; `found` are the keywords of the whole screen."""
        if self.begins is not None and text.strip()[:1] not in self.begins:
            return False
        if self.ends is not None and text.strip()[-1:] not in self.ends:
            return False
        for some in self.keywords:
            for keyword in some & found:
                if keyword in text:
                    break
            else:
                return False
        return True


def needs(clause: Clause) -> Needs:
    """What a clause needs of the region that it looks at.

    >>> needs(Clause(pattern=r"^(?:Allow|Permit) it now\\?", where="prompt_line")).keywords[-1]
    frozenset({'it now?'})
    """
    keywords = tuple(dict.fromkeys(frozenset(map(_folded, some)) for some in texts(clause)))
    if clause.where != "prompt_line" or clause.pattern is None:
        return Needs(keywords)
    nodes = _nodes(clause.pattern)
    return Needs(keywords, _edge(nodes, "^"), _edge(nodes[::-1], "$"))


def texts(clause: Clause) -> list[frozenset[str]]:
    """Sets of texts, as they are written, of which a clause needs one each.

    >>> texts(Clause(pattern=r"(?:Yes|No)[,.] .*\\?"))[0] == {"Yes", "No"}
    True
    """
    if clause.pattern is not None:
        return _texts(_nodes(clause.pattern))
    lines = (line.strip() for line in (clause.text or "").split("\n"))
    return [frozenset({line}) for line in lines if line]


def _nodes(pattern: str) -> tuple[Node, ...]:
    try:
        return parsed(pattern)
    except NotUnderstood:
        return ()


class Keywords:
    """Finds what may hold of an ordered list of signatures.

    A signature is filed under the rarest keywords of its clauses, so that thousands cost no more than a few if none of
    theirs is on the screen.
    """

    def __init__(self, signatures: Sequence[Signature], search_for: Callable[[Sequence[str]], Search] | None = None):
        every = [[(clause.where, needs(clause)) for clause in one.all_of] for one in signatures]
        self._sets = [sorted((some for _, one in each for some in one.keywords), key=_rarity)[::-1] for each in every]
        self._wanted = [[one for one in each if one[0] != "screen" and one[1] != Needs()] for each in every]
        self._always: list[int] = []
        self._filed: dict[str, list[int]] = defaultdict(list)
        for number, sets in enumerate(self._sets):
            for keyword in sets[0] if sets else ():
                self._filed[keyword].append(number)
            if not sets:
                self._always.append(number)
        self._texts = sorted({text for sets in self._sets for some in sets for text in some if len(text) > 1})
        self._search = (search_for or fastest)(self._texts)

    def among(self, screen: Screen) -> list[int]:
        """The numbers of the signatures that may hold on a screen, in order."""
        whole = _folded(f"{screen.text}\n{screen.title or ''}\n{screen.prompt_line.text}")
        found = frozenset(whole).union(self._texts[number] for number in self._search(whole))
        likely = {*self._always, *(number for keyword in found & self._filed.keys() for number in self._filed[keyword])}
        regions: dict[str, str] = {}
        return [
            number
            for number in sorted(likely)
            if not any(map(found.isdisjoint, self._sets[number])) and self._met(number, screen, found, regions)
        ]

    def _met(self, number: int, screen: Screen, found: frozenset[str], regions: dict[str, str]) -> bool:
        """Whether each clause's region has what the clause needs; `regions` are those in one case, looked at so far."""
        for where, wanted in self._wanted[number]:
            text = regions.get(where)
            if text is None:
                part = region(where, screen)
                text = regions[where] = "" if part is None else _folded(part.text)
            if not wanted.met(text, found):
                return False
        return True


def _folded(text: str) -> str:
    """The text in one case, character by character: to a pattern that ignores case, İ and ı are an i."""
    return text.replace("İ", "i").casefold().replace("ı", "i")


def fastest(keywords: Sequence[str]) -> Search:
    """In one pass if `ahocorasick_rs` is installed, else one by one."""
    try:
        return in_one_pass(keywords)
    except ImportError:
        return one_by_one(keywords)


def in_one_pass(keywords: Sequence[str]) -> Search:
    """A search for all keywords together.  Raises ImportError where `ahocorasick_rs` is not installed."""
    from ahocorasick_rs import BytesAhoCorasick, Implementation  # of the extra `fast`

    # A DFA takes five times as long to build, and searches no faster.
    known = BytesAhoCorasick(list(map(_bytes, keywords)), implementation=Implementation.ContiguousNFA)
    return lambda text: {match[0] for match in known.find_matches_as_indexes(_bytes(text), overlapping=True)}


def one_by_one(keywords: Sequence[str]) -> Search:
    """The same with the standard library alone."""
    return lambda text: [number for number, keyword in enumerate(keywords) if keyword in text]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# --- what is derived ---


def _rarity(some: frozenset[str]) -> tuple[int, int]:
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
    best = [max(_texts(branch), key=_rarity, default=None) for branch in group.branches]
    union = frozenset[str]().union(*(one for one in best if one is not None))
    return [union] if None not in best and len(union) <= _MOST else []


def _edge(nodes: Sequence[Node], name: str) -> frozenset[str] | None:
    """The characters that can come first of a sequence that stands at this edge; None if it may be any."""
    if not nodes or nodes[0] != Edge(name):
        return None
    chars = _first(nodes[1:], backwards=name == "$")
    return None if chars is None or "" in chars else frozenset(map(_folded, chars))


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
