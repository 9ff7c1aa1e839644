"""A model server on loopback that speaks Gemini's generateContent, and answers by the script of `answers.py`.

python corpora/agents/gemini.py 8702
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from answers import script


def parts_of(steps: list[Any]) -> list[Any]:
    """The steps as Gemini's parts; a number of seconds stays one."""
    made: list[Any] = []
    for step in steps:
        if isinstance(step, float):
            made.append(step)
        elif isinstance(step, str):
            made.append({"text": step})
        else:
            made.append({"functionCall": {"name": step[0], "args": step[1]}})
    return made


class Server(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.0"
    answers = staticmethod(script)

    def do_GET(self) -> None:
        self.reply(200, {"models": [{"name": "models/gemini-2.5-pro"}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if "countTokens" in self.path:
            self.reply(200, {"totalTokens": 9})
            return
        contents = asked.get("contents") or []
        given = [part for content in contents if content.get("role") == "user" for part in content.get("parts", [])]
        spoke = max((at for at, part in enumerate(given) if part.get("text")), default=0)
        user = given[spoke].get("text", "") if given else ""
        results = sum("functionResponse" in part for part in given[spoke:])
        tools = [
            {"name": one["name"], "parameters": one.get("parametersJsonSchema") or lowered(one.get("parameters") or {})}
            for tool in asked.get("tools") or []
            for one in tool.get("functionDeclarations", [])
        ]
        steps = list(self.answers(user, results, tools, json.dumps(asked)))
        refused = next((step for step in steps if isinstance(step, dict) and "status" in step), None)
        if refused and "status" in refused["body"]["error"]:
            self.reply(refused["status"], refused["body"])  # it is in this protocol's own form
            return
        if refused:
            kind = {429: "RESOURCE_EXHAUSTED", 401: "UNAUTHENTICATED"}.get(refused["status"], "UNAVAILABLE")
            said = {429: "You exceeded your current quota", 401: "API key not valid"}.get(refused["status"], "busy")
            error: dict[str, Any] = {"code": refused["status"], "status": kind, "message": said}
            if "daily" in user:
                quota = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}
                error["details"] = [{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [quota]}]
            self.reply(refused["status"], {"error": error})
            return
        if "schema" in json.dumps(asked.get("generationConfig") or {}).lower():
            chosen = {"complexity_score": 90, "model_choice": "pro", "reasoning": "-", "complexity_reasoning": "-"}
            steps = [json.dumps(chosen)]
        if "stream" not in self.path:
            self.reply(200, answer([part for part in parts_of(steps) if isinstance(part, dict)], "STOP"))
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        end = next((step["end"] for step in steps if isinstance(step, dict)), "STOP")
        for part in parts_of([step for step in steps if not isinstance(step, dict)]):
            if isinstance(part, float):
                time.sleep(part)
            else:
                self.event(answer([part], None))
        self.event(answer([{"text": ""}], end))

    def event(self, value: Any) -> None:
        self.wfile.write(f"data: {json.dumps(value)}\n\n".encode())
        self.wfile.flush()

    def reply(self, status: int, body: Any) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


def answer(parts: list[Any], end: str | None) -> dict[str, Any]:
    """One piece of an answer."""
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    used = {"promptTokenCount": 9, "candidatesTokenCount": 9, "totalTokenCount": 18}
    return {"candidates": [{**candidate, **({"finishReason": end} if end else {})}], "usageMetadata": used}


def lowered(schema: Any) -> Any:
    """A schema with its types in small letters, as JSON Schema writes them."""
    if isinstance(schema, dict):
        named = {key: lowered(value) for key, value in schema.items()}
        return named | ({"type": named["type"].lower()} if isinstance(named.get("type"), str) else {})
    return [lowered(one) for one in schema] if isinstance(schema, list) else schema


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Server).serve_forever()
