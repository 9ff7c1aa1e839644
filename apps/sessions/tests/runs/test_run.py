"""Real programs under a run: what comes first, what is told and to whom, what is left behind."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import pytest
from stallkit_sessions import Run, RunResult, run, run_async
from started import alive
from terminals import wait_for

from stallkit import Detection, Engine, Screen, TransportError
from stallkit.press.events import Event
from stallkit.press.gate import End
from stallkit.terminal.keys import Keys
from stallkit.transports.pty import PtyTransport

pytestmark = pytest.mark.e2e

Start = Callable[..., Run]
PYTHON = sys.executable
ASK = ["bash", "-c", "read -p 'Proceed? [y/N] ' x; echo \"you said [$x]\""]
SLEEP = ["sleep", "1000"]


def held() -> tuple[int, int]:
    """Threads of runs, not those of sinks and other tests, and descriptors of this process."""
    runs = [thread for thread in threading.enumerate() if re.fullmatch("stallkit r[0-9a-f]{6}", thread.name)]
    return len(runs), sum(1 for _ in Path("/proc/self/fd").iterdir())


def names(events: list[Event]) -> list[str]:
    return [event.name for event in events]


# --- its end ---
ENDS = [(f"exit {code}", code, None) for code in (0, 1, 3, 127, 128, 130, 255)]
ENDS += [
    (f"ulimit -c 0; kill -{number} $$", None, name)
    for number, name in [(9, "SIGKILL"), (15, "SIGTERM"), (11, "SIGSEGV"), (1, "SIGHUP"), (36, "signal 36")]
]


def test_each_end_is_told_as_it_was_and_leaves_nothing(engine: Engine) -> None:
    async def together() -> list[RunResult]:
        return await asyncio.gather(*(run_async(["sh", "-c", script], engine=engine) for script, _, _ in ENDS))

    run(["true"], engine=engine).run._thread.join()  # what is made once
    before = held()
    found = asyncio.run(together())
    told = [(script, one.exit_status, one.signal) for (script, _, _), one in zip(ENDS, found, strict=True)]
    assert told == ENDS
    assert {(str(one.status), str(one.verdict.state)) for one in found} == {("exited", "gone")}
    for _ in range(5):
        run(["true"], engine=engine)
    wait_for(lambda: held() == before, f"everything to be let go of: {before}, {held()}")


def test_what_cannot_be_started_is_an_error_and_leaves_nothing(engine: Engine) -> None:
    wait_for(lambda: held()[0] == 0, "the threads of other tests' runs to end")
    before = held()
    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"command": ["/no/such/program"]}, TransportError, "it does not start"),
        ({"command": [str(Path(__file__))]}, TransportError, "it does not start"),
        ({"command": ["sh", "nul\0byte"]}, TransportError, "it does not start"),
        ({"command": []}, ValueError, "a command is a sequence of words"),
        ({"command": "ls -l"}, ValueError, "a command is a sequence of words"),
        *(({"command": ["true"], "size": size}, ValueError, "a terminal has") for size in [(0, 24), (80, 0), (-1, 24)]),
        ({"command": ["true"], "size": (80, 100_000)}, ValueError, "a terminal has"),
    ]
    for given, error, says in wrong:
        with pytest.raises(error, match=says):
            run(**given, engine=engine)
    assert held() == before


def test_output_that_nobody_saw_on_the_screen_is_kept(engine: Engine) -> None:
    result = run(["seq", "5000"], engine=engine)
    assert result.output.split() == [str(number) for number in range(1, 5001)]
    assert (result.output_lost, result.exit_status) == (0, 0)


def test_an_end_with_a_child_that_keeps_the_terminal_is_an_end(engine: Engine, tmp_path: Path) -> None:
    script = f"trap '' HUP; sleep 1000 & echo $! > {tmp_path}/pid; echo done"
    result = run(["sh", "-c", script], engine=engine)
    child = int((tmp_path / "pid").read_text())
    try:
        assert (str(result.status), result.exit_status, result.output.strip()) == ("exited", 0, "done")
        assert alive(child), "what was started to stay is left alone"
    finally:
        os.kill(child, signal.SIGKILL)


def test_stop_ends_what_ignores_a_hang_up(start: Start) -> None:
    started = start("sh", "-c", "trap '' HUP TERM; echo ready; while :; do sleep 1000; done")
    wait_for(lambda: "ready" in started.poll().output, "the program")
    result = started.stop()
    assert (str(result.status), result.signal) == ("exited", "SIGKILL")
    assert str(started.wait().status) == str(started.poll().status) == str(started.join().status) == "exited"
    assert started.answer("y").end == "gone"


# --- the caller's limits ---
def test_a_time_out_ends_the_wait_and_the_program_if_it_is_told_to(start: Start, engine: Engine) -> None:
    started = start(*SLEEP)
    pid = started._process.transport.pid
    result = started.wait(timeout_s=0.2)
    assert str(result.status) == "timeout" and "the caller's 0.2 s are over" in result.why
    assert alive(pid) and result.signal is None
    result = started.wait(timeout_s=0.2, kill=True)
    assert (str(result.status), result.signal, str(result.verdict.state)) == ("timeout", "SIGHUP", "gone")
    assert not alive(pid)
    result = asyncio.run(run_async(SLEEP, engine=engine, timeout_s=0.2, kill=True))
    assert (str(result.status), result.signal) == ("timeout", "SIGHUP")


def test_the_window_ends_a_wait_softly_and_leaves_the_program_alone(start: Start, tmp_path: Path) -> None:
    go = tmp_path / "go"
    script = f"echo compiling; while [ ! -e {go} ]; do sleep 0.05; done; echo two; exit 3"
    started = start("sh", "-c", script, window_s=0.7)
    for _ in range(2):
        result = started.wait()
        assert (str(result.status), result.verdict.state) == ("maybe", "working")
        assert result.why == "after 0.7 s it still runs; most likely it works"
        assert "compiling" in result.screen.text and result.run is started
    assert {str(started.poll().status) for _ in range(50)} == {"background"}, "a poll changes nothing"
    go.touch()
    result = started.wait(window_s=60)
    assert (str(result.status), result.exit_status, result.output.split()) == ("exited", 3, ["compiling", "two"])
    assert result.answers == ()


# --- input that is needed ---
def test_a_read_beside_something_else_may_be_waiting_and_is_told_once(start: Start) -> None:
    started = start("bash", "-c", "sleep 1000 & read x; kill %1; echo [$x]")
    first = started.wait()
    assert (str(first.status), first.why) == ("maybe", "it may be waiting for input")
    second = started.wait(timeout_s=0.5)
    assert str(second.status) == "timeout", "the caller knows: it is no news"
    assert started.answer("ok").end == "gone"
    assert "[ok]" in started.wait().output


def test_what_surely_waits_is_told_with_its_kind_and_takes_an_answer(start: Start) -> None:
    shell = {**os.environ, "PS1": "dev@box:~$ "}
    rows: list[tuple[list[str], dict[str, Any], str | None, str, str]] = [
        (ASK, {}, "confirm", "y", "you said [y]"),
        (["sh", "-c", "read x; echo [$x]"], {}, "text", "ok", "[ok]"),  # nothing else of it can go on
        (["bash", "--norc", "--noprofile", "-i"], {"env": shell}, None, "echo $((6*7)); exit 7", "42"),
    ]
    for command, more, kind, answer, shows in rows:
        started = start(*command, **more)
        result = started.wait()
        assert str(result.status) == "waiting", command
        assert kind is None or (result.verdict.certainty, result.verdict.kind) == ("sure", kind), command
        assert command is not ASK or result.screen.prompt_line.text == "Proceed? [y/N] "
        started.answer(answer)
        assert shows in started.wait().output, command


def test_a_stopped_program_is_neither_answered_nor_called_waiting(start: Start) -> None:
    started = start("bash", "-c", "printf 'Proceed? [y/N] '; kill -STOP $$; read x", answers=["y"])
    result = started.wait(window_s=1.5)
    assert (str(result.status), result.verdict.state, result.answers) == ("maybe", "unknown", ())
    assert started.answer("y").end == "refused"
    assert started.stop().signal == "SIGHUP"


# --- answers given beforehand ---
def test_answers_are_used_in_turn_and_may_be_keys(engine: Engine) -> None:
    script = 'for n in 1 2; do read -p "Step $n? [y/N] " x; all=$all$x; done; '
    script += 'read -n1 -p "Proceed? [y/N] " x; echo; echo "[$all$x]"'
    given = ["a", "b", Keys.parse("n"), "left over"]
    result = run(["bash", "-c", script], engine=engine, answers=given)
    assert (str(result.status), "[abn]" in result.output) == ("exited", True), result.output
    assert len(result.answers) == 3 and all(outcome.keys is not None for outcome in result.answers)


def test_no_answer_is_given_to_a_secret_a_login_or_a_printed_prompt(engine: Engine) -> None:
    rows = [
        ([PYTHON, "-c", "import getpass; getpass.getpass()"], "Password:", 20.0),
        (["bash", "-c", "read -s -p 'Tell me more: ' x"], "Tell me", 20.0),
        (["bash", "-c", "read -p 'box login: ' x"], "login:", 20.0),
        (["sh", "-c", "printf 'Proceed? [y/N] '; sleep 1000"], "Proceed?", 1.5),
    ]
    for command, shows, window in rows:
        result = run(command, engine=engine, answers=["hunter2"], window_s=window)
        try:
            assert str(result.status) in ("waiting", "maybe") and shows in result.screen.text, command
            assert result.answers == () and "hunter2" not in result.output, command
        finally:
            result.run.stop()


def test_a_prompt_that_does_not_react_takes_one_answer(start: Start) -> None:
    """The second answer is for another prompt: a raw program that is slow must not get it."""
    code = (
        "import os, sys, tty; tty.setraw(0); os.write(1, b'Proceed? [y/N] ')\n"
        "while True: got = os.read(0, 9); open(sys.argv[1], 'ab').write(got)"
    )
    keys = Path(os.environ["STALLKIT_STATE_DIR"]) / "keys"
    events: list[Event] = []
    started = start(PYTHON, "-c", code, str(keys), answers=[Keys.parse("y"), Keys.parse("n")], on_event=events.append)
    wait_for(lambda: "run_waiting" in names(events), f"a notice after the answer: {names(events)}")
    assert str(started.wait(window_s=2).status) == "waiting"
    assert keys.read_bytes() == b"y"


def test_a_refused_answer_is_not_used_up(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """The prompt is repainted at the moment of the press: what is given next is the same answer, not the next one."""
    honest, refusals = PtyTransport.send, list[Keys]()

    def send(self: PtyTransport, keys: Keys, seen: Any) -> None:
        if not refusals:
            refusals.append(keys)
            os.kill(self.pid, signal.SIGUSR1)
            wait_for(lambda: "again" in self.capture().screen.text, "the repainting")
        honest(self, keys, seen)

    monkeypatch.setattr(PtyTransport, "send", send)
    code = (
        "import os, signal\nask = 'Proceed? [y/N] '\n"
        "signal.signal(signal.SIGUSR1, lambda *_: print('again', ask, sep='\\n', end='', flush=True))\n"
        "first = input(ask); print(first, input('Really? [y/N] '))"
    )
    events: list[Event] = []
    started = start(PYTHON, "-c", code, answers=["one", "two"], on_event=events.append)
    output = started.join().output
    assert refusals and "one two" in output, output
    assert next(event.facts["outcome"] for event in events if event.name == "run_answered") == "refused"


def test_a_second_answer_to_a_prompt_does_not_answer_the_next(start: Start) -> None:
    started = start("bash", "-c", "read -p 'One? [y/N] ' x; read -p 'Two? [y/N] ' y; echo $x $y")
    one = started.wait()
    assert started.answer("y", seen=one).keys is not None
    two = started.wait()
    assert two.screen != one.screen
    refused = started.answer("y", seen=one)
    assert (refused.end, refused.keys) == (End.REFUSED, None)
    started.answer("n", seen=two.screen.fingerprint)
    assert started.join().output.splitlines()[-1] == "y n"


# --- programs and terminals that misbehave ---
def test_a_program_that_closes_its_terminal_costs_nothing(start: Start) -> None:
    started = start(
        PYTHON, "-c", "import os, time\nos.write(1, b'bye')\nfor n in range(3): os.close(n)\ntime.sleep(1000)"
    )
    transport = started._process.transport
    wait_for(lambda: transport.hung_up, "the terminal to be closed")
    looked, before = started._process._looked, resource.getrusage(resource.RUSAGE_SELF)
    wait_for(lambda: started._process._looked > looked + 2.5, "some looks")
    after = resource.getrusage(resource.RUSAGE_SELF)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used < 1.0, "a busy loop would take all of the 2.5 s; this test's own waiting takes some"
    assert str(started.wait(timeout_s=0).status) == "timeout"


GARBAGE = [
    b"\xff\xfe\x80" * 500,
    b"\x1b]0;never ended",
    b"\x1b[" * 3000,
    b"\0" * 3000,
    "\U0001f468\u200d".encode() * 300,
]


def test_garbage_before_a_prompt(start: Start, tmp_path: Path) -> None:
    runs = []
    for number, written in enumerate(GARBAGE):
        (file := tmp_path / str(number)).write_bytes(written + b"\x1b\\\x1bc\r\n")
        runs.append(start("bash", "-c", f"cat {file}; read -p 'Proceed? [y/N] ' x; exit 4"))
    for started in runs:
        assert str(started.wait(window_s=30).status) == "waiting"
        started.answer("y")
        assert started.wait().exit_status == 4


@pytest.mark.alone
def test_floods_and_endless_lines_fill_no_memory_and_hide_no_prompt(start: Start) -> None:
    endless = start("yes", "a rather long line of output that never ends")
    result = endless.wait(timeout_s=1)
    assert (str(result.status), result.verdict.state) == ("timeout", "working")
    assert len(result.output) < 600_000 < result.output_lost
    assert endless.stop().signal == "SIGHUP"
    result = start(PYTHON, "-c", "print('x' * 1_000_000 + 'END'); input('Proceed? [y/N] ')").wait(window_s=60)
    assert (str(result.status), result.output_lost > 400_000) == ("waiting", True)
    assert "xEND\n" in result.output and len(result.output) < 600_000
    megabytes = 50
    code = "import os\nfor _ in range(%d): os.write(1, b'all work and no play\\r\\n' * 47_663)" % megabytes  # noqa: UP031
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = start(PYTHON, "-c", f"{code}\ninput('Proceed? [y/N] ')").wait(window_s=60)
    assert (str(result.status), result.screen.prompt_line.text) == ("waiting", "Proceed? [y/N] ")
    assert result.output_lost > (megabytes - 1) * 1_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base < 50_000


def test_the_program_has_the_size_that_is_given_and_is_told_of_another(start: Start) -> None:
    for columns, rows in [(1, 1), (400, 100), (2000, 2)]:
        assert "".join(start("sh", "-c", "stty size", size=(columns, rows)).join().output.split()) == f"{rows}{columns}"
    started = start("bash", "-c", "trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done")
    wait_for(lambda: "ready" in started.poll().output, "the program")
    started._ask(lambda: started._process.transport.resize(100, 30))
    wait_for(lambda: "30 100" in started.poll().output, "it to be told")
    size = started.poll().screen.size
    assert size is not None and (size.columns, size.rows) == (100, 30)


def test_a_terminal_in_the_terminal(start: Start) -> None:
    """`script` relays a prompt of another terminal: it is seen, if not sure, and can be answered."""
    started = start("script", "-qec", "bash -c 'read -p \"Proceed? [y/N] \" x; exit 5'", "/dev/null")
    result = started.wait(window_s=30)
    assert str(result.status) in ("waiting", "maybe") and "Proceed?" in result.screen.text
    started.answer("y")
    result = started.wait(window_s=5)
    if str(result.status) != "exited":  # the relay is raw: Enter is not certain to be due
        started.answer(Keys.parse("Enter"))
    assert started.wait(window_s=30).exit_status == 5


def test_old_names_of_limits_are_taken_with_a_warning(start: Start, engine: Engine) -> None:
    started, fails = start(*SLEEP), ["sh", "-c", "exit 3"]
    calls: list[tuple[str, Callable[[], RunResult]]] = [
        ("window", lambda: start(*SLEEP, window=0.3).wait()),
        ("timeout", lambda: started.wait(timeout=0.0)),
        ("timeout", lambda: asyncio.run(started.wait_async(timeout=0.0))),
        ("window", lambda: run(fails, engine=engine, window=60.0)),
        ("window", lambda: asyncio.run(run_async(fails, engine=engine, window=60.0))),
    ]
    ends = []
    for name, call in calls:
        with pytest.deprecated_call(match=f"'{name}' is called '{name}_s'"):
            ends.append(str(call().status))
    assert ends == ["maybe", "timeout", "timeout", "exited", "exited"]
    with pytest.raises(TypeError, match="its old name"):
        started.wait(timeout=1.0, timeout_s=1.0)


# --- who waits ---
def test_many_wait_for_one_run_and_are_told_the_same(start: Start) -> None:
    started = start(*ASK)
    with ThreadPoolExecutor(30) as pool:
        waits = [pool.submit(started.wait) for _ in range(30)]
        assert {str(wait.result().status) for wait in waits} == {"waiting"}
        started.answer("y")
        ends = [pool.submit(started.wait) for _ in range(30)]
        assert {(str(end.result().status), end.result().exit_status) for end in ends} == {("exited", 0)}
    sleeps = start(*SLEEP)
    with ThreadPoolExecutor() as pool:
        waits = [pool.submit(sleeps.wait) for _ in range(3)]
        wait_for(lambda: len(sleeps._waiters) == 3, "all to wait")
        sleeps.background()
        assert {str(wait.result().status) for wait in waits} == {"background"}


def test_progress_is_told_while_a_wait_lasts_and_may_interrupt_it(start: Start) -> None:
    told: list[tuple[float, str]] = []
    started = start("sh", "-c", "echo step 1; sleep 1000")
    started.wait(timeout_s=1.5, on_progress=lambda seconds, line: told.append((seconds, line)))
    assert told and told[-1][1] == "step 1" and told[-1][0] > 0
    for error in (KeyboardInterrupt, RuntimeError):

        def interrupt(seconds: float, line: str, error: type[BaseException] = error) -> None:
            raise error

        with pytest.raises(error):
            started.wait(on_progress=interrupt)
        assert str(started.wait(timeout_s=0).status) == "timeout", "the run is left"
    wait_for(lambda: not started._waiters, "nobody to be waited for any more")


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


# --- what is told in the background ---
CLOCK = "n=0; while :; do n=$((n+1)); printf '\\rworking %s' $n; sleep 0.1; done"


def test_one_notice_a_spell_of_quiet(start: Start, tmp_path: Path) -> None:
    """It prints and rests, twice; it never waits for input, so each rest is told softly, and once."""
    events: list[Event] = []
    script = f"for n in 1 2; do echo step $n; while [ ! -e {tmp_path}/$n ]; do sleep 0.05; done; done"
    started = start("sh", "-c", script, window_s=2.0, on_event=events.append)  # a machine may take one second to begin
    wait_for(lambda: names(events).count("run_may_wait") == 1, f"the first notice: {names(events)}")
    looked = started._process._looked
    wait_for(lambda: started._process._looked > looked + 2, "some more looks")
    (tmp_path / "1").touch()
    wait_for(lambda: names(events).count("run_may_wait") == 2, f"the second notice: {names(events)}")
    (tmp_path / "2").touch()
    wait_for(lambda: "run_ended" in names(events), "its end")
    assert names(events) == ["run_may_wait", "run_may_wait", "run_ended"]
    assert events[1].facts["why"] == "nothing new for 2 s; it may be waiting for input"
    assert (events[-1].facts["exit_status"], events[-1].facts["signal"]) == (0, None)


def test_a_run_that_redraws_is_told_when_its_window_is_over_and_once(start: Start) -> None:
    """A clock is never at rest, so that no spell of quiet tells of it; whose wait ended then is not told again."""
    told: list[Event] = []
    silent: list[Event] = []
    alone = start("sh", "-c", CLOCK, window_s=2.0, on_event=told.append)
    waited = start("sh", "-c", CLOCK, window_s=2.0, on_event=silent.append)
    assert str(waited.wait().status) == "maybe"
    wait_for(lambda: told, "the end of the window")
    for started in (alone, waited):
        looked = started._process._looked
        wait_for(lambda one=started, at=looked: one._process._looked > at + 2.5, "another window to pass")
        assert alive(started._process.transport.pid)
    assert (names(told), names(silent)) == (["run_may_wait"], [])
    assert told[0].facts["why"].startswith("after 2 s it still runs; ")


def test_an_observer_may_answer_and_cannot_wait(start: Start) -> None:
    made: list[Run] = []
    outcomes: list[Any] = []
    errors: list[str] = []

    def observe(event: Event) -> None:
        if event.name == "run_waiting":
            try:
                made[0].wait()
            except RuntimeError as error:
                errors.append(str(error))
            outcomes.append(made[0].answer("y"))

    made.append(start(*ASK, on_event=observe))
    assert "you said [y]" in made[0].join().output
    assert [outcome.keys is not None for outcome in outcomes] == [True]
    assert "must not wait" in errors[0]


def test_an_observer_that_fails_harms_nobody(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    def observe(event: Event) -> None:
        raise ZeroDivisionError(event.name)

    started = start(*ASK, on_event=observe)
    wait_for(lambda: "ZeroDivisionError: run_waiting" in caplog.text, "the failure in the log")
    started.answer("y")
    assert started.wait().exit_status == 0


def test_a_run_that_cannot_be_watched_says_so_to_all(start: Start, caplog: pytest.LogCaptureFixture) -> None:
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
