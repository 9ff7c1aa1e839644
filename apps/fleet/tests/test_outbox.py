"""The event log as an outbox: everything once in order, whatever is rotated, killed or sent again."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stallkit_fleet import outbox
from stallkit_fleet.messages import MOST, FleetEvent, Seen
from stallkit_fleet.outbox import Outbox

from stallkit.press.events import Event, EventLog

STEPS = st.lists(st.sampled_from(["write", "write", "read", "sent", "half", "killed", "again"]), max_size=60)


def opened(folder: Path) -> Outbox:
    return Outbox(folder / "events.jsonl", folder / "fleet", "a")


@settings(max_examples=50)
@given(STEPS, st.sampled_from([500, 3_000, 1_000_000]))
def test_a_reader_gets_each_event_once_and_in_order(steps: list[str], max_bytes: int) -> None:
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patched:
        patched.setattr(outbox, "SETTLED_S", 0.0)  # nobody else writes here
        folder, seen, got, number = Path(name), Seen(), [], 0
        log = EventLog(folder / "events.jsonl", max_bytes=max_bytes)
        box, held = opened(folder), []
        with box.only() as ours:
            assert ours
        lock = box.only()
        lock.__enter__()
        for step in [*steps, "again", "read", "sent", "read", "sent"]:
            match step:
                case "write":
                    number += 1
                    log.write(Event("detection", f"tmux:{number % 2}", {"number": number}))
                    if len(list(folder.glob("events.jsonl.*"))) > EventLog.KEPT - 1:  # else one is lost, and it says so
                        held += box.read(10_000)
                        arrive(held, seen, got)
                        box.sent(held[-1].then)
                        held = []
                case "read":
                    held += box.read(10_000)
                case "sent" if held:
                    arrive(held, seen, got)
                    box.sent(held[-1].then)
                    held = []
                case "half":  # they arrived, and nobody noted it
                    arrive(held, seen, got)
                case "again":
                    box.again()
                    held = []
                case "killed":
                    lock.__exit__(None, None, None)
                    box, held = opened(folder), []
                    lock = box.only()
                    lock.__enter__()
        lock.__exit__(None, None, None)
        for parity in (0, 1):
            mine = [one for one in got if one % 2 == parity]
            assert mine == [one for one in range(1, number + 1) if one % 2 == parity]
        assert box.mark.lost == 0 and box.behind == 0


def arrive(held: list[outbox.Pending], seen: Seen, got: list[int]) -> None:
    """The bus takes them, and a reader reads them."""
    for one in held:
        read = FleetEvent.read("stallkit.event.a", one.event.headers, one.event.body)
        assert read is not None and read.id == one.event.id
        if seen.is_new(read):
            got.append(read.event["number"])


def test_only_what_happens_after_it_joined_is_sent_and_one_process_sends(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl")
    log.write(Event("done", "tmux:a", {"number": 1}))
    first, second = opened(tmp_path), opened(tmp_path)
    with first.only() as ours, second.only() as theirs:
        assert (ours, theirs) == (True, False) and first.read() == []
        log.write(Event("done", "tmux:a", {"number": 2}))
        assert [one.event.event["number"] for one in first.read()] == [2]
    with second.only() as theirs:
        assert theirs and [one.event.event["number"] for one in second.read()] == [2], "it was not noted as sent"


def test_what_cannot_be_sent_is_counted_and_half_lines_wait(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    box = opened(tmp_path)
    with box.only():
        log.write_bytes(b'{"event": "a", "target": ""}\nno json\n[1]\n{"event": "b"')
        assert [one.event.event["event"] for one in box.read()] == ["a"]
        with log.open("ab") as file:
            file.write(b', "target": ""}\n' + b"x" * 100 + b"\n")
        [last] = box.read()
        assert last.event.event["event"] == "b"
        box.sent(last.then)
        log.write_bytes(b'{"event": "c", "target": ""}\n')  # somebody put another file in its place
        [other] = box.read()
        assert (other.event.event["event"], other.then.lost, other.event.sequence) == ("c", 1, 3)


def test_an_event_that_is_too_long_for_the_bus_goes_without_its_facts(tmp_path: Path) -> None:
    box = opened(tmp_path)
    with box.only():
        event = {"event": "done", "target": "tmux:a", "time": "t", "text": "x" * 10_000_000}
        (tmp_path / "events.jsonl").write_text(json.dumps(event) + "\n")
        [found] = box.read()
    assert len(found.event.body) < 1_000 < MOST
    assert json.loads(found.event.body)["left_out_bytes"] > 10_000_000
    assert (found.event.target, found.event.event["event"]) == ("tmux:a", "done")
