"""Drives Claude Code in tmux into each state, against the scripted model, and saves what it shows as corpus cases.

    python scripts/agents/claude.py CLAUDE -o cases.jsonl [--size 80x24] [--scene NAME ...] [--flat]

CLAUDE is an installed `claude`.  Each case is labelled by what the program was driven into.  A state that does not come
up within its time is saved as `missed-...` in `label.note` for a person to look at, never silently left out.
"""

# ruff: noqa: E501  (tables of steps read better in one line)

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from anthropic import Server, Step  # the module beside this file

KEY = "sk-ant-api03-" + "0" * 40 + "-scripted-model-AA"
HIDDEN = "/home/dev/code"  # stands in screens where the temporary folder stood, and is as long
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
        self.keys(shlex.join(["claude", *args]), "Enter")
        return self

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
            time.sleep(pause)

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", "=a:")

    def wait(self, pattern: str, seconds: float = 20) -> bool:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if re.search(pattern, self.screen(), re.MULTILINE):
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
                time.sleep(0.5)
                if self.screen() == screen:
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
        shutil.rmtree(self.root, ignore_errors=True)


# ---------------------------------------------------------------- scenes


def first_start(s: Stage) -> None:
    s.start()
    s.save("theme", "waiting", "select", "Dark mode")
    s.keys("Enter")
    s.save("api key", "waiting", "confirm", "Detected a custom API key", harmful_default=True)
    s.keys("Up", "Enter")
    s.save("security notes", "waiting", "press_key", "Press Enter to continue")
    s.keys("Enter")
    if s.wait("terminal setup|recommended settings", 4):
        s.save("terminal setup", "waiting", "select")
        s.keys("Down", "Enter")
    s.save("trust", "waiting", "trust", "trust")


def login(s: Stage) -> None:
    s.known(customApiKeyResponses={"approved": [], "rejected": []}, hasCompletedOnboarding=False)
    s.start(key=False)
    if s.wait("Dark mode", 6):
        s.keys("Enter")
    s.save("method", "waiting", "login", "Select login method|Anthropic Console")
    s.keys("Down", "Enter")
    s.save("code", "waiting", "login", "Paste code here|Browser didn|Opening browser")


def trust(s: Stage) -> None:
    s.known(trusted=False)
    s.start(script=[{"text": "Hello."}])
    s.save("as it comes up", "waiting", "trust", "trust")
    s.keys("Down")
    s.save("second row", "waiting", "trust", "trust")
    s.keys("Up")
    if re.search("❯ (1. )?Yes", s.screen()):
        s.keys("Enter")
    else:
        s.keys("Down", "Enter")
    s.idle()
    s.save("idle after it", "idle")


def bypass(s: Stage) -> None:
    s.known(bypassPermissionsModeAccepted=False)
    s.start("--dangerously-skip-permissions", IS_SANDBOX="1")
    s.save("warning", "waiting", "confirm", "Yes, I accept", harmful_default=True)
    s.keys("Down")
    s.save("warning, second row", "waiting", "confirm", "Yes, I accept")
    s.keys("Enter")
    s.idle()
    s.save("idle in bypass mode", "idle")


def mcp_one(s: Stage) -> None:
    s.known()
    s.mcp("docs")
    s.start()
    s.save("new server", "waiting", "trust", "MCP server")
    s.keys("Down")
    s.save("new server, second row", "waiting", "trust", "MCP server")


def mcp_two(s: Stage) -> None:
    s.known()
    s.mcp("docs", "tickets")
    s.start()
    s.save("new servers", "waiting", "trust", "MCP server")
    s.keys("Space")
    s.save("new servers, one changed", "waiting", "trust", "MCP server")


