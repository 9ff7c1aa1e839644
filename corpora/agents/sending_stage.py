"""Agents that are set up for work and started in tmux, each with a scripted model that remembers what it was sent."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import anthropic  # the modules beside this file
import gemini
import openai

from stallkit.packs.registry import installed_engine
from stallkit.press.send import wait_until_ready
from stallkit.transports.base import Options
from stallkit.transports.tmux.pane import TmuxTransport

START_S = 90.0
SETTLE_S = 4.0  # of a screen that rests: some draw their composer before they read
BASH = ("bash", "--norc", "--noprofile")
KEY = "sk-ant-api03-" + "0" * 40 + "-scripted-model-AA"
CODEX = """model = "gpt-5.2-codex"
model_provider = "fake"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = "$MODEL/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
[projects."$PROJECT"]
trust_level = "trusted"
"""
GEMINI: dict[str, Any] = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
}
OPENCODE: dict[str, Any] = {
    "autoupdate": False,
    "share": "disabled",
    "model": "local/fake-coder",
    "small_model": "local/fake-coder",
    "provider": {
        "local": {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": "$MODEL/v1", "apiKey": "x"},
            "models": {"fake-coder": {"name": "Fake Coder"}},
        }
    },
}
CLAUDE: dict[str, Any] = {
    "hasCompletedOnboarding": True,
    "lastOnboardingVersion": "2.1.330",
    "theme": "dark",
    "numStartups": 20,
    "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
    "projects": {"$PROJECT": {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
}


# It offers its other mode now and then, in place of its composer.
SETTINGS = json.dumps({"permissions": {"defaultMode": "default", "disableAutoMode": "disable"}})


@dataclass(frozen=True)
class Agent:
    """How one agent is started: its command, its files below a home of its own, its environment."""

    command: str
    model: str  # the protocol that it speaks
    files: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)


AGENTS = {
    "claude": Agent(
        "claude",
        "anthropic",
        {".claude.json": json.dumps(CLAUDE), ".claude/settings.json": SETTINGS},
        {
            "ANTHROPIC_BASE_URL": "$MODEL",
            "ANTHROPIC_API_KEY": KEY,
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    ),
    "codex": Agent("codex", "openai", {".codex/config.toml": CODEX}, {"FAKE_KEY": "x"}),
    "gemini": Agent(
        "gemini",
        "gemini",
        {".gemini/settings.json": json.dumps(GEMINI)},
        {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": "$MODEL"},
    ),
    "opencode": Agent(
        "opencode",
        "openai",
        {".config/opencode/opencode.json": json.dumps(OPENCODE)},
        {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"},
    ),
    "aider": Agent(
        "aider --model openai/fake-coder --no-show-model-warnings --no-check-update --no-show-release-notes "
        "--analytics-disable --no-gitignore --no-detect-urls --edit-format diff",
        "openai",
        {},
        {"OPENAI_API_KEY": "x", "OPENAI_API_BASE": "$MODEL/v1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    ),
}


class Model:
    """A scripted model on loopback; `said` is what its latest long request holds of the user's own texts."""

    def __init__(self, protocol: str) -> None:
        handlers = {"anthropic": anthropic.Handler, "openai": openai.Server, "gemini": gemini.Server}
        heard: list[dict[str, Any]] = []

        class Heard(handlers[protocol]):  # type: ignore[misc]  # the class is chosen at run time
            def do_POST(self) -> None:
                asked = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                heard.append(json.loads(asked or b"{}"))
                self.rfile = io.BytesIO(asked)
                super().do_POST()

        made: ThreadingHTTPServer
        if protocol == "anthropic":
            made = anthropic.Server()
            made.RequestHandlerClass = Heard
        else:
            made = ThreadingHTTPServer(("127.0.0.1", 0), Heard)
        made.daemon_threads = True
        self._heard, self._server = heard, made
        self.url = f"http://127.0.0.1:{made.server_address[1]}"
        threading.Thread(target=made.serve_forever, daemon=True).start()

    @property
    def said(self) -> list[list[str]]:
        """The user's texts in each request so far."""
        return [list(texts_of(asked)) for asked in list(self._heard)]

    def plays(self, *steps: dict[str, Any]) -> None:
        """What it answers from now on, the last again and again (Anthropic's protocol alone: `anthropic.py`)."""
        self._server.script = list(steps)  # type: ignore[attr-defined]  # of that server

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def texts_of(asked: dict[str, Any]) -> Iterator[str]:
    """Each text in the user's name in a request, in any of the protocols."""
    items = asked.get("messages") or asked.get("input") or asked.get("contents") or []
    for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
        if item.get("role") != "user":
            continue
        content = item.get("content") or item.get("parts") or []
        if isinstance(content, str):
            yield content
        else:
            yield from (part["text"] for part in content if isinstance(part, dict) and part.get("text"))


