"""The sample of the server's rights, as it stands: what a host may do, and every verb tried with another host's."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, Callable

import nats.errors
import pytest
from fleets import SAMPLE, Bus, FleetHost
from nats.aio.client import Client
from nats.js import JetStreamContext
from stallkit_fleet import bus as buses
from stallkit_fleet import view
from stallkit_fleet.messages import ALIVE, EVENTS, POLICY, STATE, FleetEvent
from stallkit_fleet.settings import FleetSettings
from terminals import wait_for

pytestmark = pytest.mark.e2e

Hosts = Callable[..., FleetHost]
SOON_S = 0.5  # for a server on this machine to refuse or to deliver


def hosted(hosts: Hosts, bus: Bus, name: str) -> FleetHost:
    made = hosts(name, bus)
    logins = "--credentials", made.credentials(name), "--operator-credentials", made.credentials("ada")
    done = made.join(*logins, "--operator", "ada", "--answers", "ada")
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture
def ready(guarded: Bus, host: Hosts) -> Bus:
    admin = host("admin", guarded)
    done = admin("fleet", "create", guarded.url, "--credentials", admin.credentials("admin"))
    assert done.returncode == 0, done.stderr
    return guarded


def test_three_hosts_with_the_sample_rights(ready: Bus, host: Hosts) -> None:
    a, c = hosted(host, ready, "a"), hosted(host, ready, "c")
    c.asks()
    c.watch("--all")
    wait_for(lambda: a.item("c"), "the prompt")
    item = a.item("c")
    assert item is not None
    done = a("fleet", "reply", f"c/{item.id}@{item.revision}", "n")
    assert done.returncode == 0, (done.stdout, done.stderr)
    wait_for(lambda: "went on with n" in c.screen(), "the key")
    assert a.fleet("report")["sessions"] and a.fleet("policy", "list")["versions"] == []
    bob = a("fleet", "list", "--config", str(other_person(a)))
    assert bob.returncode == 0 and "c " in bob.stdout, bob.stderr
    assert "bob may not answer there" in a("fleet", "doctor", "--config", str(other_person(a))).stdout
    refused = "permissions violation" in c.said().casefold()
    assert not refused, c.said()


def other_person(host: FleetHost) -> Path:
    file = host.folder / "bob.toml"
    login = host.credentials("bob")
    file.write_text(
        f'[fleet]\nurl = "{host.bus and host.bus.url}"\nhost = "a"\noperator = "bob"\ncredentials = "{login}"\n'
    )
    return file


Verb = Callable[[Client, JetStreamContext], Any]


def hostile_verbs() -> dict[str, Verb]:
    """What a host that was taken over might try against host c, by name."""
    event = FleetEvent("c", "e", 1, {"event": "done", "target": "tmux:web", "time": "t"})
    row = json.dumps({"version": 1, "run": 1, "session": {"target": "tmux:web", "state": "idle"}}).encode()
    asks = b'{"version": 1, "do": "offer"}'
    api = "$JS.API"

    async def deliver_to_me(client: Client, js: JetStreamContext) -> Any:
        config = {"deliver_subject": "_INBOX.host.a.x", "deliver_policy": "all", "ack_policy": "none"}
        body = json.dumps({"stream_name": EVENTS, "config": config}).encode()
        return await client.request(f"{api}.CONSUMER.CREATE.{EVENTS}", body, timeout=SOON_S)

    return {
        "speak for it": lambda client, js: js.publish("stallkit.event.c", event.body, headers=event.headers),
        "write its row": lambda client, js: buses.bucket(js, STATE).put("c.session.x", row),
        "write its heartbeat": lambda client, js: buses.bucket(js, ALIVE).put("c", row),
        "take its row away": lambda client, js: buses.bucket(js, STATE).delete("c.host"),
        "answer it": lambda client, js: client.request("stallkit.ask.c.ada", asks, timeout=SOON_S),
        "answer it as itself": lambda client, js: client.request("stallkit.ask.c.a", asks, timeout=SOON_S),
        "read its row": lambda client, js: buses.bucket(js, STATE).get("c.host"),
        "list all rows": lambda client, js: view.read(js),
        "read all events": lambda client, js: js.get_msg(EVENTS, 1),
        "have events delivered": deliver_to_me,
        "look at a stream": lambda client, js: js.stream_info(EVENTS),
        "delete a stream": lambda client, js: js.delete_stream(EVENTS),
        "empty a stream": lambda client, js: js.purge_stream(EVENTS),
        "hand out a policy": lambda client, js: buses.bucket(js, POLICY).put("policy", b"{}"),
        "say another version": lambda client, js: buses.bucket(js, POLICY).put("about", b"none"),
    }


def test_a_host_does_nothing_for_another(ready: Bus, host: Hosts) -> None:
    c = hosted(host, ready, "c")
    before = ready.call(lambda client: view.read(client.jetstream()))
    done: list[str] = []

    async def tried(verb: Verb, name: str) -> None:
        async with buses.connected(FleetSettings(ready.url, "a"), c.credentials("a"), "host.a") as client:
            try:
                await asyncio.wait_for(verb(client, client.jetstream(timeout=SOON_S)), 4 * SOON_S)
            except (*buses.FAILURES, buses.BusError):
                return
        done.append(name)

    for name, verb in hostile_verbs().items():
        asyncio.run(tried(verb, name))
    assert not done
    after = ready.call(lambda client: view.read(client.jetstream()))
    assert after.hosts()["c"].facts == before.hosts()["c"].facts and after.sessions() == before.sessions()


def test_a_host_hears_nothing_that_is_for_another(ready: Bus, host: Hosts) -> None:
    c = hosted(host, ready, "c")
    heard: list[str] = []

    async def listened() -> None:
        async def note(message: Any) -> None:
            heard.append(message.subject)

        fleet = FleetSettings(ready.url, "a")
        async with buses.connected(fleet, c.credentials("a"), "host.a") as client:
            for subject in (">", "stallkit.ask.c.*", "stallkit.ask.>", "_INBOX.>", "_INBOX.operator.ada.>", "$KV.>"):
                await client.subscribe(subject, cb=note)
            await client.subscribe("stallkit.ask.a.*", cb=note)
            await client.flush()
            await asyncio.to_thread(spoken)
            await asyncio.wait_for(until(lambda: "stallkit.ask.a.ada" in heard), 10)

    async def until(condition: Callable[[], bool]) -> None:
        while not condition():
            await asyncio.sleep(0.05)

    def spoken() -> None:
        async def ask(client: Client) -> None:
            for name in ("c", "a"):
                with pytest.raises(nats.errors.Error):
                    await client.request(f"stallkit.ask.{name}.ada", b"{}", timeout=SOON_S)

        ready.call(ask)

    asyncio.run(listened())
    assert set(heard) == {"stallkit.ask.a.ada"}


def test_the_sample_says_what_it_is_tested_with() -> None:
    text = SAMPLE.read_text()
    assert text.count("$2b$") == 6 and "password:" in text and "tls {" in text
