"""What is typed reaches the program as it is, but for the marks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stallkit_lab.notes import LETTERS
from stallkit_lab.record.marking import MarkKeys, Typed


def test_keys_are_passed_marked_or_refused() -> None:
    wrong = [
        (typed, wanted)
        for typed, wanted in [
            (b"ls\r", Typed(b"ls\r")),
            (b"a\x1dwb", Typed(b"ab", ("waiting",))),
            (b"\x1dk\x1di\x1dq\x1de\x1du", Typed(b"", ("working", "idle", "quota", "ended", "unknown"))),
            (b"\x1d\x1d", Typed(b"\x1d")),
            (b"\x1dz", Typed(b"", (), 1)),
            (b"\x1d\x1b[A", Typed(b"[A", (), 1)),
            (b"\x1b[93;5uw", Typed(b"", ("waiting",))),  # as kitty sends C-]
            (b"\x1b[27;5;93~\x1b[119u", Typed(b"", ("waiting",))),  # as xterm does; w as kitty may
            (b"\x1b[93;5u\x1b[93;5u", Typed(b"\x1b[93;5u")),
            (b"\x1b[97;5u\x1b[A", Typed(b"\x1b[97;5u\x1b[A")),  # C-a, and an arrow
            (b"\x1b[999999u", Typed(b"\x1b[999999u")),
        ]
        if MarkKeys().feed(typed) != wanted
    ]
    assert wrong == []


def test_a_letter_may_come_later_than_its_prefix() -> None:
    keys = MarkKeys(b"\x02")
    assert keys.feed(b"a\x02") == Typed(b"a") and keys.feed(b"wb") == Typed(b"b", ("waiting",))


def test_only_a_key_with_ctrl_can_mark() -> None:
    for key in [b"", b"x", b"\x1b", b"\r", b"\t", b"\x1bOP", b"\x7f", b"\0"]:
        with pytest.raises(ValueError, match="Ctrl"):
            MarkKeys(key)


@given(st.binary(max_size=60))
def test_without_the_prefix_everything_is_passed(data: bytes) -> None:
    data = data.replace(b"\x1d", b"").replace(b"93", b"")
    assert MarkKeys().feed(data) == Typed(data)


@given(st.binary(max_size=60))
def test_no_bytes_raise_and_none_are_made_up(data: bytes) -> None:
    found = MarkKeys().feed(data)
    assert len(found.passed) + len(found.marked) + found.refused <= len(data)
    assert set(found.marked) <= {str(state) for state in LETTERS.values()}
