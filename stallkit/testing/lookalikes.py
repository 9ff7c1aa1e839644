"""Screens made from a captured one: the same prompt in other words and dress, and texts that only mention it.  Pure.

The strategies draw from these, and ``stallkit pack tune`` tries some of each.  `fillings` puts other contents into the
fields of a dialog, by their types, so that a pattern which holds on the captured words alone is found.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Iterator, Sequence

from attrs import evolve, frozen

from stallkit.detect.dialog import FieldSpec, FieldType
from stallkit.detect.dialog_parser import SIDES, Reading, read_any
from stallkit.detect.signature import Kind, Signature, State
from stallkit.terminal.screen import Screen
from stallkit.terminal.text import cells
from stallkit.testing.example import Example

FORMS = ("prose", "code block", "diff", "answered", "busy below")
SCROLLBACK = [
    "Reading package lists... Done",
    "drwxr-xr-x 2 dev dev 4096 Nov  2 10:11 src",
    "Compiled 214 files.",
    "名前を変更しました。",
    "café ✨ ready",
    "  at main (src/index.js:12:3)",
    "",
]
_ANSWERS: dict[Kind, list[str]] = {
    Kind.CONFIRM: ["y", "n", "yes"],
    Kind.SELECT: ["1", "2"],
    Kind.TEXT: ["acme"],
    Kind.QUESTION: ["acme"],
}
_BELOW = (["It went on."], ["Setting up acme (4.2) ...", "Done."], ["Installed 12 packages."])
BUSY = ["⠹ Building the project… (12s · esc to interrupt)", "✻ Thinking… (3s · esc to interrupt)"]
_CONTENTS: dict[FieldType, tuple[str, ...]] = {
    FieldType.NUMBER: ("7", "58", "203"),
    FieldType.WORD: ("acme", "x7", "new-name"),
    FieldType.PATH: ("src/main.rs", "/srv/files/notes.txt", "x"),
    FieldType.LINE: ("Rename the column", "It takes a while"),
    FieldType.ADDRESS: ("https://example.com/a",),
    FieldType.COMMAND: ("make check", "git log -3"),
    FieldType.TEXT: ("It begins here",),
}


@frozen
class Physical:
    """Lines and the cursor in them (column, row), before a terminal wraps and colours them."""

    lines: tuple[str, ...]
    cursor: tuple[int, int] | None
    visible: bool | None = None
    columns: int | None = None
    rows: int = 0
    title: str | None = None
    alternate: bool | None = None

    @classmethod
    def of(cls, screen: Screen) -> Physical:
        """What a screen shows."""
        cursor, size = screen.cursor, screen.size
        missing = cursor.row + 1 - len(screen.lines) if cursor else 0  # rows that a capture left out at its end
        return cls(
            (*screen.lines, *[""] * missing),
            (cursor.column, cursor.row) if cursor else None,
            cursor.visible if cursor else None,
            size.columns if size else None,
            size.rows if size else 0,
            screen.title,
            screen.alternate,
        )

    def under(self, lines: Sequence[str]) -> Physical:
        """A copy with lines above it."""
        cursor = self.cursor and (self.cursor[0], self.cursor[1] + len(lines))
        return evolve(self, lines=(*lines, *self.lines), cursor=cursor)

    def above(self, lines: Sequence[str]) -> Physical:
        """A copy with lines below it."""
        return evolve(self, lines=(*self.lines, *lines))

    def with_cursor_behind(self) -> Physical:
        """A copy with the cursor after its last line that is not blank."""
        row = max((number for number, line in enumerate(self.lines) if line.strip()), default=0)
        return evolve(self, cursor=(cells(self.lines[row]) if self.lines else 0, row))

    def with_cursor_below(self) -> Physical:
        """A copy with the cursor at the start of a new line."""
        return evolve(self, lines=(*self.lines, ""), cursor=(0, len(self.lines)))

    def screen(self) -> Screen:
        """The screen that shows it."""
        size = (self.columns, max(self.rows, len(self.lines))) if self.columns else None
        text = "\n".join(self.lines) + "\n"  # as a capture ends: the last newline is not a row
        return Screen.from_text(text, self.cursor, size, self.visible, self.title, self.alternate)


# --- a prompt that is only mentioned ---


def forms_of(signature: Signature) -> tuple[str, ...]:
    """The forms in which its prompt can be mentioned: only one at the cursor shows that it was answered."""
    return FORMS if signature.at_cursor else tuple(form for form in FORMS if form != "answered")


def mentions(signature: Signature, base: Screen, form: str) -> list[Physical]:
    """What mentions the prompt of a screen in one of `FORMS`; the cursor is visible after the text."""
    lines = [line.rstrip() for line in base.lines]
    while lines and not lines[-1]:
        lines.pop()
    ink = [line for line in lines if line.strip()]
    match form:
        case "answered":
            prompt = base.prompt_line
            made = [
                [*lines[: prompt.row], _typed(prompt.text, answer), *below]
                for answer in _ANSWERS.get(signature.kind or Kind.TUI, [""])
                for below in _BELOW
            ]
        case "busy below":
            made = [[*lines, "", busy] for busy in BUSY]
        case "prose":
            quotes = [f'The screen read "{line.strip()}" and it went on by itself.' for line in ink]
            made = [["Here is what happened before:", "", *quotes]]
        case "code block":
            made = [["The manual shows this:", "", "```", *ink, "```", "", "That is all there is to it."]]
        case _:
            made = [["@@ -12,4 +12,4 @@", " before", *(sign + line for line in ink), " after"] for sign in "+- "]
    shown = [Physical(tuple(rows), None, visible=True) for rows in made]
    return [one.with_cursor_behind() if form == "busy below" else one.with_cursor_below() for one in shown]


def _typed(prompt: str, answer: str) -> str:
    return prompt + answer if prompt.endswith(" ") or not answer else f"{prompt} {answer}"


# --- other contents in the fields of a dialog ---


@lru_cache(maxsize=4096)  # a property asks again and again
def fillings(signature: Signature, base: Screen) -> tuple[Screen, ...]:
    """The screen, and it with another content in one field of its dialog each: all are read as that dialog."""
    reading = _read(signature, base)
    if reading is None:
        return (base,)
    made = [base]
    for name, value in reading.fields.items():
        for content in _contents(reading.specs[name], value):
            other = _filled(signature, base, reading, name, content)
            again = other and _read(signature, other)
            if other and again and again.fields == {**reading.fields, name: content}:
                made.append(other)
    return tuple(made)


def in_a_terminal(screen: Screen) -> Screen:
    """A hit that is nothing but text, in a terminal with room below it, the cursor behind its last line."""
    if screen.size is not None:
        return screen
    rows = screen.text.rstrip("\n").split("\n")
    size = (max(map(cells, rows)) + 1, len(rows) + 2)
    return Screen.from_text(screen.text, cursor=(cells(rows[-1]), len(rows) - 1), size=size)


def _read(signature: Signature, screen: Screen) -> Reading | None:
    reading = read_any(signature.dialogs, in_a_terminal(screen)) if signature.dialogs else None
    return reading if reading and reading.whole else None


def _contents(spec: FieldSpec, value: str) -> Iterator[str]:
    """Other contents of a field; none for one that takes several rows on this screen, or is spelled in another case."""
    for content in spec.one_of or _CONTENTS.get(spec.type, ()):
        if "\n" not in value and content != value and spec.fits(content) and value in (spec.one_of or value):
            yield content


def _filled(signature: Signature, base: Screen, reading: Reading, name: str, content: str) -> Screen | None:
    """The screen with another content in each row where the field stands; None if a row has no room for it."""
    shown = Physical.of(base)
    forms = {form.source: form for dialog in signature.dialogs for some in dialog.forms for form in some}
    for row in reading.rows:
        form = forms.get(row.as_what)
        if form is None or name not in form.shortest.groupindex:
            continue
        match = form.shortest.fullmatch(row.text)
        alone = reading.specs[name].type is FieldType.LINE and match and match[name] == row.text
        if match is None or match[name] != reading.fields[name] or alone or row.row >= len(shown.lines):
            return None  # a line that fills its row is what the clauses look for
        line = shown.lines[row.row]
        first = line.index(row.text) + match.start(name)
        last = first + len(match[name])
        wider = cells(content) - cells(line[first:last])
        rest = _moved(line[last:], wider)
        if rest is None:
            return None
        column, at = shown.cursor or (0, -1)
        behind = at == row.row and column >= cells(line[:last])
        lines = [*shown.lines]
        lines[row.row] = line[:first] + content + rest
        shown = evolve(shown, lines=tuple(lines), cursor=(column + wider, at) if behind else shown.cursor)
    return shown.screen() if shown.lines != Physical.of(base).lines else None


def _moved(rest: str, wider: int) -> str | None:
    """What stands behind a content that is so much wider: the side of a box keeps its place, if there is room."""
    side = rest.rstrip()[len(rest.rstrip().rstrip(SIDES)) :]
    if not side:
        return rest
    inner = rest.rstrip()[: -len(side)]
    room = len(inner) - len(inner.rstrip()) - wider
    return inner.rstrip() + " " * room + side if room >= 0 else None


# --- some of each ---


def made_from(signature: Signature, hit: Example) -> Iterator[Example]:
    """Examples made of a hit: what must match as it does, and, where it waits, what only mentions it.

    They are named after it, as in ``hits[1], quoted in prose``.
    """
    base, shown = hit.screen, Physical.of(hit.screen)
    same = [(f"with other contents ({number})", one) for number, one in enumerate(fillings(signature, base)[1:], 1)]
    same += [("above blank rows", shown.above(["", ""]).screen())]
    if base.alternate is not True:
        same += [("below other output", shown.under([*SCROLLBACK[:3], ""]).screen())]
    for name, screen in same:
        yield Example(signature.id, f"{hit.name}, {name}", screen, wanted=True)
    for form in forms_of(signature) if signature.state is State.WAITING else ():
        told = mentions(signature, base, form)[0].screen()
        yield Example(signature.id, f"{hit.name}, as a mention: {form}", told, wanted=False)
