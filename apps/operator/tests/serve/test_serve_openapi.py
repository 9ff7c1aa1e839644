"""Schemathesis over the page of `stallkit serve`, over TCP with a token: each answer is as the page says."""

from __future__ import annotations

import json
import socket
import urllib.request
from typing import Iterator

import pytest
import schemathesis
from hypothesis import settings
from queued import Desk
from stallkit_operator.serve.http_routes import openapi
from terminals import wait_for

pytestmark = pytest.mark.e2e

SCHEMA = schemathesis.openapi.from_dict(openapi())
TOKEN = "t" * 40


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    desk = Desk(tmp_path_factory.mktemp("serve"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tokens := desk.folder / "tokens").write_text(f"ci {TOKEN}\n")
    tokens.chmod(0o600)
    desk.begin("serve", "--listen", f"127.0.0.1:{port}", "--token-file", str(tokens))
    wait_for(lambda: "read-only" in (desk.folder / "out").read_text(), "the server")
    yield f"http://127.0.0.1:{port}"
    desk.end()


@SCHEMA.parametrize()
@settings(max_examples=40, deadline=None)
def test_each_answer_is_as_the_page_says(case: schemathesis.Case, address: str) -> None:
    case.call_and_validate(base_url=address, headers={"Authorization": f"Bearer {TOKEN}"})


def test_the_page_is_served_and_only_with_a_token(address: str) -> None:
    asked = urllib.request.Request(f"{address}/rpc/openapi.json", headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(asked) as answer:
        assert json.load(answer) == openapi()
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{address}/rpc/openapi.json")
