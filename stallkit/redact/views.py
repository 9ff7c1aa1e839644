"""How a text is read for secrets, and the secrets that are known by what they look like or by the form around them.

A secret may have colours inside, stand in a frame, or be wrapped over rows.  Each view is a plain text in which it can
be found in one piece, and knows where its characters come from.  Every pattern reads a limited number of characters
from where it begins, so that the time is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from itertools import accumulate, pairwise
from operator import sub
from typing import Iterable, Iterator, Sequence

from attrs import frozen

from stallkit.terminal.text import cells
from stallkit.word_tables import Patterns, compiled, table

# --- views of a text ---

HIDDEN = "\ue000"  # in place of what is masked already
Span = tuple[int, int]  # from, to

# Control strings (first group: those that end, or go on to the end of the text), then sequences, then single controls.
CONTROL = re.compile(
    r"""
      (\x1b[\]PX^_] [^\x07\x18\x1a\x1b]* (?:\x1b(?!\\)[^\x07\x18\x1a\x1b\\]*)? (?:\x07|\x18|\x1a|\x1b\\|\Z))
    | \x1b\[ [0-?]* [ -/]* (?:[@-~]|\Z)
    | \x1b [ -/]* (?:[0-~]|\Z)
    | [\x00-\x08\x0b\x0c\x0e-\x1e\x7f-\x9f]
    """,
    re.VERBOSE,
)
ENDS = ("\x1b\\", "\x07", "\x18", "\x1a")  # of a control string
_SEAM = "\x1f"  # in place of a sequence: a blank, but not a line end

# Characters that are not seen, and may stand inside a word.
_UNSEEN = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]+")
# Other blanks, and the wide forms of ASCII: one character for one, so that places stay.
_PLAIN: dict[int, str] = {ord(blank): " " for blank in "\u00a0\u1680\u202f\u205f\u3000"}
_PLAIN |= dict.fromkeys(range(0x2000, 0x200B), " ")
_PLAIN |= {wide: chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)}

_FRAMES = "│┃║┆┇┊┋╎╏▌▐▏▕"
_FRAME = re.compile(rf"^[^\S\n]*[{_FRAMES}|]?[{_FRAMES}](?:[^\S\n]|$)|[^\S\n]*[{_FRAMES}]+[^\S\n]*$", re.MULTILINE)
_FRAMED = re.compile(f"[{_FRAMES}]")
_ASCII_FRAME = re.compile(r"^[^\S\n]*\|[^\S\n](?=.*\|[^\S\n]*$)|[^\S\n]+\|[^\S\n]*$", re.MULTILINE)

# A row is wrapped only where it is about as long as the longest: programs indent, pad, and leave room for a border.
_ROOM = 8
_SHORTEST = 8  # cells of a row that may be wrapped
_ENDED, _BEGUN = ".,:;?)]}>\"'` ", "([{<\"'`-•$❯ ╭╰├─━"  # characters at which no word goes on


@frozen
class View:
    """A plain text, made of pieces of another one: for each, where it begins here and there."""

    text: str
    here: Sequence[int]
    there: Sequence[int]
    gap: int = 0  # characters between two pieces, which are from neither

    @classmethod
    def of(cls, text: str, pieces: Iterable[Span], between: str = "") -> View:
        """The view of these pieces of a text."""
        kept = [piece for piece in pieces if piece[0] < piece[1]]
        begins = accumulate((end - start + len(between) for start, end in kept), initial=0)
        return cls(
            between.join(text[start:end] for start, end in kept),
            [*begins][:-1],
            [start for start, _ in kept],
            len(between),
        )

    def only(self, pieces: Iterable[Span]) -> View:
        """Made of these pieces of it."""
        made = View.of(self.text, pieces)
        lasts = [*made.here[1:], len(made.text)][: len(made.here)]
        ends = [there + last - here for here, there, last in zip(made.here, made.there, lasts, strict=True)]
        places = [one for start, end in zip(made.there, ends, strict=True) for one in self.place(start, end)]
        begins = [*accumulate((end - start for start, end in places), initial=0)][:-1]
        return View(made.text, begins, [start for start, _ in places])

    def place(self, start: int, end: int) -> list[Span]:
        """Where a span of this text is in the other one; in several parts, where something was left out."""
        index = max(bisect_right(self.here, start) - 1, 0)
        found = []
        while index < len(self.here) and self.here[index] < end:
            last = self.here[index + 1] - self.gap if index + 1 < len(self.here) else len(self.text)
            shift = self.there[index] - self.here[index]
            if max(start, self.here[index]) < min(end, last):
                found.append((max(start, self.here[index]) + shift, min(end, last) + shift))
            index += 1
        return found


def views(text: str) -> Iterator[View]:
    """The views of a text in which a secret may be found."""
    if not text.isascii():
        text = text.translate(_PLAIN)
    whole = View.of(text, [(0, len(text))])
    controls = [found.span() for found in CONTROL.finditer(text)]
    yield from _by_rows(whole.only(_between(controls, len(text))) if controls else whole)
    if "\\" in text and (plain := _ESCAPED.sub(_unescaped, text)) != text:  # JSON, or a representation
        yield from _by_rows(View.of(plain, _rows_with("\\", text)))
    if controls:  # a sequence may be inside a secret, or between a word and a secret
        yield View.of(text, _between(controls, len(text)), _SEAM)


_ESCAPED = re.compile(r"\\{1,2}(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrt\"'/]))")
_WRITTEN = {"n": "\n", "r": " ", "t": " "}


def _rows_with(char: str, text: str) -> Iterator[Span]:
    """The rows that have this character, each with the one below."""
    at, more = 0, False
    for row in text.splitlines(keepends=True):
        if more or char in row:
            yield at, at + len(row)
        at, more = at + len(row), char in row


def _unescaped(found: re.Match[str]) -> str:
    """The character that an escape stands for, and as many unseen ones as the rest of it takes."""
    code = found[1] or found[2]
    char = chr(int(code, 16)) if code else _WRITTEN.get(found[3], found[3])
    return char.translate(_PLAIN) + "\u200b" * (len(found[0]) - 1)


def joined(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, with overlapping ones joined."""
    made: list[Span] = []
    for start, end in sorted(spans):
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(end, made[-1][1]))
        elif start < end:
            made.append((start, end))
    return made


