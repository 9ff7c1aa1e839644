"""What is said of a session called `token` is no secret: parts are redacted before they are composed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from stallkit_operator.board import Entry, Row
from stallkit_operator.cli.dashboard_app import cells_of
from stallkit_sessions.explain import hints
from stallkit_sessions.model import Cause, ExitRecord, Session
from terminals import Server

from stallkit.cli.output import shown
from stallkit.errors import TransportError
from stallkit.redact.redact import MASK

NAMES = ("token", "api_key", "secrets", "password", "tmux:token", "tmux:api_key")


def test_a_name_does_not_hide_what_is_said_of_the_session() -> None:
    said = [": stalled (waiting, asks for text, sure)", ": halted", ": answered, the prompt went away"]
    for name in NAMES:
        for text in said:
            assert shown(name, text) == name + text
        error = TransportError(name, "refused by its server", "try again")
        assert shown(error) == str(error)
        assert shown(name, ": ", "password: hunter22") == f"{name}: password: {MASK}", "a secret is masked all the same"


def test_what_a_prompt_asks_for_does_not_hide_its_words() -> None:
    words = "Generating public/private rsa key pair. Enter passphrase (empty for no passphrase):"
    cells = cells_of(Entry(Row("token", "tmux:token", "waiting", asks=words)), 0.0)
    assert (cells["session"].plain, cells["asks"].plain) == ("token", words)


def test_a_command_to_type_again_is_whole_or_says_that_it_is_not() -> None:
    for command, left_out in ((("claude", "--model", "opus"), False), (("tool", "--token", MASK), True)):
        session = Session("token", "id", command, "/srv", started_at=1.0, boot="b")
        record = ExitRecord(session=session, cause=Cause.EXITED, why="it ended", ended_at=2.0)
        ((again, purpose),) = hints(record)
        assert again.startswith("stallkit start token ") and ("left out" in purpose) is left_out


@pytest.mark.e2e
def test_a_check_of_a_session_of_that_name(server: Server) -> None:
    server.start("api_key", "bash", "-c", "read -p 'Continue? [y/N] '", shows="Continue?")
    command = [str(Path(sys.executable).parent / "stallkit"), "check", "tmux:api_key", "-S", str(server.socket)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.startswith("tmux:api_key: stalled (waiting, asks for confirm"), done
