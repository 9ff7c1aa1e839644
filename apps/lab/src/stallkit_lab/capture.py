"""One look at a session as a screen file: all that is needed to judge it again, and no secret."""

from __future__ import annotations

import re
import time
from typing import Any, Callable

from stallkit.evidence.snapshot import Snapshot
from stallkit.packs.screenfile import front_of, render_screen
from stallkit.redact.redact import redact_all
from stallkit.transports.base import Transport, look
from stallkit_lab.record.mask import mask

__all__ = ["at_rest", "captured", "without_name"]

_GAP_S = 0.3  # between two looks, as in a check
_LOOKS = 10


def at_rest(transport: Transport, sleep: Callable[[float], None] = time.sleep) -> Snapshot:
    """A look at the session once its screen rests, with the kernel's facts; the last look if it never rests.

    Raises what the transport raises.
    """
    seen = look(transport)
    if seen.alive is None:  # a picture, which does not change
        return seen
    for _ in range(_LOOKS):
        before = seen
        sleep(_GAP_S)
        seen = look(transport)
        if seen.screen.fingerprint == before.screen.fingerprint or seen.alive is False:
            break
    return seen


def without_name(text: str, host: str | None) -> str:
    """The text with ``host`` in place of a machine's name, whole or up to its first dot, in as many cells.

    >>> without_name("ada@tower:~$ ssh tower2", "tower.example")
    'ada@hosth:~$ ssh tower2'
    """
    for name in (host or "", (host or "").split(".")[0]):
        if len(name) > 1 and name != "localhost":
            pattern = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
            text = re.sub(pattern, ("host" * len(name))[: len(name)], text, flags=re.IGNORECASE)
    return text


def captured(
    seen: Snapshot, *, redacts: bool = True, title: bool = True, host: str | None = None, **said: str | None
) -> str:
    """A look as a screen file's content, with the keys of `said` (program, version, captured, note, ...).

    What looks like a credential is masked, cell by cell, so that the cursor stays where it was; so is the name `host`.
    Without `title` the terminal's title is left out, which often names the machine.
    """
    text = without_name("\n".join(seen.screen.lines), host)
    front: dict[str, Any] = {**front_of(seen), **{key: value for key, value in said.items() if value is not None}}
    if not title:
        front.pop("title", None)
    elif "title" in front:
        front["title"] = without_name(front["title"], host)
    if redacts:
        text, front = mask(text), redact_all(front)
    return render_screen(text, front)
