"""A prompt of any program is answered only with all of the text that it stands below, where tmux keeps it."""

from __future__ import annotations

from contextlib import closing

import pytest
from terminals import Server

from stallkit.packs.registry import installed_engine
from stallkit.press.check import CheckResult, check_session
from stallkit.press.decisions import Escalate, Press
from stallkit.press.policy import CAREFUL, DAEMON, Policy

pytestmark = pytest.mark.e2e

ASKS = "read -p 'Continue? [y/N] ' it; echo went on; exec sleep 100"
PAUSE = "echo; read -n1 -s -r -p 'Press any key to continue...'; echo; echo went on; exec sleep 100"
LOSS = "echo 'All your files will be deleted.'"
SCROLLS, FILLS, HUNDREDS = "seq 60; clear -x", "seq 22", "seq 1000"


def decided(server: Server, script: str, policy: Policy = DAEMON) -> CheckResult:
    """What becomes of it; `clear -x` pushes the screen out of sight and keeps it."""
    with closing(server.start("one", "bash", "-c", script, shows="ontinue")) as transport:
        return check_session(transport, installed_engine(), policy)


@pytest.mark.parametrize("before", [SCROLLS, FILLS, "seq 200", "seq 60"])
def test_harmless_text_above_leaves_the_prompt_to_the_daemon(server: Server, before: str) -> None:
    result = decided(server, f"{before}; {ASKS}")
    assert isinstance(result.decision, Press), result.decision
    assert result.outcome and result.outcome.pressed
    assert "went on" in server.tmux("capture-pane", "-p", "-t", "=one:")


@pytest.mark.parametrize("between", [SCROLLS, "seq 200", "clear -x", "seq 40; echo 'ada@box:~$ ./setup'"])
def test_a_word_of_loss_above_does_not(server: Server, between: str) -> None:
    """However far it went, and whatever looks like a shell's line below it."""
    result = decided(server, f"{LOSS}; {between}; {ASKS}")
    assert isinstance(result.decision, Escalate) and "deletion" in result.decision.why


@pytest.mark.parametrize("between", [HUNDREDS, "printf '\\033[?1049h'; seq 60"])
def test_text_that_is_not_read_is_not_harmless(server: Server, between: str) -> None:
    result = decided(server, f"{LOSS}; {between}; {ASKS}")
    assert isinstance(result.decision, Escalate) and "out of sight" in result.decision.why


def test_a_plain_pause_is_of_low_severity_below_nothing_else(server: Server) -> None:
    """Not even out of sight."""
    result = decided(server, f"{SCROLLS}; {PAUSE}", CAREFUL)
    assert isinstance(result.decision, Escalate) and "severity medium" in result.decision.why


@pytest.mark.parametrize("between", ["echo ---", "echo 'made by this tool'", "true"])
def test_another_question_right_above_leaves_it_to_a_person(server: Server, between: str) -> None:
    """It may be the end of that question, which a line of somebody else cut in two."""
    result = decided(server, f"echo '? The folder holds files that were not'; {between}; {ASKS}")
    assert isinstance(result.decision, Escalate) and "another question" in result.decision.why


def test_a_history_that_is_full_has_lost_its_first_rows(server: Server) -> None:
    server.start("first", "sleep", "100").close()
    server.tmux("set-option", "-g", "history-limit", "50")
    result = decided(server, f"{LOSS}; seq 120; {ASKS}")
    assert isinstance(result.decision, Escalate) and "out of sight" in result.decision.why
