"""A look completed by what the kernel knows, for transports that know their session's terminal."""

from __future__ import annotations

import time

from attrs import evolve

from stallkit.core.verdict import Snapshot
from stallkit.probes import process, tty

__all__ = ["probed"]

# A program that polls in turns can be caught between two of them: it is looked at again before it counts as deaf.
_AGAIN, _AGAIN_S = 2, 0.005


def probed(now: Snapshot, before: Snapshot | None, terminal: str | int, leader: int) -> Snapshot:
    """The look with quiet time, and with the facts on its terminal (a path, or the master's descriptor).

    The kernel is asked only where the screen rests: what runs while it changes tells nothing, and asking costs a
    millisecond.  `before` is the look before this one, `leader` the pid of the session's first process.
    """
    if before is None or before.taken_at is None or now.taken_at is None:
        return now
    if before.screen.fingerprint != now.screen.fingerprint:
        return evolve(now, quiet_s=0.0)
    quiet_s = (before.quiet_s or 0.0) + now.taken_at - before.taken_at
    if not now.alive:
        return evolve(now, quiet_s=quiet_s)
    kernel = process.probe(terminal, leader)
    for _ in range(_AGAIN):
        if kernel.listening is not False or not kernel.running:
            break
        time.sleep(_AGAIN_S)
        kernel = process.probe(terminal, leader)
    settings = tty.probe(kernel.terminal or terminal)
    if kernel.listening is False and settings.canonical is False and not kernel.through:
        kernel = process.probe_elsewhere(kernel, terminal)  # raw, and deaf: somebody else may ask here
    return evolve(now, quiet_s=quiet_s, kernel=kernel, tty=settings)
