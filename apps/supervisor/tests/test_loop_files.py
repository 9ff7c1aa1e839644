"""``.auto-signal`` and ``.auto-stop``: told from one another, written whole, and no trap for who writes them."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Callable

import pytest
from stallkit_supervisor.loop_files import (
    SIGNAL,
    STOP,
    held,
    release,
    signal_stamp,
    stopped,
    working_directory,
    write_stop,
)
from stallkit_supervisor.store import Store

from stallkit.errors import StoreError


def test_the_working_directory_of_a_process(tmp_path: Path) -> None:
    process = subprocess.Popen(["sleep", "60"], cwd=tmp_path)
    assert working_directory(process.pid) == tmp_path
    process.kill()
    process.wait()
    assert working_directory(process.pid) is None and working_directory(None) is None and working_directory(0) is None


def test_a_signal_is_told_from_the_next(tmp_path: Path) -> None:
    signal, stamps = tmp_path / SIGNAL, list[str | None]()
    assert signal_stamp(tmp_path) is None
    signal.touch()
    for written in (1, 2, 3_000_000_000):
        os.utime(signal, ns=(written, written))
        stamps.append(signal_stamp(tmp_path))
    other = tmp_path / "other"
    other.touch()
    os.utime(other, ns=(3_000_000_000, 3_000_000_000))
    other.replace(signal)  # another file of the same time
    stamps.append(signal_stamp(tmp_path))
    assert None not in stamps and len(set(stamps)) == 4
    assert signal_stamp(tmp_path) == stamps[-1], "it says nothing new of itself"
    signal.unlink()
    assert signal_stamp(tmp_path) is None and signal_stamp(tmp_path / "nowhere") is None


def test_a_stop_is_one_line_of_json_without_a_secret(tmp_path: Path) -> None:
    assert not stopped(tmp_path)
    assert write_stop(tmp_path, "stall_limit", "3 recoveries\nin \ud800", "tmux:one") == tmp_path / STOP
    assert stopped(tmp_path) and stopped(tmp_path / ("x" * 300)), "nobody can say that it is not there"
    assert not stopped(tmp_path / "nowhere")
    text = (tmp_path / STOP).read_text("ascii")
    assert text.count("\n") == 1 and text.endswith("\n")
    facts = json.loads(text)
    assert datetime.fromisoformat(facts.pop("time")).tzinfo is not None
    assert facts == {"reason": "stall_limit", "why": "3 recoveries\nin \ud800", "session": "tmux:one"}
    assert [file.name for file in tmp_path.iterdir()] == [STOP], "no draft is left behind"
    secret = "gh" + "p_" + "q7Zt2Kx9Wm4Bv6Rn1Lc8" * 2
    (tmp_path / STOP).unlink()
    write_stop(tmp_path, "policy", f"a rule: {secret}", f"acme:{secret}")
    assert secret not in (tmp_path / STOP).read_text() and "[redacted]" in (tmp_path / STOP).read_text()


def test_it_takes_the_place_of_its_own_alone(tmp_path: Path) -> None:
    for why in ("first", "again"):
        write_stop(tmp_path, "stall_limit", why, "tmux:one")
    assert json.loads((tmp_path / STOP).read_text())["why"] == "again"
    with pytest.raises(StoreError, match="not written for this halt"):
        write_stop(tmp_path, "stall_limit", "mine", "tmux:two")
    assert json.loads((tmp_path / STOP).read_text())["session"] == "tmux:one"


def test_what_somebody_laid_there_is_neither_written_through_nor_replaced(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (tmp_path / STOP).symlink_to(precious)
    assert stopped(tmp_path)
    with pytest.raises(StoreError, match="not written for this halt"):
        write_stop(tmp_path, "stall_limit", "again", "tmux:one")
    assert precious.read_text() == "kept" and (tmp_path / STOP).is_symlink()


def test_what_lies_where_a_draft_might_be_is_not_written_to(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    home = tmp_path / "home"
    home.mkdir()
    (home / f"{STOP}.{os.getpid()}").symlink_to(precious)
    (home / f"{STOP}.tmp").symlink_to(precious)
    write_stop(home, "stall_limit", "why", "tmux:one")
    assert precious.read_text() == "kept" and stopped(home)
    (home / STOP).unlink()
    os.mkfifo(home / STOP)
    with pytest.raises(StoreError):
        write_stop(home, "stall_limit", "why", "tmux:one")


CONTENTS = ["", "stop", "[]", "{}", '{"session": 1}', '{"session": "tmux:two"}', "[" * 5_000]


def test_any_stop_of_somebody_else_holds(store: Store, tmp_path: Path) -> None:
    """Also one in our form that names a session, unless the store knows of that halt."""
    lays = [partial(Path.write_text, data=one) for one in CONTENTS]
    links: list[Callable[[Path], object]] = [lambda stop: stop.symlink_to("nowhere"), os.mkfifo, Path.mkdir]
    ours = [lambda stop: write_stop(stop.parent, "stall_limit", "why", "tmux:one")]
    for number, lay in enumerate([*lays, *links, *ours]):
        home = tmp_path / str(number)
        home.mkdir()
        lay(home / STOP)
        assert stopped(home)
        for known in (store, None):
            assert held([tmp_path / "nowhere", home], "tmux:one", known) == home / STOP, number
    assert held([tmp_path / "nowhere"], "tmux:one", store) is None


def test_the_halt_of_one_session_does_not_hold_another_in_its_directory(store: Store, tmp_path: Path) -> None:
    stop = write_stop(tmp_path, "stall_limit", "why", "tmux:two")
    store.halt("tmux:two", "why", str(stop))
    assert held([tmp_path], "tmux:one", store) is None
    assert held([tmp_path], "tmux:one", None) == held([tmp_path], "tmux:two", store) == stop
    if os.geteuid() == 0:
        os.chown(stop, 12_345, 12_345)
        assert held([tmp_path], "tmux:one", store) == stop, "a file of another user proves nothing"
        os.chown(stop, 0, 0)
    store.halt("tmux:two", None)
    assert held([tmp_path], "tmux:one", store) == stop, "it is no halt any more, so somebody wants it to be there"


def test_a_release_takes_away_its_own_file_alone(store: Store, tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    for session, folder in (("tmux:one", mine), ("tmux:two", other)):
        folder.mkdir()
        store.halt(session, "enough", str(write_stop(folder, "stall_limit", "enough", session)))
    assert release(store, "tmux:none") is None
    assert release(store, "tmux:one") == ("enough", None) and not (mine / STOP).exists()
    assert (store.halted("tmux:one"), store.halted("tmux:two")) == (None, "enough") and stopped(other)
    store.halt("tmux:one", "again", str(write_stop(mine, "stall_limit", "again", "tmux:one")))
    (mine / STOP).unlink()
    mine.rmdir()
    mine.symlink_to(other)  # an agent's doing
    assert release(store, "tmux:one") == ("again", mine / STOP) and stopped(other), "it is not the one we wrote"
    (other / STOP).write_text("by hand")
    assert release(store, "tmux:two") == ("enough", other / STOP) and (other / STOP).read_text() == "by hand"


def test_where_it_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "taken" / STOP).mkdir(parents=True)
    for home in (*(tmp_path / name for name in ("file", "nowhere", "x" * 300, "taken")), Path("/proc/self")):
        with pytest.raises(StoreError) as caught:
            write_stop(home, "stall_limit", "why", "tmux:one")
        said = str(caught.value)
        assert str(home / STOP) in said and "stop the loop by hand" in said and "\n" not in said
    assert [file.name for file in (tmp_path / "taken").iterdir()] == [STOP], "no draft is left behind"