class Stage:
    """One private tmux server, with one agent in the session `a`, its home and project in a temporary folder."""

    def __init__(
        self,
        agent: str | Agent,
        programs: list[Path],
        size: str = "80x24",
        model: Any = None,  # in place of one that answers by `answers.py`
        home: Path | None = None,
    ) -> None:
        self.agent = AGENTS[agent] if isinstance(agent, str) else agent
        self.model = model or Model(self.agent.model)
        self.home = home or Path(tempfile.mkdtemp(prefix="send-", dir="/tmp"))
        self.project = self.home / "proj"
        self.project.mkdir()
        subprocess.run(["git", "init", "-q", "-b", "main", str(self.project)], check=True)
        (self.project / "README.md").write_text("# Project\n")
        for path, text in self.agent.files.items():
            file = self.home / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self._filled(text))
        self.socket = f"send-{os.getpid()}-{self.home.name}"
        path = ":".join([*map(str, programs), os.environ["PATH"]])
        env = {"HOME": str(self.home), "PATH": path, "PS1": "$ ", "LANG": "C.UTF-8", "SHELL": "/bin/bash",
               "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "COLORTERM": "truecolor"}  # fmt: skip
        given = [f"{key}={self._filled(value)}" for key, value in (env | self.agent.env).items()]
        columns, rows = size.split("x")
        self._env = ["env", "-i", "TERM=tmux-256color", *given]
        new = ["new-session", "-d", "-s", "a", "-x", columns, "-y", rows, "-c", str(self.project)]
        self.tmux("-f", "/dev/null", *new, *self._env, *BASH)
        self.tmux("set-option", "-g", "status", "off")
        self.engine = installed_engine()
        self.transport = TmuxTransport("a", Options(tmux_socket_name=self.socket))
        asked = ["env", f"PATH={path}", f"HOME={self.home}", self.agent.command.split()[0], "--version"]
        told = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=60).stdout.split()
        self.version = next((word.rstrip(".") for word in told if word[:1].isdigit()), "?")

    def _filled(self, text: str) -> str:
        return text.replace("$PROJECT", str(self.project)).replace("$MODEL", self.model.url)

    def tmux(self, *words: str) -> str:
        command = ["tmux", "-u", "-L", self.socket, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=20).stdout

    def screen(self, *options: str) -> str:
        return self.tmux("capture-pane", "-p", *options, "-t", "=a:")

    def cursor(self) -> tuple[int, int]:
        column, row = self.tmux("display-message", "-p", "-t", "=a:", "#{cursor_x} #{cursor_y}").split()
        return int(column), int(row)

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-t", "=a:", "-l", "--", text)

    def keys(self, *names: str) -> None:
        self.tmux("send-keys", "-t", "=a:", *names)

    def start(self) -> str:
        """Start the agent and wait until it is at its composer; its version."""
        self.type(self.agent.command)
        self.keys("Enter")
        until = time.monotonic() + START_S
        while True:
            ready = wait_until_ready(self.transport, policy="observe", timeout_s=3, engine=self.engine)
            screen = self.screen()
            time.sleep(SETTLE_S)
            if "Make auto mode" in self.screen():  # it comes some time after the composer
                self.keys("Escape")
            elif ready and screen == self.screen():
                return self.version
            elif time.monotonic() > until:
                raise SystemExit(f"{self.agent.command} is not ready:\n{self.screen()}")

    def restart(self, command: str, *shell: str) -> None:
        """Run a command in a new shell, bash by default, in place of all else."""
        self.tmux("respawn-pane", "-k", "-t", "=a:", *self._env, *(shell or BASH))
        time.sleep(0.5)
        self.transport = TmuxTransport("a", Options(tmux_socket_name=self.socket))
        self.type(command)
        self.keys("Enter")
        time.sleep(1.5)

    def close(self) -> None:
        """Ends the session and every process that was started below its home."""
        self.tmux("kill-server")
        self.model.close()
        for told in Path("/proc").glob("[0-9]*/environ"):
            try:
                if f"HOME={self.home}".encode() in told.read_bytes().split(b"\0"):
                    os.kill(int(told.parent.name), 15)
            except OSError:
                continue
        shutil.rmtree(self.home, ignore_errors=True)
