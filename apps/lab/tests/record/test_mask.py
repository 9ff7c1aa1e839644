"""Secrets are masked cell by cell: no token reaches a file, in whatever pieces it comes, and nothing else moves."""

from __future__ import annotations

import re
from base64 import b64encode

from hypothesis import given, settings
from hypothesis import strategies as st
from stallkit_lab.record.asciicast import Event, Header, Problems
from stallkit_lab.record.cast import Player
from stallkit_lab.record.mask import HOLD, KEY_TEXT, StreamMask, mask

from stallkit.redact.redact import MASK, redact
from stallkit.terminal.text import cells, strip

TOKENS = [
    "ghp_" + "a1B2" * 9,
    "sk-ant-api03-" + "x9" * 20,
    "AKIA" + "ABCDEFGH12345678",
    "xoxb-123456789012-abcdef",
    "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl",
]
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\r\n" + "b3BlbnNza\r\n" * 20 + "-----END OPENSSH PRIVATE KEY-----"


def masked(*parts: str, flush: bool = True) -> list[tuple[float, str, str]]:
    """What comes out of these outputs, one a second."""
    stream = StreamMask()
    out = [event for at, part in enumerate(parts) for event in stream.feed(float(at), "o", part)]
    return [*out, *(stream.flush() if flush else ())]


def text(events: list[tuple[float, str, str]]) -> str:
    return "".join(data for _, code, data in events if code == "o")


def test_a_token_byte_by_byte_never_comes_out() -> None:
    for token in TOKENS:
        for form in ["{}", "key: {}\r\n", "\x1b[32m{}\x1b[0m", "{}|{}", "é {} 日本"]:
            printed = form.format(token, token)
            events = masked(*printed)
            assert token not in text(events) and token[8:] not in strip(text(events)), (token, form)
            assert [at for at, _, _ in events] == [float(at) for at in range(len(printed))], "the times moved"
            assert cells(strip(text(events))) == cells(strip(printed)), (token, form)
            assert text(events) == printed.replace(token, "*" * len(token)), (token, form)


def test_sequences_inside_and_before_a_token_do_not_hide_it() -> None:
    for token in TOKENS:
        inside = token[:9] + "\x1b[1m" + token[9:]
        assert text(masked(f"say {inside}!")) == f"say {'*' * 9}\x1b[1m{'*' * (len(token) - 9)}!", token
        assert text(masked(f"word\x1b[5;1H{token}!")).endswith("\x1b[5;1H" + "*" * len(token) + "!"), token
        spelled = "".join(f"\x1b[5;{column}H{char}" for column, char in enumerate(token, 1))
        assert strip(text(masked(spelled))) == "*" * len(token), token


def test_what_the_redactor_knows_is_masked_and_the_rest_stays() -> None:
    wrong = [
        (printed, wanted)
        for printed, wanted in [
            ("export API_KEY=abcdef123456\r\n", "export API_KEY=************\r\n"),
            ("https://me:hunter22@example.org/", "https://me:********@example.org/"),
            ("Authorization: Bearer abc.def-123", "Authorization: Bearer ***********"),
            ("password: \x1b[1mhunter22\x1b[0m", "password: \x1b[1m********\x1b[0m"),
            ("plain words, /usr/lib/python3 and 42 %", "plain words, /usr/lib/python3 and 42 %"),
        ]
        if not (text(masked(printed)) == wanted == text(masked(*printed)))
    ]
    assert wrong == []


def test_a_private_key_is_masked_over_its_lines() -> None:
    out = text(masked(*(f"before\r\n{KEY}\r\nafter").splitlines(keepends=True)))
    assert re.fullmatch(r"before\r\n[* \r\n]+after", out) and out.count("\r\n") == KEY.count("\r\n") + 2


def test_a_private_key_is_masked_where_its_lines_come_late() -> None:
    stream, out = StreamMask(), ""
    for line in f"before\r\n{KEY}\r\nafter\r\n".splitlines(keepends=True):
        out += text([*stream.feed(0.0, "o", line), *stream.settled()])
    assert re.fullmatch(r"before\r\n[* \r\n]+after\r\n", out)


