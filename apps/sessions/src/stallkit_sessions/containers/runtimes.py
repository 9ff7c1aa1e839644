"""Containers of docker and podman, through the user's own command: how one is run, inspected, stopped and removed.

What each runtime reports when a container ends, and when that is wrong, was measured (docs/sessions.md).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

from attrs import evolve, frozen

from stallkit.errors import ContainerError, TransportError
from stallkit.probes.procfs import stat_of
from stallkit.transports.base import DEADLINE_S, Presence
from stallkit_sessions.containers.container_events import LABEL, Account, ContainerFacts
from stallkit_sessions.containers.runtime_call import DOCKER, KEPT, PODMAN, NoContainer, RuntimeGone, call
from stallkit_sessions.model import Session

INVENTED = 255  # what containerd, dockerd and conmon write for unknown; a program may also end with it
STOP_S = 5.0  # beyond the grace, for a runtime to end a container and to report it

_ENDED = ("exited", "stopped")  # podman calls it stopped until it has cleaned up
_NEVER = "0001-01-01"  # how both runtimes write a time that is not set
_TEMPLATE = (
    '{"id":{{json .ID}},"image":{{json .Config.Image}},"labels":{{json .Config.Labels}},"state":{{json .State}},'
    '"removes_itself":{{json .HostConfig.AutoRemove}},"ports":{{json .NetworkSettings.Ports}}}'
)
_WITHOUT_PORTS = ("host", "none", "container:", "ns:")


@frozen
class ContainerRuntime:
    """A container runtime, reached by the command `name` in the given `environment`."""

    name: str
    environment: tuple[tuple[str, str], ...] = ()

    def run_command(self, session: Session, env_file: str | None = None) -> list[str]:
        """The command for the session's terminal: its container is created, run and attached.

        The session's directory is mounted at its own path, and the program begins there, unless the options mount
        something else at that path or set the working directory.  Ports are published on 127.0.0.1 alone.  The runtime
        reads more variables from `env_file`.  Raises ValueError for a session without an image or a container's name.
        """
        if not session.image or not session.container:
            raise ValueError(f"session {session.name} names no image or no container")
        options = session.engine_options
        words = ["run", "-it", "--name", session.container, "--label", f"{LABEL}={session.id}"]
        words += ["--env", f"STALLKIT_SESSION={session.id}"]
        words += ["--env-file", env_file] if env_file else []
        if session.ports:
            numbers = [str(port) for port in session.ports]
            words += ["--env", f"PORT={numbers[0]}", "--env", f"STALLKIT_PORTS={' '.join(numbers)}"]
            if not any(network.startswith(_WITHOUT_PORTS) for network in _values(options, "--network", "--net")):
                words += [word for port in numbers for word in ("--publish", f"127.0.0.1:{port}:{port}")]
        has_workdir = any(_values(options, "--workdir", "-w"))
        if session.directory != "/" and session.directory not in _mounted(options) and not has_workdir:
            mount = f'type=bind,"source={_doubled(session.directory)}","target={_doubled(session.directory)}"'
            words += ["--mount", mount, "--workdir", session.directory]
        return [*self._env_words(), self.name, *words, *options, session.image, *session.command]

    def facts(self, container: str, account: Account | None = None) -> ContainerFacts:
        """What the runtime reports of a container, combined with its events; never raises for external failures.

        GONE only if the runtime itself reports it; UNSEEN where the runtime did not answer or could not be asked.
        """
        try:
            found = judged(seen := self._inspected(container), _lives)
            if found.engine_died:  # or its monitor ended normally, between the runtime's look and ours
                found = judged(seen := self._inspected(container), _lives)
        except NoContainer:
            return weigh(ContainerFacts(Presence.GONE), account)
        except RuntimeGone:
            return weigh(ContainerFacts(Presence.UNSEEN, engine_died=True), account)
        except TransportError:
            return weigh(ContainerFacts(Presence.UNSEEN), account)
        if found.engine_died and self._remote(container):
            found = evolve(found, engine_died=False, running=seen["state"].get("Running") is True)
        return weigh(found, account)

    def state(self, container: str) -> dict[str, Any]:
        """The container for a person: image, status, started, finished, oom, ports, error.  Raises TransportErrors."""
        seen = self._inspected(container)
        state = seen["state"]
        return {
            "image": seen.get("image"),
            "status": state.get("Status"),
            "started": _moment(state, "StartedAt"),
            "finished": _moment(state, "FinishedAt"),
            "oom": state.get("OOMKilled") is True,
            "ports": _ports(seen.get("ports")),
            "error": state.get("Error") or None,
        }

    def stop(self, container: str, grace_s: float) -> None:
        """Ask a container's program to end (TERM), and kill it after `grace_s` seconds; one that is gone is no error.

        Raises CaptureTimeout and other TransportErrors if that failed.
        """
        whole = str(max(0, round(grace_s)))
        self._or_gone("stop", "--time", whole, container, deadline_s=grace_s + STOP_S)

    def remove(self, container: str) -> None:
        """Remove a container that ended; one that is gone is no error.  Raises TransportErrors, also if it runs."""
        self._or_gone("rm", "--volumes", container, deadline_s=STOP_S)

    def _inspected(self, container: str) -> dict[str, Any]:
        text = self._call("container", "inspect", "--format", _TEMPLATE, container, target=container)
        try:
            seen: Any = json.loads(text)
            assert isinstance(seen["state"], dict)
        except (ValueError, LookupError, TypeError, AssertionError) as error:
            why = f"unexpected answer of {self.name} inspect: {text[:80]!r}"
            raise ContainerError(container, why, "report it, with the version of the container runtime") from error
        return dict(seen)

    def _or_gone(self, *words: str, deadline_s: float) -> None:
        try:
            self._call(*words, target=words[-1], deadline_s=deadline_s)
        except NoContainer:
            return

    def _call(self, *words: str, target: str = "", deadline_s: float = DEADLINE_S) -> str:
        return call([self.name, *words], target or self.name, self.environment, deadline_s)

    def _remote(self, container: str) -> bool:
        """Whether podman's processes are on another machine, so that a missing one means nothing."""
        if any(name in ("CONTAINER_HOST", "CONTAINER_CONNECTION") for name, _ in self.environment):
            return True
        try:
            answer = self._call("info", "--format", "{{json .Host.ServiceIsRemote}}", target=container)
        except TransportError:
            return True  # unknown: then no conclusion is drawn
        return answer.strip() != "false"

    def _env_words(self) -> list[str]:
        """The start of a command line that sets the environment, since a tmux server has its own."""
        if not self.environment:
            return []
        named = {name for name, _ in self.environment}
        unset = [word for name in KEPT if name not in named for word in ("-u", name)]
        return ["env", *unset, *(f"{name}={value}" for name, value in self.environment)]


