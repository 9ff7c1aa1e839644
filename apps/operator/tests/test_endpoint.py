"""The endpoint as a process, at real sockets: held, answered, appended, restarted, and nothing hostile gets in."""

from __future__ import annotations

import json
import signal
import socket
import threading
from contextlib import closing
from pathlib import Path
from typing import Iterator

import pytest
from askers import exchange, post, request
from hypothesis import given, settings
from hypothesis import strategies as st
from queued import Desk
from stallkit_operator.install import host_socket
from stallkit_operator.item import ItemState, Who
from stallkit_operator.queue import Queue
from terminals import wait_for

pytestmark = pytest.mark.e2e

ADA = Who("ada", "a test")


class Endpoint(Desk):
    """`stallkit sandbox serve`, and its queue."""

    def serve(self, *words: str) -> None:
        self.process = self.begin("sandbox", "serve", *words)
        wait_for(lambda: self.process.poll() is None and b"ok" in self.health(words[0]), "the endpoint")

    def socket(self, sandbox: str) -> Path:
        return self.folder / "state" / "stuck" / sandbox / "notify.sock"

    def health(self, sandbox: str) -> bytes:
        try:
            return exchange(self.socket(sandbox), request("GET", "/healthz"))
        except OSError:
            return b""

    def queue(self) -> Queue:
        return Queue(self.folder / "state" / "queue.db")


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    made = Endpoint(tmp_path_factory.mktemp("endpoint"))
    made.serve("web", "db")
    yield made
    made.end()


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Endpoint]:
    """One that a test starts and ends for itself."""
    made = Endpoint(tmp_path)
    yield made
    made.end()


