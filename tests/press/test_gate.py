"""The gate: every doubt refuses with nothing sent, a key is pressed once whatever happens, and verified."""

from __future__ import annotations

from typing import Any, Callable

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from looks import ONE_LINE, reads

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Clause, Dismissal, Expect, Pack, Signature
from stallkit.errors import CaptureTimeout, SessionGone, TransportError
from stallkit.evidence.snapshot import KernelFacts, Member, ProcessFacts, Snapshot, TtyFacts
from stallkit.press.gate import POLL_S, REST_S, Answer, End, Forced, Outcome, Request, commit, confirm
from stallkit.press.gate import press as press_at
from stallkit.press.policy import Decision, Escalate, Ignore, Press, Restart, Resume, Wait
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.testing import FakeClock, MemoryTransport

VERIFY_TIMEOUT_S = 1.0


def signature(name: str, literal: str, expect: str = "gone", **more: Any) -> Signature:
    dismissal = Dismissal(keys="1 Enter", expect=Expect(expect), verify_timeout_s=VERIFY_TIMEOUT_S)
    given: Any = {
        "state": "waiting",
        "kind": "trust",
        "severity": "low",
        "dismissal": dismissal,
        "dialog": ONE_LINE,
    } | more
    return Signature(id=name, title=name, all_of=[Clause(text=literal)], **given)


TRUST = signature("trust", "Yes, I trust")
CHANGING = signature("changing", "Next page", expect="changed")
OTHER = signature("other", "Allow?")
WORKING = signature("working", "Working", state="working", kind=None, dismissal=None)
LIMIT = signature("limit", "usage limit", state="quota", kind=None, dismissal=None)
PACK = Pack(name="agent", foreground=["claude"], signatures=[TRUST, CHANGING, OTHER, WORKING, LIMIT])  # type: ignore[arg-type]
ENGINE = Engine([PACK])
RAW, LINES = TtyFacts(False, False), TtyFacts(True, True)
PROMPT = Screen.from_text("Yes, I trust this folder", cursor=(24, 0))


def session(
    on_keys: Callable[[bytes], Screen | str | None] = lambda keys: None, screen: Screen = PROMPT
) -> MemoryTransport:
    """A session of the agent itself that reads lines, so that all keys go at once."""
    made = MemoryTransport(screen, on_keys, foreground="claude", kernel=reads("claude"))
    made.now = evolve(made.now, tty=LINES)
    return made


def press(transport: MemoryTransport, decision: Request | None = None, clock: FakeClock | None = None) -> Outcome:
    """Press at what the session shows now."""
    clock = clock or FakeClock()
    return press_at(transport, decision or Press(TRUST), transport.now, ENGINE, clock, clock.sleep)


def test_a_mark_that_blinks_above_a_prompt_keeps_no_answer_back() -> None:
    """It is pressed once the screen is as it was seen; a machine's key only at a program's own dialog, else refused."""
    seen, blinks = (Screen.from_text(f"{mark} Making\nYes, I trust this folder", cursor=(24, 1)) for mark in "* ")
    anybodys = Engine([evolve(PACK, foreground=())])
    for engine, request, sent in (
        (ENGINE, Answer(Keys.parse("1")), [b"1"]),
        (ENGINE, Press(TRUST), [b"1\r"]),
        (anybodys, Answer(Keys.parse("1")), [b"1"]),
        (anybodys, Press(TRUST), []),
    ):
        transport, clock = session(lambda keys: "thanks", seen), FakeClock()
        before, transport.now = transport.now, evolve(transport.now, screen=blinks)

        def sleep(seconds: float, transport: MemoryTransport = transport, clock: FakeClock = clock) -> None:
            clock.sleep(seconds)
            if not transport.sent:
                transport.now = evolve(transport.now, screen=seen)

        outcome = press_at(transport, request, before, engine, clock, sleep)
        assert transport.sent == sent and bool(outcome.keys) == bool(sent), outcome


