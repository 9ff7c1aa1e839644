"""Requests to the endpoint that must be refused: too long, no UTF-8, slow, of a wrong method or path, floods of
headers, bad keys, of two lengths, no HTTP, from web pages, and over TCP without the right Host and token; 16 at
once, the slow ones all at once, with honest requests between them.
"""

from __future__ import annotations

import random
import re
import socket
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from random import Random
from typing import Callable

from askers import exchange, post, request
from attrs import frozen
from stallkit_operator.item import ItemState
from stallkit_operator.queue import Queue
from terminals import wait_for

from soak.held import ADA, Stage, many_files
from soak.parts import Figure, Part, Run

NOTIFY = "/supervise/notify"
SMUGGLED = request("POST", NOTIFY, b"smuggled")
CLOSED = 0  # without an answer


@frozen
class TcpFacts:
    """What an honest client at the endpoint's address would send."""

    port: int
    host: str
    token: str


@frozen
class Attack:
    """What is sent, and the statuses that refuse it; `tcp` is the port, where it does not go to the socket."""

    kind: str
    data: bytes
    statuses: tuple[int, ...]
    tcp: int | None = None


def _word(chance: Random, least: int, most: int) -> str:
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz0123456789-_", k=chance.randint(least, most)))


def oversize(chance: Random, tcp: TcpFacts) -> Attack:
    body = b"a" * chance.randint(65_537, 400_000)
    parts = b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
    whole, chunked = post(body), post(parts, "Transfer-Encoding: chunked")
    promised = post(b"a", f"Content-Length: {chance.randint(10**9, 10**18)}")
    return Attack("too long", chance.choice([whole, chunked, promised]), (413,))


