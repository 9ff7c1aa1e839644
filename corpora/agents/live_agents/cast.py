"""The cast: which agents are live at once, how each is started, and what it is driven into."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen
from sending_stage import AGENTS, CODEX, Agent
from turns import AT_WORK, FEWER_TRIES

from live_agents.scenes import FIRST, SCENES, Scene

PERMISSIONS = ("permission", "harmless permission", "harmful permission")
ENDS = ("asks", "done", "asks which", "done, politely")
FAILURES = ("401", "context full", "no network", "no network, tried again")
PATIENT = ("401, tried again",)
BACK = ("no network, then back", "overload, then back")
TOOLS = ("a tool's y/N", "a tool's password")
LIMITS = ("limit with a time", "limit without a time")
UNNAMED = ("nanocoder", "gptme")  # no pack names them
WITHOUT_TOOLS = ("aider", "gptme")  # what they do stands in the model's text


@frozen
class Actor:
    """One live agent; `launch` is what is typed at its shell, in which AGENT stands for the agent's own command."""

    name: str  # its session's
    agent: str
    scenes: tuple[str, ...] = ()
    size: str = "80x24"
    launch: str = "AGENT"
    arguments: str = ""
    patient: bool = False  # it tries again as often as it does by itself
    first: str = ""  # of FIRST: its home is new

    @property
    def plays(self) -> tuple[Scene, ...]:
        """Its scenes, those that its agent has, in order."""
        return tuple(scene for name in self.scenes if (scene := SCENES[name]).plays(self.agent))


@frozen
class Start:
    """How an agent is started: its command, the protocol of its model, its files and its environment.

    In files and environment $MODEL, $PROJECT and $HOME stand for what they are.
    """

    command: str
    model: str
    files: Mapping[str, str] = field(factory=dict)
    env: Mapping[str, str] = field(factory=dict)
    tools: bool = True  # its model is offered some


IN_A_LOOP = "while :; do AGENT; sleep 60; done"
IN_SCRIPT = "script -qc 'AGENT' /dev/null"
BY_NPM = "npm run --silent agent"
IN_TMUX = "tmux -L $HOME_NAME-inner -f /dev/null new-session 'AGENT'"

CAST = (
    Actor("claude", "claude", (*PERMISSIONS, "question", *ENDS, *FAILURES, *LIMITS, "crash")),
    Actor("claude-40", "claude", ("harmless permission", "harmful permission", "asks", "401", "hung"), "40x24"),
    Actor(
        "claude-60", "claude", ("question", "asks which", "done", "overload", *PATIENT, "crash"), "60x30", patient=True
    ),
    Actor("claude-loop", "claude", ("harmless permission", "asks", "done", "crash"), launch=IN_A_LOOP),
    Actor("claude-script", "claude", ("permission", "question", "asks which", "401"), launch=IN_SCRIPT),
    Actor("claude-tmux", "claude", ("permission", "question", "asks", "done", "401"), launch=IN_TMUX),
    Actor("claude-plan", "claude", ("plan", "asks", "hung"), arguments="--permission-mode plan"),
    Actor("codex", "codex", (*PERMISSIONS, *ENDS, *FAILURES, *LIMITS)),
    Actor("codex-60", "codex", ("permission", "asks", "done", "overload", BACK[0], "crash"), "60x24", patient=True),
    Actor("gemini", "gemini", (*PERMISSIONS, "question", *ENDS, *FAILURES)),
    Actor("gemini-npm", "gemini", ("harmless permission", "asks", "done", "overload", *BACK, "crash"), "60x24", BY_NPM),
    Actor("qwen", "qwen", (*PERMISSIONS, "question", *ENDS, *FAILURES)),
    Actor(
        "qwen-plan", "qwen", ("plan", "asks", "overload", BACK[1], "hung", "crash"), arguments="--approval-mode plan"
    ),
    Actor("opencode", "opencode", (*PERMISSIONS, "question", *ENDS, *FAILURES, "overload")),
    Actor("opencode-script", "opencode", ("harmless permission", "asks", "crash"), "100x30", IN_SCRIPT),
    Actor("copilot", "copilot", (*PERMISSIONS, "question", *ENDS, *FAILURES)),
    Actor("copilot-loop", "copilot", ("harmless permission", "asks which", "done", "crash"), "60x30", IN_A_LOOP),
    Actor("gemini-yolo", "gemini", (*TOOLS, "done", "hung", "crash at work"), arguments="--approval-mode yolo"),
    Actor(
        "qwen-yolo", "qwen", (*TOOLS, "done", "limit, tried again", "crash at work"), arguments="--approval-mode yolo"
    ),
    Actor("opencode-limits", "opencode", ("limit, tried again", "hung", "crash at work")),
    Actor("codex-killed", "codex", ("hung", "crash at work")),
    Actor("copilot-killed", "copilot", ("hung", "crash at work")),
    Actor("claude-killed", "claude", ("crash at work",)),
    Actor("pi", "pi", ("asks", "done", "hung", "crash at work")),
    Actor("aider", "aider", ("suggested command", "asks", "done", "401", "offer after a 401", "crash")),
    Actor("aider-killed", "aider", ("done, politely", "hung", "crash at work"), "60x24"),
    Actor("nanocoder", "nanocoder", ("permission", "asks", "done", "question", "401", "crash")),
    Actor("nanocoder-loop", "nanocoder", ("asks", "crash"), launch=IN_A_LOOP),
    Actor("gptme-npm", "gptme", ("done", "crash"), launch=BY_NPM),
    Actor("gptme", "gptme", ("suggested command", "asks", "done", "401", "crash")),
    Actor("claude-new", "claude", first="claude"),
    Actor("codex-new", "codex", first="codex"),
    Actor("codex-login", "codex", first="codex login"),
    Actor("gemini-new", "gemini", first="gemini"),
    Actor("qwen-new", "qwen", first="qwen"),
    Actor("copilot-new", "copilot", first="copilot"),
)
SHORT = (
    Actor("claude", "claude", ("harmless permission", "harmful permission", "done")),
    Actor("claude-loop", "claude", ("asks", "401", "crash"), launch=IN_A_LOOP),
    Actor("claude-new", "claude", first="claude"),
)


