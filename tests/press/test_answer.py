"""A person's answer to real programs: typed once, a secret nowhere to be seen."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from stallkit_sessions.runs.run import Run
from terminals import wait_for

from stallkit.detect.engine import Engine
from stallkit.detect.signature import State
from stallkit.jsonio import dump, unstructure
from stallkit.press.events import Event
from stallkit.press.gate import End
from stallkit.terminal.keys import Keys

SECRET = "correct-horse-battery"
LIBRARIES = Path(__file__).parent.parent.parent / ".cache" / "npm"


class Driven:
    """A real program in the background, and what it told."""

    def __init__(self, engine: Engine, command: list[str], env: dict[str, str] | None) -> None:
        self.events: list[Event] = []
        self.run = Run.start(command, engine=engine, env=env, on_event=self.events.append)

    def asked(self, shows: str) -> None:
        """Once it shows a text, and rests there."""
        wait_for(lambda: shows in self.run.poll().screen.text, f"{shows!r}")
        wait_for(lambda: self.run.poll().verdict.state is State.WAITING, f"a prompt: {self.run.poll()}")

    @property
    def told(self) -> str:
        return " ".join(json.dumps(dump(event)) + repr(event) for event in self.events)


@pytest.fixture
def drive(engine: Engine) -> Iterator[Callable[..., Driven]]:
    made: list[Driven] = []

    def start(*command: str, env: dict[str, str] | None = None) -> Driven:
        made.append(Driven(engine, list(command), env))
        return made[-1]

    yield start
    for driven in made:
        driven.run.stop()


TWICE = [  # how two single keys are asked for, one after the other
    "read -n1 -p 'Overwrite? ' a; read -n1 -p 'Really? ' b",
    "read -n1 -p 'Overwrite? ' a; echo; read -n1 -p 'Really? ' b",
    "read -n1 -s -p 'Overwrite? ' a; read -n1 -s -p 'Really? ' b",
    "read -n1 -s -p 'Overwrite? ' a; echo; sleep 0.3; read -n1 -p 'Really? ' b",
]


@pytest.mark.e2e
def test_single_keys_and_lines_in_a_row_get_one_answer_each(drive: Callable[..., Driven]) -> None:
    for driven in [drive("bash", "-c", f'{asks}; echo "[$a|$b]"') for asks in TWICE]:
        driven.asked("Overwrite?")
        assert driven.run.answer("y").keys == Keys.parse("y"), "no Enter"
        driven.asked("Really?")
        driven.run.answer("n")
        assert "[y|n]" in driven.run.join().output
    driven = drive(sys.executable, "-c", "a = input('Name: ')\nb = input('Town: ')\nprint(f'[{a}|{b}]')")
    driven.asked("Name:")
    assert driven.run.answer("Ada Byron")
    driven.asked("Town:")
    assert driven.run.answer("Wien").end in (End.GONE, End.CLEARED), "it may take a moment to end"
    assert "[Ada Byron|Wien]" in driven.run.join().output


@pytest.mark.e2e
def test_enter_follows_in_raw_prompts_that_want_it(drive: Callable[..., Driven]) -> None:
    if not (LIBRARIES / "node_modules").is_dir() or not shutil.which("node"):
        pytest.skip("the Node prompt libraries are not installed: scripts/test installs them")
    script = str(Path(__file__).parent.parent / "real" / "ask.cjs")
    libraries = ("prompts", "enquirer", "inquirer", "@inquirer/prompts", "@clack/prompts")
    env = {**os.environ, "NODE_LIBS": str(LIBRARIES)}
    for library, driven in [(one, drive("node", script, one, "text", env=env)) for one in libraries]:
        driven.asked("called")
        driven.run.answer("Ada")
        wait_for(lambda driven=driven: driven.run.poll().verdict.state is State.WORKING, f"{library} to take it")
        assert "Ada" in driven.run.poll().screen.text, library


@pytest.mark.e2e
def test_a_secret_is_typed_and_nowhere_to_be_seen(drive: Callable[..., Driven], caplog: Any) -> None:
    caplog.set_level(0)
    getpass = "import getpass; print(len(getpass.getpass()), 'characters')"
    shell = "read -s -p 'Passphrase: ' x; echo; echo ${#x} characters"
    for command, shows in (((sys.executable, "-c", getpass), "Password:"), (("bash", "-c", shell), "Passphrase:")):
        driven = drive(*command)
        driven.asked(shows)
        refused = driven.run.answer(SECRET)
        assert (refused.end, refused.keys) == (End.REFUSED, None), "not as plain text"
        assert driven.run.answer(SECRET, secret=True).keys is not None
        result = driven.run.join()
        assert f"{len(SECRET)} characters" in result.output
        shown = (result.output, result.screen.text, str(unstructure(result)), repr(result), driven.told, caplog.text)
        assert not [place for place in shown if SECRET in place]
        answered = [event.facts for event in driven.events if event.name == "run_answered"]
        assert [facts["answer"] for facts in answered] == [None, None]


@pytest.mark.e2e
def test_a_secret_is_not_typed_where_it_would_show_nor_recorded_where_it_came_too_early(
    drive: Callable[..., Driven],
) -> None:
    driven = drive("bash", "-c", "read -p 'Name: ' x")
    driven.asked("Name:")
    outcome = driven.run.answer(SECRET, secret=True)
    assert outcome.end is End.REFUSED and "would show" in outcome.why
    assert SECRET not in driven.run.stop().output + driven.told
    early = drive("sleep", "1000")  # it may be the password that the program is about to ask for
    assert early.run.answer(SECRET).end is End.REFUSED
    assert [event.name for event in early.events] == ["run_answered"]
    assert SECRET not in early.told
