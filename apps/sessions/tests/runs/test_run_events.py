"""What happens to a run reaches commands and webhooks: by flags, by settings, and whatever becomes of those."""

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
from typing import Any, Iterator

import pytest
from posted import Site
from runs_of import ASK
from started import BACKGROUND, of_folder
from terminals import wait_for

pytestmark = pytest.mark.e2e

WHOLE = ["run_started", "run_waiting", "run_answered", "run_ended"]


class User:
    """Somebody in a project, with a state directory and settings of his own."""

    def __init__(self, command: str, home: Path, state: Path) -> None:
        self._command, self.home, self.state = command, home, state
        self.project = home / "project"
        self.project.mkdir()
        self.heard = home / "what the command heard"
        self.hook = shlex.join(["sh", "-c", f"cat >> {shlex.quote(str(self.heard))}"])

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        given = {"STALLKIT_STATE_DIR": str(self.state), "HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home)}
        proxies = [name for name in os.environ if name.lower().endswith("_proxy")]
        environment = {name: value for name, value in os.environ.items() if name not in proxies}
        return subprocess.run(
            [self._command, *words],
            env={**environment, **given},
            cwd=self.project,
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def settings(self, text: str, of_the_user: bool = False) -> None:
        folder = self.home / "stallkit" if of_the_user else self.project
        folder.mkdir(exist_ok=True)
        (folder / "stallkit.toml").write_text(text)
        if not of_the_user:
            assert self("config", "allow", ".", "--yes").returncode == 0

    def logged(self, file: Path | None = None) -> list[dict[str, Any]]:
        return _objects((file or self.state / "events.jsonl").read_text())

    def told(self) -> list[dict[str, Any]]:
        """What the command was called with."""
        return _objects(self.heard.read_text()) if self.heard.exists() else []

    @property
    def processes(self) -> list[int]:
        return of_folder(BACKGROUND, self.state)

    def complaints(self) -> str:
        wait_for(lambda: not self.processes, "the background process to end")
        [folder] = (self.state / "runs").iterdir()
        return (folder / "keeper.log").read_text()


def _objects(lines: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.splitlines()]


def names(events: list[dict[str, Any]]) -> list[str]:
    return [str(event["event"]) for event in events]


@pytest.fixture
def user(stallkit_command: str, tmp_path: Path) -> Iterator[User]:
    made = User(stallkit_command, tmp_path, Path(tempfile.mkdtemp(dir="/tmp")))
    yield made
    for process in made.processes:
        os.kill(process, signal.SIGTERM)
    wait_for(lambda: not made.processes, "the background processes to end")
    shutil.rmtree(made.state)


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.end()


def posted(site: Site) -> list[dict[str, Any]]:
    return [json.loads(body) for _, _, body in site.got]


def test_a_command_and_a_webhook_hear_all_of_a_run_in_the_background(user: User, site: Site) -> None:
    assert user("run", "--background", "--exec", user.hook, "--webhook", site.url, "--", *ASK).returncode == 5
    wait_for(lambda: "run_waiting" in names(user.told()), "the command to hear that it waits")
    wait_for(lambda: "run_waiting" in names(posted(site)), "the webhook to hear of it")
    assert user("attach", "last", "--answer", "y").returncode == 0
    assert user.complaints() == ""
    assert names(user.told()) == WHOLE
    assert user.told() == posted(site) == user.logged()
    [target] = {event["target"] for event in user.told()}
    assert target.startswith("run:r")


@pytest.mark.parametrize("of_the_user", [True, False])
def test_settings_say_where_events_go(user: User, site: Site, of_the_user: bool) -> None:
    log = user.home / "events of runs"
    told = {"exec": user.hook, "webhook": site.url, "file": str(log)}
    user.settings("[events]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in told.items()), of_the_user)
    assert user("run", "--", "sh", "-c", "exit 3").returncode == 0
    assert user.complaints() == ""
    assert names(user.told()) == ["run_started", "run_ended"]
    assert user.told() == posted(site) == user.logged(log)
    assert not (user.state / "events.jsonl").exists()


def test_a_flag_counts_more_than_the_settings(user: User, site: Site) -> None:
    user.settings(f'[events]\nexec = "false"\nwebhook = "{site.url}"\n')
    assert user("run", "--exec", user.hook, "--", "true").returncode == 0
    assert user.complaints() == ""
    assert names(user.told()) == names(posted(site)) == ["run_started", "run_ended"]


def test_what_fails_is_told_beside_the_run_and_disturbs_nothing(user: User) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    failing = ["--exec", "sh -c 'exit 9'", "--webhook", f"http://127.0.0.1:{port}/a-token"]
    done = user("run", *failing, "--exit-status", "--", "sh", "-c", "echo hello; exit 3")
    assert (done.returncode, done.stdout) == (3, "hello\n")
    assert done.stderr.startswith("stallkit: it ended with status 3") and done.stderr.count("\n") == 1
    said = user.complaints().splitlines()
    assert said.count("stallkit: command sh: exit status 9") == 2
    assert sum("webhook 127.0.0.1" in line and "refused" in line for line in said) == 2 and len(said) == 4
    assert names(user.logged()) == ["run_started", "run_ended"]
    for path in user.state.rglob("*"):
        assert path.is_dir() or "a-token" not in path.read_text(), path


def test_a_command_that_hangs_holds_up_nobody(user: User, tmp_path: Path) -> None:
    """It is called with the start of the run, which ends meanwhile: whoever waits for the run is not held up by it."""
    hangs = f"cat > {tmp_path}/heard; mkdir {tmp_path}/once && echo $$ > {tmp_path}/pid && exec sleep 1000"
    done = user("run", "--exec", shlex.join(["sh", "-c", hangs]), "--", "echo", "hello")
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert user("attach", "last").stdout == "hello\n"
    assert user.processes, "it waits for its command"
    wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), "the command")
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert "command sh: exit status -9" in user.complaints()
    assert names(_objects((tmp_path / "heard").read_text())) == ["run_ended"], "the next event is handed on"


def test_a_run_that_does_not_start_is_told_too(user: User, site: Site) -> None:
    done = user("run", "--exec", user.hook, "--webhook", site.url, "--", "/no/such/program")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (64, "", 1)
    assert names(user.told()) == names(posted(site)) == ["run_started", "run_ended"]
    assert "it does not start" in user.told()[-1]["why"]


@pytest.mark.parametrize(
    ("options", "settings", "said"),
    [
        (["--webhook", "ftp://example.org/a-token"], "", "config webhook: it is not an http or https address"),
        (["--exec", "it's"], "", "No closing quotation"),
        ([], '[events]\nwebhook = "nowhere"\n', "config webhook: it is not an http or https address"),
        ([], "[events]\nexce = 'true'\n", "stallkit.toml"),
        ([], "[events\n", "stallkit.toml"),
    ],
)
def test_what_cannot_be_is_one_line_and_starts_nothing(
    user: User, options: list[str], settings: str, said: str
) -> None:
    user.settings(settings, of_the_user=True)
    done = user("run", *options, "--", "touch", "ran")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("stallkit: ") and said in done.stderr and "a-token" not in done.stderr
    assert not (user.project / "ran").exists() and not (user.state / "runs").exists()
