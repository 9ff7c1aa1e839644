"""tmux as a place for notices: a message to each attached client, and a mark on the window that needs somebody.

The mark is the window's option ``@stallkit_needs``, for a format of the status line such as
``#I:#W#F#{?@stallkit_needs, (#{@stallkit_needs}),}``.
"""

from __future__ import annotations

from contextlib import suppress

from stallkit.errors import SessionGone, TransportError
from stallkit.transports.base import Options
from stallkit.transports.tmux.call import Server
from stallkit.transports.tmux.pane import TmuxTransport
from stallkit_supervisor.notify.hooks import CloudEvent
from stallkit_supervisor.notify.notice import CLEARED, SUMMARY, Notice, what_of

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
            return "no mark to take away"
        if window not in self._marked.values():  # another pane of it may still need somebody
            with suppress(SessionGone):
                self._server.run(target, ["set-option", "-wu", "-t", window, MARK])
        return "the mark is taken away"

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
