"""`stallkit run` and `stallkit attach` as a new user meets them: options, exit codes, keys, and what is left behind."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from started import BACKGROUND, of_folder
from terminals import Server, wait_for

from stallkit.cli.main import main
from stallkit.config import state_dir

pytestmark = pytest.mark.e2e

ASK = ["bash", "-c", "read -p 'Proceed? [y/N] ' x; echo \"you said [$x]\""]
BESIDE = "sleep 1000 & read x; kill %1"  # whether it waits, or something else of it works, is not known
SECRET = ["bash", "-c", "read -s -p 'Password: ' x; echo; echo ${#x} characters"]
FIELDS = {
    "version", "id", "status", "why", "state", "certainty", "kind", "signature", "pack", "severity", "line", "reasons",
    "request", "options", "ambiguity", "by_signal", "by_read", "agents", "ended", "retrying", "ended_turn",
    "asks_inside", "hung", "signals",
    "exit_status", "signal", "seconds", "screen", "fingerprint", "output",
    "output_lost", "answers", "next",
}  # fmt: skip


class User:
    """Somebody at a shell, with a state directory of his own."""

    def __init__(self, command: str, state: Path) -> None:
        self.command, self.state = command, state
        self.env = {**os.environ, "STALLKIT_STATE_DIR": str(state)}

    def begin(self, *arguments: str, **more: Any) -> subprocess.Popen[str]:
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": self.env}
        return subprocess.Popen([self.command, *arguments], **{**pipes, **more})

    def __call__(self, *arguments: str, input: str = "", env: dict[str, str] | None = None) -> tuple[int, str, str]:
        done = subprocess.run(
            [self.command, *arguments], input=input, check=False, capture_output=True, text=True, timeout=60,
            env={**self.env, **(env or {})},
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    def json(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """Exit code and the one object that is printed."""
        code, out, err = self(arguments[0], "--json", *arguments[1:])
        assert out.count("\n") == 1, (out, err)
        return code, json.loads(out)

    def background(self, *command: str) -> str:
        """The id of a run that nobody waits for."""
        code, found = self.json("run", "--background", "--", *command)
        assert (code, found["status"]) == (5, "background")
        return str(found["id"])

    @property
    def runs(self) -> list[str]:
        return [folder.name for folder in (self.state / "runs").glob("*/")]

    @property
    def processes(self) -> list[int]:
        return of_folder(BACKGROUND, self.state)

    def gone(self) -> None:
        wait_for(lambda: not self.processes, "the background processes to end")


@pytest.fixture
def user(stallkit_command: str) -> Iterator[User]:
    made = User(stallkit_command, Path(tempfile.mkdtemp(dir="/tmp")))
    yield made
    for process in made.processes:
        os.kill(process, signal.SIGTERM)
    made.gone()
    shutil.rmtree(made.state)


Here = Callable[..., tuple[int, str, str]]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """The command in this very process, for what ends before anything is started: it takes no time."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["stallkit", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return call


# --- exit codes and options ---


def test_it_ended(user: User) -> None:
    code, out, err = user("run", "--", "sh", "-c", "echo hello; exit 3")
    assert (code, out) == (0, "hello\n")
    assert err.startswith("stallkit: it ended with status 3 after ") and err.count("\n") == 1
    user.gone()


