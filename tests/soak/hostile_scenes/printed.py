"""Prompts that nobody asks: printed, quoted, answered before, above programs that do not read, in editors and pagers.

Each is in a session in which the policy of three rules would press, were its prompt a real one.
"""

# ruff: noqa: E501  (commands of shells read better in one line)

from __future__ import annotations

import shlex
from itertools import cycle
from pathlib import Path
from typing import Iterator

from soak.forged import COMPACT
from soak.hostile_scenes.scene import ANY_KEY, ENTER, WHERE, YES_NO, Scene, acted, bash

__all__ = ["FAMILIES"]

TEXTS = {"yes or no": YES_NO, "a key": ANY_KEY, "Enter": ENTER}
PACKS = Path(__file__).resolve().parents[3] / "plugins"
GIT = "git init -q .; git config user.name x; git config user.email x@example.org; git add text;"
PRINTERS = {
    "cat, then asleep": "cat text; exec sleep 1000",
    "tail of a log": "exec tail -f text",
    "printed by sed, then busy": "sed p text; while :; do :; done",
    "a spinner that says it": "while :; do for c in / - '|'; do printf '\\r%s %s' $c \"$(<text)\"; sleep 0.4; done; done",
    "a log with times": "while :; do printf '%(%T)T %s' -1 \"$(<text)\"; sleep 0.4; done",
    "tee of a pipe": "(cat text; sleep 1000) | tee copy",
    "a build that waits": "printf 'all:\\n\\t@cat text; sleep 1000\\n' > Makefile; exec make",
    "a diff": f"{GIT} git commit -qm x; printf x >> text; git --no-pager diff --no-color | head -c -3; sleep 1000",
    "watch of a file": "exec watch -t cat text",
    "read by cat": "cat text; exec cat",
    "grep that reads the terminal": "cat text; exec grep nothing",
    "a here-document": 'cat <<< "$(<text)" | head -c -1; read -t 1000 x < <(sleep 1000)',
    "the alternate screen": "printf '\\033[?1049h\\033[2J\\033[H'; cat text; exec sleep 1000",
    "drawn cell by cell": "while read -rn1 c; do printf '%s' \"${c:- }\"; done < text; exec sleep 1000",
    "the cursor moved back": "cat text; printf '\\nmore\\n\\033[2A\\r\\033[16C'; exec sleep 1000",
    "wall": "(sleep 0.3; printf '\\r\\nBroadcast message\\r\\n'; cat text) & sleep 1000",
}
ON_AND_ON = ("a spinner that says it", "a log with times", "watch of a file")  # they read their file all the time
ANSWERED = {
    "the answer behind it": "printf '%sy\\n' \"$(<text)\"; exec sleep 1000",
    "the answer in a row of its own": "cat text; printf '\\ny\\n'; exec sleep 1000",
    "answered from a file": "cat text; read -r x < text; exec sleep 1000",
    "answered by yes": "cat text; yes | head -1 | (read -r x; sleep 1000)",
    "answered, then a working line": "cat text; printf 'y\\nworking'; exec sleep 1000",
    "answered, and its program reads no more": "cat text; exec 0</dev/null; sleep 1000",
    "answered, an empty row below": "cat text; printf '\\n'; exec sleep 1000",
}
IDLE = ("sleep", "busy", "pipe")


def _session(what: str) -> str:
    return WHERE[TEXTS[what]]


def _printed() -> Iterator[Scene]:
    texts = cycle(TEXTS)
    for way, script in PRINTERS.items():
        for what in (next(texts), next(texts)):
            files = {"text": TEXTS[what]}
            given = {"files": files, "session": _session(what), "reads": way not in ON_AND_ON}
            yield bash(f"{what}: {way}", script, TEXTS[what].split()[0], **given)
        next(texts)
    screens = sorted(PACKS.glob("*/src/*/screens/*/hit-*.txt"))[::67]
    for path in screens:
        name = f"{path.parent.name}/{path.stem}"
        script = f"tail -n +2 {shlex.quote(str(path))} | cut -c1-79 | tail -n 20; printf here; exec sleep 1000"
        yield bash(f"a screen of a pack: {name}", script, "here", session=DEPLOYED)


DEPLOYED = WHERE[YES_NO]


def _answered() -> Iterator[Scene]:
    for way, script in ANSWERED.items():
        for what in ("yes or no", "a key"):
            files = {"text": TEXTS[what]}
            yield bash(f"{what}: {way}", script, TEXTS[what].split()[0], files=files, session=_session(what))


def _unread() -> Iterator[Scene]:
    """Agents that show it and do not read, so that no ground is at fault but that nobody asks."""
    for what, text in TEXTS.items():
        for by in ("claude", "butler", "python"):
            for idle in IDLE:
                step = {"text": text, "mode": "raw", "takes": "nothing", "idle": idle}
                yield acted(f"{what}: {by}, {idle}", step, by=by, session=_session(what))
    for idle in IDLE:
        step = {"text": "\033[?25l" + COMPACT, "mode": "raw", "takes": "nothing", "idle": idle}
        yield acted(f"compact mode: claude, {idle}", step, by="claude")
    for idle in ("thread", "nohup"):
        code = {
            "thread": "import threading, time, sys; print(sys.argv[1], end='', flush=True); time.sleep(1000)",
            "nohup": "import os, time, sys; os.close(0); print(sys.argv[1], end='', flush=True); time.sleep(1000)",
        }[idle]
        yield bash(
            f"Python asleep, {idle}", f'exec "$PY" -c {shlex.quote(code)} "{YES_NO}"', "Proceed", session=DEPLOYED
        )


# At whose words the cursor stands, or whose own prompt says them.
VIEWERS = {
    "vi": ("vi -u NONE -c 'norm G$' text", "continue"),
    "vi, inserting": ("vi -u NONE -c 'norm G$' -c startinsert! text", "continue"),
    "vi, a message": ("vi -u NONE -c 'echo \"a\\nb\\nc\"' text", "Press ENTER"),
    "view, read only": ("vi -u NONE -R -c 'norm G$' text", "continue"),
    "nano": ("nano text", "continue"),
    "less": ("less text", "continue"),
    "less, its own prompt": (f"less '-P{ENTER}' long", "Press ENTER"),
    "less, a key in its prompt": (f"less '-P{ANY_KEY}' long", "Press any"),
    "more": ("more long", "continue"),
}
PARENTS = {
    "a shell": "sh ./view; true",
    "Python": '"$PY" -I -c \'import subprocess; subprocess.run(["sh", "./view"])\'',
    "a script called butler": "cp view butler; bash ./butler; true",
}


def _viewed() -> Iterator[Scene]:
    files = {"text": ENTER, "long": f"{ANY_KEY}\n{ENTER}\nto continue\n" * 40}
    for viewer, (command, shows) in VIEWERS.items():
        for parent, script in PARENTS.items():
            given = {"files": {**files, "view": f"{command}\ntrue\n"}, "session": WHERE[ENTER]}
            yield bash(f"{viewer}, below {parent}", script, shows, **given)


FAMILIES = {
    "prompts that are printed": list(_printed()),
    "prompts that were answered": list(_answered()),
    "programs that do not read": list(_unread()),
    "editors and pagers": list(_viewed()),
}
