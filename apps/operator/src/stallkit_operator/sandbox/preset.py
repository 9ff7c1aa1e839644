"""What an edit needs of a proxy, and what all of them have in common: their process, their commands, patience."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Callable, Protocol, Sequence, TypeVar
from urllib.parse import urlsplit

from attrs import define, field, frozen

from stallkit.probes.procfs import stat_of
from stallkit.redact.redact import redact
from stallkit_operator.sandbox.proxies import Proxy
from stallkit_operator.sandbox.routes import HEADER

__all__ = ["Answer", "Base", "POLL_S", "Preset", "RemedyFailed", "TRIED", "connect", "fetch", "told"]


# --- one request to a proxy, or through it, to see whether it serves what it should ---


@frozen
class Answer:
    """What came back: `config` is what nginx says of its include, `refused` that the proxy itself forbids the host."""

    status: int
    config: str | None = None
    refused: bool = False


def fetch(proxy: str, target: str, timeout_s: float) -> Answer | None:
    """The answer to ``GET target``, a path or a whole address; None where there is none."""
    return _asked(proxy, "GET", target, timeout_s)


def connect(proxy: str, address: str, timeout_s: float) -> Answer | None:
    """The answer to ``CONNECT host:port``; None where there is none."""
    return _asked(proxy, "CONNECT", address, timeout_s)


def _asked(proxy: str, method: str, target: str, timeout_s: float) -> Answer | None:
    place = urlsplit(proxy)
    kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
    try:
        with closing(kind(place.hostname or "", place.port, timeout=timeout_s)) as connection:
            host = urlsplit(target).netloc if "://" in target else target if method == "CONNECT" else place.netloc
            connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            for name, value in (("Host", host), ("Connection", "close"), ("User-Agent", "stallkit")):
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            own = (answer.getheader("Server") or "").lower().startswith("tinyproxy")
            return Answer(answer.status, answer.getheader(HEADER), answer.status == 403 and own)
    except (OSError, http.client.HTTPException, ValueError):
        return None


POLL_S = 0.05
TRIED = 20  # new routes or hosts, at most
T = TypeVar("T")


class RemedyFailed(Exception):
    """A step did not go well; the words say why, for a person."""


class Preset(Protocol):
    """One proxy, as an edit needs it.  Every method raises RemedyFailed, or InvalidEdit for a text that is wrong."""

    @property
    def noted(self) -> list[str]:
        """What a person should know of how it went, whatever the end."""

    @property
    def empty(self) -> str:
        """What a person edits where there is no file yet."""

    def render(self, text: str) -> str | None:
        """What the proxy reads; None where it reads the text itself."""

    def check(self, candidate: Path, rendered: str | None) -> None:
        """Whether the proxy runs, and would take it; `candidate` is a copy beside the file that it is to replace."""

    def reload(self) -> None:
        """Have it read its files again."""

    def probe(self, before: str, after: str, rendered: str | None) -> None:
        """Wait until it serves `after`, and what that allows and `before` did not.

        What it lets through, and does not answer now, is noted: that is no fault of the edit's.
        """


@define
class Base:
    """What the presets share: the proxy's process, its commands, and to ask until it is well."""

    proxy: Proxy
    noted: list[str] = field(factory=list, init=False)

    @property
    def url(self) -> str:
        assert self.proxy.url is not None  # `read_proxies` has seen to it
        return self.proxy.url

    def reload(self) -> None:
        if self.proxy.reload:
            self.run(self.proxy.reload)
        elif self.proxy.restart:
            self.run(self.proxy.restart)
        else:
            os.kill(self.pid(), getattr(signal, f"SIG{self.proxy.signal}"))

    def pid(self) -> int:
        """The process; one of another program, to which the number went, is none."""
        try:
            number = int(Path(self.proxy.pid or "").read_text("utf-8"))
            name = Path(f"/proc/{number}/comm")
            if (
                self.proxy.preset != "command"
                and name.parent.parent.exists()
                and name.read_text().strip() != self.proxy.name[:15]
            ):
                raise RemedyFailed(f"process {number} of {self.proxy.pid} is not {self.proxy.name}")
            os.kill(number, 0)
            if (stat := stat_of(number)) is not None and stat.ended:  # and nobody has collected it yet
                raise ProcessLookupError(number)
        except (OSError, ValueError) as error:
            raise RemedyFailed(f"it does not run: {self.proxy.pid} names no process") from error
        return number

    def alive(self) -> None:
        if self.proxy.pid:
            self.pid()

    def run(self, words: Sequence[str], **values: str) -> None:
        """Run a command, without a shell."""
        told = [re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], found[0]), word) for word in words]
        try:
            done = subprocess.run(
                told, stdin=subprocess.DEVNULL, capture_output=True, timeout=self.proxy.timeout_s, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise RemedyFailed(f"{words[0]} took more than {self.proxy.timeout_s:g} s") from error
        except OSError as error:
            raise RemedyFailed(f"{words[0]}: {error.strerror}") from error
        if done.returncode:
            said = redact((done.stderr or done.stdout).decode("utf-8", "replace")).strip().splitlines()
            raise RemedyFailed(f"{words[0]} says (exit code {done.returncode}): {' / '.join(said[-5:]) or 'nothing'}")

    def until(self, good: Callable[[], str | None]) -> None:
        """Ask again until nothing is missing; `good` says what is."""
        deadline = time.monotonic() + self.proxy.timeout_s
        while (missing := good()) is not None:
            if time.monotonic() > deadline:
                raise RemedyFailed(f"{missing} after {self.proxy.timeout_s:g} s")
            time.sleep(POLL_S)

    def try_all(self, attempt: Callable[[T], str | None], things: Sequence[T]) -> None:
        """Make some attempts at once; what each comes back with is noted."""
        with ThreadPoolExecutor(TRIED) as pool:
            found = [*pool.map(attempt, things[:TRIED])]
        if more := len(things) - TRIED:
            found += [f"{more} more were not tried"] if more > 0 else []
        self.noted += [note for note in found if note and note not in self.noted]

    def let_through(self, ask: Callable[[], Answer | None], refused: Callable[[Answer], str | None]) -> Answer | None:
        """Ask until the proxy lets it through: the answer, None if nothing answers while the proxy itself does."""
        answer: Answer | None = None

        def missing() -> str | None:
            nonlocal answer
            answer = ask() or (ask() if self.answers() else None)  # again: it may have been restarted meanwhile
            if answer is not None:
                return refused(answer)
            return None if self.answers() else f"{self.url} does not answer"

        self.until(missing)
        return answer

    def answers(self) -> bool:
        """Whether the proxy itself does."""
        return fetch(self.url, "/", self.proxy.timeout_s) is not None


def told(answer: Answer | None) -> str:
    if answer is None:
        return "does not answer"
    return "is refused by the proxy" if answer.refused else f"answers {answer.status}"
