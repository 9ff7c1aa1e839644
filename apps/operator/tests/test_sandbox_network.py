"""A sandbox with proxies reaches them, and nothing else: real bubblewrap, with a service in place of a proxy."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path
from typing import Iterator

import pytest
from boxed import manifest, need_bwrap, start
from proxied import Service, service
from stallkit_operator.sandbox.sandboxes import Sandboxes
from started import House
from terminals import wait_for

from stallkit.config import sandboxes_file, stuck_dir
from stallkit.errors import ConfigError
from stallkit.sessions.manifest import read_manifest
from stallkit.sessions.model import ExitRecord

pytestmark = pytest.mark.e2e

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
    assert seen[0].endswith("/egress") and "closed" not in seen and "may pass them by" in told[0], (seen, told)


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
