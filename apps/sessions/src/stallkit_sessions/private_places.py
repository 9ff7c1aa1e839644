"""What no sandbox may be given: where stallkit's own files, credentials, and the sockets of daemons and tmux lie.

A mount is refused where it is such a place, lies in one, or holds one, with all links resolved.  No list of places
where programs keep keys is whole, so what is hidden in the home directory is not mounted, either; nor what a sandbox
could replace, as it would lay a link to any other place.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Iterable, Iterator

from attrs import frozen

from stallkit.config import cache_dir, state_dir, user_config

__all__ = ["Place", "private_places", "why_hidden", "why_private", "why_replaceable"]

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
    """One such place, with its links resolved, and what lies there."""

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
    return tuple(Place(_resolved(path), what) for path, what in found)


def why_private(path: str | Path, places: Iterable[Place]) -> str | None:
    """Why a path must not be mounted, in words; None where nothing is against it."""
    real = _resolved(path)
    for place in places:
        if real == place.path or place.path in real.parents:
            return f"{place.path} has {place.what}"
        if real in place.path.parents:
            return f"{place.path} is in it, with {place.what}"
    return None


def why_hidden(path: str | Path) -> str | None:
    """Why a place may have keys, in words: it is hidden in the home directory; None where it is not."""
    home, real = _resolved(Path.home()), _resolved(path)
    if home not in real.parents or not real.relative_to(home).parts[0].startswith("."):
        return None
    return f"~/{real.relative_to(home).parts[0]} is hidden, where programs keep their keys"


def why_replaceable(path: str | Path, writable: Iterable[str | Path]) -> str | None:
    """Why a sandbox that can write in these directories could put a link in a path's place; None where it could not."""
    roots = [_resolved(root) for root in writable]
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


def _resolved(path: str | Path) -> Path:
    return Path(os.path.realpath(path))
