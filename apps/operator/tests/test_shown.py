"""An answer is to what was shown in that terminal, or to the revision named; no text looks like a line of ours."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import closing
from itertools import count, product
from pathlib import Path
from typing import Iterator

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from queued import COMMAND, Desk
from stallkit_operator.cli.stuck_commands import here, item_lines
from stallkit_operator.item import (
    Choice,
    ChoiceKind,
    Claim,
    Draft,
    Item,
    ItemState,
    NotAsShown,
    NotOpen,
    Source,
    Who,
)
from stallkit_operator.queue import Queue, claim_of
from terminals import OnTerminal, Server

from stallkit.terminal.text import cells

ADA = Who("ada", "a test")
ITEM = Item(
    *(1, "web", Source.AGENT, None, "help", (), "a", "b"), identity="i", created=1.0, expires=None,
    state=ItemState.INPUT_REQUIRED,
)  # fmt: skip


ONCE, ALWAYS = (Choice(id, name, kind) for id, name, kind in (
    ("1", "Yes", ChoiceKind.ALLOW_ONCE), ("2", "Always", ChoiceKind.ALLOW_ALWAYS),
))  # fmt: skip


class Shell:
    """A terminal session of its own: what is typed there runs in it."""

    def __init__(self, desk: Desk) -> None:
        pipe = subprocess.PIPE
        self._shell = subprocess.Popen(
            ["sh"], stdin=pipe, stdout=pipe, text=True, start_new_session=True, env=desk.environment, cwd=desk.folder
        )
        self._numbers = count()

    def __call__(self, line: str) -> tuple[int, str]:
        """The exit code of `stallkit stuck LINE`, and what it prints."""
        mark = f"end-{next(self._numbers)}"
        assert self._shell.stdin is not None and self._shell.stdout is not None
        self._shell.stdin.write(f"{COMMAND} stuck {line} 2>&1; echo {mark} $?\n")
        self._shell.stdin.flush()
        rows: list[str] = []
        for row in self._shell.stdout:
            if row.startswith(mark):
                return int(row.split()[1]), "".join(rows)
            rows.append(row)
        raise AssertionError(f"the shell ended: {rows}")

    def end(self) -> None:
        self._shell.kill()
        self._shell.communicate()


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    with closing(Queue(tmp_path / "state" / "queue.db")) as made:
        yield made


@pytest.fixture
def shells(tmp_path: Path) -> Iterator[list[Shell]]:
    made = [Shell(Desk(tmp_path)) for _ in range(2)]
    yield made
    for shell in made:
        shell.end()


def test_what_was_added_since_it_was_shown_is_not_answered(queue: Queue, shells: list[Shell]) -> None:
    ada, other = shells
    for number, verb in enumerate(("r {} yes", "reply {} yes", "approve {}", "decline {} no"), 1):
        queue.notify(f"web{number}", "key-00001", "may I read the log?")
        assert "may I read the log?" in ada("list")[1]
        queue.notify(f"web{number}", "key-00002", "and push to main?")
        assert other("list")[0] == other(f"show {number}")[0] == 0, "another terminal's is not what this one showed"
        code, told = ada(verb.format(number))
        first, *rest = told.splitlines()
        assert code == 2 and queue.item(number).open, verb
        assert (
            first == f"{number} web{number}: it is not as it was shown to you; nothing was done.  It is {number}@2 now:"
        )
        assert "  and push to main?" in rest
        assert ada(verb.format(number))[0] == 0, "it was shown by now"
        assert not queue.item(number).open
    item = queue.file(Draft("tmux:a", Source.PROMPT, "editor", "~", (), "x", "y", "z"))
    queue.close_item(item.id, ItemState.CANCELLED, Who("somebody", "its own terminal"))
    for verb in ("approve", "reply", "decline"):
        code, told = ada(f"{verb} {item.id} {'yes' if verb == 'reply' else ''}")
        assert code == 4 and f"{item.id} tmux:a: it is cancelled already by somebody" in told, (verb, told)


def test_a_terminal_that_showed_nothing_answers_nothing_unless_the_revision_is_named(
    queue: Queue, shells: list[Shell]
) -> None:
    ada, _ = shells
    queue.notify("web", "key-00001", "may I?")
    code, told = ada("approve 1 --json")
    assert code == 2 and '"result": "changed"' in told and "not shown to you here" in told
    queue.notify("web", "key-00002", "and that?")
    assert ada("approve 1@1")[0] == 2
    assert ada("approve 1@3")[0] == 2
    assert ada("approve 1@2")[0] == 0
    late, told = ada("approve 1@1")
    assert late == 4 and "answered already" in told
    for wrong in ("approve 1@", "approve 0", "approve 1@x", "approve web", "approve -- -1", "show 1@2"):
        assert ada(wrong)[0] == 64, wrong
    assert ada("approve 7@1")[0] == ada("show 7")[0] == ada("triage 7 egress")[0] == 1, "no such number"


def test_what_a_program_reads_takes_the_place_of_nothing_that_a_person_saw(queue: Queue, shells: list[Shell]) -> None:
    ada, script = shells
    queue.notify("web", "key-00001", "may I?")
    for shell in shells:
        shell("list --json")
    ada("list")
    queue.notify("web", "key-00002", "and that?")
    for shell in shells:
        shell("list --json")
    assert ada("r 1 yes")[0] == 2, "the prompt of this shell counts what waits"
    assert script("r 1 yes")[0] == 0


def test_a_prompt_with_other_options_is_another_one(queue: Queue, shells: list[Shell]) -> None:
    draft = Draft("tmux:gone", Source.PROMPT, "permission", "Push?", (ONCE, ALWAYS), action="a", about="b")
    queue.file(draft)
    assert shells[0]("show 1")[0] == 0
    queue.file(draft)
    assert queue.item(1).revision == 1, "it is the same"
    queue.file(evolve(draft, options=(evolve(ONCE, name="Always"), ALWAYS), action="c"))
    code, told = shells[0]("reply 1 1")
    assert code == 2 and "reply 1 1      Always" in told and queue.item(1).claim is None


def test_what_comes_while_it_is_answered_is_not_answered_with_it(queue: Queue) -> None:
    seen = queue.notify("web", "key-00001", "may I?").revision
    queue.notify("web", "key-00002", "and that?")
    with pytest.raises(NotAsShown):
        queue.close_item(1, ItemState.ANSWERED, ADA, "yes", seen=seen)
    with pytest.raises(NotAsShown):
        queue.claim(1, claim_of(ADA), seen)
    assert queue.item(1).open and queue.item(1).claim is None
    assert queue.close_item(1, ItemState.ANSWERED, ADA, "yes", seen=seen + 1).text == "yes"
    with pytest.raises(NotOpen, match="answered already"):
        queue.close_item(1, ItemState.ANSWERED, ADA, "no", seen=seen)


def test_what_was_shown_is_kept_by_terminal(queue: Queue) -> None:
    item = queue.notify("web", "key-00001", "may I?")
    assert queue.revision_shown("one", item.id) == 0
    queue.note_shown("one", [item])
    assert (queue.revision_shown("one", item.id), queue.revision_shown("two", item.id)) == (1, 0)
    before = queue.version()
    queue.note_shown("one", [item])
    assert queue.version() == before, "nothing is written where nothing is new"
    queue.note_shown("one", [queue.close_item(item.id, ItemState.DECLINED, ADA)])
    assert here() == here()


@given(
    st.builds(
        Draft, st.sampled_from(["web", "db"]), st.just(Source.PROMPT), st.none(), st.sampled_from(["help", "help!"]),
        st.sampled_from([(), (ONCE,), (ALWAYS,)]), st.sampled_from("ac"), identity=st.sampled_from("ij"),
    )
)  # fmt: skip
def test_a_revision_is_what_a_person_is_shown(draft: Draft) -> None:
    other = evolve(
        ITEM, session=draft.session, words=draft.words, options=draft.options, action=draft.action,
        identity=draft.identity,
    )  # fmt: skip
    found = other.revised(ITEM)
    same = (ITEM.session, ITEM.words, ITEM.options, ITEM.action, ITEM.identity) == (
        other.session, other.words, other.options, other.action, other.identity,
    )  # fmt: skip
    assert found.revision == (1 if same else 2)
    if same:
        assert found.as_shown(1) == found
    else:
        with pytest.raises(NotAsShown):
            found.as_shown(1)
    claim = Claim(ADA, 1, 2, "boot", "token")
    assert evolve(ITEM, claim=claim, category=None).revised(ITEM).revision == 1, "who answers it is not what it asks"


STALLKIT = (str(Path(sys.executable).parent / "stallkit"),)
CATEGORIES = {
    "none": "stallkit stuck triage 1 credential|egress|capability",
    "credential": "stallkit sandbox routes edit web --reply 1 TEXT\nstallkit sandbox routes reload web --reply 1 TEXT",
    "egress": "stallkit sandbox egress edit web --reply 1 TEXT",
    "capability": "stallkit sandbox rebuild 1",
}


def test_show_names_the_command_of_the_category(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        queue.notify("web", "key-00001", "it is refused", time.time() + 100)
    for category, told in CATEGORIES.items():
        told_json = json.loads(desk("stuck", "triage", "1", category, "--json").stdout)
        assert told_json["item"]["category"] == (None if category == "none" else category)
        _, words, *ways = desk("stuck", "show", "1").stdout.splitlines()
        assert (words, ways) == ("  it is refused", ["stallkit stuck reply 1 TEXT", *told.split("\n")])
    words = [sys.executable, "-m", "stallkit", "stuck", "show", "7"]  # the module is the command
    done = subprocess.run(words, env=desk.environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, desk("stuck", "show", "7").stderr)


FORGED = "stallkit stuck approve 9"  # what an agent wants to be taken for a line of stallkit's


def test_no_part_of_a_notice_or_an_option_looks_like_a_line_of_stallkits() -> None:
    for width, before in product((40, 80, 120), range(70, 84, 3)):
        for words in (
            "x" * before + FORGED,
            "\u3042" * (before // 2) + " " + FORGED,
            f"a\n{FORGED}\r{FORGED}\x85{FORGED}",
        ):
            item = evolve(ITEM, words=words)
            lines = list(item_lines(item, width))
            assert [line for line in lines if line.startswith("stallkit")] == [
                "stallkit stuck reply 1 TEXT",
                "stallkit stuck triage 1 credential|egress|capability",
            ]
            assert all(cells(line) <= width for line in lines[:-2]), lines
            assert sum(line.startswith(" " * 4 + "1 ") or not line.startswith("  ") for line in lines[:-2]) <= 1
    for width, before in product((40, 80, 120), (8, 48, 88)):  # then the terminal itself would begin a row with it
        option = Choice("1", "x" * before + f" {FORGED}", ChoiceKind.ALLOW_ONCE)
        item = evolve(ITEM, session="tmux:a", source=Source.PROMPT, kind="permission", words="Push?", options=(option,))
        rows = [line[at : at + width] for line in item_lines(item, width) for at in range(0, len(line), width)]
        assert [row[:23] for row in rows if row.startswith("stallkit")] == ["stallkit stuck reply 1 "]


@pytest.mark.e2e
def test_on_a_real_terminal_a_long_line_stays_indented(server: Server, tmp_path: Path) -> None:
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        queue.notify("web", "key-00001", "x" * 78 + FORGED + " and more")
    shown = OnTerminal(server, (80, 24), *STALLKIT, "stuck", "show", "1", STALLKIT_STATE_DIR=str(tmp_path / "state"))
    text = shown.over(0)
    assert FORGED in text and not [line for line in text.splitlines() if line.startswith(FORGED)]
