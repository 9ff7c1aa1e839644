"""Hostile text (controls, tmux commands and formats, shell, invalid UTF-8, some kB) typed into panes.

It arrives byte for byte, and tmux takes no word of it for its own.
"""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Callable

from terminals import wait_for

from soak.parts import Figure, Part, Run, Tally
from soak.tmuxes import WANTED, Recorder, SoakServer, versions
from stallkit.errors import CaptureTimeout, KeysRefused, TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.terminal.keys import KEY_NAMES, Keys

PANES = 4  # of each server, typed into at the same time
EVERY = 250  # strings between two looks at everything that the server has
TOLD = ("typed", "refused", "unknown")  # what came of a string; unknown where tmux did not answer in time
LONG = 8000  # characters; a client cannot hand over more than 16 kB, and each byte takes three

# What would do something if a shell, tmux's command parser or its formats ever read it.
_DOES = [
    "; kill-server", ";kill-session -a", " ; new-session -d -s pwned ; ", "\nnew-window -n pwned\n",
    "\r\nsplit-window\r\n", "' ; set-buffer pwned ; '", '" ; rename-session pwned ; "',
    "} ; set -g status off ; {", "\\; set -s @pwned 1", "#(touch pwned)", "$(touch pwned)", "`touch pwned`",
    "; touch pwned", "&& touch pwned", "| touch pwned", "> pwned", "#{pane_pid}", "#{E:#{@pwned}}",
    "#{?1,yes,no}", "#[fg=red]", "##{x}", "#{", "#}", "#,", "#S", "#{T:%s}", "%H:%M", "run-shell 'touch pwned'",
    "if-shell true 'set-buffer pwned'", "source-file /dev/stdin", "%if 1\nset -g @pwned 1\n%endif", "-t other",
    "-l", "-H 41", "-X cancel", "-R", "-N 3", "--", "-", "-K", "-M", "=", "=name:", "%0", "$0", "@0", "{last}",
    "\x02d", "\x02:kill-server\r", "\x02c", "\x03", "\x04", "\x1a", "\x1c", "\x13", "\x11", "\x16", "\x00",
    "\x7f", "\x15", "\x1b[200~", "\x1b[201~", "\x1b]52;c;cHduZWQ=\x07", "\x1b]2;pwned\x07", "\x1bP+q\x1b\\",
    "\x1bc", "\x1b[?1049h", "\x9b31m", "%end 1 1 0", "%exit", "%begin 1 1 0", "$HOME", "${HOME}", "~root",
    "\\012", "\\u0041", "\\e", "!!", "*", "?", "[a-z]",
]  # fmt: skip
_TEXT = [
    "é", "ß", "語", "한국어", "👩‍👩‍👧", "🇩🇪", "e\u0301", "\u202edrowssap\u202c", "\u2066x\u2069", "\u200b",
    "\ufeff", "\u0600", "\xa0", "\u2028", "\uffff", "\U0010ffff", "\x85", "\xad", "ﷺ", "\u034f",
]  # fmt: skip
_BLANK = [
    " ", "\t", "\n", "\r", "\v", "\f", "  ", "'", '"', "\\", "\\\\", ";", ";;", "#", "{", "}", "$", "%", "&",
    "<", "|",
]  # fmt: skip


def hostile(number: int) -> str:
    """The string of that number; lone surrogates stand for bytes that are no UTF-8."""
    rand = random.Random(number)
    invalid = [chr(0xDC00 + byte) for byte in range(0x80, 0x100)]
    control = [chr(code) for code in range(0x20)] + ["\x7f"] + [chr(code) for code in range(0x80, 0xA0)]
    pools: list[list[str]] = [_DOES, _DOES, _TEXT, _BLANK, control, invalid, sorted(KEY_NAMES)]
    length = rand.randint(1, LONG) if rand.random() < 0.03 else rand.choice([1, 2, 5, 20, 200])
    if rand.random() < 0.01:
        return ""
    if rand.random() < 0.01:
        return rand.choice(["\ud800", "\udfff", "\udc41"]) + rand.choice(_DOES)  # surrogates that stand for no byte
    text = rand.choice(rand.choice(pools))
    while len(text) < length:
        text += rand.choice(rand.choice(pools))
    return text


WRONG, CHANGED = "came otherwise", "objects and options made or changed"


