"""What else may be asked of the gate: an option, a button, a text for a composer, Escape; and how it is told."""

from __future__ import annotations

from typing import Any

from attrs import evolve
from composed import ENGINE as COMPOSERS
from composed import SIGNATURE
from looks import reads

from stallkit.detect.dialog import Button, Dialog, Element
from stallkit.detect.engine import Engine
from stallkit.detect.signature import Pack, Signature
from stallkit.evidence.snapshot import Snapshot, TtyFacts
from stallkit.press.gate import SEALED, End, Outcome, OutcomeJson, Pick, Request, answer, commit, press
from stallkit.press.policy import Choose, Interrupt
from stallkit.press.strokes import Compose
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.testing import FakeClock, MemoryTransport

RAW = TtyFacts(False, False)
MENU = Signature("menu", "", "waiting", ["Pick:"], kind="select")
ALLOW = Dialog(["Run {file}?", Element(buttons=[Button("Once"), Button("Never", key="n")])], "blank", {"file": "path"})
ASKS = Signature("asks", "", "waiting", ["Run "], kind="permission", dialog=ALLOW)
WORKS, DONE = Signature("works", "", "working", ["Herding"]), Signature("done", "", "idle", ["Done."])
ENGINE = Engine([Pack("acme", foreground=["acme"], signatures=[MENU, ASKS, WORKS, DONE])])


class Hands(MemoryTransport):
    """A session that takes clicks, keys at a dialog below what moves, and keys while its screen moves."""

    mouse = True
    below: tuple[int, ...] = ()
    looked = moving = 0

    def takes_clicks(self, seen: Snapshot) -> bool:
        return self.mouse

    def send_below(self, keys: Keys, seen: Snapshot, first: int) -> None:
        self.below = (*self.below, first)
        self.send(keys, seen)

    def capture_moving(self) -> Snapshot:
        self.looked += 1
        return self.capture()

    def send_moving(self, keys: Keys, seen: Snapshot) -> None:
        self.moving += 1
        self.send(keys, seen)


def session(
    text: str,
    *shows: str,
    cursor: tuple[int, int] | None = None,
    kind: type[MemoryTransport] = Hands,
    program: str = "acme",
    **now: Any,
) -> MemoryTransport:
    """A program that reads keys one by one, and what it shows after each."""
    steps = iter([Screen.from_text(one, cursor, (80, 24), cursor is not None) for one in shows])
    screen = Screen.from_text(text, cursor, (80, 24), cursor is not None)
    made = kind(screen, lambda keys: next(steps, None), foreground=program, kernel=reads(program))
    made.now = evolve(made.now, **({"tty": RAW, "quiet_s": 1.0} | now))
    return made


def at(transport: MemoryTransport, request: Request, engine: Engine = ENGINE) -> Outcome:
    clock = FakeClock()
    return press(transport, request, transport.now, engine, clock, clock.sleep)


RED, GREEN = "Pick:\n❯ Red\n  Green", "Pick:\n  Red\n❯ Green"


def test_an_option_is_moved_to_and_taken_or_is_none_of_the_menu() -> None:
    for request in (Pick("Green"), Choose(MENU, "Green")):
        transport = session(RED, GREEN, "Herding")
        outcome = at(transport, request)
        assert (outcome.end, transport.sent) == (End.CLEARED, [b"\x1b[B", b"\r"]), (request, outcome)
        assert isinstance(transport, Hands) and transport.looked == 0, "a menu is still"
    again = session(GREEN, "Pick:\n❯ Blue\n  Grey")
    assert at(again, Choose(MENU, "Green")).end is End.CLEARED, "any change is enough"
    transport = session(RED)
    for outcome in (at(transport, Pick("Blue")), commit(transport, Pick("Blue"), transport.now, ENGINE)):
        assert (outcome.end, transport.sent) == (End.REFUSED, []) and "no option 'Blue'" in outcome.why


