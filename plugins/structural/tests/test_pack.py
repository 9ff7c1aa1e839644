"""What only looks like a form of a dialog; the examples are items of their own."""

import pytest

from stallkit import Engine, Match, Screen, load_pack

PACK = load_pack("stallkit_structural")
ENGINE = Engine([PACK])
FOOTER = "\n↑/↓ to navigate · Enter to select · Esc to cancel"
MENU = "Deploy where?\n\n❯ staging\n  production\n"


def detect(text: str, cursor_visible: bool | None = None) -> Match | None:
    rows = text.splitlines()
    cursor = (0, len(rows) - 1)
    return ENGINE.detect(Screen.from_text(text, cursor=cursor, cursor_visible=cursor_visible)).match


def test_nothing_is_pressed_and_no_program_is_named() -> None:
    assert not [signature.id for signature in PACK.signatures if signature.dismissal]
    assert not PACK.foreground


@pytest.mark.parametrize(
    "text",
    [
        MENU + FOOTER,
        "Pick a colour\n  red\n> green\n  blue\n\n[↑↓] move  [enter] choose  [q] quit",
        "╭──────────────╮\n│ Which sh?    │\n│   bash       │\n│ ▸ fish       │\n╰──────────────╯\n⏎ select   esc back",
        "Allow this tool to run?\n  ls -la\n\n   Yes, once (y)\n › Always (a)\n   No (n)\n",
        "Write to src/app.py?\n\n  [ Accept ]   [ Reject ]   [ Edit ]",
    ],
)
def test_layouts_of_programs_that_nobody_knows(text: str) -> None:
    match = detect(text, cursor_visible=False)
    assert match is not None
    assert match.signature.state == "waiting"


@pytest.mark.parametrize("text", [MENU + FOOTER, "Allow this command?\n❯ 1. Yes\n  2. No\n", MENU])
def test_a_printed_menu_above_a_visible_cursor_is_none(text: str) -> None:
    match = detect(text + "\n", cursor_visible=True)
    assert match is None or match.signature.state != "waiting"


@pytest.mark.parametrize(
    "text",
    [
        "1. Open the settings\n2. Choose a theme\n3. Press Enter to confirm\n",
        "The menu ends in “Enter to select · Esc to cancel”.\nNext I will run the tests.\n",
        "usage: tool [--yes] [--no]\n  allow    let it run\n  reject   refuse it\n",
        "2026-11-02 10:11:12 INFO dialog: Allow once   Allow always   Reject\n2026-11-02 10:11:13 INFO done\n$ ",
        "✓ built in 3.2s\n✻ Worked for 12s\n",
    ],
)
def test_what_only_mentions_a_form_matches_nothing_that_waits(text: str) -> None:
    match = detect(text, cursor_visible=True)
    assert match is None or match.signature.state != "waiting"


@pytest.mark.parametrize(
    ("below", "state"),
    [
        ("\n────────────────────────\n❯ ", "idle"),
        ("\n✻ Tinkering… (12s · esc to interrupt)\n────────────────────────\n❯ ", "working"),
    ],
)
def test_a_dialog_above_a_composer_was_answered_or_is_quoted(below: str, state: str) -> None:
    text = MENU + FOOTER + "\n" + below
    match = ENGINE.detect(Screen.from_text(text, cursor=(2, text.count("\n")), cursor_visible=False)).match
    assert match is not None
    assert match.signature.state == state
