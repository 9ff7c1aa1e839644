"""What a manifest becomes for its container runtime: the mounts, variables and network of one sandbox, and no more.

Every source is resolved and compared with `private_places` when the sandbox starts.  None may lie where a sandbox can
write: another start of it, also a supervisor's, would follow the link that it laid there meanwhile.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Iterable, Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from attrs import frozen

from stallkit.config import cache_dir, state_dir, user_config
from stallkit.errors import StartRefused
from stallkit.variables import Variables, read_variables
from stallkit_sessions.containers.bubblewrap import REACH
from stallkit_sessions.containers.runtime_call import BWRAP
from stallkit_sessions.manifest import GIVEN, PROXIES, SKILLS, SOCKET_PLACE, TOOLS, Manifest, Mount

# --- what no sandbox may be given ---

_MOST_LINKS = 40  # on the way to one file, as in Linux

# Below the home directory: what programs of developers keep their keys, tokens and passwords in.
_CREDENTIALS = (
    *(".ssh", ".gnupg", ".netrc", ".git-credentials", ".gitconfig", ".aws", ".azure", ".kube", ".docker", ".npmrc"),
    *(".pypirc", ".cargo/credentials.toml", ".password-store", ".terraform.d", ".pgpass", ".vault-token", ".s3cfg"),
    *(".config/gh", ".config/tea", ".config/gcloud", ".config/git", ".config/containers", ".config/rclone"),
    *(".config/op", ".config/sops", ".local/share/keyrings", ".mozilla", ".config/google-chrome", ".config/chromium"),
)
# Sockets that command a whole machine, wherever a distribution puts them.
_SOCKETS = ("/run/docker.sock", "/run/podman", "/run/containerd", "/run/dbus", "/run/systemd/private")


@frozen
class Place:
    """One private place, with its links resolved, and what lies there."""

    path: Path
    what: str


def private_places(tmux_socket: str | None = None) -> tuple[Place, ...]:
    """All of this user's, whether they exist yet or not; `tmux_socket` is that of the session's own server."""
    home = Path.home()
    found: list[tuple[Path | str, str]] = [
        (state_dir(), "stallkit's queue, audit and sessions"),
        (user_config().parent, "stallkit's settings"),
        *((home / name, "credentials") for name in _CREDENTIALS),
        *((path, "a daemon's socket") for path in _SOCKETS),
        (Path(os.environ.get("TMUX_TMPDIR") or "/tmp", f"tmux-{os.getuid()}"), "sockets of tmux"),
        ("/root" if os.getuid() else "/etc/shadow", "another user's files"),
    ]
    cache, runtime = cache_dir(), os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    found += [(cache, "stallkit's parsed packs, which it believes")] if cache else []
    found.append((runtime, "sockets of the user's own daemons"))
    for socket in (tmux_socket, os.environ.get("TMUX", "").partition(",")[0], os.environ.get("SSH_AUTH_SOCK")):
        if socket:
            found.append((socket, "a socket of tmux or of an agent for keys"))
    for name in ("DOCKER_CONFIG", "KUBECONFIG", "GNUPGHOME", "GOOGLE_APPLICATION_CREDENTIALS", "AWS_CONFIG_FILE"):
        if value := os.environ.get(name):
            found.append((value, "credentials"))
    return tuple(Place(_real(path), what) for path, what in found)


def why_private(path: str | Path, places: Iterable[Place]) -> str | None:
    """Why a path must not be mounted, in words; None if nothing is against it."""
    real = _real(path)
    for place in places:
        if real == place.path or place.path in real.parents:
            return f"{place.path} has {place.what}"
        if real in place.path.parents:
            return f"{place.path} is in it, with {place.what}"
    return None


def why_hidden(path: str | Path) -> str | None:
    """Why a place may have keys, in words: it is hidden in the home directory; None if it is not."""
    home, real = _real(Path.home()), _real(path)
    if home not in real.parents or not real.relative_to(home).parts[0].startswith("."):
        return None
    return f"~/{real.relative_to(home).parts[0]} is hidden, where programs keep their keys"


def why_replaceable(path: str | Path, writable: Iterable[str | Path]) -> str | None:
    """Why a sandbox that can write in these directories could put a link in a path's place; None if it could not."""
    roots = [_real(root) for root in writable]
    for name in _names_on_the_way(path):
        for root in roots:
            if root in name.parents:
                return f"a sandbox can write in {root}, and could put a link in its place"
    return None


