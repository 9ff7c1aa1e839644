"""What a supervisor thinks about one look: `python benchmarks/watched.py [SESSIONS]`.

Its own parts alone, without tmux and the kernel: as many sessions, in each a program that nothing is known of, whose
screen goes on by a line at each look, or rests.  In multiples of a `str.split` of the same screens, taken in turns.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Callable

from stallkit_supervisor.session_state import WatchConfig
from stallkit_supervisor.watched import Watched
from stallkit_wrap.askpass.prompts import AskedPrompts
from timing import interleaved, table

from stallkit import Engine, Screen
from stallkit.evidence.snapshot import KernelFacts, ProcessFacts, Snapshot
from stallkit.press.policy import CAREFUL
from stallkit.probes.activity import TcpSockets

ROWS, COLUMNS = 24, 80
TEXT = Path(__file__).parent.parent / "docs" / "watch.md"


class Room:
    """The sessions, and the clock that goes on by a second at each look at all of them."""

    def __init__(self, sessions: int) -> None:
        self.watched = [Watched(f"tmux:{number}") for number in range(sessions)]
        self.engine, self.config = Engine.default(), WatchConfig(CAREFUL)
        self.seconds = itertools.count(1)
        lines = [line[:COLUMNS] for line in TEXT.read_text().splitlines() if line.strip()]
        self.lines = lines * (2 + (sessions + 1_000) // len(lines))
        self.looks: list[Snapshot] = []
        self.show(0)

    def show(self, second: int) -> None:
        """What each session shows at that second."""
        self.looks = [self._shown(one, number + second % 1_000) for number, one in enumerate(self.watched)]

    def _shown(self, watched: Watched, first: int) -> Snapshot:
        text = "\n".join([*self.lines[first : first + ROWS - 1], ""])
        screen = Screen.from_text(text, cursor=(0, ROWS - 1), size=(COLUMNS, ROWS))
        kernel = KernelFacts(foreground="cat", listening=False)
        return Snapshot(screen, process=ProcessFacts("cat"), kernel=kernel, identity=watched.target)

    def think(self, seen: bool) -> None:
        """One look at each: judged where it is `seen`, and what follows from it."""
        now, sockets, prompts = float(next(self.seconds)), TcpSockets(), AskedPrompts()
        for watched, look in zip(self.watched, self.looks, strict=True):
            if not seen and watched.passes(now, self.config):
                continue
            watched.look(look if seen else None, self.engine)
            watched.watch_over(now, self.config.hung_after_s, sockets, prompts)
            watched.step(now, self.config)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sessions", nargs="?", type=int, default=500)
    count = parser.parse_args().sessions
    moving, resting = Room(count), Room(count)
    resting.think(True)
    seconds = itertools.count(1)

    def moves() -> None:
        moving.show(next(seconds))
        moving.think(True)

    ways: dict[str, Callable[[], object]] = {
        "`str.split` of each": lambda: [look.screen.text.split("\n") for look in moving.looks],
        "screens made": lambda: moving.show(next(seconds)),
        "... judged, and thought about": moves,
        "at rest": lambda: resting.think(False),
    }
    taken = interleaved(ways, rounds=9)
    unit = taken["`str.split` of each"]
    print(f"{count} sessions, {len(moving.engine.signatures)} signatures:\n")
    table(
        ["a look", "us", "ratio"],
        [[name, f"{one / count * 1e6:.1f}", f"{one / unit:.1f}"] for name, one in taken.items()],
    )


if __name__ == "__main__":
    main()