PERMISSIONS: list[tuple[str, Step]] = [
    ("bash", {"tool": "Bash", "input": {"command": "rm -rf build && make all", "description": "Rebuild from scratch"}}),
    ("write", {"tool": "Write", "input": {"file_path": "PROJ/notes.md", "content": "# Notes\n\nOne line.\n"}}),
    ("fetch", {"tool": "WebFetch", "input": {"url": "https://docs.example.com/policy", "prompt": "Summarise it"}}),
    ("mcp tool", {"tool": "mcp__docs__lookup", "input": {"q": "retry policy"}}),
    ("edit", {"text": "I'll change it.", "tool": "Edit", "input": {"file_path": "PROJ/retry.py", "old_string": "TRIES = 3", "new_string": "TRIES = 5"}}),
    ("long bash", {"tool": "Bash", "input": {"command": "\n".join(f"curl -fsS https://example.com/{n} | tee out-{n}.txt" for n in range(9)), "description": "Fetch all"}}),
    ("notebook", {"tool": "NotebookEdit", "input": {"notebook_path": "PROJ/a.ipynb", "new_source": "print(2)", "cell_id": "one", "edit_mode": "replace"}}),
    ("search", {"tool": "WebSearch", "input": {"query": "retry policy"}}),
    ("skill", {"tool": "Skill", "input": {"skill": "tidy"}}),
]  # fmt: skip


def permissions(s: Stage) -> None:
    s.known()
    s.mcp("docs", approved=True)
    (s.project / "retry.py").write_text("TRIES = 3\nWAIT = 2\n")
    skill = s.root / ".claude" / "skills" / "tidy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: tidy\ndescription: Tidies the tree\n---\nTidy it.\n")
    cell: dict[str, Any] = {
        "cell_type": "code",
        "id": "one",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": ["print(1)"],
    }
    (s.project / "a.ipynb").write_text(
        json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    )
    s.start()
    s.idle()
    for name, template in PERMISSIONS:
        step = json.loads(json.dumps(template).replace("PROJ", str(s.project)))
        calls = (
            [{"tool": "Read", "input": {"file_path": step["input"].get("file_path") or step["input"]["notebook_path"]}}]
            if name in ("edit", "notebook")
            else []
        )
        s.model.script = [*calls, step, {"text": f"Left the {name} alone."}]
        s.say("go on")
        if not s.save(name, "waiting", "permission", r"❯ (?:1\. )?(Yes|Allow)"):
            s.idle(4)
            continue
        if name == "bash":
            s.keys("Down")
            s.save("bash, second row", "waiting", "permission", r"❯ 2\. ")
            s.keys("Up")
            if "Tab to" in s.screen() or "tab to" in s.screen():
                s.keys("Tab", "and be quiet")
                s.save("bash, amending", "waiting", "permission", "and be")
                s.keys("Escape")
            s.keys("Escape")
            s.idle(6)
            s.save("refused", "idle", None)
        elif name == "mcp tool":
            s.keys("Enter")
            s.idle(10)
            s.save("granted", "idle", None)
        else:
            s.keys("Escape")
            s.idle(6)


def auto_mode(s: Stage) -> None:
    """What 2.1.330 shows where the check behind its auto mode cannot be reached."""
    s.known()
    s.settings["permissions"] = {"defaultMode": "auto"}
    s.start()
    s.idle()
    s.save("idle in auto mode", "idle")
    s.model.script = [PERMISSIONS[0][1], {"text": "Left it alone."}]
    s.say("go on")
    s.save("no check, what to do", "waiting", "confirm", "can't check actions")
    s.keys("Down")
    s.save("no check, second row", "waiting", "confirm", "can't check actions")
    s.keys("Up", "Enter")
    s.save("needs approval", "waiting", "permission", "❯ No|needs")
    s.keys("Down")
    s.save("needs approval, Yes", "waiting", "permission", "❯ Yes")
    s.keys("Escape")
    s.idle(5)
    s.save("refused", "idle")


def questions(s: Stage) -> None:
    s.known()
    s.start()
    s.idle()
    s.model.script = [
        {"text": "One thing first.", "tool": "AskUserQuestion", "input": {"questions": [ASK]}},
        {"text": "SQLite it is."},
    ]
    s.say("go on")
    s.save("single", "waiting", "question", "SQLite")
    s.keys("Down", "Down", "Down")
    s.save("own answer selected", "waiting", "question", "SQLite")
    s.keys("Neither of")
    s.save("own answer typed", "waiting", "question", "Neither of")
    s.keys("Escape")
    s.idle(6)
    s.save("dismissed", "idle")
    s.model.script = [{"tool": "AskUserQuestion", "input": {"questions": [ASK_MANY, ASK]}}, {"text": "All set."}]
    s.say("again")
    s.save("several, first page", "waiting", "question", "Which checks")
    s.keys("Enter", "Down", "Enter")
    s.save("several, two ticked", "waiting", "question", "Which checks")
    s.keys("Right")
    s.save("several, second page", "waiting", "question", "Which storage")
    s.keys("Enter")
    s.save("several, review", "waiting", "question", "[Rr]eview|[Ss]ubmit")
    s.keys("Enter")
    s.idle(6)
    s.save("answered", "idle")


