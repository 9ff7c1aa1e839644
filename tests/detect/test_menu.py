"""Menus of any program as their rows show them, and what only looks like one."""

from __future__ import annotations

import pytest

from stallkit.detect.dialog import Dialog, Element
from stallkit.detect.engine import Engine
from stallkit.detect.menu import bare, menu_of, read_menu
from stallkit.detect.signature import Pack, Signature
from stallkit.terminal.screen import Screen

# screen, labels, keys, place of the mark; "|" at the end of a row is where it ends
MENUS = {
    "a mark": ("? Pick\n❯ Red\n  Green\n  Blue", ["Red", "Green", "Blue"], "", 0),
    "the last one": ("? Pick\n  Red\n  Green\n> Blue", ["Red", "Green", "Blue"], "", 2),
    "radio buttons in a frame": ("◆  Pick\n│  ○ Red\n│  ● Green\n└", ["Red", "Green"], "", 1),
    "a box": ("╭──────────╮\n│ Apply?   │\n│ ● 1. Yes │\n│   2. No  │\n╰──────────╯", ["Yes", "No"], "12", 0),
    "numbers": ("Go on?\n❯ 1. Yes\n  2. No, and say why\n\nEsc to cancel", ["Yes", "No, and say why"], "12", 0),
    "numbers with remarks": ("❯ 1. SQLite\n     One file\n  2. Redis\n     Shared", ["SQLite", "Redis"], "12", 0),
    "numbers with blank rows": ("❯ 1) Red\n\n  2) Blue", ["Red", "Blue"], "12", 0),
    "letters": ("Do it?\n> [a] Always\n  [o] Once\n  [n] Never", ["Always", "Once", "Never"], "aon", 0),
    "no number above nine is a key": (
        "\n".join([f"{'❯' if n == 1 else ' '} {n}. o{n}" for n in range(1, 12)]),
        [f"o{n}" for n in range(1, 12)],
        "123456789",
        0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MENUS)
def test_the_rows_of_a_menu(name: str) -> None:
    text, labels, keys, selected = MENUS[name]
    menu = read_menu(Screen.from_text(text, cursor=(0, text.count("\n")), cursor_visible=False))
    assert menu is not None
    assert ([one.text for one in menu.options], "".join(one.key for one in menu.options)) == (labels, keys)
    assert menu.selected == selected


NONE = [
    "❯ make test",  # a shell's prompt
    "> quoted\n> text\n> of a mail",
    "? Pick some\n❯ ◯ Red\n  ◉ Green",  # boxes to tick
    "? Pick some\n❯ [ ] Red\n  [x] Green",
    "? Pick\n❯ Red\n  Red",  # two that read the same
    "❯ 1. Yes\n  3. No",
    "❯ 1. Yes\n  2. No\n" + "\n".join(f"row {n}" for n in range(9)),  # it scrolled away
    "Red\nGreen\nBlue",
    "",
]


def test_what_is_no_menu() -> None:
    found = [(text, menu) for text in NONE if (menu := read_menu(Screen.from_text(text, cursor_visible=False)))]
    assert not found
    asks = Screen.from_text("❯ Red\n  Green\nDelete it? [y/N] ", cursor=(17, 2), cursor_visible=True)
    assert read_menu(asks) is None, "the cursor is at a prompt below it"


def test_the_list_of_a_shells_select_is_above_its_prompt() -> None:
    menu = read_menu(Screen.from_text("1) Red\n2) Light Blue\n#? ", cursor=(3, 2)))
    assert menu is not None and menu.selected is None
    assert [(one.key, one.text) for one in menu.options] == [("1", "Red"), ("2", "Light Blue")]
    for other in (
        "2) Red\n3) Blue\n#? ",
        "1) Red  3) Blue\n2) Green\n#? ",
        "1) Red\n2) Blue\nWhich? ",
        "1) Red\n2) Blue\n#? 1",
    ):
        assert read_menu(Screen.from_text(other, cursor=(len(other.split("\n")[-1]), 2))) is None


def test_an_option_is_named_by_its_label() -> None:
    menu = read_menu(Screen.from_text("❯ Yes\n  YES\n  No", cursor_visible=False))
    assert menu is not None
    assert [menu.place(label) for label in ("Yes", "YES", "yes", "NO", "Ye", "")] == [0, 1, None, 2, None, None]


def test_rows_are_compared_without_their_marks() -> None:
    first = Screen.from_text("? Pick (Use arrow keys)\n❯ Red\n  Green")
    assert bare(first) == bare(Screen.from_text("? Pick\n  Red\n❯ Green"))
    assert bare(first) != bare(Screen.from_text("? Pick\n  Red\n❯ Grey"))
    assert bare(first) != bare(Screen.from_text("? Take\n  Red\n❯ Green"))


def test_the_menu_of_a_recognised_dialog_is_what_its_pack_says() -> None:
    """Its options with the keys that choose them: the pack's, or a number that one key types; one alone is selected."""
    options = [Element(option=f"o{n}", key="x" if n == 2 else "") for n in range(1, 11)]
    for rows, menu in (
        ([f"{'❯' if n == 3 else ' '} {n}. o{n}" for n in range(1, 11)], (["1", "x", *"3456789", ""], 2)),
        (["  o1"], ([""], 0)),
    ):
        asks = Dialog(["Pick", *options[: len(rows)]], "any")
        pack = Pack("acme", signatures=[Signature("asks", "", "waiting", ["Pick"], dialog=asks)])
        screen = Screen.from_text("\n".join(["Pick", *rows]), cursor_visible=False)
        found = menu_of(Engine([pack]).detect(screen))
        assert found is not None and ([one.key for one in found.options], found.selected) == menu
        assert [one.text for one in found.options] == [f"o{n}" for n in range(1, len(rows) + 1)]
