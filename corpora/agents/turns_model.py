"""A scripted model on loopback whose next answer is set from outside, in any of the three protocols.

`reply` is what it answers to the main loop's requests, until it is set anew: a text, or a failure of `turns.toml`.
A request that offers few tools, which agents send for titles and the like, gets a title.
"""

from __future__ import annotations

import io
import json
import sys
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import anthropic  # the modules beside this file
import gemini
import openai

TITLE = "Retry helper"
FEW = 3  # tools: a request with fewer is not the main loop's
STATUS = {  # Gemini's names
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    402: "FAILED_PRECONDITION",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}
REFUSED = {"anthropic": "refusal", "openai": "content_filter", "gemini": "SAFETY"}  # the reasons why an answer ends


class Model:
    """One server; `answered` counts the answers it gave to the main loop."""

    few = FEW

    def __init__(self, protocol: str) -> None:
        self.protocol, self.reply, self.answered, self.closed = protocol, {"text": "Done."}, 0, False
        self.heard: list[str] = []
        handlers = {"anthropic": anthropic.Handler, "openai": openai.Server, "gemini": gemini.Server}
        model = self

        class Heard(handlers[protocol]):  # type: ignore[misc]  # the class is chosen at run time
            answers = staticmethod(model._steps)

            def do_POST(self) -> None:
                if model.closed:  # over a connection that was open before
                    self.close_connection = True
                    return
                asked = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.rfile = io.BytesIO(asked)
                model.heard.append(f"{self.path} {len(asked)}")
                model._hear(json.loads(asked or b"{}"))
                super().do_POST()
                model._answered(json.loads(asked or b"{}"))

        self._handler = Heard
        self.port = 0
        self.open()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def open(self) -> None:
        self.closed = False
        if self.protocol == "anthropic":
            made: ThreadingHTTPServer = anthropic.Server(port=self.port)
            made.RequestHandlerClass = self._handler
        else:
            made = ThreadingHTTPServer(("127.0.0.1", self.port), self._handler)
        made.daemon_threads = True
        made.handle_error = lambda request, client: None  # type: ignore[method-assign]  # a client that hung up
        self._server, self.port = made, made.server_address[1]
        threading.Thread(target=made.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Refuses connections, until `open`."""
        self.closed = True
        self._server.shutdown()
        self._server.server_close()

    def main_loop(self, asked: dict[str, Any]) -> bool:
        """Whether a request is for the answer that the person sees."""
        return main_loop(asked, self.few)

    def _hear(self, asked: dict[str, Any]) -> None:
        if isinstance(self._server, anthropic.Server):
            failed = "status" in self.reply or not self.main_loop(asked)
            self._server.script = [self._anthropic() if failed or not suggests(asked) else {"text": TITLE}]
            self._server.aside = {"text": TITLE}

    def _answered(self, asked: dict[str, Any]) -> None:
        self.answered += self.main_loop(asked) and not suggests(asked)

    def _anthropic(self) -> dict[str, Any]:
        if "status" not in self.reply:
            return {**self.reply, **({"stop": REFUSED["anthropic"]} if self.reply.get("refused") else {})}
        headers = self.reply.get("headers", {})
        return {"status": self.reply["status"], "headers": headers, **told(self.reply, "anthropic")}

    def _steps(self, said: str, results: int, tools: list[dict[str, Any]], asked: str) -> Iterator[Any]:
        """The answer in the steps of `answers.py`."""
        if "status" in self.reply:
            code, error = self.reply["status"], told(self.reply, self.protocol)
            form = {"type": error["error"], "code": error.get("code"), "param": None, "message": error["message"]}
            if self.protocol == "gemini":
                form = {"code": code, "status": STATUS[code], "message": error["message"]}
            yield {"status": code, "body": {"error": form}}
        elif len(tools) < self.few:
            yield TITLE
        else:
            text = self.reply.get("text", "")
            yield from (text[at : at + 40] for at in range(0, len(text), 40))
            if self.reply.get("refused"):
                yield {"end": REFUSED[self.protocol]}


def told(failure: dict[str, Any], protocol: str) -> dict[str, Any]:
    """The error and message of a failure in a protocol, or those that it has for all."""
    return {
        "error": failure.get("error", "api_error"),
        "message": failure.get("message", ""),
        **failure.get(protocol, {}),
    }


def main_loop(asked: dict[str, Any], few: int = FEW) -> bool:
    """Whether a request is for the answer that the person sees: it offers tools."""
    tools = asked.get("tools") or []
    return sum(len(tool.get("functionDeclarations", [0])) for tool in tools) >= few


def suggests(asked: dict[str, Any]) -> bool:
    """Whether an agent asks in its user's name what the user might say next."""
    return "[SUGGESTION MODE" in json.dumps((asked.get("messages") or [])[-1:])
