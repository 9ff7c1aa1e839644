"""What is typed, key by key: the strokes of an answer, and text in an agent's composer.  Pure.

A terminal in canonical mode gathers a line, which goes as one.  Everywhere else a program may take a single key, and a
second one would answer its next question.  So keys go one at a time: a text as far as the same prompt stands and shows
exactly what was typed, an option by its own key or by Up and Down as far as nothing but the selection moved.

For text the composer must be sure, its agent must read the terminal, and exactly what we know of may stand in it:
nothing before the text is typed, the text and nothing else before Enter.  What the screen says is judged without our
own text, which may itself read like a dialog.

An agent that hangs may be interrupted, or ended.  Its spinner turns, so the whole screen is never the same at two
looks: what must hold is who reads, and that nothing is shown which Escape would take away, neither a dialog nor a
draft.
"""

from __future__ import annotations

import re
from itertools import zip_longest

from attrs import evolve, frozen

from stallkit.detect.composer import Composer, Written, written
from stallkit.detect.dialog import Dialog
from stallkit.detect.dialog_parser import Reading, read_any
from stallkit.detect.engine import Match
from stallkit.detect.menu import Menu, bare, menu_of, read_menu
from stallkit.detect.signature import State
from stallkit.evidence.snapshot import KernelFacts, Snapshot
from stallkit.judging.verdict import Verdict
from stallkit.press.reader_check import came_later, is_of, unproven
from stallkit.terminal.keys import Key, Keys
from stallkit.terminal.screen import Screen, selected
from stallkit.terminal.text import cells, cut
from stallkit.word_tables import INTERPRETERS

# --- keys of an answer ---

ENTER = Keys.parse("Enter")
_UP, _DOWN = Keys.parse("Up"), Keys.parse("Down")
_MASKS = frozenset("*•●·▪")  # what prompts show in place of a secret's characters
_PROMPT_END = re.compile(r".*[?:>\])$#%›❯»…][ ]*(?P<draft>[^?:>\])$#%›❯»… ][^?:>\])$#%›❯»…]*)")
_CARETS = " _█▌▏"  # what programs draw in place of a cursor that they hide


@frozen
class Typing:
    """Keys of an answer: those to press now, `rest` after them, and the text that then must stand at the prompt.

    `hides`: what is typed need not be shown.
    """

    keys: Keys
    rest: tuple[Keys, ...]
    first: Screen
    typed: str = ""
    hides: bool = False

    @classmethod
    def of(cls, keys: Keys, seen: Snapshot, hides: bool = False) -> Typing:
        """How these keys are pressed at a prompt."""
        canonical = seen.tty is not None and seen.tty.canonical is True
        first, *rest = _lines(keys) if canonical else _singly(keys)
        return cls(first, tuple(rest), seen.screen, _text(first), hides)

    unmoved = "the screen does not show it"

    @property
    def more(self) -> bool:
        """Whether a key may follow these."""
        return bool(self.rest)

    def follows(self, now: Screen) -> Typing | None:
        """What is pressed at this screen, after its keys; None if nothing may be."""
        if not self.rest or not self._stands(now):
            return None
        head, *rest = self.rest
        return evolve(self, keys=head, rest=tuple(rest), typed=self.typed + _text(head))

    def still_there(self, now: Screen) -> bool:
        """Whether the prompt stands in its place, whatever it shows of what was typed."""
        was, is_now = self.first.prompt_line, now.prompt_line
        return bool(was.text.strip()) and was.row == is_now.row and is_now.text.startswith(was.text.rstrip())

    def _stands(self, now: Screen) -> bool:
        if not self.typed:
            return bare(self.first) == bare(now)
        if self.hides and self.first.fingerprint == now.fingerprint:
            return True
        lines = list(zip_longest(self.first.text.split("\n"), now.text.split("\n"), fillvalue=""))
        changed = [(was, line) for was, line in lines if was != line]
        cursor = self.first.cursor
        if cursor is None or cursor.visible is False:
            return len(changed) == 1 and _drawn(*changed[0], self.typed)
        if now.cursor is None or now.cursor.row != cursor.row or len(changed) > 1:
            return False
        if changed and changed[0] != lines[cursor.row]:
            return False
        asked, shown = self.first.prompt_line.text, now.prompt_line.text
        if not shown.startswith(asked) or not _shows(shown.removeprefix(asked), self.typed):
            return False
        behind, before = (_behind(screen).rstrip() for screen in (now, self.first))
        return behind in ("", before, before[len(self.typed) :])  # what stood there in place of an answer


