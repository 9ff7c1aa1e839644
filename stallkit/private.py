"""Directories and files that are the user's own: nobody else reads them, replaces them, or leads writes elsewhere.

`folder` is for directories of stallkit's own, `file` for files in them that others open by name, `opened` for all files
that are written, also those that a person names, `content` for files that decide.  Programs of the same user are not
kept out: no mode can do that.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

OTHERS = 0o077  # what the group and all others may do
WRITE = 0o022
MOST_LINKS = 40  # on the way to one file, as in Linux
MOST = 1 << 20  # bytes of a file that decides


class NotPrivate(OSError):
    """Others could read or replace it, or it is not what it seems: `strerror` says why, and what to do."""

    def __str__(self) -> str:
        return str(self.strerror)


def folder(path: Path) -> None:
    """Make a directory of stallkit's own, with those above it, or tighten the one that is there, to mode 0700.

    Raises OSError as `checked` does, and for one that is open to others and has other uses, or holds what is theirs.
    """
    path = path.absolute()
    with suppress(FileExistsError):
        _make(path)
    found = _own(path)
    if found.st_mode & OTHERS:
        _only_here(path, found)
        try:
            path.chmod(found.st_mode & 0o700)
        except OSError:  # a disk that is read-only: others may look, but not change anything
            if found.st_mode & WRITE:
                raise


def checked(path: Path) -> os.stat_result:
    """What an existing directory is, which belongs to this user and which nobody else can replace.

    Raises OSError for a symbolic link, a foreign owner, and if a directory above it is somebody else's or can be
    written by others.  One with the sticky bit may be above it: there everyone keeps what is theirs.
    """
    found = _own(path.absolute())
    if _others_write(found):
        _refuse(f"{path} can be written by others: chmod go-w it")
    return found


def file(path: Path) -> None:
    """Make an empty file with mode 0600 in such a directory, or tighten the one that is there.  Raises OSError.

    It is not opened: to close one file of a database would end the locks that this process has on it.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        found = path.lstat()
        _check_file(found)
        if found.st_mode & OTHERS:
            path.chmod(found.st_mode & 0o700)
        os.utime(path)  # so that a disk that is read-only says so here


def opened(path: str | Path, flags: int, *, at: int | None = None, special: bool = False) -> int:
    """A descriptor of a plain file of one's own, made or tightened to mode 0600; it never waits.  Raises OSError.

    `flags` are those of `os.open`; `at` is a descriptor of its directory.  No symbolic link is followed, and no file is
    taken that has another name as well: it may be an important one.  `special` takes devices and pipes, too.
    """
    safely = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        handle = os.open(path, flags & ~os.O_TRUNC | safely, 0o600, dir_fd=at)
    except OSError as error:
        if error.errno == errno.ELOOP:
            _refuse("it is a symbolic link: name the file itself")
        if error.errno == errno.ENXIO and not special:  # a pipe that nobody reads, a socket
            _refuse("it is not a plain file", errno.EINVAL)
        raise
    try:
        found = os.fstat(handle)
        if not (special and (stat.S_ISCHR(found.st_mode) or stat.S_ISFIFO(found.st_mode))):
            _check_file(found)
            if found.st_mode & OTHERS:
                os.fchmod(handle, found.st_mode & 0o700)
            if flags & os.O_TRUNC:  # only now: it may have been somebody else's
                os.ftruncate(handle, 0)
    except BaseException:
        os.close(handle)
        raise
    return handle


def content(path: Path) -> bytes:
    """What a plain file says that nobody but this user and root can write, replace, or lead elsewhere.

    Links are followed as long as those two laid them.  It never waits.  Raises OSError, also for a file over `MOST`.
    """
    at, found = _reached(path.absolute())
    if not stat.S_ISREG(found.st_mode):
        _refuse(f"{at} is not a plain file", errno.EINVAL)
    if _others_write(found):
        _refuse(f"{at} can be written by others: chmod go-w it")
    handle = os.open(at, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if not os.path.samestat(os.fstat(handle), found):
            _refuse(f"{at} was replaced while it was read: try again")
        read = file.read(MOST + 1)
    if len(read) > MOST:
        _refuse(f"{at} has more than {MOST:,} bytes", errno.EFBIG)
    return read


def _own(path: Path) -> os.stat_result:
    if path.is_symlink():
        _refuse(f"{path} is a symbolic link: name the directory itself")
    at, found = _reached(path)
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, f"{at} is not a directory")
    if found.st_uid != os.geteuid():
        _refuse(f"{path} belongs to another user (uid {found.st_uid}): name a directory of your own")
    return found


def _make(path: Path) -> None:
    try:
        path.mkdir(mode=0o700)
    except FileNotFoundError:
        _make(path.parent)
        path.mkdir(mode=0o700)


def _reached(path: Path) -> tuple[Path, os.stat_result]:
    """Follow a path as the kernel does to where it ends, and refuse each step that another user could replace."""
    trusted = {0, os.geteuid(), os.lstat("/").st_uid}  # in a user namespace root may have another number
    at, found = Path("/"), os.lstat("/")
    ahead = list(reversed(path.parts[1:]))
    links = 0
    while True:
        if found.st_uid not in trusted:
            _refuse(f"{at} belongs to another user (uid {found.st_uid}): name one of your own")
        if not ahead:
            return at, found
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, f"{at} is not a directory")
        if _others_write(found):
            _refuse(f"{at} can be written by others: chmod go-w it, or name another directory")
        name = ahead.pop()
        then = at.parent if name == ".." else at / name
        found = then.lstat()
        if not stat.S_ISLNK(found.st_mode):
            at = then
            continue
        links += 1
        if found.st_uid not in trusted or links > MOST_LINKS:
            _refuse(f"{then} is a symbolic link of another user, or in a circle: name the directory itself")
        target = then.readlink()
        at = Path("/") if target.is_absolute() else at
        ahead += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        found = at.lstat()


def _others_write(found: os.stat_result) -> bool:
    """Whether another user can write a file, or replace what is in a directory."""
    sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
    if sticky or not found.st_mode & WRITE:
        return False
    return bool(found.st_mode & stat.S_IWOTH) or not _private_group(found.st_gid)


def _private_group(gid: int) -> bool:
    """Whether it is the user's own group, without other members: many systems make one for each user."""
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return gid == user.pw_gid and group.gr_name == user.pw_name and not set(group.gr_mem) - {user.pw_name}


def _only_here(path: Path, found: os.stat_result) -> None:
    """Refuse a directory that is more than stallkit's: to tighten it would lock other programs out."""
    used = (found.st_mode & stat.S_ISVTX or path.parent == Path("/")) and any(path.iterdir())
    if used or path in (Path("/"), Path("/tmp"), Path("/var/tmp"), Path.home()):
        _refuse(f"{path} is open to others and has other uses: name a directory in it")
    if found.st_mode & WRITE:
        for one in path.iterdir():
            if one.lstat().st_uid != os.geteuid():
                _refuse(f"{one} was laid there by another user (uid {one.lstat().st_uid}): remove it")


def _check_file(found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        _refuse("it is a symbolic link: name the file itself")
    if not stat.S_ISREG(found.st_mode):
        _refuse("it is not a plain file", errno.EINVAL)
    if found.st_uid != os.geteuid():
        _refuse(f"it belongs to another user (uid {found.st_uid})")
    if found.st_nlink > 1:
        _refuse("the file has another name as well", errno.EMLINK)


def _refuse(why: str, number: int = errno.EPERM) -> NoReturn:
    raise NotPrivate(number, why)
