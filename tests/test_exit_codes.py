"""What the pages say of exit codes is what the program exits with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator, Mapping

import click
import pytest
from stallkit_sessions.cli import run_commands
from stallkit_sessions.runs.wait_limits import RunStatus

from stallkit.cli import press_commands
from stallkit.cli.main import cli
from stallkit.cli.output import Exit, exit_of
from stallkit.press.check import Status
from stallkit.press.send import Ready, Sent

DOCS = Path(__file__).parent.parent / "docs"
SKILL = "skills/stall-recovery/SKILL.md"
CHECK = {str(status): int(exit_of(status)) for status in Status}
SEND = {str(sent): int(press_commands._SEND_EXITS[sent]) for sent in Sent}
READY = {str(ready): int(press_commands._READY_EXITS[ready]) for ready in Ready}
RUN = {str(status): int(run_commands._EXITS.get(str(status), Exit.BACKGROUND)) for status in RunStatus}
Codes = set[tuple[str, int]]


def tables(page: str) -> Iterator[list[list[str]]]:
    """The cells of each table of a page, its head first."""
    for table in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        yield [[cell.strip() for cell in row.strip("|\n").split(" |")] for row in table.splitlines()]


def of_table(page: str, column: str) -> Codes:
    """Each word in a column of that name beside the exit code of its row."""
    [table] = [table for table in tables(page) if {column, "exit code"} <= set(table[0])]
    word, code = table[0].index(column), table[0].index("exit code")
    return {(one, _number(row[code])) for row in table[2:] for one in re.findall(r"`(\w+)`", row[word])}


def of_headings(page: str) -> Codes:
    """Of headings such as ``### stalled (exit code 2)``."""
    return {(one, int(code)) for one, code in re.findall(r"^### (\w+) \(exit code (\d+)", page, re.MULTILINE)}


def of_text(page: str, section: str) -> Codes:
    """Of words such as ``2 `blocked` or 3 `maybe` `` in the text of a section."""
    [text] = re.findall(rf"^## \d\. {section}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    found = re.findall(r"\b(\d+) (`\w+`(?:\s+or\s+`\w+`)*)", text)
    return {(one, int(code)) for code, words in found for one in re.findall(r"`(\w+)`", words)}


def _number(cell: str) -> int:
    return int(re.split(r"\D", cell)[0])


def text_of(page: str) -> str:
    return (DOCS / page).read_text()


@pytest.mark.parametrize(
    ("told", "true"),
    [
        (of_headings(text_of("runbook.md")), CHECK),
        (of_table(text_of(SKILL), "`status`"), CHECK),
        (of_table(text_of("reference-watch.md"), "`sent`"), SEND),
        (of_text(text_of(SKILL), "Give an idle agent text"), SEND),
        (of_table(text_of("reference-watch.md"), "`ready`"), READY),
        (of_text(text_of(SKILL), "It ended"), READY),
        (of_table(text_of("run.md"), "`status`"), RUN),
    ],
    ids=["runbook", "skill", "send", "skill: send", "wait", "skill: wait", "run"],
)
def test_a_page_gives_each_status_its_code(told: Codes, true: Mapping[str, int]) -> None:
    assert told == set(true.items())


@pytest.mark.parametrize("name", ["list", "output", "start", "stop"])
def test_the_runbook_gives_each_code_of_a_command_on_sessions(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None and command.help is not None
    [table] = [table for table in tables(text_of("runbook.md")) if table[0][0] == "command"]
    codes = "".join(f"; {row[2]}" for row in table[2:] if re.match(rf"`stallkit {name}\b", row[0]))
    help, _, _ = command.help.partition("Example:")
    told = {int(code) for code in re.findall(r"(?:^|;| or|with `--[\w-]+`) (\d)\b", codes)}
    assert told == {int(code) for code in re.findall(r"\b\d\b", help.partition("Exit codes:")[2])}


def test_every_code_is_in_the_list_of_codes() -> None:
    [table] = [table for table in tables(text_of("command-line.md")) if table[0] == ["code", "meaning"]]
    assert {int(code) for code, _ in table[2:]} == set(Exit)


def test_a_wrong_page_is_noticed() -> None:
    page = "### stalled (exit code 3)\n\n| exit code | `status` |\n| --- | --- |\n| 4 | `ended`, `gone` |\n"
    page += "\n## 1. Look\n\n0 `typed`. 1 `refused` or\n`unseen`: look.\n"
    assert of_headings(page) == {("stalled", 3)}
    assert of_table(page, "`status`") == {("ended", 4), ("gone", 4)}
    assert of_text(page, "Look") == {("typed", 0), ("refused", 1), ("unseen", 1)}
