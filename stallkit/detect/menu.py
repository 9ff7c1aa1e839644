"""The rows of a menu: a mark at the selected one, and its neighbours in the same column; of any program.  Pure.

A row that begins at the menu's column is an option, what begins further right describes the option above it.  Menus
whose rows carry boxes to tick are left alone: there Enter takes all that is ticked.
"""

from __future__ import annotations

import re

from attrs import evolve, frozen

from stallkit.detect.dialog_parser import SIDES, content
from stallkit.detect.engine import Detection
from stallkit.terminal.screen import Screen

_MARKS = "❯›▸▶➤➜→●◉❭»>"
_OPEN = "○◯"  # stand in place of the mark where a row is not selected
_MARKED = re.compile(rf"(?P<lead>[\s{SIDES}]*)[{_MARKS}][ ]+(?=\S)")
_MARK = re.compile(f"[{_MARKS}{_OPEN}]")
_LEAD = re.compile(rf"[\s{SIDES}]*(?:[{_MARKS}{_OPEN}][ ]+)?")
_BOX = re.compile(r"[○◯●◉◻◼☐☑☒✔✓](?:\s|$)|[\[(][ xX*✔✓]?[\])]")
_KEY = re.compile(r"(?:\((?P<round>\w)\)|\[(?P<square>\w)\]|(?P<bare>\d{1,2}|[a-z])[.)])\s+(?=\S)")
_LISTED = re.compile(r"\s*(?P<number>\d{1,2})[.)]\s+(?P<text>\S.*)")
_SELECT = re.compile(r"#\? *")  # what the shells' `select` shows below its list
_HOW = re.compile(r"[\[(][^()\[\]]*\barrow(?:s| keys)\b[^()\[\]]*[\])]")
_FOOTER = 5  # rows below a menu, at most: how it is used
_SINGLE = 9  # the last number that one key types


@frozen
class MenuOption:
    """One option: its label, and its key: the number or letter that the row itself shows, or the pack's."""

    text: str
    key: str = ""


@frozen
class Menu:
    """The options from top to bottom; `selected` is the place of the marked one, None if no row has a mark."""

    options: tuple[MenuOption, ...]
    selected: int | None = None

    def place(self, label: str) -> int | None:
        """The place of the one option of that label, in any letter case; None if there is not exactly one."""
        found = [place for place, one in enumerate(self.options) if one.text == label]
        found = found or [at for at, one in enumerate(self.options) if one.text.casefold() == label.casefold()]
        return found[0] if len(found) == 1 else None


def menu_of(detection: Detection) -> Menu | None:
    """The menu that is asked at: of a dialog that was wholly recognised by its pack's words, else as its rows show."""
    reading, shown = detection.reading, read_menu(detection.screen)
    if reading is None or not reading.whole or not reading.options:
        return shown
    numbers = [one.number if one.number is not None and one.number <= _SINGLE else "" for one in reading.options]
    keys = [one.key or str(number) for one, number in zip(reading.options, numbers, strict=True)]
    options = tuple(MenuOption(one.text, key) for one, key in zip(reading.options, keys, strict=True))
    alone = len(options) == 1
    selected = next((place for place, one in enumerate(reading.options) if one.selected or alone), None)
    return Menu(options, selected)


def read_menu(screen: Screen) -> Menu | None:
    """The lowest menu on the screen; None if there is none, or if its rows can be read in two ways.

    >>> read_menu(Screen.from_text("? Pick a colour\\n❯ Red\\n  Green", cursor_visible=False))
    Menu(options=(MenuOption(text='Red', key=''), MenuOption(text='Green', key='')), selected=0)
    """
    lines = screen.text.split("\n")
    for row in range(len(lines) - 1, -1, -1):
        found = _MARKED.match(lines[row])
        if found is not None and (menu := _around(screen, lines, row, found.end())) is not None:
            return menu
    return _listed(screen, lines)


