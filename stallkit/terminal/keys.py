"""Keys to press, in tmux's names, as one small closed language.

``1 Enter`` presses the character 1 and then Enter; ``C-c`` holds Control; ``'Yes please' Enter`` types the text
between the quotes.  A bare word in lower case, a number or a single character types itself.  Anything else that is not
a known name is refused: a mistyped ``Entre`` must not be typed into a prompt.  A click of the mouse is made by
`Keys.click` alone, and has no written form.
"""

from __future__ import annotations

import re
import unicodedata

from attrs import frozen

from stallkit.errors import bad_argument

# What xterm sends (ctlseqs, "PC-Style Function Keys") under the names of tmux's manual, section KEY BINDINGS.
_CURSOR = {"Up": "A", "Down": "B", "Right": "C", "Left": "D", "End": "F", "Home": "H"}
_BYTES = {
    "Enter": "\r", "Escape": "\x1b", "Tab": "\t", "BTab": "\x1b[Z", "Space": " ", "BSpace": "\x7f",
    "IC": "\x1b[2~", "DC": "\x1b[3~", "PageUp": "\x1b[5~", "PageDown": "\x1b[6~",
    "F1": "\x1bOP", "F2": "\x1bOQ", "F3": "\x1bOR", "F4": "\x1bOS", "F5": "\x1b[15~", "F6": "\x1b[17~",
    "F7": "\x1b[18~", "F8": "\x1b[19~", "F9": "\x1b[20~", "F10": "\x1b[21~", "F11": "\x1b[23~", "F12": "\x1b[24~",
}  # fmt: skip
_CONTROLS = {f"C-{letter}": chr(ord(letter) & 0x1F) for letter in "abcdefghijklmnopqrstuvwxyz"}
_BYTES |= _CONTROLS | {"C-Space": "\0", "C-[": "\x1b", "C-\\": "\x1c", "C-]": "\x1d", "C-_": "\x1f"}
KEY_NAMES = frozenset(_BYTES) | frozenset(_CURSOR)
_CLICK = "Click"

_TOKEN = re.compile(r"\s*(?:'(?P<quoted>(?:[^'\\]|\\.)*)'(?=\s|$)|(?P<bare>\S+))")
_TYPES_ITSELF = re.compile(r"[a-z]+|[0-9]+|[^\s\x00-\x1f\x7f'\\]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@frozen
class Key:
    """One key by name, literal text to type, or a click in a cell, (column, row) from 0."""

    name: str | None = None
    literal: str = ""
    cell: tuple[int, int] | None = None

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        if _TYPES_ITSELF.fullmatch(self.literal):
            return self.literal
        return "'" + re.sub(r"(['\\])", r"\\\1", self.literal) + "'"


@frozen
class Keys:
    """A sequence of keys, in the order they are pressed.

    >>> Keys.parse("1 Enter").to_bytes()
    b'1\\r'
    """

    sequence: tuple[Key, ...]

    def __repr__(self) -> str:
        return f"Keys({self.shown!r})"

    @property
    def shown(self) -> str:
        """Its keys by name, and of a text its length alone: it may be a secret.

        >>> Keys.parse("Down 'hunter2' Enter").shown
        'Down [7 characters] Enter'
        """
        return " ".join(key.name or f"[{len(key.literal)} characters]" for key in self.sequence)

    @classmethod
    def parse(cls, text: str | Keys) -> Keys:
        """Keys from their written form; raises ValueError, naming the word, for an unknown key.

        >>> Keys.parse("1 Enter").to_bytes()
        b'1\\r'
        """
        if isinstance(text, Keys):
            return text
        if not isinstance(text, str):
            raise bad_argument("keys are written as a text", text, "write such as 'Down Enter'")
        sequence: list[Key] = []
        position = 0
        text = text.rstrip()
        while position < len(text):
            token = _TOKEN.match(text, position)
            assert token is not None  # any non-blank rest is a bare word at least
            position = token.end()
            sequence.append(_key(token))
        if not sequence:
            raise ValueError("no keys given: leave the dismissal out where nothing is to be pressed")
        return cls(tuple(sequence))

    @classmethod
    def typed(cls, text: str) -> Keys:
        """Keys that type exactly this text; raises ValueError for half a character (a lone surrogate).

        A byte that could not be decoded (`surrogateescape`) is typed as that byte.
        """
        try:
            text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise ValueError(f"{text[error.start]!a} is half a character: it cannot be typed") from error
        return cls((Key(literal=text),))

    @classmethod
    def line(cls, text: str) -> Keys:
        """Keys that type this text and press Enter; raises ValueError if it is not one line without control keys.

        >>> Keys.line("yes").to_bytes()
        b'yes\\r'
        """
        if any(unicodedata.category(char) in ("Cc", "Zl", "Zp") for char in text):
            raise ValueError("an answer is one line without control characters: each of them would be a key of its own")
        return cls((*(cls.typed(text).sequence if text else ()), Key(name="Enter")))

    @classmethod
    def click(cls, column: int, row: int) -> Keys:
        """The left button pressed and released in one cell, as a terminal tells it to a program that asked (1006, SGR).

        >>> Keys.click(4, 2).to_bytes()
        b'\\x1b[<0;5;3M\\x1b[<0;5;3m'
        """
        return cls((Key(name=_CLICK, cell=(column, row)),))

    @property
    def clicks(self) -> bool:
        """Whether a click is among them, which means something else to a program that did not ask for the mouse."""
        return any(key.cell is not None for key in self.sequence)

    def to_bytes(self, application_cursor: bool = False) -> bytes:
        """What a terminal sends for these keys; `application_cursor` is its DECCKM mode, which changes the arrows."""
        lead = "\x1bO" if application_cursor else "\x1b["
        return "".join(_sent(key, lead) for key in self.sequence).encode("utf-8", "surrogateescape")

    def to_tmux(self, application_cursor: bool = False) -> list[str]:
        """The hexadecimal arguments of tmux's ``send-keys -H``, the only form that is byte-exact on every version."""
        return [f"{byte:02x}" for byte in self.to_bytes(application_cursor)]

    def __str__(self) -> str:
        return " ".join(map(str, self.sequence))


def _sent(key: Key, lead: str) -> str:
    """What a terminal sends for one key; the arrows begin with `lead`."""
    if key.cell is not None:
        column, row = (number + 1 for number in key.cell)
        return f"\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m"
    if key.name is None:
        return key.literal
    return lead + _CURSOR[key.name] if key.name in _CURSOR else _BYTES[key.name]


def _key(token: re.Match[str]) -> Key:
    if token["quoted"] is not None:
        literal = _ESCAPED.sub(r"\1", token["quoted"])
        if not literal.isprintable():
            raise ValueError(f"a control character in {literal!r}: write keys that are not text by their names")
        return Key(literal=literal)
    word = token["bare"]
    if word in KEY_NAMES:
        return Key(name=word)
    if _TYPES_ITSELF.fullmatch(word) and word.isprintable():
        return Key(literal=word)
    raise ValueError(f"unknown key {word!r}: use a name such as Enter, Escape, C-c, or quote text that is to be typed")
