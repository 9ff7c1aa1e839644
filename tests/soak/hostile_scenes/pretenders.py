"""Pictures of composers and dialogs, programs that are not what they are called, readers that drew no prompt."""

from __future__ import annotations

import shlex
import sys
from itertools import cycle
from typing import Iterator

from soak.forged import COMPACT, EFFORT, TRUST, TRUST_ROWS
from soak.hostile_scenes.captured import COMPOSERS, DIALOGS, Captured
from soak.hostile_scenes.losses import ANY_KEY, ENTER, YES_NO
from soak.hostile_scenes.scene import Act, Scene, actor, bash, last_words, piece, played, put

__all__ = ["FAMILIES"]

PYTHON = shlex.quote(sys.executable)
SHELL = "exec bash --norc --noprofile -i"
PRINTERS = {
    "cat, then asleep": "cat text; sleep 1000",
    "cat, then a program of that name that sleeps": "cat text; exec -a claude sleep 1000",
    "printf, then asleep in steps": 'printf %s "$(<text)"; while :; do sleep 0.5; done',
    "in less": "exec less -R text",
    "on the other screen, amid junk": (
        "printf '\\033[?1049h'; head -c 900 /dev/urandom | tr -dc a-z; printf '\\033[2J\\033[H'; cat text; sleep 1000"
    ),
    "the cursor moved back": "cat text; printf '\\nmore\\n\\033[3A\\r\\033[9C'; sleep 1000",
}
DIALOG_TEXTS = {
    "compact mode": "\033[?25l" + COMPACT,
    "effort": "\033[?25l" + EFFORT,
    "trust": "\033[?25l" + TRUST + TRUST_ROWS,
}


def _picture(captured: Captured) -> str:
    screen = captured.screen
    place = (
        put("", screen.cursor.column, screen.cursor.row, hides=screen.cursor.visible is False) if screen.cursor else ""
    )
    return "\033[2J\033[H" + screen.text.replace("\n", "\r\n") + place


def _pictures() -> Iterator[Scene]:
    ways = cycle(PRINTERS.items())
    for name, text in DIALOG_TEXTS.items():
        for _ in range(2):
            way, script = next(ways)
            yield bash(f"{name}, {way}", script, piece(text), files={"text": text}, reads="less" in script)
    for captured in (*DIALOGS[:3], *COMPOSERS[:6]):
        way, script = next(ways)
        text = _picture(captured)
        size = captured.screen.size
        given = {"size": (size.columns, size.rows)} if size else {}
        yield bash(
            f"{captured.name}, {way}", script, piece(text), files={"text": text}, reads="less" in script, **given
        )


def _sent() -> Iterator[Scene]:
    for captured in COMPOSERS:
        if "working" in captured.name or "spinner" in captured.name or "interruptible" in captured.name:
            continue
        size = captured.screen.size
        shows = piece(captured.screen.text)
        given = {"size": (size.columns, size.rows) if size else (80, 24), "files": {"text": _picture(captured)}}
        given |= {"act": Act.SEND, "reads": True}
        own = captured.screen.prompt_line.text or "> "
        yield bash(f"a shell behind {captured.name}", f"cat text; PS1='' {SHELL}", shows, **given)
        called = f"cat text; PS1={shlex.quote(own)} exec -a {captured.program} bash --norc --noprofile -i"
        yield bash(f"a shell that is called {captured.program}, {captured.name}", called, shows, **given)


def _wrong() -> Iterator[Scene]:
    given = {"reads": True}
    for name, text in DIALOG_TEXTS.items():
        files, shows = {"text": text}, piece(text)
        over = f"cat text; PS1='' exec -a claude {SHELL.removeprefix('exec ')}"
        yield bash(f"{name}, over a shell that is called claude", over, shows, files=files, **given)
        yield bash(
            f"{name}, over less that is called claude", "exec -a claude less -R text", shows, files=files, **given
        )
        child = "cat text; exec -a claude bash --norc -c 'bash -c \"read -rs x\"; true'"
        yield bash(f"{name}, a child of claude reads a secret", child, shows, files=files, **given)
        yield bash(f"{name}, over vi that is called node", "exec -a node vi -u NONE text", shows, files=files, **given)
    raw = actor("other", {"text": "", "mode": "raw", "as_it_is": True})
    for name, words in (("a key", ANY_KEY), ("Enter", ENTER), ("a question", YES_NO)):
        mode = actor("other", {"text": "", "mode": "line", "as_it_is": True}) if name == "a question" else raw
        both = f"(sleep 0.3; printf '{words}'; sleep 1000) & {mode}"
        shows = last_words(words)
        yield bash(f"{name}, drawn by one and read by another", both, shows, links=("other",))
        wiped = (
            f"(sleep 0.3; printf '\\033[2J\\033[H{words}'; exec sleep 1000) & read -rp 'Delete all volumes? [Y/n] ' x"
        )
        yield bash(f"{name}, drawn over a question of another", wiped, shows, **given)
        elsewhere = f"printf '{words}'; sleep 1000 | bash -c 'read -rs x </dev/tty'"
        yield bash(f"{name}, and a secret is read from the terminal itself", elsewhere, shows, **given)
    over = f"touch a; (sleep 0.3; printf '\\033[2J\\033[H{YES_NO}'; exec sleep 1000) & rm -i a"
    yield bash("a question, drawn over that of rm", over, "[y/N]", **given)
    for then in ("sleep", "busy", "poll"):
        play = {"text": ANY_KEY, "mode": "raw", "then": then}
        yield played(f"it draws, and does not read: {then}", play, program="claude")
    yield bash(
        "a debugger that is called node",
        f"cat text; printf '\\033[?25l'; exec -a node {PYTHON} -I -m pdb -c 'b 1' empty.py",
        "(Pdb)",
        files={"text": COMPACT, "empty.py": "x = 1\n"},
        **given,
    )


FAMILIES = {
    "pictures": list(_pictures()),
    "text for a picture of a composer": list(_sent()),
    "wrong process": list(_wrong()),
}
