"""A program that draws an agent's spinner, and the model's server that it waits for: silent, or with signs of life."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

# It asks its model, and draws a spinner; `does` is what it does beside that.
AGENT = """
import itertools, os, socket, subprocess, sys, threading, time
model = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
model.sendall(b"a question")
threading.Thread(target=lambda: [None for _ in iter(lambda: model.recv(100), b"")], daemon=True).start()
{does}
rule = "─" * 40
print(f"\\x1b[2J\\x1b[H> go on\\r\\n\\r\\n\\r\\n\\r\\n{{rule}}\\r\\n❯ \\r\\n{{rule}}\\x1b[3H", end="", flush=True)
for number, glyph in enumerate(itertools.cycle("✢✳✶✻✽")):
    print(f"\\r{{glyph}} Herding… (200s · ↓ 163 tokens)", end="", flush=True)
    time.sleep(0.1)
"""


class Model:
    """A server on loopback that takes requests, and sends a sign of life again and again, or nothing."""

    def __init__(self, each_s: float | None = None) -> None:
        self._server, self._over, self._each_s = socket.create_server(("127.0.0.1", 0)), threading.Event(), each_s
        self.port = str(self._server.getsockname()[1])
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with self._server, self._server.accept()[0] as client, suppress(OSError):  # the agent may end first
            client.recv(100)
            while not self._over.wait(self._each_s):
                client.sendall(b": ping\n\n")

    def close(self) -> None:
        self._over.set()
        self._thread.join()
