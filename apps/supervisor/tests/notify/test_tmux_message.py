"""Messages and marks in a real tmux, as a person at a client of it sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import pytest
from stallkit_supervisor.notify.tmux_message import MARK, TmuxMessage
from terminals import Server, wait_for
from tmux_in_tmux import Seat
from told_events import SECRET, said

from stallkit.transports.base import Options

pytestmark = pytest.mark.e2e

FORMAT = f"#I:#W#{{?{MARK}, (#{{{MARK}}}),}}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "watched").mkdir()
    made = Server(tmp_path / "watched")
    made.tmux("new-session", "-d", "-s", "one", "-n", "first", "-x", "100", "-y", "24", "sh", "-c", "echo here; cat")
    made.tmux("new-window", "-d", "-t", "one", "-n", "second", "cat")
    for option in ("window-status-format", "window-status-current-format"):
        made.tmux("set-option", "-g", option, FORMAT)
    yield made
    made.end()


@pytest.fixture
def seat(server: Server, tmp_path: Path) -> Iterator[Seat]:
    made = Seat(server, tmp_path / "seat")
    made.sees("here")
    yield made
    made.end()


def test_each_client_is_shown_a_message_and_the_window_is_marked(server: Server, seat: Seat) -> None:
    tmux = TmuxMessage(server.options)
    done = tmux.deliver(said(target="tmux:one:1.0", what="asks", line="Shall I continue?"))
    assert done == "shown to 1 client, the window is marked"
    seat.sees("stallkit: one:1.0 asks a question: Shall I continue?")
    seat.press("x")  # it ends the message
    seat.sees("0:first", "1:second (asks)")
    assert tmux.deliver(said("cleared", target="tmux:one:1.0")) == "the mark is taken away"
    wait_for(lambda: "asks" not in seat.status, "the mark's end")


def test_the_key_that_ends_a_message_reaches_the_program(server: Server, seat: Seat) -> None:
    TmuxMessage(server.options).deliver(said(what="waits", line="Proceed?"))
    seat.sees("one waits for an answer")
    seat.press("x")
    wait_for(lambda: "x" in server.tmux("capture-pane", "-p", "-t", "one:0"), "the key in the pane")


def test_nothing_in_a_notice_is_a_format_or_a_style(server: Server, seat: Seat) -> None:
    text = "#{pid} #(id) #[fg=red] 100% %H:%M ; $HOME 'a' \"b\""
    TmuxMessage(server.options).deliver(said(what="waits", line=text))
    seat.sees(f"stallkit: one waits for an answer: {text.replace('#[', '# [')}")


def test_a_secret_is_not_shown(server: Server, seat: Seat) -> None:
    TmuxMessage(server.options).deliver(said(what="waits", line=f"the key {SECRET}"))
    seat.sees("one waits for an answer: the key")
    assert SECRET.encode() not in seat.raw


def test_without_a_client_it_says_so(server: Server) -> None:
    tmux = TmuxMessage(server.options)
    assert tmux.deliver(said(what="waits")) == "no client is attached, the window is marked"
    assert tmux.deliver(said(target="other:elsewhere")) == "no client is attached"
    assert tmux.deliver(said(target="tmux:none", what="gone")) == "no client is attached"
    assert tmux.deliver(said("cleared", target="tmux:none")) == "no mark to take away"


def marks(server: Server) -> list[str]:
    return server.tmux("list-windows", "-a", "-F", f"#{{{MARK}}}").split()


def test_at_its_end_no_mark_is_left(server: Server) -> None:
    tmux = TmuxMessage(server.options)
    for target in ("tmux:one:0.0", "tmux:one:1.0"):
        tmux.deliver(said(target=target, what="waits"))
    assert marks(server) == ["waits", "waits"]
    tmux.close()
    assert marks(server) == []


def test_a_mark_stays_while_another_pane_of_the_window_needs_somebody(server: Server) -> None:
    server.tmux("split-window", "-t", "one:0", "cat")
    tmux = TmuxMessage(server.options)
    for target in ("tmux:one:0.0", "tmux:one:0.1"):
        tmux.deliver(said(target=target, what="waits"))
    tmux.deliver(said("cleared", target="tmux:one:0.0"))
    assert marks(server) == ["waits"]
    tmux.deliver(said("cleared", target="tmux:one:0.1"))
    assert marks(server) == []


def test_what_a_killed_process_marked_is_taken_away(server: Server) -> None:
    TmuxMessage(server.options).deliver(said(target="tmux:one:0.0", what="waits"))  # and no more of it
    TmuxMessage(server.options).deliver(said(target="tmux:one:1.0", what="asks"))
    assert marks(server) == ["asks"]


def test_a_server_that_is_gone_is_an_error_of_one_line(tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught:
        TmuxMessage(Options(tmux_socket_path=str(tmp_path / "none"))).deliver(said())
    assert "\n" not in str(caught.value)
