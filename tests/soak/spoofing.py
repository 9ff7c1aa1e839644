"""Prompts that nobody asks, and real ones, watched by two supervisors: careful, and one with a rule for all.

A hostile scene is one of `WAYS` over one of the texts: the words that policies press at, dialogs, and the example
screens of all packs.  Nothing in it waits for the answer that its screen seems to ask for.  A real prompt is of a
real program that waits for just the answer which a rule may allow.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any, Callable, Sequence

from attrs import define, frozen
from terminals import Server, wait_for

from soak.forged import AGENTS, COMPACT, TRUST, TRUST_ROWS
from soak.hostile_scenes.staged import end_all, held, read_by, tree
from soak.nursery import Nursery, kill
from soak.parts import Figure, Part, Run, Tally
from stallkit.packs.screenfile import read_screen

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
Shown = tuple[tuple[str, ...], dict[str, str], tuple[str, ...], bool]  # command, files, what is typed; does it read?
Way = Callable[[str, random.Random], Shown]


def _script(script: str, reads: bool) -> Way:
    return lambda words, chance: (_bash(script), {"text": words, "Makefile": MAKEFILE}, (), reads)


def _node(code: str) -> Way:
    return lambda words, chance: (("node", "-e", code, "--", words), {}, (), True)


def _python(code: str) -> Way:
    return lambda words, chance: ((sys.executable, "-c", code, words), {}, (), False)


def _half_typed(words: str, chance: random.Random) -> Shown:
    before = chance.choice(("", "echo ", "# ", "git commit -m '"))
    line = (before + words.split("\n")[-1]).encode()
    return _bash("PS1='dev@box:~$ ' exec bash --norc --noprofile -i"), {}, tuple(f"{byte:02x}" for byte in line), True


RAW = "process.stdin.setRawMode(true); process.stdin.resume(); process.stdout.write(process.argv[1])"


def _chat(words: str, chance: random.Random) -> Shown:
    text = chance.choice(CHAT).replace("{}", words)
    code = f"{RAW};setInterval(() => {{ for (let n = 0; n < 1e5; n++); }}, 500)"
    return ("node", "-e", code, "--", text), {}, (), True


def _in_a_dialog(words: str, chance: random.Random) -> Shown:
    text = "\033[?25l" + chance.choice(AGENTS).replace("{}", words)
    return ("node", "-e", RAW, "--", text), {}, (), True


MAKEFILE = "all:\n\t@cat text; sleep 1000\n"
GIT = "git init -q .; touch x; git add x; git -c user.name=x -c user.email=x@x commit -qm x; cp text x;"
# What bash runs, the words in a file; or another way to show them.
WAYS: dict[str, str | Way] = {
    "printed, then busy": f'printf %s "$(cat text)"; {BUSY}',
    "printed, then asleep": "cat text; sleep 1000",
    "printed, then busy in python": _python(
        "import os, sys; os.nice(19); print(end=sys.argv[1], flush=True)\nwhile True: pass"
    ),
    "printed, python asleep": _python("import sys, time; print(end=sys.argv[1], flush=True); time.sleep(1e4)"),
    "printed, then a build": "make",
    "printed, a job waited for": "cat text; sleep 1000 & wait",
    "over a program that is called node": "cat text; exec -a node sleep 1000",
    "over a program that is called claude": "cat text; exec -a claude sleep 1000",
    "drawn on the alternate screen": f"printf '\\033[?1049h\\033[2J\\033[H'; cat text; {IDLE}",
    "amid junk on the alternate screen": "printf '\\033[?1049h'; head -c 3000 /dev/urandom | tr -dc 'a-z #%%' ;"
    f" printf '\\033[9;1H'; cat text; {IDLE}",
    "the cursor moved back onto it": f"cat text; printf '\\nthree\\n'; printf '\\033[2A\\r\\033[32C'; {IDLE}",
    "a log that goes on": "text=$(<text); while :; do printf '%s\n' \"$text\"; sleep 0.5; done",
    "a log with a time on each line": "text=$(<text); while :; do printf '%(%T)T %s' -1 \"$text\"; sleep 0.5; done",
    "a spinner that says it": "text=$(<text); while :; do for c in '|' / -; do printf '\\r%s %s' $c \"$text\";"
    " sleep 0.5; done; done",
    "in less": "printf '%s\\n' \"$(cat text)\"{,,,,,,,} > long; exec less long",
    "in less, at its end": "exec less +G text",
    "in more": "for n in 1 2 3 4 5 6 7 8 9; do cat text; echo; echo; echo; done > long; exec more long",
    "in vim": "exec vim -u NONE -R text",
    "in vi, its last line": "printf '%s' \"$(cat text)\" > last; exec vi -u NONE -c 'norm G$' last",
    "in nano": "exec nano -R text",
    "half typed at a shell": _half_typed,
    "above a shell's prompt": "cat text; echo; PS1='dev@box:~$ ' exec bash --norc --noprofile -i",
    "read by cat": "cat text; exec cat",
    "tail of a log": "exec tail -f text",
    "behind script, asleep": "exec script -q -c 'cat text; exec sleep 1000' /dev/null",
    "behind script, busy": f"exec script -q -c 'cat text; {BUSY}' /dev/null",
    "a diff": f"{GIT} git --no-pager diff; {IDLE}",
    "a diff in less": f"{GIT} LESS=R exec git -c core.pager=less diff",
    "quoted in a chat": _chat,
    "in a dialog of an agent": _in_a_dialog,
    "answered, then busy": _python(
        "import sys, time; sys.stdout.write(sys.argv[1]); print('y', flush=True); time.sleep(1e4)"
    ),
    "its answer comes from elsewhere": "cat text; sleep 1000 | bash -c 'read -n1 x'",
    "a secret below it": "cat text; echo; read -s -p 'Password: ' x; sleep 100",
    "a secret asked by the words": "read -s -p 'Type the passphrase and press Enter to continue: ' x",
    "a harmful question below it": "cat text; echo; read -p 'Delete all volumes? [y/N] ' x; sleep 100",
    "a menu below it": "cat text; echo; PS3='which? '; select x in drop keep; do :; done",
    "a REPL below it": f"cat text; echo; exec {shlex.quote(sys.executable)} -q -i -c ''",
    "a job that was stopped": "cat text; kill -STOP $BASHPID; sleep 1000",
    "a node that computes": _node(
        "process.stdin.resume(); process.stdout.write(process.argv[1]); require('os').setPriority(19);"
        "setTimeout(() => { for (;;); }, 50)"
    ),
    "a node that prints on": _node(
        "process.stdin.setRawMode(true); process.stdin.resume();"
        "setInterval(() => process.stdout.write('\\n' + process.argv[1] + '\\nstep ' + Date.now()), 300)"
    ),
}
# Scripts whose programs read the terminal, for something else.
READ = (
    *("in less", "in less, at its end", "in more", "in vim", "in vi, its last line", "in nano", "a diff in less"),
    *("above a shell's prompt", "read by cat", "behind script, asleep", "behind script, busy", "a secret below it"),
    *("a secret asked by the words", "a harmful question below it", "a menu below it", "a REPL below it"),
)


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
            shown = _script(make, way in READ) if isinstance(make, str) else make
            command, files, typed, reads = shown(words, chance)
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
    lines = path.read_text().split("\n")
    start = chance.randrange(max(1, len(lines) - 22))
    text = "\n".join(lines[start : start + 22])
    end = chance.choice(("exec sleep 1000", IDLE, BUSY))
    return Hostile(f"cat of {path.name} from line {start}", number, _bash(f"cat text; {end}"), "", {"text": text})


def _piece(words: str) -> str:
    """Some of it that shows unbroken wherever it is printed."""
    return json.loads(json.dumps(words)).split("\n")[0].replace("\033[?25l", "").split()[0]


LIBRARIES = ROOT / ".cache" / "npm"
KEY = (
    *("Press any key to continue...", "Press any key to continue . . . ", "Hit any key to continue"),
    "Press any key to proceed",
)
RETURN = ("Press [Enter] to continue...", "Press ENTER to continue ", "-- press return --", "Hit RETURN to continue")
QUESTION = (
    *("Proceed? [y/N] ", "Do you want to continue? [Y/n] ", "Proceed ([y]/n)? ", "Go on? [y/n] ", "Continue? (y/N) "),
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


BATCH = 32  # hostile scenes, and as many real prompts, on one server at a time
WATCH_S = 7.0  # that every scene is watched for by both: two looks make a verdict sure, and one a third of a second
PATIENCE_S = 30.0  # for the real prompts to be answered, on a loaded machine
RESTS_S = 1.0  # what programs ask of their terminal at their start, and read the answer to, is over by then
RECORDER = Path(__file__).with_name("recorder.py")
# Whatever may be allowed by a rule, of every pack and in every session of a batch: what is left is that somebody asks.
PACKS = ("agent_clis", "claude_code", "node_prompts", "shell_auth", "shell_tools", "shell_yn", "structural")
ALLOWED = ", ".join(f'"{pack}:*"' for pack in PACKS)
MEDIUM = f'format = 1\nname = "medium"\n[[rule]]\ndo = "press"\nsignature = [{ALLOWED}]\nsession = "tmux:p*"\n'


@define
class Pane:
    name: str
    scene: Hostile | Answerable
    record: Path
    pid: int = 0  # of the recorder, its first process
    read: int = -1  # what the processes of a scene that reads had read when the watch began

    @property
    def notes(self) -> list[list[str]]:
        return [line.split(" ") for line in self.record.read_text().splitlines()] if self.record.exists() else []

    def got(self, name: str) -> bytes:
        """Bytes that came to the terminal and were not read by the program."""
        return bytes.fromhex("".join(note[1] for note in self.notes if note[0] == name and len(note) > 1))

    @property
    def status(self) -> int | None:
        return next((int(note[1]) for note in self.notes if note[0] == "status" and note[1] != "None"), None)


def soak(run: Run) -> list[Figure]:
    hostile, real = hostile_scenes(run.size), answerable(run.size)
    tally = Tally()
    with Nursery(run.folder) as nursery:
        for start in range(0, run.size, BATCH):
            folder = run.folder / f"batch-{start}"
            folder.mkdir()
            _batch(nursery, folder, hostile[start : start + BATCH], real[start : start + BATCH], tally)
            run.tell(min(start + BATCH, run.size))
    size, answered, said = run.size, tally["answered"], tally["said"]
    return [
        Figure("bytes that came to hostile scenes", f"{tally['stray']} in {size} scenes", "0", tally["stray"] == 0),
        Figure("real prompts answered", f"{answered} of {size}", "99 %", answered >= 0.99 * size),
        Figure.none("real prompts that got more than their answer", tally["twice"]),
        Figure("hostile scenes there to the end", f"{tally['stood']} of {size}", "all", tally["stood"] == size),
        Figure("hostile scenes judged by both", f"{tally['judged']} of {size}", "all", tally["judged"] == size),
        Figure("events that say a key was pressed", f"{said}", "as answered", said >= answered),
        Figure.none("supervisors that failed", tally["crashed"]),
    ]


def _batch(
    nursery: Nursery, folder: Path, hostile: Sequence[Hostile], real: Sequence[Answerable], tally: Tally
) -> None:
    server = Server(folder)
    panes: list[Pane] = []
    try:
        for scene in (*hostile, *real):
            panes.append(_started(server, folder, f"p{len(panes)}", scene))
        _show(server, panes)
        for pane in panes:
            if isinstance(pane.scene, Hostile) and pane.scene.reads:
                pane.read = _read_below(pane.pid)
        told = _watched(nursery, folder, server, panes)
        for pane in panes:
            _count(pane, tally, told)
    finally:
        left = held(process for pane in panes for process in tree(pane.pid))
        server.end()
        end_all(left)


def _started(server: Server, folder: Path, name: str, scene: Hostile | Answerable) -> Pane:
    """The recorder in a pane of its own, with the program in its foreground, in a folder of its own."""
    home = folder / name
    home.mkdir()
    if isinstance(scene, Hostile):
        for file, text in scene.files.items():
            (home / file).write_text(text)
    pane = Pane(name, scene, folder / f"{name}.record")
    size = ("-x", "80", "-y", "24")
    recorder = (sys.executable, "-I", str(RECORDER), str(pane.record), "10" if isinstance(scene, Hostile) else "0")
    settings = ("-e", f"HOME={home}", "-e", "LESS=", "-e", "GIT_CONFIG_NOSYSTEM=1", "-e", "HISTFILE=")
    made = ("new-session", "-d", "-P", "-F", "#{pane_pid}", "-s", name, *size, *settings, "-c", str(home))
    pane.pid = int(server.tmux(*made, *recorder, *scene.command))
    return pane


def _show(server: Server, panes: Sequence[Pane]) -> None:
    """Until each shows what it is to show; then what was typed at it is typed, and all of it rests."""
    left = list(panes)

    def shown() -> bool:
        left[:] = [
            pane for pane in left if pane.scene.shows not in _screen(server, pane) and not _prompts(server, pane)
        ]
        return not left

    try:
        wait_for(shown, "the scenes", 3 * PATIENCE_S)
    except AssertionError:
        why = [(pane.scene, _screen(server, pane)) for pane in left]
        raise AssertionError(f"scenes that do not show what they are to: {why}") from None
    for pane in panes:
        if isinstance(pane.scene, Hostile) and pane.scene.typed:
            server.tmux("send-keys", "-t", f"={pane.name}:", "-H", *pane.scene.typed)
    time.sleep(RESTS_S)


def _prompts(server: Server, pane: Pane) -> bool:
    """Whether a shell asks for the line that is typed at it."""
    return isinstance(pane.scene, Hostile) and bool(pane.scene.typed) and "$" in _screen(server, pane)


def _screen(server: Server, pane: Pane) -> str:
    return server.tmux("capture-pane", "-p", "-J", "-S", "-200", "-t", f"={pane.name}:")


def _watched(nursery: Nursery, folder: Path, server: Server, panes: Sequence[Pane]) -> dict[str, list[dict[str, Any]]]:
    """Watch them by both, and return what was told, by supervisor."""
    (folder / "medium.toml").write_text(MEDIUM)
    hostile = [f"tmux:{pane.name}" for pane in panes if isinstance(pane.scene, Hostile)]
    pids, files = [], {}
    asked = [f"tmux:{pane.name}" for pane in panes if isinstance(pane.scene, Answerable)]
    for name, policy, real in (("careful", "careful", []), ("medium", str(folder / "medium.toml"), asked)):
        files[name] = folder / f"{name}.jsonl"
        spec = {"servers": [[str(server.socket), hostile + real]], "policy": policy, "interval_s": 0.4}
        spec |= {"store": str(folder / f"{name}.db"), "events": str(files[name])}
        pids.append(nursery.start(**spec))
    until, end = time.monotonic() + WATCH_S, time.monotonic() + PATIENCE_S
    asking = [pane for pane in panes if isinstance(pane.scene, Answerable)]
    while time.monotonic() < until or (time.monotonic() < end and any(pane.status is None for pane in asking)):
        time.sleep(0.2)
    for pid in pids:
        kill(pid, signal.SIGTERM)
    for pane in panes:
        if pane.read >= 0:
            pane.read = _read_below(pane.pid) - pane.read
        os.kill(pane.pid, signal.SIGUSR1)
    for pane in panes:
        wait_for(lambda pane=pane: ["over"] in pane.notes, f"the record of {pane.name}")  # type: ignore[misc]
    return {name: [json.loads(line) for line in file.read_text().splitlines()] for name, file in files.items()}


def _count(pane: Pane, tally: Tally, told: dict[str, list[dict[str, Any]]]) -> None:
    unread = pane.got("left") + pane.got("after")
    mine = {
        name: [event for event in events if event.get("target") == f"tmux:{pane.name}"] for name, events in told.items()
    }
    if pane.name == "p0":
        tally["crashed"] += sum(event["event"] in ("crash", "defect") for events in told.values() for event in events)
    if isinstance(pane.scene, Hostile):
        stray = len(unread) + max(0, pane.read)
        tally["stray"] += stray
        tally["stood"] += pane.status is None
        tally["judged"] += all(any(one["event"] == "detection" for one in events) for events in mine.values())
        if stray or pane.status is not None:
            way = f"hostile {pane.scene.number}, {pane.scene.way}"
            tally.fails("met a key, or ended", f"{way}: {unread!r}, {pane.read}, {pane.notes} {mine}")
        return
    presses = [one for events in mine.values() for one in events if one["event"] == "dismissal" and one["keys"]]
    tally["said"] += bool(presses)
    tally["answered"] += pane.status == 0
    tally["twice"] += bool(unread)
    if pane.status != 0 or unread:
        tally.fails("not answered as it should", f"{pane.scene.name}: status {pane.status}, unread {unread!r}; {mine}")


def _read_below(pid: int) -> int:
    """How many bytes all processes below that one have read so far, from anything."""
    return sum(read_by(tree(pid)[1:]).values())


PART = Part(__doc__, "hostile scenes, and as many real prompts", full=320, short=12, soak=soak)
