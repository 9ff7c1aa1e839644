"""The words of consequence, made ready to be found: a text is gone through once for each way to read it."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Callable, Iterable, Iterator

from stallkit.core import late
from stallkit.core.consequence_words import CUT, HARMLESS, KINDS, ZERO_COUNTS, ZERO_COUNTS_BEHIND
from stallkit.core.pattern_programs import answer
from stallkit.core.readings import POSED, fold
from stallkit.core.values import by_name, frozen

__all__ = ["Hit", "Lexicon", "harmless", "plain", "posed", "zero_counts"]

Hit = tuple[str, str]  # kind and word
ByKey = dict[str, tuple[str, ...]]  # by the first letters

_KEY = 3  # letters by which stems and phrases are looked up; no stem is shorter
_LOOSE = 6  # letters of a word that is known without blanks: shorter ones are met where two words happen to meet
# Words that are known with one blank in them: where a word ends and the next begins, few of these come about.
_CUT = frozenset(
    stem + ending for stem in CUT.split() for ending in ("", "e", "d", "ed", "es", "s", "en", "ing", "ion")
)
# As on keyboards without these letters: "loeschen" for "löschen".
_SPELT_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
_NO_BLANKS = late.compile("[぀-ヿ㐀-䶿一-鿿가-힣]")  # these put no blanks between words, or endings to them


@frozen
class Lexicon:
    """The words by how they are written, each with its kind.

    `words` are whole, `stems` begin a word, `parts` stand anywhere in one, `phrases` are several words.  `loose` are
    those, without blanks, that are long enough to be known where it is not clear which letters make a word.
    """

    kinds: dict[str, str]
    words: frozenset[str]
    stems: ByKey
    parts: tuple[str, ...]
    phrases: ByKey
    loose: ByKey

    @classmethod
    def of(cls, entries: Iterable[tuple[str, str]]) -> Lexicon:
        """From entries as `consequence_words` has them, with their kinds."""
        kinds: dict[str, str] = {}
        words, stems, parts, phrases = (set[str]() for _ in range(4))
        for entry, kind in entries:
            bare = entry.strip("*")
            if "_" in entry:
                phrases.add(bare := entry)
            elif entry[0] == "*" or (not entry.isascii() and _NO_BLANKS.search(entry)):
                parts.add(bare := bare if entry[-1] == "*" or entry[0] != "*" else f"{bare} ")
            else:
                (stems if entry[-1] == "*" else words).add(bare)
            kinds[bare] = kind
        solid = [phrase for phrase in phrases if "*" not in phrase[:-1] and ".." not in phrase]
        loose = {bare.replace("_", "").strip("* "): kinds[bare] for bare in (*stems, *words, *parts, *solid)}
        long = _by_key(bare for bare in loose if len(bare) >= _LOOSE)
        return cls(loose | kinds, frozenset(words), _by_key(stems), tuple(sorted(parts)), _by_key(phrases), long)

    def found(self, text: str) -> Hit | None:
        """A word in a text of words with one blank around each."""
        part = self._part(text)
        if part is not None:
            return self.kinds[part], _word_around(part, text)
        hits = (self._word(word) or self._phrase(word, text) for word in dict.fromkeys(text.split()))
        return next(filter(None, hits), None)

    def apart(self, run: str) -> Hit | None:
        """A word anywhere in letters that stood apart."""
        return self._loose(_stem(self.loose, run, start) for start in range(len(run)))

    def cut(self, pieces: list[str]) -> Hit | None:
        """A word with one blank in it, of those of `_CUT`."""
        word = next((word for word in map(str.__add__, pieces, pieces[1:]) if word in _CUT), None)
        return self._word(word) if word else None

    def _loose(self, words: Iterable[str | None]) -> Hit | None:
        word = next(filter(None, words), None)
        return (self.kinds[word], word) if word else None

    def _word(self, word: str) -> Hit | None:
        if word in self.words:
            return self.kinds[word], word
        stem = _stem(self.stems, word)
        return (self.kinds[stem], word) if stem else None

    def _part(self, text: str) -> str | None:
        letters = set(text)
        return next((part for part in self.parts if part[0] in letters and part in text), None)

    def _phrase(self, first: str, text: str) -> Hit | None:
        for phrase in self.phrases.get(first[:_KEY], ()):
            head = phrase.split("_", 1)[0]
            begun = first.startswith(head[:-1]) if head[-1] == "*" else first == head
            hit = _pattern(phrase).search(text) if begun else None
            if hit is not None:
                return self.kinds[phrase], hit.group().strip()
        return None


@cache
def plain() -> Lexicon:
    """All words, made when they are first asked for."""
    return _kept("plain", _all)


@cache
def posed() -> Lexicon:
    """All words as they are read where digits and signs pose as letters: some stand for two of them."""
    return _kept("posed", _latin)


def _kept(name: str, entries: Callable[[], Iterable[tuple[str, str]]]) -> Lexicon:
    """The lexicon of these entries, from an earlier start where it is known: to make it takes as long as two looks."""
    made: tuple[Any, ...] = answer(("lexicon", name), lambda: tuple(by_name(Lexicon.of(entries())).values()))
    return Lexicon(*made)


@cache
def harmless() -> re.Pattern[str]:
    """Uses of these words that have no consequence."""
    entries = [entry.replace("_", " ") for entry in _entries(HARMLESS)]
    anywhere = [entry for entry in entries if _NO_BLANKS.search(entry)]
    spaced = [entry for entry in entries if entry not in anywhere]
    return late.compile(f" (?:{'|'.join(spaced)})(?= )|{'|'.join(anywhere)}")


@cache
def zero_counts() -> re.Pattern[str]:
    """On text without blanks: a lone 0 with its word, then the end or the next count; else more belongs to it."""
    end = r"(?=[,.;:)\n]|$|(?:und|and|et|y|e|en|es|och|og|ja|i|a|si|ve|и|і|та|および|及び|和|및)?,?[0-9])"
    before, behind = ("|".join(_entries(text)) for text in (ZERO_COUNTS, ZERO_COUNTS_BEHIND))
    counted = "(?:packages?|files?|items?|пакетов|пакетів|个软件包|個套件|[个個개])?"
    return late.compile(rf"(?<![0-9])(?<![0-9][.,])0(?:{before}){end}|(?:{behind}):?0{counted}{end}")


@cache
def _all() -> list[tuple[str, str]]:
    return [
        (entry, kind)
        for kind, text in KINDS.items()
        for entry in _entries(text)
        if entry[-1] != ":"  # its language
    ]


def _latin() -> Iterator[tuple[str, str]]:
    for entry, kind in _all():
        if entry.isascii():
            yield (entry if len(entry) > _LOOSE else entry.lstrip("*")).translate(POSED), kind


def _entries(text: str) -> list[str]:
    spelt_out = " ".join(word.translate(_SPELT_OUT) for word in text.split() if not word.isascii())
    return (fold(f"{text} {spelt_out}") or "").split()


def _by_key(entries: Iterable[str]) -> ByKey:
    found: dict[str, list[str]] = {}
    for entry in sorted(entries):
        found.setdefault(entry[:_KEY].partition("*")[0].partition("_")[0], []).append(entry)
    return {key: tuple(among) for key, among in found.items()}


def _stem(stems: ByKey, text: str, start: int = 0) -> str | None:
    among = stems.get(text[start : start + _KEY])
    if among is None or not text.startswith(among, start):
        return None
    return next((stem for stem in among if text.startswith(stem, start)), None)


@cache
def _pattern(phrase: str) -> re.Pattern[str]:
    """One blank around each word, up to eight words where ``..`` stands: separable verbs."""
    body = phrase.replace("_.._", r" (?:\S+ ){0,8}?").replace("_", " ").replace("*", r"\S*")
    return late.compile(f" {body} ")


def _word_around(part: str, text: str) -> str:
    start = text.index(part)
    before, behind = text.rfind(" ", 0, start + 1) + 1, text.find(" ", start + len(part) - part.endswith(" "))
    return text[before : behind if behind >= 0 else None]
