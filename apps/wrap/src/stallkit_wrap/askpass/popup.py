"""A program in a tmux pop-up: over the client that a person looks at, whose keys then go to it and to no pane."""

from __future__ import annotations

import subprocess
from typing import Mapping, Sequence

from attrs import frozen

from stallkit.errors import TransportError, TransportUnavailable
from stallkit.transports.base import Options
from stallkit.transports.tmux.call import Server, not_installed

__all__ = ["PopUp"]

_CLIENT = "#{client_readonly} #{client_control_mode} #{session_id} #{client_activity} #{client_name}"
_SIZE = ("-w", "80%", "-h", "50%")


@frozen
class PopUp:
    """Where a pop-up can be shown: a client of the tmux server in which the caller runs."""

    server: Server
    pane: str
    client: str

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> PopUp:
        """The client that was used last, of those attached to the pane's own session if there are any.

        `environment` is that of a program in a pane.  A client that is read-only or in control mode shows none.  Raises
        TransportUnavailable where the program is not in tmux, or no client is attached, and other TransportErrors.
        """
        socket, pane = environment.get("TMUX", "").partition(",")[0], environment.get("TMUX_PANE", "")
        if not socket or not pane:
            raise TransportUnavailable("tmux", "tmux", "it does not run in tmux", "start it in tmux")
        server = Server(Options(tmux_socket_path=socket))
        target = f"tmux:{pane}"
        session = server.run(target, ["display-message", "-p", "-t", pane, "#{session_id}"]).strip()
        found: list[tuple[bool, int, str]] = []
        for line in server.run(target, ["list-clients", "-F", _CLIENT]).splitlines():
            words = line.split(" ", 4)
            if len(words) == 5 and words[:2] == ["0", "0"] and words[3].isdecimal():
                found.append((words[2] == session, int(words[3]), words[4]))
        if not found:
            raise TransportUnavailable(target, "client", "no tmux client is attached", "attach one: tmux attach")
        return cls(server, pane, max(found)[2])

    def show(self, words: Sequence[str]) -> subprocess.Popen[bytes]:
        """Run a program (two words at least, no shell) in a pop-up that closes when it ends.

        The process returned is tmux's client, which ends when the pop-up is closed, by whomever, or at once where
        another pop-up is open: tmux shows one at a time, and says nothing of it.  Raises TransportUnavailable.
        """
        command = ["display-popup", "-E", "-c", self.client, "-t", self.pane, *_SIZE, *words]
        try:
            return subprocess.Popen(
                [*self.server.client, *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise not_installed(self.server.name, error) from error

    def complaint(self, ended: subprocess.Popen[bytes]) -> TransportError | None:
        """The error of a pop-up's client that ended; None where tmux did as it was told."""
        _, said = ended.communicate()
        if not ended.returncode:
            return None
        why = " ".join(said.decode("utf-8", "replace").split()) or f"tmux exited with {ended.returncode}"
        return TransportError(self.server.name, why, "tmux 3.2 and later have pop-ups")