def test_an_agent_that_draws_for_a_moment_reads_nothing_and_gets_its_key_then() -> None:
    """Not if somebody else reads: that is no matter of a moment."""
    for meanwhile, sent in ((evolve(reads("claude"), readers=()), [b"1\r"]), (reads("bash"), [])):
        transport, clock = session(lambda keys: "thanks"), FakeClock()
        before, transport.now = transport.now, evolve(transport.now, kernel=meanwhile)

        def sleep(seconds: float, transport: MemoryTransport = transport, clock: FakeClock = clock) -> None:
            clock.sleep(seconds)
            transport.now = evolve(transport.now, kernel=reads("claude"))

        outcome = press_at(transport, Press(TRUST), before, ENGINE, clock, sleep)
        assert transport.sent == sent and bool(outcome) == bool(sent), outcome


def test_a_machines_key_is_bound_to_what_stands_above_the_dialog_too() -> None:
    """However long it is tried again."""
    transport, clock = (
        session(lambda keys: "thanks", Screen.from_text("\nYes, I trust this folder", cursor=(24, 1))),
        FakeClock(),
    )
    before = transport.now
    transport.now = evolve(before, screen=Screen.from_text("rm -rf ~\nYes, I trust this folder", cursor=(24, 1)))
    outcome = press_at(transport, Press(TRUST), before, ENGINE, clock, clock.sleep)
    assert not transport.sent and outcome.end is End.REFUSED and "tried again" in outcome.why, outcome


def test_a_dialog_that_was_exchanged_gets_no_key() -> None:
    """Another one in its place, with the same rows above and below, while whoever answers made up their mind."""
    for request in (Press(TRUST), Answer(Keys.parse("1"))):
        transport, clock = session(lambda keys: "thanks"), FakeClock()
        before = transport.now
        transport.now = evolve(transport.now, screen=Screen.from_text("Yes, I trust this folder too", cursor=(28, 0)))
        outcome = press_at(transport, request, before, ENGINE, clock, clock.sleep)
        assert not transport.sent and outcome.end is End.REFUSED, outcome


# --- refused ---


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"identity": "another"}, "another session"),
        ({"alive": False}, "its program ended"),
        ({"accepts_keys": False}, "copy mode"),
        ({"screen": Screen.from_text("Yes, I trust this folder!", cursor=(24, 0))}, "screen changed"),
        ({"screen": Screen.from_text("Yes, I trust this folder", cursor=(23, 0))}, "screen changed"),
        ({"screen": Screen.from_text("Yes, I trust this folder", cursor=None)}, "screen changed"),
        ({"process": ProcessFacts("bash")}, "bash took the foreground from claude"),
        ({"process": None, "kernel": None}, "None took the foreground"),
    ],
)
def test_a_session_that_changed_since_it_was_seen_gets_no_key(change: dict[str, Any], why: str) -> None:
    transport = session()
    seen = transport.now
    transport.now = evolve(transport.now, **change)
    outcome = press_at(transport, Press(TRUST), seen, ENGINE)
    assert (outcome.end, outcome.keys, bool(outcome)) == (End.REFUSED, None, False)
    assert why in outcome.why
    assert transport.sent == []


@pytest.mark.parametrize("now", [TtyFacts(echo=False, canonical=True), TtyFacts(echo=True, canonical=False)])
def test_a_terminal_that_takes_input_in_another_way_since_it_was_seen_gets_no_key(now: TtyFacts) -> None:
    transport = session()
    seen = evolve(transport.now, tty=TtyFacts(echo=True, canonical=True))
    transport.now = evolve(transport.now, tty=now)
    outcome = press_at(transport, Press(TRUST), seen, ENGINE)
    assert (outcome.end, outcome.keys, transport.sent) == (End.REFUSED, None, [])
    assert "echo or canonical mode changed" in outcome.why


