"""A replay tells what would have been said at each moment, and how much of the marked time was told right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recordings import FACTS, facts, session, write
from stallkit_lab.record.asciicast import Event, Header, Problems
from stallkit_lab.record.cast import Recording
from stallkit_lab.record.player import Player
from stallkit_lab.record.replay import Timeline, looks, timeline

from stallkit import Engine
from stallkit.errors import StallkitError
from stallkit.judging.judge import judge
from stallkit.judging.verdict import Verdict
from stallkit.transports.emulator import GhosttyEmulator


def replay(path: Path, engine: Engine, **options: Any) -> Timeline:
    recording = Recording(path, problems := [])
    found = timeline(looks(recording, engine, **options), recording.marked)
    assert problems == []
    return found


def test_verdicts_stand_beside_the_truth(tmp_path: Path, engine: Engine) -> None:
    found = replay(session(tmp_path / "a.cast"), engine)
    told = [(change.at, change.state, change.certainty, change.truth, change.right) for change in found.changes]
    assert (2.2, "waiting", "sure", "waiting:confirm", True) in told
    assert told[-1] == (12.0, "gone", "sure", None, None)
    assert found.agreement == 1.0 and found.duration == 12.0
    assert found.markers[1] == {"at": 5.3, "label": "waiting:confirm", "known": True, "line": 8}


def test_without_facts_it_is_never_sure_of_a_line(tmp_path: Path, engine: Engine) -> None:
    found = replay(session(tmp_path / "a.cast"), engine, with_facts=False)
    assert {change.certainty for change in found.changes if change.state == "waiting"} == {"maybe"}


def test_what_is_told_wrong_costs_its_time(tmp_path: Path, engine: Engine) -> None:
    events = [(0.0, "o", "Proceed? [y/N] "), (0.5, "k", facts(**FACTS)), (1.0, "m", "working"), (10.0, "z", "")]
    found = replay(write(tmp_path / "a.cast", *events), engine)
    assert found.agreement is not None and found.agreement < 0.1
    assert replay(write(tmp_path / "b.cast", *events[:2], events[3]), engine).agreement is None


def test_the_verdict_is_that_of_a_live_look(tmp_path: Path, engine: Engine) -> None:
    """The same screen and facts give the same verdict, played or looked at."""
    recording = Recording(session(tmp_path / "a.cast"), [])
    for look in looks(recording, engine):
        verdict: Verdict = judge(engine.detect(look.snapshot.screen), look.snapshot, (look.snapshot,))
        assert verdict.state is look.verdict.state or look.snapshot.quiet_s == 0


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 3), st.sampled_from("oookmrxlz"), st.sampled_from(
        ["Go? [y/N] ", "\r\nworking\r\n", "working", "waiting", "\x1b[2J", "90x30", "{}", "0", facts(**FACTS), "\ud800"]
    )), max_size=20)
)  # fmt: skip
def test_any_events_make_a_timeline(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[float, str, str]]
) -> None:
    path = tmp_path_factory.mktemp("casts") / "a.cast"
    problems: list[StallkitError] = []
    recording = Recording(write(path, *sorted(events)), problems)
    found = timeline(looks(recording, Engine([])), recording.marked)
    times = [change.at for change in found.changes]
    assert times == sorted(times) and all(0 <= at <= found.duration for at in times)
    assert found.agreement is None or 0 <= found.agreement <= 1 + 1e-9


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(1, 200))
def test_output_cut_anywhere_shows_the_same(data: bytes, cut: int) -> None:
    text = data.decode("utf-8", "replace")
    player = Player(Header((20, 5)), Problems(""))
    for part in (text[:cut], text[cut:]):
        player.feed(Event(0.0, "o", part))
    emulator = GhosttyEmulator(20, 5)
    emulator.feed(text.encode("utf-8", "replace"))
    assert player.look(0.0, None).screen == emulator.screen()
