"""Claude Code's session file: ``sessions/PID.json`` in its configuration directory, since 2.1.139; undocumented.

It holds the state and, for a session that waits, for what.  The file's pid, the process's start and its pid namespace
have to be those of the process that is asked: a file that another process left, or wrote, does not count.
"""

from __future__ import annotations

from typing import Any, Iterator

from stallkit.core.signal import Guard, Signal
from stallkit.core.signature import Kind, State
from stallkit.signals.own_file import one_line, read_json
from stallkit.signals.publisher import Publisher

__all__ = ["ClaudeSession"]

_STATES = {"idle": State.IDLE, "busy": State.WORKING, "shell": State.IDLE, "waiting": State.WAITING}
_KINDS = {"permission prompt": Kind.PERMISSION, "input needed": Kind.QUESTION}


class ClaudeSession:
    """The signals of Claude Code."""

    name = "claude"
    programs = frozenset({"claude", "claude-code"})

    def read(self, publisher: Publisher, now: float) -> Iterator[Signal]:
        """What the process's session file says, at `now` in seconds of the wall clock."""
        folder = publisher.environ.get("CLAUDE_CONFIG_DIR") or f"{publisher.home}/.claude"
        if not folder.startswith("/"):
            return
        said = read_json(publisher.path(f"{folder}/sessions/{publisher.own_pid}.json"), publisher)
        state = _STATES.get(str(said.get("status"))) if said else None
        if said is None or state is None:
            return
        wants = one_line(said.get("waitingFor"))
        yield Signal(
            source=self.name,
            state=state,
            kind=_KINDS.get(wants) if state is State.WAITING else None,
            app="claude",
            words=wants if state is State.WAITING else "",
            since_s=_ago(said.get("statusUpdatedAt"), now),
            age_s=_ago(said.get("updatedAt"), now),
            guard=Guard.PROCESS,
            pid=publisher.pid,
            stale=_stale(said, publisher),
        )


def _stale(said: dict[str, Any], publisher: Publisher) -> str | None:
    """Why it is not this process's own file; None where it is."""
    if said.get("pid") != publisher.own_pid or str(said.get("procStart")) != str(publisher.started):
        return "another process wrote it"
    domain = str(said.get("pidDomain") or "")
    if not publisher.domain or not domain.endswith(publisher.domain):
        return "it is of another pid namespace"
    return None


def _ago(milliseconds: object, now: float) -> float | None:
    return max(0.0, now - milliseconds / 1000) if isinstance(milliseconds, int | float) else None