@pytest.mark.parametrize(("name", "pressed"), [("claude", True), ("cat", False)])
def test_an_agent_that_npm_started_gets_a_key_and_no_other_program_below_it(name: str, pressed: bool) -> None:
    npm = Member(5, "npm run agent", "S", 1, called="npm", image="node", script="npm", parent=1)
    below = Member(6, name, "S", 2, called=name, image=name, path=f"/usr/bin/{name}", parent=5)
    reads = {"foreground": "npm", "listening": True, "how": "epoll", "readers": (below,)}
    kernel = KernelFacts(pid=1, group=5, members=(npm, below), complete=True, looked_at=1, **reads)  # type: ignore[arg-type]
    transport = session(lambda keys: "gone")
    transport.now = evolve(transport.now, process=ProcessFacts("npm"), kernel=kernel, quiet_s=1.0, tty=RAW)
    assert press(transport).pressed is pressed


@pytest.mark.parametrize("path", ["", "/tmp/claude.js", "/usr/bin/node", "/tmp/claude/run"])
def test_what_a_program_calls_itself_is_no_proof(path: str) -> None:
    transport = session()
    transport.now = evolve(transport.now, kernel=reads("claude", path))
    outcome = press(transport)
    assert (outcome.end, outcome.why) == (End.REFUSED, "that claude reads the terminal is not proven")
    assert transport.sent == []


@pytest.mark.parametrize("foreground", ["vim", None])
def test_only_a_program_that_the_pack_names_gets_a_key(foreground: str | None) -> None:
    transport = MemoryTransport(PROMPT, foreground=foreground)
    outcome = press(transport)
    assert (outcome.end, transport.sent) == (End.REFUSED, [])


@pytest.mark.parametrize(
    ("foreground", "why"),
    [
        ("vim", "doubtful: vim is in the foreground: it may be text that is being edited; "),
        ("cat", "doubtful: quoted or answered: cat runs in the foreground and asks nothing"),
    ],
    ids=["not sure", "not waiting"],
)
def test_a_doubtful_verdict_gets_no_key(foreground: str, why: str) -> None:
    transport = MemoryTransport(PROMPT, foreground=foreground)
    outcome = press(transport)
    assert (outcome.end, transport.sent) == (End.REFUSED, [])
    assert outcome.why.startswith(why)


def test_a_key_of_a_moment_ago_at_this_very_screen_keeps_another_from_it() -> None:
    transport = session()
    transport.now = evolve(transport.now, taken_at=100.0, pressed_at=100.0 - REST_S / 2)
    outcome = press(transport)
    assert (outcome.end, outcome.why) == (End.REFUSED, "a key was pressed at this very screen a moment ago")
    transport.now = evolve(transport.now, taken_at=100.0, pressed_at=100.0 - REST_S)
    assert press(transport).pressed


def test_another_signature_in_its_place_gets_no_key() -> None:
    transport = session()
    outcome = press(transport, Press(OTHER))
    assert (outcome.end, outcome.why, transport.sent) == (End.REFUSED, "the prompt is no longer there", [])


@pytest.mark.parametrize(
    "decision", [Escalate("not for a machine"), Ignore(), Wait("quota"), Restart("ended"), Press(WORKING)], ids=repr
)
def test_whatever_is_no_press_presses_nothing(decision: Decision) -> None:
    transport = session()
    outcome = press(transport, decision)
    assert (outcome.end, transport.sent, transport.captures) == (End.REFUSED, [], 0)
    assert outcome.why


