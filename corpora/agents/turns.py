"""Ends of turns: agents in tmux whose scripted model says each message of `turns.toml`, each screen saved as a case.

    python corpora/agents/turns.py --bin DIR --out FILE [--size 80x24] [--share 3] [--ended done asks] [AGENT ...]

DIR holds the programs, each in its own folder with its `node_modules`.  A case is saved once the model has given the
whole answer and the screen rests.  Its label is what the model was scripted to say: `ended_turn` is `done`, `asks` or
`failed`, this with the class of its error.  An agent says one message of `--share`, by a hash.  A message whose last
words do not stand on the screen is reported and not saved.  A third of the messages, by a hash of their ids, is set
aside (`label.aside`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sys
import time
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from others import free_home  # the modules beside this file
from sending_stage import AGENTS, Agent, Stage
from turns_model import Model

TOLD = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
HIDDEN = "/home/dev"  # replaces the home in screens, and is as long
START_S, ANSWER_S, FAIL_S = 90.0, 45.0, 30.0
LOOK_S = 0.7
FORMAT = "#{cursor_x} #{cursor_y} #{cursor_flag} #{alternate_on} #{pane_current_command}\t#{pane_title}"

COPILOT = Agent(
    "copilot",
    "openai",
    {".copilot/config.json": '{"trusted_folders": ["$PROJECT"], "banner": "never"}'},
    {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": "$MODEL/v1",
        "COPILOT_PROVIDER_API_KEY": "x",
        "COPILOT_MODEL": "gpt-4.1",
        "COPILOT_AUTO_UPDATE": "false",
    },
)
SETTINGS = {
    "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
    "tools": {"useRipgrep": False, "approvalMode": "default"},
    "privacy": {"usageStatisticsEnabled": False},
}
QWEN = Agent(
    "qwen",
    "openai",
    {".qwen/settings.json": json.dumps(SETTINGS)},
    {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "$MODEL/v1", "OPENAI_MODEL": "fake-coder"},
)
PI_MODELS = {"baseUrl": "$MODEL/v1", "api": "openai-completions", "apiKey": "x", "models": [{"id": "fake-coder"}]}
PI = Agent(
    "pi --provider fake --model fake-coder",
    "openai",
    {".pi/agent/models.json": json.dumps({"providers": {"fake": PI_MODELS}})},
    {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"},
)
AT_WORK = {name: AGENTS[name] for name in ("claude", "codex", "gemini", "opencode")} | {
    "copilot": COPILOT,
    "pi": PI,
    "qwen": QWEN,
}
FEWER_TRIES = {  # of a request that failed, so that a failure comes soon
    "claude": {"CLAUDE_CODE_MAX_RETRIES": "1"},
}
PROGRAMS = {"claude": "claude-code", "gemini": "gemini-cli", "qwen": "qwen-code"}
COMPOSER = r"^\s*[│┃▌]?\s*[>❯›*](\s|$)|Ask anything|Type your message|^\d[\d.]*%/\d+k "


def squeezed(text: str) -> str:
    """A text's letters and digits alone: what wrapping and rendering leave of it."""
    return re.sub(r"[\W_]+", "", text)


