"""Patterns that are compiled when they are first used: most processes end before they have used half of them.

_NUMBER = late.compile(r"\\d+")  # where `re.compile` would have stood
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

__all__ = ["compile"]


def compile(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` gives, later: its methods raise re.error where the pattern is none."""
    return cast("re.Pattern[AnyStr]", _Late(pattern, flags))


class _Late:
    """Looks like a compiled pattern; each of its methods is looked up once, and is then as fast as the original."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._given = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # to be copied or pickled asks for these
            raise AttributeError(name)
        value = getattr(re.compile(*self._given), name)
        setattr(self, name, value)
        return value

    def __repr__(self) -> str:
        return f"late.compile({self._given[0]!r})"
