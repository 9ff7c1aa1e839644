"""How output reads: a pager where it is long, colour where it is wanted, no frames in pipes, nothing cut at 80."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from contextlib import closing
from typing import Callable, Iterator

import pytest
from stallkit_operator.queue import Queue
from stallkit_supervisor.cli.watch_table import apart
from started import House
from terminals import OnTerminal, Server, wait_for

pytestmark = pytest.mark.e2e

ASKS = ("bash", "-c", "read -p 'Delete all? [y/N] '")
LONG = ("review-of-the-parser-branch-with-a-long-name", "review-of-the-parser-branch-with-another-name")
FRAMES = re.compile("[─│╭╮╰╯━┃]")
Draw = Callable[..., OnTerminal]


@pytest.fixture
def draw(house: House) -> Iterator[Draw]:
    """`stallkit` on a terminal of 80x24, with the words and then the environment."""
    folder = house.folder / "s"
    folder.mkdir()
    terminals = Server(folder)

    def begun(*words: str, **environment: str) -> OnTerminal:
        return OnTerminal(terminals, (80, 24), house.command, *words, **{**house.environment, **environment})

    yield begun
    terminals.end()


@pytest.mark.parametrize(("columns", "rows"), [(80, 1), (40, 2)])
def test_the_queue_fits_its_terminal(house: House, columns: int, rows: int) -> None:
    names = ("a-long-name-of-a-build-on-main", "a-long-name-of-a-build-on-next")
    with closing(Queue(house.state / "queue.db")) as queue:
        for name in names:
            queue.notify(name, f"key-{name[-4:]}", "~\n~\nnpm refuses to install the package that I need for the build")
    folder = house.folder / "s"
    folder.mkdir()
    terminals = Server(folder)
    given = (house.command, "stuck", "list")
    shown = OnTerminal(terminals, (columns, 24), *given, **house.environment)
    try:
        lines = shown.over().splitlines()
    finally:
        terminals.end()
    assert len(lines) == rows * len(names) and "~" not in "".join(lines)
    assert [line.split()[2][-4:] for line in lines[::rows]] == ["main", "next"]
    assert all("npm refuses" in line for line in lines[rows - 1 :: rows])
    assert all(name in house.call("stuck", "list").stdout for name in names), "nothing is cut in a pipe"


# --- the pager ---


def test_long_output_goes_through_less(draw: Draw) -> None:
    packs = draw("pack", "list", "--signatures", NO_PAGER="")
    packs.shows("^ ?pack +version", r"^:$")  # less waits at its prompt
    packs.press("q")
    assert "pack" in packs.over()


def test_short_output_needs_no_key(draw: Draw) -> None:
    assert "7z" in draw("pack", "matrix", "7z", NO_PAGER="").over()


@pytest.mark.parametrize(
    "environment", [{"NO_PAGER": "1"}, {"NO_PAGER": "", "PAGER": "cat"}, {"NO_PAGER": "", "PAGER": ""}], ids=str
)
def test_a_pager_can_be_refused(draw: Draw, environment: dict[str, str]) -> None:
    assert "shell_yn" in draw("pack", "list", "--signatures", **environment).over()


def test_the_pager_is_the_users(draw: Draw) -> None:
    text = draw("pack", "list", "--signatures", NO_PAGER="", PAGER="sed s/^/paged:/").over()
    assert "paged:" in text


def test_a_pager_that_is_not_there_is_done_without(draw: Draw) -> None:
    assert "shell_yn" in draw("pack", "list", "--signatures", NO_PAGER="", PAGER="no-such-pager").over()


def test_a_pipe_has_no_pager(house: House) -> None:
    done = house.call("pack", "list", "--signatures", PAGER="false")
    assert done.returncode == 0 and "shell_yn:yes_no" in done.stdout


# --- colour ---


def test_check_shows_its_status_in_colour(draw: Draw, server: Server) -> None:
    server.start("harm", *ASKS, shows="Delete").close()
    at = ("check", "tmux:harm", "-S", str(server.socket))
    plain = {"NO_COLOR": "1"}
    for words, environment, coloured in (
        (at, {}, True),
        (at, plain, False),
        ((*at, "--no-color"), {}, False),
        (("--no-color", *at), {}, False),
        (at, {"TERM": "dumb"}, False),
    ):
        shown = draw(*words, **environment)
        assert "tmux:harm: stalled (waiting, asks for confirm, sure)" in shown.over(2)
        assert ("\x1b[33mstalled" in shown.styled.replace("\x1b[1m", "")) is coloured, (words, shown.styled)


def test_a_supervisors_answer_has_the_same_colour(draw: Draw, house: House, server: Server) -> None:
    server.start("harm", *ASKS, shows="Delete").close()
    words = [house.command, "watch", "--all", "--policy", "observe", "--json", "-S", str(server.socket)]
    watch = subprocess.Popen(words, env={**os.environ, **house.environment}, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: house.call("status", "--short").returncode == 2, "who waits")
        shown = draw("check", "tmux:harm", "-S", str(server.socket))
        shown.over(2)
        assert "\x1b[33mstalled" in shown.styled.replace("\x1b[1m", "")
    finally:
        watch.send_signal(signal.SIGTERM)
        watch.wait(30)


# --- quiet ---


def test_quiet_prints_results_alone(house: House, server: Server) -> None:
    server.start("harm", *ASKS, shows="Delete").close()
    at = ("tmux:harm", "-S", str(server.socket))
    assert house.call("check", *at).stdout.count("\n") > 1
    done = house.call("check", *at, "--quiet")
    assert (done.returncode, done.stdout) == (2, "tmux:harm: stalled (waiting, asks for confirm, sure)\n")
    assert house.call("run", "--", "echo", "one").stderr
    done = house.call("-q", "run", "--", "echo", "one")
    assert (done.stdout, done.stderr) == ("one\n", "")
    assert house.call("pack", "capture", *at, "-o", "a.txt").stdout.startswith("wrote a.txt: ")
    assert house.call("pack", "capture", *at, "-o", "b.txt", "-q").stdout == ""
    assert house.call("stop", "--all").stdout == "no session runs\n"
    assert house.call("stop", "--all", "-q").stdout == ""


# --- pipes ---


def test_no_frames_in_pipes(house: House) -> None:
    house.begin("worker", "sh", "-c", "exit 3")
    house.end_of("worker")
    for words in (
        ["pack", "list", "--signatures"],
        ["pack", "matrix", "claude-code"],
        ["output", "--postmortem", "worker"],
        ["list"],
    ):
        done = house.call(*words)
        assert done.returncode == 0 and done.stdout, done.stderr
        assert not FRAMES.search(done.stdout), done.stdout
        assert not re.search(" $", done.stdout, re.M), done.stdout
    assert re.search(
        r"^claude-code +\S+ +plan_approval +high .* claude_code:\w+", house.call("pack", "matrix").stdout, re.M
    )


# --- a table of sessions ---


def test_status_at_eighty_columns(draw: Draw, house: House, server: Server) -> None:
    for name in ("harm", *LONG):
        server.start(name, *ASKS, shows="Delete").close()
    watch = draw("watch", "--all", "--policy", "observe", "-S", str(server.socket))
    screen = watch.shows(
        *(rf"^● +tmux:\S*{end} +waiting: confirm +\d+ s" for end in ("a-long-name", "another-name", "harm"))
    )
    assert watch.wrapped == [] and "beats" not in screen

    status = draw("status")
    text = status.over()
    assert re.match(r"watched by process \d+ since [\d:]{8}, policy observe$", text, re.M), text
    assert re.search(r"^● tmux:harm +waiting: confirm +for \d+ s, since [\d:]{8}, bash$", text, re.M), text
    for name in LONG:
        assert f"tmux:{name}" in text
    assert status.wrapped == [] and "…" not in text
    row = json.loads(house.call("status", "tmux:harm", "--json").stdout)["sessions"][0]
    assert re.match(r"\d{4}-\d\d-\d\dT", row["still_since"])

    watch.press("C-c")
    watch.over()
    assert draw("status").over().startswith("no watcher runs: this is how it was at ")
    assert "no watcher runs now: stallkit watch --all" in draw("report", "--incidents").over()


def test_names_are_told_apart_by_their_ends_too() -> None:
    names = [f"tmux:review-of-the-parser-{end}" for end in ("one", "two")] + ["tmux:x", "tmux:x"]
    assert len({*apart(names, 20)}) == 3
    assert apart(["tmux:aaaaaaaaaaaa1", "tmux:aaaaaaaaaaaa2"], 12) == ["tmux:…aaaaa1", "tmux:…aaaaa2"]


# --- why ---


def test_explain_all_shows_every_signature(house: House) -> None:
    (house.folder / "one.txt").write_text("Proceed? [y/N] ")
    some, every = (house.call("explain", "one.txt", *words).stdout for words in ([], ["--all"]))
    assert some.startswith("match: shell_yn:yes_no") and "--all shows why" in some
    assert len(some.splitlines()) < 60
    signatures = house.call("pack", "list", "--json").stdout
    assert all(name in every for name in json.loads(signatures)["order"])


# --- the settings ---


def test_where_each_setting_comes_from(house: House) -> None:
    folder = house.folder / "stallkit"
    folder.mkdir()
    (folder / "stallkit.toml").write_text('[watch]\ninterval_s = 2\n\n[events]\nwebhook = "https://h.example/token"\n')
    (house.folder / "stallkit.toml").write_text('[watch]\nlisten = "never"\ninterval_s = 3\n')
    ignored = json.loads(house.call("config", "show", "--json").stdout)["ignored"]
    assert [line.partition(" is ignored")[0] for line in ignored] == [
        "stallkit.toml:2: watch.listen",
        "stallkit.toml:3: watch.interval_s",
    ]
    assert all(line.endswith(f"to allow it: stallkit config allow {house.folder}") for line in ignored)
    assert house.call("config", "allow", ".", "--yes").returncode == 0
    done = house.call("config", "show", "--policy", "observe", "--json", STALLKIT_STALL_TIMEOUT="2m")
    found = {one["setting"]: (one["value"], one["from"]) for one in json.loads(done.stdout)["settings"]}
    assert found["watch.interval_s"] == (3.0, "stallkit.toml:3")
    assert found["watch.listen"] == ("never", "stallkit.toml:2")
    assert found["events.webhook"] == ("https://h.example/...", f"{folder}/stallkit.toml:5")
    assert found["watch.stall_timeout_s"] == (120.0, "$STALLKIT_STALL_TIMEOUT")
    assert found["policy"] == ("observe", "--policy")
    assert found["quota.wait"] == (True, "default")
    assert found["state directory"] == (str(house.state), "$STALLKIT_STATE_DIR")
    text = house.call("config", "show", "--set").stdout
    assert re.search(r"^watch\.interval_s +3\.0  \(stallkit\.toml:3\)$", text, re.M) and "default" not in text
