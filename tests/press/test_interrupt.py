"""Escape for an agent that hangs: once, below a turning spinner, and nowhere else."""

from __future__ import annotations

import sys
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


def interrupted(transport: TmuxTransport, engine: Engine, tries: int = 20) -> Outcome:
    """Tried a few times, as its supervisor does: a look may find it between two writes."""
    outcome = None
    for _ in range(tries):
        _, seen = observe(transport, engine)
        outcome = press(transport, Interrupt("it hangs"), seen, engine)
        if outcome.pressed:
            break
    assert outcome is not None
    return outcome


def test_one_that_obeys_ends_its_turn(server: Server, tmp_path: Path, engine: Engine) -> None:
    transport = server.start("one", installed(tmp_path, "obeys"), shows="Herding")
    outcome = interrupted(transport, engine)
    assert outcome.end is End.CLEARED, outcome
    assert keys(tmp_path) == b"\x1b"


def test_one_that_ignores_it_got_it_once(server: Server, tmp_path: Path, engine: Engine) -> None:
    transport = server.start("one", installed(tmp_path, "ignores"), shows="Herding")
    outcome = interrupted(transport, engine)
    assert outcome.end is End.UNCHANGED and "it still says that it works" in outcome.why
    assert keys(tmp_path) == b"\x1b"


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("obeys draft", "somebody's text may stand in the composer"),
        ("obeys dialog", "it does not say that it works"),
    ],
)
def test_nothing_that_escape_would_take_away_is_there(
    server: Server, tmp_path: Path, engine: Engine, how: str, why: str
) -> None:
    transport = server.start("one", installed(tmp_path, how), shows="Herding")
    outcomes = [interrupted(transport, engine, tries=1) for _ in range(3)]
    assert {one.end for one in outcomes} == {End.REFUSED} and any(why in one.why for one in outcomes), outcomes
    assert keys(tmp_path) == b""


# A spinner that turns, and the composer below it, drawn by what is no agent.
PICTURE = r"""
rule=────────────────────────────────────────
printf '\033[2J\033[H> go on\n\n\n\n%s\n❯ \n%s' $rule $rule
while :; do for glyph in ✢ ✳ ✶ ✻; do
    printf '\033[3H%s Herding… (200s · ↓ 163 tokens)\033[6;3H' $glyph
    {waits}
done; done
"""


@pytest.mark.parametrize(
    "command",
    [
        ["bash", "-c", PICTURE.replace("{waits}", "read -rsn1 -t 0.1 key && echo pressed > keys")],
        ["bash", "-c", f"({PICTURE.replace('{waits}', 'sleep 0.1')}) & exec bash --norc -i"],
        ["bash", "-c", f"({PICTURE.replace('{waits}', 'sleep 0.1')}) & exec cat > keys"],
    ],
    ids=["a script", "below a shell", "below a program that reads"],
)
def test_a_picture_of_a_spinner_gets_no_escape(
    server: Server, tmp_path: Path, engine: Engine, command: list[str]
) -> None:
    transport = server.start("one", *command, shows="Herding")
    outcome = interrupted(transport, engine, tries=3)
    assert outcome.end is End.REFUSED, outcome
    assert keys(tmp_path) == b""


def test_a_dialog_that_comes_between_look_and_press_keeps_it_away(
    server: Server, tmp_path: Path, engine: Engine
) -> None:
    transport = server.start("one", installed(tmp_path, "obeys"), shows="Herding")
    transport.capture()
    now = transport.capture_moving()
    tty = server.tmux("display-message", "-p", "-t", "=one:", "#{pane_tty}").strip()
    Path(tty).write_bytes("\x1b[7H\x1b[2K ❯ 1. Yes".encode())
    with pytest.raises(KeysRefused, match="it changed since it was looked at"):
        transport.send_moving(Keys.parse("Escape"), now)
    assert keys(tmp_path) == b""


def test_a_transport_that_cannot_press_at_what_moves_is_refused(engine: Engine) -> None:
    transport = MemoryTransport("✢ Herding…")
    outcome = press(transport, Interrupt("it hangs"), transport.now, engine, sleep=lambda _: None)
    assert outcome.end is End.REFUSED and transport.sent == []
