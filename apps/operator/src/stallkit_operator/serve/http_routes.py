"""JSON-RPC over HTTP: routes beside those at which agents ask, behind a gate of their own."""

from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Iterator, Sequence

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from stallkit.daemon_socket import bound, listens
from stallkit.errors import StallkitError
from stallkit_operator.agent_server import BACKLOG
from stallkit_operator.endpoint import Gate, Tcp, body_of, response
from stallkit_operator.item import Who
from stallkit_operator.serve.json_rpc import WRONG, answered
from stallkit_operator.serve.methods import METHODS, Services

_ERRORS = {
    "401": "over TCP: no token, or an unknown one",
    "403": "a web page of another origin asks",
    "408": "the request did not arrive in time",
    "413": "the request is longer than 65,536 bytes",
    "415": "the body is not of the type application/json",
    "421": "over TCP: a Host that is not served",
    "431": "headers longer than 16,384 bytes",
}


def routes(services: Services, gate: Gate) -> list[Route]:
    """``POST /rpc`` and ``GET /rpc/openapi.json``, for whoever passes the gate."""

    async def rpc(request: Request) -> Response:
        name = gate.sandbox(request)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise HTTPException(415, "a request is of the type application/json")  # no web page sends that unasked
        data = await body_of(request)
        found = await asyncio.to_thread(answered, data, services, Who(name, "stallkit serve, HTTP"), True)
        if found is None:
            return Response(status_code=204)
        return JSONResponse(found, 400 if found.get("error", {}).get("code") in WRONG else 200)

    async def page(request: Request) -> Response:
        gate.sandbox(request)
        return JSONResponse(openapi())

    return [Route("/rpc", rpc, methods=["POST"]), Route("/rpc/openapi.json", page, methods=["GET"])]


def openapi() -> dict[str, Any]:
    """The OpenAPI page."""
    answer = {
        "type": "object",
        "required": ["jsonrpc", "id"],
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "id": {"type": ["string", "number", "null"]},
            "result": {"type": "object", "required": ["version"]},
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
            },
        },
        "oneOf": [{"required": ["result"]}, {"required": ["error"]}],
    }
    text = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
    errors = {code: response(about, text) for code, about in _ERRORS.items()}
    errors["400"] = response("what is asked is wrong, or could be read twice", {"anyOf": [answer, text]})
    shared = {code: errors[code] for code in ("401", "403", "421", "431")}
    body = {"application/json": {"schema": {"oneOf": [_request(name) for name in METHODS]}}}
    responses = {"200": response("the answer, or an error", answer), "204": {"description": "to a notification"}}
    post = {
        "operationId": "rpc",
        "summary": "One request of JSON-RPC 2.0.",
        "requestBody": {"required": True, "content": body},
        "responses": {**responses, **errors},
    }
    get = {"operationId": "openapi", "responses": {"200": response("this page", {"type": "object"}), **shared}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "stallkit serve", "version": "1", "description": "Who waits, why, and a reply."},
        "paths": {"/rpc": {"post": post}, "/rpc/openapi.json": {"get": get}},
    }


def _request(name: str) -> dict[str, Any]:
    method = METHODS[name]
    params = {
        "type": "object",
        "properties": {key: dict(schema) for key, schema in method.params.items()},
        "required": [*method.needs],
        "additionalProperties": False,
        **({"oneOf": [{"required": [name]} for name in method.either]} if method.either else {}),
    }
    properties = {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["string", "number", "null"], "description": "left out: nothing is answered"},
        "method": {"const": name},
        "params": params,
    }
    needed = ["jsonrpc", "method", *(["params"] if method.needs else [])]
    return {"type": "object", "description": method.about, "properties": properties, "required": needed}


@contextmanager
def opened(folder: Path, operator: str, tcp: Tcp | None = None) -> Iterator[tuple[Sequence[socket.socket], Gate]]:
    """The open sockets, and the gate that says who asks: `operator` at ``http.sock``, else whose the token is.

    Raises StallkitError if another process serves there, OSError.
    """
    with ExitStack() as stack:
        for name in ("rpc.sock", "http.sock"):
            if (folder / name).exists() and listens(folder / name):
                raise StallkitError("serve", str(folder / name), "another process serves it", "end that one first")
        made = stack.enter_context(bound(folder / "http.sock"))
        stack.callback((folder / "http.sock").unlink, missing_ok=True)
        sockets = [made]
        if tcp is not None:
            sockets.append(stack.enter_context(socket.create_server((tcp.host, tcp.port), backlog=BACKLOG)))
            tcp = tcp.at(sockets[-1].getsockname()[1])
        yield sockets, Gate({str(made.getsockname()): operator}, tcp)
