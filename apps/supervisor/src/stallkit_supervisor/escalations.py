"""What a supervisor needs of whoever keeps what a person has to answer."""

from __future__ import annotations

from typing import Collection, Protocol

from attrs import frozen

from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.verdict import Verdict
from stallkit_supervisor.notification import Need, NoticeSubject


@frozen
class Filed:
    """What an earlier supervisor told of a session, by the key of its subject; times are seconds of the wall clock."""

    key: str
    what: Need
    kind: str | None
    identity: str  # of the session that it was told of
    since: float  # it is there
    told: int  # how often, and when last
    told_at: float
    open: bool = True  # nobody has taken it off the list


class Escalations(Protocol):
    """Files what a person hears of, and takes back what is over.  Its methods raise StoreError, and are quick."""

    def filed(self, target: str) -> Filed | None:
        """What an earlier supervisor told of a session, and did not see the end of; the latest."""
        ...

    def file(self, target: str, subject: NoticeSubject, verdict: Verdict, seen: Snapshot, since: float) -> int:
        """The number of what a person hears of next, there `since`; it is on the disk on return."""
        ...

    def answered(self, target: str) -> str | None:
        """Who answers what is open of a session, or has just answered it, through stallkit; None: nobody."""
        ...

    def overtaken(self, target: str, seen: Snapshot) -> bool:
        """Whether what this look shows was answered after it, a moment ago: the next one shows what that led to."""
        ...

    def look(
        self, target: str, subject: NoticeSubject | None, verdict: Verdict, seen: Snapshot, by: str | None
    ) -> None:
        """Take back what this look, after which there is `subject` to tell, shows no more; `by` says how it ended."""
        ...

    def missing(self, identities: Collection[str]) -> Collection[str]:
        """The sessions that something asks in, and that are none of these: all that there are on the tmux server."""
        ...

    def only(self, identities: Collection[str]) -> None:
        """Take back what asks in a session that is none of these: all that there are on the tmux server."""
        ...
