"""Where a person sits: a desktop over a real session bus, a real pty, a client of a real tmux; `config notify`."""

from __future__ import annotations

import base64
import json
import os
import pty
import re
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jeepney import HeaderFields, MessageType, new_error, new_method_return
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import Proxy, open_dbus_connection
from posted import Site
from stallkit_supervisor.notify.channels import (
    BELL,
    CODES,
    MARK,
    Code,
    Desktop,
    Terminal,
    TmuxMessage,
    codes,
    in_tmux,
    osc_of,
    taken_away,
)
from stallkit_supervisor.notify.notice import Notice
from terminals import Server, wait_for
from told_events import SECRET, said

from stallkit.terminal.osc_stream import OscReader
from stallkit.transports.base import Options

NAME = "org.freedesktop.Notifications"


class SessionBus:
    """A session bus of its own, at `address`."""

    def __init__(self) -> None:
        self._daemon = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._daemon.stdout is not None
        self.address = self._daemon.stdout.readline().strip()

    def end(self) -> None:
        self._daemon.terminate()
        self._daemon.communicate()


class NotificationServer:
    """Answers Notify, CloseNotification and GetCapabilities; `shown` is what a person would see now."""

    def __init__(self, bus: SessionBus, capabilities: tuple[str, ...] = ("body",)) -> None:
        self.shown: dict[int, tuple[str, str, str]] = {}
        self.calls: list[str] = []
        self._capabilities, self._latest = capabilities, 0
        self._bus = open_dbus_connection(bus.address)
        assert Proxy(message_bus, self._bus).RequestName(NAME)[0] == 1
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def dismiss(self, number: int) -> None:
        """A person closes it."""
        del self.shown[number]

    def _serve(self) -> None:
        with suppress(OSError, EOFError):
            while True:
                message = self._bus.receive()
                if message.header.message_type is MessageType.method_call:
                    self._answer(message)

    def _answer(self, message: Any) -> None:
        method, words = message.header.fields[HeaderFields.member], message.body
        self.calls.append(method)
        match method:
            case "GetCapabilities":
                self._bus.send(new_method_return(message, "as", (list(self._capabilities),)))
            case "Notify":
                application, before, _, title, body, *_ = words
                if not before:
                    self._latest += 1
                number = before or self._latest
                self.shown[number] = (application, title, body)
                self._bus.send(new_method_return(message, "u", (number,)))
            case "CloseNotification" if words[0] in self.shown:
                del self.shown[words[0]]
                self._bus.send(new_method_return(message))
            case _:
                self._bus.send(new_error(message, f"{NAME}.Error"))

    def end(self) -> None:
        self._bus.sock.shutdown(2)
        self._thread.join()
        self._bus.close()


class Seat:
    """What a person at a client of a tmux server sees, and what that client sends to its terminal."""

    def __init__(self, watched: Server, folder: Path, term: str = "xterm-256color", session: str = "one") -> None:
        folder.mkdir()
        self._server, self._raw = Server(folder), folder / "raw"
        words = ("env", "-u", "TMUX", f"TERM={term}", "tmux", "-u", "-S", str(watched.socket), "attach", "-t", session)
        self._server.tmux("new-session", "-d", "-s", "seat", "-x", "100", "-y", "24", "sleep", "1000")
        self._server.tmux("pipe-pane", "-t", "seat", f"cat >> {self._raw}")
        self._server.tmux("respawn-pane", "-k", "-t", "seat", *words)
        wait_for(lambda: watched.tmux("list-clients").strip(), "a client")

    @property
    def screen(self) -> str:
        return self._server.tmux("capture-pane", "-p", "-t", "seat")

    @property
    def status(self) -> str:
        """Its last line: the status line of the watched server, or a message in its place."""
        return self.screen.rstrip("\n").rpartition("\n")[2]

    def sees(self, *parts: str) -> str:
        """The first screen with all of these."""
        wait_for(lambda: all(part in self.screen for part in parts), f"{parts} in\n{self.screen}")
        return self.screen

    def press(self, key: str) -> None:
        self._server.tmux("send-keys", "-t", "seat", key)

    @property
    def notices(self) -> list[bytes]:
        """The OSC 9, 99 and 777 that its terminal got."""
        return re.findall(rb"\x1b\](?:9|99|777);[^\x1b\x07]*\x1b\\", self.raw)

    @property
    def raw(self) -> bytes:
        """Everything that its terminal got."""
        return self._raw.read_bytes() if self._raw.exists() else b""

    def end(self) -> None:
        self._server.end()


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Iterator[SessionBus]:
    made = SessionBus()
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", made.address)
    yield made
    made.end()


