"""A picture of the dashboard, from a real run: ``scripts/picture [FILE]``.

Sessions in a tmux server of its own, a supervisor that files what they ask, an endpoint with an agent that waits: what
`stallkit dashboard` shows of them, as SVG.  Nothing is left behind.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from drawn_dialog import PROGRAM, SCREENS
from queued import Desk as Commands
from stallkit_operator.cli.dashboard_app import Dashboard, Sessions
from stallkit_operator.cli.dashboard_desk import Desk
from terminals import Server, wait_for

from stallkit.packs.screenfile import read_screen

SIZE = (120, 30)
NOTICE = "npm publish answers 403: the proxy has no route for registry.example"
COLOURS = {" 1 -": "31", " 1 +": "32", " ❯ 1": "34"}  # of the rows that begin so, as the agent has them
_FONTS = re.compile(r"@font-face\s*\{.*?\}", re.S)  # they are at another server, which nobody has to ask for a picture


def picture(folder: Path) -> str:
    """The dashboard as SVG, over sessions whose files are in that folder."""
    server = Server(folder)
    commands = Commands(folder, server)
    os.environ.update({name: commands.environment[name] for name in ("STALLKIT_STATE_DIR", "XDG_CONFIG_HOME")})
    try:
        server.start("build", "sh", "-c", 'for i in 1 2 3; do echo "[$i/3] compiling"; done; sleep 1000', shows="3/3")
        server.start("deploy", "bash", "-c", "read -p 'Deploy to staging? [y/N] ' it; sleep 1000", shows="[y/N]")
        _agent(server, folder)
        commands.begin("sandbox", "serve", "web")
        place = folder / "state" / "stuck" / "web"
        wait_for((place / "notify.sock").exists, "the endpoint")
        assert commands("sandbox", "install", str(place)).returncode == 0
        commands.started.append(subprocess.Popen([str(place / "stuck"), NOTICE], stdout=subprocess.DEVNULL))
        commands.item(session="web")
        commands.watch("tmux:build", "tmux:deploy", "tmux:docs")
        wait_for(lambda: len(commands.items()) == 3, "three questions")
        return asyncio.run(_drawn(Desk(None, str(server.socket))))
    finally:
        commands.end()
        server.end()


def _agent(server: Server, folder: Path) -> None:
    """A coding agent's permission dialog, as it was captured, in its colours."""
    program, screen, heard = folder / "claude", folder / "screen", folder / "heard"
    program.symlink_to(Path(sys.executable).resolve())
    rows = read_screen(SCREENS / "hit-edit.txt").screen.text.split("\n")
    drawn = [f"\x1b[{code}m{row}\x1b[0m" if (code := COLOURS.get(row[:4])) else row for row in rows]
    screen.write_text("\n".join(drawn), encoding="utf-8")
    heard.touch()
    server.start("docs", str(program), "-c", PROGRAM, str(heard), str(screen), shows="Tab to amend")


async def _drawn(desk: Desk) -> str:
    app = Dashboard(desk)
    async with app.run_test(size=SIZE) as pilot:
        until = time.monotonic() + 60
        while (len(app.board.items), len(app.board.rows)) != (3, 4):
            assert time.monotonic() < until, app.board
            await pilot.pause(0.1)
        sessions = app.query_one(Sessions)
        sessions.move_cursor(row=sessions.get_row_index(str(next(one.id for one in app.board.items if one.options))))
        await pilot.pause(1.0)
        await pilot.pause(0.5)
        return _FONTS.sub("", app.export_screenshot(title="stallkit dashboard"))


def main() -> None:
    """Write it to the file that is named, else to the one that the README shows."""
    file = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "dashboard.svg")
    folder = Path(tempfile.mkdtemp(prefix="picture-"))
    try:
        file.write_text(picture(folder), encoding="utf-8")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
