"""`stallkit run` and `attach` as a user meets them: options, exit codes, keys, events, hooks, and what is left."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from posted import Site
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
    """Somebody in a project, with a state directory and settings of his own."""

    def __init__(self, command: str, home: Path, state: Path) -> None:
        self.command, self.home, self.state = command, home, state
        (project := home / "project").mkdir()
        self.project, self.heard = project, home / "what the command heard"
        self.hook = shlex.join(["sh", "-c", f"cat >> {shlex.quote(str(self.heard))}"])
        given = {"STALLKIT_STATE_DIR": str(state), "HOME": str(home), "XDG_CONFIG_HOME": str(home)}
        self.env = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")} | given

    def begin(self, *arguments: str, **more: Any) -> subprocess.Popen[str]:
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": self.env}
        return subprocess.Popen([self.command, *arguments], **{**pipes, **more})

    def __call__(self, *arguments: str, input: str = "", **environment: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [self.command, *arguments], input=input, check=False, capture_output=True, text=True, timeout=60,
            env={**self.env, **environment}, cwd=self.project,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    def json(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """Exit code and the one object that is printed."""
        code, out, err = self(arguments[0], "--json", *arguments[1:])
        assert out.count("\n") == 1, (out, err)
        return code, json.loads(out)

    @property
    def runs(self) -> list[str]:
        return [folder.name for folder in (self.state / "runs").glob("*/")]

    @property
    def processes(self) -> list[int]:
        return of_folder(BACKGROUND, self.state)

    def gone(self) -> None:
        wait_for(lambda: not self.processes, "the background processes to end")

    def settings(self, text: str, of_the_user: bool = False) -> None:
        folder = self.home / "stallkit" if of_the_user else self.project
        folder.mkdir(exist_ok=True)
        (folder / "stallkit.toml").write_text(text)
        if not of_the_user:
            assert self("config", "allow", ".", "--yes")[0] == 0

    def logged(self, file: Path | None = None) -> list[dict[str, Any]]:
        return _objects((file or self.state / "events.jsonl").read_text())

    def told(self) -> list[dict[str, Any]]:
        """What the command of --exec was called with."""
        return _objects(self.heard.read_text()) if self.heard.exists() else []

    def complaints(self) -> str:
        self.gone()
        [id] = self.runs
        return (self.state / "runs" / id / "keeper.log").read_text()


def _objects(lines: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.splitlines()]


@pytest.fixture
def user(stallkit_command: str, tmp_path: Path) -> Iterator[User]:
    made = User(stallkit_command, tmp_path, Path(tempfile.mkdtemp(dir="/tmp")))
    yield made
    for process in made.processes:
        os.kill(process, signal.SIGTERM)
    made.gone()
    shutil.rmtree(made.state)


# --- exit codes and options ---
def test_its_output_is_ours_and_its_status_is_told_or_taken_over(user: User) -> None:
    code, out, err = user("run", "--", "sh", "-c", "echo hello; exit 3")
    assert (code, out) == (0, "hello\n")
    assert err.startswith("stallkit: it ended with status 3 after ") and err.count("\n") == 1, "nothing is to be done"
    for end, status in (("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -36 $$", 164)):
        assert user("run", "--exit-status", "--", "sh", "-c", end)[0] == status
        assert user("attach", "last", "--exit-status")[0] == status
    user.gone()


def test_a_prompt_and_how_to_answer_it(user: User) -> None:
    assert user("attach")[:2] == (0, "no run in the background; stallkit run starts one\n")
    code, out, err = user("run", *ASK)
    assert (code, out) == (2, "Proceed? [y/N]\n")
    (id,) = user.runs
    assert f"answer it:   stallkit attach {id} --answer TEXT" in err and f"attach {id} --wait" in err
    code, found = user.json("attach", id)
    assert code == 2 and set(found) == FIELDS
    wanted = {"version": 1, "id": id, "status": "waiting", "kind": "confirm", "exit_status": None}
    assert found | wanted == found
    code, found = user.json("attach", id, "--keys", "y Enter")
    assert code == 0 and set(found) == FIELDS and "you said [y]" in found["output"]
    code, out, err = user("attach", id, "--answer", "y")
    assert code == 0 and "it ended with status 0" in err, "it is over, and says so"
    code, found = user.json("attach")
    assert found["runs"][0] | {"status": "exited", "exit_status": 0, "command": ASK} == found["runs"][0]


def test_a_secret_is_read_from_standard_input_or_asked_for_without_echo(user: User, server: Server) -> None:
    code, _, err = user("run", *SECRET)
    assert code == 2 and "--secret" in err
    (id,) = user.runs
    assert user.json("attach", id)[1]["next"]["answer"] == f"stallkit attach {id} --secret"
    code, _, err = user("attach", "last", "--answer", "opensesame")
    assert code == 1 and "not given as one" in err
    code, out, _ = user("attach", "last", "--secret", input="opensesame\n")
    assert (code, "10 characters" in out) == (0, True)
    assert user("run", *SECRET)[0] == 2
    script = f"export STALLKIT_STATE_DIR={user.state}; {user.command} attach last --secret; sleep 1000"
    pane = server.start("pane", "sh", "-c", script, shows="Secret:")
    server.tmux("send-keys", "-t", "=pane:", "opensesame", "Enter")
    assert "opensesame" not in server.wait(pane, "10 characters").screen.text
    user.gone()
    for path in user.state.rglob("*"):
        assert path.is_dir() or "opensesame" not in path.read_text(), path


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


USAGE = [
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
]


def test_usage_errors_are_64_start_nothing_and_no_such_run_is_4(here: Here) -> None:
    for arguments, said in USAGE:
        code, out, err = here(*arguments)
        assert (code, out) == (64, "") and said in err, arguments
    for id in ("r000000", "../x", "", "a/b", "last", "x" * 300):
        code, out, err = here("attach", id)
        assert (code, out, err.count("\n")) == (4, "", 1) and "there is no" in err, id
    assert not (state_dir() / "runs").exists()


def test_what_does_not_start_is_one_line_and_is_told_too(user: User) -> None:
    for arguments, status in ((["--size", "0x0", "true"], 1), (["--exec", user.hook, "--", "/no/such/program"], 64)):
        code, out, err = user("run", *arguments)
        assert (code, out, err.count("\n")) == (status, "", 1) and "Traceback" not in err
        assert not user.runs and not user.processes
    assert [event["event"] for event in user.told()] == ["run_started", "run_ended"]
    assert "it does not start" in user.told()[-1]["why"]
    code, _, err = user("run", "true", STALLKIT_STATE_DIR="/proc/nowhere")
    assert code == 1 and "STALLKIT_STATE_DIR" in err and err.count("\n") == 1


# --- how to go on ---
CLOCK = "n=0; while :; do n=$((n+1)); printf '\\rworking %s' $n; sleep 0.1; done"
GO_ON: list[tuple[list[str], list[str], int, str, str, bool]] = [
    # options, command, exit code, status, what is said, whether an answer is due
    (["--background"], ["sleep", "1000"], 5, "background", "", False),
    (["--timeout", "0.3"], ["sleep", "1000"], 6, "timeout", "the caller's 0.3 s are over", False),
    (["--window", "0.3"], ["sh", "-c", CLOCK], 3, "maybe", "after 0.3 s it still runs", False),
    ([], ["bash", "-c", BESIDE], 3, "maybe", "it may be waiting for input", True),
    ([], ["bash", "-c", "read x"], 2, "waiting", "", True),
    ([], ASK, 2, "waiting", "", True),
]


def run_so(user: User, command: str) -> tuple[int, dict[str, Any]]:
    """A command that was printed, as a program would call it: its words, with --json."""
    program, verb, *words = shlex.split(command)
    assert program == "stallkit"
    return user.json(verb, *words)


def test_json_says_how_to_go_on(user: User) -> None:
    for options, command, status, said, why, asks in GO_ON:
        code, found = user.json("run", *options, "--", *command)
        commands = found["next"]
        assert (code, found["status"]) == (status, said) and why in found["why"], found
        assert set(commands) == {"poll", "wait", "answer", "stop"} and (commands["answer"] is not None) == asks
        assert run_so(user, commands["poll"])[1]["id"] == found["id"]
        code, polled = run_so(user, f"{commands['wait']} --timeout 0.1")
        assert code in (2, 3, 6) and polled["next"]["wait"] == commands["wait"]
        code, ended = run_so(user, commands["answer"].replace("TEXT", "y") if asks else commands["stop"])
        assert (code, ended["status"], ended["next"]) == (0, "exited", None)
    code, found = user.json("run", "--timeout", "0.3", "--kill", "sleep", "1000")
    assert (code, found["status"], found["signal"]) == (6, "timeout", "SIGHUP")
    user.gone()


def test_a_person_is_told_how_to_go_on(user: User) -> None:
    for options in (["--background"], ["--timeout", "0.3"]):
        _, _, err = user("run", *options, "--", "sleep", "1000")
        (id,) = (one for one in user.runs if one in err)
        for line in (f"wait on:     stallkit attach {id} --wait", f"look again:  stallkit attach {id}\n"):
            assert line in err
        assert "answer it" not in err and f"stop it:     stallkit attach {id} --stop" in err
    code, _, err = user("attach", id, "--answer", "y")
    assert code == 1 and "nothing waits for it" in err
    assert id in user("attach")[1]


# --- signals ---
def waiting(user: User, *options: str, **more: Any) -> tuple[subprocess.Popen[str], str]:
    """A `stallkit run` that waits for a program without end, and the run's id."""
    known, marker = set(user.runs), user.state / "started"
    marker.unlink(missing_ok=True)
    client = user.begin("run", *options, "sh", "-c", f"echo $$ > {marker}; exec sleep 1000", **more)
    wait_for(lambda: marker.exists() and marker.read_text(), "the program")
    wait_for(lambda: caught(client.pid, signal.SIGTSTP), "it to wait")
    (id,) = set(user.runs) - known
    return client, id