@pytest.fixture
def desktop() -> Iterator[Desktop]:
    made = Desktop()
    yield made
    made.close()


def test_a_notice_is_shown_shown_again_in_its_place_and_closed(bus: SessionBus, desktop: Desktop) -> None:
    server = NotificationServer(bus)
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
    server.dismiss(2)
    assert desktop.deliver(said("cleared", target="tmux:two")) == "closed", "what a person closed is no error"
    server.end()


def test_no_text_is_read_as_markup_also_by_a_server_that_was_started_again(bus: SessionBus, desktop: Desktop) -> None:
    plain = NotificationServer(bus)
    desktop.deliver(said(what="waits", line=f"<b>rm</b> & co {SECRET}"))
    assert plain.shown[1][2] == "<b>rm</b> & co [redacted]"
    plain.end()
    with pytest.raises(OSError, match="no notification server is on the session bus"):
        desktop.deliver(said(target="tmux:two", what="waits"))
    marked_up = NotificationServer(bus, ("body", "body-markup"))
    assert desktop.deliver(said(target="tmux:two", what="waits", line="<b>rm</b> & co")) == "shown"
    assert marked_up.shown[1][2] == "&lt;b&gt;rm&lt;/b&gt; &amp; co", "what it reads is asked again"
    marked_up.end()


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


NOTICES = st.builds(Notice, st.text(), st.text(max_size=100), st.text(max_size=400))

