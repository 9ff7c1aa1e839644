"""Real programs, each driven into a known state: the verdict must be that state, and the kind what was asked."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from terminals import PATIENCE_S, Server, wait_for

from stallkit import Engine
from stallkit.press.check import CheckResult, check_session
from stallkit.press.policy import Policy
from stallkit.press.rules import Rule

pytestmark = pytest.mark.e2e

HERE = Path(__file__).parent
LIBRARIES = HERE.parent.parent / ".cache" / "npm"
CHOICES = {"confirm", "select", "multiselect"}  # a question with letters to choose from is either

# name, command, what its screen shows when it is there, kinds that are right
ASKING = [
    ("rm", ["rm", "-i", "notes.txt"], "notes.txt", CHOICES),
    ("cp", ["cp", "-i", "notes.txt", "other.txt"], "other.txt", CHOICES),
    ("mv", ["mv", "-i", "notes.txt", "other.txt"], "other.txt", CHOICES),
    ("git add -p", ["git", "-C", "repo", "add", "-p"], "Stage this hunk", CHOICES),
    ("git clean -i", ["git", "-C", "repo", "clean", "-i"], "What now", {"select", "text", "repl_prompt"}),
    ("input", [sys.executable, "-c", "input('Overwrite existing files? (y/n): ')"], "(y/n)", CHOICES),
    ("input, text", [sys.executable, "-c", "input('What is your name? ')"], "name?", {"text"}),
    ("getpass", [sys.executable, "-c", "import getpass; getpass.getpass()"], "assword", {"secret"}),
    ("read -p", ["bash", "-c", "read -p 'Continue anyway? [Y/n] ' x"], "[Y/n]", CHOICES),
    ("input, no words known", [sys.executable, "-c", "input('Whither now, and why ')"], "Whither", {"text"}),
    ("getpass, no words", [sys.executable, "-c", "from getpass import *; getpass('Tell me ')"], "Tell", {"secret"}),
    ("read -s", ["bash", "-c", "read -s -p 'Enter passphrase: ' x"], "passphrase", {"secret"}),
    ("select", ["bash", "-c", "select x in apple pear; do break; done"], "#?", {"select", "text", "repl_prompt"}),
    ("python", [sys.executable, "-q"], ">>>", {"repl_prompt"}),
    ("less", ["less", "long.txt"], "line 1\n", {"pager"}),
    ("ssh-keygen", ["ssh-keygen", "-t", "ed25519", "-f", "key"], "passphrase", {"secret"}),
]  # fmt: skip

WORKING = [
    ("sleep", ["sleep", "1000"], ""),
    ("make", ["make", "slow"], "compiling"),
    ("cat of a transcript", ["sh", "-c", "cat transcript.txt; exec sleep 1000"], "[y/N]"),
    ("tail -f", ["tail", "-f", "transcript.txt"], "[y/N]"),
    ("counting", [sys.executable, "-c", "import itertools\nfor n in itertools.count(): print('step', n)"], "step"),
    ("printed, and busy", ["bash", "-c", "printf 'Press any key to continue '; while :; do :; done"], "Press any"),
    ("printed, and asleep", ["sh", "-c", "printf 'Proceed? [y/N] '; sleep 1000"], "[y/N]"),
    (
        "printed, and working",
        [sys.executable, "-c", "print(end='Password: ', flush=True)\nwhile True: pass"],
        "Password",
    ),
    ("answered", [sys.executable, "-c", "input('Sure? [y/N] ')\nwhile True: pass"], "[y/N]"),
]

NODE = [
    (library, kind)
    for library in ("prompts", "enquirer", "inquirer", "@inquirer/prompts", "@clack/prompts")
    for kind in ("text", "confirm", "select", "multiselect", "password")
]


@pytest.fixture
def folder(server: Server, tmp_path: Path) -> Path:
    """What the programs work on; sessions start here."""
    (tmp_path / "notes.txt").write_text("keep me\n")
    (tmp_path / "other.txt").write_text("me too\n")
    (tmp_path / "long.txt").write_text("".join(f"line {n}\n" for n in range(500)))
    (tmp_path / "transcript.txt").write_text("$ ./install\nProceed with the setup? [y/N] y\nDo you agree? [y/N] ")
    (tmp_path / "Makefile").write_text("slow:\n\t@echo compiling; sleep 1000\n")
    server.start("setup", "sh", "-c", "git init -q repo; cd repo; echo a > f; git add .; echo b > f; echo c > g")
    wait_for((tmp_path / "repo" / "g").exists, "the repository")
    return tmp_path


def judged(server: Server, engine: Engine, shows: str, *command: str) -> CheckResult:
    return check_session(server.start("session", *command, shows=shows), engine)


@pytest.mark.parametrize(("name", "command", "shows", "kinds"), ASKING, ids=[case[0] for case in ASKING])
def test_asking(
    server: Server, folder: Path, engine: Engine, name: str, command: list[str], shows: str, kinds: set[str]
) -> None:
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed: scripts/test installs it")
    verdict = judged(server, engine, shows, *command).verdict
    assert verdict.state == "waiting", verdict.reasons
    assert verdict.kind in kinds


@pytest.mark.parametrize(("name", "command", "shows"), WORKING, ids=[case[0] for case in WORKING])
def test_working(server: Server, folder: Path, engine: Engine, name: str, command: list[str], shows: str) -> None:
    transport = server.start("session", *command, shows=shows)
    if name == "answered":
        server.tmux("send-keys", "-t", "=session:", "y", "Enter")
        server.wait(transport, "[y/N] y")
    verdict = check_session(transport, engine).verdict
    assert verdict.state == "working", verdict.reasons


@pytest.mark.parametrize(("library", "kind"), NODE)
def test_node_prompt_libraries(server: Server, engine: Engine, library: str, kind: str) -> None:
    if not (LIBRARIES / "node_modules" / library).is_dir() or not shutil.which("node"):
        pytest.skip("the Node prompt libraries are not installed: scripts/test installs them")
    script = str(HERE.parent / "real" / "ask.cjs")
    shows = {"text": "called", "confirm": "dependencies", "password": "token"}.get(kind, "Blue")
    transport = server.start("session", "env", f"NODE_LIBS={LIBRARIES}", "node", script, library, kind, shows=shows)
    verdict = check_session(transport, engine).verdict
    wanted = {"password": "secret"}.get(kind, kind)
    assert (verdict.state, verdict.kind) == ("waiting", wanted), verdict.reasons

    answer = {"text": ["x"], "password": ["x"], "multiselect": ["Space"]}.get(kind, [])
    server.tmux("send-keys", "-t", "=session:", *answer, "Enter")
    wait_for(
        lambda: check_session(transport, engine).verdict.state == "working", "an answered question to count as one"
    )


# What starts a program in its own foreground group, as scripts without job control do.
STARTERS = {
    "a script": ["bash", "setup.sh"],
    "sh -c": ["sh", "-c", "$ASK; true"],
    "make": ["make", "-f", "asks.mk"],
    "npm run": ["npm", "run", "ask"],
    "a script of a script": ["bash", "-c", "sh setup.sh; true"],
}
LINES = "process.stdout.write('? Continue? [Y/n] '); process.stdin.once('data', () => setInterval(() => {}, 1000))"


@pytest.mark.parametrize("asks", ["single keys", "lines"])
def test_what_a_script_started_is_who_asks(server: Server, engine: Engine, tmp_path: Path, asks: str) -> None:
    if not (LIBRARIES / "node_modules" / "prompts").is_dir() or not shutil.which("npm"):
        pytest.skip("the Node prompt libraries are not installed: scripts/test installs them")
    (tmp_path / "lines.cjs").write_text(LINES)
    script = HERE.parent / "real" / "ask.cjs"
    ask = f"node {script} prompts confirm" if asks == "single keys" else f"node {tmp_path}/lines.cjs"
    (tmp_path / "setup.sh").write_text(f"echo setting up\n{ask}\n")
    (tmp_path / "asks.mk").write_text(f"all:\n\t@{ask}\n")
    (tmp_path / "package.json").write_text(json.dumps({"name": "x", "version": "1.0.0", "scripts": {"ask": ask}}))
    program = "ask.cjs" if asks == "single keys" else "lines.cjs"
    policy = Policy("mine", rules=[Rule(do="press", signature="node_prompts:*", agent=program)])
    wrong = {}
    for name, words in STARTERS.items():
        command = [word.replace("$ASK", ask) for word in words]
        shows = "dependencies?" if asks == "single keys" else "[Y/n]"
        pane = server.start(name, "env", f"NODE_LIBS={LIBRARIES}", *command, shows=shows)
        found = check_session(pane, engine, policy, watch_s=PATIENCE_S)
        names_it = any(reason.startswith("node waits in epoll") for reason in found.verdict.reasons)
        if found.verdict.certainty != "sure" or not names_it or found.outcome is None or not found.outcome.pressed:
            wrong[name] = (found.verdict.reasons, found.decision, found.outcome)
    assert not wrong


# A prompt whose words go elsewhere, and what takes them.
UNSEEN = {
    "a variable": ("x=$($ASK)", "bash (pid "),
    "a file": ("$ASK >asked.log; true", "$HERE/asked.log"),
    "a pipe": ("$ASK | tail -1", "tail (pid "),
    "another program": ("node parent.cjs", "node (pid "),
    "another program, which draws": ("node parent.cjs draws", "node (pid "),
    "a variable, read": ("x=$(cat | head -1)", "head (pid "),
}
PARENT = """
const child = require("child_process").spawn("node", ["lines.cjs"], { stdio: ["inherit", "pipe", "inherit"] });
child.stdout.resume();
if (process.argv[2]) setInterval(() => process.stdout.write(`\\r${"|/-"[Date.now() % 3]} Installing`), 80);
"""


def test_a_prompt_that_nobody_can_see_waits(server: Server, engine: Engine, tmp_path: Path) -> None:
    if not shutil.which("node"):
        pytest.skip("Node.js is not installed")
    (tmp_path / "lines.cjs").write_text(LINES)
    (tmp_path / "parent.cjs").write_text(PARENT)
    wrong = {}
    for name, (script, taker) in UNSEEN.items():
        asks = f"cd {tmp_path}; echo setting up; {script.replace('$ASK', 'node lines.cjs')}"
        verdict = check_session(server.start(name, "bash", "-c", asks), engine, watch_s=PATIENCE_S).verdict
        told = f" and its output goes to {taker.replace('$HERE', str(tmp_path))}" in (verdict.inside or "")
        if not (verdict.by_read and verdict.state == "waiting" and told):
            wrong[name] = (verdict.inside, verdict.reasons)
    assert not wrong


def test_an_ended_program_is_told_from_its_prompt(server: Server, engine: Engine) -> None:
    """A dialog left on the screen by a program that was killed, with the shell's prompt drawn below it."""
    script = "PS1='dev@box:~/proj$ ' exec bash --norc --noprofile -i"
    transport = server.start("session", "bash", "-c", script, shows="$")
    server.tmux("send-keys", "-t", "=session:", "printf 'Proceed? [y/N] \\n'", "Enter")
    server.wait(transport, "\nProceed? [y/N]")
    assert check_session(transport, engine).verdict.state == "ended"
