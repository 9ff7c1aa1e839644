"""Git on the host over a repository that an agent could write: its settings are never read, nothing of it is run.

Git works on a bare repository of ours, with settings of ours.  Where it has to reach another machine it also has the
settings and credentials of who runs it, which lie where no sandbox can write (`private_places`).
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Sequence

from stallkit.errors import StallkitError
from stallkit_sessions.worktree import OURS, Repository, repository_of

__all__ = [
    "SnapshotFailed",
    "check_own",
    "copied_index",
    "data",
    "given",
    "head_of",
    "kill",
    "last_line",
    "operators_environment",
    "quoted",
    "run",
]


_HEX = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# Of who runs it, for a push: how git reaches a host, and whose settings those are.
_OPERATORS = frozenset(
    {"GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"}
    | {"GIT_SSL_CAINFO", "GIT_SSL_NO_VERIFY"}
)


class SnapshotFailed(StallkitError):
    """The work could not be kept: then nothing must be removed."""

    def __init__(self, where: str, why: str, todo: str = "see to it, and try again") -> None:
        super().__init__("work not kept", where, why, todo)


def run(
    command: Sequence[str],
    environment: dict[str, str],
    cwd: Path,
    at: str | Path,
    deadline_s: float,
    given: bytes = b"",
) -> bytes:
    """What a call prints; `at` is where, for messages.  Raises SnapshotFailed."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE if given else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environment,
            start_new_session=True,  # it cannot ask anybody, and what it starts (ssh) ends with it
        )
    except OSError as error:
        why = "git is not installed" if error.filename == "git" else error.strerror or str(error)
        raise SnapshotFailed(str(at), why) from error
    with process:
        try:
            out, said = process.communicate(given or None, timeout=deadline_s)
        except subprocess.TimeoutExpired as error:
            kill(process)
            raise SnapshotFailed(str(at), f"git took longer than {deadline_s:g} s") from error
        except BaseException:
            kill(process)
            raise
    if process.returncode:
        raise SnapshotFailed(str(at), last_line(said, process.returncode))
    return out


def data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def quoted(name: bytes) -> bytes:
    """A path as git reads it in quotes."""
    plain = (b"\\%03o" % byte if byte < 32 or byte > 126 or byte in b'"\\' else bytes([byte]) for byte in name)
    return b'"' + b"".join(plain) + b'"'


def head_of(repository: Repository) -> str | None:
    """The commit that the work tree is on; None before the first one.  No link is followed.  Raises ValueError."""
    text = _plain(repository.own / "HEAD")
    if text is None:
        raise ValueError("its HEAD cannot be read")
    if not text.startswith("ref: "):
        return _commit(text)
    name = text.removeprefix("ref: ").strip()
    if not name.startswith("refs/heads/") or any(part in ("", ".", "..") for part in name.split("/")):
        raise ValueError(f"its HEAD names {name!r}, which is no branch")
    own = Path(os.path.realpath(repository.common))
    place = own / name
    if os.path.realpath(place) != str(place):
        raise ValueError(f"{place} is, or is behind, a symbolic link")
    loose = _plain(place)
    if loose is not None:
        return _commit(loose)
    for line in (_plain(own / "packed-refs", most=100_000_000) or "").splitlines():
        commit, _, packed = line.partition(" ")
        if packed == name:
            return _commit(commit)
    return None


def _plain(path: Path, most: int = 65_536) -> str | None:
    """The content of a plain file, no link; None where there is none."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError(f"{path} is no plain file")
        return file.read(most).decode("utf-8", "surrogateescape").rstrip("\n")


def _commit(text: str) -> str:
    if not _HEX.fullmatch(text.strip()):
        raise ValueError(f"{text[:80]!r} is no commit")
    return text.strip()


def check_own(objects: Path) -> None:
    """Raise ValueError where a repository has objects of another one: a push would send them, if it names one.

    An agent can borrow from any repository of the user's, by a file of git's or by links.
    """
    for name in ("alternates", "http-alternates"):
        if os.path.lexists(objects / "info" / name):
            raise ValueError(
                f"it borrows objects of other repositories: git repack -a -d, then remove objects/info/{name}"
            )
    _check_no_links(objects, 1)


def _check_no_links(folder: Path, deeper: int) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                raise ValueError(f"{entry.path} is a symbolic link")
            if deeper and entry.is_dir(follow_symlinks=False):
                _check_no_links(Path(entry.path), deeper - 1)


def copied_index(root: Path, to: Path) -> bool:
    """Copy the index of the work tree there; False where it has none, or one of which a part is elsewhere."""
    repository = repository_of(root)
    if repository is None or repository.root != root:
        return False
    try:
        handle = os.open(repository.own / "index", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    with os.fdopen(handle, "rb") as source, to.open("wb") as copy:
        shutil.copyfileobj(source, copy)
    return True


def given(remote: bool = False) -> list[str]:
    """The settings of ours; of those against the network only what a push does not need."""
    found = [(key, value) for key, value in OURS if not (remote and key == "protocol.allow")]
    found += [("protocol.ext.allow", "never"), ("gc.auto", "0"), ("maintenance.auto", "false")]
    found += [("push.gpgsign", "false"), ("core.alternaterefscommand", "true"), ("advice.detachedhead", "false")]
    return [word for key, value in found for word in ("-c", f"{key}={value}")]


def operators_environment() -> dict[str, str]:
    """Ours, with what says how git reaches a host; nobody is asked for a password."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _OPERATORS}
    return kept | {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}


def kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def last_line(said: bytes, code: int) -> str:
    """The line of git's complaints that says most."""
    lines = [line for line in said.decode("utf-8", "backslashreplace").splitlines() if line.strip()]
    blamed = [line for line in lines if line.startswith(("fatal:", "error:", "remote:", " ! "))]
    return (blamed or lines or [f"git ended with status {code}"])[0].strip()[:300]