TERMINALS: list[tuple[dict[str, str], Code]] = [
    ({"TERM": "xterm-kitty"}, "osc99"),
    ({"TERM": "xterm-ghostty", "TERM_PROGRAM": "ghostty"}, "osc777"),
    ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "osc777"),
    ({"TERM": "foot-extra"}, "osc777"),
    ({"TERM": "rxvt-unicode-256color"}, "osc777"),
    ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "osc9"),
    ({"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, "osc9"),
    ({"TERM": "xterm-256color", "TERM_PROGRAM": "WarpTerminal"}, "osc9"),
    ({"TERM": "xterm-256color"}, "bell"),
    ({"TERM": "alacritty"}, "bell"),
    ({}, "bell"),
]


def test_a_terminal_is_known_by_its_name_and_inside_tmux_its_client() -> None:
    assert [osc_of(environment) for environment, _ in TERMINALS] == [code for _, code in TERMINALS]
    assert osc_of({"TERM": "xterm-kitty"}, "xterm-256color iTerm2 3.6.9") == "osc9"
    assert osc_of({"TERM": "xterm-kitty"}, "xterm-256color XTerm(379)") == "bell"
    assert codes(Notice("", "a", "b"), "bell") == in_tmux(BELL) == b"\a"


@given(NOTICES, st.sampled_from([code for code in CODES if code != "bell"]))
def test_each_is_whole_sequences_and_nothing_else(notice: Notice, code: Code) -> None:
    data = codes(notice, code)
    assert b"".join(OscReader().feed(data)) == data, "all of it is OSC strings that end"
    assert all(one.startswith(f"\x1b]{code.removeprefix('osc')};".encode()) for one in OscReader().feed(data))


@given(NOTICES)
def test_what_each_says(notice: Notice) -> None:
    title, body = ("".join(char for char in text if char.isprintable()) for text in (notice.title, notice.body))
    [nine] = OscReader().feed(codes(notice, "osc9"))
    assert not re.match(rb"\x1b\]9;\d", nine), "that would be a command of another kind"
    [seven] = OscReader().feed(codes(notice, "osc777"))
    parts = seven[: -len(b"\x1b\\")].split(b";", 3)
    assert parts[1] == b"notify" and parts[2].decode() == title.replace(";", ",")
    parts99 = re.findall(rb";([^;]*)\x1b\\", codes(notice, "osc99"))
    assert [base64.b64decode(one).decode() for one in parts99] == [title, body]
    assert all(len(one) < 2048 for one in parts99)


@given(NOTICES)
def test_only_osc_99_takes_a_notice_away(notice: Notice) -> None:
    shown = re.findall(rb"i=([^:;]+)", codes(notice, "osc99"))
    gone = re.findall(rb"i=([^:;]+)", taken_away(notice, "osc99"))
    assert {*shown} == {*gone} and len({*shown}) == 1
    assert all(taken_away(notice, code) == b"" for code in CODES if code != "osc99")


TESTS = str(Path(__file__).parents[4] / "tests")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
PATH = f"PYTHONPATH={ENVIRONMENT['PYTHONPATH']}"

# Its output is a terminal, and so is what it finds by itself.
PROGRAM = """
import sys, time
sys.path.insert(0, sys.argv[1])
from stallkit_supervisor.notify.channels import Terminal
from told_events import said
terminal = Terminal()
print(terminal.deliver(said(what="asks", line="Shall I continue?")), flush=True)
print(terminal.deliver(said("cleared")), flush=True)
time.sleep(1000)
"""


def written(environment: dict[str, str], *names: str) -> tuple[bytes, list[str]]:
    got: list[bytes] = []
    terminal = Terminal(write=got.append, environment=environment)
    done = [terminal.deliver(said(name, what="asks", line="Shall I continue?")) for name in names]
    return b"".join(got), done


def test_a_terminal_is_told_as_it_understands() -> None:
    data, done = written({"TERM_PROGRAM": "WezTerm"}, "escalation", "cleared")
    assert data == b"\x1b]777;notify;one asks a question;Shall I continue?\x1b\\"
    assert done == ["OSC 777 was written", "nothing to take away by OSC 777"]
    assert written({"TERM": "xterm-256color"}, "escalation", "cleared")[0] == b"\a"
    data, _ = written({"TERM": "xterm-kitty"}, "escalation", "cleared")
    *shown, closed = OscReader().feed(data)
    assert len(shown) == 2 and b":p=close;" in closed and b"".join([*shown, closed]) == data


def test_what_is_printed_beside_it_stays_whole() -> None:
    program = """
import sys, threading
sys.path.insert(0, sys.argv[1])
from stallkit_supervisor.notify.channels import Terminal
from told_events import said
terminal = Terminal("osc9")
lines = threading.Thread(target=lambda: [print("x" * 9_000, flush=True) for _ in range(50)])
lines.start()
for _ in range(200):
    terminal.deliver(said(what="waits", line="Proceed?"))
lines.join()
"""
    terminal, inside = pty.openpty()
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "TMUX"}
    with subprocess.Popen([sys.executable, "-c", program, TESTS], env=environment, stdout=inside):
        os.close(inside)
        data = bytearray()
        while chunk := _read(terminal):
            data += chunk
    os.close(terminal)
    notice = b"\x1b]9;stallkit: one waits for an answer: Proceed?\x1b\\"
    assert data.count(notice) == 200
    assert data.replace(notice, b"").split() == [b"x" * 9_000] * 50


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # its other side is closed
        return b""


FORMAT = f"#I:#W#{{?{MARK}, (#{{{MARK}}}),}}"


@pytest.fixture
def panes(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "watched").mkdir()
    made = Server(tmp_path / "watched")
    made.tmux("new-session", "-d", "-s", "one", "-n", "first", "-x", "100", "-y", "24", "sh", "-c", "echo here; cat")
    made.tmux("new-window", "-d", "-t", "one", "-n", "second", "cat")
    for option in ("window-status-format", "window-status-current-format"):
        made.tmux("set-option", "-g", option, FORMAT)
    yield made
    made.end()


