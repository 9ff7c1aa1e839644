"""A prompt of a real session, escalated by a real supervisor, answered from the queue by the command itself."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Iterator

import pytest
from drawn_dialog import BUTTONS, CLICK, CLICKED, MOUSE, PROGRAM, SCREENS
from queued import Desk
from terminals import Server, wait_for

from stallkit.packs.screenfile import read_screen

pytestmark = pytest.mark.e2e

ASKS = "read -p 'Overwrite notes.txt? [y/N] ' it; echo \"got <$it>\"; exec sleep 1000"


@pytest.fixture
def desk(server: Server, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path, server)
    yield made
    made.end()


def test_a_prompt_is_answered_from_the_queue_while_no_supervisor_runs(desk: Desk, server: Server) -> None:
    session = server.start("one", "bash", "-c", ASKS, shows="[y/N]")
    watching = desk.watch("tmux:one")
    item = desk.item(state="input_required")
    assert (item["session"], item["source"], item["kind"]) == ("tmux:one", "prompt", "confirm")
    assert "Overwrite notes.txt? [y/N]" in item["words"]
    watching.kill()
    done = desk("stuck", "r", str(item["id"]), "y")
    assert (done.returncode, done.stdout) == (0, f"{item['id']} tmux:one: answered, the prompt went away\n")
    server.wait(session, "got <y>")
    again = desk("stuck", "reply", str(item["id"]), "n")
    assert again.returncode == 4 and "it is answered already" in again.stdout
    server.wait(session, "got <y>")


def test_a_list_begins_with_the_question_whatever_stands_above_it(desk: Desk, server: Server) -> None:
    above = "Reading package lists... Done\\nThe following NEW packages will be installed:\\n  libfoo libbar\\n"
    server.start("apt", "bash", "-c", f"printf '{above}'; {ASKS}", shows="[y/N]")
    desk.watch("tmux:apt")
    number = desk.item(state="input_required")["id"]
    listed = desk("stuck", "list").stdout
    assert re.search(rf"{number} .* confirm +Overwrite notes.txt\? \[y/N\] \xb7 Reading package", listed), listed


def test_a_rule_that_escalates_files_what_a_later_one_would_press(desk: Desk, server: Server) -> None:
    asks = "read -n1 -p 'Press any key to continue...' it; echo went on; exec sleep 1000"
    held, free = (server.start(name, "bash", "-c", asks, shows="any key") for name in ("held", "free"))
    signature = 'signature = "shell_tools:press_any_key"\n'
    held_back = f'[[rule]]\ndo = "escalate"\n{signature}session = "tmux:held"\n'
    (desk.folder / "policy.toml").write_text(f'{held_back}[[rule]]\ndo = "press"\n{signature}session = "tmux:*"\n')
    on = ("--policy", "policy.toml", "--json", "-S", str(server.socket))
    desk.begin("watch", "tmux:held", "tmux:free", *on)
    server.wait(free, "went on")
    assert desk.item(state="input_required")["session"] == "tmux:held"
    assert "went on" not in held.capture().screen.text and len(desk.items("--all")) == 1


def test_a_prompt_that_is_answered_at_its_terminal_is_cancelled(desk: Desk, server: Server) -> None:
    server.start("one", "bash", "-c", ASKS, shows="[y/N]")
    desk.watch("tmux:one")
    item = desk.item(state="input_required")
    server.tmux("send-keys", "-t", "=one:", "n", "Enter")
    assert desk.item(state="cancelled")["id"] == item["id"]
    late = desk("stuck", "reply", str(item["id"]), "y")
    assert late.returncode == 4 and "cancelled" in late.stdout


@pytest.mark.parametrize(("status", "told"), [(0, ["confirm"]), (3, ["confirm", "ended"])])
def test_a_program_that_ends_well_after_its_answer_is_no_new_item(
    desk: Desk, server: Server, status: int, told: list[str]
) -> None:
    asks = f"read -p 'Overwrite notes.txt? [y/N] ' it; echo done; exit {status}"
    server.tmux("start-server", ";", "set-option", "-g", "remain-on-exit", "on")
    server.start("one", "bash", "-c", asks, shows="[y/N]")
    desk.watch("tmux:one")
    assert desk("stuck", "reply", str(desk.item(state="input_required")["id"]), "y").returncode == 0
    wait_for(lambda: '"state": "gone"' in (desk.folder / "out").read_text(), "the supervisor to see its end")
    server.start("two", "bash", "-c", ASKS, shows="[y/N]")
    desk.begin("watch", "tmux:two", "--policy", "observe", "--json", "-S", str(server.socket))
    desk.item(session="tmux:two")  # which is told as late as the end would be
    assert [one["kind"] for one in desk.items("--all") if one["session"] == "tmux:one"] == told


def test_a_prompt_that_is_gone_or_changed_gets_no_key(desk: Desk, server: Server) -> None:
    """Without a supervisor that would notice: the answer itself looks again."""
    script = f"echo 'rm -r build'; echo; {ASKS}"
    session = server.start("one", "bash", "-c", script, shows="[y/N]")
    desk.watch("tmux:one")
    item = desk.item(state="input_required")
    desk.end()
    tty = server.tmux("display-message", "-p", "-t", "=one:", "#{pane_tty}").strip()
    Path(tty).write_text("\x1b7\x1b[1;1Hrm -r /home\x1b8")
    server.wait(session, "/home")
    refused = desk("stuck", "reply", str(item["id"]), "y")
    assert refused.returncode == 2 and "not as it was shown to you" in refused.stdout
    assert "rm -r /home" in desk("stuck", "show", str(item["id"])).stdout
    server.tmux("send-keys", "-t", "=one:", "n", "Enter")
    server.wait(session, "got <n>")
    gone = desk("stuck", "reply", str(item["id"]), "y")
    assert gone.returncode == 4 and "nothing was pressed" in gone.stdout
    assert desk.item(state="cancelled")["id"] == item["id"]
    assert "got <n>" in session.capture().screen.text


def test_a_secret_is_shown_as_one_and_never_typed(desk: Desk, server: Server) -> None:
    server.start("one", "bash", "-c", "read -s -p 'Password: ' it; exec sleep 1000", shows="Password")
    desk.watch("tmux:one")
    item = desk.item(state="auth_required")
    for verb in ("reply", "answer"):
        done = desk("stuck", verb, str(item["id"]), "hunter2")
        assert done.returncode in (2, 64), done
    assert "at its own terminal" in desk("stuck", "show", str(item["id"])).stdout


@pytest.mark.parametrize(
    ("verb", "keys", "state"), [(("approve",), b"1", "answered"), (("decline",), b"4", "declined")]
)
def test_a_dialog_is_answered_by_its_own_options(
    desk: Desk, server: Server, tmp_path: Path, verb: tuple[str, ...], keys: bytes, state: str
) -> None:
    program, screen, heard = tmp_path / "claude", tmp_path / "screen", tmp_path / "heard"
    program.symlink_to(Path(sys.executable).resolve())
    screen.write_text(read_screen(SCREENS / "hit-bash-narrow.txt").screen.text, encoding="utf-8")
    heard.touch()
    server.start("a", str(program), "-c", PROGRAM, str(heard), str(screen), shows="Tab to amend", size=(40, 24))
    desk.watch("tmux:a")
    item = desk.item(state="input_required")
    assert [(one["id"], one["kind"]) for one in item["options"]] == [
        ("1", "allow_once"),
        ("2", "allow_always"),
        ("3", "allow_always"),
        ("4", "reject_once"),
    ]
    done = desk("stuck", *verb, str(item["id"]))
    assert done.returncode == 0, done
    assert heard.read_bytes() == keys
    label = next(one["name"] for one in item["options"] if one["id"] == keys.decode())
    assert desk.item(state=state)["text"] == label, "of an option its label is kept"


@pytest.mark.parametrize(
    ("verb", "heard", "state", "label"),
    [("approve", CLICK, "answered", "Allow once"), ("decline", b"\x1b", "declined", "Reject")],
)
def test_buttons_are_answered_whichever_is_selected(
    desk: Desk, server: Server, tmp_path: Path, verb: str, heard: bytes, state: str, label: str
) -> None:
    program, screen, got = tmp_path / "opencode", tmp_path / "screen", tmp_path / "heard"
    program.symlink_to(Path(sys.executable).resolve())
    screen.write_text(read_screen(BUTTONS).screen.text, encoding="utf-8")
    got.touch()
    server.start("a", str(program), "-c", CLICKED, str(got), str(screen), MOUSE, shows="enter confirm", size=(60, 24))
    desk.watch("tmux:a")
    item = desk.item(state="input_required")
    assert [one["kind"] for one in item["options"]] == ["allow_once", "allow_always", "reject_once"]
    assert not any(one["selected"] for one in item["options"])
    done = desk("stuck", verb, str(item["id"]))
    assert done.returncode == 0, done
    assert got.read_bytes() == heard
    assert desk.item(state=state)["text"] == label
