"""A question in a tmux pop-up: a program there asks it, and hands the answer back at a socket of the one that waits.

The answer is in no command line, environment or file.
"""

from __future__ import annotations

import fcntl
import queue
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, NoReturn

from attrs import asdict

from stallkit.daemon import DaemonError
from stallkit.daemon_socket import Progress, Server, listens
from stallkit.daemon_socket import ask as request
from stallkit.errors import TransportUnavailable
from stallkit.probes.procfs import Process
from stallkit_wrap.askpass.dialogue import Question, TerminalLost, ask, drain
from stallkit_wrap.askpass.launcher import python
from stallkit_wrap.askpass.popup import PopUp
from stallkit_wrap.askpass.prompts import file_of

__all__ = ["asked_in", "main"]

LOCK = "pop-up.lock"
CLOSES_S = 2.0  # for a pop-up to close once its program has ended
LOOK_S = 0.1  # between two looks whether the pop-up is still there


def asked_in(
    pop_up: PopUp, folder: Path, question: Question, heading: str, on_asked: Callable[[], object]
) -> bytes | None:
    """The answer that is typed in a pop-up, None where it was closed without one; one question at a time is asked.

    `folder` is a private directory for the socket; `on_asked` is called, in another thread, once the question stands
    there.  Raises TransportError where no pop-up could be shown, OSError for the socket.
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
        with Server(file_of(folder, Process.ours(), "sock"), reply) as server:
            client = pop_up.show([*python("in_popup"), str(server.path)])
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
