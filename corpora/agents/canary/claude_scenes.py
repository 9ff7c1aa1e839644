"""Claude Code's states for the canary: each step is awaited, so that what is looked at is what it was driven into."""

# ruff: noqa: E501  (tables of steps read better in one line)

from __future__ import annotations

import time
from collections.abc import Callable

from anthropic import Step  # the modules of corpora/agents
from claude_stage import ASK

from canary.stages import Claude

YES = r"❯ (?:1\. )?(Yes|Allow)"
CLEAN: Step = {"tool": "Bash", "input": {"command": "rm -rf build && make all", "description": "Rebuild from scratch"}}
SLEEP: Step = {"tool": "Bash", "input": {"command": "printf waiting; sleep 30", "description": "Sleep"}}
QUESTION: Step = {"text": "One thing first.", "tool": "AskUserQuestion", "input": {"questions": [ASK]}}
BUSY = "esc to interrupt|… \\("


def trust(s: Claude) -> None:
    s.known(trusted=False)
    s.start(script=[{"text": "Hello."}])
    s.save("as it comes up", "waiting", "trust", "trust")
    s.keys(*([] if "❯ Yes" in s.screen() else ["Down"]), "Enter", pause=0.5)
    if s.offered():
        s.save("offer of another mode", "waiting", "confirm")
    s.ready()
    s.save("accepted", "idle")


def permissions(s: Claude) -> None:
    s.known()
    s.mcp("docs", approved=True)
    (s.project / "retry.py").write_text("TRIES = 3\n")
    s.start()
    s.ready()
    s.save("at the start", "idle")
    rows: list[tuple[str, list[Step]]] = [
        ("bash", [CLEAN]),
        ("write", [{"tool": "Write", "input": {"file_path": f"{s.project}/notes.md", "content": "# Notes\n"}}]),
        ("edit", [{"tool": "Read", "input": {"file_path": f"{s.project}/retry.py"}},
                  {"tool": "Edit", "input": {"file_path": f"{s.project}/retry.py", "old_string": "3", "new_string": "5"}}]),
        ("fetch", [{"tool": "WebFetch", "input": {"url": "https://docs.example.com/policy", "prompt": "Sum it up"}}]),
        ("mcp tool", [{"tool": "mcp__docs__lookup", "input": {"q": "retry policy"}}]),
    ]  # fmt: skip
    for name, steps in rows:
        s.model.script = [*steps, {"text": f"Left the {name} alone."}]
        s.say("go on")
        s.save(name, "waiting", "permission", YES)
        if name == "bash":
            s.keys("Down")
            s.save("bash, second row", "waiting", "permission", r"❯ 2\. ")
        s.keys("Escape")
        s.idle(8)
        s.save(f"{name}, refused", "idle")


def questions(s: Claude) -> None:
    s.known()
    s.start()
    s.ready()
    s.model.script = [QUESTION, {"text": "SQLite it is."}]
    s.say("go on")
    s.save("single", "waiting", "question", "❯ 1. SQLite")
    s.keys("Escape")
    s.idle(8)
    s.save("dismissed", "idle")
    s.model.script = [{"text": "The first step is done.\n\nShall I continue with step 2?"}]
    s.say("do step 1")
    s.wait("Shall I continue")
    s.idle(8)
    s.save("in text", "idle")
    s.keys("only with a backup")
    s.save("draft of an answer", "idle")


def plan(s: Claude) -> None:
    s.known()
    s.start("--permission-mode", "plan")
    s.ready()
    s.save("idle in its mode", "idle")
    s.model.script = [
        {"tool": "ExitPlanMode", "input": {"plan": "# Plan\n\n1. Read\n2. Test\n"}},
        {"text": "Kept planning."},
    ]
    s.say("plan it")
    s.save("approval", "waiting", "plan_approval", "❯ 1. |❯ Yes")
    s.keys("Escape")
    s.idle(8)
    s.save("refused", "idle")


def menus(s: Claude) -> None:
    s.known()
    s.start(script=[{"text": "Hello there."}])
    s.ready()
    for command, kind, wait in (
        ("/model", "select", "[Ss]elect model"),
        ("/theme", "select", "Dark mode"),
        ("/permissions", "select", "Allow"),
        ("/memory", "select", "memory"),
        ("/status", "pager", "Version"),
        ("/help", "pager", "[Ss]hortcuts"),
    ):
        s.keys(command, pause=0.8)
        s.keys("Enter")
        s.save(command, "waiting", kind, wait)
        s.keys("Escape", pause=0.8)
        s.idle(5)
        s.keys("C-u")


