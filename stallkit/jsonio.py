"""The JSON of values: `dump` writes it, `load` reads it, `schema` describes it, each derived from a class by cattrs.

The fields of a class of attrs are the keys, or those of its form (`stallkit.json_form`).  What is dumped is redacted,
here and nowhere else; what is loaded is checked and never converted, keys that are not known are left out.  Values know
nothing of this module.  `schema_of` is the JSON schema of a type, of a file's tables as well.
"""

from __future__ import annotations

from collections.abc import Mapping as AnyMapping
from enum import Enum
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, Callable, Literal, Mapping, Self, TypeVar, Union, get_args, get_origin

import cattrs
from attrs import NOTHING, Attribute, evolve, field, fields, frozen, has, resolve_types
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from stallkit.detect.dialog import Role
from stallkit.detect.dialog_parser import Option
from stallkit.detect.engine import Detection, DetectionRef, SignatureRef
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.durations import SPAN
from stallkit.evidence.agents import AfterExit
from stallkit.evidence.signal import Signal
from stallkit.evidence.turn import EndedTurn
from stallkit.json_form import FORMS, SPREAD, alike, json_form, strict
from stallkit.judging.verdict import Hung, Verdict
from stallkit.redact.redact import redact_all
from stallkit.terminal.screen import Cursor, Screen, Size

VERSION = 1  # of everything that is dumped
_T = TypeVar("_T")


def dump(value: object) -> dict[str, Any]:
    """A value as plain values for JSON, redacted, with the version; its JSON schema is ``schema(type(value))``.

    >>> from stallkit import Event
    >>> dump(Event("escalation", "tmux:w1", {"why": "it asks for a secret"}))["event"]
    'escalation'
    """
    plain: dict[str, Any] = redact_all({"version": VERSION, **unstructure(value)})
    return plain


def load(kind: type[_T], plain: Mapping[str, Any]) -> _T:
    """The value of which `dump` made these plain values.  Raises ValueError, in one line, for anything else.

    A signature is known by its name alone, in ``detection.told``: there is no `match`, and nothing that was read back
    leads to a key.  What a command prints with ``--json`` is taken as well, its further keys left out.

    >>> from stallkit import StreamTransport, Verdict
    >>> stream = StreamTransport()
    >>> stream.feed(b"Proceed? [y/N] ")
    >>> back = load(Verdict, dump(stream.verdict()))
    >>> str(back.state), back.detection.told.signature
    ('waiting', 'yes_no')
    """
    if not isinstance(plain, Mapping) or plain.get("version") != VERSION:
        raise ValueError(f"not {_name(kind)} of version {VERSION}: {str(plain)[:60]!r}")
    return structure(plain, kind)


def unstructure(value: object) -> dict[str, Any]:
    """A value as a part of something else: without a version, and not redacted yet."""
    plain: dict[str, Any] = _CONVERTER.unstructure(value)
    return plain


def structure(plain: object, kind: type[_T]) -> _T:
    """The inverse of `unstructure`.  Raises ValueError, in one line, for anything else."""
    try:
        return _CONVERTER.structure(plain, kind)
    except (cattrs.BaseValidationError, ValueError, TypeError) as error:
        why = "; ".join(cattrs.transform_error(error, format_exception=_why))
        raise ValueError(f"not {_name(kind)}: {why}") from None


def schema(kind: type) -> dict[str, Any]:
    """The JSON schema (2020-12) of what `dump` returns of values of that class.

    >>> from stallkit import Event
    >>> schema(Event)["required"]
    ['version', 'time', 'event', 'target']
    """
    made = schema_of_json(kind)
    title = f"{(FORMS.get(kind, kind).__doc__ or '').partition(chr(10))[0].rstrip('.')}; all texts are redacted"
    versioned = {"version": {"const": VERSION}, **made["properties"]}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return {**head, **made, "properties": versioned, "required": ["version", *made["required"]]}


def schema_of_json(hint: Any) -> dict[str, Any]:
    """The JSON schema of a part: of what `unstructure` makes of values of that type."""
    return schema_of(hint, _object, {"type": "number"})


def _object(kind: type) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for one in fields(resolve_types(FORMS.get(kind, kind))):
        part = schema_of_json(one.type)
        if one.metadata.get("spread"):
            properties |= part.get("properties", {})
            required += part.get("required", ())
        else:
            properties[_key(one)] = part
            required += [] if one.metadata.get("newer") else [_key(one)]
    return {"type": "object", "properties": properties, "required": required}


