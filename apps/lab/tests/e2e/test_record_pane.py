"""``stallkit record tmux:NAME`` over real panes: everything is there, nobody in the pane notices, nothing is left."""

from __future__ import annotations

import io
import json
import os
import signal
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from stallkit_lab.record import pane_writer
from stallkit_lab.record.cast import Player, Recording
from terminals import Server, wait_for

from stallkit.errors import StallkitError

pytestmark = pytest.mark.e2e

SHOWS = """
import os, sys
print("\\x1b[31mred\\x1b[0m line", flush=True)
print("w" * 200, flush=True)
for line in sys.stdin:
    print("got", line.strip(), flush=True)
    if line.startswith("now"):  # not at once: tmux may lose what a program prints at its very end
        os._exit(3)
"""


class Recorder:
    """One ``stallkit record tmux:NAME`` that runs."""

    def __init__(self, command: str, server: Server, name: str, path: Path, *options: str) -> None:
        self.path = path
        environment = {**os.environ, "STALLKIT_STATE_DIR": str(path.parent / "s")}
        words = [command, "record", "-S", str(server.socket), *options, "-o", str(path), f"tmux:{name}"]
        self.process = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def wait_for(self, text: str) -> None:
        """Until the recording holds a text, in one event or in several; it is written within a second or two."""
        wait_for(lambda: text in self.told(), f"{text!r} recorded")

    def told(self) -> str:
        """What the events so far say, in a row; the last line may be half written."""
        lines = self.path.read_text().splitlines()[1:] if self.path.exists() else []
        return "".join(json.loads(line)[2] for line in lines if line.endswith("]"))

    def stop(self, number: int | None = signal.SIGINT) -> tuple[int, str]:
        if number is not None:
            self.process.send_signal(number)
        said = self.process.communicate(timeout=30)[1].decode()
        return self.process.returncode, said


Record = Callable[..., Recorder]


@pytest.fixture
def record(stallkit_command: str, server: Server, tmp_path: Path) -> Iterator[Record]:
    made: list[Recorder] = []

    def begin(name: str, *options: str, once: str = "listening") -> Recorder:
        made.append(Recorder(stallkit_command, server, name, tmp_path / "a.cast", *options))
        if once:
            made[-1].wait_for(once)
        return made[-1]

    yield begin
    for one in made:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def played(path: Path) -> tuple[Player, list[str], Recording]:
    problems: list[StallkitError] = []
    recording = Recording(path, problems)
    player = recording.player()
    codes = []
    for event in recording.events():
        player.feed(event)
        codes.append(event.code)
    assert recording.marked and problems == []
    return player, codes, recording


def test_a_pane_is_recorded_from_the_screen_that_it_shows(server: Server, record: Record) -> None:
    transport = server.start("a", sys.executable, "-c", SHOWS, shows="www")
    before = transport.capture().screen
    one = record("a")
    player, codes, _ = played(one.path)
    assert player.look(0, None).screen.lines == before.lines and codes[0] == "o"
    assert player.look(0, None).screen.cursor == before.cursor
    server.tmux("send-keys", "-t", "=a:", "hello", "Enter")
    server.wait(transport, "got hello")
    one.wait_for("got hello")
    assert one.stop()[0] == 0
    player, _, _ = played(one.path)
    assert player.look(0, None).screen.lines == transport.capture().screen.lines
    assert server.tmux("display-message", "-p", "-t", "=a:", "#{pane_pipe}").strip() == "0", "the pipe was left"
    assert transport.capture().alive, "the pane did not outlive its recording"


def test_a_pane_that_ends_ends_the_recording(server: Server, record: Record) -> None:
    transport = server.start("a", sys.executable, "-c", SHOWS, shows="www")
    one = record("a")
    server.tmux("resize-window", "-t", "=a:", "-x", "100", "-y", "30")
    one.wait_for("100x30")
    server.tmux("send-keys", "-t", "=a:", "the end", "Enter")
    one.wait_for("got the end")
    server.tmux("send-keys", "-t", "=a:", "now then", "Enter")
    code, said = one.stop(None)
    assert code == 0 and "recorded" in said
    text = one.path.read_text()
    status = transport.capture().exit_status
    # tmux may come to know it after the recorder gave up; then it is left out, and never another.
    assert status in (None, 3)
    assert '"x"' not in text or text.splitlines()[-1].endswith('"x", "3"]')


