"""Real proxies for tests: nginx as a credential proxy, tinyproxy as an egress proxy, and the service behind both."""

from __future__ import annotations

import getpass
import os
import signal
import socket
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Iterator

import pytest
from attrs import define, field
from terminals import wait_for

PROGRAMS = Path(__file__).parents[1] / ".cache" / "proxies"
NGINX, TINYPROXY = PROGRAMS / "usr/sbin/nginx", PROGRAMS / "usr/bin/tinyproxy"
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3

_NGINX_CONF = """
daemon off;
{user}
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log notice;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    map "" $credential_github {{ default "{secret}"; }}
    server {{
        listen 127.0.0.1:{port};
        include {folder}/routes.conf;
    }}
}}
"""
_USER = f"user {getpass.getuser()};" if os.geteuid() == 0 else ""  # who may use the sandbox's socket
_TINYPROXY_CONF = """
Port {port}
Listen 127.0.0.1
PidFile "{folder}/tinyproxy.pid"
LogFile "{folder}/tinyproxy.log"
MaxClients 200
Filter "{folder}/filter"
FilterDefaultDeny Yes
"""


def need_proxies() -> None:
    for program in (NGINX, TINYPROXY):
        if not program.exists():
            pytest.skip(f"no {program.name} in .cache/proxies: run scripts/test on Debian 12")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@define
class Service:
    """What is behind a proxy; `seen` has the path and the Authorization of each request."""

    server: ThreadingHTTPServer
    seen: list[tuple[str, str | None]] = field(factory=list)
    released: threading.Event = field(factory=threading.Event)
    wanted: str | None = None  # the only Authorization that it takes

    @contextmanager
    def held(self) -> Iterator[None]:
        """No answer to ``GET /held`` before this ends."""
        self.released.clear()
        try:
            yield
        finally:
            self.released.set()

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])


@contextmanager
def service() -> Iterator[Service]:
    """Answers ``GET`` with the path, /slow after 0.5 s, /held once it is released, /broken with 500."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            made.seen.append((self.path, self.headers.get("Authorization")))
            if self.path.endswith("/slow"):
                time.sleep(0.5)
            if self.path.endswith("/held"):
                made.released.wait()
            body = self.path.encode()
            expired = made.wanted not in (None, self.headers.get("Authorization"))
            self.send_response(401 if expired else 500 if self.path.endswith("/broken") else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 1_024

    made = Service(Server(("127.0.0.1", 0), Handler))
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        made.server.server_close()
        thread.join()


class _Proxy:
    def __init__(self, folder: Path, words: list[str], port: int) -> None:
        self.folder, self.port, self._words = folder, port, words
        self.url = f"http://127.0.0.1:{port}"
        self.start()

    def start(self) -> None:
        with (self.folder / "out").open("ab") as log:
            self.process = subprocess.Popen(self._words, stdout=log, stderr=log, start_new_session=True)
        wait_for(self.listens, f"{self._words[0]} to listen")

    def listens(self) -> bool:
        assert self.process.poll() is None, (self.folder / "out").read_text()
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def end(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Nginx(_Proxy):
    """A credential proxy in a folder; `notify` is the socket that notices go to."""

    def __init__(self, folder: Path, notify: Path) -> None:
        folder.mkdir()
        port = free_port()
        self.config = folder / "nginx.conf"
        self.config.write_text(_NGINX_CONF.format(folder=folder, port=port, secret=SECRET, user=_USER))
        (folder / "routes.conf").write_text("# empty\n")
        super().__init__(folder, [str(NGINX), "-e", "stderr", "-c", str(self.config)], port)
        self.toml = (
            f'[web.routes]\npreset = "nginx"\nprogram = "{NGINX}"\nfile = "{folder}/routes.json"\nurl = "{self.url}"\n'
            f'rendered = "{folder}/routes.conf"\nconfig = "{self.config}"\npid = "{folder}/nginx.pid"\n'
            f'notify = "{notify}"\n'
        )


class Tinyproxy(_Proxy):
    """An egress proxy in a folder; hosts are probed at the port of a service."""

    def __init__(self, folder: Path, probed: int) -> None:
        folder.mkdir()
        port = free_port()
        self.config = folder / "tinyproxy.conf"
        self.config.write_text(_TINYPROXY_CONF.format(folder=folder, port=port))
        (folder / "filter").write_text("")
        super().__init__(folder, [str(TINYPROXY), "-d", "-c", str(self.config)], port)
        self.toml = (
            f'[web.egress]\npreset = "tinyproxy"\nfile = "{folder}/hosts"\nrendered = "{folder}/filter"\n'
            f'config = "{self.config}"\npid = "{folder}/tinyproxy.pid"\nurl = "{self.url}"\n'
            f'probe = "http://{{host}}:{probed}/"\n'
        )
        pid = f"{folder}/tinyproxy.pid"  # it takes that away at its end
        again = f"kill $(cat {pid}) && while [ -e {pid} ]; do sleep 0.02; done && exec {TINYPROXY} -c {self.config}"
        self.restart = f'restart = ["sh", "-c", "{again}"]\n'  # for `toml`

    @property
    def pid(self) -> int:
        return int((self.folder / "tinyproxy.pid").read_text())

    def end(self) -> None:
        """End it, and one that was started in its place."""
        with suppress(OSError, ValueError):
            os.kill(self.pid, signal.SIGKILL)
        super().end()


def write_proxies(config_home: Path, *tables: str) -> Path:
    """The file that says where they are."""
    path = config_home / "stallkit" / "proxies.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(tables))
    path.chmod(0o600)
    return path


def editor(folder: Path, text: str) -> str:
    """An $EDITOR that leaves this text in the file."""
    (folder / "wanted").write_text(text)
    program = folder / "editor"
    program.write_text(f'#!/bin/sh\ncat "{folder}/wanted" > "$1"\n')
    program.chmod(0o755)
    return str(program)