def _name(kind: type) -> str:
    """The class as a person would call it."""
    words = "".join(f" {char.lower()}" if char.isupper() else char for char in kind.__name__).strip()
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def _why(error: BaseException, kind: type | None) -> str:
    text = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
    return text.replace("\n", " ")[:200]


# --- the hooks of cattrs ---


def _spread(kind: type) -> list[Attribute[Any]]:
    """The fields whose keys are the class's own."""
    return [one for one in fields(resolve_types(kind)) if one.metadata.get("spread")]


def _key(one: Attribute[Any]) -> str:
    """Its key in JSON."""
    return str(one.metadata.get("key", one.name))


def _overrides(kind: type) -> dict[str, Any]:
    return {one.name: override(one.metadata.get("newer"), one.metadata.get("key")) for one in fields(kind)}


def _dumper(kind: type) -> Callable[[Any], dict[str, Any]]:
    dumped: Callable[[Any], dict[str, Any]] = make_dict_unstructure_fn(kind, _CONVERTER, **_overrides(kind))
    names = {one.name for one in _spread(kind)}

    def joined(value: Any) -> dict[str, Any]:
        parts = (part if name in names else {name: part} for name, part in dumped(value).items())
        return {name: one for part in parts for name, one in part.items()}

    return joined if names else dumped


def _loader(kind: type) -> Callable[[Mapping[str, Any], Any], Any]:
    loaded: Callable[[Mapping[str, Any], Any], Any] = make_dict_structure_fn(kind, _CONVERTER, **_overrides(kind))
    parts, known = _spread(kind), {"version", *map(_key, fields(kind))}

    def apart(plain: Mapping[str, Any], of: Any) -> Any:
        if not isinstance(plain, Mapping):
            raise TypeError(f"{plain!r:.60} is not an object")
        rest = {key: one for key, one in plain.items() if key not in known}
        return loaded({**plain, **{one.name: rest if get_origin(one.type) is dict else plain for one in parts}}, of)

    return apart if parts else loaded


def _by_number(kind: Any) -> bool:
    return get_origin(kind) is AnyMapping and get_args(kind)[0] is int


def _numbered(plain: Mapping[str, Any], kind: Any) -> dict[int, Any]:
    of = get_args(kind)[1]
    return {int(key): _CONVERTER.structure(one, of) for key, one in plain.items()}  # in JSON keys are texts


_CONVERTER = strict(cattrs.Converter(unstruct_collection_overrides={tuple: list, frozenset: sorted}))
_CONVERTER.register_structure_hook_func(_by_number, _numbered)
_CONVERTER.register_unstructure_hook_factory(has, _dumper)
_CONVERTER.register_structure_hook_factory(has, _loader)


@_CONVERTER.register_unstructure_hook_factory(lambda kind: kind in FORMS)
def _to_form(kind: type) -> Callable[[Any], Any]:
    return lambda value: _CONVERTER.unstructure(FORMS[kind].of(value), FORMS[kind])


@_CONVERTER.register_structure_hook_factory(lambda kind: kind in FORMS)
def _of_form(kind: type) -> Callable[[Any, Any], Any]:
    return lambda plain, _: _CONVERTER.structure(plain, FORMS[kind]).value


# --- the schema of a type ---


_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    Any: {},
}
_SECONDS: dict[str, Any] = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": SPAN}]}  # a number, or "3m"
TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}


def schema_of(
    hint: Any, table: Callable[[type], dict[str, Any]] | None = None, number: dict[str, Any] = _SECONDS
) -> dict[str, Any]:
    """The schema of a type: a plain one, a class of attrs, an enum, a list, a dictionary or a choice of them.

    `table` makes that of a class, by default that of a table of a file; `number` is that of a float.  Raises TypeError
    for another type.

    >>> schema_of(list[int] | None)
    {'anyOf': [{'type': 'array', 'items': {'type': 'integer'}}, {'type': 'null'}]}
    """
    of, origin, within = partial(schema_of, table=table, number=number), get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if hint is float:
        return dict(number)
    if origin is Annotated:
        return {**of(within[0]), "format": within[1]}  # a text in a format that JSON Schema knows
    if origin in (Union, UnionType):
        return some_of(*map(of, within))
    if origin is Literal:
        return {"enum": [*within]}
    if origin in (list, tuple, frozenset):
        exactly = {} if origin is not tuple or ... in within else {"minItems": len(within), "maxItems": len(within)}
        return {"type": "array", "items": of(within[0]), **exactly}
    if origin in (dict, AnyMapping):
        return {"type": "object", "additionalProperties": of(within[1])}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [str(one.value) for one in hint]}
    if isinstance(hint, type) and has(hint):
        return table(hint) if table else _table(hint)
    raise TypeError(f"no JSON schema for {hint!r}")


