"""Escape for an agent that hangs: once, below a turning spinner, and nowhere else."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from hanging_agent import installed, keys
from terminals import Server

from stallkit.detect.engine import Engine
from stallkit.errors import KeysRefused
from stallkit.press.check import observe
from stallkit.press.gate import End, Outcome, press
from stallkit.press.policy import Interrupt
from stallkit.terminal.keys import Keys
from stallkit.testing import MemoryTransport
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="who reads is known on Linux alone")


SPEED = 4  # of the clock by which an agent that ignores it is waited for


def interrupted(transport: TmuxTransport, engine: Engine, tries: int = 20) -> Outcome:
    """Tried a few times, as its supervisor does: a look may find it between two writes."""
    outcome = None
    for _ in range(tries):
        _, seen = observe(transport, engine)
        outcome = press(transport, Interrupt("it hangs"), seen, engine, clock=lambda: SPEED * time.monotonic())
        if outcome.pressed:
            break
    assert outcome is not None
    return outcome


def start(server: Server, folder: Path, how: str) -> tuple[TmuxTransport, Path]:
    """An agent that behaves so, in a folder of its own."""
    own = folder / how.replace(" ", "-")
    own.mkdir()
    return server.start(own.name, installed(own, how), shows="Herding"), own


def test_it_is_pressed_once_whether_the_agent_obeys_or_not(server: Server, tmp_path: Path, engine: Engine) -> None:
    agents = {how: start(server, tmp_path, how) for how in ("obeys", "ignores")}
    outcomes = {how: interrupted(transport, engine) for how, (transport, _) in agents.items()}
    assert outcomes["obeys"].end is End.CLEARED, outcomes
    assert outcomes["ignores"].end is End.UNCHANGED and "it still says that it works" in outcomes["ignores"].why
    assert [keys(folder) for _, folder in agents.values()] == [b"\x1b"] * 2


def test_nothing_that_escape_would_take_away_is_there(server: Server, tmp_path: Path, engine: Engine) -> None:
    whys = {
        "obeys draft": "somebody's text may stand in the composer",
        "obeys dialog": "it does not say that it works",
    }
    agents = {how: start(server, tmp_path, how) for how in whys}
    for how, (transport, folder) in agents.items():
        outcomes = [interrupted(transport, engine, tries=1) for _ in range(3)]
        assert {one.end for one in outcomes} == {End.REFUSED}, outcomes
        assert any(whys[how] in one.why for one in outcomes) and keys(folder) == b"", outcomes


# A spinner that turns, and the composer below it, drawn by what is no agent.
PICTURE = r"""
rule=────────────────────────────────────────
printf '\033[2J\033[H> go on\n\n\n\n%s\n❯ \n%s' $rule $rule
while :; do for glyph in ✢ ✳ ✶ ✻; do
    printf '\033[3H%s Herding… (200s · ↓ 163 tokens)\033[6;3H' $glyph
    {waits}
done; done
"""


TURNS = f"({PICTURE.replace('{waits}', 'sleep 0.1')}) & "
PICTURES = {
    "a-script": PICTURE.replace("{waits}", "read -rsn1 -t 0.1 key && echo pressed > keys"),
    "below-a-shell": TURNS + "exec bash --norc -i",
    "below-a-program-that-reads": TURNS + "exec cat > keys",
}


def test_a_picture_of_a_spinner_gets_no_escape(server: Server, tmp_path: Path, engine: Engine) -> None:
    for name, script in PICTURES.items():  # at once after its start: one that stood for a while is taken to wait
        transport = server.start(name, "bash", "-c", script, shows="Herding")
        outcome = interrupted(transport, engine, tries=3)
        assert outcome.end is End.REFUSED, (name, outcome)
    assert keys(tmp_path) == b""


def test_a_dialog_that_comes_between_look_and_press_keeps_it_away(
    server: Server, tmp_path: Path, engine: Engine
) -> None:
    transport, folder = start(server, tmp_path, "obeys")
    transport.capture()
    now = transport.capture_moving()
    tty = server.tmux("display-message", "-p", "-t", "=obeys:", "#{pane_tty}").strip()
    Path(tty).write_bytes("\x1b[7H\x1b[2K ❯ 1. Yes".encode())
    with pytest.raises(KeysRefused, match="it changed since it was looked at"):
        transport.send_moving(Keys.parse("Escape"), now)
    assert keys(folder) == b""


def test_a_transport_that_cannot_press_at_what_moves_is_refused(engine: Engine) -> None:
    transport = MemoryTransport("✢ Herding…")
    outcome = press(transport, Interrupt("it hangs"), transport.now, engine, sleep=lambda _: None)
    assert outcome.end is End.REFUSED and transport.sent == []
