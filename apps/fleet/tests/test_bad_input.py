"""What can be wrong between a host and its bus: one line each, nothing written, and local work goes on."""

from __future__ import annotations

import base64
import json
import os
import re
import socket
import subprocess
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Callable, Iterator

import nkeys
import pytest
from fleets import Bus, FleetHost, free_port
from nats.aio.client import Client
from stallkit_fleet import bus as buses
from stallkit_fleet.messages import POLICY
from stallkit_fleet.signing import new_key
from terminals import wait_for

pytestmark = pytest.mark.e2e

Hosts = Callable[..., FleetHost]


def refused(host: FleetHost, url: str, why: str, *words: str, code: int = 1) -> str:
    """Joining fails in one line that says why, and nothing is written."""
    done = host("fleet", "join", url, "--host", "a", *words)
    assert (done.returncode, done.stdout) == (code, ""), (done.stdout, done.stderr)
    last = done.stderr.splitlines()[-1]
    assert why in last and (code == 64 or len(done.stderr.splitlines()) == 1), done.stderr
    assert not (host.folder / "config" / "stallkit" / "stallkit.toml").exists()
    return last


def test_urls_and_names_that_are_none(host: Hosts) -> None:
    a = host("a")
    for url in ("bus:4222", "http://bus:4222", "nats://me:hunter2@bus"):
        assert "hunter2" not in refused(a, url, "url ", code=64)
    for name in ("a.b", "*", ">", "a b"):
        done = a("fleet", "join", "nats://bus", "--host", name)
        assert done.returncode == 64 and "is no name on the bus" in done.stderr
    for words in (["list"], ["doctor"], ["stuck", "list"], ["leave"], ["policy", "list"]):
        done = a("fleet", *words)
        assert done.returncode == 1 and "it names no fleet; stallkit fleet join" in done.stderr, words
    for ref in ("c", "c/0", "c/x", "/3", "c/3@0", "c.d/3"):
        done = a("fleet", "approve", ref)
        assert done.returncode == 64 and "write HOST/3" in done.stderr, ref


def test_nobody_there_somebody_else_there_and_silence(host: Hosts) -> None:
    a = host("a")
    refused(a, f"nats://127.0.0.1:{free_port()}", "nothing listens there; start nats-server")
    refused(a, "nats://nowhere.invalid:4222", "")
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        refused(a, f"nats://127.0.0.1:{server.server_port}", "is it the address of the bus?")
    finally:
        server.shutdown()
        server.server_close()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        refused(a, f"nats://127.0.0.1:{silent.getsockname()[1]}", "no answer in time")


@pytest.mark.parametrize("greeting", [b"INFO [1]\r\n", b"INFO {}x\r\n", b"+OK hello\r\n", b"x" * 200_000])
def test_what_greets_otherwise_is_no_bus_and_does_not_end_a_host(host: Hosts, greeting: bytes) -> None:
    a = host("a")
    config = a.folder / "config" / "stallkit" / "stallkit.toml"
    config.parent.mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as odd:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    one, _ = odd.accept()
                    with one, suppress(OSError):
                        one.sendall(greeting)
                        one.recv(4096)

        threading.Thread(target=serve, daemon=True).start()
        port = odd.getsockname()[1]
        config.write_text(f'[fleet]\nurl = "nats://127.0.0.1:{port}"\nhost = "a"\n')
        done = a("fleet", "list")
        assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and "bug" not in done.stderr, done.stderr
        a.asks()
        a.watch("--all")
        wait_for(lambda: "kept, and sent later" in a.said(), "one line", 40)
        odd.shutdown(socket.SHUT_RDWR)
    wait_for(lambda: "nothing listens there" in a.said(), "another try", 40)
    wait_for(lambda: '"escalation"' in a.said(), "local work")
    assert "Traceback" not in a.said()


def test_a_server_without_jetstream(host: Hosts, tmp_path: Path) -> None:
    plain = Bus(tmp_path / "plain", 'listen: "0.0.0.0:4222"\n')
    try:
        refused(host("a"), plain.url, "start nats-server with -js")
    finally:
        plain.kill()


def test_credentials(guarded: Bus, host: Hosts) -> None:
    a = host("a", guarded)
    refused(a, guarded.url, "the server refuses these credentials")
    refused(a, guarded.url, "the server refuses these credentials", "--credentials", a.credentials("a", "a:wrong"))
    refused(a, guarded.url, "it is no file of credentials", "--credentials", a.credentials("a", "hunter2"))
    refused(a, guarded.url, "No such file", "--credentials", str(a.folder / "none"))
    open_to_all = a.credentials("a")
    Path(open_to_all).chmod(0o644)
    refused(a, guarded.url, "others can read these credentials; chmod 600", "--credentials", open_to_all)
    refused(a, guarded.url, "stallkit's buckets do not exist", "--credentials", a.credentials("a"))


