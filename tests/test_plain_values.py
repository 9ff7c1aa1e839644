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
from stallkit_sessions import ExitRecord, RunResult, run
from stallkit_sessions.model import Cause, Session, Source, Status
from stallkit_sessions.runs.wait_limits import RunStatus
from started import House
from strategies import anything

from stallkit import (
    CheckResult,
    Detection,
    Engine,
    Event,
    MemoryTransport,
    PtyTransport,
    Screen,
    Verdict,
    check,
    dump,
    load,
)
from stallkit.cli.check_commands import printed
from stallkit.cli.printed_json import all_printed, json_schema
from stallkit.detect.dialog import Role
from stallkit.detect.dialog_parser import Option
from stallkit.detect.engine import SignatureRef
from stallkit.detect.signature import Certainty, Kind, Severity, State
from stallkit.evidence.agents import AfterExit
from stallkit.evidence.signal import Guard, Signal
from stallkit.evidence.snapshot import KernelFacts, Member, Snapshot, Standstill, TtyFacts
from stallkit.evidence.turn import EndedTurn, TurnOutcome
from stallkit.judging.verdict import Hung
from stallkit.press.check import Status as Found
from stallkit.press.gate import End, Outcome
from stallkit.press.policy import Press
from stallkit.press.policy_file import PROFILES
from stallkit.signals.collect import AskedInside
from stallkit.transports.stream import TerminalReport

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
TOLD = st.builds(
    SignatureRef,
    signature=st.none() | st.just("yes_no"),
    pack=st.none() | st.just("shell_yn"),
    severity=st.none() | st.sampled_from(Severity),
    line=st.none() | WORDS,
    request=st.none() | st.dictionaries(st.sampled_from(["command", "path"]), WORDS, max_size=2),
    options=st.lists(
        st.builds(Option, WORDS, selected=st.booleans(), role=st.none() | st.sampled_from(Role)), max_size=2
    ).map(tuple),
    ambiguity=st.none() | WORDS,
)
DETECTIONS = st.builds(Detection, st.just(Screen.from_text("")), told=TOLD)
SIGNALS = st.builds(
    Signal,
    WORDS,
    st.none() | st.sampled_from(State),
    st.none() | st.sampled_from(Kind),
    st.none() | WORDS,
    fields=st.dictionaries(st.sampled_from(["command", "path"]), WORDS, max_size=2),
    since_s=st.none() | SECONDS,
    guard=st.sampled_from(Guard),
    pid=st.none() | st.integers(1, 9),
    stale=st.none() | WORDS,
)
VERDICTS = st.builds(
    Verdict,
    st.sampled_from(State),
    st.sampled_from(Certainty),
    st.none() | st.sampled_from(Kind),
    DETECTIONS,
    st.lists(WORDS, max_size=3).map(tuple),
    signals=st.lists(SIGNALS, max_size=2).map(tuple),
    ended_turn=st.none()
    | st.builds(EndedTurn, st.sampled_from(TurnOutcome), WORDS, st.none() | WORDS, WORDS, st.booleans(), st.booleans()),
    agents=st.none() | st.frozensets(WORDS, max_size=2),
    ended=st.none() | st.sampled_from(AfterExit),
    retrying=st.none() | WORDS,
    by_signal=st.booleans(),
    by_read=st.booleans(),
    hung=st.none() | st.builds(Hung, st.integers(0, 999).map(float), st.lists(WORDS, max_size=2).map(tuple)),
    inside=st.none() | WORDS,
)
OUTCOMES = st.builds(Outcome, st.sampled_from(End), WORDS)
CHECKS = st.builds(
    lambda verdict, *rest, **named: CheckResult(
        "tmux:w1", rest[0], verdict, Snapshot(verdict.detection.screen, target="tmux:w1"), **named
    ),
    VERDICTS,
    st.sampled_from(Found),
    outcome=st.none() | OUTCOMES,
    resets_at=st.none() | TIMES,
    inside=st.lists(
        st.builds(
            AskedInside,
            WORDS,
            st.integers(1, 9),
            WORDS,
            WORDS,
            st.booleans(),
            st.sampled_from(["read", "poll"]),
            st.none() | WORDS,
        ),
        max_size=1,
    ).map(tuple),
)
RUNS = st.builds(
    lambda verdict, status, **named: RunResult(
        status, "it asks", verdict, Snapshot(Screen(("Proceed?", "")), target="pty:1-a"), **named
    ),
    VERDICTS,
    st.sampled_from(RunStatus),
    output=WORDS,
    output_lost=st.integers(0, 9),
    seconds=st.integers(0, 999).map(float),
    exit_status=st.none() | st.integers(0, 255),
    signal=st.none() | st.just("SIGTERM"),
    answers=st.lists(OUTCOMES, max_size=2).map(tuple),
    next=st.none() | st.just({"poll": "stallkit attach r1", "answer": None}),
    told_fingerprint=st.just("0123456789abcdef"),
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
    plain = valid("event", dump(event))
    assert load(Event, plain) == event


@given(VERDICTS)
def test_a_verdict_comes_back(verdict: Verdict) -> None:
    assert load(Verdict, valid("verdict", dump(verdict))) == verdict


@given(CHECKS)
def test_a_check_comes_back(result: CheckResult) -> None:
    assert load(CheckResult, valid("check", dump(result))) == result


@given(RUNS)
def test_a_run_comes_back(result: RunResult) -> None:
    back = load(RunResult, valid("run", dump(result)))
    assert dump(back) == dump(result)
    assert (back.verdict, back.status, back.exit_status) == (result.verdict, result.status, result.exit_status)


@given(text=anything() | st.sampled_from(["Proceed? [y/N] ", "Press any key to continue ", "password: "]))
def test_what_an_engine_found_comes_back_by_its_names(engine: Engine, text: str) -> None:
    found = engine.detect(text)
    plain = valid("detection", dump(found))
    back = load(Detection, plain)
    assert back.told is not None and back.match is None
    assert back.told.signature == (found.match.signature.id if found.match else None)
    assert json.loads(json.dumps(dump(back))) == plain
    assert load(Detection, dump(back)) == back


@given(VERDICTS)
def test_nothing_that_was_read_back_leads_to_a_key(verdict: Verdict) -> None:
    for policy in PROFILES.values():
        assert not isinstance(policy.decide(load(Verdict, dump(verdict))), Press)


@given(RECORDS)
def test_an_exit_record_comes_back(record: ExitRecord) -> None:
    assert load(ExitRecord, valid("exit-record", dump(record))) == record


@given(REPORTS)
def test_a_report_of_a_terminal_comes_back(report: TerminalReport) -> None:
    back = load(TerminalReport, valid("terminal-report", dump(report)))
    assert back == report
    assert back.kernel.standstill == report.kernel.standstill, "equality of facts leaves it out"
    assert [one.began for one in back.kernel.members] == [one.began for one in report.kernel.members]


@pytest.mark.parametrize("shown", ["Proceed? [y/N] ", "Press any key to continue ", "compiling", "$ ", ""])
def test_a_check_is_what_the_command_prints(shown: str) -> None:
    for policy in (None, "careful"):
        transport = MemoryTransport(shown, on_keys=lambda keys: "$ ")
        result = check(transport, policy)
        assert valid("check", dump(result)) == json.loads(printed(result, as_json=True)[0])


def test_a_real_check_and_run_are_by_their_schemas() -> None:
    program = "print('It said: Proceed? [y/N] ', end='', flush=True); input()"
    with PtyTransport.spawn([sys.executable, "-c", program]) as session:
        while "Proceed" not in session.capture().screen.text:
            pass
        assert valid("check", dump(check(session)))["certainty"] == "sure"
    waiting = run([sys.executable, "-c", program])
    assert waiting.run is not None
    try:
        assert valid("run", dump(waiting))["status"] == "waiting"
    finally:
        waiting.run.stop()
    assert valid("run", dump(run(["true"])))["exit_status"] == 0


@pytest.mark.e2e
def test_commands_print_exactly_that(house: House) -> None:
    """The output of real commands is by the schema, and is what `dump` returns of what `load` reads."""
    screen = house.folder / "screen.txt"
    screen.write_text("Overwrite report.txt? [y/N] ")
    told = json.loads(house.call("check", f"file:{screen}", "--json").stdout)
    assert dump(load(CheckResult, valid("check", told))) == told
    told = json.loads(house.call("run", "--json", "--", "sh", "-c", "echo done; exit 3").stdout)
    back = load(RunResult, valid("run", told))
    assert dump(back) == told
    assert (back.exit_status, back.output.strip()) == (3, "done")
    house.call("start", "a", "-S", str(house.socket), "--wait", "5", "--", "sh", "-c", "echo cannot start; exit 3")
    told = valid("output", json.loads(house.call("output", "--postmortem", "a", "--json").stdout))["ended"]
    record = load(ExitRecord, valid("exit-record", told))
    assert {**told, **dump(record)} == told
    for event in house.events("a"):
        assert dump(load(Event, valid("event", event))) == event


def test_secrets_do_not_leave() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert secret not in json.dumps(dump(Event("x", "t", {"why": f"token {secret}"})))
    assert secret not in json.dumps(dump(check(MemoryTransport(f"{secret}\nProceed with {secret}? [y/N] "))))


@pytest.mark.parametrize("kind", [Event, ExitRecord, TerminalReport, Verdict, Detection, CheckResult, RunResult])
def test_anything_else_is_refused_in_one_line(kind: type[Any]) -> None:
    for wrong in ({}, [], "text", {"version": 2}, {"version": 1}, {"version": 1, "time": 3, "pid": [], "cause": "x"}):
        with pytest.raises(ValueError, match="not a") as raised:
            load(kind, wrong)
        assert "\n" not in str(raised.value)


def test_values_of_other_types_are_not_converted() -> None:
    """Nor is a text a list of characters."""
    plain = dump(check(MemoryTransport("Proceed? [y/N] ")))
    assert load(CheckResult, plain).verdict.state is State.WAITING
    wrong = {"by_signal": 1, "reasons": "why", "line": 3, "state": "sleeping", "options": [3], "inside": {}, "hung": []}
    taken = []
    for name, value in wrong.items():
        try:
            load(CheckResult, {**plain, name: value})
            taken.append(name)
        except ValueError as error:
            assert str(error).startswith("not a check result: ") and "\n" not in str(error)
    assert not taken


def test_schemas_are_schemas_and_refuse_something() -> None:
    for name in all_printed().values:
        schema = json_schema(name)
        jsonschema_rs.meta.validate(schema)
        for wrong in ({}, {**dict.fromkeys(schema["required"], "x"), "version": 2}):
            assert not jsonschema_rs.is_valid(schema, wrong)
    with pytest.raises(ValueError, match="there are check"):
        json_schema("verdicts")
    plain = dump(check(MemoryTransport("$ ")))
    assert not jsonschema_rs.is_valid(json_schema("check"), {**plain, "state": "sleeping"})
