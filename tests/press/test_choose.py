"""Options of real menus by their labels: by their own keys, or by moving and looking."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Iterator

import pytest
from attrs import evolve
from terminals import wait_for

from stallkit.detect.dialog import Dialog, Element
from stallkit.detect.engine import Engine
from stallkit.detect.menu import menu_of
from stallkit.detect.signature import Pack, Signature
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.verdict import Verdict
from stallkit.packs.registry import installed_engine
from stallkit.press.check import observe
from stallkit.press.gate import End, Pick, answer, press
from stallkit.press.policy import Choose
from stallkit.transports.pty import PtyTransport

pytestmark = pytest.mark.e2e

TESTS = Path(__file__).parent.parent
LIBRARIES = TESTS.parent / ".cache" / "npm"
PROGRAMS = TESTS.parent / ".cache" / "programs"
BOXES = str(Path(__file__).with_name("boxes_program.py"))
MENU = str(Path(__file__).with_name("menu_program.py"))
ENGINE: Engine = installed_engine()
made: list[PtyTransport] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    while made:
        made.pop().close()


def start(*command: str, shows: str, **more: str) -> tuple[PtyTransport, Verdict, Snapshot]:
    made.append(PtyTransport.spawn(list(command), env={**os.environ, "TERM": "xterm-256color", **more}))
    wait_for(lambda: shows in made[-1].capture().screen.text, f"{shows!r} of {command}")
    verdict, seen = observe(made[-1], ENGINE, watch_s=3)
    return made[-1], verdict, seen


def shown(transport: PtyTransport) -> str:
    return transport.capture().screen.text


@pytest.mark.parametrize("library", ["prompts", "enquirer", "inquirer", "@inquirer/prompts", "@clack/prompts"])
def test_the_menus_of_nodes_prompt_libraries(library: str) -> None:
    if not (LIBRARIES / "node_modules" / library).is_dir() or not shutil.which("node"):
        pytest.skip("the Node prompt libraries are not installed: scripts/test installs them")
    for label in ("Blue", "red"):
        script = str(TESTS / "real" / "ask.cjs")
        transport, verdict, seen = start("node", script, library, "select", shows="Blue", NODE_LIBS=str(LIBRARIES))
        menu = menu_of(verdict.detection)
        assert menu is not None and [one.text for one in menu.options] == ["Red", "Green", "Blue"]
        outcome = answer(transport, label, seen, ENGINE)
        assert outcome.end is End.CLEARED, outcome
        assert label.title() in shown(transport).strip().split("\n")[-1]


@pytest.mark.parametrize("kind", ["select", "rawselect"])
def test_the_menus_of_questionary(kind: str) -> None:
    if not PROGRAMS.is_dir():
        pytest.skip("the programs of PyPI are not installed: scripts/test installs them")
    ask = f"import questionary; print('took', questionary.{kind}('Pick', choices=['Red', 'Green', 'Blue']).ask())"
    transport, _, seen = start(sys.executable, "-c", ask, shows="Blue", PYTHONPATH=str(PROGRAMS))
    assert answer(transport, "Blue", seen, ENGINE).pressed
    wait_for(lambda: "took Blue" in shown(transport), "the answer")


def test_the_select_of_bash() -> None:
    asks = "select it in Red 'Light Blue'; do echo took $it; break; done; read -n1 -p 'Delete all? [Y/n] ' x; echo $x."
    transport, _, seen = start("bash", "-c", asks, shows="#?")
    assert answer(transport, "Light Blue", seen, ENGINE).end is End.REPLACED
    assert "took Light Blue" in shown(transport) and shown(transport).strip().endswith("[Y/n]")


@pytest.mark.parametrize(
    ("how", "at", "label"),
    [
        ("plain", 0, "Blue"),
        ("plain", 1, "Green"),  # the selected one
        ("plain", 2, "Red"),  # up, not on around its end
        ("ring", 2, "Green"),
        ("redraw", 0, "Blue"),  # wholly, a character at a time
        ("skip", 0, "Blue"),
        ("skip", 0, "Green"),  # never the selected one of two steps: it goes back and forth
        ("number", 0, "Blue"),
        ("number marks", 0, "Blue"),  # its number only moves to it
        ("hint", 0, "Blue"),  # beside the selected one
    ],
)
def test_a_menu_of_no_known_program(how: str, at: int, label: str) -> None:
    transport, _, seen = start(sys.executable, MENU, how, str(at), shows="Blue")
    outcome = answer(transport, label, seen, ENGINE)
    can = (how, label) != ("skip", "Green")
    assert (outcome.end is End.REPLACED) is can, outcome
    assert (f"took {label}" in shown(transport)) is can and "second" not in shown(transport)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("letters", "the mark of its menu did not move, which may take other keys"),
        ("deaf", "the mark of its menu did not move"),
        ("changes", "the prompt stands there otherwise than was to be expected"),
        ("asks", ""),  # the first key answers it, and another question stands there
    ],
)
def test_a_menu_that_does_otherwise_gets_one_key_and_no_enter(how: str, why: str) -> None:
    transport, _, seen = start(sys.executable, MENU, how, "0", shows="Blue")
    outcome = answer(transport, "Blue", seen, ENGINE)
    assert why in outcome.why and str(outcome.keys) == "Down", outcome
    assert "took Blue" not in shown(transport) and "second" not in shown(transport)


COLOURS = Signature(
    id="colour", title="a colour", state="waiting", kind="select", severity="low", all_of=["Pick a colour"],
    dialog=Dialog(["Pick a colour", *(Element(option=colour) for colour in ("Red", "Green", "Blue"))], ["top"]),
)  # fmt: skip


def test_a_machine_chooses_at_a_menu_of_a_program_that_is_proven_and_nowhere_else(tmp_path: Path) -> None:
    name = "colours"
    program = tmp_path / name
    shutil.copy(Path(sys.executable).resolve(), program)
    knows = Engine([Pack("colours", foreground=[name], signatures=[COLOURS])])
    others = Engine([Pack("colours", foreground=["claude"], signatures=[COLOURS])])
    vague = Engine([Pack("colours", foreground=[name], signatures=[evolve(COLOURS, dialog=())])])
    for engine, how, label, why in [
        (knows, "plain", "Blue", ""),
        (knows, "plain", "blue", "has no option 'blue'"),  # a rule names it to the letter
        (knows, "changes", "Blue", "the prompt stands there otherwise"),
        (knows, "deaf", "Blue", "the mark of its menu did not move"),
        (others, "plain", "Blue", "the prompt is no longer there"),
        (vague, "plain", "Blue", ""),  # a menu is read by its rows
    ]:
        transport, _, _ = start(str(program), MENU, how, "0", shows="Blue")
        _, seen = observe(transport, engine, watch_s=3)
        outcome = press(transport, Choose(engine.packs[0].signatures[0], label), seen, engine)
        assert why in outcome.why and bool(outcome) is (not why), (engine.packs[0], how, outcome)
        assert ("took Blue" in shown(transport)) is (not why) and "second" not in shown(transport)


CHECKS = Signature(
    id="checks", title="checks", state="waiting", kind="question", severity="high", all_of=["Which checks"],
    dialog=Dialog(
        [
            "{question}",
            Element(choices=True),
            Element(option="Submit", role="submit"),
            Element(row=["Enter to select", "Enter to select, ctrl+g to edit in {editor}"]),
        ],
        ["rule"],
        {"question": "line", "editor": {"is": "word", "aside": True}},
    ),
)  # fmt: skip


def test_several_options_are_ticked_and_sent_and_nothing_else_is() -> None:
    engine = Engine([Pack("checks", foreground=[Path(sys.executable).resolve().name], signatures=[CHECKS])])
    failed = []
    for how, labels, took, why in [
        ("plain", ("Lint", "Tests"), "took Lint, Tests", ""),
        ("plain", ("Types",), "took Types", ""),
        ("one is ticked", ("Lint",), "took Lint", ""),  # that one no more
        ("plain", ("Deploy",), "", "'Deploy' cannot be ticked: only 'Lint', 'Tests', 'Types'"),
        ("deaf", ("Lint",), "", "no box of it was ticked"),
        ("another", ("Lint",), "", "the prompt stands there otherwise than was to be expected"),
        ("renamed", ("Lint",), "", "another prompt is there now"),
        ("stays", ("Lint",), "", "no box of it was ticked"),
    ]:
        transport, _, _ = start(str(Path(sys.executable).resolve()), BOXES, how, shows="Enter to select")
        _, seen = observe(transport, engine, watch_s=3)
        outcome = press(transport, Pick(labels), seen, engine)
        text = shown(transport)
        if why not in outcome.why or took not in text or ("took" in text) is not bool(took) or "second" in text:
            failed.append((how, labels, outcome, text))
    assert not failed


def test_an_option_that_is_not_there_gets_no_key() -> None:
    transport, _, seen = start(sys.executable, MENU, "plain", "0", shows="Blue")
    outcome = press(transport, Pick("Pink"), seen, ENGINE)
    assert (outcome.end, outcome.keys) == (End.REFUSED, None)
    assert outcome.why == "its menu has no option 'Pink': it has 'Red', 'Green', 'Blue'"
