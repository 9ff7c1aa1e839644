"""Scenes: agent CLIs driven in tmux into each state against the scripted servers, each screen saved as a corpus case.

    python corpora/agents/openai.py 8701 & python corpora/agents/gemini.py 8702 &
    python corpora/agents/others.py --bin DIR --out cases.jsonl SCENE...

DIR holds the programs, each in its own folder with its `node_modules` or `bin`.  The scenes are in `others.json`; one
that is `like` another overrides it with its own keys.  A scene is a list of steps: ``> text``
types a text and Enter, ``type`` only a text, ``key NAME`` sends a key, ``wait REGEX`` waits for the screen, ``until
REGEX`` until it shows it no more, ``pause S`` waits, and ``save STATE KIND NAME`` saves the screen.  The label is the
state that the program was driven into.  Homes are temporary.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

TOLD = json.loads(Path(__file__).with_suffix(".json").read_text())
FILES, SCENES = (
    TOLD["files"],
    {name: TOLD["scenes"].get(one.get("like"), {}) | one for name, one in TOLD["scenes"].items()},
)
SOCKET = f"agents{os.getpid()}"
FORMAT = "#{cursor_x} #{cursor_y} #{cursor_flag} #{alternate_on} #{pane_current_command}\t#{pane_title}"


def tmux(*words: str) -> str:
    """What a command on the private server prints."""
    done = subprocess.run(
        ["tmux", "-L", SOCKET, "-f", "/dev/null", *words], capture_output=True, text=True, timeout=20, check=False
    )
    return done.stdout


def free_home() -> Path:
    """A new folder whose name is as long as /home/dev, which the screens show in its place."""
    for number in range(100):
        try:
            (made := Path(f"/tmp/ag{number:02d}")).mkdir()
        except FileExistsError:
            continue
        return made
    raise SystemExit("no free name for a home")


class Stage:
    """One program in one terminal."""

    def __init__(self, name: str, scene: dict[str, Any], size: str, folder: Path, out: Path) -> None:
        self.name, self.scene, self.out, self.pane = name, scene, out, f"={name}:"
        self.columns, self.rows = map(int, size.split("x"))
        self.changed_at = time.monotonic()  # when the latest key went out, or what was waited for was there
        self.home = free_home()
        project = self.home / scene.get("project", "proj")
        project.mkdir(exist_ok=True)
        for path, text in {**FILES, **scene.get("files", {})}.items():
            file = self.home / path.removeprefix("~/") if path.startswith("~/") else project / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace("$PROJECT", str(project)).replace("$HOME", str(self.home)))
        subprocess.run(["git", "init", "-q", "-b", "main", str(project)], check=True)
        programs = folder / scene["folder"] / "node_modules" / ".bin"
        path = f"{programs}:{folder / scene['folder'] / 'bin'}:{os.environ['PATH']}"
        told = {"HOME": str(self.home), "PATH": path, "PS1": r"dev@box:\w$ ", "LANG": "C.UTF-8", "SHELL": "/bin/bash"}
        told |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "COLORTERM": "truecolor"} | scene.get("env", {})
        given = [f"{key}={value.replace('$HOME', str(self.home))}" for key, value in told.items()]
        tmux("new-session", "-d", "-s", name, "-x", str(self.columns), "-y", str(self.rows), "-c", str(project),
             "env", "-i", "TERM=tmux-256color", *given, "bash", "--norc", "--noprofile")  # fmt: skip
        tmux("set-option", "-g", "status", "off")
        time.sleep(0.3)

    def screen(self) -> str:
        return tmux("capture-pane", "-p", "-t", self.pane)

    def wait(self, pattern: str, seconds: float = 60) -> bool:
        """Whether the pattern came, and the screen with it came to rest or nearly."""
        return self._until(pattern, True, seconds)

    def _until(self, pattern: str, there: bool, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if bool(re.search(pattern, self.screen(), re.MULTILINE)) is there:
                self.changed_at = time.monotonic()
                time.sleep(0.5)
                return True
            time.sleep(0.15)
        told = f"{self.name}: {'no' if there else 'still'} {pattern!r} on\n{self.screen().rstrip()}"
        print(told, file=sys.stderr, flush=True)
        return False

    def case(self, state: str, kind: str, what: str) -> dict[str, Any]:
        """The screen as it stands, with what tmux says of it."""
        first = self.screen()
        facts, _, title = tmux("display-message", "-p", "-t", self.pane, FORMAT).rstrip("\n").partition("\t")
        x, y, visible, alternate, command = facts.split(" ", 4)

        def hidden(text: str) -> str:
            return text.replace(str(self.home), "/home/dev").replace(self.home.name, "home")

        size = f"{self.columns}x{self.rows}"
        label = {"state": state, "kind": None if kind == "-" else kind}
        return {
            "id": f"agent_clis/{self.scene['program']}-{self.scene['version']}-{what}-{size}".replace(".", "-"),
            "program": self.scene["program"],
            "version": self.scene["version"],
            "cols": self.columns,
            "rows": self.rows,
            "cursor_x": int(x),
            "cursor_y": int(y),
            "cursor_visible": visible == "1",
            "alternate_on": alternate == "1",
            "pane_current_command": command,
            "pane_title": hidden(title),
            "screen": hidden(first),
            "label": label,
        }

    def play(self) -> None:
        """The steps; a step that fails is reported, and the scene ends there."""
        for step in self.scene["steps"]:
            verb, _, rest = step.partition(" ")
            if verb == ">":
                self.keys("-l", rest.replace("$HOME", str(self.home)))
                time.sleep(1 if rest.startswith("/") else 0.4)  # a list of commands may come up first
                self.keys("Enter")
            elif verb == "type":
                self.keys("-l", rest)
            elif verb == "key":
                self.keys(*rest.split())
            elif verb == "pause":
                time.sleep(float(rest))
            elif verb in ("wait", "until"):
                if not self._until(rest, verb == "wait", 60):
                    break
            elif verb == "save":
                self.save(*rest.split(" ", 2))
            time.sleep(0.1)

    def keys(self, *keys: str) -> None:
        tmux("send-keys", "-t", self.pane, *keys)
        self.changed_at = time.monotonic()

    def save(self, state: str, kind: str, what: str) -> None:
        """Keeps the screen as it stands, as a case."""
        with self.out.open("a") as file:
            file.write(json.dumps(self.case(state, kind, what), ensure_ascii=False) + "\n")

    def close(self) -> None:
        """Ends the session, and the daemons that some of these programs leave behind: those with this home."""
        tmux("kill-session", "-t", f"={self.name}")
        for told in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if f"HOME={self.home}".encode() in told.read_bytes().split(b"\0"):
                    os.kill(int(told.parent.name), signal.SIGTERM)
        time.sleep(0.3)
        shutil.rmtree(self.home, ignore_errors=True)


def main() -> None:
    """Plays the scenes named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--size", default="80x24")
    parser.add_argument("scenes", nargs="*")
    told = parser.parse_args()
    tmux("start-server")
    for name in told.scenes or SCENES:
        stage = Stage(name, SCENES[name], told.size, told.bin.resolve(), told.out)
        try:
            stage.play()
        finally:
            stage.close()
    tmux("kill-server")


if __name__ == "__main__":
    main()
