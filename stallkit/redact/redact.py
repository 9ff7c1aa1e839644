"""The redactor: everything written to a log, an event or a file passes through it.

It masks what looks like a credential, rather too much than too little, and keeps the rest readable.  It is applied only
to what leaves the program, never before detection.

Secrets that are known by a word beside them (`password: ...`, `DB_PASS=...`, `--token ...`, in many languages) are
found by the exact words.  What is around each is read with patterns that begin at it and reach a limited number
of characters, so that the time is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache, lru_cache
from itertools import accumulate
from typing import Any, Iterable, Iterator, Sequence

from stallkit.redact.views import CONTROL, ENDS, HIDDEN, Span, forms, joined, labels, patterns, shapes, views
from stallkit.terminal.text import replaced

_OF_A_PLACE = ("credential", "token")  # words that also name who has one

_MOST = 400  # characters of a row that are a value
_SIGNS = frozenset("!#$%^&*+?@~")


def labelled(text: str) -> Iterator[Span]:
    """The spans of what the words around call a secret."""
    low = _lower(text)
    yield from _codes(text, low)
    covered = 0
    for at, word, kind in _names(text, without_addresses(low)):
        if at >= covered and not patterns.in_address.search(text, max(at - 40, 0), at):  # addresses are read as such
            for start, end in _values(text, low, at, word, kind):
                covered = max(covered, end)
                yield from beyond_address(word, text, start, end)


def without_addresses(text: str) -> str:
    """The text in which no word of an address can be a label, each character in its place."""
    return patterns.address.sub(lambda found: "/" * len(found[0]), text) if "://" in text else text


def beyond_address(name: str, text: str, start: int, end: int) -> Iterator[Span]:
    """What is secret of a value of that name: of the address of whoever has a credential, what is behind the path.

    >>> text = 'credential = "http://10.0.0.1:8377/web/?key=abc"'
    >>> [text[slice(*span)] for span in beyond_address("credential", text, 14, len(text) - 1)]
    ['?key=abc']
    """
    place = patterns.place.match(text, start, end) if any(word in name.lower() for word in _OF_A_PLACE) else None
    start = place.end() if place else start
    if start < end:
        yield start, end


@cache
def names_secret(key: str) -> bool:
    """Whether a key of a table names a secret, whatever its value is."""
    return any(start == len(key) + 1 for start, _ in labelled(f"{key}=hunter22"))


def _lower(text: str) -> str:
    """The text in lower case, each character in its place."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(one if len(one := char.lower()) == 1 else char for char in text)


def _names(text: str, low: str) -> list[tuple[int, str, str]]:
    """The words for secrets in order: where, which, and whether any value, or only a random one, is a secret."""
    found: list[tuple[int, str, str]] = []
    for kind in ("strong", "key", "short", "weak"):
        for word in labels(kind):
            at = low.find(word)
            while at >= 0:
                end = at + len(word)
                if kind == "strong":
                    found.append((at, word, kind))
                elif not low[end : end + 1].isascii() or not low[end : end + 1].isalpha():
                    if kind == "key" and (
                        patterns.of_secrets.search(low, max(at - 12, 0), at) or patterns.secret_key.match(low, end)
                    ):
                        found.append((at, word, "strong"))
                    elif _is_part(text, at) or (
                        word in labels("ends") and not patterns.other_pass.search(low, max(at - 8, 0), at)
                    ):
                        found.append((at, word, kind if kind == "short" else "weak"))
                at = low.find(word, end)
    return sorted(found)


def _is_part(text: str, at: int) -> bool:
    before = text[at - 1 : at] if at else ""
    return not (before.isascii() and before.isalnum()) or (before.islower() and text[at].isupper())


