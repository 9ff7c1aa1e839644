"""What the whole of a dialog looks like, row by row, as values: fields, elements, edges.

A signature's clauses find a prompt.  Its dialog describes all of it: every row that is not blank, from the first one
below an edge to the last of the screen.  Only a dialog that is wholly recognised gets a key (`dialog_parser`).
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cached_property
from typing import Iterable, Mapping, Sequence

import regex
from attrs import field, frozen
from attrs.converters import optional
from attrs.validators import ge

from stallkit.short_repr import short_repr
from stallkit.terminal.keys import Keys

RULE = "─"  # stands for a row of nothing but box drawing


class FieldType(StrEnum):
    """What may stand in a field."""

    CHOICE = "choice"  # one of the texts that the pack gives
    NUMBER = "number"
    WORD = "word"  # no blank in it
    PATH = "path"
    LINE = "line"  # of prose
    ADDRESS = "address"
    COMMAND = "command"
    TEXT = "text"  # a file's content, a plan, a question of several rows


class Edge(StrEnum):
    """What the row above a dialog's first row is.  An edge inside a field of another dialog is none."""

    TOP = "top"  # of the screen, where nothing has scrolled away
    BLANK = "blank"
    RULE = "rule"  # box drawing from side to side
    FRAME = "frame"  # the upper side of a box
    ANY = "any"  # whatever it is: for prompts of one line, whose surroundings a policy reads


class Role(StrEnum):
    """What an option does, if it can be said for every request of its kind."""

    ONCE = "once"
    ALWAYS = "always"
    REJECT = "reject"
    SUBMIT = "submit"  # sends what is ticked: it is no answer itself


# pattern of one field, characters and rows at most
_FIELDS: dict[FieldType, tuple[str, int, int]] = {
    FieldType.CHOICE: ("", 200, 1),
    FieldType.NUMBER: (r"\d+(?:[.,]\d+)*[kKMGT%]?", 12, 1),
    FieldType.WORD: (r"\S+", 64, 1),
    FieldType.PATH: (r"\S[\s\S]*", 1_024, 6),
    FieldType.LINE: (r"\S[^\n]*", 400, 1),
    FieldType.ADDRESS: (r"\S[\S\n]*", 2_048, 8),
    FieldType.COMMAND: (r"\S[\s\S]*", 8_000, 60),
    FieldType.TEXT: (r"\S[\s\S]*", 20_000, 120),
}
# What somebody else wrote never decides for itself that it is harmless.
_DECIDES = frozenset({FieldType.CHOICE, FieldType.NUMBER, FieldType.WORD, FieldType.PATH})
_MAY_DECIDE = _DECIDES | {FieldType.LINE}
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
_PLACE = re.compile(r"\{([a-z][a-z0-9_]{0,31})\}")
_FLOW_ROWS = 10  # that a literal text takes at most: 400 characters in 40 columns
_MARKS = "❯›▸▶➤➜→●◉❭»>"
# An option's row: a mark where it is selected, a number, a tick where it is in force.
_OPTION = rf"(?:(?P<mark_>[{_MARKS}])[ ]+|[○◯][ ]+)?(?:(?P<number_>\d{{1,2}})[.)][ ]+)?(?:✔[ ]+)?"
_TICK = r"(?:[ ][✔✓])?"
# The first row of one of several choices: what is said of it follows two blanks, or stands in rows of its own.
CHOICE = re.compile(
    rf"(?:(?P<mark>[{_MARKS}])[ ]+)?(?:\[(?P<before>.?)\][ ]+)?(?P<number>\d{{1,2}})[.)][ ]+(?:\[(?P<box>.?)\][ ]+)?"
    r"(?P<label>\S+(?:[ ]\S+)*)(?:[ ]{2,}(?P<about>\S.*))?"
)
_CHOICES = regex.compile(rf"(?:[{_MARKS}][ ]+)?(?:\[.?\][ ]+)?\d{{1,2}}[.)][ ]+\S.*(?:\n(?!{RULE}(?:\n|$)).+)*")
_CHOICES_ROWS = 60


