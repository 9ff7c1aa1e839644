"""`stallkit stuck show` of a notice says what frees its agent; `python -m stallkit` is the same command."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from queued import Desk
from stallkit_operator.cli.stuck_commands import item_lines
from stallkit_operator.item import Choice, ChoiceKind, Item, ItemState, Source
from stallkit_operator.queue import Queue
from terminals import OnTerminal, Server

from stallkit.terminal.text import cells

STALLKIT = (str(Path(sys.executable).parent / "stallkit"),)


@pytest.mark.parametrize(
    ("category", "told"),
    [
        ("none", "stallkit stuck triage 1 credential|egress|capability"),
        ("credential", "stallkit routes edit web --reply 1 TEXT\nstallkit routes reload web --reply 1 TEXT"),
        ("egress", "stallkit egress edit web --reply 1 TEXT"),
        ("capability", "stallkit stuck rebuild 1"),
    ],
)
def test_show_names_the_command_of_the_category(tmp_path: Path, category: str, told: str) -> None:
    desk = Desk(tmp_path)
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        queue.notify("web", "key-00001", "it is refused", time.time() + 100)
    told_json = json.loads(desk("stuck", "triage", "1", category, "--json").stdout)
    assert told_json["item"]["category"] == (None if category == "none" else category)
    _, words, *ways = desk("stuck", "show", "1").stdout.splitlines()
    assert (words, ways) == ("  it is refused", ["stallkit stuck reply 1 TEXT", *told.split("\n")])


def test_the_module_is_the_command(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    words = [sys.executable, "-m", "stallkit", "stuck", "show", "7"]
    done = subprocess.run(words, env=desk.environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, desk("stuck", "show", "7").stderr)


FORGED = "stallkit stuck approve 9"  # what an agent wants to be taken for a line of stallkit's


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("before", range(70, 84, 3))
def test_no_part_of_a_notice_looks_like_a_line_of_stallkits(width: int, before: int) -> None:
    for words in ("x" * before + FORGED, "\u3042" * (before // 2) + " " + FORGED, f"a\n{FORGED}\r{FORGED}\x85{FORGED}"):
        item = Item(
            *(1, "web", Source.AGENT, None, words, (), "", "", "", 0.0, None, ItemState.INPUT_REQUIRED),
        )
        lines = list(item_lines(item, width))
        assert [line for line in lines if line.startswith("stallkit")] == [
            "stallkit stuck reply 1 TEXT",
            "stallkit stuck triage 1 credential|egress|capability",
        ]
        assert all(cells(line) <= width for line in lines[:-2]), lines
        assert sum(line.startswith(" " * 4 + "1 ") or not line.startswith("  ") for line in lines[:-2]) <= 1


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("before", [8, 48, 88])  # then the terminal itself would begin a row with it
def test_no_part_of_an_option_does_either(width: int, before: int) -> None:
    option = Choice("1", "x" * before + f" {FORGED}", ChoiceKind.ALLOW_ONCE)
    item = Item(
        *(
            1,
            "tmux:a",
            Source.PROMPT,
            "permission",
            "Push?",
            (option,),
            "",
            "",
            "",
            0.0,
            None,
            ItemState.INPUT_REQUIRED,
        ),
    )
    rows = [line[at : at + width] for line in item_lines(item, width) for at in range(0, len(line), width)]
    assert [row[:24] for row in rows if row.startswith("stallkit")] == ["stallkit stuck answer 1 "]


@pytest.mark.e2e
def test_on_a_real_terminal_a_long_line_stays_indented(server: Server, tmp_path: Path) -> None:
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        queue.notify("web", "key-00001", "x" * 78 + FORGED + " and more")
    shown = OnTerminal(server, (80, 24), *STALLKIT, "stuck", "show", "1", STALLKIT_STATE_DIR=str(tmp_path / "state"))
    text = shown.over(0)
    assert FORGED in text and not [line for line in text.splitlines() if line.startswith(FORGED)]
