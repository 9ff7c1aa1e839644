"""May I press?  A verdict, a result and a session are answered alike, and only a yes is true."""

from __future__ import annotations

from typing import Iterator

import pytest
from terminals import wait_for

from stallkit import (
    Choose,
    Escalate,
    Ignore,
    MemoryTransport,
    Policy,
    Press,
    PtyTransport,
    Restart,
    Resume,
    Rule,
    SessionGone,
    Stop,
    Verdict,
    Wait,
    check,
    dump,
    load,
    may_press,
)
from stallkit.press.policy import Interrupt, Send

ALLOWS = Policy("mine", rules=[Rule(do="press", signature="shell_tools:press_any_key", session="pty:ci")])


@pytest.fixture
def asks() -> Iterator[PtyTransport]:
    command = ["bash", "-c", "read -n1 -p 'Press any key to continue '; exec sleep 99"]
    with PtyTransport.spawn(command, name="ci") as session:
        wait_for(lambda: "Press" in session.capture().screen.text, "the question")
        yield session


def test_a_verdict_a_result_and_a_session_are_answered_alike(asks: PtyTransport) -> None:
    result = check(asks)
    for asked in (result.verdict, result, asks):
        assert isinstance(may_press(asked, ALLOWS), Press), asked
        assert isinstance(may_press(asked), Escalate), asked
    assert not result.outcome and "Press" in asks.capture().screen.text, "nothing was pressed"


def test_a_verdict_without_its_look_gets_no_key(asks: PtyTransport) -> None:
    """As one that was read from JSON: neither its session nor its programs are known."""
    verdict = check(asks).verdict
    assert not may_press(load(Verdict, dump(verdict)), ALLOWS)
    other = Policy("other", rules=[Rule(do="press", signature="shell_tools:press_any_key", session="pty:other")])
    assert not may_press(verdict, other)


def test_a_maybe_is_never_pressed_at() -> None:
    session = MemoryTransport("Press any key to continue ")
    allows = Policy("mine", rules=[Rule(do="press", signature="shell_tools:press_any_key", session="*:m*")])
    assert check(session).verdict.certainty == "maybe"
    assert not may_press(session, allows) and not may_press(check(session), allows)


def test_mistakes_are_told() -> None:
    session = MemoryTransport("$ ")
    with pytest.raises(ValueError, match="a profile is one of"):
        may_press(session, "carefull")
    with pytest.raises(TypeError, match="'tmux:NAME'"):
        may_press(3)  # type: ignore[arg-type]
    session.close()
    with pytest.raises(SessionGone):
        may_press(session)


def test_only_what_presses_is_true(asks: PtyTransport) -> None:
    [signature] = {found.signature for found in [check(asks).match] if found}
    assert Press(signature) and Choose(signature, "Yes")
    why = "it says so"
    others = [
        Escalate(why),
        Wait(why),
        Restart(why),
        Resume(why),
        Stop(why),
        Ignore(),
        Send("go on", why),
        Interrupt(why),
    ]
    assert not any(others)
