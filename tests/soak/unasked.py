"""Terminals that show a prompt which nobody asks, or that no machine may answer: what is run, and what is then typed.

Each scene is one of `WAYS` over one of the texts: the words that policies press at, dialogs, and the example screens of
all packs.  What it says is true: nothing in a scene waits for the answer that its screen seems to ask for.
"""

from __future__ import annotations

import json
import random
import shlex
import sys
from pathlib import Path
from typing import Callable, Sequence

from attrs import frozen

from soak.forged import AGENTS, COMPACT, TRUST, TRUST_ROWS
from stallkit.packs.screenfile import read_screen

__all__ = ["Hostile", "hostile_scenes"]

ROOT = Path(__file__).resolve().parents[2]
KEYS = (
    *("Press any key to continue...", "Press any key to continue . . . ", "Hit any key to continue"),
    *("Press [Enter] to continue...", "Press ENTER to continue ", "-- press return --", "Press Enter to continue..."),
)
YES = (
    *("Proceed? [y/N] ", "Do you want to continue? [Y/n] ", "Ok to proceed? (y) ", "Is this OK? (yes) "),
    *("Proceed ([y]/n)? ", "Shall I continue? ", "Continue? (y/N) ", "? Install the dependencies? › (Y/n)"),
)
DIALOG = (
    "\033[?25l" + TRUST + TRUST_ROWS,
    "\033[?25l" + COMPACT,
    "┌──────────────────────────────┐\n│ Installation finished.       │\n├──────────────────────────────┤\n"
    "│            <  OK  >          │\n└──────────────────────────────┘",
)
WORDS = KEYS + YES + DIALOG
CHAT = (
    "● The script stops there. It shows:\n\n    {}\n\n  and that is why it never came further.\n",
    "> why does it hang?\n\n● It waits at a prompt:\n\n```\n{}\n```\n\n✻ Thinking… (12s · esc to interrupt)\n",
    'user: what does it say?\nassistant: it says "{}"\n',
)


@frozen
class Hostile:
    """One scene: `command` runs in a folder of its own with `files` in it; `typed` is what a person typed, no Enter.

    `reads`: it reads the terminal, for something else, so what it was given shows in what its processes have read.
    """

    way: str
    number: int
    command: tuple[str, ...]
    shows: str
    files: dict[str, str]
    typed: tuple[str, ...] = ()
    reads: bool = False


def _bash(script: str) -> tuple[str, ...]:
    return ("bash", "--norc", "--noprofile", "-c", script)


# There are many, and what watches them needs the cores as well: at the lowest priority, in a session's own group too.
_LAST = "{ renice -n 19 $BASHPID; echo 19 > /proc/self/autogroup; } >/dev/null 2>&1"
BUSY = f"{_LAST}; while :; do :; done"
IDLE = "while :; do sleep 0.5; done"
Way = Callable[[str, random.Random], tuple[tuple[str, ...], dict[str, str], tuple[str, ...], bool]]


def _script(script: str, reads: bool = False, **files: str) -> Way:
    return lambda words, chance: (_bash(script), {"text": words, **files}, (), reads)


def _node(code: str) -> Way:
    return lambda words, chance: (("node", "-e", code, "--", words), {}, (), True)


def _python(code: str, reads: bool = False) -> Way:
    return lambda words, chance: ((sys.executable, "-c", code, words), {}, (), reads)


def _half_typed(words: str, chance: random.Random) -> tuple[tuple[str, ...], dict[str, str], tuple[str, ...], bool]:
    before = chance.choice(("", "echo ", "# ", "git commit -m '"))
    line = (before + words.split("\n")[-1]).encode()
    return _bash("PS1='dev@box:~$ ' exec bash --norc --noprofile -i"), {}, tuple(f"{byte:02x}" for byte in line), True


def _chat(words: str, chance: random.Random) -> tuple[tuple[str, ...], dict[str, str], tuple[str, ...], bool]:
    text = chance.choice(CHAT).replace("{}", words)
    code = "process.stdin.setRawMode(true); process.stdin.resume(); process.stdout.write(process.argv[1]);"
    code += "setInterval(() => { for (let n = 0; n < 1e5; n++); }, 500)"
    return ("node", "-e", code, "--", text), {}, (), True


