"""The places that tell people, as settings and flags name them: the terminal, tmux, the desktop, hooks.

A message of tmux goes to each attached client, with a mark on the window that needs somebody: the window's option
``@stallkit_needs``, for a format of the status line such as ``#I:#W#F#{?@stallkit_needs, (#{@stallkit_needs}),}``.

`jeepney` speaks to the notification server on the session's D-Bus, plain Python without dependencies: a notice can be
replaced and closed by its id, each call has a time-out, and texts are escaped if the server reads markup.
``notify-send`` cannot close a notice; ``desktop-notifier`` replaces none, escapes nothing and waits for ever.  The
desktop needs the extra ``desktop``.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
import sys
from contextlib import ExitStack, suppress
from typing import IO, TYPE_CHECKING, Any, Callable, Iterable, Literal, Mapping

from attrs import evolve, field, frozen, validators

from stallkit.errors import ConfigError, SessionGone, StallkitError, TransportError
from stallkit.transports.base import Options
from stallkit.transports.tmux.call import Server
from stallkit.transports.tmux.pane import TmuxTransport
from stallkit_supervisor.notify.hooks import CONTENT_MODES, Apprise, CloudEvent, Command, ContentMode, Webhook
from stallkit_supervisor.notify.notice import CLEARED, SUMMARY, Notice, what_of
from stallkit_supervisor.notify.notifier import ESCALATIONS, Channel, Notifier, Outlet
from stallkit_supervisor.notify.throttle import NoticeLimits, QuietHours

# --- how a terminal is asked to show a notice ---

Code = Literal["osc9", "osc99", "osc777", "bell"]
CODES: tuple[Code, ...] = ("osc9", "osc99", "osc777", "bell")
BELL = b"\a"
_ST = b"\x1b\\"
# Parts of the names of terminals whose documentation has that sequence, in this order.
_KNOWN: tuple[tuple[str, Code], ...] = (
    ("kitty", "osc99"),
    ("ghostty", "osc777"),
    ("wezterm", "osc777"),
    ("foot", "osc777"),
    ("rxvt-unicode", "osc777"),
    ("contour", "osc777"),
    ("iterm", "osc9"),
    ("warp", "osc9"),
)
_NAMES = ("TERM_PROGRAM", "LC_TERMINAL", "TERM")


def osc_of(environment: Mapping[str, str], client: str | None = None) -> Code:
    """The sequence for a terminal; `client` is what tmux says of its own one, else the environment counts."""
    names = [client] if client is not None else [environment.get(name, "") for name in _NAMES]
    said = " ".join(names).lower()
    return next((code for name, code in _KNOWN if name in said), "bell")


def codes(notice: Notice, code: Code) -> bytes:
    """The bytes that show a notice, which has no control characters."""
    match code:
        case "osc9":  # a number first would be another command, as 9;4 is
            return b"\x1b]9;" + _text(f"stallkit: {notice.line}") + _ST
        case "osc777":  # a ; ends the title
            title, body = notice.title.replace(";", ","), notice.body or notice.title
            return b"\x1b]777;notify;" + _text(title) + b";" + _text(body) + _ST
        case "osc99":
            parts = [("title", "0", notice.title), ("body", "1", notice.body)]
            return b"".join(
                f"\x1b]99;i={_id(notice)}:d={done}:e=1:p={part};".encode() + base64.b64encode(_text(text)) + _ST
                for part, done, text in parts
            )
        case "bell":
            return BELL


def taken_away(notice: Notice, code: Code) -> bytes:
    """The bytes that take an earlier notice of the same key away; nothing if the terminal has no way to do that."""
    return f"\x1b]99;i={_id(notice)}:p=close;".encode() + _ST if code == "osc99" else b""


def in_tmux(data: bytes) -> bytes:
    r"""A sequence as tmux hands it through to its terminal; a bell needs none of that.

    >>> in_tmux(b"\x1b]9;x\x1b\\")
    b'\x1bPtmux;\x1b\x1b]9;x\x1b\x1b\\\x1b\\'
    """
    return data if data == BELL else b"\x1bPtmux;" + data.replace(b"\x1b", b"\x1b\x1b") + _ST


def _text(text: str) -> bytes:
    """Text as bytes, without anything that could end the sequence, whoever made it."""
    return "".join(char for char in text if char.isprintable()).encode("utf-8", "replace")


def _id(notice: Notice) -> str:
    """The same for each notice of a session, and of harmless characters."""
    return "stallkit-" + hashlib.sha256(notice.key.encode("utf-8", "replace")).hexdigest()[:16]


_CLIENT = "#{client_activity} #{client_termname} #{client_termtype}"


class Terminal:
    """Shows notices by OSC 9, 777 or 99, or rings the bell; `code` None is by what the terminal is called.

    Inside tmux the sequences go through to the client's terminal where the option ``allow-passthrough`` is on; if it
    is off, tmux itself hears the bell.  What is written moves no cursor and changes no cell.
    """

    def __init__(
        self,
        code: Code | None = None,
        write: Callable[[bytes], None] | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """`write` gets the bytes; None is the terminal of standard output or error, if one of them is one."""
        self.name = "terminal"
        self._code, self._environment = code, environment
        self._write = write or own_terminal()

    def deliver(self, said: CloudEvent) -> str:
        if self._write is None:
            raise OSError("neither standard output nor error is a terminal")
        notice, (code, how) = Notice.of(said.event), self._how()
        data = taken_away(notice, code) if said.event.name == CLEARED else codes(notice, code)
        if data:
            self._write(in_tmux(data) if self._tmux else data)
        return f"{how} was written" if data else f"nothing to take away by {how}"

    def close(self) -> None:
        pass

    @property
    def _tmux(self) -> str:
        """The socket of the tmux server that it runs in; empty outside of tmux."""
        return self._environment.get("TMUX", "").partition(",")[0]

    def _how(self) -> tuple[Code, str]:
        """The sequence for the terminal as it is now, and what to call it: another client may be attached."""
        if not self._tmux:
            code = self._code or osc_of(self._environment)
            return code, _named(code)
        kept, client = self._client()
        code = self._code or osc_of(self._environment, client)
        return ("bell", f"a bell ({kept})") if kept and code != "bell" else (code, _named(code))

    def _client(self) -> tuple[str, str]:
        """Why tmux hands no sequence through from here, or nothing; and what the latest client's terminal is called."""
        pane, server = self._environment.get("TMUX_PANE", ""), Server(Options(tmux_socket_path=self._tmux))
        try:
            place = server.run("tmux", ["display-message", "-p", "-t", pane, "#{session_id} #{window_active}"])
            session, active = place.split()
            passes = server.run("tmux", ["show-options", "-Apv", "-t", pane, "allow-passthrough"]).strip()
            clients = server.run("tmux", ["list-clients", "-t", session, "-F", _CLIENT]).splitlines()
        except (TransportError, ValueError):
            return "tmux does not answer", ""
        latest = max(clients, default="", key=lambda line: int(line.split(" ", 1)[0]))
        if passes == "all" or (passes == "on" and active == "1"):
            return "", latest.partition(" ")[2]
        kept = "this window is not shown" if passes == "on" else "allow-passthrough is off"
        return f"tmux: {kept}", latest.partition(" ")[2]