def working(s: Claude) -> None:
    s.known()
    s.settings["permissions"]["allow"] = ["Bash"]
    s.start(script=[{"wait": 12, "text": "Here."}])
    s.ready()
    s.say("think")
    time.sleep(2.5)
    s.save("silent model", "working")
    time.sleep(4)
    s.save("silent model, later", "working")
    s.keys("Escape")
    s.idle(8)
    s.save("interrupted", "idle")
    s.keys("C-u")
    s.model.script = [{"text": "word " * 120, "pause": 0.12}]
    s.say("stream it")
    s.wait("word word")
    time.sleep(1)
    s.save("streaming", "working")
    s.keys("Escape")
    s.idle(8)
    s.keys("C-u")
    s.model.script = [{"text": "Do you want to proceed?\n\n❯ 1. Yes\n  2. No\n\nPress Enter to continue."}]
    s.say("quote a prompt")
    s.wait("Press Enter")
    s.idle(8)
    s.save("idle after a quoted prompt", "idle")
    s.model.script = [SLEEP, {"text": "It slept."}]
    s.say("run it")
    s.wait("Running|esc to interrupt")
    time.sleep(2)
    s.save("tool running", "working")
    s.keys("a draft meanwhile")
    s.save("tool running, draft", "working")
    s.keys("C-u", "Escape")
    s.idle(8)
    s.save("tool interrupted", "idle")
    s.keys("C-u")
    s.model.script = [{"tool": "Task", "input": {"description": "Look around", "prompt": "look", "subagent_type": "general-purpose"}},
                      {"wait": 15, "text": "Nothing."}, {"text": "Looked."}]  # fmt: skip
    s.say("send someone")
    s.wait("Look around")
    time.sleep(2)
    s.save("subagent", "working")
    s.keys("Escape")
    s.idle(10)


def errors(s: Claude) -> None:
    s.known()
    s.start()
    s.ready()
    soon = int(time.time()) + 3 * 3600
    unified = {"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": str(soon),
               "anthropic-ratelimit-unified-representative-claim": "five_hour", "x-should-retry": "false"}  # fmt: skip
    rows: list[tuple[str, str, Step, str]] = [
        ("400", "idle", {"status": 400, "error": "invalid_request_error", "message": "messages: at least one message is required"}, "at least one"),
        ("401", "idle", {"status": 401, "error": "authentication_error", "message": "invalid x-api-key", "headers": {"x-should-retry": "false"}}, "401|login|API key"),
        ("credit", "idle", {"status": 400, "error": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}, "[Cc]redit"),
        ("429 with a reset", "quota", {"status": 429, "error": "rate_limit_error", "message": "This request would exceed your account's rate limit. Please try again later.", "headers": unified}, "[Ll]imit"),
        ("500, retried", "working", {"status": 500, "message": "Internal server error"}, "[Rr]etrying"),
    ]  # fmt: skip
    for name, state, step, wait in rows:
        s.keys("C-u")
        s.model.script = [step]
        s.say("go on")
        s.wait(wait)
        if state != "working":
            s.idle(8)
        s.save(name, state, None, wait)
    s.keys("Escape")
    s.idle(8)
    s.keys("C-u", "/exit", pause=0.6)
    s.keys("Enter")
    s.save("exited", "ended", "shell_prompt", r"^\$ ?$")


def brief(s: Claude) -> None:
    """Three states: at rest, at a permission dialog, at rest again."""
    s.known()
    s.start()
    s.ready()
    s.save("at the start", "idle")
    s.model.script = [CLEAN, {"text": "Left it alone."}]
    s.say("go on")
    s.save("permission", "waiting", "permission", YES)
    s.keys("Escape")
    s.idle(8)
    s.save("refused", "idle")


def wrapped(s: Claude) -> None:
    """The same few states behind each wrapper."""
    brief(s)
    s.model.script = [QUESTION, {"text": "SQLite it is."}]
    s.say("ask")
    s.save("question", "waiting", "question", "❯ 1. SQLite")
    s.keys("Escape")
    s.idle(8)
    s.model.script = [{"wait": 12, "text": "Here."}]
    s.say("think")
    time.sleep(2.5)
    s.save("silent model", "working")
    s.keys("Escape")
    s.idle(8)
    s.save("interrupted", "idle")


SCENES: dict[str, Callable[[Claude], None]] = {
    "trust": trust,
    "permission": permissions,
    "question": questions,
    "plan": plan,
    "menu": menus,
    "work": working,
    "error": errors,
}
