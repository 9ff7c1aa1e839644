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


ENGINE = Engine(
    [
        Pack(
            name="p",
            foreground=["agent"],
            signatures=[
                _signature("asks", "waiting", "? [y/n]", kind="confirm"),
                _signature(
                    "composer",
                    "idle",
                    "agent> ",
                    composer=Composer("agent> ", below="$", placeholder="Ask .*", modes="!"),
                ),
                _signature("other", "idle", "other> "),
                _signature("busy", "working", "Working", where="screen"),
                _signature("limit", "quota", "usage limit", where="screen"),
                _signature("shell", "ended", "box$ "),
            ],
        )
    ]
)
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


@pytest.mark.parametrize("tty", [LINES, KEYS])
def test_an_idle_agent_gets_the_text_and_one_enter(tty: TtyFacts) -> None:
    session = Session(IDLE, tty)
    done = session.send()
    assert (done.sent, session.transport.sent) == (Sent.TYPED, [b"r", TEXT[1:].encode(), b"\r"])
    assert done.outcome is not None and done.outcome.end is End.CLEARED


BWRAP = Member(1, "bwrap", "S")


@pytest.mark.parametrize(
    ("readers", "sent"),
    [
        ((Member(3, "agent", "S", interactive=False),), Sent.TYPED),
        ((Member(3, "python3", "S", script="agent"),), Sent.MAYBE),  # its pack names no python
        ((), Sent.MAYBE),
        (None, Sent.MAYBE),
        ((BWRAP,), Sent.ENDED),  # and nothing else is there
        ((Member(3, "python3", "S", script="other"),), Sent.MAYBE),
        ((Member(3, "bash", "S", script="agent"),), Sent.MAYBE),
        ((Member(3, "agent", "S"), Member(4, "cat", "S")), Sent.MAYBE),
    ],
)
def test_below_bubblewrap_the_agent_has_to_be_seen_to_read(readers: tuple[Member, ...] | None, sent: Sent) -> None:
    session = Session(IDLE)
    now, members = session.transport.now, (BWRAP, *(readers or (Member(3, "agent", "S"),)))
    kernel = evolve(now.kernel, foreground="bwrap", members=members, readers=readers, complete=True)
    session.transport.now = evolve(now, process=ProcessFacts("bwrap"), kernel=kernel)
    assert session.send().sent is sent
    assert (session.sent == b"") is (sent is not Sent.TYPED)


@pytest.mark.parametrize(
    ("path", "sent"), [("/usr/bin/agent", Sent.TYPED), ("/usr/bin/other", Sent.MAYBE), (None, Sent.MAYBE)]
)
def test_below_a_script_the_agent_has_to_be_proven_to_read(path: str | None, sent: Sent) -> None:
    session = Session(IDLE)
    now, reader = session.transport.now, Member(3, "agent", "S", interactive=False, path=path)
    kernel = evolve(now.kernel, foreground="bash", members=(Member(1, "bash", "S"), reader), readers=(reader,))
    session.transport.now = evolve(now, process=ProcessFacts("bash"), kernel=kernel)
    assert session.send().sent is sent
    assert (session.sent == b"") is (sent is not Sent.TYPED)


@pytest.mark.parametrize(("starter", "complete"), [("sudo", True), ("script", True), ("bwrap", False)])
def test_below_another_starter_or_where_something_is_hidden_nothing_is_typed(starter: str, complete: bool) -> None:
    session, agent = Session(IDLE), (Member(3, "agent", "S", interactive=False),)
    now, members = session.transport.now, (Member(1, starter, "S"), *agent)
    kernel = evolve(now.kernel, foreground=starter, members=members, readers=agent, complete=complete)
    session.transport.now = evolve(now, process=ProcessFacts(starter), kernel=kernel)
    assert (session.send().sent, session.sent) == (Sent.MAYBE, b"")


@pytest.mark.parametrize(
    ("shows", "sent", "why"),
    [
        (ASKS, Sent.BLOCKED, "it asks for confirm: "),
        (BUSY, Sent.BUSY, "it is working: "),
        (LIMIT, Sent.BUSY, "it is quota: "),
        (SHELL, Sent.ENDED, "the program that the text is for has ended: "),
        ("nobody knows this", Sent.MAYBE, "it may ask for something: "),
    ],
)
def test_nothing_is_typed_where_it_is_not_idle(shows: str, sent: Sent, why: str) -> None:
    session = Session(shows)
    done = session.send()
    assert (done.sent, session.sent, done.outcome) == (sent, b"", None)
    assert done.verdict is not None and done.why == why + done.verdict.reasons[-1]


