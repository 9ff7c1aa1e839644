"""Real terminals on which one process wrote a prompt and another one reads: the key would go to the wrong one."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

import pytest
from terminals import Server, wait_for

from stallkit import Engine
from stallkit.press.check import check_session
from stallkit.press.policy import CAREFUL, Policy
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import Rule
from stallkit.transports.base import look
from stallkit.transports.pty import PtyTransport
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.e2e

KEY = "Press any key to continue . . . "
ENTER = "Press ENTER to continue "
SHELL = ("bash", "--norc", "--noprofile", "-i")
PAUSE = f"printf '{KEY}'"
ALLOWED = Policy("mine", rules=[Rule(do="press", signature="shell_tools:press_*", session=["tmux:s", "pty:*"])])


def why(transport: TmuxTransport | PtyTransport, policy: Policy) -> str:
    """Why no key was pressed; "pressed" where one was."""
    result = check_session(transport, Engine.default(), policy)
    if result.outcome is None:
        return "; ".join((*result.verdict.reasons, getattr(result.decision, "why", "")))
    return "pressed" if result.outcome.pressed else result.outcome.why


@pytest.mark.parametrize("policy", [CAREFUL, DAEMON, ALLOWED], ids=lambda policy: policy.name)
def test_a_job_in_the_background_does_not_run_a_half_typed_line(server: Server, tmp_path: Path, policy: Policy) -> None:
    transport = server.start("s", "env", f"PS1={tmp_path}$ ", *SHELL, shows="$")
    job = f"{{ until test -e {tmp_path}/go; do sleep 0.05; done; printf '\\n\\n{ENTER}'; }} &"
    server.tmux("send-keys", "-t", "=s:", job, "Enter")
    server.tmux("send-keys", "-t", "=s:", f"touch {tmp_path}/pwned")
    server.wait(transport, "touch")
    (tmp_path / "go").touch()
    wait_for(lambda: "Press" in transport.capture().screen.prompt_line.text, "the job's words")
    assert ("half-typed" if policy is ALLOWED else "any program may show this prompt") in why(transport, policy)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("seq 99 > long; less -P'Press any key to continue...' long", "less is in the foreground"),
        (f"{PAUSE}; exec -a installer cat", "installer runs in the foreground and asks nothing"),
        (f"{PAUSE}; PS1= exec bash --norc --noprofile --noediting", "runs no script"),
        (f"{PAUSE}; PS1= bash --norc --noprofile -i", "runs no script"),
        (f"set -m; (sleep 1000) & {PAUSE}; read -n1", "in the background: it may have written the prompt"),
        (f'su --session-command \'printf "%s" "{KEY}"; exec cat\' root', "cat reads the terminal, and asks nothing"),
    ],
    ids=["less", "a renamed cat", "a shell", "a shell below a script", "a shell with a job", "cat below su"],
)
def test_who_reads_does_not_ask(server: Server, tmp_path: Path, script: str, reason: str) -> None:
    transport = server.start("s", "bash", "-c", f"cd {tmp_path}; {script}", shows="Press any key")
    assert why(transport, CAREFUL) != "pressed"
    assert reason in why(transport, ALLOWED)


# The name of all three: a program that shows a pause and reads nothing, and one that reads.
PAUSES = "import os, sys, time; os.write(1, sys.argv[1].encode())\nwhile not os.path.exists('go'): time.sleep(0.01)"
READS = "import os; os.write(os.open('reads', os.O_CREAT | os.O_WRONLY), b'.'); os.read(0, 1)"


@pytest.mark.parametrize("looks", ["from the beginning", "only then"])
def test_another_program_of_the_same_name_does_not_get_the_key(tmp_path: Path, looks: str) -> None:
    (tmp_path / "setup").symlink_to(Path(sys.executable).resolve())
    words = [shlex.join(["./setup", "-I", "-S", "-c", code, KEY]) for code in (PAUSES, READS)]
    (tmp_path / "setup.sh").write_text(f"cd {tmp_path}\n{words[0]}\n{words[1]}\n")
    session = PtyTransport.spawn(["bash", str(tmp_path / "setup.sh")])
    wait_for(lambda: "Press" in (now := session.capture()).screen.text and now.printed_at, "the pause")
    if looks == "only then":
        printed_at = session.capture().printed_at or 0.0
        wait_for(lambda: time.time() > printed_at + 0.5, "half a second without a word")
    (tmp_path / "go").touch()
    wait_for((tmp_path / "reads").exists, "the one that reads")
    said = why(session, ALLOWED)
    session.close()
    reasons = ("reads the terminal, and did not when", "reads the terminal, and was started after")
    assert any(reason in said for reason in reasons), said
    assert looks != "only then" or reasons[1] in said


ANSWERED = {
    "read -n1": f"read -n1 -p '{KEY}'; exec sleep 1000",
    "read -n1 -s": f"read -n1 -s -p '{KEY}'; exec sleep 1000",
    "read": f"read -p '{ENTER}'; exec sleep 1000",
    "a subshell that reads": f"{PAUSE}; x=$(bash -c 'read -n1 x'); clear; exec sleep 1000",
    "python": f"{shlex.quote(sys.executable)} -c 'input({ENTER!r})'; exec sleep 1000".replace(
        "'Press", '"Press'
    ).replace("continue ')", 'continue ")'),
    "getch": f"stty -icanon -echo; {sys.executable} -c 'import os; os.write(1, b\"{KEY}\"); os.read(0, 1)'; sleep 1000",
}


@pytest.mark.parametrize("name", ANSWERED)
def test_who_asks_is_answered_where_a_rule_allows_it(server: Server, name: str) -> None:
    asks = server.start("s", "bash", "-c", ANSWERED[name], shows="Press")
    wait_for(lambda: (kernel := look(asks).kernel) and kernel.readers, "who reads")
    assert why(TmuxTransport("s", server.options), ALLOWED) == "pressed"


def test_a_script_that_a_shell_started_is_answered(server: Server, tmp_path: Path) -> None:
    """The shell that waits for it is no job in the background."""
    (tmp_path / "ask").write_text(f"#!/bin/bash\nclear\nread -n1 -p '{KEY}'\nexec sleep 1000\n")
    (tmp_path / "ask").chmod(0o755)
    transport = server.start("s", "env", "PS1=dev$ ", *SHELL, shows="dev$")
    server.tmux("send-keys", "-t", "=s:", f"{tmp_path}/ask", "Enter")
    server.wait(transport, "Press")
    assert why(transport, ALLOWED) == "pressed"