def own_terminal() -> Callable[[bytes], None] | None:
    """What writes to the terminal of standard output or error; None if neither is one.

    A whole sequence is one write through the stream's own buffer, which is locked meanwhile: it stands before or
    after what others print, never within.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and stream.isatty() and hasattr(stream, "buffer"):
            buffer: IO[bytes] = stream.buffer

            def write(data: bytes, buffer: IO[bytes] = buffer) -> None:
                buffer.write(data)
                buffer.flush()

            return write
    return None


def _named(code: Code) -> str:
    return "a bell" if code == "bell" else code.upper().replace("OSC", "OSC ")


# --- in tmux ---

MARK = "@stallkit_needs"
SHOWN_MS = 10_000  # a key that is pressed meanwhile ends it, and goes where it would have gone
_SCHEME = "tmux:"


class TmuxMessage:
    """Messages to the clients of one tmux server, and marks on its windows."""

    def __init__(self, options: Options, binary: str = "tmux") -> None:
        self._options, self._binary = options, binary
        self._server = Server(options, binary)
        self._marked: dict[str, str] = {}  # the window of each session that has a mark
        self._cleaned = False
        self.name = self._server.name

    def deliver(self, said: CloudEvent) -> str:
        event = said.event
        try:
            if not self._cleaned:
                self._clean()
            if event.name == CLEARED:
                return self._unmark(event.target)
            marked = self._mark(event.target, what_of(event)) if event.name != SUMMARY else False
            shown = self._show(Notice.of(event))
        except TransportError as error:
            raise OSError(error.why) from error
        clients = f"shown to {shown} client{'s' if shown != 1 else ''}" if shown else "no client is attached"
        return f"{clients}, the window is marked" if marked else clients

    def close(self) -> None:
        """Take all marks away."""
        for target in [*self._marked]:
            with suppress(TransportError):
                self._unmark(target)

    def _show(self, notice: Notice) -> int:
        """How many clients were shown it."""
        listed = self._server.run(self.name, ["list-clients", "-F", "#{client_control_mode} #{client_name}"])
        clients = [line.partition(" ")[2] for line in listed.splitlines() if line.startswith("0 ")]
        shown = 0
        for client in clients:
            try:
                self._message(client, _literally(f"stallkit: {notice.line}"))
            except TransportError as error:
                if "can't find client" not in error.why:  # it has gone meanwhile
                    raise
            else:
                shown += 1
        return shown

    def _message(self, client: str, text: str) -> None:
        words = ["display-message", "-c", client]
        try:
            self._server.run(self.name, [*words, "-d", str(SHOWN_MS), text])
        except TransportError as error:
            if "-d" not in error.why and "usage" not in error.why:
                raise
            self._server.run(self.name, [*words, text])  # tmux 3.1: for as long as `display-time` says

    def _mark(self, target: str, what: str) -> bool:
        if not target.startswith(_SCHEME):
            return False
        try:
            pane = TmuxTransport(target.removeprefix(_SCHEME), self._options, self._binary).pane
            window = self._server.run(target, ["list-panes", "-t", pane, "-F", "#{window_id}"]).split()[0]
            self._server.run(target, ["set-option", "-w", "-t", window, MARK, what])
        except (SessionGone, ValueError, IndexError):  # what is gone needs no mark
            return False
        self._marked[target] = window
        return True

    def _unmark(self, target: str) -> str:
        window = self._marked.pop(target, None)
        if window is None:
            return "no mark to remove"
        if window not in self._marked.values():  # another pane of it may still need somebody
            with suppress(SessionGone):
                self._server.run(target, ["set-option", "-wu", "-t", window, MARK])
        return "the mark is removed"

    def _clean(self) -> None:
        """Take away the marks that a killed process left."""
        listed = self._server.run(self.name, ["list-windows", "-a", "-F", f"#{{window_id}} #{{{MARK}}}"])
        for line in listed.splitlines():
            window, _, mark = line.partition(" ")
            if mark:
                self._server.run(self.name, ["set-option", "-wu", "-t", window, MARK])
        self._cleaned = True


def _literally(text: str) -> str:
    """Text as `display-message` shows it: no format, no style, no time of day."""
    return text.replace("#[", "# [").replace("#", "##").replace("%", "%%")


# --- on the desktop ---

if TYPE_CHECKING:
    from jeepney.io.blocking import DBusConnection

REPLY_S = 5.0
_SERVER = {"bus_name": "org.freedesktop.Notifications", "interface": "org.freedesktop.Notifications"}
_NOBODY = "org.freedesktop.DBus.Error.ServiceUnknown"
_PATH = "/org/freedesktop/Notifications"


class Desktop:
    """Notices of the desktop; one of a session replaces the earlier one of that session, and is closed when cleared."""

    def __init__(self) -> None:
        """Raises StallkitError if jeepney is not installed; the bus is asked at the first notice."""
        try:
            import jeepney.io.blocking  # noqa: F401  # extra: desktop
        except ImportError as error:
            why, todo = "jeepney is not installed", "pip install 'stallkit-supervisor[desktop]'"
            raise StallkitError("notify", "desktop", why, todo) from error
        self.name = "desktop"
        self._bus: DBusConnection | None = None
        self._markup: bool | None = None  # whether the server reads it; None: not asked yet
        self._shown: dict[str, int] = {}  # the id of each session's notice

    def deliver(self, said: CloudEvent) -> str:
        notice = Notice.of(said.event)
        if said.event.name == CLEARED:
            return self._close(notice.key)
        body = html.escape(notice.body, quote=False) if self._reads_markup() else notice.body
        before = self._shown.get(notice.key, 0)
        hints = {"category": ("s", "im.received"), "desktop-entry": ("s", "stallkit")}
        words: tuple[Any, ...] = ("stallkit", before, "", notice.title, body, [], hints, -1)
        [number] = self._call("Notify", "susssasa{sv}i", words)
        self._shown[notice.key] = number
        return "shown again in its place" if number == before else "shown"

    def close(self) -> None:
        """Let go of the bus; notices stay."""
        if self._bus is not None:
            self._bus.close()
            self._bus = self._markup = None

    def _close(self, key: str) -> str:
        number = self._shown.pop(key, None)
        if number is None:
            return "nothing to close"
        with suppress(_Refused):  # a person closed it
            self._call("CloseNotification", "u", (number,))
        return "closed"

    def _reads_markup(self) -> bool:
        if self._markup is None:
            self._markup = "body-markup" in self._call("GetCapabilities", None, ())[0]
        return self._markup

    def _call(self, method: str, signature: str | None, words: tuple[Any, ...]) -> Any:
        """The answer of the notification server; again where the bus was let go of."""
        from jeepney import DBusAddress, new_method_call  # extra: desktop
        from jeepney.io.blocking import open_dbus_connection  # extra: desktop
        from jeepney.wrappers import DBusErrorResponse, unwrap_msg  # extra: desktop

        call = new_method_call(DBusAddress(_PATH, **_SERVER), method, signature, words)
        for last in (self._bus is None, True):
            try:
                self._bus = self._bus or open_dbus_connection(bus="SESSION")
                return unwrap_msg(self._bus.send_and_get_reply(call, timeout=REPLY_S))
            except DBusErrorResponse as error:
                self._markup = None  # another one may come
                if error.name == _NOBODY:
                    raise _Refused("no notification server is on the session bus") from error
                raise _Refused(f"the notification server refused it: {error.name}") from error
            except KeyError as error:
                raise OSError("there is no session bus: $DBUS_SESSION_BUS_ADDRESS is not set") from error
            except (OSError, EOFError) as error:
                self.close()
                if last:
                    raise OSError(f"the session bus does not answer: {error}") from error
        raise AssertionError("unreachable")


class _Refused(OSError):
    """The notification server answered with an error."""


# --- which of them are told ---

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
    """Which places get notices: a command, an address, and those of `shown`."""

    exec: str | None = None
    webhook: str | None = None
    cloudevents: ContentMode = field(default="binary", validator=validators.in_(CONTENT_MODES))
    shown: NotifySettings = field(factory=NotifySettings)
    tmux: Options = field(factory=Options)  # of the server whose clients see messages


def channels_of(chosen: Channels) -> list[Channel]:
    """The places, each ready for notices.  Raises ConfigError for an invalid one, StallkitError for a missing extra."""
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
    """What tells all of these places, closed by `stack`; None if there is none.  Raises as `channels_of`."""
    outlets = [Outlet(channel, on_error) for channel in channels_of(chosen)]
    if not outlets:
        return None
    made = Notifier(outlets, chosen.shown.limits, on_error)
    stack.callback(made.close)
    return made
