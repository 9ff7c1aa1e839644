"""What the programs of a session say of themselves: the installed sources, asked for one look, and told at a start.

A process whose terminal has another group in the foreground is a job that was left behind: what it says is stale.  What
a start adds to a command, so that its program says more of itself, is the options of the program's source; the files
that they need are in one folder of the state directory, which goes with the session.

The processes of a session are those from its first one downwards: through shells, loops, `script`, su and sandboxes,
since each started the next one.  Where a relay on the way is stopped or in the background, what is below it is not what
the session shows.  A client of tmux, docker or podman started nothing that it shows.  The pane is asked of the client's
own server, if the client is this user's and in no sandbox: a server may make its clients write files and run commands.
The process in a container is looked up by the container that the client's command line names, and counts only if the
kernel puts it into that container, since a client may speak to another machine.

A program inside an agent's work may read a terminal on its own, as ssh does in a tool call.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import stat
import subprocess
import time
from collections import deque
from functools import cache
from pathlib import Path, PurePath
from typing import Callable, Iterator, Sequence

from attrs import evolve, frozen

from stallkit import private
from stallkit.config import state_dir
from stallkit.distributions import entry_points
from stallkit.evidence.signal import Signal
from stallkit.evidence.snapshot import How, Snapshot
from stallkit.probes.procfs import PROC, Process, Stat, all_pids, children_of, stat_of
from stallkit.probes.readers import InnerReader, inner_readers
from stallkit.redact.redact import redact
from stallkit.signals.source import Publisher, SignalSource, Starter
from stallkit.terminal.marks import plain
from stallkit.terminal.screen import Screen
from stallkit.word_tables import RELAYS, Patterns

# --- the processes of a session ---

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

    Empty if that is unknown, as behind ssh or on another machine: then nothing is known of their work either.
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
    """What a command prints, whatever its exit status; "" if it cannot be run, or takes too long."""
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
    """The first process of the active pane that this client shows; None for other processes, and if it is unknown.

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
    """The socket that a tmux with this command line and environment speaks to; None if that is not plain.

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
    """The process in a container that this client shows; None for other processes, and if it is unknown.

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
    """What a command line of docker or podman shows in its terminal; None if that is not plain.

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
    """The one process that was started in the container of `first` by this command; None if there are several."""
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


# --- the sources ---

ENTRY_POINTS = "stallkit.signals"


@cache
def installed_sources() -> Sequence[SignalSource]:
    """The sources of the installed distributions, by name; one that cannot be loaded is logged and left out."""
    found = []
    for entry in sorted(entry_points(ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            source = entry.load()
            if not isinstance(source, SignalSource):
                raise TypeError(f"{source!r} is no source of signals")
            found.append(source)
        except Exception as error:  # foreign code: whatever it raises is its own failure
            logging.getLogger(__name__).warning("signals: %s of %s is left out: %s", entry.name, entry.value, error)
    return tuple(found)


def with_signals(now: Snapshot, leader: int) -> Snapshot:
    """The look with the signals of its session, whose first process has the pid `leader`."""
    return evolve(now, signals=signals_below(leader)) if now.alive is not False else now


def signals_below(leader: int, sources: Sequence[SignalSource] | None = None) -> tuple[Signal, ...]:
    """The signals of a process and all that descend from it, each bound to the process that says it.

    Never raises: a source that fails is logged and left out.
    """
    sources = installed_sources() if sources is None else sources
    found: list[Signal] = []
    for publisher, held_up in processes_below(leader):
        asked = [source for source in sources if not source.programs.isdisjoint(publisher.names)]
        for source in asked:
            try:
                said = list(source.read(publisher, time.time()))
            except Exception as error:  # foreign code, and files of other programs
                logging.getLogger(__name__).warning("signals: %s of process %d: %s", source.name, publisher.pid, error)
                continue
            found += [_current(signal, held_up) for signal in said]
    return tuple(found)


def _current(signal: Signal, held_up: str | None) -> Signal:
    return evolve(signal, stale=held_up) if held_up and signal.stale is None else signal


# --- what a start adds ---


def command_with_signals(command: Sequence[str], id: str) -> list[str]:
    """The command for the start with this id; as it was if no installed source has options for it.

    Raises OSError if the files that the options need cannot be written.
    """
    program, folder = PurePath(command[0]).name if command else "", _folder(id)
    for source in installed_sources():
        if isinstance(source, Starter) and program in source.programs:
            private.folder(folder)
            try:
                words = source.start_with(command, folder)
            except OSError:
                raise
            except Exception as error:  # foreign code: whatever else it raises is its own failure
                logging.getLogger(__name__).warning("signals: %s starts nothing: %s", source.name, error)
                words = None
            if words is not None:
                return list(words)
            remove_files(id)
    return list(command)


def remove_files(id: str) -> None:
    """Remove the files of a start that has ended."""
    shutil.rmtree(_folder(id), ignore_errors=True)


def _folder(id: str) -> Path:
    return state_dir().absolute() / "hooks" / id


# --- inside a tool call ---

LENGTH = 1_000  # characters of a prompt that are kept
_of = Patterns("prompts")
# The end of a question or a label, or what may be answered: [y/N], (yes/no), (Y).
_PROMPT = re.compile(r"\w.*(?:[?:：？]|[\[(](?:[^\s\[\]()]{1,12}/[^\s\[\]()]{1,12}|\w)[\])])$")


@frozen
class AskedInside:
    """One program that waits for input inside the work of another one."""

    who: str
    pid: int
    inside: str  # the program in whose work it asks
    terminal: str  # the path of the one that it reads
    own: bool  # a terminal of its own, which `inside` holds; else the session's, which `inside` reads as well
    how: How
    prompt: str | None  # what stands at the cursor of the session's terminal, or last in what shows one of its own

    @property
    def asks_surely(self) -> bool:
        """Whether it is no launcher of the agent's own that keeps an eye on the same terminal."""
        return self.own or self.how == "read"

    @property
    def asks(self) -> str:
        """What it asks, in words for a person."""
        return f"{self.who} (pid {self.pid}) asks: {self.prompt}" if self.prompt else str(self)

    def __str__(self) -> str:
        place = f"{self.terminal}, which {self.inside} holds" if self.own else f"the terminal beside {self.inside}"
        words = f", at {self.prompt!r}" if self.prompt else ""
        return f"{self.who} (pid {self.pid}) waits in {self.how} on {place}{words}"