def test_a_private_key_that_nobody_ends_does_not_mask_for_ever() -> None:
    out = text(masked("-----BEGIN PRIVATE KEY-----\r\n", *["some text\r\n"] * (2 * KEY_TEXT // 10)))
    assert "some" not in out[: KEY_TEXT - 10] and out.endswith("some text\r\n")


def test_titles_links_clipboards_and_reports_are_redacted() -> None:
    token = TOKENS[0]
    assert text(masked(f"\x1b]0;export X={token}\x07on")) == f"\x1b]0;export X={MASK}\x07on"
    assert text(masked(*f"\x1b]2;{token}\x1b\\on")) == f"\x1b]2;{MASK}\x1b\\on"
    assert text(masked(f"\x1b]52;c;{b64encode(b'my secret').decode()}\x07on")) == "\x1b]52;c;\x07on"
    told = b64encode(f"use {token} and then go on for a while".encode()).decode()
    clean = b64encode(f"use {MASK} and then go on for a while".encode()).decode()
    assert text(masked(f"\x1b]7501;state=blocked:msg={told}\x1b\\")) == f"\x1b]7501;state=blocked:msg={clean}\x1b\\"
    harmless = (
        f"\x1b]7501;state=blocked:msg={b64encode(b'Which of the two Branches shall be merged, 1 or 2?').decode()}\x1b\\"
    )
    assert text(masked(harmless)) == harmless


def test_other_events_keep_their_place() -> None:
    stream = StreamMask()
    events = [
        (0.0, "m", "idle"),
        (1.0, "o", TOKENS[0][:9]),
        (2.0, "m", "waiting"),
        (3.0, "o", TOKENS[0][9:]),
        (4.0, "x", "0"),
    ]
    first = list(stream.feed(*events[0]))
    assert first == events[:1], "what nothing is held before is let go of at once"
    out = first + [one for event in events[1:] for one in stream.feed(*event)] + list(stream.flush())
    assert [event[:2] for event in out] == [event[:2] for event in events]


def test_what_is_held_is_bounded_and_ended_lines_can_be_let_go_of() -> None:
    stream, out, most = StreamMask(), 0, 0
    for number in range(2_000):
        out += sum(len(data) for _, _, data in stream.feed(float(number), "o", "x" * 99 + " "))
        most = max(most, (number + 1) * 100 - out)
    assert most <= 2 * HOLD


def test_in_a_pause_all_but_the_last_word_is_let_go_of() -> None:
    for printed, held in [
        ("Proceed? [y/N] ", ""),
        ("whole line\r\n\x1b[m\x1b[3;1H", ""),
        ("$ ghp_a1", "ghp_a1"),
        ("$ \x1b[1mghp\x1b[m_a1", "\x1b[1mghp\x1b[m_a1"),
        ("whole\r\nhalf", "half"),
    ]:
        stream = StreamMask()
        out = [event for char in printed for event in stream.feed(0.0, "o", char)]
        out += stream.settled()
        rest = list(stream.flush())
        assert text(out) + text(rest) == printed and strip(text(rest)) == strip(held), (printed, held)


def test_a_secret_that_comes_with_pauses_between_its_letters_is_masked() -> None:
    for wanted in [f"$ {TOKENS[0]} ", "Password: hunter22", "X_API_KEY= abcdef99", "curl -u me:hunter22"]:
        stream, out = StreamMask(), ""
        for char in wanted:
            out += text([*stream.feed(0.0, "o", char), *stream.settled()])
        out += text(list(stream.flush()))
        assert len(out) == len(wanted) and out.count("*") == mask(wanted).count("*") >= 8, wanted


_PIECES = st.lists(
    st.one_of(
        st.sampled_from([*TOKENS, KEY, "password: ", "API_KEY=abcd1234", "\x1b[1m", "\x1b[2J", "\r\n", " "]),
        st.sampled_from(["日本", "\x1b]0;t\x07"]),
        st.text(st.characters(max_codepoint=0x17F), max_size=6)  # of what no two terminals count otherwise
        ,
    ),
    max_size=15,
)  # fmt: skip


@settings(deadline=None)
@given(_PIECES, st.lists(st.integers(1, 60), max_size=20))
def test_however_a_stream_is_cut_the_same_comes_out(pieces: list[str], cuts: list[int]) -> None:
    whole = "".join(pieces)
    parts, at = [], 0
    for cut in cuts:
        parts.append(whole[at : at + cut])
        at += cut
    assert text(masked(*parts, whole[at:])) == text(masked(whole))


@settings(deadline=None)
@given(_PIECES)
def test_no_token_comes_out_and_nothing_moves(pieces: list[str]) -> None:
    printed = " ".join(pieces)
    out = text(masked(*printed))
    assert not [token for token in TOKENS if token in out]
    shown = []
    for stream in (printed, out):
        player = Player(Header((60, 20)), Problems(""))
        player.feed(Event(0.0, "o", stream))
        shown.append(player.look(0.0, None).screen)
    assert shown[0].cursor == shown[1].cursor
    for before, after in zip(shown[0].lines, shown[1].lines, strict=True):
        assert cells(before.rstrip()) == cells(after.rstrip())


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([*TOKENS, "password: hunter22", "a", " ", "\n", "=", "日本"]), max_size=12).map("".join)
)
def test_a_masked_text_holds_nothing_that_the_redactor_takes_for_a_token(plain: str) -> None:
    out = mask(plain)
    assert cells(out) == cells(plain) and mask(out) == out
    kept = [word for word in re.split(r"[\s*]+", out) if len(word) > 20]
    assert all(redact(word) == word for word in kept)


def test_what_is_said_below_a_prompt_is_no_value_of_it() -> None:
    for said in [
        "Password: \r\nProceed? [y/N] ",
        "New password: \r\nRetype new password: ",
        "me@host's password: \r\nPermission denied, please try again.\r\nme@host's password: ",
        "$ mysql --password\r\nEnter password: ",
        "\x1b[1mPassword:\x1b[0m \r\n\x1b[31mLogin\x1b[0m incorrect",
    ]:
        assert text(masked(*said)) == said, said
        assert mask(strip(said)) == strip(said), said


def test_a_value_on_its_line_or_alone_below_is_masked() -> None:
    wrong = [
        shown
        for shown in [
            "password: hunter-two and on",
            "password:\n  hunter-two\nuser: me",
            "Your new password:\r\nhunter-two\r\n",
            "token:\n  hunter2two # mine",
            "x\x1b[1m--password\x1b[0m hunter-two and on",
            "\x1b[1mpassword:\x1b[0m hunter-two and on",
        ]
        if not ("hunter" not in text(masked(*shown)) and "hunter" not in text(masked(shown)))
    ]
    assert wrong == []
