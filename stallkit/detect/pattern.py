"""The syntax of a pattern, as far as it tells, and the texts that a clause cannot do without.  Pure."""

from __future__ import annotations

import re
from typing import Iterable, Sequence

from attrs import define, field, frozen


class NotUnderstood(ValueError):
    """A pattern with a construct that is not read here."""


@frozen
class Literal:
    """One character."""

    char: str


@frozen
class Chars:
    """One character of several, as `source` is written; `known` are all that it may be, None: too many to name."""

    known: frozenset[str] | None = None
    source: str = field(default=".", eq=False, repr=False)


@frozen
class Edge:
    """A place between characters: ``^``, ``$``, a word's edge, a look around."""

    name: str = ""


@frozen
class Group:
    """One of some sequences."""

    branches: tuple[tuple[Node, ...], ...]


@frozen
class Repeat:
    """A node, at least and at most so many times; None: there is no bound."""

    node: Node
    least: int
    most: int | None = None


Node = Literal | Chars | Edge | Group | Repeat

_COUNT = re.compile(r"\{(\d*)(?:(,)(\d*))?\}")
_FLAGS = re.compile(r"\(\?([aiLmsux]+)(?:-[imsx]+)?([:)])")
_NAMED = re.compile(r"\(\?P?<\w+>")
_EDGES = {"A": "^", "Z": "$", "b": "", "B": "", "G": "", "K": "", "m": "", "M": ""}
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CLASSES = frozenset("dDsSwWhHRX")
_HEX = {"x": 2, "u": 4, "U": 8}
_BLANK = frozenset(" ")  # any blank counts as a plain one
_MOST = 300  # characters of one class: braille has 256
_LOOKS = ("(?=", "(?!", "(?<=", "(?<!")


def parsed(pattern: str) -> tuple[Node, ...]:
    """The sequence that a pattern is.  Raises NotUnderstood.

    >>> parsed("y?$")
    (Repeat(node=Literal(char='y'), least=0, most=1), Edge(name='$'))
    """
    reader = _Reader(pattern, verbose=bool((head := _FLAGS.match(pattern)) and "x" in head[1]))
    group = reader.group()
    if reader.at < len(pattern):
        raise NotUnderstood("a bracket too many")
    return group.branches[0] if len(group.branches) == 1 else (group,)


