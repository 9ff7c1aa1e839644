"""Real terminals that show a prompt which nobody asks: no policy presses a key at any of them (docs/safety.md)."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from attrs import evolve
from soak.forged import ABOVE_A_KEY, COMPACT, EFFORT, FORGED, TRUST, TRUST_ROWS
from terminals import Server

from stallkit import Engine
from stallkit.press.check import check_session
from stallkit.press.policy import CAREFUL, Policy
from stallkit.press.policy_file import DAEMON
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parent.parent.parent
KEY = "Press any key to continue . . . "
YES = "Proceed? [y/N] "
DIALOG = f"printf %s {shlex.quote(TRUST + TRUST_ROWS)}"
NAMED = f" Accessing workspace:\n\n /home/dev/proj\n\n{TRUST}{TRUST_ROWS}"
HIDDEN = "printf '\\033[?25l'"
BUSY = "while :; do :; done"

# name, what bash runs, what its screen shows when it is there
SCENES = [
    ("printed, then busy", f"printf '{KEY}'; {BUSY}", "Press any"),
    ("printed, then asleep", f"printf '{YES}'; sleep 1000", "Proceed"),
    ("printed, then a compiler", f"printf '{KEY}'; exec {sys.executable} -c 'while True: pass'", "Press any"),
    ("the cursor moved back onto it", f"printf 'one\\n{KEY}\\nthree\\033[1A\\r\\033[32C'; {BUSY}", "Press any"),
    ("drawn on the alternate screen", f"printf '\\033[?1049h\\033[2J\\033[H{YES}'; {BUSY}", "Proceed"),
    ("a dialog of an agent, printed", f"{HIDDEN}; {DIALOG}; {BUSY}", "Quick safety"),
    (
        "a dialog, over a program that is called node",
        f"{HIDDEN}; {DIALOG}; exec -a node sleep 1000",
        "Quick safety",
    ),
    ("cat of the documentation", f"cat {ROOT}/docs/safety.md; {BUSY}", "reliability.md"),
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


# Draws a picture and reads every key in raw mode, as agents do: got.txt is what it was given.
DRAWS = """
import os, sys, tty
tty.setraw(0)
picture, hides = sys.argv[1].replace("\\n", "\\r\\n"), sys.argv[2] == "hides"
os.write(1, b"\\033[2J\\033[H" + b"\\033[?25l" * hides + picture.encode() + b"\\033]2;drawn\\a")
got = os.open("got.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
while True:
    os.write(got, os.read(0, 100))
"""


def drawn(server: Server, folder: Path, name: str, picture: str, hides: bool = True) -> TmuxTransport:
    """A session in which a program of that name shows a picture and waits for a key."""
    program = folder / name
    program.symlink_to(Path(sys.executable).resolve())
    shows = picture.strip().split("\n")[-1].strip()
    command = f'cd {folder}; exec -a {name} ./{name} -I -S -c "$0" "$@"'
    return server.start("scene", "bash", "-c", command, DRAWS, picture, "hides" if hides else "", shows=shows)


def keys(server: Server, folder: Path, transport: TmuxTransport, policy: Policy) -> bytes:
    """What the program was given under a policy."""
    check_session(transport, Engine.default(), policy)
    return (folder / "got.txt").read_bytes()


@pytest.mark.parametrize("name", FORGED)
def test_words_in_an_agents_own_dialog_lend_it_no_key(server: Server, tmp_path: Path, name: str) -> None:
    transport = drawn(server, tmp_path, "node", FORGED[name])  # a name of all packs of agents
    for policy in (CAREFUL, DAEMON):
        assert keys(server, tmp_path, transport, policy) == b""


@pytest.mark.parametrize(
    ("picture", "pressed"),
    [
        (f" Accessing workspace:\n\n /home/dev/proj\n\n{TRUST}{TRUST_ROWS}", b"1\r"),
        (COMPACT, b"\r"),
        (EFFORT, b"\r"),
        ("some output\n\n" + COMPACT, b"\r"),
    ],
    ids=["trust", "compact mode", "effort", "compact mode, below output"],
)
@pytest.mark.parametrize("agent", ["claude", "node"])
def test_the_whole_dialog_itself_is_answered(
    server: Server, tmp_path: Path, picture: str, pressed: bytes, agent: str
) -> None:
    transport = drawn(server, tmp_path, agent, picture)
    assert keys(server, tmp_path, transport, evolve(CAREFUL, trust=["/home"])) == pressed


@pytest.mark.parametrize("name", ABOVE_A_KEY)
def test_a_key_below_words_of_loss_is_left_to_a_person(server: Server, tmp_path: Path, name: str) -> None:
    above, asks = ABOVE_A_KEY[name]
    transport = drawn(server, tmp_path, "installer", f"{above}\n{asks}", hides=False)
    for policy in (CAREFUL, DAEMON):
        assert keys(server, tmp_path, transport, policy) == b""


@pytest.mark.parametrize("asks", ["Press any key to continue...", "Press RETURN to continue"])
@pytest.mark.parametrize("above", ["The second part comes now.\n", "| The second part comes now.\n| "])
def test_a_key_right_below_any_words_is_no_low_severity(server: Server, tmp_path: Path, above: str, asks: str) -> None:
    transport = drawn(server, tmp_path, "installer", above + asks, hides=False)
    assert keys(server, tmp_path, transport, CAREFUL) == b""
    assert keys(server, tmp_path, transport, DAEMON) != b""
