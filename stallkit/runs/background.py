"""The process behind ``stallkit run``: it holds a run and its terminal, and answers at a socket, until the run ends.

It outlives the command that started it.  One line of JSON is one request, and one connection carries one; while a wait
lasts, lines of progress come before the answer.  When the run ended, its result is a file beside the socket.
"""

from __future__ import annotations

import json
import os
import signal
import socketserver
import sys
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Callable, Sequence

from attrs import evolve

from stallkit.config import event_log
from stallkit.core.keys import Keys
from stallkit.core.redact import redact_all
from stallkit.errors import StoreError
from stallkit.notify.sinks import Outlet, outlets
from stallkit.press.events import Event, EventLog
from stallkit.runs.client import MAX_REQUEST, RESULT, SOCKET, save, told
from stallkit.runs.run import Run
from stallkit.transports.base import DEADLINE_S

__all__ = ["main"]

# For a command or a webhook to hear of a run that does not start: whoever asked for it waits so long to be told.
PARTING_S = 5.0
POLL_S = 0.1  # how soon the server notices that the run ended


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = False  # whoever waits is answered before the keeper ends
    request_queue_size = 128  # or one of many who ask at once would be turned away
    run: Run

    def __init__(self, path: Path) -> None:
        before = os.umask(0o077)  # for the socket alone: the program has its caller's
        try:
            super().__init__(str(path), _Handler)
        finally:
            os.umask(before)


class _Handler(socketserver.StreamRequestHandler):
    timeout = DEADLINE_S  # for one who connects and says nothing: the keeper's end waits for all handlers
    server: _Server

    def handle(self) -> None:
        with suppress(OSError):  # whoever asked has gone
            try:
                said = self._do(json.loads(self.rfile.readline(MAX_REQUEST)))
            except OSError:
                raise
            except Exception as error:  # garbage, or what cannot be done: whoever asked is told
                said = {"error": getattr(error, "why", None) or f"{type(error).__name__}: {error}"}
            self._say(said)

    def _do(self, request: dict[str, Any]) -> dict[str, Any]:
        run = self.server.run
        match request["do"]:
            case "poll":
                return run.poll().describe()
            case "wait":
                limits = {name: request.get(name) for name in ("window", "timeout")}
                progress = self._progress if request.get("progress") else None
                return run.wait(**limits, kill=bool(request.get("kill")), on_progress=progress).describe()
            case "answer":
                given = Keys.parse(request["keys"]) if "keys" in request else str(request["text"])
                outcome = run.answer(given, secret=bool(request.get("secret")), seen=request.get("seen"))
                return {"end": str(outcome.end), "why": outcome.why, "pressed": outcome.pressed}
            case "stop":
                return run.stop().describe()
        raise ValueError(f"unknown request {request['do']!r}")

    def _progress(self, seconds: float, line: str) -> None:
        self._say({"progress": {"seconds": seconds, "line": line}})

    def _say(self, value: dict[str, Any]) -> None:
        self.wfile.write(json.dumps(redact_all(value)).encode() + b"\n")


def main() -> int:
    """Start the run that standard input describes, say so, and keep it until its end."""
    folder = Path(sys.argv[1])
    wanted: dict[str, Any] = json.load(sys.stdin)
    events: dict[str, str] = wanted.pop("events", None) or {}
    with ExitStack() as stack:
        handed = outlets(stack, events.get("exec"), events.get("webhook"), _complain)
        return _keep(folder, wanted, handed, _telling(f"run:{folder.name}", handed, events.get("file")))


def _telling(target: str, handed: Sequence[Outlet], file: str | None) -> Callable[[Event], None]:
    """What takes each event of the run; raises StoreError where it cannot be logged, but hands it on all the same."""
    log = EventLog(event_log(Path(file).expanduser() if file else None))

    def tell(event: Event) -> None:
        event = evolve(event, target=target)
        for outlet in handed:
            outlet(event)
        log.write(event)

    return tell


def _complain(said: str) -> None:
    print(f"stallkit: {said}", file=sys.stderr, flush=True)


def _keep(folder: Path, wanted: dict[str, Any], handed: Sequence[Outlet], tell: Callable[[Event], None]) -> int:
    try:
        tell(Event("run_started", "", {"command": told(wanted["command"])}))  # before any other of its events
        server = _Server(folder / SOCKET)
        run = server.run = Run.start(**wanted, name=folder.name, on_event=tell)
    except Exception as error:
        why = getattr(error, "why", None) or str(error)
        with suppress(StoreError):
            tell(Event("run_ended", "", {"exit_status": None, "signal": None, "why": why}))
        for outlet in handed:
            outlet.close(PARTING_S)
        print(json.dumps({"error": why}), flush=True)
        return 1
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: run.stop())
    print(json.dumps({"ready": True}), flush=True)
    sys.stdout.close()  # who started it waits for nothing more
    serving = threading.Thread(target=server.serve_forever, args=(POLL_S,))
    serving.start()
    try:
        save(folder, RESULT, run.join().describe())
    finally:  # a full disk must not keep it
        server.shutdown()
        serving.join()
        server.server_close()
        (folder / SOCKET).unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
