"""What people write first works, or raises one line that says what is meant."""

from __future__ import annotations

import os
from contextlib import closing

import pexpect.fdpexpect
import pexpect.popen_spawn
import pytest

from stallkit import Engine, MemoryTransport, PtyTransport, Supervisor, check, open_target
from stallkit.core.screen import Screen
from stallkit.errors import SessionGone, TransportError
from stallkit.transports.pexpect import PexpectTransport


def test_a_bare_name_says_what_to_write() -> None:
    with pytest.raises(ValueError, match=r"^'w1' is not a target: write tmux:w1") as raised:
        check("w1")
    assert "\n" not in str(raised.value)
    with pytest.raises(ValueError, match="'' is not a target"):
        open_target("")


def test_one_target_is_not_a_list_of_letters() -> None:
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
