"""``stallkit audit`` as a person uses it."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from stallkit_operator.audit import AuditLog, audit_log
from stallkit_operator.item import Category
from stallkit_operator.queue import Queue

from stallkit.cli.commands import cli


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state" / "audit"


def audit(*words: str) -> Result:
    return CliRunner().invoke(cli, ["audit", *words], standalone_mode=False)


def test_nothing_was_audited_yet(folder: Path) -> None:
    assert audit("verify").output == audit("show").output == "nothing was audited yet\n"


def test_what_changed_is_shown_in_order(folder: Path) -> None:
    diff = "--- routes.json before\n+++ routes.json after\n+\x1b[31mred\n"
    audit_log(folder, "cred-proxy", "web").append({"event": "edit_begun", "sandbox": "web", "by": "ada", "diff": diff})
    AuditLog(folder / "manifests.log").append({"event": "manifest_approved", "sandbox": "web", "why": "it needs node"})
    done = audit("show")
    first, *rows, last = done.output.splitlines()
    assert "cred-proxy-web  edit_begun  sandbox=web  by=ada" in first and "manifest_approved" in last
    assert "    +\\x1b[31mred" in rows
    assert len(audit("show", "--no-diff").output.splitlines()) == 2
    found = json.loads(audit("show", "manifests", "--json").output)["events"]
    assert [(one["log"], one["why"]) for one in found] == [("manifests", "it needs node")]


def test_the_diff_of_an_edit_is_shown_once(folder: Path) -> None:
    for sandbox in ("web", "db"):
        for event in ("edit_begun", "edit_applied"):
            audit_log(folder, "pipelock", sandbox).append({"event": event, "sandbox": sandbox, "diff": "+localhost"})
    audit_log(folder, "pipelock", "web").append({"event": "edit_begun", "sandbox": "web", "diff": "-localhost"})
    assert [line.strip() for line in audit("show").output.splitlines() if "localhost" in line] == [
        "+localhost",
        "+localhost",
        "-localhost",
    ]
    assert audit("show", "--json").output.count("+localhost") == 4


def test_a_log_that_is_not_whole_is_exit_code_7(folder: Path) -> None:
    log = AuditLog(folder / "manifests.log")
    for number in range(3):
        log.append({"event": "manifest_approved", "number": number})
    whole = audit("verify")
    assert whole.return_value == 0 and "manifests.log: 3 lines, whole  3:" in whole.output
    noted = whole.output.split()[-1]
    assert audit("verify", "manifests", "--noted", noted).return_value == 0
    log.path.write_bytes(log.path.read_bytes()[:-40])
    cut = audit("verify")
    assert cut.return_value == 7 and "manifests.log:3: cut off" in cut.output
    assert json.loads(audit("verify", "--json").output)["logs"][0]["findings"]
    assert "not whole" in audit("show").output
    log.path.unlink()
    assert audit("verify").return_value == 7


@pytest.mark.parametrize("noted", ["3", "x:y", "0:abc"])
def test_what_is_noted_must_be_a_line_and_a_hash(folder: Path, noted: str) -> None:
    done = audit("verify", "manifests", "--noted", noted)
    assert done.exception is not None and "LINE:HASH" in str(done.exception)


def test_a_log_that_is_not_there_is_an_error(folder: Path) -> None:
    assert "no such log" in str(audit("verify", "none").exception)


def test_a_declined_rebuild_is_on_record_whichever_command_declined_it(folder: Path) -> None:
    with closing(Queue(folder.parent / "queue.db")) as queue:
        asked = [queue.notify(name, "key-00001", "I need spell") for name in ("web", "db", "api")]
        queue.triage(asked[0].id, Category.CAPABILITY)
        queue.triage(asked[1].id, Category.EGRESS)
    declined = CliRunner().invoke(cli, ["stuck", "decline", asked[0].ref, "not", "here"], standalone_mode=False)
    assert declined.return_value == 0, declined.output
    for one in asked[1:]:
        CliRunner().invoke(cli, ["stuck", "decline", one.ref], standalone_mode=False)
    again = CliRunner().invoke(cli, ["stuck", "decline", asked[0].ref], standalone_mode=False)
    assert again.return_value == 4
    (event,) = json.loads(audit("show", "manifests", "--json").output)["events"]
    assert (event["event"], event["sandbox"], event["why"]) == ("manifest_rejected", "web", "not here")
    assert (event["item"], event["asked"]) == (asked[0].id, "I need spell")


def test_what_cannot_be_put_on_record_is_not_declined(folder: Path) -> None:
    with closing(Queue(folder.parent / "queue.db")) as queue:
        id = queue.notify("web", "key-00001", "I need spell").id
        queue.triage(id, Category.CAPABILITY)
        folder.write_text("no folder")
        done = CliRunner().invoke(cli, ["stuck", "decline", f"{id}@1"], standalone_mode=False)
        assert done.exception is not None
        assert queue.item(id).open
