"""The page for a phone at ``/``: one file, which asks ``/rpc`` with the token that stands in its own address.

The token is behind the ``#``, so that no request line and no log has it.  The file itself holds nothing of anybody.
"""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files
from pathlib import Path
from typing import Iterable, Iterator, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stallkit_operator.endpoint import Gate, Tcp

_INLINE = re.compile(rb"<(script|style)>(.*?)</\1>", re.DOTALL)


def route(gate: Gate) -> Route:
    """``GET /``, for every Host that the gate serves."""
    page = (files(__package__) / "page.html").read_bytes()
    headers = headers_of(page)

    async def answer(request: Request) -> Response:
        gate.place(request)
        return Response(page, headers=dict(headers), media_type="text/html")

    return Route("/", answer, methods=["GET"])


def headers_of(page: bytes) -> Mapping[str, str]:
    """What a browser may do with the page: run its own script, and ask where it comes from."""
    own = {kind.decode(): f"{kind.decode()}-src '{_hash(text)}'" for kind, text in _INLINE.findall(page)}
    rules = [
        *("default-src 'none'", *own.values(), "connect-src 'self'", "img-src data:"),
        *("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"),
        *("require-trusted-types-for 'script'", "trusted-types 'none'"),
    ]
    return {
        "content-security-policy": "; ".join(rules),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "cache-control": "no-store",
    }


def _hash(text: bytes) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}"


def origins(hosts: Iterable[str]) -> list[str]:
    """The origins of the page at these hosts; https is that of a proxy before it."""
    return [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]


def ways(tcp: Tcp, hosts: Sequence[str], token_file: Path | None) -> Iterator[str]:
    """Lines that say where the page is, and how a phone gets there; `hosts` are those of ``--allow-host``."""
    token = f"TOKEN, one of {token_file}" if token_file else next(iter(tcp.tokens))
    for host in hosts or [f"{tcp.host}:{tcp.port}"]:
        yield f"page: {'http' if ':' in host else 'https'}://{host}/#token={token}"
    if not tcp.host.startswith("127."):
        yield "it is plain HTTP: let it cross a VPN, never an open network"
    elif not hosts:
        yield f"from a phone: ssh -L {tcp.port}:127.0.0.1:{tcp.port} MACHINE, then open it there; see docs/serve.md"
