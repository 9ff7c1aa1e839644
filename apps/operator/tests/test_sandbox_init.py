"""The files of a new sandbox, used as they are: real nginx, tinyproxy and bubblewrap, and an agent that asks them."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Iterator

import pytest
from boxed import need_bwrap
from machine_room import PROGRAMS
from proxied import NGINX, TINYPROXY, editor, need_proxies, service
from queued import Desk
from terminals import Server, wait_for

pytestmark = pytest.mark.e2e

AGENT = """
while :; do
    curl -s -o /dev/null -w '%{http_code} ' "$STALLKIT_CREDENTIAL_PROXY/npm/"
    curl -s -o /dev/null -w '%{http_code}\\n' --noproxy "" --proxy "$HTTP_PROXY" "http://localhost:SERVICE/"
    sleep 0.3
done >/run/stallkit/seen
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    need_proxies()
    need_bwrap(monkeypatch)
    server = Server(tmp_path)
    made = Desk(tmp_path, server)
    made.environment["PATH"] = f"{PROGRAMS}:{NGINX.parent}:{TINYPROXY.parent}:{os.environ['PATH']}"
    yield made
    for pid in (tmp_path / "config").rglob("*.pid"):
        with suppress(OSError, ValueError):
            os.kill(int(pid.read_text()), signal.SIGTERM)
    made.end()
    server.end()


def test_the_files_of_a_new_sandbox_are_all_it_needs(desk: Desk, tmp_path: Path) -> None:
    work, folder = tmp_path / "work", tmp_path / "config" / "stallkit" / "sandboxes" / "web"
    work.mkdir()
    with service() as behind:
        agent = tmp_path / "agent"
        agent.write_text("#!/bin/sh\n" + AGENT.replace("SERVICE", str(behind.port)))
        agent.chmod(0o755)
        made = desk("sandbox", "init", "web", "--directory", str(work), "--", str(agent))
        assert made.returncode == 0, made
        lines = made.stdout.splitlines()
        assert [line.partition("wrote ")[2] != "" for line in lines] == [True] * 5 + [False] * 6
        assert {Path(line.removeprefix("wrote ")).name for line in lines[:5]} == {
            *("web.toml", "proxies.toml", "nginx.conf", "credentials.conf", "tinyproxy.conf")
        }
        assert all(path.stat().st_mode & 0o077 == 0 for path in folder.rglob("*"))
        for line in lines[5:7]:
            subprocess.run(shlex.split(line), env=desk.environment, check=True, timeout=30)
        where = ("-S", str(desk.server.socket)) if desk.server else ()
        started = desk(*shlex.split(lines[7])[1:], *where)
        assert started.returncode == 0, started
        seen = tmp_path / "state" / "stuck" / "web" / "seen"

        def sees(codes: str) -> None:
            wait_for(lambda: seen.exists() and codes in seen.read_text().splitlines()[-2:], f"{codes}, {seen}")

        sees("404 403")
        route = {"path": "/npm/", "upstream": f"http://127.0.0.1:{behind.port}/"}
        for verb, text in (("routes", json.dumps({"routes": [route]})), ("egress", "localhost\n")):
            desk.environment["EDITOR"] = editor(tmp_path, text)
            edited = desk(verb, "edit", "web")
            assert edited.returncode == 0, edited
        sees("200 200")
    again = desk("sandbox", "init", "web", "--directory", str(work), "--", "sh")
    assert again.returncode == 64 and "is there already" in again.stderr
    other = desk("sandbox", "init", "db", "--directory", str(work), "--", "sh")
    assert other.returncode == 0 and "[db.egress]" in (tmp_path / "config/stallkit/proxies.toml").read_text()
    wrong = desk("sandbox", "init", "../x", "--", "sh")
    assert wrong.returncode == 1 and len(wrong.stderr.splitlines()) == 1, wrong
