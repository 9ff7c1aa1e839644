"""What agents ask: a command that is drawn into a captured dialog is read as it is, or not at all.

The model that an agent runs may be an attacker: it chooses the command and what it is for, several rows of each.
"""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from stallkit import Engine
from stallkit.detect.signature import Request
from stallkit.evidence.snapshot import KernelFacts, ProcessFacts, Snapshot, TtyFacts
from stallkit.judging.judge import judged
from stallkit.judging.verdict import Verdict
from stallkit.packs.screenfile import read_screen
from stallkit.press.policy import Choose, Policy, Press
from stallkit.press.rules import Rule, Scene
from stallkit.terminal.screen import Screen

HERE = Path(__file__).parent
PACKS = HERE.parent / "plugins"
POLICY = Policy("night", rules=[Rule(do="press", request={"command": ["git status*"]}, session="tmux:one")])
SIDES = "│┃"


@frozen
class Drawn:
    """A captured dialog: what it shows as the command, and as what the command is for; who draws it."""

    name: str
    rows: tuple[str, ...]
    size: tuple[int, int]
    foreground: str
    command: str = "rm -rf build && ls"
    why: str = "Remove the stale build output"

    @property
    def own(self) -> list[str]:
        """The rows of the dialog as its author would copy them."""
        return [row.strip().strip(SIDES).strip() for row in self.rows[-16:]]

    def asking(self, command: str, why: str = "", taller: int = 0) -> Screen:
        """The dialog with another command; as on a terminal, what is too much scrolls away at the top."""
        rows = list(self.rows)
        place = max(at for at, row in enumerate(rows) if self.command in row and "`" not in row)
        places = [(place, self.command, command)]
        places += [(at, self.why, why) for at, row in enumerate(rows) if why and at > place - 8 and self.why in row]
        title = f"Bash({self.command})"  # Continue says it twice, the second time below this
        places += [(at, self.command, command) for at, row in enumerate(rows) if title in row and at > place - 4]
        for at, old, new in sorted(places, reverse=True):
            rows[at : at + 1] = self._broken(rows[at], old, new)
        columns, height = self.size[0], self.size[1] + taller
        return Screen.from_text(
            "\n".join(rows[-height:]), cursor=(1, height - 2), size=(columns, height), cursor_visible=False
        )

    def _broken(self, row: str, old: str, new: str) -> list[str]:
        """The rows that show the text in place of another one, broken at the room that it has."""
        at, body = row.index(old), row.rstrip(SIDES + " ")
        frame = row[len(body) :].lstrip()
        room = (len(row) - len(frame) - 1 if frame else self.size[0]) - at
        text = new + body[at + len(old) :]
        lines = [line[cut : cut + room] for line in text.split("\n") for cut in range(0, max(len(line), 1), room)]
        lead = "".join(char if char in SIDES else " " for char in row[:at])
        heads = [row[:at], *(lead for _ in lines[1:])]
        return [f"{head}{line:{room}} {frame}".rstrip() for head, line in zip(heads, lines, strict=True)]


def _file(pack: str, signature: str, name: str, foreground: str, first: str = "") -> Drawn:
    found = read_screen(PACKS / pack / "src" / f"stallkit_{pack}" / "screens" / signature / f"{name}.txt")
    assert found.screen.size
    size = found.screen.size.columns, found.screen.size.rows
    return Drawn(name, tuple(_first(found.screen.text.rstrip(), first)), size, foreground)


def _case(name: str, foreground: str, file: str = "captured-agent_clis.jsonl", **more: str) -> Drawn:
    for line in (HERE / "corpus" / file).read_text(encoding="utf-8").split("\n"):
        if f"{name}-80x24" in line[:100] or f"{name}-200x50" in line[:100]:
            case = json.loads(line)
            size = case["cols"], case["rows"]
            return Drawn(name, tuple(case["screen"].rstrip().split("\n")), size, foreground, **more)
    raise LookupError(name)


def _first(text: str, mark: str) -> list[str]:
    """The rows, with the mark moved from the second option to the first."""
    rows = text.split("\n")
    at = next((at for at, row in enumerate(rows) if mark and row.strip(" │").startswith(mark)), 0)
    if at:
        rows[at - 1] = rows[at - 1].replace("  Continue", f"{mark} Continue")
        rows[at] = rows[at].replace(mark, " ", 1)
    return rows


OLD = {"command": "rm -rf build && make all", "why": "Rebuild from scratch"}
DRAWN = [
    _file("agent_clis", "codex_permission", "hit-codex-0-128-permission-run-80x24", "codex"),
    _case("codex-0-169-0-permission-run", "codex"),
    _case("gemini-cli-0-38-2-permission-run", "gemini"),
    _case("gemini-cli-0-61-0-permission-run", "gemini"),
    _case("qwen-code-0-12-0-permission-run", "qwen"),
    _file("agent_clis", "copilot_permission", "hit-copilot-1-0-permission-run-80x24", "copilot"),
    _file("agent_clis", "copilot_permission", "hit-copilot-1-0-permission-shell-command-120x40", "copilot"),
    _file("agent_clis", "continue_permission", "hit-continue-1-5-permission-run-second-row-80x24", "cn", ">"),
    _file("claude_code", "tool_permission", "hit-bash-narrow", "claude"),
]
# Nothing between the command and what it is for: never read where both are shown.
DOUBTFUL = [
    _file("agent_clis", "kimi_permission", "hit-kimi-2-1-permission-run-80x24", "kimi"),
    _case("1-0-15-permissions-bash", "claude", "captured-claude_code.jsonl", **OLD),
    _case("2-1-243-permissions-bash", "claude", "captured-claude_code.jsonl", **OLD),
]
ALL = DRAWN + DOUBTFUL


