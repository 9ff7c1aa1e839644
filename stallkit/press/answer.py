"""A person's answer to a prompt: the label of an option, a text, or keys, through the gate of `press`."""

from __future__ import annotations

import time
from typing import Callable

from stallkit.detect.engine import Detection, Engine
from stallkit.detect.menu import menu_of
from stallkit.evidence.snapshot import Snapshot
from stallkit.press.gate import Answer, Outcome, Pick, press
from stallkit.terminal.keys import Keys
from stallkit.transports.base import Transport

__all__ = ["answer"]


def answer(
    transport: Transport,
    given: str | Keys,
    seen: Snapshot,
    engine: Engine,
    *,
    secret: bool = False,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Answer the prompt that was `seen`: with the label of an option, with a text and Enter, or with keys.

    An option is chosen by its own key, or by moving to it.  A text is typed as one line in canonical mode, else one
    character at a time as long as the prompt stands and shows it, and Enter follows only then.  Refused, with nothing
    pressed, where the session is not waiting or has changed since, where somebody typed ahead, where a `secret` would
    be shown, and where other text would be typed into a prompt for a secret.  `clock` and `sleep` are in seconds.
    Raises ValueError for a text that is not one line or cannot be typed; a session or server that fails is an outcome.

    >>> import sys
    >>> from stallkit import Engine
    >>> from stallkit.transports.pty import PtyTransport
    >>> session = PtyTransport.spawn([sys.executable, "-c", "input('Proceed? [y/N] '); input('Sure? [y/N] ')"])
    >>> while "Proceed" not in session.capture().screen.text: pass
    >>> outcome = answer(session, "y", session.capture(), Engine.default())
    >>> str(outcome.end), outcome.match.line
    ('replaced', 'Sure? [y/N]')
    >>> session.close()
    """
    request: Answer | Pick
    if isinstance(given, Keys):
        request = Answer(given)
    else:
        keys, named = Keys.line(given), not secret and _names_option(given, engine.detect(seen.screen))
        request = Pick(given) if named else Answer(keys, text=True, secret=secret)
    return press(transport, request, seen, engine, clock, sleep)


def _names_option(given: str, detection: Detection) -> bool:
    menu, dialog = menu_of(detection), detection.dialog
    if dialog is not None and dialog.button(given) is not None:
        return True
    return menu is not None and menu.place(given) is not None