def test_buckets_of_another_version(bus: Bus, host: Hosts) -> None:
    a = host("a", bus)
    assert a.join().returncode == 0
    a("fleet", "leave")
    (a.folder / "config" / "stallkit" / "stallkit.toml").unlink()
    bus.call(lambda client: buses.bucket(client.jetstream(), POLICY).put("about", b"stallkit fleet 9"))
    refused(a, bus.url, "its buckets are of another version: 'stallkit fleet 9'")
    done = a("fleet", "create", bus.url)
    assert done.returncode == 1 and "another version" in done.stderr


def test_a_host_whose_bus_is_wrong_watches_all_the_same(host: Hosts) -> None:
    a = host("a")
    config = a.folder / "config" / "stallkit" / "stallkit.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[fleet]\nurl = "nats://127.0.0.1:{free_port()}"\nhost = "a"\n')
    a.asks()
    a.watch("--all")
    wait_for(lambda: '"escalation"' in a.said(), "local work")
    wait_for(lambda: "nothing listens there" in a.said(), "one line")
    assert a.said().count("kept, and sent later") == 1


def test_the_working_directory_names_no_fleet(bus: Bus, host: Hosts) -> None:
    a = host("a", bus)
    (a.folder / "stallkit.toml").write_text(f'[fleet]\nurl = "{bus.url}"\nhost = "evil"\n')
    done = a("fleet", "list")
    assert done.returncode == 1 and "it names no fleet" in done.stderr
    assert a("config", "allow", ".", "--yes").returncode == 0
    done = a("fleet", "list")
    assert (
        done.returncode == 1
        and "fleet.url is ignored" in done.stderr
        and "only your own file decides that" in done.stderr
    )


def test_a_long_event_and_a_clock_that_is_off(bus: Bus, host: Hosts) -> None:
    a = host("a", bus)
    assert a.join("--operator", "ada", "--answers", "ada").returncode == 0
    a.asks()
    a.watch("--all")
    wait_for(lambda: a.item("a"), "the prompt")
    log = a.folder / "state" / "events.jsonl"
    line = {
        "version": 1,
        "time": "2026-11-22T22:00:00.000+00:00",
        "event": "done",
        "target": "tmux:long",
        "text": "x" * 10_000_000,
    }
    with log.open("a") as out:
        out.write(json.dumps(line) + "\n" + json.dumps({**line, "event": "gone", "text": ""}) + "\n")
    wait_for(lambda: "gone" in names(bus, "tmux:long"), "what stands behind it")
    assert names(bus, "tmux:long") == ["done", "gone"]

    async def late(client: Client) -> None:
        js = client.jetstream()
        entry = await buses.bucket(js, "stallkit_state").get("a.host")
        plain = json.loads(entry.value or b"")
        plain["host"]["at"] = time.time() - 300
        await buses.bucket(js, "stallkit_state").put("a.host", json.dumps(plain).encode())

    os.kill(a.started[0].pid, 19)  # SIGSTOP: its own heartbeat would take this one's place
    bus.call(late)
    assert re.search(r"its clock is 3\d\d s behind; set it", a("fleet", "doctor").stdout)
    os.kill(a.started[0].pid, 18)


def names(bus: Bus, target: str) -> list[str]:
    """The events of a session on the bus."""
    from_there = []

    async def read(client: Client) -> None:
        js = client.jetstream()
        for sequence in range(1, (await js.stream_info("STALLKIT_EVENTS")).state.last_seq + 1):
            event = json.loads((await js.get_msg("STALLKIT_EVENTS", sequence)).data or b"")
            if event["target"] == target:
                from_there.append(event["event"])

    bus.call(read)
    return from_there


