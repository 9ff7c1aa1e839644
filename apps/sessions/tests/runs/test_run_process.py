"""The end of an output: bounded, whole lines, plain text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from stallkit_sessions.runs.run_process import Tail

from stallkit.terminal.text import strip


def fed(kept: int, *chunks: bytes) -> Tail:
    tail = Tail(kept)
    for chunk in chunks:
        tail.add(chunk)
    return tail


@given(st.integers(1, 50), st.lists(st.binary(max_size=30)))
def test_nothing_is_lost_but_what_came_first(kept: int, chunks: list[bytes]) -> None:
    tail, written = fed(kept, *chunks), b"".join(chunks)
    assert tail.lost <= max(0, len(written) - kept)
    assert tail.lost == 0 or len(written) - tail.lost <= 2 * kept
    assert tail.lost or len(written) <= 2 * kept
    rest = written[tail.lost :]
    whole = rest.partition(b"\n")[2] if tail.lost else rest
    assert tail.text in (strip(whole.decode("utf-8", "replace")), strip(rest.decode("utf-8", "replace")))


@given(st.lists(st.text(alphabet="ab", max_size=6), min_size=1, max_size=60), st.integers(18, 60))
def test_a_kept_line_is_a_whole_one(lines: list[str], kept: int) -> None:
    shown = fed(kept, *(f"<{line}>\n".encode() for line in lines)).text.splitlines()
    assert [f"<{line}>" for line in lines][-len(shown) :] == shown


def test_a_line_without_end_is_cut_rather_than_dropped() -> None:
    for written in (b"x" * 100, b"x" * 99 + b"\n"):
        tail = fed(10, written)
        assert (tail.lost, tail.text) == (90, written[90:].decode())
    tail = fed(20_000, b"x" * 100_000 + b"END\n")
    assert tail.text == "x" * (100_004 - tail.lost - 4) + "END\n"
    tail.add(b"Proceed? ")
    assert tail.text.endswith("xEND\nProceed? ")
