"""The scripted model of one live agent: it also calls tools, stays silent, and notes what it hears."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import answers  # the modules of corpora/agents
import turns_model
from attrs import frozen
from sending_stage import texts_of

SHOWN = "Look at the tree"  # what the agents show beside a command


@frozen
class Heard:
    """One request for an answer that the person sees."""

    at: float
    texts: tuple[str, ...]  # in the person's name
    granted: bool  # it brings the result of a tool that the model asked for
    latest: str = ""  # the last thing in it, as JSON


class Model(turns_model.Model):
    """As `turns_model.Model`; besides its texts and failures, `reply` may be

    {"said": "run it", "command": "git status"}    what `answers.py` does at these words, with this command
    {"step": {...}}                                a step of `anthropic.py`; after its tool: "Done."
    {"call": ("exit_plan_mode", {...})}            a tool, though it is not offered: some agents keep a few back
    {"hang": 600}                                  the connection stands, and nothing comes
    """

    def __init__(self, protocol: str, tools: bool = True) -> None:
        """`tools`: its agent offers some with each request whose answer the person sees."""
        self.few = turns_model.FEW if tools else 0
        self.requests: list[Heard] = []
        self.asked: list[float] = []  # when anything was, also what the person does not see
        self._granted = False
        super().__init__(protocol)

    def _hear(self, asked: dict[str, Any]) -> None:
        self.asked.append(time.time())
        if self.main_loop(asked) and not turns_model.suggests(asked) and "count" not in self.heard[-1]:
            self._granted = brings_a_result(asked)
            self.requests.append(Heard(time.time(), tuple(texts_of(asked)), self._granted, json.dumps(_last(asked))))
        super()._hear(asked)

    def _anthropic(self) -> dict[str, Any]:
        if "hang" in self.reply:
            return {"wait": self.reply["hang"], "text": "At last."}
        if "step" in self.reply:
            step: dict[str, Any] = self.reply["step"]
            return {"text": "Done."} if self._granted and "tool" in step else step
        return super()._anthropic()

    def _steps(self, said: str, results: int, tools: list[dict[str, Any]], asked: str) -> Iterator[Any]:
        if len(tools) < self.few or not {"call", "hang", "said"} & set(self.reply):
            yield from super()._steps(said, results, tools, asked)
        elif "hang" in self.reply:
            yield float(self.reply["hang"])
        elif "call" in self.reply:
            yield "Done." if results else self.reply["call"]
        else:
            for step in answers.script(self.reply["said"], results, tools, asked):
                yield (step[0], self._named(step[1])) if isinstance(step, tuple) else step

    def _named(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """A tool's arguments, with the command of `reply`."""
        command = self.reply.get("command")
        if command is None:
            return arguments
        made = {name: SHOWN if value == answers.DESCRIBED else value for name, value in arguments.items()}
        for name in made:
            if name in ("command", "cmd", "script"):
                made[name] = ["bash", "-lc", command] if isinstance(made[name], list) else command
            elif name == "commands":
                made[name] = [command]
        return made


def _last(asked: dict[str, Any]) -> dict[str, Any]:
    items = asked.get("messages") or asked.get("input") or asked.get("contents") or []
    return items[-1] if items and isinstance(items, list) else {}


def brings_a_result(asked: dict[str, Any]) -> bool:
    """Whether the last thing in a request is the result of a tool, in any of the protocols.

    Beside what was refused or interrupted stands what the person wrote then.
    """
    last = _last(asked)
    if last.get("role") == "tool" or str(last.get("type", "")).endswith("_output"):
        return True
    parts = last.get("content") or last.get("parts") or []
    if isinstance(parts, str):
        return False
    told = [one for one in parts if isinstance(one, dict)]
    wrote = any(not str(one["text"]).lstrip().startswith("<") for one in told if one.get("text"))
    return not wrote and any("functionResponse" in one or one.get("type") == "tool_result" for one in told)
