"""One Claude Code in one tmux session, driven and looked at; and the texts that scenes share."""

# ruff: noqa: E501  (tables of steps read better in one line)

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from anthropic import Server, Step  # the module beside this file

KEY = "sk-ant-api03-" + "0" * 40 + "-scripted-model-AA"
HIDDEN = "/home/dev/code"  # replaces the temporary folder in screens, and is as long
TRUSTED = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True, "allowedTools": [], "history": []}
ASK = {
    "question": "Which storage should the cache use?",
    "header": "Storage",
    "multiSelect": False,
    "options": [
        {"label": "SQLite", "description": "One file, no server"},
        {"label": "Redis", "description": "Shared between hosts"},
        {"label": "Memory", "description": "Lost on restart"},
    ],
}
ASK_MANY = {**ASK, "question": "Which checks should run on each push?", "header": "Checks", "multiSelect": True}
QUOTES = (
    'The dialog asks "Do you want to proceed?" and shows:\n\n```\nQuick safety check: Is this a project you trust?\n'
    "❯ 1. Yes, I trust this folder\n  2. No, exit\n\nEnter to confirm · Esc to cancel\n```\n\nPress Enter to continue. "
    "Overwrite existing file? (y/N)"
)
MCP = r"""
import json, sys
tool = {"name": "lookup", "description": "Looks up", "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}}}
for line in sys.stdin:
    ask = json.loads(line)
    if "id" not in ask:
        continue
    does = ask["method"]
    if does == "initialize":
        got = {"protocolVersion": ask["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "docs", "version": "1"}}
    elif does == "tools/list":
        got = {"tools": [tool]}
    else:
        got = {"content": [{"type": "text", "text": "found"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": ask["id"], "result": got}), flush=True)
"""


