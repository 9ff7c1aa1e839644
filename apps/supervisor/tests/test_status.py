"""`status` and `report`: who waits now, in a status line, of a real night; what a log adds up to."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from queued import Desk
from stallkit_supervisor.log_report import LogReader, Report, SessionReport, reported
from stallkit_supervisor.session_state import WatchConfig
from stallkit_supervisor.sources import FleetSource
from stallkit_supervisor.status_text import NEEDS, StatusNeed, clear_stale, summary
from stallkit_supervisor.store import Store
from stallkit_supervisor.supervisor import Supervisor
from supervised import EAGER
from terminals import OnTerminal, Server, wait_for

from stallkit.errors import ConfigError
from stallkit.press.events import Event, EventLog
from stallkit.press.policy import OBSERVE
from stallkit.transports.tmux.call import Server as Client


def numbers(reader: LogReader) -> list[int]:
    return [event["number"] for event in reader.events()]


def test_rotated_files_are_read_the_oldest_first(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl", max_bytes=1_000)
    for number in range(30):
        log.write(Event("detection", "tmux:a", {"number": number}))
    assert (tmp_path / "events.jsonl.2").exists()
    assert numbers(LogReader(log.path)) == list(range(30))


def test_cut_and_foreign_lines_are_counted_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    whole = json.dumps({"event": "done", "number": 1})
    lines = [whole, whole[:9], "", "[1]", '{"event": 3}', "\xff", "[" * 100_000, whole, whole[:-2]]
    path.write_text("\n".join(lines), "latin-1")
    reader = LogReader(path)
    assert (numbers(reader), reader.unreadable) == ([1, 1], 6)


def test_a_rotation_meanwhile_hides_nothing_and_shows_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(path, max_bytes=10_000)
    log.write(Event("done", "", {"number": 1}))
    os.link(path, f"{path}.1")  # as it is between the two looks at a file that was renamed
    assert numbers(LogReader(path)) == [1]
    path.unlink()
    assert numbers(LogReader(path)) == [1], "before the next event was written"


def test_progress_reaches_the_end_and_old_files_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"event": "done", "number": 2}\n' * 10_000)
    (tmp_path / "events.jsonl.1").write_text('{"event": "done", "number": 1}\n')
    os.utime(tmp_path / "events.jsonl.1", (0, 1_000))
    shares: list[float] = []
    assert sum(1 for _ in LogReader(path).events(2_000, shares.append)) == 10_000
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) == 5


def test_no_log_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        list(LogReader(tmp_path / "events.jsonl").events())
    with pytest.raises(ConfigError, match="Is a directory"):
        list(LogReader(tmp_path).events())


EVENING = datetime(2026, 11, 22, 22, tzinfo=UTC).timestamp()
ASKS = {"state": "waiting", "kind": "permission", "signature": "tool"}
WORKS = {"state": "working", "kind": None, "signature": "spinner"}
IDLE = {"state": "idle", "kind": None, "signature": "composer"}


def at(minute: float, name: str, target: str = "tmux:a", **facts: Any) -> dict[str, Any]:
    time = datetime.fromtimestamp(EVENING + minute * 60, UTC).isoformat(timespec="milliseconds")
    return {"version": 1, "time": time, "event": name, "target": target, **facts}


def iso(minute: float) -> str:
    return str(at(minute, "")["time"])


def alone(*events: dict[str, Any]) -> SessionReport:
    [found] = reported(events).sessions.values()
    return found


def waits(found: SessionReport) -> list[tuple[str, float, float | None, str | None]]:
    """What, from which minute to which, and who answered."""
    return [
        (wait.label, (wait.since - EVENING) / 60, None if wait.until is None else (wait.until - EVENING) / 60, wait.by)
        for wait in found.waits
    ]


def test_a_wait_lasts_from_its_prompt_to_its_answer() -> None:
    found = alone(
        at(1, "detection", **ASKS),
        at(1.5, "escalation", **ASKS, what="waits", since=iso(1), times=1),
        at(31.5, "escalation", **ASKS, what="waits", since=iso(1), times=2),
        at(40, "detection", **WORKS),
        at(40.05, "cleared", what="waits", by="somebody", blocked_s=39 * 60, kind="permission", signature="tool"),
        at(50, "done", **IDLE),
    )
    [wait] = found.waits
    assert (wait.label, wait.by, wait.told, found.open, found.turns) == ("permission", "somebody", 2, None, 1)
    assert abs(wait.blocked_s(EVENING + 36_000) - 39 * 60) < 0.01


def test_what_still_waits_goes_on() -> None:
    found = alone(at(1, "escalation", **ASKS, what="waits"), at(2, "send", **ASKS))
    assert waits(found) == [("permission", 1, None, None)] and found.open is not None
    assert found.blocked_s(EVENING + 3_660) == 3_600
    halted = alone(at(1, "limit", **ASKS, item=2, why="3 recoveries"))
    assert halted.limits["help"] == 1 and halted.open is not None and halted.open.label == "permission"


def test_how_a_wait_ended_is_said_as_the_log_says_it_or_not_at_all() -> None:
    told = at(1, "escalation", **ASKS, what="waits")
    for last, by in (
        ([at(9, "gone", why="no such session")], "gone with its session"),
        ([at(9, "gone"), at(9.01, "cleared", what="waits", by="stallkit", blocked_s=480)], "stallkit"),
        ([at(9, "cleared", what="waits", by="ada", blocked_s=480)], "ada"),
        ([at(9, "detection", **WORKS)], None),
        ([at(0, "cleared", by="somebody")], "somebody"),  # by a clock that was set back
    ):
        [wait] = alone(told, *last).waits
        assert wait.by == by and wait.until is not None and wait.until >= wait.since, last


def test_stallkit_answers_what_a_person_was_told_of() -> None:
    found = alone(
        at(1, "escalation", **ASKS, what="waits"),
        at(2, "dismissal", signature="tool", outcome="cleared"),
        at(2, "detection", **WORKS),
        at(3, "dismissal", signature="key", outcome="refused"),
    )
    assert waits(found) == [("permission", 1, 2, "stallkit")]
    assert (found.pressed, found.not_pressed) == (1, 1)


def test_a_log_that_does_not_say_what_was_cleared_is_read_by_what_came_next() -> None:
    other = {**ASKS, "kind": "confirm", "signature": "yes_no"}
    found = alone(
        at(1, "escalation", **ASKS, why="severity medium"),
        at(2, "detection", **ASKS, certainty="maybe"),  # the same prompt
        at(3, "escalation", **other, why="severity medium"),
        at(9, "detection", **WORKS),
    )
    assert waits(found) == [("permission", 1, 3, None), ("confirm", 3, 9, None)]


def test_what_was_told_before_the_log_begins_is_known_when_it_clears() -> None:
    found = alone(at(30, "cleared", what="asks", by="somebody", blocked_s=600, kind=None))
    assert waits(found) == [("asks", 20, 30, "somebody")] and found.waits[0].told == 0


def test_failures_restarts_limits_and_ends_are_counted() -> None:
    failed = {**IDLE, "ended_turn": {"how": "failed", "message": "API Error: 401", "error": "authentication"}}
    found = alone(
        at(1, "escalation", **failed, what="failed"),
        at(2, "restart", outcome="cleared"),
        at(3, "restart", outcome="refused"),
        at(4, "escalation", state="quota", what="limit", free_in_s=60),
        at(5, "resume", outcome="cleared"),
        at(6, "limit", why="3 recoveries"),
        at(6, "auto_stop", reason="stall_limit", why="3 recoveries"),
        at(7, "could_not_look", why="no answer"),
        at(8, "session_crashed", target="a", cause="exited"),
        at(8, "gone", why="no such session"),
        at(9, "gone", why="no such session"),
    )
    assert found.waits[0].label == "failed: authentication" and dict(found.failures) == {"authentication": 1}
    assert (found.restarts, found.restarts_failed, found.resumed, found.troubles) == (1, 1, 1, 1)
    assert dict(found.limits) == {"usage": 1, "help": 1} and found.halted == "3 recoveries"
    assert dict(found.ends) == {"session_crashed": 1}, "its end is one, whoever tells it"
    assert found.open is None and found.name == "a"
    assert alone(at(1, "auto_stop", why="x"), at(2, "released", why="x")).halted == ""


def test_what_an_earlier_supervisor_told_is_one_wait_with_what_the_next_one_finds() -> None:
    told = at(1, "escalation", **ASKS, what="waits", since=iso(0))
    still = at(20, "still", **ASKS, what="waits", since=iso(0), told=1)
    [wait] = alone(told, at(10, "start"), still).waits
    assert (wait.told, wait.since, wait.until) == (1, EVENING, None)
    assert waits(alone(still)) == [("permission", 0, None, None)], "the log begins later"


def test_who_watches_and_which_events_count() -> None:
    events = [at(1, "done"), {**at(2, "done"), "time": "soon"}, at(3, "done"), {"event": "done", "target": "tmux:a"}]
    assert reported(events, EVENING + 120).sessions["a"].turns == 1
    assert reported([], 0).begun is None
    starts, stop = [at(1, "start", ""), at(2, "start", "")], at(3, "stop", "")
    for log, watching in (([at(1, "done")], None), ([starts[0], stop], 0), ([stop], 0), ([*starts, stop], 1)):
        assert reported(log).watching == watching


NAMES = ["detection", "escalation", "cleared", "dismissal", "restart", "done", "gone", "start", "stop", "limit"]
VALUES = st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)

FACTS = st.dictionaries(
    st.sampled_from(["state", "kind", "signature", "what", "since", "waited_s", "blocked_s", "by", "outcome", "why"]),
    VALUES | st.sampled_from(["waiting", "working", "waits", "asks", "somebody", "cleared", iso(0), iso(99)]),
)

EVENTS = st.lists(
    st.tuples(st.floats(0, 600), st.sampled_from(NAMES), FACTS, VALUES | st.sampled_from(["tmux:a", "b"])), max_size=20
)


@given(EVENTS)
def test_whatever_a_log_holds_its_times_make_sense(log: list[tuple[float, str, dict[str, Any], Any]]) -> None:
    report: Report = reported([{**at(minute, name), **facts, "target": target} for minute, name, facts, target in log])
    for one in report.sessions.values():
        assert all(wait.until is not None for wait in one.waits[:-1]), "one wait at a time"
        assert all(wait.until is None or wait.until >= wait.since for wait in one.waits)
        assert one.blocked_s(EVENING + 36_000) >= 0


ANY_KEY = "read -n1 -s -r -p 'Press any key to continue...'; printf '\\nwent on\\n'; exec sleep 100"
DELETES = "read -p 'Delete all? [y/N] ' x; clear; echo went on; exec sleep 100"


class Night(Desk):
    """`stallkit` in a folder of its own, over one tmux server."""

    def __init__(self, folder: Path, server: Server) -> None:
        super().__init__(folder, server)
        self.environment["STALLKIT_TMUX"] = str(server.socket)
        self.log = folder / "state" / "events.jsonl"
        rule = 'do = "press"\nsignature = "shell_tools:press_any_key"\nsession = "tmux:key"\n'
        (folder / "config" / "stallkit").mkdir(parents=True)
        settings = folder / "config" / "stallkit" / "stallkit.toml"
        settings.write_text(f"[watch]\nall = true\n[[policy.rule]]\n{rule}")

    @property
    def told(self) -> list[str]:
        """What was said besides events."""
        return [line for line in (self.folder / "out").read_text().splitlines() if not line.startswith("{")]

    def has(self, name: str, target: str) -> bool:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return any((event["event"], event["target"]) == (name, target) for event in map(json.loads, lines))

    def report(self, *words: str) -> tuple[int, dict[str, Any]]:
        done = self("report", "--json", *words)
        return done.returncode, json.loads(done.stdout)


@pytest.fixture
def night(server: Server, tmp_path: Path) -> Iterator[Night]:
    for name, script in (("key", ANY_KEY), ("one", DELETES), ("two", DELETES)):
        server.start(name, "bash", "-c", script, shows="?" if script is DELETES else "key").close()
    server.start("quiet", "sleep", "1000").close()
    made = Night(tmp_path, server)
    process = made.begin("watch", "--service")
    try:
        wait_for(lambda: made.has("dismissal", "tmux:key"), "stallkit's answer")
        wait_for(lambda: made.has("escalation", "tmux:one") and made.has("escalation", "tmux:two"), "two questions")
        server.tmux("send-keys", "-t", "=one:", "n", "Enter")
        lines = lambda: [one for one in made.report()[1]["sessions"] if one["session"] == "one"]  # noqa: E731
        wait_for(lambda: not lines()[0]["still_waits"], "the end of a wait")
    finally:
        process.terminate()
        assert (process.wait(30), made.told) == (0, [])
    yield made
    made.end()


def test_who_waited_who_answered_and_what_still_waits(night: Night) -> None:
    code, report = night.report()
    sessions = {one["session"]: one for one in report["sessions"]}
    assert code == 2 and (report["watching"], report["unreadable"]) == (0, 0)
    [one], [two] = sessions["one"]["waits"], sessions["two"]["waits"]
    assert (one["what"], one["about"], two["what"], two["until"]) == ("waits", "confirm", "waits", None)
    assert one["until"] is not None and one["by"] == "typed there"
    assert sessions["key"]["pressed"] == 1 and not sessions["key"]["still_waits"]
    assert "quiet" not in sessions or not sessions["quiet"]["waits"]
    assert night.report("tmux:one")[0] == 0 and night.report("one", "--since", "0s")[0] == 0
    done = night("report")
    lines = done.stdout.splitlines()
    assert done.returncode == 2 and len(lines) <= 10, done.stdout
    assert "1 still open" in lines[0] and "no supervisor watches any more" in lines[1]
    assert [line.split()[0] for line in lines[2:6]] == ["session", "two", "one", "key"], "the one that waits is first"
    assert "still confirm" in lines[3] and "stallkit 1" in lines[5]
    state = str(night.folder / "state")
    assert night.server is not None
    shown = OnTerminal(night.server, (80, 24), *night.command, "report", "--all", STALLKIT_STATE_DIR=state).over(2)
    assert "still confirm" in shown and "one" in shown

    assert '"still"' not in night.log.read_text()  # a watch tells at its end what happened in it
    watch = night.begin("watch", "--all", "--policy", "observe", "--summary")
    wait_for(lambda: '"still"' in night.log.read_text(), "what was told before, and is still there")
    watch.terminate()
    assert watch.wait(30) == 0
    told = "\n".join(night.told)
    assert "1 still open" in told and "two" in told and "\nkey" not in told

    whole, text = night.report()[1], night.log.read_text()
    middle = text.index("\n", len(text) // 2) + 1
    Path(f"{night.log}.1").write_text(text[:middle])
    night.log.write_text(text[middle:] + '{"version": 1, "time": "2026')
    code, found = night.report()
    assert (code, found.pop("unreadable")) == (2, 1), "a cut line, and rotated files"
    assert found["sessions"] == whole["sessions"]
    assert "1 line is no event, and left out" in night("report").stderr

    (night.folder / "empty.jsonl").touch()
    for words, code, said in (
        (["--log", "none.jsonl"], 1, "there is no such file"),
        (["--since", "yesterday"], 64, "write a span"),
        (["--since", "25:00"], 64, "write a span"),
        (["--log", "empty.jsonl"], 0, "nothing happened"),
        (["nobody", "--log", "empty.jsonl"], 64, "has no such session"),
    ):
        done = night("report", *words)
        assert done.returncode == code and said in done.stdout + done.stderr, words


PROCEEDS = "read -p 'Proceed? [y/N] ' answer; clear; echo went on; exec sleep 1000"


class Status:
    """`stallkit status` beside a watch of one tmux server."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.server, self.desk = server, Desk(folder, server)
        self.process = self.desk.begin("watch", "--all", "--policy", "observe", "--json", "-S", str(server.socket))

    def __call__(self, *words: str) -> tuple[int, str]:
        done = self.desk("status", *words)
        assert not done.stderr
        return done.returncode, done.stdout

    @property
    def text(self) -> str:
        return text(self.server)


