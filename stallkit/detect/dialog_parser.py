"""What a dialog says on one screen: which row is what, its fields, its options; or which rows are left over.

Pure.  Every way to read the rows is tried: a dialog that can be read in two ways with different fields is doubtful.
"""

from __future__ import annotations

import re
from itertools import repeat
from typing import Callable, Collection, Iterator, Mapping, Sequence

import regex
from attrs import evolve, field, frozen

from stallkit.detect.dialog import CHOICE, RULE, Button, Dialog, Edge, Element, FieldSpec, FieldType, Form, Role
from stallkit.terminal.screen import Screen
from stallkit.terminal.text import cells

SIDES = "│┃|║▌▐▏▕┆╎█"
JOINTS = "├╠╟┠┣"
MOST_ROWS = 60  # of a dialog: as many as a command may take, so that no reading is lost for its length


def outside_above(lines: Sequence[str], rows: Sequence[tuple[int, str]], options: Collection[str]) -> bool | None:
    """Whether the row above a dialog is none that a field of it could have drawn; None if there is no row above.

    `rows` are the dialog's rows, each with what it was recognised as; `options` is what its options are recognised as.
    """
    first, own = rows[0][0], [lines[row] for row in _down_to_its_footer(rows, options)]
    margin = min(map(_column, own))
    bars = {_left(line)[0] if _left(line)[1] else None for line in own}
    bar = bars.pop() if len(bars) == 1 else None
    for line in reversed(lines[:first]):
        if line.strip()[:1] in tuple(JOINTS):
            return False
        if bar is not None and line[bar : bar + 1] not in tuple(SIDES):
            return True
        if line.strip(" " + SIDES):
            return _column(line) < margin
    return None


def same_sides(lines: Sequence[str], first: int, row: int) -> bool:
    """Whether a row has the sides of a box where the dialog's first row has them, so that none of them is its text."""
    return _left(lines[row]) == _left(lines[first]) and _right(lines[row]) == _right(lines[first])


def side_alone(lines: Sequence[str], first: int, row: int) -> bool:
    """Whether a row without content shows nothing but sides that the dialog's first row has too: it is no text."""
    (start, left), (end, right) = _left(lines[first]), _right(lines[first])
    own = {*range(start, start + left), *range(end - right, end)}
    return all(char == " " or column in own for column, char in enumerate(lines[row]))


def _down_to_its_footer(rows: Sequence[tuple[int, str]], options: Collection[str]) -> list[int]:
    """The rows as far as the one below the options, which stands furthest left; where none does, the options' too."""
    last = max((place for place, (_, source) in enumerate(rows) if source in options), default=len(rows) - 1)
    footer = rows[last + 1 : last + 2]
    if footer and footer[0][1] != RULE:
        return [row for row, source in rows[: last + 2] if source not in options and source != RULE]
    return [row for row, source in rows[: last + 1] if source != RULE]


def _column(line: str) -> int:
    return len(line) - len(line.lstrip(" " + SIDES))


def _left(line: str) -> tuple[int, int]:
    start = len(line) - len(line.lstrip())
    return (start, run) if (run := len(line) - start - len(line.lstrip().lstrip(SIDES))) else (0, 0)


def _right(line: str) -> tuple[int, int]:
    text = line.rstrip()
    return (len(text), run) if (run := len(text) - len(text.rstrip(SIDES))) else (0, 0)


_RULE = re.compile(r"[─━═╌┄┈╍╴╶▔▁▀▄╭╮╰╯┌┐└┘├┤┬┴┼╔╗╚╝╠╣╟╢ ]*[─━═╌┄┈╍▔▁▀▄]{3}[─━═╌┄┈╍╴╶▔▁▀▄╭╮╰╯┌┐└┘├┤┬┴┼╔╗╚╝╠╣╟╢ ]*")
_FRAME_TOP = re.compile(r"[╭┌╔┏].*")
_EXACT = frozenset({FieldType.PATH, FieldType.ADDRESS, FieldType.COMMAND})  # they name one thing, to the letter
_STEPS = 20_000  # of one reading: a screen of 50 rows with a long field takes about 2,000
_LIMIT_S = 0.010  # of one pattern, which a pack brings, on some rows: ordinary ones take microseconds


@frozen
class ReadRow:
    """One row of the screen, 0-based, and what it was recognised as; `as_what` is empty if it is left over."""

    row: int
    text: str
    as_what: str = ""


