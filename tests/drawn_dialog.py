"""A program that draws a captured dialog of Claude Code in raw mode, and writes down every key that it gets."""

from __future__ import annotations

from pathlib import Path

SCREENS = Path(__file__).parents[1] / "plugins/claude_code/src/stallkit_claude_code/screens/tool_permission"
# Its arguments: the file for the keys, and the screen.
PROGRAM = """\
import os, sys, tty
from pathlib import Path

heard, screen = Path(sys.argv[1]), Path(sys.argv[2]).read_text(encoding="utf-8")
tty.setraw(0)
os.write(1, ("\\x1b[?25l\\x1b[2J\\x1b[H" + screen.rstrip("\\n").replace("\\n", "\\r\\n") + "\\x1b[11;2H").encode())
while True:
    key = os.read(0, 1)
    with heard.open("ab") as file:
        file.write(key)
    os.write(1, b"\\x1b[2J\\x1b[HWorking\\r\\n")
"""
