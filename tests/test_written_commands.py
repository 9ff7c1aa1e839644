"""What the pages tell a person to type is understood: blocks of ``sh`` are run, other commands and files are read.

The ``console`` blocks, which show output as well, are typed by `test_console_blocks`; ``>>>`` examples run as doctests.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Iterator

import click
import pexpect
import pytest
from terminals import wait_for

from stallkit.cli.main import SYNONYMS, cli

ROOT = Path(__file__).parent.parent
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md")), *sorted(ROOT.glob("docs/**/*.md"))]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`(stallkit [^`]+)`(?!`)|^    (stallkit [a-z][^:\n]*)$", re.MULTILINE)

# Lines of ``sh`` blocks that are not run here, and what runs them.
ELSEWHERE = {
    "scripts/demo": "apps/lab/tests/e2e/test_demo.py",
    "scripts/live": "tests/live",  # its short form; a whole run takes an hour
    "python3 -m venv": "scripts/test",  # builds the wheels, and installs them into an environment of their own
    "venv/bin/pip install": "scripts/test",
    ". venv/bin/activate": "scripts/test",
}

# The files of shells that are not bash; what is typed there is tested with the completion.
OTHER_SHELLS = ("config.fish", ".zshrc")

# Pages that show mistakes, and what is said of them.
MISTAKEN = ("clig.md",)


def blocks(page: Path, language: str) -> Iterator[str]:
    """The blocks of a page that are in this language."""
    return (text for name, text in _BLOCK.findall(page.read_text()) if name == language)


def ids(page: Path) -> str:
    return str(page.relative_to(ROOT))


def with_blocks(*languages: str) -> list[Path]:
    return [page for page in PAGES if any(next(blocks(page, language), None) for language in languages)]


# ---------------------------------------------------------------- sh: run


class Scene:
    """The session of the runbook, and what stands for the words that a person replaces."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        own = {"TMUX_TMPDIR": str(folder), "HOME": str(folder), "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, **own, "PATH": path, "DIRECTORY": "loop", "DIR": "work", "T": "tmux:worker1"}
        self._watched = False
        self._sleeper: subprocess.Popen[bytes] | None = None
        for name in ("loop", "work"):
            (folder / name).mkdir()
        (folder / "loop" / ".auto-stop").write_text("{}\n")
        (folder / "mine.toml").write_text('name = "mine"\n')
        (folder / "stallkit.toml").write_text('[watch]\ntargets = ["tmux:worker1"]\n')
        self.bash("git init -q work")

    def bash(self, line: str) -> subprocess.CompletedProcess[str]:
        """Type a line; it has no terminal."""
        return subprocess.run(
            ["bash", "-c", line],
            env=self.environment,
            cwd=self.folder,
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )

    def ready(self) -> None:
        """The session waits at its prompt, as it does when the runbook is opened."""
        if self.bash("tmux display-message -p -t =worker1: '#{pane_dead}'").stdout.strip() != "0":
            self.bash("stallkit stop worker1")
            program = """python3 -c 'input("Proceed? [y/N] ")'"""
            started = self.bash(f"stallkit start worker1 -- {program}")
            assert started.returncode == 0, started.stderr
            if not self._watched:  # a supervisor has seen it, or there are no incidents to list
                assert self.bash("stallkit watch tmux:worker1 --policy observe --for 3").returncode == 0
                self._watched = True
        wait_for(lambda: "Proceed" in self.bash("tmux capture-pane -p -t =worker1:").stdout, "the prompt")

    def replaced(self, line: str) -> str:
        """The line with a process, a folder and a session for the words in capitals, and short times."""
        line = re.sub(r"(?<=--timeout )\d+|(?<=--for )\d+|(?<=--wait )\d+", "2", line)
        line = re.sub(r"(?<![\w$/=-])(DIRECTORY|DIR|T)(?=[ /;]|$)", lambda word: self.environment[word[1]], line)
        if re.search(r"\bPG?ID\b", line):
            self.end_sleeper()
            self._sleeper = subprocess.Popen(["sleep", "600"], start_new_session=True)
            line = re.sub(r"\bPG?ID\b", str(self._sleeper.pid), line)
        return line

    def attached(self, line: str) -> bool:
        """Type a line that takes the terminal; whether the session is seen in it.  Then go."""
        self.ready()  # what was typed before may have ended it
        child = pexpect.spawn("bash", ["-c", line], env=self.environment, cwd=str(self.folder), timeout=30)
        seen: int = child.expect(["Proceed", pexpect.EOF])
        child.close(force=True)
        return seen == 0

    def end_sleeper(self) -> None:
        if self._sleeper is not None:
            self._sleeper.kill()
            self._sleeper.wait()

    def end(self) -> None:
        self.bash("stallkit stop worker1; tmux kill-server")
        self.end_sleeper()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.end()


