"""An agent that draws its spinner for ever, as a program: its model's server takes the request and never answers.

It is installed as npm installs Claude Code, and draws what that draws.  The folder's `how` says how it behaves:
``obeys`` ends its turn at Escape, ``ignores`` does not, ``stubborn`` survives SIGTERM as well, ``nameless`` does not
say its session's id; ``draft`` and ``dialog`` say what stands in its composer, or in its place.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import sys
import threading
import time
import tty
from pathlib import Path

SESSION = "0f8b41aa-11ce-4d7c-9d52-0d7e5b4f3c21"
RULE = "─" * 40


def installed(folder: Path, how: str, port: str = "") -> str:
    """The path of a program called claude that behaves so; `port` is its model's, on loopback."""
    (folder / "how").write_text(how)
    (folder / "port").write_text(port)
    node, program = folder / "node", folder / "claude"
    shutil.copy(Path(sys.executable).resolve(), node)  # Python by the name of the interpreter that runs Claude Code
    script = folder / "node_modules/@anthropic-ai/claude-code/cli.js"
    script.parent.mkdir(parents=True)
    runs = f"import pathlib, sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\nimport hanging_agent\n"
    script.write_text(f"#!{node}\n{runs}hanging_agent.main(pathlib.Path({str(folder)!r}))\n")
    script.chmod(0o755)
    program.symlink_to(script)
    return str(program)


def starts(folder: Path) -> list[str]:
    """The arguments of each of its starts."""
    return (folder / "starts").read_text().splitlines() if (folder / "starts").exists() else []


def keys(folder: Path) -> bytes:
    """All that it read."""
    return (folder / "keys").read_bytes() if (folder / "keys").exists() else b""


def main(folder: Path) -> None:
    arguments = sys.argv[1:]
    how = (folder / "how").read_text().split()
    with (folder / "starts").open("a") as file:
        file.write(" ".join(arguments) + "\n")
    resumed = "--resume" in arguments
    if "stubborn" in how and not resumed:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if port := (folder / "port").read_text():
        model = socket.create_connection(("127.0.0.1", int(port)))
        model.sendall(b"a question")
    tty.setraw(0)
    composer = "❯ " + ("half a sent" if "draft" in how else "")
    rows = ["> go on", "", "", "", RULE, composer, RULE]
    if "dialog" in how:
        rows[4:] = [RULE, " Do you want to go?", " ❯ 1. Yes", "   2. No"]
    os.write(
        1, ("\x1b[2J\x1b[H" + "\r\n".join(["" if "nameless" in how else f"claude --resume {SESSION}", *rows])).encode()
    )
    at_composer = f"\x1b[7;{len(composer) + 1}H" if "dialog" not in how else "\x1b[?25l"
    working = threading.Event()
    if not resumed:
        working.set()

    def read() -> None:
        while typed := os.read(0, 100):
            with (folder / "keys").open("ab") as file:
                file.write(typed)
            if typed == b"\x1b" and "obeys" in how:
                working.clear()

    threading.Thread(target=read, daemon=True).start()
    for number, glyph in enumerate(itertools.cycle("✢✳✶✻✽")):
        spinner = f"{glyph} Herding… ({number // 10}s · ↓ 163 tokens)" if working.is_set() else "● Done."
        os.write(1, f"\x1b[4H\x1b[2K{spinner}{at_composer}".encode())
        time.sleep(0.1)
