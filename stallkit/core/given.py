"""What a caller gave in place of what is meant, as an error of one line."""

from __future__ import annotations

__all__ = ["wrong"]


def wrong(meant: str, given: object, hint: str = "") -> TypeError:
    """The error that says what is meant, of what type the given value is, and what to do.

    It does not quote the value: that may be a screen, with a secret on it.

    >>> str(wrong("keys are a text", b"Down", "write 'Down Enter'"))
    "keys are a text, not bytes: write 'Down Enter'"
    """
    shown = repr(given) if given is None or isinstance(given, int | float) else type(given).__name__
    return TypeError(f"{meant}, not {shown}{f': {hint}' if hint else ''}")
