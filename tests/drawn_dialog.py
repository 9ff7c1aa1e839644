"""Programs that draw a captured dialog in raw mode, and write down what they get: Claude Code's, OpenCode's."""

from __future__ import annotations

from pathlib import Path

import stallkit_agent_clis

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

OPENCODE = Path(stallkit_agent_clis.__file__).parent / "screens/opencode_permission"
BUTTONS = OPENCODE / "hit-opencode-1-18-permission-buttons-60x24.txt"
# Its arguments: the file for what it gets, the screen, how it asks for the mouse.  It takes one answer.
CLICKED = """\
import os, sys, tty
from pathlib import Path

heard, screen = Path(sys.argv[1]), Path(sys.argv[2]).read_text(encoding="utf-8")
tty.setraw(0)
shown = screen.rstrip("\\n").replace("\\n", "\\r\\n")
os.write(1, (sys.argv[3] + "\\x1b[?1049h\\x1b[?25l\\x1b[2J\\x1b[H" + shown + "\\x1b[23;59H").encode())
heard.write_bytes(os.read(0, 100))
os.write(1, b"\\x1b[2J\\x1b[HWorking\\r\\n")
os.read(0, 100)
"""
MOUSE = "\x1b[?1003h\x1b[?1006h"
CLICK = b"\x1b[<0;7;20M\x1b[<0;7;20m"  # at the A of "Allow once"