def caught(pid: int, number: signal.Signals) -> bool:
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return any(int(line.split()[1], 16) >> (number - 1) & 1 for line in status if line.startswith("SigCgt:"))


def test_ctrl_c_ends_both(user: User) -> None:
    client, _ = waiting(user)
    program = int((user.state / "started").read_text())
    client.send_signal(signal.SIGINT)
    out, err = client.communicate(timeout=30)
    assert (client.returncode, out) == (130, "") and "Traceback" not in err
    user.gone()
    assert not Path(f"/proc/{program}").exists()


def test_a_run_outlives_its_command_and_not_its_background_process(user: User) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGHUP):
        client, id = waiting(user)
        client.send_signal(number)
        client.communicate(timeout=30)
        assert client.returncode == -number
        code, found = user.json("attach", id)
        assert (code, found["status"]) == (5, "background")
        user("attach", id, "--stop")
    user.gone()
    client, id = waiting(user)
    os.kill(user.processes[0], signal.SIGKILL)
    client.communicate(timeout=30)
    assert client.returncode in (1, 4), "nobody knows how it ended"
    code, out, err = user("attach", id)
    assert (code, out) == (4, "") and "how it ended is unknown" in err
    assert "lost" in user("attach")[1]


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


# --- events ---
@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.end()


