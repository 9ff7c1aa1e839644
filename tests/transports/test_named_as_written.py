"""What people write first works, or raises one line that says what is meant."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pexpect.fdpexpect
import pexpect.popen_spawn
import pytest
from stallkit_supervisor import Supervisor

from stallkit import Engine, MemoryTransport, PtyTransport, check, open_target
from stallkit.errors import SessionGone, TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.transports.base import Moving, Transport, closing_of
from stallkit.transports.pexpect import PexpectTransport


def test_a_bare_name_says_what_to_write_and_is_no_list_of_letters() -> None:
    with pytest.raises(ValueError, match=r"^'w1' is not a target: write tmux:w1") as raised:
        check("w1")
    assert "\n" not in str(raised.value)
    with pytest.raises(ValueError, match="'' is not a target"):
        open_target("")
    with pytest.raises(ValueError, match="'w1' is not a target"):
        Supervisor("w1")


def test_a_text_is_detected_as_a_screen_is() -> None:
    engine = Engine.default()
    text = "Proceed? [y/N] "
    assert engine.detect(text) == engine.detect(Screen.from_text(text))
    assert engine.detect(text).match is not None


def test_transports_are_context_managers() -> None:
    with MemoryTransport("$ ") as memory, PtyTransport.spawn(["cat"]) as session:
        assert session.exit_status is None
    assert session.exit_status is not None
    for closed in (memory, session):
        with pytest.raises(SessionGone):
            closed.capture()


class Foreign:
    """A third party's transport that is no context manager."""

    target = "acme:one"
    closed = False

    def capture(self) -> Snapshot:
        return MemoryTransport("$ ").capture()

    def send(self, keys: Keys, seen: Snapshot) -> None:
        raise AssertionError("nothing is sent here")

    def close(self) -> None:
        Foreign.closed = True


def test_what_a_target_opens_is_closed_at_the_end(tmp_path: Path) -> None:
    (path := tmp_path / "screen.txt").write_text("Proceed? [y/N] ")
    with open_target(f"file:{path}") as saved:
        assert saved.capture().screen.text == "Proceed? [y/N]"
    with closing_of(Foreign()) as foreign:
        assert (foreign.target, foreign.capture().screen.text) == ("acme:one", "$")
        assert isinstance(foreign, Transport) and not isinstance(foreign, Moving)
    assert Foreign.closed


def test_spawns_without_a_terminal_are_refused_in_one_line() -> None:
    reads, writes = os.pipe()
    os.close(writes)
    popen = pexpect.popen_spawn.PopenSpawn(["true"])
    popen.wait()
    popen.proc.stdin.close()
    popen.proc.stdout.close()
    with closing(pexpect.fdpexpect.fdspawn(reads)) as file:
        for spawn in (popen, file):
            with pytest.raises(TransportError, match=f"{type(spawn).__name__} has .*StreamTransport") as raised:
                PexpectTransport(spawn)
            assert "\n" not in str(raised.value)
