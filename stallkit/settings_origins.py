"""Where each setting comes from: an option, the environment, a line of a file, or the default."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Iterator, Mapping, MutableMapping
from urllib.parse import urlsplit

from attrs import fields, frozen

from stallkit.config import CACHE, STALL_TIMEOUT, STATE_DIR, cache_dir, state_dir
from stallkit.settings import Settings, checked_files, read, tables
from stallkit.settings_files import settings_in
from stallkit.tmux_socket import TmuxSocket, chosen

__all__ = ["Origin", "origins"]

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

    Raises ConfigError where one is invalid.
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