def plan(s: Stage) -> None:
    s.known()
    s.start("--permission-mode", "plan")
    s.idle()
    s.save("idle in plan mode", "idle")
    text = "# Plan\n\n1. Read retry.py\n2. Raise TRIES\n3. Run the tests\n"
    s.model.script = [
        {"text": "Here is the plan.", "tool": "ExitPlanMode", "input": {"plan": text}},
        {"text": "Kept planning."},
    ]
    s.say("plan it")
    s.save("approval, no file", "waiting", "plan_approval", "proceed|plan mode\\?")
    s.keys("Escape")
    s.idle(6)
    found = re.search(
        rf"{s.root}/\.claude/plans/[\w-]+\.md", json.dumps([body for _, body in s.model.requests if body])
    )
    if found:
        s.model.script = [
            {"tool": "Write", "input": {"file_path": found[0], "content": text * 4}},
            {"tool": "ExitPlanMode", "input": {"plan": text}},
            {"text": "Kept planning."},
        ]
        s.say("write it down")
        s.save("approval", "waiting", "plan_approval", "proceed")
        s.keys("Up")
        s.save("approval, last row", "waiting", "plan_approval", "proceed")
        s.keys("Escape")
        s.idle(6)
    s.keys("BTab")
    s.model.script = [{"tool": "EnterPlanMode", "input": {}}, {"text": "Did not."}]
    s.say("think first")
    s.save("enter plan mode", "waiting", "plan_approval", "Enter plan mode")


MENUS: list[tuple[str, str, str, str]] = [
    ("/model", "select", "[Ss]elect", "waiting"),
    ("/effort", "select", "[Ee]ffort", "waiting"),
    ("/config", "select", "Auto-compact|Theme", "waiting"),
    ("/theme", "select", "Dark mode", "waiting"),
    ("/help", "pager", "[Ss]hortcuts|interactive mode", "waiting"),
    ("/status", "pager", "Version|version", "waiting"),
    ("/permissions", "select", "Allow", "waiting"),
    ("/memory", "select", "memory", "waiting"),
    ("/hooks", "select", "PreToolUse|PostToolUse", "waiting"),
    ("/agents", "select", "[Cc]reate new agent|No agents", "waiting"),
    ("/mcp", "select", "docs", "waiting"),
    ("/resume", "select", "Resume|Modified|ago", "waiting"),
    ("/rewind", "select", "Rewind|current", "waiting"),
    ("/export", "select", "[Cc]opy to clipboard", "waiting"),
    ("/plugin", "pager", "[Pp]lugin|Discover", "waiting"),
    ("/skills", "pager", "[Ss]kills", "waiting"),
    ("/output-style", "select", "Explanatory", "waiting"),
    ("/ide", "", "/ide", "idle"),
    ("/tasks", "select", "[Bb]ackground|No tasks", "waiting"),
    ("/diff", "select", "diff|changes", "waiting"),
    ("/stats", "pager", "Overview|stats", "waiting"),
    ("/usage", "pager", "Usage|usage", "waiting"),
    ("/cost", "pager", "cost", "waiting"),
    ("/context", "", "tokens", "idle"),
    ("/doctor", "press_key", "Diagnostics|installation", "waiting"),
    ("/bug", "text", "[Dd]escribe", "waiting"),
    ("/login", "login", "login method|Console", "waiting"),
    ("/logout-not-there", "", "[Uu]nknown", "idle"),
]


def menus(s: Stage) -> None:
    s.known()
    s.mcp("docs", approved=True)
    s.start(script=[{"text": "Hello there."}])
    s.idle()
    s.say("say hello")
    s.idle()
    for command, kind, wait, state in MENUS:
        before = s.screen()
        s.keys(command, pause=0.6)
        s.keys("Enter", pause=0.8)
        s.wait(wait, 6)
        time.sleep(0.8)
        if s.screen() != before:
            s.save(command, state, kind or None, wait)
        s.keys("Escape", pause=0.6)
        if not s.idle(3):
            s.keys("Escape", pause=0.6)
            s.idle(3)
        s.keys("C-u")