def _table(kind: type) -> dict[str, Any]:
    given = [one for one in fields(resolve_types(kind)) if one.init]
    needed = [keys_of(kind)[one.name] for one in given if one.default is NOTHING]
    return closed({keys_of(kind)[one.name]: schema_of(one.type) for one in given}, needed)


def keys_of(kind: type) -> dict[str, str]:
    """The keys of a class of attrs in a file, by the names of its fields."""
    return {one.name: one.alias or one.name for one in fields(kind) if one.init}


def some_of(*schemas: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of what is by one of these."""
    return {"anyOf": [*schemas]}


def closed(properties: Mapping[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    """The schema of a table with these keys and no other ones."""
    made: dict[str, Any] = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return {**made, "required": required} if required else made


# --- forms of values that know nothing of JSON ---


@json_form(Screen)
@frozen
class ScreenJson:
    """What a terminal shows."""

    text: str
    cursor: tuple[int, int] | None
    cursor_visible: bool | None
    size: tuple[int, int] | None
    alternate: bool | None
    title: str | None

    @classmethod
    def of(cls, screen: Screen) -> Self:
        at, size = screen.cursor, screen.size
        return cls(
            "\n".join(screen.lines),
            (at.column, at.row) if at else None,
            at.visible if at else None,
            (size.columns, size.rows) if size else None,
            screen.alternate,
            screen.title,
        )

    @property
    def value(self) -> Screen:
        cursor = Cursor(*self.cursor, self.cursor_visible) if self.cursor else None
        size = Size(*self.size) if self.size else None
        return Screen(tuple(self.text.split("\n")), cursor, size, self.alternate, self.title)


@json_form(Option)
@frozen
class OptionJson:
    """An option of a dialog."""

    text: str
    selected: bool
    role: Role | None = field(metadata={"key": "is"})

    @classmethod
    def of(cls, option: Option) -> Self:
        return cls(option.text, option.selected, option.role)

    @property
    def value(self) -> Option:
        return Option(self.text, selected=self.selected, role=self.role)


@json_form(Detection)
@frozen
class DetectionJson:
    """What the engine finds on a screen."""

    said: SignatureRef = field(metadata=SPREAD)
    undecided: tuple[str, ...]
    vetoed: tuple[str, ...]
    not_asked: frozenset[str]
    left: str | None
    agents: frozenset[str]
    screen: Screen

    @classmethod
    def of(cls, found: Detection) -> Self:
        said = alike(DetectionRef, found.said)
        return alike(cls, found, said=said, undecided=said.undecided, vetoed=said.vetoed, left=said.left)

    @property
    def value(self) -> Detection:
        told = alike(DetectionRef, self.said, undecided=self.undecided, vetoed=self.vetoed, left=self.left)
        executables: dict[str, tuple[str, ...]] = dict.fromkeys(self.agents, ())
        return Detection(self.screen, executables=executables, not_asked=self.not_asked, told=told)


@frozen
class SignalJson:
    """What a program says of itself, and whether it counts."""

    signal: Signal = field(metadata=SPREAD)
    counts: bool


@json_form(Verdict)
@frozen
class VerdictJson:
    """What a session does, how sure that is and why, and what it asks."""

    state: State
    certainty: Certainty
    by_signal: bool
    by_read: bool
    kind: Kind | None
    said: SignatureRef = field(metadata=SPREAD)
    reasons: tuple[str, ...]
    agents: frozenset[str] | None
    ended: AfterExit | None
    retrying: str | None
    ended_turn: EndedTurn | None
    asks_inside: str | None
    hung: Hung | None
    signals: tuple[SignalJson, ...]

    @classmethod
    def of(cls, verdict: Verdict) -> Self:
        hung = evolve(verdict.hung, since_s=round(verdict.hung.since_s, 1)) if verdict.hung else None
        signals = tuple(SignalJson(one, one.counts) for one in verdict.signals)
        inside, said = verdict.inside, verdict.detection.said
        return alike(cls, verdict, said=said, asks_inside=inside, hung=hung, signals=signals)

    @property
    def value(self) -> Verdict:
        found = Detection(Screen.from_text(""), told=self.said)
        signals = tuple(one.signal for one in self.signals)
        return alike(Verdict, self, detection=found, inside=self.asks_inside, signals=signals)