@pytest.fixture
def status(server: Server, tmp_path: Path) -> Iterator[Status]:
    server.start("w1", "bash", "-c", PROCEEDS, shows="Proceed?").close()
    made = Status(tmp_path, server)
    yield made
    made.desk.end()


def test_a_line_for_a_status_bar_and_what_all_sessions_do(status: Status) -> None:
    wait_for(lambda: status("--short") == (2, "1 wait: w1\n"), "who waits")
    assert status.text == "1 wait: w1"
    found = json.loads(status("--json")[1])
    (row,), (supervisor,) = found["sessions"], found["supervisors"]
    assert (row["state"], row["supervisor"], supervisor["policy"]) == ("waiting", status.process.pid, "observe")
    assert supervisor["summary"] == "1 wait: w1" and row["iteration"] == 1
    assert "tmux:w1" in status()[1]
    status.process.send_signal(signal.SIGSTOP)
    assert status("--short") == (1, "stallkit: does not answer\n"), "it does not hold the line up"
    status.process.send_signal(signal.SIGCONT)
    at = ("-S", str(status.server.socket))
    for words, told in ((("--all", *at), True), (("tmux:w1", *at), True), (("tmux:other", *at), False)):
        done = status.desk("watch", *words, "--policy", "observe", "--for", "0.1")
        assert (f"process {status.process.pid}, policy observe, watches there already" in done.stderr) is told, words
    for more in ("tmux:w1", "--json"):
        assert status.desk("status", "--short", more).returncode == 64
    status.server.tmux("send-keys", "-t", "=w1:", "y", "Enter")
    wait_for(lambda: status("--short") == (0, "\n"), "nothing to be needed")
    status.process.send_signal(signal.SIGTERM)
    assert status.process.wait(30) == 0
    assert status.text == status.server.tmux("show-options", "-gqv", "@stallkit_of") == ""
    assert status("--short") == (1, "stallkit: not running\n")


