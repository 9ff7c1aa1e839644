"""Drives one program in its own terminal into a state, and records the screen and the facts there.

A scene says what is typed and what must be on the screen; the label is the state that the program was driven into.  The
terminal is a pane of a tmux server on a private socket.  `capture` gives a case of a corpus (docs/measure.md): the
screen, the cursor, and over one second in five samples whether something waits for input.
"""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path
from typing import Any

from attrs import field, frozen

from corpora.shell_prompts.kernel import observed
from stallkit.probes.readers import tty_facts

SIZES = {"": (80, 24), "narrow": (40, 15), "large": (120, 35), "wide": (200, 50)}
ALL, BOTH = ("", "narrow", "wide"), ("", "narrow")
HOME = "/home/dev"
DPKG = "dpkg-query -W -f '${Version}' "  # and a package: its version


@frozen
class Scene:
    """One program, driven into one state."""

    id: str
    program: str
    command: str
    state: str = "waiting"
    kind: str | None = None
    until: str = ""  # a pattern that the screen must show at last
    steps: tuple[tuple[str, str], ...] = ()  # (pattern to wait for, tmux's keys separated by blanks)
    before: str = ""  # typed unseen: what the program needs
    rests: bool = True  # the screen is the same for a while before it counts
    version: str = ""  # a shell command that prints it
    sizes: tuple[str, ...] = ("",)
    language: str = ""
    hard: bool = False
    harmful: bool = False
    note: str = ""
    more: dict[str, Any] = field(factory=dict)


class Stage:
    """A tmux server of its own, and a folder to work in, which screens show as a folder of /home/dev."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.folder, self.environ, self.played = folder, environ, 0
        self.socket = self.last = ""  # the last screen
        self.shown = HOME + "/" + "w" * (len(str(folder)) - len(HOME) - 1)

    def tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self.socket, *arguments], check=False, capture_output=True, text=True, timeout=10
        )
        return done.stdout

    def play(self, scene: Scene, size: str) -> dict[str, Any] | None:
        """The case, or None where the screen never showed the expected text."""
        columns, rows = SIZES[size]
        while (self.folder / f"{self.played:04}").exists():
            self.played += 1
        self.socket = str(self.folder / f"{self.played:04}.sock")
        here = self.folder / f"{self.played:04}"
        here.mkdir(parents=True)  # never a used one: an agent that a program left behind can still write there
        environ = {"HOME": str(here), "TERM": "tmux-256color", "LC_ALL": "C.UTF-8", **self.environ}
        environ |= {"PS1": "dev@box:work$ ", "EDITOR": "vi", "PAGER": "less", "GIT_PAGER": "cat"}
        if scene.language:
            environ |= {"LC_ALL": scene.language, "LANGUAGE": scene.language}
        if scene.before:
            subprocess.run(
                ["bash", "-c", scene.before], cwd=here, env=environ, check=False, capture_output=True, timeout=60
            )
        words = ["env", "-i", *(f"{key}={value}" for key, value in environ.items()), "bash", "--norc", "--noprofile"]
        self.tmux("new-session", "-d", "-s", "one", "-x", str(columns), "-y", str(rows), "-c", str(here), *words)
        try:
            if not self.seen(r"\$ *$"):
                return None
            self.tmux("send-keys", "-t", "=one:", "-l", scene.command)
            self.tmux("send-keys", "-t", "=one:", "Enter")
            for wanted, keys in scene.steps:
                if not self.seen(wanted):
                    return None
                for key in keys.split(" "):
                    self.tmux("send-keys", "-t", "=one:", key)
            return self.capture(scene, size) if self.seen(scene.until, rests=scene.rests) else None
        finally:
            self.tmux("kill-server")

    def seen(self, pattern: str, patience: float = 12.0, rests: bool = True) -> bool:
        """Wait until the screen shows it and, if it rests, has been the same for a while; patience is in seconds."""
        end, self.last = time.monotonic() + patience, ""
        while time.monotonic() < end:
            screen = self.tmux("capture-pane", "-p", "-J", "-t", "=one:")
            if re.search(pattern, screen.rstrip(), re.MULTILINE) and (
                screen == self.last or not rests or "…" in pattern
            ):
                return True
            self.last = screen
            time.sleep(0.15)
        return False

    def capture(self, scene: Scene, size: str) -> dict[str, Any]:
        facts = ["cursor_x", "cursor_y", "cursor_flag", "alternate_on", "pane_current_command", "pane_tty", "pane_pid"]
        told = self.tmux("display-message", "-p", "-t", "=one:", "\t".join(f"#{{{one}}}" for one in facts)).strip("\n")
        x, y, visible, alternate, command, tty, pid = told.split("\t")
        screen = self.tmux("capture-pane", "-p", "-t", "=one:")
        kernel = observed(tty, int(pid))
        same = self.tmux("capture-pane", "-p", "-t", "=one:") == screen
        modes = tty_facts(tty)
        version = ""
        if scene.version:
            environ = {"HOME": str(self.folder), **self.environ}
            done = subprocess.run(
                ["bash", "-c", scene.version], check=False, capture_output=True, text=True, env=environ, timeout=20
            )
            found = re.search(r"\d+(?:[.]\d+)+\w*|\d+", done.stdout + done.stderr)
            version = found[0] if found else ""
        screen = screen.replace(str(self.folder), self.shown)
        columns, rows = SIZES[size]
        label: dict[str, Any] = {
            "state": scene.state,
            "kind": scene.kind or scene.state,
            "hard": scene.hard,
            "note": scene.note,
        }
        if scene.harmful:
            label["harmful_default"] = True
        return {
            "id": scene.id + (f"~{size}" if size else ""),
            "program": scene.program,
            "version": version,
            "cols": columns,
            "rows": rows,
            "cursor_x": int(x),
            "cursor_y": int(y),
            "cursor_visible": visible == "1",
            "alternate_on": alternate == "1",
            "pane_current_command": command,
            "pane_title": "box",
            "screen": screen,
            "tty": {"echo": modes.echo, "icanon": modes.canonical},
            "proc": kernel["proc"],
            "probe_1s": {"screen_same": same, **kernel["probe_1s"]},
            "label": label,
        }
