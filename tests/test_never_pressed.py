"""Lines that look as if a key would do, and at which no machine may press one: each was pressed, or nearly, once."""

from __future__ import annotations

from typing import Sequence

import pytest
from attrs import evolve
from looks import reads
from soak.forged import COMPACT, EFFORT, TRUST, TRUST_ROWS

from stallkit import Engine, ProcessFacts, Screen, Snapshot, judge
from stallkit.detect.signature import NEVER_PRESSED, Kind
from stallkit.evidence.snapshot import KernelFacts
from stallkit.press.policy import CAREFUL, Choose, Policy, Press
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import Rule, Scene
from stallkit.testing import examples

# As much as a person may have consented to for this session; and of what programs draw as their own.
SHELLS = ["shell_auth:*", "shell_tools:*", "shell_yn:*", "node_prompts:*"]
ALLOWED = Policy("allowed", rules=[Rule(do="press", signature=SHELLS, session="tmux:one")])
POLICIES = (CAREFUL, DAEMON, ALLOWED)

# Half typed: the key would submit it.
DRAFTS = [
    "dev@box:~$ touch pwned # then press enter",
    "dev@box:~$ echo 'Proceed? [y/N] ",
    "[dev@box proj]$ press any key to continue",
    "~/proj ❯ press enter to continue",
    "$ read -p 'Continue? [y/N]' x; echo [y/N]",
    ">>> press enter to continue",
    "mysql> press enter to continue",
    "(gdb) press any key",
    "aider > press enter to continue",
    "❯ press enter to continue",
    "› Press Enter to continue",
    "/press enter to continue",
    ":!press enter to continue",
]
SECRETS = [
    "Enter password, press Enter when done: ",
    "Type your recovery words and press Enter: ",
    "Master key (press Enter when typed):",
    "[sudo] password for joe, press enter:",
    "Enter the verification code and press Enter",
    "PIN, then press return: ",
]
LOSSES = [
    "Hit enter to push to production",
    "Press ENTER to grant access",
    "Press Enter to trust this host",
    "Press enter to buy now",
    "Press any key to undo",
    "Press enter for yes",
    "Pick a number and press Enter",
    "Press any key to reboot",
    "Press Enter to exit",
    "[press enter to delete everything]",
]
LOGS = [
    "+ Press any key to continue",
    "2026-11-21 10:00:01 press enter to continue",
    "web | Press any key to continue",
    "the installer says: press any key to continue",
]
# A program printed these words, and an interpreter that started below reads the line.
INTERPRETERS = [
    f"{words}\n{prompt}"
    for words in ("Press Enter to continue", "Please, press ENTER to continue", "Press any key to continue...")
    for prompt in (">>> ", ">> ", "> ", "In [1]: ", "irb(main):001:0> ", "sqlite> ")
]


# Nobody is told apart by what stands above it: a person named these forms in this session, or nobody presses.
PLAIN = [
    f"{above}{asks}"
    for above in ("", "All files in /home will be LOST!\n", "$ git push\n\n1 deleted\n\n", "The disk is formatted.\n\n")
    for asks in ("Press any key to continue...", "Press ENTER to continue ", "-- press return --", "Proceed? [y/N] ")
]


def pressed(engine: Engine, text: str, policies: Sequence[Policy], foreground: str | None) -> list[str]:
    """The policies that would press at this text, the cursor behind it, in two looks that agree, somebody reading."""
    lines = text.split("\n")
    screen = Screen.from_text(text, cursor=(len(lines[-1]), len(lines) - 1), size=(80, 24), cursor_visible=True)
    return presses(engine, screen, policies, foreground)


def presses(
    engine: Engine,
    screen: Screen,
    policies: Sequence[Policy],
    foreground: str | None,
    kernel: KernelFacts | None = None,
) -> list[str]:
    """The policies that would."""
    kernel = kernel or KernelFacts(listening=True, how="read", foreground="acme")
    process = ProcessFacts(foreground)
    look = Snapshot(screen, alive=True, accepts_keys=True, process=process, kernel=kernel, target="tmux:one")
    verdict, scene = judge(engine.detect(screen), look, [look]), Scene.of(look)
    return [one.name for one in policies if isinstance(one.decide(verdict, scene), Press | Choose)]


@pytest.mark.parametrize("foreground", [None, "bash", "python3", "node"])
def test_no_key_is_pressed(engine: Engine, foreground: str | None) -> None:
    texts = DRAFTS + SECRETS + LOSSES + LOGS + INTERPRETERS
    assert not [(text, by) for text in texts if (by := pressed(engine, text, POLICIES, foreground))]


@pytest.mark.parametrize("foreground", ["vim", "nano", "cat", "tail"])
def test_no_key_in_an_editor_or_a_viewer(engine: Engine, foreground: str) -> None:
    assert not [text for text in PLAIN if pressed(engine, text, [ALLOWED], foreground)]


@pytest.mark.parametrize("foreground", [None, "bash", "python3", "installer"])
def test_a_plain_request_is_answered_where_a_person_named_it(engine: Engine, foreground: str | None) -> None:
    other = evolve(ALLOWED, name="other", rules=[evolve(ALLOWED.rules[0], session="tmux:other")])
    wrong = {text: by for text in PLAIN if (by := pressed(engine, text, [*POLICIES, other], foreground)) != ["allowed"]}
    assert not wrong


WORDS = ["compact mode", "Use high effort", "Effort in Opus", "Press any key to continue...", "Proceed? [y/N] "]
WORDS += ["\n" + COMPACT, "\n" + EFFORT, "\n" + TRUST + TRUST_ROWS + "\n"]
OF_A_PERSON = {Kind.PERMISSION, Kind.PLAN_APPROVAL, Kind.QUESTION}


@pytest.mark.parametrize(
    ("pack", "agent", "path"),
    [
        ("claude_code", "claude", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"),
        ("agent_clis", "codex", "/usr/bin/codex"),
    ],
)
def test_no_words_in_a_dialog_of_an_agent_make_it_pressed(engine: Engine, pack: str, agent: str, path: str) -> None:
    """Every captured permission, plan and question, with words of other dialogs in the rows above what is selected."""
    kinds = {signature.id: signature.kind for one in engine.packs if one.name == pack for signature in one.signatures}
    asked = [one for one in examples(f"stallkit_{pack}") if one.wanted and kinds[one.signature] in OF_A_PERSON]
    menus = [one for one in asked if "\n" in one.screen.block.text]
    assert len(menus) > 10
    for one in menus:
        for row in {max(0, one.screen.block.row + place) for place in (-2, -1, 0, 1)}:
            for words in WORDS:
                shown = above(one.screen, row, words)
                by = presses(engine, shown, [evolve(CAREFUL, trust=["/"]), DAEMON], agent, reads(agent, path))
                assert not by, (one.name, shown.text, by)


def above(screen: Screen, row: int, words: str) -> Screen:
    """The same screen with words in it, before a row; as a longer command, plan or question would have them."""
    added = words.split("\n")
    lines = (*screen.lines[:row], *added, *screen.lines[row:])
    cursor = screen.cursor and evolve(
        screen.cursor, row=screen.cursor.row + (len(added) if screen.cursor.row >= row else 0)
    )
    return evolve(screen, lines=lines, cursor=cursor)


def test_what_a_person_decides_has_no_keys(engine: Engine) -> None:
    given = [signature.id for signature in engine.signatures if signature.dismissal and signature.kind in NEVER_PRESSED]
    assert given == []
