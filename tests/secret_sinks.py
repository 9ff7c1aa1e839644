"""Every place that writes: planted texts go through the code that writes there, into a folder of its own."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import sys
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Sequence

from secret_kinds import Planted
from stallkit_lab.capture import captured
from stallkit_lab.evaluate.evaluation import save
from stallkit_lab.evaluate.prediction import Prediction
from stallkit_lab.evaluate.report_html import page
from stallkit_lab.record.asciicast import Header
from stallkit_lab.record.recording import RecordingWriter
from stallkit_operator.audit import AuditLog
from stallkit_operator.item import Choice, ChoiceKind, Draft, Source, Who
from stallkit_operator.queue import Queue
from stallkit_operator.sandbox.config_shape import shape_diff
from stallkit_operator.waiver import Waivers
from stallkit_sessions import finalize as runtime_log
from stallkit_sessions.cli.panel import show
from stallkit_sessions.model import Cause, ExitRecord, Session
from stallkit_sessions.register import Register
from stallkit_sessions.runs import client
from stallkit_supervisor.loop_files import write_stop
from stallkit_supervisor.notify.channels import CODES, codes
from stallkit_supervisor.notify.hooks import CloudEvent, Webhook
from stallkit_supervisor.notify.notice import Notice
from stallkit_supervisor.store import Store

from stallkit.cli.common import print_json
from stallkit.cli.main import main
from stallkit.cli.output import shown
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.errors import TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.press.events import Event, EventLog
from stallkit.redact.redact import redact_words
from stallkit.terminal.screen import Screen

Sink = Callable[[Path, Sequence[Planted]], None]  # writes them into the folder


def words_of(text: str) -> tuple[str, ...]:
    """A text as the words of a command."""
    try:
        return tuple(shlex.split(text)) or ("true",)
    except ValueError:
        return tuple(text.split()) or ("true",)


def event_log(folder: Path, texts: Sequence[Planted]) -> None:
    log = EventLog(folder / "events.jsonl")
    for one in texts:
        facts = {"line": one.text, "screen": one.screen.split("\n"), "why": f"it asks: {one.text}"}
        log.write(Event("detection", "tmux:a", {**facts, "command": words_of(one.text)}))


def runtime(folder: Path, texts: Sequence[Planted]) -> None:
    for one in texts:
        runtime_log.append(folder, {"event": "session_crashed", "why": one.text, "screen": one.screen})


def store(folder: Path, texts: Sequence[Planted]) -> None:
    base = Store(folder / "store.db", incidents=100_000)
    for number, one in enumerate(texts):
        id = base.intend("tmux:a", "keys", "1 2 %3", "f", "prompt", one.text)
        base.conclude(id, "unchanged", one.text)
        base.halt(f"tmux:{number}", one.text)
        base.saw({f"tmux:{number}": {"error": one.text, "line": one.text}})
        base.incident("tmux:a", "escalation", {"screen": one.screen, "reasons": [one.text]})
    base.close()


def queue(folder: Path, texts: Sequence[Planted]) -> None:
    base = Queue(folder / "queue.db")
    for number, one in enumerate(texts):
        options = (Choice("1", f"Yes, and always for: {one.text}", ChoiceKind.ALLOW_ALWAYS),)
        prompt = Draft("tmux:a", Source.PROMPT, "permission", one.screen, options, action="a", about=f"{number}")
        base.file(prompt)
        base.file(prompt)
        base.notify(f"s{number}", "12345678", one.text)
        base.notify(f"s{number}", "87654321", one.text)
    base.close()


def audit(folder: Path, texts: Sequence[Planted]) -> None:
    log = AuditLog(folder / "cred-proxy-web.log")
    for one in texts:
        diff = shape_diff(one.text, f"{one.screen}\n{one.text}", "routes.json")
        log.append({"event": "edit_applied", "diff": diff, "reply": one.text, "why": f"check: {one.text}"})
    with closing(Waivers(folder / "waivers.db", AuditLog(folder / "waivers.log"))) as waivers:
        for one in texts:
            waivers.grant("a" * 40, Who("ada", "a test"), one.text, 60)


def register(folder: Path, texts: Sequence[Planted]) -> None:
    base = Register(folder / "sessions.db", most=100_000)
    for number, one in enumerate(texts):
        base.end(_record(base, number, one), "session_crashed", {"why": one.text})
    base.close()


def _record(base: Register, number: int, one: Planted) -> ExitRecord:
    session = Session(
        name=f"s{number}", id=f"id{number}", command=words_of(one.text), directory="/srv", started_at=1.0, boot="b",
        engine="docker", engine_options=("-e", one.text),
    )  # fmt: skip
    base.claim(session, (4711, 12))
    base.bound(session.id, "1 2 %3 4", 5)
    base.saw([(session.id, one.screen.split("\n"), {"line": one.text, "reasons": [one.text]}, 1.0)])
    return ExitRecord(
        session=session, cause=Cause.EXITED, why=one.text, ended_at=2.0, screen=tuple(one.screen.split("\n")),
        verdicts=({"line": one.text},), reasons=(one.text,),
    )  # fmt: skip


def postmortem(folder: Path, texts: Sequence[Planted]) -> None:
    base = Register(folder / "sessions.db", most=100_000)
    with _printed(folder):
        for number, one in enumerate(texts):
            base.end(_record(base, number, one), "session_crashed", {})
            (record,) = base.records(f"s{number}")
            show(record)
    base.close()


def webhook(folder: Path, texts: Sequence[Planted]) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with (folder / "posted").open("ab") as file:
                file.write(body + b"\n")
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        hook = Webhook(f"http://127.0.0.1:{server.server_port}/", "structured")
        for one in texts:
            event = Event("escalation", "tmux:a", {"line": one.text, "screen": one.screen})
            hook.deliver(CloudEvent(event, "//here/stallkit", "1"))
        server.shutdown()


def notices(folder: Path, texts: Sequence[Planted]) -> None:
    """What a desktop, a terminal and tmux show, and what a command finds in its variables."""
    with (folder / "notices").open("w") as file:
        for one in texts:
            event = Event("escalation", "tmux:a", {"message": one.text, "line": one.text, "why": one.text})
            notice = Notice.of(event)
            for code in CODES:
                file.write(codes(notice, code).decode())
            file.write(f"{notice.title}\n{notice.body}\n{CloudEvent(event, '//here/stallkit', '1').variables}\n")


def html(folder: Path, texts: Sequence[Planted]) -> None:
    found = _predictions(texts)
    settings = {"packs": {"p": "1"}, "screen_only": False, "leave_out": None}
    from stallkit_lab.evaluate.evaluation import tally

    result = {**tally(found), "settings": settings, "problems": [one.text for one in texts]}
    (folder / "page.html").write_text(page(result, found))
    save(folder / "baseline.json", result, found)


def _predictions(texts: Sequence[Planted]) -> tuple[Prediction, ...]:
    return tuple(
        Prediction(
            id=f"{number} {one.text}", program="p", true_state=State.WORKING, true_kind=None, state=State.WAITING,
            kind=Kind.TEXT, certainty=Certainty.SURE, pressed=("none", "none"), reasons=(one.text,),
            screen=Screen.from_text(one.screen),
        )
        for number, one in enumerate(texts)
    )  # fmt: skip


def recording(folder: Path, texts: Sequence[Planted]) -> None:
    for number, one in enumerate(texts):
        cast = RecordingWriter(folder / f"{number}.cast", Header((80, 24), title=one.text, command=one.text))
        data = one.screen.replace("\n", "\r\n").encode()
        for at in range(0, len(data), 7):
            cast.output(data[at : at + 7])
        cast.marker(one.text)
        cast.close(0)


def screen_file(folder: Path, texts: Sequence[Planted]) -> None:
    for number, one in enumerate(texts):
        seen = Snapshot(Screen.from_text(one.screen), target="tmux:a")
        (folder / f"{number}.txt").write_text(captured(seen, program="p", note=one.text))


def run_result(folder: Path, texts: Sequence[Planted]) -> None:
    for number, one in enumerate(texts):
        client.save(folder, f"{number}.json", {"screen": one.screen, "why": one.text, "lines": one.screen.split("\n")})
        client.save(folder, f"{number}.about", {"command": redact_words(words_of(one.text))})


def command_line(folder: Path, texts: Sequence[Planted]) -> None:
    with _printed(folder):
        for one in texts:
            print_json({"version": 1, "line": one.text, "lines": one.screen.split("\n"), "env": {"X": one.text}})
            print(shown(one.text))


def errors(folder: Path, texts: Sequence[Planted]) -> None:
    """What is printed for an exception, and for a command that is wrong."""
    before = sys.argv
    with _printed(folder):
        for one in texts:
            print(shown(str(TransportError("run:1", one.text, "check the command"))))
            sys.argv = ["stallkit", "check", f"no-target {one.text}"]
            with contextlib.suppress(SystemExit):
                main()
    sys.argv = before


def stop_file(folder: Path, texts: Sequence[Planted]) -> None:
    for number, one in enumerate(texts):
        (folder / str(number)).mkdir()
        write_stop(folder / str(number), "limit", one.text, "tmux:a")


def environment(folder: Path, texts: Sequence[Planted]) -> None:
    """Tables in an event: a variable by its name, the words of a command, and JSON in a text."""
    log = EventLog(folder / "events.jsonl")
    for one in texts:
        name, sign, value = one.text.removeprefix("$ ").removeprefix("export ").partition("=")
        table = {name: value} if sign and name.isidentifier() else {"note": one.text}
        facts = {"env": table, "argv": [*words_of(one.text)], "raw": json.dumps(one.text)}
        log.write(Event("run_started", "run:1", facts))


class _Lines(io.StringIO):
    """Captured output."""


@contextlib.contextmanager
def _printed(folder: Path) -> Any:
    out = _Lines()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        yield
    (folder / "printed").write_text(out.getvalue())


SINKS: dict[str, Sink] = {
    "event log": event_log,
    "runtime.log": runtime,
    "store": store,
    "queue": queue,
    "audit": audit,
    "register": register,
    "postmortem": postmortem,
    "webhook": webhook,
    "notices": notices,
    "HTML page, baseline": html,
    "recording": recording,
    "screen file": screen_file,
    "run": run_result,
    "command line": command_line,
    "errors": errors,
    ".auto-stop": stop_file,
    "tables": environment,
}
