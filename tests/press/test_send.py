"""Text for a session: typed where its agent is idle, and nowhere else; held, forced, noted by its length alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import pytest
from attrs import evolve

from stallkit.detect.composer import Composer
from stallkit.detect.engine import Engine
from stallkit.detect.signature import Clause, Pack, Signature
from stallkit.errors import CaptureTimeout, StoreError, TransportError
from stallkit.evidence.snapshot import Member, ProcessFacts, Snapshot, TtyFacts
from stallkit.press.events import EventLog
from stallkit.press.gate import End
from stallkit.press.send import Sending, Sent, send
from stallkit.terminal.screen import Screen
from stallkit.testing import FakeClock, MemoryTransport

LINES, KEYS = TtyFacts(echo=True, canonical=True), TtyFacts(echo=True, canonical=False)
TEXT = "run the tests, the token is 4711"


def _signature(id: str, state: str, text: str, where: str = "prompt_line", **more: Any) -> Signature:
    given: Any = {"state": state, "all_of": [Clause(text=text, where=where)], **more}
    return Signature(id=id, title=id, **given)


COMPOSER = Composer("agent> ", below="$", placeholder="Ask .*", modes="!")
SIGNATURES = [
    _signature("asks", "waiting", "? [y/n]", kind="confirm"),
    _signature("composer", "idle", "agent> ", composer=COMPOSER),
    _signature("other", "idle", "other> "),
    _signature("busy", "working", "Working", where="screen"),
    _signature("limit", "quota", "usage limit", where="screen"),
    _signature("shell", "ended", "box$ "),
]
ENGINE = Engine([Pack(name="p", foreground=["agent"], signatures=SIGNATURES)])
IDLE, ASKS, BUSY, LIMIT, SHELL = "agent> ", "Delete all? [y/n] ", "Working ...", "You hit your usage limit", "box$ "


def at(text: str) -> Screen:
    return Screen.from_text(text, cursor=(len(text.split("\n")[-1]), text.count("\n")), size=(80, 24))


class Watched(MemoryTransport):
    """A session in memory to which something may happen before a look; the first is number 1."""

    looks = 0
    before_look: Callable[[int], object] = staticmethod(lambda number: None)

    def capture(self) -> Snapshot:
        self.looks += 1
        self.before_look(self.looks)
        return super().capture()


class Session:
    """A session in memory that shows a screen, and after each sleep of its clock may show another."""

    def __init__(self, shows: str, tty: TtyFacts = LINES, shown: Callable[[str], str] = lambda text: text) -> None:
        self.transport = Watched(at(shows), self.takes, target="tmux:one")
        self.transport.now = evolve(self.transport.now, tty=tty)
        self._runs(shows)
        self.shown = shown  # what the composer shows of a text
        self.clock = FakeClock()

    def takes(self, keys: bytes) -> Screen:
        """As an agent does: it shows what is typed, and works from Enter on."""
        return at(f"Thanks\n{BUSY}") if keys.endswith(b"\r") else at(IDLE + self.shown(self.sent.decode()))

    def show(self, text: str) -> None:
        self._runs(text)
        self.transport.show(at(text))

    def _runs(self, shows: str) -> None:
        """The program behind that screen is in the foreground, and reads."""
        program, now = "bash" if shows == SHELL else "agent", self.transport.now
        reader = Member(1, program, "S", interactive=False)
        kernel = evolve(now.kernel, foreground=program, members=(reader,), readers=(reader,))
        self.transport.now = evolve(now, process=ProcessFacts(program), kernel=kernel)

    def send(self, text: str = TEXT, **given: Any) -> Sending:
        return send(self.transport, text, ENGINE, clock=self.clock, sleep=self.clock.sleep, **given)

    @property
    def sent(self) -> bytes:
        return b"".join(self.transport.sent)


# --- where it is typed ---


def test_an_idle_agent_gets_the_text_and_one_enter() -> None:
    for tty in (LINES, KEYS):
        session = Session(IDLE, tty)
        done = session.send()
        assert (done.sent, session.transport.sent) == (Sent.TYPED, [b"r", TEXT[1:].encode(), b"\r"])
        assert done.outcome is not None and done.outcome.end is End.CLEARED


BWRAP, AGENT = Member(1, "bwrap", "S"), Member(3, "agent", "S", interactive=False)
BELOW_BWRAP = [
    ((AGENT,), Sent.TYPED),
    ((Member(3, "python3", "S", script="agent"),), Sent.MAYBE),  # its pack names no python
    ((), Sent.MAYBE),
    (None, Sent.MAYBE),
    ((BWRAP,), Sent.ENDED),  # and nothing else is there
    ((Member(3, "python3", "S", script="other"),), Sent.MAYBE),
    ((Member(3, "bash", "S", script="agent"),), Sent.MAYBE),
    ((Member(3, "agent", "S"), Member(4, "cat", "S")), Sent.MAYBE),
]


def below(starter: str, readers: tuple[Member, ...] | None, **more: Any) -> Session:
    """A session with an idle composer, in which another program started what reads."""
    session = Session(IDLE)
    now, members = session.transport.now, (Member(1, starter, "S"), *(readers or (Member(3, "agent", "S"),)))
    given = {"foreground": starter, "members": members, "readers": readers, **more}
    session.transport.now = evolve(now, process=ProcessFacts(starter), kernel=evolve(now.kernel, **given))
    return session


def test_below_another_program_the_agent_has_to_be_proven_to_read() -> None:
    cases = [(below("bwrap", readers, complete=True), sent) for readers, sent in BELOW_BWRAP]
    for path, sent in (("/usr/bin/agent", Sent.TYPED), ("/usr/bin/other", Sent.MAYBE), (None, Sent.MAYBE)):
        cases.append((below("bash", (evolve(AGENT, path=path),)), sent))  # below a script
    for starter, complete in (("sudo", True), ("script", True), ("bwrap", False)):
        cases.append((below(starter, (AGENT,), complete=complete), Sent.MAYBE))
    for number, (session, sent) in enumerate(cases):
        assert session.send().sent is sent, (number, session.transport.now.kernel)
        assert (session.sent == b"") is (sent is not Sent.TYPED)


def test_nothing_is_typed_where_it_is_not_idle() -> None:
    for shows, sent, why in (
        (ASKS, Sent.BLOCKED, "it asks for confirm: "),
        (BUSY, Sent.BUSY, "it is working: "),
        (LIMIT, Sent.BUSY, "it is quota: "),
        (SHELL, Sent.ENDED, "the program that the text is for has ended: "),
        ("nobody knows this", Sent.MAYBE, "it may ask for something: "),
    ):
        session = Session(shows)
        done = session.send()
        assert (done.sent, session.sent, done.outcome) == (sent, b"", None), shows
        assert done.verdict is not None and done.why == why + done.verdict.reasons[-1]
        assert session.transport.captures == 2, "nobody waits: one look is two, a moment apart"
    for shows, state in ((ASKS, "waiting"), ("", "unknown")):
        session = Session(shows)
        session.transport.now = evolve(session.transport.now, kernel=None, process=None, tty=None)
        done = session.send()
        assert (done.sent, session.sent) == (Sent.MAYBE, b""), "what nobody is sure of may be a prompt"
        assert done.verdict is not None and done.verdict.state == state
    session = Session(IDLE)
    session.transport.now = evolve(session.transport.now, alive=False, exit_status=3)
    assert (session.send().sent, session.sent) == (Sent.ENDED, b"")


def test_what_is_no_text_is_refused_before_a_look() -> None:
    breaks, keys = ("one\rtwo", "one\r\n", "\none", "o\ntwo"), ("a\tb", "\x1b[A", "\x03", "", "  ")
    said = r"one line|in the first of several lines|control characters|nothing to type"
    for text in (*breaks, *keys):  # a line break may be an Enter
        session = Session(IDLE)
        with pytest.raises(ValueError, match=said):
            session.send(text)
        assert (session.transport.captures, session.sent) == (0, b""), text
    session = Session(IDLE)
    done = session.send("one\ntwo")
    assert (done.sent, session.sent) == (Sent.REFUSED, b"") and "takes several lines" in done.why


def test_a_session_that_cannot_be_looked_at_is_an_error() -> None:
    session = Session(IDLE)
    session.transport.failing = CaptureTimeout("tmux:one", 2)
    with pytest.raises(CaptureTimeout):
        session.send(wait_s=60)
    assert session.sent == b""


# --- held ---


def test_it_is_held_until_the_agent_is_idle() -> None:
    for before in (ASKS, BUSY, LIMIT, SHELL):
        session = Session(before)
        session.clock.then = lambda passed, one=session: one.show(IDLE) if 30 <= passed < 31 and not one.sent else None
        done = session.send(wait_s=600)
        assert (done.sent, session.sent) == (Sent.TYPED, TEXT.encode() + b"\r"), before
        assert session.clock.passed >= 30


def test_what_stands_there_when_the_time_is_over_is_told() -> None:
    session = Session(BUSY)
    session.clock.then = lambda passed: session.show(ASKS) if 5 <= passed < 6 else None
    done = session.send(wait_s=10)
    assert (done.sent, session.sent) == (Sent.BLOCKED, b"")
    assert session.clock.passed >= 10


def test_one_that_goes_away_is_not_waited_for() -> None:
    session = Session(BUSY)

    def ends(passed: float) -> None:
        session.transport.gone = passed >= 5

    session.clock.then = ends
    done = session.send(wait_s=600)
    assert (done.sent, session.sent, done.verdict) == (Sent.ENDED, b"", None)
    assert session.clock.passed < 10


def test_it_is_gone_only_where_two_looks_in_a_row_say_so() -> None:
    session = Session(IDLE)

    def flickers(number: int) -> None:
        session.transport.gone = number == 1

    session.transport.before_look = flickers
    assert session.send().sent is Sent.TYPED


def test_forced_it_is_typed_whatever_stands_there() -> None:
    for shows in (ASKS, BUSY, SHELL, "nobody knows this"):
        session = Session(shows)
        done = session.send("n", force=True, wait_s=600)
        assert (done.sent, session.sent) == (Sent.TYPED, b"n\r"), shows
        assert session.clock.passed < 600, "and at once"
    session = Session(IDLE)
    session.transport.gone = True
    assert (session.send(force=True).sent, session.sent) == (Sent.ENDED, b"")


# --- what came of it ---


def test_a_session_that_changes_before_the_key_gets_none() -> None:
    for force, sent in ((False, Sent.BLOCKED), (True, Sent.REFUSED)):
        session = Session(ASKS if force else IDLE)
        session.transport.before_send = lambda one=session: one.show("Really delete all? [y/n] ")
        done = session.send(force=force)
        assert (done.sent, session.sent) == (sent, b"")
        assert force == (done.outcome is not None), "what was typed nowhere is tried again, and held"
    session = Session(IDLE)
    session.transport.before_look = lambda number: session.show(ASKS) if number == 3 else None
    assert (session.send().sent, session.sent) == (Sent.BLOCKED, b""), "nothing was typed: it is looked at again"


def test_what_came_of_it_may_stay_unseen_and_no_more_is_typed() -> None:
    def fails(session: Session) -> None:
        session.transport.failing = TransportError("tmux:one", "no answer", "look again")

    def ends(session: Session) -> None:
        session.transport.gone = True

    for happens, why in ((fails, "no answer"), (ends, ""), (lambda session: None, "")):
        session = Session(IDLE)
        session.transport.on_keys = lambda keys, one=session, happens=happens: happens(one)
        done = session.send()
        assert (done.sent, session.sent) == (Sent.UNSEEN, TEXT[:1].encode()) and why in done.why


def test_a_text_that_ends_the_session_was_typed() -> None:
    session = Session(IDLE)

    def ends(keys: bytes) -> Screen:
        session.transport.gone = keys == b"\r"
        return session.takes(keys)

    session.transport.on_keys = ends
    done = session.send("exit")
    assert (done.sent, session.sent) == (Sent.TYPED, b"exit\r")
    assert done.outcome is not None and done.outcome.end is End.GONE


def test_enter_is_pressed_only_where_exactly_the_text_stands_there_and_once() -> None:
    others: list[Callable[[str], str]] = [lambda text: text[:-1], lambda text: f"{text}!", lambda text: text.upper()]
    for shown in others:
        session = Session(IDLE, shown=shown)
        assert session.send("rest").sent is Sent.UNSEEN
        assert not session.sent.endswith(b"\r")
    session = Session(IDLE)  # it completes the text instead
    session.transport.on_keys = lambda keys: at(IDLE + session.sent.decode().replace("\r", "ored"))
    assert (session.send("rest").sent, session.sent) == (Sent.UNSEEN, b"rest\r")


def test_nothing_is_typed_where_a_text_would_be_taken_for_another() -> None:
    for shows, text, why in (
        ("agent> a draft", TEXT, "somebody's text"),
        ("other> ", TEXT, "does not say where the text stands"),
        (IDLE, " !ls", "does not take '!'"),
    ):
        session = Session(shows)
        assert why in session.send(text).why and session.sent == b"", shows


# --- the log ---


def test_the_log_has_what_became_of_it_and_not_the_text(tmp_path: Path) -> None:
    for number, (shows, force, sent) in enumerate(
        [(IDLE, False, "typed"), (ASKS, False, "blocked"), (ASKS, True, "typed")]
    ):
        file = tmp_path / f"{number}.jsonl"
        done = Session(shows).send(force=force, log=EventLog(file))
        assert done.unlogged is None
        written = file.read_text()
        [event] = [json.loads(line) for line in written.splitlines()]
        told = {"event": "send", "target": "tmux:one", "sent": sent, "why": done.why, "forced": force}
        told |= {"characters": len(TEXT), "state": "idle" if shows is IDLE else "waiting"}
        assert {key: event[key] for key in told} == told
        assert "4711" not in written and "run the tests" not in written
    session = Session(IDLE)
    session.transport.gone = True
    session.send(log=EventLog(tmp_path / "gone.jsonl"))
    event = json.loads((tmp_path / "gone.jsonl").read_text())
    assert (event["sent"], "state" in event) == ("ended", False)


def test_a_log_that_cannot_be_written_is_told_beside_the_rest(tmp_path: Path) -> None:
    for shows in (IDLE, ASKS):
        plain, unlogged = Session(shows).send(), Session(shows).send(log=EventLog(tmp_path))
        assert isinstance(unlogged.unlogged, StoreError)
        assert evolve(unlogged, unlogged=None) == plain