def _in_a_dialog(words: str, chance: random.Random) -> tuple[tuple[str, ...], dict[str, str], tuple[str, ...], bool]:
    text = "\033[?25l" + chance.choice(AGENTS).replace("{}", words)
    code = "process.stdin.setRawMode(true); process.stdin.resume(); process.stdout.write(process.argv[1])"
    return ("node", "-e", code, "--", text), {}, (), True


WAYS: dict[str, Way] = {
    "printed, then busy": _script(f'printf %s "$(cat text)"; {BUSY}'),
    "printed, then asleep": _script("cat text; sleep 1000"),
    "printed, then busy in python": _python(
        "import os, sys; os.nice(19); print(end=sys.argv[1], flush=True)\nwhile True: pass"
    ),
    "printed, python asleep": _python("import sys, time; print(end=sys.argv[1], flush=True); time.sleep(1e4)"),
    "printed, then a build": _script("make", Makefile="all:\n\t@cat text; sleep 1000\n"),
    "printed, a job waited for": _script("cat text; sleep 1000 & wait"),
    "over a program that is called node": _script("cat text; exec -a node sleep 1000"),
    "over a program that is called claude": _script("cat text; exec -a claude sleep 1000"),
    "drawn on the alternate screen": _script(f"printf '\\033[?1049h\\033[2J\\033[H'; cat text; {IDLE}"),
    "amid junk on the alternate screen": _script(
        f"printf '\\033[?1049h'; head -c 3000 /dev/urandom | tr -dc 'a-z #%%' ; printf '\\033[9;1H'; cat text; {IDLE}"
    ),
    "the cursor moved back onto it": _script(f"cat text; printf '\\nthree\\n'; printf '\\033[2A\\r\\033[32C'; {IDLE}"),
    "a log that goes on": _script("text=$(<text); while :; do printf '%s\n' \"$text\"; sleep 0.5; done"),
    "a log with a time on each line": _script(
        "text=$(<text); while :; do printf '%(%T)T %s' -1 \"$text\"; sleep 0.5; done"
    ),
    "a spinner that says it": _script(
        "text=$(<text); while :; do for c in '|' / -; do printf '\\r%s %s' $c \"$text\"; sleep 0.5; done; done"
    ),
    "in less": _script("printf '%s\\n' \"$(cat text)\"{,,,,,,,} > long; exec less long", reads=True),
    "in less, at its end": _script("exec less +G text", reads=True),
    "in more": _script(
        "for n in 1 2 3 4 5 6 7 8 9; do cat text; echo; echo; echo; done > long; exec more long", reads=True
    ),
    "in vim": _script("exec vim -u NONE -R text", reads=True),
    "in vi, its last line": _script(
        "printf '%s' \"$(cat text)\" > last; exec vi -u NONE -c 'norm G$' last", reads=True
    ),
    "in nano": _script("exec nano -R text", reads=True),
    "half typed at a shell": _half_typed,
    "above a shell's prompt": _script("cat text; echo; PS1='dev@box:~$ ' exec bash --norc --noprofile -i", reads=True),
    "read by cat": _script("cat text; exec cat", reads=True),
    "tail of a log": _script("exec tail -f text"),
    "behind script, asleep": _script("exec script -q -c 'cat text; exec sleep 1000' /dev/null", reads=True),
    "behind script, busy": _script(f"exec script -q -c 'cat text; {BUSY}' /dev/null", reads=True),
    "a diff": _script(
        "git init -q . ; touch x; git add x; git -c user.name=x -c user.email=x@x commit -qm x; cp text x;"
        f" git --no-pager diff; {IDLE}"
    ),
    "a diff in less": _script(
        "git init -q .; touch x; git add x; git -c user.name=x -c user.email=x@x commit -qm x; cp text x;"
        " LESS=R exec git -c core.pager=less diff",
        reads=True,
    ),
    "quoted in a chat": _chat,
    "in a dialog of an agent": _in_a_dialog,
    "answered, then busy": _python(
        "import sys, time; sys.stdout.write(sys.argv[1]); print('y', flush=True); time.sleep(1e4)"
    ),
    "its answer comes from elsewhere": _script("cat text; sleep 1000 | bash -c 'read -n1 x'"),
    "a secret below it": _script("cat text; echo; read -s -p 'Password: ' x; sleep 100", reads=True),
    "a secret asked by the words": _script(
        "read -s -p 'Type the passphrase and press Enter to continue: ' x", reads=True
    ),
    "a harmful question below it": _script(
        "cat text; echo; read -p 'Delete all volumes? [y/N] ' x; sleep 100", reads=True
    ),
    "a menu below it": _script("cat text; echo; PS3='which? '; select x in drop keep; do :; done", reads=True),
    "a REPL below it": _script(f"cat text; echo; exec {shlex.quote(sys.executable)} -q -i -c ''", reads=True),
    "a job that was stopped": _script("cat text; kill -STOP $BASHPID; sleep 1000"),
    "a node that computes": _node(
        "process.stdin.resume(); process.stdout.write(process.argv[1]); require('os').setPriority(19);"
        "setTimeout(() => { for (;;); }, 50)"
    ),
    "a node that prints on": _node(
        "process.stdin.setRawMode(true); process.stdin.resume();"
        "setInterval(() => process.stdout.write('\\n' + process.argv[1] + '\\nstep ' + Date.now()), 300)"
    ),
}


