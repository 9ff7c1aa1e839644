"""The tmux server that a command reaches: by -L or -S, else ``$STALLKIT_TMUX``, else ``[tmux] socket`` in the settings.

Else it is tmux's own choice: the server of ``$TMUX``, or the default one.  A value with a ``/`` is a path, any other a
name, as for tmux's own options.  Whoever the command starts gets the choice in ``$STALLKIT_TMUX``.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Callable, Iterator, MutableMapping, NamedTuple

from stallkit.config import FILE, TMUX_SOCKET, user_config
from stallkit.errors import ConfigError
from stallkit.settings_files import Found, say, settings_files

__all__ = ["TmuxSocket", "chosen", "inherited"]


class TmuxSocket(NamedTuple):  # every command needs one, and attrs takes as long to import as a bare Python
    """Name or path of the socket of a server (neither: tmux's own choice), and who says so, for a person."""

    name: str | None = None
    path: str | None = None
    by: str = "tmux's own choice"

    @classmethod
    def of(cls, text: str, folder: Path, by: str) -> TmuxSocket:
        """What is named by one text; a relative path is one below the folder.  Raises ValueError for an empty one."""
        if not text.strip() or "\0" in text:
            raise ValueError("it names no socket")
        if "/" not in text:
            return cls(name=text, by=by)
        with suppress(RuntimeError):  # no home directory: then `~` is a name like any other
            return cls(path=str(folder.absolute() / Path(text).expanduser()), by=by)
        return cls(path=str(folder.absolute() / text), by=by)

    def __str__(self) -> str:
        return self.path or self.name or ""


def chosen(
    name: str | None,
    path: str | None,
    environment: MutableMapping[str, str],
    config: Path | None = None,
    tell: Callable[[str], object] | None = None,
) -> TmuxSocket:
    """The server by these flags, else by the environment, else by `config`, or the working directory's and user's file.

    `tell` (standard error) is told what does not count of the working directory's.
    Raises ConfigError where that is invalid: another server must not be taken for the one that was meant.
    """
    if name is not None or path is not None:
        absolute = str(Path(path).absolute()) if path else path
        return TmuxSocket(name, absolute, "-S" if path is not None else "-L")
    given = environment.get(TMUX_SOCKET)
    if given:
        try:
            return TmuxSocket.of(given, Path(), f"${TMUX_SOCKET}")
        except ValueError as error:
            raise ConfigError(f"${TMUX_SOCKET}", str(error), "give a name, or a path") from error
    if config is None and not (os.path.lexists(FILE) or os.path.lexists(user_config())):
        return TmuxSocket()  # most have none, and save the imports

    chosen = None
    for found in settings_files(config):
        for line in found.complaints(["tmux"]):
            (tell or say)(line)
        chosen = _of_file(found) or chosen
    return chosen or TmuxSocket()


@contextmanager
def inherited(socket: TmuxSocket, environment: MutableMapping[str, str]) -> Iterator[None]:
    """Have everything that is started in this context reach the same server by default."""
    before = environment.get(TMUX_SOCKET)
    if str(socket):
        environment[TMUX_SOCKET] = str(socket)
    try:
        yield
    finally:
        if before is None:
            environment.pop(TMUX_SOCKET, None)
        else:
            environment[TMUX_SOCKET] = before


def _of_file(found: Found) -> TmuxSocket | None:
    """What a file of settings says; its other tables are left to those who need them."""
    file = found.file

    def error(why: str, line: int | None) -> ConfigError:
        return ConfigError(file.path, why, 'give a name or a path: socket = "work"', line, "[tmux]")

    table = found.counts.get("tmux", {})
    text = table.get("socket") if isinstance(table, dict) else table
    if text is None:
        return None
    line = file.lines.of("tmux", "socket")
    if not isinstance(text, str):
        raise error(f"{text!r} is not a text", line)
    try:
        socket = TmuxSocket.of(text, Path(file.path).parent, file.path)
    except ValueError as wrong:
        raise error(str(wrong), line) from wrong
    _own(socket, lambda why: error(why, line))
    return socket


def _own(socket: TmuxSocket, error: Callable[[str], ConfigError]) -> None:
    """Raise where a file leads to a socket of another user, who would be told our environment."""
    if socket.path is None:
        return
    with suppress(OSError):  # there is none yet
        owner = Path(socket.path).stat().st_uid
        if owner not in (0, os.geteuid()):
            raise error(f"{socket.path} belongs to another user (uid {owner})")
