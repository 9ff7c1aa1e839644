"""Recordings become labelled cases: one a marked interval, its settled screen with quiet time, facts and reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recordings import FACTS, facts, session, write
from stallkit_lab.corpus_lines import Case
from stallkit_lab.evaluate.corpus import load
from stallkit_lab.record.asciicast import Event, Problems
from stallkit_lab.record.cast import cases
from stallkit_lab.record.recording import encode_facts, encode_marker, marked, read_facts, read_marker, truth_at

from stallkit.detect.signature import Kind, State
from stallkit.errors import StallkitError
from stallkit.evidence.snapshot import KernelFacts, TtyFacts


def read(path: Path) -> tuple[list[Case], list[str]]:
    problems: list[StallkitError] = []
    return list(cases(path, problems)), [str(problem) for problem in problems]


def test_each_marked_stretch_is_a_case_of_its_settled_screen(tmp_path: Path) -> None:
    found, problems = read(session(tmp_path / "a.cast"))
    assert problems == []
    told = [(case.label.state, case.label.kind, case.program, case.snapshot.quiet_s) for case in found]
    assert [line[:3] for line in told] == [
        (State.WORKING, None, "cc"),
        (State.WAITING, Kind.CONFIRM, "rm"),
        (State.WORKING, None, "bash"),  # nobody noted who was in front: the command that was recorded
    ]
    assert [round(line[3] or 0, 1) for line in told] == [1.8, 5.3, 2.5]
    assert found[1].snapshot.screen.prompt_line.text == "Proceed? [y/N] "
    assert found[1].snapshot.kernel == KernelFacts(foreground="rm", listening=True, how="read")
    assert found[1].snapshot.tty == TtyFacts(echo=True, canonical=True) and found[1].history == (found[1].snapshot,)
    assert found[2].snapshot.screen.text.endswith("removed\n" + "\n" * 18) or "removed" in found[2].snapshot.screen.text
    assert len({case.id for case in found}) == 3 and [case.id for case in load(tmp_path)] == [case.id for case in found]


def test_a_screen_that_moves_all_the_time_is_a_case_as_well(tmp_path: Path) -> None:
    events = [(n / 10, "o", f"\rstep {n}") for n in range(1, 30)]
    (case,), _ = read(write(tmp_path / "a.cast", *events[:10], (1.0, "m", "working"), *events[10:]))
    assert case.label.state is State.WORKING and case.snapshot.quiet_s == 0.0 and case.history == ()
    assert case.snapshot.screen.text.startswith("step ")


def test_of_several_rests_the_last_of_a_second_counts_and_no_shorter_one(tmp_path: Path) -> None:
    events = [(0.0, "o", "one "), (0.1, "m", "waiting"), (5.0, "o", "two "), (7.0, "o", "three "), (7.6, "x", "0")]
    (case,), _ = read(write(tmp_path / "a.cast", *events))
    assert case.snapshot.screen.prompt_line.text == "one two " and case.snapshot.quiet_s == 2.0


def test_reports_of_the_program_are_part_of_a_case(tmp_path: Path) -> None:
    path = write(tmp_path / "a.cast", (0.5, "o", "\x1b]7501;state=blocked:kind=question\x1b\\Go?"), (2, "m", "waiting"))
    (case,), _ = read(path)
    assert case.snapshot.marks is not None and case.snapshot.marks.strongest is not None
    assert case.snapshot.marks.strongest.state == "blocked"


def test_facts_hold_until_the_next_output(tmp_path: Path) -> None:
    first = [(0.5, "o", "Go? "), (0.7, "k", facts(**FACTS)), (1.0, "m", "waiting")]
    (case,), _ = read(write(tmp_path / "a.cast", *first, (9.0, "x", "0")))
    assert case.snapshot.kernel is not None and case.program == "rm"
    (case,), _ = read(
        write(tmp_path / "b.cast", *first, (1.1, "o", "\x1b[1;1H"), (9.0, "x", "0"), command="/bin/ask x")
    )
    assert case.snapshot.kernel is None and case.program == "ask"


def test_a_marker_that_nobody_knows_is_named_and_changes_nothing(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.cast",
        (0.5, "o", "Go? "),
        (1.0, "m", "waiting:confirm"),
        (2.0, "m", "chapter one"),
        (3.0, "m", "waiting:confrim"),
        (3.5, "m", "idle:confirm"),
        (4.0, "k", "[]"),
        (5.0, "r", "80 by 24"),
        (6.0, "r", "99999x3"),
        (7.0, "x", "gone"),
    )
    found, problems = read(path)
    assert [case.label.kind for case in found] == [Kind.CONFIRM]
    assert [problem.split(f"{path}:")[1].split(":")[0] for problem in problems] == ["4", "5", "6", "7", "8", "9"]
    assert "'chapter one' is unknown" in problems[0] and "'confrim' is not a kind" in problems[1]
    assert "only waiting has a kind" in problems[2]


def test_a_recording_that_breaks_off_is_read_up_to_there(tmp_path: Path) -> None:
    whole = session(tmp_path / "a.cast").read_bytes()
    cut = whole.index(b"Proceed?")
    (tmp_path / "a.cast").write_bytes(whole[: cut + 4])
    found, problems = read(tmp_path / "a.cast")
    assert [case.label.state for case in found] == [State.WORKING]
    assert len(problems) == 1 and "a.cast:6: the line breaks off" in problems[0]


def test_a_line_longer_than_any_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path / "a.cast", (0.5, "o", "Go? "))
    with path.open("a") as file:
        file.write('[0.6, "o", "' + "x" * 40_000_000 + '"]\n[2.0, "m", "waiting"]\n')
    found, problems = read(path)
    assert [case.snapshot.screen.prompt_line.text for case in found] == ["Go? "]
    assert len(problems) == 1 and "a.cast:3: the line" in problems[0]


def intervals(*events: tuple[float, str, str]) -> list[tuple[float, float, str]]:
    found = marked([Event(*event) for event in events], Problems(""))
    return [(one.start, one.end, encode_marker(one.label)) for one in found.intervals]


def test_a_stretch_begins_with_the_output_that_its_marker_speaks_of() -> None:
    assert intervals((1, "o", "?"), (9, "m", "waiting"), (10, "x", "")) == [(1, 10, "waiting")]
    # Marked before the program showed anything new: nothing of the interval before is taken away.
    assert intervals((1, "o", "?"), (2, "m", "waiting"), (5, "m", "working"), (5.1, "o", "on"), (8, "x", "")) == [
        (1, 5, "waiting"),
        (5, 8, "working"),
    ]
    # The same state again, with its kind: the first marker is made more exact.
    assert intervals((1, "o", "?"), (2, "m", "waiting"), (3, "m", "waiting:text"), (8, "x", "")) == [
        (1, 8, "waiting:text")
    ]
    # Unknown takes the truth back.
    assert intervals((1, "o", "?"), (2, "m", "idle"), (3, "o", "!"), (4, "m", "unknown"), (8, "x", "")) == [
        (1, 3, "idle")
    ]


_CODES = st.tuples(
    st.floats(0, 50), st.sampled_from("ookm"), st.sampled_from(["working", "waiting:text", "unknown", "x"])
)


@settings(deadline=None)
@given(st.lists(_CODES, max_size=30))
def test_intervals_never_overlap_and_each_moment_has_one_truth(events: list[tuple[float, str, str]]) -> None:
    found = marked([Event(*event) for event in sorted(events)], Problems(""))
    for before, after in zip(found.intervals, found.intervals[1:], strict=False):
        assert before.start <= before.end <= after.start <= after.end <= found.duration
    for at in (0.0, 10.0, 49.9):
        holds = [one for one in found.intervals if one.start <= at < one.end]
        one = truth_at(found.intervals, at)
        assert len(holds) <= 1 and (not holds or one is holds[0])


@settings(deadline=None)
@given(st.sampled_from([*State]), st.none() | st.sampled_from([*Kind]))
def test_markers_that_are_written_are_read_again(state: State, kind: Kind | None) -> None:
    text = f"{state}:{kind}" if kind else str(state)
    if kind and state is not State.WAITING:
        with pytest.raises(ValueError):
            read_marker(text)
    else:
        assert encode_marker(read_marker(text)) == text


_TOLD = st.fixed_dictionaries({}, optional={
    **{name: st.none() | st.booleans() for name in ("listening", "stopped")},
    **{name: st.none() | st.text(max_size=9) for name in ("foreground", "relay", "through", "reader")},
    "how": st.sampled_from(["read", "poll", "select", "epoll"]),
})  # fmt: skip


@settings(deadline=None)
@given(_TOLD, st.none() | st.booleans(), st.none() | st.booleans())
def test_facts_that_are_written_are_read_again(
    told: dict[str, object], echo: bool | None, canonical: bool | None
) -> None:
    kernel, tty = KernelFacts(**told), TtyFacts(echo, canonical)  # type: ignore[arg-type]
    assert read_facts(encode_facts(kernel, tty)) == (kernel, tty)


def test_facts_that_are_none_are_refused() -> None:
    for told in ["", "7", "[", '{"how": "asked"}', '{"echo": 1}', '{"foreground": []}', "[" * 99_999]:
        with pytest.raises(ValueError):
            read_facts(told)
        with pytest.raises(ValueError):
            read_facts(json.dumps(told))