@pytest.mark.e2e
def test_through_tmux_the_clients_terminal_is_told(panes: Server, tmp_path: Path) -> None:
    program = ("env", PATH, sys.executable, "-c", PROGRAM, TESTS)
    for number, (passes, term, says) in enumerate(
        (
            ("on", "rxvt-unicode-256color", "OSC 777 was written"),
            ("off", "rxvt-unicode-256color", "a bell (tmux: allow-passthrough is off) was written"),
            ("on", "xterm-256color", "a bell was written"),
        )
    ):
        panes.tmux("set-option", "-g", "allow-passthrough", passes)
        seat = Seat(panes, tmp_path / f"seat{number}", term)
        try:
            panes.tmux("new-window", "-t", "one", *program)
            seat.sees(says, "nothing to take away")
            notices = [b"\x1b]777;notify;one asks a question;Shall I continue?\x1b\\"] if number == 0 else []
            wait_for(lambda: seat.notices == notices and (notices or b"\a" in seat.raw), f"it, in {seat.raw!r}")  # noqa: B023
            assert not notices or b"\a" not in seat.raw
            if number == 0:
                panes.tmux("new-window", "-d", "-n", "watch", "-t", "one", *program)
                flags = ("list-windows", "-F", "#{window_name} #{window_bell_flag}")
                wait_for(lambda: "watch 1" in panes.tmux(*flags).splitlines(), "a bell")  # noqa: B023
                told = panes.tmux("capture-pane", "-p", "-t", "one:watch")
                assert seat.notices == notices and "this window is not shown" in told
        finally:
            seat.end()


@pytest.mark.e2e
def test_each_client_is_shown_a_message_and_the_window_is_marked(panes: Server, tmp_path: Path) -> None:
    seat, tmux = Seat(panes, tmp_path / "seat"), TmuxMessage(panes.options)
    seat.sees("here")
    try:
        done = tmux.deliver(said(target="tmux:one:1.0", what="asks", line="Shall I continue?"))
        assert done == "shown to 1 client, the window is marked"
        seat.sees("stallkit: one:1.0 asks a question: Shall I continue?")
        seat.press("x")  # it ends the message, and reaches the program
        seat.sees("0:first", "1:second (asks)")
        wait_for(lambda: "x" in panes.tmux("capture-pane", "-p", "-t", "one:0"), "the key in the pane")
        assert tmux.deliver(said("cleared", target="tmux:one:1.0")) == "the mark is removed"
        wait_for(lambda: "asks" not in seat.status, "the mark's end")
        text = "#{pid} #(id) #[fg=red] 100% %H:%M ; $HOME 'a' \"b\""  # nothing in it is a format or a style
        tmux.deliver(said(what="waits", line=text))
        seat.sees(f"stallkit: one waits for an answer: {text.replace('#[', '# [')}")
        tmux.deliver(said(what="waits", line=f"the key {SECRET}"))
        seat.sees("one waits for an answer: the key")
        assert SECRET.encode() not in seat.raw
    finally:
        seat.end()


@pytest.mark.e2e
def test_marks_stay_while_a_pane_of_the_window_needs_somebody_and_none_is_left(panes: Server, tmp_path: Path) -> None:
    def marks() -> list[str]:
        return panes.tmux("list-windows", "-a", "-F", f"#{{{MARK}}}").split()

    TmuxMessage(panes.options).deliver(said(target="tmux:one:0.0", what="waits"))  # and no more of it: it was killed
    tmux = TmuxMessage(panes.options)
    assert tmux.deliver(said(target="tmux:one:1.0", what="asks")) == "no client is attached, the window is marked"
    assert marks() == ["asks"]
    assert tmux.deliver(said(target="other:elsewhere")) == "no client is attached"
    assert tmux.deliver(said(target="tmux:none", what="gone")) == "no client is attached"
    assert tmux.deliver(said("cleared", target="tmux:none")) == "no mark to remove"
    panes.tmux("split-window", "-t", "one:0", "cat")
    for target in ("tmux:one:0.0", "tmux:one:0.1"):
        tmux.deliver(said(target=target, what="waits"))
    tmux.deliver(said("cleared", target="tmux:one:0.0"))
    assert marks() == ["waits", "asks"]
    tmux.deliver(said("cleared", target="tmux:one:0.1"))
    assert marks() == ["asks"]
    tmux.close()
    assert marks() == []
    with pytest.raises(OSError) as caught:
        TmuxMessage(Options(tmux_socket_path=str(tmp_path / "none"))).deliver(said())
    assert "\n" not in str(caught.value)


