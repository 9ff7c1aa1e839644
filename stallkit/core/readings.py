"""What a person reads in a text that tries to look different to a machine.

`fold` takes the dress off single letters: case, accents, width, mathematical and circled forms, zero-width characters.
`readings` undoes what was done to whole words: broken over rows, letters apart, digits for letters.  Both are linear.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache
from typing import Iterable, Iterator

from stallkit.core import late
from stallkit.core.values import frozen

__all__ = ["POSED", "Readings", "fold", "mixed", "readings"]

# What is left of a letter whose words are known: Latin, Russian and Ukrainian, Han, kana, Hangul.
_KNOWN = late.compile("[a-zа-яєіґぁ-ゖァ-ヺー々〆ヶ㐀-䶿一-鿿가-힣\U00020000-\U0003ffff]+")
# Letters that are no base letter and an accent.
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "µ": "u", "μ": "u", "ß": "ss", "、": ",", "。": "."}
)
_NO_WIDTH = frozenset("\u115f\u1160\u3164\uffa0")  # fillers: letters by name, drawn as nothing
_DRAWN = frozenset("卂乇丂丅凵乚匚厶丫卄𠘨")  # signs that stand for Latin letters, and hardly ever for themselves
_COMPARED = frozenset("×÷±¬≤≥≈≠≡−∞√∼∙∶⋯")  # mathematics that ordinary lines hold
_STRANGE = "\0"  # a letter of no known script
_SIGN = "\1"  # a sign that could stand for a letter, within a word
_LIKE_LETTER = "\2"  # one that could at its ends too: mathematics, Braille
_CONTROLS = late.compile(r"[\0-\x08\x0b-\x1f\x7f]+")
_EDGES = " |-=>#*/\\:;.,~'\"()[]{}<_"  # what frames rows on their left
_ENDS = " |-=>\\_"  # and on their right, where a word goes on in the next row
_SIDES = " |>"
_END = 40  # columns at a row's end that are read on in the next row
_STANDS_FOR = late.compile(
    rf"{_STRANGE}|[^\W_]{_SIGN}+[^\W_]|{_SIGN}{_SIGN}[^\W_]|[^\W_]{_SIGN}{_SIGN}"
    rf"|{_LIKE_LETTER}[^\W\d_]|[^\W\d_]{_LIKE_LETTER}|{_LIKE_LETTER} ?{_LIKE_LETTER}"
)
_MIXED = late.compile(r"[a-z][0-9]*[а-яєіґ]|[а-яєіґ][0-9]*[a-z]")

_APART = late.compile(r"(?<![^\W_])[^\W_](?:[\W_]{1,9}[^\W_](?![^\W_]))+")
_BETWEEN_WORDS = late.compile(r"[\W_]{3,}|\s{2,}")
_POSING_SIGNS = late.compile(r"[0-9@$!|+]")
# Digits and signs as the letters that they look like.  A 1 may be an i or an l, so those are one letter there.
POSED = str.maketrans("0123456789@$!|+l", "oizeasgtbgasiiti")
_LETTERS = late.compile("[a-z]")
_AROUND = 2  # words around one with digits for letters, as it may belong to a phrase
_CYRILLIC = late.compile("[а-яєіґ]")
_ALL_LOOK_LATIN = late.compile(r"(?<!\w)[авекмнорстухігпи]+(?!\w)")
_LOOKS_LATIN = str.maketrans("авекмнорстухігпи", "abekmhopctyxirnu")
# Between Latin letters and signs of scripts without blanks.
_SEAM = late.compile("(?<=[a-z0-9])(?=[^\x00-\x7fа-яєіґ])|(?<=[^\x00-\x7fа-яєіґ])(?=[a-z0-9])")
_GAPS = late.compile(r"[\W_]+")
_ASCII_GAPS = {sign: " " for sign in range(128) if not chr(sign).isalnum()}  # the same, at a tenth of the cost


@frozen
class Readings:
    """One text as it may be read; a blank stands before and behind each word.

    `words`: as they stand, and with row ends closed; `posed`: digits and signs read as letters, by the table `POSED`;
    `apart`: letters that stood alone, closed up; `pieces`: the words, for one that was cut in two.
    """

    words: str
    posed: str
    apart: str
    pieces: list[str]


def fold(text: str) -> str | None:
    """Small letters without accents or dress, digits, ASCII signs; None where a letter is of no known script.

    >>> fold("ＤÉlete ⓐll\u200b?")
    'delete all?'
    >>> fold("ᴅᴇʟᴇᴛᴇ") is None
    True
    """
    text = _CONTROLS.sub("", text.replace("\t", " "))
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFC", text)
    text = text.translate({ord(char): char.lower() if char.isascii() else _plain(char) for char in set(text)})
    if _STRANGE not in text and _SIGN not in text and _LIKE_LETTER not in text:
        return text
    return None if _STANDS_FOR.search(text) else text.replace(_SIGN, " ").replace(_LIKE_LETTER, " ")


@lru_cache(maxsize=4096)
def _plain(char: str) -> str:
    """What a character beyond ASCII says."""
    kind = unicodedata.category(char)
    if kind in ("Cf", "Mn", "Me", "Cc") or char in _NO_WIDTH:
        return ""
    if kind in ("Cn", "Cs", "Mc") or char in _DRAWN:
        return _STRANGE
    if kind == "Nd":
        return str(unicodedata.digit(char))
    if kind == "Sc":
        return "€"
    if kind[0] == "Z" or "─" <= char <= "▟" or "←" <= char <= "⇿" or char in "©®™°":
        return " "
    if "⠀" <= char <= "⣿":
        return _LIKE_LETTER
    if kind == "Pd":
        return "-"
    if "가" <= char <= "힣":
        return char
    plain = "".join(part for part in unicodedata.normalize("NFKD", char.casefold()) if not unicodedata.combining(part))
    plain = plain.casefold().translate(_PLAIN)
    if plain.isascii() and plain:
        return plain
    if kind[0] == "L" or kind == "Nl" or "\U0001f100" <= char <= "\U0001f1ff":
        return plain if _KNOWN.fullmatch(plain) else "'" if char in "ʼʻʹ" else _STRANGE
    if kind == "Sm" and char not in _COMPARED:
        return _LIKE_LETTER
    return _SIGN if kind == "Co" or kind in ("So", "Sk") else " "


def mixed(folded: str) -> str | None:
    """The first word with letters of two scripts that look alike."""
    hit = _MIXED.search(folded) if _CYRILLIC.search(folded) else None
    return hit and next(word for word in _GAPS.split(folded) if hit.group() in word)


def readings(folded: str) -> Readings:
    """The words as they stand, with row ends closed, with digits and signs read as letters; and what stood apart."""
    texts = [folded]
    rows = folded.split("\n")
    if len(rows) > 1 and folded.strip(_EDGES + "\n"):
        texts += _closed([row for row in rows if row.strip(_EDGES)])
    apart = list(_runs("\n".join(map(_bare, rows))))
    texts += apart
    posed = " 0 ".join(filter(None, map(_posed, texts)))
    if _CYRILLIC.search(folded):
        texts.append(" ".join([*_ALL_LOOK_LATIN.findall(folded), *apart]).translate(_LOOKS_LATIN))
    first, *others = map(_words, texts)
    return Readings(
        words=f"{first}0{'0'.join(others)}",
        posed=_words(posed),
        apart=" ".join(run.replace(" ", "") for run in apart),
        pieces=first.split(),
    )


def _words(text: str) -> str:
    if text.isascii():
        return f" {' '.join(text.translate(_ASCII_GAPS).split())} "
    return _SEAM.sub(" ", _GAPS.sub(" ", f" {text} "))


def _closed(rows: list[str]) -> list[str]:
    """Rows with their ends closed, for words that were broken there.

    Without any margin; with a blank where a row's margin is wider than that of most; and each end by itself.
    """
    left, right = (_usual(map(_margin, ends)) for ends in (rows, [row[::-1] for row in rows]))
    most = max(map(len, rows))
    texts = ("".join(_row(row, *margins) for row in rows) for margins in ((most, most), (left, right)))
    return [*dict.fromkeys(texts), " ".join(_joints([_bare(row).split() for row in rows]))]


def _joints(rows: list[list[str]]) -> Iterator[str]:
    """The last word of a row with the first of the next, and of the one after a row of one word."""
    for before, row, behind in zip(rows, rows[1:], [*rows[2:], [""]], strict=False):
        if not before[-1][-1].isalnum():
            continue
        yield before[-1] + row[0]
        if len(row) == 1:
            yield before[-1] + row[0] + behind[0]


def _usual(margins: Iterable[int]) -> int:
    return Counter(margins).most_common(1)[0][0]


def _margin(row: str) -> int:
    return len(row) - len(row.lstrip(_SIDES))


def _row(row: str, left: int, right: int) -> str:
    """What of a row may go on in the next one, or come from the one before."""
    bare = _bare(row)
    bare = bare if len(bare) <= 2 * _END else f"{bare[:_END]} 0 {bare[-_END:]}"
    return f"{' ' if _margin(row) > left else ''}{bare}{' ' if _margin(row[::-1]) > right else ''}"


def _bare(row: str) -> str:
    return row.lstrip(_EDGES).rstrip(_ENDS)


def _runs(text: str) -> Iterator[str]:
    """Letters that stand apart, closed up to words."""
    for run in _APART.findall(text):
        yield " ".join(_GAPS.sub("", word) for word in _BETWEEN_WORDS.split(run))


def _posed(text: str) -> str:
    """The words with digits or signs among their letters, and those around them, read as letters."""
    words = text.split()
    found = [
        place
        for place, word in enumerate(words)
        if not word.isalpha() and _POSING_SIGNS.search(word) and _LETTERS.search(word)
    ]
    near = sorted({place for at in found for place in range(max(at - _AROUND, 0), min(at + _AROUND + 1, len(words)))})
    return " ".join(words[place].rstrip("!|") for place in near).translate(POSED)
