"""Which agents are driven through what: the scenes of `others.json`, Claude Code's own, and the wrappers around it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import gemini  # the modules of corpora/agents
import openai
import others

from canary.claude_scenes import SCENES, brief, wrapped
from canary.stages import Claude, Diary, Other

AGENTS = ("claude", "codex", "gemini", "opencode", "copilot", "qwen")
BRIEF = "claude-brief"  # three states, for the test suite
WRAPPERS = {  # around Claude Code: how each is started; CLAUDE is its command line
    "claude in a loop": "while :; do CLAUDE; sleep 1; done",
    "claude in script": "script -qc CLAUDE /dev/null",
    "claude in bwrap": "bwrap --dev-bind / / --unshare-pid --proc /proc CLAUDE",
    "claude in bwrap, one pid space": "bwrap --dev-bind / / CLAUDE",
    "claude as another user": "su -m -s /bin/sh nobody -c CLAUDE",
    "claude in tmux": "tmux -L SOCKET -f /dev/null new-session CLAUDE",
}
_MORE = json.loads(Path(__file__).parent.with_suffix(".json").read_text())
_PORTS = {"127.0.0.1:8701": "openai", "127.0.0.1:8702": "gemini"}  # as the scenes write them


class Models:
    """The scripted model servers, each on a free port of loopback, from a thread."""

    def __init__(self) -> None:
        handlers: dict[str, type[BaseHTTPRequestHandler]] = {"openai": openai.Server, "gemini": gemini.Server}
        self.places: dict[str, str] = {}
        for name, handler in handlers.items():
            server = _Quiet(("127.0.0.1", 0), handler)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.places[name] = f"127.0.0.1:{server.server_address[1]}"


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is no news."""


def program_of(agent: str) -> str:
    """The program that is installed for an agent or a wrapper."""
    return agent if agent in AGENTS else "claude"


def tour(agent: str, diary: Callable[[str], Diary], folder: Path, models: Models) -> None:
    """Drive one agent through its scenes; `diary` makes the one of a name, an agent's or a wrapper's."""
    if agent in WRAPPERS:
        _claude(diary(agent), folder, WRAPPERS[agent], {"": wrapped})
    elif agent == BRIEF:
        _claude(diary(agent), folder, "CLAUDE", {"": brief})
    elif agent == "claude":
        _claude(diary(agent), folder, "CLAUDE", SCENES)
    else:
        for name in (name for name in _MORE if name.partition("-")[0] == agent):
            stage = Other(diary(agent), name, _scene(name, agent, models), folder)
            try:
                stage.play()
            finally:
                stage.close()


def _claude(diary: Diary, folder: Path, launch: str, scenes: dict[str, Callable[[Claude], None]]) -> None:
    program = (folder / "claude" / "node_modules" / ".bin" / "claude").resolve()
    for name, scene in scenes.items():
        stage = Claude(diary, program, launch)
        stage.scene = name
        if "nobody" in launch and os.getuid() == 0:
            stage.given_to = "nobody"
        try:
            scene(stage)
        finally:
            stage.close()


def _scene(name: str, agent: str, models: Models) -> dict[str, Any]:
    more = _MORE[name]
    text = json.dumps({**others.SCENES[more["like"]], **more, "folder": agent})
    for written, model in _PORTS.items():
        text = text.replace(written, models.places[model])
    made: dict[str, Any] = json.loads(text)
    return made
