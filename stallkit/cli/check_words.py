"""The plain forms of ``stallkit check``: a target, and options that each say one thing.

Those are nearly all that hooks, loops and status lines type.  They are read without click, whose import takes as long
as the check; whatever else is typed, click reads (`cli.check_commands`), and only it says what is wrong.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence

__all__ = ["CheckWords", "plain_words"]


class CheckWords(NamedTuple):
    """What such words ask for."""

    target: str  # - or SCHEME:ADDRESS
    as_json: bool = False
    idle_ok: bool = False
    socket_name: str | None = None
    socket_path: str | None = None


def plain_words(words: Sequence[str]) -> CheckWords | None:
    """What the words behind ``check`` ask for; None where they are not of such a form.

    >>> plain_words(["tmux:w1", "--json"]).as_json
    True
    >>> plain_words(["tmux:w1", "--dismiss"]) is None
    True
    """
    found, ahead = CheckWords(""), list(words)
    while ahead:
        match ahead:
            case ["--json", *ahead]:
                found = found._replace(as_json=True)
            case ["--idle-ok", *ahead]:
                found = found._replace(idle_ok=True)
            case ["-L", name, *ahead] if name:
                found = found._replace(socket_name=name)
            case ["-S", path, *ahead] if path:
                found = found._replace(socket_path=path)
            case [target, *ahead] if not found.target and (target == "-" or (target[0:1] != "-" and ":" in target)):
                found = found._replace(target=target)
            case _:
                return None
    return found if found.target else None
