"""Answers at real sessions: to an agent's question at its composer, and where none helps; through the command."""

from __future__ import annotations

import re
import sys
from contextlib import closing
from pathlib import Path
from typing import Iterator

import pytest
from composed import ENGINE
from drawn_dialog import BUTTONS, CLICK, CLICKED, MOUSE, SCREENS
from drawn_dialog import PROGRAM as DIALOG
from queued import Desk
from stallkit_operator.answering import Answered, Result, answer_item, decline_item
from stallkit_operator.item import Choice, Item, ItemState, Who
from stallkit_operator.orders import Order, Verb, chosen
from stallkit_operator.queue import Queue
from stallkit_operator.queue_sync import draft_of
from stallkit_supervisor.notification import Need, subject_of
from terminals import Server, wait_for

from stallkit import Engine
from stallkit.packs.registry import installed_engine
from stallkit.packs.screenfile import read_screen
from stallkit.press.check import observe
from stallkit.transports.targets import open_target
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.e2e

ADA = Who("ada", "a test")
INSTALLED = installed_engine()
PROGRAM = Path(__file__).parents[3] / "tests" / "press" / "agent_program.py"


def agent(server: Server, folder: Path, *rows: str) -> TmuxTransport:
    """An agent at its composer, below these rows; what it gets goes to the file ``heard``."""
    program = folder / "agent"
    shown = ", ".join(map(repr, rows))
    source = PROGRAM.read_text().replace('["agent",', f'["agent", "", {shown}, "",').replace("+ 2 +", "+ 5 +")
    program.write_text(f"#!{sys.executable}\n{source}")
    program.chmod(0o755)
    return server.start("a", str(program), str(folder / "heard"), "", shows="ready")


def filed(queue: Queue, session: TmuxTransport, engine: Engine = ENGINE, name: str = "a", watch_s: float = 0) -> Item:
    """What the session shows now, as a supervisor files it."""
    verdict, seen = observe(session, engine, watch_s=watch_s)
    topic = subject_of(verdict)
    assert topic is not None
    return queue.file(draft_of(f"tmux:{name}", topic, verdict, seen))


def answered(queue: Queue, item: Item, given: str | Choice, server: Server, engine: Engine = ENGINE) -> Answered:
    return answer_item(
        queue, item.id, given, ADA, lambda: engine, lambda item: open_target(item.session, server.options)
    )


def test_an_agents_question_is_answered_in_its_composer_and_no_command_typed(server: Server, tmp_path: Path) -> None:
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        item = filed(queue, agent(server, tmp_path, "● Shall I delete the old file?"))
        assert item.kind == Need.ASKS and "Shall I delete" in item.words
        done = answered(queue, item, "!rm -r .", server)
        assert done.result is Result.REFUSED and queue.item(item.id).open
        assert queue.item(item.id).claim is None and not (tmp_path / "heard").exists()
        done = answered(queue, item, "no, keep it", server)
        assert (done.result, done.item.state) == (Result.DONE, ItemState.ANSWERED), done
        assert (tmp_path / "heard").read_text() == "no, keep it\n"
        again = answered(queue, item, "yes", server)
        assert again.result is Result.OVER and (tmp_path / "heard").read_text() == "no, keep it\n"


def test_what_no_text_answers_is_only_taken_off_the_list(server: Server, tmp_path: Path) -> None:
    session = server.start("a", "sh", "-c", "echo it fails; read -r it; exit 3", shows="fails")
    server.tmux("send-keys", "-t", "=a:", "Enter")
    wait_for(lambda: session.capture().alive is False, "its end")
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        item = filed(queue, session)
        assert item.kind == Need.ENDED
        assert answered(queue, item, "again", server).result is Result.REFUSED
        done = decline_item(queue, item.id, "seen", ADA)
        assert (done.result, done.item.state) == (Result.DONE, ItemState.DECLINED)
        assert "nothing was pressed" in done.why


def test_an_editor_gets_no_text(server: Server, tmp_path: Path) -> None:
    session = server.start("a", "vim", "-u", "NONE", "-N", str(tmp_path / "notes"), shows="[New]")
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        item = filed(queue, session, INSTALLED)
        assert item.kind == "editor"
        before = session.capture().screen.text
        done = answered(queue, item, ":q", server, INSTALLED)
        assert done.result is Result.REFUSED and "an editor" in done.why and queue.item(item.id).open
        assert session.capture().screen.text == before
        with pytest.raises(ValueError, match="go to its own terminal"):
            chosen(Order(Verb.APPROVE, item.id), item)


