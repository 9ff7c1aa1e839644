"""What others on the machine can read, replace or lead elsewhere: nothing that stallkit writes."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Callable, Iterator

import pytest
from stallkit_sessions import monitor_client
from stallkit_sessions.finalize import append, log_of
from stallkit_supervisor.store import Store
from started import House

from stallkit import daemon, private
from stallkit.daemon_socket import DaemonGone, Server, ask
from stallkit.database import Database
from stallkit.errors import StallkitError, StoreError
from stallkit.press.events import Event, EventLog

OTHER = 65534  # nobody's uid
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")
WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


# --- directories ---


def test_a_directory_is_made_for_its_owner_alone(tmp_path: Path, no_umask: None) -> None:
    private.folder(tmp_path / "a" / "b" / "c")
    assert [mode(tmp_path / name) for name in ("a", "a/b", "a/b/c")] == [0o700] * 3


@pytest.mark.parametrize("before", [0o755, 0o777, 0o775, 0o2770])
def test_one_of_ones_own_is_tightened(tmp_path: Path, before: int) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(before)
    (tmp_path / "state" / "file").touch()
    private.folder(tmp_path / "state")
    assert mode(tmp_path / "state") == 0o700


def _link(path: Path) -> None:
    path.with_name("there").mkdir()
    path.symlink_to(path.with_name("there"))


def _loose_link(path: Path) -> None:
    path.symlink_to("nowhere")


def _sticky(path: Path) -> None:
    path.mkdir()
    path.chmod(0o1777)
    (path / "other").touch()


def _foreign(path: Path) -> None:
    path.mkdir(mode=0o700)
    os.chown(path, OTHER, OTHER)


REFUSED: dict[str, tuple[Callable[[Path], None], str]] = {
    "a link": (_link, "is a symbolic link"),
    "a link to nowhere": (_loose_link, "is a symbolic link"),
    "a directory for all": (_sticky, "has other uses"),
    "a file": (Path.touch, "is not a directory"),
}


@pytest.mark.parametrize(("made", "why"), REFUSED.values(), ids=REFUSED)
def test_what_could_mislead_is_refused(tmp_path: Path, made: Callable[[Path], None], why: str) -> None:
    made(tmp_path / "state")
    before = (tmp_path / "state").lstat().st_mode
    with pytest.raises(OSError, match=why):
        private.folder(tmp_path / "state")
    assert (tmp_path / "state").lstat().st_mode == before


@as_root
def test_a_directory_of_another_user_is_refused_wherever_it_is(tmp_path: Path) -> None:
    _foreign(tmp_path / "theirs")
    (tmp_path / "theirs" / "state").mkdir(mode=0o700)
    for path in (tmp_path / "theirs", tmp_path / "theirs" / "state", tmp_path / "theirs" / "state" / "new"):
        with pytest.raises(OSError, match=rf"{tmp_path}/theirs belongs to another user \(uid {OTHER}\)"):
            private.folder(path)


@pytest.mark.parametrize("open_to", [0o777, 0o773])
def test_below_a_directory_that_others_write_nothing_is_safe(tmp_path: Path, open_to: int) -> None:
    (tmp_path / "open" / "state").mkdir(parents=True)
    (tmp_path / "open").chmod(open_to)
    with pytest.raises(OSError, match=f"{tmp_path}/open can be written by others"):
        private.folder(tmp_path / "open" / "state")
    (tmp_path / "open").chmod(open_to | stat.S_ISVTX)  # as in /tmp everyone keeps what is theirs
    private.folder(tmp_path / "open" / "state")


@as_root
def test_what_another_user_laid_into_a_directory_that_was_open_is_refused(tmp_path: Path) -> None:
    """SQLite would read a write-ahead log that was laid beside its file."""
    state = tmp_path / "state"
    state.mkdir()
    state.chmod(0o777)
    (state / "watch.db-wal").touch()
    os.chown(state / "watch.db-wal", OTHER, OTHER)
    with pytest.raises(StoreError, match=rf"watch.db-wal was laid there by another user \(uid {OTHER}\)"):
        Store(state / "watch.db")


@as_root
def test_a_group_may_write_above_it_where_nobody_else_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o770)
    private.folder(tmp_path / "open" / "state")  # root's own group
    os.chown(tmp_path / "open", 0, 12)
    with pytest.raises(OSError, match="can be written by others"):
        private.folder(tmp_path / "open" / "state")


def test_links_above_it_are_followed_as_far_as_they_are_ours(tmp_path: Path) -> None:
    (tmp_path / "disk" / "deep").mkdir(parents=True)
    (tmp_path / "home").symlink_to("disk/./deep/..")
    (tmp_path / "again").symlink_to(tmp_path / "home")
    private.folder(tmp_path / "again" / "state")
    assert mode(tmp_path / "disk" / "state") == 0o700
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError):
        private.folder(tmp_path / "round" / "state")


@as_root
def test_a_link_of_another_user_is_not_followed(tmp_path: Path) -> None:
    """In a directory for all, such as /tmp, anybody can lay one."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    os.chown(tmp_path / "link", OTHER, OTHER, follow_symlinks=False)
    with pytest.raises(OSError, match="link is a symbolic link of another user"):
        private.folder(tmp_path / "link" / "state")