@frozen
class Choosing:
    """An option that must be chosen: the key to press now, where the mark stood before it, and the steps left."""

    keys: Keys
    wanted: int
    menu: Menu
    first: Screen
    at: int | None
    steps: int

    unmoved = "the mark of its menu did not move, which may take other keys"

    @property
    def more(self) -> bool:
        """Whether a key may follow this one."""
        return self.keys != ENTER

    def follows(self, now: Screen) -> Choosing | None:
        """What is pressed at this screen, after its key; None if nothing may be."""
        shown = read_menu(now)
        if self.keys == ENTER or shown is None or not self._only_moved(now):
            return None
        if shown.selected == self.wanted:
            return evolve(self, keys=ENTER, at=shown.selected)
        if shown.selected in (self.at, None) or self.keys not in (_UP, _DOWN) or not self.steps:
            return None
        return evolve(self, keys=_towards(self.wanted, shown.selected), at=shown.selected, steps=self.steps - 1)

    def still_there(self, now: Screen) -> bool:
        """Whether the menu is shown, wherever its mark is."""
        shown = read_menu(now)
        pairs = zip_longest(self.menu.options, shown.options if shown else (), fillvalue=None)
        return all(was and is_now and is_now.text.startswith(was.text.split(" (")[0]) for was, is_now in pairs)

    def _only_moved(self, now: Screen) -> bool:
        """Whether every row is as it was, except for the mark, and for a hint behind the option that has it."""
        rows = zip_longest(bare(self.first), bare(now), fillvalue="")
        for number, (was, row) in enumerate(rows):
            lost = was.startswith(row) and selected(self.first.lines[number])
            if was != row and not lost and not (row.startswith(was) and was.strip() and selected(now.lines[number])):
                return False
        return True


@frozen
class Ticking:
    """Options that must be ticked, and no others: the key to press now, and the dialog as it was before it.

    Each is ticked by its own number; then Down leads to the row that sends them, and Enter follows there.
    """

    keys: Keys
    wanted: frozenset[str]
    forms: tuple[Dialog, ...]
    edge: tuple[str, ...]  # the row above the dialog, which it is read below
    shown: Reading
    steps: int

    unmoved = "no box of it was ticked, which may take other keys"

    @property
    def more(self) -> bool:
        """Whether a key may follow this one."""
        return self.keys != ENTER

    def follows(self, now: Screen) -> Ticking | None:
        """What is pressed at this screen, after its key; None if nothing may be."""
        shown = self._read(now)
        if self.keys == ENTER or shown is None or not self._did(shown):
            return None
        keys = _next_tick(shown, self.wanted)
        return evolve(self, keys=keys, shown=shown, steps=self.steps - 1) if keys and self.steps else None

    def still_there(self, now: Screen) -> bool:
        """Whether the dialog is shown, whatever is ticked in it."""
        return self._read(now) is not None

    def _read(self, now: Screen) -> Reading | None:
        """The same dialog as this screen shows it."""
        size = now.size and evolve(now.size, rows=now.size.rows + len(self.edge))
        found = read_any(self.forms, evolve(now, lines=(*self.edge, *now.lines), cursor=None, size=size))
        same = found.whole and found.submit is not None and _asked(found) == _asked(self.shown)
        return found if same else None

    def _did(self, now: Reading) -> bool:
        """Whether its key did what it is for, and nothing else: the number's box changed, or the mark moved on."""
        was = {one.text: one.ticked for one in self.shown.options}
        turned = [str(one.number) for one in now.options if one.ticked != was[one.text]]
        moved = _marked(now) != _marked(self.shown)
        return (turned == [] and moved) if self.keys == _DOWN else (turned == [_text(self.keys)] and not moved)


