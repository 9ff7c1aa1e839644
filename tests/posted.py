"""Where webhooks post to in tests: a real HTTP server on loopback."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Site:
    """An HTTP server on loopback, which keeps what it was sent and answers as it is told."""

    def __init__(self) -> None:
        site = self
        self.status, self.headers, self.hold = 200, dict[str, str](), threading.Event()
        self.hold.set()
        self.got: list[tuple[str, str, bytes]] = []
        self.all_headers: list[dict[str, str]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                site.got.append((f"{self.command} {self.path}", self.headers["Content-Type"], body))
                site.all_headers.append(dict(self.headers.items()))
                site.hold.wait()
                self.send_response(site.status)
                for name, value in site.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def end(self) -> None:
        self.hold.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