def test_a_button_is_clicked_where_the_program_takes_clicks_whatever_moves_above_its_dialog() -> None:
    shown = [f"Herding{dots}\n\nRun a.sh?\nOnce   Never" for dots in ("", "…")]
    click, no_mouse = Keys.click(0, 3).to_bytes(), "its program takes no clicks of the mouse, or that is not known"
    for given, kind, mouse, end, sent in (
        ("once", Hands, True, End.CLEARED, [click]),
        ("once", Hands, False, End.REFUSED, []),
        ("once", MemoryTransport, True, End.REFUSED, []),
        ("never", Hands, False, End.CLEARED, [b"n"]),
    ):
        transport, clock = session(shown[0], "Herding", kind=kind), FakeClock()
        seen = transport.now
        transport.mouse = mouse  # type: ignore[attr-defined]
        transport.show(shown[1])
        outcome = answer(transport, given, seen, ENGINE, clock=clock, sleep=clock.sleep)
        assert (outcome.end, transport.sent) == (end, sent), (given, kind, outcome)
        assert end is End.CLEARED or no_mouse in outcome.why
        assert getattr(transport, "below", ()) == ((2,) if sent else ())


def test_a_dialog_below_other_rows_is_answered_only_where_whoever_drew_it_reads() -> None:
    other = evolve(reads("acme", pid=9), first_seen=reads("acme").readers)
    for change, why in (({"kernel": other}, "and did not when the prompt was first seen"), ({"sealed": True}, SEALED)):
        transport = session("Herding\n\nRun a.sh?\nOnce   Never")
        seen, transport.now = transport.now, evolve(transport.now, **change)
        outcome = press(transport, Pick("Never"), seen, ENGINE)
        assert (outcome.end, transport.sent) == (End.REFUSED, []) and why in outcome.why, outcome


def test_escape_is_pressed_once_while_the_screen_moves() -> None:
    for shows, end in ((["Done."], End.CLEARED), (["Herding on"], End.UNCHANGED), ([], End.UNCHANGED)):
        transport = session("Herding", *shows, quiet_s=0.0)
        outcome = at(transport, Interrupt("it hangs"))
        assert (outcome.end, transport.sent) == (end, [b"\x1b"]), outcome
        assert isinstance(transport, Hands) and (transport.looked, transport.moving) == (1, 1)
        assert end is End.CLEARED or outcome.why == "it still says that it works, 10 s after Escape"
    for kind, text, why in (
        (MemoryTransport, "Herding", "its transport presses no key at a screen that moves"),
        (Hands, RED, "it does not say that it works"),
    ):
        transport = session(text, kind=kind, quiet_s=0.0)
        outcome = at(transport, Interrupt("it hangs"))
        assert (outcome.end, transport.sent) == (End.REFUSED, []) and why in outcome.why, outcome


RULE = "-" * 40


def composer(text: str) -> str:
    return f"agent\n{RULE}\n> {text}\n{RULE}\n  ready"


def test_a_text_stands_alone_in_the_composer_before_enter_and_no_longer_after_it() -> None:
    assert SIGNATURE.composer is not None
    types = Compose(Keys.typed("go on"), SIGNATURE.composer, "", "go on")
    enters = Compose(Keys.parse("Enter"), SIGNATURE.composer, "go on", "")
    for request, before, after, end, why in (
        (types, "", "go on", End.CLEARED, ""),
        (types, "", "go", End.UNCHANGED, "typed, but the text does not stand alone in the composer"),
        (types, "mine", "mine", End.REFUSED, "somebody's text"),
        (enters, "go on", "", End.CLEARED, ""),
        (enters, "go on", "go on", End.UNCHANGED, "Enter was pressed, and the text still stands in the composer"),
        (enters, "go", "go", End.REFUSED, "is not exactly the text"),
    ):
        transport = session(composer(before), cursor=(2 + len(before), 2), program="agent")
        now = evolve(transport.now, screen=Screen.from_text(composer(after), (2 + len(after), 2), (80, 24), True))
        transport.on_keys = lambda keys, transport=transport, now=now: setattr(transport, "now", now)  # type: ignore[misc]
        outcome = at(transport, request, COMPOSERS)
        assert outcome.end is end and why in outcome.why, (request, before, after, outcome)
        assert transport.sent == ([] if end is End.REFUSED else [request.keys.to_bytes()])


def test_an_outcome_is_the_same_in_json() -> None:
    for outcome in (Outcome(End.REFUSED, "no"), Outcome(End.CLEARED, "yes", Keys.parse("1 Enter"))):
        assert OutcomeJson.of(outcome).value == outcome
