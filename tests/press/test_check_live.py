"""A check of real programs whose screen moves: a dialog over a spinner, a clock, an agent that hangs or does not."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Iterator

import pytest
from click.testing import CliRunner
from silent_agent import AGENT, Model
from terminals import PATIENCE_S, Server, wait_for

from stallkit.cli.main import cli
from stallkit.detect.engine import Engine
from stallkit.press.check import CheckResult, Status, check_session
from stallkit.press.hang import activity_sample
from stallkit.transports.base import Transport
from stallkit.transports.pty import PtyTransport

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


def until_it_waits(server: Server, engine: Engine, *arguments: str) -> CheckResult:
    pane = server.start("moves", sys.executable, "-c", PROGRAM, *arguments, shows=arguments[0].partition("|")[0])
    found: list[CheckResult] = []

    def waits() -> bool:
        found.append(check_session(pane, engine))
        return found[-1].verdict.state == "waiting"

    wait_for(waits, "it to wait")
    return found[-1]


def test_a_dialog_over_a_spinner_is_a_dialog(server: Server, engine: Engine) -> None:
    found = until_it_waits(server, engine, MENU, "reads", "spinner")
    assert found.verdict.kind == "select", found.verdict.reasons
    assert found.snapshot.kernel is not None and found.snapshot.kernel.listening
    command = (sys.executable, "-c", PROGRAM, MENU, "computes", "spinner")
    unread = check_session(server.start("computes", *command, shows="template"), engine).verdict
    assert (unread.state, unread.certainty) != ("waiting", "sure"), unread.reasons


def test_a_full_screen_program_with_a_clock_waits_perhaps(server: Server, engine: Engine) -> None:
    found = until_it_waits(server, engine, "Agenda|  10 dentist", "reads", "clock")
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


def test_a_prompt_below_what_another_process_draws_waits_and_what_a_key_may_stop_works(
    server: Server, engine: Engine
) -> None:
    asking = {}
    for name, (draws, asks, _) in ASKS.items():
        asking[name] = server.start(name, "bash", "-c", SPINS.replace("%s", draws, 1) + asks, shows="working")
    wrong = {}
    for name, pane in asking.items():
        verdict = check_session(pane, engine, watch_s=PATIENCE_S).verdict
        if (verdict.state, verdict.certainty, verdict.kind) != ("waiting", "sure", ASKS[name][2]):
            wrong[name] = (verdict.kind, verdict.reasons)
    for name, command in WORKS.items():
        verdict = check_session(server.start(name, *command, shows="ing"), engine, prove=True).verdict
        if verdict.by_read:
            wrong[name] = (verdict.kind, verdict.reasons)
    assert not wrong, wrong


# --- an agent at work: hung is one to which nothing comes, and nothing else ---

AT_WORK = {  # what it does, and how often its model gives a sign of life
    "a tool that sleeps": ("subprocess.Popen(['sleep', '1000'])", None),
    "a tool that computes": ("subprocess.Popen(['sh', '-c', 'while :; do :; done'])", None),
    "signs of life": ("", 0.1),
}
AFTER_S = 0.8


@pytest.fixture
def ends() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def agent(ends: ExitStack, does: str = "", each_s: float | None = None) -> PtyTransport:
    """One that shows its spinner, and whose question was sent."""
    model = Model(each_s)
    ends.callback(model.close)
    made = PtyTransport.spawn([sys.executable, "-c", AGENT.format(does=does), model.port])
    ends.callback(made.close)
    wait_for(lambda: "Herding" in made.capture().screen.text, "its spinner")
    return made


def soon(transport: Transport, engine: Engine) -> CheckResult:
    return check_session(transport, engine, hung_after_s=AFTER_S)


def test_one_to_which_nothing_comes_is_hung_and_one_that_does_something_is_not(ends: ExitStack, engine: Engine) -> None:
    at_work = {name: agent(ends, *does) for name, does in AT_WORK.items()}
    silent = agent(ends)  # it says when there was time enough for the others
    assert check_session(silent, engine).status is Status.NOT_STALLED
    wait_for(lambda: soon(silent, engine).status is Status.HUNG, "it to be hung")
    found = soon(silent, engine).verdict
    assert found.hung is not None and found.hung.since_s >= AFTER_S and found.state == "working"
    assert [word.split()[0] for word in found.hung.evidence] == ["nothing", "what", "no", "its", "its"]
    assert found.reasons[-1].startswith("hung: nothing has happened for ")
    assert check_session(silent, engine).status is Status.NOT_STALLED, "its limit is three minutes"
    for name, transport in at_work.items():
        for _ in range(3):
            result = soon(transport, engine)
            assert (result.status, result.verdict.hung) == (Status.NOT_STALLED, None), name


def test_a_program_that_says_nothing_of_work_is_never_hung(ends: ExitStack, engine: Engine) -> None:
    sleeps = PtyTransport.spawn(["sleep", "1000"])
    ends.callback(sleeps.close)
    wait_for(lambda: check_session(sleeps, engine).verdict.state == "working", "it to run")
    found = check_session(sleeps, engine)
    assert activity_sample(found.verdict, found.snapshot) is None and found.verdict.hung is None


def test_the_command_says_it(ends: ExitStack, server: Server, tmp_path: Path) -> None:
    model = Model()
    ends.callback(model.close)
    server.start("one", sys.executable, "-c", AGENT.format(does=""), model.port, shows="Herding")
    words = ["check", "tmux:one", "-S", str(server.socket), "--hang-timeout", "0.8"]

    def said(*more: str) -> tuple[int, str]:
        done = CliRunner().invoke(cli, [*words, *more], env={"STALLKIT_STATE_DIR": str(tmp_path / "state")})
        return done.exit_code, done.output

    wait_for(lambda: said()[0] == 3, "it to be hung")
    code, lines = said()
    assert code == 3 and "hung (working, " in lines.splitlines()[0]
    assert "  hung: nothing came on 1 TCP connection for " in lines
    code, text = said("--json")
    told = json.loads(text)
    assert (code, told["status"], told["state"]) == (3, "hung", "working")
    assert told["hung"]["since_s"] >= 0.8 and "its token count stands at 163" in told["hung"]["evidence"]
