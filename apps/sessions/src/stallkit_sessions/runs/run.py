"""The foreground run: a program on its own terminal, awaited until it ends or needs input.

`run` and `run_async` start it and wait; their result says what came first, and holds the `Run`, which can be waited for
again, answered and stopped.  A thread of its own reads a run from its start to its end, so that it goes on in the
background whatever its caller does.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import secrets
import select
import threading
import time
import warnings
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, Callable, Mapping, ParamSpec, Self, Sequence, TypeVar

from attrs import evolve, field, frozen

from stallkit.detect.engine import Engine
from stallkit.evidence.snapshot import Snapshot
from stallkit.json_form import SPREAD, alike, json_form
from stallkit.judging.verdict import Verdict
from stallkit.packs.registry import installed_engine
from stallkit.press.gate import End, Outcome
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.transports.pty import PtyTransport
from stallkit_sessions.runs.run_process import Observer, RunProcess, RunState
from stallkit_sessions.runs.wait_limits import Finish, RunStatus, WaitLimits

WINDOW_S = 120.0  # two minutes
# The main thread notices a signal that the system gives to another thread only when it wakes; so it never sleeps long.
PROGRESS_S = 1.0
_P = ParamSpec("_P")
_T = TypeVar("_T")
_log = logging.getLogger("stallkit")


def _renamed(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Accept `window` and `timeout`, the names of the previous version, for one more release."""

    @functools.wraps(function)
    def called(*args: _P.args, **given: _P.kwargs) -> _T:
        for old, new in (("window", "window_s"), ("timeout", "timeout_s")):
            if old in given and new in given:
                raise TypeError(f"{function.__qualname__}() got {new!r}, and {old!r}, its old name")
            if old in given:
                warnings.warn(f"{old!r} is called {new!r}", DeprecationWarning, stacklevel=2)
                given[new] = given.pop(old)
        return function(*args, **given)

    return called


