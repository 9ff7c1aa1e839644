"""The event log: one line each, redacted, and harmless in whatever reads it."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Clause, Pack, Signature
from stallkit.errors import StoreError
from stallkit.evidence.snapshot import ProcessFacts, Snapshot
from stallkit.jsonio import dump, unstructure
from stallkit.judging.judge import judge
from stallkit.press.events import Event, EventLog
from stallkit.terminal.screen import Screen

ALLOW = Signature(id="allow", title="allow", state="waiting", kind="permission", all_of=[Clause(text="Allow")])  # type: ignore[arg-type]
ENGINE = Engine([Pack(name="agent", signatures=[ALLOW])])
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def lines(path: Path) -> list[dict[str, Any]]:
    text = path.read_text("ascii")
    assert text.endswith("\n")
    return [json.loads(line) for line in text[:-1].split("\n")]


def detected(path: Path, text: str, target: str = "tmux:one") -> dict[str, Any]:
    """What is logged of a look at a session that shows this."""
    now = Snapshot(screen=Screen.from_text(text), process=ProcessFacts("acme"), target=target)
    EventLog(path).detection(judge(ENGINE.detect(now.screen), now), now)
    return lines(path)[-1]


def test_a_detection_says_what_was_seen(tmp_path: Path) -> None:
    event = detected(tmp_path / "events.jsonl", "Allow rm?")
    assert datetime.fromisoformat(event.pop("time")).tzinfo is not None
    assert event == {
        "version": 1,
        "event": "detection",
        "target": "tmux:one",
        "state": "waiting",
        "certainty": "maybe",
        "by_signal": False,
        "by_read": False,
        "kind": "permission",
        "signature": "allow",
        "pack": "agent",
        "severity": "high",
        "line": "Allow rm?",
        "request": None,
        "options": [],
        "ambiguity": "its signature does not describe the whole dialog",
        "reasons": ["agent:allow on the line 'Allow rm?'", "whether anything reads the terminal is unknown"],
        "agents": None,
        "asks_inside": None,
        "ended": None,
        "retrying": None,
        "ended_turn": None,
        "hung": None,
        "signals": [],
        "foreground": "acme",
    }


def test_no_match_is_logged_as_well_and_a_description_is_plain_values(tmp_path: Path) -> None:
    event = detected(tmp_path / "events.jsonl", "nothing")
    assert (event["state"], event["signature"], event["pack"], event["line"]) == ("working", None, None, None)
    now = Snapshot(screen=Screen.from_text("Allow?"))
    found = unstructure(judge(ENGINE.detect(now.screen), now))
    assert json.loads(json.dumps(found)) == found


def test_one_line_each_in_the_order_they_came(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "a" / "b" / "events.jsonl")
    for number in range(3):
        log.write(Event("dismissal", "tmux:one", {"number": number, "text": "a\nb\r\nc\u2028d"}, NOON))
    written = lines(log.path)
    assert [event["number"] for event in written] == [0, 1, 2]
    assert written[0]["time"] == "2026-11-21T12:00:00.000+00:00"
    assert written[0]["text"] == "a\nb\r\nc\u2028d"


def test_secrets_do_not_get_into_the_log(tmp_path: Path) -> None:
    secret = "gh" + "p_" + "q7Zt2Kx9Wm4Bv6Rn1Lc8" * 2
    path = tmp_path / "events.jsonl"
    event = detected(path, f"Allow curl -H 'X-Api-Key: hunter2x' {secret}?", target=f"acme:{secret}")
    assert event["signature"] == "allow"
    assert "[redacted]" in event["line"]
    text = path.read_text()
    assert secret not in text and "hunter2x" not in text


def test_control_and_direction_characters_are_escaped(tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07\x9b31m\x7f\u202eevil\u2066\u200b\ud800"
    path = tmp_path / "events.jsonl"
    EventLog(path).write(Event("detection", hostile, {"line": hostile}, NOON))
    raw = path.read_bytes()
    assert all(0x20 <= byte < 0x7F for byte in raw.removesuffix(b"\n"))
    assert lines(path)[0]["line"] == hostile


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(st.text(max_size=5).map("x{}".format), st.text() | st.integers() | st.none() | st.lists(st.text()))
)
def test_every_event_is_one_line_of_ascii_json(facts: dict[str, Any]) -> None:
    line = json.dumps(dump(Event("detection", "tmux:one", facts, NOON)))
    assert line.isascii() and line.isprintable()
    assert json.loads(line).keys() == {"version", "time", "event", "target"} | facts.keys()


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "events.jsonl"
    before = os.umask(0)
    try:
        EventLog(path).write(Event("detection", "tmux:one", {}, NOON))
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_path_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "file/events.jsonl", tmp_path / "folder"):
        with pytest.raises(StoreError) as caught:
            EventLog(place).write(Event("detection", "tmux:one", {}, NOON))
        assert str(place) in str(caught.value) and "--log" in str(caught.value)
        assert isinstance(caught.value.__cause__, OSError)