def test_the_home_directory_is_not_locked(house: House) -> None:
    house.folder.chmod(0o755)
    with pytest.raises(OSError, match="has other uses"):
        private.folder(house.folder)
    assert mode(house.folder) == 0o755


# --- files that decide ---


def test_a_file_that_decides_is_nobody_elses(tmp_path: Path) -> None:
    (file := tmp_path / "real").write_bytes(b"a = 1")
    (tmp_path / "link").symlink_to("real")
    assert private.content(file) == private.content(tmp_path / "link") == b"a = 1"
    for mode, why in ((0o666, "others"), (0o1666, "others"), (0o602, "others"), (0o1602, "others")):
        file.chmod(mode)
        with pytest.raises(OSError, match=f"real can be written by {why}: chmod go-w it"):
            private.content(tmp_path / "link")
    file.chmod(0o600)
    file.write_bytes(b"#" * (private.MOST + 1))
    with pytest.raises(OSError, match=r"has more than 1,048,576 bytes"):
        private.content(file)
    for wrong in (tmp_path, Path("/dev/null"), Path("/dev/zero")):
        with pytest.raises(OSError, match="is not a plain file"):
            private.content(wrong)
    with pytest.raises(NotADirectoryError):
        private.checked(file)


# --- files ---


def test_a_file_is_made_or_tightened_for_its_owner_alone(tmp_path: Path, no_umask: None) -> None:
    for name in ("new", "old"):
        if name == "old":
            (tmp_path / name).write_text("what was there")
        handle = private.opened(tmp_path / name, WRITE)
        os.write(handle, b"x")
        os.close(handle)
        assert (mode(tmp_path / name), (tmp_path / name).read_text()) == (0o600, "x")


def planted(path: Path, victim: Path) -> dict[str, Callable[[], object]]:
    """Ways to put something else in a file's place."""
    found: dict[str, Callable[[], object]] = {
        "symbolic link": lambda: path.symlink_to(victim),
        "another name": lambda: path.hardlink_to(victim),
        "not a plain file": lambda: os.mkfifo(path),
    }
    if os.geteuid() == 0:
        found[f"another user (uid {OTHER})"] = lambda: (path.touch(), os.chown(path, OTHER, OTHER))
    return found


