"""Answers at real sessions, in this process: to an agent's question at its composer, and where none helps."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest
from composed import ENGINE
from stallkit_operator.answering import Answered, Result, answer_item, decline_item
from stallkit_operator.item import Item, ItemState, Who
from stallkit_operator.orders import Order, Verb, chosen
from stallkit_operator.queue import Queue
from stallkit_operator.queue_sync import draft_of
from stallkit_supervisor.notification import Need, subject_of
from terminals import Server, wait_for

from stallkit.packs.registry import installed_engine
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


def filed(queue: Queue, session: TmuxTransport) -> Item:
    """What the session shows now, as a supervisor files it."""
    verdict, seen = observe(session, ENGINE)
    topic = subject_of(verdict)
    assert topic is not None
    return queue.file(draft_of("tmux:a", topic, verdict, seen))


def answered(queue: Queue, item: Item, text: str, server: Server) -> Answered:
    return answer_item(
        queue, item.id, text, ADA, lambda: ENGINE, lambda item: open_target(item.session, server.options)
    )


def test_an_agents_question_is_answered_in_its_composer(server: Server, tmp_path: Path) -> None:
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        item = filed(queue, agent(server, tmp_path, "● Shall I delete the old file?"))
        assert item.kind == Need.ASKS and "Shall I delete" in item.words
        done = answered(queue, item, "no, keep it", server)
        assert (done.result, done.item.state) == (Result.DONE, ItemState.ANSWERED), done
        assert (tmp_path / "heard").read_text() == "no, keep it\n"
        again = answered(queue, item, "yes", server)
        assert again.result is Result.OVER and (tmp_path / "heard").read_text() == "no, keep it\n"


def test_a_text_that_would_be_a_command_of_the_agent_is_not_typed(server: Server, tmp_path: Path) -> None:
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        item = filed(queue, agent(server, tmp_path, "● Shall I delete the old file?"))
        done = answered(queue, item, "!rm -r .", server)
        assert done.result is Result.REFUSED and queue.item(item.id).open
        assert queue.item(item.id).claim is None and not (tmp_path / "heard").exists()


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
    """`:` alone would be what it takes of it at first."""
    session = server.start("a", "vim", "-u", "NONE", "-N", str(tmp_path / "notes"), shows="[New]")
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        verdict, seen = observe(session, INSTALLED)
        topic = subject_of(verdict)
        assert topic is not None and verdict.kind == "editor"
        item = queue.file(draft_of("tmux:a", topic, verdict, seen))
        reach = lambda item: open_target(item.session, server.options)  # noqa: E731
        done = answer_item(queue, item.id, ":q", ADA, lambda: INSTALLED, reach)
        assert done.result is Result.REFUSED and "an editor" in done.why and queue.item(item.id).open
        assert session.capture().screen.text == seen.screen.text
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


def test_a_session_that_is_gone_cancels_it(server: Server, tmp_path: Path) -> None:
    session = server.start("a", "bash", "-c", "read -p 'Delete all? [y/N] ' it", shows="[y/N]")
    server.start("b", "sleep", "1000")
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        item = filed(queue, session)
        server.tmux("kill-session", "-t", "=a:")
        done = answered(queue, item, "y", server)
        assert (done.result, done.item.state) == (Result.OVER, ItemState.CANCELLED)


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
            verdict, seen = observe(session, INSTALLED, watch_s=3)
            topic = subject_of(verdict)
            assert topic is not None
            item = queue.file(draft_of(f"tmux:m{number}", topic, verdict, seen))
            assert [(one.id, one.name) for one in item.options] == [("1", "Red"), ("2", "Green"), ("3", "Blue")]
            given = chosen(Order(verb, item.id, text), item)
            assert given is not None
            done = answer_item(
                queue, item.id, given, ADA, lambda: INSTALLED, lambda item: open_target(item.session, server.options)
            )
            assert (done.result, done.item.text) == (Result.DONE, took), done
        assert f"took {took}" in session.capture().screen.text
        assert "second" not in session.capture().screen.text


@pytest.mark.parametrize("text", ["y\ny", "y\ntouch PWN", "y\r", "\x03"])
def test_an_answer_to_a_prompt_is_one_line(server: Server, tmp_path: Path, text: str) -> None:
    asks = "read -p 'Delete all? [y/N] ' a; read -p 'Sure? [y/N] ' b; echo \"got <$a$b>\"; exec sleep 1000"
    session = server.start("a", "bash", "-c", asks, shows="[y/N]")
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        item = filed(queue, session)
        with pytest.raises(ValueError, match="an answer is one line"):
            answered(queue, item, text, server)
        assert queue.item(item.id).open and queue.item(item.id).claim is None
    assert session.capture().screen.text.strip() == "Delete all? [y/N]"
