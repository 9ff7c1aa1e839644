"""A check that a supervisor makes for a command: a look of its own at the session, now, with the engine that it has.

The answer is what the command itself would print.  It is refused wherever that is not certain: where the code, the
packs or what is installed changed since the supervisor started, where the command runs with another Python, in another
namespace or with other variables, and where a pattern was left undecided.  The command then looks by itself.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any, Mapping

from stallkit.config import event_log
from stallkit.core.engine import Engine
from stallkit.entry_points import stamp
from stallkit.errors import StallkitError
from stallkit.packs.load import loaded_files
from stallkit.packs.registry import installed_engine
from stallkit.press.check import check_session
from stallkit.press.check_text import printed
from stallkit.press.events import EventLog
from stallkit.process_context import context
from stallkit.transports.base import Options, Transport, open_target
from stallkit.transports.saved import SavedTransport

__all__ = ["ResidentChecks"]

AT_ONCE = 4  # further commands look by themselves


class NotHere(StallkitError):
    """The command has to look by itself; who asks does not tell why."""

    def __init__(self, why: str) -> None:
        super().__init__("check", "by a supervisor", why, "look without it")


class ResidentChecks:
    """Answers ``{"do": "check"}`` of `stallkit.cli.resident`, in any thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._context, self._installed = context(), stamp()
        self._since_ns = time.time_ns()
        self._free = threading.Semaphore(AT_ONCE)

    def __call__(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The lines to print and the status.  Raises NotHere, and what `check_session` raises."""
        if request.get("context") != self._context:
            raise NotHere("it runs in another context")
        if self._engine is not installed_engine() or self._engine.problems:
            raise NotHere("its engine is not that of the installed packs")
        if stamp() != self._installed or _changed_since(self._since_ns):
            raise NotHere("the code or a pack changed")
        if not self._free.acquire(blocking=False):
            raise NotHere("it is busy")
        try:
            return self._check(request)
        finally:
            self._free.release()

    def _check(self, request: Mapping[str, Any]) -> dict[str, Any]:
        options = Options(request.get("socket_name"), request.get("socket_path"))
        transport: Transport
        if request["target"] == "-":
            transport = SavedTransport.of_text(str(request["text"]))
        else:
            transport = open_target(str(request["target"]), options)
        try:
            result = check_session(transport, self._engine, log=EventLog(event_log()), prove=True)
        finally:
            transport.close()
        if result.verdict.detection.undecided:
            raise NotHere("a pattern was not decided here")
        return {"status": str(result.status), "lines": printed(result, bool(request.get("json")))}


def _changed_since(time_ns: int) -> bool:
    """Whether a file that this process was made of is another one by now, so that a new command does other things."""
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())} | loaded_files()
    try:
        return any(Path(name).stat().st_ctime_ns > time_ns for name in files if name)
    except OSError:
        return True
