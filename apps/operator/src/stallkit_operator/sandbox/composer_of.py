"""The terminal of a sandbox to which a person's reply may be typed: one whose manifest says ``interactive = true``."""

from __future__ import annotations

import math
from contextlib import closing

from stallkit_sessions.register import Register, RunningSession

from stallkit.config import sandboxes_file, sessions_file
from stallkit.errors import ConfigError
from stallkit.transports.base import Options, Transport
from stallkit.transports.targets import open_target
from stallkit.transports.tmux.identity import Identity
from stallkit_operator.item import Item
from stallkit_operator.sandbox.sandboxes import Sandboxes

__all__ = ["composer_of", "terminal_of"]


def composer_of(item: Item) -> Transport | None:
    """The pane of the sandbox that asked, which the caller closes.

    None where it was not started from a manifest, is sealed, does not run, or was replaced since it asked: then the
    reply is to another agent.  Raises StoreError, TransportError.
    """
    return terminal_of(item.session, item.created)


def terminal_of(name: str, by: float = math.inf) -> Transport | None:
    """The pane of a sandbox into which keys go, if it runs and was started by then; the caller closes it."""
    if not sandboxes_file().exists() or not sessions_file().exists():
        return None
    with closing(Sandboxes(sandboxes_file())) as sandboxes:
        sandbox = sandboxes.find(name)
    try:
        if sandbox is None or not sandbox.manifest.interactive:
            return None
    except ConfigError:  # an earlier stallkit read it otherwise
        return None
    with closing(Register(sessions_file(), or_copy=True)) as register:
        found = register.latest(name)
    if not isinstance(found, RunningSession) or not found.bound:
        return None
    session = found.session
    if session.id != sandbox.session or session.sealed or session.started_at > by:
        return None
    options = Options(session.tmux_socket_name, session.tmux_socket_path)
    return open_target(f"tmux:{Identity.of(session.identity).pane}", options)