class Run:
    """A program that runs, in the foreground or in the background; its methods may be called from any thread.

    It ends with its program, by `stop`, or with the process that started it.

    >>> from stallkit_sessions import run
    >>> waiting = run(["bash", "-c", "read -p 'Proceed? [y/N] ' it; echo $it"])
    >>> waiting.run.answer("y").why
    'its program ended'
    >>> waiting.run.wait().output.split()[-1]
    'y'
    """

    def __init__(self, process: RunProcess, window_s: float = WINDOW_S) -> None:
        self.id = process.transport.target.removeprefix("pty:")
        self._process, self._window_s = process, window_s
        self._lock = threading.Lock()
        self._waiters: list[tuple[WaitLimits, Future[RunResult]]] = []
        self._requests: list[Callable[[], None]] = []
        self._ended = False  # the thread has ended: a caller carries out its own request
        self._failed: BaseException | None = None  # why it stopped before the run's end: every request raises it
        self._wake, self._waker = os.pipe()
        self._exit = _exit_of(process.transport.pid)
        self._thread = threading.Thread(target=self._drive, name=f"stallkit {self.id}", daemon=True)
        self._thread.start()

    @classmethod
    @_renamed
    def start(
        cls,
        command: Sequence[str],
        *,
        window_s: float = WINDOW_S,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        size: tuple[int, int] = (80, 24),
        answers: Sequence[str | Keys] = (),
        engine: Engine | None = None,
        on_event: Observer | None = None,
        name: str | None = None,
        pass_fds: Sequence[int] = (),
    ) -> Run:
        """Start a program and do not wait; arguments and errors are those of `run`.

        `pass_fds` are descriptors that stay open in it.
        """
        for given in answers:
            if not isinstance(given, Keys):
                Keys.line(given)  # before it starts
        engine = engine or installed_engine()
        name = name or f"r{secrets.token_hex(3)}"
        transport = PtyTransport.spawn(command, cwd=cwd, env=env, size=size, name=name, pass_fds=pass_fds)
        try:
            return cls(RunProcess(transport, engine, window_s, answers, on_event), window_s)
        except BaseException:
            transport.close()
            raise

    @property
    def pid(self) -> int:
        """The process of the program."""
        return self._process.transport.pid

    @_renamed
    def wait(
        self,
        *,
        window_s: float | None = None,
        timeout_s: float | None = None,
        kill: bool = False,
        on_progress: Callable[[float, str], object] | None = None,
    ) -> RunResult:
        """Wait (again) until it ends or needs input, `window_s` or `timeout_s` at most; `kill` as in `run`.

        `on_progress` is called every second with the seconds since the start and the last line on the screen.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError("an observer must not wait for its run: it is called in the run's own thread")
        future = self._join(window_s, timeout_s)
        try:
            while True:
                try:
                    return _after(future.result(PROGRESS_S), kill)
                except TimeoutError:
                    if on_progress is not None:
                        on_progress(*self._process.glance())
        finally:
            future.cancel()  # if the wait was interrupted

    @_renamed
    async def wait_async(self, *, window_s: float | None = None, timeout_s: float | None = None) -> RunResult:
        """`wait` for asyncio; no thread waits."""
        return await asyncio.wrap_future(self._join(window_s, timeout_s))

    def poll(self) -> RunResult:
        """What it does now, without waiting: `background` if it has not ended and does not seem to need input."""
        return self._ask(self._looked)

    def background(self) -> None:
        """End every wait for it, with the result `background`."""
        finish = Finish(RunStatus.BACKGROUND, "it continues in the background")
        self._ask(lambda: self._deliver(lambda limits: finish))

    def answer(self, given: str | Keys, *, secret: bool = False, seen: RunResult | str | None = None) -> Outcome:
        """Answer the prompt that it shows: with a text, and Enter where the prompt needs it, or with keys alone.

        Refused where nothing is asked, or the screen changed between two looks; a prompt for a secret takes only a
        `secret`, and other prompts take none.  `seen` is the result that showed the prompt, or its screen's
        fingerprint: then refused as well if the screen has changed, so that of two callers who answer the
        same prompt, the second does not answer the next prompt.
        """
        fingerprint = seen.screen.fingerprint if isinstance(seen, RunResult) else seen
        return self._ask(lambda: self._process.answer(given, secret, fingerprint))

    def over(self, timeout_s: float) -> bool:
        """Whether it has ended, as soon as it has, and after so many seconds at most."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def join(self) -> RunResult:
        """Wait until it has ended, without a limit; raises the error if it cannot be watched any more."""
        while self._thread.is_alive():
            self._thread.join(PROGRESS_S)
        return self._result()

    def stop(self) -> RunResult:
        """End it: SIGHUP, SIGTERM, SIGKILL, half a second between them."""
        self._ask(self._process.stop)
        return self._ask(self._looked)

    def _looked(self) -> RunResult:
        self._process.look()
        return self._result()

    def _result(self, finish: Finish | None = None) -> RunResult:
        if self._failed is not None:
            raise self._failed
        return alike(RunResult, self._process.state(finish), run=self)

    def _join(self, window_s: float | None, timeout_s: float | None) -> Future[RunResult]:
        future: Future[RunResult] = Future()
        window_s = self._window_s if window_s is None else window_s
        with self._lock:
            limits = WaitLimits(time.monotonic(), window_s, timeout_s, self._process.known)  # of an ended run, too
            if not self._ended:
                self._waiters.append((limits, future))
                os.write(self._waker, b"\0")
                return future
        future.set_result(self._result())
        return future

    def _ask(self, do: Callable[[], _T]) -> _T:
        """Call `do` in the run's own thread; returns what it returns, raises what it raises."""
        future: Future[_T] = Future()
        with self._lock:
            asked = not self._ended and threading.current_thread() is not self._thread
            if asked:
                self._requests.append(lambda: _do(do, future))
                os.write(self._waker, b"\0")
        return future.result() if asked else do()

    # What follows runs in the run's own thread.

    def _drive(self) -> None:
        process = self._process
        try:
            while not process.over:
                self._settle()
                self._pause()
                self._answer_requests()
                if time.monotonic() >= process.due:
                    process.look()
            self._finish(lambda future: future.set_result(self._result()))
        except BaseException as error:  # no caller must wait forever, whatever went wrong
            _log.exception("the run %s cannot be watched any more", self.id)
            failed = self._failed = error
            self._finish(lambda future: future.set_exception(failed))

    def _pause(self) -> None:
        """Wait until output, a request or the time of a look comes; takes the output."""
        terminal, ready = self._process.transport, select.poll()
        with self._lock:
            until = min([self._process.due, *(limits.deadline for limits, _ in self._waiters)])
        ready.register(self._wake, select.POLLIN)
        if self._exit is not None:
            ready.register(self._exit, select.POLLIN)
        if not terminal.hung_up:  # or it would be ready forever
            ready.register(terminal.fileno(), select.POLLIN)
        for descriptor, _ in ready.poll(max(0.0, until - time.monotonic()) * 1_000):
            if descriptor == self._wake:
                os.read(self._wake, 4_096)
            elif descriptor == self._exit:
                self._process.look()
            else:
                terminal.pump()

    def _answer_requests(self) -> None:
        with self._lock:
            requests, self._requests = self._requests, []
        for request in requests:
            request()

    def _settle(self) -> None:
        """Give every caller whose wait is decided the result; without callers, notify the observer of news."""
        observation, now = self._process.observation, time.monotonic()
        self._deliver(lambda limits: limits.decide(observation, now))
        if not self._waiters:
            self._process.notice()

    def _deliver(self, decide: Callable[[WaitLimits], Finish | None]) -> None:
        with self._lock:
            decided = [(limits, future, decide(limits)) for limits, future in self._waiters if not future.cancelled()]
            self._waiters = [(limits, future) for limits, future, finish in decided if finish is None]
        for _, future, finish in decided:
            if finish is not None:
                with suppress(InvalidStateError):  # it was cancelled meanwhile
                    future.set_result(self._result(finish))

    def _finish(self, resolve: Callable[[Future[RunResult]], None]) -> None:
        """The run is over: answer all pending requests, and close the terminal."""
        with self._lock:
            self._ended = True
            waiters, self._waiters = self._waiters, []
        self._answer_requests()
        for _, future in waiters:
            with suppress(InvalidStateError):
                resolve(future)
        for descriptor in (self._wake, self._waker, self._exit):
            if descriptor is not None:
                os.close(descriptor)
        with suppress(Exception):  # a program that not even SIGKILL ends is not waited for
            self._process.transport.close()


