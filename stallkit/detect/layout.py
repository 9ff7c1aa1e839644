"""The parts of a screen: dialog, composer, status, messages.  Read once, from the bottom up.  Pure.

A part is *live* if nothing that answers it or goes on stands below.  Only what is live is a dialog, its options and
hints, a composer or a status; beside them stand the last message of the program and the words of the person.

>>> from stallkit.terminal.screen import Screen
>>> box = "╭─────────────────────╮\\n│ > Type your message │\\n╰─────────────────────╯"
>>> layout = read_layout(Screen.from_text("Done.\\n\\n" + box))
>>> layout.text("composer"), layout.text("message")
('> Type your message', 'Done.')
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise, takewhile
from typing import Iterable, Iterator, Mapping

from attrs import field, frozen

from stallkit.detect.rows import Box, Choice, Group, Row, Sort, boxes, ends, fits, is_prose, laid_over, read_row
from stallkit.terminal.screen import Region, Screen
from stallkit.terminal.text import cells
from stallkit.word_tables import Patterns

PARTS = ("dialog", "options", "hints", "composer", "status", "message", "person")
_of = Patterns("layout")
_REACH = 14  # written rows below a composer, at most
_HEIGHT = 12  # rows of a composer, at most
_TALL = 40  # rows of a dialog above its options, at most
_NEAR = 4  # rows between two that belong together
_ABOVE = 24  # rows above a composer in which a status is looked for
_NARROW = 30  # columns of a word that is offered

Rows = tuple[int, ...]


@frozen
class Layout:
    """The rows of a screen, and its parts: the numbers of their rows by name."""

    rows: tuple[Row, ...]
    parts: Mapping[str, Rows] = field(factory=dict, hash=False)

    def names(self, row: int) -> tuple[str, ...]:
        """The parts that a row belongs to."""
        return tuple(part for part in PARTS if row in self.parts.get(part, ()))

    def text(self, part: str) -> str:
        """What stands in a part, a row each; empty if the screen has none."""
        region = self.region(part)
        return region.text if region else ""

    def region(self, part: str) -> Region | None:
        """The part as a region; rows between that belong to none are blank.  None if the screen has none."""
        own = self.parts.get(part, ())
        if not own:
            return None
        shown = range(own[0], own[-1] + 1)
        return Region("\n".join(self.rows[row].text if row in own else "" for row in shown), own[0])

    def moved(self, down: int) -> Layout:
        """It, further down on a screen over which it lies: a dialog, whatever it says."""
        own = self.parts if "dialog" in self.parts else {"dialog": tuple(range(len(self.rows)))}
        parts = {name: tuple(row + down for row in rows) for name, rows in own.items()}
        return Layout((Row(Sort.BLANK, ""),) * down + self.rows, parts)


@frozen
class _Field:
    """Where a composer may stand: the rows of its text, its first and last row with its edges, and how it is drawn."""

    rows: Rows
    top: int
    bottom: int
    drawn: str  # frame, rules, bar or sign
    box: Box | None = None


@lru_cache(maxsize=64)  # one look asks for several parts
def read_layout(screen: Screen) -> Layout:
    """The rows of a screen and its parts."""
    return _Reader(screen).layout()


class _Reader:
    """One screen: its rows, its boxes, where its cursor stands."""

    def __init__(self, screen: Screen) -> None:
        # Below the last live row a program keeps a list that takes no keys.
        end = min(len(screen.lines), screen.last_live_row + 1)
        cursor = screen.cursor
        typed = cursor.row + 1 if cursor is not None and cursor.visible else 0
        while end > typed and not screen.lines[end - 1].strip():
            end -= 1
        self.lines = (*screen.lines[:end], *[""] * (typed - end))
        self.shades = screen.shades
        self.wide = screen.size.columns if screen.size else 0
        self.rows = tuple(read_row(line, row in self.shades.highlighted) for row, line in enumerate(self.lines))
        self.boxes = tuple(boxes(self.lines))
        self.at = None if cursor is None or cursor.row >= len(self.lines) else cursor.row  # seen or not
        self.hidden = cursor is None or not cursor.visible  # as far as is known
        self.cursor = self.at if cursor is not None and cursor.visible is not False else None
        self.seen = cursor is not None and cursor.visible is True
        self.column = cursor.column if cursor is not None else 0

    def layout(self) -> Layout:
        over = laid_over(self.lines) or next((one for one in self.boxes if one.covers(self.lines)), None)
        if over is not None:
            return read_layout(Screen(tuple(over.part_of(self.lines[row]) for row in over.rows))).moved(over.top + 1)
        group = self._offered()
        composer = None
        if group is None:
            group = self._group()
            composer = self._composer(group)
            if group is not None and (self._is_in_diff(group.rows[0]) or not self._is_live(group, composer)):
                group = None
        dialog, hints = self._dialog(group) if group else self._panel(composer)
        dialog, hints = self._by_keys() if not dialog and composer is None else (dialog, hints)
        composer = None if dialog else composer
        top = dialog[0] if dialog else composer.top if composer else len(self.rows)
        status, person = self._status(top, composer, bool(dialog)), self._person(top)
        below = range(composer.bottom + 1 if composer else max(0, len(self.rows) - 3), len(self.rows))
        since = range(person[-1] + 1 if person else 0, top)
        parts = {
            "dialog": dialog,
            "options": group.rows if group else (),
            "hints": hints or tuple(row for row in below if self.rows[row].says_keys),
            "composer": composer.rows if composer else (),
            "status": status,
            "message": tuple(row for row in since if self.rows[row].written and row not in status),
            "person": person,
        }
        return Layout(self.rows, {name: rows for name, rows in parts.items() if rows})

    def _shown(self, rows: Iterable[int]) -> list[int]:
        """Those of the rows that have a text."""
        return [row for row in rows if self.rows[row].text]

    # the composer

    def _composer(self, group: Group | None) -> _Field | None:
        """The lowest place to write in with nothing framed, said or chosen from below; one whose title says so wins."""
        for box in self.boxes:
            if box.bottom - box.top <= _HEIGHT and _of.placeholder.match(box.title):
                return _Field(tuple(box.rows), box.top, box.bottom, "frame", box)
        for one in sorted(self._places(), key=lambda one: (self.cursor in one.rows, one.bottom, one.top), reverse=True):
            if group is not None and (set(group.rows) & set(one.rows) or self._is_menu_below(group, one)):
                continue
            if self._is_foot(one) and self._takes_text(one):
                return one
        return None

    def _places(self) -> Iterator[_Field]:
        """What may be a composer by its form: low frames, what stands between two rules, at a bar, at a sign."""
        for box in self.boxes:
            if box.bottom - box.top <= _HEIGHT and not any(other.holds(box) for other in self.boxes):
                yield _Field(tuple(box.rows), box.top, box.bottom, "frame", box)
        rules = [row for row, one in enumerate(self.rows) if one.sort is Sort.RULE]
        for top, bottom in pairwise(rules):
            if 2 <= bottom - top <= _HEIGHT:
                yield _Field(tuple(range(top + 1, bottom)), top, bottom, "rules")
        if self.cursor and rules and self.cursor - 1 == rules[-1] and self.rows[rules[-1]].says("input"):
            yield _Field((self.cursor,), rules[-1], self.cursor, "rules")
        for row in self._low_rows():
            if self.rows[row].framed and not any(box.top <= row <= box.bottom for box in self.boxes):
                top, bottom = self._bar(row)
                if bottom - top < _HEIGHT:
                    yield _Field(tuple(range(top, bottom + 1)), top, bottom, "bar")
            choice, sign = self.rows[row].choice, "sign" if row == self.cursor else "bare_sign"
            framed = any(row in box.rows for box in self.boxes)  # which is a place itself, or was refused as one
            field = self.rows[row].says("asks") or self.rows[row].says("labelled")
            invites = row == self.at and self.rows[row].says("placeholder") and not field
            if not framed and not (choice is not None and choice.key) and (invites or self.rows[row].says(sign)):
                yield _Field((row,), row, row, "sign")

    def _low_rows(self) -> set[int]:
        """The lowest rows with a sign, the lowest that is framed, the lowest that is a text, the cursor's."""
        written = self._shown(range(len(self.rows)))[-_REACH:]
        found = {row for row in written if self.rows[row].says("bare_sign")}
        found.update([row for row, one in enumerate(self.rows) if one.framed][-1:])
        others = (Sort.HINT, Sort.GAUGE, Sort.RULE, Sort.EDGE)
        found.update([row for row in written if self.rows[row].sort not in others][-1:])
        return found if self.cursor is None else found | {self.cursor}

    def _bar(self, row: int) -> tuple[int, int]:
        top = bottom = row
        while top and self.rows[top - 1].framed:
            top -= 1
        while bottom + 1 < len(self.rows) and self.rows[bottom + 1].framed:
            bottom += 1
        return top, bottom

    def _is_menu_below(self, group: Group, place: _Field) -> bool:
        """Whether rows below are chosen from by keys, and do not complete the word that is typed there."""
        if group.rows[0] <= place.bottom:
            return False
        typed = self._typed(place)
        names = all(one.label[:1] in "/@#" for one in group.choices)
        return not names and (not typed or place.drawn != "sign") and not typed.startswith(("/", "@", "!", "#"))

    def _typed(self, place: _Field) -> str:
        """What is written behind the sign of a place."""
        return _of.sign.sub("", next((self.rows[row].text for row in place.rows if self.rows[row].text), "")).strip()

    def _is_foot(self, place: _Field) -> bool:
        """Whether what stands below may stand below a composer: a few rows or completions, none framed, none said."""
        below = self.rows[place.bottom + 1 :]
        said = (one.speaks and one.sort is not Sort.GAUGE and one.column < 3 for one in below)
        few = self._typed(place)[:1] in ("/", "@") or sum(one.written for one in below) <= _REACH
        return few and not any(box.top > place.bottom for box in self.boxes) and not any(said)

    def _takes_text(self, place: _Field) -> bool:
        """Whether a person may write there."""
        if self.seen and self.cursor is not None and self.cursor > place.bottom and self.rows[self.cursor].text:
            return False  # one types further down
        below = [one for one in self.rows[place.bottom + 1 :] if one.text]
        if place.drawn == "sign":
            return self._is_signed(place, below)
        above = [one for one in self.rows[: place.top] if one.written and not one.says("shell")]
        if not below and not above:
            return False  # a field alone is any program's
        written = [(row, text) for row in place.rows if (text := self._inner(place, row))]
        first = written[0][1] if written else ""
        here = self.at in place.rows
        choices = [choice for row in place.rows if (choice := self.rows[row].choice) and choice.drawn]
        if len(choices) > 1 and any(_of.allows.match(one.label) for one in choices):
            return False
        if not here and any(_of.asks.search(text) for _, text in written[:-1]):
            return False
        sends = any(one.says("sends") for one in below[:6])
        if any(one.says("chooses") for one in below[:2]) and not sends and not _of.sign.match(first):
            return False
        if _of.searches.match(first) or (written and self.rows[written[0][0]].sort is Sort.SPINNER):
            return False
        stands_in = place.drawn != "bar" and bool(written) and written[0][0] in self.shades.dim  # for a text
        if _of.sign.match(first) or _of.placeholder.match(first) or stands_in:
            return True
        footed = self._is_footed(below[:6])
        if not written:
            named = bool(below) and _of.status.search(below[0].text) is not None
            return place.drawn != "bar" and (footed or here or named)
        return len(written) < _NEAR and (here or (footed and place.drawn != "rules" and not _of.works.search(first)))

    def _is_signed(self, place: _Field, below: list[Row]) -> bool:
        """Whether a row with a sign is a composer's: alone it may be any program's prompt."""
        row = place.top
        alone = not (below or self._shown(range(max(0, row - 2), row)))
        if alone or sum(one.text[0] not in "/@#" for one in below) > _NEAR:
            return False
        here = self.at == row
        ruled = here and row > 0 and self.rows[row - 1].sort is Sort.RULE and not self.rows[row - 1].says("share")
        named = (here or (self.hidden and self.at in (row + 1, row + 2))) and any(one.says("segments") for one in below)
        at_work = here and any(one.works for one in self.rows[max(0, row - 8) : row])
        invites = _of.placeholder.match(_of.sign.sub("", self.rows[row].text))
        return ruled or named or at_work or self._is_footed(below) or invites is not None

    @staticmethod
    def _is_footed(below: Iterable[Row]) -> bool:
        keys = [one for one in below if one.text[0] not in "/@#"]  # which complete a word
        return any(one.says("sends") or one.says("mode") or one.sort is Sort.GAUGE for one in keys)

    def _inner(self, place: _Field, row: int) -> str:
        """What stands in a row of a place, without a cursor that is drawn."""
        cut_off = place.box is not None and place.box.right < cells(self.lines[row].rstrip())
        text = place.box.inside(self.lines[row]) if place.box is not None and cut_off else self.rows[row].text
        return text.lstrip("●○▋█▌▍▎ ")

    # what is to choose from

    def _offered(self) -> Group | None:
        """The words that may be typed at the cursor's sign, in the rows right below it, if they allow and refuse."""
        if self.cursor is None or not self.rows[self.cursor].says("bare_sign"):
            return None
        rows = list(takewhile(lambda row: self.rows[row].written, range(self.cursor + 1, len(self.rows))))
        labels = [self.rows[row].text for row in rows]
        group = Group(tuple(rows), tuple(Choice(False, "", "", label, 0) for label in labels), None)
        return group if group.decides and max(map(cells, labels)) < _NARROW else None

    def _group(self) -> Group | None:
        """The lowest rows that are to choose from."""
        for row in range(len(self.rows) - 1, -1, -1):
            one, choice = self.rows[row], self.rows[row].choice
            if (buttons := self._buttons(row)) is not None:
                return buttons
            if choice is None or not choice.drawn or one.sort is Sort.SPINNER:
                continue
            if choice.marked and (_of.placeholder.match(choice.label) or self._is_typed(row, choice.column)):
                continue
            if one.text[0] in "▶⏵" and (one.says("sends") or one.says("mode")):
                continue
            if (group := self._around(row, choice)) is not None and not self._is_draft(group):
                names = sum(one.label.startswith("/") for one in group.choices)
                held = self._shown(self._held(group))
                typed = bool(held) and held[0] < group.rows[0] and self.rows[held[0]].text[0] in "/@"
                return None if 2 * names > len(group.choices) or typed else group  # they complete a command
        return None

    def _is_draft(self, group: Group) -> bool:
        """Whether these rows, or a sign above them with the cursor near, fill a frame or stand between two rules."""
        rows = self._held(group)
        held = self._shown(rows)
        mark = group.choices[0]
        if held == [*group.rows] and (group.box is not None or len(rows) == len(held)):
            return mark.marked and not mark.key and not _of.allows.match(mark.label)
        typed = bool(held) and self.at is not None and held[0] <= self.at <= held[-1]
        return typed and held[0] not in group.rows and self.rows[held[0]].says("bare_sign")

    def _held(self, group: Group) -> range:
        """The rows of the frame around rows to choose from, or those between the rules above and below them."""
        if group.box is not None:
            return group.box.rows
        rules = [row for row, one in enumerate(self.rows) if one.sort is Sort.RULE]
        top = max((row for row in rules if row < group.rows[0]), default=None)
        bottom = min((row for row in rules if row > group.rows[-1]), default=None)
        low = top is not None and bottom is not None and bottom - top <= _HEIGHT
        return range((top or 0) + 1, bottom or 0) if low else range(0)

    def _buttons(self, row: int) -> Group | None:
        """Answers side by side: with a letter or in brackets each, apart, or between drawn edges."""
        one, line = self.rows[row], self.lines[row]
        drawn = 0 < row < len(self.lines) - 1 and "▔▔▔▔▔▔" in self.lines[row - 1] and "▁▁▁▁▁▁" in self.lines[row + 1]
        if one.says("yes_no") and not one.says("said") and row + 1 < len(self.rows):  # and no prompt: it goes on below
            labels: Iterable[str] = ("yes", "no")
        else:
            labels = _of.gap.split(one.text) if drawn and "▊" not in line else one.answers
        choices = tuple(Choice(False, "", "", label, self.rows[row].column) for label in labels)
        return Group((row,), choices, self._box_of(row)) if choices else None

    def _is_typed(self, row: int, column: int) -> bool:
        """Whether the cursor is seen behind a mark, as it is where one types, and not where one chooses."""
        return self.cursor == row and self.column >= column

    def _box_of(self, row: int) -> Box | None:
        held = [box for box in self.boxes if row in box.rows]
        return min(held, key=lambda box: box.bottom - box.top, default=None)

    def _around(self, row: int, anchor: Choice) -> Group | None:
        """The rows whose labels begin where one's does, up and down to what is none."""
        box = self._box_of(row)
        inside = box.rows if box else range(len(self.rows))
        found = {row: anchor}
        for step in (-1, 1):
            gap, at = 0, row + step
            while at in inside and gap <= _NEAR:
                one = self.rows[at]
                if one.choice is not None and one.choice.marked and gap and not (anchor.key and one.choice.key):
                    break  # the selected row of another list
                if one.choice is not None and one.framed == self.rows[row].framed and fits(one, one.choice, anchor):
                    found[at], gap = one.choice, 0
                elif one.text and (one.framed != self.rows[row].framed or ends(one, self.rows[row], anchor)):
                    if not self._is_wrapped(at):
                        break
                else:
                    gap += 1 if one.text else 2
                at += step
        rows = tuple(sorted(found))
        choices = tuple(found[at] for at in rows)
        marks = sum(one.marked for one in choices)
        several = sum(bool(one.key) for one in choices) > 1 or sum(bool(one.box) for one in choices) > 1
        begin = self._question(rows[0])
        ruled = begin > 0 and self.rows[begin - 1].sort is Sort.RULE  # a panel, and no talk
        near = box.rows if box else range(begin, rows[0]) if ruled else ()
        keys = any(self.rows[row].chooses for row in near)
        enough = (marks == 1 and bool(len(rows) > 1 or anchor.key or keys)) or (marks == 0 and several)
        return Group(rows, choices, box) if enough else None

    def _is_wrapped(self, row: int) -> bool:
        """Whether a row goes on with the one above it, which fills the screen."""
        return row > 0 < self.wide and cells(self.lines[row - 1].rstrip()) >= self.wide - 1

    def _is_live(self, group: Group, composer: _Field | None) -> bool:
        """Whether rows are asked for now: nothing goes on below them, and enough says that they are chosen from."""
        if composer is not None and composer.bottom < group.rows[0]:
            return False  # a list below a composer: what is typed there chooses
        end, last = group.end, group.rows[-1]
        until = composer.top if composer is not None and composer.top > end else len(self.rows)
        if any(end < box.top < until for box in self.boxes):
            return False
        below, alone = self._shown(range(end + 1, until)), composer is None
        own = group.rows if len(group.rows) == 1 else ()
        above = range(self._question(group.rows[0]), group.rows[0]) if alone else ()
        chosen = [row for row in (*above, *own, *range(last + 1, end), *below[:6]) if self.rows[row].chooses]
        if self._is_answered(group, below, chosen, alone) or self._is_list(group, chosen, alone):
            return False
        score = self._score(group, chosen)
        if alone:
            return score >= (6 if self._types_elsewhere(group) else 3)
        return self._is_asked_over(group, below, chosen, score)

    def _is_answered(self, group: Group, below: list[int], chosen: list[int], alone: bool) -> bool:
        """Whether somebody types there or said it, or what is below goes on; `alone`: with no composer."""
        if self.cursor in group.rows and self._is_typed(self.cursor or 0, group.choices[0].column + 2):
            return True
        if self._turns_at_cursor() or (group.box and _of.speaker.match(group.box.title)):
            return True
        spinner = next((row for row in below if self.rows[row].sort is Sort.SPINNER), None)
        if spinner is not None and not chosen and ((group.box and not alone) or spinner - group.end > _ABOVE):
            return True
        most = 3 if chosen or self._is_lettered(group) or (group.box and alone) else 1
        return self._goes_on(group, [*range(group.rows[-1] + 1, group.end), *below], most, alone)

    def _is_list(self, group: Group, chosen: list[int], alone: bool) -> bool:
        """Whether it is a list of numbers that nobody asks for, or what a tool printed."""
        drawn = group.marked or self._is_lettered(group) or any(one.box for one in group.choices)
        if not (drawn or len(group.rows) == 1 or (chosen and alone) or self._asks_number(group.end)):
            return True
        first = group.rows[0]
        begins = {self.rows[row].text[:1] for row in range(self._question(first), first)}
        return not self._is_framed(group) and not chosen and bool({"⎿", "└"} & begins)

    def _score(self, group: Group, chosen: list[int]) -> int:
        """How much says that rows are chosen from."""
        first = group.rows[0]
        here = self.cursor in group.rows
        asks = any(self.rows[row].says("asks") for row in range(max(0, first - 8), first))
        keyed = group.marked and bool(group.choices[0].key)
        drawn = self._is_framed(group) + self._is_lettered(group) + (keyed or self.rows[first].says("button"))
        return 2 * bool(chosen) + drawn + (self.hidden or here) + group.decides + group.marked + asks

    def _is_asked_over(self, group: Group, below: list[int], chosen: list[int], score: int) -> bool:
        """Whether rows are asked for over a composer, and not quoted in a message."""
        first, framed = group.rows[0], self._is_framed(group)
        letters = self._asks_letters(first)
        score += 3 * letters
        spoken = any(one.speaks for one in self.rows[self._question(first) : first])
        said = group.box.title if group.box else spoken
        if said and not (chosen or letters):
            return False
        turns = Sort.SPINNER if framed else Sort.EDGE  # an answer is followed by one
        after = [
            row
            for row in below
            if (not chosen or row > chosen[-1]) and not (self.rows[row].is_status or self.rows[row].sort is turns)
        ]
        near = range(max(0, first - (8 if framed else 3)), first + 1)
        last = not after and (letters or any(self.rows[row].says("asks") for row in near))
        bound = group.box is not None or last or bool(chosen and not after)
        return bound and bool(chosen or group.decides) and score >= _NEAR

    def _asks_letters(self, row: int) -> bool:
        """Whether a row asks in the letters of its answers, and is not shown in a text."""
        one = self.rows[row]
        if one.says("letters") and one.says("asks_for_one"):
            return not self._is_fenced(row)
        if not one.says("yes_no") or one.text[0].islower() or self._is_fenced(row):
            return False
        again = any(above.says("yes_no") for above in self.rows[max(0, row - 8) : row])
        return not again and not is_prose(self.rows, row)

    def _is_framed(self, group: Group) -> bool:
        return group.box is not None or self.rows[group.rows[0]].framed

    def _is_lettered(self, group: Group) -> bool:
        return sum(self.rows[row].says("letter_after") for row in group.rows) > 1

    def _types_elsewhere(self, group: Group) -> bool:
        """Whether the cursor is seen on another row, and not parked right below the keys that choose."""
        here = self.rows[self.cursor] if self.seen and self.cursor else None
        if here is None or self.cursor in group.rows or (here.chooses and here.says("searches")):
            return False
        above, parked = self.rows[(self.cursor or 1) - 1], self.column == 0 and not here.text
        return not (parked and above.sort is Sort.HINT and above.chooses)

    def _goes_on(self, group: Group, rows: Iterable[int], most: int, alone: bool) -> bool:
        """Whether more rows than that go on below what is chosen from, or one of them is a message."""
        end = group.box.bottom if group.box and alone else group.rows[-1] + 1
        rules = [row for row in rows if self.rows[row].sort is Sort.RULE]
        preview = range(rules[0], rules[1]) if len(rules) > 1 else ()
        plain = (Sort.TEXT, Sort.CODE, Sort.QUOTE, Sort.OPTION, Sort.SPINNER)
        said = [
            row
            for row in rows
            if row not in preview
            and self.rows[row].sort in plain
            and self.rows[row].column <= group.choices[0].column
            and not (self.rows[row].chooses or (row > end and self.rows[row].says("status")))
        ]
        ended = any(self.rows[row].sort is Sort.TEXT and self.rows[row].says("sentence") for row in said if row >= end)
        return ended or len(said) > most or any(self.rows[row].speaks for row in said)

    def _turns_at_cursor(self) -> bool:
        """Whether the cursor is seen behind a spinner, as a program leaves it that is at work."""
        return self.seen and self.cursor is not None and self.rows[self.cursor].sort is Sort.SPINNER

    def _is_fenced(self, row: int) -> bool:
        """Whether a row stands in a block of code."""
        return sum(one.text.startswith("```") for one in self.rows[:row]) % 2 == 1

    def _is_in_diff(self, row: int) -> bool:
        """Whether nothing but rows of a diff stands between a row and the head of one of its parts."""
        last = len("".join(line[:1] or " " for line in self.lines[: row + 1]).rstrip(" +-")) - 1
        return last >= 0 and self.lines[last].startswith("@@ -")

    def _asks_number(self, end: int) -> bool:
        return self.at is not None and self.at > end and self.rows[self.at].says("number")

    # dialogs

    def _dialog(self, group: Group) -> tuple[Rows, Rows]:
        """The rows of a dialog, and those of its keys."""
        box = group.box
        first, last = (box.top + 1, box.bottom) if box else (self._question(group.rows[0]), group.rows[-1] + 1)
        hints = tuple(row for row in range(group.rows[-1] + 1, min(len(self.rows), last + 8)) if self.rows[row].chooses)
        return tuple(sorted({*self._shown(range(first, last)), *hints, *group.rows})), hints

    def _question(self, first: int) -> int:
        """Where a dialog begins whose options begin there: up to a rule, an edge, a frame or a message before."""
        for row in range(first - 1, max(-1, first - _TALL), -1):
            one = self.rows[row]
            apart = one.sort in (Sort.RULE, Sort.EDGE) or one.framed != self.rows[first].framed
            if apart or one.says("said"):
                return row + 1
            if self.rows[row].speaks:
                return row
        return max(0, first - _TALL)

    def _panel(self, composer: _Field | None) -> tuple[Rows, Rows]:
        """A frame with a question or a field in it, and below that the keys that take an answer."""
        for box in sorted(self.boxes, key=lambda box: box.bottom - box.top, reverse=True):
            rows = tuple(self._shown(box.rows))
            keys = [row for row in rows[-3:] if self.rows[row].chooses or self.rows[row].sort is Sort.HINT]
            inner = any(box.holds(one) and one.left > box.left for one in self.boxes)
            asks = any(self.rows[row].says("asks") for row in rows)
            sure = asks and sum(self.rows[row].keys for row in keys) > 1 and any(self.rows[row].chooses for row in keys)
            low = box.bottom >= len(self.rows) - _REACH and composer is None
            drawn = self.lines[box.top][: box.left].endswith(("+", "-"))
            if drawn or self._is_fenced(box.top) or self._is_in_diff(box.top) or self._turns_at_cursor():
                continue  # it was answered, or is a picture
            if keys and not _of.speaker.match(box.title) and ((inner and low) or sure):
                return rows, tuple(keys)
        return (), ()

    def _by_keys(self) -> tuple[Rows, Rows]:
        """What is left or chosen from by keys that the last rows name, with no cursor to be seen."""
        last: list[int] = []
        for row in reversed([row for row, one in enumerate(self.rows) if one.written]):
            if self.rows[row].sort not in (Sort.HINT, Sort.GAUGE) and not (self.rows[row].is_status and not last):
                break
            last.insert(0, row)
        named = [row for row in last if self.rows[row].sort is Sort.HINT and not self.rows[row].says("mode")]
        hints = tuple(row for row in named if self.rows[row].chooses)
        if not hints or not self.hidden or any(self.rows[row].works for row in last):
            return (), ()
        body = self._body(last[0])
        if any(self.rows[row].works for row in body[-2:]):
            return (), ()
        return ((*body, *hints), hints) if body else ((), ())

    def _body(self, end: int) -> list[int]:
        """What stands above keys, frames and all, up to a message."""
        found: list[int] = []
        for row in range(end - 1, max(-1, end - _TALL), -1):
            if self.rows[row].speaks:
                break
            if self.rows[row].text.startswith("@@ "):
                return []  # a picture of it
            if self.rows[row].written:
                found.insert(0, row)
        return found

    # what stands around

    def _status(self, end: int, composer: _Field | None, asks: bool) -> Rows:
        """The rows that say what goes on now: right above the composer or at the end, and all below the composer."""
        found = self._shown(range(composer.bottom + 1, len(self.rows))) if composer else []
        above = self._shown(range(max(0, end - _ABOVE), end))
        if above and not asks and composer is None and self.rows[above[-1]].says("prompts"):
            return ()  # one types there, whatever turned above
        others = 0
        for row in reversed(above):
            one = self.rows[row]
            if asks and one.sort is not Sort.SPINNER:
                break
            if one.works and not (one.sort is Sort.HINT and one.keys > 2):
                if one.sort is Sort.SPINNER or one.says("runs") or not others:
                    found.append(row)
            elif one.written and not _of.bare_sign.fullmatch(one.text):
                goes_with = one.text[0] in "⎿└↳├"  # the row above it
                if one.says("said") or (one.says("speaks") and not goes_with and not one.framed):
                    break
                ticked = one.choice is not None and one.choice.box
                others += not (ticked or goes_with or one.sort in (Sort.HINT, Sort.GAUGE))
                if others > 2:
                    break
                if one.sort is Sort.GAUGE and not one.framed:
                    found.append(row)
        return tuple(sorted(found))

    def _person(self, end: int) -> Rows:
        """What a person said: from their sign on, as far as it is set in."""
        own = (box.rows for box in self.boxes if box.bottom < end and _of.persons.match(box.title))
        found = {row for rows in own for row in rows if self.rows[row].text}
        goes_on = False
        for row, one in enumerate(self.rows[:end]):
            set_in = goes_on and bool(one.text) and one.column >= 2 and not one.says("speaks")
            goes_on = set_in or one.says("said")
            if goes_on:
                found.add(row)
        return tuple(sorted(found))
