"""The settings: ``stallkit.toml``, what overrides it, what the library itself takes of it, and where each comes from.

Precedence: a flag, then ``$STALLKIT_STALL_TIMEOUT``, then the named file, or what counts of the working directory's
(`stallkit.settings_files`), then the user's, then the default.  Values are not converted: "no" is not a truth value, a
text is not a list of letters, and 1 is not a text.

The tmux server that a command reaches is the one of -L or -S, else ``$STALLKIT_TMUX``, else ``[tmux] socket``, else
tmux's own choice: the server of ``$TMUX``, or the default one.  A value with a ``/`` is a path, any other a name, as
for tmux's own options.  Whoever the command starts gets the choice in ``$STALLKIT_TMUX``.

What is built on the library offers a class with more tables instead of `Settings`; those of a distribution that is not
installed are not read.
"""

from __future__ import annotations

import json
import math
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, NamedTuple
from urllib.parse import urlsplit

import attrs
from attrs import Attribute, evolve, field, fields, frozen

from stallkit.config import CACHE, FILE, STALL_TIMEOUT, STATE_DIR, TMUX_SOCKET, cache_dir, state_dir, user_config
from stallkit.distributions import offers
from stallkit.durations import seconds_of
from stallkit.errors import ConfigError
from stallkit.jsonio import closed, schema_of, some_of
from stallkit.press.policy import CAREFUL, Policy
from stallkit.press.policy_file import PROFILES, load_policy, policy_from, policy_table
from stallkit.settings_files import USERS_ALONE, Found, say, settings_files, settings_in
from stallkit.toml_file import TomlError, TomlFile, structured

# --- the tmux server that a command reaches ---


class TmuxSocket(NamedTuple):
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

    `tell` (standard error) gets what does not count of the working directory's.
    Raises ConfigError if that is invalid: another server must not be taken for the one that was meant.
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
    _must_be_mine(socket, lambda why: error(why, line))
    return socket


def _must_be_mine(socket: TmuxSocket, error: Callable[[str], ConfigError]) -> None:
    """Raise if a file leads to a socket of another user, who would see our environment."""
    if socket.path is None:
        return
    with suppress(OSError):  # there is none yet
        owner = Path(socket.path).stat().st_uid
        if owner not in (0, os.geteuid()):
            raise error(f"{socket.path} belongs to another user (uid {owner})")


# --- the settings ---


def seconds(holder: object, attribute: Attribute[Any], given: float | None) -> None:
    """Raise ValueError for an invalid time."""
    if given is not None and not (given > 0 and math.isfinite(given)):
        raise ValueError(f"{attribute.name} must be a number of seconds over 0, not {given!r}")


@frozen
class LookSettings:
    """What the library takes of ``[watch]``."""

    stall_timeout_s: float | None = field(default=None, validator=seconds)
    dry_run: bool = False


@frozen
class TmuxSettings:
    """``[tmux]``: the server that commands reach without -L, -S or ``$STALLKIT_TMUX`` (`stallkit.settings`)."""

    socket: str | None = None


@frozen
class RecordSettings:
    """``[record]``: what is kept of a screen that asks: the rows of its dialog, or all (`config.records_screens`)."""

    screens: bool = False


@frozen
class Settings:
    """The settings that the library takes, and the policy."""

    watch: LookSettings = field(factory=LookSettings)
    tmux: TmuxSettings = field(factory=TmuxSettings)
    record: RecordSettings = field(factory=RecordSettings)
    policy: Policy = CAREFUL


def tables() -> tuple[str, ...]:
    """The tables that are read, except ``[tmux]``, of which `stallkit.settings` tells."""
    return tuple(one.name for one in fields(_kind()) if one.name != "tmux")


def read(
    path: Path | None,
    environment: Mapping[str, str],
    *,
    policy: str | None = None,
    tell: Callable[[str], object] = say,
    about: Collection[str] | None = None,
    **watch: Any,
) -> tuple[Settings, str]:
    """The settings of a file, or of the user's and the working directory's if none is named; and the files' names.

    `policy` and `watch` (keys of ``[watch]``) are flags, None if not given.  `tell` gets a line for each setting of the
    tables `about` (all) that does not count, and for a file of the working directory that is invalid and was not
    allowed.  Raises ConfigError, which names the file, for any other invalid one.
    """
    settings, where = _merged(checked_files(path, about, tell))
    if watch.get("stall_timeout_s") is None:
        watch["stall_timeout_s"] = _stall_timeout(environment)
    try:
        looks = evolve(settings.watch, **{name: value for name, value in watch.items() if value is not None})
    except ValueError as error:
        raise ConfigError("flags", str(error), "give a number of seconds") from error
    chosen = _patient(load_policy(policy) if policy else settings.policy, looks.stall_timeout_s)
    return evolve(settings, watch=looks, policy=chosen), where