def _by_rows(view: View) -> Iterator[View]:
    """Its rows as they are, without a frame, and those joined that may be wrapped."""
    if not view.text.isascii() and (unseen := [found.span() for found in _UNSEEN.finditer(view.text)]):
        view = view.only(_between(unseen, len(view.text)))
    frame = _FRAME if _FRAMED.search(view.text) else _ASCII_FRAME if "|" in view.text else None
    if frame and (borders := [found.span() for found in frame.finditer(view.text) if found[0]]):
        view = view.only(_between(borders, len(view.text)))
    yield view
    if "\n" in view.text:
        yield from (view.only(rows) for rows in _wrapped(view.text))


def _wrapped(text: str) -> Iterator[list[Span]]:
    """Rows that may go on in the next one in the middle of a word, and the row above them."""
    rows, at = [], 0
    for row in text.split("\n"):
        left = len(row) - len(row.lstrip())
        rows.append((at + left, at + len(row.rstrip()), _width(row.rstrip())))
        at += len(row) + 1
    most = max(width for _, _, width in rows)
    chain: list[Span] = []
    for number, (this, below) in enumerate(pairwise(rows)):
        full = this[2] >= max(most - _ROOM, _SHORTEST) and below[2] <= this[2]
        if full and _goes_on(text, this[:2], below[:2]):
            above = [(rows[number - 1][0], this[0])] if number else []
            chain = [*(chain or [*above, this[:2]]), below[:2]]
        elif chain:
            yield chain
            chain = []
    if chain:
        yield chain


def _goes_on(text: str, this: Span, below: Span) -> bool:
    """Whether a word may go on from one row to the next: not where both parts are whole words of prose."""
    if this[0] >= this[1] or below[0] >= below[1] or text[below[0]] in _BEGUN:
        return False
    left, right = _LAST.search(text, this[0], this[1]), _FIRST.match(text, below[0], below[1])
    if not left or not right or (text[this[1] - 1] in _ENDED and not _CUT_AT_A_DOT.fullmatch(left[0])):
        return False
    return not (_PROSE.fullmatch(left[0]) and _PROSE.fullmatch(right[0])) or bool(_CUT.search(left[0] + right[0]))


_LAST, _FIRST = re.compile(r"\S{1,80}\Z"), re.compile(r"\S{1,80}")
_PROSE = re.compile(r"[(\"'`*]{0,3}[^\W\d_]{1,80}(?:['’.-][^\W\d_]{1,40})*[.,:;!?)\"'`*]{0,3}")
_CUT_AT_A_DOT = re.compile(r"(?=\S*\d)[\w.+/=:&?%-]{12,}[.:?]")  # of a token, or an address
_CUT = re.compile(r"(?i)passw|passph|secret|token|credential")


def _width(row: str) -> int:
    return len(row) if row.isascii() else cells(row)


def _between(cuts: list[Span], length: int) -> list[Span]:
    """What is left of a text of that length."""
    return list(zip([0, *(end for _, end in cuts)], [*(start for start, _ in cuts), length], strict=True))


# --- secrets by their form ---

patterns = Patterns("secrets")


@cache
def labels(kind: str) -> list[str]:
    """Words that stand beside a secret."""
    found: list[str] = table("secrets")["labels"][kind]
    return found


