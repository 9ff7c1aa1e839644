"""What the program says of itself: records in time, the shell's marks, bars, titles, bells; streams cut anywhere."""

from __future__ import annotations

from itertools import pairwise

import pytest
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
    assert reader.marks.progress is None
    assert reader.marks.shell is None


def test_a_record_tells_when_it_was_read() -> None:
    reader = MarksReader()
    whole = report("state=working:id=a")
    reader.feed(whole + whole[:9], 1.0)
    before = reader.marks
    reader.feed(whole[9:] + report("state=idle"), 2.5)
    assert before.statuses == (Status("a", WORKING, 1.0),), "a snapshot stays as it was"
    assert reader.marks.statuses == (Status("a", WORKING, 2.5), Status("", IDLE, 2.5))
    assert reader.marks.root == Status("", IDLE, 2.5)


@pytest.mark.parametrize(
    ("told", "strongest"),
    [
        ([], None),
        (["blocked:id=a", "working", "error:id=b"], "a"),
        (["working:id=a", "error", "done:id=b", "idle:id=c"], "a"),
        (["error:id=a", "done", "idle:id=c"], "a"),
        (["done:id=a", "idle"], "a"),
        (["blocked:id=a", "blocked:id=b", "idle"], "b"),
        (["blocked:id=a", "blocked:id=b", "blocked:id=a"], "a"),
        (["idle:id=a", "idle"], ""),
    ],
)
def test_the_strongest_record(told: list[str], strongest: str | None) -> None:
    found = read(*(report(f"state={one}") for one in told)).strongest
    assert (found.id if found else None) == strongest


@pytest.mark.parametrize("end", [b"\a", b"\x1b\\"])
def test_a_query_is_answered_with_its_own_bytes(end: bytes) -> None:
    query = osc("7501;?", end)
    assert (read(query + query).queries, read(query).answer) == (2, query)
    for more in ("1", ";id=a", "state=idle"):  # a later revision may ask for more; none of it is sent back
        assert (read(osc(f"7501;?{more}", end)).queries, read(osc(f"7501;?{more}", end)).answer) == (1, query)
    assert read(osc("7501;", end) + osc("7501", end) + osc("75010;?", end)) == Marks()


@pytest.mark.parametrize("number", ["133", "633"])
@pytest.mark.parametrize(
    ("told", "shell", "exit_status"),
    [
        pytest.param(["A"], "prompt", None, id="a prompt begins"),
        pytest.param(["A", "B"], "typing", None, id="the prompt is drawn"),
        pytest.param(["A;aid=7;cl=m", "B;k=i"], "typing", None, id="with parameters"),
        pytest.param(["A", "B", "C"], "running", None, id="a command runs"),
        pytest.param(["C", "D;1"], "prompt", 1, id="it failed"),
        pytest.param(["C", "D;-1073741510"], "prompt", -1073741510, id="of PowerShell"),
        pytest.param(["C", "D;130;err=INT", "A", "B"], "typing", 130, id="the status stays"),
        pytest.param(["C", "D;1", "C", "D"], "prompt", None, id="no status told"),
        pytest.param(["C", "D;err=1"], "prompt", None, id="no status among parameters"),
        pytest.param(["C", "D;99999999999"], "prompt", None, id="no status that there is"),
        pytest.param(["C", "E;cmd", "P;Cwd=/", "", "AA", "a"], "running", None, id="others mean nothing here"),
    ],
)
def test_marks_of_the_shell(number: str, told: list[str], shell: str | None, exit_status: int | None) -> None:
    marks = read(*(osc(f"{number};{one}", b"\a") for one in told))
    assert (marks.shell, marks.exit_status) == (shell, exit_status)


@pytest.mark.parametrize(
    ("told", "progress"),
    [
        (["4;1;40"], Progress("normal", 40)),
        (["4;1"], Progress("normal")),
        (["4;1;"], Progress("normal")),
        (["4;1;x"], Progress("normal")),
        (["4;1;999"], Progress("normal", 100)),
        (["4;2;7"], Progress("error", 7)),
        (["4;3;7"], Progress("busy")),
        (["4;4;7;more"], Progress("paused", 7)),
        (["4;1;40", "4;0"], None),
        (["4;1;40", "4;5;1", "4;", "4", "40;1", "9;/tmp", "a notification"], Progress("normal", 40)),
    ],
)
def test_progress_bar(told: list[str], progress: Progress | None) -> None:
    stream = b"".join(osc(f"9;{one}") for one in told)
    assert read(stream).progress == progress
    assert read(stream + b"\x1bc").progress is None
    assert read(stream + osc("133;A")).progress is None