class Caller:
    """A request in a thread, and its answer."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.answer = b""
        self._thread = threading.Thread(target=self._run, args=(path, data))
        self._thread.start()

    def _run(self, path: Path, data: bytes) -> None:
        self.answer = exchange(path, data, 60.0)

    def parts(self) -> tuple[int, bytes]:
        """Status and body."""
        self._thread.join(60)
        head, _, body = self.answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), body


def open_items(queue: Queue, *, words: str) -> list[int]:
    return [item.id for item in queue.items() if words in item.words]


def waits(queue: Queue, words: str) -> int:
    wait_for(lambda: open_items(queue, words=words), f"an item that says {words!r}")
    return open_items(queue, words=words)[0]


def test_a_message_is_held_until_the_reply_which_comes_as_it_was_typed(endpoint: Endpoint) -> None:
    reply = 'use "the mirror"\n\tcafé \u202e \x1b[1m'
    with closing(endpoint.queue()) as queue:
        as_json = Caller(endpoint.socket("web"), post(b"blocked at 1"))
        id = waits(queue, "blocked at 1")
        assert queue.item(id).session == "web"
        queue.close_item(id, ItemState.ANSWERED, ADA, reply)
        status, body = as_json.parts()
        assert status == 200 and json.loads(body) == {"text": reply}
        plain = Caller(endpoint.socket("db"), post(b"blocked at 2", "Accept: text/plain"))
        queue.close_item(waits(queue, "blocked at 2"), ItemState.DECLINED, ADA, reply)
        assert plain.parts() == (403, reply.encode())


def test_a_second_message_is_appended_and_both_get_the_answer(endpoint: Endpoint) -> None:
    with closing(endpoint.queue()) as queue:
        first = Caller(endpoint.socket("web"), post(b"the first word"))
        id = waits(queue, "the first word")
        second = Caller(endpoint.socket("web"), post(b"the second word"))
        other = Caller(endpoint.socket("db"), post(b"another sandbox"))
        assert waits(queue, "the second word") == id != waits(queue, "another sandbox")
        assert queue.item(id).words == "the first word\n\nthe second word"
        queue.close_item(id, ItemState.ANSWERED, ADA, "yes")
        assert first.parts() == second.parts() == (200, b'{"text":"yes"}')
        queue.close_item(waits(queue, "another sandbox"), ItemState.CANCELLED, ADA, "gone")
        assert other.parts() == (410, b'{"text":"gone"}')


def test_the_same_key_gets_the_same_answer_and_only_in_its_own_sandbox(endpoint: Endpoint) -> None:
    key = "Idempotency-Key: 0123456789abcdef"
    with closing(endpoint.queue()) as queue:
        first = Caller(endpoint.socket("web"), post(b"once only", key))
        id = waits(queue, "once only")
        again = Caller(endpoint.socket("web"), post(b"once only", key))
        queue.close_item(id, ItemState.ANSWERED, ADA, "yes")
        assert first.parts() == again.parts() == (200, b'{"text":"yes"}')
        assert queue.item(id).words == "once only"
        late = Caller(endpoint.socket("web"), post(b"", key, "Content-Length: 0"))
        assert late.parts() == (200, b'{"text":"yes"}')
        elsewhere = Caller(endpoint.socket("db"), post(b"mine", key))
        queue.close_item(waits(queue, "mine"), ItemState.ANSWERED, ADA, "yours")
        assert elsewhere.parts() == (200, b'{"text":"yours"}')


def test_who_waits_at_its_end_is_told_to_come_again(alone: Endpoint) -> None:
    alone.serve("web")
    key = "Idempotency-Key: 0123456789abcdef"
    with closing(alone.queue()) as queue:
        first = Caller(alone.socket("web"), post(b"help", key))
        id = waits(queue, "help")
        second = alone("sandbox", "serve", "web")
        assert second.returncode == 1 and "another process serves it" in second.stderr
        alone.process.send_signal(signal.SIGTERM)
        assert first.parts()[0] == 503 and alone.process.wait(timeout=30) == 0
        assert not alone.socket("web").exists()
        queue.close_item(id, ItemState.ANSWERED, ADA, "meanwhile")
        alone.serve("web")
        assert Caller(alone.socket("web"), post(b"help", key)).parts() == (200, b'{"text":"meanwhile"}')


HOSTILE = [
    ("bad UTF-8", post(b"\xff\xfe help"), 400),
    ("empty", post(b" \n"), 400),
    ("too long", post(b"a" * 65_537), 413),
    ("too long in parts", post(b"10001\r\n" + b"a" * 65_537 + b"\r\n0\r\n\r\n", "Transfer-Encoding: chunked"), 413),
    ("a promise of 10 GB", post(b"a", "Content-Length: 10000000000"), 413),
    ("a length that is none", post(b"a", "Content-Length: -1"), 400),
    ("two lengths", post(b"ab", "Content-Length: 1", "Content-Length: 2"), 400),
    ("two ways to end", post(b"4\r\nhelp\r\n0\r\n\r\n", "Content-Length: 14", "Transfer-Encoding: chunked"), 400),
    ("a length and parts", post(b"0\r\n\r\n", "Content-Length: 5", "Transfer-Encoding: gzip"), 400),
    ("no request", b"help me\r\n\r\n", 400),
    ("a header of 100 kB", request("GET", "/healthz", b"", "X: " + "a" * 100_000), 431),
    ("a header of 1 MB", request("GET", "/healthz", b"", "X: " + "a" * 1_000_000), 400),
    ("a header in two lines", request("GET", "/healthz", b"", "A\nB: c"), 400),
    ("a web page", post(b"help", "Origin: https://example.org"), 403),
    ("a web page without a name", post(b"help", "Origin: null"), 403),
    ("a key with a path", post(b"help", "Idempotency-Key: ../../../etc"), 400),
    ("a key of 10 kB", post(b"help", "Idempotency-Key: " + "a" * 10_000), 400),
    *((f"{method} notify", request(method, "/supervise/notify"), 405) for method in ("GET", "PUT", "DELETE", "TRACE")),
    ("CONNECT", b"CONNECT localhost:80 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 404),
    *(
        (f"path {path}", request("GET", path), 404)
        for path in ("/", "/healthz/", "//healthz", "/../healthz", "/%2e%2e/healthz", "/supervise/notify/web", "/web")
    ),
]


def test_a_hostile_request_is_refused_and_leaves_nothing(endpoint: Endpoint) -> None:
    wrong = []
    with closing(endpoint.queue()) as queue:
        before = queue.items(over=True)
        for name, data, status in HOSTILE:
            answer = exchange(endpoint.socket("web"), data)
            if not answer.startswith(b"HTTP/1.1 %d " % status) or b"ok" not in endpoint.health("web"):
                wrong.append((name, answer[:200]))
        assert queue.items(over=True) == before
    assert wrong == []


TOKENS = st.sampled_from(["GET", "POST", "/supervise/notify", "/healthz", "HTTP/1.1", "Host: x", "Content-Length: 5"])
PIECES = st.one_of(st.binary(max_size=40), TOKENS.map(str.encode), st.sampled_from([b" ", b"\r\n", b"\r\n\r\n", b":"]))


@settings(max_examples=300, deadline=None)
@given(pieces=st.lists(PIECES, max_size=12))
def test_whatever_bytes_come_the_next_request_is_served(endpoint: Endpoint, pieces: list[bytes]) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(endpoint.socket("db")))
        connection.settimeout(5)
        try:
            connection.sendall(b"".join(pieces))
            connection.shutdown(socket.SHUT_WR)
            connection.setblocking(False)
            connection.recv(1000)
        except (BlockingIOError, ConnectionError):
            pass
    assert b"ok" in endpoint.health("db")


def test_who_sends_its_headers_slowly_is_let_go_and_delays_nobody(endpoint: Endpoint) -> None:
    slow = [socket.socket(socket.AF_UNIX) for _ in range(100)]
    for one in slow:
        one.connect(str(endpoint.socket("web")))
        one.sendall(b"POST /supervise/notify HTTP/1.1\r\nHost: x\r\nX-A: ")
    assert b"ok" in endpoint.health("web")
    for one in slow:
        one.settimeout(60)
        assert one.recv(100) == b""  # it was closed
        one.close()


def test_over_tcp_a_token_a_host_and_an_origin_are_asked_for(alone: Endpoint, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    tokens = tmp_path / "sandboxes"
    tokens.write_text(f"web {'w' * 40}\ndb {'d' * 40}\n")
    words = ("sandbox", "serve", "--listen", f"127.0.0.1:{port}", "--token-file", str(tokens))
    allowed = ("--allow-host", "ask.example", "--allow-origin", "https://ask.example")
    assert "others can read it" in alone(*words, *allowed).stderr
    tokens.chmod(0o600)
    assert alone(*words).returncode == 64

    def asked(*headers: str) -> str:
        lines = ["GET /healthz HTTP/1.1", "Connection: close", *headers, "", ""]
        with socket.create_connection(("127.0.0.1", port), 30) as connection:
            connection.sendall("\r\n".join(lines).encode())
            return connection.makefile("rb").readline().decode().split()[1]

    alone.begin(*words, *allowed)
    wait_for(lambda: "listening" in (tmp_path / "out").read_text(), "the endpoint")
    host, token = "Host: ask.example", f"Authorization: Bearer {'d' * 40}"
    assert asked(host, token) == "200"
    assert asked(host, token, "Origin: https://ask.example") == "200"
    assert asked(host, token, "Origin: https://ask.example.evil") == "403"
    assert asked("Host: localhost", token) == asked("Host: 127.0.0.1", token) == "421"
    assert asked(host) == asked(host, f"{token}x") == asked(host, "Authorization: Basic x") == "401"
    assert asked(host, "Authorization: Bearer \u00e9") == "401"


def test_a_name_that_is_a_path_is_no_sandbox_and_nothing_is_served_where_others_could_mount(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for name in ("../web", "a/b", "", ".", "-a", "a" * 64, "w\x1b[1m"):
        done = desk("sandbox", "serve", "--", name)
        assert done.returncode == 64 and "is no name" in done.stderr, name
    done = desk("sandbox", "serve", "web", "--dir", str(tmp_path / ("d" * 100)))
    assert done.returncode == 1 and "--dir" in done.stderr, "a path that no socket can have"
    open_to_all = tmp_path / "shared"
    open_to_all.mkdir()
    (open_to_all / "theirs").touch()
    open_to_all.chmod(0o1777)
    for folder in ("/tmp", str(open_to_all)):
        done = desk("sandbox", "serve", "web", "--dir", folder)
        assert done.returncode == 1 and folder in done.stderr


def test_a_sandbox_that_links_its_socket_to_another_ones_is_itself_to_its_proxy(
    alone: Endpoint, tmp_path: Path
) -> None:
    alone.serve("web", "db")
    alone.socket("web").unlink()
    alone.socket("web").symlink_to(alone.socket("db"))
    outside = host_socket(tmp_path / "state" / "stuck", "web")
    caller = Caller(outside, post(b"who am I?"))
    with closing(alone.queue()) as queue:
        wait_for(queue.items, "the notice")
        (item,) = queue.items()
        assert item.session == "web"
        queue.close_item(item.id, ItemState.ANSWERED, ADA, "web")
    assert caller.parts()[0] == 200
    assert outside.parent.stat().st_mode & 0o077 == 0


def test_a_sandbox_that_spoils_its_directory_spoils_nobody_elses_endpoint(alone: Endpoint, tmp_path: Path) -> None:
    for name in ("web", "api"):
        (tmp_path / "state" / "stuck" / name).mkdir(parents=True, mode=0o700)
    (tmp_path / "state").chmod(0o700)
    (alone.socket("web") / "full").mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as own:
        own.bind(str(alone.socket("api")))
        own.listen()
        alone.serve("db", "web", "api")
        told = (tmp_path / "out").read_text()
        assert "web is not served" in told and "mount" in told and "web: mount" not in told
        assert b"ok" in alone.health("api")
        again = Desk(tmp_path)("sandbox", "serve", "db")
        assert again.returncode == 1 and "another process serves it" in again.stderr