def test_what_a_killed_one_left_and_how_a_halted_session_goes_on(status: Status, tmp_path: Path) -> None:
    wait_for(lambda: status("--short")[0] == 2, "who waits")
    with closing(Store(tmp_path / "state" / "watch.db")) as store:
        store.halt("tmux:w1", "3 recoveries, 3 are allowed")
    assert not clear_stale(Client(status.server.options)), "it runs"
    status.process.kill()
    status.process.wait()
    assert status.text == "1 wait: w1"
    assert status("--short", "-S", str(status.server.socket)) == (1, "stallkit: not running\n")
    assert status.text == ""
    found = json.loads(status("--json")[1])
    assert found["supervisors"] == [] and found["sessions"][0]["supervisor"] is None
    assert found["sessions"][0]["state"] == "waiting"
    assert "halted: 3 recoveries, 3 are allowed; to go on: stallkit stuck release tmux:w1" in status("w1")[1]

    for words in (
        ["report", "--incidents", "w1"],
        ["stuck", "mute", "w1"],
        ["stuck", "unmute", "w1"],
        ["stuck", "release", "w1"],
    ):
        done = status.desk(*words)  # a plain name is that of a tmux session
        assert done.returncode == 0, (words, done.stderr)
        missing = status.desk(*words[:-1], "nobody")
        assert missing.returncode == 64 and "no supervisor has watched it" in missing.stderr, (words, missing.stderr)
    assert "halted" not in status("w1")[1]