def test_what_was_typed_in_part_is_not_answered(server: Server, tmp_path: Path) -> None:
    script = (
        "stty -icanon -echo; printf 'Proceed? [y/N] '; head -c1 &>/dev/null; printf '\\nName: '; head -c1 &>/dev/null"
    )
    session = server.start("a", "bash", "-c", script, shows="[y/N]")
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        item = filed(queue, session)
        done = answered(queue, item, "never", server)
        assert done.result is Result.UNSEEN and "only 'n' of it was typed" in done.why, done
        assert queue.item(item.id).open
        assert session.capture().screen.text.rstrip().endswith("Name:")


def test_another_session_of_that_name_gets_no_key(server: Server, tmp_path: Path) -> None:
    asks = ("bash", "-c", "read -p 'Delete all? [y/N] ' it; echo \"got <$it>\"; exec sleep 1000")
    session = server.start("a", *asks, shows="[y/N]")
    server.start("b", "sleep", "1000")
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        item = filed(queue, session)
        server.tmux("kill-session", "-t", "=a:")
        other = server.start("a", *asks, shows="[y/N]")
        done = answered(queue, item, "y", server)
        assert (done.result, done.item.state) == (Result.OVER, ItemState.CANCELLED)
        assert "got" not in other.capture().screen.text


def test_any_menu_is_listed_by_its_labels_and_answered_by_one(server: Server, tmp_path: Path) -> None:
    menu = str(PROGRAM.with_name("menu_program.py"))
    order = [(Verb.ANSWER, "3", "Blue"), (Verb.ANSWER, "green", "Green"), (Verb.REPLY, "Blue", "Blue")]
    for number, (verb, text, took) in enumerate(order):
        session = server.start(f"m{number}", sys.executable, menu, "plain", "0", shows="Blue")
        with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
            item = filed(queue, session, INSTALLED, f"m{number}", watch_s=3)
            assert [(one.id, one.name) for one in item.options] == [("1", "Red"), ("2", "Green"), ("3", "Blue")]
            given = chosen(Order(verb, item.id, text), item)
            assert given is not None
            done = answered(queue, item, given, server, INSTALLED)
            assert (done.result, done.item.text) == (Result.DONE, took), done
        assert f"took {took}" in session.capture().screen.text
        assert "second" not in session.capture().screen.text


def test_an_answer_to_a_prompt_is_one_line(server: Server, tmp_path: Path) -> None:
    asks = "read -p 'Delete all? [y/N] ' a; read -p 'Sure? [y/N] ' b; echo \"got <$a$b>\"; exec sleep 1000"
    session = server.start("a", "bash", "-c", asks, shows="[y/N]")
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        item = filed(queue, session)
        for text in ("y\ny", "y\ntouch PWN", "y\r", "\x03"):
            with pytest.raises(ValueError, match="an answer is one line"):
                answered(queue, item, text, server)
            assert queue.item(item.id).open and queue.item(item.id).claim is None
    assert session.capture().screen.text.strip() == "Delete all? [y/N]"


ASKS = "read -p 'Overwrite notes.txt? [y/N] ' it; echo \"got <$it>\"; exec sleep 1000"


@pytest.fixture
def desk(server: Server, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path, server)
    yield made
    made.end()


