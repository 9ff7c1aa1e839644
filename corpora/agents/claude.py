"""Drives Claude Code in tmux into each state, against the scripted model, and saves what it shows as corpus cases.

    python corpora/agents/claude.py CLAUDE -o cases.jsonl [--size 80x24] [--scene NAME ...] [--flat]

CLAUDE is an installed `claude`.  Each case is labelled with the state that the program was driven into.  A state
that does not appear within its time is saved as `missed-...` in `label.note` for a person to look at, never silently
left out.
"""

# ruff: noqa: E501  (tables of steps read better in one line)

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from anthropic import Step  # the module beside this file
from claude_dialogs import (
    auto_mode,
    bypass,
    first_start,
    login,
    mcp_one,
    mcp_two,
    menus,
    permissions,
    plan,
    questions,
    trust,
    typing,
)
from claude_stage import QUOTES, Stage


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


def _subscribed(s: Stage) -> None:
    s.known()
    token = {"accessToken": "made-up", "refreshToken": "made-up", "expiresAt": int(time.time() + 9**7) * 1000,
             "scopes": ["user:inference", "user:profile"], "subscriptionType": "max", "rateLimitTier": "default_claude_max_5x"}  # fmt: skip
    (s.root / ".claude").mkdir(exist_ok=True)
    (s.root / ".claude" / ".credentials.json").write_text(json.dumps({"claudeAiOauth": token}))


def subscriber(s: Stage) -> None:
    """Limits as an account with a subscription sees them; its token is made up."""
    soon = int(time.time()) + 3 * 3600
    _subscribed(s)
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


def effort(s: Stage) -> None:
    """How hard to think, as it was asked at the first start with Opus 4.6: by 2.1.50 to 2.1.63, and 2.1.74 to 2.1.94."""
    s.known()
    s.start("--model", "claude-opus-4-6")
    s.save("asked at start", "waiting", "select", "Effort in Opus|effort for Opus")
    s.keys("Down")
    s.save("another row", "waiting", "select", "Effort in Opus|effort for Opus")
    s.keys("Enter")
    s.idle()
    s.save("answered", "idle")


def effort_of_subscribers(s: Stage) -> None:
    """The same as those are asked whose account has a subscription; its token is made up."""
    _subscribed(s)
    s.start("--model", "claude-opus-4-6", key=False)
    s.save("asked at start", "waiting", "select", "Effort in Opus|effort for Opus")
    s.keys("Enter")
    s.idle()
    s.save("answered", "idle")


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
                  limits, subscriber, effort, effort_of_subscribers, context, resume, killed)
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
        except Exception as error:  # the next scene can still succeed
            print(f"FAILED {name}: {error!r}", flush=True)
        finally:
            stage.close()


if __name__ == "__main__":
    main()
