"""The JSON of values as classes: the fields of a form are the keys of the value's JSON, in their order.

`stallkit.jsonio` dumps, loads and describes a value by its form, which is made `of` the value and has it as `value`; a
value without a form by its own fields.  A form is registered beside the class that it is of; those here are of the
core.  Without a `value` it can only be dumped.

The JSON of a verdict names a signature and quotes its line: the signature itself and the screen stay behind.  So
one that was read back has no `match` but `told`, and no policy presses at it.
"""

from __future__ import annotations

from typing import Annotated, Any, Callable, Protocol, Self, TypeVar

from attrs import evolve, field, fields, frozen

from stallkit.core.dialog import Role
from stallkit.core.ended_turn import EndedTurn
from stallkit.core.engine import Detection
from stallkit.core.hung import Hung
from stallkit.core.reading import Option
from stallkit.core.screen import Cursor, Screen, Size
from stallkit.core.signal import Signal
from stallkit.core.signature import Certainty, Kind, State
from stallkit.core.signature_ref import DetectionRef, SignatureRef
from stallkit.core.verdict import Ended, Verdict

__all__ = ["FORMS", "NEWER", "SPREAD", "Time", "alike", "json_form"]

SPREAD = {"spread": True}  # of a field whose keys are the form's own: a value's, or all that the form does not name
NEWER = {"newer": True}  # of a field that earlier versions did not have: it is left out where it has its default
Time = Annotated[str, "date-time"]  # ISO 8601; the format for the schema
_T = TypeVar("_T")


class _Form(Protocol):
    @classmethod
    def of(cls, value: Any, /) -> Self: ...


_F = TypeVar("_F", bound=_Form)
FORMS: dict[type, type[Any]] = {}


def json_form(kind: type) -> Callable[[type[_F]], type[_F]]:
    """A decorator: the class is the form of values of that kind."""

    def registered(form: type[_F]) -> type[_F]:
        FORMS[kind] = form
        return form

    return registered


def alike(kind: type[_T], value: object, **given: Any) -> _T:
    """One of that class with these fields, and else with the attributes of `value` of the same names.

    >>> alike(Hung, Hung(3.0, ("no data",)), since_s=4.0)
    Hung(since_s=4.0, evidence=('no data',))
    """
    names = [one.name for one in fields(kind) if one.init]  # type: ignore[arg-type]  # any class of attrs
    return kind(**{name: getattr(value, name) for name in names if hasattr(value, name)} | given)


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
    ended: Ended | None
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
