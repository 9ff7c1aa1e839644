"""A check for programs of asyncio; apart from `check`, since asyncio takes as long to import as a look does."""

from __future__ import annotations

import asyncio

from stallkit.detect.engine import Engine
from stallkit.press.check import CheckResult, check
from stallkit.press.events import EventLog
from stallkit.press.policy import Policy
from stallkit.transports.base import Options, Transport

__all__ = ["check_async"]


async def check_async(
    session: str | Transport,
    policy: Policy | str | None = None,
    *,
    engine: Engine | None = None,
    options: Options | None = None,
    log: EventLog | None = None,
) -> CheckResult:
    """`check` for asyncio: it waits in a thread of its own, which a cancelled task leaves to end by itself.

    >>> import asyncio
    >>> from stallkit import MemoryTransport
    >>> str(asyncio.run(check_async(MemoryTransport("Proceed? [y/N] "))).status)
    'maybe'
    """
    return await asyncio.to_thread(check, session, policy, engine=engine, options=options, log=log)
