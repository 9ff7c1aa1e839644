"""A work tree as a commit of ours: all of it that is not ignored, byte for byte; its index and tree are not touched.

The tree and its repository are an agent's.  Git never reads their settings: it works on a bare repository of ours that
borrows the objects (`Store`), lists names, and takes the content from us (`git fast-import`), so that no filter, hook,
monitor or attribute of theirs has a part in it.  Files are opened without following a link in any part of their path.
A push uses the settings and credentials of who runs it, never those of the repository.  (dulwich 1.2 would run the
filters that a repository names.)
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Iterator

from attrs import frozen

from stallkit import private
from stallkit.errors import StallkitError
from stallkit_sessions.child_process import end_group, run_alone
from stallkit_sessions.worktree import OURS, SMALL, Repository, bare_environment, repository_of, small_file

GIT_S = 600.0  # for one call of git: a push of a large repository over a slow line
_CHUNK = 1 << 20  # bytes
_SUBMODULE = b"160000 "  # how a tree names a commit of another repository
_FILES = 100  # that are restored in one call
_REF = re.compile(r"refs/[A-Za-z0-9._/-]+")
_WHO = "stallkit <stallkit@localhost>"
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


@frozen
class WorkSnapshot:
    """A work tree as it was kept."""

    commit: str
    tree: str
    parent: str | None  # the commit that the work tree was on
    files: int


@frozen
class Store:
    """A bare repository of ours, for the work tree in `directory`, whose repository was at `place` at the beginning.

    Every method raises SnapshotFailed.
    """

    path: Path
    directory: Path
    place: Path

    def take(self, ref: str, message: str) -> WorkSnapshot:
        """Keep the work tree as it is now in a commit at that ref."""
        try:
            repository = self._repository()
            head = _head_of(repository)
            self._borrow(repository, head)
            with tempfile.TemporaryDirectory(prefix="stallkit-index-") as made:
                found = self._import(ref, message, head, Path(made))
            self._repository()  # once more: what was borrowed meanwhile must be its own, too
            return found
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            name = getattr(error, "filename", None)
            raise SnapshotFailed(str(self.directory), f"{os.fsdecode(name)}: {why}" if name else why) from error

    def push(self, ref: str, snapshot: WorkSnapshot, remote: str) -> None:
        """Push it there, to the same ref."""
        words = ["push", "--quiet", "--no-verify", "--no-recurse-submodules", "--no-signed", "--"]
        self._git(*words, remote, f"+{snapshot.commit}:{ref}", at=remote, theirs=True)

    def read_back(self, ref: str, snapshot: WorkSnapshot, remote: str) -> None:
        """Fetch it from there into an empty repository, which git does not do by halves, and compare."""
        with tempfile.TemporaryDirectory(prefix="back-", dir=self.path.parent) as made:
            other = Store(Path(made, "r.git"), self.directory, self.place)
            other._make(len(snapshot.commit))
            words = ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--"]
            other._git(*words, remote, ref, at=remote, theirs=True)
            found = other._git("rev-parse", "FETCH_HEAD", "FETCH_HEAD^{tree}").decode().split()
        if found != [snapshot.commit, snapshot.tree]:
            raise SnapshotFailed(remote, f"{ref} is {found[0][:12]} there, not {snapshot.commit[:12]}")

    def restore(self, ref: str, snapshot: WorkSnapshot, remote: str, branch: str | None) -> int:
        """Write what is missing of it in the directory, and over no other file; returns how many files.

        If the directory or its repository is gone, both are made again, on that branch.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(self.directory / ".git"):
                self._renew(ref, snapshot, remote, branch)
            return self._write_missing(snapshot)
        except (OSError, ValueError) as error:
            raise SnapshotFailed(str(self.directory), getattr(error, "strerror", None) or str(error)) from error

    # --- the repository of ours ---

    def _repository(self) -> Repository:
        found = repository_of(self.directory)
        if found is None:
            raise ValueError("it is in no git repository")
        common = Path(os.path.realpath(found.common))
        if common != self.place:
            raise ValueError(f"its repository is {common} now, and was {self.place} when it was registered")
        if Path(os.path.realpath(self.directory)) != found.root:
            raise ValueError(f"it is not the top of its work tree, {found.root} is")
        for name in ("objects", "refs", "packed-refs"):
            if (common / name).is_symlink():
                raise ValueError(f"{common / name} is a symbolic link")
        _check_own(common / "objects")
        return found

    def _make(self, digits: int) -> None:
        if not (self.path / "HEAD").exists():
            kind = "sha256" if digits == 64 else "sha1"
            new = Path(tempfile.mkdtemp(prefix="new-", dir=self.path.parent))
            self._run(["git", "init", "--quiet", "--bare", "--template=", f"--object-format={kind}", str(new)])
            shutil.rmtree(self.path, ignore_errors=True)
            new.rename(self.path)

    def _borrow(self, repository: Repository, head: str | None) -> None:
        """Let the repository of ours see the objects of theirs, and nothing else of it."""
        private.folder(self.path.parent)
        self._make(len(head) if head else self._digits(repository))
        info = self.path / "info"
        info.mkdir(exist_ok=True)
        (self.path / "objects" / "info").mkdir(parents=True, exist_ok=True)
        objects = os.fsencode(self.place / "objects")
        (self.path / "objects" / "info" / "alternates").write_bytes(_quoted(objects) + b"\n")
        for name, there in (("shallow", self.path / "shallow"), ("info/exclude", info / "exclude")):
            there.unlink(missing_ok=True)
            with suppress(OSError):
                there.write_bytes(small_file(repository.common / name).encode("utf-8", "surrogateescape"))

    def _digits(self, repository: Repository) -> int:
        config = ["git", "config", "--file", str(repository.common / "config"), "--no-includes"]
        try:
            kind = self._run([*config, "--get", "extensions.objectformat"])
        except SnapshotFailed:  # it has none
            return 40
        return 64 if kind.strip() == b"sha256" else 40

    # --- what is in the work tree ---

    def _names(self, root: Path, index: Path | None, made: Path) -> tuple[list[bytes], set[bytes]]:
        """What is tracked or not ignored below a work tree's top, and what of it git left out on purpose."""
        tree = {"GIT_WORK_TREE": str(root), "GIT_INDEX_FILE": str(made / "none")}
        others = self._git("ls-files", "-z", "--others", "--exclude-standard", more=tree, cwd=root)
        names, left_out = others.split(b"\0")[:-1], set()
        if index is not None:
            tree["GIT_INDEX_FILE"] = str(index)
            for entry in self._git("ls-files", "-z", "-t", "--cached", more=tree, cwd=root).split(b"\0")[:-1]:
                names.append(entry[2:])
                if entry[:1] == b"S":
                    left_out.add(entry[2:])
        return names, left_out

    def _files(self, root: Path, made: Path, prefix: bytes = b"") -> tuple[list[bytes], set[bytes]]:
        """All names, also those in repositories inside, which git itself would not list."""
        index = made / f"index-{len(list(made.iterdir()))}"
        names, left_out = self._names(root, index if _copied_index(root, index) else None, made)
        found: list[bytes] = []
        for name in dict.fromkeys(names):
            inside = root / os.fsdecode(name.rstrip(b"/"))
            if inside.is_dir() and not inside.is_symlink():
                if os.path.lexists(inside / ".git"):
                    more, _ = self._files(inside, made, prefix + name.rstrip(b"/") + b"/")
                    found += more
            else:
                found.append(prefix + name)
        return found, {prefix + name for name in left_out}

    def _import(self, ref: str, message: str, head: str | None, made: Path) -> WorkSnapshot:
        if not _REF.fullmatch(ref):
            raise ValueError(f"{ref!r} is no ref")
        (self.path / f"{ref}.lock").unlink(missing_ok=True)  # of one that was killed: nobody else works here
        tracked = self._git("ls-tree", "-r", "-z", head).split(b"\0")[:-1] if head else []
        names, left_out = self._files(Path(os.path.realpath(self.directory)), made)
        count = 0
        with SafeDir(self.directory) as below, self._importing() as give:
            give.write(f"commit {ref}\ncommitter {_WHO} {int(time.time())} +0000\n".encode())
            give.write(_data(message.encode("utf-8", "replace")))
            give.write(f"from {head}\n".encode() if head else b"")
            for entry in tracked:
                name = entry.partition(b"\t")[2]
                if not entry.startswith(_SUBMODULE) and name not in left_out and not below.is_file(name):
                    give.write(b"D " + _quoted(name) + b"\n")
            for name in names:
                count += _give(give, below, name)
            give.write(b"done\n")
        found = self._git("rev-parse", f"{ref}^{{commit}}", f"{ref}^{{tree}}").decode().split()
        return WorkSnapshot(found[0], found[1], head, count)

    @contextmanager
    def _importing(self) -> Iterator[IO[bytes]]:
        """The standard input of a `git fast-import`, whose end is waited for."""
        command = ["git", "--no-pager", *_given(), "fast-import", "--quiet", "--done", "--force"]
        with tempfile.TemporaryFile() as complaints:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                cwd=self.path,
                env={**bare_environment(), "GIT_DIR": str(self.path)},
                start_new_session=True,
            )
            assert process.stdin is not None
            try:
                with suppress(BrokenPipeError):  # its complaint says why
                    yield process.stdin
                with suppress(BrokenPipeError):
                    process.stdin.close()
                code = process.wait(GIT_S)
            except BaseException:
                end_group(process)
                raise
            if code:
                complaints.seek(0)
                raise ValueError(_last_line(complaints.read(_CHUNK), code))

    # --- restoring ---

    def _renew(self, ref: str, snapshot: WorkSnapshot, remote: str, branch: str | None) -> None:
        """A repository where none is left: the history comes from where it was pushed to."""
        kind = "sha256" if len(snapshot.commit) == 64 else "sha1"
        start = ["git", "init", "--quiet", "--template=", f"--object-format={kind}", "-b", branch or "main"]
        self._run([*start, str(self.directory)])
        own = Store(self.directory / ".git", self.directory, self.place)
        own._git("fetch", "--quiet", "--no-tags", "--", remote, f"+{ref}:{ref}", at=remote, theirs=True)
        if snapshot.parent is not None:
            own._git("update-ref", f"refs/heads/{branch or 'main'}", snapshot.parent)
            tree = {"GIT_WORK_TREE": str(self.directory)}
            own._git("read-tree", snapshot.parent, more=tree, cwd=self.directory)
        own._git("config", "remote.origin.url", remote)
        own._git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
        (self.path / "objects" / "info" / "alternates").write_bytes(
            _quoted(os.fsencode(self.directory / ".git" / "objects")) + b"\n"
        )

    def _write_missing(self, snapshot: WorkSnapshot) -> int:
        entries = self._git("ls-tree", "-r", "-z", "--full-tree", snapshot.commit).split(b"\0")[:-1]
        written = 0
        with SafeDir(self.directory) as below:
            missing: list[tuple[bytes, str, str]] = []
            for entry in entries:
                head, _, name = entry.partition(b"\t")
                mode, kind, blob = head.decode().split()
                if kind == "blob" and not below.exists(name):
                    missing.append((name, mode, blob))
            for at in range(0, len(missing), _FILES):
                part = missing[at : at + _FILES]
                for (name, mode, _), content in zip(part, self._blobs([blob for *_, blob in part]), strict=True):
                    written += below.write(name, content, mode)
        return written

    def _blobs(self, wanted: list[str]) -> Iterator[bytes]:
        answer = self._git("cat-file", "--batch", given_text="\n".join([*wanted, ""]).encode())
        at = 0
        for _ in wanted:
            end = answer.index(b"\n", at)
            size = int(answer[at:end].split()[2])
            yield answer[end + 1 : end + 1 + size]
            at = end + size + 2

    # --- calls ---

    def _git(
        self,
        *words: str,
        at: str | None = None,
        theirs: bool = False,
        more: dict[str, str] | None = None,
        cwd: Path | None = None,
        given_text: bytes = b"",
    ) -> bytes:
        """What a call prints; `theirs`: with the settings of who runs it, as a push needs them."""
        environment = {**(_operators_environment() if theirs else bare_environment()), **(more or {})}
        environment["GIT_DIR"] = str(self.path)
        command = ["git", "--no-pager", *_given(remote=theirs), *words]
        return self._call(command, environment, cwd or self.path, at or str(self.directory), given_text)

    def _run(self, command: list[str]) -> bytes:
        return self._call(command, bare_environment(), self.path.parent, str(self.directory))

    def _call(self, command: list[str], environment: dict[str, str], cwd: Path, at: str, given: bytes = b"") -> bytes:
        """What it prints; `at` is where, for messages.  Raises SnapshotFailed."""
        try:
            done = run_alone(command, environment, GIT_S, cwd, given)
        except OSError as error:
            why = "git is not installed" if error.filename == "git" else error.strerror or str(error)
            raise SnapshotFailed(at, why) from error
        except subprocess.TimeoutExpired as error:
            raise SnapshotFailed(at, f"git took longer than {GIT_S:g} s") from error
        if done.returncode:
            raise SnapshotFailed(at, _last_line(done.stderr, done.returncode))
        return done.stdout