def _asked(reading: Reading) -> tuple[object, ...]:
    """What a dialog asks, whatever is ticked or marked in it."""
    asked = {name: text for name, text in reading.fields.items() if not reading.specs[name].aside}
    return asked, tuple((one.text, one.number, one.about) for one in reading.options)


def _marked(reading: Reading) -> list[str]:
    return [one.text for one in (*reading.options, *filter(None, [reading.submit])) if one.selected]


def _next_tick(shown: Reading, wanted: frozenset[str]) -> Keys | None:
    """The next key towards exactly these ticks and their sending."""
    wrong = [one for one in shown.options if one.ticked is not None and one.ticked is not (one.text in wanted)]
    if wrong:
        number = wrong[0].number
        return Keys.typed(str(number)) if number is not None and number < 10 else None
    return ENTER if shown.submit is not None and shown.submit.selected else _DOWN


Strokes = Typing | Choosing | Ticking


def _ticking(labels: tuple[str, ...], verdict: Verdict) -> Strokes | str:
    """How exactly these options are ticked and sent; or why they cannot be."""
    shown, match, lines = verdict.detection.dialog, verdict.match, verdict.detection.screen.lines
    if shown is None or match is None or shown.submit is None:
        return "more than one of its options may be chosen, and how they are sent is not known: go to its own terminal"
    ticked = {one.text for one in shown.options if one.ticked is not None}
    if missing := sorted(set(labels) - ticked):
        return f"{missing[0]!r} cannot be ticked: only {', '.join(map(repr, sorted(ticked)))}"
    keys, wanted = _next_tick(shown, frozenset(labels)), frozenset(labels)
    if keys is None:
        return "an option of it has no key of its own"
    edge = tuple(lines[shown.first - 1 : shown.first])
    return Ticking(keys, wanted, match.signature.dialogs, edge, shown, 3 * len(shown.options))


def choosing(label: str | tuple[str, ...], verdict: Verdict, seen: Snapshot, exactly: bool) -> Strokes | str:
    """How the option of that label is chosen at this look; or why it cannot be.  `exactly`: in these letter cases.

    Several labels: these are ticked and no others, and sent.  Buttons side by side are for a person alone.
    """
    if isinstance(label, tuple):
        return _ticking(label, verdict)
    if (dialog := verdict.detection.dialog) is not None and dialog.buttons and not exactly:
        return _at_button(label, dialog, verdict.detection.screen, seen)
    menu = menu_of(verdict.detection)
    if menu is None:
        return "it shows no menu whose rows can be read"
    wanted = menu.place(label)
    if wanted is None or (exactly and menu.options[wanted].text != label):
        return f"its menu has no option {label!r}: it has {', '.join(repr(one.text) for one in menu.options)}"
    key = menu.options[wanted].key
    if menu.selected is None and verdict.detection.dialog is None:  # a list of numbers with a prompt below
        return Typing.of(Keys((Key(literal=key), *ENTER.sequence)), seen) if key else "none of its options is marked"
    shown = read_menu(seen.screen)
    if menu.selected is None and not key:
        return "none of its options is marked"
    alike = shown is not None and (len(shown.options), shown.selected) == (len(menu.options), menu.selected)
    if not alike and not key and wanted != menu.selected:
        return "the rows of its menu cannot be told apart"
    keys = Keys.parse(key) if key else ENTER if wanted == menu.selected else _towards(wanted, menu.selected)
    return Choosing(keys, wanted, shown or menu, seen.screen, menu.selected, 2 * len(menu.options))


def _at_button(label: str, dialog: Reading, screen: Screen, seen: Snapshot) -> Strokes | str:
    """How a button is chosen, whichever is selected: by its own key, else by a click where it stands."""
    one = dialog.button(label)
    if one is None:
        return f"it has no button {label!r}: it has {', '.join(repr(one.button.text) for one in dialog.buttons)}"
    if one.button.key:
        return Typing(Keys.parse(one.button.key), (), seen.screen)
    if screen.size is None or any(cells(line.rstrip()) > screen.size.columns for line in screen.lines[: one.row]):
        return "a row above its buttons is wrapped: in which cell they stand is not known"
    return Typing(Keys.click(one.column, one.row), (), seen.screen)


