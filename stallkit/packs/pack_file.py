"""The files of a pack, read into a `Pack`: ``signatures.toml`` beside its package, and its agent files.

A pack file is of format 1.  Top level: format, name, priority, foreground (process names), general (its signatures are
forms that many programs share), signature (a list of tables).  A signature's keys are those of `Signature`, and
`dialog`, `edge`, `fields` and `forms`, which describe its dialogs; a clause is a string (a literal in the live region)
or a table of `Clause`'s keys.

An agent file is ``agent.toml``, or one for each program in a folder ``agents``, of format 1 as well.  Top level:
format, name, and the tables of `Agent`: ``[process]``, ``[title]``, ``[turn]``, ``[resume]``.

Errors name file, line and key.  An unknown key is an error, since it may be a misspelt ``none_of``.
"""

from __future__ import annotations

import re
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType
from typing import Any, Callable, Collection, Mapping, TypeVar

import attrs
import regex
from attrs import fields

from stallkit.detect.agent import Agent
from stallkit.detect.composer import Composer
from stallkit.detect.dialog import Button, Dialog, Edge, Element, FieldType, Role
from stallkit.detect.matcher import compiled
from stallkit.detect.signature import (
    Certainty,
    Clause,
    CursorState,
    Dismissal,
    Expect,
    Kind,
    Pack,
    Severity,
    Signature,
    State,
    Tier,
)
from stallkit.errors import PackFormatError, StallkitError
from stallkit.jsonio import TEXTS, closed, keys_of, schema_of, some_of
from stallkit.toml_file import Lines, TomlError, TomlFile, parse_toml, structured
from stallkit.word_tables import filled

FORMAT = 1


AGENT_FORMAT = 1
TOP = frozenset(
    {"format", "name", "priority", "foreground", "executables", "general", "signature"}
)  # keys of the file itself
_ENUMS = {field.name for field in fields(Signature)} & {"state", "kind", "severity", "cursor", "certainty"}
_LISTS = {"hits", "misses"}
_NO_FILES: Mapping[str, bytes] = MappingProxyType({})
_WORDS = {str: "a string", int: "a number", float: "a number", bool: "true or false"}
_TYPES: dict[str, tuple[type, ...]] = (
    dict.fromkeys(
        (
            *("name", "id", "title", "source", "tier", "first_because", "text", "pattern", "where", "keys", "because"),
            *("begins", "ends"),
        ),
        (str,),
    )
    | dict.fromkeys((field.name for field in fields(Composer)), (str,))
    | {
        "priority": (int,),
        "verify_timeout_s": (float, int),
        "lines": (bool,),  # of a composer
        "ignore_case": (bool,),
        "preview": (bool,),
        "general": (bool,),
    }
)
_T = TypeVar("_T")


def read_pack(path: Path) -> Pack:
    """The pack in a file, installed or not, with the agent files beside it.  Raises OSError and PackFormatError."""
    name = path.parent.name.removeprefix("stallkit_")
    return parse_pack(path.read_bytes(), str(path), name, agent_files(path.parent))


def parse_pack(content: bytes | str, path: str, name: str, agents: Mapping[str, bytes] = _NO_FILES) -> Pack:
    """The pack in a file's content, with the agents of the files in `agents`, by their paths.

    `path` is for messages, `name` is used if the file gives none.  Raises PackFormatError.
    """
    try:
        file = parse_toml(content, path)
    except TomlError as error:
        raise PackFormatError(path, error.line, "", error.why) from error
    data, at = file.data, Checker(file)
    if data.get("format") != FORMAT:
        raise at.error(None, "format", f"{data.get('format')!r} is not a format known here", f"write format = {FORMAT}")
    at.known(None, data, TOP)
    rows = data.get("signature", [])
    if not isinstance(rows, list) or not rows:
        raise at.error(None, "signature", "no signatures", "begin each with [[signature]]")
    signatures = tuple(read_signature(row, number, at) for number, row in enumerate(rows))
    seen: set[str] = set()
    for number, signature in enumerate(signatures):
        if signature.id in seen:
            raise at.error(number, "id", f"{signature.id!r} occurs twice", "rename one of them")
        seen.add(signature.id)
    pack = at.build(
        None,
        "",
        lambda: Pack(
            name=data.get("name", name),
            signatures=signatures,
            priority=data.get("priority", 50),
            foreground=at.strings(None, "foreground", data.get("foreground", [])),
            executables=at.tables(None, "executables", data.get("executables", {})),
            general=data.get("general", False),
        ),
    )
    return pack.with_agents(parse_agents(agents)) if agents else pack


