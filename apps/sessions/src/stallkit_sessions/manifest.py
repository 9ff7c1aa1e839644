"""What a sandbox is made of, as a value, and how it is read from TOML (docs/sandboxes.md).

Paths are absolute, or begin with ``~/``: a manifest means the same wherever it lies.  It holds no secret: of variables
it has the names, and of files with variables the paths.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NoReturn
from urllib.parse import SplitResult, urlsplit

from attrs import evolve, field, frozen

from stallkit.errors import ConfigError
from stallkit.toml_file import TomlError, TomlFile, parse_toml, structured
from stallkit.variables import shell_name
from stallkit_sessions.containers.runtime_call import BWRAP, DOCKER, PODMAN

# Where a sandbox finds what is always in it: the socket of its notices, what it is told, its tools and skills.
SOCKET_PLACE, GIVEN, TOOLS, SKILLS = "/run/stallkit", "/opt/stallkit", "/opt/stallkit-tools", "/opt/stallkit-skills"
PROXIES = "proxies"  # a network of bubblewrap's own, in which nothing but the proxies is
_TAKEN = (SOCKET_PLACE, GIVEN, TOOLS, SKILLS, "/proc", "/dev", "/sys")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")  # of a session, a directory, a container and a git ref
_BRANCH = re.compile(r"(?!-)(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)))[^\x00-\x20\x7f~^:?*\[\\]+(?<![./])")
_NETWORK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_CAPABILITY = re.compile(r"[A-Z][A-Z_]{1,30}")
_SCHEMES = ("https", "http", "ssh", "git", "file")


@frozen
class Mount:
    """A file or directory of the machine, and if it is in the sandbox."""

    source: str
    target: str
    writable: bool = False


@frozen
class Proxies:
    """Through what the sandbox reaches the network; addresses without a password."""

    egress: str | None = None  # HTTP_PROXY and HTTPS_PROXY in it
    credential: str | None = None  # STALLKIT_CREDENTIAL_PROXY in it
    direct: list[str] = field(factory=list)  # NO_PROXY in it

    @property
    def addresses(self) -> list[str]:
        """Of those that there are."""
        return [one for one in (self.egress, self.credential) if one is not None]


@frozen
class Manifest:
    """One sandbox; paths are absolute once it is read."""

    name: str
    engine: str
    command: list[str]
    directory: str  # the work tree, mounted at its own path
    image: str | None = None
    interactive: bool = False  # whether keys may go in; else it is sealed
    branch: str | None = None
    repository: str | None = None  # where the work is pushed before a rebuild: an address that git takes
    pull_request: int | None = None
    comment: list[str] = field(factory=list)  # the command that comments there, or its name alone: tea, gh
    env: list[str] = field(factory=list)  # names; the values are those of who starts it
    env_files: list[str] = field(factory=list)
    mounts: list[Mount] = field(factory=list)
    tools: list[str] = field(factory=list)  # programs, each at TOOLS/NAME
    skills: list[str] = field(factory=list)  # directories, each at SKILLS/NAME
    ports: list[int] = field(factory=list)
    network: str | None = None  # none, host, with bwrap proxies, else a network of docker or podman; see `reaches`
    proxies: Proxies = field(factory=Proxies)
    capabilities: list[str] = field(factory=list)  # of docker and podman: added to those of a program without any
    transcript: str | None = None  # a directory in the sandbox that a rebuild keeps a copy of
    resume: list[str] | None = None  # what a replacement runs in place of `command`; `{text}` is what it is told

    @property
    def reaches(self) -> str:
        """Its network: unless it says so, in bubblewrap its proxies alone, if it has some, else none."""
        return self.network or (PROXIES if self.engine == BWRAP and self.proxies.addresses else "none")

    @property
    def unproxied(self) -> str | None:
        """What a person should know of its network, if it has proxies and they are not its only way out."""
        if not self.proxies.addresses or self.reaches == PROXIES:
            return None
        if self.reaches == "none":
            return "its network is none: it reaches none of its proxies"
        return f"its network is {self.reaches}: a program can bypass its proxies"


def read_manifest(content: bytes | str, path: str) -> Manifest:
    """The manifest in a file's content; `path` is for messages.

    Raises ConfigError, which names the line: for what is no TOML, an unknown key, and every value that cannot be.

    >>> read_manifest('name = "web"\\nengine = "bwrap"\\ncommand = ["sh"]\\ndirectory = "/srv/web"', "m.toml").name
    'web'
    """
    try:
        file = parse_toml(content, path)
        found = structured(file, Manifest)
    except TomlError as error:
        raise ConfigError(path, error.why.removesuffix(" @ $"), "see docs/sandboxes.md", error.line) from error
    return _Check(file).checked(found)


@frozen
class _Check:
    file: TomlFile

    def checked(self, given: Manifest) -> Manifest:
        """It with its paths made absolute.  Raises ConfigError."""
        self._choices(given)
        self._words(given)
        mounts = [
            evolve(one, source=self._path(one.source, "mounts", at, "source"), target=self._inside(one.target, at))
            for at, one in enumerate(given.mounts)
        ]
        found = evolve(
            given,
            directory=self._path(given.directory, "directory"),
            env_files=[self._path(one, "env_files", at) for at, one in enumerate(given.env_files)],
            tools=[self._path(one, "tools", at) for at, one in enumerate(given.tools)],
            skills=[self._path(one, "skills", at) for at, one in enumerate(given.skills)],
            mounts=mounts,
        )
        for key in ("tools", "skills"):
            names = [Path(one).name for one in getattr(found, key)]
            if len(set(names)) < len(names):
                self._refuse("two of them have the same name", "rename one", key)
        targets = [one.target for one in mounts] + [found.directory]
        if len(set(targets)) < len(targets):
            self._refuse("two mounts have the same target, or one has the work tree's", "change one", "mounts")
        return found

    def _choices(self, given: Manifest) -> None:
        if not _NAME.fullmatch(given.name):
            self._refuse("1 to 63 letters, digits, - and _, none of the last two first", "change it", "name")
        if given.engine not in (DOCKER, PODMAN, BWRAP):
            self._refuse(f"{given.engine!r} is none of docker, podman, bwrap", "choose one", "engine")
        if bool(given.image) == (given.engine == BWRAP):
            todo = "leave it out" if given.image else "name one"
            self._refuse("docker and podman need an image, bwrap has none", todo, "image")
        if given.engine == BWRAP and given.network not in (None, "none", "host", PROXIES):
            self._refuse("bwrap knows none, host and proxies alone", "choose one", "network")
        if given.engine == BWRAP and given.reaches == PROXIES:
            self._proxies(given.proxies)
        if given.network is not None and not _NETWORK.fullmatch(given.network):
            self._refuse(f"{given.network!r} is no name of a network", "correct it", "network")
        if not given.command or not given.command[0]:
            self._refuse("there is no program", "name it, as a list of words", "command")
        if given.resume and not given.resume[0]:
            self._refuse("there is no program", "name it, as a list of words; [] runs `command` again", "resume")
        if given.pull_request is not None and given.pull_request < 1:
            self._refuse("it is a number from 1 on", "correct it", "pull_request")
        if any(not 0 <= port <= 65_535 for port in given.ports):
            self._refuse("a port is a number up to 65535; 0 is any free one", "correct it", "ports")

    def _proxies(self, given: Proxies) -> None:
        if not given.addresses:
            self._refuse("there are no proxies to reach", "name them in [proxies], or choose none", "network")
        if any(one.startswith("https:") for one in given.addresses):
            why = "an https proxy cannot be at a sandbox's loopback, since its certificate names its host"
            self._refuse(why, "give one of http, or network = 'host'", "proxies")

    def _words(self, given: Manifest) -> None:
        for at, name in enumerate(given.env):
            if not shell_name(name):
                self._refuse(f"entry {at + 1} is no name of a variable", "give the name alone, no value", "env", at)
        for at, name in enumerate(given.capabilities):
            if given.engine == BWRAP or not _CAPABILITY.fullmatch(name):
                none = f"{name!r} is no capability of a container"
                self._refuse(none, "write it as docker does: NET_BIND_SERVICE", "capabilities", at)
        if given.branch is not None and not _BRANCH.fullmatch(given.branch):
            self._refuse(f"{given.branch!r} is no name of a branch", "correct it", "branch")
        if given.repository is not None and (why := _why_no_remote(given.repository)):
            self._refuse(why, "give its address, as git push takes it", "repository")
        for key in ("egress", "credential"):
            address = getattr(given.proxies, key)
            if address is not None and (why := _why_no_proxy(address)):
                self._refuse(why, "write it as http://HOST:PORT", "proxies", key)
        if given.transcript is not None:
            self._inside(given.transcript, key="transcript")
        if given.comment and given.pull_request is None:
            self._refuse("there is no pull request to comment on", "give pull_request as well", "comment")

    def _path(self, text: str, *keys: str | int) -> str:
        path = os.path.expanduser(text) if text.startswith("~/") else text  # noqa: PTH111  # not of ~other
        if not path.startswith("/") or "\0" in path or "\n" in path:
            self._refuse(f"{text!r} is no absolute path", "write it from / on, or from ~/", *keys)
        return os.path.normpath(path)

    def _inside(self, text: str, at: int | None = None, key: str = "mounts") -> str:
        keys: tuple[str | int, ...] = (key,) if at is None else (key, at, "target")
        path = self._path(text, *keys) if text.startswith("/") else ""
        if not path or path == "/" or any(path == one or path.startswith(f"{one}/") for one in _TAKEN):
            self._refuse(f"{text!r} is no place in the sandbox that is free", "give another absolute path", *keys)
        return path

    def _refuse(self, why: str, todo: str, *keys: str | int) -> NoReturn:
        part = ".".join(str(key) for key in keys)
        raise ConfigError(self.file.path, why, todo, self.file.lines.of(*keys), part)


def _why_no_remote(address: str) -> str | None:
    """Why git is not asked to push there; None if it may be."""
    if address.startswith("-") or "::" in address or any(char <= " " for char in address):
        return f"{address!r} is no address of a repository: helpers of git's are not used"
    scheme, separated, _ = address.partition("://")
    if not separated:  # a path, or the short form of ssh
        remote = ":" in address.partition("/")[0]
        return None if remote or address.startswith("/") else f"{address!r} is neither an address nor a path from / on"
    if scheme not in _SCHEMES:
        return f"{scheme} is none of {', '.join(_SCHEMES)}"
    url = _split(address)
    if url is None:
        return f"{address!r} is no address"
    secret = url.password or (scheme.startswith("http") and url.username)
    return "it has a password or token, which would be kept" if secret else None


def _why_no_proxy(address: str) -> str | None:
    url = _split(address)
    if url is None or url.scheme not in ("http", "https") or not url.hostname or any(char <= " " for char in address):
        return f"{address!r} is no address of a proxy"
    return "it has a password, which would be kept" if url.username or url.password else None


def _split(address: str) -> SplitResult | None:
    try:
        return urlsplit(address)
    except ValueError:
        return None
