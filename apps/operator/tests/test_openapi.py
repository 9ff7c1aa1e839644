"""Schemathesis over the OpenAPI page, at a real socket: each answer is as the page says, and nothing breaks."""

from __future__ import annotations

import json
import socket
import threading
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
from terminals import wait_for

pytestmark = pytest.mark.e2e

SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
TOKEN = "t" * 40


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An endpoint, behind which a person answers everything at once."""
    desk = Desk(tmp_path_factory.mktemp("openapi"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    tokens = desk.folder / "sandboxes"
    tokens.write_text(f"web {TOKEN}\n")
    tokens.chmod(0o600)
    desk.begin(
        *("stuck", "serve", "--listen", f"127.0.0.1:{port}", "--token-file", str(tokens)),
        *("--allow-host", f"127.0.0.1:{port}"),
    )
    wait_for(lambda: "listening" in (desk.folder / "out").read_text(), "the endpoint")
    over = threading.Event()
    person = threading.Thread(target=answer_all, args=(desk.folder / "state" / "queue.db", over))
    person.start()
    yield f"http://127.0.0.1:{port}"
    over.set()
    person.join()
    desk.end()


def answer_all(path: Path, over: threading.Event) -> None:
    with closing(Queue(path)) as queue:
        while not over.wait(0.02):
            for item in queue.items():
                queue.close_item(item.id, ItemState.ANSWERED, Who("ada", "a test"), "yes")


@SCHEMA.parametrize()
@settings(max_examples=40, deadline=None)
def test_each_answer_is_as_the_page_says(case: schemathesis.Case, address: str) -> None:
    case.call_and_validate(base_url=address, headers={"Authorization": f"Bearer {TOKEN}"})


def test_the_page_is_served_as_it_is_here(address: str) -> None:
    import urllib.request

    asked = urllib.request.Request(f"{address}/openapi.json", headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(asked) as answer:
        assert json.load(answer) == DOCUMENT
