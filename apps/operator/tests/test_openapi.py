"""Schemathesis over both OpenAPI pages, at real sockets: each answer is as the page says, and nothing breaks."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Iterator

import pytest
import schemathesis
from hypothesis import settings
from queued import Desk
from stallkit_operator.endpoint import DOCUMENT
from stallkit_operator.item import ItemState, Who
from stallkit_operator.queue import Queue
from stallkit_operator.serve.http_routes import openapi
from terminals import wait_for

pytestmark = pytest.mark.e2e

ENDPOINT, SERVE = (schemathesis.openapi.from_dict(page) for page in (DOCUMENT, openapi()))
TOKEN = "t" * 40
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


def served(desk: Desk, said: str, *words: str, hosts: bool = False) -> str:
    """The address of a server over TCP with a token."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tokens := desk.folder / "tokens").write_text(f"web {TOKEN}\n")
    tokens.chmod(0o600)
    allowed = ("--allow-host", f"127.0.0.1:{port}") if hosts else ()
    desk.begin(*words, "--listen", f"127.0.0.1:{port}", "--token-file", str(tokens), *allowed)
    wait_for(lambda: said in (desk.folder / "out").read_text(), "the server")
    return f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An endpoint, behind which a person answers everything at once."""
    desk = Desk(tmp_path_factory.mktemp("openapi"))
    address = served(desk, "listening", "sandbox", "serve", hosts=True)
    over = threading.Event()
    person = threading.Thread(target=answer_all, args=(desk.folder / "state" / "queue.db", over))
    person.start()
    yield address
    over.set()
    person.join()
    desk.end()


def answer_all(path: Path, over: threading.Event) -> None:
    with closing(Queue(path)) as queue:
        while not over.wait(0.02):
            for item in queue.items():
                queue.close_item(item.id, ItemState.ANSWERED, Who("ada", "a test"), "yes")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    desk = Desk(tmp_path_factory.mktemp("serve"))
    yield served(desk, "read-only", "serve")
    desk.end()


@ENDPOINT.parametrize()
@settings(max_examples=40, deadline=None)
def test_each_answer_of_the_endpoint_is_as_its_page_says(case: schemathesis.Case, endpoint: str) -> None:
    case.call_and_validate(base_url=endpoint, headers=HEADERS)


@SERVE.parametrize()
@settings(max_examples=40, deadline=None)
def test_each_answer_of_serve_is_as_its_page_says(case: schemathesis.Case, server: str) -> None:
    case.call_and_validate(base_url=server, headers=HEADERS)


def test_the_pages_are_served_and_that_of_serve_only_with_a_token(endpoint: str, server: str) -> None:
    for address, page in ((f"{endpoint}/openapi.json", DOCUMENT), (f"{server}/rpc/openapi.json", openapi())):
        with urllib.request.urlopen(urllib.request.Request(address, headers=HEADERS)) as answer:
            assert json.load(answer) == page
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{server}/rpc/openapi.json")
