"""Who waits for a run, and what it tells: threads, many callers, observers, asyncio."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import pytest
from runs_of import ASK, SLEEP, alive, held, names
from stallkit_sessions import Run, RunResult, run_async
from terminals import wait_for

from stallkit import Detection, Engine, Screen, TransportError
from stallkit.press.events import Event

pytestmark = pytest.mark.e2e


# --- callers ---


def test_in_the_background_from_another_thread(start: Callable[..., Run]) -> None:
    started = start(*SLEEP)
    with ThreadPoolExecutor() as pool:
        waits = [pool.submit(started.wait) for _ in range(3)]
        wait_for(lambda: len(started._waiters) == 3, "all to wait")
        started.background()
        assert {str(wait.result().status) for wait in waits} == {"background"}
    assert str(started.poll().status) == "background"


def test_many_wait_for_one_run(start: Callable[..., Run]) -> None:
    started = start(*ASK)
    with ThreadPoolExecutor(30) as pool:
        waits = [pool.submit(started.wait) for _ in range(30)]
        assert {str(wait.result().status) for wait in waits} == {"waiting"}
        started.answer("y")
        ends = [pool.submit(started.wait) for _ in range(30)]
        assert {(str(end.result().status), end.result().exit_status) for end in ends} == {("exited", 0)}


def test_a_poll_while_it_works_changes_nothing(start: Callable[..., Run]) -> None:
    started = start("sh", "-c", "echo working; sleep 1000")
    wait_for(lambda: "working" in started.poll().screen.text, "the output")
    assert {str(started.poll().status) for _ in range(50)} == {"background"}


def test_progress_is_told_while_a_wait_lasts(start: Callable[..., Run]) -> None:
    told: list[tuple[float, str]] = []
    started = start("sh", "-c", "echo step 1; sleep 1000")
    started.wait(timeout_s=1.5, on_progress=lambda seconds, line: told.append((seconds, line)))
    assert told and told[-1][1] == "step 1" and told[-1][0] > 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_interrupts_a_wait_leaves_it_and_not_the_run(
    start: Callable[..., Run], error: type[BaseException]
) -> None:
    def interrupt(seconds: float, line: str) -> None:
        raise error

    started = start(*SLEEP)
    with pytest.raises(error):
        started.wait(on_progress=interrupt)
    assert str(started.wait(timeout_s=0).status) == "timeout"
    wait_for(lambda: not started._waiters, "nobody to be waited for any more")


# --- what is told in the background ---


def test_one_notice_a_spell_of_quiet(start: Callable[..., Run], tmp_path: Path) -> None:
    """It prints and rests, twice; it never waits for input, so each rest is told softly, and once."""
    events: list[Event] = []
    script = f"for n in 1 2; do echo step $n; while [ ! -e {tmp_path}/$n ]; do sleep 0.05; done; done"
    start("sh", "-c", script, window_s=2.0, on_event=events.append)  # a machine may take one second to begin
    for spell in (1, 2):
        wait_for(lambda count=spell: names(events).count("run_may_wait") == count, f"notice {spell}: {names(events)}")
        (tmp_path / str(spell)).touch()
    wait_for(lambda: "run_ended" in names(events), "its end")
    assert names(events) == ["run_may_wait", "run_may_wait", "run_ended"]
    assert events[1].facts["why"] == "nothing new for 2 s; it may be waiting for input"
    assert (events[-1].facts["exit_status"], events[-1].facts["signal"]) == (0, None)


def test_a_rest_is_told_once_however_long(start: Callable[..., Run]) -> None:
    events: list[Event] = []
    started = start(*SLEEP, window_s=0.2, on_event=events.append)
    wait_for(lambda: events, "the notice")
    looked = started._process._looked
    wait_for(lambda: started._process._looked > looked + 2, "some more looks")
    assert names(events) == ["run_may_wait"]


def test_a_run_that_redraws_is_told_when_its_window_is_over_and_once(start: Callable[..., Run]) -> None:
    """A clock is never at rest, so that no spell of quiet tells of it."""
    events: list[Event] = []
    clock = "n=0; while :; do n=$((n+1)); printf '\\rworking %s' $n; sleep 0.1; done"
    started = start("sh", "-c", clock, window_s=2.0, on_event=events.append)
    wait_for(lambda: events, "the end of the window")
    looked = started._process._looked
    wait_for(lambda: started._process._looked > looked + 4.5, "two more windows to pass")
    assert names(events) == ["run_may_wait"]
    assert events[0].facts["why"].startswith("after 2 s it still runs; ")
    assert alive(started._process.transport.pid)


def test_a_caller_whose_wait_ended_with_the_window_is_not_told_again(start: Callable[..., Run]) -> None:
    events: list[Event] = []
    clock = "n=0; while :; do n=$((n+1)); printf '\\rworking %s' $n; sleep 0.1; done"
    started = start("sh", "-c", clock, window_s=2.0, on_event=events.append)
    assert str(started.wait().status) == "maybe"
    looked = started._process._looked
    wait_for(lambda: started._process._looked > looked + 2.5, "another window to pass")
    assert names(events) == []


def test_an_observer_may_answer(start: Callable[..., Run]) -> None:
    made: list[Run] = []
    outcomes: list[Any] = []

    def observe(event: Event) -> None:
        if event.name == "run_waiting":
            outcomes.append(made[0].answer("y"))

    made.append(start(*ASK, on_event=observe))
    assert "you said [y]" in made[0].join().output
    assert [outcome.keys is not None for outcome in outcomes] == [True]


def test_an_observer_cannot_wait_for_its_own_run(start: Callable[..., Run]) -> None:
    made: list[Run] = []
    errors: list[str] = []

    def observe(event: Event) -> None:
        try:
            made[0].wait()
        except RuntimeError as error:
            errors.append(str(error))

    made.append(start(*ASK, on_event=observe))
    wait_for(lambda: errors, "the refusal")
    assert "must not wait" in errors[0]


def test_an_observer_that_fails_harms_nobody(start: Callable[..., Run], caplog: pytest.LogCaptureFixture) -> None:
    def observe(event: Event) -> None:
        raise ZeroDivisionError(event.name)

    started = start(*ASK, on_event=observe)
    wait_for(lambda: "ZeroDivisionError: run_waiting" in caplog.text, "the failure in the log")
    started.answer("y")
    assert started.wait().exit_status == 0


def test_a_run_that_cannot_be_watched_says_so_to_all(
    start: Callable[..., Run], caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody waits for ever, and nobody is told that it runs."""

    class Breaking(Engine):
        """An engine that works until it is told to break."""

        broken = False

        def detect(self, screen: Screen, since: Detection | None = None) -> Detection:
            if self.broken:
                raise ZeroDivisionError("no verdict")
            return super().detect(screen, since)

    engine = Breaking([])
    started = start(*SLEEP, engine=engine)
    pid = started._process.transport.pid
    with ThreadPoolExecutor() as pool:
        waits = pool.submit(started.wait)
        wait_for(lambda: started._waiters, "somebody to wait")
        engine.broken = True
        with pytest.raises(ZeroDivisionError):
            waits.result()
    for ask in (started.wait, started.join, started.poll):
        with pytest.raises((ZeroDivisionError, TransportError)):
            ask()
    assert not alive(pid)
    engine.broken = False
    assert "cannot be watched any more" in caplog.text


