"""What differs between proxies: what is made of a person's text, the check on copies, the reload, the probe.

`preset_of` gives the `Preset` of a proxy: nginx, tinyproxy, or commands of one's own.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Callable, Iterator, Protocol, Sequence
from urllib.parse import urlsplit

from attrs import frozen

from stallkit import private
from stallkit.core.redact import redact
from stallkit.stuck.allowlist import read_hosts, render_tinyproxy
from stallkit.stuck.proxies import Proxy
from stallkit.stuck.proxy_request import Answer, connect, fetch
from stallkit.stuck.routes import (
    CONFIG_PATH,
    EMPTY,
    InvalidEdit,
    Route,
    changed_routes,
    digest_of,
    read_routes,
    render_nginx,
)

__all__ = ["Preset", "RemedyFailed", "preset_of"]

POLL_S = 0.05
_TRIED = 20  # new routes or hosts, at most


class RemedyFailed(Exception):
    """A step did not go well; the words say why, for a person."""


class Preset(Protocol):
    """One proxy, as an edit needs it.  Every method raises RemedyFailed, or InvalidEdit for a text that is wrong."""

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
        """Wait until it serves `after`, and what that allows and `before` did not."""


def preset_of(proxy: Proxy, notify: str | None) -> Preset:
    """The preset; `notify` is the path of the sandbox's notification socket."""
    if proxy.preset == "nginx":
        return _Nginx(proxy, notify)
    return _Tinyproxy(proxy) if proxy.preset == "tinyproxy" else _Command(proxy)


@frozen
class _Base:
    proxy: Proxy

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


@frozen
class _Nginx(_Base):
    notify: str | None
    empty: str = EMPTY

    def render(self, text: str) -> str:
        return render_nginx(read_routes(text), self.notify)

    def check(self, candidate: Path, rendered: str | None) -> None:
        """`nginx -t` on a copy of its configuration, which includes the copy in place of the file."""
        self.alive()
        proxy = self.proxy
        main, included = Path(proxy.config or ""), proxy.rendered or ""
        try:
            text = main.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise RemedyFailed(f"{main} cannot be read: {error}") from error
        include = re.compile(rf"(^[^#\n]*\binclude\s+)([\"']?){re.escape(included)}\2(\s*;)", re.MULTILINE)
        if not include.search(text):
            raise RemedyFailed(f"{main} does not have `include {included};`: no edit would have an effect")
        if re.search(r"^[^#\n]*\bworker_shutdown_timeout\b", text, re.MULTILINE):
            raise RemedyFailed(f"{main} has worker_shutdown_timeout, which would end held notices: remove it")
        copy = main.with_name(f".{main.name}.stallkit-check-{os.getpid()}")
        try:
            handle = private.opened(copy, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)  # a credential may be in it
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(include.sub(lambda found: f"{found[1]}{candidate}{found[3]}", text))
            own = [proxy.program or "nginx", "-t", "-q", "-e", "stderr", "-c", "{file}"]
            self.run(proxy.check or own, file=str(copy))
        except OSError as error:
            raise RemedyFailed(f"no copy beside {main}: {error.strerror}") from error
        finally:
            with suppress(OSError):
                copy.unlink(missing_ok=True)

    def probe(self, before: str, after: str, rendered: str | None) -> None:
        digest = digest_of(rendered or "")
        self.until(lambda: self._serves(digest))
        if self.proxy.health:
            self.run(self.proxy.health)
        for route in changed_routes(_routes(before), _routes(after))[:_TRIED]:
            self.until(lambda path=route.probe or route.path: self._answers(path, digest))  # type: ignore[misc]

    def _serves(self, digest: str | None) -> str | None:
        answer = fetch(self.url, CONFIG_PATH, self.proxy.timeout_s)
        if answer is None:
            return f"{self.url} does not answer"
        return None if digest is None or answer.config == digest else "it still serves what was there before"

    def _answers(self, path: str, digest: str | None) -> str | None:
        answer = fetch(self.url, path, self.proxy.timeout_s)
        if answer is None or answer.config != digest:  # a process from before the reload, which takes no more soon
            return f"{path} {_told(answer)}, and not by the new configuration"
        if answer.status >= 500:
            raise RemedyFailed(f"{path} {_told(answer)}")
        return None


