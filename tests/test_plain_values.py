"""Values for JSON: by their published schemas, as the commands print them, and back where there is a way."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallkit import Event, ExitRecord, MemoryTransport, PtyTransport, check, json_schema, run
from stallkit.core.facts import KernelFacts, Member, Standstill, TtyFacts
from stallkit.press.check_text import printed
from stallkit.probes.report import TerminalReport
from stallkit.schemas import SCHEMAS
from stallkit.sessions.model import Cause, Session, Source, Status

WORDS = st.sampled_from(["", "worker1", "it asks", "é 你 👍", "a\nb", "3"])
SECONDS = st.floats(0, 2e9, allow_nan=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["why", "rows", "n"]), inner, max_size=3)
    ),
    max_leaves=6,
)
TIMES = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)).map(
    lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000, tzinfo=UTC)
)
EVENTS = st.builds(
    Event, WORDS, WORDS, st.dictionaries(st.sampled_from(["why", "state", "x"]), JSON, max_size=3), TIMES
)
SESSIONS = st.builds(
    Session,
    WORDS,
    WORDS,
    st.lists(WORDS).map(tuple),
    WORDS,
    SECONDS,
    WORDS,
    image=st.none() | WORDS,
    ports=st.lists(st.integers(1, 65535), max_size=3).map(tuple),
    size=st.none() | st.tuples(st.integers(1, 200), st.integers(1, 200)),
    hooks=st.booleans(),
)
STATUSES = st.builds(Status, st.sampled_from(Source), st.none() | st.integers(0, 255), st.none() | st.integers(1, 64))
RECORDS = st.builds(
    ExitRecord,
    SESSIONS,
    st.sampled_from(Cause),
    WORDS,
    SECONDS,
    st.none() | SECONDS,
    st.none() | STATUSES,
    st.none() | st.lists(WORDS, max_size=3).map(tuple),
    reasons=st.lists(WORDS, max_size=2).map(tuple),
    earlier=st.integers(0, 9),
)
FLAGS = st.none() | st.booleans()
MEMBERS = st.builds(
    Member,
    st.integers(1, 99),
    WORDS,
    st.sampled_from("RSDTZ"),
    st.none() | st.integers(0, 9),
    called=st.none() | WORDS,
    interactive=FLAGS,
    parent=st.none() | st.integers(1, 9),
    began=st.none() | SECONDS,
)
GROUPS = st.lists(MEMBERS, max_size=3).map(tuple)
KERNELS = st.builds(
    KernelFacts,
    st.none() | st.integers(1, 9),
    members=GROUPS,
    listening=FLAGS,
    how=st.sampled_from([None, "read", "poll", "select", "epoll"]),
    readers=st.none() | GROUPS,
    background=st.none() | GROUPS,
    standstill=st.none()
    | st.builds(Standstill, st.dictionaries(st.integers(1, 9), st.integers(0, 9), max_size=3), SECONDS),
)
REPORTS = st.builds(
    TerminalReport, st.integers(1, 99), SECONDS, SECONDS, KERNELS, st.builds(TtyFacts, FLAGS, FLAGS, FLAGS)
)


def valid(name: str, plain: Any) -> Any:
    """The value as JSON carries it, held to its schema."""
    carried = json.loads(json.dumps(plain))
    jsonschema_rs.validator_for(json_schema(name), validate_formats=True).validate(carried)
    return carried


@given(EVENTS)
def test_an_event_comes_back(event: Event) -> None:
    plain = valid("event", event.to_dict())
    assert Event.from_dict(plain) == event
    assert plain == json.loads(event.to_json())


@given(RECORDS)
def test_an_exit_record_comes_back(record: ExitRecord) -> None:
    assert ExitRecord.from_dict(valid("exit-record", record.to_dict())) == record


@given(REPORTS)
def test_a_report_of_a_terminal_comes_back(report: TerminalReport) -> None:
    back = TerminalReport.from_dict(valid("terminal-report", report.to_dict()))
    assert back == report
    assert back.kernel.standstill == report.kernel.standstill, "equality of facts leaves it out"
    assert [one.began for one in back.kernel.members] == [one.began for one in report.kernel.members]


@pytest.mark.parametrize("shown", ["Proceed? [y/N] ", "Press any key to continue ", "compiling", "$ ", ""])
def test_a_check_is_what_the_command_prints(shown: str) -> None:
    for policy in (None, "careful"):
        transport = MemoryTransport(shown, on_keys=lambda keys: "$ ")
        result = check(transport, policy)
        assert valid("check", result.to_dict()) == json.loads(printed(result, as_json=True)[0])


def test_a_real_check_and_run_are_by_their_schemas() -> None:
    program = "print('It said: Proceed? [y/N] ', end='', flush=True); input()"
    with PtyTransport.spawn([sys.executable, "-c", program]) as session:
        while "Proceed" not in session.capture().screen.text:
            pass
        assert valid("check", check(session).to_dict())["certainty"] == "sure"
    waiting = run([sys.executable, "-c", program])
    assert waiting.run is not None
    try:
        assert valid("run", waiting.to_dict())["status"] == "waiting"
    finally:
        waiting.run.stop()
    assert valid("run", run(["true"]).to_dict())["exit_status"] == 0


def test_secrets_do_not_leave() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert secret not in json.dumps(Event("x", "t", {"why": f"token {secret}"}).to_dict())
    assert secret not in json.dumps(check(MemoryTransport(f"{secret}\nProceed with {secret}? [y/N] ")).to_dict())


@pytest.mark.parametrize("kind", [Event, ExitRecord, TerminalReport])
def test_anything_else_is_refused_in_one_line(kind: type[Any]) -> None:
    for wrong in ({}, [], "text", {"version": 2}, {"version": 1}, {"version": 1, "time": 3, "pid": [], "cause": "x"}):
        with pytest.raises(ValueError, match="not a") as raised:
            kind.from_dict(wrong)
        assert "\n" not in str(raised.value)


def test_schemas_are_schemas_and_refuse_something() -> None:
    for name in SCHEMAS:
        schema = json_schema(name)
        jsonschema_rs.meta.validate(schema)
        for wrong in ({}, {**dict.fromkeys(schema["required"], "x"), "version": 2}):
            assert not jsonschema_rs.is_valid(schema, wrong)
    with pytest.raises(ValueError, match="there are check"):
        json_schema("verdict")
    plain = check(MemoryTransport("$ ")).to_dict()
    assert not jsonschema_rs.is_valid(json_schema("check"), {**plain, "state": "sleeping"})
