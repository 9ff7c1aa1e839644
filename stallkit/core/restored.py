"""Detections and verdicts read back from plain values.  Pure."""

from __future__ import annotations

from functools import cache
from typing import Any, Mapping, TypeVar

import cattrs
from attrs import evolve, fields_dict, frozen

from stallkit.core.ended_turn import EndedTurn
from stallkit.core.engine import Detection
from stallkit.core.hung import Hung
from stallkit.core.plain import VERSION, Told
from stallkit.core.reading import Option
from stallkit.core.screen import Cursor, Screen, Size
from stallkit.core.signal import Signal
from stallkit.core.signature import Certainty, Kind, Severity, State
from stallkit.core.verdict import Ended, Verdict

__all__ = ["detection_of", "of_version", "structured", "verdict_of"]

_T = TypeVar("_T")
_NAMES: dict[type, str] = {str: "text", int: "whole number", float: "number", bool: "truth value"}


@frozen
class _Prompt:
    signature: str | None
    pack: str | None
    severity: Severity | None
    line: str | None
    request: dict[str, str] | None
    options: tuple[Option, ...]
    ambiguity: str | None


@frozen
class _Verdict(_Prompt):
    state: State
    certainty: Certainty
    by_signal: bool
    by_read: bool
    kind: Kind | None
    reasons: tuple[str, ...]
    agents: frozenset[str] | None
    ended: Ended | None
    retrying: str | None
    ended_turn: EndedTurn | None
    asks_inside: str | None
    hung: Hung | None
    signals: tuple[Signal, ...]


@frozen
class _Screen:
    text: str
    cursor: tuple[int, int] | None
    cursor_visible: bool | None
    size: tuple[int, int] | None
    alternate: bool | None
    title: str | None


@frozen
class _Detection(_Prompt):
    undecided: tuple[str, ...]
    vetoed: tuple[str, ...]
    not_asked: frozenset[str]
    left: str | None
    agents: frozenset[str]
    screen: _Screen


def verdict_of(plain: Mapping[str, Any]) -> Verdict:
    """The verdict that `describe` made these values of, without its screen.  Raises ValueError, in one line."""
    said = structured(_with_roles(plain), _Verdict, "a verdict")
    return Verdict(
        state=said.state,
        certainty=said.certainty,
        kind=said.kind,
        detection=Detection(Screen.from_text(""), told=_told(said)),
        reasons=said.reasons,
        signals=said.signals,
        ended_turn=said.ended_turn,
        agents=said.agents,
        ended=said.ended,
        retrying=said.retrying,
        by_signal=said.by_signal,
        by_read=said.by_read,
        hung=said.hung,
        inside=said.asks_inside,
    )


def detection_of(plain: Mapping[str, Any]) -> Detection:
    """The detection that `detection_object` made these values of.  Raises ValueError, in one line."""
    said = structured(_with_roles(plain), _Detection, "a detection")
    shown = said.screen
    screen = Screen(
        lines=tuple(shown.text.split("\n")),
        cursor=Cursor(*shown.cursor, shown.cursor_visible) if shown.cursor else None,
        size=Size(*shown.size) if shown.size else None,
        alternate=shown.alternate,
        title=shown.title,
    )
    known = evolve(_told(said), undecided=said.undecided, vetoed=said.vetoed, left=said.left)
    return Detection(screen, executables=dict.fromkeys(said.agents, ()), not_asked=said.not_asked, told=known)


def of_version(plain: Any, what: str, version: int = VERSION) -> Mapping[str, Any]:
    """The values, if they are an object of that version.  Raises ValueError, in one line, for anything else."""
    if not isinstance(plain, Mapping) or plain.get("version") != version:
        raise ValueError(f"not {what} of version {version}: {str(plain)[:60]!r}")
    return plain


def structured(plain: Any, kind: type[_T], what: str) -> _T:
    """The values as an attrs class; none is converted, further keys are left out.  Raises ValueError, in one line."""
    try:
        return _converter().structure(plain, kind)
    except (cattrs.BaseValidationError, ValueError, TypeError) as error:
        raise ValueError(f"not {what}: {'; '.join(cattrs.transform_error(error, format_exception=_why))}") from None


def _told(said: _Prompt) -> Told:
    return Told(**{name: getattr(said, name) for name in fields_dict(_Prompt)})


def _with_roles(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The values with the role of each option by the name that it has here."""
    options = plain.get("options")
    known = [
        {**one, "role": one.get("is")} if isinstance(one, Mapping) else one
        for one in (options if isinstance(options, list | tuple) else [])
    ]
    return {**plain, "options": known if isinstance(options, list | tuple) else options}


@cache
def _converter() -> cattrs.Converter:
    made = cattrs.Converter(forbid_extra_keys=False)
    for kind, name in _NAMES.items():
        made.register_structure_hook(kind, _only(kind, name))
    return made


def _only(kind: type, name: str) -> Any:
    def same(value: object, _: object) -> Any:
        fits = (int, float) if kind is float else kind
        if not isinstance(value, fits) or (isinstance(value, bool) and kind is not bool):
            raise TypeError(f"{str(value)[:60]!r} is not a {name}")
        return kind(value)

    return same


def _why(error: BaseException, kind: type | None) -> str:
    text = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
    return text.replace("\n", " ")[:200]
