"""What no sandbox may be given: where stallkit's own files, credentials, and the sockets of daemons and tmux lie.

A mount is refused where it is such a place, lies in one, or holds one; symbolic links are resolved first, since an
agent may have laid them in its own directory.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Iterable

from stallkit.config import cache_dir, state_dir, user_config
from stallkit.core.values import frozen

__all__ = ["Place", "private_places", "why_private"]

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
    found += [(cache, "stallkit's compiled packs, which it runs")] if cache else []
    found.append((runtime, "sockets of the user's own daemons"))
    for socket in (tmux_socket, os.environ.get("TMUX", "").partition(",")[0], os.environ.get("SSH_AUTH_SOCK")):
        if socket:
            found.append((socket, "a socket of tmux or of an agent for keys"))
    for name in ("DOCKER_CONFIG", "KUBECONFIG", "GNUPGHOME", "GOOGLE_APPLICATION_CREDENTIALS", "AWS_CONFIG_FILE"):
        if value := os.environ.get(name):
            found.append((value, "credentials"))
    return tuple(Place(_resolved(path), what) for path, what in found)


def why_private(path: str | Path, places: Iterable[Place], *, but: Path | None = None) -> str | None:
    """Why a path must not be mounted, in words; None where nothing is against it.

    `but` is a directory in one of the places that was made to be mounted.
    """
    real = _resolved(path)
    if but is not None and real == _resolved(but):
        return None
    for place in places:
        if real == place.path or place.path in real.parents:
            return f"{place.path} has {place.what}"
        if real in place.path.parents:
            return f"{place.path} is in it, with {place.what}"
    return None


def _resolved(path: str | Path) -> Path:
    return Path(os.path.realpath(path))
