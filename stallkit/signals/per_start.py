"""What a start of an agent adds to its command line, so that it says more of itself.

Only by the agent's own options for one start: no file of the user's is changed.  What they need is in one folder of the
state directory, which goes with the session.
"""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import PurePath
from typing import Sequence

from stallkit import private
from stallkit.signals.claude_hooks import folder_of, settings_for

__all__ = ["remove_files", "told_more"]

# A variable in a command line could be read by everyone on the machine: the shell takes the password from its file.
_WITH_PASSWORD = 'OPENCODE_SERVER_PASSWORD=$(cat "$0") && export OPENCODE_SERVER_PASSWORD && exec "$@"'


def told_more(command: Sequence[str], id: str) -> list[str]:
    """The command for the start with this id; one of another program, or with such options already, as it was.

    Claude Code gets hooks, OpenCode a server on loopback that wants a password of this start.  Raises OSError where the
    files for it cannot be written.
    """
    words = list(command)
    agent = PurePath(words[0]).name if words else ""
    if agent == "claude" and not _has(words, "--settings"):
        return [words[0], "--settings", str(settings_for(id)), *words[1:]]
    if agent == "opencode" and not _has(words, "--port") and all(_plain(word) for word in words[1:2]):
        return ["sh", "-c", _WITH_PASSWORD, _password_file(id), words[0], "--port", "0", *words[1:]]
    return words


def remove_files(id: str) -> None:
    """Remove the files of a start that has ended."""
    shutil.rmtree(folder_of(id), ignore_errors=True)


def _password_file(id: str) -> str:
    folder = folder_of(id)
    private.folder(folder)
    handle = private.opened(folder / "password", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(24))
    return str(folder / "password")


def _has(words: Sequence[str], option: str) -> bool:
    return any(word == option or word.startswith(f"{option}=") for word in words)


def _plain(word: str) -> bool:
    """Whether it is an option or a directory: another word is a command of its own, such as ``run``."""
    return word.startswith(("-", ".", "/", "~"))