def configured_policy(flag: str | None, config: Path | None = None, tell: Callable[[str], object] = say) -> Policy:
    """The policy that a flag names, else that of the settings (careful if they say nothing), with their patience.

    Raises ConfigError, as `read`.
    """
    return read(config, os.environ, policy=flag, tell=tell, about=["policy"])[0].policy


def settings_of(found: Found) -> Settings:
    """The settings of one file, also those that do not count.  Raises ConfigError if they are invalid."""
    return _structured(_rooted(found))


def checked_files(
    path: Path | None, about: Collection[str] | None = None, tell: Callable[[str], object] = say
) -> list[Found]:
    """The files of which anything counts, each checked alone, so that the one at fault is named, as `read`."""
    checked = list(map(_checked, settings_files(path)))
    for line in (line for found in checked for line in found.complaints(tables() if about is None else about)):
        tell(line)
    return [found for found in checked if found.counts or not found.foreign]


def settings_schema() -> dict[str, Any]:
    """The JSON schema of ``stallkit.toml``, for editors: from the classes that it is read into."""
    known = {one.name: one.type for one in attrs.fields(attrs.resolve_types(_kind())) if one.name != "policy"}
    policy = some_of({"type": "string", "description": f"a file, or {', '.join(PROFILES)}"}, policy_table())
    of_tables = {"format": {"const": 1}, **{name: schema_of(kind) for name, kind in known.items()}, "policy": policy}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "The settings of stallkit"}
    return {**head, **closed(of_tables)}


def _kind() -> type[Settings]:
    """The class with all tables that are read: what a distribution offers is built on those of the ones below it."""
    return max(offers("settings"), key=lambda kind: len(kind.__mro__), default=Settings)


def _patient(policy: Policy, stall_timeout_s: float | None) -> Policy:
    """The policy with the stall time-out that is set instead of its own patience, if it has any."""
    return evolve(policy, patience_s=stall_timeout_s) if policy.patient and stall_timeout_s is not None else policy


def _checked(found: Found) -> Found:
    try:
        settings_of(found)
    except ConfigError as error:
        if not found.foreign:
            raise
        return Found(TomlFile(found.file.path, {}), str(error), broken=True)
    return found


def _merged(files: Iterable[Found]) -> tuple[Settings, str]:
    """What counts of the files, a later one over those before it, and their names."""
    names, merged = list[str](), dict[str, Any]()
    for found in files:
        counts = found.counts if found.foreign else {**_rooted(found).data}
        for table in USERS_ALONE if found.allowed else ():
            counts.pop(table, None)
        names.append(found.file.path)
        for key, value in counts.items():
            merge = isinstance(value, dict) and isinstance(merged.get(key), dict)
            merged[key] = {**merged[key], **value} if merge else value
    where = " and ".join(names) or FILE
    return _structured(TomlFile(where, merged)), where


def _rooted(found: Found) -> TomlFile:
    """The file, with its policy's file beside it.  Raises ConfigError if that is not part of what was allowed."""
    file, policy = found.file, found.file.data.get("policy")
    if not isinstance(policy, str) or policy in PROFILES:
        return file
    if found.allowed:
        why, todo = "policy names another file, which may change", "write its rules here, as [policy]"
        raise ConfigError(file.path, why, todo, file.lines.of("policy"))
    beside = {} if found.foreign else {"policy": str(Path(file.path).absolute().parent / policy)}
    return evolve(file, data={key: value for key, value in file.data.items() if key != "policy"} | beside)


def _stall_timeout(environment: Mapping[str, str]) -> float | None:
    given = environment.get(STALL_TIMEOUT)
    if not given:
        return None
    try:
        return LookSettings(stall_timeout_s=seconds_of(given)).stall_timeout_s
    except ValueError as error:
        raise ConfigError(
            f"${STALL_TIMEOUT}", f"{given!r} is not a time over 0", "write 30s, 2m, or a number of seconds"
        ) from error