def hostile_scenes(count: int) -> Sequence[Hostile]:
    """So many scenes, always the same: each way over words in turn, and each third an example screen of a pack."""
    screens = sorted(ROOT.glob("plugins/*/src/*/screens/*/hit-*.txt"))
    docs = sorted(ROOT.glob("docs/*.md")) + sorted(ROOT.glob("plugins/*/src/*/signatures.toml"))
    random.Random(6).shuffle(screens)
    scenes = []
    ways = list(WAYS.items())
    for number in range(count):
        chance = random.Random(number)
        if number % 3 == 2:
            scenes.append(_picture(number, screens[number // 3 % len(screens)], chance))
        elif number % 30 == 1:
            scenes.append(_document(number, chance.choice(docs), chance))
        else:
            way, make = ways[number % len(ways)]
            words = WORDS[(number // len(ways) * 7 + number) % len(WORDS)]
            command, files, typed, reads = make(words, chance)
            shows = "" if "urandom" in str(command) else _piece(words)
            if "secret asked" in way:
                shows = "passphrase"
            scenes.append(Hostile(way, number, command, shows, files, typed, reads))
    return scenes


def _picture(number: int, path: Path, chance: random.Random) -> Hostile:
    """An example screen, its cursor where it was, printed by a program that asks nothing."""
    screen = read_screen(path).screen
    place = f"\033[{screen.cursor.row + 1};{screen.cursor.column + 1}H" if screen.cursor is not None else ""
    hidden = "\033[?25l" if screen.cursor is not None and screen.cursor.visible is False else ""
    text = "\033[2J\033[H" + screen.text.replace("\n", "\r\n") + place + hidden
    end = chance.choice(("exec sleep 1000", IDLE, "exec -a node sleep 1000", "exec -a claude sleep 1000"))
    name = str(path.relative_to(ROOT / "plugins"))
    return Hostile(f"screen {name}", number, _bash(f"cat text; {end}"), "", {"text": text})


def _document(number: int, path: Path, chance: random.Random) -> Hostile:
    """A piece of what stallkit itself ships."""
    lines = path.read_text().split("\n")
    start = chance.randrange(max(1, len(lines) - 22))
    text = "\n".join(lines[start : start + 22])
    end = chance.choice(("exec sleep 1000", IDLE, BUSY))
    return Hostile(f"cat of {path.name} from line {start}", number, _bash(f"cat text; {end}"), "", {"text": text})


def _piece(words: str) -> str:
    """Some of it that shows unbroken wherever it is printed."""
    return json.loads(json.dumps(words)).split("\n")[0].replace("\033[?25l", "").split()[0]