class Checker:
    """Checks of one pack file, whose errors name the place in it."""

    def __init__(self, file: TomlFile) -> None:
        self._file = file

    def lines(self, number: int | None) -> Lines:
        """The lines of the file's top (None) or of its `number`-th signature (0-based)."""
        return self._file.lines if number is None else self._file.lines.under("signature", number)

    def error(self, number: int | None, key: str, why: str, todo: str = "correct the file") -> PackFormatError:
        return PackFormatError(self._file.path, self.lines(number).of(key), key, why, todo)

    def known(self, number: int | None, table: Any, keys: Collection[str], under: str = "") -> None:
        """Check that it is a table with only these keys, and that its plain values have the right types."""
        if not isinstance(table, dict):
            raise self.error(number, under, "not a table")
        for key, value in table.items():
            if key not in keys:
                raise self.error(number, under or key, f"unknown key {key!r}", f"use {', '.join(sorted(keys))}")
            types = _TYPES.get(key)
            if types and type(value) not in types:  # true is not a number
                raise self.error(number, under or key, f"{key} = {value!r} is not {_WORDS[types[0]]}")

    def strings(self, number: int | None, key: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(number, key, "not a list of strings")
        return tuple(value)

    def tables(self, number: int | None, key: str, value: Any) -> dict[str, tuple[str, ...]]:
        if not isinstance(value, dict):
            raise self.error(number, key, "not a table of lists of strings")
        return {name: self.strings(number, key, one) for name, one in value.items()}

    def build(self, number: int | None, key: str, make: Callable[[], _T]) -> _T:
        """What `make` makes, its error turned into one that names the place."""
        try:
            return make()
        except PackFormatError:
            raise
        except (StallkitError, ValueError, TypeError, re.error, regex.error) as error:
            place = key or getattr(error, "clause", "") or "id"
            raise self.error(number, place, getattr(error, "why", str(error))) from error


def read_signature(row: Any, number: int, at: Checker) -> Signature:
    """One ``[[signature]]``, the `number`-th of its file (0-based).  Raises PackFormatError."""
    if not isinstance(row, dict):
        raise at.error(number, "signature", "not a table", "begin each with [[signature]]")
    at.known(number, row, _keys_of(Signature) | DIALOG_KEYS)
    for key in ("id", "title", "state", "all_of"):
        if key not in row:
            raise at.error(number, key, "missing")
    values: dict[str, Any] = {key: value for key, value in row.items() if key not in DIALOG_KEYS}
    for key in ("all_of", "none_of"):
        if key in row:
            values[key] = _clauses(row[key], number, key, at)
    for key in _LISTS & row.keys():
        values[key] = at.strings(number, key, row[key])
    if "allow_below" in row:
        states = at.strings(number, "allow_below", row["allow_below"])
        values["allow_below"] = at.build(number, "allow_below", lambda: _converted("allow_below", states))
    if "tier" in row:
        values["tier"] = at.build(number, "tier", lambda: _converted("given_tier", row["tier"]))
    for key in _ENUMS & row.keys():
        values[key] = at.build(number, key, lambda key=key: _converted(key, row[key]))  # type: ignore[misc]
    if "dismissal" in row:
        values["dismissal"] = at.build(number, "dismissal", lambda: _dismissal(row["dismissal"], number, at))
    if DIALOG_KEYS & row.keys():
        values["dialog"] = at.build(number, "dialog", lambda: read_dialogs(row))
    if "composer" in row:
        values["composer"] = at.build(number, "composer", lambda: _composer(row["composer"], number, at))
    if values["state"] is State.WAITING and "kind" not in row:
        raise at.error(number, "kind", "missing: a waiting signature says what the session asks for")
    return at.build(number, "", lambda: Signature(**values))


def _dismissal(table: Any, number: int, at: Checker) -> Dismissal:
    old = isinstance(table, dict) and "settle_s" in table and "verify_timeout_s" not in table  # the former name
    given = {"verify_timeout_s" if key == "settle_s" else key: table[key] for key in table} if old else table
    at.known(number, given, _keys_of(Dismissal), "dismissal")
    return Dismissal(**given)


def _composer(table: Any, number: int, at: Checker) -> Composer:
    at.known(number, table, _keys_of(Composer), "composer")
    if "lead" not in table:
        raise at.error(number, "composer", "lead is missing: what stands left of the text")
    return Composer(**table)


def _converted(key: str, value: Any) -> Any:
    converter: Any = next(one.converter for one in fields(Signature) if one.name == key)
    return converter(value)


def _keys_of(cls: type) -> set[str]:
    return {field.alias or field.name for field in fields(cls) if field.init}


def _clauses(rows: Any, number: int, key: str, at: Checker) -> tuple[Clause, ...]:
    if not isinstance(rows, list):
        raise at.error(number, key, "not a list of clauses")
    return tuple(at.build(number, key, lambda row=row: read_clause(row, number, key, at)) for row in rows)  # type: ignore[misc]


def read_clause(row: Any, number: int, key: str, at: Checker) -> Clause:
    """One item of `key`, ``all_of`` or ``none_of``.  Raises PackFormatError, ValueError and TypeError."""
    if isinstance(row, str):
        return Clause(text=row)
    if not isinstance(row, dict):
        raise at.error(number, key, f"{row!r} is not a clause", "write a string or a table with text or pattern")
    at.known(number, row, _keys_of(Clause), key)
    if "keywords" in row:
        at.strings(number, key, row["keywords"])
    if isinstance(pattern := row.get("pattern"), str):
        row = {**row, "pattern": filled(pattern, "phrases")}
    clause = Clause(**row)
    if clause.pattern is not None:
        try:
            compiled(clause)
        except (regex.error, OverflowError, RecursionError) as error:
            raise at.error(number, key, f"{clause.pattern!r} is not a pattern: {error}") from error
    return clause


# --- the dialogs of a signature ---


DIALOG_KEYS = frozenset({"dialog", "edge", "fields", "forms"})
_FORM = frozenset({"dialog", "edge", "fields"})
RENAMED = {"is": "role"}  # `is` is a word of Python's own
_KEYS = {attribute.name for attribute in fields(Element)} - set(RENAMED.values()) | RENAMED.keys()
_BUTTON_KEYS = {attribute.name for attribute in fields(Button)} - set(RENAMED.values()) | RENAMED.keys()


def read_dialogs(row: Mapping[str, Any]) -> tuple[Dialog, ...]:
    """The dialogs of a signature's table: its own, or each of its `forms`.  Raises ValueError and TypeError."""
    forms = row.get("forms")
    if forms is None:
        return (read_dialog(row),)
    if not isinstance(forms, list) or not forms or not all(isinstance(form, dict) for form in forms):
        raise ValueError("forms is a list of tables, each with dialog, edge and fields")
    if _FORM & row.keys():
        raise ValueError("a signature has one dialog, or forms, not both")
    if unknown := sorted({key for form in forms for key in form} - _FORM):
        raise ValueError(f"unknown key {unknown[0]!r} of a form: use {', '.join(sorted(_FORM))}")
    return tuple(map(read_dialog, forms))


def read_dialog(row: Mapping[str, Any]) -> Dialog:
    """The dialog that a signature's table describes.  Raises ValueError and TypeError.

    >>> read_dialog({"edge": "blank", "dialog": ["Delete {file}?"], "fields": {"file": "path"}}).elements[0].row
    ('Delete {file}?',)
    """
    elements = row.get("dialog")
    if not isinstance(elements, list):
        raise ValueError("dialog is a list of its rows, from the first to the last on the screen")
    if "edge" not in row:
        raise ValueError(f"edge is missing: say what it begins below, one or more of {', '.join(Edge)}")
    given = row.get("fields", {})
    if not isinstance(given, dict):
        raise ValueError('fields is a table: name = "path"')
    return Dialog([_element(element) for element in elements], row["edge"], given)


def _element(given: Any) -> Element:
    if isinstance(given, str):
        return Element(row=given)
    if not isinstance(given, dict):
        raise ValueError(f"{given!r} is neither a row nor a table")
    if unknown := sorted(given.keys() - _KEYS):
        raise ValueError(f"unknown key {unknown[0]!r} of a row: use {', '.join(sorted(_KEYS))}")
    values = _renamed(given)
    if "buttons" in values:
        values["buttons"] = tuple(map(_button, values["buttons"]))
    return Element(**values)


def _button(given: Any) -> Button:
    if not isinstance(given, dict):
        raise ValueError(f"{given!r} is no button: write a table with text, is and key")
    if unknown := sorted(given.keys() - _BUTTON_KEYS):
        raise ValueError(f"unknown key {unknown[0]!r} of a button: use {', '.join(sorted(_BUTTON_KEYS))}")
    return Button(**_renamed(given))


def _renamed(given: Mapping[str, Any]) -> dict[str, Any]:
    return {RENAMED.get(str(key), str(key)): value for key, value in given.items()}


# --- agent files ---

AGENT_FILE, AGENT_FOLDER = "agent.toml", "agents"


def agent_files(folder: Traversable) -> dict[str, bytes]:
    """The content of each agent file of a pack's folder by its path, in order.  Raises OSError."""
    several = folder / AGENT_FOLDER
    there = [folder / AGENT_FILE, *(several.iterdir() if several.is_dir() else ())]
    found = {str(one): one.read_bytes() for one in there if one.name.endswith(".toml") and one.is_file()}
    return dict(sorted(found.items()))


def parse_agents(files: Mapping[str, bytes]) -> tuple[Agent, ...]:
    """The agents of some files.  Raises PackFormatError."""
    agents = {path: parse_agent(content, path) for path, content in files.items()}
    seen: dict[str, str] = {}
    for path, agent in agents.items():
        if agent.name in seen:
            raise PackFormatError(path, None, "name", f"{seen[agent.name]} names {agent.name!r} already")
        seen[agent.name] = path
    return tuple(agents.values())


def parse_agent(content: bytes | str, path: str) -> Agent:
    """The agent in a file's content; `path` is for messages.  Raises PackFormatError."""
    try:
        file = parse_toml(content, path)
        if file.data.get("format") != AGENT_FORMAT:
            why = f"{file.data.get('format')!r} is not a format known here: write format = {FORMAT}"
            raise TomlError(why, file.lines.of("format"))
        values = {key: value for key, value in file.data.items() if key != "format"}
        return structured(TomlFile(path, values, file.text), Agent)
    except TomlError as error:
        raise PackFormatError(path, error.line, "", error.why) from error


# --- JSON schemas of both, for editors; what a schema cannot say, the reader says ---

_TEXT: dict[str, Any] = {"type": "string"}
_FLAG: dict[str, Any] = {"type": "boolean"}
_TEXT_OR_TEXTS = some_of(_TEXT, TEXTS)
_STATES = [state.value for state in State if state not in (State.GONE, State.UNKNOWN)]


def pack_schema() -> dict[str, Any]:
    """The schema of ``signatures.toml``."""
    top: dict[str, Any] = {
        "format": {"const": FORMAT},
        "name": _TEXT,
        "priority": {"type": "integer"},
        "foreground": TEXTS,
        "executables": {"type": "object", "additionalProperties": TEXTS},
        "general": _FLAG,
        "signature": {"type": "array", "minItems": 1, "items": _signature()},
    }
    assert top.keys() == TOP
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A pack of signatures for stallkit"}
    return {**head, **closed(top, ["format", "signature"])}


def agent_schema() -> dict[str, Any]:
    """The JSON schema of an agent file, for editors: from the classes that it is read into."""
    table = schema_of(Agent)
    made = closed({"format": {"const": AGENT_FORMAT}, **table["properties"]}, ["format", *table["required"]])
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "What stallkit knows of an agent"}
    return {**head, **made}


