"""What a start of an agent adds to its command line and environment, so that it says more of itself.

Only by the agent's own options for one start: no file of the user's is changed.
"""

from __future__ import annotations

import secrets
from pathlib import PurePath
from typing import Sequence

from stallkit.signals.claude_hooks import settings_for

__all__ = ["told_more"]


def told_more(command: Sequence[str], id: str) -> tuple[list[str], dict[str, str]]:
    """The command and the variables that are added, for the start with this id; others' commands stay as they are.

    Claude Code gets hooks, OpenCode a server on loopback with a password of this start.  Raises OSError where the files
    for it cannot be written.
    """
    words = list(command)
    agent = PurePath(words[0]).name if words else ""
    if agent == "claude" and not _has(words, "--settings"):
        return [words[0], "--settings", str(settings_for(id)), *words[1:]], {}
    if agent == "opencode" and not _has(words, "--port") and all(_plain(word) for word in words[1:2]):
        return [words[0], "--port", "0", *words[1:]], {"OPENCODE_SERVER_PASSWORD": secrets.token_urlsafe(24)}
    return words, {}


def _has(words: Sequence[str], option: str) -> bool:
    return any(word == option or word.startswith(f"{option}=") for word in words)


def _plain(word: str) -> bool:
    """Whether it is an option or a directory: another word is a command of its own, such as ``run``."""
    return word.startswith(("-", ".", "/", "~"))