@cache
def _beginnings() -> frozenset[str]:
    """How the words of seed phrases begin: four letters each, or a shorter word."""
    letters = table("secrets")["kept"]["beginnings"].replace("\n", "")
    return frozenset(letters[at : at + 4].strip() for at in range(0, len(letters), 4))


@cache
def _rules(kind: str) -> list[tuple[list[str], str]]:
    """Texts of which one must be there, each list with a pattern."""
    data, kept = table("secrets"), table("secrets")["kept"]
    rules = [*data[kind], *(kept["rules"] if kind == "tokens" else ())]
    return [(texts.split(), patterns.filled(pattern.replace("(?&edge)", kept["edge"]))) for texts, pattern in rules]


@cache
def _hints(kind: str) -> re.Pattern[str]:
    """One of the texts of its rules: most texts have none, and are passed by at once."""
    return re.compile("|".join(re.escape(one) for texts, _ in _rules(kind) for one in texts))


def _matches(kind: str, text: str) -> Iterator[re.Match[str]]:
    """Where the rules of a kind hold in a text."""
    if not _hints(kind).search(text):
        return
    for texts, pattern in _rules(kind):
        if any(one in text for one in texts):
            yield from compiled(pattern).finditer(text)


KEY_TEXT = 16_384  # characters of a private key without an end

_VARIED = 16  # different characters of it: a ruler has few
_FEWEST = 11  # words of a seed phrase: one of twelve may be drawn twice


def shapes(text: str) -> Iterator[Span]:
    """The spans of what looks like a secret on its own."""
    yield from _keys(text)
    for found in _matches("tokens", text):
        rest = patterns.rest.match(text, found.end("value"))
        yield found.start("value"), rest.end() if rest else found.end("value")
    yield from (found.span() for found in patterns.long.finditer(text) if _is_drawn(found[0]))
    if "\n" in text:
        yield from (found.span() for found in patterns.block.finditer(text))
    yield from _phrases(text)


def _is_drawn(word: str) -> bool:
    """Whether a long word was drawn by lot: it is neither a ruler nor a path, most of which is names."""
    names = sum(len(part) for part in word.split("/") if patterns.name.fullmatch(part))
    return len(set(word)) >= _VARIED and 2 * names < len(word)


def _keys(text: str) -> Iterator[Span]:
    """Private keys from their first to their last line."""
    if "PRIVATE KEY" in text or "Private-Lines" in text:
        covered = 0
        for begun in patterns.key_begins.finditer(text):
            if begun.start() < covered:
                continue
            most = min(len(text), begun.end() + KEY_TEXT)
            ended = patterns.key_ends.search(text, begun.end(), most)
            covered = ended.end() if ended else most
            yield begun.start(), covered


def _phrases(text: str) -> Iterator[Span]:
    """Seed phrases: so many words of their list, one after the other; a wrapped row may cut one."""
    known = _beginnings()
    so_far = [*accumulate((word[:4] in known for word in patterns.seed_words.findall(text.lower())), initial=0)]
    if len(so_far) <= 10 or max(map(sub, so_far[14:] or so_far[-1:], so_far)) < 10:  # as nearly every text
        return
    begun = ended = 0
    seen: set[str] = set()
    for found in patterns.listed.finditer(text):
        start, end = found.span()
        word = found[0].lower()
        listed = 3 <= len(word) <= 8 and word[:4] in known
        cut = not listed and "\n" in (text[start - 1 : start], text[end : end + 1])
        near = seen and start - ended < 80 and patterns.gap.match(text, ended, start)
        if not (near and (listed or cut)):
            if len(seen) >= _FEWEST:
                yield begun, ended
            begun, seen = start, set()
        if listed:
            seen.add(word)
        if listed or cut:
            ended = end
    if len(seen) >= _FEWEST:
        yield begun, ended


def forms(text: str) -> Iterator[Span]:
    """The spans of what stands where a secret stands."""
    for found in _matches("forms", text):
        quoted = "quoted" in found.re.groupindex and found["quoted"] is not None
        yield found.span("quoted" if quoted else "value")
    if "://" in text:
        for found in patterns.url.finditer(text):
            yield from _addressed(found[0], found.start())
    if "=" in text:
        for found in patterns.gives.finditer(text):
            if patterns.giving.fullmatch(found["name"]) and (
                len(found["value"]) >= 8 or "pass" in found["name"].lower()
            ):
                yield found.span("value")
    if "[" in text:
        for table in patterns.secret_table.finditer(text):
            yield from (row.span("value") for row in patterns.of_table.finditer(text, *table.span("rows")))


def _addressed(url: str, at: int) -> Iterator[Span]:
    """The parts of an address's path that nobody can guess, where it names a hook, a reset or the like."""
    path = url.partition("?")[0]
    if patterns.places.search(path):
        for found in patterns.segment.finditer(path, path.find("://") + 3):
            if not patterns.verbatim.fullmatch(found["value"]):
                yield at + found.start("value"), at + found.end("value")
