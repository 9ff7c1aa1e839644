"""The endpoint's OpenAPI page, as a value."""

from __future__ import annotations

from typing import Any

__all__ = ["DOCUMENT"]


def _response(about: str) -> dict[str, Any]:
    text = {"type": "object", "properties": {"text": {"type": "string"}}}
    body = {**text, "required": ["text"], "additionalProperties": False}
    return {"description": about, "content": {"application/json": {"schema": body}}}


_REFUSED = {
    "400": _response("no UTF-8, no words, or an invalid Idempotency-Key"),
    "401": _response("over TCP: no token, or an unknown one"),
    "403": _response("the person declined, and says why; or a web page of another origin asks"),
    "404": _response("no message, and nothing was asked before"),
    "408": _response("the message did not arrive in time"),
    "410": _response("nobody answered in time, or it was cancelled"),
    "413": _response("the message is longer than 65,536 bytes"),
    "421": _response("over TCP: a Host that is not served"),
    "429": _response("too much of this sandbox waits already"),
    "431": _response("headers longer than 16,384 bytes"),
    "503": _response("the endpoint ends, or its disk is full: try again with the same key"),
}
_SHARED = {number: _REFUSED[number] for number in ("401", "403", "421", "431")}

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "stallkit stuck", "version": "1", "description": "Where agents ask a person."},
    "paths": {
        "/supervise/notify": {
            "post": {
                "operationId": "notify",
                "summary": "Ask a person; the connection is held until the answer.",
                "parameters": [
                    {
                        "name": "Idempotency-Key",
                        "in": "header",
                        "required": False,
                        "description": "Made by the client: the same key gets the same message's answer.",
                        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{8,128}$"},
                    },
                    {
                        "name": "Prefer",
                        "in": "header",
                        "required": False,
                        "description": "respond-async: file it, and do not wait; the same key gets the answer.",
                        "schema": {"type": "string"},
                    },
                ],
                "requestBody": {
                    "required": False,
                    "description": "None where the key is known, or for the reply to what a hook asked last.",
                    "content": {"text/plain": {"schema": {"type": "string", "pattern": r"\S", "maxLength": 65536}}},
                },
                "responses": {
                    "200": _response("the reply, verbatim"),
                    "202": _response("filed, and not answered yet: of a request that prefers not to wait"),
                    **_REFUSED,
                },
            }
        },
        "/healthz": {
            "get": {
                "operationId": "healthz",
                "summary": "Whether the endpoint answers, and can read its queue.",
                "responses": {"200": _response("it does"), "503": _REFUSED["503"], **_SHARED},
            }
        },
        "/openapi.json": {
            "get": {
                "operationId": "openapi",
                "summary": "This page.",
                "responses": {
                    "200": {
                        "description": "the page",
                        "content": {"application/json": {"schema": {"type": "object"}}},
                    },
                    **_SHARED,
                },
            }
        },
    },
}
