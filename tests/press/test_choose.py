"""Options of real menus by their labels: by their own keys, or by moving and looking."""

from __future__ import annotations

import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Callable, Iterable, Iterator, TypeVar

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
from stallkit.press.gate import End, Outcome, Pick, Request, answer, press
from stallkit.press.policy import Choose
from stallkit.transports.pty import PtyTransport

pytestmark = pytest.mark.e2e

TESTS = Path(__file__).parent.parent
LIBRARIES = TESTS.parent / ".cache" / "npm"
PROGRAMS = TESTS.parent / ".cache" / "programs"
BOXES = str(Path(__file__).with_name("boxes_program.py"))
MENU = str(Path(__file__).with_name("menu_program.py"))
ENGINE: Engine = installed_engine()
AT_ONCE, TRIES = 4, 5
Scene = tuple[PtyTransport, Verdict, Snapshot]
T = TypeVar("T")


def played(scenes: Iterable[T], play: Callable[[T], object]) -> None:
    """Each scene is played, several at a time, since they mostly wait; what is wrong with any of them is told."""
    wrong = []

    def one(scene: T) -> None:
        try:
            play(scene)
        except AssertionError as error:
            wrong.append((scene, error))

    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(one, scenes))
    assert not wrong, wrong


@contextmanager
def started(*command: str, shows: str, engine: Engine = ENGINE, **more: str) -> Iterator[Scene]:
    with PtyTransport.spawn(list(command), env={**os.environ, "TERM": "xterm-256color", **more}) as transport:
        wait_for(lambda: shows in transport.capture().screen.text, f"{shows!r} of {command}")
        yield (transport, *observe(transport, engine, watch_s=3))


def pressed(transport: PtyTransport, request: Request, seen: Snapshot, engine: Engine) -> Outcome:
    """Tried again if nothing was pressed since the screen had moved: on a busy machine it is drawn late."""
    for _ in range(TRIES):
        outcome = press(transport, request, seen, engine)
        if outcome.keys is not None or "the screen changed" not in outcome.why:
            break
        seen = transport.capture()
    return outcome


def shown(transport: PtyTransport) -> str:
    return transport.capture().screen.text


def test_the_menus_of_nodes_prompt_libraries() -> None:
    if not (LIBRARIES / "node_modules").is_dir() or not shutil.which("node"):
        pytest.skip("the Node prompt libraries are not installed: scripts/test installs them")

    def play(scene: tuple[str, str]) -> None:
        library, label = scene
        command = ("node", str(TESTS / "real" / "ask.cjs"), library, "select")
        with started(*command, shows="Blue", NODE_LIBS=str(LIBRARIES)) as (transport, verdict, seen):
            menu = menu_of(verdict.detection)
            assert menu is not None and [one.text for one in menu.options] == ["Red", "Green", "Blue"]
            outcome = answer(transport, label, seen, ENGINE)
            assert outcome.end is End.CLEARED, outcome
            assert label.title() in shown(transport).strip().split("\n")[-1]

    libraries = ("prompts", "enquirer", "inquirer", "@inquirer/prompts", "@clack/prompts")
    played(product(libraries, ("Blue", "red")), play)


def test_the_menus_of_questionary_and_of_bash() -> None:
    if not PROGRAMS.is_dir():
        pytest.skip("the programs of PyPI are not installed: scripts/test installs them")

    def play(kind: str) -> None:
        ask = f"import questionary; print('took', questionary.{kind}('Pick', choices=['Red', 'Green', 'Blue']).ask())"
        with started(sys.executable, "-c", ask, shows="Blue", PYTHONPATH=str(PROGRAMS)) as (transport, _, seen):
            assert answer(transport, "Blue", seen, ENGINE).pressed
            wait_for(lambda: "took Blue" in shown(transport), "the answer")

    played(("select", "rawselect"), play)
    asks = "select it in Red 'Light Blue'; do echo took $it; break; done; read -n1 -p 'Delete all? [Y/n] ' x; echo $x."
    with started("bash", "-c", asks, shows="#?") as (transport, _, seen):
        assert answer(transport, "Light Blue", seen, ENGINE).end is End.REPLACED
        assert "took Light Blue" in shown(transport) and shown(transport).strip().endswith("[Y/n]")