def _give(to: IO[bytes], below: SafeDir, name: bytes) -> bool:
    """Hand a file over as it is; False for one that is gone, a pipe, a socket.  Raises OSError, ValueError."""
    found = below.look(name)
    if found is None:
        return False
    if stat.S_ISLNK(found.st_mode):
        to.write(b"M 120000 inline " + _quoted(name) + b"\n" + _data(below.link(name)))
        return True
    if not stat.S_ISREG(found.st_mode):
        return False
    with below.opened(name) as file:
        size = os.fstat(file.fileno()).st_size
        mode = b"100755" if found.st_mode & stat.S_IXUSR else b"100644"
        to.write(b"M %s inline %s\ndata %d\n" % (mode, _quoted(name), size))
        left = size
        while left and (chunk := file.read(min(left, _CHUNK))):
            to.write(chunk)
            left -= len(chunk)
        if left:
            raise ValueError(f"{os.fsdecode(name)} got shorter while it was read")
        to.write(b"\n")
    return True


# --- git, which reads nothing of theirs ---


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def _quoted(name: bytes) -> bytes:
    """A path as git reads it in quotes."""
    plain = (b"\\%03o" % byte if byte < 32 or byte > 126 or byte in b'"\\' else bytes([byte]) for byte in name)
    return b'"' + b"".join(plain) + b'"'


