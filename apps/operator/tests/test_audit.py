"""The audit log: what is in it stays as it was written, or `verify` says which line does not."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from secret_kinds import KINDS, planted
from secret_search import found_in, squeezed
from stallkit_operator.audit import AuditLog, audit_log

from stallkit.errors import StoreError

WRITER = """
import sys
from pathlib import Path
from stallkit_operator.audit import AuditLog
log = AuditLog(Path(sys.argv[1]))
print("ready", flush=True)
for number in range(100_000):
    log.append({"event": "edit", "writer": sys.argv[2], "number": number, "diff": "x" * 5_000})
"""


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    made = AuditLog(tmp_path / "audit" / "cred-proxy-web.log")
    for number in range(5):
        made.append({"event": "edit", "number": number})
    return made


def lines(log: AuditLog) -> list[bytes]:
    return log.path.read_bytes().splitlines(keepends=True)


def wrong(log: AuditLog) -> list[int]:
    return sorted({one.line for one in log.verify().findings})


def test_lines_are_json_in_a_chain(log: AuditLog) -> None:
    report = log.verify()
    assert (report.findings, report.notes) == ((), ())
    assert [event["n"] for event in report.events] == [1, 2, 3, 4, 5]
    assert report.events[0]["previous"] == "0" * 64 and report.head.lines == 5
    assert {stat.S_IMODE(one.stat().st_mode) for one in log.path.parent.iterdir()} == {0o600}
    assert stat.S_IMODE(log.path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("number", range(5))
def test_an_altered_line_is_found(log: AuditLog, number: int) -> None:
    rows = lines(log)
    rows[number] = rows[number].replace(b'"edit"', b'"idle"')
    log.path.write_bytes(b"".join(rows))
    found = log.verify().findings
    assert [one.line for one in found] == [min(number + 2, 5)]
    assert f"line {number + 1}" in found[0].why or number == 4


@pytest.mark.parametrize("number", range(4))
def test_a_missing_line_is_found(log: AuditLog, number: int) -> None:
    rows = lines(log)
    del rows[number]
    log.path.write_bytes(b"".join(rows))
    assert number + 1 in wrong(log)


@pytest.mark.parametrize("cut", [1, 2, 30, 200, 700])
def test_a_tail_that_was_cut_off_is_found_and_nothing_follows_it(log: AuditLog, cut: int) -> None:
    log.path.write_bytes(log.path.read_bytes()[:-cut])
    assert any("cut off" in one.why for one in log.verify().findings)
    with pytest.raises(StoreError, match=r"cut.*audit verify"):
        log.append({"event": "edit"})


def test_a_last_line_that_was_altered_takes_no_other(log: AuditLog) -> None:
    rows = lines(log)
    log.path.write_bytes(b"".join([*rows[:-1], rows[-1].replace(b"4", b"3")]))
    with pytest.raises(StoreError, match="line 5 is not as it was written"):
        log.append({"event": "edit"})


def test_a_log_or_a_head_that_is_missing_is_found(log: AuditLog, tmp_path: Path) -> None:
    whole = log.path.read_bytes()
    log.path.unlink()
    assert "missing: it had 5 lines" in log.verify().findings[0].why
    with pytest.raises(StoreError):
        log.append({"event": "edit"})
    log.path.write_bytes(whole)
    log.path.with_name(f"{log.path.name}.head").unlink()
    assert "head" in log.verify().findings[0].why
    with pytest.raises(StoreError, match="no head"):
        log.append({"event": "edit"})
    with pytest.raises(StoreError, match="no such log"):
        AuditLog(tmp_path / "none.log").verify()


def test_a_log_that_was_written_anew_is_found_by_a_line_that_was_noted(log: AuditLog) -> None:
    noted = log.verify().head
    log.append({"event": "edit", "number": 5})
    assert log.verify((noted.lines, noted.last)).findings == ()
    events = [{"event": "edit", "number": number} for number in (7, 1, 2, 3, 4, 5)]
    for one in list(log.path.parent.iterdir()):
        one.unlink()
    for event in events:
        log.append(event)
    assert log.verify().findings == ()
    assert "written anew" in log.verify((noted.lines, noted.last)).findings[0].why


@pytest.mark.parametrize("torn", [b'{"version": 1, "n": 6, "ti', b"{", b'{"half": "\xc3'])
def test_a_torn_line_is_told_of_by_the_next_one(log: AuditLog, torn: bytes) -> None:
    with log.path.open("ab") as file:
        file.write(torn)
    assert log.verify().findings == () and "line 6 is torn" in log.verify().notes[0]
    log.append({"event": "edit", "number": 6})
    report = log.verify()
    assert report.findings == () and report.events[-1]["torn"] == [len(torn)] and "line 6 is torn" in report.notes[0]
    rows = lines(log)
    log.path.write_bytes(b"".join([*rows[:5], b"x" + rows[5], *rows[6:]]))
    assert wrong(log)


def test_what_a_killed_writer_left_whole_is_kept(log: AuditLog) -> None:
    """Killed before the head was written, or before the line's end was."""
    head = log.path.with_name(f"{log.path.name}.head")
    before = head.read_bytes()
    for end in (b"\n", b""):
        log.append({"event": "edit", "number": 6})
        log.path.write_bytes(log.path.read_bytes().removesuffix(b"\n") + end)
        head.write_bytes(before)
        assert log.verify().findings == ()
        log.append({"event": "edit", "number": 7})
        report = log.verify()
        assert (report.findings, report.notes) == ((), ())
        before = head.read_bytes()
    assert report.head.lines == 9


