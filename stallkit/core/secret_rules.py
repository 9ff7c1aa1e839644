"""What is a secret in a text: by its own form, by what stands around it, by a word beside it, by a short number.

Words and forms are in ``data/secrets.toml``; this is how they are looked for.  Every pattern reads a limited number of
characters from where it begins, so that the time is linear in the text.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from itertools import accumulate
from operator import sub
from pathlib import Path
from typing import Iterator, Mapping

from stallkit.core import late
from stallkit.core.secret_views import HIDDEN, Span
from stallkit.core.values import frozen

__all__ = ["found", "names_secret"]

_FILE = Path(__file__).parent.parent / "data/secrets.toml"
_PIECE = late.compile(r"\(\?&(\w+)\)")
_Rules = tuple[tuple[tuple[str, ...], str], ...]  # texts of which one must be there, and a pattern


@frozen
class _Data:
    """What the file says; patterns are compiled when they are first needed."""

    rules: Mapping[str, _Rules]
    labels: Mapping[str, tuple[str, ...]]
    patterns: Mapping[str, str]
    beginnings: frozenset[str]  # of the words of seed phrases: four letters each


@cache
def _data() -> _Data:
    read = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    pieces, kept = {**read["pieces"], "edge": read["kept"]["edge"]}, read["kept"]
    listed = {"tokens": [*read["tokens"], *kept["rules"]], "forms": read["forms"]}
    rules = {
        name: tuple((tuple(texts.split()), _PIECE.sub(lambda one: pieces[one[1]], pattern)) for texts, pattern in some)
        for name, some in listed.items()
    }
    letters = kept["beginnings"].replace("\n", "")
    beginnings = frozenset(letters[at : at + 4].strip() for at in range(0, len(letters), 4))
    return _Data(rules, {name: tuple(words) for name, words in read["labels"].items()}, read["patterns"], beginnings)


_compiled = cache(re.compile)


class _Words:
    """The patterns of words, by name."""

    def __getattr__(self, name: str) -> re.Pattern[str]:
        value = _compiled(_data().patterns[name])
        setattr(self, name, value)
        return value


_words = _Words()


def _matches(kind: str, text: str) -> Iterator[re.Match[str]]:
    for texts, pattern in _data().rules[kind]:
        if any(one in text for one in texts):
            yield from _compiled(pattern).finditer(text)


def found(text: str) -> Iterator[Span]:
    """The spans of all that is taken for a secret, in no order."""
    yield from _shapes(text)
    yield from _labelled(text)
    yield from _forms(text)


@cache
def names_secret(key: str) -> bool:
    """Whether a key of a table names a secret, whatever its value is."""
    return any(start == len(key) + 1 for start, _ in _labelled(f"{key}=hunter22"))


# --- by its own form ---

# A word that goes on behind what was recognised belongs to it.
_REST = late.compile(r"[\w+/=%~-]*(?:\.[\w+/=%~-]{8,})*")

_KEY_BEGINS = late.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d")
_KEY_ENDS = late.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: [0-9a-f]+")
KEY_TEXT = 16_384  # characters of a private key without an end

# A fingerprint is shown to be compared, and is no secret.
_LONG = late.compile(
    r"(?<![\w/+-])(?<!SHA256:)"
    r"(?=[\w+/-]{0,200}\d)(?=[\w+/-]{0,200}[A-Z])(?=[\w+/-]{0,200}[a-z])[A-Za-z0-9+/_-]{40,}={0,2}"
)

_VARIED = 16  # different characters of it: a ruler has few
_NAME = late.compile(r"[A-Z]?[a-z]*(?:[_.-][A-Za-z]?[a-z]+)*\d{0,4}|[A-Z]{1,8}\d{0,4}")  # a part of a path

# Rows of base64 one below the other: a key whose first line is out of sight.
_BLOCK = late.compile(r"(?:(?<![\w+/])[A-Za-z0-9+/]{60,200}\n[^\S\n]{0,40}){2,200}[A-Za-z0-9+/]{1,200}={0,2}")

_LISTED = late.compile(r"[^\W\d_]+")
_FEWEST = 11  # words of a seed phrase: one of twelve may be drawn twice
_WORDS = late.compile(r"(?<![^\W\d_])[^\W\d_]{3,8}(?![^\W\d_])")
_GAP = late.compile(r"[\s\d.,:;)(|#-]{1,80}\Z")  # between two of them: they may be numbered, and in columns


def _shapes(text: str) -> Iterator[Span]:
    """The spans of what looks like a secret by itself."""
    yield from _keys(text)
    yield from _ruled(text)
    yield from (found.span() for found in _LONG.finditer(text) if _is_drawn(found[0]))
    if "\n" in text:
        yield from (found.span() for found in _BLOCK.finditer(text))
    yield from _phrases(text)


def _is_drawn(word: str) -> bool:
    """Whether a long word was drawn by lot: it is neither a ruler nor a path, most of which is names."""
    names = sum(len(part) for part in word.split("/") if _NAME.fullmatch(part))
    return len(set(word)) >= _VARIED and 2 * names < len(word)


def _keys(text: str) -> Iterator[Span]:
    """Private keys from their first to their last line."""
    if "PRIVATE KEY" in text or "Private-Lines" in text:
        covered = 0
        for begun in _KEY_BEGINS.finditer(text):
            if begun.start() < covered:
                continue
            most = min(len(text), begun.end() + KEY_TEXT)
            ended = _KEY_ENDS.search(text, begun.end(), most)
            covered = ended.end() if ended else most
            yield begun.start(), covered


def _ruled(text: str) -> Iterator[Span]:
    """What the rules recognise."""
    for found in _matches("tokens", text):
        yield found.start("value"), _whole(text, found.end("value"))


def _whole(text: str, end: int) -> int:
    rest = _REST.match(text, end)
    return rest.end() if rest else end


def _phrases(text: str) -> Iterator[Span]:
    """Seed phrases: so many words of their list, one after the other; a wrapped row may cut one."""
    known = _data().beginnings
    so_far = [*accumulate((word[:4] in known for word in _WORDS.findall(text.lower())), initial=0)]
    if len(so_far) <= 10 or max(map(sub, so_far[14:] or so_far[-1:], so_far)) < 10:  # as nearly every text
        return
    begun = ended = 0
    seen: set[str] = set()
    for found in _LISTED.finditer(text):
        start, end = found.span()
        word = found[0].lower()
        listed = 3 <= len(word) <= 8 and word[:4] in known
        cut = not listed and "\n" in (text[start - 1 : start], text[end : end + 1])
        near = seen and start - ended < 80 and _GAP.match(text, ended, start)
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


# --- by what stands around it ---

# A part of an address that gives what it names to whoever has it.
_URL = late.compile(r"(?i:https?|wss?|otpauth|ftp)://[^\s\"'`<>\ue000]{8,}")
_GIVES = late.compile(r"(?i:[?&;\#]|%26|%3F)(?P<name>[\w.\[\]-]{1,40})(?:=|%3D)(?P<value>[^&\s;\#\ue000]{3,})")
_SEGMENT = late.compile(r"/(?P<value>(?=[^/?#]{0,100}\d)[\w@.%~=+-]{16,}|[TB][A-Z0-9]{8,})")
_VERBATIM = late.compile(r"\d{4}-\d\d-\d\d.*|.*\.(?:html?|js|css|png|svg|tar|gz|zip|md|py|json|git)", re.IGNORECASE)


def _forms(text: str) -> Iterator[Span]:
    """The spans of what stands where a secret stands."""
    for found in _matches("forms", text):
        quoted = "quoted" in found.re.groupindex and found["quoted"] is not None
        yield found.span("quoted" if quoted else "value")
    if "://" in text:
        for found in _URL.finditer(text):
            yield from _addressed(found[0], found.start())
    if "=" in text:
        for found in _GIVES.finditer(text):
            if _words.giving.fullmatch(found["name"]) and (len(found["value"]) >= 8 or "pass" in found["name"].lower()):
                yield found.span("value")


def _addressed(url: str, at: int) -> Iterator[Span]:
    """The parts of an address's path that nobody can guess, where it names a hook, a reset or the like."""
    path = url.partition("?")[0]
    if _words.places.search(path):
        for found in _SEGMENT.finditer(path, path.find("://") + 3):
            if not _VERBATIM.fullmatch(found["value"]):
                yield at + found.start("value"), at + found.end("value")


