"""A client of docker or podman inside a session: the process that it shows, in the container, as this machine sees it.

By the container that its command line names, and what the runtime says of it; a process counts only where the kernel
puts it into that container, since a client may speak to another machine.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path
from typing import Iterator, Sequence

from attrs import frozen

from stallkit.probes.procfs import PROC, Process, stat_of
from stallkit.signals.publisher import Publisher

__all__ = ["Shown", "in_container", "shown_by"]

RUNTIMES = ("docker", "podman")
ANSWER_S = 3.0
AGAIN_S = 10.0  # after a container that was not there yet
KNOWN = 256  # clients that are remembered
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_ID = re.compile(r"([0-9a-f]{64}) ([0-9]+)")
_SERVER = ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "CONTAINER_HOST", "CONTAINERS_CONF", "XDG_RUNTIME_DIR")
_found: dict[tuple[int, int], tuple[Process | None, float]] = {}  # of a client, when


@frozen
class Shown:
    """What a client's command line says of the process that it shows."""

    container: str = ""  # its name or id
    id_file: str = ""  # a file that has it
    runs: tuple[str, ...] = ()  # the end of the command, for one that was started beside the first process
    options: tuple[str, ...] = ()  # which server


def in_container(publisher: Publisher) -> int | None:
    """The process in a container that this client shows; None for other processes, and where it is unknown.

    The runtime's answer is remembered as long as the process lives.
    """
    runtime = next((name for name in RUNTIMES if name in publisher.names), None)
    if runtime is None or not publisher.ours:
        return None
    client = (publisher.pid, publisher.started)
    process, at = _found.get(client, (None, float("-inf")))
    if process is None or not process.alive():
        if time.monotonic() < at + AGAIN_S:
            return None
        process = _asked(runtime, publisher)
        while len(_found) >= KNOWN:
            _found.pop(next(iter(_found)), None)
        _found[client] = (process, time.monotonic())
    return process.pid if process else None


def shown_by(words: Sequence[str]) -> Shown | None:
    """What a command line of docker or podman shows in its terminal; None where that is not plain.

    >>> shown_by(["docker", "run", "-it", "--name", "box", "image", "sh"]).container
    'box'
    """
    rest = list(words[1:])
    server: list[str] = []
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-H", "--host", "-c", "--context", "--url", "--connection") and rest:
            server += [option, rest.pop(0)]
        elif option.startswith(("--host=", "--context=", "--url=", "--connection=", "-H")):
            server.append(option)
        else:
            return None  # another option: whether it takes a value is its own matter
    if rest and rest[0] == "container":
        rest.pop(0)
    verb = rest.pop(0) if rest else ""
    if verb in ("run", "create"):
        name, file = _value(rest, "--name"), _value(rest, "--cidfile")
        return Shown(name, file, options=tuple(server)) if name or file else None
    if verb in ("attach", "start") and rest:
        return Shown(rest[-1], options=tuple(server))
    if verb == "exec":
        for at, word in enumerate(rest):  # options that take a value leave more than one way to read it: each is tried
            if not word.startswith("-") and rest[at + 1 :] and _NAME.fullmatch(word) and not _is_value(rest, at):
                return Shown(word, runs=tuple(rest[at + 1 :]), options=tuple(server))
    return None


def _asked(runtime: str, publisher: Publisher) -> Process | None:
    shown = shown_by(publisher.words)
    name = shown and (shown.container or _line(publisher, shown.id_file))
    if shown is None or not name or not _NAME.fullmatch(name):
        return None
    environ = dict(os.environ) | {key: value for key, value in publisher.environ.items() if key in _SERVER}
    asked = [runtime, *shown.options, "inspect", "--type", "container", "-f", "{{.Id}} {{.State.Pid}}", name]
    try:
        told = subprocess.run(
            asked, stdin=subprocess.DEVNULL, capture_output=True, timeout=ANSWER_S, check=False, env=environ
        )
    except (OSError, subprocess.SubprocessError):
        return None
    answer = _ID.fullmatch(told.stdout.decode("utf-8", "replace").strip())
    if answer is None or not _belongs(int(answer[2]), answer[1]):
        return None
    first = Process.of(int(answer[2]))
    return _beside(first, shown.runs) if first and shown.runs else first


def _beside(first: Process, runs: tuple[str, ...]) -> Process | None:
    """The one process that was started in the container of `first` by this command; None where there are several."""
    domain = _domain(first.pid)
    entered = [pid for pid in _pids() if domain and _domain(pid) == domain and _came_from_outside(pid, domain)]
    found = []
    for pid in entered:
        stat = stat_of(pid)
        if pid != first.pid and stat is not None and Publisher(pid, stat).words[-len(runs) :] == runs:
            found.append(Process(pid, stat.started))
    return found[0] if len(found) == 1 else None


def _came_from_outside(pid: int, domain: str) -> bool:
    stat = stat_of(pid)
    return stat is not None and _domain(stat.parent) != domain


def _belongs(pid: int, container: str) -> bool:
    """Whether the kernel puts this process into the container: by its control group, or by what is mounted in it."""
    for name in ("cgroup", "mountinfo"):
        try:
            if container in Path(PROC, str(pid), name).read_text("utf-8", "replace"):
                return True
        except OSError:
            continue
    return False


def _pids() -> Iterator[int]:
    yield from (int(entry.name) for entry in Path(PROC).iterdir() if entry.name.isdecimal())


def _domain(pid: int) -> str:
    try:
        return str(Path(PROC, str(pid), "ns/pid").readlink())
    except OSError:
        return ""


def _value(words: Sequence[str], option: str) -> str:
    """The value of a long option, in either of its forms."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == option:
            return following
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
    return ""


def _is_value(words: Sequence[str], at: int) -> bool:
    """Whether the word belongs to the option before it."""
    before = words[at - 1] if at else ""
    if before.startswith("--"):
        return before in ("--env", "--user", "--workdir", "--env-file", "--detach-keys", "--preserve-fds")
    return before.startswith("-") and before[-1] in "euw"


def _line(publisher: Publisher, path: str) -> str:
    if not path.startswith("/"):
        return ""
    try:
        return publisher.path(path).read_text("utf-8", "replace")[:100].strip()
    except OSError:
        return ""
