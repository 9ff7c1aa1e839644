"""``stallkit pack capture`` over real panes: what is read back from the file is what was seen."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Callable

import pytest
from stallkit_lab.evaluate.corpus import load
from terminals import Server, wait_for

from stallkit import Engine, judge
from stallkit.detect.signature import Kind, State
from stallkit.packs.screenfile import read_screen

pytestmark = pytest.mark.e2e

KEPT = ("--keep-title", "--keep-host")
TOKEN = "ghp_" + "a1B2" * 9
ASKS = f"print('a' * 100); print('x {TOKEN} 日本'); input('Proceed? [y/N] ')"


Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def stallkit(stallkit_command: str) -> Call:
    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [stallkit_command, *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    return run


def test_what_is_read_back_is_what_was_seen(stallkit: Call, server: Server, tmp_path: Path) -> None:
    transport = server.start("a", sys.executable, "-c", ASKS.replace(TOKEN, "no token"), shows="Proceed?")
    server.tmux("select-pane", "-t", "=a:", "-T", 'a "title" \\ é')
    path = tmp_path / "s.txt"
    wait_for(lambda: getattr(transport.capture().kernel, "listening", None), "the prompt is read")
    asked = ("--keep-title", "--version", "3", "--label", "waiting:confirm")
    done = stallkit("pack", "capture", "-S", server.socket, "tmux:a", "-o", path, *asked)
    assert done.returncode == 0, done.stderr
    saved, seen = read_screen(path), transport.capture()
    assert saved.screen == seen.screen
    assert saved.front["program"] == seen.foreground and saved.front["version"] == "3"
    look, engine = saved.snapshot(), Engine.default()
    assert look.kernel is not None and (look.kernel.listening, look.kernel.how) == (True, "read")
    assert look.tty is not None and (look.tty.echo, look.tty.canonical) == (True, True)
    verdict = judge(engine.detect(saved.screen), look)
    assert (verdict.state, verdict.kind, verdict.certainty) == ("waiting", "confirm", "sure")
    (case,) = load(path)
    assert (case.label.state, case.label.kind) == (State.WAITING, Kind.CONFIRM)
    explained = stallkit("explain", f"file:{path}")
    assert explained.returncode == 0 and "verdict: waiting, sure" in explained.stdout
    again = stallkit("pack", "capture", f"file:{path}", "-o", "-", "--keep-title")
    assert again.stdout.split("---\n", 2)[2] == path.read_text().split("---\n", 2)[2]


def test_a_token_is_masked_and_nothing_moves(stallkit: Call, server: Server, tmp_path: Path) -> None:
    transport = server.start("a", sys.executable, "-c", ASKS, shows="Proceed?")
    wait_for(lambda: transport.capture().quiet_s, "a screen that rests")
    done = stallkit("pack", "capture", "-S", server.socket, "tmux:a", "-o", "-")
    assert TOKEN not in done.stdout and f"x {'*' * len(TOKEN)} 日本" in done.stdout
    plain = stallkit("pack", "capture", "-S", server.socket, "tmux:a", "-o", "-", "--no-redact", "--json")
    assert TOKEN not in plain.stdout, "what is printed as JSON passes the redactor in any case"
    path = tmp_path / "s.txt"
    stallkit("pack", "capture", "-S", server.socket, "tmux:a", "-o", path, *KEPT, "--no-redact")
    assert TOKEN in path.read_text() and read_screen(path).screen == transport.capture().screen


def test_nothing_is_replaced_unasked_and_mistakes_are_named(stallkit: Call, tmp_path: Path) -> None:
    (screen := tmp_path / "in.txt").write_text("Proceed? [y/N]")
    (there := tmp_path / "there.txt").write_text("mine")
    done = stallkit("pack", "capture", screen, "-o", there)
    assert done.returncode == 1 and "--overwrite" in done.stderr and there.read_text() == "mine"
    assert stallkit("pack", "capture", screen, "-o", there, "--overwrite").returncode == 0
    assert "Proceed?" in there.read_text()
    assert stallkit("pack", "capture", screen, "-o", "-", "--label", "wating").returncode == 64
    assert stallkit("pack", "capture", f"file:{tmp_path}/none", "-o", "-").returncode == 64
    told = json.loads(stallkit("pack", "capture", screen, "-o", "-", "--json").stdout)
    assert set(told) == {"version", "target", "file", "content"}


def test_a_screen_that_cannot_be_written_whole_is_not_left(stallkit_command: str, tmp_path: Path) -> None:
    (screen := tmp_path / "in.txt").write_text("wide " * 1_000)
    out = tmp_path / "out.txt"
    limited = ["bash", "-c", 'ulimit -f 1; exec "$@"', "-", stallkit_command, "pack", "capture", screen, "-o", out]
    done = subprocess.run(limited, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1 and f"screen {out}: File too large" in done.stderr and not out.exists()


def test_title_and_host_name_stay_here_unless_asked_for(stallkit: Call, server: Server, tmp_path: Path) -> None:
    host = platform.node()
    server.start("a", sys.executable, "-c", f"print('ada@{host}:~$ ls'); input('Proceed? [y/N] ')", shows="Proceed?")
    server.tmux("select-pane", "-t", "=a:", "-T", f"{host}: deploy")
    path = tmp_path / "s.txt"
    done = stallkit("pack", "capture", "-S", server.socket, "tmux:a", "-o", path)
    assert done.stdout.startswith(f"wrote {path}: 80x24, cursor at column 15 of row 1, ")
    assert "the title is left out" in done.stdout and "names or credentials on it are masked" in done.stdout
    assert host not in path.read_text() and read_screen(path).screen.title is None
    assert read_screen(path).screen.lines[0].startswith(f"ada@{('host' * len(host))[: len(host)]}:~$ ls")
    stallkit("pack", "capture", "-S", server.socket, "tmux:a", "-o", path, *KEPT, "--overwrite")
    kept = read_screen(path).screen
    assert kept.title == f"{host}: deploy" and kept.lines[0].startswith(f"ada@{host}")
