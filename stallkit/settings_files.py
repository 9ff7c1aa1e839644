"""Which files of settings count, and what of each: the user's own, one that is named, that of the working directory.

The first two decide everything.  What lies in the working directory may be an agent's, so of it only what cannot act
counts, until a person allows it as it is (``stallkit config allow``).  A file that others can write decides nothing.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Mapping

from attrs import frozen

from stallkit import private
from stallkit.config import FILE, allowed_dir, user_config
from stallkit.errors import ConfigError
from stallkit.terminal.text import escaped
from stallkit.toml_file import TomlFile, read_settings

_NAME = re.compile(r"[\w.-]+")  # of a socket in tmux's own directory: at a path anybody's server may listen
# What counts of a file in the working directory that nobody allowed: the settings, and which of their values.
CANNOT_ACT: Mapping[str, Callable[[object], bool]] = {
    "tmux.socket": lambda value: isinstance(value, str) and _NAME.fullmatch(value) is not None,
    "watch.dry_run": lambda value: value is True,
    "policy": lambda value: value == "observe",
}
USERS_ALONE = ("fleet",)  # tables that no file of a working directory sets, also if a person allowed it
# What each setting decides, or all of a table: why it does not count there.
DECIDES: Mapping[str, str] = {
    "policy": "what is pressed",
    "tmux.socket": "which program gets the keys, and may run commands by tmux's own protocol",
    "watch.targets": "which sessions are pressed in",
    "watch.all": "which sessions are pressed in",
    "watch.interval_s": "how soon something is done",
    "watch.stall_timeout_s": "how soon something is done",
    "watch.hung_after_s": "when an agent is taken to hang, and restarted",
    "watch.dry_run": "whether anything is pressed",
    "watch.reset_total_on_signal": "how often something is done",
    "watch.listen": "what is started in the tmux server",
    "watch.notify_after_s": "when your command and webhook are called",
    "watch.maybe_after_s": "when your command and webhook are called",
    "watch.remind_after_s": "how often your command and webhook are called",
    "limits": "how often something is done",
    "quota": "what is typed after a limit",
    "restart": "which command is typed into a shell, and how often",
    "hung": "what is done to an agent that hangs",
    "events.file": "which file is written",
    "events.exec": "which command runs",
    "events.webhook": "who is sent what sessions show",
    "events.cloudevents": "what is sent",
    "events.metrics": "which port is opened",
    "events.otlp": "who is sent the figures",
    "fleet": "who is sent what sessions show, and who answers them",
    "notify": "what you are told, where, and how often your command and webhook are called",
    "record": "how much of what sessions show is kept",
    "session": "which directory is written to",
}


@frozen
class Setting:
    """One setting of a file: ``table.key``, or the name of what is no plain table."""

    name: str
    value: Any
    place: str  # file:line

    @property
    def decides(self) -> str:
        """What it decides, for a person."""
        return DECIDES.get(self.name) or DECIDES.get(self.name.partition(".")[0]) or "what nobody knows"


@frozen
class Found:
    """A file of settings, and what counts of it.

    A `foreign` one is in the working directory, and `why` says why only what cannot act counts of it; a `broken` one of
    these has nothing that could.  What a person `allowed` is the file itself, and no other one that it may name.
    """

    file: TomlFile
    why: str = ""
    allowed: bool = False
    broken: bool = False

    @property
    def foreign(self) -> bool:
        """Whether only what cannot act counts."""
        return bool(self.why)

    @property
    def ignored(self) -> list[Setting]:
        """The settings that do not count."""
        return [one for one in settings_in(self.file) if (self.foreign and not _cannot_act(one)) or self._never(one)]

    def _never(self, setting: Setting) -> bool:
        return self.allowed and setting.name.partition(".")[0] in USERS_ALONE

    @property
    def counts(self) -> dict[str, Any]:
        """The values that count, by table and key."""
        out, left = {one.name for one in self.ignored}, {}
        for table, value in self.file.data.items():
            plain = not isinstance(value, dict)
            kept = value if plain else {key: one for key, one in value.items() if f"{table}.{key}" not in out}
            if table not in out and kept != {}:
                left[table] = kept
        return left

    def complaints(self, tables: Iterable[str]) -> list[str]:
        """A line for each setting of these tables that does not count, or one for all of it."""
        if self.broken:
            return [f"{self.why}; nothing in it counts"]
        named = (one for one in self.ignored if one.name.partition(".")[0] in {*tables})
        why = self.why or "only your own file decides that"
        return [f"{one.place}: {one.name} is ignored, as it decides {one.decides}, and {why}" for one in named]


def settings_files(config: Path | None = None) -> list[Found]:
    """The files that count: the user's, then the working directory's, which goes before it; a named one alone.

    Raises ConfigError if the user's or the named one cannot be read, or could have been written by others.
    """
    if config is not None:
        return [Found(read_settings(config))]
    users = user_config()
    found = [Found(read_settings(users))] if _is_there(users) else []
    if os.path.lexists(FILE) and Path.cwd() != users.parent.resolve():
        found.append(_of_working_directory())
    return found


def settings_in(file: TomlFile) -> Iterator[Setting]:
    """The settings that a file has."""
    for table, value in file.data.items():
        if isinstance(value, dict) and table != "policy":
            for key, one in value.items():
                yield Setting(f"{table}.{key}", one, f"{file.path}:{file.lines.of(table, key)}")
        elif table != "format":
            yield Setting(table, value, f"{file.path}:{file.lines.of(table)}")


def allow(folder: Path, file: TomlFile) -> None:
    """Let this file decide in the directory it is in, as long as it stays as it was read.  Raises OSError."""
    record = _record(folder)
    private.folder(record.parent)
    with os.fdopen(private.opened(record, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as out:
        out.write(b"%s %s\n" % (_digest(file).encode(), os.fsencode(folder)))


def deny(folder: Path) -> bool:
    """Take that back; whether anything was allowed.  Raises OSError."""
    try:
        _record(folder).unlink()
    except FileNotFoundError:
        return False
    return True


@cache
def say(line: str) -> None:
    """Tell a person on standard error, once in this process."""
    if sys.stderr is not None:
        print(f"stallkit: {escaped(line)}", file=sys.stderr)


def _of_working_directory() -> Found:
    folder = Path.cwd()
    try:
        file = read_settings(Path(FILE))
    except ConfigError as error:
        return Found(TomlFile(FILE, {}), str(error), broken=True)
    before = _allowed(folder)
    if before == _digest(file):
        return Found(file, allowed=True)
    why = "nobody allowed this file" if before is None else "the file changed since it was allowed"
    return Found(file, f"{why}; to allow it: stallkit config allow {shlex.quote(str(folder))}")


def _cannot_act(setting: Setting) -> bool:
    holds = CANNOT_ACT.get(setting.name)
    return holds is not None and holds(setting.value)


def _digest(file: TomlFile) -> str:
    """Of what was read: the bytes of a file in UTF-8 are those of its text."""
    return sha256(file.text.encode()).hexdigest()


def _record(folder: Path) -> Path:
    return allowed_dir() / sha256(os.fsencode(folder)).hexdigest()


def _allowed(folder: Path) -> str | None:
    """The digest of the file that was allowed there; None also if the record itself is not to be trusted."""
    with suppress(OSError):
        return private.content(_record(folder)).partition(b" ")[0].decode("ascii", "replace")
    return None


def _is_there(file: Path) -> bool:
    """Whether the file exists; one that cannot be looked at is an error."""
    try:
        file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise ConfigError(str(file), error.strerror or str(error), "make it readable, or name another file") from error
    return True
