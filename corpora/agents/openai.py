"""A model server on loopback that speaks OpenAI's chat completions and responses, by a script.

    python corpora/agents/openai.py 8701

The last message of the user decides the answer: `answers.py`.  So an agent that uses this server can be driven into
each of its dialogs.
"""

from __future__ import annotations

import json
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from answers import script


def text_of(content: Any) -> str:
    """The text of a message, in whichever of the forms, without what an agent adds to it in angle brackets."""
    if isinstance(content, list):
        content = " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    content = re.sub(r"^<user\b[^>]*>(.*)</user>$", r"\1", str(content or ""), flags=re.DOTALL)  # Mastra Code's
    return re.sub(r"<([\w:-]+)[^>]*>.*?</\1>", "", content, flags=re.DOTALL).strip()


class Server(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.0"
    answers = staticmethod(script)
    added = re.compile(r"(?!)")  # what an agent adds as a message of the user's

    def do_GET(self) -> None:
        self.reply(200, {"object": "list", "data": [{"id": "fake-coder", "object": "model"}], "models": []})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        responses = "input" in asked
        items = asked.get("input" if responses else "messages") or []
        items = [{"role": "user", "content": items}] if isinstance(items, str) else items
        spoken = [(at, text_of(item.get("content"))) for at, item in enumerate(items) if item.get("role") == "user"]
        spoken = [(at, text) for at, text in spoken if text and not text.startswith("<") and not self.added.match(text)]
        at, said = spoken[-1] if spoken else (0, "")
        after = items[at:]
        results = sum(one.get("role") == "tool" or str(one.get("type", "")).endswith("_output") for one in after)
        tools = [tool.get("function") or tool for tool in asked.get("tools") or []]
        tools = [tool for tool in tools if tool.get("name") and tool.get("type") != "custom"]
        steps = list(self.answers(said, results, tools, json.dumps(asked)))
        refused = next((step for step in steps if isinstance(step, dict) and "status" in step), None)
        if refused:
            self.reply(refused["status"], refused["body"])
            return
        if not responses and not asked.get("stream"):
            self.whole(steps)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        (self.respond if responses else self.chat)(steps)

    def reply(self, status: int, body: Any) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def event(self, value: Any, name: str = "") -> None:
        self.wfile.write((f"event: {name}\n" if name else "").encode() + f"data: {json.dumps(value)}\n\n".encode())
        self.wfile.flush()

    def chat(self, steps: list[Any]) -> None:
        def chunk(delta: dict[str, Any], end: str | None = None) -> None:
            one = {"index": 0, "delta": delta, "finish_reason": end}
            self.event({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": [one]})

        end = "stop"
        for step in steps:
            if isinstance(step, float):
                time.sleep(step)
            elif isinstance(step, str):
                chunk({"role": "assistant", "content": step})
            elif isinstance(step, dict):
                end = step["end"]
            else:
                end = "tool_calls"
                function = {"name": step[0], "arguments": json.dumps(step[1])}
                call_id = f"call_{time.time_ns()}"
                chunk({"tool_calls": [{"index": 0, "id": call_id, "type": "function", "function": function}]})
        chunk({}, end)
        self.wfile.write(b"data: [DONE]\n\n")

    def whole(self, steps: list[Any]) -> None:
        """A chat completion that is not streamed."""
        time.sleep(sum(step for step in steps if isinstance(step, float)))
        calls = [
            {
                "id": f"call_{time.time_ns()}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(told)},
            }
            for name, told in (step for step in steps if isinstance(step, tuple))
        ]
        message: dict[str, Any] = {"role": "assistant", "content": "".join(s for s in steps if isinstance(s, str))}
        message |= {"tool_calls": calls} if calls else {}
        end = next((step["end"] for step in steps if isinstance(step, dict)), "tool_calls" if calls else "stop")
        choice = {"index": 0, "message": message, "finish_reason": end}
        used = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        made = {"id": "c1", "object": "chat.completion", "created": 1, "model": "fake", "choices": [choice]}
        self.reply(200, made | {"usage": used})

    def respond(self, steps: list[Any]) -> None:
        def event(kind: str, **more: Any) -> None:
            self.event({"type": kind, **more}, kind)

        event("response.created", response={"id": "r1"})
        said = "".join(step for step in steps if isinstance(step, str))
        message: dict[str, Any] = {"type": "message", "role": "assistant", "id": "m1", "content": []}
        event("response.output_item.added", output_index=0, item=message)
        for step in steps:
            if isinstance(step, float):
                time.sleep(step)
            elif isinstance(step, str):
                event("response.output_text.delta", item_id="m1", output_index=0, content_index=0, delta=step)
        message = {**message, "content": [{"type": "output_text", "text": said}]}
        event("response.output_item.done", output_index=0, item=message)
        output = [message]
        for name, arguments in (step for step in steps if isinstance(step, tuple)):
            made = {"type": "function_call", "id": "f1", "name": name, "arguments": json.dumps(arguments)}
            output.append({**made, "call_id": f"call_{time.time_ns()}"})
            event("response.output_item.added", output_index=1, item={**output[-1], "arguments": ""})
            event("response.function_call_arguments.delta", item_id="f1", output_index=1, delta=made["arguments"])
            event("response.function_call_arguments.done", item_id="f1", output_index=1, arguments=made["arguments"])
            event("response.output_item.done", output_index=1, item=output[-1])
        cut = next((step["end"] for step in steps if isinstance(step, dict)), None)
        if cut:
            event("response.incomplete", response={"id": "r1", "incomplete_details": {"reason": cut}})
            return
        used = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18}
        event("response.completed", response={"id": "r1", "output": output, "usage": used})

    def log_message(self, format: str, *args: Any) -> None:
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Server).serve_forever()
