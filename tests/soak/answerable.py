"""Prompts of real programs that wait for just the answer which a rule may allow."""

from __future__ import annotations

import random
import shlex
import sys
from pathlib import Path
from typing import Sequence

from attrs import frozen

__all__ = ["Answerable", "answerable"]

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ROOT / ".cache" / "npm"
KEY = (
    "Press any key to continue...",
    "Press any key to continue . . . ",
    "Hit any key to continue",
    "Press any key to proceed",
)
RETURN = ("Press [Enter] to continue...", "Press ENTER to continue ", "-- press return --", "Hit RETURN to continue")
QUESTION = (
    "Proceed? [y/N] ",
    "Do you want to continue? [Y/n] ",
    "Proceed ([y]/n)? ",
    "Go on? [y/n] ",
    "Continue? (y/N) ",
)
_FROM = "const from = require('node:module').createRequire(process.argv[1]);"
_ONE = "type: 'confirm', name: 'x', message: 'Install the dependencies?'"
_ASKS = {  # enquirer's is of severity high: no rule may answer it
    "prompts": f"from('prompts')({{{_ONE}}})",
    "inquirer": f"import(from.resolve('inquirer')).then((it) => it.default.prompt([{{{_ONE}}}]))",
}
PERHAPS = ("Ok to proceed? (y) ", "Is this OK? (yes) ")


@frozen
class Answerable:
    """One prompt; the program ends once it is answered, with status 0, and `left` is what it may leave unread."""

    name: str
    command: tuple[str, ...]
    shows: str
    left: frozenset[bytes] = frozenset({b""})


def _pauses(words: str, enter: str) -> list[Answerable]:
    python, shell = sys.executable, shlex.quote
    first, last = words.split()[1], enter.split()[1]
    return [
        Answerable("bash, read -n1", ("bash", "-c", f"read -rsn1 -p {shell(words)} x"), first),
        Answerable("bash, read -n1, seen", ("bash", "-c", f"echo; read -rn1 -p {shell(words)} x"), first),
        Answerable("bash, read", ("bash", "-c", f"echo; echo; read -rp {shell(enter)} x"), last),
        Answerable("sh, read", ("sh", "-c", f"printf %s {shell(enter)}; read x"), last),
        Answerable("python, input", (python, "-c", f"input({enter!r})"), last),
        Answerable(
            "python, cbreak",
            (python, "-c", f"import sys, tty; tty.setcbreak(0); print(end={words!r}, flush=True); sys.stdin.read(1)"),
            first,
        ),
        Answerable("perl", ("perl", "-e", f"$| = 1; print q({enter}); <STDIN>"), last),
        Answerable(
            "node, raw mode",
            ("node", "-e", "process.stdin.setRawMode(true); process.stdout.write(process.argv[1]);"
             "process.stdin.once('data', () => process.exit(0))", "--", words),
            first,
        ),
        Answerable(
            "node, readline",
            ("node", "-e", "require('readline').createInterface({input: process.stdin, output: process.stdout})"
             ".question(process.argv[1], () => process.exit(0))", "--", enter),
            last,
        ),
        Answerable("script", ("script", "-q", "-c", f"bash -c 'read -rsn1 -p \"{words}\" x'", "/dev/null"), first),
    ]  # fmt: skip


def _questions(words: str, perhaps: str) -> list[Answerable]:
    python, shell = sys.executable, shlex.quote
    first = words.split()[0]
    found = [
        Answerable("bash, read -p", ("bash", "-c", f"read -rp {shell(words)} x; [ $x = y ]"), first),
        Answerable("bash, below text", ("bash", "-c", f"seq 5; echo done; read -rp {shell(words)} x"), first),
        Answerable("sh, a default", ("sh", "-c", f"printf %s {shell(perhaps)}; read x"), perhaps.split()[0]),
        Answerable("python, input", (python, "-c", f"assert input({words!r}) == 'y'"), first),
        Answerable("click.confirm", (python, "-c", "import click; assert click.confirm('Go on')"), "Go on"),
        Answerable("perl", ("perl", "-e", f"$| = 1; print q({words}); <STDIN> eq qq(y\\n) or die"), first),
        Answerable("dialog, a message", ("dialog", "--msgbox", "Installation finished.", "8", "40"), "finished"),
        Answerable("whiptail, a message", ("whiptail", "--msgbox", "All is finished.", "8", "40"), "finished"),
    ]  # fmt: skip
    for library, code in _ASKS.items():
        if (LIBRARIES / "node_modules" / library).is_dir():
            command = ("node", "-e", f"{_FROM}{code}.then(() => process.exit(0))", str(LIBRARIES / "package.json"))
            found.append(Answerable(f"{library}, confirm", command, "dependencies"))
    return found


def answerable(count: int) -> Sequence[Answerable]:
    """So many, always the same; each other one says yes, the rest go on."""
    chosen: list[Answerable] = []
    for number in range(count):
        chance = random.Random(number)
        pauses = _pauses(chance.choice(KEY), chance.choice(RETURN))
        questions = _questions(chance.choice(QUESTION), chance.choice(PERHAPS))
        kind = questions if number % 2 else pauses
        chosen.append(kind[number // 2 % len(kind)])
    return chosen
