"""A session that exists only in memory: for tests of stallkit and of other code."""

from __future__ import annotations

from typing import Callable

from attrs import evolve

from stallkit.errors import KeysRefused, SessionGone, TransportError
from stallkit.evidence.snapshot import KernelFacts, Member, ProcessFacts, Snapshot
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.transports.base import Closing

_READS = KernelFacts(listening=True, how="read", foreground="script")


class MemoryTransport(Closing):
    """A scripted session: it shows `screen`, and `on_keys` returns what it shows after a key.

    `sent` is what was pressed, in order; `captures` counts looks.  Set `gone` or `failing` to make the next call raise,
    `before_send` to change the session between a look and a press.  `kernel` are the facts of every look: by default
    the program waits for a key; None is a session whose kernel facts are unknown.

    >>> from stallkit import check
    >>> session = MemoryTransport("Proceed? [y/N] ", on_keys=lambda data: None)
    >>> str(check(session).verdict.state)
    'waiting'
    """

    def __init__(
        self,
        screen: Screen | str,
        on_keys: Callable[[bytes], Screen | str | None] = lambda keys: None,
        target: str = "memory:",
        foreground: str | None = None,
        kernel: KernelFacts | None = _READS,
    ) -> None:
        if kernel is _READS:
            reader = Member(pid=1, name=foreground or "script", state="S", interactive=False)
            kernel = evolve(kernel, members=(reader,), readers=(reader,), background=())
        self.target = target
        self.on_keys = on_keys
        self.sent: list[bytes] = []
        self.captures = 0
        self.gone = False
        self.failing: TransportError | None = None
        self.before_send: Callable[[], None] = lambda: None
        self.now = Snapshot(
            screen=_screen(screen),
            alive=True,
            process=ProcessFacts(foreground),
            kernel=kernel,
            accepts_keys=True,
            target=target,
            identity="memory",
        )

    def show(self, screen: Screen | str) -> None:
        """Show another screen from now on."""
        self.now = evolve(self.now, screen=_screen(screen))

    def capture(self) -> Snapshot:
        """What is shown now."""
        self._check()
        self.captures += 1
        return self.now

    def send(self, keys: Keys, seen: Snapshot) -> None:
        """Accept the keys, if the session is still as it was seen."""
        self.before_send()
        self._check()
        if not self.now.accepts_keys:
            raise KeysRefused(self.target, "it takes no keys")
        if (self.now.identity, self.now.screen.fingerprint) != (seen.identity, seen.screen.fingerprint):
            raise KeysRefused(self.target, "it changed since it was looked at")
        self.sent.append(keys.to_bytes())
        after = self.on_keys(self.sent[-1])
        if after is not None:
            self.show(after)

    def close(self) -> None:
        """End the session."""
        self.gone = True

    def _check(self) -> None:
        if self.failing is not None:
            raise self.failing
        if self.gone:
            raise SessionGone(self.target, "it was closed")


def _screen(screen: Screen | str) -> Screen:
    return screen if isinstance(screen, Screen) else Screen.from_text(screen, size=(80, 24))