def typing(s: Stage) -> None:
    s.known()
    command = s.root / ".claude" / "commands"
    command.mkdir(parents=True)
    (command / "ship.md").write_text("---\ndescription: Ship it\n---\nShip $ARGUMENTS\n")
    s.start(script=[{"text": QUOTES}])
    s.idle()
    s.save("idle, empty", "idle")
    s.keys("rewrite the retry loop so that it")
    s.save("draft", "idle")
    s.keys("C-u", "/")
    s.save("command list", "idle")
    s.keys("shi")
    s.save("own command", "idle")
    s.keys("C-u", "BSpace", "@")
    s.save("file list", "idle")
    s.keys("BSpace", "!", "ls")
    s.save("bash mode", "idle")
    s.keys("C-u", "BSpace", "BSpace", "?")
    s.save("shortcuts", "idle")
    s.keys("BSpace", "C-u")
    s.say("what does it ask?")
    s.idle()
    s.save("answer quotes prompts", "idle", hard=True)
    s.keys("C-o")
    s.save("transcript", "waiting", "pager", "[Tt]ranscript")
    s.keys("C-o", pause=1)
    s.keys("C-r", pause=1)
    s.save("history search", "waiting", "select", "[Ss]earch|bck")
    s.keys("Escape", "C-c")
    s.save("ctrl+c once", "idle", None, "again")


def working(s: Stage) -> None:
    s.known()
    s.settings["permissions"]["allow"] = ["Bash(sleep:*)", "Bash(printf:*)", "Bash"]
    s.start(script=[{"wait": 12, "text": "Here."}])
    s.idle()
    s.say("think")
    s.save("silent model", "working", None, "…|to interrupt")
    time.sleep(5)
    s.save("silent model, later", "working", None, "…|to interrupt")
    s.keys("a draft meanwhile")
    s.save("silent model, draft", "working", None, "a draft")
    s.keys("Escape", pause=1)
    s.keys("Escape", pause=0.5)
    s.save("interrupted", "idle", None, "Interrupted|interrupted")
    s.keys("C-u", "C-u")
    s.model.script = [{"text": QUOTES + " word" * 200, "pause": 0.12}]
    s.say("stream it")
    s.wait("Overwrite|Press Enter", 20)
    s.save("quotes prompts while it streams", "working", None, "…|to interrupt", hard=True)
    s.keys("C-o")
    s.save("transcript while working", "working", None, "[Tt]ranscript", hard=True)
    s.keys("C-o", "Escape", pause=0.8)
    s.idle(5)
    s.keys("C-u")
    s.model.script = [
        {"tool": "Bash", "input": {"command": "printf 'Continue? [y/N] '; sleep 14", "description": "Ask"}},
        {"text": "It slept."},
    ]
    s.say("run it")
    s.save("tool running", "working", None, "Running|Bash")
    time.sleep(3)
    s.save("tool running, its output asks", "working", None, "Continue|Running", hard=True)
    s.keys("then tidy", "Enter")
    s.save("message queued", "working", None, "then tidy")
    s.idle(25)
    s.model.script = [
        {"tool": "Bash", "input": {"command": "sleep 60", "description": "Sleep", "run_in_background": True}},
        {"text": "It runs behind."},
    ]
    s.say("in the background")
    s.idle(12)
    s.save("idle, background task", "idle", hard=True)
    s.model.script = [
        {
            "tool": "TodoWrite",
            "input": {
                "todos": [
                    {"content": n, "status": st, "activeForm": n}
                    for n, st in (("Read the code", "completed"), ("Fix it", "in_progress"), ("Test it", "pending"))
                ]
            },
        },
        {"wait": 6, "text": "On it."},
    ]
    s.say("plan your work")
    s.wait("Fix it", 8)
    time.sleep(1)
    s.save("todo list", "working", None, "Fix it")
    s.idle(15)
    s.model.script = [
        {"tool": "Task", "input": {"description": "Look around", "prompt": "look", "subagent_type": "general-purpose"}},
        {"wait": 8, "text": "Nothing."},
        {"text": "Looked."},
    ]
    s.say("send someone")
    s.wait("Look around", 8)
    time.sleep(1)
    s.save("subagent", "working", None, "Look around")
    s.idle(20)
    s.say("/compact")
    s.save("compacting", "working", None, "[Cc]ompacting")