@pytest.mark.parametrize(("end", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -36 $$", 164)])
def test_its_own_status(user: User, end: str, code: int) -> None:
    assert user("run", "--exit-status", "--", "sh", "-c", end)[0] == code
    assert user("attach", "last", "--exit-status")[0] == code


def test_json_is_one_documented_object(user: User) -> None:
    code, found = user.json("run", *ASK)
    assert code == 2 and set(found) == FIELDS
    wanted = {"version": 1, "id": user.runs[0], "status": "waiting", "kind": "confirm", "exit_status": None}
    assert found | wanted == found
    code, found = user.json("attach", "last", "--answer", "n")
    assert code == 0 and set(found) == FIELDS and "you said [n]" in found["output"]
    code, found = user.json("attach")
    assert code == 0 and found["version"] == 1
    assert found["runs"][0] | {"status": "exited", "exit_status": 0, "command": ASK} == found["runs"][0]


def test_a_prompt_and_how_to_answer_it(user: User) -> None:
    code, out, err = user("run", *ASK)
    assert (code, out) == (2, "Proceed? [y/N]\n")
    (id,) = user.runs
    assert f"answer it:   stallkit attach {id} --answer TEXT" in err and f"attach {id} --wait" in err
    assert user("attach", id)[0] == 2
    code, out, err = user("attach", id, "--keys", "y Enter")
    assert (code, "you said [y]" in out) == (0, True)
    code, out, err = user("attach", id, "--answer", "y")
    assert code == 0 and "it ended with status 0" in err, "it is over, and says so"


def test_a_secret_is_read_from_standard_input(user: User) -> None:
    code, _, err = user("run", *SECRET)
    assert code == 2 and "--secret" in err
    code, _, err = user("attach", "last", "--answer", "opensesame")
    assert code == 1 and "not given as one" in err
    code, out, _ = user("attach", "last", "--secret", input="opensesame\n")
    assert (code, "10 characters" in out) == (0, True)
    user.gone()
    for path in user.state.rglob("*"):
        assert path.is_dir() or "opensesame" not in path.read_text(), path


def test_it_may_wait(user: User) -> None:
    code, _, err = user("run", "bash", "-c", BESIDE)
    assert code == 3 and "it may be waiting for input" in err
    code, _, err = user("attach", "last", "--wait", "--window", "0.3")
    assert code == 3 and "after 0.3 s it still runs" in err


def test_time_outs(user: User) -> None:
    code, _, err = user("run", "--timeout", "0.3", "sleep", "1000")
    assert code == 6 and "the caller's 0.3 s are over" in err and len(user.processes) == 1
    assert user("attach", "last", "--wait", "--timeout", "0.2")[0] == 6
    assert user("attach", "last")[0] == 5
    code, _, err = user("attach", "last", "--stop")
    assert code == 0 and "SIGHUP" in err
    user.gone()
    code, found = user.json("run", "--timeout", "0.3", "--kill", "sleep", "1000")
    assert (code, found["status"], found["signal"]) == (6, "timeout", "SIGHUP")
    user.gone()


def test_answers_given_beforehand(user: User) -> None:
    script = "read -p 'One? [y/N] ' a; read -p 'Two? [y/N] ' b; echo \"[$a$b]\""
    code, out, err = user("run", "--answer", "y", "--answer", "n", "--", "bash", "-c", script)
    assert (code, "[yn]" in out) == (0, True), err
    code, found = user.json("run", "--answer", "y", "--", *SECRET)
    assert (code, found["answers"]) == (2, [])


def test_where_and_in_what_it_runs(user: User, tmp_path: Path) -> None:
    script = 'pwd; stty size; echo "<$NAME|$OTHER|$TERM>"'
    given = ["--cwd", str(tmp_path), "--env", "NAME=a=b c", "--env", "OTHER=", "--size", "100x30"]
    code, out, _ = user("run", *given, "sh", "-c", script)
    assert (code, out.splitlines()) == (0, [str(tmp_path), "30 100", "<a=b c||xterm-256color>"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run"], "Missing argument"),
        (["run", "--frobnicate", "ls"], "No such option"),
        (["run", "--env", "NAME", "ls"], "NAME=VALUE"),
        (["run", "--env", "=x", "ls"], "NAME=VALUE"),
        (["run", "--size", "80", "ls"], "COLUMNSxROWS"),
        (["run", "--window", "nan", "ls"], "nan"),
        (["run", "--timeout", "-1", "ls"], "-1"),
        (["run", "--cwd", "/no/such/folder", "ls"], "/no/such/folder"),
        (["attach", "--wait"], "which run?"),
        (["attach", "x", "--answer", "y", "--stop"], "exclude each other"),
        (["attach", "x", "--keys", "Entre"], "Entre"),
    ],
)
def test_usage_errors_are_64_and_start_nothing(here: Here, arguments: list[str], said: str) -> None:
    code, out, err = here(*arguments)
    assert (code, out) == (64, "") and said in err
    assert not (state_dir() / "runs").exists()


@pytest.mark.parametrize(("arguments", "status"), [(["--", "/no/such/program"], 64), (["--size", "0x0", "true"], 1)])
def test_what_does_not_start(user: User, arguments: list[str], status: int) -> None:
    code, out, err = user("run", *arguments)
    assert (code, out, err.count("\n")) == (status, "", 1) and "Traceback" not in err
    assert not user.runs and not user.processes


@pytest.mark.parametrize("id", ["r000000", "../x", "", "a/b", "last", "x" * 300])
def test_no_such_run(here: Here, id: str) -> None:
    code, out, err = here("attach", id)
    assert (code, out, err.count("\n")) == (4, "", 1) and "there is no" in err


def test_none_at_all(user: User) -> None:
    assert user("attach")[:2] == (0, "no run in the background; stallkit run starts one\n")


def test_an_answer_where_nothing_waits(user: User) -> None:
    id = user.background("sleep", "1000")
    code, _, err = user("attach", id, "--answer", "y")
    assert code == 1 and "nothing waits for it" in err
    assert id in user("attach")[1]


def test_a_state_directory_that_cannot_be_used(user: User) -> None:
    code, _, err = user("run", "true", env={"STALLKIT_STATE_DIR": "/proc/nowhere"})
    assert code == 1 and "STALLKIT_STATE_DIR" in err and err.count("\n") == 1


# --- how to go on ---

CLOCK = "n=0; while :; do n=$((n+1)); printf '\\rworking %s' $n; sleep 0.1; done"
GO_ON = [  # options, command, status, whether an answer is due
    (["--background"], ["sleep", "1000"], "background", False),
    (["--timeout", "0.3"], ["sleep", "1000"], "timeout", False),
    (["--window", "0.3"], ["sh", "-c", CLOCK], "maybe", False),
    ([], ["bash", "-c", BESIDE], "maybe", True),
    ([], ["bash", "-c", "read x"], "waiting", True),
    ([], ASK, "waiting", True),
]


def run_so(user: User, command: str) -> tuple[int, dict[str, Any]]:
    """A command that was printed, as a program would call it: its words, with --json."""
    program, verb, *words = shlex.split(command)
    assert program == "stallkit"
    return user.json(verb, *words)


@pytest.mark.parametrize(("options", "command", "status", "asks"), GO_ON)
def test_json_says_how_to_go_on(user: User, options: list[str], command: list[str], status: str, asks: bool) -> None:
    code, found = user.json("run", *options, "--", *command)
    commands = found["next"]
    assert found["status"] == status and set(commands) == {"poll", "wait", "answer", "stop"}
    assert (commands["answer"] is not None) == asks
    assert run_so(user, commands["poll"])[1]["id"] == found["id"]
    code, polled = run_so(user, f"{commands['wait']} --timeout 0.1")
    assert code in (2, 3, 6) and polled["next"]["wait"] == commands["wait"]
    if asks:
        code, ended = run_so(user, commands["answer"].replace("TEXT", "y"))
    else:
        code, ended = run_so(user, commands["stop"])
    assert (code, ended["status"], ended["next"]) == (0, "exited", None)
    user.gone()


def test_a_secret_is_given_by_its_own_option(user: User) -> None:
    found = user.json("run", *SECRET)[1]
    assert found["next"]["answer"] == f"stallkit attach {found['id']} --secret"


@pytest.mark.parametrize("options", [["--background"], ["--timeout", "0.3"]])
def test_a_person_is_told_how_to_go_on(user: User, options: list[str]) -> None:
    _, _, err = user("run", *options, "--", "sleep", "1000")
    (id,) = user.runs
    for line in (f"wait on:     stallkit attach {id} --wait", f"look again:  stallkit attach {id}\n"):
        assert line in err
    assert "answer it" not in err and f"stop it:     stallkit attach {id} --stop" in err
    assert user("run", "true")[2].count("\n") == 1, "nothing is to be done about a run that ended"


# --- signals ---


def waiting(user: User, *options: str, **more: Any) -> tuple[subprocess.Popen[str], str]:
    """A `stallkit run` that waits for a program without end, and the run's id."""
    marker = user.state / "started"
    client = user.begin("run", *options, "sh", "-c", f"echo $$ > {marker}; exec sleep 1000", **more)
    wait_for(lambda: marker.exists() and marker.read_text(), "the program")
    wait_for(lambda: "\nSigCgt:" in status(client.pid) and caught(client.pid, signal.SIGTSTP), "it to wait")
    return client, user.runs[0]


def status(pid: int) -> str:
    return Path(f"/proc/{pid}/status").read_text()


def caught(pid: int, number: signal.Signals) -> bool:
    line = next(line for line in status(pid).splitlines() if line.startswith("SigCgt:"))
    return bool(int(line.split()[1], 16) >> (number - 1) & 1)


def test_ctrl_c_ends_both(user: User) -> None:
    client, _ = waiting(user)
    program = int((user.state / "started").read_text())
    client.send_signal(signal.SIGINT)
    out, err = client.communicate(timeout=30)
    assert (client.returncode, out) == (130, "") and "Traceback" not in err
    user.gone()
    assert not Path(f"/proc/{program}").exists()


def test_ctrl_z_leaves_it_in_the_background(user: User) -> None:
    client, id = waiting(user, "--json")
    client.send_signal(signal.SIGTSTP)
    client.send_signal(signal.SIGTSTP)  # somebody presses it twice
    out, err = client.communicate(timeout=30)
    found = json.loads(out)
    assert (client.returncode, err) == (5, "")
    assert (found["status"], found["id"], found["why"]) == ("background", id, "it continues in the background")
    assert user("attach", id)[0] == 5


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_a_run_outlives_its_command(user: User, number: signal.Signals) -> None:
    client, id = waiting(user)
    client.send_signal(number)
    client.communicate(timeout=30)
    assert client.returncode == -number
    code, found = user.json("attach", id)
    assert (code, found["status"]) == (5, "background")


def test_a_killed_background_process(user: User) -> None:
    client, id = waiting(user)
    os.kill(user.processes[0], signal.SIGKILL)
    client.communicate(timeout=30)
    assert client.returncode in (1, 4), "nobody knows how it ended"
    code, out, err = user("attach", id)
    assert (code, out) == (4, "") and "how it ended is unknown" in err
    assert "lost" in user("attach")[1]


def test_two_clients_wait_for_one_run(user: User) -> None:
    id = user.background("bash", "-c", "sleep 1; read -p 'Proceed? [y/N] ' x; exit 3")
    clients = [user.begin("attach", id, "--wait") for _ in range(2)]
    assert [(client.communicate(timeout=30), client.returncode)[1] for client in clients] == [2, 2]


# --- in a terminal ---


def test_progress_comes_and_goes_and_a_real_ctrl_z_works(user: User, server: Server) -> None:
    script = f"export STALLKIT_STATE_DIR={user.state} PS1='ready$ '; exec bash --norc --noprofile -i"
    shell = server.start("shell", "bash", "-c", script, shows="ready$")
    line = f"{user.command} run -- sh -c 'echo compiling; exec sleep 1000'"
    server.tmux("send-keys", "-t", "=shell:", "clear; " + line, "Enter")
    server.wait(shell, " s  compiling")
    server.tmux("send-keys", "-t", "=shell:", "C-z")
    shown = server.wait(shell, "it continues in the background").screen.text
    assert " s  compiling" not in shown, "the progress line is taken back"
    server.tmux("send-keys", "-t", "=shell:", "echo code=$?", "Enter")
    server.wait(shell, "code=5")
    server.tmux("send-keys", "-t", "=shell:", f"{user.command} attach last --stop", "Enter")
    server.wait(shell, "it ended with SIGHUP")
    user.gone()


def test_a_secret_is_asked_for_without_echo(user: User, server: Server) -> None:
    assert user("run", *SECRET)[0] == 2
    script = f"export STALLKIT_STATE_DIR={user.state}; {user.command} attach last --secret; sleep 1000"
    pane = server.start("pane", "sh", "-c", script, shows="Secret:")
    server.tmux("send-keys", "-t", "=pane:", "opensesame", "Enter")
    assert "opensesame" not in server.wait(pane, "10 characters").screen.text
