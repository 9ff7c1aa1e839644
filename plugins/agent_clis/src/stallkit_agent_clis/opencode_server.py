"""OpenCode's own server, if it has one: it listens on loopback only if it was started with ``--port``; documented.

The socket it listens at is its own by the kernel's list, so what answers there is this process.  Only GET is asked.
"""

from __future__ import annotations

import http.client
import json
import secrets
from base64 import b64encode
from pathlib import Path
from typing import Any, Iterator, Sequence

from attrs import frozen

from stallkit.signals import Guard, Kind, Publisher, Signal, State, has_option, listening_ports, one_line, write_own

ANSWER_S = 0.5  # of a server on the same machine
ANSWER_BYTES = 1_000_000  # of an answer that is read
PORTS = 4  # of one process, asked
_WORKS = ("busy", "retry")

# A variable in a command line could be read by everyone on the machine: the shell takes the password from its file.
_WITH_PASSWORD = 'OPENCODE_SERVER_PASSWORD=$(cat "$0") && export OPENCODE_SERVER_PASSWORD && exec "$@"'


class OpenCodeServer:
    """The signals of OpenCode."""

    name = "opencode"
    programs = frozenset({"opencode"})

    def read(self, publisher: Publisher, now: float) -> Iterator[Signal]:
        """What the process's own server says, at `now` in seconds of the wall clock."""
        for port in listening_ports(publisher)[:PORTS]:
            server = _Server(port, _password(publisher))
            sessions = server.get("/session/status")
            if not isinstance(sessions, dict):
                continue  # another server, or one that wants a password
            permissions, questions = server.get("/permission"), server.get("/question")
            if not isinstance(permissions, list):
                continue
            yield _signal(sessions, permissions, questions if isinstance(questions, list) else [], publisher)
            return

    def start_with(self, command: Sequence[str], folder: Path) -> list[str] | None:
        """The command with a server on loopback that wants a password of this start; None for a command of its own."""
        program, *options = command
        of_its_own = any(not word.startswith(("-", ".", "/", "~")) for word in options[:1])  # such as ``run``
        if of_its_own or has_option(options, "--port"):
            return None
        password = folder / "password"
        write_own(password, secrets.token_urlsafe(24))
        return ["sh", "-c", _WITH_PASSWORD, str(password), program, "--port", "0", *options]


def _signal(sessions: dict[str, Any], permissions: list[Any], questions: list[Any], publisher: Publisher) -> Signal:
    fields = _permission(permissions) or _question(questions)
    kind = Kind.PERMISSION if permissions else Kind.QUESTION if questions else None
    states = [one.get("type") for one in sessions.values() if isinstance(one, dict)]
    retries = [one for one in sessions.values() if isinstance(one, dict) and one.get("type") == "retry"]
    state = State.WORKING if any(one in _WORKS for one in states) else State.IDLE
    words = next((text for text in fields.values() if text), "")
    named = [one_line(name) for name in sessions]
    return Signal(
        source="opencode",
        state=State.WAITING if kind else state,
        kind=kind,
        app="opencode",
        words=words or (one_line(retries[0].get("message")) if retries else ""),
        fields=fields,
        error="retry" if retries and not kind else None,
        age_s=0.0,
        guard=Guard.PROCESS,
        pid=publisher.pid,
        session=named[0] or None if len(named) == 1 else None,  # of several, as with subagents, it is unknown which
    )


def _permission(permissions: list[Any]) -> dict[str, str]:
    """What the first of the permissions wants, by the names of `Verdict.request`."""
    asked = next((one for one in permissions if isinstance(one, dict)), {})
    more = asked.get("metadata")
    more = more if isinstance(more, dict) else {}
    patterns = asked.get("patterns")
    named = ", ".join(map(str, patterns)) if isinstance(patterns, list) else ""
    tool = one_line(asked.get("permission"))
    found = {
        "command": one_line(more.get("command")),
        "path": one_line(more.get("filepath") or more.get("filePath") or (named if tool in ("edit", "read") else "")),
        "address": one_line(more.get("url")),
        "tool": tool,
    }
    return {name: text for name, text in found.items() if text}


def _question(questions: list[Any]) -> dict[str, str]:
    asked = next((one for one in questions if isinstance(one, dict)), {}).get("questions")
    first = asked[0] if isinstance(asked, list) and asked and isinstance(asked[0], dict) else {}
    text = one_line(first.get("question"))
    return {"question": text} if text else {}


def _password(publisher: Publisher) -> str:
    """What its own environment names for those who ask its server, as the header wants it; "" for none."""
    password = publisher.environ.get("OPENCODE_SERVER_PASSWORD", "")
    named = f"{publisher.environ.get('OPENCODE_SERVER_USERNAME') or 'opencode'}:{password}"
    return b64encode(named.encode()).decode() if password else ""


@frozen
class _Server:
    """One that listens on this machine."""

    port: int
    password: str

    def get(self, path: str) -> Any:
        """The JSON that it answers; None if it does not."""
        headers = {"Accept": "application/json"}
        if self.password:
            headers["Authorization"] = f"Basic {self.password}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_S)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            data = answer.read(ANSWER_BYTES + 1)
            return json.loads(data) if answer.status == 200 and len(data) <= ANSWER_BYTES else None
        except (OSError, ValueError, RecursionError, http.client.HTTPException):
            return None
        finally:
            connection.close()


SOURCE = OpenCodeServer()
