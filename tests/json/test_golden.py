"""Every printed object and every stored row is, byte for byte, what the version before wrote, which can be read back.

``PYTHONPATH=tests python tests/json/test_golden.py`` writes the golden files anew.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Iterable, Iterator

import pytest
from click.testing import CliRunner
from json_values import NOON, checks, detections, events, items, records, reports, runs, sessions, verdicts
from stallkit_operator.queue import Queue, _row
from stallkit_sessions import ExitRecord, RunResult
from stallkit_sessions.cli.panel import as_json
from stallkit_sessions.cli.session_commands import row_object
from stallkit_sessions.model import Session
from stallkit_sessions.register import Register, RunningSession, packed
from stallkit_supervisor.store import Store
from stallkit_supervisor.watched import Watched
from stallkit_wrap.askpass.prompts import AskedPrompt, publish

from stallkit import CheckResult, Detection, Event, EventLog, Snapshot, Verdict
from stallkit.cli.check_commands import printed
from stallkit.cli.main import cli
from stallkit.jsonio import dump, load, structure, unstructure
from stallkit.probes.procfs import Process
from stallkit.transports.stream import TerminalReport

HERE = Path(__file__).parent
Lines = Iterator[tuple[str, str]]


def line(plain: Any) -> str:
    return json.dumps(plain)


def values() -> Lines:
    """What the public values become."""
    for kind, made in (
        ("detection", detections()), ("verdict", verdicts()), ("check", checks()), ("run", runs()),
        ("exit-record", records()), ("terminal-report", reports()), ("event", events()),
    ):  # fmt: skip
        yield from ((f"{kind} {name}", line(dump(value))) for name, value in made)


def printed_lines(folder: Path) -> Lines:
    """What commands print of values, and of files."""
    yield from ((f"check {name}", printed(result, as_json=True)[0]) for name, result in checks())
    known = dict(records())
    yield "postmortem", line(as_json(known["large"], [known["small"], known["signalled"]]))
    yield from ((f"stuck {name}", line(unstructure(item))) for name, item in items())
    with closing(Register(folder / "sessions.db")) as register:
        for name, one in sessions():
            for bound in (True, False):
                yield f"list {name} {bound}", line(row_object(register, RunningSession(one, bound, Process(7, 120))))
        yield "list ended", line(row_object(register, known["signalled"]))
    yield "status new", line(Watched("tmux:w1").as_object())
    verdict = dict(verdicts())["not-described"]
    yield "status", line(Watched("tmux:w1", verdict=verdict, error="it is slow").as_object())
    yield from ((f"{words} --json", called(words, folder)) for words in COMMANDS)


COMMANDS = [
    "report", "policy explain --log events.jsonl", "check file:asks.txt", "explain file:asks.txt", "postmortem w1",
    "postmortem w1 --all", "list", "stuck list --all", "stuck show 1", "stuck show 2", "status", "incidents",
]  # fmt: skip


def called(words: str, folder: Path) -> str:
    done = CliRunner().invoke(cli, [*words.split(), "--json"], catch_exceptions=False)
    told = json.loads(done.stdout)
    if words.startswith("explain"):
        told["signatures"] = [one for one in told["signatures"] if one["fate"] != "no"]
    return line(told)


def stored(folder: Path) -> Lines:
    """What is on the disk."""
    yield from ((f"session {name}", packed(one)) for name, one in sessions())
    yield from ((f"exit record {name}", packed(one)) for name, one in records())
    yield from ((f"item {name}", line(_row(item))) for name, item in items())
    for file, query in (
        ("sessions.db", "select name, target, directory, facts from event order by number"),
        ("sessions.db", "select name, state, session, record from session order by number"),
        ("running.db", "select lines, verdicts from sight"),
        ("queue.db", "select * from item order by id"),
        ("watch.db", "select name, status from session order by name"),
        ("watch.db", "select session, event, facts from incident order by id"),
    ):
        for number, row in enumerate(rows(folder / file, query), 1):
            yield f"{file} {query.split(' from ')[1].split()[0]} {number}", line(row)
    log = (folder / "events.jsonl").read_text().splitlines()
    yield from ((f"events.jsonl {number}", told) for number, told in enumerate(log, 1))
    [file] = (folder / "askpass").glob("*.json")
    yield "askpass", file.read_text()


def rows(file: Path, query: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(file)) as base:
        base.row_factory = sqlite3.Row
        return [dict(row) for row in base.execute(query)]


def everything(folder: Path) -> Iterator[tuple[str, Lines]]:
    """By the name of its golden file; what is stored comes before commands that add to it."""
    yield "values", values()
    yield "stored", stored(folder)
    yield "printed", printed_lines(folder)


def lay_out(folder: Path) -> None:
    """The state of a user to whom all of this happened, but for the times at which it was written down."""
    (folder / "asks.txt").write_text("Overwrite report.txt? [y/N] ")
    log = EventLog(folder / "events.jsonl")
    for _, event in events():
        log.write(event)
    for name, verdict in verdicts():
        log.detection(verdict, Snapshot(verdict.detection.screen, target=f"tmux:{name}"))
    log.path.write_text(re.sub(r'"time": "20[^"]*"', f'"time": "{NOON.isoformat()}"', log.path.read_text()))
    known = dict(records())
    with closing(Register(folder / "sessions.db")) as register:
        for record in (known["signalled"], known["large"], known["small"]):
            register.claim(record.session, (7, 120))
            register.bound(record.session.id, "1 2 %3 4", 5)
            register.end(record, "session_crashed", {"cause": str(record.cause), "why": record.why})
    with closing(Register(folder / "running.db")) as register:
        one = register.claim(known["small"].session, (7, 120))
        register.saw([(one.id, ("$ make", "Go on? [y/N]"), {"state": "waiting", "reasons": ["it asks"]}, 1_999.0)])
    with closing(Queue(folder / "queue.db", now=lambda: 1_700_000_000.0)) as queue, queue.writing() as base:
        for _, item in items():
            row = _row(item)
            marks = ", ".join("?" * len(row))
            base.execute(f"insert into item ({', '.join(row)}) values ({marks})", tuple(row.values()))
    with closing(Store(folder / "watch.db")) as store:
        store.saw({"tmux:w1": Watched("tmux:w1", verdict=dict(verdicts())["not-described"]).as_object()})
        store.incident("tmux:w1", "outcome_unknown", {"why": "unseen", "keys": "Enter"})
    with sqlite3.connect(folder / "watch.db") as base:
        base.execute("update session set seen_at = 1700000000.0")
        base.execute("update incident set at = 1700000000.0")
    asked = AskedPrompt("git", 7, "Password:", "secret", 1_700_000_000.5, "/srv", os.getpid(), 120, "b00t")
    publish(folder / "askpass", asked)
    [file] = (folder / "askpass").glob("*.json")
    file.write_text(file.read_text().replace(str(os.getpid()), "4711"))


def differences(made: Iterable[tuple[str, str]], golden: Path) -> list[str]:
    """What is not as the file has it."""
    known = dict(one.split("\t", 1) for one in golden.read_text().splitlines())
    now = dict(made)
    wrong = [f"{name}: is missing" for name in known.keys() - now.keys()]
    for name, told in now.items():
        if known.get(name) != told:
            wrong.append(f"{name}:\n  was {known.get(name)}\n  is  {told}")
    return wrong


KINDS = {
    "check": CheckResult, "detection": Detection, "event": Event, "exit-record": ExitRecord, "run": RunResult,
    "terminal-report": TerminalReport, "verdict": Verdict,
}  # fmt: skip


def test_what_the_version_before_wrote_is_read() -> None:
    """Each value that it dumped is the same when it is loaded and dumped again, and each row of its sessions."""
    wrong = []
    for golden in ("values", "stored"):
        for told in (HERE / f"{golden}.golden").read_text().splitlines():
            name, text = told.split("\t", 1)
            word = name.split()[0]
            plain = json.loads(text)
            if word in KINDS:
                again = dump(load(KINDS[word], plain))
            elif name.startswith(("session ", "exit record ")):
                again = unstructure(structure(plain, Session if word == "session" else ExitRecord))
            else:
                continue
            if json.loads(json.dumps(again)) != plain:
                wrong.append(f"{name}:\n  was {text}\n  is  {json.dumps(again)}")
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, value in (("STALLKIT_STATE_DIR", str(tmp_path)), ("TZ", "UTC"), ("HOME", str(tmp_path))):
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    time.tzset()
    lay_out(tmp_path)
    yield tmp_path
    monkeypatch.undo()
    time.tzset()


def test_all_of_it_is_as_it_was(folder: Path) -> None:
    wrong = [one for name, lines in everything(folder) for one in differences(lines, HERE / f"{name}.golden")]
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as made:
        os.environ.update(STALLKIT_STATE_DIR=made, TZ="UTC", HOME=made)
        os.chdir(made)
        time.tzset()
        lay_out(Path(made))
        for name, lines in everything(Path(made)):
            (HERE / f"{name}.golden").write_text("".join(f"{key}\t{told}\n" for key, told in lines))