def limits(s: Stage) -> None:
    soon = int(time.time()) + 3 * 3600
    unified = {"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": str(soon),
               "anthropic-ratelimit-unified-representative-claim": "five_hour", "x-should-retry": "false"}  # fmt: skip
    limit = {
        "status": 429,
        "error": "rate_limit_error",
        "message": "This request would exceed your account's rate limit. Please try again later.",
    }
    rows: list[tuple[str, str, Step, str]] = [
        ("429 with a reset", "quota", {**limit, "headers": unified}, "limit"),
        ("429 usage limit reached", "quota", {**limit, "message": f"Claude AI usage limit reached|{soon}", "headers": {"x-should-retry": "false"}}, "limit"),
        ("429 retried", "quota", {**limit, "headers": {"retry-after": "40"}}, "[Rr]etrying|limit"),
        ("529", "working", {"status": 529, "error": "overloaded_error", "message": "Overloaded"}, "[Rr]etrying"),
        ("500", "working", {"status": 500, "message": "Internal server error"}, "[Rr]etrying"),
        ("400 credit", "idle", {"status": 400, "error": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}, "[Cc]redit"),
        ("401", "idle", {"status": 401, "error": "authentication_error", "message": "invalid x-api-key", "headers": {"x-should-retry": "false"}}, "401|login|API key"),
        ("prompt too long", "idle", {"status": 400, "error": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}, "too long|[Cc]ontext"),
        ("400", "idle", {"status": 400, "error": "invalid_request_error", "message": "messages: at least one message is required"}, "400|API Error"),
        ("403", "idle", {"status": 403, "error": "permission_error", "message": "Your organization has disabled this", "headers": {"x-should-retry": "false"}}, "403|API Error"),
    ]  # fmt: skip
    s.known()
    s.start()
    s.idle()
    for name, state, step, wait in rows:
        s.model.script = [step]
        s.say("go on")
        s.save(name, state, None, wait)
        if state == "working" or "retried" in name:
            time.sleep(4)
            if s.wait("[Rr]etrying", 1):
                s.save(name + ", later", state, None, wait)
            s.keys("Escape", pause=1)
        s.idle(5)
        s.keys("C-u")
    s.model.script = [{"text": "Fine again."}]
    s.say("and now")
    s.idle()
    s.save("idle after errors", "idle", hard=True)
    s.keys("/exit", pause=0.6)
    s.keys("Enter")
    s.save("exited", "ended", "shell_prompt", r"^\$ ?$")


def subscriber(s: Stage) -> None:
    """Limits as an account with a subscription sees them; its token is made up."""
    soon = int(time.time()) + 3 * 3600
    s.known()
    token = {"accessToken": "made-up", "refreshToken": "made-up", "expiresAt": (soon + 9**6) * 1000,
             "scopes": ["user:inference", "user:profile"], "subscriptionType": "max", "rateLimitTier": "default_claude_max_5x"}  # fmt: skip
    (s.root / ".claude").mkdir(exist_ok=True)
    (s.root / ".claude" / ".credentials.json").write_text(json.dumps({"claudeAiOauth": token}))
    s.start(key=False)
    s.idle()
    for name, claim in (("session limit", "five_hour"), ("weekly limit", "seven_day")):
        head = {"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": str(soon),
                "anthropic-ratelimit-unified-representative-claim": claim, "x-should-retry": "false",
                f"anthropic-ratelimit-unified-{'5h' if claim == 'five_hour' else '7d'}-utilization": "1"}  # fmt: skip
        s.model.script = [{"status": 429, "error": "rate_limit_error", "message": "limit", "headers": head}]
        s.say("go on")
        s.wait("limit", 10)
        asks = bool(re.search(r"❯ 1\. ", s.screen()))
        s.save(name, "waiting" if asks else "quota", "select" if asks else None, "limit")
        if asks:
            s.keys("Enter")
            s.idle(5)
            s.save(name + ", after the menu", "quota")
        soon += 3 * 86400
    head = {"anthropic-ratelimit-unified-status": "allowed_warning", "anthropic-ratelimit-unified-reset": str(soon),
            "anthropic-ratelimit-unified-representative-claim": "seven_day", "anthropic-ratelimit-unified-7d-utilization": "0.92",
            "anthropic-ratelimit-unified-7d-surpassed-threshold": "0.9", "anthropic-ratelimit-unified-7d-reset": str(soon)}  # fmt: skip
    s.model.script = [{"text": "Fine.", "headers": head}]
    s.say("and now")
    s.idle(8)
    s.save("limit near, idle", "idle", None, hard=True)


