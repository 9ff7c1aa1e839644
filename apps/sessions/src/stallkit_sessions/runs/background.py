"""The background process of ``stallkit run``: it holds a run and its terminal, and answers at a socket until its end.

It outlives the command that started it.  During a wait, lines of progress come before the answer.  When the run has
ended, its result is a file beside the socket.

dpkg and apt say by their status descriptor what they ask: which configuration file, and who changed it.  They
write a line there when they ask, and another one when they go on; the report ends with that.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
import time
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Callable, Protocol, Sequence

from attrs import evolve, frozen
from stallkit_wrap.askpass.prompts import AskedPrompt, askpass_dir, publish, withdraw

from stallkit.config import event_log
from stallkit.daemon import announce, escape_errors
from stallkit.daemon_socket import Progress, Server
from stallkit.detect.signature import Kind, State
from stallkit.distributions import offered
from stallkit.errors import StoreError
from stallkit.jsonio import dump
from stallkit.press.events import Event, EventLog
from stallkit.press.gate import End
from stallkit.probes.procfs import Process, boot_id
from stallkit.redact.redact import redact, redact_all, redact_words
from stallkit.signals.collect import prompt_line, remove_files
from stallkit.terminal.keys import Keys
from stallkit_sessions.runs.client import KEPT_S, RESULT, SOCKET, save
from stallkit_sessions.runs.run import Run, RunResult
from stallkit_sessions.runs.wait_limits import RunStatus

# dpkg: "status: /etc/x.conf : conffile-prompt : '/etc/x.conf' '/etc/x.conf.dpkg-new' 1 1"; apt hands the last part on,
# behind "pmconffile:/etc/x.conf:50.0000:".
_DPKG = re.compile(r"status: (?P<file>.*?) : conffile-prompt : (?P<rest>.*)")
_APT = re.compile(r"pmconffile:(?P<file>.*?):[\d.]+:(?P<rest>.*)")
_REST = re.compile(r"'(?P<old>.*)' '(?P<new>.*)' (?P<here>[01]) (?P<there>[01])\s*")


@frozen
class ConffilePrompt:
    """A configuration file that dpkg wants a decision on: the one that is there, or the package's."""

    file: str
    old: str
    new: str
    changed_here: bool
    changed_there: bool  # by the package, since the last version

    @classmethod
    def of(cls, line: str) -> ConffilePrompt | None:
        """The prompt that a line of the status descriptor tells of; None for all others.

        >>> ConffilePrompt.of("status: /etc/a : conffile-prompt : '/etc/a' '/etc/a.dpkg-new' 1 1").new
        '/etc/a.dpkg-new'
        """
        line = line.rstrip()
        found = _DPKG.fullmatch(line) or _APT.fullmatch(line)
        rest = _REST.fullmatch(found["rest"]) if found else None
        if found is None or rest is None:
            return None
        return cls(found["file"], rest["old"], rest["new"], rest["here"] == "1", rest["there"] == "1")

    def __str__(self) -> str:
        here = "changed here" if self.changed_here else "not changed here"
        there = "changed by its package" if self.changed_there else "not changed by its package"
        return f"configuration file {self.file!r} ({here}, {there}): {self.old!r}, or {self.new!r}?"


def with_status(command: Sequence[str], descriptor: int) -> list[str] | None:
    """The command of dpkg or apt that writes its status to this descriptor; None for every other one.

    >>> with_status(["apt-get", "install", "x"], 9)
    ['apt-get', '-o', 'APT::Status-Fd=9', 'install', 'x']
    """
    match Path(command[0]).name:
        case "apt" | "apt-get":
            option = ["-o", f"APT::Status-Fd={descriptor}"]
        case "dpkg":
            option = [f"--status-fd={descriptor}"]
        case _:
            return None
    return [command[0], *option, *command[1:]]


class PackageStatus:
    """Reports what dpkg or apt ask, from their start to their end; does nothing for another command.

    Start `command` with `descriptors` open in it, then call `begin`; if it does not start, `close`.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._folder = askpass_dir()
        self._open = [*os.pipe()]
        changed = with_status(command, self._open[1])
        self.command = list(command) if changed is None else changed
        self.descriptors = () if changed is None else (self._open[1],)
        if changed is None:
            self.close()

    def close(self) -> None:
        """The command did not start, or needs none of this."""
        while self._open:
            os.close(self._open.pop())

    def begin(self, pid: int, directory: str) -> None:
        """It runs, with this pid: read its lines in a thread until it ends."""
        if not self._open:
            return
        os.close(self._open.pop())
        reading = self._open.pop()
        process = Process.of(pid) or Process(pid, 0)

        def prompt_of(found: ConffilePrompt) -> AskedPrompt:
            return AskedPrompt(
                who=Path(self.command[0]).name,
                pid=pid,
                prompt=prompt_line(str(found)),
                kind="confirm",
                since=time.time(),
                directory=directory,
                waits=process.pid,
                waits_started=process.started,
                boot=boot_id(),
            )

        threading.Thread(target=self._read, args=(reading, prompt_of), name="package status", daemon=True).start()

    def _read(self, reading: int, prompt_of: Callable[[ConffilePrompt], AskedPrompt]) -> None:
        told: AskedPrompt | None = None
        with os.fdopen(reading, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if told is not None:  # it goes on
                    withdraw(self._folder, told)
                    told = None
                found = ConffilePrompt.of(line)
                if found is not None:
                    told = prompt_of(found)
                    with suppress(OSError):  # what cannot be reported is on the screen nevertheless
                        publish(self._folder, told)
        if told is not None:
            withdraw(self._folder, told)


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
