"""How a value of many fields shows itself to a programmer: on one short line, without a screen.  Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Callable


def short_repr(*names: str) -> Callable[[object], str]:
    """A method ``__repr__`` that shows these attributes alone, those that are None or empty left out.

    >>> class Prompt:
    ...     kind, line = "confirm", "Password: hunter2"
    ...     __repr__ = short_repr("kind")
    >>> Prompt()
    Prompt(kind='confirm')
    """

    def shown(self: object) -> str:
        found = {name: getattr(self, name) for name in names}
        plain = {name: str(value) if isinstance(value, StrEnum) else value for name, value in found.items()}
        told = [f"{name}={value!r}" for name, value in plain.items() if value not in (None, "", ())]
        return f"{type(self).__name__}({', '.join(told)})"

    return shown