# Formats, styles, times, words of a shell and of tmux: each would be seen, or leave a file.  (tmux reads the name
# of a new session as a format, too.)
HOSTILE = ["##(touch pwned)", "#[reverse]a", "##{host}", "##{l:x}", "%H%M", "$(touch pwned)", "a'b\"c", "-x", "`id`"]


def text(server: Server) -> str:
    return server.tmux("show-options", "-gqv", "@stallkit").rstrip("\n")


def asks(server: Server, name: str) -> None:
    server.tmux("new-session", "-d", f"-s{name}", "-x", "80", "-y", "24", "bash", "-c", PROCEEDS)


@pytest.mark.e2e
def test_a_client_shows_it_as_it_is(server: Server, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    inner = Server(tmp_path / "inner")
    try:
        for name in HOSTILE:
            asks(inner, name)
        inner.tmux("set-option", "-g", "status-left", "")
        inner.tmux("set-option", "-g", "status-right-length", "180")
        inner.tmux("set-option", "-g", "status-right", "|#{@stallkit}|")
        inner.tmux("set-option", "-g", "window-status-format", "")
        inner.tmux("set-option", "-g", "window-status-current-format", "")
        attach = ("env", "-u", "TMUX", "tmux", "-u", "-S", str(inner.socket), "attach")
        client = OnTerminal(server, (200, 24), *attach)
        client.shows(r"\|\|$")

        async def run() -> None:
            source = FleetSource([], inner.options, everything=True)
            supervisor = Supervisor(policy=WatchConfig(OBSERVE, EAGER), sources=[source])
            async with supervisor:
                await asyncio.to_thread(wait_for, lambda: "9 wait" in client.screen.splitlines()[-1], "all that wait")
                row = client.screen.splitlines()[-1]
                assert row.endswith(f"|{supervisor.summary}|")
                assert [part for part in ("#[reverse]a", "#(touch", "#{host}") if part not in row] == [], row

        asyncio.run(run())
        client.shows(r"\|\|$")
        assert not list(tmp_path.rglob("pwned"))
    finally:
        inner.end()


WATCH = """
import asyncio, sys
from stallkit_supervisor import Supervisor
from stallkit_supervisor.sources import sources_for
from stallkit.transports.base import Options

async def watch():
    panes = sources_for([], Options(tmux_socket_path=sys.argv[1]), everything=True, listen="auto")
    async with Supervisor(policy="observe", sources=panes) as watching:
        async for event in watching:
            pass

asyncio.run(watch())
"""


@contextmanager
def watching(server: Server) -> Iterator[None]:
    """A supervisor of its own, which is killed in the end, whatever comes of the test."""
    with subprocess.Popen([sys.executable, "-c", WATCH, str(server.socket)]) as process:
        try:
            yield
        finally:
            process.kill()


@pytest.mark.e2e
def test_one_that_listens_takes_its_text_along_where_it_is_killed(server: Server) -> None:
    server.tmux("new-session", "-d", "-s", "w1", "bash", "-c", 'exec -a codex bash -c "$0"', PROCEEDS)
    with watching(server):
        wait_for(lambda: text(server) == "1 wait: w1", "its text")
        pipe = ("display-message", "-p", "-t", "=w1:", "#{pane_pipe}")
        wait_for(lambda: server.tmux(*pipe).strip() == "1", "it to listen")
    wait_for(lambda: text(server) == "" and server.tmux(*pipe).strip() == "0", "all of it to be gone")


SHORT: list[tuple[list[tuple[StatusNeed, str]], str]] = [
    ([], ""),
    ([("limit", "tmux:c"), ("wait", "tmux:b"), ("wait", "acme:a")], "2 wait: acme:a b, 1 limit: c"),
    ([("wait", f"tmux:{'x' * 99}")], f"1 wait: {'x' * 23}…"),
    (
        [("wait", f"tmux:s-{number:02}") for number in range(20)],
        f"20 wait: {' '.join(f's-{number:02}' for number in range(12))} +8",
    ),
    ([("unseen", "tmux:a\u202eb\nc"), ("stopped", "tmux:two words")], "1 stopped: two_words, 1 unseen: abc"),
]


def test_a_short_line() -> None:
    assert [summary(needs) for needs, _ in SHORT] == [line for _, line in SHORT]
    assert all(need in NEEDS for needs, _ in SHORT for need, _ in needs)
