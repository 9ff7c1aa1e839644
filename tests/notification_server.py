"""A desktop's notification server, for tests: on a real session bus, and it keeps what it was asked to show."""

from __future__ import annotations

import subprocess
import threading
from contextlib import suppress
from typing import Any

from jeepney import HeaderFields, MessageType, new_error, new_method_return
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import Proxy, open_dbus_connection

__all__ = ["NotificationServer", "SessionBus"]

NAME = "org.freedesktop.Notifications"


class SessionBus:
    """A session bus of its own, at `address`."""

    def __init__(self) -> None:
        self._daemon = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._daemon.stdout is not None
        self.address = self._daemon.stdout.readline().strip()

    def end(self) -> None:
        self._daemon.terminate()
        self._daemon.communicate()


class NotificationServer:
    """Answers Notify, CloseNotification and GetCapabilities; `shown` is what a person would see now."""

    def __init__(self, bus: SessionBus, capabilities: tuple[str, ...] = ("body",)) -> None:
        self.shown: dict[int, tuple[str, str, str]] = {}
        self.calls: list[str] = []
        self._capabilities, self._latest = capabilities, 0
        self._bus = open_dbus_connection(bus.address)
        assert Proxy(message_bus, self._bus).RequestName(NAME)[0] == 1
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def dismiss(self, number: int) -> None:
        """A person closes it."""
        del self.shown[number]

    def _serve(self) -> None:
        with suppress(OSError, EOFError):
            while True:
                message = self._bus.receive()
                if message.header.message_type is MessageType.method_call:
                    self._answer(message)

    def _answer(self, message: Any) -> None:
        method, words = message.header.fields[HeaderFields.member], message.body
        self.calls.append(method)
        match method:
            case "GetCapabilities":
                self._bus.send(new_method_return(message, "as", (list(self._capabilities),)))
            case "Notify":
                application, before, _, title, body, *_ = words
                if not before:
                    self._latest += 1
                number = before or self._latest
                self.shown[number] = (application, title, body)
                self._bus.send(new_method_return(message, "u", (number,)))
            case "CloseNotification" if words[0] in self.shown:
                del self.shown[words[0]]
                self._bus.send(new_method_return(message))
            case _:
                self._bus.send(new_error(message, f"{NAME}.Error"))

    def end(self) -> None:
        self._bus.sock.shutdown(2)
        self._thread.join()
        self._bus.close()
