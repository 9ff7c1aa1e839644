"""A check of real programs that draw an agent's spinner: hung is one to which nothing comes, and nothing else."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Iterator

import pytest
from click.testing import CliRunner
from silent_agent import AGENT, Model
from terminals import Server, wait_for

from stallkit.cli.commands import cli
from stallkit.packs.registry import installed_engine
from stallkit.press.check import Status, check, check_session
from stallkit.press.hang import activity_sample
from stallkit.transports.pty import PtyTransport

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells this much")

TOOLS = {
    "a tool that sleeps": "subprocess.Popen(['sleep', '1000'])",
    "a tool that computes": "subprocess.Popen(['sh', '-c', 'while :; do :; done'])",
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


def test_one_to_which_nothing_comes_is_hung(ends: ExitStack) -> None:
    transport, engine = agent(ends), installed_engine()
    assert check(transport).status is Status.NOT_STALLED
    wait_for(lambda: check_session(transport, engine, hung_after_s=AFTER_S).status is Status.HUNG, "it to be hung")
    found = check_session(transport, engine, hung_after_s=AFTER_S).verdict
    assert found.hung is not None and found.hung.since_s >= AFTER_S and found.state == "working"
    assert [word.split()[0] for word in found.hung.evidence] == ["nothing", "what", "no", "its", "its"]
    assert found.reasons[-1].startswith("hung: nothing has happened for ")
    assert check(transport).status is Status.NOT_STALLED, "its limit is three minutes"


@pytest.mark.parametrize(
    ("does", "each_s"), [*((tool, None) for tool in TOOLS.values()), ("", 0.1)], ids=[*TOOLS, "signs of life"]
)
def test_one_that_does_something_is_not(ends: ExitStack, does: str, each_s: float | None) -> None:
    transport, silent, engine = agent(ends, does, each_s), agent(ends), installed_engine()
    # the silent one beside it says when there was time enough
    wait_for(lambda: check_session(silent, engine, hung_after_s=AFTER_S).status is Status.HUNG, "time to pass")
    for _ in range(3):
        found = check_session(transport, engine, hung_after_s=AFTER_S)
        assert (found.status, found.verdict.hung) == (Status.NOT_STALLED, None)


def test_a_program_that_says_nothing_of_work_is_never_hung(ends: ExitStack) -> None:
    sleeps = PtyTransport.spawn(["sleep", "1000"])
    ends.callback(sleeps.close)
    wait_for(lambda: check(sleeps).verdict.state == "working", "it to run")
    found = check(sleeps)
    assert activity_sample(found.verdict, found.snapshot) is None and found.verdict.hung is None


def test_the_command_says_it(ends: ExitStack, tmp_path: Path) -> None:
    model, server = Model(), Server(tmp_path)
    ends.callback(model.close)
    ends.callback(server.end)
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