# --- by a word beside it ---

_V = rf"[^\s\"'`{HIDDEN}]"  # a character of a value without quotes

_OF_NAME = r"(?:[ ]?\#?\d{1,2}|[\w.-]{0,24})[\"'`\]]{0,3}"  # of a name: `Unseal Key 1`, "password_hash"
_QUOTED = r"(?P<quote>\\?[\"'`])(?!(?P=quote))(?P<quoted>[^\n]{1,200}?)(?P=quote)"
_VALUE = rf"(?:{_QUOTED}|[\"'`(]?(?P<value>{_V}+))"
_ROW_END = r"[^\S\n]{0,200}(?=\n|\Z)"

_ASSIGNED = late.compile(rf"{_OF_NAME}\s{{0,3}}(?::=|=>|->|==?|:(?!:))[^\S\n]{{0,40}}{_VALUE}")
# `<password>...<`, `name="password" value="..."`, `define('PASSWORD', '...')`, `password("...")`
_INSIDE = late.compile(rf"[\w.-]{{0,24}}>(?P<quoted>[^<\n{HIDDEN}]{{3,200}})<")
_GIVEN = late.compile(rf"[\w.-]{{0,24}}(?:[\"']\s{{0,4}}(?:value\s?=|,)|\()\s{{0,4}}{_QUOTED}")
_SAID = late.compile(
    rf"[^\n.:=]{{0,40}}?(?:[^\S\n](?:is|was|are|lautet|ist|est|es|é|è|jest|это|to|ar|är|je|olarak)|は|が|是|為|为|은|는)"
    rf"(?:[^\S\n]{{0,3}}:)?[^\S\n]{{0,8}}{_VALUE}"
)
_NEAR = late.compile(rf"(?:[^\S\n]{{1,4}}[^\W\d_]{{1,12}}){{1,3}}[^\S\n]{{1,4}}[\"'`]?(?P<value>{_V}{{7,}})")
_ASKED = late.compile(
    rf"(?:[^\n:?]|[:?](?=\S)){{0,100}}?(?P<sign>[:?])[^\S\n]{{1,40}}[\"'`]?(?P<value>{_V}{{3,}})(?P<end>{_ROW_END})?"
)
_BESIDE = late.compile(rf"{_OF_NAME}(?:,|[^\S\n]{{0,40}}[|│])?[^\S\n]{{1,40}}{_VALUE}")
_BELOW = late.compile(r"[^\n&]{0,60}\n(?:[^\S\n]{0,200}\n){0,2}")
_BELOW_A_KEY = late.compile(r"[\w.-]{0,24}[^\S\n]{0,8}[:=]?[^\S\n]{0,200}\n(?:[^\S\n]{0,200}\n){0,2}")
_BELOW_A_COLON = late.compile(r"[\w.-]{0,24}[\"'`\]]{0,3}[^\S\n]{0,8}[:=][^\S\n]{0,200}\n(?:[^\S\n]{0,200}\n){0,2}")
_NEXT = late.compile(rf"[^\S\n]{{1,20}}(?P<value>{_V}{{1,100}})")
_ROW = late.compile(r"[^\S\n]{0,200}(?:\d{1,2}[.)][^\S\n]{1,8})?(?P<words>\S[^\n\"']{0,200})(?:\n|\Z|(?P<more>[\"']))")
_OPTION = late.compile(r"(?<!\S)--?[\w-]{0,24}\Z")
_AFTER_OPTION = late.compile(rf"[\w-]{{0,24}}[\s=:]{{1,8}}{_VALUE}")
_ROW_BEGINS = late.compile(r"(?:\A|\n|[:,;|>][ ])[^\S\n]{0,20}[\w.-]{0,40}\Z")
_HAS_DIGIT = late.compile(r"\d")
# What else the word may be a part of: an address, which is read as such, or a session's name.
_IN_ADDRESS = late.compile(r"(?:[?&]|(?<![\w/])(?:tmux|run|pty|file):)[\w.-]{0,38}\Z")

