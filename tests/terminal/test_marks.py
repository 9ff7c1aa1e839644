"""What the program says of itself: records in time, the shell's marks, bars, titles, bells; streams cut anywhere."""

from __future__ import annotations

from itertools import pairwise, product

from hypothesis import given, settings
from hypothesis import strategies as st
from streams import ROOT, assert_within_limits, osc, read, report, sized, text

from stallkit.terminal.marks import Marks, MarksReader, Progress, Status, StatusState
from stallkit.terminal.osc_stream import LIMIT, OscReader

IDLE, WORKING, DONE, BLOCKED, ERROR = StatusState
examples = settings(max_examples=150, deadline=None)


def test_the_end_of_the_process_is_a_prompt_without_a_shell() -> None:
    reader = MarksReader()
    for state in StatusState:
        reader.feed(report(f"state={state}:id={state}") + osc("9;4;1;5"), 1.0)
    reader.process_exited()
    assert [status.state for status in reader.marks.statuses] == [IDLE, DONE, ERROR]
    assert (reader.marks.progress, reader.marks.shell) == (None, None)


def test_a_record_tells_when_it_was_read() -> None:
    reader = MarksReader()
    whole = report("state=working:id=a")
    reader.feed(whole + whole[:9], 1.0)
    before = reader.marks
    reader.feed(whole[9:] + report("state=idle"), 2.5)
    assert before.statuses == (Status("a", WORKING, 1.0),), "a snapshot stays as it was"
    assert reader.marks.statuses == (Status("a", WORKING, 2.5), Status("", IDLE, 2.5))
    assert reader.marks.root == Status("", IDLE, 2.5)


def test_the_strongest_record() -> None:
    told = {
        "": None,
        "blocked:id=a working error:id=b": "a",
        "working:id=a error done:id=b idle:id=c": "a",
        "error:id=a done idle:id=c": "a",
        "done:id=a idle": "a",
        "blocked:id=a blocked:id=b idle": "b",
        "blocked:id=a blocked:id=b blocked:id=a": "a",
        "idle:id=a idle": "",
    }
    found = {reports: read(*(report(f"state={one}") for one in reports.split())).strongest for reports in told}
    assert {reports: one.id if one else None for reports, one in found.items()} == told


def test_a_query_is_answered_with_its_own_bytes() -> None:
    for end in (b"\a", b"\x1b\\"):
        query = osc("7501;?", end)
        assert (read(query + query).queries, read(query).answer) == (2, query)
        for more in ("1", ";id=a", "state=idle"):  # a later revision may ask for more; none of it is sent back
            assert (read(osc(f"7501;?{more}", end)).queries, read(osc(f"7501;?{more}", end)).answer) == (1, query)
        assert read(osc("7501;", end) + osc("7501", end) + osc("75010;?", end)) == Marks()


# What a shell tells, one after the other, and what is known then: its state and the status of its last command.
SHELLS = {
    ("A",): ("prompt", None),
    ("A", "B"): ("typing", None),
    ("A;aid=7;cl=m", "B;k=i"): ("typing", None),
    ("A", "B", "C"): ("running", None),
    ("C", "D;1"): ("prompt", 1),
    ("C", "D;-1073741510"): ("prompt", -1073741510),  # of PowerShell
    ("C", "D;130;err=INT", "A", "B"): ("typing", 130),
    ("C", "D;1", "C", "D"): ("prompt", None),
    ("C", "D;err=1"): ("prompt", None),
    ("C", "D;99999999999"): ("prompt", None),
    ("C", "E;cmd", "P;Cwd=/", "", "AA", "a"): ("running", None),  # others mean nothing here
}


def test_marks_of_the_shell() -> None:
    for number in ("133", "633"):
        found = {told: read(*(osc(f"{number};{one}", b"\a") for one in told)) for told in SHELLS}
        assert {told: (marks.shell, marks.exit_status) for told, marks in found.items()} == SHELLS


BARS = {
    ("4;1;40",): Progress("normal", 40),
    ("4;1",): Progress("normal"),
    ("4;1;",): Progress("normal"),
    ("4;1;x",): Progress("normal"),
    ("4;1;999",): Progress("normal", 100),
    ("4;2;7",): Progress("error", 7),
    ("4;3;7",): Progress("busy"),
    ("4;4;7;more",): Progress("paused", 7),
    ("4;1;40", "4;0"): None,
    ("4;1;40", "4;5;1", "4;", "4", "40;1", "9;/tmp", "a notification"): Progress("normal", 40),
}


def test_progress_bar() -> None:
    streams = {told: b"".join(osc(f"9;{one}") for one in told) for told in BARS}
    assert {told: read(stream).progress for told, stream in streams.items()} == BARS
    for stream, end in product(streams.values(), (b"\x1bc", osc("133;A"))):
        assert read(stream + end).progress is None


