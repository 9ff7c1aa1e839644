"""Real programs under a run: what comes first, what is told, what is left behind; all of it without a clock."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
from pathlib import Path
from typing import Any, Callable

import pytest
from runs_of import ASK, PYTHON, SLEEP, alive, held, names
from stallkit_sessions import Run, run, run_async
from terminals import wait_for

from stallkit import Engine, TransportError
from stallkit.press.events import Event
from stallkit.press.gate import End
from stallkit.terminal.keys import Keys

pytestmark = pytest.mark.e2e


# --- its end ---


@pytest.mark.parametrize("status", [0, 1, 2, 3, 126, 127, 128, 130, 255])
def test_an_exit_status(engine: Engine, status: int) -> None:
    result = run(["sh", "-c", f"exit {status}"], engine=engine)
    assert (str(result.status), result.exit_status, result.signal) == ("exited", status, None)
    assert result.verdict.state == "gone"


@pytest.mark.parametrize(
    ("number", "name"), [(9, "SIGKILL"), (15, "SIGTERM"), (11, "SIGSEGV"), (1, "SIGHUP"), (36, "signal 36")]
)
def test_a_signal(engine: Engine, number: int, name: str) -> None:
    result = run(["sh", "-c", f"ulimit -c 0; kill -{number} $$"], engine=engine)
    assert (str(result.status), result.exit_status, result.signal) == ("exited", None, name)


@pytest.mark.parametrize("command", [["/no/such/program"], [str(Path(__file__))], ["sh", "nul\0byte"]])
def test_what_cannot_be_started_is_an_error_and_leaves_nothing(engine: Engine, command: list[str]) -> None:
    wait_for(lambda: held()[0] == 0, "the threads of other tests' runs to end")
    before = held()
    with pytest.raises(TransportError, match="it does not start"):
        run(command, engine=engine)
    assert held() == before


@pytest.mark.parametrize("command", [[], "ls -l"])
def test_no_command_is_the_callers_mistake(engine: Engine, command: Any) -> None:
    with pytest.raises(ValueError, match="a command is a sequence of words"):
        run(command, engine=engine)


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


def test_stop_ends_what_ignores_a_hang_up(start: Callable[..., Run]) -> None:
    started = start("sh", "-c", "trap '' HUP TERM; echo ready; while :; do sleep 1000; done")
    wait_for(lambda: "ready" in started.poll().output, "the program")
    result = started.stop()
    assert (str(result.status), result.signal) == ("exited", "SIGKILL")
    assert str(started.wait().status) == str(started.poll().status) == str(started.join().status) == "exited"


# --- the caller's limits ---


@pytest.mark.parametrize("kill", [True, False])
def test_a_time_out(start: Callable[..., Run], kill: bool) -> None:
    started = start(*SLEEP)
    pid = started._process.transport.pid
    result = started.wait(timeout_s=0.2, kill=kill)
    assert str(result.status) == "timeout" and "the caller's 0.2 s are over" in result.why
    assert alive(pid) is not kill
    assert (result.signal == "SIGHUP", result.verdict.state == "gone") == (kill, kill)


def test_the_window_ends_a_wait_softly_and_leaves_the_program_alone(start: Callable[..., Run]) -> None:
    started = start("sh", "-c", "echo compiling; sleep 1000", window_s=0.7)
    result = started.wait()
    assert (str(result.status), result.verdict.state) == ("maybe", "working")
    assert result.why == "after 0.7 s it still runs; most likely it works"
    assert "compiling" in result.screen.text and result.run is started
    assert alive(started._process.transport.pid)


def test_a_build_that_is_only_slow_is_polled_to_its_end(start: Callable[..., Run], tmp_path: Path) -> None:
    go = tmp_path / "go"
    started = start("sh", "-c", f"echo one; while [ ! -e {go} ]; do sleep 0.05; done; echo two; exit 3", window_s=0.1)
    waits = [str(started.wait().status) for _ in range(3)]
    go.touch()
    result = started.wait(window_s=60)
    assert waits == ["maybe"] * 3
    assert (str(result.status), result.exit_status, result.output.split()) == ("exited", 3, ["one", "two"])
    assert result.answers == ()


@pytest.mark.parametrize("limit", [float("nan"), "soon"])
def test_a_limit_that_is_no_number_is_refused_and_harms_nothing(start: Callable[..., Run], limit: Any) -> None:
    started = start("cat")
    for limits in ({"window_s": limit}, {"timeout_s": limit}):
        with pytest.raises(ValueError):
            started.wait(**limits)
    assert str(started.wait(timeout_s=0).status) == "timeout"


def test_no_limit_at_all_still_ends_with_the_program(engine: Engine) -> None:
    result = run(["sleep", "0.2"], engine=engine, window_s=float("inf"), timeout_s=float("inf"))
    assert str(result.status) == "exited"


# --- input that is needed ---


def test_a_prompt_that_surely_waits(start: Callable[..., Run]) -> None:
    started = start(*ASK)
    result = started.wait()
    assert (str(result.status), result.verdict.certainty, result.verdict.kind) == ("waiting", "sure", "confirm")
    assert result.screen.prompt_line.text == "Proceed? [y/N] "
    started.answer("y")
    assert "you said [y]" in started.wait().output


def test_a_read_without_words_waits_where_nothing_else_can_go_on(start: Callable[..., Run]) -> None:
    started = start("sh", "-c", "read x; echo [$x]")
    result = started.wait()
    assert (str(result.status), result.verdict.certainty, result.verdict.kind) == ("waiting", "sure", "text")
    started.answer("ok")
    assert "[ok]" in started.wait().output


def test_a_read_beside_something_else_may_be_waiting_and_is_told_once(start: Callable[..., Run]) -> None:
    started = start("bash", "-c", "sleep 1000 & read x; kill %1; echo [$x]")
    first = started.wait()
    assert (str(first.status), first.why) == ("maybe", "it may be waiting for input")
    second = started.wait(timeout_s=0.5)
    assert str(second.status) == "timeout", "the caller knows: it is no news"
    assert started.answer("ok").end == "gone"
    assert "[ok]" in started.wait().output


def test_a_shell_at_its_prompt_wants_input(start: Callable[..., Run]) -> None:
    started = start("bash", "--norc", "--noprofile", "-i", env={**os.environ, "PS1": "dev@box:~$ "})
    assert str(started.wait().status) == "waiting"
    started.answer("exit 7")
    assert started.wait().exit_status == 7


def test_a_stopped_program_is_neither_answered_nor_called_waiting(start: Callable[..., Run]) -> None:
    started = start("bash", "-c", "printf 'Proceed? [y/N] '; kill -STOP $$; read x", answers=["y"])
    result = started.wait(window_s=1.5)
    assert (str(result.status), result.verdict.state, result.answers) == ("maybe", "unknown", ())
    assert started.answer("y").end == "refused"
    assert started.stop().signal == "SIGHUP"


# --- answers given beforehand ---


def test_answers_are_used_in_turn(engine: Engine) -> None:
    script = 'for n in 1 2 3; do read -p "Step $n? [y/N] " x; all=$all$x; done; echo "[$all]"'
    result = run(["bash", "-c", script], engine=engine, answers=["a", "b", "c", "left over"])
    assert (str(result.status), "[abc]" in result.output) == ("exited", True)
    assert len(result.answers) == 3 and all(outcome.keys is not None for outcome in result.answers)


def test_an_answer_may_be_keys(engine: Engine) -> None:
    result = run(
        ["bash", "-c", "read -n1 -p 'Proceed? [y/N] ' x; echo \"[$x]\""], engine=engine, answers=[Keys.parse("n")]
    )
    assert "[n]" in result.output


@pytest.mark.parametrize(
    ("command", "shows"),
    [
        ([PYTHON, "-c", "import getpass; getpass.getpass()"], "Password:"),
        (["bash", "-c", "read -s -p 'Tell me more: ' x"], "Tell me"),
        (["bash", "-c", "read -p 'box login: ' x"], "login:"),
    ],
)
def test_no_answer_is_given_to_a_secret_or_a_login(engine: Engine, command: list[str], shows: str) -> None:
    result = run(command, engine=engine, answers=["hunter2"], window_s=20)
    try:
        assert str(result.status) in ("waiting", "maybe") and shows in result.screen.text
        assert result.answers == () and "hunter2" not in result.output
    finally:
        result.run.stop()


def test_a_printed_prompt_takes_no_answer(start: Callable[..., Run]) -> None:
    started = start("sh", "-c", "printf 'Proceed? [y/N] '; sleep 1000", answers=["y"])
    assert started.wait(window_s=1.5).answers == ()


def test_a_prompt_that_does_not_react_takes_one_answer(start: Callable[..., Run]) -> None:
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


def test_a_refused_answer_is_not_used_up(start: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    """The prompt is repainted at the moment of the press: what is given next is the same answer, not the next one."""
    from stallkit.transports.pty import PtyTransport

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


# --- bad input ---


def test_nothing_is_left_of_runs_that_ended(engine: Engine) -> None:
    run(["true"], engine=engine).run._thread.join()  # what is made once
    before = held()
    for _ in range(20):
        run(["true"], engine=engine)
    wait_for(lambda: held() == before, f"everything to be let go of: {before}, {held()}")


def test_a_program_that_closes_its_terminal_costs_nothing(start: Callable[..., Run]) -> None:
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


@pytest.mark.parametrize(
    "written",
    [b"\xff\xfe\x80" * 500, b"\x1b]0;never ended", b"\x1b[" * 3000, b"\0" * 3000, "\U0001f468\u200d".encode() * 300],
)
def test_garbage_before_a_prompt(start: Callable[..., Run], written: bytes, tmp_path: Path) -> None:
    (tmp_path / "garbage").write_bytes(written + b"\x1b\\\x1bc\r\n")
    started = start("bash", "-c", f"cat {tmp_path}/garbage; read -p 'Proceed? [y/N] ' x; exit 4")
    assert str(started.wait(window_s=30).status) == "waiting"
    started.answer("y")
    assert started.wait().exit_status == 4


def test_a_line_of_a_megabyte(start: Callable[..., Run]) -> None:
    code = "print('x' * 1_000_000 + 'END'); input('Proceed? [y/N] ')"
    started = start(PYTHON, "-c", code)
    result = started.wait(window_s=60)
    assert (str(result.status), result.output_lost > 400_000) == ("waiting", True)
    assert "xEND\n" in result.output and len(result.output) < 600_000


def test_output_without_end_is_cut_and_can_be_stopped(start: Callable[..., Run]) -> None:
    started = start("yes", "a rather long line of output that never ends")
    result = started.wait(timeout_s=1)
    assert (str(result.status), result.verdict.state) == ("timeout", "working")
    assert len(result.output) < 600_000 < result.output_lost
    assert started.stop().signal == "SIGHUP"


@pytest.mark.parametrize("size", [(1, 1), (400, 100), (2000, 2)])
def test_sizes(start: Callable[..., Run], size: tuple[int, int]) -> None:
    started = start("sh", "-c", "stty size", size=size)
    assert "".join(started.join().output.split()) == f"{size[1]}{size[0]}"


@pytest.mark.parametrize("size", [(0, 24), (80, 0), (-1, 24), (80, 100_000)])
def test_no_such_size(engine: Engine, size: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="a terminal has"):
        run(["true"], engine=engine, size=size)


def test_a_terminal_that_is_resized(start: Callable[..., Run]) -> None:
    started = start("bash", "-c", "trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done")
    wait_for(lambda: "ready" in started.poll().output, "the program")
    started._ask(lambda: started._process.transport.resize(100, 30))
    wait_for(lambda: "30 100" in started.poll().output, "it to be told")
    size = started.poll().screen.size
    assert size is not None and (size.columns, size.rows) == (100, 30)


def test_a_terminal_in_the_terminal(start: Callable[..., Run]) -> None:
    """`script` relays a prompt of another terminal: it is seen, if not sure, and can be answered."""
    started = start("script", "-qec", "bash -c 'read -p \"Proceed? [y/N] \" x; exit 5'", "/dev/null")
    result = started.wait(window_s=30)
    assert str(result.status) in ("waiting", "maybe") and "Proceed?" in result.screen.text
    started.answer("y")
    result = started.wait(window_s=5)
    if str(result.status) != "exited":  # the relay is raw: Enter is not certain to be due
        started.answer(Keys.parse("Enter"))
    assert started.wait(window_s=30).exit_status == 5


def test_processes_that_vanish(start: Callable[..., Run]) -> None:
    started = start(*SLEEP)
    os.kill(started._process.transport.pid, signal.SIGKILL)
    result = started.wait()
    assert (str(result.status), result.signal) == ("exited", "SIGKILL")
    assert started.answer("y").end == "gone"


def test_a_flood_does_not_fill_the_memory(start: Callable[..., Run]) -> None:
    megabytes = 50
    code = "import os\nfor _ in range(%d): os.write(1, b'all work and no play\\r\\n' * 47_663)" % megabytes  # noqa: UP031
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = start(PYTHON, "-c", f"{code}\ninput('Proceed? [y/N] ')")
    result = started.wait(window_s=60)
    assert (str(result.status), result.screen.prompt_line.text) == ("waiting", "Proceed? [y/N] ")
    assert result.output_lost > (megabytes - 1) * 1_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base < 50_000


def test_a_second_answer_to_a_prompt_does_not_answer_the_next(engine: Engine) -> None:
    started = Run.start(["bash", "-c", "read -p 'One? [y/N] ' x; read -p 'Two? [y/N] ' y; echo $x $y"], engine=engine)
    one = started.wait()
    assert started.answer("y", seen=one).keys is not None
    two = started.wait()
    assert two.screen != one.screen
    refused = started.answer("y", seen=one)
    assert (refused.end, refused.keys) == (End.REFUSED, None)
    started.answer("n", seen=two.screen.fingerprint)
    assert started.join().output.splitlines()[-1] == "y n"


# --- keywords of the version before ---


def test_old_names_of_limits_are_taken_with_a_warning(start: Callable[..., Run], engine: Engine) -> None:
    with pytest.deprecated_call(match="'window' is called 'window_s'"):
        started = start(*SLEEP, window=0.3)
    assert str(started.wait().status) == "maybe"
    with pytest.deprecated_call(match="'timeout' is called 'timeout_s'"):
        assert str(started.wait(timeout=0.0).status) == "timeout"
    with pytest.deprecated_call(match="'timeout' is called 'timeout_s'"):
        assert str(asyncio.run(started.wait_async(timeout=0.0)).status) == "timeout"
    with pytest.deprecated_call(match="'window' is called 'window_s'"):
        assert run(["sh", "-c", "exit 3"], engine=engine, window=60.0).exit_status == 3
    with pytest.deprecated_call(match="'window' is called 'window_s'"):
        assert asyncio.run(run_async(["sh", "-c", "exit 3"], engine=engine, window=60.0)).exit_status == 3
    with pytest.raises(TypeError, match="its old name"):
        started.wait(timeout=1.0, timeout_s=1.0)
