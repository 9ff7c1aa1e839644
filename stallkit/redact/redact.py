"""The redactor: everything written to a log, an event or a file passes through it.

It masks what looks like a credential, rather too much than too little, and keeps the rest readable.  It is applied only
to what leaves the program, never before detection.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import Any, Iterable, Sequence

from stallkit.redact.labels import labelled, names_secret
from stallkit.redact.views import CONTROL, ENDS, HIDDEN, Span, forms, joined, shapes, views
from stallkit.terminal.text import replaced

__all__ = ["MASK", "redact", "redact_all", "redact_words", "spans"]

_BLANK = re.compile(r"\s")  # inside a word of a command
MASK = "[redacted]"
PASSES = 8  # a mask may reveal the start of a secret glued to it; limited, since a hostile text may glue thousands
# Names of lists whose parts are the words of one command, not the rows of a text.
_COMMANDS = ("argv", "args", "command", "engine_options")


def redact(text: str) -> str:
    """The text with everything that looks like a credential masked; rows stay rows.

    >>> redact("export API_KEY=abcdef123456")
    'export API_KEY=[redacted]'
    """
    return _known(text) if len(text) <= _SHORT else _redacted(text)


def _redacted(text: str) -> str:
    for _ in range(PASSES):
        before, text = text, _masked(text)
        if text == before:
            break
    return text


_SHORT = 200  # characters of what is said again and again: keys, states, a prompt's line
_known = lru_cache(maxsize=4096)(_redacted)


def redact_all(value: Any) -> Any:
    """The same for every string inside a value made of dicts, lists and plain values.

    Lists of strings are read as the rows of a text, or as the words of a command where they are called so; a string
    in a dict also as what its key says it is.
    """
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact_all(key): _named(key, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(item, str) for item in value):
            return _parts(value, "\n")
        return [redact_all(item) for item in value]
    return value


def redact_words(words: Sequence[str]) -> list[str]:
    """The words of a command, each redacted; read together, since one may say what the next one is."""
    return _parts(words, " ", [_BLANK.sub("_", word) for word in words])


def spans(text: str) -> list[Span]:
    """Where the secrets of a text are, in order and apart; control sequences are left out of them."""
    hidden = text.replace(MASK, HIDDEN * len(MASK)) if MASK in text else text
    found: list[Span] = []
    for _ in range(PASSES):
        new = joined(
            place
            for view in views(hidden)
            for one in (*shapes(view.text), *labelled(view.text), *forms(view.text))
            for place in view.place(*one)
        )
        if not new:
            break
        found += new
        hidden = replaced(hidden, [(start, end, HIDDEN * (end - start)) for start, end in new])
    return joined(found)


def _masked(text: str) -> str:
    changes = _masks(text, spans(text))
    for control in CONTROL.finditer(text) if "\x1b" in text else ():
        if control[1]:  # a control string, such as a title: its beginning and end stay
            end = next((end for end in ENDS if control[1].endswith(end)), "")
            within = control[1][2 : len(control[1]) - len(end)]
            if (clean := redact(within)) != within:
                changes.append((*control.span(), control[1][:2] + clean + end))
    return replaced(text, sorted(changes))


def _named(key: Any, value: Any) -> Any:
    """A value of a dict, masked where its key calls it a secret."""
    if isinstance(value, str):
        if not isinstance(key, str) or "\n" in value:
            return redact(value)
        shown = redact(f"{key}={value}")
        if shown == f"{key}={value}":
            return redact(value)
        return MASK if names_secret(key) or not shown.startswith(f"{key}=") else redact(shown[len(key) + 1 :])
    if key in _COMMANDS and isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return redact_words(value)
    return redact_all(value)


def _parts(parts: Sequence[str], between: str, read: Sequence[str] | None = None) -> list[str]:
    """Texts redacted together, as they are `read`; each stays a text of its own."""
    begins = [*accumulate((len(part) + len(between) for part in parts), initial=0)]
    found = [spans(part) for part in parts]  # each alone as well: read together, one may be hidden by its neighbour
    for start, end in spans(between.join(read or parts)):
        for index in range(bisect_right(begins, start) - 1, len(parts)):
            if end <= begins[index]:
                break
            first, last = max(start - begins[index], 0), min(end - begins[index], len(parts[index]))
            found[index].append((first, last))
    return [redact(replaced(part, _masks(part, joined(places)))) for part, places in zip(parts, found, strict=True)]


def _masks(text: str, places: Iterable[Span]) -> list[tuple[int, int, str]]:
    """What stands in place of these parts of a text: a mask on each of their rows."""
    rows = [(start, end, text[start:end].split("\n")) for start, end in places]
    return [(start, end, "\n".join(MASK if row.strip() else row for row in some)) for start, end, some in rows]