def _structured(file: TomlFile) -> Settings:
    given, lines = dict(file.data), file.lines

    def error(key: str, why: str, todo: str) -> ConfigError:
        return ConfigError(file.path, why, todo, lines.of(key))

    if given.pop("format", 1) != 1:
        raise error("format", f"it is of format {file.data['format']}", "update stallkit, or write format = 1")
    policy = given.pop("policy", {})
    if isinstance(policy, str):
        chosen = load_policy(policy)
    elif isinstance(policy, dict):
        name = policy.get("profile", CAREFUL.name)
        chosen = policy_from(policy, file.path, name, "[policy]", lines.under("policy"))
    else:
        raise error("policy", "policy is neither a name nor a table", f"name one of {', '.join(PROFILES)}")
    kind = _kind()
    for one in fields(kind):
        value, several = given.get(one.name, {}), one.name == "session"
        if not all(isinstance(table, dict) for table in (value if several and isinstance(value, list) else [value])):
            begin = f"[[{one.name}]]" if several else f"[{one.name}]"
            raise error(one.name, f"{one.name} is not a table", f"begin it with {begin}")
    if kind is Settings:
        given = _own(given)
    try:
        return evolve(structured(evolve(file, data=given), kind), policy=chosen)
    except TomlError as wrong:
        raise ConfigError(file.path, wrong.why, "correct it (docs/watch.md)", wrong.line) from wrong


def _own(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the library knows of these tables: the rest is a supervisor's, which is not installed to check it."""
    known = {
        one.name: {key.name for key in fields(one.type)} for one in fields(attrs.resolve_types(Settings)) if one.type
    }
    return {
        name: {key: value for key, value in table.items() if key in known[name] or name != "watch"}
        for name, table in given.items()
        if name in known
    }


# --- where each comes from ---

_OF_OPTIONS = {"watch.stall_timeout_s": "--stall-timeout", "watch.dry_run": "--dry-run", "policy": "--policy"}


@frozen
class Origin:
    """A setting, its value as JSON has it, and who says so: None is the default."""

    name: str
    value: Any
    by: str | None = None

    @property
    def text(self) -> str:
        """The value for a person."""
        return "not set" if self.value is None else json.dumps(self.value, ensure_ascii=False)


def origins(
    path: Path | None,
    environment: MutableMapping[str, str],
    policy: str | None = None,
    stall_timeout_s: float | None = None,
    dry_run: bool = False,
    socket_name: str | None = None,
    socket_path: str | None = None,
) -> tuple[list[Origin], list[str]]:
    """Every setting that a command in this folder would take, and a line for each that does not count.

    Raises ConfigError if one is invalid.
    """
    ignored = list[str]()
    said = {
        one.name: one.place
        for found in checked_files(path, [*tables(), "tmux"], ignored.append)
        for one in settings_in(found.file)
        if one not in found.ignored
    }
    settings, _ = read(
        path,
        environment,
        policy=policy,
        tell=lambda line: None,
        stall_timeout_s=stall_timeout_s,
        dry_run=dry_run or None,
    )
    if environment.get(STALL_TIMEOUT):
        said["watch.stall_timeout_s"] = f"${STALL_TIMEOUT}"
    given = (stall_timeout_s is not None, dry_run, policy is not None)
    said |= {name: option for (name, option), is_given in zip(_OF_OPTIONS.items(), given, strict=True) if is_given}
    socket = chosen(socket_name, socket_path, environment, path, tell=lambda line: None)
    return [*_places(environment), *_values(settings, said, socket)], ignored


def _places(environment: Mapping[str, str]) -> Iterator[Origin]:
    cache = cache_dir()
    yield Origin("state directory", str(state_dir()), f"${STATE_DIR}" if environment.get(STATE_DIR) else None)
    yield Origin("cache directory", str(cache) if cache else "off", f"${CACHE}" if environment.get(CACHE) else None)


def _values(settings: Settings, said: Mapping[str, str], socket: TmuxSocket) -> Iterator[Origin]:
    by = socket.by if socket.by.startswith(("-", "$")) else said.get("tmux.socket")
    yield Origin("tmux.socket", str(socket) or None, by)
    yield Origin("policy", settings.policy.name, said.get("policy"))
    for table in fields(type(settings)):
        value = getattr(settings, table.name)
        if table.name == "session":
            yield Origin("session", [one.target for one in value], said.get("session"))
        elif table.name not in ("policy", "tmux"):
            for one in fields(type(value)):
                if not one.name.startswith("_"):
                    name = f"{table.name}.{one.name}"
                    yield Origin(name, _plain(one.name, getattr(value, one.name)), said.get(name))


def _plain(name: str, value: Any) -> Any:
    """The value as JSON has it; of an address only its host, as the rest of it may hold a token."""
    if name == "webhook" and value:
        return f"{urlsplit(value).scheme}://{urlsplit(value).hostname}/..."
    return value if isinstance(value, (str, int, float, list, dict)) or value is None else str(value)
