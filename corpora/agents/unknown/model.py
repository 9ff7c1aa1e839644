"""A scripted model on loopback that speaks OpenAI's protocols, for one agent.

The last message of the user decides.  ``play NAME`` in it gets the agent's own reply of that name, since each agent
names its tools as it likes; everything else is answered as `answers.py` does.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from http.server import ThreadingHTTPServer
from typing import Any

import openai
from answers import script

FULL = "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens."


class Model:
    """One server; `replies` are a text each, or a table of `text` and `tool` with `arguments`.

    The one named ``after`` follows each tool.  `once`: each is given once for each time the user asked for it.
    `added` is how a message begins that the agent adds as one of the user's.
    """

    def __init__(self, replies: Mapping[str, Any], once: bool, added: str = "(?!)") -> None:
        self._replies, self._once, self._given = replies, once, dict[str, int]()
        model, told = self, added

        class Played(openai.Server):
            answers = staticmethod(model._steps)
            added = re.compile(told)

        self._handler, self._port = Played, 0
        self.open()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def open(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), self._handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda request, client: None  # type: ignore[method-assign]  # a client hung up
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Refuses connections, until `open`."""
        self._server.shutdown()
        self._server.server_close()

    def _steps(self, said: str, results: int, tools: list[dict[str, Any]], asked: str) -> Iterator[Any]:
        named = re.findall(r"\bplay (\w+)", said)
        if self._once and named:  # what a tool said comes back as a message like the user's, or in a form of its own
            times = len(re.findall(rf"\bplay {named[-1]}\b", asked))
            results = times <= self._given.get(named[-1], 0)
            self._given[named[-1]] = times
        if named and named[-1] == "full":
            error = {"type": "invalid_request_error", "code": "context_length_exceeded", "message": FULL}
            yield {"status": 400, "body": {"error": error}}
            return
        name = "after" if results else named[-1] if named else ""
        if name in self._replies:
            reply = self._replies[name]
            reply = {"text": reply} if isinstance(reply, str) else reply
            yield reply.get("text", "I'll do that now.\n")
            if "tool" in reply:
                yield reply["tool"], reply.get("arguments", {})
        else:
            yield from script(said, results, tools, asked)
