"""A supervisor's settings, from ``stallkit.toml`` and what overrides it.

Precedence: a flag, then ``$STALLKIT_STALL_TIMEOUT``, then the named file, or what counts of the working directory's
(`stallkit.settings_files`), then the user's, then the default.  Values are not converted: "no" is not a truth value, a
text is not a list of letters, and 1 is not a text.
"""

from __future__ import annotations

import math
import os
import shlex
from pathlib import Path
from typing import Any, Callable, Collection, Iterable, Mapping

from attrs import evolve, field, fields, frozen

from stallkit.config import FILE, STALL_TIMEOUT
from stallkit.durations import seconds_of
from stallkit.errors import ConfigError
from stallkit.notify.channels import Channels, NotifySettings, Shown
from stallkit.notify.cloud_event import ContentMode
from stallkit.press.hang import HUNG_AFTER_S
from stallkit.press.policy import CAREFUL, Policy
from stallkit.press.policy_file import PROFILES, load_policy, policy_from
from stallkit.settings_files import Found, say, settings_files
from stallkit.supervise.cure import Cure
from stallkit.supervise.limits import Limits
from stallkit.supervise.listening import Listen
from stallkit.supervise.schedule import Schedule, seconds
from stallkit.supervise.session_state import BACK_OFF_S, RESTARTS, RecoveryCommands, WatchConfig
from stallkit.supervise.telling import MAYBE_S, REMIND_S, Notify
from stallkit.terminal.keys import Keys
from stallkit.toml_file import TomlError, TomlFile, structured
from stallkit.transports.base import Options

__all__ = [
    "TABLES",
    "EventSettings",
    "Overrides",
    "Settings",
    "WatchSettings",
    "checked_files",
    "configured_policy",
    "load_settings",
    "settings_of",
]


@frozen
class WatchSettings:
    """``[watch]``: which sessions, how often, which panes are listened to, and how soon a person is told."""

    targets: list[str] = field(factory=list)
    all: bool = False
    interval_s: float | None = field(default=None, validator=seconds)
    stall_timeout_s: float | None = field(default=None, validator=seconds)
    dry_run: bool = False
    reset_total_on_signal: bool = False
    listen: Listen = "auto"
    notify_after_s: dict[str, float] = field(factory=dict)  # by what is told; the others take the default
    maybe_after_s: float = MAYBE_S
    remind_after_s: float | None = REMIND_S  # 0: never again
    hung_after_s: float = HUNG_AFTER_S  # 0: nothing is said to hang

    def __attrs_post_init__(self) -> None:
        assert self.notify  # raises where it is invalid
        if not (self.hung_after_s >= 0 and math.isfinite(self.hung_after_s)):
            raise ValueError(f"hung_after_s must be seconds, 0 or more, not {self.hung_after_s!r}")

    @property
    def notify(self) -> Notify:
        """How soon a person is told."""
        return Notify(self.notify_after_s, self.maybe_after_s, self.remind_after_s or None)


@frozen
class QuotaSettings:
    """``[quota]``: what to do about a used-up limit."""

    wait: bool = True
    keys: str = "continue Enter"


@frozen
class RestartSettings:
    """``[restart]``: how to start an ended agent again; without a command there are no restarts."""

    command: list[str] = field(factory=list)
    back_off_s: float = BACK_OFF_S
    per_iteration: int = RESTARTS.per_iteration
    total: int = RESTARTS.total
    in_window: int = RESTARTS.in_window
    window_s: float = RESTARTS.window_s

    def __attrs_post_init__(self) -> None:
        if not self.back_off_s >= 0 or math.isinf(self.back_off_s):
            raise ValueError(f"back_off_s must be a number of seconds, not {self.back_off_s!r}")
        assert self.limits  # raises where they are invalid

    @property
    def limits(self) -> Limits:
        """The most restarts of a session."""
        return Limits(self.per_iteration, self.total, self.in_window, self.window_s)