_NUMBER = late.compile(r"[\d.,]+(?:[kmb%]|/\S*)?")
_ORDINARY = late.compile(
    r"[~./].*|.*://.*|(?-i:[a-z._-]*/[a-z._/#-]*)|v?\d+(?:[.:/-]\d+)*[a-z]{0,3}|\S+@\S+\.\w+|[\w.-]+:\d+|[\w-]+\.[a-z]{1,4}\d?"
    r"|\S+@\S+[$#%>]|sha\d+.*|(?:ctrl|alt|shift|cmd|meta)[+-].*|(?:\d+[a-z]{1,2})+|[\d.,]+.?",
    re.IGNORECASE,
)
_NUMBERED = late.compile(r"[A-Za-z]+-?\d{1,2}")  # worker12
_MOST = 400  # characters of a row that are a value
_SIGNS = frozenset("!#$%^&*+?@~")


def _labelled(text: str) -> Iterator[Span]:
    """The spans of what the words around call a secret."""
    low = _lower(text)
    yield from _codes(text, low)
    covered = 0
    for at, word, kind in _names(text, low):
        if at >= covered and not _IN_ADDRESS.search(text, max(at - 40, 0), at):  # addresses are read as such
            for start, end in _values(text, low, at, word, kind):
                covered = max(covered, end)
                yield start, end


