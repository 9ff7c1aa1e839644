"""A supervisor answers at a socket of its own: what its sessions do, the verdict on one, and each event as it happens.

Requests are those of `daemon_socket`, one a connection:

* ``{"do": "status"}``: its process, policy and summary, and each session.
* ``{"do": "verdict", "target": TARGET}``: the verdict of the last look at one, with its signals.
* ``{"do": "events"}``: each event from now on, as a line ``{"progress": EVENT}``, until the client leaves.  If
  nothing happens, ``{"progress": null}`` comes every few seconds; at its end ``{"over": true}``.

Commands ask all supervisors that run, each at its socket in the state directory:

    for event in events(sockets()[0]):
        print(event["event"], event["target"])
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import threading
import time
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, AsyncIterator, Callable, Iterator

from stallkit import private
from stallkit.config import state_dir
from stallkit.daemon_socket import DaemonGone, DaemonRefused, DaemonSilent, Progress, Server, ask, stream
from stallkit.errors import StallkitError
from stallkit.jsonio import dump, unstructure
from stallkit.jsonlog import encode
from stallkit.press.events import Event
from stallkit.probes.procfs import Process
from stallkit.terminal.text import escaped
from stallkit_supervisor.supervisor import Supervisor
from stallkit_supervisor.watched import Watched

# --- the server ---

SUBSCRIBERS = 32  # clients at once that get events, each by a thread
HELD = 1_000  # events that wait for a client
ALIVE_S = 5.0  # between two lines to a client: who has gone is noticed then
ANSWER_S = 5.0  # for the supervisor's loop to answer


class NotAnswered(StallkitError):
    """A request that cannot be answered."""


_Subscriber = queue.SimpleQueue[dict[str, Any] | NotAnswered | None]  # the events of one client; None: they are over


class _Answers:
    """What a supervisor answers; called by the socket's threads, while the supervisor's loop runs."""

    def __init__(self, supervisor: Supervisor, held: int, alive_s: float) -> None:
        self._supervisor, self._held, self._alive_s = supervisor, held, alive_s
        self._loop = asyncio.get_running_loop()
        self._since = time.time()
        self._lock = threading.Lock()
        self._subscribers: set[_Subscriber] = set()
        self._over = False

    def __call__(self, request: dict[str, Any], progress: Progress) -> dict[str, Any]:
        match request.get("do"):
            case "status":
                return self._in_loop(self._status)
            case "verdict":
                return self._in_loop(partial(self._verdict, str(request.get("target"))))
            case "events":
                return self._events(progress)
            case other:
                raise NotAnswered("request", "", f"unknown request {other!r}", "ask status, verdict or events")

    def said(self, event: Event) -> None:
        """Pass an event on; the supervisor's hook, which never waits."""
        with self._lock:
            line = dump(event) if self._subscribers else {}
            for one in [*self._subscribers]:
                if one.qsize() < self._held:
                    one.put(line)
                else:
                    one.put(NotAnswered("events", "", "it read too slowly, and events were lost", "subscribe again"))
                    self._subscribers.discard(one)

    def end(self) -> None:
        """No more events come."""
        with self._lock:
            self._over = True
            for one in self._subscribers:
                one.put(None)

    def _events(self, progress: Progress) -> dict[str, Any]:
        subscriber = _Subscriber()
        with self._lock:
            if self._over or len(self._subscribers) >= SUBSCRIBERS:
                why = "it is ending" if self._over else f"{SUBSCRIBERS} clients get its events already"
                raise NotAnswered("events", "", why, "try again later")
            self._subscribers.add(subscriber)
        try:
            progress(None)  # from here on nothing is missed
            while True:
                try:
                    event = subscriber.get(timeout=self._alive_s)
                except queue.Empty:
                    progress(None)
                    continue
                if event is None:
                    return {"over": True}
                if isinstance(event, NotAnswered):
                    raise event
                progress(event)
        finally:
            with self._lock:
                self._subscribers.discard(subscriber)

    def _in_loop(self, answer: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The answer, made between two steps of the supervisor."""

        async def made() -> dict[str, Any]:
            return answer()

        values = asyncio.run_coroutine_threadsafe(made(), self._loop).result(ANSWER_S)
        redacted: dict[str, Any] = json.loads(encode(values))
        return redacted

    def _status(self) -> dict[str, Any]:
        supervisor = self._supervisor
        return {
            "version": 1,
            "pid": os.getpid(),
            "since": self._since,
            "policy": supervisor.config.policy.name,
            "summary": supervisor.summary,
            "short": escaped(supervisor.summary),  # the line of `status --short`
            "servers": supervisor.servers,
            "sessions": [self._row(watched) for watched in supervisor.sessions.values()],
        }

    def _verdict(self, target: str) -> dict[str, Any]:
        watched = self._supervisor.sessions.get(target)
        if watched is None:
            raise NotAnswered("verdict", target, "it is not watched here", "stallkit status lists what is")
        said = unstructure(watched.verdict) if watched.verdict else None
        return {"version": 1, "session": self._row(watched), "verdict": said}

    def _row(self, watched: Watched) -> dict[str, Any]:
        ago = self._supervisor.since_look(watched)
        seen_at = None if ago is None else time.time() - ago
        return {"target": watched.target, **watched.as_object(), "need": watched.need, "seen_at": seen_at}


@asynccontextmanager
async def answering(
    supervisor: Supervisor,
    tell: Callable[[str], None],
    folder: Path | None = None,
    held: int = HELD,
    alive_s: float = ALIVE_S,
) -> AsyncIterator[Path | None]:
    """Answer for this supervisor while the context lasts; the socket's path, None if it could not be made.

    It is in the state directory; `tell` is called with why it could not be made.  Enter it before the supervisor.
    """
    folder = folder or state_dir()
    answers = _Answers(supervisor, held, alive_s)
    try:
        private.folder(folder)
        remove_dead(folder)
        server = await asyncio.to_thread(Server, own_socket(folder), answers)
    except OSError as error:
        tell(f"no socket for status and events in {folder}: {error.strerror or error}; it watches all the same")
        yield None
        return
    supervisor.subscribe(answers.said)
    try:
        yield server.path
    finally:
        supervisor.unsubscribe(answers.said)
        answers.end()
        await asyncio.to_thread(server.close)


# --- the client ---

CLIENT_S = 2.0
LINE_S = 20.0  # between two lines of events: four times as long as a supervisor is silent


def own_socket(folder: Path) -> Path:
    """The path of this process's socket."""
    return folder / f"supervisor-{os.getpid()}.sock"


def sockets(folder: Path | None = None) -> list[Path]:
    """The sockets of all supervisors, also of those that were killed."""
    return sorted((folder or state_dir()).glob("supervisor-*.sock"))


def remove_dead(folder: Path | None = None) -> bool:
    """Remove the sockets of supervisors that were killed; whether there were any."""
    dead = [path for path in sockets(folder) if _ended(path)]
    for path in dead:
        path.unlink(missing_ok=True)
    return bool(dead)


def statuses(folder: Path | None = None, answer_s: float = CLIENT_S) -> list[dict[str, Any]]:
    """What each running supervisor says of itself and its sessions.

    Raises DaemonSilent if one does not answer within `answer_s` seconds.
    """
    found = []
    for path in sockets(folder):
        with suppress(DaemonGone):
            found.append(ask(path, {"do": "status"}, answer_s))
    return found


def verdict(target: str, folder: Path | None = None, answer_s: float = CLIENT_S) -> dict[str, Any] | None:
    """The verdict of the last look at a session, by the first supervisor that watches it; None if none does."""
    for path in sockets(folder):
        with suppress(DaemonGone, DaemonRefused, DaemonSilent):
            return ask(path, {"do": "verdict", "target": target}, answer_s)
    return None


def events(path: Path, line_s: float = LINE_S) -> Iterator[dict[str, Any]]:
    """Each event of the supervisor at a socket from now on, as in its log, until it ends.

    Raises DaemonGone if it was killed, DaemonSilent if it hangs, DaemonRefused if this client read too slowly.
    """
    for line in stream(path, {"do": "events"}, line_s):
        event = line.get("progress")
        if event is not None:
            yield event


def _ended(path: Path) -> bool:
    pid = path.stem.partition("-")[2]
    return not pid.isdecimal() or Process.of(int(pid)) is None
