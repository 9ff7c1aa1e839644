"""The relay's filter: what passes, what is answered, what is heard, wherever the stream is cut."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from stallkit_wrap.relay.status_filter import CLEAR, Filtered, StatusFilter
from streams import osc, report, sized

from stallkit.terminal.marks import Marks, MarksReader

PIECES = [b"\x1b", b"]", b"\\", b"\a", b"\x18", b"\x1a", b"\n", b"P", b"_", b"c", b"[", b"?", b"7501;", b"state=idle"]
PIECES += [
    osc("7501;?"),
    osc("7501;?1", b"\a"),
    report("state=working:id=a"),
    report("state=clear"),
    b"\x1bc",
    b"\x1b[1m",
]
PIECES += [
    osc("133;A"),
    osc("9;4;1;40"),
    osc("0;a title"),
    b"text",
    "✳".encode(),
    sized(4096, b"\a"),
    sized(4097, b"\a"),
    b"\x9c",
    b"x" * 300,
]
PIECES += [b"\x1b\x1b]7501;?\a", b"\x1b]0;x\x1b]7501;?\a", b"\x1b\n]7501;?\a", b"\x1bP\x1b]7501;?\a"]
STREAMS = st.lists(st.sampled_from(PIECES) | st.binary(max_size=4), max_size=14).map(b"".join)


def cut(stream: bytes, at: list[int]) -> list[bytes]:
    places = sorted({min(place, len(stream)) for place in at} | {0, len(stream)})
    return [stream[begin:end] for begin, end in pairwise(places)]


def filtered(chunks: list[bytes]) -> tuple[bytes, bytes, StatusFilter]:
    relay = StatusFilter()
    each = [relay.feed(chunk, 1.0) for chunk in chunks]
    return b"".join(one.outward for one in each) + relay.rest(), b"".join(one.answer for one in each), relay


def heard(marks: Marks) -> object:
    return marks.statuses, marks.shell, marks.exit_status, marks.progress, marks.title, marks.queries, marks.answer


@given(STREAMS, st.lists(st.integers(0, 600), max_size=8))
def test_all_passes_but_queries_and_all_is_heard_wherever_it_is_cut(stream: bytes, at: list[int]) -> None:
    passed, answers, relay = filtered(cut(stream, at))
    reader = MarksReader()
    reader.feed(stream, 1.0)
    assert heard(relay.marks) == heard(reader.marks)
    assert answers.count(b"7501;?") == reader.marks.queries
    assert (passed == stream) == (reader.marks.queries == 0)
    again = MarksReader()
    again.feed(passed, 1.0)
    assert again.marks.queries == 0 and again.marks.statuses == reader.marks.statuses


@given(STREAMS, st.lists(st.integers(0, 600), max_size=8))
def test_where_it_is_cut_makes_no_difference(stream: bytes, at: list[int]) -> None:
    assert filtered(cut(stream, at))[:2] == filtered([stream])[:2]


@given(STREAMS)
def test_no_more_is_held_back_than_a_string_may_have(stream: bytes) -> None:
    relay = StatusFilter()
    sent = sum(len(relay.feed(stream[at : at + 7], 1.0).outward) for at in range(0, len(stream), 7))
    assert sent + len(relay.rest()) <= len(stream)
    assert len(relay.feed(b"\x1b]0;" + b"x" * 5_000, 1.0).outward) == 5_004


def test_a_query_is_answered_and_goes_no_further() -> None:
    for query in [osc("7501;?"), osc("7501;?", b"\a"), osc("7501;?1"), osc("7501;?;id=a", b"\a")]:
        answer = osc("7501;?", b"\a" if query.endswith(b"\a") else b"\x1b\\")
        assert StatusFilter().feed(query + b"\x1b[c", 0.0) == Filtered(b"\x1b[c", answer), query
        assert filtered([bytes([byte]) for byte in b"a" + query + b"b"])[:2] == (b"ab", answer), query


def test_the_relays_own_report_is_cleared_before_the_first_of_the_program() -> None:
    relay = StatusFilter()
    relay.outside = True
    blocked = report("state=blocked:id=a")
    assert relay.feed(b"text" + blocked + blocked, 0.0) == Filtered(b"text" + CLEAR + blocked + blocked, reported=True)
    assert not relay.outside


def test_an_end_forgets_what_was_done() -> None:
    relay = StatusFilter()
    relay.feed(report("state=blocked:id=a") + report("state=done"), 0.0)
    relay.program_exited()
    assert [status.state for status in relay.marks.statuses] == ["done"]


def test_whether_a_string_can_be_put_in() -> None:
    for stream, between in [
        (b"", True),
        (b"text", True),
        (b"\x1b[1m", True),
        (b"\x1b[1", False),
        (b"\x1b[?25", False),
        (b"\x1b[1 ", False),
        (b"\x1b(", False),
        (b"\x1b(B", True),
        (b"\x1bM", True),
        (b"\x1bO", False),
        (b"\x1b", False),
        (b"\x1bPq#0;2", False),
        (b"\x1bPq#0;2\x1b\\", True),
        (b"\x1b_Gi=1;" + b"A" * 5_000, False),
        (b"\x1b_Gi=1;" + b"A" * 5_000 + b"\x1b\\", True),
        (b"\x1b]52;c;" + b"A" * 5_000, False),
        (b"\x1b]52;c;" + b"A" * 5_000 + b"\a", True),
        (b"\x1b]0;title", False),
        ("caf\u00e9".encode(), True),
        ("caf\u00e9".encode()[:-1], False),
        ("\u2733".encode()[:2], False),
        (b"x" * 5_000 + b"\xf0\x9f\x98", False),
    ]:
        for size in [1, 100, 10_000]:
            relay = StatusFilter()
            for at in range(0, len(stream), size):
                relay.feed(stream[at : at + size], 0.0)
            assert relay.between is between, (stream, between)


@given(STREAMS)
def test_what_ends_between_stays_whole_with_a_string_put_in(stream: bytes) -> None:
    """A report that is put in where it may be is heard, and what follows is heard as without it."""
    relay = StatusFilter()
    relay.feed(stream, 0.0)
    if relay.between and not re.search(rb"\x1b[\x00-\x17\x19\x1c-\x1f\x7f]+[PX^_]", stream):
        reader = MarksReader()
        reader.feed(stream, 0.0)
        before = reader.marks.title
        reader.feed(report("state=error:id=ours"), 0.0)
        assert any(status.id == "ours" for status in reader.marks.statuses) and reader.marks.title == before
