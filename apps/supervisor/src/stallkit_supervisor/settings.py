"""A supervisor's settings: the tables of ``stallkit.toml`` (`stallkit.settings`) that are its own, and its flags."""

from __future__ import annotations

import math
import os
import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Callable, Collection, Mapping

from attrs import evolve, field, frozen

from stallkit import settings
from stallkit.config import FILE, user_config
from stallkit.errors import ConfigError
from stallkit.press.hang import HUNG_AFTER_S
from stallkit.press.policy import CAREFUL, Policy
from stallkit.settings import LookSettings, RecordSettings, TmuxSettings, seconds
from stallkit.settings_files import say
from stallkit.terminal.keys import Keys
from stallkit.transports.base import Options
from stallkit_supervisor.listener import Listen
from stallkit_supervisor.notification import MAYBE_S, REMIND_S, Notify
from stallkit_supervisor.notify.channels import Channels, NotifySettings, Shown, channels_of, open_notifier
from stallkit_supervisor.notify.hooks import ContentMode
from stallkit_supervisor.notify.notifier import Notifier
from stallkit_supervisor.recovery_state import BACK_OFF_S, RESTARTS, Cure, Limits
from stallkit_supervisor.session_state import RecoveryCommands, Schedule, WatchConfig


@frozen
class WatchSettings(LookSettings):
    """``[watch]``: which sessions, how often, which panes are listened to, and how soon a person hears."""

    targets: list[str] = field(factory=list)
    all: bool = False
    interval_s: float | None = field(default=None, validator=seconds)
    stall_timeout_s: float | None = field(default=None, validator=seconds)
    dry_run: bool = False
    reset_total_on_signal: bool = False
    listen: Listen = "never"
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
        """How soon a person hears of it."""
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
    otlp: str | None = None


@frozen
class SessionSettings:
    """``[[session]]``: settings of one target."""

    target: str
    directory: str | None = None


@frozen
class Settings(settings.Settings):
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
        """The places that tell people; `tmux` is the server whose clients see messages."""
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


def load_settings(
    path: Path | None,
    flags: Overrides,
    environment: Mapping[str, str],
    about: Collection[str] | None = None,
    tell: Callable[[str], object] = say,
) -> Settings:
    """The settings of a file, or of the user's and the working directory's where none is named, with their overrides.

    `about` and `tell` are as for `stallkit.settings.read`.  Raises ConfigError, which names the file, for an invalid
    one.
    """
    watch = {"interval_s": flags.interval_s, "stall_timeout_s": flags.stall_timeout_s, "dry_run": flags.dry_run or None}
    found, where = settings.read(path, environment, policy=flags.policy, tell=tell, about=about, **watch)
    assert isinstance(found, Settings)  # this distribution offers it
    events = evolve(
        found.events,
        exec=flags.command or found.events.exec,
        webhook=flags.webhook or found.events.webhook,
    )
    notify = found.notify.with_shown(flags.notify)
    try:
        policy = evolve(found.policy, agents=flags.agents) if flags.agents else found.policy
    except ValueError as error:
        raise ConfigError("--agent", str(error), "name the file of the agent itself, or its path") from error
    found = evolve(found, events=events, notify=notify, policy=policy)
    try:
        found.config, found.commands, found.directories, shlex.split(found.events.exec or "")  # they raise
    except (ValueError, RuntimeError) as error:
        raise ConfigError(where, str(error), "correct it") from error
    return found


# --- the events of a single run: `stallkit run` asks for this, and its background process tells them ---


def chosen_for_run(hook: str | None, webhook: str | None) -> dict[str, str]:
    """The places that these flags and the settings name, as plain texts.  Raises ConfigError for an invalid one."""
    if not (hook or webhook or os.path.lexists(user_config()) or os.path.lexists(FILE)):
        return {}
    events = load_settings(None, Overrides(command=hook, webhook=webhook), {}, ["events"]).events
    channels_of(Channels(events.exec, events.webhook))  # it raises here, where a person sees it
    named = {"file": events.file, "exec": events.exec, "webhook": events.webhook, "cloudevents": events.cloudevents}
    return {name: value for name, value in named.items() if value is not None}


def outlet_of_run(stack: ExitStack, events: Mapping[str, Any], complain: Callable[[str], None]) -> Notifier | None:
    """What tells the places of `chosen_for_run`, without its file; closed by `stack`."""
    return open_notifier(stack, Channels(**events), complain)
