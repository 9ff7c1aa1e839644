"""A pattern in JavaScript's syntax, for recheck, which reads nothing else.  Pure.

Possessive repeats and atomic groups become lookaheads whose text is taken again, which costs the same.  What recheck
does not read, such as a conditional group, stays as it is: recheck then says that it cannot tell.
"""

from __future__ import annotations

import re

from stallkit.core.signature import Clause

__all__ = ["ecmascript"]

_TOKEN = r"""
    (?P<escape>\\(?:[AZ]|[1-9]\d?|.))
  | (?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])
  | (?P<repeat>(?:[*+?]|\{\d*,?\d*\})(?<!\{\})(?P<how>[+?]?))
  | (?P<open>\((?:\?(?:P?<(?![=!])\w+>|P=\w+\)|<?[=!]|>|[a-zA-Z]*(?:-[a-zA-Z]+)?[:)]))?)
  | ."""
_FLAGS = re.VERBOSE | re.DOTALL
_PLAIN, _SPACED = re.compile(_TOKEN, _FLAGS), re.compile(rf"(?P<blank>\s|\#[^\n]*) | {_TOKEN}", _FLAGS)
_PLACES = {".": r"[^\n]", "^": r"(?<![^\n])", "$": r"(?![^\n])"}  # JavaScript has more ends of a line than \n
_ENDS = {"^": r"(?<![\s\S])", "$": r"(?![\s\S])"}
_ESCAPES = {r"\A": _ENDS["^"], r"\Z": _ENDS["$"]}


def ecmascript(clause: Clause, one_line: bool = False) -> tuple[str, str]:
    """The pattern of a clause, and the flags to read it with; `one_line`: over a text without line ends.

    >>> ecmascript(Clause(pattern=r"\\A(?P<a>x)*+\\1.[]]"))
    ('(?<![\\\\s\\\\S])(?=(?<a1>(?:(?<g1>x))*))\\\\k<a1>\\\\k<g1>[^\\\\n][\\\\]]', '')
    """
    depth: list[tuple[str, list[str], bool]] = []  # of each open group: how it begins, what stands before, dots
    items: list[str] = []
    groups = atoms = 0
    names: dict[str, int] = {}
    dots, pattern = False, clause.pattern or ""
    places = {**_PLACES, **_ENDS} if one_line else _PLACES
    for token in (_SPACED if re.match(r"\(\?\w*x", pattern) else _PLAIN).finditer(pattern):
        text = token[0]
        if token.lastgroup == "blank":
            continue
        if text.startswith("(?") and text.endswith(")"):
            if text.startswith("(?P="):
                items.append(rf"\k<g{names[text[4:-1]]}>")
            dots = dots or "s" in text
        elif token["open"]:
            begin = text if text in ("(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>") else "(?:"
            if text == "(" or (text.endswith(">") and text != "(?>"):
                groups += 1
                names[text.strip("(?P<>")] = groups
                begin = f"(?<g{groups}>"
            depth.append((begin, items, dots))
            items, dots = [], dots or (text.endswith(":") and "s" in text.partition("-")[0])
        elif text == ")":
            begin, before, dots = depth.pop()
            atomic = begin == "(?>"
            atoms += atomic
            inner = "".join(items)
            items = [*before, _atomic(inner, atoms) if atomic else f"{begin}{inner})"]
        elif token["repeat"] and items:
            often = text.removesuffix("+") if token["how"] == "+" else text
            items.append(f"(?:{items.pop()}){often.replace('{,', '{0,')}")
            if token["how"] == "+":
                atoms += 1
                items.append(_atomic(items.pop(), atoms))
        elif token["set"]:
            items.append(re.sub(r"^\[(\^?)\]", r"[\1\\]", text))
        elif text[0] == "\\":
            items.append(rf"\k<g{text[1:]}>" if text[1:].isdigit() and text != r"\0" else _ESCAPES.get(text, text))
        else:
            items.append(r"[\s\S]" if dots and text == "." else places.get(text, text))
    return "".join(items), "i" if clause.ignore_case or re.match(r"\(\?\w*i", pattern) else ""


def _atomic(inner: str, number: int) -> str:
    return rf"(?=(?<a{number}>{inner}))\k<a{number}>"
