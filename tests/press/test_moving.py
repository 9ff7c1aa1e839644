"""A check of a session whose screen moves a little: a dialog over a spinner, a full-screen program with a clock."""

from __future__ import annotations

import sys

import pytest
from terminals import PATIENCE_S, Server, wait_for

from stallkit.detect.engine import Engine
from stallkit.press.check import CheckResult, check_session

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells this much")

# Row 1 turns for ever; {shown} stands below it, and a key ends the program where it reads one.
PROGRAM = """
import itertools, select, sys, time, tty
shown, reads = sys.argv[1].replace("|", "\\r\\n"), sys.argv[2] == "reads"
tty.setraw(0)
sys.stdout.write("\\x1b[?1049h\\x1b[?25l\\x1b[2J\\x1b[3;1H" + shown + "\\x1b7")
for number in itertools.count():
    turning = "|/-\\\\"[number % 4] + " fetching" if sys.argv[3] == "spinner" else time.strftime("%H:%M:%S")
    sys.stdout.write("\\x1b[1;1H" + turning + "\\x1b8")
    sys.stdout.flush()
    if select.select([0] if reads else [], [], [], 0.11)[0]:
        break
"""
MENU = "? Which template? (Use arrow keys)|  library|❯ service|  tool"


def look(server: Server, engine: Engine, *arguments: str) -> CheckResult:
    """A check of it, of which two looks differ."""
    pane = server.start("moves", sys.executable, "-c", PROGRAM, *arguments, shows=arguments[0].partition("|")[0])
    return check_session(pane, engine)


def until(server: Server, engine: Engine, state: str, *arguments: str) -> CheckResult:
    found: list[CheckResult] = [look(server, engine, *arguments)]
    pane = server.start("again", sys.executable, "-c", PROGRAM, *arguments, shows=arguments[0].partition("|")[0])

    def holds() -> bool:
        found.append(check_session(pane, engine))
        return found[-1].verdict.state == state

    wait_for(holds, f"{state}, not {found[-1].verdict}")
    return found[-1]


def test_a_dialog_over_a_spinner_is_a_dialog(server: Server, engine: Engine) -> None:
    found = until(server, engine, "waiting", MENU, "reads", "spinner")
    assert (found.verdict.state, found.verdict.kind) == ("waiting", "select"), found.verdict.reasons
    assert found.snapshot.kernel is not None and found.snapshot.kernel.listening


def test_a_menu_that_nothing_reads_over_a_spinner_is_doubtful_at_most(server: Server, engine: Engine) -> None:
    found = look(server, engine, MENU, "computes", "spinner")
    assert (found.verdict.state, found.verdict.certainty) != ("waiting", "sure")


def test_a_full_screen_program_with_a_clock_waits_perhaps(server: Server, engine: Engine) -> None:
    found = until(server, engine, "waiting", "Agenda|  10 dentist", "reads", "clock")
    assert (found.verdict.certainty, found.verdict.kind) == ("maybe", "tui"), found.verdict.reasons


# Below what another process draws: its own row, or over the prompt's.
SPINS = "( while :; do for c in '|' / - x; do printf '%s' \"$c working\"; sleep 0.1; done; done ) & "
ASKS = {
    "in a row of its own": ("\\0337\\033[1;1H%s\\0338", "printf '\\n\\n'; read -p 'Overwrite? [y/N] '", "confirm"),
    "over the prompt": ("\\r%s", "read -p 'Overwrite the whole file? [y/N] '", "text"),
    "over a password": ("\\r%s", "read -s -p 'Tell me, quietly, the very long word: '", "secret"),
}
WORKS = {
    "its own keyboard": [sys.executable, "-c", PROGRAM, "Fetching", "reads", "spinner"],
    "a loop": ["bash", "-c", SPINS.replace("%s", "\\r%s", 1) + "while read -t 0.1; [ $? -gt 128 ]; do :; done"],
    "its child": ["bash", "-c", SPINS.replace("%s", "\\r%s", 1) + "wait"],
}


def test_a_prompt_below_what_another_process_draws_waits(server: Server, engine: Engine) -> None:
    wrong = {}
    for name, (draws, asks, kind) in ASKS.items():
        pane = server.start(name, "bash", "-c", SPINS.replace("%s", draws, 1) + asks, shows="working")
        verdict = check_session(pane, engine, watch_s=PATIENCE_S).verdict
        if (verdict.state, verdict.certainty, verdict.kind) != ("waiting", "sure", kind):
            wrong[name] = (verdict.kind, verdict.reasons)
    assert not wrong


def test_what_draws_and_may_be_stopped_by_a_key_works(server: Server, engine: Engine) -> None:
    wrong = {}
    for name, command in WORKS.items():
        verdict = check_session(server.start(name, *command, shows="ing"), engine, prove=True).verdict
        if verdict.by_read:
            wrong[name] = verdict.reasons
    assert not wrong