def asked_inside(snapshot: Snapshot) -> tuple[AskedInside, ...]:
    """Who reads a terminal inside the work of this session's program, beside it or below it; () where none is known.

    Keys for one that reads beside the program reach either of the two; one on a terminal of its own is answered by the
    program that holds it, or not at all.  It looks at every process of the machine: some ten milliseconds.
    """
    kernel = snapshot.kernel
    if kernel is None or kernel.pid is None or not snapshot.alive or snapshot.elsewhere:
        return ()

    screen = snapshot.screen

    def words(one: InnerReader) -> str | None:
        return prompt_line(last_prompt(screen) if one.below else screen.prompt_line.text) or None

    return tuple(
        AskedInside(one.name, one.pid, one.inside, one.terminal, one.below, one.how, words(one))
        for one in inner_readers(kernel.pid)
    )


def prompt_line(words: str) -> str:
    """A prompt as people see it: one line, without what is invisible, without secrets.

    >>> prompt_line("Password for 'https://me:hunter2secret@host.example': ")
    "Password for 'https://me:[redacted]@host.example':"
    """
    return redact(plain(" ".join(words.split())))[:LENGTH]


def last_prompt(screen: Screen) -> str:
    """The lowest row below the last message that ends as a prompt does; "" for none.

    >>> last_prompt(Screen.from_text("✦ I do.\\n│ Shell ./ask.sh │\\n│ Install? [y/N] │\\n│ 0.0 KB         │\\n> "))
    'Install? [y/N]'
    """
    persons = 0
    for row in reversed(screen.text.split("\n")):
        said = row.strip(" │┃║|")
        persons += _of.person.match(row) is not None  # the lowest is the composer
        if persons > 1 or _of.message.match(row):
            break
        if _PROMPT.search(said):
            return said
    return ""