def bare(screen: Screen) -> tuple[str, ...]:
    """The rows without the marks of selected ones: equal on two screens where only the selection moved.

    A hint how to move stays until somebody does, and is left out.
    """
    lines = screen.text.rstrip("\n").split("\n")
    unmarked = (_LEAD.sub(lambda lead: _MARK.sub(" ", lead[0]), line, count=1) for line in lines)
    return tuple(_HOW.sub("", row).rstrip() for row in unmarked)


def _around(screen: Screen, lines: list[str], marked: int, column: int) -> Menu | None:
    """The menu of a marked row whose label begins at that column, with the rows above and below it."""
    if _BOX.match(lines[marked][column:]):
        return None
    keyed = _key_of(lines[marked][column:]) is not None
    rows = [marked]
    for step in (-1, 1):
        row, gap = marked + step, 0
        beyond: list[int] = []
        while 0 <= row < len(lines):
            at = _begins(lines[row], column)
            if at == column and (_key_of(lines[row][column:]) is not None) is keyed:
                beyond, gap = [*beyond, row], 0
            elif at is None and keyed and gap == 0:
                gap = 1  # a blank row between numbered options
            elif at is None or at <= column:
                break
            row += step
        rows += beyond
    rows.sort()
    if len(rows) < 2 or not _in_use(screen, lines, rows[0], rows[-1]):
        return None
    if sum(_MARKED.match(lines[row]) is not None for row in rows) != 1:
        return None
    options = []
    for row in rows:
        rest = lines[row][column:].rstrip().rstrip(SIDES).rstrip()
        key = _key_of(rest)
        options.append(MenuOption(rest if key is None else rest[key[1] :], "" if key is None else key[0]))
    return _sound(Menu(tuple(options), rows.index(marked)))


def _begins(line: str, column: int) -> int | None:
    """Where a row's text begins, its mark left out; None of a row without any."""
    text = _LEAD.sub("", line, count=1)
    return len(line) - len(text) if content(text) else None


def _key_of(label: str) -> tuple[str, int] | None:
    """The key that a row shows for itself, and where its label begins."""
    found = _KEY.match(label)
    return (found["round"] or found["square"] or found["bare"], found.end()) if found else None


def _sound(menu: Menu) -> Menu | None:
    """The menu, without keys that are none; None if two options read the same."""
    keys = [one.key for one in menu.options]
    if any(key.isdecimal() for key in keys) and keys != [str(number + 1) for number in range(len(keys))]:
        return None
    if len({one.text for one in menu.options}) < len(keys) or not all(one.text for one in menu.options):
        return None
    options = tuple(one if len(one.key) == 1 else evolve(one, key="") for one in menu.options)
    return evolve(menu, options=options) if len(set(filter(None, keys))) == len([*filter(None, keys)]) else None


def _in_use(screen: Screen, lines: list[str], first: int, last: int) -> bool:
    """Whether it is what the program asks now: at the end of the screen, and no prompt with the cursor elsewhere."""
    if sum(bool(line.strip()) for line in lines[last + 1 : screen.last_live_row + 1]) > _FOOTER:
        return False
    cursor = screen.cursor
    if cursor is None or cursor.visible is False:
        return True
    return first - 1 <= cursor.row <= last or (cursor.row > last and not screen.prompt_line.text.strip())


def _listed(screen: Screen, lines: list[str]) -> Menu | None:
    """The numbered list of a shell's `select`, above its own prompt."""
    row = screen.prompt_line.row
    if screen.cursor is None or not _SELECT.fullmatch(screen.prompt_line.text):
        return None
    options: list[MenuOption] = []
    for line in reversed(lines[:row]):
        found = _LISTED.fullmatch(line)
        if found is None or _LISTED.search(f" {found['text']}", 1):  # more than one column
            break
        options.insert(0, MenuOption(found["text"].rstrip(), found["number"]))
        if found["number"] == "1":
            break
    return _sound(Menu(tuple(options))) if len(options) > 1 else None
