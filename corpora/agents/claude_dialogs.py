"""Scenes of Claude Code's dialogs: start, trust, permissions, questions, plans, menus, and typing at the composer."""

# ruff: noqa: E501  (tables of steps read better in one line)

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from anthropic import Step  # the module beside this file
from claude_stage import ASK, ASK_MANY, QUOTES, Stage


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
