"""Where `stallkit send` must type nothing: pictures of composers that other programs show, and people's drafts."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from pathlib import Path

from sending_stage import Stage

from stallkit.press.send import Sending, send

TEXT = "echo this must never be typed"
PYTHON = "import sys, tty; tty.setraw(0); sys.stdin.read(1000)"
NODE = "process.stdin.setRawMode(true); process.stdin.resume()"
SHOW = "clear; cat $P; printf '\\033[$R;$CH'"  # the picture, and the cursor in its composer
SCENES = {
    "cat, and the shell's prompt below": "clear; cat $P",
    "cat, and the shell's prompt in the composer": SHOW,
    "less": "less $P",
    "vim": "vim -u NONE -N $P",
    "sleep": f"{SHOW}; sleep 1000",
    "read in the alternate screen": f"printf '\\033[?1049h'; {SHOW}; read -r line",
    "read, echo off": f"{SHOW}; read -rs line",
    "cat that reads": f"{SHOW}; cat >/dev/null",
    "python that reads keys": f"{SHOW}; python3 -c {shlex.quote(PYTHON)}",
    "node that reads keys": f"{SHOW}; node -e {shlex.quote(NODE)}",
}
DRAFTS = ["half a thought", "two words and a blank "]


def typed(stage: Stage, done: Sending) -> bool:
    """Whether a key was pressed, or anything of the text is seen."""
    time.sleep(0.5)
    return (done.outcome is not None and done.outcome.pressed) or "never be typed" in stage.screen("-J")


def pictures(name: str, programs: list[Path], size: str) -> tuple[Counter[str], list[str]]:
    """What became of a text at pictures of this agent's composer."""
    counted: Counter[str] = Counter()
    notes = []
    stage = Stage(name, programs, size)
    try:
        stage.start()
        column, row = stage.cursor()
        picture = stage.home / "picture"
        picture.write_text(stage.screen("-N").rstrip("\n"))
        stage.tmux("set-option", "-g", "remain-on-exit", "on")
        for scene, command in SCENES.items():
            told = command.replace("$P", str(picture)).replace("$R", str(row + 1)).replace("$C", str(column + 1))
            stage.restart(told)
            done = send(stage.transport, TEXT, stage.engine)
            touched = typed(stage, done)
            counted["typed" if touched else "untouched"] += 1
            notes.append(f"  {name}: {scene}: {done.sent}, {done.why}{' TYPED' if touched else ''}")
    finally:
        stage.close()
    return counted, notes


def drafts(name: str, programs: list[Path], size: str) -> tuple[Counter[str], list[str]]:
    """What became of a text where somebody had half typed one, with the cursor behind it and at its beginning."""
    counted: Counter[str] = Counter()
    notes = []
    stage = Stage(name, programs, size)
    try:
        stage.start()
        for draft in DRAFTS:
            for key in ("", "C-a"):
                stage.type(draft)
                if key:
                    stage.keys(key)
                time.sleep(1)
                done = send(stage.transport, TEXT, stage.engine)
                touched = typed(stage, done)
                counted["typed" if touched else "untouched"] += 1
                notes.append(f"  {name}: draft {draft!r} {key}: {done.sent}, {done.why}{' TYPED' if touched else ''}")
                stage.keys("C-e", "C-u")
                time.sleep(1)
    finally:
        stage.close()
    return counted, notes
