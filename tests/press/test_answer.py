"""A person's answer: typed once, a key at a time where a program may take one, secrets nowhere to be seen."""

from __future__ import annotations

import json
import os
import shutil
import sys
from itertools import product
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from attrs import evolve
from stallkit_sessions.runs.run import Run
from terminals import wait_for

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Clause, Pack, Signature, State
from stallkit.evidence.snapshot import KernelFacts, ProcessFacts, Snapshot, TtyFacts
from stallkit.jsonio import dump, unstructure
from stallkit.judging.judge import judged
from stallkit.press.events import Event
from stallkit.press.gate import End, Outcome, answer, is_secret
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.testing import FakeClock, MemoryTransport

SECRET = "correct-horse-battery"
LIBRARIES = Path(__file__).parent.parent.parent / ".cache" / "npm"
LINES, KEYS, HIDDEN = TtyFacts(True, True), TtyFacts(False, False), TtyFacts(False, True)
READS = KernelFacts(listening=True, how="read", foreground="script")
DEAF = evolve(READS, listening=False, how=None)
PACK = Pack(
    name="p",
    signatures=[
        Signature(id="ask", title="ask", state="waiting", kind="text", all_of=[Clause(text="? ", where="prompt_line")]),
        Signature(id="token", title="token", state="waiting", kind="secret", all_of=[Clause(text="Token:")]),
        Signature(id="busy", title="busy", state="working", all_of=[Clause(text="Working")]),
    ],
)
SIMPLE = Engine([PACK])


def at(*lines: str) -> Screen:
    return Screen.from_text("\n".join(lines), cursor=(len(lines[-1]), len(lines) - 1))


class Program:
    """A session in memory whose every key is followed by what the script shows next."""

    def __init__(self, tty: TtyFacts, *shows: Screen | None, kernel: KernelFacts = READS) -> None:
        steps = iter(shows)
        self.transport = MemoryTransport(at("Name? "), lambda keys: next(steps, None))
        self.transport.now = evolve(self.transport.now, tty=tty, kernel=kernel, process=ProcessFacts("script"))
        self.clock = FakeClock()

    def show(self, screen: Screen) -> Program:
        self.transport.show(screen)
        return self

    def answer(
        self, given: str | Keys, secret: bool = False, seen: Snapshot | None = None, engine: Engine = SIMPLE
    ) -> Outcome:
        with_it: Any = {"secret": secret, "clock": self.clock, "sleep": self.clock.sleep}
        return answer(self.transport, given, seen or self.transport.now, engine, **with_it)

    @property
    def sent(self) -> list[bytes]:
        return self.transport.sent


# --- with values ---


def test_a_line_is_typed_with_its_enter_at_once_and_an_empty_answer_is_enter_alone() -> None:
    """The kernel gathers a line, so that nothing can react in between."""
    program = Program(LINES, at("Name? Ada", "Working"))
    assert program.answer("Ada").end is End.CLEARED
    assert program.sent == [b"Ada\r"]
    for tty in (LINES, KEYS):
        program = Program(tty, at("Name? ", ""))
        program.answer("")
        assert program.sent == [b"\r"]


FOLLOWS = [  # what is shown after the first of three characters, and whether the second is typed
    (at("Name? A"), True),
    (at("Name? *"), True),  # masked
    (at("Name? •"), True),
    (None, False),  # not shown at all
    (at("Name? A", "Age? "), False),  # taken, and the next question asked
    (at("Age? "), False),  # in the same place
    (at("Age? A"), False),
    (at("Name? AAge? "), False),
    (at("Name? Ad"), False),  # completed by somebody else
    (at("Name? - wrong"), False),
    (at("Working"), False),
    (at(""), False),
    (at("A hint", "Name? A"), False),
]


