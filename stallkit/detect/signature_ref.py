"""What a detection says of the prompt by names and texts alone, without packs: what is left of one in JSON.  Pure."""

from __future__ import annotations

from typing import Mapping, Self

from attrs import field, frozen

from stallkit.detect.dialog import Role
from stallkit.detect.dialog_parser import Option
from stallkit.detect.signature import Severity
from stallkit.json_form import json_form

__all__ = ["DetectionRef", "SignatureRef"]


@frozen
class SignatureRef:
    """The signature by its name, the line that it quotes, and what the prompt asks; without a signature all is None."""

    signature: str | None = None
    pack: str | None = None
    severity: Severity | None = None
    line: str | None = None
    request: Mapping[str, str] | None = field(default=None, hash=False)
    options: tuple[Option, ...] = ()
    ambiguity: str | None = None


@frozen
class DetectionRef(SignatureRef):
    """It, and the names of the signatures that a detection could not decide, ruled out, or did not ask for."""

    undecided: tuple[str, ...] = ()
    vetoed: tuple[str, ...] = ()
    left: str | None = None


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
