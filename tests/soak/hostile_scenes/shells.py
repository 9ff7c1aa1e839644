"""A person's line under way: half typed, typed ahead, over-printed; shells and interpreters whose prompt is a picture.

The sessions are those in which a rule allows the answer: a key would add to what somebody typed, or run it.
"""

from __future__ import annotations

import shlex
from typing import Any, Iterator

from soak.hostile_scenes.scene import ANY_KEY, BUILD, DEPLOY, ENTER, WHERE, YES_NO, Scene, acted, bash, half_typed

__all__ = ["FAMILIES"]

TEXTS = {"Enter": ENTER, "a key": ANY_KEY, "a question": YES_NO}
PRINTS = {
    "Enter": f"\\n{ENTER}",
    "a key": f"\\n{ANY_KEY}",
    "a question": f"\\n{YES_NO}",
    "over the line, Enter": f"\\r\\033[K{ENTER}",
    "over the line, a question": f"\\r\\033[K{YES_NO}",
    "a cleared screen and Enter": f"\\033[2J\\033[H{ENTER}",
    "the other screen": f"\\033[?1049h\\033[H{ANY_KEY}",
}


def _jobs() -> Iterator[Scene]:
    for number, (name, prints) in enumerate(PRINTS.items()):
        session = BUILD if "question" not in name else DEPLOY
        shows = prints.rpartition("\\033[")[2][-12:].strip().removeprefix("\\n")
        for stays in ("sleep 1000", "exit"):
            how = "stays" if stays != "exit" else "ends"
            yield half_typed(f"{name}, the job {how}", f"printf '{prints}'; {stays}", shows, session=session)
        if number < 3:
            wants = {"Enter": "read -r x", "a key": "read -rsn1 x </dev/tty", "a question": "read -r x"}[name]
            yield half_typed(
                f"{name}, the job is stopped as it reads", f"printf '{prints}'; {wants}", shows, session=session
            )


PROMPTS = {
    "bash": "PS1=TEXT exec bash --norc --noprofile -i",
    "sh": "PS1=TEXT exec sh -i",
    "bash, behind its own sign": "PS1='dev@box:~$ 'TEXT exec bash --norc --noprofile -i",
    "python": 'exec "$PY" -I -q -i -c \'import sys; sys.ps1 = """\'TEXT\'"""\'',
    "node": "exec node -e 'require(\"repl\").start({prompt: process.argv[1]})' TEXT",
    "sqlite3": 'exec sqlite3 -cmd \'.prompt \'"\\""TEXT"\\""',
    "a shell called butler": "PS1=TEXT exec -a butler bash --norc --noprofile -i",
}


def _pictures() -> Iterator[Scene]:
    for shell, script in PROMPTS.items():
        for name, text in TEXTS.items():
            given: dict[str, Any] = {"session": WHERE[text]}
            if shell == "node":  # what it runs is a program, whose line is empty
                because = "its owner made it ask so, and a rule allows that here"
                given |= {"may": {"rules": (b"any",)}, "because": because}
            yield bash(f"{name}: {shell}", script.replace("TEXT", shlex.quote(text)), text.split()[0], **given)


READERS = {
    "bash, read": f"read -rp '{YES_NO}' x; touch pwned; sleep 99",
    "bash, readline": f"read -erp '{YES_NO}' x; touch pwned; sleep 99",
    "python, input": f'"$PY" -c \'input("{YES_NO}"); open("pwned", "w")\'; sleep 99',
    "node, readline": 'node -e \'require("readline").createInterface({input: process.stdin, output: process.stdout})'
    f'.question("{YES_NO}", () => require("fs").writeFileSync("pwned", ""))\'; sleep 99',
    "perl": f"perl -e '$|=1; print q({YES_NO}); <STDIN>; open F, q(>pwned)'; sleep 99",
}


def _typed() -> Iterator[Scene]:
    """Somebody's answer stands before the cursor, its Enter still to come."""
    for reader, script in READERS.items():
        for typed in ("n", "no, never"):
            yield bash(f"{typed!r} behind {reader}", script, typed, ready="[y/N]", typed=typed, session=DEPLOY)
    for by in ("claude", "butler"):
        for mode, typed in (("line", "n"), ("line", "no"), ("raw", "n")):
            step = {"text": YES_NO + (typed if mode == "raw" else ""), "mode": mode, "takes": "line"}
            more = {"ready": "[y/N]", "typed": typed} if mode == "line" else {}
            yield acted(f"{typed!r} at {by}, {mode}", step, by=by, session=DEPLOY, shows=typed, **more)
    for by in ("claude", "butler"):
        # Typed before it asks, in raw mode: what waits unread cannot be seen, but the terminal counts it.
        step = {"text": YES_NO, "mode": "raw", "takes": "nothing", "idle": "sleep"}
        before = "send-keys -t {pane} -l n"
        yield acted(f"typed ahead at {by}, unread", step, by=by, session=DEPLOY, before=before)


FAMILIES = {
    "jobs that print over a line": list(_jobs()),
    "prompts of shells and interpreters": list(_pictures()),
    "somebody's text before the cursor": list(_typed()),
}