@define
class _Reader:
    """Where the reading of a pattern has come to."""

    pattern: str
    verbose: bool = False  # blanks and comments say nothing
    at: int = field(default=0, init=False)

    def group(self) -> Group:
        """Its branches, up to a closing bracket or the end."""
        branches, items = [], list[Node]()
        while self.at < len(self.pattern) and self.pattern[self.at] != ")":
            char = self._take()
            if char == "|":
                branches.append(tuple(items))
                items = []
            elif self.verbose and char.isspace():
                continue
            elif self.verbose and char == "#":
                self.at = (self.pattern + "\n").find("\n", self.at)
            elif (node := self._node(char)) is not None:
                items.append(self._repeated(node))
        return Group((*branches, tuple(items)))

    def _node(self, char: str) -> Node | None:
        match char:
            case "^" | "$":
                return Edge(char)
            case ".":
                return Chars()
            case "[":
                return self._chars()
            case "(":
                return self._bracket()
            case "\\":
                return self._escape(self._take())
            case "{" | "*" | "+" | "?":
                raise NotUnderstood(f"{char!r} behind nothing")
        return Literal(char)

    def _escape(self, char: str, in_class: bool = False) -> Node:
        if char in _EDGES:
            if in_class:
                raise NotUnderstood(f"\\{char} in a class")
            return Edge(_EDGES[char])
        if char in _HEX:
            return Literal(self._hex(_HEX[char]))
        if char in _CONTROLS:
            return Literal(_CONTROLS[char])
        if char == "s":
            return Chars(_BLANK, r"\s")
        if char in "pPN" and self.pattern.startswith("{", self.at):
            self.at = self._find("}") + 1
            return Chars()
        if char in _CLASSES:
            return Chars(None, f"\\{char}")
        if char in "123456789" and not in_class:
            return Repeat(Chars(), 0)  # the text of a group
        if char.isalnum():
            raise NotUnderstood(f"\\{char}")
        return Literal(char)

    def _bracket(self) -> Node | None:
        start = self.at - 1
        if self.pattern.startswith("(?#", start):
            self.at = self._find(")") + 1
            return None
        flags, named = (known.match(self.pattern, start) for known in (_FLAGS, _NAMED))
        if flags and flags[2] == ")" and start == 0:
            self.at = flags.end()
            return None
        if flags and (flags[2] == ")" or "x" in flags[1]):
            raise NotUnderstood("flags in the middle")
        looks = self.pattern.startswith(_LOOKS, start)
        if flags or named:
            self.at = (flags or named).end()  # type: ignore[union-attr]  # one of them is there
        elif looks:
            self.at += 2 + (self.pattern[start + 2] == "<")
        elif self.pattern.startswith(("(?:", "(?>"), start):
            self.at += 2
        elif self.pattern.startswith("(?", start):
            raise NotUnderstood(self.pattern[start : start + 4])
        inner = self.group()
        self._take()  # the bracket that closes it
        return Edge() if looks else inner

    def _chars(self) -> Node:
        start = self.at
        others = self.pattern.startswith("^", self.at)
        self.at += others
        known: set[str] | None = set()
        first, blank = True, False
        while first or self.pattern[self.at : self.at + 1] != "]":
            first, char = False, self._take()
            if char == "[" and self.pattern[self.at : self.at + 1] in (":", ".", "="):
                raise NotUnderstood(self.pattern[start : self.at + 2])
            one = self._escape(self._take(), in_class=True) if char == "\\" else Literal(char)
            if self._ranges() and isinstance(one, Literal):
                self.at += 1
                last = self._take()
                end = self._escape(self._take(), in_class=True) if last == "\\" else Literal(last)
                more = _between(one, end)
            else:
                more = frozenset({one.char}) if isinstance(one, Literal) else getattr(one, "known", None)
            blank |= isinstance(one, Chars)
            known = None if known is None or more is None else known | more
        self.at += 1
        source = f"[{self.pattern[start : self.at]}"
        if others or known is None or len(known) > _MOST:
            return Chars(None, source)
        return Literal(*known) if len(known) == 1 and not blank else Chars(frozenset(known), source)

    def _ranges(self) -> bool:
        return self.pattern.startswith("-", self.at) and self.pattern[self.at + 1 : self.at + 2] != "]"

    def _repeated(self, node: Node) -> Node:
        """The node with what stands behind it: how often it comes."""
        times: tuple[int, int | None] | None = None
        while self.at < len(self.pattern):
            char = self.pattern[self.at]
            if char == "{":
                count = _COUNT.match(self.pattern, self.at)
                if count is None or not (count[1] or count[3]):
                    raise NotUnderstood(self.pattern[self.at : self.at + 5])
                least, most = int(count[1] or 0), count[3] if count[2] else count[1]
                times, self.at = (least, int(most) if most else None), count.end()
            elif self.verbose and char.isspace():
                self.at += 1
            elif char in "*+?":  # behind another one: how greedy it is
                times, self.at = times or (int(char == "+"), 1 if char == "?" else None), self.at + 1
            else:
                break
        return node if times is None else Repeat(node, *times)

    def _hex(self, digits: int) -> str:
        text = self.pattern[self.at : self.at + digits]
        self.at += digits
        try:
            return chr(int(text, 16))
        except (ValueError, OverflowError):
            raise NotUnderstood(text) from None

    def _find(self, text: str) -> int:
        place = self.pattern.find(text, self.at)
        if place < 0:
            raise NotUnderstood(f"no {text}")
        return place

    def _take(self) -> str:
        if self.at >= len(self.pattern):
            raise NotUnderstood("it ends too soon")
        self.at += 1
        return self.pattern[self.at - 1]


def _between(first: Node, last: Node) -> frozenset[str] | None:
    if not isinstance(first, Literal) or not isinstance(last, Literal):
        raise NotUnderstood("a range of classes")
    low, high = ord(first.char), ord(last.char)
    return frozenset(map(chr, range(low, high + 1))) if high - low < _MOST else None


_MOST_TEXTS = 400  # texts of one set: braille has 256 characters
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
        elif isinstance(node, Chars) and node.known and not any(map(_is_common, node.known)):
            found.append(node.known)
    return found


def _is_common(char: str) -> bool:
    """Whether nearly every screen has one of its kind."""
    return char.isspace() or (char.isascii() and char.isalnum())


def _of_branches(group: Group, edges: bool) -> list[frozenset[str]]:
    if len(group.branches) == 1:
        return _sets(group.branches[0], edges)
    best = [max(_sets(branch, edges), key=rarity, default=None) for branch in group.branches]
    union = frozenset[str]().union(*(one for one in best if one is not None))
    return [union] if None not in best and len(union) <= _MOST_TEXTS else []


def _first(nodes: Sequence[Node], backwards: bool = False) -> frozenset[str] | None:
    """The characters that come first of a sequence, blanks and the sides of boxes aside; None if it may be any."""
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
    every = [_perhaps(branch[::-1] if backwards else branch, backwards) for branch in node.branches]
    chars = [one for one in every if one is not None]
    return frozenset[str]().union(*chars) if len(chars) == len(every) else None


def _inner(char: str) -> str:
    return "" if char in ASIDE else char