# --- asyncio ---


def test_several_at_once_in_asyncio(engine: Engine) -> None:
    async def together() -> list[RunResult]:
        return await asyncio.gather(*(run_async(["sh", "-c", f"exit {n}"], engine=engine) for n in range(10)))

    before = held()
    assert [result.exit_status for result in asyncio.run(together())] == list(range(10))
    wait_for(lambda: held() == before, f"everything to be let go of: {before}, {held()}")


def test_a_cancelled_task_stops_the_program_and_leaves_nothing(engine: Engine, tmp_path: Path) -> None:
    turns: list[int] = []

    async def count() -> None:
        while True:
            turns.append(1)
            await asyncio.sleep(0.01)

    async def cancelled() -> None:
        script = f"trap '' HUP TERM; echo $$ > {tmp_path}/pid; while :; do sleep 0.1; done"
        task = asyncio.create_task(run_async(["sh", "-c", script], engine=engine))
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            await asyncio.sleep(0.01)
        counting = asyncio.create_task(count())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        counting.cancel()

    before = held()
    asyncio.run(cancelled())
    assert not alive(int((tmp_path / "pid").read_text()))
    assert len(turns) > 2, "other tasks went on while it was being ended"
    wait_for(lambda: held() == before, f"everything to be let go of: {before}, {held()}")


def test_a_time_out_in_asyncio_kills(engine: Engine) -> None:
    result = asyncio.run(run_async(SLEEP, engine=engine, timeout_s=0.2, kill=True))
    assert (str(result.status), result.signal) == ("timeout", "SIGHUP")