@pytest.mark.parametrize(
    ("stream", "title"),
    [
        (b"", None),
        (osc("0;✳ Claude Code"), "✳ Claude Code"),  # its second byte is 0x9c
        (osc("2;a;b", b"\a"), "a;b"),
        (osc("0;a") + osc("2;"), ""),
        (osc("0;a") + osc("1;icon") + osc("0") + osc("02;x") + osc("8;;x"), "a"),
        (osc("0;a\tb\u202ec\u200b\x9b\u00a0d".encode() + b"\xff"), "a       bc d\ufffd"),
        (osc("0;" + "x" * LIMIT), None),
    ],
)
def test_title(stream: bytes, title: str | None) -> None:
    assert read(stream).title == title


@pytest.mark.parametrize(
    ("stream", "bells"),
    [
        (b"a\ab\a\a", 3),
        (b"\a[\a\a(\a", 4),
        (osc("0;t", b"\a") + b"\a", 1),
        (b"\x1bPq\aq\a\x1b\\\x1bX\a\x1b\\\x1b^\a\x1b\\\x1b_\a\x1b\\", 0),
        (b"\x1b[3\a1m\x1b\a(B", 2),
        (b"\x1b]0;t\x18\a", 1),
        (b"\x1b]0;" + b"x" * 9999 + b"\a\a", 1),
    ],
)
def test_bells(stream: bytes, bells: int) -> None:
    assert read(stream).bells == bells


@pytest.mark.parametrize(
    ("stream", "notices", "said"),
    [
        (osc("9;Approval requested: rm -rf build"), 1, "Approval requested: rm -rf build"),
        (osc("9;12 tests failed", b"\a"), 1, "12 tests failed"),
        (osc("9;4;1;40") + osc("9;9;/tmp") + osc("9;12") + osc("9;"), 0, None),  # commands of ConEmu
        (osc("777;notify;Gemini;needs you; now"), 1, "Gemini: needs you; now"),
        (osc("777;preexec"), 0, None),
        (osc("99;;plain") + osc("99;i=1:d=0;part") + osc("99;i=1:p=body;the rest"), 3, "the rest"),
        (osc("99;i=1:p=body:e=1;" + text("encoded")), 1, "encoded"),
        (osc("99;e=1;no base64!") + osc("99;i=1:p=?;") + osc("99;i=1:p=close;"), 0, None),
        (osc("9;\u202ethgir\u200b of\ta tab"), 1, None),
    ],
)
def test_notices(stream: bytes, notices: int, said: str | None) -> None:
    marks = read(stream)
    assert marks.notices == notices
    if said is not None or not notices:
        assert (marks.notice and marks.notice.text) == said
    elif marks.notice is not None:
        assert "\u202e" not in marks.notice.text and "\u200b" not in marks.notice.text


PIECES = [
    b"\x1b",
    b"\x1b]",
    b"\x1b\\",
    b"\a",
    b"\x18",
    b"\x9c",
    b"\x1bc",
    b"\x1bP",
    b"\x1b[",
    b"c",
    b"\\",
    b"]",
    b";",
    b":",
]
PIECES += [b"7501;", b"state=", b"working", b"blocked", b"done", b"clear", b"id=", b"a", b"/", b"msg=", b"YQ==", b"?"]
PIECES += [
    ROOT,
    report("state=working:id=a/b:app=x"),
    osc("7501;?"),
    osc("133;A"),
    osc("633;C"),
    osc("133;D;1"),
    osc("9;a"),
    osc("99;e=1;YQ=="),
]
PIECES += [osc("9;4;1;50"), osc("0;✳ t", b"\a"), b"x" * 4080, sized(4096, b"\a"), sized(4097, b"\x1b\\")]
STREAMS = st.lists(st.sampled_from(PIECES) | st.binary(max_size=4), max_size=25).map(b"".join)


@examples
@given(STREAMS, st.data())
def test_a_stream_may_be_cut_anywhere(stream: bytes, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=8).map(sorted))
    edges = [0, *cuts, len(stream)]
    chunks = [stream[start:end] for start, end in pairwise(edges)]
    assert read(*chunks) == read(stream)


@settings(max_examples=40, deadline=None)
@given(STREAMS)
def test_a_stream_may_come_byte_by_byte(stream: bytes) -> None:
    assert read(*(stream[at : at + 1] for at in range(len(stream)))) == read(stream)


@examples
@given(st.lists(STREAMS | st.binary(), max_size=5))
def test_no_bytes_make_it_raise(chunks: list[bytes]) -> None:
    assert_within_limits(read(*chunks))


@pytest.mark.parametrize(
    "unended", [b"\x1b]7501;state=idle:x=", b"\x1bP", b"\x1b_", b"\x1b]52;c;", b"\x1b[", b"\x1b\n"]
)
@pytest.mark.parametrize("chunk", [1, 700, 100_000])
def test_a_string_that_nobody_ends_is_not_kept(unended: bytes, chunk: int) -> None:
    reader = OscReader()
    assert list(reader.feed(unended)) == []
    for _ in range(10_000 // chunk + 1):
        assert list(reader.feed(b"x" * chunk)) == []
        assert reader._held is None or len(reader._held) < LIMIT
