"""``[fleet]`` of the settings: the bus that this machine joins, as whom, and what it takes from there.

It counts only in the user's own file or one that ``--config`` names.  Whoever holds the bus can neither answer here nor
change what is pressed: `operators` and `policy_key` name who can, and `ceiling` says how much.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Iterator
from urllib.parse import urlsplit

from attrs import evolve, field, frozen
from stallkit_supervisor import settings as of_supervisor
from stallkit_supervisor.session_state import WatchConfig

from stallkit.config import state_dir
from stallkit.detect.engine import Engine
from stallkit.distributions import named
from stallkit.errors import ConfigError
from stallkit.press.policy import Policy
from stallkit.press.policy_file import load_policy
from stallkit.transports.base import Options
from stallkit_fleet.policies import Bounded, kept_policy

_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,63}", re.ASCII)
_PUBLIC = re.compile(r"U[A-Z2-7]{55}", re.ASCII)
_SCHEMES = ("nats", "tls")


def token(what: str, name: str) -> str:
    """The name, as it can stand in a subject.  Raises ValueError for one with a dot, a blank or a wildcard.

    >>> token("host", "build-3")
    'build-3'
    """
    if not _TOKEN.fullmatch(name):
        raise ValueError(f"{what} {name!r} is no name on the bus: write up to 63 letters, digits, - and _")
    return name


def _as_token(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "-", name)[:63] or "unnamed"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no such user, in a container
        return str(os.getuid())


@frozen
class FleetSettings:
    """``[fleet]``: without a `url` this machine is in no fleet.

    `credentials` is the file by which this host logs in, `operator_credentials` that of the person who looks and
    answers from here as `operator` (by default the same file, and the user's name).  `operators` may answer what this
    host asks; by default nobody may.
    """

    url: str | None = None
    host: str = ""  # by default the first part of the machine's name
    credentials: str | None = None
    operator: str = ""
    operator_credentials: str | None = None
    ca: str | None = None  # the file of the certificates that the server's is checked against
    operators: list[str] = field(factory=list)
    policy_key: str | None = None  # the public key of who signs policies; without one none is taken
    ceiling: str = "careful"  # a profile or a policy file: what it would not do is not done

    def __attrs_post_init__(self) -> None:
        if self.url is not None:
            checked_url(self.url)
        token("host", self.name)
        for one in (self.person, *self.operators):
            token("operator", one)
        if self.policy_key is not None and not _PUBLIC.fullmatch(self.policy_key):
            raise ValueError("policy_key is no public key: write what stallkit fleet policy key printed")

    @property
    def name(self) -> str:
        """What this host is called on the bus."""
        return self.host or _as_token(socket.gethostname().partition(".")[0])

    @property
    def person(self) -> str:
        """What who looks and answers from here is called on the bus."""
        return self.operator or _as_token(_user())


def checked_url(url: str) -> str:
    """The address of the bus, or several with commas.  Raises ValueError for anything else, or one with a password."""
    for one in url.split(","):
        parts = urlsplit(one.strip())
        if parts.scheme not in _SCHEMES or not parts.hostname:
            raise ValueError(f"url {one!r} is no address of a bus: write nats://HOST:4222, or tls://HOST:4222")
        if parts.password or parts.username:
            raise ValueError("url names a user; their login belongs in a file that only you can read")
    return url


@frozen
class Settings(of_supervisor.Settings):
    """All settings, with ``[fleet]``."""

    fleet: FleetSettings = field(factory=FleetSettings)

    @property
    def config(self) -> WatchConfig:
        """How sessions are watched: by the policy of the fleet, if this machine takes one and has got it."""
        config: WatchConfig = super().config
        return evolve(config, policy=in_force(self.fleet, config.policy))


def in_force(fleet: FleetSettings, own: Policy) -> Policy:
    """The policy that the fleet gave this machine, below its ceiling.

    Its own if it takes none, or has got none yet, or its own presses nothing: who says observe means it.

    Raises ConfigError if the ceiling cannot be read.
    """
    takes = fleet.url and fleet.policy_key and own.presses
    kept = kept_policy(policy_file(), fleet.policy_key) if takes else None
    return own if kept is None else Bounded.below(load_policy(fleet.ceiling), kept)


@contextmanager
def linked(
    settings: of_supervisor.Settings,
    log: Path,
    options: Options,
    engine: Callable[[], Engine],
    renew: Callable[[], object],
    tell: Callable[[str], object],
) -> Iterator[None]:
    """While the context lasts this machine is a host of the fleet that its settings name, if they name one."""
    if not isinstance(settings, Settings) or settings.fleet.url is None:
        yield
        return
    running = named("stallkit_fleet.link:running")  # not before it is needed: the bus's client is large
    with running(settings.fleet, log.expanduser(), options, engine, renew, tell):
        yield


def policy_file() -> Path:
    """The last good policy that the fleet gave this machine."""
    return folder() / "policy.json"


def folder() -> Path:
    """What is kept here about the fleet: how far the log was sent, the policy that was taken."""
    return state_dir() / "fleet"


def secret(path: str) -> str:
    """The text of a file of credentials.  Raises ConfigError if others can read it, or it cannot be read."""
    file = Path(path).expanduser()
    try:
        found = file.stat()
        if not stat.S_ISREG(found.st_mode):
            raise ConfigError(path, "it is not a plain file", "name the file of the credentials")
        if found.st_mode & 0o077:
            raise ConfigError(path, "others can read these credentials", f"chmod 600 {path}")
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise ConfigError(path, why, "name the file of the credentials") from error