@pytest.mark.parametrize(
    ("change", "end"),
    [
        (lambda t: setattr(t, "now", evolve(t.now, identity="another")), End.REFUSED),
        (lambda t: setattr(t, "now", evolve(t.now, accepts_keys=False)), End.REFUSED),
        (lambda t: t.show(Screen.from_text("$ ", cursor=(2, 0))), End.REFUSED),
        (lambda t: t.close(), End.GONE),
        (lambda t: setattr(t, "failing", CaptureTimeout("memory:", 2.0)), End.UNKNOWN),
    ],
    ids=["another session", "copy mode", "a moved cursor", "gone", "no answer"],
)
def test_what_happens_between_look_and_press_sends_nothing(change: Callable[[MemoryTransport], None], end: End) -> None:
    transport = session()
    transport.before_send = lambda: change(transport)
    outcome = press(transport)
    assert (outcome.end, bool(outcome), transport.sent) == (end, False, [])


@pytest.mark.parametrize(
    ("error", "end"),
    [(SessionGone("memory:", "it ended"), End.GONE), (TransportError("memory:", "no", "wait"), End.REFUSED)],
)
def test_a_session_that_fails_at_the_second_look_is_an_outcome(error: TransportError, end: End) -> None:
    transport = session()
    seen = transport.now
    transport.failing = error
    outcome = press_at(transport, Press(TRUST), seen, ENGINE)
    assert (outcome.end, outcome.keys, transport.sent) == (end, None, [])


# --- a used-up limit, and what is forced ---


@pytest.mark.parametrize(
    ("shows", "keys", "end", "why"),
    [
        ("usage limit", "Enter", End.CLEARED, "the prompt went away"),
        ("Working", "Enter", End.REFUSED, "it is working now: no limit holds it up"),
        ("usage limit", None, End.REFUSED, "nothing is configured for it"),
    ],
)
def test_a_limit_is_resumed_only_where_it_still_holds(shows: str, keys: str | None, end: End, why: str) -> None:
    transport = session(lambda keys: "Working again", Screen.from_text(shows))
    outcome = press(transport, Resume("it should be free", keys and Keys.parse(keys)))  # type: ignore[arg-type]
    assert (outcome.end, outcome.why) == (end, why)
    assert transport.sent == ([b"\r"] if end is End.CLEARED else [])


@pytest.mark.parametrize("shows", ["Yes, I trust this folder", "Working", "usage limit", "nothing that is known"])
def test_what_is_forced_is_pressed_whatever_the_session_shows(shows: str) -> None:
    transport = session(lambda keys: "Working on", Screen.from_text(shows))
    assert press(transport, Forced(Keys.parse("C-c"))).end is End.CLEARED
    assert transport.sent == [b"\x03"]


# --- the two steps ---


def test_what_was_confirmed_is_committed_at_that_very_look() -> None:
    transport, clock = session(lambda keys: "Working"), FakeClock()
    now = confirm(transport, Press(TRUST), transport.now, ENGINE)
    assert isinstance(now, Snapshot) and transport.sent == []
    transport.show("Yes, I trust this folder!")
    moved = commit(transport, Press(TRUST), now, ENGINE, clock, clock.sleep)
    assert (moved.end, transport.sent) == (End.REFUSED, [])
    transport.show(PROMPT)
    assert commit(transport, Press(TRUST), now, ENGINE, clock, clock.sleep).end is End.CLEARED


@pytest.mark.parametrize("decision", [Escalate("not for a machine"), Press(WORKING)], ids=repr)
def test_no_step_presses_what_has_no_keys(decision: Decision) -> None:
    transport = session()
    refused = [confirm(transport, decision, transport.now, ENGINE), commit(transport, decision, transport.now, ENGINE)]
    assert [isinstance(one, Outcome) and one.end for one in refused] == [End.REFUSED] * 2
    assert transport.sent == []


# --- pressed ---


def fails(transport: MemoryTransport) -> None:
    transport.failing = CaptureTimeout("memory:", 2.0)


def ends(transport: MemoryTransport) -> None:
    transport.now = evolve(transport.now, alive=False, exit_status=0)


