"""An agent that nobody ships, taught by a distribution of its own: all that stallkit does for others it does for it.

`tinkerer/bin/tinkerer` is the agent; the distribution beside it has all that stallkit knows of it, and is installed
with pip into an environment of its own.  No word of it stands in stallkit or in its packs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any, Iterator

import pytest
from queued import Desk
from terminals import PATIENCE_S, Server, wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells this much")]

DISTRIBUTION = Path(__file__).parent / "tinkerer"
PROGRAM = DISTRIBUTION / "bin" / "tinkerer"
TARGET, READY, PATIENT_S = "tmux:one", "enter sends it", 4 * PATIENCE_S


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of an environment that has what this one has, and the third party's distribution."""
    root = tmp_path_factory.mktemp("third-party")
    venv.create(root, with_pip=False, symlinks=True)
    site = sysconfig.get_path("purelib", vars={"base": str(root), "platbase": str(root)})
    (Path(site) / "ours.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    python = str(root / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "install", "--quiet"]
    pip += ["--no-deps", "--no-build-isolation", "--no-index", str(DISTRIBUTION)]
    done = subprocess.run(pip, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return python


class Workshop(Desk):
    """A desk at which stallkit knows tinkerer, and one session of it."""

    def __init__(self, folder: Path, server: Server, python: str) -> None:
        super().__init__(folder, server, [python, "-m", "stallkit"])
        self.environment["HOME"] = str(folder)
        self.tmux = server.tmux

    def start(self, *arguments: str, inside: str = "exec {}", **environment: str) -> None:
        """A session of bash that runs tinkerer as `inside` says."""
        given = " ".join(f"{name}={value}" for name, value in environment.items())
        script = inside.format(f"env {given} {PROGRAM} {' '.join(arguments)}")
        self.tmux("new-session", "-d", "-s", "one", "-x", "80", "-y", "24", "bash", "-c", script)
        self.shows(READY)

    def start_in_a_shell(self, *arguments: str) -> None:
        """An interactive shell, in which a person starts it."""
        self.tmux("new-session", "-d", "-s", "one", "-x", "80", "-y", "24", "bash", "--norc", "-i")
        self.shows("bash-")
        self.type(" ".join([str(PROGRAM), *arguments]))
        self.shows(READY)

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-t", "=one:", "-l", text)
        self.tmux("send-keys", "-t", "=one:", "Enter")

    @property
    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", "=one:")

    def shows(self, text: str, patience_s: float = PATIENT_S) -> None:
        wait_for(lambda: text in self.screen, f"{text!r} on its screen", patience_s)

    def check(self, **wanted: object) -> dict[str, Any]:
        """The first look that says so."""
        looks: list[dict[str, Any]] = []

        def says() -> bool:
            done = self("check", TARGET, "--json", "-S", self.socket)
            looks.append(json.loads(done.stdout))
            return wanted.items() <= looks[-1].items()

        try:
            wait_for(says, f"a look that says {wanted}", PATIENT_S)
        except AssertionError as error:
            raise AssertionError(f"{error}: {looks[-1]}") from None
        return looks[-1]

    @property
    def socket(self) -> str:
        assert self.server is not None
        return str(self.server.socket)

    def supervise(self, settings: str, policy: str = "") -> None:
        """`stallkit watch --service` over the session, with these settings and rules."""
        if policy:
            (self.folder / "policy.toml").write_text(policy)
            settings = f'policy = "policy.toml"\n{settings}'
        config = self.folder / "stallkit.toml"
        config.write_text(settings)
        self.begin("watch", "--service", "--config", str(config), "-S", self.socket)

    def told(self, event: str, patience_s: float = PATIENT_S, **wanted: object) -> dict[str, Any]:
        """The first event with these facts."""
        found: list[dict[str, Any]] = []

        def said() -> bool:
            lines = (self.folder / "out").read_text().splitlines()
            events = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
            found[:] = [one for one in events if {"event": event, **wanted}.items() <= one.items()]
            return bool(found)

        try:
            wait_for(said, "it", patience_s)
        except AssertionError:
            told = (self.folder / "out").read_text()
            raise AssertionError(f"no {event} with {wanted} in\n{told}\n{self.screen}") from None
        return found[0]


@pytest.fixture
def workshop(tmp_path: Path, server: Server, python: str) -> Iterator[Workshop]:
    made = Workshop(tmp_path, server, python)
    yield made
    made.end()


RULE = """\
[[rule]]
do = "press"
agent = "tinkerer"
request.command = ["make *"]
"""
WATCHED = f'[watch]\ntargets = ["{TARGET}"]\ninterval_s = 2\nstall_timeout_s = 6\n'


def test_its_own_tests_and_lint_are_green(python: str) -> None:
    quiet = {**os.environ, "PYTEST_ADDOPTS": "", "NO_COLOR": "1"}

    def call(*words: str) -> str:
        command = [python, "-m", *words]
        done = subprocess.run(
            command, cwd=DISTRIBUTION, env=quiet, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert " passed" in call("pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    assert json.loads(call("stallkit", "pack", "lint", "src/stallkit_tinkerer", "--fast", "--json"))["findings"] == []


def test_the_page_shows_what_is_played_here() -> None:
    page = (Path(__file__).parents[2] / "docs" / "teach-an-agent.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:toml|python|text)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    files = [file for file in DISTRIBUTION.rglob("*") if file.suffix in (".toml", ".py", ".txt")]
    played = [file.read_text(encoding="utf-8") for file in files] + [RULE]
    assert len(blocks) > 8
    assert [block for block in blocks if not any(block in text for text in played)] == []


def test_stallkit_knows_no_word_of_it() -> None:
    root = Path(__file__).parents[2]
    files = [file for under in ("stallkit", "plugins") for file in (root / under).rglob("*.*")]
    texts = [file for file in files if file.suffix in (".py", ".toml", ".tmpl")]
    assert texts
    assert [str(file) for file in texts if "tinkerer" in file.read_text(encoding="utf-8")] == []


def test_in_a_loop_of_a_shell_its_file_makes_the_verdict_sure(workshop: Workshop) -> None:
    workshop.start(inside="while :; do {}; sleep 1; done")
    workshop.type("pick")
    found = workshop.check(state="waiting", certainty="sure", kind="question")  # of a form that its pack doesn't know
    (said,) = [one for one in found["signals"] if one["guard"] == "process"]
    assert (said["source"], said["words"]) == ("tinkerer", "Which metal is it to be?")
    assert found["agents"] == ["tinkerer"]


def test_a_file_that_another_process_wrote_counts_for_nothing(workshop: Workshop) -> None:
    workshop.start()
    (file,) = (workshop.folder / ".tinkerer" / "sessions").glob("*.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "status": "asks", "started": "1"}))
    found = workshop.check(state="idle", certainty="sure", signature="composer")
    assert [one["stale"] for one in found["signals"] if one["source"] == "tinkerer"] == ["another process wrote it"]


def test_check_says_which_command_it_would_like_to_run(workshop: Workshop) -> None:
    workshop.start()
    workshop.type("run it")
    found = workshop.check(state="waiting", kind="permission", certainty="sure", signature="may_it")
    assert found["request"]["command"] == "make check"


def test_check_says_what_it_asks_at_the_end_of_a_turn(workshop: Workshop) -> None:
    workshop.start()
    workshop.type("ask it")
    workshop.check(state="idle", certainty="sure", status="asks")
    turn = workshop.check(status="asks")["ended_turn"]
    assert turn["message"] == "I took the lathe apart. Shall I clean it now?"
    assert turn["question"] == "Shall I clean it now?"


def test_check_says_how_a_turn_failed(workshop: Workshop) -> None:
    workshop.start()
    workshop.type("fail")
    turn = workshop.check(state="idle", certainty="sure", status="failed")["ended_turn"]
    assert (turn["error"], turn["message"]) == ("overloaded", "The workshop is closed: 529, too many tinkerers.")


def test_check_says_that_it_works(workshop: Workshop) -> None:
    workshop.start()
    workshop.type("hang")
    workshop.check(state="working", certainty="sure", signature="tinkering")


def test_check_says_that_it_is_out_of_credits_and_goes_on_by_itself(workshop: Workshop) -> None:
    workshop.start(TINKERER_RESTS_S="600")
    workshop.type("limit")
    found = workshop.check(state="quota", certainty="sure", signature="credits")
    assert found["retrying"].startswith("◌ resting, back at it in ")


def test_at_rest_it_is_idle(workshop: Workshop) -> None:
    workshop.start()
    workshop.type("sweep the floor")
    workshop.shows("It is done.")
    turn = workshop.check(state="idle", certainty="sure", signature="composer", status="not_stalled")["ended_turn"]
    assert (turn["how"], turn["message"]) == ("done", "It is done.")


def test_without_its_file_the_last_message_is_read_from_its_screen(workshop: Workshop) -> None:
    workshop.start("--no-report")
    workshop.type("ask it")
    workshop.shows("took")
    turn = workshop.check(state="idle", status="asks")["ended_turn"]
    assert turn["question"] == "Shall I clean it now?"


def test_without_its_file_its_title_claims_that_it_needs_somebody(workshop: Workshop) -> None:
    workshop.start("--no-report")
    workshop.type("pick")
    found = workshop.check(state="waiting")
    assert [(one["source"], one["state"], one["words"]) for one in found["signals"]] == [
        ("title", "waiting", "· needs you")
    ]


@pytest.mark.parametrize(
    ("typed", "what", "words"),
    [
        ("run it", "waits", "make check"),
        ("ask it", "asks", "Shall I clean it now?"),
        ("fail", "failed", "The workshop is closed"),
        ("limit", "limit", "resting, back at it in"),
    ],
)
def test_supervise_tells_what_it_needs(workshop: Workshop, typed: str, what: str, words: str) -> None:
    workshop.start(TINKERER_RESTS_S="600")
    workshop.supervise(WATCHED)
    workshop.told("detection", state="idle")
    workshop.type(typed)
    assert words in json.dumps(workshop.told("escalation", what=what), ensure_ascii=False)


def test_supervise_tells_its_end_with_what_is_left(workshop: Workshop) -> None:
    workshop.start_in_a_shell()
    workshop.supervise(WATCHED)
    workshop.told("detection", state="idle")
    workshop.type("quit")
    told = workshop.told("escalation", what="ended", certainty="sure")
    assert (told["agent"], told["ended"], told["signature"]) == ("tinkerer", "agent", "shell_prompt")


def test_stuck_approve_presses_its_own_option_and_it_goes_on(workshop: Workshop) -> None:
    workshop.start()
    workshop.type("run it")
    workshop.supervise(WATCHED)
    item = workshop.item(state="input_required")
    assert "make check" in item["words"]
    assert [one["kind"] for one in item["options"]] == ["allow_once", "allow_always", "reject_once"]
    done = workshop("stuck", "approve", str(item["id"]))
    assert done.returncode == 0, done
    workshop.shows("make check: Yes")
    workshop.shows("The check went well.")


def test_a_rule_names_it_and_its_command(workshop: Workshop) -> None:
    workshop.start()
    workshop.supervise(WATCHED, RULE)
    workshop.type("run it")
    workshop.shows("The check went well.")


def test_send_types_into_its_composer(workshop: Workshop) -> None:
    workshop.start()
    done = workshop("send", TARGET, "sweep the floor", "-S", workshop.socket)
    assert done.returncode == 0, done
    workshop.shows("» sweep the floor")
    workshop.shows("It is done.")


def test_a_failed_turn_is_nudged_where_a_rule_says_so(workshop: Workshop) -> None:
    rule = '[[rule]]\ndo = "send"\ntext = "once more"\nturn = "failed"\nerror = "overloaded"\nagent = "tinkerer"\n'
    workshop.start()
    workshop.supervise(WATCHED, rule)
    workshop.type("fail")
    workshop.shows("» once more")
    workshop.shows("It is done.")


def test_it_is_told_to_go_on_once_its_limit_is_over(workshop: Workshop) -> None:
    rule = '[[rule]]\ndo = "resume"\nstate = "quota"\nagent = "tinkerer"\n'
    workshop.start(TINKERER_RESTS_S="1")
    workshop.supervise(WATCHED, rule)
    workshop.type("long limit")
    workshop.shows("» continue")
    workshop.shows("It is done.")


def test_one_that_hangs_is_interrupted(workshop: Workshop) -> None:
    workshop.start()
    workshop.supervise(f"{WATCHED}hung_after_s = 8\n[hung]\nescape = true\n")
    workshop.type("hang")
    workshop.told("interrupt", keys="Escape", outcome="cleared")
    workshop.shows("Stopped, as you wish.")


def test_one_that_hangs_in_a_loop_of_a_shell_is_no_tool_of_the_shell(workshop: Workshop) -> None:
    workshop.start(inside="while :; do {}; sleep 1; done")
    workshop.type("hang")  # at once: its process is hardly older than its turn
    workshop.supervise(f"{WATCHED}hung_after_s = 12\n")
    assert "no tool runs" in workshop.told("escalation", what="hung")["message"]


def test_one_that_hangs_for_good_goes_on_with_its_session_in_a_new_process(workshop: Workshop) -> None:
    workshop.start_in_a_shell("--model", "small")
    workshop.type("sweep the floor")
    workshop.shows("It is done.")
    (kept,) = (workshop.folder / ".tinkerer" / "talks").glob("*.json")
    workshop.supervise(f"{WATCHED}hung_after_s = 8\n[hung]\nrestart = true\n")
    workshop.type("hang hard")
    restart = workshop.told("restart", outcome="cleared", patience_s=2 * PATIENT_S)
    assert restart["why"].endswith(f"with its session {kept.stem}")
    workshop.shows("(the same session, in a new process)")
    terminal = workshop.tmux("display-message", "-p", "-t", "=one:", "#{pane_tty}").strip().removeprefix("/dev/")
    runs = subprocess.run(["ps", "-wwt", terminal, "-o", "args="], capture_output=True, text=True, check=True).stdout
    assert f"tinkerer --resume {kept.stem} --model small" in runs
