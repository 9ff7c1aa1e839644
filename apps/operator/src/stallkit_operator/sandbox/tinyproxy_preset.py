"""tinyproxy: hosts are rendered to its filter, which it reads at a restart.

At a signal it reads its files without a lock beside its threads, and may die of it.  So the operator's `restart` is
run; without one there is the signal alone, and the edit says so.
"""

from __future__ import annotations

import re
from pathlib import Path

from attrs import define

from stallkit_operator.sandbox.preset import TRIED, Answer, Base, RemedyFailed, connect, fetch, told
from stallkit_operator.sandbox.routes import InvalidEdit

__all__ = ["Hosts", "Tinyproxy", "read_hosts", "render_tinyproxy"]


# --- the hosts that an egress proxy lets through, one a line, rendered to tinyproxy's filter ---

Hosts = tuple[str, ...]
MOST = 5_000
_HOST = re.compile(r"(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.){0,10}[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


def read_hosts(text: str) -> Hosts:
    """The hosts in order, in lower case.  Raises InvalidEdit, with the line.

    >>> read_hosts("Registry.example.org  # packages")
    ('registry.example.org',)
    """
    found: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        host = line.partition("#")[0].strip().lower()
        if not host:
            continue
        if len(host) > 253 or not _HOST.fullmatch(host):
            raise InvalidEdit("it is no host: one name a line, or *.NAME; no scheme, port, path or pattern", number)
        if host.startswith("*.") and "." not in host[2:]:
            raise InvalidEdit(
                "*. needs a name of two parts at least: it would let a whole top-level domain through", number
            )
        if host in found:
            raise InvalidEdit("this host is there twice", number)
        found.append(host)
    if len(found) > MOST:
        raise InvalidEdit(f"it has more than {MOST:,} hosts")
    return tuple(found)


def render_tinyproxy(hosts: Hosts) -> str:
    """The filter: patterns that are the same as basic and as extended regular expressions.

    >>> print(render_tinyproxy(("a.example.org", "*.example.net")), end="")
    ^a[.]example[.]org$
    ^[a-z0-9_.-]*[.]example[.]net$
    """
    return "".join(f"{_pattern(host)}\n" for host in hosts)


def _pattern(host: str) -> str:
    below = host.startswith("*.")
    name = host.removeprefix("*.").replace(".", "[.]")
    return f"^{'[a-z0-9_.-]*[.]' if below else ''}{name}$"


@define
class Tinyproxy(Base):
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

    def reload(self) -> None:
        super().reload()
        if not (self.proxy.reload or self.proxy.restart):
            self.noted.append(f"{self.proxy.name} was signalled, and may end of that while it serves: give a `restart`")

    def probe(self, before: str, after: str, rendered: str | None) -> None:
        self.until(lambda: None if self.answers() else f"{self.url} does not answer")
        old, new = _hosts(before), _hosts(after)
        gone = [host for host in old if host not in new and not any(_within(host, other) for other in new)]
        added = [host for host in new if host not in old]
        for host in _plain(gone)[:TRIED]:
            self.until(lambda host=host: self._refuses(host))  # type: ignore[misc]
        self.try_all(self._allows, _plain(added))
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
        return None if answer is not None and answer.refused else f"{host} {told(answer)}, and is no longer allowed"

    def _allows(self, host: str) -> str | None:
        """Wait until it is; a note if it does not answer."""
        wanted = f"{host} is refused by the proxy, and is allowed now"
        answer = self.let_through(lambda: self._asked(host), lambda answer: wanted if answer.refused else None)
        return None if answer is not None and answer.status < 500 else f"{host} is allowed, and {told(answer)} now"

    def _asked(self, host: str) -> Answer | None:
        if self.proxy.probe:
            return fetch(self.url, self.proxy.probe.replace("{host}", host), self.proxy.timeout_s)
        answer = connect(self.url, f"{host}:443", self.proxy.timeout_s)
        if answer is None or answer.refused or answer.status < 500:
            return answer
        return fetch(self.url, f"http://{host}/", self.proxy.timeout_s)


_SPELT = {"filterdefaultdeny": "FilterDefaultDeny", "filter": "Filter"}


def _hosts(text: str) -> tuple[str, ...]:
    """The hosts; none of a text that another program wrote."""
    try:
        return read_hosts(text)
    except InvalidEdit:
        return ()


def _plain(hosts: list[str]) -> list[str]:
    """Those that can be asked for: a wildcard is no name."""
    return [host for host in hosts if not host.startswith("*.")]


def _within(host: str, other: str) -> bool:
    return other.startswith("*.") and host.endswith(other[1:])
