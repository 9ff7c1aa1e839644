"""A scripted model server on loopback that speaks Anthropic's messages API, streaming included.

    python corpora/agents/anthropic.py steps.json        # prints ANTHROPIC_BASE_URL=http://127.0.0.1:PORT

A script is a list of steps; each request of the agent's main loop (one that offers tools) takes the next one, and the
last step repeats.  A request without tools, which agents send for titles and summaries, gets `aside`.

    {"text": "Hello.", "pause": 0.05}                       words, one each `pause` seconds
    {"tool": "Bash", "input": {"command": "ls"}}            a call of a tool; "text" before it if given
    {"wait": 20, ...}                                       silent for so many seconds before the rest
    {"status": 429, "headers": {}, "error": "rate_limit_error", "message": "..."}
    {"tokens": 190000, ...}                                 what the answer says it read
    {"stop": "refusal", ...}                                why the answer ends, where not of itself
"""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

Step = dict[str, Any]


class Server(ThreadingHTTPServer):
    """Answers by `script`; `start()` serves from a thread, `url` is where."""

    daemon_threads = True

    def __init__(self, script: list[Step] | None = None, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.script: list[Step] = script or []
        self.aside: Step = {"text": "An answer"}
        self.requests: list[tuple[str, Any]] = []
        self.numbers = count(1)
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def start(self) -> Server:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def take(self, body: Step) -> Step:
        if len(body.get("tools") or []) < 3:
            return self.aside
        with self._lock:
            if not self.script:
                return {"text": "Done."}
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is no news."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _json(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, content in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, content)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_HEAD(self) -> None:
        self._json(200, {})

    def do_GET(self) -> None:
        self.server.requests.append((self.path, None))
        self._json(404, {"type": "error", "error": {"type": "not_found_error", "message": "not found"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        self.server.requests.append((self.path, body))
        if "count_tokens" in self.path:
            self._json(200, {"input_tokens": 1000})
        elif not self.path.startswith("/v1/messages"):
            self._json(404, {"type": "error", "error": {"type": "not_found_error", "message": "not found"}})
        else:
            self._answer(self.server.take(body), body)

    def _answer(self, step: Step, body: Step) -> None:
        time.sleep(step.get("wait", 0))
        if "status" in step:
            error = {"type": step.get("error", "api_error"), "message": step.get("message", "refused")}
            self._json(step["status"], {"type": "error", "error": error}, step.get("headers"))
        elif body.get("stream"):
            self._stream(step, body)
        else:
            self._json(200, self._message(step, body))

    def _usage(self, step: Step) -> Step:
        return {"input_tokens": step.get("tokens", 1200), "output_tokens": step.get("out", 40)}

    def _blocks(self, step: Step) -> list[Step]:
        blocks: list[Step] = []
        if step.get("text"):
            blocks.append({"type": "text", "text": step["text"]})
        calls = step.get("tools") or ([step] if "tool" in step else [])
        for call in calls:
            number = next(self.server.numbers)
            blocks.append(
                {"type": "tool_use", "id": f"toolu_{number:020}", "name": call["tool"], "input": call.get("input", {})}
            )
        return blocks or ([] if step.get("stop") else [{"type": "text", "text": "Done."}])

    def _message(self, step: Step, body: Step) -> Step:
        blocks = self._blocks(step)
        return {
            "id": f"msg_{next(self.server.numbers):020}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "model"),
            "content": blocks,
            "stop_reason": step.get("stop")
            or ("tool_use" if any(b["type"] == "tool_use" for b in blocks) else "end_turn"),
            "stop_sequence": None,
            "usage": self._usage(step),
        }

    def _event(self, kind: str, **more: Any) -> None:
        data = f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _stream(self, step: Step, body: Step) -> None:
        self.send_response(200)
        for name, content in {"content-type": "text/event-stream", **step.get("headers", {})}.items():
            self.send_header(name, content)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        message = self._message(step, body)
        blocks, reason = message["content"], message["stop_reason"]
        self._event("message_start", message={**message, "content": [], "stop_reason": None})
        for index, block in enumerate(blocks):
            if block["type"] == "text":
                self._event("content_block_start", index=index, content_block={"type": "text", "text": ""})
                for part in block["text"].split(" "):
                    self._event("content_block_delta", index=index, delta={"type": "text_delta", "text": part + " "})
                    time.sleep(step.get("pause", 0))
            else:
                self._event("content_block_start", index=index, content_block={**block, "input": {}})
                given = json.dumps(block["input"])
                self._event(
                    "content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": given}
                )
            self._event("content_block_stop", index=index)
        self._event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=self._usage(step))
        self._event("message_stop")
        self.wfile.write(b"0\r\n\r\n")


def main() -> None:
    server = Server(json.loads(Path(sys.argv[1]).read_text()))
    print(f"ANTHROPIC_BASE_URL={server.url}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
