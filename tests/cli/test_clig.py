"""docs/clig.md is true: its counts, and what can be run of it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from started import House
from terminals import OnTerminal, Server, wait_for

from stallkit.cli.command_set import command_sets
from stallkit.cli.main import OWN
from stallkit.cli.manual import pages

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "clig.md").read_text()
RULES, NEEDED = 96, 90


def rules(page: str) -> list[tuple[int, bool]]:
    """The number of each rule, and whether it is met: those that are not are bold."""
    cells = re.findall(r"^\| [A-Z]\w+ \| (.*) \|$", page, re.M)
    found = [re.match(r"(\*\*)?(\d+) \S", rule) for cell in cells for rule in cell.split("; ")]
    return [(int(rule[2]), not rule[1]) for rule in found if rule]


def claim(page: str) -> tuple[int, int, set[int]]:
    """What the page says in words: how many are met, of how many, and which are not."""
    [(met, of)] = re.findall(r"\*\*(\d+) of (\d+) are met\.\*\*", page)
    [missing] = re.findall(r"are met\.\*\* (Not met .*?)\.", page, re.S)
    lists = re.findall(r"\(([\d, ]+)\)", missing)
    return int(met), int(of), {int(number) for one in lists for number in one.split(", ")}


def test_the_counts_are_those_of_the_list() -> None:
    found = rules(PAGE)
    assert [number for number, _ in found] == [*range(1, RULES + 1)]
    missing = {number for number, met in found if not met}
    assert claim(PAGE) == (RULES - len(missing), RULES, missing)
    assert RULES - len(missing) >= NEEDED


def test_a_wrong_count_is_noticed() -> None:
    page = "**2 of 2 are met.** Not met are those (3, 4).\n| Basics | 1 a: b; **2 c** |\n"
    assert rules(page) == [(1, True), (2, False)] and claim(page) == (2, 2, {3, 4})


def test_help_wins_over_all_else(house: House) -> None:
    for words in (["check", "--help", "a", "b", "--nosuch"], ["check", "a", "-h"]):
        done = house.call(*words)
        assert done.returncode == 0 and done.stdout.startswith("Usage: stallkit check"), done.stderr


def test_alone_it_says_in_short_how_to_go_on(house: House) -> None:
    done = house.call()
    assert done.returncode == 64 and len(done.stderr.splitlines()) < 12
    assert "stallkit demo" in done.stderr and "`stallkit --help` lists all commands" in done.stderr
    assert "Commands:" in house.call("stuck").stderr


def test_headings_are_bold_on_a_terminal_alone(house: House, terminal: Server) -> None:
    shown = OnTerminal(terminal, (80, 60), house.command, "policy", "--help", **house.environment)
    shown.over()
    assert "\x1b[1mOptions:" in shown.styled
    assert "\x1b" not in house.call("policy", "--help").stdout


@pytest.mark.parametrize("words", [["check", "-"], ["explain", "-"], ["send", "tmux:x", "-"]], ids=" ".join)
def test_a_terminal_is_no_standard_input(house: House, terminal: Server, words: list[str]) -> None:
    shown = OnTerminal(terminal, (200, 24), house.command, *words, **house.environment)
    assert "- is standard input, a terminal here: pipe " in shown.over(64)


def clients(server: Server) -> set[str]:
    """The processes that ask this tmux server something now."""
    found = set()
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = one.read_bytes().split(b"\0")
            if words[0] == b"tmux" and str(server.socket).encode() in words:
                found.add(one.parent.name)
    return found


def test_a_second_ctrl_c_does_not_wait(house: House, terminal: Server, server: Server) -> None:
    server.start("asks", "bash", "-c", "read -p 'Delete all? [y/N] '", shows="Delete").close()
    shown = OnTerminal(
        terminal, (80, 24), house.command, "watch", "--all", "-S", str(server.socket), **house.environment
    )
    shown.shows("waiting: confirm")
    pid = server.pid
    os.kill(pid, signal.SIGSTOP)  # so that looks take until their time-out
    try:
        shown.shows("no answer within")
        before = clients(server)
        wait_for(lambda: clients(server) - before, "a look that has just begun")
        shown.press("C-c")
        shown.press("C-c")
        shown.over(130)
    finally:
        os.kill(pid, signal.SIGCONT)


def test_no_input_is_never_asked(house: House, terminal: Server) -> None:
    words = ("run", "--window", "3s", "--", "sh", "-c", "stty -echo; printf 'Password: '; read x")
    assert house.call(*words).returncode in (2, 3)
    given = (house.command, "attach", "last", "--secret", "--no-input")
    shown = OnTerminal(terminal, (80, 24), "sh", "-c", '"$@" </dev/null', "sh", *given, **house.environment)
    assert "Secret" not in shown.over(0)
    for verb in (["sandbox", "rebuild"], ["sandbox", "routes", "edit"], ["sandbox", "egress", "edit"], ["attach"]):
        assert "--no-input" in house.call(*verb, "--help").stdout


# --- manual pages ---


def test_manual_pages_are_good_roff(tmp_path: Path) -> None:
    names = []
    for commands in (OWN, *command_sets()):
        for name, content in pages("2026-11-24", commands):
            (tmp_path / name).write_text(content)
            names.append(name)
    assert {"stallkit.1", "stallkit-check.1", "stallkit-stuck-reply.1", "stallkit-config-show.1"} <= set(names)
    lint = ["mandoc", "-T", "lint", "-W", "warning", *names]
    done = subprocess.run(lint, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = subprocess.run(["mandoc", "-T", "ascii", "stallkit-check.1"], cwd=tmp_path, capture_output=True, check=True)
    text = re.sub(".\b", "", shown.stdout.decode())
    for part in ("NAME", "SYNOPSIS", "--for TIME", "EXIT STATUS", "stallkit check tmux:worker1 --json"):
        assert part in text, text


def test_bad_roff_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "x.1").write_text(".TH X 1 2026-11-24\n.SH NAME\nx\n.NOSUCH\n.TP\n")
    lint = ["mandoc", "-T", "lint", "-W", "warning", "x.1"]
    assert subprocess.run(lint, cwd=tmp_path, capture_output=True, check=False).returncode != 0


@pytest.mark.parametrize("project", [".", *sorted(str(one.relative_to(ROOT)) for one in ROOT.glob("apps/*"))])
def test_a_wheel_carries_those_of_its_commands(project: str, tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT / project, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    found = {name.partition("/share/")[2] for name in zipfile.ZipFile(wheel).namelist() if "/share/" in name}
    app = f"stallkit_{Path(project).name}."
    of_app = [one for one in command_sets() if any(module.startswith(app) for module, _ in one.verbs.values())]
    [commands] = [OWN] if project == "." else of_app
    assert found == {f"man/man1/{name}" for name, _ in pages("", commands)}