def _lower(text: str) -> str:
    """The text in lower case, each character in its place."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(one if len(one := char.lower()) == 1 else char for char in text)


def _names(text: str, low: str) -> list[tuple[int, str, str]]:
    """The words for secrets in order: where, which, and whether any value, or only a random one, is a secret."""
    found: list[tuple[int, str, str]] = []
    labels = _data().labels
    for kind in ("strong", "key", "short", "weak"):
        for word in labels[kind]:
            at = low.find(word)
            while at >= 0:
                end = at + len(word)
                if kind == "strong":
                    found.append((at, word, kind))
                elif not low[end : end + 1].isascii() or not low[end : end + 1].isalpha():
                    if kind == "key" and (
                        _words.of_secrets.search(low, max(at - 12, 0), at) or _words.secret_key.match(low, end)
                    ):
                        found.append((at, word, "strong"))
                    elif _is_part(text, at) or (
                        word in labels["ends"] and not _words.other_pass.search(low, max(at - 8, 0), at)
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
    if not weak and _OPTION.search(low, max(0, at - 30), at):
        found = _AFTER_OPTION.match(text, end)
        if found and not (value := _of(found))[0].startswith("-") and _is_value(value[0]):
            yield value[1]
            return
    for form in () if weak else (_INSIDE, _GIVEN):
        found = form.match(text, end)
        if found and _is_value(found["quoted"]):
            yield found.span("quoted")
            return
    found = _ASSIGNED.match(text, end)
    value = (
        _of(found)
        if found and not (word in _data().labels["assigned"] and text[end : end + 1] == " ")
        else ("", (0, 0))
    )
    if found and value[0] and not _counts(low, end, word, value[0]):
        secret = _is_random(value[0], 12) if weak else _is_value(value[0], word in _data().labels["numbers"])
        if secret:
            if word.endswith(" code"):  # there may be a list of them
                yield from _row_of_codes(text, value[1][1])
            whole = not found["quote"] and (_words.phrase.match(word) or _is_all_there_is(text, at, value[1]))
            yield _to_row_end(text, value[1]) if whole else value[1]
            return
    if not weak and word not in _data().labels["assigned"]:
        for form, least in ((_SAID, 4), (_BESIDE, 8)):
            found = form.match(text, end)
            if not found or not (value := _of(found)) or _counts(low, end, word, value[0]):
                continue
            if _is_random(value[0], least) or (found["quote"] and form is _BESIDE and _is_value(value[0])):
                yield value[1]
                return
        found = _NEAR.match(text, end)
        if found and _is_random(found["value"], 7) and not _counts(low, end, word, found["value"]):
            yield found.span("value")
            return
        found = _ASKED.match(text, end)
        if found and _is_answer(found) and not _counts(low, end, word, found["value"]):
            yield found.span("value")
            return
    asked = None if weak else _BELOW_A_COLON.match(text, end)
    if asked and (row := _ROW.match(text, asked.end())):
        first = row["words"].split()[0]
        alone = len(first) == len(row["words"].rstrip())
        if alone and _is_random(first, 6):
            yield from _rows_below(text, asked.end(), 6)
            return
        if _is_random(first, 6) or (alone and _is_alone(first)):
            yield row.start("words"), row.start("words") + len(first)
            return
    below = (_BELOW_A_KEY if weak else _BELOW).match(text, end)
    if below and word not in _data().labels["assigned"] and "fingerprint" not in below[0]:
        yield from _rows_below(text, below.end(), 12 if weak else 6)


def _of(found: re.Match[str]) -> tuple[str, Span]:
    """The value that a pattern found, and where it is."""
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
    words = text[span[0] : row[1]].split()
    alone = _ROW_BEGINS.search(text, max(0, at - 60), at) is not None and text[span[0] - 1 : span[0]] == " "
    return alone and 2 <= len(words) <= 5 and any(_HAS_DIGIT.search(word) for word in words)


def _row_of_codes(text: str, at: int) -> Iterator[Span]:
    """Further random words on the row."""
    while (word := _NEXT.match(text, at)) and _is_random(word["value"], 6):
        yield word.span("value")
        at = word.end()


def _rows_below(text: str, at: int, least: int) -> Iterator[Span]:
    """The words of the next rows, as long as there is nothing else on them."""
    for _ in range(20):
        row = _ROW.match(text, at)
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
    return len(core) >= 3 and _words.none.fullmatch(core) is None and _words.none.fullmatch(value.lower()) is None


def _is_answer(found: re.Match[str]) -> bool:
    """Whether the word behind a question may be what was typed there: any at the end of the row, or a random one."""
    value = found["value"]
    alone = found["end"] is not None and found["sign"] == ":"
    return _is_random(value, 6) or (alone and _is_value(value) and "://" not in value and value[0] not in "/~")


def _is_alone(word: str) -> bool:
    """Whether the only word of the row below a question may be what was typed, or made."""
    return len(word) >= 4 and word[0].isalnum() and word[-1] not in ".:!?…>" and _is_value(word) and not _is_plain(word)


def _is_numbered(word: str) -> bool:
    return _NUMBERED.fullmatch(word) is not None


def _is_plain(word: str) -> bool:
    return _ORDINARY.fullmatch(word) is not None


def _is_random(value: str, least: int) -> bool:
    """Whether a word is unlike words and names of things: digits or signs among letters."""
    core = value.strip(".,;:!?()[]{}<>\"'`")
    if len(core) < least or not core.isascii() or _is_plain(core) or _is_numbered(core) or not _is_value(value):
        return False
    letters, digits = any(map(str.isalpha, core)), any(map(str.isdigit, core))
    mixed = len(core) >= 12 and core.isalnum() and core[1:] != core[1:].lower() and core != core.upper()
    return (letters and (digits or not _SIGNS.isdisjoint(core))) or mixed or core.isdigit()


def _counts(low: str, end: int, word: str, value: str) -> bool:
    """Whether a number counts tokens: `Tokens: 3.1k sent`."""
    if word != "token" or not _NUMBER.fullmatch(value.lower().rstrip(".,;)")):
        return False
    return low[end : end + 1] in ("s", "_", "/") or not 6 <= len(value) <= 10


# --- a short number beside a word for one ---

_REACH = 60  # characters before and behind a word that may make it one for a secret

_CODE = (
    r"(?<![A-Za-z0-9_.,/-])(?<!\d:)(?:[A-Z]-)?(?P<value>\d{3}[ -]\d{3}|\d{4}[ -]\d{4}|\d{4,8}"
    r"|(?=[A-Z-]{0,8}\d|[A-Z]{4}-[A-Z]{4}\b)[A-Z0-9]{3,5}-[A-Z0-9]{3,5})(?![\w%:/-]|[.,]\d)"
)
_OF_WHAT = late.compile(r"s?\s(?:de\s|d['’]|di\s)\w{4,14}|\s(?:is|to)\b")
_SIX = late.compile(r"(?:\s?[:=])?\s{0,3}(?:\d{6}|\d{3}[- ]\d{3})(?![\d.])")
_BEHIND = late.compile(rf"(?:(?!\d)[^\n]){{0,40}}?{_CODE}")
_MIXED = late.compile(  # letters and digits: only where a colon or a verb leads to it
    r"(?:(?!\d)[^\n:]){0,40}?(?::|\sis:?)\s{1,3}(?P<value>(?=[A-Z]{0,7}\d)(?=\d{0,7}[A-Z])[A-Z0-9]{5,8})(?![\w%:/-])"
)
_BEFORE = late.compile(
    rf"{_CODE}[^\S\n]{{0,2}}(?:(?:is\s(?:your|the)|ist\s(?:ihr|dein)|est\s(?:votre|ton)|es\s(?:tu|su)|é\so\sseu"
    r"|è\sil\stuo|to\stwój|är\sdin|[-–—:]\s?(?:your|ваш|ihr|votre|tu))\b|是您的|是你的|がお客様の)[^\n]{0,40}\Z",
    re.IGNORECASE,
)


def _codes(text: str, low: str) -> Iterator[Span]:
    """The spans of one-time codes; `low` is the text in lower case."""
    for word in _data().labels["codes"]:
        at = low.find(word)
        while at >= 0:
            end = at + len(word)
            before = _BEFORE.search(text, max(at - _REACH, 0), at)
            if before:
                yield before.span("value")
            if _is_secret_code(low, word, at, end):
                behind = _BEHIND.match(text, end) or _MIXED.match(text, end)
                if behind:
                    yield behind.span("value")
            at = low.find(word, end)


def _is_secret_code(low: str, word: str, at: int, end: int) -> bool:
    before, after = low[max(at - 40, 0) : at], low[end : end + 1]
    if word in ("totp", "otp", "pin", "2fa", "tan", "kod", "kód", "код"):
        return not (before[-1:].isalpha() or (after.isalpha() and word in ("totp", "otp", "pin", "2fa", "tan")))
    if word != "code":
        return True
    return not _words.other_code.search(before) and bool(
        _SIX.match(low, end) or _words.whose_code.search(before) or _OF_WHAT.match(low, end)
    )