class Stage:
    """One Claude Code in one tmux session, its home and project in a temporary folder."""

    def __init__(self, claude: Path, version: str, size: tuple[int, int], out: Path, flat: bool) -> None:
        self.claude, self.version, self.size, self.out, self.flat = claude, version, size, out, flat
        self.root = Path(tempfile.mkdtemp(prefix="d", dir="/tmp"))
        self.project = self.root / "proj"
        self.project.mkdir()
        self.socket = f"agents-{os.getpid()}-{self.root.name}"
        self.model = Server().start()
        self.settings: dict[str, Any] = {"permissions": {"defaultMode": "default"}}
        (self.root / "bin").mkdir()
        (self.root / "bin" / "claude").symlink_to(claude)
        self.scene = ""
        self.changed_at = time.monotonic()  # when the latest key went out, or what was waited for was there

    # ---- before the start

    def known(self, trusted: bool = True, **more: Any) -> None:
        """A home that has been through the first start."""
        value = {
            "hasCompletedOnboarding": True,
            "lastOnboardingVersion": self.version,
            "theme": "dark",
            "numStartups": 20,
            "bypassPermissionsModeAccepted": True,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.project): TRUSTED} if trusted else {},
            **more,
        }
        (self.root / ".claude.json").write_text(json.dumps(value))

    def mcp(self, *names: str, approved: bool = False) -> None:
        server = self.root / "docs_server.py"
        server.write_text(MCP)
        servers = {name: {"command": sys.executable, "args": [str(server)]} for name in names}
        (self.project / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
        if approved:
            self.settings["enableAllProjectMcpServers"] = True

    def start(self, *args: str, script: list[Step] | None = None, key: bool = True, **more: str) -> Stage:
        self.model.script = script or []
        self.open(key, more)
        self.keys(self.command(args), "Enter")
        return self

    def command(self, args: Sequence[str]) -> str:
        """What starts it, as typed at a shell."""
        return shlex.join(["claude", *args])

    def open(self, key: bool, more: Mapping[str, str]) -> None:
        """Its terminal, with a shell."""
        (self.root / ".claude").mkdir(exist_ok=True)
        (self.root / ".claude" / "settings.json").write_text(json.dumps(self.settings))
        env = {
            "HOME": str(self.root),
            "PATH": f"{self.root}/bin:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "PS1": "$ ",
            "ANTHROPIC_BASE_URL": self.model.url,
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            **({"ANTHROPIC_API_KEY": KEY} if key else {}),
            **({"NO_COLOR": "1"} if self.flat else {}),
            **more,
        }
        columns, rows = self.size
        given = [f"{name}={value}" for name, value in env.items()]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-s", "a", "-x", str(columns), "-y", str(rows), "-c",
                  str(self.project), "env", "-i", *given, "TERM=screen-256color", "sh")  # fmt: skip
        self.tmux("select-pane", "-t", "=a:", "-T", "shell")
        self.wait(r"^\$")

    # ---- at work

    def tmux(self, *args: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self.socket, *args], capture_output=True, check=False, text=True, timeout=10
        )
        return done.stdout

    def keys(self, *keys: str, pause: float = 0.25) -> None:
        for key in keys:
            named = re.fullmatch(r"[CM]-.|Enter|Escape|Up|Down|Left|Right|Tab|BTab|Space|BSpace", key)
            self.tmux("send-keys", "-t", "=a:", *([] if named else ["-l"]), "--", key)
            self.changed_at = time.monotonic()
            time.sleep(pause)

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", "=a:")

    def wait(self, pattern: str, seconds: float = 20) -> bool:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if re.search(pattern, self.screen(), re.MULTILINE):
                self.changed_at = time.monotonic()
                time.sleep(0.4)
                return True
            time.sleep(0.15)
        return False

    def say(self, text: str) -> None:
        self.keys(text, "Enter", pause=0.5)

    def idle(self, seconds: float = 25) -> bool:
        """Until a composer stands there and nothing runs."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            screen = self.screen()
            if re.search(r"^(?:│ )?[>❯]", screen, re.MULTILINE) and not re.search("to interrupt|…\n", screen):
                came = time.monotonic()
                time.sleep(0.5)
                if self.screen() == screen:
                    self.changed_at = came
                    return True
            time.sleep(0.2)
        return False

    def save(
        self, name: str, state: str, kind: str | None = None, wait: str = "", hard: bool = False, **label: Any
    ) -> bool:
        """Waits for `wait`, then keeps the screen as a case."""
        met = self.wait(wait) if wait else True
        asked = "#{cursor_x} #{cursor_y} #{cursor_flag} #{alternate_on} #{pane_pid} #{pane_current_command}\n#{pane_title}\n#{pane_tty}"
        facts, title, tty = self.tmux("display-message", "-p", "-t", "=a:", asked).split("\n")[:3]
        x, y, visible, alternate, _, command = facts.split(" ", 5)
        screen = self.screen()
        time.sleep(1.5)
        moved = self.screen() != screen
        flags = subprocess.run(["stty", "-a", "-F", tty], capture_output=True, check=False, text=True).stdout
        columns, rows = self.size
        slug = re.sub(r"[^a-z0-9]+", "-", f"{self.scene} {name}".lower()).strip("-")
        style = "-no-color" if self.flat else ""
        case = {
            "id": f"claude_code/{self.version.replace('.', '-')}-{slug}-{columns}x{rows}{style}",
            "program": "claude-code",
            "version": self.version,
            "state_note": f"{self.scene}: {name}",
            "cols": columns,
            "rows": rows,
            "cursor_x": int(x),
            "cursor_y": int(y),
            "cursor_visible": visible == "1",
            "alternate_on": alternate == "1",
            "pane_current_command": command,
            "pane_title": title.replace(str(self.root), HIDDEN),
            "screen": screen.replace(str(self.root), HIDDEN),
            "tty": {"echo": " echo " in flags, "icanon": " icanon " in flags},
            "after_1500ms": {"screen_changed": moved},
            "label": {"state": state, "waiting": state in ("waiting", "idle"), "kind": kind, "hard": hard,
                      "note": name if met else f"missed-{name}", **label},
        }  # fmt: skip
        with self.out.open("a") as file:
            file.write(json.dumps(case, ensure_ascii=False) + "\n")
        print(f"{'saved ' if met else 'MISSED'} {case['id']}", flush=True)
        return met

    def close(self) -> None:
        self.tmux("kill-server")
        self.model.shutdown()
        self.model.server_close()
        shutil.rmtree(self.root, ignore_errors=True)
