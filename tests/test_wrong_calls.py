"""Calls that a newcomer gets wrong: one line says what is meant, and quotes nothing that may be a screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import pytest
from stallkit_sessions import run
from stallkit_supervisor import Supervisor

from stallkit import Engine, Keys, MemoryTransport, PtyTransport, Screen, StreamTransport, check, dismiss, open_target

SECRET = "hunter2-hunter2"  # pragma: allowlist secret
ENGINE: Any = Engine.default()
TEXT: Any = SECRET
BYTES: Any = SECRET.encode()
NOTHING: Any = None
NUMBER: Any = 5
SHOWS: Any = MemoryTransport(SECRET)

WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: check(NOTHING), "a session is a target such as 'tmux:NAME', or a transport, not None"),
    (lambda: check(ENGINE), "or a transport, not Engine"),
    (lambda: check(Path("/tmp/x.txt")), "not PosixPath: write 'file:/tmp/x.txt'"),  # type: ignore[arg-type]
    (lambda: check(b"tmux:w1"), "not bytes: write 'tmux:w1'"),  # type: ignore[arg-type]
    (lambda: dismiss(NUMBER), "or a transport, not 5"),
    (lambda: check("w1"), "'w1' is not a target: write tmux:w1"),
    (lambda: check(SHOWS, "nosuch"), "a profile is one of careful, observe, daemon, not 'nosuch'"),
    (lambda: check(SHOWS, NUMBER), "a profile is one of careful, observe, daemon, not 5"),
    (lambda: check(SHOWS, ["careful"]), "a profile is one of"),  # type: ignore[arg-type]
    (lambda: check(SHOWS, "night.toml"), "load_policy reads a file"),
    (lambda: open_target(NOTHING), "a target is a text, not None: write such as 'tmux:NAME'"),
    (lambda: Supervisor(NOTHING), "a supervisor watches targets such as 'tmux:NAME', not None"),
    (lambda: Supervisor([SHOWS]), "not MemoryTransport: its scheme can be registered"),
    (lambda: ENGINE.detect(NOTHING), "what is looked at is a Screen or a text, not None"),
    (lambda: ENGINE.detect(BYTES), "not bytes: decode them, or feed all that a program writes to a StreamTransport"),
    (lambda: ENGINE.detect(SHOWS), "not MemoryTransport: give its capture().screen, or use check()"),
    (lambda: ENGINE.detect(SHOWS.capture()), "not Snapshot: give its .screen"),
    (lambda: ENGINE.detect([SECRET]), "a Screen or a text, not list"),
    (lambda: ENGINE.explain(NOTHING), "a Screen or a text, not None"),
    (lambda: Engine(TEXT), "an engine is made of packs, not str: Engine.default() has those installed"),
    (lambda: Engine(NOTHING), "an engine is made of packs, not None"),
    (lambda: Engine([*ENGINE.packs, TEXT]), "an engine is made of packs, not str"),
    (lambda: Screen(TEXT), "Screen.from_text makes a screen of a text"),
    (lambda: Screen.from_text(BYTES), "a screen is made of a text, not bytes: decode them"),
    (lambda: Screen.from_text(TEXT, cursor=NUMBER), "a cursor is (column, row) and a size (columns, rows)"),
    (lambda: MemoryTransport(NOTHING), "a screen is made of a text, not None"),
    (lambda: Keys.parse(NOTHING), "keys are written as a text, not None: write such as 'Down Enter'"),
    (lambda: StreamTransport().feed(TEXT), "feed takes the bytes as they came, not str: give data.encode()"),
    (lambda: StreamTransport().feed(NOTHING), "feed takes the bytes as they came, not None"),
    (lambda: StreamTransport().facts(NOTHING), "not what `stallkit explain --pid PID --json` printed"),
    (lambda: StreamTransport().facts({}), "not what `stallkit explain --pid PID --json` printed"),  # type: ignore[arg-type]
    (lambda: StreamTransport(size="80x24"), "not str: write such as (80, 24)"),  # type: ignore[arg-type]
    (lambda: StreamTransport().resize("80", "24"), "a size is (columns, rows)"),  # type: ignore[arg-type]
    (lambda: StreamTransport(write=NUMBER), "write is called with the bytes of each key, not 5: give a function"),
    (lambda: PtyTransport.spawn("ls -l"), "a command is a sequence of words, not 'ls -l': write ['ls', '-l']"),
    (lambda: PtyTransport.spawn(b"ls"), "write ['ls']"),
    (lambda: PtyTransport.spawn(["echo", NUMBER]), "each word of a command is a text, not 5: write '5'"),
    (lambda: run(["true"], size="80x24"), "not str: write such as (80, 24)"),  # type: ignore[arg-type]
    (lambda: run(["true"], timeout_s="10s"), "a limit is a number of seconds, not '10s'"),  # type: ignore[arg-type]
    (lambda: run(["true"], cwd="/no/such"), "'/no/such'; check the directory"),
]


@pytest.mark.parametrize(("call", "told"), WRONG, ids=[told[:40] for _, told in WRONG])
def test_one_line_says_what_is_meant(call: Callable[[], object], told: str) -> None:
    with pytest.raises(Exception) as raised:
        call()
    assert told in str(raised.value) and "\n" not in str(raised.value)
    assert SECRET not in str(raised.value), "what is refused may be a screen"


def test_what_is_meant_works() -> None:
    assert ENGINE.explain("Proceed? [y/N] ")[0].rule.pack.name
    assert ENGINE.detect(Screen.from_text("Proceed? [y/N] ")).match == ENGINE.detect("Proceed? [y/N] ").match


def test_a_closed_transport_says_so_also_where_it_is_used_again() -> None:
    with StreamTransport() as stream:
        stream.feed(b"$ ")
    for use in (stream.verdict, stream.capture, stream.__enter__().capture, lambda: stream.feed(b"x")):
        with pytest.raises(Exception, match="this transport was closed; make another one"):
            use()