@cache
def _engine() -> Engine:
    return Engine.default()


def _seen(drawn: Drawn, screen: Screen) -> Verdict:
    kernel = KernelFacts(pid=1, foreground=drawn.foreground, listening=True, how="read", source="syscall")
    process, tty = ProcessFacts(drawn.foreground), TtyFacts(False, False)
    return judged(_engine(), Snapshot(screen, process=process, kernel=kernel, tty=tty, quiet_s=1.0))


def _read(drawn: Drawn, screen: Screen) -> Request | None:
    return _seen(drawn, screen).request


def _pressed(drawn: Drawn, screen: Screen) -> bool:
    return isinstance(POLICY.decide(_seen(drawn, screen), Scene("tmux:one")), Press | Choose)


named = pytest.mark.parametrize("drawn", ALL, ids=lambda drawn: drawn.name)


@pytest.mark.parametrize("drawn", DRAWN, ids=lambda drawn: drawn.name)
def test_one_row_is_read_as_it_is(drawn: Drawn) -> None:
    request = _read(drawn, drawn.asking(drawn.command))
    assert request is not None and request.fields["command"] == drawn.command
    assert _pressed(drawn, drawn.asking("git status"))
    assert not _pressed(drawn, drawn.asking("git push"))


@pytest.mark.parametrize("drawn", DOUBTFUL, ids=lambda drawn: drawn.name)
def test_what_nothing_keeps_apart_is_left_to_a_person(drawn: Drawn) -> None:
    assert _read(drawn, drawn.asking("git status")) is None
    assert not _pressed(drawn, drawn.asking("git status"))


@named
def test_no_dialog_in_a_command_is_taken_for_the_real_one(drawn: Drawn) -> None:
    """The dialog once more, inside its own command; the real rows above it in sight, and scrolled away."""
    copy = [row.replace(drawn.command, "git status") for row in drawn.own]
    attempts = product(range(0, 45, 4), ("", "─" * 30, "╭──────╮"), (0, 40), range(len(copy) - 8, len(copy) + 1, 2))
    for number, (blanks, edge, taller, end) in enumerate(attempts):
        if number % 3 == 0:
            text = "\n".join(["rm -rf ~", *([""] * blanks), edge, *copy[:end]])
            assert not _pressed(drawn, drawn.asking(text, taller=taller)), text


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(ALL), st.data())
def test_whatever_the_model_writes_only_one_plain_row_is_pressed(drawn: Drawn, data: st.DataObject) -> None:
    """Rows of the dialog itself, its rules, options, footer, blank rows: in the command, and in what it is for."""
    plain = [
        "git status",
        "$ git status",
        "rm -rf ~",
        "",
        "│ git status │",
        "git status │",
        "git status |",
        "─────",
        "…",
    ]
    row = st.sampled_from(plain + drawn.own + [row.replace(drawn.command, "git status") for row in drawn.own])
    command = data.draw(st.lists(row, min_size=1, max_size=8) | st.just(["git status"]) | st.just(["rm -rf ~"]))
    why = "\n".join(data.draw(st.lists(row, max_size=8))).strip()
    screen = drawn.asking("\n".join(command), why, data.draw(st.sampled_from([0, 40])))
    if _pressed(drawn, screen):
        request = _read(drawn, screen)
        assert request is not None
        assert [line.strip() for line in command if line.strip()] == [request.fields["command"]], screen.text


@named
def test_a_command_that_begins_with_a_blank_row_is_not_read(drawn: Drawn) -> None:
    copy = "\n".join(row.replace(drawn.command, "git status") for row in drawn.own)
    for end in (None, -3, -5, -6, -7):
        inside = "\n".join(copy.split("\n")[:end])
        for blank in ("\n", "\n\n\n"):
            assert not _pressed(drawn, drawn.asking(f"{blank}rm -rf ~\n{inside}")), inside
            assert not _pressed(drawn, drawn.asking(f"{blank}{inside}")), inside
    assert not _pressed(drawn, drawn.asking(" ", "git status"))


@named
def test_what_is_cut_off_is_not_the_whole_command(drawn: Drawn) -> None:
    more = ["|", "ctrl+e to see more", "↑ 2 more lines", "─────", "\n \n;x"]
    ends = [" …", "...", " |", " " * 300 + "; rm -rf ~", *(f"\n{row}" for row in more)]
    for text in (f"git status{end}" for end in ends):
        assert not _pressed(drawn, drawn.asking(text)), text