def _values(text: str, low: str, at: int, word: str, kind: str) -> Iterator[Span]:
    """The values of one name, on its row or below."""
    end, weak = at + len(word), kind == "weak"
    if not weak and patterns.option.search(low, max(0, at - 30), at):
        found = patterns.after_option.match(text, end)
        if found and not (value := _of(found))[0].startswith("-") and _is_value(value[0]):
            yield value[1]
            return
    for form in () if weak else (patterns.inside, patterns.given):
        found = form.match(text, end)
        if found and _is_value(found["quoted"]):
            yield found.span("quoted")
            return
    found = patterns.assigned.match(text, end)
    prose = word in labels("assigned") and text[end : end + 1] == " " and text[end : end + 3] != " = "
    value = _of(found) if found and not prose else ("", (0, 0))
    if found and value[0] and not _counts(low, end, word, value[0]):
        secret = _is_random(value[0], 12) if weak else _is_value(value[0], word in labels("numbers"))
        if secret:
            if word.endswith(" code"):  # there may be a list of them
                yield from _row_of_codes(text, value[1][1])
            whole = not found["quote"] and (patterns.phrase.match(word) or _is_all_there_is(text, at, value[1]))
            yield _to_row_end(text, value[1]) if whole else value[1]
            return
    if not weak and word not in labels("assigned"):
        for form, least in ((patterns.said, 4), (patterns.beside, 8)):
            found = form.match(text, end)
            if not found or not (value := _of(found)) or _counts(low, end, word, value[0]):
                continue
            if _is_random(value[0], least) or (found["quote"] and form is patterns.beside and _is_value(value[0])):
                yield value[1]
                return
        found = patterns.near.match(text, end)
        if found and _is_random(found["value"], 7) and not _counts(low, end, word, found["value"]):
            yield found.span("value")
            return
        found = patterns.asked.match(text, end)
        if found and _is_answer(found) and not _counts(low, end, word, found["value"]):
            yield found.span("value")
            return
    asked = None if weak else patterns.below_a_colon.match(text, end)
    if asked and (row := patterns.row.match(text, asked.end())):
        first = row["words"].split()[0]
        alone = len(first) == len(row["words"].rstrip())
        if alone and _is_random(first, 6):
            yield from _rows_below(text, asked.end(), 6)
            return
        if _is_random(first, 6) or (alone and _is_alone(first)):
            yield row.start("words"), row.start("words") + len(first)
            return
    below = (patterns.below_a_key if weak else patterns.below).match(text, end)
    if below and word not in labels("assigned") and "fingerprint" not in below[0]:
        yield from _rows_below(text, below.end(), 12 if weak else 6)


def _of(found: re.Match[str]) -> tuple[str, Span]:
    """The value that a pattern found, and if it is."""
    group = "quoted" if found["quoted"] is not None else "value"
    return found[group], found.span(group)


def _to_row_end(text: str, span: Span) -> Span:
    most = max(span[1], span[0] + _MOST)
    end = text.find("\n", span[1], most)
    row = text[span[0] : end if end >= 0 else most].split(HIDDEN)[0]
    return span[0], span[0] + len(row.rstrip())


def _is_all_there_is(text: str, at: int, span: Span) -> bool:
    """Whether a row is a name and a value of a few words, one of them a number: `password = my 1st dog`."""
    row = _to_row_end(text, span)
    parts = text[span[0] : row[1]].split()
    alone = patterns.row_begins.search(text, max(0, at - 60), at) is not None and text[span[0] - 1 : span[0]] == " "
    return alone and 2 <= len(parts) <= 5 and any(any(map(str.isdecimal, part)) for part in parts)


def _row_of_codes(text: str, at: int) -> Iterator[Span]:
    """Further random words on the row."""
    while (word := patterns.next.match(text, at)) and _is_random(word["value"], 6):
        yield word.span("value")
        at = word.end()


def _rows_below(text: str, at: int, least: int) -> Iterator[Span]:
    """The words of the next rows, as long as there is nothing else on them."""
    for _ in range(20):
        row = patterns.row.match(text, at)
        words = row["words"].split() if row else []
        if not row or not words or len(words) > 4 or not all(_is_random(word, least) for word in words):
            return
        yield row.start("words"), row.start("words") + len(row["words"].rstrip())
        if row["more"]:
            return
        at = row.end()


