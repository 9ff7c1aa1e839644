"""Events as a place for notices is told them, for tests."""

from __future__ import annotations

from typing import Any

from stallkit_supervisor.notify.hooks import CloudEvent

from stallkit.press.events import Event

SECRET = "gh" + "p_" + "q7Zt2Kx9Wm4Bv6Rn1Lc8" * 2


def event(name: str = "escalation", target: str = "tmux:one", **facts: Any) -> Event:
    return Event(name, target, facts)


def said(name: str = "escalation", target: str = "tmux:one", **facts: Any) -> CloudEvent:
    return CloudEvent(event(name, target, **facts), "//here/stallkit", "1")
