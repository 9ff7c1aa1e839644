"""One evaluation from paths to figures: cases are read, judged by a backend, and counted.

A backend is this process, several, or a Dask cluster; the figures are the same.  `judge_chunk` is all the work and is
pure; backends only carry chunks to it and bring the answers back in order.
"""

from __future__ import annotations

import logging
import signal
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import version
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Sequence

from attrs import evolve, frozen

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Pack
from stallkit.errors import StallkitError, StoreError
from stallkit.evidence.claim import SILENT, installed_classifier
from stallkit.redact.redact import redact
from stallkit_lab.corpus_lines import Line
from stallkit_lab.evaluate import corpus
from stallkit_lab.evaluate.corpus import Item
from stallkit_lab.evaluate.evaluation import groups, tally
from stallkit_lab.evaluate.holdout import installed_package_dirs, left_out, named_by
from stallkit_lab.evaluate.prediction import Prediction, judge_case

NAMED = 1_000  # unreadable cases listed by name; the rest is counted, or a file of garbage would fill the memory


@frozen
class EvalOptions:
    """The options of an evaluation: what it looks at, and where it runs."""

    screen_only: bool = False
    holdout: bool = False  # each program's cases without the signatures that name only it
    jobs: int = 1
    cluster: str | None = None  # HOST:PORT of a Dask scheduler


@frozen
class Evaluation:
    """The result: each case's prediction, in order; unreadable cases; those without a label; held-out signatures."""

    packs: tuple[Pack, ...]
    how: EvalOptions
    predictions: tuple[Prediction, ...]
    problems: tuple[str, ...]
    skipped: tuple[str, ...]
    left_out: dict[str, list[str]] | None

    @property
    def settings(self) -> dict[str, Any]:
        """What it depends on besides the cases."""
        return {
            "packs": {pack.name: pack.version for pack in self.packs},
            "classifier": None if self.how.holdout else _classifier(),
            "screen_only": self.how.screen_only,
            "leave_out": "program" if self.how.holdout else None,
        }

    def as_object(self, by: Sequence[str] = ()) -> dict[str, Any]:
        """As ``stallkit eval --json`` prints it, with the requested groups."""
        result = tally(self.predictions) | {"settings": self.settings}
        if by:
            result["groups"] = {name: groups(self.predictions, name) for name in by}
        if self.left_out is not None:
            result["left_out"] = self.left_out
        return result | {"skipped": list(self.skipped), "problems": list(self.problems)}


def evaluate_paths(
    paths: Sequence[Path], packs: Sequence[Pack], how: EvalOptions, on_done: Callable[[int], None] = lambda done: None
) -> Evaluation:
    """Judge every case in these corpora; the result is the same with every backend.

    `on_done` is called with how many more cases are judged.  Raises StallkitError if the backend does not work;
    unreadable cases are in `problems`.
    """
    unread: list[StallkitError] = []
    skipped: list[str] = []
    named = named_by(packs, installed_package_dirs()) if how.holdout else None
    settings = Settings(tuple(packs), how.screen_only, None if named is None else tuple(named.items()))
    items = chain.from_iterable(corpus.items(path, unread, skipped) for path in paths)
    predictions: list[Prediction] = []
    unreadable: list[str] = []
    broken = 0
    if how.cluster is not None:
        chunks = on_cluster(settings, items, how.cluster)
    elif how.jobs > 1:
        chunks = on_processes(settings, items, how.jobs)
    else:
        chunks = (judge_chunk(settings, some) for some in _some(items))
    for chunk in chunks:
        predictions += chunk.predictions
        broken += len(chunk.problems)
        unreadable += chunk.problems[: NAMED - len(unreadable)]
        on_done(len(chunk.predictions) + len(chunk.problems))
    problems = [*map(str, unread), *unreadable]
    if broken > len(unreadable):
        problems.append(f"{broken - len(unreadable)} more cases cannot be read")
    if not predictions and not problems:
        problems = [f"{', '.join(map(str, paths))}: it holds no case; docs/measure.md describes cases"]
    programs = sorted({one.program for one in predictions})
    without = None
    if named is not None:
        without = {redact(name): gone for name in programs if (gone := sorted(left_out(name, named)))}
    return Evaluation(tuple(packs), how, tuple(predictions), tuple(problems), tuple(skipped), without)


CHUNK = 64  # cases: some 30 ms of work, so that sending them costs little
_AHEAD = 3  # chunks in flight for each worker, so that a corpus of any length is never in memory at once
_CONNECT_S = 5


