"""Screens, detections and verdicts as JSON: the form of each (`json_form`)."""

from __future__ import annotations

from typing import Self

from attrs import evolve, field, frozen

from stallkit.detect.dialog import Role
from stallkit.detect.dialog_parser import Option
from stallkit.detect.engine import Detection, DetectionRef, SignatureRef
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.evidence.agents import AfterExit
from stallkit.evidence.signal import Signal
from stallkit.evidence.turn import EndedTurn
from stallkit.json_form import SPREAD, alike, json_form
from stallkit.judging.verdict import Hung, Verdict
from stallkit.terminal.screen import Cursor, Screen, Size


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