@frozen
class _Tinyproxy(_Base):
    empty: str = "# One host a line, or *.HOST for every host below it.\n"

    def render(self, text: str) -> str:
        return render_tinyproxy(read_hosts(text))

    def check(self, candidate: Path, rendered: str | None) -> None:
        """tinyproxy has no check of its own, and ends on a bad filter: the filter is made of names alone."""
        self.alive()
        config, wanted = self._config(), {"filterdefaultdeny": "yes", "filter": self.proxy.rendered}
        for name, value in wanted.items():
            if config.get(name, "").lower() != str(value).lower():
                raise RemedyFailed(f"{self.proxy.config} does not have `{_SPELT[name]} {value}`")
        if config.get("filterurls", "no").lower() in ("yes", "on"):
            raise RemedyFailed(f"{self.proxy.config} has FilterURLs: the hosts would be looked for in whole addresses")
        if self.proxy.check:
            self.run(self.proxy.check, file=str(candidate))

    def probe(self, before: str, after: str, rendered: str | None) -> None:
        self.alive()
        old, new = _hosts(before), _hosts(after)
        gone = [host for host in old if host not in new and not any(_within(host, other) for other in new)]
        added = [host for host in new if host not in old]
        for host in _plain(gone):
            self.until(lambda host=host: self._refuses(host))  # type: ignore[misc]
        for host in _plain(added):
            self.until(lambda host=host: self._allows(host))  # type: ignore[misc]
        if self.proxy.health:
            self.run(self.proxy.health)
        self.alive()

    def _config(self) -> dict[str, str]:
        try:
            lines = Path(self.proxy.config or "").read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise RemedyFailed(f"{self.proxy.config} cannot be read: {error}") from error
        words = [line.split(None, 1) for line in lines if line.strip() and not line.lstrip().startswith("#")]
        return {one[0].lower(): one[1].strip().strip("\"'") for one in words if len(one) == 2}

    def _refuses(self, host: str) -> str | None:
        answer = self._asked(host)
        return None if answer is not None and answer.refused else f"{host} {_told(answer)}, and is no longer allowed"

    def _allows(self, host: str) -> str | None:
        answer = self._asked(host)
        well = answer is not None and not answer.refused and answer.status < 500
        return None if well else f"{host} {_told(answer)}, and is allowed now"

    def _asked(self, host: str) -> Answer | None:
        if self.proxy.probe:
            return fetch(self.url, self.proxy.probe.replace("{host}", host), self.proxy.timeout_s)
        answer = connect(self.url, f"{host}:443", self.proxy.timeout_s)
        if answer is None or answer.refused or answer.status < 500:
            return answer
        return fetch(self.url, f"http://{host}/", self.proxy.timeout_s)


_SPELT = {"filterdefaultdeny": "FilterDefaultDeny", "filter": "Filter"}


@frozen
class _Command(_Base):
    empty: str = ""

    def render(self, text: str) -> None:
        return None

    def check(self, candidate: Path, rendered: str | None) -> None:
        self.alive()
        if self.proxy.check:
            self.run(self.proxy.check, file=str(candidate))

    def probe(self, before: str, after: str, rendered: str | None) -> None:
        if self.proxy.health:
            self.run(self.proxy.health, file=self.proxy.file)
        if self.proxy.url:
            path = urlsplit(self.url).path or "/"
            self.until(lambda: _unwell(fetch(self.url, path, self.proxy.timeout_s)))
        self.alive()


def _hosts(text: str) -> tuple[str, ...]:
    """The hosts; none of a text that another program wrote."""
    try:
        return read_hosts(text)
    except InvalidEdit:
        return ()


def _routes(text: str) -> tuple[Route, ...]:
    try:
        return read_routes(text)
    except InvalidEdit:
        return ()


def _plain(hosts: list[str]) -> Iterator[str]:
    """Those that can be asked for: a wildcard is no name."""
    return (host for host in hosts[:_TRIED] if not host.startswith("*."))


def _within(host: str, other: str) -> bool:
    return other.startswith("*.") and host.endswith(other[1:])


def _unwell(answer: Answer | None) -> str | None:
    return None if answer is not None and answer.status < 500 else f"it {_told(answer)}"


def _told(answer: Answer | None) -> str:
    if answer is None:
        return "does not answer"
    return "is refused by the proxy" if answer.refused else f"answers {answer.status}"
