"""What Tab completes, typed in real shells: commands, options, and the names that there are now."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import pytest
from stallkit_operator.item import Draft, Source
from stallkit_operator.queue import Queue
from started import House
from terminals import Server, wait_for

pytestmark = pytest.mark.e2e

SHELLS = {
    "bash": (["bash", "--norc", "-i"], 'eval "$(stallkit config completion bash)"'),
    "zsh": (["zsh", "-f", "-i"], 'autoload -U compinit; compinit -u; eval "$(stallkit config completion zsh)"'),
    "fish": (["fish", "--no-config"], "stallkit config completion fish | source"),
}


class Shell:
    """A shell on a terminal, with its completions loaded."""

    def __init__(self, server: Server, sessions: Server, name: str) -> None:
        words, load = SHELLS[name]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        given = (f"PATH={path}", f"STALLKIT_TMUX={sessions.socket}", "PS1=$ ", "fish_features=no-query-term")
        self._server, self._pane = server, "=shell:"
        server.tmux("new-session", "-d", "-s", "shell", "-x", "100", "-y", "24", "env", *given, *words)
        self.type(f"{load}; echo rea''dy", "Enter")
        self.shows("\nready")

    def type(self, text: str, *keys: str) -> None:
        self._server.tmux("send-keys", "-t", self._pane, "-l", text)
        if keys:
            self._server.tmux("send-keys", "-t", self._pane, *keys)

    def shows(self, text: str) -> None:
        wait_for(lambda: text in self._screen, f"{text!r} in {self._screen}")

    @property
    def _screen(self) -> str:
        return self._server.tmux("capture-pane", "-p", "-t", self._pane)


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[Server]:
    """The server whose sessions are to be completed."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    made = Server(folder)
    for name in ("api", "work2"):
        made.tmux("new-session", "-d", "-s", name, "cat")
    yield made
    made.end()


@pytest.mark.parametrize("name", SHELLS)
def test_tab_completes_in_a_shell(server: Server, sessions: Server, name: str) -> None:
    shell = Shell(server, sessions, name)
    for typed, whole in (
        ("stallkit expl", "stallkit explain"),
        ("stallkit check tmux:wo", "stallkit check tmux:work2"),
        ("stallkit pack show shell_yn:procee", "stallkit pack show shell_yn:proceed_question"),
        ("stallkit watch --policy obs", "stallkit watch --policy observe"),
    ):
        shell.type(typed, "Tab")
        shell.shows(whole)
        shell.type("", "C-u")  # a C-c would also drop what is typed next


@pytest.mark.parametrize(
    ("line", "about"),
    [
        ("stallkit chec", "say whether a session waits for a key, and for which"),
        ("stallkit stuck sho", "Show all of what is asked, and how you can answer."),
    ],
)
def test_fish_shows_a_whole_summary(line: str, about: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    typed = f"stallkit config completion fish | source; complete -C '{line}'"
    given = {**os.environ, "PATH": path}
    done = subprocess.run(["fish", "--no-config", "-c", typed], env=given, capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith(f"\t{about}"), done


def completed(line: str, cwd: Path, **environment: str) -> list[str]:
    """What bash would be offered at the end of this line."""
    given = {**os.environ, **environment, "_STALLKIT_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_BREAKS": ""}
    command = str(Path(sys.executable).parent / "stallkit")
    done = subprocess.run([command], env=given, cwd=cwd, capture_output=True, text=True, check=True, timeout=60)
    assert not done.stderr
    return [row.partition(",")[2] for row in done.stdout.splitlines() if row]


def test_each_kind_of_name(house: House, sessions: Server, tmp_path: Path) -> None:
    house.begin("builder", "cat")
    (tmp_path / "night.toml").write_text("profile = 'careful'\n")
    tmux = {"STALLKIT_TMUX": str(sessions.socket)}
    assert completed("stallkit check ", tmp_path, **tmux) == ["builder", "tmux:api", "tmux:work2"]
    assert completed(f"stallkit check -S {sessions.socket} tmux:a", tmp_path) == ["tmux:api"]
    assert completed("stallkit output b", tmp_path) == ["builder"]
    assert completed("stallkit stop ", tmp_path) == ["builder"]
    assert completed("stallkit pack lint shell_", tmp_path) == ["shell_auth", "shell_tools", "shell_yn"]
    assert completed("stallkit pack tune shell_yn:procee", tmp_path) == ["shell_yn:proceed_question"]
    assert completed("stallkit wait --policy ", tmp_path) == ["careful", "observe", "daemon", "night.toml"]
    assert completed("stallkit attach l", tmp_path) == ["last"]
    assert completed("stallkit stuck re", tmp_path) == ["release", "reply"]
    queue = Queue(house.state / "queue.db")
    asked = queue.file(
        Draft("tmux:one", Source.PROMPT, "confirm", "Proceed? [y/N]", action="a", about="b", identity="%1")
    )
    queue.close()
    assert completed("stallkit stuck reply ", tmp_path) == [str(asked.id)]
    assert completed("stallkit check --dis", tmp_path) == ["--dismiss"]


def test_where_nothing_can_be_asked_nothing_is_offered(tmp_path: Path) -> None:
    assert completed("stallkit check ", tmp_path, STALLKIT_TMUX=str(tmp_path / "none")) == []
    assert completed("stallkit stop ", tmp_path) == []
