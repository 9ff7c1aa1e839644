"""A person's answer at screens as values: typed once, a key at a time where a program may take one."""

from __future__ import annotations

from itertools import count, product
from typing import Any, Callable, Iterator

import pytest
from attrs import evolve
from stallkit_sessions.runs.run import Run

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Clause, Kind, Pack, Signature
from stallkit.evidence.snapshot import KernelFacts, ProcessFacts, Snapshot, TtyFacts
from stallkit.judging.judge import judged
from stallkit.press.gate import AGAIN_S, End, Outcome, answer, is_secret
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.testing import FakeClock, MemoryTransport

SECRET = "correct-horse-battery"
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


def test_no_key_follows_one_that_waits_unread() -> None:
    program = Program(KEYS)
    unread = evolve(program.transport.now, tty=evolve(KEYS, unread=1), screen=at("Name? A"))
    program.transport.on_keys = lambda keys: setattr(program.transport, "now", unread)
    outcome = program.answer("Ada")
    assert (outcome.end, program.sent) == (End.UNCHANGED, [b"A"]) and "it has not read them yet" in outcome.why


def test_a_key_that_a_moving_screen_keeps_back_is_tried_again_for_a_while_and_the_ones_before_it_are_not() -> None:
    for refusals, sent, end in ((3, [b"A", b"d", b"\r"], End.CLEARED), (10_000, [b"A"], End.UNCHANGED)):
        program = Program(KEYS, at("Name? A"), at("Name? Ad"), at("Working"))
        left = count(refusals, -1)

        def before_send(program: Program = program, left: Iterator[int] = left) -> None:
            takes = not program.sent or next(left) <= 0
            program.transport.now = evolve(program.transport.now, accepts_keys=takes)

        def sleep(seconds: float, program: Program = program) -> None:
            program.clock.sleep(seconds)
            program.transport.now = evolve(program.transport.now, accepts_keys=True)

        program.transport.before_send = before_send
        outcome = answer(program.transport, "Ad", program.transport.now, SIMPLE, clock=program.clock, sleep=sleep)
        assert (outcome.end, program.sent) == (end, sent), outcome
    assert outcome.why == "A was pressed, and d was not: it takes no keys" and outcome.keys == Keys.typed("A")
    assert AGAIN_S < program.clock.passed < 2 * AGAIN_S


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


def test_what_the_terminal_hides_is_a_secret_whatever_the_verdict_says_and_so_is_what_the_verdict_says() -> None:
    now, token = Program(LINES).transport.now, Program(LINES).show(at("Token: ")).transport.now
    name, secret = judged(SIMPLE, now, now), judged(SIMPLE, token, token)
    assert (name.kind, secret.kind) == (Kind.TEXT, Kind.SECRET)
    for tty, hides in (
        (HIDDEN, True),
        (LINES, False),
        (KEYS, False),  # single keys: most programs that read them show what they like
        (TtyFacts(True, False), False),
        (TtyFacts(), False),
        (TtyFacts(echo=False), False),
        (None, False),
    ):
        assert is_secret(name, evolve(now, tty=tty)) is hides, tty
        assert is_secret(secret, evolve(now, tty=tty)), tty
