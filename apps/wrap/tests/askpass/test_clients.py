"""Over which tmux client a pop-up is shown: one whose keys it can take, of the pane's own session before others."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import pytest
from askroom import Person
from stallkit_wrap.askpass.popup import PopUp
from terminals import Server, wait_for

from stallkit.errors import TransportError, TransportUnavailable


@pytest.fixture
def people(server: Server) -> Iterator[dict[str, Person]]:
    """Nobody yet; two sessions run."""
    server.start("one", "cat")
    server.start("two", "cat")
    there: dict[str, Person] = {}
    yield there
    for person in there.values():
        person.leaves()


def within(server: Server, name: str) -> dict[str, str]:
    """The variables of a program in that session's pane."""
    pane = server.tmux("display-message", "-p", "-t", f"={name}:", "#{pane_id}").strip()
    return {"TMUX": f"{server.socket},{server.pid},0", "TMUX_PANE": pane}


def client_of(server: Server, name: str) -> str:
    return server.tmux("list-clients", "-t", f"={name}", "-F", "#{client_name}").strip()


def test_the_clients_of_the_own_session_come_first_and_one_that_only_looks_on_is_none(
    server: Server, people: dict[str, Person]
) -> None:
    people["looks"] = Person(server, "one", "-r")
    with pytest.raises(TransportUnavailable, match="no tmux client is attached"):
        PopUp.of(within(server, "one"))
    people.pop("looks").leaves()
    wait_for(lambda: not client_of(server, "one"), "the client's end")
    people["two"] = Person(server, "two")
    assert PopUp.of(within(server, "one")).client == client_of(server, "two"), "better than none"
    people["one"] = Person(server, "one")
    for name in ("one", "two", "one"):
        assert PopUp.of(within(server, name)).client == client_of(server, name)


def test_outside_tmux_and_without_a_server(tmp_path: Path) -> None:
    with pytest.raises(TransportUnavailable, match="it does not run in tmux"):
        PopUp.of({})
    with pytest.raises(TransportError):
        PopUp.of({"TMUX": f"{tmp_path}/none,1,0", "TMUX_PANE": "%0"})


def test_a_program_in_it_is_run_without_a_shell_and_a_client_that_is_gone_is_a_complaint(
    server: Server, people: dict[str, Person], tmp_path: Path
) -> None:
    people["one"] = Person(server, "one")
    pop_up = PopUp.of(within(server, "one"))
    said = tmp_path / "said"
    shown = pop_up.show(["tee", str(said), "$(touch nothing); `touch nothing`"])
    people["one"].types("hello\r\x04")
    assert shown.wait(20) == 0 and pop_up.complaint(shown) is None
    wait_for(lambda: said.read_text() == "hello\n", "what was typed into it")
    assert not (tmp_path / "nothing").exists()
    people["one"].leaves()
    wait_for(lambda: not client_of(server, "one"), "the client's end")
    shown = pop_up.show(["cat", "-"])
    shown.wait(20)
    complaint = pop_up.complaint(shown)
    assert complaint is not None and "can't find client" in complaint.why