def context(s: Stage) -> None:
    s.known(autoCompactEnabled=False)
    s.start(script=[{"text": "Read it.", "tokens": 186000}])
    s.idle()
    s.say("read it all")
    s.idle()
    s.save("context low", "idle")
    s.model.script = [{"text": "More.", "tokens": 199500}]
    s.say("more")
    s.idle()
    s.say("and more")
    s.wait("limit reached|too long", 6)
    s.save("context full", "idle")


def resume(s: Stage) -> None:
    s.known()
    s.start(script=[{"text": "Hello there."}])
    s.idle()
    s.say("say hello")
    s.idle()
    s.keys("/exit", pause=0.6)
    s.keys("Enter")
    s.save("ended", "ended", "shell_prompt", r"^\$ ?$")
    for file in (s.root / ".claude" / "projects").rglob("*.jsonl"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        for line in lines:
            if "timestamp" in line:
                line["timestamp"] = "2026-11-19T10:00:00.000Z"
            usage = (line.get("message") or {}).get("usage") if isinstance(line.get("message"), dict) else None
            if usage:
                usage["input_tokens"] = 150000
        file.write_text("\n".join(json.dumps(line) for line in lines) + "\n")
        os.utime(file, (time.time() - 3 * 86400,) * 2)
    s.keys("clear", "Enter")
    s.keys("claude --resume", "Enter")
    s.save("picker", "waiting", "select", "say hello|Resume")
    s.keys("Enter")
    time.sleep(3)
    if re.search("summary", s.screen()):
        s.save("from a summary", "waiting", "select")
        s.keys("Down", "Down", "Enter")
    s.idle()
    s.save("idle, resumed", "idle")


def killed(s: Stage) -> None:
    s.known()
    s.start(script=[{"tool": "Bash", "input": {"command": "rm -rf build", "description": "Clean"}}])
    s.idle()
    s.say("clean up")
    s.wait(r"❯ 1\. Yes")
    pids = subprocess.run(
        ["pgrep", "-t", s.tmux("display-message", "-p", "-t", "=a:", "#{pane_tty}").strip().removeprefix("/dev/")],
        capture_output=True,
        check=False,
        text=True,
    ).stdout.split()
    shell = s.tmux("display-message", "-p", "-t", "=a:", "#{pane_pid}").strip()
    for pid in pids:
        if pid != shell:
            os.kill(int(pid), 9)
    s.wait(r"^\$ ?$|Killed", 6)
    s.save("at a permission dialog", "ended", "shell_prompt", hard=True)


SCENES: dict[str, Callable[[Stage], None]] = {
    scene.__name__: scene
    for scene in (first_start, login, trust, bypass, mcp_one, mcp_two, permissions, auto_mode, questions, plan, menus, typing, working,
                  limits, subscriber, context, resume, killed)
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claude", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--size", default="80x24")
    parser.add_argument("--scene", action="append", choices=list(SCENES))
    parser.add_argument("--flat", action="store_true", help="with NO_COLOR")
    given = parser.parse_args()
    claude = given.claude.absolute()
    shown = subprocess.run(
        [claude, "--version"], capture_output=True, check=False, text=True, env={**os.environ, "HOME": "/nonexistent"}
    )
    version = shown.stdout.split()[0]
    columns, rows = map(int, given.size.split("x"))
    for name in given.scene or SCENES:
        stage = Stage(claude, version, (columns, rows), given.out, given.flat)
        stage.scene = name.replace("_", " ")
        try:
            SCENES[name](stage)
        except Exception as error:  # the next scene may do better
            print(f"FAILED {name}: {error!r}", flush=True)
        finally:
            stage.close()


if __name__ == "__main__":
    main()
