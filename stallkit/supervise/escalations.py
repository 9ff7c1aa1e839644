"""What a supervisor needs of whoever keeps what a person has to answer."""

from __future__ import annotations

from typing import Protocol

from stallkit.core.topic import Topic
from stallkit.core.verdict import Snapshot, Verdict

__all__ = ["Escalations"]


class Escalations(Protocol):
    """Files what a person is told of, and takes back what is over.  Its methods raise StoreError, and are quick."""

    def file(self, target: str, topic: Topic, verdict: Verdict, seen: Snapshot) -> int:
        """The number of what a person is about to be told; it is on the disk on return."""
        ...

    def overtaken(self, target: str, seen: Snapshot) -> bool:
        """Whether what this look shows was answered after it, a moment ago: the next one shows what that led to."""
        ...

    def look(self, target: str, topic: Topic | None, verdict: Verdict, seen: Snapshot) -> None:
        """Take back what this look, after which there is `topic` to tell, shows no more."""
        ...
