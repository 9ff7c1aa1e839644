"""The places where people are told, as settings and flags name them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Callable, Iterable, Literal

from attrs import evolve, field, frozen, validators

from stallkit.errors import ConfigError
from stallkit.transports.base import Options
from stallkit_supervisor.notify.desktop import Desktop
from stallkit_supervisor.notify.hooks import CONTENT_MODES, Apprise, Command, ContentMode, Webhook
from stallkit_supervisor.notify.notifier import ESCALATIONS, Channel, Notifier, Outlet
from stallkit_supervisor.notify.terminal import Terminal
from stallkit_supervisor.notify.throttle import NoticeLimits, QuietHours
from stallkit_supervisor.notify.tmux_message import TmuxMessage

Shown = Literal["desktop", "terminal", "tmux"]
SHOWN: tuple[Shown, ...] = ("desktop", "terminal", "tmux")  # what shows a notice to a person, by its name as a flag
# What a notice may be about: what a session does, or an event's own name.
WHATS = ESCALATIONS | {"waits", "asks", "failed", "ended", "limit", "hung", "notice", "retrying", "unknown"}
TerminalCode = Literal["never", "auto", "osc9", "osc99", "osc777", "bell"]


@frozen
class NotifySettings:
    """``[notify]``: where people are shown notices, how many, and when not."""

    desktop: bool = False
    terminal: TerminalCode = "never"
    tmux: bool = False
    apprise: list[str] = field(factory=list)  # addresses of other services
    per_session: int = NoticeLimits().per_session
    overall: int = NoticeLimits().overall
    window_s: float = NoticeLimits().window_s
    quiet: str | None = None
    quiet_except: list[str] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        if unknown := sorted({*self.quiet_except} - WHATS):
            raise ValueError(f"quiet_except knows {', '.join(sorted(WHATS))}, not {', '.join(unknown)}")
        assert self.limits  # raises where they are invalid

    def with_shown(self, names: Iterable[Shown]) -> NotifySettings:
        """The same, and shown in these places as well."""
        given = {*names}
        terminal: TerminalCode = "auto" if "terminal" in given and self.terminal == "never" else self.terminal
        desktop, tmux = self.desktop or "desktop" in given, self.tmux or "tmux" in given
        return evolve(self, desktop=desktop, terminal=terminal, tmux=tmux)

    @property
    def limits(self) -> NoticeLimits:
        """How many notices, and when.  Raises ValueError for invalid values."""
        quiet = QuietHours.parse(self.quiet) if self.quiet is not None else None
        return NoticeLimits(self.per_session, self.overall, self.window_s, quiet, frozenset(self.quiet_except))


@frozen
class Channels:
    """Which places are told: a command, an address, and those of `shown`."""

    exec: str | None = None
    webhook: str | None = None
    cloudevents: ContentMode = field(default="binary", validator=validators.in_(CONTENT_MODES))
    shown: NotifySettings = field(factory=NotifySettings)
    tmux: Options = field(factory=Options)  # of the server whose clients see messages


def channels_of(chosen: Channels) -> list[Channel]:
    """The places, each ready to be told.  Raises ConfigError for an invalid one, StallkitError for a missing extra."""
    made: list[Channel] = []
    where = "events"
    try:
        if chosen.exec is not None:
            made.append(Command(chosen.exec, chosen.cloudevents))
        if chosen.webhook:
            where = "webhook"
            made.append(Webhook(chosen.webhook, chosen.cloudevents))
    except ValueError as error:
        raise ConfigError(where, str(error), "correct it") from error
    shown = chosen.shown
    if shown.desktop:
        made.append(Desktop())
    if shown.terminal != "never":
        made.append(Terminal(None if shown.terminal == "auto" else shown.terminal))
    if shown.tmux:
        made.append(TmuxMessage(chosen.tmux))
    if shown.apprise:
        try:
            made.append(Apprise(shown.apprise))
        except ValueError as error:
            raise ConfigError("notify", str(error), "see https://github.com/caronc/apprise/wiki") from error
    return made


def open_notifier(stack: ExitStack, chosen: Channels, on_error: Callable[[str], None]) -> Notifier | None:
    """What tells all of these places, closed by `stack`; None where there is none.  Raises as `channels_of`."""
    outlets = [Outlet(channel, on_error) for channel in channels_of(chosen)]
    if not outlets:
        return None
    made = Notifier(outlets, chosen.shown.limits, on_error)
    stack.callback(made.close)
    return made
