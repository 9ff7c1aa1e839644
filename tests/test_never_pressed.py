"""Lines that look as if a key would do, and at which no machine may press one: each was pressed, or nearly, once."""

from __future__ import annotations

import pytest

from stallkit import Engine, ProcessFacts, Screen, Snapshot, judge
from stallkit.core.facts import KernelFacts
from stallkit.press.policy import CAREFUL, DAEMON, Policy, Press

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
    "This will destroy 12 resources.\nPress Enter to continue",
    "All data will be LOST!\nPress any key to continue...",
    "The disk will be formatted.\n\nPress Enter to continue",
    "[press enter to delete everything]",
]
LOGS = [
    "+ Press any key to continue",
    "2026-11-21 10:00:01 press enter to continue",
    "web | Press any key to continue",
    "the installer says: press any key to continue",
]


def pressed(engine: Engine, text: str, policy: Policy, foreground: str | None) -> bool:
    """Whether the policy would press at this text, the cursor behind it, in two looks that agree, somebody reading."""
    lines = text.split("\n")
    screen = Screen.from_text(text, cursor=(len(lines[-1]), len(lines) - 1), size=(80, 24), cursor_visible=True)
    reads = KernelFacts(listening=True, how="read", foreground="acme")
    look = Snapshot(screen=screen, alive=True, accepts_keys=True, process=ProcessFacts(foreground), kernel=reads)
    return isinstance(policy.decide(judge(engine.detect(screen), look, [look])), Press)


@pytest.mark.parametrize("foreground", [None, "bash", "python3", "node"])
@pytest.mark.parametrize("policy", [CAREFUL, DAEMON], ids=lambda policy: policy.name)
@pytest.mark.parametrize("text", DRAFTS + SECRETS + LOSSES + LOGS)
def test_no_key_is_pressed(engine: Engine, text: str, policy: Policy, foreground: str | None) -> None:
    assert not pressed(engine, text, policy, foreground)


@pytest.mark.parametrize("foreground", ["vim", "nano", "cat", "tail"])
def test_no_key_in_an_editor_or_a_viewer(engine: Engine, foreground: str) -> None:
    assert not pressed(engine, "Press Enter to continue", CAREFUL, foreground)


@pytest.mark.parametrize("foreground", [None, "bash", "python3", "installer"])
@pytest.mark.parametrize("text", ["Press any key to continue...", "Press ENTER to continue ", "-- press return --"])
def test_a_plain_request_is_answered(engine: Engine, text: str, foreground: str | None) -> None:
    assert pressed(engine, text, CAREFUL, foreground)