def test_a_prompt_is_answered_from_the_queue_while_no_supervisor_runs(desk: Desk, server: Server) -> None:
    above = "Reading package lists... Done\\nThe following NEW packages will be installed:\\n  libfoo libbar\\n"
    session = server.start("one", "bash", "-c", f"printf '{above}'; {ASKS}", shows="[y/N]")
    server.start("two", "bash", "-c", ASKS, shows="[y/N]")
    watching = desk.watch("tmux:one", "tmux:two")
    item, other = (desk.item(state="input_required", session=f"tmux:{name}") for name in ("one", "two"))
    assert (item["session"], item["source"], item["kind"]) == ("tmux:one", "prompt", "confirm")
    listed = desk("stuck", "list").stdout  # a list begins with the question, whatever stands above it
    row = rf"{item['id']} .* confirm +Overwrite notes.txt\? \[y/N\] \xb7 Reading package"
    assert re.search(row, listed), listed
    server.tmux("send-keys", "-t", "=two:", "n", "Enter")
    assert desk.item(state="cancelled")["id"] == other["id"], "it was answered at its terminal"
    late = desk("stuck", "reply", str(other["id"]), "y")
    assert late.returncode == 4 and "cancelled" in late.stdout
    watching.kill()
    done = desk("stuck", "r", str(item["id"]), "y")
    assert (done.returncode, done.stdout) == (0, f"{item['id']} tmux:one: answered, the prompt went away\n")
    server.wait(session, "got <y>")
    again = desk("stuck", "reply", str(item["id"]), "n")
    assert again.returncode == 4 and "it is answered already" in again.stdout
    server.wait(session, "got <y>")


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


@pytest.mark.parametrize(("status", "told"), [(0, ["confirm"]), (3, ["confirm", "ended"])])
def test_a_program_that_ends_well_after_its_answer_is_no_new_item(
    desk: Desk, server: Server, status: int, told: list[str]
) -> None:
    asks = f"read -p 'Overwrite notes.txt? [y/N] ' it; echo done; exit {status}"
    server.start("one", "bash", "-c", asks, shows="[y/N]")
    desk.watch("tmux:one")
    assert desk("stuck", "reply", str(desk.item(state="input_required")["id"]), "y").returncode == 0
    wait_for(lambda: '"state": "gone"' in (desk.folder / "out").read_text(), "the supervisor to see its end")
    server.start("two", "bash", "-c", ASKS, shows="[y/N]")
    desk.begin("watch", "tmux:two", "--policy", "observe", "--json", "-S", str(server.socket))
    desk.item(session="tmux:two")  # which is told as late as the end would be
    assert [one["kind"] for one in desk.items("--all") if one["session"] == "tmux:one"] == told


def test_a_prompt_that_is_gone_or_changed_gets_no_key(desk: Desk, server: Server) -> None:
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
    done = desk("stuck", "reply", str(item["id"]), "hunter2")
    assert done.returncode in (2, 64), done
    assert "at its own terminal" in desk("stuck", "show", str(item["id"])).stdout


BOXES = {  # what draws a dialog and takes its keys, its screen, what it shows then, and the kinds of its options
    "claude": (
        *((DIALOG,), SCREENS / "hit-bash-narrow.txt", "Tab to amend", (40, 24)),
        ["allow_once", "allow_always", "allow_always", "reject_once"],
    ),
    "opencode": ((CLICKED, MOUSE), BUTTONS, "enter confirm", (60, 24), ["allow_once", "allow_always", "reject_once"]),
}


@pytest.mark.parametrize(
    ("name", "verb", "keys", "number"),
    [
        ("claude", "approve", b"1", 1),
        ("claude", "decline", b"4", 4),
        ("opencode", "approve", CLICK, 1),
        ("opencode", "decline", b"\x1b", 3),
    ],
)
def test_a_dialog_is_answered_by_its_own_options_and_by_buttons_whichever_is_selected(
    desk: Desk, server: Server, tmp_path: Path, name: str, verb: str, keys: bytes, number: int
) -> None:
    (source, *more), drawn, says, size, kinds = BOXES[name]
    program, screen, heard = tmp_path / name, tmp_path / "screen", tmp_path / "heard"
    program.symlink_to(Path(sys.executable).resolve())
    screen.write_text(read_screen(drawn).screen.text, encoding="utf-8")
    heard.touch()
    server.start("a", str(program), "-c", source, str(heard), str(screen), *more, shows=says, size=size)
    desk.watch("tmux:a")
    item = desk.item(state="input_required")
    options = item["options"]
    assert [(one["id"], one["kind"]) for one in options] == [(str(at), kind) for at, kind in enumerate(kinds, 1)]
    assert name == "claude" or not any(one["selected"] for one in options)
    done = desk("stuck", verb, str(item["id"]))
    assert done.returncode == 0, done
    assert heard.read_bytes() == keys
    text = desk.item(state="answered" if verb == "approve" else "declined")["text"]
    assert text == options[number - 1]["name"], "of an option its label is kept"