def runtime_of(session: Session) -> ContainerRuntime | None:
    """The runtime of a session's container; None if it has none (bubblewrap's sandbox is not a container)."""
    return ContainerRuntime(session.engine, session.engine_environment) if session.engine in (DOCKER, PODMAN) else None


def container_name(name: str, id: str, engine: str | None) -> str | None:
    """The name of a session's container; None if it has none."""
    return f"stallkit-{name}-{id}" if engine in (DOCKER, PODMAN) else None


def judged(seen: dict[str, Any], lives: Callable[[int], bool]) -> ContainerFacts:
    """The facts in a runtime's `inspect`; `lives` is whether a process runs on this machine.  Pure.

    A code counts only for a container that ended: podman reports 0 for one that never ran, that runs, or that lost its
    monitor.
    """
    state = seen["state"]
    code, monitor, program = (state.get(key) for key in ("ExitCode", "ConmonPid", "Pid"))
    running = state.get("Running") is True
    # Only podman names its monitor, also under the name docker, and it never notices the monitor's end.
    unwatched = isinstance(monitor, int) and monitor > 0 and not lives(monitor)
    if running and unwatched:
        running = isinstance(program, int) and program > 0 and lives(program)
    ended = state.get("Status") in _ENDED and not running and _moment(state, "FinishedAt") is not None
    known = ended and isinstance(code, int) and 0 <= code <= INVENTED
    return ContainerFacts(
        place=Presence.THERE,
        running=running,
        removes_itself=seen.get("removes_itself") is True,
        started=_moment(state, "StartedAt") is not None,
        inspect_code=code if known else None,
        oom=state.get("OOMKilled") is True,
        engine_died=unwatched and (running or state.get("Status") in ("running", "stopping")),
    )


def weigh(seen: ContainerFacts, account: Account | None) -> ContainerFacts:
    """What a runtime reports of a container now, combined with its events in the stream.  Pure.

    A code of 255 counts only if the event and inspect both have it.  An event with 255 and an inspect with another
    code means that containerd lost its shim: then the other code is made up, also the client's (`doubtful`).
    """
    heard, account = account.started if account else None, account or Account()
    code, inspected = account.code, seen.inspect_code
    doubtful = code == INVENTED and inspected != INVENTED
    if doubtful or inspected == INVENTED != code:
        inspected = None
    return evolve(
        seen,
        started=seen.started or account.started,
        seen_to_start=heard,
        event_code=None if doubtful else code,
        event_signal=account.signal,
        inspect_code=inspected,
        oom=seen.oom or account.oom,
        heard=account.died,
        doubtful=doubtful,
        # A runtime that ended after the container does not matter.
        engine_died=(seen.engine_died or account.runtime_gone) and not account.died,
    )


def _lives(pid: int) -> bool:
    if not Path("/proc/self").exists():  # unknown: then no conclusion is drawn
        return True
    stat = stat_of(pid)
    return stat is not None and not stat.ended


def _moment(state: dict[str, Any], key: str) -> str | None:
    value = state.get(key)
    return value if isinstance(value, str) and value and not value.startswith(_NEVER) else None


def _ports(published: Any) -> list[str]:
    """Published ports as people write them: 127.0.0.1:8080->8080/tcp."""
    found = []
    for inner, outer in published.items() if isinstance(published, dict) else ():
        for place in outer or ():
            found.append(f"{place.get('HostIp')}:{place.get('HostPort')}->{inner}")
    return found


def _values(options: Sequence[str], *names: str) -> Iterator[str]:
    """The values of an option of a runtime, in any of its spellings."""
    for place, word in enumerate(options):
        for name in names:
            if word == name and place + 1 < len(options):
                yield options[place + 1]
            elif word.startswith(f"{name}=") or (len(name) == 2 and word.startswith(name) and word != name):
                yield word[len(name) :].removeprefix("=")


def _mounted(options: Sequence[str]) -> set[str]:
    """The paths in the container where the options mount something."""
    found = {part for value in _values(options, "-v", "--volume") for part in value.split(":")[:2]}
    keys = ("target=", "dst=", "destination=")
    for value in _values(options, "--mount"):
        found |= {part.partition("=")[2] for part in value.split(",") if part.startswith(keys)}
    return found


def _doubled(path: str) -> str:
    """A path for the quotes of --mount, which reads a line of CSV."""
    return path.replace('"', '""')