@frozen
class Option:
    """One option of a dialog; `about` describes it, `ticked` is for one of which several may be chosen."""

    text: str
    number: int | None = None
    selected: bool = False
    role: Role | None = None
    ticked: bool | None = None
    about: str = field(default="", eq=False)
    key: str = field(default="", eq=False)  # that chooses it, if its pack knows one


@frozen
class PlacedButton:
    """A button where it stands: the row of the screen, and the column of the cell in which its text begins, from 0."""

    button: Button
    row: int
    column: int


@frozen
class Reading:
    """A dialog as it was read; `doubt` says why it is not wholly recognised, and is empty if it is."""

    rows: tuple[ReadRow, ...]
    fields: Mapping[str, str] = field(factory=dict, hash=False)
    options: tuple[Option, ...] = ()
    submit: Option | None = None  # the row that sends what is ticked
    doubt: str = ""
    specs: Mapping[str, FieldSpec] = field(factory=dict, repr=False, hash=False)
    buttons: tuple[PlacedButton, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether every row was recognised, in one way."""
        return not self.doubt

    @property
    def recognised(self) -> int:
        """How many rows were."""
        return sum(bool(row.as_what) for row in self.rows)

    @property
    def first(self) -> int:
        """The dialog's first row."""
        return self.rows[0].row if self.rows else 0

    def button(self, label: str) -> PlacedButton | None:
        """The one button of that label, in any letter case; None if there is not exactly one."""
        found = [one for one in self.buttons if one.button.text.casefold() == label.casefold()]
        return found[0] if len(found) == 1 else None


def content(line: str) -> str:
    """A row without blanks and box sides around it."""
    return line.strip().strip(SIDES).strip()


def is_rule(line: str) -> bool:
    """Whether a row is nothing but box drawing."""
    return _RULE.fullmatch(line.strip().strip(SIDES)) is not None


def begins_in_sight(screen: Screen) -> bool:
    """Whether nothing has scrolled away above the screen: it is not full.

    The last row may be blank on a full screen, below a program that ends its drawing with a new line.
    """
    if screen.size is None:
        return False
    last = max((row for row, line in enumerate(screen.lines) if line.strip()), default=0)
    lowest = max(last, screen.cursor.row if screen.cursor else 0)
    columns = max(screen.size.columns, 1)
    wrapped = sum(max(cells(line.rstrip()) - 1, 0) // columns for line in screen.lines[: lowest + 1])
    return lowest + wrapped < screen.size.rows - 2


def read(dialog: Dialog, screen: Screen) -> Reading:
    """Read the dialog at the bottom of a screen, from below one of its edges to the last row.

    If it is not wholly recognised, the reading that recognises most rows says which are left over.
    """
    try:
        return _read(dialog, screen)
    except TimeoutError:
        return Reading((), doubt="its patterns take too long to read its rows")


def _read(dialog: Dialog, screen: Screen) -> Reading:
    lines = screen.text.split("\n")
    shown = [(row, text) for row, line in enumerate(lines) if (text := RULE if is_rule(line) else content(line))]
    reader = _Reader(dialog, [text for _, text in shown], _at_cursor(screen, [row for row, _ in shown]))
    starts = [place for place, (row, _) in enumerate(shown) if _below_edge(dialog.edges, row, lines, screen)]
    if dialog.has_choices:  # a person answers it, who is shown its rows: the lowest and shortest reading will do
        lowest = (_reading(lines, shown[at:], parts, dialog) for at in reversed(starts) for parts in reader.ways(at))
        fitting = (way for way in lowest if not way.doubt and not _trouble(way))
        return next(fitting, Reading((), doubt="no list of choices of it is read"))
    ways = (_reading(lines, shown[at:], parts, dialog) for at in starts for parts in reader.ways(at))
    first = next(ways, None)
    if first is not None and any(_differ(first, other) for other in ways):
        return Reading(first.rows, doubt="its rows can be read in more than one way")
    if first is None:
        left = [_left_over(shown[at:], reader.recognised(at)) for at in starts]
        nowhere = Reading((), doubt="no row of it stands below an edge that it begins at")
        first = max(left, key=lambda one: one.recognised, default=nowhere)
    if reader.tired:
        return Reading((), doubt="its rows can be read in too many ways")
    if first.doubt:
        return first
    doubt = _trouble(first) or _inexact(first, dialog, lines, screen) or _shadow(first, dialog, lines, screen)
    return evolve(first, doubt=doubt)


def read_any(dialogs: Sequence[Dialog], screen: Screen) -> Reading:
    """The reading of the one dialog that reads the screen as a whole, doubtful where two disagree.

    Where none does, that of the one which recognises most rows.
    """
    readings = [read(dialog, screen) for dialog in dialogs]
    whole = sorted((reading for reading in readings if reading.whole), key=lambda reading: reading.first)
    if any(_differ(whole[0], other) for other in whole[1:]):
        return Reading(whole[0].rows, doubt="it can be read as two dialogs")
    return whole[0] if whole else max(readings, key=lambda one: one.recognised)


def read_among(dialogs: Sequence[Dialog], others: Mapping[str, Sequence[Dialog]], screen: Screen) -> Reading:
    """The reading of a dialog, in any of its forms; doubtful where it stands inside another one, given by name.

    A field of the other one may show anything, the rows of a whole dialog too.
    """
    reading = read_any(dialogs, screen)
    for name, other in [(name, one) for name, forms in others.items() for one in forms] if reading.whole else ():
        around = read(other, screen)
        if around.whole and around.first < reading.first:
            return Reading(reading.rows, doubt=f"it stands inside the dialog of {name}")
    return reading


@frozen
class _Part:
    """What one element took: rows `start` to `end` of those shown, and the fields in them."""

    element: Element
    form: Form
    start: int
    end: int
    match: regex.Match[str]
    clear: bool  # there is one way only to tell the fields apart


class _Reader:
    """Reads the rows with the elements in order, each as often as it may occur."""

    def __init__(self, dialog: Dialog, rows: list[str], at_cursor: int | None) -> None:
        self._dialog, self._rows, self._at_cursor = dialog, rows, at_cursor
        self._steps = 0
        self._dead: set[tuple[int, int, int]] = set()

    @property
    def tired(self) -> bool:
        """Whether a reading took too many steps to be finished."""
        return self._steps > _STEPS

    def ways(self, start: int) -> Iterator[tuple[_Part, ...]]:
        """Each way in which all rows from `start` on are read."""
        return self._ways(0, 0, start)

    def recognised(self, start: int) -> list[str]:
        """What the rows from `start` on are, as far as the elements in order recognise them."""
        best: list[str] = []
        for way in self._prefixes(0, 0, start):
            named = [part.form.source for part in way for _ in range(part.start, part.end)]
            best = max(best, named, key=len)
        return best

    def _ways(self, number: int, times: int, at: int) -> Iterator[tuple[_Part, ...]]:
        if (number, times, at) in self._dead or self.tired:
            return
        elements = self._dialog.elements
        if number == len(elements):
            if at == len(self._rows):
                yield ()
            return
        element, any_way = elements[number], False
        if times < element.times[1]:
            for part in self._parts(number, at):
                for rest in self._ways(number, times + 1, part.end):
                    any_way = True
                    yield (part, *rest)
        if times >= element.times[0]:
            for rest in self._ways(number + 1, 0, at):
                any_way = True
                yield rest
        if not any_way:
            self._dead.add((number, times, at))

    def _prefixes(self, number: int, times: int, at: int) -> Iterator[tuple[_Part, ...]]:
        """Every way to read some rows, up to where it fails; for a person who looks for what is left over."""
        self._steps += 1
        if number == len(self._dialog.elements) or self.tired:
            yield ()
            return
        element = self._dialog.elements[number]
        parts = next(iter(self._parts(number, at)), None) if times < element.times[1] else None
        if parts is not None:
            yield from ((parts, *rest) for rest in self._prefixes(number, times + 1, parts.end))
        elif times >= element.times[0]:
            yield from self._prefixes(number + 1, 0, at)
        else:
            yield ()

    def _parts(self, number: int, at: int) -> Iterator[_Part]:
        """Each way in which one element takes rows from `at` on."""
        element = self._dialog.elements[number]
        for form in self._dialog.forms[number]:
            for end in range(at + 1, min(at + form.rows, len(self._rows)) + 1):
                self._steps += 1
                if element.at_cursor and end - 1 != self._at_cursor:
                    continue
                text = "\n".join(self._rows[at:end])
                match = _match(form.shortest, text)
                if match is None:
                    continue
                longest = _match(form.longest, text)
                if element.selected is not None and bool(match["mark_"]) is not element.selected:
                    continue
                found, most = match.groupdict(), longest.groupdict() if longest else {}
                specs = {name: self._dialog.fields[name] for name in element.names}
                if all(spec.fits(found.get(name) or "") for name, spec in specs.items()):
                    clear = all(most.get(name) == found.get(name) for name, spec in specs.items() if not spec.aside)
                    yield _Part(element, form, at, end, match, longest is not None and clear)


def _match(pattern: regex.Pattern[str], text: str) -> regex.Match[str] | None:
    """The match of all of a text.  Raises TimeoutError for a runaway, which ends the reading: it is doubtful."""
    return pattern.fullmatch(text, timeout=_LIMIT_S, concurrent=True)


def _at_cursor(screen: Screen, shown: list[int]) -> int | None:
    """The place among the rows shown of the one behind whose text the cursor stands; or None."""
    cursor = screen.cursor
    if cursor is None or cursor.row not in shown or cells(screen.lines[cursor.row].rstrip()) > cursor.column:
        return None
    return shown.index(cursor.row)


def _reading(lines: list[str], shown: list[tuple[int, str]], parts: tuple[_Part, ...], dialog: Dialog) -> Reading:
    offset = parts[0].start
    rows, fields, options, buttons = [], dict[str, str](), list[Option](), list[PlacedButton]()
    submit, doubt = None, ""
    for part in parts:
        for place in range(part.start, part.end):
            row, text = shown[place - offset]
            rows.append(ReadRow(row, text, part.form.source))
        if not part.clear:
            doubt = f"where {' and '.join(sorted(part.element.names))} ends can be read in more than one way"
        for name in sorted(part.element.names):
            value, spec = part.match.groupdict().get(name) or fields.get(name, ""), dialog.fields[name]
            if spec.type is FieldType.ADDRESS:  # it is broken in the middle of a word; others keep their rows
                value = value.replace("\n", "")
            if spec.aside and (part.element.times[1] > 1 or not value):
                continue  # of several rows only the last would be told
            if fields.setdefault(name, value) != value and not (spec.decides or spec.aside):
                doubt = f"its rows disagree about {name}"
            if spec.type is FieldType.COMMAND and part.match.string[: part.match.start(name)].endswith("\n"):
                doubt = f"{name} begins below the row that announces it"  # what stands there may be something else
            fields[name] = value
        if part.element.buttons:
            buttons += _placed(part, lines, shown[part.start - offset][0])
        if part.element.choices:
            options += _choices(part.match.string.split("\n"))
        if part.element.option:
            number = part.match["number_"]
            text = " ".join(part.match["text_"].split())
            numbered = int(number) if number else None
            option = Option(text, numbered, bool(part.match["mark_"]), part.element.role, key=part.element.key)
            if option.role is Role.SUBMIT:
                submit = option
            else:
                options.append(option)
    return Reading(tuple(rows), fields, tuple(options), submit, doubt, dialog.fields, tuple(buttons))


def _placed(part: _Part, lines: list[str], row: int) -> list[PlacedButton]:
    """The buttons in a row, each where it stands."""
    line = lines[row]
    begin = line.index(part.match.string)
    starts = (begin + part.match.start(f"button{place}") for place in range(len(part.element.buttons)))
    return [PlacedButton(*one) for one in zip(part.element.buttons, repeat(row), (cells(line[:at]) for at in starts))]


def _choices(rows: list[str]) -> list[Option]:
    """The options in the rows of a numbered list."""
    found = list[Option]()
    for row in rows:
        one = CHOICE.fullmatch(row)
        if one is None:
            found[-1] = evolve(found[-1], about=f"{found[-1].about} {row}".strip())
            continue
        box = one["before"] if one["box"] is None else one["box"]
        ticked = None if box is None else bool(box.strip())
        number, marked = int(one["number"]), bool(one["mark"])
        found.append(Option(one["label"], number, marked, ticked=ticked, about=one["about"] or ""))
    return found


def _differ(one: Reading, other: Reading) -> bool:
    """Whether two readings disagree; one of them may begin at a lower row than the other."""
    shared = {name for name in one.fields.keys() & other.fields.keys() if not one.specs[name].aside}
    fewer, more = sorted((one.options, other.options), key=len)
    return any(one.fields[name] != other.fields[name] for name in shared) or fewer != more[len(more) - len(fewer) :]


def _left_over(shown: list[tuple[int, str]], known: list[str]) -> Reading:
    rows = [ReadRow(row, text, known[place] if place < len(known) else "") for place, (row, text) in enumerate(shown)]
    left = next((each for each in rows if not each.as_what), None)
    doubt = f"row {left.row} is left over: {left.text!r}" if left else "its last rows are missing"
    return Reading(tuple(rows), doubt=doubt)


def _trouble(reading: Reading) -> str:
    """What is wrong with a menu that was read as a whole."""
    options = reading.options
    if sum(option.selected for option in options) > 1:
        return "more than one option is selected"
    numbers = [option.number for option in options]
    if any(number is not None for number in numbers) and numbers != list(range(1, len(numbers) + 1)):
        return "its options are not numbered in order"
    texts = [option.text for option in options]
    if len(set(texts)) < len(texts):
        return "an option stands there twice"
    return ""


def _inexact(reading: Reading, dialog: Dialog, lines: list[str], screen: Screen) -> str:
    """Why a path, an address or a command may be another one than its rows seem to show."""
    names = {name for name, spec in dialog.fields.items() if spec.type in _EXACT and not spec.aside}
    exact = {form.source for form in _forms_of(dialog, lambda element: not element.names.isdisjoint(names))}
    rows = [each.row for each in reading.rows if each.as_what in exact]
    if hiding := sorted(screen.hiding.intersection(rows)):
        return f"row {hiding[0]} has characters that show nothing, or blanks that are none"
    if not all(same_sides(lines, reading.first, row) for row in rows):
        return "the sides of its rows differ: they may be a part of what it asks"
    return ""


def _shadow(reading: Reading, dialog: Dialog, lines: list[str], screen: Screen) -> str:
    """What is wrong around the fields of a dialog that shows somebody else's text."""
    if dialog.undecided_by is None or Edge.ANY in dialog.edges:
        return ""
    if len(reading.rows) > MOST_ROWS:
        return f"it is longer than {MOST_ROWS} rows"
    options = {form.source for form in _forms_of(dialog, lambda element: bool(element.option))}
    above = outside_above(lines, [(each.row, each.as_what) for each in reading.rows], options)
    if above is False or (above is None and not begins_in_sight(screen)):
        return "it may begin further up: what stands above it may be a part of it"
    once = [form.shortest for form in _forms_of(dialog, _allows_once)]
    if once and sum(any(_match(one, row.text) for one in once) for row in reading.rows) != 1:
        return "the row that allows it once stands there more than once, or is broken"
    told = {name for name, spec in dialog.fields.items() if not spec.aside}
    asks = _forms_of(dialog, lambda element: not element.option and not element.names.isdisjoint(told))
    asked = {form.source for form in asks}
    if not all(same_sides(lines, reading.first, each.row) for each in reading.rows if each.as_what in asked):
        return "the sides of its rows differ: they may be a part of what it asks"
    passed_over = set(range(reading.first, reading.rows[-1].row)) - {each.row for each in reading.rows}
    if not all(side_alone(lines, reading.first, row) for row in passed_over):
        return "a row of it is passed over, and is not blank"
    return ""


def _forms_of(dialog: Dialog, chosen: Callable[[Element], bool]) -> Iterator[Form]:
    return (
        form for element, forms in zip(dialog.elements, dialog.forms, strict=True) if chosen(element) for form in forms
    )


def _allows_once(element: Element) -> bool:
    return element.role is Role.ONCE or any(button.role is Role.ONCE for button in element.buttons)


def _below_edge(edges: frozenset[Edge], row: int, lines: list[str], screen: Screen) -> bool:
    if Edge.ANY in edges:
        return True
    if Edge.TOP in edges and not any(line.strip() for line in lines[:row]) and (row > 0 or begins_in_sight(screen)):
        return True
    if row == 0:
        return False
    if not lines[row - 1].strip():
        return Edge.BLANK in edges
    inside = (line for line in reversed(lines[:row]) if content(line) or not line.strip() or is_rule(line))
    above = next(inside, "")  # the first row above that is more than the sides of a box
    if not above.strip():
        return Edge.BLANK in edges  # above a box that has no upper side
    if above.strip()[:1] in JOINTS + SIDES:
        return False  # a rule inside a box
    framed = _FRAME_TOP.match(above.strip()) is not None
    return is_rule(above) and (Edge.FRAME if framed else Edge.RULE) in edges
