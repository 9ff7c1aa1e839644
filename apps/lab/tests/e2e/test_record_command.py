"""``stallkit record`` and ``stallkit record mark`` over real programs, with a person's terminal and without."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from printed import printed
from recordings import session
from stallkit_lab.record.asciicast import Event
from stallkit_lab.record.cast import Recording, cases
from terminals import wait_for

from stallkit.detect.signature import Kind, State
from stallkit.errors import StallkitError
from stallkit.transports.pty import PtyTransport

pytestmark = pytest.mark.e2e

TOKEN = "ghp_" + "a1B2" * 9
ASK = """
import os, sys
print("building", flush=True)
answer = input("Proceed? [y/N] ")
print("got", answer, flush=True)
sys.exit(7)
"""
SECRET = "import getpass; print(len(getpass.getpass('Password: ')), flush=True)"
Call = Callable[..., subprocess.CompletedProcess[str]]
Begin = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {**os.environ, "STALLKIT_STATE_DIR": str(tmp_path_factory.mktemp("s")), "PYTHONWARNINGS": "ignore"}


@pytest.fixture
def stallkit(stallkit_command: str, environment: dict[str, str]) -> Call:
    """A command from its beginning to its end; `before` is what it is run by."""

    def run(*words: str | Path, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        command = [*before, stallkit_command, *map(str, words)]
        quiet = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        return subprocess.run(command, env=environment, check=False, timeout=60, **quiet)  # type: ignore[call-overload]

    return run


@pytest.fixture
def begin(stallkit_command: str, environment: dict[str, str]) -> Iterator[Begin]:
    """``stallkit record`` that runs on, once its file holds a text."""
    begun: list[subprocess.Popen[bytes]] = []

    def start(path: Path, text: str, *words: str) -> subprocess.Popen[bytes]:
        command = [stallkit_command, "record", "-o", str(path), *words]
        begun.append(subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE))
        wait_for(lambda: path.exists() and text in path.read_text(), f"{text!r} in {path}", patience_s=60.0)
        return begun[-1]

    yield start
    for one in begun:
        one.kill()
        one.communicate()


@pytest.fixture
def person(environment: dict[str, str], tmp_path: Path) -> Iterator[Any]:
    """Somebody at a terminal, who types a command."""
    opened: list[PtyTransport] = []

    # What says how large some other terminal is, as xdist's workers are told, would be believed.
    own = {name: value for name, value in environment.items() if name not in ("COLUMNS", "LINES")}

    def start(*command: str) -> PtyTransport:
        opened.append(PtyTransport.spawn(command, env=own, cwd=tmp_path, size=(90, 20)))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.cast"


def events(path: Path) -> list[Event]:
    problems: list[StallkitError] = []
    recording = Recording(path, problems)
    found = list(recording.events())
    assert recording.header is not None and recording.marked and problems == []
    return found


def output(path: Path) -> str:
    return "".join(event.data for event in events(path) if event.code == "o")


def shows(terminal: PtyTransport, text: str) -> None:
    wait_for(lambda: text in terminal.capture().screen.text, f"{text!r} in {terminal.capture().screen.text!r}")


def ended(terminal: PtyTransport) -> int:
    wait_for(lambda: not terminal.capture().alive, "its end")
    assert terminal.exit_status is not None
    return terminal.exit_status


def test_a_command_is_recorded_without_a_terminal(stallkit: Call, path: Path) -> None:
    program = "import sys; print(sys.stdin.isatty(), *__import__('os').get_terminal_size()); sys.exit(7)"
    done = stallkit("record", "-o", path, "--size", "100x30", "--json", "--", sys.executable, "-c", program)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["exit_status"] == 7
    assert output(path) == "True 100 30\r\n" and events(path)[-1].data == "7"
    assert path.stat().st_mode & 0o777 == 0o600
    again = stallkit("record", "-o", path, "--", "true")
    assert again.returncode == 1 and "--overwrite" in again.stderr and again.stderr.count("\n") == 1


def test_a_recording_of_either_version_is_replayed(stallkit: Call, path: Path) -> None:
    for version in ("2", "3"):
        stallkit("record", "--overwrite", "-o", path, "--cast-version", version, "--", "echo", "hi")
        told = json.loads(stallkit("record", "replay", path, "--json").stdout)
        assert told["changes"][-1]["state"] == "gone" and told["problems"] == [], version
        assert json.loads(path.read_text().splitlines()[0])["version"] == int(version)


def test_a_token_that_is_printed_byte_by_byte_is_not_in_the_file(stallkit: Call, path: Path) -> None:
    each = "os.write(1, byte.encode()); time.sleep(float(sys.argv[1]))"
    slow = f"import os, sys, time\nfor byte in {TOKEN!r} + ' end\\n': {each}"
    for options, shown in ([], "*" * len(TOKEN)), (["--no-redact"], TOKEN):
        for pause_s in ("0.02", "0.1", "0.5"):  # a recorder that got no processor reads it in one piece
            stallkit("record", "--overwrite", *options, "-o", path, "--", sys.executable, "-c", slow, pause_s)
            if (pieces := sum(event.code == "o" for event in events(path))) > 2:
                break
        assert pieces > 2, "it did not come in pieces"
        assert output(path) == f"{shown} end\r\n"
        assert options or "a1B2" not in path.read_text().partition("\n")[2]


def test_a_person_types_marks_and_answers(stallkit_command: str, person: Any, path: Path) -> None:
    terminal = person(stallkit_command, "record", "--no-redact", "-o", str(path), "--", sys.executable, "-c", ASK)
    shows(terminal, "Proceed?")
    wait_for(lambda: '"listening": true' in noted(path, terminal), "the facts")
    os.write(terminal.fileno(), b"\x1dw")
    os.write(terminal.fileno(), b"\x1dz")  # no state: refused with a bell
    os.write(terminal.fileno(), b"\x1d\x1dyes\r")
    assert ended(terminal) == 0
    shows(terminal, "recorded")
    told = events(path)
    assert [event.data for event in told if event.code == "m"] == ["waiting"] and told[-1].data == "7"
    assert "got \x1dyes" in output(path)
    (case,) = cases(path, [])
    assert case.label.state is State.WAITING and case.snapshot.kernel is not None and case.snapshot.kernel.listening


def noted(path: Path, terminal: PtyTransport) -> str:
    terminal.pump()
    return path.read_text().replace('\\"', '"') if path.exists() else ""


def test_what_is_typed_with_echo_off_is_nowhere(stallkit_command: str, person: Any, path: Path) -> None:
    terminal = person(stallkit_command, "record", "--no-redact", "-o", str(path), "--", sys.executable, "-c", SECRET)
    shows(terminal, "Password:")
    wait_for(lambda: '"echo": false' in noted(path, terminal), "echo off")
    os.write(terminal.fileno(), b"hunter22\r")
    assert ended(terminal) == 0
    assert "hunter22" not in path.read_text() and "8\r\n" in output(path)


def test_the_window_s_size_is_followed(stallkit_command: str, person: Any, path: Path) -> None:
    # It looks whether a line is there: one that it reads with a time-out is lost if the two meet.
    sized = "trap 'stty size' WINCH; stty size; until read -t 0; do sleep 0.1; done"
    terminal = person(stallkit_command, "record", "-o", str(path), "--", "bash", "-c", sized)
    shows(terminal, "20 90")
    terminal.resize(70, 15)
    shows(terminal, "15 70")
    os.write(terminal.fileno(), b"\r")
    assert ended(terminal) == 0
    assert "70x15" in [event.data for event in events(path) if event.code == "r"]


@pytest.mark.parametrize("number", [None, signal.SIGTERM, signal.SIGHUP])
def test_the_terminal_is_restored_on_every_exit(
    stallkit_command: str, person: Any, tmp_path: Path, path: Path, number: int | None
) -> None:
    program = "echo ready; read -r line"
    recorder = f"sh -c 'echo $$ > pid; exec {stallkit_command} record -o {path} -- sh -c \"{program}\"'"
    terminal = person("bash", "-c", f"stty -g > before; {recorder}; stty -g > after; echo over")
    shows(terminal, "ready")
    if number is None:
        os.write(terminal.fileno(), b"\r")
    else:
        os.kill(int((tmp_path / "pid").read_text()), number)
    shows(terminal, "over")
    assert (tmp_path / "before").read_text() == (tmp_path / "after").read_text() != ""
    assert "ready" in output(path)


RUNS_ON = ("--", "sh", "-c", "echo ready; exec sleep 60")


def test_marks_come_from_another_terminal(
    stallkit: Call, begin: Begin, environment: dict[str, str], tmp_path: Path
) -> None:
    none = stallkit("record", "mark", "working")
    assert none.returncode == 4 and "no recording runs" in none.stderr
    paths = [tmp_path / "first.cast", tmp_path / "second.cast"]
    recorders = [begin(path, '"ready', *RUNS_ON) for path in paths]
    assert stallkit("record", "mark", "waiting:confirm").returncode == 0
    done = stallkit("record", "mark", "idle", "--recording", paths[0], "--json")
    assert printed("record-mark", done)["file"] == str(paths[0].resolve())
    for wrong in ("wating", "waiting:nothing", "idle:confirm", ""):
        assert stallkit("record", "mark", wrong).returncode == 64, wrong
    assert stallkit("record", "mark", "idle", "--recording", tmp_path / "no.cast").returncode == 4
    for recorder in recorders:
        recorder.send_signal(signal.SIGTERM)
    told = [recorder.communicate(timeout=30)[1] for recorder in recorders]
    assert [recorder.returncode for recorder in recorders] == [130, 130], told
    for path, wanted in zip(paths, ["idle", "waiting:confirm"], strict=True):
        assert [event.data for event in events(path) if event.code == "m"] == [wanted]
    folder = Path(environment["STALLKIT_STATE_DIR"], "recordings")
    assert not list(folder.iterdir()), "a socket was left behind"


def test_a_recorder_that_was_killed_leaves_what_it_had_and_no_obstacle(
    stallkit: Call, begin: Begin, path: Path
) -> None:
    recorder = begin(path, '"ready', *RUNS_ON)
    recorder.kill()
    recorder.wait()
    assert "ready" in output(path)
    assert stallkit("record", "mark", "idle").returncode == 4


def test_a_replay_in_real_time_shows_the_screen_and_what_is_said_of_it(
    stallkit_command: str, person: Any, path: Path
) -> None:
    terminal = person(stallkit_command, "record", "replay", str(session(path)), "--speed", "2")
    shows(terminal, "waiting:confirm, sure")
    assert "Proceed? [y/N]" in terminal.capture().screen.text
    assert ended(terminal) == 0
    assert "right: 100.0%" in terminal.capture().screen.text


def test_what_cannot_be_started_says_so(stallkit: Call, path: Path) -> None:
    done = stallkit("record", "-o", path, "--", "no-such-program")
    assert done.returncode == 64 and "could not start" in done.stderr and done.stderr.count("\n") == 1
    assert not path.exists()
    for option in ("--size 80", "--size 0x0", "--mark-key F1", "--mark-key C-m", "--mark-key x"):
        assert stallkit("record", *option.split(), "--", "true").returncode == 64, option


def test_for_ends_it_and_the_kinds_are_kept(stallkit: Call, begin: Begin, path: Path) -> None:
    command = ("--no-redact", "--for", "9", "--", sys.executable, "-c", ASK)
    recorder = begin(path, '\\"listening\\": true', *command)
    stallkit("record", "mark", "waiting:confirm")
    assert recorder.wait(30) == 0
    told = json.loads(stallkit("record", "replay", path, "--json").stdout)
    assert told["agreement"] > 0.5 and told["changes"][-1]["certainty"] == "sure", told
    (case,) = cases(path, [])
    assert case.label.kind is Kind.CONFIRM and case.snapshot.screen.prompt_line.text == "Proceed? [y/N] "


def test_options_behind_a_command_are_its_own(stallkit: Call, path: Path) -> None:
    assert stallkit("record", "-o", path, "echo", "-o", "there", "--json").returncode == 0
    assert "-o there --json" in output(path)
    for words in ("record start", "record --", "record -o", "record tmux:x --nope"):
        done = stallkit(*words.split())
        assert done.returncode == 64 and done.stderr.startswith("stallkit"), words


def test_where_there_is_no_room_the_file_is_named_and_what_was_written_is_kept(
    stallkit: Call, environment: dict[str, str], tmp_path: Path
) -> None:
    for option in ("--no-redact", "--overwrite"):
        path = tmp_path / f"{option}.cast"
        limited = ("bash", "-c", 'ulimit -f 64; exec "$@"', "-")
        done = stallkit("record", option, "-o", path, "--", "seq", "100000", before=limited)
        assert done.returncode == 1 and done.stderr.count("\n") == 1, option
        assert f"recording {path}: File too large; what was written before is kept" in done.stderr
        assert any(event.code == "o" for event in Recording(path, []).events()), option
        assert list((Path(environment["STALLKIT_STATE_DIR"]) / "recordings").iterdir()) == [], option