def test_a_key_follows_only_at_the_same_prompt() -> None:
    """Also where it is unknown how the terminal takes input."""
    failed = []
    for tty, (shown, follows) in product((KEYS, TtyFacts(True, False), TtyFacts()), FOLLOWS):
        program = Program(tty, shown, at("Name? Ad"), at("Name? Ada"), at("Thanks"))
        outcome = program.answer("Ada")
        if (len(program.sent) > 1) is not follows or outcome.keys is None:
            failed.append((tty, shown, program.sent, outcome))
    assert not failed, failed


def test_a_text_goes_character_by_character_and_enter_after_all_of_it() -> None:
    for shows in ("Ada", "***"):
        program = Program(KEYS, *(at(f"Name? {shows[:length]}") for length in (1, 2, 3)), at("Thanks"))
        outcome = program.answer("Ada")
        assert (outcome.end, str(outcome.keys)) == (End.REPLACED, "'Ada' Enter")
        assert program.sent == [b"A", b"d", b"a", b"\r"]


def test_what_is_not_shown_as_typed_stops_it_and_says_so() -> None:
    program = Program(KEYS, at("Name? A"), at("Name? Ax"))
    outcome = program.answer("Ada")
    assert (outcome.end, program.sent) == (End.UNCHANGED, [b"A", b"d"])
    why = "the prompt stands there otherwise than was to be expected"
    assert outcome.why == f"'Ad' was pressed, and nothing after it: {why}"


def own_cursor(*lines: str) -> Screen:
    return Screen.from_text("\n".join(lines), cursor=(0, 4), cursor_visible=False)


OWN_CURSORS = [  # what is shown after the one character, and whether Enter is typed
    (own_cursor("◆ Name? ", "│ A█", "└"), True),
    (own_cursor("◆ Name? ", "│ ▪█", "└"), True),
    (own_cursor("◆ Name? ", "│ _", "└"), False),  # not shown at all
    (own_cursor("◇ Name? ", "│ A", "◆ Age?", "│ █", "└"), False),
    (own_cursor("◆ Age? ", "│ █", "└"), False),
    (own_cursor("◆ Name? ", "│ Ad█", "└"), False),
    (own_cursor("◆ Name? ", "│ A█", "└ too short"), False),
]


def test_programs_that_draw_a_cursor_of_their_own() -> None:
    signature = Signature(id="own", title="own", state="waiting", kind="text", all_of=[Clause(text="◆")])
    engine = Engine([Pack(name="own", signatures=[signature])])
    for shown, enter in OWN_CURSORS:
        program = Program(KEYS, shown).show(own_cursor("◆ Name? ", "│ _", "└"))
        program.answer("A", engine=engine)
        assert program.sent == [b"A", b"\r"][: 1 + enter], shown


def test_no_enter_where_the_foreground_changed() -> None:
    program = Program(KEYS)
    program.transport.on_keys = lambda keys: setattr(
        program.transport, "now", evolve(program.transport.now, process=ProcessFacts("other"))
    )
    program.answer("Ada")
    assert program.sent == [b"A"]


def test_keys_are_pressed_one_at_a_time_as_long_as_only_a_mark_moves() -> None:
    for shown, follows in [(at("Name? "), True), (at("Age? "), False)]:
        program = Program(KEYS, shown, at("Thanks"))
        program.answer(Keys.parse("Down Enter"))
        assert program.sent == [b"\x1b[B", b"\r"][: 1 + follows]


def test_an_answer_is_one_line_without_control_characters() -> None:
    for text in ("y\ny", "y\r", "y\x1b[A", "y\x00", "\x03", "y\u2028y", "y\x9b1m", "a\tb"):
        for secret in (False, True):
            program = Program(LINES)
            with pytest.raises(ValueError, match="an answer is one line without control characters"):
                program.answer(text, secret=secret)
            assert (program.sent, program.transport.captures) == ([], 0)
        with pytest.raises(ValueError, match="an answer is one line"):
            Run.start(["true"], engine=SIMPLE, answers=["y", text])