def _all_there_is(server: SoakServer) -> dict[str, str]:
    """Every object and option of a server, but for the mark that a press leaves in its pane."""
    panes = server.tmux("list-panes", "-a", "-F", "#{pane_id}").split()
    commands = {
        "sessions": ["list-sessions", "-F", "#{session_id} #{session_name} #{session_windows} #{session_group}"],
        "windows": ["list-windows", "-a", "-F", "#{window_id} #{window_name} #{window_layout} #{window_flags}"],
        "panes": ["list-panes", "-a", "-F", "#{pane_id} #{pane_pid} #{pane_title} #{pane_dead} #{pane_in_mode}"],
        "buffers": ["list-buffers"],
        "clients": ["list-clients"],
        "server options": ["show-options", "-s"],
        "session options": ["show-options", "-g"],
        "window options": ["show-options", "-gw"],
        "hooks": ["show-hooks", "-g"],
        "environment": ["show-environment", "-g"],
        "keys": ["list-keys"],
    } | {f"options of {pane}": ["show-options", "-p", "-t", pane] for pane in panes}
    found = {what: server.tmux(*command) for what, command in commands.items()}
    for pane in panes:
        lines = found[f"options of {pane}"].splitlines()
        found[f"options of {pane}"] = "\n".join(line for line in lines if not line.startswith("@stallkit_pressed "))
    files = [*server.socket.parent.iterdir(), *Path.cwd().glob("pwned*")]  # shells of the server run in either folder
    found["files"] = "\n".join(sorted(path.name for path in files))
    return found


def _look(pane: Recorder) -> Snapshot:
    """The first look that comes about: tmux answers late on a busy machine."""
    seen: list[Snapshot] = []

    def looked() -> bool:
        with suppress(TransportError):
            seen.append(pane.transport.capture())
        return bool(seen)

    wait_for(looked, f"a look at {pane.transport.target}")
    return seen[0]


def _type(
    server: SoakServer,
    pane: Recorder,
    numbers: list[int],
    before: dict[str, str],
    found: Tally,
    tell: Callable[[], None],
) -> None:
    for place, number in enumerate(numbers, 1):
        text = hostile(number)
        seen = _look(pane)
        expected, told = b"", "refused"
        with suppress(KeysRefused, ValueError):  # the second: half a character, which is no key
            keys = Keys.typed(text)
            try:
                pane.transport.send(keys, seen)
                told = "typed"
            except CaptureTimeout:  # a busy machine: typed, or perhaps
                told = "unknown"
            except KeysRefused:
                raise
            except TransportError as error:
                told = f"failed with {error}"
            expected = keys.to_bytes()
        got = pane.got(len(expected))
        if told in TOLD and (got == expected or (told == "unknown" and not got)):
            found[told] += 1
        else:
            found.fails(WRONG, f"string {number}, {told}: {expected[:40]!r} came as {got[:40]!r}")
        tell()
        if place % EVERY == 0 or place == len(numbers):
            now = _all_there_is(server)
            for what in before | now:
                if now.get(what) != before.get(what):
                    found.fails(CHANGED, f"up to string {number}: {what} {now.get(what)!r}")


def _at(server: SoakServer, size: int, tell: Callable[[int], None]) -> Tally:
    each, found = [Tally() for _ in range(PANES)], Tally()

    def more() -> None:
        tell(sum(one.total() - one[CHANGED] for one in each))

    try:
        panes = [Recorder(server, f"pane{number}") for number in range(PANES)]
        server.tmux("set-option", "-g", "automatic-rename", "off")
        before = _all_there_is(server)
        with ThreadPoolExecutor(PANES) as threads:
            jobs = [
                threads.submit(_type, server, pane, list(range(first, size, PANES)), before, each[first], more)
                for first, pane in enumerate(panes)
            ]
            for job in jobs:
                job.result()
        if any(pane.got(0, patient=False) for pane in panes):
            each[0].fails(WRONG, "bytes that nobody sent")
    finally:
        server.end()
    for one in each:
        found.update(one)
    return found


def soak(run: Run) -> list[Figure]:
    binaries = versions()
    done = dict.fromkeys(binaries, 0)

    def one_version(version: str) -> Tally:
        def tell(strings: int) -> None:
            done[version] = strings
            run.tell(sum(done.values()) // len(done))

        return _at(SoakServer(run.folder / version, binaries[version]), run.size, tell)

    with ThreadPoolExecutor(len(binaries)) as threads:
        found = dict(zip(binaries, threads.map(one_version, binaries), strict=True))
    figures = []
    for version, one in found.items():
        same, refused, unknown = (one[told] for told in TOLD)
        sent = run.size - refused - unknown
        figures += [
            Figure(f"tmux {version}: arrived the same", f"{same} of {sent}", "all", same == sent),
            Figure.told(f"tmux {version}: refused, and nothing arrived", str(refused)),
            Figure.told(f"tmux {version}: tmux answered too late, nothing else came", str(unknown)),
            Figure.none(f"tmux {version}: {WRONG}", one[WRONG]),
            Figure.none(f"tmux {version}: {CHANGED}", one[CHANGED]),
        ]
    absent = [version for version in WANTED if version not in found]
    ran = f"{', '.join(found)}{'; not run: ' + ', '.join(absent) if absent else ''}"
    figures.append(Figure.told("versions of tmux", ran))
    return figures


PART = Part(__doc__, "strings on each version of tmux", full=10_000, short=100, soak=soak)
