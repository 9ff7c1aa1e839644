"""Keys: their written form, the bytes they send, and what is refused."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stallkit.terminal.keys import KEY_NAMES, Key, Keys

examples = settings(max_examples=120, deadline=None)
PRINTABLE = st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "))
SENT = {
    "1 Enter": b"1\r",
    "y Enter": b"y\r",
    "yes Enter": b"yes\r",
    "Y": b"Y",
    "?": b"?",
    "'Yes please' Enter": b"Yes please\r",
    "'Enter'": b"Enter",
    "''": b"",
    r"'it\'s' ": b"it's",
    r"'a\\b'": b"a\\b",
    "é": "é".encode(),
    "Escape": b"\x1b",
    "Tab BTab": b"\t\x1b[Z",
    "Space BSpace": b" \x7f",
    "C-c C-d C-z": b"\x03\x04\x1a",
    "C-Space C-[ C-\\ C-] C-_": b"\x00\x1b\x1c\x1d\x1f",
    "Up Down Right Left": b"\x1b[A\x1b[B\x1b[C\x1b[D",
    "Home End": b"\x1b[H\x1b[F",
    "IC DC PageUp PageDown": b"\x1b[2~\x1b[3~\x1b[5~\x1b[6~",
    "F1 F4 F5 F12": b"\x1bOP\x1bOS\x1b[15~\x1b[24~",
    "  Down \t Enter ": b"\x1b[B\r",
}
UNKNOWN = ["Entre", "ENTER", "Esc", "enteR", "C-", "C-C", "M-x", "F13", "Yes", "'open", "y1", "a'b", "Click"]


def refusal(written: str) -> str:
    with pytest.raises(ValueError) as caught:
        Keys.parse(written)
    return str(caught.value)


def test_the_bytes_of_keys() -> None:
    assert {written: Keys.parse(written).to_bytes() for written in SENT} == SENT


def test_keys_show_their_names_and_of_a_text_its_length_alone() -> None:
    assert repr(Keys.parse("Down 'hunter2' Enter")) == "Keys('Down [7 characters] Enter')"


def test_arrows_follow_the_terminals_cursor_mode() -> None:
    keys = Keys.parse("Up Home F1 x")
    assert Keys.parse(keys) is keys
    assert keys.to_bytes(application_cursor=True) == b"\x1bOA\x1bOH\x1bOPx"
    assert keys.to_tmux(application_cursor=True) == ["1b", "4f", "41", "1b", "4f", "48", "1b", "4f", "50", "78"]


def test_a_click_is_made_and_never_written() -> None:
    click = Keys.click(6, 19)
    assert click.to_bytes() == b"\x1b[<0;7;20M\x1b[<0;7;20m"
    assert (str(click), click.clicks, Keys.parse("Enter").clicks) == ("Click", True, False)


def test_every_known_name_sends_something_and_writes_itself() -> None:
    for name in KEY_NAMES:
        keys = Keys.parse(name)
        assert keys.sequence == (Key(name=name),) and keys.to_bytes() and str(keys) == name, name


def test_what_is_no_key_is_refused_by_name() -> None:
    for word in UNKNOWN:
        assert f"unknown key {word!r}" in refusal(f"Down {word}"), word
    with pytest.raises(TypeError, match="keys are written as a text"):
        Keys.parse(b"Enter")  # type: ignore[arg-type]
    for nothing in ("", "  ", "\n"):
        assert "no keys" in refusal(nothing)
    hidden = ["\x03", "\x1b", "\x7f", "\x9b", "\u202e", "\u200b", "\ud800"]
    for form, char in product(["{}", "'{}'", "'y{}'"], hidden):
        said = refusal(form.format(char))
        assert "control character" in said or "unknown key" in said, (form, char)


@examples
@given(
    st.lists(
        st.sampled_from(sorted(KEY_NAMES)).map(lambda name: Key(name=name))
        | PRINTABLE.map(lambda text: Key(literal=text)),
        min_size=1,
    )
)
def test_written_keys_read_back(keys: list[Key]) -> None:
    made = Keys(tuple(keys))
    assert Keys.parse(str(made)) == made


@examples
@given(st.text())
def test_parse_gives_keys_or_a_value_error(text: str) -> None:
    try:
        keys = Keys.parse(text)
    except ValueError:
        return
    assert Keys.parse(str(keys)) == keys
    assert [int(byte, 16) for byte in keys.to_tmux()] == list(keys.to_bytes())


@examples
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_typed_types_just_the_text(text: str) -> None:
    assert Keys.typed(text).to_bytes() == text.encode()


def test_an_answer_is_one_line() -> None:
    for text in ("a\nb", "a\x03", "\x1b[A", "a\u2028b", "a\u2029b"):
        with pytest.raises(ValueError, match="one line without control characters"):
            Keys.line(text)
    assert Keys.line("").to_bytes() == b"\r"


def test_half_a_character_cannot_be_typed_and_bytes_that_are_no_text_can() -> None:
    for half in ("\ud800", "a\udfff"):
        with pytest.raises(
            ValueError, match=r"^'\\ud[8f][0-9a-f]{2}' is half a character: it cannot be typed$"
        ) as caught:
            Keys.typed(half)
        assert type(caught.value) is ValueError, "one that says what is wrong, not the codec's"
    assert Keys.typed(b"a\xff".decode("utf-8", "surrogateescape")).to_bytes() == b"a\xff"
