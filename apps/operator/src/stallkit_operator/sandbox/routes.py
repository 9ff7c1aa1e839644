"""`routes.json`, what a credential proxy lets an agent reach, rendered to an include for nginx.  Pure.

    {"routes": [{"path": "/github/", "upstream": "https://api.github.com/", "auth": "github"}]}

A request below `path` goes to `upstream` with the credential of the name `auth` in its header; the credential itself is
a variable of nginx, ``$credential_github``, which a file of the operator's defines: it is in neither of the two files.
Each answer names the include that it came through (`HEADER`), which is how a reload is known to have happened.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from attrs import frozen

HEADER = "X-Stallkit-Config"
CONFIG_PATH = "/supervise/config"  # answered by the proxy itself, with the header
EMPTY = '{\n  "routes": []\n}\n'
MOST = 500  # routes
_RESERVED = "/supervise/"
_FIELDS = {  # what each looks like, and how a person is told so
    "path": (
        re.compile(r"/(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,80}/?){0,10}"),
        "path begins with /, and has letters, digits, . _ ~ - between single /",
    ),
    "upstream": (
        re.compile(r"https?://[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250})(?::\d{1,5})?(?:/[A-Za-z0-9._~/-]{0,200})?"),
        "upstream is http:// or https://, a host, perhaps a port and a path, and nothing else",
    ),
    "auth": (
        re.compile(r"[a-z][a-z0-9_]{0,40}"),
        "auth is the name of a credential (lower case letters, digits, _), never the credential",
    ),
    "header": (re.compile(r"[A-Za-z][A-Za-z0-9-]{0,60}"), "header is the name of a header"),
    "scheme": (re.compile(r"[A-Za-z]{0,20}"), "scheme is a word, as Bearer, or empty"),
    "probe": (re.compile(r"/[A-Za-z0-9._~/?&=%-]{0,300}"), "probe is a path below the route's own"),
}
_SOCKET = re.compile(r"/[A-Za-z0-9._/@+-]+")


class InvalidEdit(ValueError):
    """A configuration that must not reach its proxy; `line` is 1-based, None if it is unknown."""

    def __init__(self, why: str, line: int | None = None) -> None:
        self.line = line
        super().__init__(why if line is None else f"line {line}: {why}")


@frozen
class Route:
    """What is below `path` goes to `upstream`; `probe` is what is asked for to see that it does."""

    path: str
    upstream: str
    auth: str | None = None
    header: str = "Authorization"
    scheme: str = "Bearer"
    probe: str | None = None


def read_routes(text: str) -> tuple[Route, ...]:
    """The routes of a file.  Raises InvalidEdit; no value of the file is in its words."""
    try:
        data = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise InvalidEdit(f"it is not JSON: {error.msg}", error.lineno) from error
    except RecursionError as error:
        raise InvalidEdit("it is nested too deeply") from error
    if not isinstance(data, dict) or set(data) != {"routes"} or not isinstance(data["routes"], list):
        raise InvalidEdit('it is {"routes": [...]}')
    if len(data["routes"]) > MOST:
        raise InvalidEdit(f"it has more than {MOST} routes")
    routes = tuple(_route(number, one) for number, one in enumerate(data["routes"], 1))
    paths = [route.path for route in routes]
    if twice := next((number for number, path in enumerate(paths, 1) if path in paths[: number - 1]), None):
        raise InvalidEdit(f"route {twice}: another route has the same path")
    return routes


def _route(number: int, data: object) -> Route:
    where = f"route {number}"
    if not isinstance(data, dict):
        raise InvalidEdit(f"{where}: it is an object")
    if unknown := sorted(set(data) - set(_FIELDS)):
        raise InvalidEdit(f"{where}: unknown key {unknown[0][:40]!r}, known are {', '.join(_FIELDS)}")
    for name in ("path", "upstream"):
        if name not in data:
            raise InvalidEdit(f"{where}: {name} is missing")
    for name, value in data.items():
        pattern, wanted = _FIELDS[name]
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise InvalidEdit(f"{where}: {wanted}")
    if data["path"].startswith(_RESERVED):
        raise InvalidEdit(f"{where}: {_RESERVED} is the endpoint's own")
    probe = str(data.get("probe", data["path"]))
    if not probe.partition("?")[0].startswith(data["path"]):
        raise InvalidEdit(f"{where}: its probe is not below its path")
    return Route(**data)


def render_nginx(routes: tuple[Route, ...], notify: str | None = None) -> str:
    """The include, for the inside of a `server` block; `notify` is the path of the sandbox's notification socket.

    A held notice has no time-out below 8 days, and is never sent twice.  Raises InvalidEdit for a socket whose path
    nginx would read as more than a path.
    """
    if notify is not None and not _SOCKET.fullmatch(notify):
        raise InvalidEdit("the notification socket's path has other than letters, digits and . _ / @ + -")
    body = "\n".join([*_notify(notify), *(line for route in routes for line in _location(route))])
    digest = hashlib.sha256(body.encode()).hexdigest()[:16]
    return f"# Made by `stallkit sandbox routes edit` from routes.json: edit that.\n{body}\n".replace(_DIGEST, digest)


def digest_of(rendered: str) -> str | None:
    """What `HEADER` has in answers through this include; None if it is none of ours."""
    found = re.search(rf"add_header {HEADER} ([0-9a-f]{{16}}) always;", rendered)
    return found[1] if found else None


_DIGEST = "@digest@"
_MARK = f"    add_header {HEADER} {_DIGEST} always;"


def _notify(socket: str | None) -> list[str]:
    lines = [f"location = {CONFIG_PATH} {{", _MARK, "    return 204;", "}"]
    if socket is None:
        return lines
    return [
        *lines,
        "location = /supervise/notify {",
        f"    proxy_pass http://unix:{socket}:/supervise/notify;",
        "    proxy_http_version 1.1;",
        "    proxy_set_header Host localhost;",
        '    proxy_set_header Connection "";',
        "    proxy_read_timeout 8d;",
        "    proxy_send_timeout 8d;",
        "    proxy_buffering off;",
        "    proxy_next_upstream off;",
        "    client_max_body_size 128k;",
        "}",
    ]


def _location(route: Route) -> list[str]:
    prefix = route.path.endswith("/")
    has_path = route.upstream.partition("://")[2].count("/") > 0
    lines = [
        f"location {'' if prefix else '= '}{route.path} {{",
        f"    proxy_pass {route.upstream}{'' if has_path else '/'};",
        "    proxy_http_version 1.1;",
        '    proxy_set_header Connection "";',
        '    proxy_set_header Cookie "";',
    ]
    if route.auth is not None:
        scheme = f"{route.scheme} " if route.scheme else ""
        lines.append(f'    proxy_set_header {route.header} "{scheme}$credential_{route.auth}";')
    if route.upstream.startswith("https:"):
        lines += ["    proxy_ssl_server_name on;", "    proxy_ssl_verify on;"]
    return [*lines, f"    proxy_hide_header {HEADER};", _MARK, "}"]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidEdit("a key occurs twice in one object")
    return found
