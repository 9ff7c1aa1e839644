"""The places that apprise reaches, each by an address: mail, ntfy, Telegram, Slack, Matrix and many more.

Needs the extra ``apprise``.  What is over is not told there: these places have no way to take a message back.
"""

from __future__ import annotations

import logging
from typing import Sequence

from stallkit.errors import StallkitError
from stallkit_supervisor.notify.hooks import CloudEvent
from stallkit_supervisor.notify.notice import CLEARED, Notice

__all__ = ["Apprise"]

logging.getLogger("apprise").addHandler(logging.NullHandler())  # it would print addresses, which hold tokens


class Apprise:
    """Notices as short messages of other services; of an address only its scheme is ever shown."""

    def __init__(self, addresses: Sequence[str]) -> None:
        """Raises ValueError for an address that apprise does not know, StallkitError if apprise is not installed."""
        try:
            import apprise  # extra: apprise
        except ImportError as error:
            why, todo = "apprise is not installed", "pip install 'stallkit-supervisor[apprise]'"
            raise StallkitError("notify", "apprise", why, todo) from error
        self._places: list[tuple[str, apprise.Apprise]] = []  # each by its scheme
        for number, address in enumerate(addresses, 1):
            place = apprise.Apprise()
            if not place.add(address):
                raise ValueError(f"apprise does not know address {number} of [notify] apprise, or it is incomplete")
            self._places.append((address.partition(":")[0], place))
        self.name = f"apprise {' '.join(scheme for scheme, _ in self._places)}"

    def deliver(self, said: CloudEvent) -> str:
        if said.event.name == CLEARED:
            return "not told: a message cannot be taken back"
        notice = Notice.of(said.event)
        sent = [(scheme, place.notify(notice.body or notice.title, notice.title)) for scheme, place in self._places]
        if failed := [scheme for scheme, well in sent if not well]:
            raise OSError(f"{', '.join(failed)} did not take it")
        return "sent"

    def close(self) -> None:
        pass