MENUS = [  # how the menu behaves, its selected row, and the one that is wanted
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
]


def test_a_menu_of_no_known_program() -> None:
    def play(scene: tuple[str, int, str]) -> None:
        how, at, label = scene
        with started(sys.executable, MENU, how, str(at), shows="Blue") as (transport, _, seen):
            outcome = answer(transport, label, seen, ENGINE)
            can = (how, label) != ("skip", "Green")
            assert (outcome.end is End.REPLACED) is can, outcome
            assert (f"took {label}" in shown(transport)) is can and "second" not in shown(transport)

    played(MENUS, play)


def test_a_menu_that_does_otherwise_gets_one_key_and_no_enter_and_no_key_for_what_it_has_not() -> None:
    def play(scene: tuple[str, str]) -> None:
        how, why = scene
        with started(sys.executable, MENU, how, "0", shows="Blue") as (transport, _, seen):
            outcome = answer(transport, "Blue", seen, ENGINE)
            assert why in outcome.why and str(outcome.keys) == "Down", outcome
            assert "took Blue" not in shown(transport) and "second" not in shown(transport)

    otherwise = [
        ("letters", "the mark of its menu did not move, which may take other keys"),
        ("deaf", "the mark of its menu did not move"),
        ("changes", "the prompt stands there otherwise than was to be expected"),
        ("asks", ""),  # the first key answers it, and another question stands there
    ]
    played(otherwise, play)
    with started(sys.executable, MENU, "plain", "0", shows="Blue") as (transport, _, seen):
        outcome = press(transport, Pick("Pink"), seen, ENGINE)
        assert (outcome.end, outcome.keys) == (End.REFUSED, None)
        assert outcome.why == "its menu has no option 'Pink': it has 'Red', 'Green', 'Blue'"


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

    def play(scene: tuple[Engine, str, str, str]) -> None:
        engine, how, label, why = scene
        with started(str(program), MENU, how, "0", shows="Blue", engine=engine) as (transport, _, seen):
            outcome = pressed(transport, Choose(engine.packs[0].signatures[0], label), seen, engine)
            assert why in outcome.why and bool(outcome) is (not why), outcome
            assert ("took Blue" in shown(transport)) is (not why) and "second" not in shown(transport)

    scenes = [
        (knows, "plain", "Blue", ""),
        (knows, "plain", "blue", "has no option 'blue'"),  # a rule names it to the letter
        (knows, "changes", "Blue", "the prompt stands there otherwise"),
        (knows, "deaf", "Blue", "the mark of its menu did not move"),
        (others, "plain", "Blue", "the prompt is no longer there"),
        (vague, "plain", "Blue", ""),  # a menu is read by its rows
    ]
    played(scenes, play)


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


TICKS = [  # how the program behaves, what is to be ticked, what it took, or why not
    ("plain", ("Lint", "Tests"), "took Lint, Tests", ""),
    ("plain", ("Types",), "took Types", ""),
    ("one is ticked", ("Lint",), "took Lint", ""),  # that one no more
    ("plain", ("Deploy",), "", "'Deploy' cannot be ticked: only 'Lint', 'Tests', 'Types'"),
    ("deaf", ("Lint",), "", "no box of it was ticked"),
    ("another", ("Lint",), "", "the prompt stands there otherwise than was to be expected"),
    ("renamed", ("Lint",), "", "another prompt is there now"),
    ("stays", ("Lint",), "", "no box of it was ticked"),
]


def test_several_options_are_ticked_and_sent_and_nothing_else_is() -> None:
    python = str(Path(sys.executable).resolve())
    engine = Engine([Pack("checks", foreground=[Path(python).name], signatures=[CHECKS])])

    def play(scene: tuple[str, tuple[str, ...], str, str]) -> None:
        how, labels, took, why = scene
        with started(python, BOXES, how, shows="Enter to select", engine=engine) as (transport, _, seen):
            outcome, text = pressed(transport, Pick(labels), seen, engine), shown(transport)
            assert why in outcome.why and took in text, (outcome, text)
            assert ("took" in text) is bool(took) and "second" not in text, (outcome, text)

    played(TICKS, play)
