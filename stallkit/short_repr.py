"""How a value of many fields shows itself to a programmer: on one short line, without a screen.  Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Callable

LONG = 200  # characters of one value; what is longer is cut


def short_repr(*names: str, of_text: Callable[[str], str] = str) -> Callable[[object], str]:
    """A method ``__repr__`` that shows these attributes alone, those that are None or empty left out.

    `of_text` is called with each text, as to redact it.

    >>> class Prompt:
    ...     kind, line = "confirm", "Password: hunter2"
    ...     __repr__ = short_repr("kind")
    >>> Prompt()
    Prompt(kind='confirm')
    """

    def shown(self: object) -> str:
        found = {name: getattr(self, name) for name in names}
        texts = {name: str(value) if isinstance(value, StrEnum) else value for name, value in found.items()}
        plain = {name: of_text(value) if isinstance(value, str) else value for name, value in texts.items()}
        told = [f"{name}={value!r}" for name, value in plain.items() if value not in (None, "", ())]
        line = f"{type(self).__name__}({', '.join(told)})"
        return line if len(line) <= LONG else f"{line[: LONG - 4]}...)"

    return shown
