"""Notices of the desktop, over a real session bus, with a small notification server at its other end."""

from __future__ import annotations

from typing import Iterator

import pytest
from notification_server import NotificationServer, SessionBus
from stallkit_supervisor.notify.desktop import Desktop
from told_events import SECRET, said


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Iterator[SessionBus]:
    made = SessionBus()
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", made.address)
    yield made
    made.end()


@pytest.fixture
def server(bus: SessionBus) -> Iterator[NotificationServer]:
    made = NotificationServer(bus)
    yield made
    made.end()


@pytest.fixture
def desktop() -> Iterator[Desktop]:
    made = Desktop()
    yield made
    made.close()


def test_a_notice_is_shown_shown_again_in_its_place_and_closed(server: NotificationServer, desktop: Desktop) -> None:
    assert desktop.deliver(said(what="asks", message="Shall I continue?")) == "shown"
    assert desktop.deliver(said(target="tmux:two", what="waits", line="[y/N]")) == "shown"
    assert desktop.deliver(said(what="asks", message="Shall I continue?", times=2)) == "shown again in its place"
    assert [*server.shown.values()] == [
        ("stallkit", "one still asks a question", "Shall I continue?"),
        ("stallkit", "two waits for an answer", "[y/N]"),
    ]
    assert desktop.deliver(said("cleared")) == "closed"
    assert desktop.deliver(said("cleared")) == "nothing to close"
    assert [title for _, title, _ in server.shown.values()] == ["two waits for an answer"]


def test_what_a_person_closed_is_no_error(server: NotificationServer, desktop: Desktop) -> None:
    desktop.deliver(said(what="waits"))
    server.dismiss(1)
    assert desktop.deliver(said("cleared")) == "closed"


@pytest.mark.parametrize(
    ("capabilities", "shown"),
    [(("body",), "<b>rm</b> & co"), (("body", "body-markup"), "&lt;b&gt;rm&lt;/b&gt; &amp; co")],
)
def test_no_text_is_read_as_markup(
    bus: SessionBus, desktop: Desktop, capabilities: tuple[str, ...], shown: str
) -> None:
    server = NotificationServer(bus, capabilities)
    desktop.deliver(said(what="waits", line=f"<b>rm</b> & co {SECRET}"))
    assert server.shown[1][2] == f"{shown} [redacted]"
    server.end()


def test_a_server_that_was_started_again_is_found(bus: SessionBus, desktop: Desktop) -> None:
    first = NotificationServer(bus)
    desktop.deliver(said(what="waits"))
    first.end()
    with pytest.raises(OSError, match="no notification server is on the session bus"):
        desktop.deliver(said(target="tmux:two", what="waits"))
    second = NotificationServer(bus, ("body", "body-markup"))
    assert desktop.deliver(said(target="tmux:two", what="waits", line="<b>")) == "shown"
    assert second.shown[1][2] == "&lt;b&gt;", "what it reads is asked again"
    second.end()


def test_a_bus_that_was_lost_is_found_again(monkeypatch: pytest.MonkeyPatch, desktop: Desktop) -> None:
    for _ in range(2):
        bus = SessionBus()
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.address)
        server = NotificationServer(bus)
        desktop.deliver(said(what="waits"))
        assert len(server.shown) == 1
        server.end()
        bus.end()
    with pytest.raises(OSError, match="the session bus does not answer"):
        desktop.deliver(said(what="waits"))


def test_without_a_session_bus_it_says_so(monkeypatch: pytest.MonkeyPatch, desktop: Desktop) -> None:
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    with pytest.raises(OSError, match=r"there is no session bus: \$DBUS_SESSION_BUS_ADDRESS is not set"):
        desktop.deliver(said(what="waits"))