def start(actor: Actor) -> Start:
    """How it is started."""
    known = _known(actor.agent)
    files, env = dict(known.files), dict(known.env)
    if actor.first:
        files, env = _anew(actor, files, env)
    elif actor.agent == "codex":
        files[".codex/config.toml"] = _codex(CODEX, actor.patient)
    elif actor.agent == "claude":
        files[".claude/settings.json"] = json.dumps({"permissions": {"defaultMode": "default", "ask": ["Bash"]}})
    elif actor.agent == "opencode":
        place = ".config/opencode/opencode.json"
        asks = {"permission": {"edit": "ask", "bash": "ask", "webfetch": "ask"}}
        files[place] = json.dumps({**json.loads(files[place]), **asks})
    if not actor.patient:
        env |= FEWER_TRIES.get(actor.agent, {})
    command = " ".join([known.command, actor.arguments]).strip()
    return Start(command, known.model, files, env, actor.agent not in WITHOUT_TOOLS)


def _known(agent: str) -> Agent:
    """An agent as the other scripts start it."""
    if agent not in UNNAMED:
        return AT_WORK.get(agent) or AGENTS[agent]
    scene = tomllib.loads((Path(__file__).parents[1] / "unknown" / "scenes" / f"{agent}.toml").read_text())
    files = {f"proj/{place}": text for place, text in scene.get("files", {}).items()}
    return Agent(scene["steps"][0].removeprefix("> "), "openai", files, scene.get("env", {}))


def _codex(config: str, patient: bool) -> str:
    asks = 'approval_policy = "on-request"\nsandbox_mode = "workspace-write"\n'
    tries = "" if patient else "request_max_retries = 0\nstream_max_retries = 0\n"
    return asks + config.replace('env_key = "FAKE_KEY"\n', f'env_key = "FAKE_KEY"\n{tries}')


def _anew(actor: Actor, files: dict[str, str], env: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Files and environment of a home in which the agent was never started."""
    if actor.first == "codex":
        untrusted = CODEX[: CODEX.index("[projects.")]
        return {".codex/config.toml": _codex(untrusted, False)}, env
    if actor.agent in ("gemini", "qwen"):
        place = f".{actor.agent}/settings.json"
        config: dict[str, Any] = json.loads(files[place])
        config["security"]["folderTrust"] = {"enabled": True}
        return {place: json.dumps(config)}, env
    if actor.agent == "claude":
        told = {"projects": {}, "customApiKeyResponses": {"approved": [], "rejected": []}}
        return {".claude.json": json.dumps({**json.loads(files[".claude.json"]), **told})}, env
    return {}, env


assert all(actor.first in FIRST for actor in CAST if actor.first)
