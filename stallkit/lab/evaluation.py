"""One evaluation from paths to figures: what is read, judged by which engine, and what came of it."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

from attrs import frozen

from stallkit.core.redact import redact
from stallkit.core.signature import Pack
from stallkit.errors import StallkitError
from stallkit.lab import corpus, engines
from stallkit.lab.evaluate import groups, tally
from stallkit.lab.judged import Judged
from stallkit.lab.leave_out import installed_homes, left_out, named_by

__all__ = ["NAMED", "Evaluation", "How", "evaluate_paths"]

NAMED = 1_000  # cases that cannot be read, each by name; the rest is counted, or a file of garbage fills the memory


@frozen
class How:
    """How an evaluation is done: what it looks at, and where it is computed."""

    screen_only: bool = False
    leave_out: bool = False  # each program's cases without the signatures that name only it
    jobs: int = 1
    cluster: str | None = None  # HOST:PORT of a Dask scheduler


@frozen
class Evaluation:
    """What came of it: every case's answer, in order; what could not be read; what has no label; what was left out."""

    packs: tuple[Pack, ...]
    how: How
    judged: tuple[Judged, ...]
    problems: tuple[str, ...]
    skipped: tuple[str, ...]
    left_out: dict[str, list[str]] | None

    @property
    def settings(self) -> dict[str, Any]:
        """What it depends on beside the cases."""
        return {
            "packs": {pack.name: pack.version for pack in self.packs},
            "screen_only": self.how.screen_only,
            "leave_out": "program" if self.how.leave_out else None,
        }

    def as_object(self, by: Sequence[str] = ()) -> dict[str, Any]:
        """As ``stallkit eval --json`` prints it, with the groups that are asked for."""
        result = tally(self.judged) | {"settings": self.settings}
        if by:
            result["groups"] = {name: groups(self.judged, name) for name in by}
        if self.left_out is not None:
            result["left_out"] = self.left_out
        return result | {"skipped": list(self.skipped), "problems": list(self.problems)}


def evaluate_paths(
    paths: Sequence[Path], packs: Sequence[Pack], how: How, on_done: Callable[[int], None] = lambda done: None
) -> Evaluation:
    """Judge every case in these corpora; whatever engine does it, the answer is the same.

    Raises StallkitError where the engine does not work; what cannot be read is in `problems`.
    """
    unread: list[StallkitError] = []
    skipped: list[str] = []
    named = named_by(packs, installed_homes()) if how.leave_out else None
    settings = engines.Settings(tuple(packs), how.screen_only, None if named is None else tuple(named.items()))
    items = chain.from_iterable(corpus.items(path, unread, skipped) for path in paths)
    judged: list[Judged] = []
    unreadable: list[str] = []
    broken = 0
    for chunk in _chunks(settings, items, how, on_done):
        judged += chunk.judged
        broken += len(chunk.problems)
        unreadable += chunk.problems[: NAMED - len(unreadable)]
    problems = [*map(str, unread), *unreadable]
    if broken > len(unreadable):
        problems.append(f"{broken - len(unreadable)} more cases cannot be read")
    if not judged and not problems:
        problems = [f"{', '.join(map(str, paths))}: no case in it; see docs/measure.md for what a case is"]
    programs = sorted({one.program for one in judged})
    without = None
    if named is not None:
        without = {redact(name): gone for name in programs if (gone := sorted(left_out(name, named)))}
    return Evaluation(tuple(packs), how, tuple(judged), tuple(problems), tuple(skipped), without)


def _chunks(
    settings: engines.Settings, items: Iterator[corpus.Item], how: How, on_done: Callable[[int], None]
) -> Iterator[engines.Chunk]:
    if how.cluster is not None:
        return engines.on_cluster(settings, items, how.cluster, on_done)
    if how.jobs > 1:
        return engines.on_processes(settings, items, how.jobs, on_done)
    return engines.here(settings, items, on_done)