def _head_of(repository: Repository) -> str | None:
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


def _plain(path: Path, most: int = SMALL) -> str | None:
    """The content of a plain file, no link; None if there is none."""
    try:
        return small_file(path, most, links=False).rstrip("\n")
    except FileNotFoundError:
        return None


def _commit(text: str) -> str:
    if not _HEX.fullmatch(text.strip()):
        raise ValueError(f"{text[:80]!r} is no commit")
    return text.strip()


def _check_own(objects: Path) -> None:
    """Raise ValueError if a repository has objects of another one: a push would send them, if it names one.

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


def _copied_index(root: Path, to: Path) -> bool:
    """Copy the index of the work tree there; False if it has none, or one of which a part is elsewhere."""
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


def _given(remote: bool = False) -> list[str]:
    """The settings of ours; of those against the network only what a push does not need."""
    found = [(key, value) for key, value in OURS if not (remote and key == "protocol.allow")]
    found += [("protocol.ext.allow", "never"), ("gc.auto", "0"), ("maintenance.auto", "false")]
    found += [("push.gpgsign", "false"), ("core.alternaterefscommand", "true"), ("advice.detachedhead", "false")]
    return [word for key, value in found for word in ("-c", f"{key}={value}")]


def _operators_environment() -> dict[str, str]:
    """Ours, with what says how git reaches a host; nobody is asked for a password."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _OPERATORS}
    return kept | {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}


