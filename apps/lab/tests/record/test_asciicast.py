"""Recordings are read line by line: both versions, anything broken named by file and line, nothing else lost."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from stallkit_lab.record import asciicast
from stallkit_lab.record.asciicast import MAX_LINE, MAX_PROBLEMS, Encoder, Event, Header, Problems, encode_header

V2 = {"version": 2, "width": 80, "height": 24}


def read(*lines: Any, version: int = 2) -> tuple[list[Event], list[str]]:
    """The events on these lines, and what was wrong."""
    problems = Problems("f.cast")
    encoded = [line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines]
    return list(asciicast.events(encoded, version, problems)), [str(problem) for problem in problems.found]


def head(line: bytes) -> tuple[Header | None, list[str]]:
    problems = Problems("f.cast")
    return asciicast.header(line, problems), [str(problem) for problem in problems.found]


def test_headers_of_both_versions_are_read() -> None:
    made, problems = head(json.dumps({**V2, "command": "vi", "env": {"TERM": "xterm"}, "timestamp": 7.5}).encode())
    assert made == Header((80, 24), 2, 7, None, "vi", "xterm") and problems == []
    made, problems = head(b'{"version": 3, "term": {"cols": 90, "rows": 30, "type": "tmux"}, "title": "t", "new": 1}')
    assert made == Header((90, 30), 3, None, "t", None, "tmux") and problems == []


def test_a_header_that_is_none_is_named() -> None:
    for line, why in [
        (b"", "it is empty"),
        (b"\n", "its first line is empty"),
        (b"{", "its header is not JSON"),
        (b"\xff\xfe\x00", "its header is not JSON"),
        (b"[" * 100_000, "its header is not JSON"),
        (b"[1]", "its header is not a JSON object"),
        (b'{"version": 1}', "version 1; 2 and 3 can be read"),
        (b'{"version": 4, "width": 80, "height": 24}', "version 4, of a later format"),
        (b'{"width": 80}', "version None"),
        (b'{"version": 3, "width": 80, "height": 24}', "its header has no term"),
        (b'{"version": 2, "width": true, "height": 24}', "the size True x 24"),
        (b'{"version": 2, "width": 80, "height": 1e9}', "the size 80 x"),
        (b'{"version": 2, "width": 80, "height": 99999}', "the size 80 x 99999"),
        (b'{"version": 2, "width": 80, "height": 0}', "the size 80 x 0"),
    ]:
        made, problems = head(line)
        assert made is None and len(problems) == 1 and "f.cast:1: " in problems[0] and why in problems[0], (line, why)
        assert "\n" not in problems[0], (line, why)


def test_a_broken_line_is_named_and_the_rest_is_read() -> None:
    for line, why in [
        (b"{\n", "not JSON"),
        (b"\x00\xff\x80\n", "not JSON"),
        (b"[" * 100_000 + b"\n", "not JSON"),
        (b'[1.0, "o", "x', "the line breaks off"),
        ({"at": 1}, "not an event of three fields"),
        ([1.0, "o"], "not an event of three fields"),
        (["1", "o", "x"], "'1' is not a time"),
        ([True, "o", "x"], "True is not a time"),
        (b'[NaN, "o", "x"]\n', "nan is not a time"),
        (b'[Infinity, "o", "x"]\n', "inf is not a time"),
        ([1.0, 7, "x"], "7 is not an event code"),
        ([1.0, "", "x"], "'' is not an event code"),
        ([1.0, "o", 7], "7, no text"),
        ([1.0, "m", None], "None, no text"),
        (b'[1.0, "o", "' + b"x" * MAX_LINE + b'"]\n', "longer than"),
    ]:
        found, problems = read([0.5, "o", "first"], b"\n", line, [2.0, "o", "last"])
        assert [event.data for event in found] == ["first", "last"], (line, why)
        assert len(problems) == 1 and "f.cast:4: " in problems[0] and why in problems[0], (line, why)


def test_events_out_of_order_are_named_and_read_where_they_stand() -> None:
    found, problems = read([1.0, "o", "a"], [0.5, "o", "b"], [2.0, "o", "c"])
    assert [(event.at, event.data) for event in found] == [(1.0, "a"), (1.0, "b"), (2.0, "c")]
    assert len(problems) == 1 and "f.cast:3: out of order" in problems[0]
    found, problems = read([1.0, "o", "a"], [-0.5, "o", "b"], [1.0, "o", "c"], version=3)
    assert [event.at for event in found] == [1.0, 1.0, 2.0] and "f.cast:3: out of order" in problems[0]


def test_codes_that_nobody_knows_and_comments_are_passed_on() -> None:
    found, problems = read([1.0, "z", {"any": 1}], b"# said\n", [1.5, "x", "0"], version=3)
    assert [(event.at, event.code) for event in found] == [(1.0, "z"), (2.5, "x")] and problems == []
    assert read(b"# said\n")[1], "version 2 has no comments"


def test_garbage_is_named_up_to_a_bound() -> None:
    _, problems = read(*[b"\xff\n"] * 5_000)
    assert len(problems) == MAX_PROBLEMS + 1 and "4,900 more lines" in problems[-1]


EVENTS = st.lists(
    st.tuples(st.floats(0, 1e6), st.sampled_from("omrxkl"), st.text(max_size=20)), max_size=20
)  # fmt: skip


@settings(deadline=None)
@given(EVENTS, st.sampled_from([2, 3]))
def test_what_is_written_is_read_again(written: list[tuple[float, str, str]], version: int) -> None:
    encoder = Encoder(version)
    wanted = sorted(written, key=lambda event: event[0])
    lines = [encoder.line(*event).encode() for event in wanted]
    problems = Problems("f.cast")
    found = list(asciicast.events(lines, version, problems))
    assert problems.found == [] and [(event.code, event.data) for event in found] == [event[1:] for event in wanted]
    for event, (at, _, _) in zip(found, wanted, strict=True):
        assert abs(event.at - at) < 2e-6


@settings(deadline=None)
@given(st.lists(st.binary(max_size=40) | EVENTS.map(lambda e: json.dumps(e).encode())), st.sampled_from([2, 3]))
def test_no_line_raises_and_time_never_falls(lines: list[bytes], version: int) -> None:
    problems = Problems("f.cast")
    asciicast.header(lines[0] if lines else b"", problems)
    times = [event.at for event in asciicast.events(lines, version, problems)]
    assert times == sorted(times)


def test_a_header_that_is_written_is_read_again() -> None:
    for version in [2, 3]:
        made = Header((120, 40), version, 1_700_000_000, "a\u2028title \ud800", "sh -c 'x'", "xterm-256color")
        line = encode_header(made)
        assert line.endswith("\n") and len(line.splitlines()) == 1, version
        assert head(line.encode()) == (made, []), version
