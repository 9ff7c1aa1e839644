"""Hostile requests to the endpoint, thousands, of every kind; honest ones beside them are served."""

from __future__ import annotations

import random
import re
import socket
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Iterator

from askers import exchange, request
from attrs import frozen
from stallkit_operator.item import ItemState
from stallkit_operator.queue import Queue
from terminals import wait_for

from soak.held import ADA, Stage, many_files
from soak.hostile_requests import KINDS, SLOW, Attack, TcpFacts
from soak.parts import Figure, Part, Run

HONEST_EACH = 50  # hostile requests between two honest ones
AT_ONCE = 16
LET_GO_S = 60.0  # by then whoever is slow has been let go


@frozen
class Refusal:
    """What became of an attack."""

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
            return _figures(
                run.size, found, honest, len(queue.items(over=True, limit=100_000)), lives, stage.megabytes()
            )
        finally:
            stage.kill()


def _sent(run: Run, stage: Stage, queue: Queue, attacks: list[Attack]) -> tuple[list[Refusal], list[bool]]:
    """The attacks that are over soon, several at once, and honest requests between them."""
    found: list[Refusal] = []
    honest: list[bool] = []
    tcp = next(one.tcp for one in attacks if one.tcp is not None)

    def send(attack: Attack) -> Refusal:
        where = stage.socket("web") if attack.tcp is None else ("127.0.0.1", tcp)
        return Refusal(attack, exchange(where, attack.data))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for part in _parts(attacks):
            sent = [pool.submit(send, one) for one in part]
            honest.append(_honest(stage, queue, f"between {len(honest)}"))
            found += [one.result() for one in sent]
            run.tell(len(found))
    return found, honest


def _parts(attacks: list[Attack]) -> Iterator[list[Attack]]:
    for first in range(0, len(attacks), HONEST_EACH):
        yield attacks[first : first + HONEST_EACH]


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
        Figure("served", f"{served}", "0", served == 0),
        Figure("slow ones not let go in a minute", f"{held}", "0", held == 0),
        Figure("filed by them", f"{more} items", "0", more == 0),
        Figure("honest ones beside and after them, served", f"{sum(honest)} of {len(honest)}", "all", all(honest)),
        Figure("the endpoint ran on", "yes" if lives else "no", "yes", lives),
        Figure("most memory of the endpoint", f"{megabytes:.0f} MB", "at most 200 MB", megabytes <= 200),
    ]


PART = Part(
    name="refusals",
    about="Requests to the endpoint that must be refused: too long, no UTF-8, slow, of a wrong method or path, floods "
    "of headers, bad keys, of two lengths, no HTTP, from web pages, and over TCP without the right Host and token; "
    "16 at once, the slow ones all at once, with honest requests between them.",
    unit="hostile requests",
    full=4_000,
    short=320,
    soak=soak,
)