def names(events: list[dict[str, Any]]) -> list[str]:
    return [str(event["event"]) for event in events]


def posted(site: Site) -> list[dict[str, Any]]:
    return [json.loads(body) for _, _, body in site.got]


def test_a_command_and_a_webhook_hear_all_of_a_run_in_the_background(user: User, site: Site) -> None:
    assert user("run", "--background", "--exec", user.hook, "--webhook", site.url, "--", *ASK)[0] == 5
    wait_for(lambda: "run_waiting" in names(user.told()), "the command to hear that it waits")
    wait_for(lambda: "run_waiting" in names(posted(site)), "the webhook to hear of it")
    assert user("attach", "last", "--answer", "y")[0] == 0
    assert user.complaints() == ""
    assert names(user.told()) == ["run_started", "run_waiting", "run_answered", "run_ended"]
    assert user.told() == posted(site) == user.logged()
    [target] = {event["target"] for event in user.told()}
    assert target.startswith("run:r")


def test_settings_say_where_events_go_and_a_flag_counts_more(user: User, site: Site) -> None:
    for of_the_user in (True, False):
        log = user.home / f"events of runs {of_the_user}"
        told = {"exec": user.hook if of_the_user else "false", "webhook": site.url, "file": str(log)}
        text = "[events]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in told.items())
        user.settings(text, of_the_user)
        flag = [] if of_the_user else ["--exec", user.hook]
        assert user("run", *flag, "--", "sh", "-c", "exit 3")[0] == 0
        assert user.complaints() == ""
        assert names(user.told()) == ["run_started", "run_ended"]
        assert user.told() == posted(site) == user.logged(log)
        assert not (user.state / "events.jsonl").exists()
        user.heard.unlink()
        site.got.clear()
        shutil.rmtree(user.state / "runs")


