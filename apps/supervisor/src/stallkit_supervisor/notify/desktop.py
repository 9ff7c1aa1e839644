"""The desktop as a place for notices, by its notification server on the session's D-Bus.

`jeepney` speaks to it, plain Python without dependencies: a notice can be replaced and closed by its id, each call has
a time-out, and texts are escaped where the server reads markup.  ``notify-send`` cannot close a notice;
``desktop-notifier`` replaces none, escapes nothing and waits for ever.  Needs the extra ``desktop``.
"""

from __future__ import annotations

import html
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from stallkit.errors import StallkitError
from stallkit_supervisor.notify.hooks import CloudEvent
from stallkit_supervisor.notify.notice import CLEARED, Notice

if TYPE_CHECKING:
    from jeepney.io.blocking import DBusConnection

REPLY_S = 5.0
_SERVER = {"bus_name": "org.freedesktop.Notifications", "interface": "org.freedesktop.Notifications"}
_NOBODY = "org.freedesktop.DBus.Error.ServiceUnknown"
_PATH = "/org/freedesktop/Notifications"


class Desktop:
    """Notices of the desktop; one of a session replaces the earlier one of that session, and is closed when cleared."""

    def __init__(self) -> None:
        """Raises StallkitError where jeepney is not installed; the bus is asked at the first notice."""
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
        """The answer of the notification server; once more where the bus was let go of."""
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