@pytest.mark.parametrize(("shows", "state"), [(ASKS, "waiting"), ("", "unknown")])
def test_what_nobody_is_sure_of_may_be_a_prompt(shows: str, state: str) -> None:
    session = Session(shows)
    session.transport.now = evolve(session.transport.now, kernel=None, process=None, tty=None)
    done = session.send()
    assert (done.sent, session.sent) == (Sent.MAYBE, b"")
    assert done.verdict is not None and done.verdict.state == state


def test_a_program_that_ended_gets_nothing() -> None:
    session = Session(IDLE)
    session.transport.now = evolve(session.transport.now, alive=False, exit_status=3)
    assert (session.send().sent, session.sent) == (Sent.ENDED, b"")


@pytest.mark.parametrize("text", ["one\rtwo", "one\r\n", "\none", "o\ntwo"])
def test_a_line_break_that_may_be_an_enter_is_refused_before_a_look(text: str) -> None:
    session = Session(IDLE)
    with pytest.raises(ValueError, match=r"one line|in the first of several lines"):
        session.send(text)
    assert (session.transport.captures, session.sent) == (0, b"")


def test_several_lines_are_refused_by_a_composer_that_is_not_known_to_take_them() -> None:
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


@pytest.mark.parametrize("before", [ASKS, BUSY, LIMIT, SHELL])
def test_it_is_held_until_the_agent_is_idle(before: str) -> None:
    session = Session(before)
    session.clock.then = lambda passed: session.show(IDLE) if 30 <= passed < 31 and not session.sent else None
    done = session.send(wait_s=600)
    assert (done.sent, session.sent) == (Sent.TYPED, TEXT.encode() + b"\r")
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


def test_it_is_looked_at_once_where_nobody_waits() -> None:
    session = Session(BUSY)
    assert session.send().sent is Sent.BUSY
    assert session.transport.captures == 2, "a look is two, a moment apart"


# --- forced ---


@pytest.mark.parametrize("shows", [ASKS, BUSY, SHELL, "nobody knows this"])
def test_forced_it_is_typed_whatever_stands_there(shows: str) -> None:
    session = Session(shows)
    done = session.send("n", force=True, wait_s=600)
    assert (done.sent, session.sent) == (Sent.TYPED, b"n\r")
    assert session.clock.passed < 600, "and at once"


def test_forced_into_a_session_that_is_gone_it_ended() -> None:
    session = Session(IDLE)
    session.transport.gone = True
    assert (session.send(force=True).sent, session.sent) == (Sent.ENDED, b"")


# --- what came of it ---


@pytest.mark.parametrize("force", [False, True])
def test_a_session_that_changes_before_the_key_gets_none(force: bool) -> None:
    session = Session(ASKS if force else IDLE)
    session.transport.before_send = lambda: session.show("Really delete all? [y/n] ")
    done = session.send(force=force)
    assert (done.sent, session.sent) == (Sent.REFUSED if force else Sent.BLOCKED, b"")
    assert force == (done.outcome is not None), "what was typed nowhere is tried again, and held"


def test_a_prompt_that_appears_before_the_last_look_gets_nothing() -> None:
    session = Session(IDLE)
    session.transport.before_look = lambda number: session.show(ASKS) if number == 3 else None
    done = session.send()
    assert (done.sent, session.sent) == (Sent.BLOCKED, b""), "it is looked at again, since nothing was typed"


def test_what_came_of_it_may_stay_unseen() -> None:
    session = Session(IDLE)

    def fails(keys: bytes) -> None:
        session.transport.failing = TransportError("tmux:one", "no answer", "look again")

    session.transport.on_keys = fails
    done = session.send()
    assert (done.sent, session.sent) == (Sent.UNSEEN, TEXT[:1].encode())
    assert "no answer" in done.why