def test_titles_bells_and_notices() -> None:
    titles = {
        b"": None,
        osc("0;✳ Claude Code"): "✳ Claude Code",  # its second byte is 0x9c
        osc("2;a;b", b"\a"): "a;b",
        osc("0;a") + osc("2;"): "",
        osc("0;a") + osc("1;icon") + osc("0") + osc("02;x") + osc("8;;x"): "a",
        osc("0;a\tb\u202ec\u200b\x9b\u00a0d".encode() + b"\xff"): "a       bc d\ufffd",
        osc("0;" + "x" * LIMIT): None,
    }
    bells = {
        b"a\ab\a\a": 3,
        b"\a[\a\a(\a": 4,
        osc("0;t", b"\a") + b"\a": 1,
        b"\x1bPq\aq\a\x1b\\\x1bX\a\x1b\\\x1b^\a\x1b\\\x1b_\a\x1b\\": 0,
        b"\x1b[3\a1m\x1b\a(B": 2,
        b"\x1b]0;t\x18\a": 1,
        b"\x1b]0;" + b"x" * 9999 + b"\a\a": 1,
    }
    notices = {
        osc("9;Approval requested: rm -rf build"): (1, "Approval requested: rm -rf build"),
        osc("9;12 tests failed", b"\a"): (1, "12 tests failed"),
        osc("9;4;1;40") + osc("9;9;/tmp") + osc("9;12") + osc("9;"): (0, None),  # commands of ConEmu
        osc("777;notify;Gemini;needs you; now"): (1, "Gemini: needs you; now"),
        osc("777;preexec"): (0, None),
        osc("99;;plain") + osc("99;i=1:d=0;part") + osc("99;i=1:p=body;the rest"): (3, "the rest"),
        osc("99;i=1:p=body:e=1;" + text("encoded")): (1, "encoded"),
        osc("99;e=1;no base64!") + osc("99;i=1:p=?;") + osc("99;i=1:p=close;"): (0, None),
    }
    assert {stream: read(stream).title for stream in titles} == titles
    assert {stream: read(stream).bells for stream in bells} == bells
    found = {stream: read(stream) for stream in notices}
    assert {stream: (one.notices, one.notice and one.notice.text) for stream, one in found.items()} == notices
    disarmed = read(osc("9;\u202ethgir\u200b of\ta tab"))
    assert disarmed.notice is not None and not {"\u202e", "\u200b"} & set(disarmed.notice.text)


PIECES = [b"\x1b", b"\x1b]", b"\x1b\\", b"\a", b"\x18", b"\x9c", b"\x1bc", b"\x1bP", b"\x1b[", b"c", b"\\", b"]"]
PIECES += [b";", b":", b"7501;", b"state=", b"working", b"blocked", b"done", b"clear", b"id=", b"a", b"/", b"msg="]
PIECES += [b"YQ==", b"?", ROOT, report("state=working:id=a/b:app=x"), osc("7501;?"), osc("133;A"), osc("633;C")]
PIECES += [osc("133;D;1"), osc("9;a"), osc("99;e=1;YQ=="), osc("9;4;1;50"), osc("0;✳ t", b"\a"), b"x" * 4080]
PIECES += [sized(4096, b"\a"), sized(4097, b"\x1b\\")]
STREAMS = st.lists(st.sampled_from(PIECES) | st.binary(max_size=4), max_size=25).map(b"".join)


@examples
@given(STREAMS, st.data())
def test_a_stream_may_be_cut_anywhere(stream: bytes, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=8).map(sorted))
    chunks = [stream[start:end] for start, end in pairwise([0, *cuts, len(stream)])]
    assert read(*chunks) == read(stream)


@settings(max_examples=40, deadline=None)
@given(STREAMS)
def test_a_stream_may_come_byte_by_byte(stream: bytes) -> None:
    assert read(*(stream[at : at + 1] for at in range(len(stream)))) == read(stream)


@examples
@given(st.lists(STREAMS | st.binary(), max_size=5))
def test_no_bytes_make_it_raise(chunks: list[bytes]) -> None:
    assert_within_limits(read(*chunks))


def test_a_string_that_nobody_ends_is_not_kept() -> None:
    unended = [b"\x1b]7501;state=idle:x=", b"\x1bP", b"\x1b_", b"\x1b]52;c;", b"\x1b[", b"\x1b\n"]
    for begins, chunk in product(unended, (1, 700, 100_000)):
        reader = OscReader()
        assert list(reader.feed(begins)) == []
        for _ in range(10_000 // chunk + 1):
            assert list(reader.feed(b"x" * chunk)) == []
            assert reader._held is None or len(reader._held) < LIMIT
