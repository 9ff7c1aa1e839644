"""Texts that say to a person what no list of words finds: misspelt, backwards, in numbers, drawn, or without any word.

Wider than it need be: whoever is asked by such a text can read it.  Latin letters alone; English words.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Iterator

from stallkit.core import late
from stallkit.core.drawn import draws

__all__ = ["obscured"]

_LETTERS = late.compile(r"[a-z]+")
_WORDS = _LETTERS.findall("""
    delete deleted deletes deleting deletion remove removed removes removing removal erase erased erases erasing format
    formatted formatting overwrite overwritten overwrites overwriting destroy destroyed destroys destroying wiping
    purged purging discard discarded truncate truncated uninstall uninstalled uninstalling reboot rebooted rebooting
    restart restarted shutdown terminate terminated publish published publishing payment purchase permission permissions
    irreversible irreversibly permanently
""")
# Words one letter away that mean something else.
_OTHERS = frozenset(_LETTERS.findall("remote remotes remoted formal former formats forma public restarts payments"))
_WORD = late.compile(r"[a-z]{5,24}")
_HEXADECIMAL = late.compile(
    r"(?<![0-9a-f])(?:[0-9a-f]{2}[ :,]?){5,}(?![0-9a-f])|(?:\\?x[0-9a-f]{2}[ ,]?){5,}", re.IGNORECASE
)
_PLAIN_WORD = late.compile(r"(?<![^\W_])[^\W\d_]{2,}")
_PATH = late.compile(r"\S*/\S*")
_DRAWN = ((0x2190, 0x21FF), (0x2500, 0x25FF), (0x2800, 0x28FF))  # arrows, boxes and blocks, Braille
_MOST = 3_000  # words of a text that are looked at; a screen of 200x50 has fewer than 2,500


def obscured(text: str) -> str | None:
    """Why only a person can tell what the text says; None where nothing is obscure about it.  Linear.

    >>> obscured("All files will be delteed.")
    "'delteed' may be a misspelt 'deleted'"
    >>> obscured("The files were moved.") is None
    True
    """
    for number in _HEXADECIMAL.findall(text):
        if _says(number):
            return f"{number.strip()[:40]!r} is text in numbers"
    if draws(text):
        return "words may be drawn on its rows"
    for row in text.split("\n"):
        if _wordless(row):
            return f"a row says something without words: {row.strip()[:40]!r}"
    for word in list(dict.fromkeys(_WORD.findall(text.casefold())))[:_MOST]:
        meant = _meant(word)
        if meant is not None:
            return f"{word!r} may be a misspelt {meant!r}"
    return None


def _says(number: str) -> bool:
    """Whether hexadecimal digits are letters that can be read."""
    digits = re.sub(r"[^0-9a-fA-F]", "", number.replace("\\x", "").replace("x", ""))
    raw = bytes.fromhex(digits[: len(digits) // 2 * 2])
    return len(raw) >= 5 and all(32 <= byte < 127 for byte in raw)


def _wordless(row: str) -> bool:
    """Whether a row has a path, or signs that are no punctuation, and no word beside them."""
    if _PLAIN_WORD.search(_PATH.sub(" ", row)):
        return False
    signs = any(unicodedata.category(sign) in ("So", "Sm") and not _drawn(sign) and ord(sign) > 127 for sign in row)
    return signs or (_PATH.search(row) is not None and re.search(r"[^\W\d_]", row) is not None)


def _drawn(sign: str) -> bool:
    """Whether a sign only draws: arrows, boxes, blocks, shapes, Braille dots of a spinner, ticks."""
    return any(first <= ord(sign) <= last for first, last in _DRAWN) or sign in "✔✓✗✘☑☐☒◆◇●○❯"


def _meant(word: str) -> str | None:
    if word in _OTHERS:
        return None
    for written in (word, _squeezed(word), word[::-1]):
        near = _near()
        exact = written != word and written in near and near[written] == written
        if exact:
            return written
    if word in _near() and _near()[word] == word:
        return None  # the word itself: whether it is harmless there, others decide
    return next((_near()[less] for less in (word, *_shorter(word)) if less in _near()), None)


def _squeezed(word: str) -> str:
    """The word with each run of one letter as one."""
    return re.sub(r"(.)\1+", r"\1", word)


def _shorter(word: str) -> Iterator[str]:
    """The word without one of its letters."""
    return (word[:place] + word[place + 1 :] for place in range(len(word)))


@lru_cache(maxsize=1)
def _near() -> dict[str, str]:
    """Each word, and what is left of it without one letter: two words one step apart share one of these."""
    found = {less: word for word in _WORDS for less in _shorter(word) if len(word) >= 6}
    return (
        found | {word: word for word in _WORDS} | {_squeezed(word): word for word in _WORDS if _squeezed(word) == word}
    )