def told_wrong(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether a command was not understood, or broke: not whether it found what it looked for."""
    words = ("Usage:", "Traceback", "a bug in stallkit", "command not found", "usage:", "unknown option")
    return done.returncode in (64, 126, 127) or any(word in done.stderr for word in words)


def elsewhere(line: str) -> bool:
    return any(line.startswith(begin) for begin in ELSEWHERE) or any(file in line for file in OTHER_SHELLS)


@pytest.mark.e2e
@pytest.mark.parametrize("page", with_blocks("sh"), ids=ids)
def test_what_a_person_types_is_understood(page: Path, scene: Scene) -> None:
    lines = [line for block in blocks(page, "sh") for line in block.splitlines() if line.strip()]
    for line in lines:
        if elsewhere(line):
            continue
        scene.ready()
        typed = scene.replaced(line)
        if typed.startswith("tmux attach"):
            wait_for(lambda typed=typed: scene.attached(typed), "the session in a terminal")
            continue
        done = scene.bash(typed)
        assert not told_wrong(done), f"{line}\n{typed}\nexit code {done.returncode}\n{done.stdout}{done.stderr}"


def test_what_is_run_elsewhere_is_there() -> None:
    lines = [line for page in PAGES for block in blocks(page, "sh") for line in block.splitlines()]
    for begin, where in ELSEWHERE.items():
        assert (ROOT / where).exists()
        assert any(line.startswith(begin) for line in lines), f"no page says {begin} any more"


@pytest.mark.parametrize("line", ["stallkit check", "stallkit chek x", "nosuchcommand", "ps --nothing"])
def test_a_line_that_is_not_understood_is_noticed(line: str, tmp_path: Path) -> None:
    assert told_wrong(Scene(tmp_path).bash(line))


# ---------------------------------------------------------------- commands in a sentence, or indented: read


def unknown(line: str) -> str:
    """The first verb or option of a stallkit command that does not exist; "" where all do."""
    try:
        words = shlex.split(line.replace("'", "").replace('"', ""), comments=True)[1:]
    except ValueError as error:
        return str(error)
    words = [*SYNONYMS.get(words[0], words[:1]), *words[1:]] if words else []
    context = click.Context(cli, info_name="stallkit", **cli.context_settings)
    command: click.Command = cli
    for word in words:
        if word in ("--", "|", ";", "&&"):
            break
        if word.startswith("-") and word != "-":
            options = {name for one in command.get_params(context) for name in (*one.opts, *one.secondary_opts)}
            if (option := word.partition("=")[0].rstrip(",;")) not in options:
                return option
        elif isinstance(command, click.Group) and not re.fullmatch(r"[A-Z|.…]+|\.\.\.", word):
            below = command.get_command(context, word.rstrip(",;:"))
            below = below or command.get_command(context, getattr(command, "default", ""))
            if below is None:
                return word
            context = click.Context(below, info_name=word, parent=context)
            command = below
    return ""


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_commands_in_a_sentence_exist(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    lines = [" ".join((inline or indented).split()) for inline, indented in _INLINE.findall(text)]
    wrong = {line: found for line in lines if (found := unknown(line))}
    assert not wrong or page.name in MISTAKEN


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("stallkit check tmux:w1 --json", ""),
        ("stallkit stuck reply 3 yes", ""),
        ("stallkit run -- npm --nothing", ""),
        ("stallkit nothing", "nothing"),
        ("stallkit check T --nothing", "--nothing"),
        ("stallkit stuck nothing", "nothing"),
    ],
)
def test_a_command_that_does_not_exist_is_noticed(line: str, found: str) -> None:
    assert unknown(line) == found


# ---------------------------------------------------------------- files and programs: parsed


@pytest.mark.parametrize("page", with_blocks("toml", "json", "python", "pycon"), ids=ids)
def test_files_and_programs_are_well_formed(page: Path) -> None:
    for text in blocks(page, "toml"):
        if page.name != "lint.md":  # shows what is wrong; apps/lab/tests/lint/test_pages.py tries each
            tomllib.loads(text)
    for text in blocks(page, "json"):
        for line in text.splitlines() if text.startswith("{") and "\n{" in text else [text]:
            json.loads(line)
    for text in blocks(page, "python"):
        if not text.lstrip().startswith(">>>"):
            compile(text, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_the_extras_that_are_installed_exist() -> None:
    extras = {
        (project["name"], extra)
        for file in (ROOT / "pyproject.toml", *ROOT.glob("apps/*/pyproject.toml"))
        for project in [tomllib.loads(file.read_text())["project"]]
        for extra in project.get("optional-dependencies", ())
    }
    named = {
        ("stallkit" if distribution == "." else distribution, name.strip())
        for page in PAGES
        for distribution, found in re.findall(r"pip install\s+'?(\.|stallkit[\w-]*)\[([\w,]+)\]", page.read_text())
        for name in found.split(",")
    }
    assert {("stallkit", "fast"), ("stallkit", "pexpect"), ("stallkit-lab", "cluster")} <= named <= extras