@frozen
class RunResult(RunState):
    """What came first in a wait for a run, and what was seen then; unless it `exited`, the run goes on.

    >>> from stallkit_sessions import run
    >>> result = run(["sh", "-c", "echo done; exit 3"])
    >>> result.exit_status, result.output
    (3, 'done\\n')
    """

    run: Run | None = field(default=None, eq=False)  # to wait again, answer or stop
    next: Mapping[str, str | None] | None = None  # commands that continue it, where one process can hand it to another
    told_fingerprint: str | None = None  # of one that was read back: its screen is redacted

    __repr__ = RunState.__repr__


@frozen
class AnswerJson:
    """How an answer that was given beforehand ended; it may be a secret, so its keys are left out."""

    end: End
    why: str


@json_form(RunResult)
@frozen
class RunJson:
    """What came first in a wait for a run."""

    id: str
    status: RunStatus
    why: str
    verdict: Verdict = field(metadata=SPREAD)
    exit_status: int | None
    signal: str | None
    seconds: float
    screen: str
    fingerprint: str
    output: str
    output_lost: int
    answers: tuple[AnswerJson, ...]
    next: Mapping[str, str | None] | None

    @classmethod
    def of(cls, result: RunResult) -> Self:
        return alike(
            cls,
            result,
            id=result.snapshot.target.removeprefix("pty:"),
            seconds=round(result.seconds, 3),
            screen=result.screen.text.rstrip(),
            fingerprint=result.told_fingerprint or result.screen.fingerprint,
            answers=tuple(alike(AnswerJson, one) for one in result.answers),
        )

    @property
    def value(self) -> RunResult:
        seen = Snapshot(Screen(tuple(self.screen.split("\n"))), target=f"pty:{self.id}")
        answers = tuple(Outcome(one.end, one.why) for one in self.answers)
        return alike(RunResult, self, snapshot=seen, answers=answers, told_fingerprint=self.fingerprint)


def _exit_of(pid: int) -> int | None:
    """A descriptor that is ready once a child has ended; None if the system has none: then a look shows the end."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _do(do: Callable[[], _T], future: Future[_T]) -> None:
    try:
        future.set_result(do())
    except BaseException as error:
        future.set_exception(error)


@_renamed
def run(
    command: Sequence[str],
    *,
    window_s: float = WINDOW_S,
    timeout_s: float | None = None,
    kill: bool = False,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    size: tuple[int, int] = (80, 24),
    answers: Sequence[str | Keys] = (),
    engine: Engine | None = None,
    on_event: Observer | None = None,
) -> RunResult:
    """Run a program until it ends, needs input, or `timeout_s` or `window_s` are over; it never waits longer.

    Only a time-out with `kill` stops the program: else it goes on in the background, and the result's `run` waits for
    it, answers or stops it.  `answers` are given in turn to prompts that surely wait, but never to a secret or a login.
    `on_event` is called, in the run's own thread, at answers and at the end, and in the background once for each quiet
    period and when the window is over.  `env` replaces the environment.  Raises TransportError if the program cannot
    be started, PackError if no pack is installed and no `engine` given, ValueError for an empty command or an answer
    of several lines; an interrupted wait stops the program.

    >>> result = run(["echo", "done"])
    >>> str(result.status), result.exit_status, result.output
    ('exited', 0, 'done\\n')
    """
    started = Run.start(
        command, window_s=window_s, cwd=cwd, env=env, size=size, answers=answers, engine=engine, on_event=on_event
    )
    try:
        return started.wait(timeout_s=timeout_s, kill=kill)
    except BaseException:
        started.stop()
        raise


@_renamed
async def run_async(
    command: Sequence[str], *, timeout_s: float | None = None, kill: bool = False, **options: Any
) -> RunResult:
    """`run` for asyncio, with the same `options`; a cancelled task stops the program.

    >>> import asyncio
    >>> asyncio.run(run_async(["true"])).exit_status
    0
    """
    started = Run.start(command, **options)
    try:
        result = await started.wait_async(timeout_s=timeout_s)
        return await asyncio.to_thread(_after, result, kill) if kill else result
    except BaseException:
        await asyncio.to_thread(started.stop)  # it may take 1.5 s, in which other tasks go on
        raise


def _after(result: RunResult, kill: bool) -> RunResult:
    if not kill or result.status is not RunStatus.TIMEOUT:
        return result
    assert result.run is not None  # set by every wait
    return evolve(result.run.stop(), status=RunStatus.TIMEOUT, why=f"{result.why}, and it was ended")