def test_a_text_that_changes_nothing_was_not_seen_to_arrive() -> None:
    session = Session(IDLE)
    session.transport.on_keys = lambda keys: None
    assert (session.send().sent, session.sent) == (Sent.UNSEEN, TEXT[:1].encode()), "and no more is typed"


def test_a_text_that_ends_the_session_was_typed() -> None:
    session = Session(IDLE)

    def ends(keys: bytes) -> Screen:
        session.transport.gone = keys == b"\r"
        return session.takes(keys)

    session.transport.on_keys = ends
    done = session.send("exit")
    assert (done.sent, session.sent) == (Sent.TYPED, b"exit\r")
    assert done.outcome is not None and done.outcome.end is End.GONE


def test_a_session_that_ends_at_the_first_character_did_not_get_the_text() -> None:
    session = Session(IDLE)

    def ends(keys: bytes) -> None:
        session.transport.gone = True

    session.transport.on_keys = ends
    assert (session.send("exit").sent, session.sent) == (Sent.UNSEEN, b"e")


@pytest.mark.parametrize("shown", [lambda text: text[:-1], lambda text: f"{text}!", lambda text: text.upper()])
def test_enter_is_pressed_only_where_exactly_the_text_stands_there(shown: Callable[[str], str]) -> None:
    session = Session(IDLE, shown=shown)
    done = session.send("rest")
    assert done.sent is Sent.UNSEEN
    assert not session.sent.endswith(b"\r")


def test_enter_is_pressed_once_where_the_agent_completes_the_text_instead() -> None:
    session = Session(IDLE)
    session.transport.on_keys = lambda keys: at(IDLE + session.sent.decode().replace("\r", "ored"))
    assert (session.send("rest").sent, session.sent) == (Sent.UNSEEN, b"rest\r")


@pytest.mark.parametrize(
    ("shows", "text", "why"),
    [
        ("agent> a draft", TEXT, "somebody's text"),
        ("other> ", TEXT, "does not say where the text stands"),
        (IDLE, " !ls", "does not take '!'"),
    ],
)
def test_nothing_is_typed_where_a_text_would_be_taken_for_another(shows: str, text: str, why: str) -> None:
    session = Session(shows)
    assert why in session.send(text).why
    assert session.sent == b""


@pytest.mark.parametrize("text", ["a\tb", "\x1b[A", "\x03", "", "  "])
def test_keys_and_nothing_are_no_text(text: str) -> None:
    session = Session(IDLE)
    with pytest.raises(ValueError, match=r"control characters|nothing to type"):
        session.send(text)
    assert session.transport.captures == 0


# --- the log ---


@pytest.mark.parametrize(
    ("shows", "force", "sent"), [(IDLE, False, "typed"), (ASKS, False, "blocked"), (ASKS, True, "typed")]
)
def test_the_log_has_what_became_of_it_and_not_the_text(tmp_path: Path, shows: str, force: bool, sent: str) -> None:
    file = tmp_path / "events.jsonl"
    done = Session(shows).send(force=force, log=EventLog(file))
    assert done.unlogged is None
    written = file.read_text()
    [event] = [json.loads(line) for line in written.splitlines()]
    told = {key: event[key] for key in ("event", "target", "sent", "why", "characters", "forced")}
    assert told == {
        "event": "send", "target": "tmux:one", "sent": sent, "why": done.why, "characters": len(TEXT), "forced": force,
    }  # fmt: skip
    assert event["state"] == ("idle" if shows is IDLE else "waiting")
    assert "4711" not in written and "run the tests" not in written


def test_of_a_session_that_is_gone_the_log_has_it_as_well(tmp_path: Path) -> None:
    session = Session(IDLE)
    session.transport.gone = True
    session.send(log=EventLog(tmp_path / "events.jsonl"))
    event = json.loads((tmp_path / "events.jsonl").read_text())
    assert (event["sent"], "state" in event) == ("ended", False)


@pytest.mark.parametrize("shows", [IDLE, ASKS])
def test_a_log_that_cannot_be_written_is_told_beside_the_rest(tmp_path: Path, shows: str) -> None:
    plain, unlogged = Session(shows).send(), Session(shows).send(log=EventLog(tmp_path))
    assert isinstance(unlogged.unlogged, StoreError)
    assert evolve(unlogged, unlogged=None) == plain