STALLKIT = [
    sys.executable,
    "-c",
    "import sys; from stallkit.cli.main import main; sys.argv[0] = 'stallkit'; main()",
]
_NOT_OURS = ("DBUS_SESSION_BUS_ADDRESS", "TMUX", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
OUTSIDE = {name: value for name, value in ENVIRONMENT.items() if name not in _NOT_OURS}


def notify(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**OUTSIDE, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "TMUX_TMPDIR": str(home)}
    command = [*STALLKIT, "config", "notify", *words]
    return subprocess.run(command, cwd=home, env=environment, check=False, capture_output=True, text=True, timeout=60)


def test_each_place_and_what_it_did(tmp_path: Path) -> None:
    site = Site()
    settings = f"[events]\nexec = 'cp /dev/stdin {tmp_path}/got'\n[notify]\ndesktop = true\n"
    (tmp_path / "stallkit.toml").write_text(settings)
    words = ["--config", "stallkit.toml", "--webhook", f"{site.url}/a-token", "--notify", "terminal", "--json"]
    done = notify(tmp_path, *words)
    site.end()
    rows = {row["place"]: (row["told"], row["what"]) for row in json.loads(done.stdout)["places"]}
    assert rows == {
        "command cp": (True, "it ended with status 0"),
        "webhook 127.0.0.1": (True, "it answered 200"),
        "desktop": (False, "there is no session bus: $DBUS_SESSION_BUS_ADDRESS is not set"),
        "terminal": (False, "neither standard output nor error is a terminal"),
    }
    assert done.returncode == 1 and done.stderr == ""
    assert json.loads((tmp_path / "got").read_text())["event"] == json.loads(site.got[0][2])["event"] == "test"
    (tmp_path / "stallkit.toml").unlink()
    done = notify(tmp_path, "--exec", "true")
    assert " ".join(done.stdout.split()) == "command true told it ended with status 0" and done.returncode == 0


def test_without_a_place_it_says_how_to_name_one(tmp_path: Path) -> None:
    done = notify(tmp_path)
    assert done.returncode == 64 and "no place is named" in done.stderr


@pytest.mark.e2e
def test_watch_tells_in_tmux_and_takes_the_mark_away(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    server = Server(tmp_path / "own")
    server.tmux("new-session", "-d", "-s", "one", "-x", "100", "-y", "24", "sh", "-c", "echo here; exec cat")
    server.tmux("new-session", "-d", "-s", "asks", sys.executable, "-c", "input('Proceed? [y/N] ')")
    seat = Seat(server, tmp_path / "seat")
    environment = {**OUTSIDE, "STALLKIT_STATE_DIR": str(tmp_path / "state"), "HOME": str(tmp_path)}
    words = ["watch", "tmux:asks", "-S", str(server.socket), "--notify", "tmux"]
    watch = subprocess.Popen([*STALLKIT, *words], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
    try:
        seat.sees("stallkit: asks ", "Proceed? [y/N]")
        assert server.tmux("show-options", "-wv", "-t", "asks", MARK).strip()
    finally:
        watch.terminate()
        assert watch.wait(60) == 0
        left = server.tmux("show-options", "-w", "-t", "asks")
        seat.end(), server.end()
    assert MARK not in left