def _strings(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


@frozen
class FieldSpec:
    """What may stand in a field, how long it is, and whether a dialog that shows it may be answered by its pack.

    `most` counts characters, `one_of` are the texts of a choice; `decides` is by default true for choices, numbers,
    words and paths, and never for a command, an address or a text.  Raises ValueError for an unknown type, or one that
    never decides.
    """

    type: FieldType = field(converter=FieldType)
    most: int = field(default=0, validator=ge(0))
    decides: bool = False
    one_of: tuple[str, ...] = field(default=(), converter=_strings)
    aside: bool = False  # a remark: where it ends does not matter, nor does a rule have to name it

    @classmethod
    def of(cls, given: FieldSpec | str | Sequence[str] | Mapping[str, object]) -> FieldSpec:
        """The field as a pack writes it: its type, a list of choices, or a table with `is`, `most` and `decides`."""
        if isinstance(given, FieldSpec):
            return given
        if not isinstance(given, (str, Mapping)):
            return cls(FieldType.CHOICE, decides=True, one_of=tuple(map(str, given)))
        table = {"is": given} if isinstance(given, str) else dict(given)
        if unknown := sorted(table.keys() - {"is", "most", "decides", "aside"}):
            raise ValueError(f"unknown key {unknown[0]!r} of a field: use is, most, decides, aside")
        if "is" not in table:
            raise ValueError(f"a field says what it is: one of {', '.join(FieldType)}")
        kind, most = FieldType(str(table["is"])), table.get("most", 0)
        decides = table.get("decides", kind in _DECIDES)
        aside = table.get("aside", False)
        if not isinstance(most, int) or not isinstance(decides, bool) or not isinstance(aside, bool):
            raise ValueError("most is a number of characters, decides and aside are true or false")
        return cls(kind, most, decides, aside=aside)

    def __attrs_post_init__(self) -> None:
        if self.decides and self.type not in _MAY_DECIDE:
            raise ValueError(f"a {self.type} never decides: leave out decides")
        if (self.type is FieldType.CHOICE) != bool(self.one_of):
            raise ValueError("a choice is a list of texts")

    @property
    def rows(self) -> int:
        """How many rows it takes at most."""
        return _FIELDS[self.type][2]

    @property
    def pattern(self) -> str:
        """The pattern of its content, without the limit of its length."""
        if self.one_of:
            return "|".join(r"[ \n]+".join(map(re.escape, text.split())) for text in self.one_of)
        return _FIELDS[self.type][0]

    def fits(self, content: str) -> bool:
        """Whether the content is no longer than the field may be."""
        return len(content) <= (self.most or _FIELDS[self.type][1])


def _times(value: Iterable[int]) -> tuple[int, int]:
    least, most = value
    return least, most


@frozen
class Button:
    """One of several options side by side, of which colour alone shows the selected one.

    So Enter may mean any of them: it is chosen by its own `key`, as tmux names it, or by a click.  Raises ValueError.
    """

    text: str
    role: Role | None = field(default=None, converter=optional(Role))
    key: str = ""

    def __attrs_post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("a button has a text")
        if self.key:
            Keys.parse(self.key)


@frozen(kw_only=True)
class Element:
    """One part of a dialog, from top to bottom: alternatives of a `row`, an `option` or a `pattern`; choices; a rule.

    A row is literal text with ``{fields}`` in it, broken at its blanks where the terminal is narrow.  An option is a
    row of a menu without its mark and number.  A pattern holds for one row as a whole; its named groups are fields.  A
    rule is a row of box drawing.  Choices are a numbered list of options whose words are anybody's, with what is said
    of each behind or below it.  Buttons stand side by side in one row; hints may follow behind two blanks.
    `times` is how often it occurs, at least and at most; `at_cursor`: the cursor stands behind it, with nothing to its
    right.  Raises ValueError, and regex.error for a pattern that is none.
    """

    row: tuple[str, ...] = field(default=(), converter=_strings)
    option: tuple[str, ...] = field(default=(), converter=_strings)
    pattern: tuple[str, ...] = field(default=(), converter=_strings)
    choices: bool = False
    rule: bool = False
    buttons: tuple[Button, ...] = field(default=(), converter=tuple)
    times: tuple[int, int] = field(default=(1, 1), converter=_times)
    role: Role | None = field(default=None, converter=optional(Role))
    ignore_case: bool = False
    at_cursor: bool = False
    selected: bool | None = None  # of an option: where the mark must stand, or must not
    key: str = ""  # of an option: what chooses it, as tmux names it, where Enter in its row does not

    def __attrs_post_init__(self) -> None:
        one_of = (self.row, self.option, self.pattern, self.choices, self.rule, self.buttons)
        if sum(map(bool, one_of)) != 1 or not all(text.strip() for text in self.sources):
            raise ValueError("an element has a row, an option, a pattern or buttons, or is choices or a rule")
        if not 0 <= self.times[0] <= self.times[1] or self.times[1] < 1:
            raise ValueError(f"times {list(self.times)} is not [at least, at most]")
        if (self.role is not None or self.key) and not self.option:
            raise ValueError("only an option has a role or a key")
        if self.key:
            Keys.parse(self.key)
        for text in self.pattern:
            regex.compile(text)  # raises regex.error

    @property
    def sources(self) -> tuple[str, ...]:
        """The alternatives as written."""
        if self.buttons:
            return ("  ".join(button.text for button in self.buttons),)
        return self.row or self.option or self.pattern or (("choices",) if self.choices else (RULE,))

    @property
    def names(self) -> frozenset[str]:
        """The fields in it."""
        if self.pattern:
            return frozenset(name for text in self.pattern for name in regex.compile(text).groupindex)
        if self.buttons:
            return frozenset()
        return frozenset(name for text in self.sources for name in _PLACE.findall(text))


@frozen
class Form:
    """One alternative of an element, compiled: `shortest` and `longest` differ in what a field takes."""

    shortest: regex.Pattern[str]
    longest: regex.Pattern[str]
    rows: int  # that it takes at most
    source: str


def _forms(element: Element, fields: Mapping[str, FieldSpec]) -> tuple[Form, ...]:
    flags = regex.IGNORECASE if element.ignore_case else 0
    if element.choices:
        return (Form(_CHOICES, _CHOICES, _CHOICES_ROWS, element.sources[0]),)
    if element.buttons:
        texts = (rf"(?P<button{place}>{re.escape(one.text)})" for place, one in enumerate(element.buttons))
        side_by_side = regex.compile(r"[ ]{2,}".join(texts) + r"(?:[ ]{2,}\S.*)?")
        return (Form(side_by_side, side_by_side, 1, element.sources[0]),)
    if element.pattern:
        compiled = [regex.compile(text, flags) for text in element.pattern]
        return tuple(Form(one, one, 1, one.pattern) for one in compiled)
    return tuple(_form(text, bool(element.option), fields, flags) for text in element.sources)


def _form(text: str, option: bool, fields: Mapping[str, FieldSpec], flags: int) -> Form:
    plain = " ".join(text.split())
    short, long = _body(plain, fields, lazy=True), _body(plain, fields, lazy=False)
    rows = sum(fields[name].rows for name in _PLACE.findall(plain))
    if option:
        short, long = (f"{_OPTION}(?P<text_>{body}){_TICK}" for body in (short, long))
        rows = max(rows, 1) + max(2, len(text) // 30)
    else:
        rows += min(_FLOW_ROWS, len(text) // 8 + 1)
    return Form(regex.compile(short, flags), regex.compile(long, flags), rows, plain)


def _body(text: str, fields: Mapping[str, FieldSpec], lazy: bool) -> str:
    """The pattern of a literal text with fields in it, which take as little as they can, or as much."""
    found, *rest = [r"[ \n]+".join(map(re.escape, piece.split(" "))) for piece in _PLACE.split(text)[::2]]
    for name, literal in zip(_PLACE.findall(text), rest, strict=True):
        pattern = fields[name].pattern
        if lazy and not fields[name].one_of:
            pattern = re.sub(r"([*+])$", r"\1?", pattern)
        found += f"(?P<{name}>{pattern}){literal}"
    return found


def _elements(values: Iterable[Element | str]) -> tuple[Element, ...]:
    return tuple(Element(row=value) if isinstance(value, str) else value for value in values)


def _fields(values: Mapping[str, FieldSpec | str | Sequence[str] | Mapping[str, object]]) -> dict[str, FieldSpec]:
    return {name: FieldSpec.of(value) for name, value in values.items()}


def _edges(values: Iterable[Edge | str] | str) -> frozenset[Edge]:
    return frozenset(map(Edge, _strings(values)))


@frozen
class Dialog:
    """The whole of a dialog: its elements from top to bottom, its fields, and the edges that it may begin below.

    Raises ValueError for a field that is used and not described, or described and not used.

    >>> asks = Dialog(["Overwrite {file}? [y/N]"], "any", {"file": "path"})
    >>> asks.elements[0].names, asks.undecided_by
    (frozenset({'file'}), None)
    """

    elements: tuple[Element, ...] = field(converter=_elements)
    edges: frozenset[Edge] = field(converter=_edges)
    fields: Mapping[str, FieldSpec] = field(factory=dict, converter=_fields, hash=False)

    __repr__ = short_repr("elements", "edges")

    def __attrs_post_init__(self) -> None:
        if not self.elements or not self.edges:
            raise ValueError("a dialog has rows, and an edge that it begins below")
        used = frozenset[str]().union(*(element.names for element in self.elements))
        if missing := sorted(used - self.fields.keys()):
            raise ValueError(f"{missing[0]} is no field: say in fields what it is")
        if idle := sorted(self.fields.keys() - used):
            raise ValueError(f"field {idle[0]} stands in no row")
        if bad := [name for name in self.fields if not _NAME.fullmatch(name)]:
            raise ValueError(f"{bad[0]!r} is not a name of lower-case letters, digits and _")
        often = frozenset[str]().union(*(element.names for element in self.elements if element.times[1] > 1))
        if lost := [name for name in sorted(often) if not (self.fields[name].decides or self.fields[name].aside)]:
            raise ValueError(f"{lost[0]} stands in a row that occurs more than once: only the last would be read")

    @property
    def undecided_by(self) -> str | None:
        """The field that keeps a pack from answering this dialog, or None."""
        return next((name for name, spec in self.fields.items() if not spec.decides), None)

    @cached_property
    def has_choices(self) -> bool:
        """Whether a list whose words are anybody's is a part of it."""
        return any(element.choices for element in self.elements)

    @cached_property
    def forms(self) -> tuple[tuple[Form, ...], ...]:
        """The alternatives of each element, compiled."""
        return tuple(_forms(element, self.fields) for element in self.elements)
