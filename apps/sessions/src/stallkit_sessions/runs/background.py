"""The background process of ``stallkit run``: it holds a run and its terminal, and answers at a socket until its end.

It outlives the command that started it.  During a wait, lines of progress come before the answer.  When the run has
ended, its result is a file beside the socket.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Callable, Protocol

from attrs import evolve

from stallkit.config import event_log
from stallkit.daemon import announce, escape_errors
from stallkit.daemon_socket import Progress, Server
from stallkit.detect.signature import Kind, State
from stallkit.distributions import offered
from stallkit.errors import StoreError
from stallkit.jsonio import dump
from stallkit.press.events import Event, EventLog
from stallkit.press.gate import End
from stallkit.redact.redact import redact, redact_all, redact_words
from stallkit.signals.collect import remove_files
from stallkit.terminal.keys import Keys
from stallkit_sessions.runs.client import KEPT_S, RESULT, SOCKET, save
from stallkit_sessions.runs.package_status import PackageStatus
from stallkit_sessions.runs.run import Run, RunResult
from stallkit_sessions.runs.wait_limits import RunStatus

# For a command or a webhook to take the event of a run that does not start: the starting command waits this long.
PARTING_S = 5.0
AGAIN_S = 1.0  # between two looks whether it is abandoned


class Outlet(Protocol):
    """Tells other places of events; the supervisor's distribution offers one."""

    def __call__(self, event: Event) -> None: ...

    def close(self, timeout_s: float) -> None:
        """Wait so long for what is on its way."""
        ...


class _Background:
    """Answers the clients' requests; one that comes before the run has started waits for it."""

    def __init__(self) -> None:
        self.started: Future[Run] = Future()
        self._callers, self._left_at = 0, time.monotonic()

    @property
    def alone_s(self) -> float:
        """Seconds since a caller last asked anything; 0 while one waits for its answer."""
        return 0.0 if self._callers else time.monotonic() - self._left_at

    def answer(self, request: dict[str, Any], progress: Progress) -> dict[str, Any]:
        """The answer to a request, without secrets."""
        self._callers += 1
        try:
            run = self.started.result()

            def report(seconds: float, line: str) -> None:
                progress(redact_all({"seconds": seconds, "line": line}))

            result: dict[str, Any] = redact_all(_do(run, request, report if request.get("progress") else None))
        finally:
            self._callers, self._left_at = self._callers - 1, time.monotonic()
        return result


def _do(run: Run, request: dict[str, Any], report: Callable[[float, str], None] | None) -> dict[str, Any]:
    match request["do"]:
        case "poll":
            return _plain(run.poll())
        case "wait":
            # Clients of this version and of the previous one send `window` and `timeout`.
            limits = {f"{name}_s": request.get(f"{name}_s", request.get(name)) for name in ("window", "timeout")}
            return _plain(run.wait(**limits, kill=bool(request.get("kill")), on_progress=report))
        case "answer":
            given = Keys.parse(request["keys"]) if "keys" in request else str(request["text"])
            try:
                outcome = run.answer(given, secret=bool(request.get("secret")), seen=request.get("seen"))
            except ValueError as error:
                return {"end": str(End.REFUSED), "why": str(error), "pressed": False}
            return {"end": str(outcome.end), "why": outcome.why, "pressed": outcome.pressed}
        case "stop":
            return _plain(run.stop())
    raise ValueError(f"unknown request {request['do']!r}")


def _plain(result: RunResult) -> dict[str, Any]:
    """A result as plain values, with the commands that continue it from any terminal."""
    return dump(evolve(result, next=_next(result)))


def _next(result: RunResult) -> dict[str, str | None] | None:
    """The commands that can follow; None for a run that ended, and no `answer` where it seems to ask nothing."""
    if result.status == RunStatus.EXITED:
        return None
    attach = f"stallkit attach {result.snapshot.target.removeprefix('pty:')}"
    asks = result.status in (RunStatus.WAITING, RunStatus.MAYBE) and result.verdict.state != State.WORKING
    how = "--secret" if result.verdict.kind == Kind.SECRET else "--answer TEXT"
    return {
        "answer": f"{attach} {how}" if asks else None,
        "wait": f"{attach} --wait",
        "poll": attach,
        "stop": f"{attach} --stop",
    }


def main() -> int:
    """Start the run that standard input describes, announce it, and stay until its end."""
    escape_errors()
    folder = Path(sys.argv[1])
    options: dict[str, Any] = json.load(sys.stdin)
    events: dict[str, Any] = options.pop("events", None) or {}

    def complain(message: str) -> None:
        print(f"stallkit: {redact(message)}", file=sys.stderr, flush=True)

    with ExitStack() as stack:
        file = events.pop("file", None)
        open_outlet = offered("run_outlet") if events else None
        notifier = open_outlet(stack, events, complain) if open_outlet else None
        return _run(folder, options, notifier, _event_writer(f"run:{folder.name}", notifier, file))


def _event_writer(target: str, notifier: Outlet | None, file: str | None) -> Callable[[Event], None]:
    """A function that takes each event of the run; it raises StoreError where the event reached only the notifier."""
    log = EventLog(event_log(Path(file).expanduser() if file else None))

    def tell(event: Event) -> None:
        event = evolve(event, target=target)
        if notifier is not None:
            notifier(event)
        log.write(event)

    return tell


def _run(folder: Path, options: dict[str, Any], notifier: Outlet | None, tell: Callable[[Event], None]) -> int:
    background = _Background()
    try:
        tell(Event("run_started", "", {"command": redact_words(options["command"])}))  # before any other of its events
        server = Server(folder / SOCKET, background.answer)
    except Exception as error:
        return _not_started(error, notifier, tell)
    with server:  # closed with the run, even if its result cannot be written
        abandoned_s = options.pop("abandoned_s", KEPT_S)
        status = PackageStatus(options["command"]) if options.pop("askpass", False) else None
        try:
            if status is not None:
                options |= {"command": status.command, "pass_fds": status.descriptors}
            run = Run.start(**options, name=folder.name, on_event=tell)
            if status is not None:
                status.begin(run.pid, str(options.get("cwd") or Path.cwd()))
        except Exception as error:
            if status is not None:
                status.close()
            background.started.set_exception(error)
            return _not_started(error, notifier, tell)
        background.started.set_result(run)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: run.stop())
        announce(ready=True)
        while not run.over(AGAIN_S):
            if background.alone_s > abandoned_s:
                run.stop()
        ended = run.join()
        remove_files(folder.name)
        save(folder, RESULT, dump(ended))
    return 0


def _not_started(error: Exception, notifier: Outlet | None, tell: Callable[[Event], None]) -> int:
    why = getattr(error, "why", None) or str(error)
    with suppress(StoreError):
        tell(Event("run_ended", "", {"exit_status": None, "signal": None, "why": why}))
    if notifier is not None:
        notifier.close(PARTING_S)
    announce(error=why)
    return 1


if __name__ == "__main__":
    sys.exit(main())
