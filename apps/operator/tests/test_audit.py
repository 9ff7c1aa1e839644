"""The audit log: what is in it stays as it was written, or `stallkit sandbox audit verify` says which line does not."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from stallkit_operator.audit import AuditLog
from stallkit_operator.item import Category
from stallkit_operator.queue import Queue

from stallkit.cli.main import cli
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


def test_a_line_that_was_altered_taken_away_or_cut_is_found_and_nothing_follows_it(log: AuditLog) -> None:
    whole, rows = log.path.read_bytes(), lines(log)
    for number in range(5):
        altered = [*rows[:number], rows[number].replace(b'"edit"', b'"idle"'), *rows[number + 1 :]]
        log.path.write_bytes(b"".join(altered))
        found = log.verify().findings
        assert [one.line for one in found] == [min(number + 2, 5)]
        assert f"line {number + 1}" in found[0].why or number == 4
    with pytest.raises(StoreError, match="line 5 is not as it was written"):
        log.append({"event": "edit"})
    for number in range(4):
        log.path.write_bytes(b"".join([*rows[:number], *rows[number + 1 :]]))
        assert number + 1 in wrong(log)
    for cut in (1, 2, 30, 200, 700):
        log.path.write_bytes(whole[:-cut])
        assert any("cut off" in one.why for one in log.verify().findings)
        with pytest.raises(StoreError, match=r"cut.*audit verify"):
            log.append({"event": "edit"})
    log.path.write_bytes(whole)
    assert log.verify().findings == ()
    with pytest.raises(ValueError, match="previous"):  # it keeps its own fields
        log.append({"event": "edit", "previous": "x"})


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


def test_a_torn_line_is_told_of_by_the_next_one(tmp_path: Path) -> None:
    for number, torn in enumerate((b'{"version": 1, "n": 6, "ti', b"{", b'{"half": "\xc3')):
        log = AuditLog(tmp_path / str(number) / "a.log")
        for line in range(5):
            log.append({"event": "edit", "number": line})
        with log.path.open("ab") as file:
            file.write(torn)
        assert log.verify().findings == () and "line 6 is torn" in log.verify().notes[0]
        log.append({"event": "edit", "number": 6})
        report = log.verify()
        assert report.findings == () and report.events[-1]["torn"] == [len(torn)]
        assert "line 6 is torn" in report.notes[0]
        rows = lines(log)
        log.path.write_bytes(b"".join([*rows[:5], b"x" + rows[5], *rows[6:]]))
        assert wrong(log)


def test_what_a_killed_writer_left_whole_is_kept(log: AuditLog) -> None:
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


def test_the_redactor_takes_no_hash_for_a_secret(log: AuditLog) -> None:
    commit = "9fceb02d0ae598e95dc970b74767f19372d61af8"
    log.append({"event": "edit", "reply": "token = hunter22", "commit": commit})
    last = log.verify().events[-1]
    assert last["commit"] == commit and "hunter22" not in last["reply"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state" / "audit"


def audit(*words: str) -> Result:
    return CliRunner().invoke(cli, ["sandbox", "audit", *words], standalone_mode=False)


def test_what_changed_is_shown_in_order_and_once(folder: Path) -> None:
    assert audit("verify").output == audit("show").output == "nothing was audited yet\n"
    diff = "--- routes.json before\n+++ routes.json after\n+\x1b[31mred\n"
    AuditLog(folder / "cred-proxy-web.log").append({"event": "edit_begun", "sandbox": "web", "by": "ada", "diff": diff})
    AuditLog(folder / "manifests.log").append({"event": "manifest_approved", "sandbox": "web", "why": "it needs node"})
    done = audit("show")
    first, *rows, last = done.output.splitlines()
    assert "cred-proxy-web  edit_begun  sandbox=web  by=ada" in first and "manifest_approved" in last
    assert "    +\\x1b[31mred" in rows
    assert len(audit("show", "--no-diff").output.splitlines()) == 2
    found = json.loads(audit("show", "manifests", "--json").output)["events"]
    assert [(one["log"], one["why"]) for one in found] == [("manifests", "it needs node")]
    for sandbox in ("web", "db"):
        for event in ("edit_begun", "edit_applied"):
            AuditLog(folder / f"pipelock-{sandbox}.log").append(
                {"event": event, "sandbox": sandbox, "diff": "+localhost"}
            )
    AuditLog(folder / "pipelock-web.log").append({"event": "edit_begun", "sandbox": "web", "diff": "-localhost"})
    shown = [line.strip() for line in audit("show").output.splitlines() if "localhost" in line]
    assert shown == ["+localhost", "+localhost", "-localhost"]
    assert audit("show", "--json").output.count("+localhost") == 4


def test_a_log_that_is_not_whole_is_exit_code_7(folder: Path) -> None:
    log = AuditLog(folder / "manifests.log")
    for number in range(3):
        log.append({"event": "manifest_approved", "number": number})
    whole = audit("verify")
    assert whole.return_value == 0 and "manifests.log: 3 lines, whole  3:" in whole.output
    assert audit("verify", "manifests", "--noted", whole.output.split()[-1]).return_value == 0
    for noted in ("3", "x:y", "0:abc"):
        assert "LINE:HASH" in str(audit("verify", "manifests", "--noted", noted).exception)
    assert "no such log" in str(audit("verify", "none").exception)
    log.path.write_bytes(log.path.read_bytes()[:-40])
    cut = audit("verify")
    assert cut.return_value == 7 and "manifests.log:3: cut off" in cut.output
    assert json.loads(audit("verify", "--json").output)["logs"][0]["findings"]
    assert "not whole" in audit("show").output
    log.path.unlink()
    assert audit("verify").return_value == 7


def test_a_declined_rebuild_is_on_record_or_not_declined(folder: Path) -> None:
    def decline(*words: str) -> Result:
        return CliRunner().invoke(cli, ["stuck", "decline", *words], standalone_mode=False)

    with closing(Queue(folder.parent / "queue.db")) as queue:
        asked = [queue.notify(name, "key-00001", "I need spell") for name in ("web", "db", "api", "last")]
        for one, category in zip(asked, (Category.CAPABILITY, Category.EGRESS, None, Category.CAPABILITY), strict=True):
            queue.triage(one.id, category)
        declined = decline(asked[0].ref, "not", "here")
        assert declined.return_value == 0, declined.output
        for one in asked[1:3]:
            decline(one.ref)
        assert decline(asked[0].ref).return_value == 4
        (event,) = json.loads(audit("show", "manifests", "--json").output)["events"]
        assert (event["event"], event["sandbox"], event["why"]) == ("manifest_rejected", "web", "not here")
        assert (event["item"], event["asked"]) == (asked[0].id, "I need spell")
        folder.rename(folder.with_name("kept"))
        folder.write_text("no folder")
        assert decline(asked[3].ref).exception is not None and queue.item(asked[3].id).open
