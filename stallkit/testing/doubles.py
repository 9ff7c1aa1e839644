"""Instead of the real thing: `FakeClock`, time that passes by its own `sleep`; `StandIn`, a program with signals."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Callable, Iterator, Self, Sequence

from stallkit.evidence.signal import Signal
from stallkit.signals.collect import signals_below
from stallkit.signals.source import Publisher


class FakeClock:
    """A clock and its sleep, for functions that take both: ``send(..., clock=clock, sleep=clock.sleep)``.

    `then` is called after each sleep with the seconds that have passed since the clock was made; it may change what a
    session shows.  `now` is the current time, in seconds; `start` the first.
    """

    def __init__(self, then: Callable[[float], object] = lambda passed: None, start: float = 100.0) -> None:
        self.start = self.now = start
        self.then = then

    @property
    def passed(self) -> float:
        """Seconds slept so far."""
        return self.now - self.start

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let the seconds pass at once.  Raises ValueError for a negative number, as time.sleep does."""
        if seconds < 0:
            raise ValueError(f"sleep length must be non-negative, not {seconds}")
        self.now += seconds
        self.then(self.passed)


_PAUSE_S, _PATIENCE_S = 0.02, 20.0  # between two looks at a condition; before it is given up


class StandIn:
    """A process that is called like a program, with a home of its own, below a command; for tests of a signal source.

    `name` is what it is called, `before` what it does in bash before it takes that name.  `command` starts it, by
    ``$AGENT`` in one of its words: a shell that waits for it, unless another is given.  Linux alone.

        with StandIn(tmp_path, "acme") as agent:
            (tmp_path / ".acme.json").write_text('{"asks": "Deploy?"}')
            [said] = agent.signals()
            check_signal(SOURCE, agent.publisher, [tmp_path / ".acme.json"])
    """

    def __init__(self, home: Path, name: str, command: Sequence[str] = (), before: str = "") -> None:
        self.home, self.name = home, name
        script = home / f"start-{Path(name).name}"
        script.write_text(f"#!/bin/bash\n{before}exec -a {name} sleep 1000\n")
        script.chmod(0o755)
        environ = {"HOME": str(home), "PATH": os.environ["PATH"], "AGENT": str(script), "TERM": "xterm"}
        words = [word.replace("$AGENT", str(script)) for word in command] or ["bash", "-c", f"{script}; exit 3"]
        self.shell = subprocess.Popen(words, env=environ, start_new_session=True, stdin=subprocess.DEVNULL)
        try:
            self.wait_for(lambda: any(self._called()), f"a process called {name}")
        except AssertionError:
            self.end()
            raise
        self.pid = next(self._called())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def publisher(self) -> Publisher:
        """Its process, as a source sees it.  Raises AssertionError if it has ended."""
        found = Publisher.of(self.pid)
        assert found is not None, f"{self.name} has ended"
        return found

    def signals(self, leader: int | None = None) -> tuple[Signal, ...]:
        """What the installed sources say of it: of all below its command, or below another process."""
        return signals_below(leader or self.shell.pid)

    def wait_for(self, condition: Callable[[], object], what: str) -> None:
        """Return once the condition holds.  Raises AssertionError if it does not come true."""
        begun = time.monotonic()
        while not condition():
            waited_s = time.monotonic() - begun
            assert waited_s < _PATIENCE_S, f"gave up waiting for {what}"
            time.sleep(max(_PAUSE_S, waited_s / 10))  # each look reads all processes: it leaves time to the others

    def end(self) -> None:
        """Kill it, and whatever else has its home."""
        for pid in self._at_home():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.shell.kill()
        self.shell.wait()

    def _called(self) -> Iterator[int]:
        for pid in self._at_home():
            with suppress(OSError):  # it ended
                if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(f"{self.name}\0".encode()):
                    yield pid

    def _at_home(self) -> Iterator[int]:
        """The processes that have its home, by their environment: also those that nothing here started."""
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                with suppress(OSError):
                    if f"HOME={self.home}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                        yield int(entry.name)
