"""The scripted session, beyond what the conformance suite says of it."""

import pytest
from attrs import evolve

from stallkit.errors import CaptureTimeout, KeysRefused, SessionGone
from stallkit.terminal.keys import Keys
from stallkit.testing import MemoryTransport


def test_a_script_answers_keys_with_screens() -> None:
    transport = MemoryTransport("Proceed? [y/N] ", on_keys=lambda keys: "yes" if keys == b"y\r" else None)
    seen = transport.capture()
    transport.send(Keys.parse("n"), seen)
    assert transport.capture() == seen
    transport.send(Keys.parse("y Enter"), seen)
    assert transport.capture().screen.text == "yes"
    assert (transport.sent, transport.captures) == ([b"n", b"y\r"], 3)


def test_it_can_be_gone_and_can_fail() -> None:
    transport = MemoryTransport("")
    seen = transport.capture()
    transport.failing = CaptureTimeout("memory:", 2)
    with pytest.raises(CaptureTimeout):
        transport.capture()
    transport.failing, transport.gone = None, True
    with pytest.raises(SessionGone):
        transport.send(Keys.parse("y"), seen)


def test_it_can_change_between_a_look_and_a_press() -> None:
    transport = MemoryTransport("Keep? ")
    seen = transport.capture()

    def lock() -> None:
        transport.now = evolve(seen, accepts_keys=False)

    transport.before_send = lock
    with pytest.raises(KeysRefused, match="takes no keys"):
        transport.send(Keys.parse("y"), seen)
    assert transport.sent == []