# --- TLS, NKeys and JWTs ---


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[tuple[Bus, Path]]:
    """A bus that speaks TLS, and the certificate of its authority."""
    certificate, key = tmp_path / "server.crt", tmp_path / "server.key"
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    made = ["openssl", *words.split(), "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    tls = f'tls {{ cert_file: "{certificate}", key_file: "{key}" }}\n'
    bus = Bus(tmp_path / "tls", 'listen: "0.0.0.0:4222"\njetstream { store_dir: "/var/lib/nats" }\n' + tls)
    yield bus, certificate
    bus.kill()


def test_tls(secured: tuple[Bus, Path], host: Hosts, tmp_path: Path) -> None:
    bus, certificate = secured
    a, url = host("a", bus), bus.url.replace("nats:", "tls:")
    refused(a, url, "name the file of the server's authority as [fleet] ca")
    refused(a, url, "No such file", "--ca", str(tmp_path / "none"))
    done = a.join("--ca", str(certificate), url=url)
    assert done.returncode == 0, done.stderr
    assert a("fleet", "list").stdout.split()[5] == "a"


def test_a_server_without_tls_is_sent_no_password(bus: Bus, host: Hosts, secured: tuple[Bus, Path]) -> None:
    a, heard = host("a", bus), bytearray()
    with socket.create_server(("127.0.0.1", 0)) as plain:  # as somebody between would, it says that there is no TLS

        def serve() -> None:
            one, _ = plain.accept()
            with one:
                one.sendall(
                    b'INFO {"server_id":"x","version":"2.9.10","proto":1,"max_payload":9999,"auth_required":true}\r\n'
                )
                one.settimeout(3)
                while chunk := one.recv(4096):
                    heard.extend(chunk)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        url = f"127.0.0.1:{plain.getsockname()[1]}"
        refused(a, f"tls://{url}", "the server there has no TLS", "--credentials", a.credentials("a", "a:hunter2"))
        thread.join(10)
    assert b"hunter2" not in heard
    refused(a, bus.url.replace("nats:", "tls:"), "the server there has no TLS")
    refused(a, bus.url, "the server there has no TLS", "--ca", str(secured[1]))


def test_an_nkey(host: Hosts, tmp_path: Path) -> None:
    seed, public = new_key()
    users = f"authorization {{ users: [ {{ nkey: {public} }} ] }}\n"
    made = Bus(tmp_path / "nkey", f'listen: "0.0.0.0:4222"\njetstream {{ store_dir: "/var/lib/nats" }}\n{users}')
    try:
        a = host("a", made)
        refused(a, made.url, "the server refuses", "--credentials", a.credentials("a", new_key()[0]))
        done = a.join("--credentials", a.credentials("a", seed))
        assert done.returncode == 0, done.stderr
    finally:
        made.kill()


def pair(prefix: int) -> nkeys.KeyPair:
    return nkeys.from_seed(bytearray(nkeys.encode_seed(os.urandom(32), prefix)))


def jwt(issuer: nkeys.KeyPair, subject: str, kind: str, expires: float | None = None, **claims: Any) -> str:
    """A token as NATS has them: signed by Ed25519."""
    body = {"iat": int(time.time()), "iss": issuer.public_key.decode(), "sub": subject, "name": kind, "jti": "x"}
    body |= {"nats": {"type": kind, "version": 2, **claims}} | ({"exp": int(expires)} if expires else {})
    parts = [json.dumps(part).encode() for part in ({"typ": "JWT", "alg": "ed25519-nkey"}, body)]
    text = ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)
    return f"{text}.{base64.urlsafe_b64encode(issuer.sign(text.encode())).rstrip(b'=').decode()}"


def test_accounts_by_jwt_and_one_that_expired(host: Hosts, tmp_path: Path) -> None:
    kinds = nkeys.PREFIX_BYTE_OPERATOR, nkeys.PREFIX_BYTE_ACCOUNT, nkeys.PREFIX_BYTE_ACCOUNT, nkeys.PREFIX_BYTE_USER
    operator, account, system, user = map(pair, kinds)
    counts = ["subs", "data", "payload", "imports", "exports", "conn", "leaf", "mem_storage", "disk_storage"]
    all_of = {**dict.fromkeys(counts, -1), "wildcards": True}
    public, systems = account.public_key.decode(), system.public_key.decode()
    granted = {public: jwt(operator, public, "account", limits={**all_of, "streams": -1, "consumer": -1})}
    granted[systems] = jwt(operator, systems, "account", limits=dict.fromkeys(counts[:7], -1))
    trusted = jwt(operator, operator.public_key.decode(), "operator", system_account=systems)
    preload = ", ".join(f'{key}: "{token}"' for key, token in granted.items())
    config = f'operator: "{trusted}"\nsystem_account: {systems}\nresolver: MEMORY\nresolver_preload: {{ {preload} }}\n'
    made = Bus(tmp_path / "jwt", f'listen: "0.0.0.0:4222"\njetstream {{ store_dir: "/var/lib/nats" }}\n{config}')

    def creds(name: str, expires: float | None) -> str:
        token = jwt(account, user.public_key.decode(), "user", expires, subs=-1, data=-1, payload=-1)
        seed = bytes(user.seed).decode()
        return a.credentials(
            name,
            f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n",
        )

    try:
        a = host("a", made)
        refused(a, made.url, "expired", "--credentials", creds("old", time.time() - 60))
        done = a.join("--credentials", creds("good", None))
        assert done.returncode == 0, (done.stderr, made.log[-2_000:])
    finally:
        made.kill()