def test_writers_that_are_killed_lose_no_line_that_was_reported(tmp_path: Path) -> None:
    """Two at a time, killed at any moment, 20 times: the chain is whole, and goes on."""
    log = AuditLog(tmp_path / "audit" / "manifests.log")
    for turn in range(10):
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, str(log.path), f"{turn}{name}"], stdout=subprocess.PIPE)
            for name in "ab"
        ]
        for writer in writers:
            assert writer.stdout is not None and writer.stdout.readline() == b"ready\n"
        while not log.path.exists() or log.path.stat().st_size < (turn + 1) * 60_000:
            os.sched_yield()
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.wait()
            writer.stdout.close()  # type: ignore[union-attr]
        log.append({"event": "edit", "after": turn})
        assert log.verify().findings == ()
    numbers: dict[str, list[int]] = {}
    for event in log.verify().events:
        if "writer" in event:
            numbers.setdefault(event["writer"], []).append(event["number"])
    assert len(numbers) >= 10 and all(one == list(range(len(one))) for one in numbers.values())


@given(
    st.lists(st.dictionaries(st.text(max_size=8), st.text(max_size=30), max_size=3), min_size=1, max_size=5), st.data()
)
def test_any_single_change_is_found(
    tmp_path_factory: pytest.TempPathFactory, events: list[dict[str, str]], data: st.DataObject
) -> None:
    log = AuditLog(tmp_path_factory.mktemp("audit") / "a" / "b.log")
    for event in events:
        log.append({"event": "e", "given": event})
    whole = log.path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    new = data.draw(st.sampled_from([b"", b"x", b"\n", b"0", b"{}\n"]))
    changed = whole[:at] + new + whole[at + data.draw(st.integers(0, 50)) :]
    log.path.write_bytes(changed)
    assert changed == whole or changed.startswith(whole) or log.verify().findings


FULL = """
import resource, signal, sys
from pathlib import Path
from stallkit.errors import StoreError
from stallkit_operator.audit import AuditLog
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = AuditLog(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (log.path.stat().st_size + 20, resource.RLIM_INFINITY))
try:
    log.append({"event": "edit", "number": "lost"})
except StoreError:
    print("told")
"""


def test_a_line_for_which_there_is_no_room_is_told_and_leaves_the_log_whole(log: AuditLog) -> None:
    done = subprocess.run([sys.executable, "-c", FULL, str(log.path)], capture_output=True, text=True, check=False)
    assert done.stdout == "told\n", done.stderr
    assert len(log.verify().events) == 5 and log.verify().findings == ()
    log.append({"event": "edit", "number": 6})
    report = log.verify()
    assert (len(report.events), report.findings, report.events[-1]["torn"]) == (6, (), [20])


def test_the_log_keeps_its_own_fields(log: AuditLog) -> None:
    with pytest.raises(ValueError, match="previous"):
        log.append({"event": "edit", "previous": "x"})


def test_a_log_is_named_by_its_proxy_and_sandbox(tmp_path: Path) -> None:
    assert audit_log(tmp_path, "pipelock", "web").path == tmp_path / "pipelock-web.log"


def test_no_secret_is_in_a_log_and_hashes_stay(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit" / "a.log")
    commit = "9fceb02d0ae598e95dc970b74767f19372d61af8"
    texts = planted(KINDS, 100)
    for one in texts:
        log.append({"event": "edit", "reply": one.text, "commit": commit})
    events = log.verify().events
    assert all(event["commit"] == commit for event in events)
    said = "\n".join(json.dumps(event["reply"], ensure_ascii=False) for event in events)
    leaks = [s for one in texts for s in one.secrets if len(s) > 8 and found_in(s, squeezed(said))]
    assert leaks == []