@frozen
class HungSettings:
    """``[hung]``: what may be done about an agent that hangs."""

    escape: bool = False
    restart: bool = False


@frozen
class EventSettings:
    """``[events]``: where events go besides the state directory."""

    file: str | None = None
    exec: str | None = None
    webhook: str | None = None
    cloudevents: ContentMode = "binary"
    metrics: str | None = None


@frozen
class TmuxSettings:
    """``[tmux]``: the server that commands reach without -L, -S or ``$STALLKIT_TMUX`` (`stallkit.tmux_socket`)."""

    socket: str | None = None


@frozen
class RecordSettings:
    """``[record]``: what is kept of a screen that asks: the rows of its dialog, or all (`config.records_screens`)."""

    screens: bool = False


@frozen
class SessionSettings:
    """``[[session]]``: settings of one target."""

    target: str
    directory: str | None = None


@frozen
class Settings:
    """All settings, and the policy."""

    watch: WatchSettings = field(factory=WatchSettings)
    limits: Limits = field(factory=Limits)
    quota: QuotaSettings = field(factory=QuotaSettings)
    restart: RestartSettings = field(factory=RestartSettings)
    hung: HungSettings = field(factory=HungSettings)
    events: EventSettings = field(factory=EventSettings)
    notify: NotifySettings = field(factory=NotifySettings)
    session: list[SessionSettings] = field(factory=list)
    tmux: TmuxSettings = field(factory=TmuxSettings)
    record: RecordSettings = field(factory=RecordSettings)
    policy: Policy = CAREFUL

    @property
    def config(self) -> WatchConfig:
        """How sessions are watched.  Raises ValueError for an invalid time."""
        return WatchConfig(
            policy=self.policy,
            schedule=Schedule.of(self.watch.interval_s, self.watch.stall_timeout_s),
            limits=self.limits,
            restarts=self.restart.limits,
            back_off_s=self.restart.back_off_s,
            waits_for_quota=self.quota.wait,
            notify=self.watch.notify,
            can_restart=bool(self.restart.command),
            hung_after_s=self.watch.hung_after_s,
            cure=Cure(self.hung.escape, self.hung.restart),
        )

    @property
    def commands(self) -> RecoveryCommands:
        """The actions besides the keys of signatures.  Raises ValueError for unknown keys."""
        return RecoveryCommands(tuple(self.restart.command), Keys.parse(self.quota.keys))

    def channels(self, tmux: Options) -> Channels:
        """The places where people are told; `tmux` is the server whose clients see messages."""
        events = self.events
        return Channels(events.exec, events.webhook, events.cloudevents, self.notify, tmux)

    @property
    def directories(self) -> dict[str, Path]:
        """The working directories of loops, by target."""
        return {one.target: Path(one.directory).expanduser() for one in self.session if one.directory}


@frozen
class Overrides:
    """The values of flags; None is *not given*."""

    policy: str | None = None
    interval_s: float | None = None
    stall_timeout_s: float | None = None
    agents: tuple[str, ...] = ()
    dry_run: bool = False
    command: str | None = None
    webhook: str | None = None
    notify: tuple[Shown, ...] = ()


TABLES = tuple(one.name for one in fields(Settings) if one.name != "tmux")  # `tmux_socket` tells of that


