"""What a manifest becomes for its container runtime: the mounts, variables and network of one sandbox, and no more.

Every source is resolved and held against `private_places` when the sandbox starts.  None may lie where a sandbox can
write: another start of it, also a supervisor's, would follow the link that it laid there meanwhile.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from attrs import frozen

from stallkit.errors import StartRefused
from stallkit.variables import Variables, read_variables
from stallkit_sessions.containers.bubblewrap import REACH
from stallkit_sessions.containers.runtime_call import BWRAP
from stallkit_sessions.manifest import GIVEN, PROXIES, SKILLS, SOCKET_PLACE, TOOLS, Manifest, Mount
from stallkit_sessions.private_places import private_places, why_hidden, why_private, why_replaceable

__all__ = ["Folders", "options_of", "variables_of", "writable_of"]

# Of root's capabilities the one to enter a directory that is another user's alone, as that of its notices.
_ROOTS = "DAC_OVERRIDE"
_OWN = ("localhost", "127.0.0.1")  # where its credential proxy is, too
_OPTION = ("GIT_TERMINAL_PROMPT", "0")  # nobody can answer a prompt of git there


@frozen
class Folders:
    """The directories of one sandbox on the machine, made by stallkit for it alone."""

    socket: Path  # where its notices are taken, writable
    given: Path  # what it is told: the hand-off, the transcript of the one before
    transcript: Path  # where it writes its own


def options_of(
    manifest: Manifest, folders: Folders, tmux_socket: str | None, others_write: Sequence[str] = ()
) -> tuple[str, ...]:
    """The words for the runtime's `run`, but for those of its command.

    Raises StartRefused where a source does not exist, or is none that a sandbox may have; `tmux_socket` is that of the
    tmux server it is started on, `others_write` are directories in which other sandboxes can write.
    """
    _check(manifest, tmux_socket, [*writable_of(manifest), *others_write])
    mounts = list(_mounts(manifest, folders))
    given = dict(_variables(manifest))
    if manifest.engine == BWRAP:
        words = [word for one in mounts for word in _bound(one)]
        words += [word for name, value in given.items() for word in ("--setenv", name, value)]
        if manifest.reaches == PROXIES:
            inside = _inside(manifest)
            return (*words, *(word for one in inside for word in (REACH, f"{inside[one]}={_place(one)}")))
        return (*words, *(["--share-net"] if manifest.reaches == "host" else []))
    words = ["--network", manifest.reaches, "--security-opt", "no-new-privileges", "--cap-drop", "ALL"]
    words += [word for name in (_ROOTS, *manifest.capabilities) for word in ("--cap-add", name)]
    words += [word for one in mounts for word in ("--mount", _csv(one))]
    return tuple([*words, *(word for name, value in given.items() for word in ("--env", f"{name}={value}"))])


def variables_of(manifest: Manifest, environ: Mapping[str, str]) -> Variables:
    """The variables that it is given unseen.  Raises StartRefused where one is not set, or a file cannot be read."""
    try:
        return read_variables(manifest.env, manifest.env_files, environ)
    except (OSError, ValueError) as error:
        raise StartRefused(manifest.name, str(error), "set it here, or correct the manifest") from error


def writable_of(manifest: Manifest) -> list[str]:
    """The directories of the machine in which it can write, but for its own of stallkit's."""
    return [manifest.directory, *(one.source for one in manifest.mounts if one.writable)]