@frozen
class Settings:
    """Settings for judging cases; by value, so that a worker's own packs do not matter.

    `named`: judge each program's cases without the signatures that name only it (`holdout`).
    """

    packs: tuple[Pack, ...]
    screen_only: bool = False
    named: tuple[tuple[str, tuple[frozenset[str], ...]], ...] | None = None


@frozen
class Chunk:
    """The predictions for some cases, in their order, and the errors of unreadable ones."""

    predictions: tuple[Prediction, ...]
    problems: tuple[str, ...]


def judge_chunk(settings: Settings, items: Sequence[Item]) -> Chunk:
    """Read and judge some cases."""
    engine_for = _engine_for(settings)
    predictions: list[Prediction] = []
    problems: list[str] = []
    for item in items:
        try:
            case = item.read() if isinstance(item, Line) else item
        except StoreError as error:
            problems.append(str(error))
        else:
            look = case.screen_only if settings.screen_only else case
            # What a classifier has learnt cannot be left out for one program, so all of it is.
            predictions.append(judge_case(look, engine_for(case.program), SILENT if settings.named else None))
    return Chunk(tuple(predictions), tuple(problems))


@lru_cache(maxsize=4)
def _engine_for(settings: Settings) -> Callable[[str], Engine]:
    """The engine for each program: one for each distinct set of held-out signatures."""
    named = dict(settings.named or ())

    @cache
    def without(gone: frozenset[str]) -> Engine:
        return Engine(_less(pack, gone) for pack in settings.packs)

    return cache(lambda program: without(left_out(program, named)))


def _less(pack: Pack, gone: frozenset[str]) -> Pack:
    return evolve(pack, signatures=[one for one in pack.signatures if f"{pack.name}:{one.id}" not in gone])


def on_processes(settings: Settings, items: Iterable[Item], jobs: int) -> Iterator[Chunk]:
    """The cases judged by `jobs` processes, chunk by chunk.  Raises StallkitError if one of them ends early."""
    # Spawned: a fork would copy the locks of the caller's threads, held or not.
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_begin, initargs=(settings,))
    try:
        yield from _in_order(lambda chunk: pool.submit(_continue, chunk), items, jobs)
    except BrokenProcessPool as error:
        raise StallkitError("evaluation", "worker", "it ended early", "try --jobs 1, which shows why") from error
    finally:
        pool.shutdown(cancel_futures=True)


_own: list[Settings] = []  # of a worker process, so that packs are not sent along with each chunk


def _begin(settings: Settings) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    _own[:] = [settings]


def _continue(items: Sequence[Item]) -> Chunk:
    return judge_chunk(_own[0], items)


def on_cluster(settings: Settings, items: Iterable[Item], address: str) -> Iterator[Chunk]:
    """The same from the workers of a running Dask scheduler, HOST:PORT.

    Raises StallkitError if distributed is not installed, the scheduler does not answer or has no worker, or a
    worker has another version of stallkit or another classifier, which might judge differently.
    """
    try:
        make_client = import_module("distributed").Client
    except ImportError as error:
        todo = "pip install 'stallkit-lab[cluster]'"
        raise StallkitError("backend", "dask", "distributed is not installed", todo) from error
    for name in ("distributed", "distributed.client", "distributed.comm"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # the error is reported once, below
    try:
        with make_client(address, timeout=_CONNECT_S, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=_CONNECT_S)
            threads = sum(client.nthreads().values())
            versions = set(client.run(_versions).values())
            if versions != {_versions()}:
                other = ", ".join(sorted(versions - {_versions()}))
                raise ValueError(f"its workers have stallkit {other}, this is {_versions()}")
            shared = client.scatter(settings, broadcast=True)
            yield from _in_order(lambda some: client.submit(judge_chunk, shared, some, pure=False), items, threads)
    except Exception as error:  # distributed and tornado have no common base class
        todo = "check that the scheduler runs, and its workers have this version of stallkit and its classifier"
        why = f"it did not do the work: {type(error).__name__}: {error}"
        raise StallkitError("backend", f"dask://{address}", why, todo) from error


def _versions() -> str:
    return f"{version('stallkit')} with {_classifier() or 'no classifier'}"


def _classifier() -> str | None:
    """The distribution that tells by the form, and its version."""
    found = installed_classifier()
    return None if found is None else str(found)


def _in_order(submit: Callable[[list[Item]], Any], items: Iterable[Item], workers: int) -> Iterator[Chunk]:
    flying: deque[Any] = deque()  # futures
    for some in _some(items):
        flying.append(submit(some))
        if len(flying) >= workers * _AHEAD:
            yield flying.popleft().result()
    while flying:
        yield flying.popleft().result()


def _some(items: Iterable[Item]) -> Iterator[list[Item]]:
    rest = iter(items)
    while some := list(islice(rest, CHUNK)):
        yield some