WRITERS: dict[str, Callable[[Path], object]] = {
    "opened": lambda path: private.opened(path, WRITE),
    "event log": lambda path: EventLog(path).write(Event("stop", "tmux:one", {})),
    "store": Store,
    "database": lambda path: Database(path, "register", ["create table one (two)"]),
    "daemon's log": lambda path: daemon.start("json", log=path),
    "daemon's lock": daemon.lock,
    "runtime log": lambda path: append(path.parent.parent, {"event": "stop"}),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_nothing_is_written_into_what_was_planted(tmp_path: Path, writer: str) -> None:
    work = tmp_path / "work"
    (work / ".stallkit").mkdir(parents=True, mode=0o700)
    path, victim = log_of(work), tmp_path / "precious"
    victim.write_text("precious")
    for why, plant in planted(path, victim).items():
        if writer == "event log" and why == "not a plain file":
            continue  # a pipe of one's own that a person names is written to where it is read
        plant()
        with pytest.raises((OSError, StallkitError)) as caught:
            WRITERS[writer](path)
        assert why in str(caught.value), caught.value
        assert "\n" not in str(caught.value)
        assert (victim.read_text(), mode(victim)) == ("precious", 0o644)
        path.unlink()


def test_a_device_that_a_person_names_takes_events(tmp_path: Path) -> None:
    before = mode(Path("/dev/null"))
    EventLog(Path("/dev/null")).write(Event("stop", "tmux:one", {}))
    assert mode(Path("/dev/null")) == before


# --- all of it ---


def test_all_that_a_session_leaves_is_its_owners_alone(house: House, no_umask: None) -> None:
    house.state.mkdir(mode=0o755)
    (house.state / "monitor.log").write_text("of an earlier version")
    house.begin("worker", "sh", "-c", "exit 3")
    house.end_of("worker")
    EventLog(house.state / "events.jsonl").write(Event("stop", "tmux:one", {}))
    Store(house.state / "watch.db").close()
    modes = {path.name: mode(path) for path in (house.state, *house.state.iterdir())}
    assert {"monitor.log", "sessions.db", "watch.db", "events.jsonl"} <= modes.keys()
    assert {name: found for name, found in modes.items() if found & 0o077} == {}
    assert mode(log_of(house.work)) == 0o600


def test_a_state_directory_that_others_could_replace_starts_nothing(house: House) -> None:
    (house.folder / "open").mkdir()
    (house.folder / "open").chmod(0o777)
    with pytest.raises(StoreError) as caught:
        monitor_client.ensure(house.folder / "open" / "state")
    assert "open can be written by others: chmod go-w it" in str(caught.value)
    assert "\n" not in str(caught.value)


@as_root
def test_nothing_is_told_to_a_socket_that_another_user_laid(tmp_path: Path) -> None:
    """A directory that was made before ours: what is asked there may be the answer to a password."""
    tmp_path.chmod(0o1777)
    _foreign(tmp_path / "state")
    with socket.socket(socket.AF_UNIX) as laid:
        laid.bind(str(tmp_path / "state" / "socket"))
        laid.listen()
        laid.setblocking(False)
        with pytest.raises(DaemonGone, match="belongs to another user"):
            ask(tmp_path / "state" / "socket", {"do": "answer", "text": "hunter2"})
        with pytest.raises(OSError, match="belongs to another user"):
            Server(tmp_path / "state" / "own", lambda request, progress: {})
        with pytest.raises(BlockingIOError):
            laid.accept()


@as_root
def test_another_user_gets_nothing_from_a_shared_directory(tmp_path: Path) -> None:
    """Really as another user: it makes its state directory below /tmp, and root's stays closed to it."""
    tmp_path.chmod(0o1777)
    for folder in tmp_path.parents:
        if folder.stat().st_uid == 0 and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o111)
    private.folder(tmp_path / "roots")
    code = f"""
import os, sys; from pathlib import Path; from stallkit import private
os.setgroups([]); os.setgid({OTHER}); os.setuid({OTHER})
private.folder(Path(sys.argv[1], "mine")); print("made")
try: private.folder(Path(sys.argv[1], "roots"))
except OSError as error: print(error)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "HOME": "/nonexistent"}
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.stderr == ""
    assert done.stdout == f"made\n{tmp_path}/roots belongs to another user (uid 0): name a directory of your own\n"


# --- what is shown of it ---


COMPLAINS = """
from stallkit import daemon
import sys, warnings
daemon.escape_errors()
print("\\x1b[31mred\\x9b2J\\u202egnp.exe\\u3164 漢\\udc80", file=sys.stderr)
warnings.warn("\\x1b]0;title\\x07", stacklevel=1)
raise ValueError("\\x1b[2J")
"""


def test_the_log_of_a_daemon_changes_no_terminal(tmp_path: Path) -> None:
    (tmp_path / "complains.py").write_text(COMPLAINS)
    with pytest.raises(DaemonGone):
        before = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(tmp_path), before)))
        try:
            daemon.start("complains", log=tmp_path / "log")
        finally:
            os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)
    text = (tmp_path / "log").read_text("ascii")
    assert text.replace("\n", "").isprintable()
    assert r"\x1b[31mred\x9b2J\u202egnp.exe\u3164 \u6f22\udc80" in text
    assert "ValueError" in text and r"\x1b]0;title\x07" in text
