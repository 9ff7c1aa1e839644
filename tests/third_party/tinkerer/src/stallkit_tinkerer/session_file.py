"""tinkerer's session file, ``sessions/PID.json`` in ``~/.tinkerer``: what it does, and what it asks for."""

from __future__ import annotations

from typing import Iterator

from stallkit.signals import Guard, Kind, Publisher, Signal, State, one_line, read_json

_STATES = {"ready": State.IDLE, "busy": State.WORKING, "rests": State.QUOTA, "asks": State.WAITING}
_KINDS = {"permission": Kind.PERMISSION, "question": Kind.QUESTION}
_FIELDS = {"permission": "command", "question": "question"}  # by what it wants: as its dialog names it


class SessionFile:
    """The signals of tinkerer."""

    name = "tinkerer"
    programs = frozenset({"tinkerer"})

    def read(self, publisher: Publisher, now: float) -> Iterator[Signal]:
        """What the process's own session file says, at `now` in seconds of the wall clock."""
        folder = f"{publisher.home}/.tinkerer/sessions"
        said = read_json(publisher.path(f"{folder}/{publisher.own_pid}.json"), publisher)
        state = _STATES.get(str(said.get("status"))) if said else None
        if said is None or state is None:
            return
        wants, words, at = str(said.get("wants")), one_line(said.get("words")), said.get("at")
        own = (said.get("pid"), str(said.get("started"))) == (publisher.own_pid, str(publisher.started))
        yield Signal(
            source=self.name,
            state=state,
            kind=_KINDS.get(wants),
            app="tinkerer",
            words=words,
            fields={_FIELDS.get(wants, "message"): words} if words else {},
            error=one_line(said.get("failed")) or None,
            since_s=max(0.0, now - at) if isinstance(at, int | float) else None,
            guard=Guard.PROCESS,
            pid=publisher.pid,
            session=one_line(said.get("session")) or None,
            stale=None if own else "another process wrote it",
        )


SOURCE = SessionFile()