@pytest.mark.parametrize(
    ("effect", "end", "went_away"),
    [
        (lambda t: t.show("Working"), End.CLEARED, True),
        (lambda t: t.show("nothing that is known"), End.REPLACED, True),  # it is read, and may be a prompt
        (lambda t: t.show("Allow?"), End.REPLACED, True),
        (lambda t: None, End.UNCHANGED, False),
        (lambda t: t.show("Yes, I trust this folder\n!"), End.UNCHANGED, False),
        (lambda t: t.close(), End.GONE, False),
        (ends, End.GONE, False),
        (fails, End.UNKNOWN, False),
    ],
    ids=["works", "unknown screen", "another prompt", "nothing", "moved but there", "gone", "ended", "no answer"],
)
def test_what_came_of_a_press(effect: Callable[[MemoryTransport], None], end: End, went_away: bool) -> None:
    transport = session()
    transport.on_keys = lambda keys: effect(transport)
    clock = FakeClock()
    outcome = press(transport, clock=clock)
    assert (outcome.end, bool(outcome), outcome.pressed) == (end, went_away, True)
    assert str(outcome.keys) == "1 Enter"
    assert transport.sent == [b"1\r"]
    assert clock.passed <= VERIFY_TIMEOUT_S + POLL_S


def test_another_prompt_is_handed_back() -> None:
    outcome = press(session(lambda keys: "Allow?"))
    assert outcome.match is not None
    assert outcome.match.signature == OTHER


def test_an_effect_that_takes_its_time_is_waited_for() -> None:
    transport = session()
    clock = FakeClock(lambda passed: transport.show("Working") if passed > VERIFY_TIMEOUT_S / 2 else None)
    outcome = press(transport, clock=clock)
    assert (outcome.end, transport.sent) == (End.CLEARED, [b"1\r"])
    assert VERIFY_TIMEOUT_S / 2 < clock.passed < VERIFY_TIMEOUT_S


def test_an_effect_that_comes_too_late_is_not_waited_for() -> None:
    transport = session()
    clock = FakeClock(lambda passed: transport.show("Working") if passed > 2 * VERIFY_TIMEOUT_S else None)
    assert press(transport, clock=clock).end is End.UNCHANGED


def test_a_page_is_turned_when_the_screen_changed() -> None:
    page = Screen.from_text("Next page 1")
    same, next_one = session(screen=page), session(lambda keys: "Next page 2", page)
    assert press(same, Press(CHANGING)).end is End.UNCHANGED
    assert press(next_one, Press(CHANGING)).end is End.CLEARED
    assert same.sent == next_one.sent == [b"1\r"]


def test_a_dialog_left_on_the_screen_by_a_program_that_quit_is_not_called_cleared() -> None:
    """The program quit and its dialog still stands on the screen, over the shell that is in front now."""
    transport = session()
    quits = evolve(transport.now, process=ProcessFacts("bash"))
    transport.on_keys = lambda keys: setattr(transport, "now", quits)
    assert press(transport).end is not End.CLEARED
    assert transport.sent == [b"1\r"]


SCREENS = st.sampled_from(["Yes, I trust this folder", "Yes, I trust", "Working", "Allow?", "Next page", "", "$ "])


@settings(max_examples=150, deadline=None)
@given(st.lists(SCREENS | st.sampled_from([fails, ends]), max_size=6), st.sampled_from([TRUST, CHANGING]))
def test_whatever_happens_it_is_pressed_once(script: list[Any], wanted: Signature) -> None:
    """Each step of the script happens at a look or a pause after the press."""
    shown = PROMPT if wanted is TRUST else Screen.from_text("Next page")
    steps = iter(script)

    def step(*_: object) -> None:
        match next(steps, None):
            case None:
                pass
            case str(text):
                transport.show(text)
            case effect:
                effect(transport)

    transport = session(step, shown)
    outcome = press(transport, Press(wanted), FakeClock(step))
    assert transport.sent == [b"1\r"]
    assert outcome.keys is not None
    assert outcome.end is not End.REFUSED