def test_nothing_is_added_to_what_somebody_typed() -> None:
    engine = Engine([evolve(PACK, signatures=[evolve(PACK.signatures[0], all_of=[Clause(text="Name")])])])
    for given in ("Byron", Keys.parse("Enter")):
        program = Program(LINES).show(at("Name? Ada"))
        outcome = program.answer(given, engine=engine)
        assert (outcome.end, program.sent) == (End.REFUSED, [])
        assert outcome.why == "somebody's text stands before the cursor: 'Ada'"
        program = Program(evolve(KEYS, unread=1))
        assert "keys wait unread" in program.answer(given).why and not program.sent


def test_a_prompts_own_signs_are_no_text_of_somebodys() -> None:
    for shown in ("Name? [y/N] ", "Name (yes|no)? ", "Name [Ada]: (Enter for Ada) ", "Name? [1] > "):
        program = Program(LINES).show(at(shown))
        outcome = program.answer("Ada")
        assert "stands before the cursor" not in outcome.why and program.sent, (shown, outcome)


def test_what_works_gets_nothing() -> None:
    working = [
        (at("Working"), READS, "nothing waits for it: it is working"),
        (at("Name? "), DEAF, "nothing waits for it: it is working (quoted or answered"),
        (at("1 of 20"), DEAF, "nothing waits for it"),
    ]
    for (screen, kernel, why), given in product(working, ("y", "", Keys.parse("Enter"))):
        program = Program(LINES, kernel=kernel).show(screen)
        outcome = program.answer(given)
        assert (outcome.end, program.sent) == (End.REFUSED, []) and outcome.why.startswith(why), (screen, outcome)


CHANGES: list[tuple[Callable[[Snapshot], Snapshot], str]] = [
    (lambda now: evolve(now, screen=at("Age? ")), "the screen changed between two looks"),
    (lambda now: evolve(now, screen=Screen.from_text("Name? ", cursor=(3, 0))), "the screen changed between two looks"),
    (lambda now: evolve(now, process=ProcessFacts("other")), "other took the foreground from script"),
    (lambda now: evolve(now, identity="another"), "it is another session now"),
    (lambda now: evolve(now, alive=False), "its program ended"),
    (lambda now: evolve(now, kernel=DEAF), "nothing waits for it"),
    (lambda now: evolve(now, tty=HIDDEN), "what it asks for is a secret"),
]


def test_what_changed_between_the_looks_gets_nothing() -> None:
    for change, why in CHANGES:
        program = Program(LINES)
        seen, program.transport.now = program.transport.now, change(program.transport.now)
        outcome = program.answer("y", seen=seen)
        assert (outcome.end, program.sent) == (End.REFUSED, []) and outcome.why.startswith(why), (why, outcome)


SECRETS = [
    # terminal, screen, given as a secret, is typed
    (HIDDEN, at("Password: "), True, True),
    (HIDDEN, at("Password: "), False, False),
    (KEYS, at("Token: "), True, True),
    (KEYS, at("Token: "), False, False),
    (LINES, at("Name? "), True, False),
    (KEYS, at("Name? "), True, False),
    (TtyFacts(), at("Name? "), True, False),  # unknown is not hidden
]


def test_secrets_and_prompts_for_them_go_together() -> None:
    for tty, screen, secret, typed in SECRETS:
        program = Program(tty).show(screen)
        outcome = program.answer(SECRET, secret=secret)
        assert (bool(program.sent), outcome.end is End.REFUSED) == (typed, not typed), (tty, screen, secret)
        assert SECRET not in outcome.why
    now = evolve(Program(HIDDEN).transport.now, tty=HIDDEN)
    assert is_secret(judged(SIMPLE, now, now), now), "what hides is one, whatever its words"
    assert not is_secret(judged(SIMPLE, evolve(now, tty=TtyFacts()), now), evolve(now, tty=TtyFacts()))


# --- real programs ---


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
