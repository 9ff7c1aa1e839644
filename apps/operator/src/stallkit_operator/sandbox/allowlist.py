"""The hosts that an egress proxy lets through, one a line, rendered to tinyproxy's filter.  Pure.

    registry.example.org      # exactly this host
    *.example.net             # every host below it, not itself

Each becomes an anchored pattern: ``example.org``, taken for one as it is, would let ``example.org.evil.test`` through.
"""

from __future__ import annotations

import re

from stallkit_operator.sandbox.routes import InvalidEdit

__all__ = ["Hosts", "read_hosts", "render_tinyproxy"]

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
