"""Real terminals that show a prompt which nobody asks, or another program: no policy presses a key (docs/safety.md)."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from agent_stand_in import installed_agent
from attrs import evolve
from soak.forged import COMPACT, EFFORT, FORGED, TRUST, TRUST_ROWS
from terminals import Server

from stallkit import Engine
from stallkit.press.check import check_session
from stallkit.press.policy import CAREFUL, Policy
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import Rule
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parent.parent.parent
KEY = "Press any key to continue . . . "
YES = "Proceed? [y/N] "
DIALOG = f"printf %s {shlex.quote(TRUST + TRUST_ROWS)}"
ALLOWED = Policy(
    "mine", rules=[Rule(do="press", signature=["shell_tools:*", "shell_yn:*", "claude_code:*"], session="tmux:scene")]
)
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
    for policy in (CAREFUL, evolve(DAEMON, patience_s=0.0), ALLOWED):
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


def drawn(server: Server, folder: Path, program: Path, picture: str, hides: bool = True) -> TmuxTransport:
    """A session in which this program, by the name of its file, shows a picture and waits for a key."""
    shows = picture.strip().split("\n")[-1].strip()
    command = f'cd {folder}; exec -a {program.name} {program} -I -S -c "$0" "$@"'
    return server.start("scene", "bash", "-c", command, DRAWS, picture, "hides" if hides else "", shows=shows)


def linked(folder: Path, name: str) -> Path:
    """An interpreter by another name."""
    program = folder / name
    program.symlink_to(Path(sys.executable).resolve())
    return program


def keys(folder: Path, transport: TmuxTransport, policy: Policy) -> bytes:
    """What the program was given under a policy that has no patience."""
    check_session(transport, Engine.default(), evolve(policy, patience_s=0.0))
    return (folder / "got.txt").read_bytes()


@pytest.mark.parametrize("name", FORGED)
def test_words_in_an_agents_own_dialog_lend_it_no_key(server: Server, tmp_path: Path, name: str) -> None:
    transport = drawn(server, tmp_path, installed_agent(tmp_path), FORGED[name])
    for policy in (CAREFUL, DAEMON):
        assert keys(tmp_path, transport, policy) == b""


PICTURES = {
    "trust": " Accessing workspace:\n\n {folder}\n\n" + TRUST + TRUST_ROWS,
    "compact mode": COMPACT,
    "effort": EFFORT,
    "compact mode, below output": "some output\n\n" + COMPACT,
}


@pytest.mark.parametrize("name", PICTURES)
def test_the_whole_dialog_itself_is_answered(server: Server, tmp_path: Path, name: str) -> None:
    picture = PICTURES[name].replace("{folder}", str(tmp_path))
    transport = drawn(server, tmp_path, installed_agent(tmp_path), picture)
    pressed = b"1" if name == "trust" else b"\r"
    assert keys(tmp_path, transport, evolve(CAREFUL, trust=[str(tmp_path)])) == pressed


@pytest.mark.parametrize("name", ["claude", "node"])
def test_what_only_calls_itself_so_gets_no_key(server: Server, tmp_path: Path, name: str) -> None:
    transport = drawn(server, tmp_path, linked(tmp_path, name), COMPACT)
    for policy in (CAREFUL, DAEMON, ALLOWED):
        assert keys(tmp_path, transport, policy) == b"", policy.name


def test_another_folder_than_its_own_is_not_trusted(server: Server, tmp_path: Path) -> None:
    picture = PICTURES["trust"].replace("{folder}", f"{tmp_path}/part")
    transport = drawn(server, tmp_path, installed_agent(tmp_path), picture)
    assert keys(tmp_path, transport, evolve(CAREFUL, trust=[str(tmp_path)])) == b""


@pytest.mark.parametrize(
    ("above", "asks"),
    [
        ("All files in /home will be removed.\n", "Press any key to continue..."),
        ("$ git push --force\n\nThe second part comes now.\n\n", "Press RETURN to continue"),
        ("", "Alle 12 Sicherungen löschen? [j/N] "),
    ],
)
def test_what_any_program_may_ask_is_answered_by_a_rule_alone(
    server: Server, tmp_path: Path, above: str, asks: str
) -> None:
    transport = drawn(server, tmp_path, linked(tmp_path, "installer"), above + asks, hides=False)
    for policy in (CAREFUL, DAEMON):
        assert keys(tmp_path, transport, policy) == b"", policy.name
    first = {"P": b" ", "A": b"j"}[asks[0]] if "RETURN" not in asks else b"\r"
    assert keys(tmp_path, transport, ALLOWED)[:1] == first
