"""Claude Code's session file: ``sessions/PID.json`` in its configuration directory, since 2.1.139; undocumented.

It holds the state and, for a session that waits, for what.  The file's pid and the process's start, and its pid
namespace if it names one, have to be those of the process that is asked: a file that another process left, or wrote,
does not count.  If stallkit started it with hooks (`hooks`), they bring what is asked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator, Sequence

from stallkit.signals import Guard, Kind, Publisher, Signal, State, has_option, one_line, read_json
from stallkit_claude_code.hooks import Hook, last_hook, settings_in

_STATES = {"idle": State.IDLE, "busy": State.WORKING, "shell": State.IDLE, "waiting": State.WAITING}
LAG_S = 3.0  # of the file behind a hook: 0.3 to 0.8 s were measured
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
        hook = last_hook(publisher)
        if said is not None and state is not None:
            yield self._file(said, state, hook, publisher, now)
        stale = _changed(said, hook) if said and state is not State.WAITING else None
        if hook is not None and hook.waits and state in (State.IDLE, State.WORKING):  # the file follows, or went on
            yield Signal(
                source="claude-hook",
                state=State.WAITING,
                kind=hook.kind,
                app="claude",
                words=hook.words,
                fields=hook.fields,
                since_s=max(0.0, now - hook.at),
                age_s=max(0.0, now - hook.at),
                guard=Guard.PROCESS,
                pid=publisher.pid,
                stale=stale,
            )

    def start_with(self, command: Sequence[str], folder: Path) -> list[str] | None:
        """The command with hooks for this start, which Claude Code adds to the user's own settings."""
        if has_option(command, "--settings"):
            return None
        return [command[0], "--settings", str(settings_in(folder)), *command[1:]]

    def _file(self, said: dict[str, Any], state: State, hook: Hook | None, publisher: Publisher, now: float) -> Signal:
        """The state that the session file says, with the words of the hook that belongs to it."""
        waits = state is State.WAITING
        wants = one_line(said.get("waitingFor")) if waits else ""
        if hook is not None and (hook.waits is not waits or state is State.WORKING or _changed(said, hook, LAG_S)):
            hook = None
        return Signal(
            source=self.name,
            state=state,
            kind=_KINDS.get(wants),
            app="claude",
            words=(hook.words if hook and (_KINDS.get(wants) or not waits) else "") or wants,
            fields=hook.fields if hook and _KINDS.get(wants) else {},
            error=hook.error if hook else None,
            since_s=_ago(said.get("statusUpdatedAt"), now),
            age_s=_ago(said.get("updatedAt"), now),
            guard=Guard.PROCESS,
            pid=publisher.pid,
            session=one_line(said.get("sessionId")) or None,
            stale=_stale(said, publisher),
        )


def _changed(said: dict[str, Any], hook: Hook | None, lag_s: float = 0.0) -> str | None:
    """Whether the file's status is later than the hook, in words; a hook runs up to `lag_s` before the file follows."""
    changed = said.get("statusUpdatedAt")
    later = hook is not None and isinstance(changed, int | float) and changed / 1000 > hook.at + lag_s
    return "its session file has changed since" if later else None


def _stale(said: dict[str, Any], publisher: Publisher) -> str | None:
    """Why it is not known for this process's own file; None if it is: by pid and start.

    A pid namespace that one of both does not tell is unknown, and none other: earlier versions name none.
    """
    if said.get("procStart") is None:
        return "it does not say when its process started"
    if said.get("pid") != publisher.own_pid or str(said["procStart"]) != str(publisher.started):
        return "another process wrote it"
    domain = str(said.get("pidDomain") or "")
    if domain and publisher.domain and not domain.endswith(publisher.domain):
        return "it is of another pid namespace"
    return None


def _ago(milliseconds: object, now: float) -> float | None:
    return max(0.0, now - milliseconds / 1000) if isinstance(milliseconds, int | float) else None


SOURCE = ClaudeSession()
