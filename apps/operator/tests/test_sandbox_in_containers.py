"""Sandboxes from manifests in real docker and podman: what is in them, that they are sealed, and their rebuild."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Iterator

import pytest
from composed import ENGINE
from machine_room import IMAGE, Room
from rebuilt import Site, site_in
from stallkit_operator.sandbox.rebuild import Runner
from stallkit_operator.sandbox.rebuild_plan import Outcome
from started import House
from terminals import wait_for

from stallkit.config import stuck_dir
from stallkit.press.gate import End, Forced, press
from stallkit.sessions.explain import hints
from stallkit.sessions.model import ExitRecord, Session
from stallkit.terminal.keys import Keys
from stallkit.transports.base import Options, Presence
from stallkit.transports.containers.runtimes import runtime_of
from stallkit.transports.targets import open_target

WAITS = "echo ready; while :; do sleep 1; done"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: Room) -> Iterator[House]:
    made = House(tmp_path, monkeypatch)
    for name, value in room.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    yield made
    made.end()


@pytest.fixture
def site(house: House) -> Iterator[Site]:
    with closing(site_in(house)) as made:
        yield made


def text(site: Site, room: Room, script: str, *lines: str, **more: object) -> str:
    return site.text(*lines, command=["sh", "-c", script], engine=room.name, image=IMAGE, **more)


def gone(session: Session) -> bool:
    engine = runtime_of(session)
    assert engine is not None and session.container is not None
    return engine.facts(session.container).place is Presence.GONE


def test_it_has_what_the_manifest_names_and_takes_no_key(site: Site, house: House, room: Room) -> None:
    data = house.folder / "some data"
    data.mkdir()
    (data / "it").write_text("some data")
    look = (
        "(cat /data/it; echo; touch /data/x || echo read-only; touch /opt/stallkit/x || echo given; pwd;"
        " ls /run/stallkit;"
        f" echo $HTTPS_PROXY; grep CapEff /proc/self/status; echo mine >made) >/run/stallkit/seen 2>&1; {WAITS}"
    )
    mounts = ("[[mounts]]", f'source = "{data}"', 'target = "/data"', "[proxies]", 'egress = "http://127.0.0.1:8888"')
    session = site.start(text(site, room, look, *mounts, capabilities=["NET_BIND_SERVICE"]))
    seen = stuck_dir() / "web" / "seen"
    wait_for(lambda: seen.exists() and "CapEff" in seen.read_text(), "what it sees")
    found = seen.read_text().splitlines()
    assert "CapEff:\t0000000000000402" in found, "DAC_OVERRIDE, and what its manifest adds"
    for said in ("some data", "read-only", "given", str(site.work), "stuck", "stuck.py", "http://127.0.0.1:8888"):
        assert said in found, found
    transport = open_target("tmux:web", Options(tmux_socket_path=str(house.socket)))
    assert press(transport, Forced(Keys.parse("y")), transport.capture(), ENGINE).end is End.REFUSED
    house.tmux("kill-session", "-t", "=web:")
    record = house.end_of("web")
    words = [command for command, _ in hints(record)]
    assert not any("attach" in line or "exec" in line for line in words), words
    assert isinstance(record, ExitRecord) and house.call("stop", "web", "--grace", "0").returncode == 0
    assert gone(session)


def test_it_is_rebuilt_with_its_work(site: Site, house: House, room: Room) -> None:
    old = site.start(text(site, room, WAITS))
    written, item = site.scribble(), site.ask()
    look = f"cat /opt/stallkit/hand-off.md >/run/stallkit/seen; {WAITS}"
    id = site.approve(text(site, room, look), item)
    done = Runner(site.sandboxes, site.queue).rebuild("web")
    assert done.outcome is Outcome.REPLACED, done
    assert gone(old) and not site.lost(written) and not site.unpushed(written, f"refs/stallkit/web/{id}")
    seen = stuck_dir() / "web" / "seen"
    wait_for(lambda: seen.exists() and "it may use the mirror now" in seen.read_text(), "the hand-off")
    assert house.call("stop", "web", "--grace", "0").returncode == 0


def test_an_image_that_does_not_exist_leads_back(site: Site, house: House, room: Room) -> None:
    site.start(text(site, room, WAITS))
    written = site.scribble()
    site.approve(text(site, room, WAITS).replace(IMAGE, "localhost/none:1"))
    done = Runner(site.sandboxes, site.queue).rebuild("web")
    running = site.running()
    assert done.outcome is Outcome.AS_IT_WAS and "its container was not started" in done.why, done
    assert running is not None and running.image == IMAGE and not site.lost(written)
    assert [one.version for one in site.sandboxes.history("web")] == [1]
    assert house.call("stop", "web", "--grace", "0").returncode == 0
