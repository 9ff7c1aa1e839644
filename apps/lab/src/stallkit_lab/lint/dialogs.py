"""Rules on whole dialogs: keys need one, and it reads the signature's own hits."""

from __future__ import annotations

from typing import Iterator

from stallkit.detect.dialog import Edge
from stallkit.detect.dialog_parser import begins_in_sight, read_any
from stallkit.detect.signature import Kind, Signature
from stallkit.terminal.screen import Screen
from stallkit.terminal.text import cells
from stallkit_lab.lint.findings import Finding
from stallkit_lab.lint.subject import Subject

__all__ = ["check"]


def check(subject: Subject) -> Iterator[Finding]:
    """Findings on keys without a dialog, on a dialog without an edge, and on hits that are not read as a whole."""
    for signature in subject.pack.signatures:
        if not signature.dialogs:
            if signature.dismissal is not None:
                why = "it gives keys, and does not describe the whole dialog that they answer"
                yield subject.finding("SK304", why, signature, "dismissal")
            continue
        several = (one for one in signature.dialogs if len(one.elements) > 1 and not one.elements[-1].at_cursor)
        if signature.kind is not Kind.QUESTION and any(Edge.ANY in dialog.edges for dialog in several):
            why = "a dialog of several rows names the edge that it begins below"
            yield subject.finding("SK304", why, signature, "edge")
        yield from _unread(subject, signature)


def _unread(subject: Subject, signature: Signature) -> Iterator[Finding]:
    """A finding on each hit that shows the whole dialog, and that it does not read; and where no hit shows it."""
    shown = 0
    for example in subject.examples:
        if example.signature != signature.id or not example.wanted or example.todo:
            continue
        screen = _in_a_terminal(example.screen)
        if screen.cursor is None or not begins_in_sight(screen):
            continue
        shown += 1
        reading = read_any(signature.dialogs, screen)
        if not reading.whole:
            yield subject.finding("SK305", f"{example.name}: {reading.doubt}", signature, "dialog")
    if not shown and signature.dismissal is not None:
        why = "no hit shows the whole dialog: add a captured screen"
        yield subject.finding("SK305", why, signature, "dialog")


def _in_a_terminal(screen: Screen) -> Screen:
    """A hit that is nothing but text, in a terminal with room below it, the cursor behind its last line."""
    if screen.size is not None:
        return screen
    rows = screen.text.rstrip("\n").split("\n")
    size = (max(map(cells, rows)) + 1, len(rows) + 2)
    return Screen.from_text(screen.text, cursor=(cells(rows[-1]), len(rows) - 1), size=size)