class Turns:
    """One agent, asked to go on again and again."""

    def __init__(self, name: str, folder: Path, size: str, model: Model | None = None) -> None:
        agent = AT_WORK[name]
        self.name, self.size, self.model = name, size, model or Model(agent.model)
        agent = Agent(agent.command, agent.model, agent.files, agent.env | FEWER_TRIES.get(name, {}))
        self.stage = Stage(agent, [folder / name / "node_modules" / ".bin"], size, self.model, free_home())

    def rests(self, looks: int, seconds: float) -> bool:
        """Whether the screen came to be the same so many times on end."""
        until, same, last = time.monotonic() + seconds, 0, ""
        while same < looks and time.monotonic() < until:
            time.sleep(LOOK_S)
            now = self.stage.screen()
            same, last = same + 1 if now == last else 0, now
        return same >= looks

    def start(self) -> None:
        self.stage.type(self.stage.agent.command)
        self.stage.keys("Enter")
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            self.rests(6, 20)
            screen = self.stage.screen()
            if re.search("[Dd]o you trust|Make auto mode", screen):
                self.stage.keys("Enter" if "trust" in screen else "Escape")
            elif re.search(COMPOSER, screen, re.MULTILINE):
                break
        self.model.reply = {"text": "Hello! The project is a retry helper and its tests."}
        self.stage.type("hello")
        while not self.model.answered:  # some draw their composer before they read
            if time.monotonic() > until + START_S:
                raise SystemExit(f"{self.name} is not ready:\n{self.stage.screen()}")
            self.stage.keys("Enter")
            self.rests(6, 20)

    def turn(self, prompt: str, message: dict[str, Any]) -> str:
        """What is wrong with the turn's end on the screen; empty if nothing."""
        self.model.reply, before, heard = message, self.model.answered, len(self.model.heard)
        self.stage.type(prompt)
        time.sleep(0.5)
        self.stage.keys("Enter")
        if "fails" in message:
            return self._failed(heard)
        until = time.monotonic() + ANSWER_S
        while self.model.answered == before:
            if time.monotonic() > until:
                return "the model was not asked"
            time.sleep(0.1)
        if not self.rests(2, ANSWER_S):
            return "the screen does not rest"
        last = squeezed(message["text"])[-12:]
        lines = [squeezed(line) for line in self.stage.screen().split("\n")]
        shown = last in "".join(lines) or any(last[-5:] in line for line in lines)
        return "" if shown else "its last words are not on the screen"

    def _failed(self, heard: int) -> str:
        until = time.monotonic() + FAIL_S
        while time.monotonic() < until:
            asked = len(self.model.heard)
            rested = self.rests(6, 15)
            if rested and asked == len(self.model.heard) and (asked > heard or self.model.closed):
                return ""
        return "the failure does not come to rest"

    def case(self, message: dict[str, Any]) -> dict[str, Any]:
        """The screen as it stands, with what tmux says of it."""
        stage, home = self.stage, self.stage.home
        screen = stage.screen()
        facts, _, title = stage.tmux("display-message", "-p", "-t", "=a:", FORMAT).rstrip("\n").partition("\t")
        x, y, visible, alternate, command = facts.split(" ", 4)

        def hidden(text: str) -> str:
            return text.replace(str(home), HIDDEN).replace(home.name, "home")

        program, columns = PROGRAMS.get(self.name, self.name), self.size.split("x")[0]
        return {
            "id": f"turns/{program}-{stage.version}-{message['id']}-{columns}".replace(".", "-"),
            "program": program,
            "version": stage.version,
            "cols": int(columns),
            "rows": int(self.size.split("x")[1]),
            "cursor_x": int(x),
            "cursor_y": int(y),
            "cursor_visible": visible == "1",
            "alternate_on": alternate == "1",
            "pane_current_command": command,
            "pane_title": hidden(title),
            "screen": hidden(screen),
            "label": {
                "state": "idle",
                "kind": None,
                "ended_turn": message["ended_turn"],
                "error": message.get("fails"),
                "language": message.get("language", "en"),
                "message": message["id"],
                "aside": hashed(message["id"]) % 3 == 0,
            },
        }

    def close(self) -> None:
        if self.model.closed:
            self.model.open()
        self.stage.close()


def hashed(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def messages(name: str, size: str, share: int, ended: list[str]) -> list[dict[str, Any]]:
    """The messages and failures for an agent at a size, in an order of its own; the failures last."""
    every = [{"ended_turn": label, **one} for label in ended for one in TOLD[label]]
    chosen = [one for one in every if hashed(f"{name} {size} {one['id']}") % share == 0]
    random.Random(f"{name} {size}").shuffle(chosen)
    return sorted(chosen, key=lambda one: one["ended_turn"] == "failed")


def played(name: str, folder: Path, size: str, out: Path, chosen: list[dict[str, Any]]) -> Counter[str]:
    """Plays the messages at one agent; how many were saved and dropped."""
    counted: Counter[str] = Counter()
    turns = Turns(name, folder, size)
    try:
        turns.start()
        for number, message in enumerate(chosen):
            if message.get("closed"):
                turns.model.close()
            prompts = TOLD["prompts"].get(message.get("language", "en"), TOLD["prompts"]["en"])
            wrong = turns.turn(prompts[number % len(prompts)], message)
            if not wrong:
                with out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(turns.case(message), ensure_ascii=False) + "\n")
            else:
                print(f"{name} {size} {message['id']}: {wrong}\n{turns.stage.screen().rstrip()}", flush=True)
                turns.stage.keys("Escape")
            counted[wrong or message["ended_turn"]] += 1
            if turns.model.closed:
                turns.model.open()
    finally:
        turns.close()
    return counted


def main() -> None:
    """Plays every agent named, or all, one after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--size", default="80x24")
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--ended", nargs="*", default=["done", "asks", "failed"], choices=["done", "asks", "failed"])
    parser.add_argument("agents", nargs="*", default=list(AT_WORK))
    given = parser.parse_args()
    for name in given.agents:
        chosen = messages(name, given.size, given.share, given.ended)
        counted = played(name, given.bin.resolve(), given.size, given.out, chosen)
        print(f"{name} {given.size}: {dict(counted)}", flush=True)


if __name__ == "__main__":
    main()