def _names_on_the_way(path: str | Path) -> Iterator[Path]:
    """Where each name of a path lies that the kernel looks up, those in links too."""
    at, links = Path("/"), 0
    left = list(Path(os.path.abspath(path)).parts[1:])  # noqa: PTH100  # a path that need not exist
    while left:
        part = left.pop(0)
        if part == "..":
            at = at.parent
            continue
        yield at / part
        if not (at / part).is_symlink() or links == _MOST_LINKS:
            at /= part
            continue
        links += 1
        target = (at / part).readlink()
        at = Path("/") if target.is_absolute() else at
        left = [one for one in target.parts if one != "/"] + left


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))


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
    """The words for the runtime's `run`, except those of its command.

    Raises StartRefused if a source does not exist, or is none that a sandbox may have; `tmux_socket` is that of the
    tmux server it is started on, `others_write` are directories in which other sandboxes can write.
    """
    _check(manifest, tmux_socket, [*writable_of(manifest), *others_write])
    mounts = list(_mounts(manifest, folders))
    given = dict(_variables(manifest))
    if manifest.engine == BWRAP:
        words = [word for one in mounts for word in ("--bind" if one.writable else "--ro-bind", one.source, one.target)]
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
    """The variables that it is given unseen.  Raises StartRefused if one is not set, or a file cannot be read."""
    try:
        return read_variables(manifest.env, manifest.env_files, environ)
    except (OSError, ValueError) as error:
        raise StartRefused(manifest.name, str(error), "set it here, or correct the manifest") from error


def writable_of(manifest: Manifest) -> list[str]:
    """The directories of the machine in which it can write, except its own of stallkit's."""
    return [manifest.directory, *(one.source for one in manifest.mounts if one.writable)]


def _check(manifest: Manifest, tmux_socket: str | None, writable: Sequence[str]) -> None:
    places = private_places(tmux_socket)
    named = [("directory", manifest.directory), *(("mounts", one.source) for one in manifest.mounts)]
    named += [("tools", one) for one in manifest.tools] + [("skills", one) for one in manifest.skills]
    for key, path in [*named, *(("env_files", one) for one in manifest.env_files)]:
        if why := why_replaceable(path, writable):
            raise StartRefused(manifest.name, f"{path} ({key}): {why}", "name one that no sandbox can write")
    for key, path in named:
        if why := why_private(path, places) or (None if _is_known(key, path) else why_hidden(path)):
            why = f"its manifest mounts {path} ({key}): {why}"
            raise StartRefused(manifest.name, why, "mount something without private files")
        try:
            is_folder = stat.S_ISDIR(Path(path).stat().st_mode)
        except OSError as error:
            raise StartRefused(manifest.name, f"{path} ({key}): {error.strerror}", "correct the manifest") from error
        if key in ("directory", "skills") and not is_folder:
            raise StartRefused(manifest.name, f"{path} ({key}) is no directory", "correct the manifest")
    if manifest.repository is not None and (local := _local(manifest.repository)) is not None:
        for place in map(_real, writable_of(manifest)):
            if place == local or place in local.parents or local in place.parents:
                why = f"its repository {local} could be written by the sandbox itself, whose hooks would run here"
                raise StartRefused(manifest.name, why, "name one that it cannot write")


def _is_known(key: str, path: str) -> bool:
    """Whether it is what its key says, so that it may also be hidden: a program, or a skill."""
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
            yield Mount(str(_real(path)), f"{place}/{Path(path).name}")
    for one in manifest.mounts:
        yield Mount(str(_real(one.source)), one.target, one.writable)


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
    """Of a proxy, as the sandbox knows it."""
    url = urlsplit(address)
    return url._replace(netloc=f"127.0.0.1:{inside[address]}").geturl() if address in inside else address


def _place(address: str) -> str:
    url = urlsplit(address)
    return f"{url.netloc.rpartition(':')[0] if url.port else url.netloc}:{url.port or 80}"


def _csv(mount: Mount) -> str:
    """As docker and podman read it: a line of CSV."""
    source, target = (path.replace('"', '""') for path in (mount.source, mount.target))
    return f'type=bind,"source={source}","target={target}"{"" if mount.writable else ",readonly"}'


def _local(repository: str) -> Path | None:
    """The path of a repository on this machine; None for another one."""
    if repository.startswith("file://"):
        return _real(repository.removeprefix("file://"))
    return _real(repository) if repository.startswith("/") else None
