"""One call of docker or podman as a child process, within a deadline, and what its failures mean."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from contextlib import suppress
from typing import Mapping, Protocol, Sequence

from attrs import frozen

from stallkit.errors import CaptureTimeout, ContainerError, TransportUnavailable
from stallkit.transports.base import DEADLINE_S

__all__ = [
    "BWRAP",
    "DOCKER",
    "KEPT",
    "PODMAN",
    "ContainerSession",
    "RuntimeGone",
    "NoContainer",
    "Said",
    "call",
    "environment",
    "kept",
    "not_installed",
]

DOCKER, PODMAN, BWRAP = "docker", "podman", "bwrap"
# The variables that decide which runtime a command reaches, and how.  None may hold a password (as DOCKER_AUTH_CONFIG
# and proxies do), since they are kept with a session, which is written to disk.
KEPT = (
    *("CONTAINERS_CONF", "CONTAINERS_CONF_OVERRIDE", "CONTAINERS_REGISTRIES_CONF", "CONTAINERS_STORAGE_CONF"),
    *("CONTAINER_CONNECTION", "CONTAINER_HOST", "CONTAINER_SSHKEY", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_API_VERSION"),
    *("DOCKER_CERT_PATH", "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_HOST", "DOCKER_TLS", "DOCKER_TLS_VERIFY"),
    *("HOME", "PATH", "SSH_AUTH_SOCK", "STORAGE_DRIVER", "STORAGE_OPTS", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
    "XDG_RUNTIME_DIR",
)

# The words of docker 20 to 28 and of podman 3 to 5: "No such container: x", "no such container x".
_NO_CONTAINER = re.compile(r"no such (?:container|object)|no container with (?:name|id)", re.IGNORECASE)
_NO_RUNTIME = re.compile(
    r"cannot connect to the docker daemon|cannot connect to podman|connection refused", re.IGNORECASE
)


class RuntimeGone(ContainerError):
    """The runtime itself is not there: its socket is missing, or no process listens at it."""


class NoContainer(ContainerError):
    """The runtime reports that it has no such container."""


class ContainerSession(Protocol):
    """The facts needed to run a session in a container or a sandbox."""

    @property
    def name(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def command(self) -> tuple[str, ...]: ...
    @property
    def directory(self) -> str: ...
    @property
    def engine(self) -> str | None: ...
    @property
    def image(self) -> str | None: ...
    @property
    def container(self) -> str | None: ...
    @property
    def engine_options(self) -> tuple[str, ...]: ...
    @property
    def engine_environment(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def ports(self) -> tuple[int, ...]: ...
    @property
    def boxed(self) -> bool: ...


@frozen
class Said:
    """What a call printed."""

    text: str
    complaints: str


def kept(environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The part of an environment that decides which runtime is reached, to be kept with a session."""
    return tuple((name, environ[name]) for name in KEPT if name in environ)


def environment(own: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Our environment with that part replaced by `own`; unchanged where `own` is empty."""
    if not own:
        return dict(os.environ)
    return {**{name: value for name, value in os.environ.items() if name not in KEPT}, **dict(own)}


def call(
    command: Sequence[str], target: str, own: Sequence[tuple[str, str]] = (), deadline_s: float = DEADLINE_S
) -> Said:
    """What a successful call prints.

    `target` is the container for messages.  Raises NoContainer, RuntimeGone, CaptureTimeout, TransportUnavailable where
    the command is not installed, ContainerError for any other failure.
    """
    try:
        # A session of its own: it cannot ask for a password, and what it starts (ssh) ends with it.
        process = subprocess.Popen(
            command,
            env=environment(own),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise not_installed(command[0], target, error) from error
    with process:
        try:
            output, errors = process.communicate(timeout=deadline_s)
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise CaptureTimeout(target, deadline_s) from error
            raise
    complaints = errors.decode("utf-8", "replace").strip()
    if process.returncode:
        raise _failure(command[0], target, complaints, process.returncode)
    return Said(output.decode("utf-8", "replace"), complaints)


def not_installed(binary: str, target: str, error: OSError) -> TransportUnavailable:
    """The error for a command that could not be started."""
    if isinstance(error, FileNotFoundError):
        return TransportUnavailable(
            target, binary, f"{binary} is not installed", f"install {binary}, or add it to PATH"
        )
    return TransportUnavailable(target, binary, str(error), f"see whether {binary} runs by hand")


def _failure(binary: str, target: str, complaints: str, status: int) -> ContainerError:
    why = complaints.splitlines()[-1] if complaints else f"{binary} exited with {status}"
    if _NO_CONTAINER.search(complaints):
        return NoContainer(target, why, f"see {binary} ps --all")
    if _NO_RUNTIME.search(complaints):
        return RuntimeGone(target, why, f"start the container runtime, or see {binary} info")
    by_hand = f"{binary} runs" if binary == BWRAP else f"{binary} info answers"
    return ContainerError(target, why, f"see whether {by_hand} by hand")
