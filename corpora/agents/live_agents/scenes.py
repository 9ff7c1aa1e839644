"""What agents are driven into: the scripted answer that leads there, how it shows, and what is true of it then."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import answers  # the modules of corpora/agents
import turns
from attrs import field, frozen
from claude_stage import ASK, ASK_MANY

KEPT = "x"  # a folder of the project, which nothing may remove
HARMLESS = "git status"
CHECKED = "make check"  # for agents that run the other one unasked
HARMFUL = f"git status; rm -rf {KEPT}"

KEYS_AT = "https://platform.openai.com/account/api-keys"
CLAUDE_ASKS = r"❯ (1\. )?Yes"
ROWS = {  # a dialog's selected row
    "claude": CLAUDE_ASKS,
    "codex": r"› 1\.",
    "gemini": r"[●›] 1\.",
    "qwen": r"[●›] 1\.",
    "opencode": "Permission",
    "copilot": r"❯ 1\.",
    "nanocoder": "Yes, execute",
}
QUESTION = {agent: "Exponential" for agent in ROWS} | {"claude": r"❯ 1\. SQLite"}
PLAN = {"claude": r"❯ 1\.|❯ Yes", "codex": "Implement", "qwen": r"[●›] 1\."}
LIMIT = {"claude": "[Ll]imit", "codex": "usage limit|429 Too", "qwen": "[Rr]ate limit", "opencode": "[Rr]ate limit"}
SUGGESTED = {
    "aider": r"Run shell command\?.*\]:$",
    "gptme": r"Execute shell\?[^\n]*\]$",
}  # a command in the model's text
TOOL = {"gemini": r"\(Tab to focus\)", "qwen": r"\(ctrl\+f to focus\)"}  # of a tool that has a terminal of its own
_WHEN_BUSY = {"opencode": ("Escape", "Escape")} | dict.fromkeys(("copilot", "aider", "gptme"), ("C-c",))


def interrupt(agent: str) -> tuple[str, ...]:
    """The keys that end what an agent is at."""
    return _WHEN_BUSY.get(agent, ("Escape",))


@frozen
class Scene:
    """One state.  `shows` are patterns, by agent; where there is none the words of the answer do, or a rest.

    `by` is how the person answers: "keys" that leave a dialog or end work, "text" to the agent at its composer, "model"
    where its model answers again, or nothing where the agent is gone.
    """

    name: str
    what: str | None
    replies: Mapping[str, dict[str, Any]]  # by agent; "*": any other
    by: str = "text"
    shows: Mapping[str, str] = field(factory=dict)
    fails: bool = False  # the answer is a failure, which agents try again before they say so
    kills: bool = False  # the agent is killed
    reach_s: float = 60.0
    busy: bool = False  # true from the request on, not from what the screen shows
    keys: tuple[str, ...] = ("Escape",)  # that leave its dialog
    by_policy: Mapping[str, tuple[str, ...]] = field(factory=dict)  # keys and texts that a policy may give here
    then: Scene | None = None  # what it comes to once that was answered

    def reply(self, agent: str) -> dict[str, Any]:
        return self.replies.get(agent) or self.replies["*"]

    def plays(self, agent: str) -> bool:
        return agent in self.replies or "*" in self.replies


CAME_BACK = Scene("done, once its model was back", "done", {"*": {}}, "")
GAVE_UP = Scene("gave up", "failed", {"*": {}})  # what it tried again and again


def _message(name: str) -> dict[str, Any]:
    """A message of turns.toml."""
    found: dict[str, Any] = next(
        one for how in ("done", "asks", "failed") for one in turns.TOLD[how] if one["id"] == name
    )
    return found


def _bash(command: str) -> dict[str, Any]:
    return {"step": {"text": "I look first.", "tool": "Bash", "input": {"command": command}}}


def _permission(name: str, command: str, unasked: str = "", **more: Any) -> Scene:
    """A command to be allowed; another one for agents that run the first unasked."""
    replies = {"claude": _bash(command), "*": {"said": "run it", "command": command}}
    if unasked:
        replies |= {agent: {"said": "run it", "command": unasked} for agent in ("gemini", "qwen", "copilot")}
    return Scene(name, "waits", replies, "keys", ROWS, **more)


def _limit(reset: bool) -> dict[str, dict[str, Any]]:
    head = {"x-should-retry": "false"}
    words = "This request would exceed your account's rate limit. Please try again later."
    if reset:
        words = f"Claude AI usage limit reached|{int(time.time()) + 3 * 3600}"
    step = {"status": 429, "error": "rate_limit_error", "message": words, "headers": head}
    return {"claude": {"step": step}, "codex": {"said": "error 429 usage" if reset else "error 429"}}


def _reads(name: str, words: str, options: str = "") -> Scene:
    """A tool that reads its own terminal, which the agent shows; it runs unasked."""
    reply = {"said": "run it", "command": f"read {options} -p '{words} ' answer"}
    return Scene(name, "waits", dict.fromkeys(TOOL, reply), "keys", TOOL)


def _first(name: str, shows: str, *keys: str, **more: Any) -> Scene:
    """A screen of a first start, which comes by itself."""
    return Scene(name, "waits", {"*": {}}, "keys", dict.fromkeys(("aider", *ROWS), shows), keys=keys, **more)


OFFERS = (  # what may come before a composer
    _first("trust at the start", "[Dd]o you trust|trust this folder|Yes, proceed", "Enter"),
    _first("offer at the start", "[Mm]ake auto mode|set auto mode", "Escape"),
    _first("confirm at the start", r"gitignore.*\]:|what's new.*\]:", "n", "Enter"),
)
FIRST = {  # the screens of a first start, in their order
    "claude": (  # its theme and its notes come only after it reached its maker's server
        _first("trust", r"I trust this folder", "Down", "Enter"),
        _first("api key", "Detected a custom API key", "Up", "Enter"),
    ),
    "codex": (_first("trust", r"^› 1\.", "Enter"),),
    "codex login": (_first("login", "Sign in", "Escape"),),
    "gemini": (_first("trust", r"[●›] 1\.", "Enter"),),
    "qwen": (_first("trust", r"[●›] 1\.", "Enter"),),
    "copilot": (_first("trust", r"❯ 1\. Yes", "Enter"),),
}

_UNREACHABLE = _message("failed-unreachable")
_PATIENT = (
    "codex",
    "copilot",
    "gemini",
    "qwen",
    "opencode",
)  # they try to reach their server for minutes, some without a word
_OVERLOAD = {"status": 529, "error": "overloaded_error", "message": "Overloaded"}
_ALL = (
    _permission("permission", "rm -rf build && ls"),
    _permission("harmless permission", HARMLESS, CHECKED, by_policy={"rules": ("Enter",)}),
    _permission("harmful permission", HARMFUL),
    Scene(
        "question",
        "waits",
        {
            "claude": {"step": {"text": "One thing.", "tool": "AskUserQuestion", "input": {"questions": [ASK]}}},
            **{agent: {"said": "ask it"} for agent in ("codex", "gemini", "opencode", "copilot", "nanocoder")},
            "qwen": {"call": ("ask_user_question", {"questions": [{name: answers.ASKED[name] for name in ASK}]})},
        },
        "keys",
        QUESTION,
    ),
    Scene(
        "suggested command",
        "waits",
        {"aider": {"said": "suggest"}, "gptme": {"text": "I look first.\n\n```shell\nrm -rf build && ls\n```\n"}},
        "keys",
        SUGGESTED,
        keys=("n", "Enter"),
    ),
    Scene(
        "question of several",
        "waits",
        {"claude": {"step": {"text": "One thing.", "tool": "AskUserQuestion", "input": {"questions": [ASK_MANY]}}}},
        "keys",
        {"claude": r"❯ 1\. \[ \] SQLite"},
    ),
    Scene(
        "plan",
        "waits",
        {
            "claude": {"step": {"text": "The plan.", "tool": "ExitPlanMode", "input": {"plan": "1. Read\n2. Test\n"}}},
            "codex": {"said": "propose a plan"},
            "qwen": {"call": ("exit_plan_mode", {"plan": "1. Read\n2. Test\n"})},
        },
        "keys",
        PLAN,
    ),
    Scene(
        "asks",
        "asks",
        {"*": {"text": "I renamed the helper.\n\nShall I continue with step 2?"}},
        by_policy={"daemon": ("yes",)},
    ),
    Scene("asks which", "asks", {"*": _message("which-one")}),
    Scene("done", None, {"*": _message("list-of-changes")}),
    Scene("done, politely", None, {"*": _message("politeness-anything-else")}),
    Scene("401", "failed", {"*": _message("failed-401-key")}, fails=True),
    Scene(
        "offer after a 401",
        "waits",
        {"aider": {**_message("failed-401-key"), "openai": {"message": f"Incorrect API key. See {KEYS_AT}"}}},
        "keys",
        {"aider": r"ask again \[Yes\]:$"},  # the rest may be under its spinner
        keys=("n", "Enter"),
        then=GAVE_UP,
    ),
    Scene("401, tried again", "failed", {"claude": _message("failed-401-key")}, "busy", busy=True),
    Scene("context full", "failed", {"*": _message("failed-400-context")}, fails=True),
    Scene("no network", "failed", {agent: _UNREACHABLE for agent in ("claude",)}, fails=True),
    Scene("no network, tried again", "retrying", {agent: _UNREACHABLE for agent in _PATIENT}, "busy", busy=True),
    Scene(
        "no network, then back",
        "retrying",
        {agent: _UNREACHABLE for agent in ("codex", "gemini", "qwen")},
        "model",
        busy=True,
        then=CAME_BACK,
    ),
    Scene(
        "overload, then back",
        "retrying",
        dict.fromkeys(("gemini", "qwen"), _OVERLOAD),
        "model",
        busy=True,
        then=CAME_BACK,
    ),
    Scene("limit with a time", "limit", _limit(True), shows=LIMIT, fails=True),
    Scene("limit without a time", "limit", _limit(False), shows=LIMIT, fails=True),
    Scene(
        "limit, tried again",
        "limit",
        {agent: {"said": "error 429"} for agent in ("qwen", "opencode")},
        "busy",
        LIMIT,
        reach_s=180.0,  # Qwen Code says so after its client gave up
    ),
    Scene("overload", "retrying", {"claude": {"step": _OVERLOAD}, "*": {**_OVERLOAD}}, "busy", busy=True),
    Scene("hung", "hung", {"*": {"hang": 3600}}, "busy", busy=True),
    _reads("a tool's y/N", "Install to /usr/local? [y/N]"),
    _reads("a tool's password", "Password for deploy@example.com:", "-s"),
    Scene("crash", "ended", {"*": {}}, "", kills=True),
    Scene("crash at work", "ended", {"*": {"hang": 3600}}, "", busy=True, kills=True),
)
SCENES = {scene.name: scene for scene in _ALL}
