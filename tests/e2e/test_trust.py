"""An agent's question whether a folder is trusted gets its key only for a folder that the operator named."""

from __future__ import annotations

from pathlib import Path

import pytest
from agent_stand_in import installed_agent
from attrs import evolve
from started import House
from terminals import wait_for

from stallkit import check
from stallkit.press.policy import CAREFUL, Escalate
from stallkit.transports.base import Options
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.e2e

ASKS = r"""
import os, sys, time, tty
tty.setraw(0)
rows = f'''Accessing workspace:

 {sys.argv[1]}

 Quick safety check: Is this a project you created or one you trust? (Like your
 own code, a well-known open source project, or work from your team). If not,
 take a moment to review what's in this folder first.

 Claude Code'll be able to read, edit, and execute files here.

 Security guide

 ❯ 1. Yes, I trust this folder
   2. No, exit

 Enter to confirm · Esc to cancel'''
sys.stdout.write("\x1b[?25l\x1b[2J\x1b[H" + rows.replace("\n", "\r\n"))
sys.stdout.flush()
keys = os.read(0, 9)
with open(sys.argv[2], "ab") as got:
    got.write(keys)
print("\x1b[2J\x1b[Hthank you\r", flush=True)
time.sleep(1000)
"""


def asking(house: House, shown: Path, got: Path, runs_in: Path) -> TmuxTransport:
    """A session that was started in the house's folder; its agent asks about the folder that is shown."""
    script = house.folder / "agent.py"
    script.write_text(ASKS)
    runs_in.mkdir(exist_ok=True)
    words = f"cd {runs_in}; exec -a claude {installed_agent(house.folder)} {script} {shown} {got}"
    house.start("agent", "bash", "-c", words)
    transport = TmuxTransport.open("agent", Options(tmux_socket_path=str(house.socket)))
    wait_for(lambda: "Enter to confirm" in transport.capture().screen.text, "the agent's question")
    return transport


@pytest.mark.parametrize("inside", ["", "part"])
def test_the_folder_that_it_was_started_in_is_trusted(house: House, tmp_path: Path, inside: str) -> None:
    got, folder = tmp_path / "got", house.work / inside
    session = asking(house, folder, got, folder)
    result = check(session, CAREFUL)
    assert result.outcome and str(result.status) == "dismissed", (result.decision, result.outcome)
    assert got.read_bytes() == b"1"


def test_a_folder_in_which_it_does_not_run_is_left_to_a_person(house: House, tmp_path: Path) -> None:
    got = tmp_path / "got"
    session = asking(house, house.work / "part", got, house.work)
    result = check(session, evolve(CAREFUL, trust=["/"]))
    assert result.decision == Escalate(f"it shows '{house.work}/part', and runs in '{house.work}'")
    assert not got.exists()


def test_another_folder_is_left_to_a_person_unless_the_policy_names_it(house: House, tmp_path: Path) -> None:
    got, other = tmp_path / "got", tmp_path / "other"
    session = asking(house, other, got, other)
    result = check(session, CAREFUL)
    assert isinstance(result.decision, Escalate) and f"no operator named {other}" in result.decision.why
    assert not got.exists()
    assert str(check(session, evolve(CAREFUL, trust=[str(other)])).status) == "dismissed"


def test_a_home_directory_is_not_meant(house: House, tmp_path: Path) -> None:
    house.work = house.folder  # which is its HOME
    session = asking(house, house.folder, tmp_path / "got", house.folder)
    result = check(session, CAREFUL)
    assert isinstance(result.decision, Escalate) and "no operator named" in result.decision.why