def _signature() -> dict[str, Any]:
    dialog = {"dialog": _ROWS, "edge": _EDGE, "fields": _FIELDS}
    known: dict[str, Any] = {
        "id": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,63}$"},
        "state": {"enum": _STATES},
        "kind": schema_of(Kind),
        "severity": schema_of(Severity),
        "cursor": schema_of(CursorState),
        "certainty": schema_of(Certainty),
        "all_of": {"type": "array", "minItems": 1, "items": _CLAUSE},
        "none_of": {"type": "array", "items": _CLAUSE},
        "dismissal": _DISMISSAL,
        "composer": schema_of(Composer),
        "allow_below": {"type": "array", "items": schema_of(State)},
        "tier": {"enum": [name for tier in Tier for name in (tier.name.lower(), tier.name)]},
        "forms": {"type": "array", "minItems": 1, "items": closed(dialog, ["dialog", "edge"])},
        "hits": TEXTS,
        "misses": TEXTS,
        **dialog,
    }
    plain = {keys_of(Signature)[one.name]: one.type for one in attrs.fields(attrs.resolve_types(Signature))}
    rest = {key: schema_of(hint) for key, hint in plain.items() if key not in known}
    return closed({**rest, **known}, ["id", "title", "state", "all_of"])


_CLAUSE = some_of(
    {"type": "string", "minLength": 1, "description": "a literal that is on the screen"},
    {
        **schema_of(Clause),
        "properties": {**dict.fromkeys(keys_of(Clause), _TEXT), "ignore_case": _FLAG, "keywords": TEXTS},
    },
)
_DISMISSAL = closed(
    {
        "keys": {**_TEXT, "description": "tmux's names, bare words that type themselves, quoted text"},
        "because": _TEXT,
        "expect": schema_of(Expect),
        "affirmative": _FLAG,
        "verify_timeout_s": {"type": "number", "minimum": 0, "maximum": 60},
        "settle_s": {"type": "number", "deprecated": True, "description": "the older name of verify_timeout_s"},
    },
    ["keys"],
)
assert keys_of(Dismissal).keys() <= _DISMISSAL["properties"].keys()
_BUTTON = {"text": _TEXT, "is": schema_of(Role), "key": _TEXT}
assert {RENAMED.get(key, key) for key in _BUTTON} == keys_of(Button).keys()
_ELEMENT = {
    **dict.fromkeys(("row", "option", "pattern"), _TEXT_OR_TEXTS),
    **dict.fromkeys(("choices", "rule", "ignore_case", "at_cursor", "selected"), _FLAG),
    "times": {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2},
    "is": schema_of(Role),
    "key": _TEXT,
    "buttons": {"type": "array", "minItems": 1, "items": closed(_BUTTON, ["text"])},
}
assert {RENAMED.get(key, key) for key in _ELEMENT} == keys_of(Element).keys()
_ROWS = {"type": "array", "items": some_of(_TEXT, closed(_ELEMENT))}
_EDGE = some_of(schema_of(Edge), {"type": "array", "items": schema_of(Edge)})
_FIELD = closed({"is": schema_of(FieldType), "most": {"type": "integer"}, "decides": _FLAG, "aside": _FLAG}, ["is"])
_FIELDS = {"type": "object", "additionalProperties": some_of(schema_of(FieldType), TEXTS, _FIELD)}
