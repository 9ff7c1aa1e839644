"""Notices by apprise, to a real server on this machine."""

from __future__ import annotations

import http.server
import json
import threading
from typing import Any, Iterator

import pytest
from stallkit_supervisor.notify.channels import Channels, NotifySettings, channels_of
from stallkit_supervisor.notify.hooks import Apprise
from told_events import said

from stallkit.errors import ConfigError

# of the standard library, which apprise imports
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


class Server(http.server.HTTPServer):
    got: list[dict[str, Any]]
    answers = 200


class Takes(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.answers)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Takes)
    made.got = []
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def test_a_notice_arrives_without_secrets(server: Server) -> None:
    place = Apprise([f"json://127.0.0.1:{server.server_port}/token-8fJ2"])
    assert place.deliver(said(target="tmux:w1", what="waits", line="Proceed? [y/N]")) == "sent"
    assert (
        place.deliver(
            said(
                target="tmux:w1",
                what="waits",
                line=f"AWS_SECRET_ACCESS_KEY={SECRET}",
            )
        )
        == "sent"
    )
    assert place.deliver(said("cleared")) == "not told: a message cannot be taken back"
    first, second = server.got
    assert (first["title"], first["message"]) == ("w1 waits for an answer", "Proceed? [y/N]")
    assert SECRET not in str(second)
    assert place.name == "apprise json", "an address holds a token"


def test_one_that_refuses_is_named_and_the_others_are_told(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    place = Apprise(["json://127.0.0.1:1/token-8fJ2", f"form://127.0.0.1:{server.server_port}"])
    server.answers = 500
    with pytest.raises(OSError, match=r"^json, form did not take it$"):
        place.deliver(said(target="tmux:w1", what="waits", line="Proceed? [y/N]"))
    assert "token" not in "".join(capfd.readouterr())


def test_an_address_that_apprise_does_not_know_is_refused_without_being_shown() -> None:
    with pytest.raises(ConfigError, match="address 2") as refused:
        channels_of(Channels(shown=NotifySettings(apprise=["json://localhost", "nowhere://token-8fJ2"])))
    assert "token" not in str(refused.value)
