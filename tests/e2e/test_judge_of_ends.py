"""The judge of the soak part `ends`: what is right passes, what is told wrongly does not."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from soak.ends import CAUSE, CODE, FINALS, INCIDENT, NONE, SILENT, judge
from soak.ways_to_end import Truth
from stallkit_sessions.model import Cause, ExitRecord, Session, Source, Status

pytestmark = pytest.mark.e2e

SESSION = Session("a", "id-a", ("cat",), "/", 1.0, "")
TRUTH = Truth(SESSION, ((Cause.EXITED, 3, None),), None)
RECORD = ExitRecord(SESSION, Cause.EXITED, "", 2.0, status=Status(Source.PANE, 3))
EVENT = {"event": "session_crashed", "cause": "exited", "exit_code": 3, "signal": None, "incident": None}
DROP = {**EVENT, "event": "session_drop", "exit_code": None}


def test_what_is_right_passes_the_judge() -> None:
    assert judge(TRUTH, RECORD, [EVENT], [EVENT]) == []


@pytest.mark.parametrize(
    ("record", "here", "there", "wrong"),
    [
        pytest.param(None, [], [], [NONE], id="no record"),
        pytest.param(
            evolve(RECORD, cause=Cause.SESSION_KILLED, status=None),
            [{**DROP, "cause": "session killed"}],
            [{**DROP, "cause": "session killed"}],
            [CAUSE, SILENT],
            id="another cause",
        ),
        pytest.param(
            evolve(RECORD, status=Status(Source.PANE, 0)),
            [{**EVENT, "exit_code": 0}],
            [{**EVENT, "exit_code": 0}],
            [CODE],
            id="a false zero",
        ),
        pytest.param(
            evolve(RECORD, status=Status(Source.PANE, None, 3)),
            [{**EVENT, "exit_code": None, "signal": 3}],
            [{**EVENT, "exit_code": None, "signal": 3}],
            [CODE],
            id="a signal for a code",
        ),
        pytest.param(RECORD, [EVENT, EVENT], [EVENT], [FINALS], id="told twice in one log"),
        pytest.param(RECORD, [EVENT], [], [FINALS], id="missing in the other"),
        pytest.param(RECORD, [DROP], [DROP], [FINALS], id="another event"),
        pytest.param(RECORD, [{**EVENT, "exit_code": 0}], [EVENT], [FINALS], id="an event of another code"),
        pytest.param(
            evolve(RECORD, incident="1"),
            [{**EVENT, "incident": "1"}],
            [{**EVENT, "incident": "1"}],
            [INCIDENT],
            id="an incident of one",
        ),
    ],
)
def test_what_is_wrong_does_not(
    record: ExitRecord | None, here: list[dict[str, Any]], there: list[dict[str, Any]], wrong: list[str]
) -> None:
    assert judge(TRUTH, record, here, there) == wrong


def test_of_two_ways_each_has_its_own_code() -> None:
    either = evolve(TRUTH, ways=((Cause.EXITED, 3, None), (Cause.SESSION_KILLED, None, None)))
    killed = {**DROP, "cause": "session killed"}
    assert judge(either, evolve(RECORD, cause=Cause.SESSION_KILLED, status=None), [killed], [killed]) == []
    unknown = {**DROP, "event": "session_crashed"}
    assert judge(either, evolve(RECORD, status=None), [unknown], [unknown]) == [SILENT]
