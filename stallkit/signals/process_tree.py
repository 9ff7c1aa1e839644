"""The processes of a session: from its first one downwards, also through clients that show what runs elsewhere.

Through shells, loops, `script`, su and sandboxes, since each started the next one.  Where a relay on the way is stopped
or in the background, what is below it is not what the session shows.

A client of tmux, docker or podman started nothing that it shows.  The pane is asked of the client's own server, if the
client is this user's and in no sandbox: a server may make its clients write files and run commands.  The process in a
container is looked up by the container that the client's command line names, and counts only where the kernel puts it
into that container, since a client may speak to another machine.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import time
from collections import deque
from pathlib import Path
from typing import Callable, Iterator, Sequence

from attrs import frozen

from stallkit.detect.families import RELAYS
from stallkit.evidence.snapshot import Snapshot
from stallkit.probes.procfs import PROC, Process, Stat, all_pids, children_of, stat_of
from stallkit.signals.source import Publisher

__all__ = ["PROCESSES", "Shown", "at_work", "processes_below", "shown_by", "socket_of"]

PROCESSES = 256  # below a session, looked at


def processes_below(leader: int) -> Iterator[tuple[Publisher, str | None]]:
    """A process and its descendants, the nearest first, each with why it may not be what the session shows; or None."""
    waiting, seen = deque[tuple[int, Stat | None, str | None]]([(leader, stat_of(leader), None)]), set[int]()
    while waiting and len(seen) < PROCESSES:
        pid, stat, way = waiting.popleft()
        if pid in seen or stat is None:
            continue
        seen.add(pid)
        publisher = Publisher(pid, stat)
        held_up = way or publisher.held_up_by(stat)
        yield publisher, held_up
        for child in _children(pid):
            other = stat_of(child)
            if other is not None:  # on the same terminal each one is judged by itself: job control moves it
                waiting.append((child, other, way if other.device == stat.device else held_up))
        shown = (find(publisher) for find in _BEHIND)
        waiting += [(pid, stat_of(pid), held_up) for pid in shown if pid is not None]


def at_work(snapshot: Snapshot) -> tuple[int, ...]:
    """The processes whose work a session shows, without all below them: the foreground's, or what a client there shows.

    Empty where that is unknown, as behind ssh or on another machine: then nothing is known of their work either.
    """
    kernel = snapshot.kernel
    if kernel is None or not snapshot.alive or snapshot.elsewhere:
        return ()
    members = [member.pid for member in kernel.members if not member.ended]
    if kernel.relay is None or kernel.through:
        return tuple(members)
    shown = ((publisher, held_up) for pid in members for publisher, held_up in processes_below(pid))
    return tuple(one.pid for one, held_up in shown if held_up is None and RELAYS.isdisjoint(one.names))


def _printed(words: Sequence[str], environ: dict[str, str], within_s: float) -> str:
    """What a command prints, whatever its exit status; "" where it cannot be run, or takes too long."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=within_s, check=False, env=environ
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace")


def _children(pid: int) -> list[int]:
    try:
        return children_of(pid)
    except OSError:  # the kernel does not list them
        return []


# --- a client of tmux: the first process of the pane that it shows ---


CLIENT = "tmux: client"  # what a client calls itself
SERVER_S = 2.0  # for its answer
_WITH_VALUE = "cfLST"  # options of tmux that take one


def in_pane(publisher: Publisher) -> int | None:
    """The first process of the active pane that this client shows; None for other processes, and where it is unknown.

    Starts tmux once for a client, and nothing for another process.
    """
    if publisher.stat.name != CLIENT or not publisher.ours:
        return None
    socket = socket_of(publisher.words, publisher.environ, os.geteuid())
    if socket is None or not _is_socket(socket):
        return None
    asked = ["tmux", "-S", socket, "list-clients", "-F", "#{client_pid} #{pane_pid}"]
    environ = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
    rows = [line.split() for line in _printed(asked, environ, SERVER_S).splitlines()]
    panes = [row[1] for row in rows if len(row) == 2 and row[0] == str(publisher.pid)]
    return int(panes[0]) if panes and panes[0].isdecimal() else None


def socket_of(words: tuple[str, ...], environ: dict[str, str], user: int) -> str | None:
    """The socket that a tmux with this command line and environment speaks to; None where that is not plain.

    >>> socket_of(("tmux", "-2L", "work", "attach"), {}, 1000)
    '/tmp/tmux-1000/work'
    """
    label, path = "default", ""
    rest = list(words[1:])
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "--"):
        letters = rest.pop(0)[1:]
        at = next((at for at, letter in enumerate(letters) if letter in _WITH_VALUE), None)
        if at is None:
            continue
        value = letters[at + 1 :] or (rest.pop(0) if rest else "")
        if letters[at] == "S":
            path = value
        elif letters[at] == "L":
            label, path = value, ""
    named = path or label != "default"
    if not named and (inside := environ.get("TMUX", "").partition(",")[0]):
        path = inside
    path = path or f"{environ.get('TMUX_TMPDIR') or '/tmp'}/tmux-{user}/{label}"
    return path if path.startswith("/") else None


def _is_socket(path: str) -> bool:
    try:
        found = Path(path).stat()
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.geteuid()


# --- a client of docker or podman: the process in the container, as this machine sees it ---


RUNTIMES = ("docker", "podman")
RUNTIME_S = 3.0  # for its answer
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
    answer = _ID.fullmatch(_printed(asked, environ, RUNTIME_S).strip())
    if answer is None or not _belongs(int(answer[2]), answer[1]):
        return None
    first = Process.of(int(answer[2]))
    return _beside(first, shown.runs) if first and shown.runs else first


def _beside(first: Process, runs: tuple[str, ...]) -> Process | None:
    """The one process that was started in the container of `first` by this command; None where there are several."""
    domain = _domain(first.pid)
    entered = [pid for pid in all_pids() if domain and _domain(pid) == domain and _came_from_outside(pid, domain)]
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


_BEHIND: tuple[Callable[[Publisher], int | None], ...] = (in_pane, in_container)