def _is_value(value: str, digits: bool = False) -> bool:
    """Whether a word after a name and a colon may be its value; with `digits`, it is a number."""
    core = value.strip(".,;:!?)]}>").lower()
    if digits:
        return core.isdigit() and 3 <= len(core) <= 12
    return len(core) >= 3 and patterns.none.fullmatch(core) is None and patterns.none.fullmatch(value.lower()) is None


def _is_answer(found: re.Match[str]) -> bool:
    """Whether the word behind a question may be what was typed there: any at the end of the row, or a random one."""
    value = found["value"]
    alone = found["end"] is not None and found["sign"] == ":"
    return _is_random(value, 6) or (alone and _is_value(value) and "://" not in value and value[0] not in "/~")


def _is_alone(word: str) -> bool:
    """Whether the only word of the row below a question may be what was typed, or made."""
    return len(word) >= 4 and word[0].isalnum() and word[-1] not in ".:!?…>" and _is_value(word) and not _is_plain(word)


def _is_plain(word: str) -> bool:
    return patterns.ordinary.fullmatch(word) is not None


def _is_random(value: str, least: int) -> bool:
    """Whether a word is unlike words and names of things: digits or signs among letters."""
    core = value.strip(".,;:!?()[]{}<>\"'`")
    if (
        len(core) < least
        or not core.isascii()
        or _is_plain(core)
        or patterns.numbered.fullmatch(core)
        or not _is_value(value)
    ):
        return False
    letters, digits = any(map(str.isalpha, core)), any(map(str.isdigit, core))
    mixed = len(core) >= 12 and core.isalnum() and core[1:] != core[1:].lower() and core != core.upper()
    return (letters and (digits or not _SIGNS.isdisjoint(core))) or mixed or core.isdigit()


def _counts(low: str, end: int, word: str, value: str) -> bool:
    """Whether a number counts tokens: `Tokens: 3.1k sent`."""
    if word != "token" or not patterns.number.fullmatch(value.lower().rstrip(".,;)")):
        return False
    return low[end : end + 1] in ("s", "_", "/") or not 6 <= len(value) <= 10


# --- one-time codes and PINs: a short number beside a word for one ---

_REACH = 60  # characters before and behind a word that may make it one for a secret


def _codes(text: str, low: str) -> Iterator[Span]:
    """The spans of one-time codes; `low` is the text in lower case."""
    for word in labels("codes"):
        at = low.find(word)
        while at >= 0:
            end = at + len(word)
            before = patterns.before.search(text, max(at - _REACH, 0), at)
            if before:
                yield before.span("value")
            if _is_secret_code(low, word, at, end):
                behind = patterns.behind.match(text, end) or patterns.mixed.match(text, end)
                if behind:
                    yield behind.span("value")
            at = low.find(word, end)


def _is_secret_code(low: str, word: str, at: int, end: int) -> bool:
    before, after = low[max(at - 40, 0) : at], low[end : end + 1]
    if word in ("totp", "otp", "pin", "2fa", "tan", "kod", "kód", "код"):
        return not (before[-1:].isalpha() or (after.isalpha() and word in ("totp", "otp", "pin", "2fa", "tan")))
    if word != "code":
        return True
    return not patterns.other_code.search(before) and bool(
        patterns.six.match(low, end) or patterns.whose_code.search(before) or patterns.of_what.match(low, end)
    )


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

    Lists of strings are read as the rows of a text, or as the words of a command if they are called so; a string
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
    """What stands instead of these parts of a text: a mask on each of their rows."""
    rows = [(start, end, text[start:end].split("\n")) for start, end in places]
    return [(start, end, "\n".join(MASK if row.strip() else row for row in some)) for start, end, some in rows]