def draft_at_prompt(verdict: Verdict, screen: Screen) -> str | None:
    """What stands between the prompt's own text and the cursor; None if nothing does, or if that is not known.

    A prompt's own text is what its signature names, else what ends in one of the signs that prompts end in.
    """
    cursor, line = screen.cursor, screen.prompt_line
    if verdict.state is not State.WAITING or cursor is None or cursor.visible is False or not line.text.strip():
        return None
    reading, text = verdict.detection.reading, line.text.rstrip()
    if (reading is not None and reading.whole) or read_menu(screen) is not None:
        return None  # every row of it is known
    for span in verdict.match.spans if verdict.match else ():
        if span.last_line == line.row and text.endswith(span.text.rstrip().split("\n")[-1]):
            return None
    found = _PROMPT_END.fullmatch(text)
    return found["draft"] if found else None


def _towards(wanted: int, at: int | None) -> Keys:
    return _DOWN if at is None or at < wanted else _UP


def _singly(keys: Keys) -> list[Keys]:
    """One key or character each."""
    parts = ([key] if key.name else [Key(literal=char) for char in key.literal] for key in keys.sequence)
    return [Keys((key,)) for part in parts for key in part]


def _lines(keys: Keys) -> list[Keys]:
    """As they are up to each Enter."""
    lines: list[list[Key]] = [[]]
    for key in keys.sequence:
        lines[-1].append(key)
        if key.name == "Enter":
            lines.append([])
    return [Keys(tuple(line)) for line in lines if line]


def _text(keys: Keys) -> str:
    return "".join(key.literal for key in keys.sequence if key.name is None)


def _drawn(was: str, now: str, typed: str) -> bool:
    """Whether a line got longer by exactly what was typed, with a cursor that the program draws."""
    asked, shown = was.rstrip(_CARETS), now.rstrip(_CARETS)
    return shown.startswith(asked) and _shows(shown.removeprefix(asked).strip(), typed.strip())


def _shows(shown: str, typed: str) -> bool:
    return shown == typed or (len(shown) == len(typed) and bool(shown) and _MASKS.issuperset(shown))


def _behind(screen: Screen) -> str:
    """What stands right of the cursor."""
    assert screen.cursor is not None
    line = screen.lines[screen.cursor.row] if screen.cursor.row < len(screen.lines) else ""
    return line[len(cut(line, screen.cursor.column)) :]


# --- text in a composer ---


@frozen
class Compose:
    """Keys for a composer that holds exactly the text `before`, and holds exactly `after` once they took effect.

    `instead` is what the empty composer shows.
    """

    keys: Keys
    composer: Composer
    before: str
    after: str
    instead: str = ""

    def beneath(self, seen: Snapshot) -> Snapshot:
        """The look as if we had typed nothing: what it says must not hang on our own text."""
        found = written(seen.screen, self.composer)
        if found is None or not found.is_exactly(self.before or self.after):
            return seen
        return evolve(seen, screen=found.put_back(seen.screen, self.instead))

    def doubt(self, verdict: Verdict, now: Snapshot) -> str | None:
        """The reason against the keys, from the look and the verdict on what is beneath the text; or None."""
        found = written(now.screen, self.composer)
        if self.before and (found is None or not found.is_exactly(self.before)):
            return "what stands in the composer is not exactly the text"
        return doubt(verdict, self.beneath(now))

    def took_effect(self, after: Snapshot) -> bool:
        """Whether the keys did what they were for."""
        found = written(after.screen, self.composer)
        if self.after:
            return found is not None and found.is_exactly(self.after)
        return found is None or found.at_start


