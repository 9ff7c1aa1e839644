"""One call of docker or podman as a child process, within a deadline, and what its failures mean."""

from __future__ import annotations

import os
import re
import subprocess
from typing import Mapping, Sequence

from stallkit.errors import CaptureTimeout, ContainerError, TransportUnavailable
from stallkit.transports.base import DEADLINE_S
from stallkit_sessions.child_process import run_alone

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
) -> str:
    """What a successful call prints.

    `target` is the container for messages.  Raises NoContainer, RuntimeGone, CaptureTimeout, TransportUnavailable if
    the command is not installed, ContainerError for any other failure.
    """
    try:
        done = run_alone(command, environment(own), deadline_s)
    except subprocess.TimeoutExpired as error:
        raise CaptureTimeout(target, deadline_s) from error
    except OSError as error:
        raise not_installed(command[0], target, error) from error
    if done.returncode:
        raise _failure(command[0], target, done.stderr.decode("utf-8", "replace").strip(), done.returncode)
    return done.stdout.decode("utf-8", "replace")


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
