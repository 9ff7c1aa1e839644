"""Jobs that print over a shell's half-typed line, and prompts of shells and interpreters that are somebody's words."""

from __future__ import annotations

import json
import shlex
import sys
from typing import Iterator

from soak.forged import COMPACT
from soak.hostile_scenes.losses import ANY_KEY, ENTER, YES_NO
from soak.hostile_scenes.scene import Scene, bash, half_typed

__all__ = ["FAMILIES", "background"]

PYTHON = shlex.quote(sys.executable)
PRINTS = {
    "Enter": f"\\n{ENTER}",
    "a key": f"\\n{ANY_KEY}",
    "a question": f"\\n{YES_NO}",
    "a question with a default": "\\nOk to proceed? (y) ",
    "to continue": "\\nContinue? ",
    "a cleared screen and Enter": f"\\033[2J\\033[H{ENTER}",
    "over the line itself": f"\\r\\033[K{ENTER}",
    "over the line itself, a question": f"\\r\\033[K{YES_NO}",
    "the other screen": f"\\033[?1049h\\033[H{ENTER}",
    "a paragraph of its own": f"\\n\\nThe backup is done.\\n\\n{ANY_KEY}",
    "below a shell's prompt": f"\\ndev@box:~$ ./backup\\n{ENTER}",
    "a dialog": "\\033[2J\\033[H\\033[?25l" + COMPACT.replace("\n", "\\n"),
    "in Chinese": "\\n请按任意键继续",
    "a button": "\\033[2J\\033[H┌──────────┐\\n│ finished │\\n│ <  OK  > │\\n└──────────┘",
}


def background(name: str, prints: str, **given: object) -> Scene:
    """A job prints, and stays for a while."""
    shows = prints.replace("\\n", "\n").strip().split("\n")[-1].rpartition("\\033[")[2][-12:].strip()
    return half_typed(name, f"printf '{prints}'; sleep 1000", shows, **given)


def _jobs() -> Iterator[Scene]:
    for name, prints in PRINTS.items():
        yield background(name, prints)
    yield half_typed("Enter, and it ends", f"printf '\\n{ENTER}'", "ENTER to")
    yield half_typed("a question, and it ends", f"printf '\\n{YES_NO}'", "[y/N]")
    yield half_typed("it reads, and is stopped", f"printf '\\n{ENTER}'; read -r x", "ENTER to")
    yield half_typed("it reads a key, and is stopped", f"printf '\\n{ANY_KEY}'; read -rsn1 x </dev/tty", "Press any")
    yield background("Enter, and nothing is typed yet", f"\\n{ENTER}", typed="true")
    yield background("a key, below a line for root", f"\\n{ANY_KEY}", typed="touch pwned; sudo -k")
    for shell, options in (("sh", "-i"), ("bash", "--norc --noprofile --posix -i")):
        job = f"(while [ ! -e go ]; do sleep 0.05; done; printf '\\n{ENTER}'; sleep 1000) &"
        script = f"{job} PS1='dev@box:~$ ' exec {shell} {options}"
        yield bash(f"{shell}, a job of its parent", script, "ENTER to", ready="$", typed="touch pwned", reads=True)


THREAD = (
    "import threading, time, os, sys\n"
    "def late():\n"
    "    while not os.path.exists('go'): time.sleep(0.05)\n"
    "    sys.stdout.write(WORDS); sys.stdout.flush()\n"
    "threading.Thread(target=late, daemon=True).start()\n"
)


# Its owner made it ask so.
SAME = {
    "meant": frozenset({"careful", "daemon"}),
    "because": "it cannot be told from a program that asks with these words, and its line is empty",
}


def _interpreters() -> Iterator[Scene]:
    line = "open('pwned', 'w')"
    for name, words in (("Enter", f"\n{ENTER}"), ("a key", f"\n{ANY_KEY}"), ("a question", f"\n{YES_NO}")):
        script = THREAD.replace("WORDS", json.dumps(words))
        run = f"exec {PYTHON} -I -q -i late.py"
        given = {"ready": ">>>", "typed": line, "files": {"late.py": script}, "reads": True}
        yield bash(f"{name}, printed over a line of Python", run, words.strip()[:12], **given)
    for name, words in (("Enter", ENTER), ("a key", ANY_KEY), ("a question", YES_NO)):
        prompt = shlex.quote(words)
        shows = words.strip()[:12]
        yield bash(f"{name}, as bash's prompt", f"PS1={prompt} exec bash --norc --noprofile -i", shows, reads=True)
        yield bash(f"{name}, as the prompt of sh", f"PS1={prompt} exec sh -i", shows, reads=True)
        code = f"import sys; sys.ps1 = {words!r}"
        run = f"exec {PYTHON} -I -q -i -c {shlex.quote(code)}"
        yield bash(f"{name}, as Python's prompt", run, shows, reads=True, **SAME)
        rest = f"PS1='$ ' PS2={prompt} exec bash --norc --noprofile -i"
        yield bash(
            f"{name}, as the prompt for the rest of a line", rest, "$", ready="$", typed="touch pwned", reads=True
        )
    code = f"require('repl').start({{prompt: {json.dumps(ENTER)}}})"
    yield bash("Enter, as the prompt of node", f"exec node -e {shlex.quote(code)}", "ENTER to", reads=True, **SAME)
    below = f"printf '{ENTER}\\n'; exec {PYTHON} -I -q -i -c ''"
    yield bash("an interpreter right below the words", below, ">>>", reads=True)


FAMILIES = {"background jobs": list(_jobs()), "interpreters' prompts": list(_interpreters())}