def _last_line(said: bytes, code: int) -> str:
    """The line of git's complaints that says most."""
    lines = [line for line in said.decode("utf-8", "backslashreplace").splitlines() if line.strip()]
    blamed = [line for line in lines if line.startswith(("fatal:", "error:", "remote:", " ! "))]
    return (blamed or lines or [f"git ended with status {code}"])[0].strip()[:300]


# --- files below a directory that somebody else may change at any time: no part of a path is ever a followed link ---

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class SafeDir:
    """A directory that is held open; names are relative to it, as bytes.  A context."""

    def __init__(self, root: Path) -> None:
        self._root = os.open(os.path.realpath(root), _FOLDER)
        self._at: tuple[bytes, int] | None = None  # the directory that was used last

    def __enter__(self) -> SafeDir:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._at is not None:
            os.close(self._at[1])
        os.close(self._root)

    def look(self, name: bytes) -> os.stat_result | None:
        """What it is; None if there is nothing, or something else instead of one of its directories."""
        try:
            folder, last = self._folder(name)
            return os.stat(last, dir_fd=folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:  # a link in place of a directory
                return None
            raise

    def exists(self, name: bytes) -> bool:
        """Whether anything has that name."""
        return self.look(name) is not None

    def is_file(self, name: bytes) -> bool:
        """Whether anything has that name that is no directory."""
        found = self.look(name)
        return found is not None and not stat.S_ISDIR(found.st_mode)

    def link(self, name: bytes) -> bytes:
        """Where a symbolic link leads to."""
        folder, last = self._folder(name)
        return os.readlink(last, dir_fd=folder)

    @contextmanager
    def opened(self, name: bytes) -> Iterator[IO[bytes]]:
        """A plain file, to be read.  Raises OSError, ValueError if it no longer is one."""
        folder, last = self._folder(name)
        try:
            handle = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except OSError as error:
            error.filename = name
            raise
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise ValueError(f"{os.fsdecode(name)} is no longer a plain file")
            yield file

    def write(self, name: bytes, content: bytes, mode: str) -> bool:
        """Make a file, or a link where git's mode says so, and its directories; False if anything is in the way."""
        try:
            folder, last = self._folder(name, make=True)
            if mode == "120000":
                os.symlink(content, last, dir_fd=folder)
                return True
            given = 0o755 if mode == "100755" else 0o644
            handle = os.open(last, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, given, dir_fd=folder)
        except (FileExistsError, NotADirectoryError):
            return False
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            os.fchmod(handle, given)
        return True

    def _folder(self, name: bytes, make: bool = False) -> tuple[int, bytes]:
        """A descriptor of the directory that the name is in, and its last part.  Raises OSError, ValueError."""
        *parts, last = name.split(b"/")
        if any(part in (b"", b".", b"..", b".git") for part in (*parts, last)):
            raise ValueError(f"{os.fsdecode(name)} is no name of a file")
        key = b"/".join(parts)
        if self._at is not None and self._at[0] == key and not make:
            return self._at[1], last
        at = os.dup(self._root)
        try:
            for part in parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o755, dir_fd=at)
                inner = os.open(part, _FOLDER, dir_fd=at)
                os.close(at)
                at = inner
        except BaseException:
            os.close(at)
            raise
        if self._at is not None:
            os.close(self._at[1])
        self._at = (key, at)
        return at, last
