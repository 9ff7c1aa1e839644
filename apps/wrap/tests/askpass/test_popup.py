"""A prompt inside an agent's tool call: asked in a tmux pop-up, so that no key of the answer reaches the agent."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from askroom import PASSPHRASE, AskRoom, Person
from stallkit_wrap.askpass.prompts import prompts
from terminals import wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who reads a terminal")


def in_any_process(secret: str) -> list[Path]:
    """The command lines and environments of the machine that hold a text."""
    found = []
    for entry in Path("/proc").iterdir():
        for name in ("cmdline", "environ") if entry.name.isdigit() else ():
            try:
                if secret.encode() in (entry / name).read_bytes().replace(b"\0", b" "):
                    found.append(entry / name)
            except OSError:
                continue
    return found


def test_the_answer_reaches_the_program_and_not_the_composer(ask_room: AskRoom, person: list[Person]) -> None:
    agent = ask_room.compose("agent", *ask_room.ask_for_passphrase)
    person.append(ask_room.attach("agent"))
    agent.call()
    person[0].sees("asks:")
    person[0].sees("Enter passphrase")
    prompt = ask_room.waits("pop-up", ask_room.pane_pid("agent"))
    assert (prompt.who, prompt.kind) == ("ssh-keygen", "secret")
    person[0].types(PASSPHRASE)
    assert in_any_process(PASSPHRASE) == []
    person[0].types("\r")
    assert "ssh-ed25519 " in agent.printed("over 0")
    assert agent.typed() == b"\x12Z"
    assert PASSPHRASE not in ask_room.server.tmux("capture-pane", "-p", "-t", "=agent:")
    assert ask_room.left() == [] and ask_room.files_with(PASSPHRASE) == [] and in_any_process(PASSPHRASE) == []


def test_without_a_pop_up_that_is_answered_nothing_is_read_and_it_says_how_to_go_on(
    ask_room: AskRoom, person: list[Person]
) -> None:
    agent = ask_room.compose("agent", *ask_room.ask_for_passphrase)
    agent.call()
    said = agent.printed("over 255")
    [line] = [line for line in said.splitlines() if line.startswith("stallkit: no answer for ssh-keygen (pid ")]
    assert "python" in line and " reads its terminal, and there is no pop-up: no tmux client is attached; " in line
    assert line.endswith("run it in a terminal of its own, or first ssh-add the key, or accept the host key, there")
    person.append(ask_room.attach("agent"))
    agent.call()
    person[0].sees("Enter passphrase")
    ask_room.waits("pop-up")
    person[0].types("half of it\x03")
    agent.printed("the pop-up was closed without an answer")
    wait_for(lambda: agent.output.read_text().count("over 255") == 2, "the end of the call")
    assert agent.typed() == b"\x12\x12Z" and ask_room.left() == []
    own = ask_room.folder / "own"  # another pop-up, which is the person's
    ask_room.server.tmux("run-shell", "-b", f"tmux -S {ask_room.server.socket} display-popup -E 'cat > {own}'")
    wait_for(own.exists, "the person's own pop-up")
    agent.call()
    agent.printed("another pop-up is open")
    person[0].types("mine\r")
    wait_for(lambda: own.read_text() == "mine\n", "the person's own text")


def test_two_questions_at_once_are_asked_in_turn(ask_room: AskRoom, person: list[Person]) -> None:
    asks = " ".join(ask_room.ask_for_passphrase)
    agent = ask_room.compose("agent", "sh", "-c", f"{asks} & {asks} & wait")
    person.append(ask_room.attach("agent"))
    agent.call()
    for places in ([None, "pop-up"], ["pop-up"]):
        person[0].sees("Enter passphrase")

        def in_their_turn(wanted: list[str | None] = places) -> bool:
            return sorted((one.place for one in prompts(folder=ask_room.asked)), key=str) == wanted

        wait_for(in_their_turn, f"prompts at {places}")
        person[0].types(f"{PASSPHRASE}\r")
    assert agent.printed("over 0").count("ssh-ed25519 ") == 2
    assert agent.typed() == b"\x12Z"


def test_a_pop_up_does_not_close_under_the_hands_of_who_types(ask_room: AskRoom, person: list[Person]) -> None:
    """An agent's time-out ends the program that asks; the rest of the passphrase must not reach its composer."""
    agent = ask_room.compose("agent", "timeout", "--foreground", "1000", *ask_room.ask_for_passphrase)
    person.append(ask_room.attach("agent"))
    agent.call()
    person[0].sees("Enter passphrase")
    prompt = ask_room.waits("pop-up")
    person[0].types(PASSPHRASE[:7])
    os.kill(prompt.waits, signal.SIGTERM)
    agent.printed("over ")
    person[0].types(PASSPHRASE[7:11])
    person[0].sees("has ended")
    person[0].types(f"{PASSPHRASE[11:]}\r")
    assert agent.typed() == b"\x12Z"

    def reached() -> bool:
        person[0].types("x")
        return agent.keys.read_bytes().endswith(b"x")

    wait_for(reached, "the composer, as the pop-up is gone")
    assert set(agent.keys.read_bytes()) == set(b"\x12Zx")


def test_the_pop_up_closes_when_the_program_that_asks_ends(ask_room: AskRoom, person: list[Person]) -> None:
    agent = ask_room.compose("agent", "timeout", "--foreground", "1000", *ask_room.ask_for_passphrase)
    person.append(ask_room.attach("agent"))
    agent.call()
    person[0].sees("Enter passphrase")
    prompt = ask_room.waits("pop-up")
    os.kill(prompt.waits, signal.SIGKILL)
    agent.printed("over ")
    wait_for(lambda: not prompts(folder=ask_room.asked), "the end of the report")

    def reached() -> bool:
        person[0].types("\rx")
        return agent.keys.read_bytes().endswith(b"x")

    wait_for(reached, "the composer, as the pop-up is gone")
    left = ask_room.left()
    assert len(left) == 2, "a report and a socket of a killed process"
    ask_room.server.start("other", *ask_room.words(*ask_room.ask_for_passphrase))
    wait_for(lambda: prompts(folder=ask_room.asked), "another prompt")
    assert not set(left) & set(ask_room.left()), "they are not swept"
