"""JSON-RPC 2.0 over the methods: one request in, one answer out.  Pure but for the methods themselves."""

from __future__ import annotations

import json
from typing import Any, Mapping

from stallkit.errors import StallkitError
from stallkit.redact.redact import redact
from stallkit_operator.item import Who
from stallkit_operator.serve.methods import METHODS, InvalidParams, Services

__all__ = ["FAILED", "INVALID", "LONGEST", "WRONG", "answered", "failure"]

LONGEST = 65_536  # bytes of a request
PARSE, INVALID, NO_METHOD, PARAMS, FAILED = -32700, -32600, -32601, -32602, -32000
WRONG = frozenset({PARSE, INVALID, NO_METHOD, PARAMS})  # with the request itself


def answered(data: bytes | str, services: Services, who: Who, wrong_too: bool = False) -> dict[str, Any] | None:
    """The answer to a request; None to a notification, which has no id.  Batches are refused.  Never raises.

    `wrong_too`: a notification that is wrong itself is answered as well, where there is a way to, as HTTP has.

    >>> from stallkit_operator.item import Who
    >>> answered('{"jsonrpc": "2.0", "id": 7, "method": "sing"}', None, Who("ada", "a test"))["error"]["code"]
    -32601
    """
    try:
        request = json.loads(data)
    except (ValueError, RecursionError):
        return failure(None, PARSE, "not JSON in UTF-8")
    if not isinstance(request, dict) or request.get("jsonrpc") != "2.0" or not _is_id(request.get("id")):
        return failure(None, INVALID, 'a request is {"jsonrpc": "2.0", "id": 1, "method": NAME, "params": {...}}')
    id = request.get("id")
    found = _result(request, id, services, who)
    told = "id" in request or (wrong_too and found.get("error", {}).get("code") in WRONG)
    return found if told else None


def failure(id: Any, code: int, why: str) -> dict[str, Any]:
    """The answer that says what is wrong, in one line, redacted."""
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": redact(why)}}


def _result(request: Mapping[str, Any], id: Any, services: Services, who: Who) -> dict[str, Any]:
    name, params = request.get("method"), request.get("params", {})
    if not isinstance(name, str) or name not in METHODS:
        return failure(id, NO_METHOD, f"there is no method {str(name)[:60]!r}: there are {', '.join(METHODS)}")
    if not isinstance(params, dict):
        return failure(id, PARAMS, "params are an object: name them")
    try:
        return {"jsonrpc": "2.0", "id": id, "result": METHODS[name](services, params, who)}
    except InvalidParams as error:
        return failure(id, PARAMS, str(error))
    except StallkitError as error:
        return failure(id, FAILED, str(error))
    except Exception as error:  # a fault of ours must not end the connection of a client
        return failure(id, FAILED, f"this is a bug in stallkit, {type(error).__name__}: {error}")


def _is_id(id: Any) -> bool:
    return id is None or isinstance(id, str) or (isinstance(id, (int, float)) and not isinstance(id, bool))
