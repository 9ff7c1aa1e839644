"""What a person reads in a text that tries to look different to a machine.

`fold` takes the dress off single letters: case, accents, width, mathematical and circled forms, zero-width characters.
`readings` undoes what was done to whole words: broken over rows, letters apart, digits for letters.  Both are linear.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Iterator

from attrs import frozen

__all__ = ["POSED", "Readings", "fold", "mixed", "readings"]

# What is left of a letter whose words are known: Latin, Russian and Ukrainian, Han, kana, Hangul.
_KNOWN = re.compile("[a-zа-яєіґぁ-ゖァ-ヺー々〆ヶ㐀-䶿一-鿿가-힣\U00020000-\U0003ffff]+")
# Letters that are no base letter and an accent.
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "µ": "u", "μ": "u", "ß": "ss", "、": ",", "。": "."}
)
_NO_WIDTH = frozenset("\u115f\u1160\u3164\uffa0")  # fillers: letters by name, drawn as nothing
_DRAWN = frozenset("卂乇丂丅凵乚匚厶丫卄𠘨尺")  # signs that stand for Latin letters, and hardly ever for themselves
_COMPARED = frozenset("×÷±¬≤≥≈≠≡−∞√∼∙")  # mathematics that ordinary lines hold
_STRANGE = "\0"  # a letter of no known script
_SIGN = "\1"  # a sign that could stand for a letter, within a word
_DOT_CELLS = "\2"  # Braille: a spinner alone, letters in a row
_CONTROLS = re.compile(r"[\0-\x08\x0b-\x1f\x7f]+")
_END = 40  # columns at a row's end that are read on in the next row
_NO_SIGNS = str.maketrans(_SIGN + _DOT_CELLS, "  ")
_POSING = re.compile(
    rf"{_STRANGE}|[^\W_]{_SIGN}+[^\W_]|{_SIGN}{_SIGN}[^\W_]|[^\W_]{_SIGN}{_SIGN}|{_DOT_CELLS} ?{_DOT_CELLS}"
)
_MIXED = re.compile(r"[a-z][0-9]*[а-яєіґ]|[а-яєіґ][0-9]*[a-z]")

_APART = re.compile(r"(?<![^\W_])[^\W_](?:[\W_]{1,9}[^\W_](?![^\W_]))+")
_BETWEEN_WORDS = re.compile(r"[\W_]{3,}|\s{2,}")
_POSING_SIGNS = re.compile(r"[0-9@$!|+]")
# Digits and signs as the letters that they look like.  A 1 may be an i or an l, so those are one letter there.
POSED = str.maketrans("0123456789@$!|+l", "oizeasgtbgasiiti")
_LETTERS = re.compile("[a-z]")
_AROUND = 2  # words around one with digits for letters, as it may belong to a phrase
_CYRILLIC = re.compile("[а-яєіґ]")
_LOOKS_LATIN = str.maketrans("авекмнорстухігпи", "abekmhopctyxirnu")
_SEPARATORS = re.compile(r"[\W_]+")


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
    text = _CONTROLS.sub("", text)
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFC", text)
    text = text.translate({ord(char): _plain(char) for char in set(text) if not char.isascii()}).lower()
    return None if _POSING.search(text) else text.translate(_NO_SIGNS)


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
    if kind[0] == "Z" or "─" <= char <= "▟" or "←" <= char <= "⇿" or char in "©®™":
        return " "
    if "⠀" <= char <= "⣿":
        return _DOT_CELLS
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
    if kind == "Co" or (kind[0] == "S" and char not in _COMPARED):
        return _SIGN
    return " "


def mixed(folded: str) -> str | None:
    """The first word with letters of two scripts that look alike."""
    hit = _MIXED.search(folded) if _CYRILLIC.search(folded) else None
    return hit and next(word for word in _SEPARATORS.split(folded) if hit.group() in word)


def readings(folded: str) -> Readings:
    """The words as they stand, with row ends closed, with digits and signs read as letters; and what stood apart."""
    texts = [folded]
    if "\n" in folded:
        texts.append("".join(_ends(row.strip(" |").removesuffix("-")) for row in folded.split("\n")))
    apart = [run for text in texts for run in _runs(text)]
    texts += apart
    posed = " 0 ".join(filter(None, map(_posed, texts)))
    if _CYRILLIC.search(folded):
        texts.append(folded.translate(_LOOKS_LATIN))
    return Readings(
        words=_words(" 0 ".join(texts)),
        posed=_words(posed) if posed else "",
        apart=" ".join(run.replace(" ", "") for run in apart),
        pieces=_words(folded).split(),
    )


def _words(text: str) -> str:
    return _SEPARATORS.sub(" ", f" {text} ")


def _ends(row: str) -> str:
    """What of a row may belong to a word of the rows around it."""
    return row if len(row) <= 2 * _END else f"{row[:_END]} 0 {row[-_END:]}"


def _runs(text: str) -> Iterator[str]:
    """Letters that stand apart, closed up to words."""
    for run in _APART.findall(text):
        yield " ".join(_SEPARATORS.sub("", word) for word in _BETWEEN_WORDS.split(run))


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
