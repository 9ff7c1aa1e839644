"""Sandboxes as manifests describe them, for tests: in a real bubblewrap, with a state directory of their own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from machine_room import PROGRAMS, missing
from stallkit_operator.item import Delivery, Item
from stallkit_operator.queue import Queue
from stallkit_operator.sandbox.sandbox_start import Start, start_sandbox
from stallkit_operator.sandbox.sandboxes import Sandbox, Sandboxes
from started import House
from terminals import wait_for

from stallkit.errors import TransportError
from stallkit.sessions.model import Session
from stallkit.transports.base import Options, Transport
from stallkit.transports.containers.runtime_call import BWRAP, call
from stallkit.transports.targets import open_target

FOREVER = ["sh", "-c", "echo ready; while :; do sleep 1; done"]


def need_bwrap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put bubblewrap on the path, or skip."""
    if why := missing("bwrap"):
        pytest.skip(why)
    monkeypatch.setenv("PATH", f"{PROGRAMS}:{os.environ['PATH']}")
    try:
        call([BWRAP, "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "--", "true"], BWRAP)
    except TransportError as error:  # the kernel forbids its namespaces
        pytest.skip(str(error))


def manifest(directory: Path, *lines: str, name: str = "web", command: list[str] | None = None, **more: Any) -> str:
    """The text of a manifest for bubblewrap."""
    given = {"name": name, "engine": "bwrap", "command": command or FOREVER, "directory": str(directory), **more}
    rows = [f"{key} = {json.dumps(value)}" for key, value in given.items() if value is not None]
    return "\n".join([*rows, *lines, ""])


def start(sandboxes: Sandboxes, house: House, text: str, **more: object) -> tuple[Sandbox, Session]:
    how = Start("ada", tmux_socket_path=str(house.socket), size=(100, 50), **more)  # type: ignore[arg-type]
    return start_sandbox(sandboxes, text, "web.toml", how)


def pane(house: House, session: Session) -> Transport:
    return open_target(f"tmux:{session.name}", Options(tmux_socket_path=str(house.socket)))


def shows(transport: Transport, text: str) -> str:
    seen: list[str] = []

    def there() -> bool:
        seen.append(transport.capture().screen.text)
        return text in seen[-1]

    wait_for(there, f"{text!r}, it shows {seen[-1:]}")
    return seen[-1]


def start_agent(sandboxes: Sandboxes, house: House, draft: str = "", interactive: bool = True, **more: Any) -> Session:
    """An agent at its composer, in which the draft stands; what it gets goes to ``heard`` in its directory."""
    agent = house.folder / "agent"
    agent.write_text("#!/usr/bin/python3\n" + (Path(__file__).parent / "press" / "agent_program.py").read_text())
    agent.chmod(0o755)
    command = ["/opt/stallkit-tools/agent", "/run/stallkit/heard", draft]
    text = manifest(house.work, command=command, tools=[str(agent)], interactive=interactive)
    _, session = start(sandboxes, house, text, **more)
    shows(pane(house, session), "ready")
    return session


def hooked(queue: Queue, number: int) -> Item:
    """A notice that a hook filed."""
    return queue.notify("web", f"denied-{number:04}", "a tool call was denied: Bash", delivery=Delivery.LATER)
