"""Keys: their written form, the bytes they send, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stallkit.terminal.keys import KEY_NAMES, Key, Keys

examples = settings(max_examples=120, deadline=None)
PRINTABLE = st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "))


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("1 Enter", b"1\r"),
        ("y Enter", b"y\r"),
        ("yes Enter", b"yes\r"),
        ("Y", b"Y"),
        ("?", b"?"),
        ("'Yes please' Enter", b"Yes please\r"),
        ("'Enter'", b"Enter"),
        ("''", b""),
        (r"'it\'s' ", b"it's"),
        (r"'a\\b'", b"a\\b"),
        ("é", "é".encode()),
        ("Escape", b"\x1b"),
        ("Tab BTab", b"\t\x1b[Z"),
        ("Space BSpace", b" \x7f"),
        ("C-c C-d C-z", b"\x03\x04\x1a"),
        ("C-Space C-[ C-\\ C-] C-_", b"\x00\x1b\x1c\x1d\x1f"),
        ("Up Down Right Left", b"\x1b[A\x1b[B\x1b[C\x1b[D"),
        ("Home End", b"\x1b[H\x1b[F"),
        ("IC DC PageUp PageDown", b"\x1b[2~\x1b[3~\x1b[5~\x1b[6~"),
        ("F1 F4 F5 F12", b"\x1bOP\x1bOS\x1b[15~\x1b[24~"),
        ("  Down \t Enter ", b"\x1b[B\r"),
    ],
)
def test_the_bytes_of_keys(written: str, sent: bytes) -> None:
    assert Keys.parse(written).to_bytes() == sent


def test_arrows_follow_the_terminals_cursor_mode() -> None:
    keys = Keys.parse("Up Home F1 x")
    assert keys.to_bytes(application_cursor=True) == b"\x1bOA\x1bOH\x1bOPx"
    assert keys.to_tmux(application_cursor=True) == ["1b", "4f", "41", "1b", "4f", "48", "1b", "4f", "50", "78"]


def test_a_click_is_made_and_never_written() -> None:
    click = Keys.click(6, 19)
    assert click.to_bytes() == b"\x1b[<0;7;20M\x1b[<0;7;20m"
    assert (str(click), click.clicks, Keys.parse("Enter").clicks) == ("Click", True, False)
    with pytest.raises(ValueError, match="unknown key 'Click'"):
        Keys.parse("Click")


@pytest.mark.parametrize("name", sorted(KEY_NAMES))
def test_every_known_name_sends_something_and_writes_itself(name: str) -> None:
    keys = Keys.parse(name)
    assert keys.sequence == (Key(name=name),)
    assert keys.to_bytes()
    assert str(keys) == name


@pytest.mark.parametrize(
    "word", ["Entre", "ENTER", "Esc", "enteR", "C-", "C-C", "M-x", "F13", "Yes", "'open", "y1", "a'b"]
)
def test_an_unknown_key_is_refused_by_name(word: str) -> None:
    with pytest.raises(ValueError, match="unknown key") as caught:
        Keys.parse(f"Down {word}")
    assert repr(word) in str(caught.value)


@pytest.mark.parametrize("nothing", ["", "  ", "\n"])
def test_no_keys_are_refused(nothing: str) -> None:
    with pytest.raises(ValueError, match="no keys"):
        Keys.parse(nothing)


@pytest.mark.parametrize("char", ["\x03", "\x1b", "\x7f", "\x9b", "\u202e", "\u200b", "\ud800"])
@pytest.mark.parametrize("form", ["{}", "'{}'", "'y{}'"])
def test_control_characters_are_refused(char: str, form: str) -> None:
    with pytest.raises(ValueError, match=r"control character|unknown key"):
        Keys.parse(form.format(char))


def test_keys_stay_keys() -> None:
    keys = Keys.parse("1 Enter")
    assert Keys.parse(keys) is keys


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


@pytest.mark.parametrize("half", ["\ud800", "a\udfff"])
def test_half_a_character_cannot_be_typed(half: str) -> None:
    with pytest.raises(ValueError, match=r"^'\\ud[8f][0-9a-f]{2}' is half a character: it cannot be typed$") as caught:
        Keys.typed(half)
    assert type(caught.value) is ValueError, "one that says what is wrong, not the codec's"


def test_typed_gives_back_bytes_that_were_no_text() -> None:
    assert Keys.typed(b"a\xff".decode("utf-8", "surrogateescape")).to_bytes() == b"a\xff"