def load_settings(
    path: Path | None,
    flags: Overrides,
    environment: Mapping[str, str],
    tables: Collection[str] = TABLES,
    tell: Callable[[str], object] = say,
) -> Settings:
    """The settings of a file, or of the user's and the working directory's where none is named, with their overrides.

    `tell` gets a line for each setting of these `tables` that does not count, and for a file of the working directory
    that is invalid and was not allowed.  Raises ConfigError, which names the file, for any other invalid one.
    """
    settings, where = _merged(checked_files(path, tables, tell))
    watch = settings.watch
    stall_s = _stall_timeout(environment) if flags.stall_timeout_s is None else flags.stall_timeout_s
    try:
        watch = evolve(
            watch,
            interval_s=watch.interval_s if flags.interval_s is None else flags.interval_s,
            stall_timeout_s=watch.stall_timeout_s if stall_s is None else stall_s,
            dry_run=flags.dry_run or watch.dry_run,
        )
    except ValueError as error:
        raise ConfigError("flags", str(error), "give a number of seconds") from error
    events = evolve(
        settings.events,
        exec=flags.command or settings.events.exec,
        webhook=flags.webhook or settings.events.webhook,
    )
    notify = settings.notify.with_shown(flags.notify)
    policy = load_policy(flags.policy) if flags.policy else settings.policy
    try:
        policy = evolve(policy, agents=flags.agents) if flags.agents else policy
    except ValueError as error:
        raise ConfigError("--agent", str(error), "name the file of the agent itself, or its path") from error
    policy = _patient(policy, watch.stall_timeout_s)
    settings = evolve(settings, watch=watch, events=events, notify=notify, policy=policy)
    try:
        settings.config, settings.commands, settings.directories, shlex.split(settings.events.exec or "")  # they raise
    except (ValueError, RuntimeError) as error:
        raise ConfigError(where, str(error), "correct it") from error
    return settings


def configured_policy(flag: str | None, config: Path | None = None, tell: Callable[[str], object] = say) -> Policy:
    """The policy that a flag names, else that of the settings (careful if they say nothing), with their patience.

    Raises ConfigError, as `load_settings`.
    """
    settings = _merged(checked_files(config, ["policy"], tell))[0]
    stall_s = _stall_timeout(os.environ)
    stall_s = settings.watch.stall_timeout_s if stall_s is None else stall_s
    return _patient(load_policy(flag) if flag else settings.policy, stall_s)


def _patient(policy: Policy, stall_timeout_s: float | None) -> Policy:
    """The policy with the stall time-out that is set in place of its own patience, if it has any."""
    return evolve(policy, patience_s=stall_timeout_s) if policy.patient and stall_timeout_s is not None else policy


def settings_of(found: Found) -> Settings:
    """The settings of one file, also those that do not count.  Raises ConfigError where they are invalid."""
    return _structured(_rooted(found))


def checked_files(
    path: Path | None, tables: Collection[str] = TABLES, tell: Callable[[str], object] = say
) -> list[Found]:
    """The files of which anything counts, each checked alone, so that the one at fault is named, as `load_settings`."""
    checked = list(map(_checked, settings_files(path)))
    for line in (line for found in checked for line in found.complaints(tables)):
        tell(line)
    return [found for found in checked if found.counts or not found.foreign]


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
        counts = found.counts if found.foreign else _rooted(found).data
        names.append(found.file.path)
        for key, value in counts.items():
            merge = isinstance(value, dict) and isinstance(merged.get(key), dict)
            merged[key] = {**merged[key], **value} if merge else value
    where = " and ".join(names) or FILE
    return _structured(TomlFile(where, merged)), where


def _rooted(found: Found) -> TomlFile:
    """The file, with its policy's file beside it.  Raises ConfigError where that is not part of what was allowed."""
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
        return WatchSettings(stall_timeout_s=seconds_of(given)).stall_timeout_s
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
    for one in fields(Settings):
        value, several = given.get(one.name, {}), one.name == "session"
        if not all(isinstance(table, dict) for table in (value if several and isinstance(value, list) else [value])):
            begin = f"[[{one.name}]]" if several else f"[{one.name}]"
            raise error(one.name, f"{one.name} is not a table", f"begin it with {begin}")
    try:
        return evolve(structured(evolve(file, data=given), Settings), policy=chosen)
    except TomlError as wrong:
        raise ConfigError(file.path, wrong.why, "correct it (docs/watch.md)", wrong.line) from wrong
