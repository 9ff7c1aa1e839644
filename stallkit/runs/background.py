"""The background process of ``stallkit run``: it holds a run and its terminal, and answers at a socket, until it ends.

It outlives the command that started it.  While a wait lasts, lines of progress come before the answer.  When the run
ended, its result is a file beside the socket.
"""

from __future__ import annotations

import json
import signal
import sys
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, Callable, Sequence

from attrs import evolve

from stallkit.config import event_log
from stallkit.core.keys import Keys
from stallkit.core.redact import redact_all
from stallkit.daemon import announce
from stallkit.daemon_socket import Progress, Server
from stallkit.errors import StoreError
from stallkit.notify.sinks import Outlet, outlets
from stallkit.press.events import Event, EventLog
from stallkit.runs.client import RESULT, SOCKET, save, told
from stallkit.runs.run import Run

__all__ = ["main"]

# For a command or a webhook to hear of a run that does not start: the command that asked for it waits so long.
PARTING_S = 5.0


class _Background:
    """The run, as its clients ask for it; what comes before it is started waits for that."""

    def __init__(self) -> None:
        self.started: Future[Run] = Future()

    def answer(self, request: dict[str, Any], progress: Progress) -> dict[str, Any]:
        """What to answer to a request, without secrets."""
        run = self.started.result()
        reported = partial(_report, progress) if request.get("progress") else None
        answered: dict[str, Any] = redact_all(_do(run, request, reported))
        return answered


def _do(run: Run, request: dict[str, Any], report: Callable[[float, str], None] | None) -> dict[str, Any]:
    match request["do"]:
        case "poll":
            return run.poll().describe()
        case "wait":
            # The clients of this version and of the one before say `window` and `timeout`.
            limits = {f"{name}_s": request.get(f"{name}_s", request.get(name)) for name in ("window", "timeout")}
            return run.wait(**limits, kill=bool(request.get("kill")), on_progress=report).describe()
        case "answer":
            given = Keys.parse(request["keys"]) if "keys" in request else str(request["text"])
            outcome = run.answer(given, secret=bool(request.get("secret")), seen=request.get("seen"))
            return {"end": str(outcome.end), "why": outcome.why, "pressed": outcome.pressed}
        case "stop":
            return run.stop().describe()
    raise ValueError(f"unknown request {request['do']!r}")


def _report(progress: Progress, seconds: float, line: str) -> None:
    progress(redact_all({"seconds": seconds, "line": line}))


def main() -> int:
    """Start the run that standard input describes, say so, and stay until its end."""
    folder = Path(sys.argv[1])
    wanted: dict[str, Any] = json.load(sys.stdin)
    events: dict[str, str] = wanted.pop("events", None) or {}
    with ExitStack() as stack:
        handed = outlets(stack, events.get("exec"), events.get("webhook"), _complain)
        return _run(folder, wanted, handed, _telling(f"run:{folder.name}", handed, events.get("file")))


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


def _run(folder: Path, wanted: dict[str, Any], handed: Sequence[Outlet], tell: Callable[[Event], None]) -> int:
    background = _Background()
    try:
        tell(Event("run_started", "", {"command": told(wanted["command"])}))  # before any other of its events
        server = Server(folder / SOCKET, background.answer)
    except Exception as error:
        return _not_started(error, handed, tell)
    with server:  # which ends with the run, also where a full disk has no room for its result
        try:
            run = Run.start(**wanted, name=folder.name, on_event=tell)
        except Exception as error:
            background.started.set_exception(error)
            return _not_started(error, handed, tell)
        background.started.set_result(run)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: run.stop())
        announce(ready=True)
        save(folder, RESULT, run.join().describe())
    return 0


def _not_started(error: Exception, handed: Sequence[Outlet], tell: Callable[[Event], None]) -> int:
    why = getattr(error, "why", None) or str(error)
    with suppress(StoreError):
        tell(Event("run_ended", "", {"exit_status": None, "signal": None, "why": why}))
    for outlet in handed:
        outlet.close(PARTING_S)
    announce(error=why)
    return 1


if __name__ == "__main__":
    sys.exit(main())
