"""A new sandbox's files, used as they are, and its network: it reaches its proxies, and nothing else."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from contextlib import closing, suppress
from pathlib import Path
from typing import Iterator

import pytest
from boxed import manifest, need_bwrap, start
from machine_room import PROGRAMS
from proxied import NGINX, TINYPROXY, Service, editor, need_proxies, service
from queued import Desk
from stallkit_operator.sandbox.sandboxes import Sandboxes
from stallkit_sessions.manifest import read_manifest
from stallkit_sessions.model import ExitRecord
from started import House
from terminals import Server, wait_for

from stallkit.config import sandboxes_file, stuck_dir
from stallkit.errors import ConfigError

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
            edited = desk("sandbox", verb, "edit", "web")
            assert edited.returncode == 0, edited
        sees("200 200")
    again = desk("sandbox", "init", "web", "--directory", str(work), "--", "sh")
    assert again.returncode == 64 and "exists already" in again.stderr
    other = desk("sandbox", "init", "db", "--directory", str(work), "--", "sh")
    assert other.returncode == 0 and "[db.egress]" in (tmp_path / "config/stallkit/proxies.toml").read_text()
    wrong = desk("sandbox", "init", "../x", "--", "sh")
    assert wrong.returncode == 1 and len(wrong.stderr.splitlines()) == 1, wrong


LOOKS = """
exec >/run/stallkit/seen 2>&1
curl -sS "$HTTPS_PROXY/egress" || echo none; echo
curl -sS "$STALLKIT_CREDENTIAL_PROXY/credential" || echo none; echo
curl -sS -m 5 --noproxy '*' "http://127.0.0.1:OTHER/" || echo closed
grep -c : /proc/net/dev
echo done; exec >/dev/null 2>&1
while :; do sleep 1; done
"""


@pytest.fixture
def sandboxes(house: House, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandboxes]:
    need_bwrap(monkeypatch)
    with closing(Sandboxes(sandboxes_file())) as found:
        yield found


@pytest.fixture
def behind() -> Iterator[Service]:
    with service() as made:
        yield made


def looked(sandboxes: Sandboxes, house: House, behind: Service, *lines: str) -> tuple[list[str], list[str]]:
    """What a sandbox sees, and what a person is told at its start."""
    told: list[str] = []
    proxies = ("[proxies]", *(f'{one} = "http://localhost:{behind.port}/{one}"' for one in ("egress", "credential")))
    with service() as other:
        script = LOOKS.replace("OTHER", str(other.port))
        text = manifest(house.work, *lines, *proxies, command=["sh", "-c", script])
        _, session = start(sandboxes, house, text.replace(f"{behind.port}/egress", str(behind.port)), tell=told.append)
        seen = stuck_dir() / "web" / "seen"
        wait_for(lambda: seen.exists() and "done" in seen.read_text(), f"what it sees, {session}")
    return seen.read_text().splitlines()[:-1], told


def test_it_reaches_its_proxies_and_nothing_else(sandboxes: Sandboxes, house: House, behind: Service) -> None:
    seen, told = looked(sandboxes, house, behind)
    assert seen[:2] == ["/egress", "/credential/credential"] and not told, seen
    assert "closed" in seen and seen[-1] == "1", "an interface, its loopback"
    assert len(children("forwarder.py", f"{behind.port}=localhost")) == 1
    house.tmux("kill-session", "-t", "=web:")
    assert isinstance(house.end_of("web"), ExitRecord)
    wait_for(lambda: not children("forwarder.py", f"{behind.port}=localhost"), "the forwarder to end with it")


def test_another_network_is_told(sandboxes: Sandboxes, house: House, behind: Service) -> None:
    seen, told = looked(sandboxes, house, behind, 'network = "none"')
    assert seen.count("none") == 2 and told == ["web: its network is none: it reaches none of its proxies"], seen
    house.tmux("kill-session", "-t", "=web:")
    assert isinstance(house.end_of("web"), ExitRecord)
    (stuck_dir() / "web" / "seen").unlink()
    seen, told = looked(sandboxes, house, behind, 'network = "host"')
    assert seen[0].endswith("/egress") and "closed" not in seen and "can bypass its proxies" in told[0], (seen, told)


def test_a_network_of_proxies_needs_some() -> None:
    start = 'name = "web"\nengine = "bwrap"\ncommand = ["sh"]\ndirectory = "/srv/web"\n'
    for lines, says in (
        ('network = "proxies"', "there are no proxies to reach"),
        ('[proxies]\negress = "https://p.example:443"', "https proxy"),
        ('network = "bridge"', "none, host and proxies"),
    ):
        with pytest.raises(ConfigError, match=says):
            read_manifest(start + lines, "web.toml")


def children(name: str, way: str) -> list[int]:
    """The processes that run a file of that name with that first word."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"/{name}\0{way}".encode() in (place / "cmdline").read_bytes():
                found.append(int(place.name))
    return found
