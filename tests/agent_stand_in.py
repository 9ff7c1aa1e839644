"""An invented agent: a process that is called like one and publishes what a test says, and the source that reads it."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any, Iterator, Sequence

from stallkit.signals import Guard, Kind, Publisher, Signal, State, has_option, one_line, read_json, write_own
from stallkit.testing import StandIn

NAME = "acme-agent"


def installed_agent(folder: Path) -> Path:
    """A program where npm lays Claude Code, so that the kernel proves it to be that; it is Python by another name."""
    program = folder / "node_modules/@anthropic-ai/claude-code/claude"
    program.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(sys.executable).resolve(), program)
    return program


class AcmeSession:
    """The signals of acme-agent, as a third party writes their source: from ``.acme/PID.json`` in its home."""

    name = "acme"
    programs = frozenset({NAME})

    def read(self, publisher: Publisher, now: float) -> Iterator[Signal]:
        """What its session file says."""
        said = read_json(publisher.path(f"{publisher.home}/.acme/{publisher.own_pid}.json"), publisher)
        if said and said.get("started") == publisher.started:
            asks, elsewhere = one_line(said.get("asks")), said.get("domain") != publisher.domain
            yield Signal(
                source="acme",
                state=State.WAITING if asks else State.WORKING,
                kind=Kind.PERMISSION if asks else None,
                words=asks,
                guard=Guard.PROCESS,
                pid=publisher.pid,
                stale="it is of another pid namespace" if elsewhere else None,
            )

    def start_with(self, command: Sequence[str], folder: Path) -> list[str] | None:
        """The command with a file to report to."""
        if has_option(command, "--report"):
            return None
        if "--broken" in command:
            raise KeyError("no such agent")
        write_own(folder / "report", "")
        return [command[0], "--report", str(folder / "report"), *command[1:]]


SOURCE = AcmeSession()


class Acme(StandIn):
    """A process called acme-agent below a command."""

    def __init__(self, home: Path, command: Sequence[str] = ()) -> None:
        super().__init__(home, NAME, command)
        self.folder = home / ".acme"
        self.folder.mkdir(exist_ok=True)

    @property
    def file(self) -> Path:
        """Its session file."""
        return self.folder / f"{self.publisher.own_pid}.json"

    def says(self, asks: str = "Deploy?", **more: Any) -> None:
        """Write the session file as the process itself would."""
        own = self.publisher
        self.file.write_text(json.dumps({"started": own.started, "domain": own.domain, "asks": asks} | more))
