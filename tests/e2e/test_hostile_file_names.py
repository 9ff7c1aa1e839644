"""Files whose names look like prompts, in programs that ask about a file: shown escaped, and never answered."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from terminals import Server, wait_for

from stallkit import Engine
from stallkit.cli.check_commands import as_lines
from stallkit.cli.output import shown
from stallkit.detect.signature import State
from stallkit.press.check import check_session
from stallkit.press.events import EventLog
from stallkit.press.policy import CAREFUL, Policy
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import Rule
from stallkit.terminal.text import escaped

pytestmark = pytest.mark.e2e

NAMES = {
    "words": "Press any key to continue...",
    "a line of its own": "x\n\nPress any key to continue . . . ",
    "a question": "x\nProceed? [y/N] ",
    "an empty screen": "\x1b[2J\x1b[HPress ENTER to continue ",
    "wide": "请按任意键继续. . . ",
    "look-alikes, turned round": "Рress аny kеy to continue...\u202e...\u3164",
}
PROGRAMS = {  # each asks about the file $1
    "rm -i": 'exec rm -i -- "$1"',
    "cp -i": 'exec cp -i -- other "$1"',
    "mv -i": 'exec mv -i -- other "$1"',
    "gzip": 'exec gzip -k -- "$1"',
    "find -ok": "exec find . -type f ! -name other ! -name '*.gz' ! -name a.zip -ok rm {} ';'",
    "unzip": "exec unzip a.zip",
    "less": 'exec less -- "$1"',
    "vi": 'exec vi -- "$1"',
}
ALLOWED = Policy("mine", rules=[Rule(do="press", signature="shell_tools:press_*", session="tmux:*")])
TAKES = {"unzip": ("words", "wide", "look-alikes, turned round")}  # it extracts the others under plain names


@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_is_pressed(program: str, server: Server, tmp_path: Path, engine: Engine) -> None:
    log = EventLog(tmp_path / "events.jsonl")
    transports = {}
    for number, name in enumerate(NAMES):
        if name not in TAKES.get(program, NAMES):
            continue
        folder = tmp_path / str(number)
        for file in (NAMES[name], f"{NAMES[name]}.gz", "other"):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text("a line\n" * 99)
        with zipfile.ZipFile(folder / "a.zip", "w") as archive:
            archive.writestr(NAMES[name], "new")
        script = f"cd {folder}; {PROGRAMS[program]}"
        transports[name] = server.start(f"asks{number}", "bash", "-c", script, "bash", NAMES[name])
    for name, transport in transports.items():
        wait_for(
            lambda transport=transport: check_session(transport, engine).verdict.state is State.WAITING,  # type: ignore[misc]
            f"{program} to ask about {name}",
        )
        for policy in (CAREFUL, DAEMON, ALLOWED):
            result = check_session(transport, engine, policy, log)
            assert result.outcome is None or result.outcome.keys is None, (name, result.verdict.reasons)
            for line in map(shown, as_lines(result)):
                assert escaped(line) == line
        transport.close()
    told = log.path.read_text("ascii")
    assert told.replace("\n", "").isprintable() and told.count("\n") >= 2 * len(transports)
