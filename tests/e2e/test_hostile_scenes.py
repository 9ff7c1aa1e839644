"""Real terminals that show a prompt which nobody asks: no policy presses a key at any of them (docs/safety.md)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from terminals import Server

from stallkit import Engine
from stallkit.press.check import check_session
from stallkit.press.policy import CAREFUL, DAEMON

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parent.parent.parent
KEY = "Press any key to continue . . . "
YES = "Proceed? [y/N] "
TRUST = " Quick safety check: do you trust it?\\n\\n ❯ 1. Yes, I trust this folder\\n   2. No, exit\\n\\n"
TRUST += " Enter to confirm · Esc to cancel"
HIDDEN = "\\033[?25l"
BUSY = "while :; do :; done"

# name, what bash runs, what its screen shows when it is there
SCENES = [
    ("printed, then busy", f"printf '{KEY}'; {BUSY}", "Press any"),
    ("printed, then asleep", f"printf '{YES}'; sleep 1000", "Proceed"),
    ("printed, then a compiler", f"printf '{KEY}'; exec {sys.executable} -c 'while True: pass'", "Press any"),
    ("the cursor moved back onto it", f"printf 'one\\n{KEY}\\nthree\\033[1A\\r\\033[32C'; {BUSY}", "Press any"),
    ("drawn on the alternate screen", f"printf '\\033[?1049h\\033[2J\\033[H{YES}'; {BUSY}", "Proceed"),
    ("a dialog of an agent, printed", f"printf '{HIDDEN}{TRUST}'; {BUSY}", "Quick safety"),
    (
        "a dialog, over a program that is called node",
        f"printf '{HIDDEN}{TRUST}'; exec -a node sleep 1000",
        "Quick safety",
    ),
    ("cat of the documentation", f"cat {ROOT}/docs/safety.md; {BUSY}", "low-severity"),
    ("cat of a pack", f"tail -n 60 {ROOT}/plugins/shell_yn/src/stallkit_shell_yn/signatures.toml; {BUSY}", "source"),
    ("a log that goes on", f"while :; do printf '{KEY}\\n'; sleep 0.05; done", "Press any"),
    ("a spinner that says it", f"while :; do printf '\\r| {KEY}'; printf '\\r/ {KEY}'; sleep 0.03; done", "Press any"),
    ("half typed at a shell", "PS1='dev@box:~$ ' exec bash --norc --noprofile -i", "$"),
    ("read by cat", f"printf '{KEY}'; exec cat", "Press any"),
    ("tail of a log", f"printf '{YES}' > log; exec tail -f log", "Proceed"),
    ("less, at its words", f"printf '{KEY}\\n%.0s' $(seq 99) > long; exec less long", "Press any"),
]


@pytest.mark.parametrize(("name", "script", "shows"), SCENES, ids=[scene[0] for scene in SCENES])
def test_no_key_is_pressed(server: Server, name: str, script: str, shows: str) -> None:
    engine = Engine.default()
    transport = server.start("scene", "bash", "-c", script, shows=shows)
    if name == "half typed at a shell":
        server.tmux("send-keys", "-t", "=scene:", "touch pwned # press enter to continue")
        server.wait(transport, "continue")
    for policy in (CAREFUL, DAEMON):
        result = check_session(transport, engine, policy)
        assert result.outcome is None or result.outcome.keys is None, (result.verdict.reasons, result.outcome)