def not_utf8(chance: Random, tcp: TcpFacts) -> Attack:
    broken = chance.choice([b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf8\x88\x80\x80\x80"])
    return Attack("no UTF-8", post(b"help " + broken + chance.randbytes(chance.randint(0, 2_000))), (400,))


def empty(chance: Random, tcp: TcpFacts) -> Attack:
    return Attack("without words", post(bytes(chance.choices(b" \t\r\n", k=chance.randint(1, 500)))), (400,))


def wrong_method(chance: Random, tcp: TcpFacts) -> Attack:
    given = ["GET", "PUT", "DELETE", "TRACE", "PATCH", "OPTIONS", "post", _word(chance, 1, 20).strip("-_") or "A"]
    return Attack("wrong method", request(chance.choice(given), NOTIFY, b"help"), (405,))


def wrong_path(chance: Random, tcp: TcpFacts) -> Attack:
    hostile = ["/", "//healthz", "/healthz/", "/../", "/%2e%2e/", "/supervise/", f"{NOTIFY}/", f"{NOTIFY}%00", "/.git/"]
    hostile += ["http://localhost/", "*", f"/{'a' * 5_000}/", f"{NOTIFY}/../../"]
    path = chance.choice(hostile) + _word(chance, 1, 12)
    return Attack("wrong path", request(chance.choice(["GET", "POST", "HEAD"]), path, b"help"), (404, 400))


def header_flood(chance: Random, tcp: TcpFacts) -> Attack:
    one = [f"X: {'a' * chance.randint(17_000, 200_000)}"]
    many = [f"X-{number}: {_word(chance, 10, 30)}" for number in range(chance.randint(900, 3_000))]
    return Attack("flood of headers", post(b"help", *chance.choice([one, many])), (400, 431))


def bad_key(chance: Random, tcp: TcpFacts) -> Attack:
    evil = chance.choice(["../../etc/passwd", "a' OR 1=1 --", "key key", "schl\u00fcssel-\u00fc", "", "%00" * 4])
    key = chance.choice([evil, _word(chance, 1, 7), _word(chance, 129, 4_000), f"{_word(chance, 8, 20)};"])
    return Attack("bad key", post(b"help", f"Idempotency-Key: {key}"), (400,))


def smuggling(chance: Random, tcp: TcpFacts) -> Attack:
    """Without ``Connection: close``, so that what follows would be read as a request."""
    head = f"POST {NOTIFY} HTTP/1.1\r\nHost: localhost\r\n"
    length, ends = f"Content-Length: {5 + len(SMUGGLED)}\r\n", "0\r\n\r\n"
    ways = [
        f"{length}Transfer-Encoding: chunked\r\n\r\n{ends}",
        f"Transfer-Encoding: chunked\r\n{length}\r\n{ends}",
        f"{length}Transfer-Encoding:\r\n chunked\r\n\r\n{ends}",
        f"{length}Transfer-Encoding: xchunked\r\n\r\n{ends}",
        f"{length}Transfer-Encoding: chunked, identity\r\n\r\n{ends}",
        f"{length}Transfer-Encoding : chunked\r\n\r\n{ends}",
        f"Content-Length: 0\r\n{length}\r\n",
        "Content-Length: 5, 6\r\n\r\nhello",
        "Content-Length: 0x5\r\n\r\nhello",
        "Content-Length: +5\r\n\r\nhello",
        "Transfer-Encoding: chunked\r\n\r\n-1\r\nhelp\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n" + "f" * chance.randint(21, 60) + "\r\nhelp\r\n",
        "Transfer-Encoding: chunked\r\n\r\nzz\r\nhelp\r\n0\r\n\r\n",
        f"X: a\rTransfer-Encoding: chunked\r\n{length}\r\n{ends}",
    ]
    return Attack("of two lengths, smuggling", (head + chance.choice(ways)).encode() + SMUGGLED, (400,))


def no_http(chance: Random, tcp: TcpFacts) -> Attack:
    given = [
        b"\x16\x03\x01\x02\x00\x01\x00" + chance.randbytes(chance.randint(100, 500)) + b"\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        f"POST {NOTIFY} HTTP/3.7\r\nHost: x\r\n\r\n".encode(),
        f"POST {NOTIFY}\r\n\r\n".encode(),
        f"POST {NOTIFY} x HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
        f"POST\t{NOTIFY} HTTP/1.1\r\nHost: x\r\nA\x00b: c\r\n\r\n".encode(),
        chance.randbytes(chance.randint(1, 3_000)).replace(b"\n", b"") + b"\r\n\r\n",
    ]
    return Attack("no HTTP", chance.choice(given), (400, 404, CLOSED))


def web_page(chance: Random, tcp: TcpFacts) -> Attack:
    origins = ["null", "https://example.org", "http://localhost", "file://", f"https://{_word(chance, 3, 9)}"]
    return Attack("from a web page", post(b"help", f"Origin: {chance.choice(origins)}"), (403,))


def _over_tcp(kind: str, tcp: TcpFacts, status: int, *headers: str) -> Attack:
    lines = [f"POST {NOTIFY} HTTP/1.1", "Connection: close", "Content-Length: 4", *headers, "", ""]
    return Attack(kind, "\r\n".join(lines).encode("latin-1") + b"help", (status, 400), tcp.port)


def wrong_host(chance: Random, tcp: TcpFacts) -> Attack:
    hosts = ["localhost", "127.0.0.1", f"127.0.0.1:{tcp.port}", f"{tcp.host}.evil", f"evil.{tcp.host}"]
    hosts += [tcp.host.upper(), f"{tcp.host}:80@evil", f"{tcp.host}\r\nHost: evil", "", _word(chance, 1, 30)]
    return _over_tcp("wrong Host", tcp, 421, f"Host: {chance.choice(hosts)}", f"Authorization: Bearer {tcp.token}")


def wrong_origin(chance: Random, tcp: TcpFacts) -> Attack:
    origin = chance.choice(["null", f"https://{tcp.host}", f"https://{_word(chance, 3, 9)}"])
    token = f"Authorization: Bearer {tcp.token}"
    return _over_tcp("wrong Origin", tcp, 403, f"Host: {tcp.host}", token, f"Origin: {origin}")


def wrong_token(chance: Random, tcp: TcpFacts) -> Attack:
    tokens = [tcp.token[:-1], f"{tcp.token}w", tcp.token.upper(), "", _word(chance, 40, 40), f" {tcp.token}x", "\u00fc"]
    scheme = chance.choice(["Bearer", "bearer", "Basic", "", "Token"])
    given = f"Authorization: {scheme} {chance.choice(tokens)}"
    return _over_tcp("wrong token", tcp, 401, f"Host: {tcp.host}", *([given] if chance.random() < 0.9 else []))


def slow_headers(chance: Random, tcp: TcpFacts) -> Attack:
    return Attack("slow headers", f"POST {NOTIFY} HTTP/1.1\r\nHost: x\r\nX-{_word(chance, 1, 9)}: ".encode(), (CLOSED,))


def slow_body(chance: Random, tcp: TcpFacts) -> Attack:
    return Attack("slow body", post(b"a", f"Content-Length: {chance.randint(60_000, 65_000)}"), (408,))


def silent(chance: Random, tcp: TcpFacts) -> Attack:
    return Attack("silent", b"", (CLOSED,))


SLOW = frozenset({"slow headers", "slow body", "silent"})
KINDS: tuple[Callable[[Random, TcpFacts], Attack], ...] = (
    *(oversize, not_utf8, empty, wrong_method, wrong_path, header_flood, bad_key, smuggling, no_http, web_page),
    *(wrong_host, wrong_origin, wrong_token, slow_headers, slow_body, silent),
)


HONEST_EACH = 50  # hostile requests between two honest ones
AT_ONCE = 16
LET_GO_S = 60.0  # by then whoever is slow has been let go


@frozen
class Refusal:
    attack: Attack
    answer: bytes

    @property
    def statuses(self) -> list[int]:
        """Of all that was answered on the connection; 0 where it was closed without a word."""
        return [int(one) for one in re.findall(rb"HTTP/1\.1 (\d{3}) ", self.answer)] or [0]

    @property
    def refused(self) -> bool:
        return all(one in self.attack.statuses for one in self.statuses)


def soak(run: Run) -> list[Figure]:
    with many_files():
        return _soak(run)


def _soak(run: Run) -> list[Figure]:
    tcp = TcpFacts(_free_port(), "ask.example", "w" * 40)
    tokens = run.folder / "tokens"
    tokens.write_text(f"web {tcp.token}\n")
    tokens.chmod(0o600)
    options = ["--listen", f"127.0.0.1:{tcp.port}", "--token-file", str(tokens), "--allow-host", tcp.host]
    stage = Stage(run.folder, ["web", "db"], options)
    with closing(Queue(stage.queue_file, busy_s=30)) as queue:
        stage.start()
        try:
            wait_for(lambda: _healthy(stage), "the endpoint")
            chance = random.Random(f"refusals {run.size}")
            attacks = [KINDS[number % len(KINDS)](chance, tcp) for number in range(run.size)]
            slow = [_Slow(stage, one) for one in attacks if one.kind in SLOW]
            found, honest = _sent(run, stage, queue, [one for one in attacks if one.kind not in SLOW])
            began = time.monotonic()
            while any(one.held for one in slow) and time.monotonic() < began + LET_GO_S:
                for one in slow:
                    one.drip()
                time.sleep(0.2)
            found += [Refusal(one.attack, one.answer) for one in slow if not one.held]
            honest += [_honest(stage, queue, f"after {number}") for number in range(10)]
            lives = stage.process is not None and stage.process.poll() is None
            items = len(queue.items(over=True, limit=100_000))
            return _figures(run.size, found, honest, items, lives, stage.megabytes())
        finally:
            stage.kill()


def _sent(run: Run, stage: Stage, queue: Queue, attacks: list[Attack]) -> tuple[list[Refusal], list[bool]]:
    """The attacks that are over soon, several at once, and honest requests between them."""
    found: list[Refusal] = []
    honest: list[bool] = []

    def send(attack: Attack) -> Refusal:
        where = stage.socket("web") if attack.tcp is None else ("127.0.0.1", attack.tcp)
        return Refusal(attack, exchange(where, attack.data))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for first in range(0, len(attacks), HONEST_EACH):
            sent = [pool.submit(send, one) for one in attacks[first : first + HONEST_EACH]]
            honest.append(_honest(stage, queue, f"between {len(honest)}"))
            found += [one.result() for one in sent]
            run.tell(len(found))
    return found, honest


def _honest(stage: Stage, queue: Queue, words: str) -> bool:
    """Whether a message is filed, and gets its own reply."""
    body = f"honest {words}".encode()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(exchange, stage.socket("db"), request("POST", "/supervise/notify", body), 60.0)
        wait_for(lambda: any(item.words == body.decode() for item in queue.items()), "an honest message")
        [id] = [item.id for item in queue.items() if item.words == body.decode()]
        queue.close_item(id, ItemState.ANSWERED, ADA, f"reply to {words}")
        return asked.result().endswith(f'{{"text":"reply to {words}"}}'.encode())


class _Slow:
    """A connection that sends a byte now and then, and never all."""

    def __init__(self, stage: Stage, attack: Attack) -> None:
        self.attack, self.answer, self.held = attack, b"", True
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(str(stage.socket("web")))
        self._connection.sendall(attack.data)
        self._connection.setblocking(False)

    def drip(self) -> None:
        if not self.held:
            return
        with suppress(BlockingIOError, ConnectionError):
            if self.attack.data:
                self._connection.send(b"a")
        try:
            while part := self._connection.recv(65_536):
                self.answer += part
        except BlockingIOError:
            return
        except ConnectionError:
            pass
        self.held = False
        self._connection.close()


def _healthy(stage: Stage) -> bool:
    try:
        return b"ok" in exchange(stage.socket("web"), request("GET", "/healthz"))
    except OSError:
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


def _figures(
    size: int, found: list[Refusal], honest: list[bool], items: int, lives: bool, megabytes: float
) -> list[Figure]:
    refused = Counter(one.attack.kind for one in found if one.refused)
    other = [(one.attack.kind, one.answer[:60]) for one in found if not one.refused]
    served = sum(any(200 <= status < 300 for status in one.statuses) for one in found)
    kinds = ", ".join(f"{kind} {number:,}" for kind, number in sorted(refused.items()))
    more, held = items - len(honest), size - len(found)
    return [
        Figure("hostile requests refused", f"{refused.total():,} of {size:,}", "all", refused.total() == size),
        Figure("of them", kinds, "every kind", len(refused) == len(KINDS)),
        Figure("answered otherwise", f"{len(other)}{f': {other[:3]}' if other else ''}", "0", not other),
        Figure.none("served", served),
        Figure.none("slow ones not let go in a minute", held),
        Figure("filed by them", f"{more} items", "0", more == 0),
        Figure("honest ones beside and after them, served", f"{sum(honest)} of {len(honest)}", "all", all(honest)),
        Figure("the endpoint ran on", "yes" if lives else "no", "yes", lives),
        Figure("most memory of the endpoint", f"{megabytes:.0f} MB", "at most 200 MB", megabytes <= 200),
    ]


PART = Part(__doc__, "hostile requests", full=4_000, short=320, soak=soak)