def doubt(verdict: Verdict, seen: Snapshot) -> str | None:
    """Why this is not an empty composer of the agent that reads the terminal; or None."""
    match = verdict.match
    if verdict.state is not State.IDLE or match is None:
        return f"it is {verdict.state}: {verdict.reasons[-1]}"
    if not verdict.sure_by_screen:
        return f"it may be a picture of a composer: {verdict.reasons[-1]}"
    name = f"{match.pack.name}:{match.signature.id}"
    if match.signature.composer is None:
        return f"{name} does not say where the text stands in it"
    proven = match.pack.own and unproven(match.pack, seen.kernel) is None  # whatever started it: a script, a loop
    if not (proven or by_its_agent(match, seen) or _in_bubblewrap(match, seen)):
        return f"the program that reads is not one that pack {match.pack.name} names"
    found = written(seen.screen, match.signature.composer)
    if found is None:
        return "the cursor is not in the composer"
    return None if found.empty else draft(found)


def by_its_agent(match: Match, seen: Snapshot) -> bool:
    """Whether the agent itself reads: by its name, or as the script of an interpreter in the foreground."""
    kernel, foreground = seen.kernel, seen.foreground
    if kernel is None or kernel.reader is not None or foreground is None:
        return False
    if foreground not in match.pack.foreground and foreground.rstrip("0123456789.") not in match.pack.foreground:
        return False
    if not all(is_of(match.pack, reader, kernel) for reader in kernel.readers or ()):
        return False
    alive = [member for member in kernel.members if not member.ended]
    present = {name for member in alive for name in (member.name, member.script)}
    agents = match.pack.foreground - INTERPRETERS
    return not agents.isdisjoint({foreground, *present})


def _in_bubblewrap(match: Match, seen: Snapshot) -> bool:
    """Whether only agents, each by its own name, read below bubblewrap, and nothing that runs there is hidden."""
    kernel, own = seen.kernel, match.pack.foreground - INTERPRETERS
    if kernel is None or kernel.reader is not None or seen.foreground != "bwrap" or not kernel.complete:
        return False
    readers = kernel.readers or ()
    return bool(readers) and all(is_of(match.pack, one, kernel) and own & {*one.names, one.script} for one in readers)


def draft(found: Written) -> str:
    """Where somebody's text may stand, in words."""
    where = "right of the cursor" if found.at_start else "left of the cursor"
    return f"somebody's text may stand in the composer, {where}"


# --- an agent that hangs ---


def doubt_of_work(verdict: Verdict, now: Snapshot) -> str | None:
    """Why this may not be an agent that surely says it works, above a composer without a draft; or None."""
    match, kernel = verdict.match, now.kernel or KernelFacts()
    if now.sealed:
        return "it is sealed: no key goes in, and it is not ended for hanging (stallkit sandbox rebuild)"
    if verdict.state is not State.WORKING or match is None or match.signature.state is not State.WORKING:
        return f"it does not say that it works: it is {verdict.state} ({verdict.reasons[-1]})"
    if not verdict.sure_by_screen:
        return f"it may be a picture of an agent at work: {'; '.join(verdict.reasons)}"
    if any(one.counts and one.state is State.WAITING for one in verdict.signals):
        return "it says itself that it waits"
    if kernel.relay is not None or kernel.through is not None:
        return f"it is shown through {kernel.through or kernel.relay}"
    if not match.pack.foreground or not by_its_agent(match, now):
        return f"the program in the foreground is not one that pack {match.pack.name} names"
    return _doubt_of_composer(match, now)


def doubt_of_interrupt(verdict: Verdict, now: Snapshot, before: Snapshot) -> str | None:
    """Why Escape may reach something else than that agent's turn, from two looks; or None."""
    doubt = doubt_of_work(verdict, now)
    if doubt is not None:
        return doubt
    if now.kernel is None or not now.kernel.readers:
        return "which process reads the terminal is unknown"
    if verdict.match is not None and (doubt := unproven(verdict.match.pack, now.kernel)):
        return doubt
    return came_later(now, before)


def _doubt_of_composer(match: Match, now: Snapshot) -> str | None:
    """Whether a draft may be in the composer, or something in its place, if its agent has one."""
    composers = {one.composer for one in match.pack.signatures if one.composer is not None}
    if not composers:
        return None
    found = [one for composer in composers if (one := written(now.screen, composer)) is not None]
    if not found:
        return "the cursor is not in its composer: something else may stand in its place"
    return next((draft(one) for one in found if not one.empty), None)