def _check(manifest: Manifest, tmux_socket: str | None, writable: Sequence[str]) -> None:
    places = private_places(tmux_socket)
    named = [("directory", manifest.directory), *(("mounts", one.source) for one in manifest.mounts)]
    named += [("tools", one) for one in manifest.tools] + [("skills", one) for one in manifest.skills]
    for key, path in [*named, *(("env_files", one) for one in manifest.env_files)]:
        if why := why_replaceable(path, writable):
            raise StartRefused(manifest.name, f"{path} ({key}): {why}", "name one outside of what a sandbox can write")
    for key, path in named:
        if why := why_private(path, places) or (None if _is_known(key, path) else why_hidden(path)):
            why = f"its manifest mounts {path} ({key}): {why}"
            raise StartRefused(manifest.name, why, "mount something that holds nothing of that")
        try:
            is_folder = stat.S_ISDIR(Path(path).stat().st_mode)
        except OSError as error:
            raise StartRefused(manifest.name, f"{path} ({key}): {error.strerror}", "correct the manifest") from error
        if key in ("directory", "skills") and not is_folder:
            raise StartRefused(manifest.name, f"{path} ({key}) is no directory", "correct the manifest")
    if manifest.repository is not None and (local := _local(manifest.repository)) is not None:
        for place in map(_resolved, writable_of(manifest)):
            if place == local or place in local.parents or local in place.parents:
                why = f"its repository {local} could be written by the sandbox itself, whose hooks would run here"
                raise StartRefused(manifest.name, why, "name one outside of what it can write")


def _is_known(key: str, path: str) -> bool:
    """Whether it is what it is said to be, so that it may also be hidden: a program, or a skill."""
    if key == "tools":
        return Path(path).is_file() and os.access(path, os.X_OK)
    return key == "skills" and Path(path, "SKILL.md").is_file()


def _mounts(manifest: Manifest, folders: Folders) -> Iterator[Mount]:
    yield Mount(str(folders.socket), SOCKET_PLACE, writable=True)
    yield Mount(str(folders.given), GIVEN)
    if manifest.transcript is not None:
        yield Mount(str(folders.transcript), manifest.transcript, writable=True)
    for place, paths in ((TOOLS, manifest.tools), (SKILLS, manifest.skills)):
        for path in paths:
            yield Mount(str(_resolved(path)), f"{place}/{Path(path).name}")
    for one in manifest.mounts:
        yield Mount(str(_resolved(one.source)), one.target, one.writable)


def _variables(manifest: Manifest) -> Iterator[tuple[str, str]]:
    yield _OPTION
    proxies, inside = manifest.proxies, _inside(manifest)
    if proxies.egress is not None:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
            yield name, _address(proxies.egress, inside)
    if direct := [*proxies.direct, *(_OWN if inside else ())]:
        yield from ((name, ",".join(direct)) for name in ("NO_PROXY", "no_proxy"))
    if proxies.credential is not None:
        yield "STALLKIT_CREDENTIAL_PROXY", _address(proxies.credential, inside)


def _inside(manifest: Manifest) -> dict[str, int]:
    """The ports of its loopback at which it has its proxies, by their addresses; none in another network."""
    found: dict[str, int] = {}
    for address in manifest.proxies.addresses if manifest.engine == BWRAP and manifest.reaches == PROXIES else ():
        port = urlsplit(address).port or 80
        while port in found.values():
            port += 1
        found.setdefault(address, port)
    return found


def _address(address: str, inside: Mapping[str, int]) -> str:
    """Of a proxy, as the sandbox is told it."""
    url = urlsplit(address)
    return url._replace(netloc=f"127.0.0.1:{inside[address]}").geturl() if address in inside else address


def _place(address: str) -> str:
    url = urlsplit(address)
    return f"{url.netloc.rpartition(':')[0] if url.port else url.netloc}:{url.port or 80}"


def _bound(mount: Mount) -> list[str]:
    return ["--bind" if mount.writable else "--ro-bind", mount.source, mount.target]


def _csv(mount: Mount) -> str:
    """As docker and podman read it: a line of CSV."""
    source, target = (path.replace('"', '""') for path in (mount.source, mount.target))
    return f'type=bind,"source={source}","target={target}"{"" if mount.writable else ",readonly"}'


def _local(repository: str) -> Path | None:
    """The path of a repository on this machine; None for another one."""
    if repository.startswith("file://"):
        return _resolved(repository.removeprefix("file://"))
    return _resolved(repository) if repository.startswith("/") else None


def _resolved(path: str | Path) -> Path:
    return Path(os.path.realpath(path))
