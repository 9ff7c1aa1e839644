"""The parts of a screen beside its rows, as ``stallkit explain --layout`` draws them."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, Iterator, Mapping

from attrs import frozen
from rich.cells import chop_cells

from stallkit.cli.output import shown
from stallkit.cli.speech import paint
from stallkit.detect.layout import PARTS, read_layout
from stallkit.detect.rows import Sort
from stallkit.redact.redact import redact
from stallkit.terminal.screen import Screen
from stallkit.terminal.text import cells

__all__ = ["Drawn", "drawn", "lines", "plain_parts"]

_UNREAD = "unread"  # a row below what takes keys, such as a program's list of tasks
_SHORT = 3  # letters of a word if the terminal is narrow
_LEAST = 10  # columns of the screen's text, however narrow the terminal
_FRAMES = " " + "".join(map(chr, range(0x2500, 0x25A0)))  # box drawing and blocks: no loss if it is cut off
_STYLES: Mapping[str, Mapping[str, Any]] = {  # of the last part that a row belongs to
    "dialog": {"fg": "yellow"},
    "options": {"fg": "yellow", "bold": True},
    "hints": {"fg": "cyan"},
    "composer": {"fg": "green"},
    "status": {"fg": "blue"},
    "person": {"fg": "magenta"},
}


@frozen
class Drawn:
    """A row: what it is by itself, None below what takes keys; the parts it belongs to; its text, redacted."""

    sort: Sort | None
    parts: tuple[str, ...]
    text: str


def drawn(screen: Screen) -> tuple[Drawn, ...]:
    """The rows of a screen, down to the last one that is written."""
    layout = read_layout(screen)
    text = "\n".join(line.rstrip() for line in screen.lines).rstrip("\n")
    texts = redact(text).split("\n") if text else []  # together: a secret may go on in the next row
    return tuple(
        Drawn(row.sort if row else None, layout.names(number), line)
        for number, (row, line) in enumerate(zip_longest(layout.rows, texts, fillvalue=None))
        if line is not None
    )


def plain_parts(rows: tuple[Drawn, ...]) -> dict[str, list[int]]:
    """The numbers of the rows of each part that there is."""
    found = {part: [number for number, row in enumerate(rows) if part in row.parts] for part in PARTS}
    return {part: numbers for part, numbers in found.items() if numbers}


def lines(rows: tuple[Drawn, ...], width: int | None) -> Iterator[str]:
    """Each row with its number, its parts, its sort and its text, under a head; `width` is that of a terminal.

    If that is too narrow there is no head, words are short, and the text goes on below itself.
    """
    said = [(" ".join(row.parts), str(row.sort or _UNREAD), shown(row.text)) for row in rows]
    head = ("part", "sort", "screen")
    digits = max(len("row"), len(str(len(rows))))
    first, second = (max(len(words[at]) for words in (head, *said)) for at in (0, 1))
    needed = digits + first + second + 6 + max((cells(text) for _, _, text in said), default=0)
    if width is None or needed <= width:
        yield f"{'row':>{digits}}  {head[0]:{first}}  {head[1]:{second}}  {head[2]}"
        for number, (row, (parts, sort, text)) in enumerate(zip(rows, said, strict=True)):
            yield _styled(row, f"{number:{digits}}  {parts:{first}}  {sort:{second}}  {text}".rstrip())
        return
    digits, short = len(str(len(rows))), [" ".join(part[:_SHORT] for part in row.parts) for row in rows]
    first = max(map(len, short))
    room = max(_LEAST, width - digits - first - _SHORT - 3)
    for number, (row, parts, (_, sort, text)) in enumerate(zip(rows, short, said, strict=True)):
        begins = f"{number:{digits}} {parts:{first}} {sort[:_SHORT]} "
        first_piece, *more = chop_cells(text, room) or [""]
        for piece in (first_piece, *(one for one in more if one.strip(_FRAMES))):
            yield _styled(row, f"{begins}{piece}".rstrip())
            begins = " " * len(begins)


def _styled(row: Drawn, line: str) -> str:
    return paint(line, **_STYLES.get(row.parts[-1], {})) if row.parts else paint(line, dim=True)
