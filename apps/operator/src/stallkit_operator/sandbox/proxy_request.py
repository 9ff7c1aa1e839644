"""One request to a proxy, or through it, to see whether it serves what it should."""

from __future__ import annotations

import http.client
from contextlib import closing
from urllib.parse import urlsplit

from attrs import frozen

from stallkit_operator.sandbox.routes import HEADER

__all__ = ["Answer", "connect", "fetch"]


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
