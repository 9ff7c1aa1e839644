"""A question in a tmux pop-up: over the client that a person looks at, whose keys then go to it and to no pane.

A program there asks it, and hands the answer back at a socket of the one that waits.  The answer is in no command line,
environment or file.
"""

from __future__ import annotations

import fcntl
import os
import queue
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Mapping, NoReturn, Sequence

from attrs import asdict, field, frozen

from stallkit.daemon_socket import DaemonError, Progress, listens
from stallkit.daemon_socket import Server as SocketServer
from stallkit.daemon_socket import ask as request
from stallkit.errors import TransportError, TransportUnavailable
from stallkit.probes.procfs import Process, ancestors, stat_of
from stallkit.probes.readers import Readers, holders, readers, tty_facts
from stallkit.transports.base import Options
from stallkit.transports.tmux.call import Server, not_installed
from stallkit.word_tables import RELAYS
from stallkit_wrap.askpass.dialogue import Question, TerminalLost, ask, drain
from stallkit_wrap.askpass.launcher import python
from stallkit_wrap.askpass.prompts import file_of

_CLIENT = "#{client_readonly} #{client_control_mode} #{session_id} #{client_activity} #{client_name}"
_SIZE = ("-w", "80%", "-h", "50%")
LOCK = "pop-up.lock"
CLOSES_S = 2.0  # for a pop-up to close once its program has ended
LOOK_S = 0.1  # between two looks whether the pop-up is still there


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
        """The error of a pop-up's client that ended; None if tmux did its work."""
        _, said = ended.communicate()
        if not ended.returncode:
            return None
        why = " ".join(said.decode("utf-8", "replace").split()) or f"tmux exited with {ended.returncode}"
        return TransportError(self.server.name, why, "tmux 3.2 and later have pop-ups")


def asked_in(
    pop_up: PopUp, folder: Path, question: Question, heading: str, on_asked: Callable[[], object]
) -> bytes | None:
    """The answer that is typed in a pop-up, None if it was closed without one; one question at a time is asked.

    `folder` is a private directory for the socket; `on_asked` is called, in another thread, once the question
    shows.  Raises TransportError if no pop-up could be shown, OSError for the socket.
    """
    answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    begun: list[bool] = []

    def reply(asked: dict[str, Any], progress: Progress) -> dict[str, Any]:
        match asked["do"]:
            case "question":
                begun.append(True)
                return {**asdict(question), "heading": heading}
            case "asked":
                on_asked()
            case "answer":
                answers.put(str(asked["text"]).encode("utf-8", "surrogateescape"))
        return {}

    with (folder / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tmux shows one pop-up at a time
        with SocketServer(file_of(folder, Process.ours(), "sock"), reply) as server:
            client = pop_up.show([*python("popup"), str(server.path)])
            try:
                answer = _wait(client, answers)
                with suppress(subprocess.TimeoutExpired):
                    client.wait(CLOSES_S)  # before the next question
            finally:
                client.terminate()
                client.wait()
        if answer is None and not begun:
            raise pop_up.complaint(client) or TransportUnavailable(
                f"tmux:{pop_up.pane}", "pop-up", f"another pop-up is open on {pop_up.client}", "close it"
            )
        return answer


def _wait(client: subprocess.Popen[bytes], answers: queue.SimpleQueue[bytes]) -> bytes | None:
    while True:
        ended = client.poll() is not None  # asked first: what it sent before its end is there by now
        with suppress(queue.Empty):
            return answers.get(timeout=LOOK_S)
        if ended:
            return None


def main() -> NoReturn:
    """The program in the pop-up; its argument is the socket of the one that waits."""
    path = Path(sys.argv[1])
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(1))
    with suppress(DaemonError, OSError, KeyboardInterrupt):
        given = request(path, {"do": "question"})
        heading = str(given.pop("heading"))
        terminal = sys.stdin.fileno()
        try:
            typed = ask(
                terminal,
                Question(**given),
                heading,
                lost=lambda: None if listens(path) else "it is over",
                on_asked=lambda: request(path, {"do": "asked"}),
            )
        except TerminalLost:  # it must not close under the hands of who types: the rest would reach the pane
            drain(terminal, "The program that asked has ended.  Nothing is sent: press Enter.")
        else:
            if typed is not None:
                request(path, {"do": "answer", "text": typed.decode("utf-8", "surrogateescape")})
    sys.exit(0)


# --- whether a prompt may be asked at the process's own terminal: only if nobody else reads what is typed there ---


@frozen
class TerminalFacts:
    """What is known of the controlling terminal."""

    there: bool
    ours: bool = False  # our job is in its foreground
    canonical: bool | None = None
    readers: Readers = field(factory=Readers)
    asker: int | None = None  # the pid of the process that called us, and waits for our output
    inside: str | None = None  # the program in a terminal that shows this one, and types into it


def look(descriptor: int | None) -> TerminalFacts:
    """The facts on the controlling terminal, opened by the caller at this descriptor; None: there is none."""
    ours = stat_of(os.getpid())
    if descriptor is None or ours is None or not ours.device:
        return TerminalFacts(there=descriptor is not None)
    return TerminalFacts(
        there=True,
        ours=ours.foreground == ours.group,
        canonical=tty_facts("/dev/tty").canonical,
        readers=readers(ours.device, but={os.getpid()}),
        asker=ours.parent,
        inside=_inside(ours.device),
    )


def refusal(facts: TerminalFacts) -> str | None:
    """Why nothing is asked at this terminal; None if it may be.

    What is unknown counts as a reader, except the process that called us: it waits for our output, unless it is seen to
    read.

    >>> refusal(TerminalFacts(there=False))
    'it has no terminal'
    """
    if not facts.there:
        return "it has no terminal"
    if facts.inside is not None:
        return f"its terminal is one that {facts.inside} holds and types into"
    if facts.readers.known:
        first = facts.readers.known[0]
        return f"{first.name} (pid {first.pid}) reads its terminal"
    doubtful = [one for one in facts.readers.unknown if one.pid != facts.asker]
    if doubtful:
        return f"{doubtful[0].name} (pid {doubtful[0].pid}) may read its terminal"
    if not facts.readers.complete:
        return "who reads its terminal is unknown"
    if not facts.ours:
        return "it is in the background of its terminal"
    if facts.canonical is not True:
        return "its terminal is in raw mode: a program reads single keys there"
    return None


def _inside(device: int) -> str | None:
    """The name of a program above us that holds the master of our terminal while it sits on another one itself.

    A terminal's emulator, tmux and sshd have no terminal, and a relay (script, sudo) hands keys on unseen.
    """
    above = dict(ancestors(os.getpid()))
    for pid in holders(device):
        stat = above.get(pid)
        if stat is not None and stat.device not in (0, device) and stat.name.partition(":")[0] not in RELAYS:
            return stat.name
    return None
