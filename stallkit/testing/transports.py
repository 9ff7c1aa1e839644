"""Does a transport keep the protocol: `check_transport`."""

from __future__ import annotations


def check_transport() -> None:
    pass