def test_a_session_that_is_killed_ends_the_recording(server: Server, record: Record) -> None:
    server.start("a", sys.executable, "-c", SHOWS, shows="www")
    server.start("b", "cat")
    one = record("a")
    server.tmux("kill-session", "-t", "=a")
    assert one.stop(None)[0] == 0
    played(one.path)


def test_somebody_s_own_pipe_stays_and_nothing_is_recorded(server: Server, record: Record, tmp_path: Path) -> None:
    transport = server.start("a", sys.executable, "-c", SHOWS, shows="www")
    server.tmux("pipe-pane", "-t", "=a:", f"cat > {tmp_path / 'own'}")
    one = record("a", once="")
    code, said = one.stop(None)
    assert code == 1 and "piped elsewhere already" in said and not one.path.exists()
    server.tmux("send-keys", "-t", "=a:", "hello", "Enter")
    server.wait(transport, "got hello")
    wait_for(lambda: b"got hello" in (tmp_path / "own").read_bytes(), "the user's own pipe")


def test_nobody_in_the_pane_is_held_up_by_a_recorder_that_is_stopped(server: Server, record: Record) -> None:
    flood = "import sys\ninput()\nfor n in range(300_000): print('x' * 78, n)\nprint('flood over', flush=True)\ninput()"
    transport = server.start("a", sys.executable, "-c", flood)
    one = record("a", "--no-redact")
    one.process.send_signal(signal.SIGSTOP)
    server.tmux("send-keys", "-t", "=a:", "Enter")
    server.wait(transport, "flood over")
    one.process.send_signal(signal.SIGCONT)
    one.wait_for("flood over")
    code, said = one.stop()
    assert code == 0 and "bytes lost" in said
    _, codes, _ = played(one.path)
    assert "l" in codes, "the recording does not say that something is missing"


def test_there_is_no_recording_of_a_pane_that_is_not_there(server: Server, record: Record) -> None:
    server.start("a", "cat")
    one = record("none", once="")
    code, said = one.stop(None)
    assert code == 4 and said.count("\n") == 1 and not one.path.exists()


def test_the_tap_says_what_it_lost_and_hands_on_the_rest(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    listener = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    tap = subprocess.Popen([sys.executable, "-I", "-S", pane_writer.__file__, str(fifo)], stdin=subprocess.PIPE)
    assert tap.stdin is not None
    total = pane_writer.HOLD + 3_000_000
    tap.stdin.write(b"y" * total)  # it returns although nobody reads: the tap never holds up who writes
    tap.stdin.close()
    os.set_blocking(listener, True)
    got = io.BytesIO()

    def read() -> None:
        while data := os.read(listener, 1 << 20):
            got.write(data)

    reading = threading.Thread(target=read)
    reading.start()
    reading.join(60)
    assert tap.wait(30) == 0
    os.close(listener)
    frames = list(_frames(got.getvalue()))
    assert any(kind == b"l" for kind, _ in frames) and sum(count for _, count in frames) == total


def _frames(data: bytes) -> Iterator[tuple[Any, int]]:
    at = 0
    head: struct.Struct = pane_writer.HEAD
    while at < len(data):
        kind, _, count = head.unpack_from(data, at)
        at += head.size + (count if kind == b"o" else 0)
        yield kind, count


def test_options_may_stand_behind_a_pane_s_name(stallkit_command: str, server: Server, tmp_path: Path) -> None:
    server.start("a", "cat")
    path = tmp_path / "a.cast"
    words = [stallkit_command, "record", "tmux:a", "-S", str(server.socket), "-o", str(path), "--for", "1"]
    environment = {**os.environ, "STALLKIT_STATE_DIR": str(tmp_path / "s")}
    done = subprocess.run(words, check=False, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0 and "recording tmux:a" in done.stderr
    played(path)
    wrong = subprocess.run([*words, "more"], check=False, capture_output=True, text=True, env=environment, timeout=60)
    assert wrong.returncode == 64 and "'more'" in wrong.stderr


def test_a_recorder_that_is_killed_leaves_no_folder(
    server: Server, record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own := tmp_path / "t").mkdir()
    monkeypatch.setenv("TMPDIR", str(own))
    server.start("a", "cat")
    one = record("a")
    one.stop(signal.SIGKILL)
    assert list(own.iterdir()) == []
    played(one.path)
