"""Several processes that work at scenes, each with a tmux server of its own."""

from __future__ import annotations

import multiprocessing
from contextlib import suppress
from typing import Any, Callable, Sequence

from terminals import Server

from soak.hostile_scenes.staged import Result
from soak.parts import Run
from stallkit.packs.registry import installed_engine

__all__ = ["worked"]

# Most of a scene's time is waiting between looks.  Processes: a pattern's budget is the CPU time of its whole process.
WORKERS = 12

Job = tuple[int, str, Any]  # its number, what it is tried under or in, and the scene


def worked(
    run: Run,
    jobs: Sequence[Job],
    prepared: Callable[[Server], dict[str, Any]],
    tried: Callable[[Server, dict[str, Any], Job], Result],
) -> list[Result]:
    """What came of each job; `prepared` makes what a worker needs, once, in its server's folder."""
    installed_engine()  # made once, for all of them
    context = multiprocessing.get_context("fork")
    given, found = context.SimpleQueue(), context.SimpleQueue()
    servers = []
    for number in range(min(WORKERS, len(jobs))):
        folder = run.folder / f"w{number}"
        folder.mkdir()
        servers.append(Server(folder))
    workers = [context.Process(target=_work, args=(one, jobs, prepared, tried, given, found)) for one in servers]
    done: list[Result] = []
    try:
        for worker in workers:
            worker.start()
        for place in [*range(len(jobs)), *[None] * len(workers)]:  # the jobs themselves would fill the pipe
            given.put(place)
        while len(done) < len(jobs):
            done.append(found.get())
            run.tell(len(done) * run.size // len(jobs))
    finally:
        for worker in workers:
            worker.join(0.0 if len(done) < len(jobs) else 10.0)
            worker.kill()
            worker.join()
        for server in servers:
            server.end()
    return done


def _work(
    server: Server,
    jobs: Sequence[Job],
    prepared: Callable[[Server], dict[str, Any]],
    tried: Callable[[Server, dict[str, Any], Job], Result],
    given: Any,
    found: Any,
) -> None:
    server.tmux("new-session", "-d", "-s", "keeper", "sleep", "100000")  # so that the server outlives every scene
    own = prepared(server)
    while (place := given.get()) is not None:
        job = jobs[place]
        try:
            found.put(tried(server, own, job))
        except BaseException as error:  # whatever it is, the others go on
            found.put(Result(getattr(job[2], "family", job[1]), job[2].name, job[1], fault=repr(error)))
            with suppress(AssertionError):
                server.tmux("kill-session", "-a", "-t", "=keeper")
