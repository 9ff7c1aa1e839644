"""The words and forms of secrets, as ``data/secrets.toml`` has them: read once, compiled when they are first needed."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pkgutil import get_data
from typing import Iterator, Mapping

from attrs import frozen

__all__ = ["beginnings", "labels", "matches", "words"]

_PIECE = re.compile(r"\(\?&(\w+)\)")


@frozen
class _Data:
    rules: Mapping[str, list[list[str]]]  # texts of which one must be there, and a pattern
    labels: Mapping[str, list[str]]
    patterns: Mapping[str, str]
    beginnings: str


@cache
def _data() -> _Data:
    """What the file says, with its pieces put in."""
    read = tomllib.loads((get_data("stallkit", "data/secrets.toml") or b"").decode())
    pieces, kept = {**read["pieces"], "edge": read["kept"]["edge"]}, read["kept"]
    rules = {
        name: [[texts, _PIECE.sub(lambda one: str(pieces[one[1]]), pattern)] for texts, pattern in some]
        for name, some in (("tokens", [*read["tokens"], *kept["rules"]]), ("forms", read["forms"]))
    }
    letters = kept["beginnings"].replace("\n", "")
    return _Data(rules, read["labels"], read["patterns"], letters)


@cache
def beginnings() -> frozenset[str]:
    """How the words of seed phrases begin: four letters each, or a shorter word."""
    letters = _data().beginnings
    return frozenset(letters[at : at + 4].strip() for at in range(0, len(letters), 4))


@cache
def labels(kind: str) -> tuple[str, ...]:
    """Words that stand beside a secret."""
    return tuple(_data().labels[kind])


_compiled = cache(re.compile)


class _Words:
    """The patterns of words, by name."""

    def __getattr__(self, name: str) -> re.Pattern[str]:
        if name not in _data().patterns:
            raise AttributeError(name)
        value = _compiled(_data().patterns[name])
        setattr(self, name, value)
        return value


words = _Words()


@cache
def _rules(kind: str) -> list[tuple[list[str], str]]:
    return [(texts.split(), pattern) for texts, pattern in _data().rules[kind]]


def matches(kind: str, text: str) -> Iterator[re.Match[str]]:
    """Where the rules of a kind hold in a text."""
    for texts, pattern in _rules(kind):
        if any(one in text for one in texts):
            yield from _compiled(pattern).finditer(text)
