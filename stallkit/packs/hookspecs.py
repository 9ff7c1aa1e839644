"""The hook that a pack's package implements, found through the entry points ``stallkit.packs``."""

from __future__ import annotations

from typing import Sequence

import pluggy

from stallkit.core.signature import Pack

__all__ = ["hookimpl", "hookspec"]

hookspec = pluggy.HookspecMarker("stallkit")
hookimpl = pluggy.HookimplMarker("stallkit")


@hookspec
def stallkit_packs() -> Sequence[Pack]:
    """The packs that this distribution ships, usually ``[load_pack(__package__)]``.

    Called once, when an engine is made of the installed packs.  What it raises, and anything in its answer that is
    not a pack, is reported under the distribution's name; other packs are not affected.
    """
    raise NotImplementedError  # a specification: pluggy never calls it
