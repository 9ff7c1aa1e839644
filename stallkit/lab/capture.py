"""One look at a session as a screen file: everything that is needed to judge it again, and nothing that is secret."""

from __future__ import annotations

import time
from typing import Any, Callable

from stallkit.core.redact import redact_all
from stallkit.core.verdict import Snapshot
from stallkit.lab.record.mask import mask
from stallkit.packs.screenfile import front_of, render_screen
from stallkit.transports.base import Transport, look

__all__ = ["at_rest", "captured"]

_GAP_S = 0.3  # between two looks, as in a check
_LOOKS = 10


def at_rest(transport: Transport, sleep: Callable[[float], None] = time.sleep) -> Snapshot:
    """A look at a screen that rests, with what the kernel says of it then; of one that never rests, the last.

    Raises what the transport raises.
    """
    seen = look(transport)
    if seen.alive is None:  # a picture: it is what it is
        return seen
    for _ in range(_LOOKS):
        before = seen
        sleep(_GAP_S)
        seen = look(transport)
        if seen.screen.fingerprint == before.screen.fingerprint or seen.alive is False:
            break
    return seen


def captured(seen: Snapshot, *, redacts: bool = True, **said: str | None) -> str:
    """A look as a screen file's content, with what else is `said` of it (program, version, captured, note, ...).

    What looks like a credential is masked, cell by cell, so that the cursor stays where it was.
    """
    text = "\n".join(seen.screen.lines)
    front: dict[str, Any] = {**front_of(seen), **{key: value for key, value in said.items() if value is not None}}
    if redacts:
        text, front = mask(text), redact_all(front)
    return render_screen(text, front)