def test_what_fails_is_told_beside_the_run_and_disturbs_nothing(user: User) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    failing = ["--exec", "sh -c 'exit 9'", "--webhook", f"http://127.0.0.1:{port}/a-token"]
    code, out, err = user("run", *failing, "--exit-status", "--", "sh", "-c", "echo hello; exit 3")
    assert (code, out) == (3, "hello\n")
    assert err.startswith("stallkit: it ended with status 3") and err.count("\n") == 1
    said = user.complaints().splitlines()
    assert said.count("stallkit: command sh: exit status 9") == 2
    assert sum("webhook 127.0.0.1" in line and "refused" in line for line in said) == 2 and len(said) == 4
    assert names(user.logged()) == ["run_started", "run_ended"]
    for path in user.state.rglob("*"):
        assert path.is_dir() or "a-token" not in path.read_text(), path


def test_a_command_that_hangs_holds_up_nobody(user: User, tmp_path: Path) -> None:
    """It is called with the start of the run, which ends meanwhile: whoever waits for the run is not held up by it."""
    hangs = f"cat > {tmp_path}/heard; mkdir {tmp_path}/once && echo $$ > {tmp_path}/pid && exec sleep 1000"
    code, out, _ = user("run", "--exec", shlex.join(["sh", "-c", hangs]), "--", "echo", "hello")
    assert (code, out) == (0, "hello\n")
    assert user("attach", "last")[1] == "hello\n"
    assert user.processes, "it waits for its command"
    wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), "the command")
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert "command sh: exit status -9" in user.complaints()
    assert names(_objects((tmp_path / "heard").read_text())) == ["run_ended"], "the next event is handed on"


def test_events_that_cannot_be_told_are_one_line_and_start_nothing(user: User) -> None:
    for options, settings, said in [
        (["--webhook", "ftp://example.org/a-token"], "", "config webhook: it is not an http or https address"),
        (["--exec", "it's"], "", "No closing quotation"),
        ([], '[events]\nwebhook = "nowhere"\n', "config webhook: it is not an http or https address"),
        ([], "[events]\nexce = 'true'\n", "stallkit.toml"),
        ([], "[events\n", "stallkit.toml"),
    ]:
        user.settings(settings, of_the_user=True)
        code, out, err = user("run", *options, "--", "touch", "ran")
        assert (code, out, err.count("\n")) == (1, "", 1), said
        assert err.startswith("stallkit: ") and said in err and "a-token" not in err
        assert not (user.project / "ran").exists() and not (user.state / "runs").exists()


# --- hooks ---
# A program called claude that has its hooks called as Claude Code does, and then asks.
AGENT = """#!/bin/sh
echo "$@" >args
hook=$(sed -n 's/.*"command": "\\([^"]*\\)".*/\\1/p' "$2")
asks='{"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {"command": "make it so"}}'
echo "$asks" | eval "$hook"
printf 'Proceed? [y/N] '
read answer
"""


def test_hooks_of_an_agent_are_heard_and_their_files_go_with_the_run(user: User) -> None:
    (agent := user.project / "claude").write_text(AGENT)
    agent.chmod(0o755)
    hooks, args = user.state / "hooks", user.project / "args"
    assert user("run", "--window", "1", "--", str(agent), "--help")[0] in (2, 3)
    assert args.read_text().split() == ["--help"] and not hooks.exists(), "without the option nothing is added"
    user("attach", "last", "--stop")
    _, found = user.json("run", "--hooks", "--", str(agent), "--continue")
    option, settings, rest = args.read_text().split()
    assert (option, rest) == ("--settings", "--continue")
    folder = hooks / found["id"]
    assert Path(settings).parent == folder and folder.stat().st_mode & 0o777 == 0o700
    assert "make it so" in (folder / "said.jsonl").read_text()
    assert user.json("attach", found["id"], "--answer", "n")[1]["status"] == "exited"
    wait_for(lambda: not folder.exists(), "the end of its files")
    listed = user.json("attach")[1]["runs"][0]
    assert listed["command"] == [str(agent), "--continue"], "as it was given"
    agent.chmod(0o644)
    assert user("run", "--hooks", "--", str(agent))[0] == 64 and not list(hooks.iterdir()), "it does not start"
    agent.chmod(0o755)
    hooks.rmdir()
    hooks.write_text("in the way")
    args.unlink()
    code, _, err = user("run", "--hooks", "--", str(agent))
    assert code == 1 and "without --hooks" in err and not args.exists()
