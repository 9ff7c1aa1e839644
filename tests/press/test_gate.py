"""The gate: every doubt refuses with nothing sent, a key is pressed once whatever happens, and verified."""

from __future__ import annotations

from typing import Any, Callable

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from looks import ONE_LINE, reads

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Clause, Dismissal, Expect, Pack, Signature
from stallkit.errors import CaptureTimeout, SessionGone, TransportError
from stallkit.evidence.snapshot import KernelFacts, Member, ProcessFacts, Snapshot, TtyFacts
from stallkit.press.gate import POLL_S, REST_S, SEALED, Answer, End, Forced, Outcome, Request, commit, confirm
from stallkit.press.gate import press as press_at
from stallkit.press.policy import Escalate, Ignore, Press, Restart, Resume, Wait
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.testing import FakeClock, MemoryTransport

VERIFY_TIMEOUT_S = 1.0


def signature(name: str, literal: str, expect: str = "gone", **more: Any) -> Signature:
    dismissal = Dismissal(keys="1 Enter", expect=Expect(expect), verify_timeout_s=VERIFY_TIMEOUT_S)
    usual: Any = {"state": "waiting", "kind": "trust", "severity": "low", "dismissal": dismissal, "dialog": ONE_LINE}
    return Signature(id=name, title=name, all_of=[Clause(text=literal)], **(usual | more))


TRUST = signature("trust", "Yes, I trust")
CHANGING = signature("changing", "Next page", expect="changed")
OTHER = signature("other", "Allow?")
WORKING = signature("working", "Working", state="working", kind=None, dismissal=None)
LIMIT = signature("limit", "usage limit", state="quota", kind=None, dismissal=None)
PACK = Pack(name="agent", foreground=["claude"], signatures=[TRUST, CHANGING, OTHER, WORKING, LIMIT])  # type: ignore[arg-type]
ENGINE = Engine([PACK])
RAW, LINES = TtyFacts(False, False), TtyFacts(True, True)


def at(text: str, column: int | None = None) -> Screen:
    """A screen, the cursor behind its last row unless it is given."""
    last = text.split("\n")[-1]
    return Screen.from_text(text, cursor=(len(last) if column is None else column, text.count("\n")))


PROMPT = at("Yes, I trust this folder")


def session(
    on_keys: Callable[[bytes], Screen | str | None] = lambda keys: None, screen: Screen = PROMPT, **now: Any
) -> MemoryTransport:
    """A session of the agent itself that reads lines, so that all keys go at once."""
    made = MemoryTransport(screen, on_keys, foreground="claude", kernel=reads("claude"))
    made.now = evolve(made.now, **({"tty": LINES} | now))
    return made


def press(transport: MemoryTransport, decision: Request | None = None, clock: FakeClock | None = None) -> Outcome:
    """Press at what the session shows now."""
    clock = clock or FakeClock()
    asked = Press(TRUST) if decision is None else decision
    return press_at(transport, asked, transport.now, ENGINE, clock, clock.sleep)


def pressed_since(
    change: dict[str, Any],
    request: Request | None = None,
    engine: Engine = ENGINE,
    screen: Screen = PROMPT,
    later: dict[str, Any] | None = None,
) -> tuple[Outcome, list[bytes]]:
    """Press at a session that changed since it was seen, and changes once more while it is tried; and what was sent."""
    transport, clock = session(lambda keys: "thanks", screen), FakeClock()
    before = transport.now
    transport.now = evolve(before, **change)

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        if later and not transport.sent:
            transport.now = evolve(transport.now, **later)

    asked = Press(TRUST) if request is None else request
    return press_at(transport, asked, before, engine, clock, sleep), transport.sent


PERSONS = Answer(Keys.parse("1"))


def test_a_mark_that_blinks_above_a_prompt_keeps_no_answer_back() -> None:
    """It is pressed once the screen is as it was seen; a machine's key only at a program's own dialog, else refused."""
    seen, blinks = (at(f"{mark} Making\nYes, I trust this folder") for mark in "* ")
    anybodys = Engine([evolve(PACK, foreground=())])
    for engine, request, keys in (
        (ENGINE, PERSONS, [b"1"]),
        (ENGINE, Press(TRUST), [b"1\r"]),
        (anybodys, PERSONS, [b"1"]),
        (anybodys, Press(TRUST), []),
    ):
        outcome, sent = pressed_since({"screen": blinks}, request, engine, seen, {"screen": seen})
        assert sent == keys and bool(outcome.keys) == bool(keys), outcome


def test_an_agent_that_draws_for_a_moment_reads_nothing_and_gets_its_key_then() -> None:
    """Not if somebody else reads: that is no matter of a moment."""
    for meanwhile, keys in ((evolve(reads("claude"), readers=()), [b"1\r"]), (reads("bash"), [])):
        outcome, sent = pressed_since({"kernel": meanwhile}, later={"kernel": reads("claude")})
        assert sent == keys and bool(outcome) == bool(keys), outcome


def test_a_dialog_that_was_exchanged_or_has_something_else_above_it_gets_no_key() -> None:
    """While whoever answers made up their mind; however long a machine's key is tried again."""
    for request in (Press(TRUST), PERSONS):
        outcome, sent = pressed_since({"screen": at("Yes, I trust this folder too")}, request)
        assert not sent and outcome.end is End.REFUSED, outcome
    above = at("rm -rf ~\nYes, I trust this folder")
    outcome, sent = pressed_since({"screen": above}, screen=at("\nYes, I trust this folder"))
    assert not sent and outcome.end is End.REFUSED and "tried again" in outcome.why, outcome


# --- refused ---

SINCE: list[tuple[dict[str, Any], str]] = [
    ({"identity": "another"}, "another session"),
    ({"alive": False}, "its program ended"),
    ({"accepts_keys": False}, "copy mode"),
    ({"sealed": True}, SEALED),
    ({"screen": at("Yes, I trust this folder!", 24)}, "screen changed"),
    ({"screen": at("Yes, I trust this folder", 23)}, "screen changed"),
    ({"screen": Screen.from_text("Yes, I trust this folder", cursor=None)}, "screen changed"),
    ({"process": ProcessFacts("bash")}, "bash took the foreground from claude"),
    ({"process": None, "kernel": None}, "None took the foreground"),
    ({"tty": TtyFacts(echo=False, canonical=True)}, "echo or canonical mode changed"),
    ({"tty": TtyFacts(echo=True, canonical=False)}, "echo or canonical mode changed"),
]


def test_a_session_that_changed_since_it_was_seen_gets_no_key() -> None:
    for change, why in SINCE:
        outcome, sent = pressed_since(change)
        assert (outcome.end, outcome.keys, bool(outcome), sent) == (End.REFUSED, None, False, []), change
        assert why in outcome.why, (change, outcome)


def test_an_agent_that_npm_started_gets_a_key_and_no_other_program_below_it() -> None:
    for name, pressed in (("claude", True), ("cat", False)):
        npm = Member(5, "npm run agent", "S", 1, called="npm", image="node", script="npm", parent=1)
        below = Member(6, name, "S", 2, called=name, image=name, path=f"/usr/bin/{name}", parent=5)
        reads = {"foreground": "npm", "listening": True, "how": "epoll", "readers": (below,)}
        kernel = KernelFacts(pid=1, group=5, members=(npm, below), complete=True, looked_at=1, **reads)  # type: ignore[arg-type]
        npms = session(lambda keys: "gone", process=ProcessFacts("npm"), kernel=kernel, quiet_s=1.0, tty=RAW)
        assert press(npms).pressed is pressed, name


def test_what_a_program_calls_itself_is_no_proof() -> None:
    for path in ("", "/tmp/claude.js", "/usr/bin/node", "/tmp/claude/run"):
        transport = session(kernel=reads("claude", path))
        outcome = press(transport)
        assert (outcome.end, outcome.why) == (End.REFUSED, "that claude reads the terminal is not proven"), path
        assert transport.sent == []


def test_a_doubtful_verdict_and_a_program_that_the_pack_does_not_name_get_no_key() -> None:
    for foreground, why in (
        ("vim", "doubtful: vim is in the foreground: it may be text that is being edited; "),
        ("cat", "doubtful: quoted or answered: cat runs in the foreground and asks nothing"),
        (None, ""),
    ):
        transport = MemoryTransport(PROMPT, foreground=foreground)
        outcome = press(transport)
        assert (outcome.end, transport.sent) == (End.REFUSED, []) and outcome.why.startswith(why), outcome


def test_a_key_of_a_moment_ago_at_this_very_screen_keeps_another_from_it() -> None:
    outcome = press(session(taken_at=100.0, pressed_at=100.0 - REST_S / 2))
    assert (outcome.end, outcome.why) == (End.REFUSED, "a key was pressed at this very screen a moment ago")
    assert press(session(taken_at=100.0, pressed_at=100.0 - REST_S)).pressed


def test_whatever_is_no_press_presses_nothing() -> None:
    for decision in (Escalate("not for a machine"), Ignore(), Wait("quota"), Restart("ended"), Press(WORKING)):
        transport = session()
        steps = [press(transport, decision), confirm(transport, decision, transport.now, ENGINE)]
        steps.append(commit(transport, decision, transport.now, ENGINE))
        assert [isinstance(one, Outcome) and one.end for one in steps] == [End.REFUSED] * 3, decision
        assert (transport.sent, transport.captures) == ([], 0) and steps[0].why, decision  # type: ignore[union-attr]
    transport = session()
    outcome = press(transport, Press(OTHER))
    assert (outcome.end, outcome.why, transport.sent) == (End.REFUSED, "the prompt is no longer there", [])


def fails(transport: MemoryTransport) -> None:
    transport.failing = CaptureTimeout("memory:", 2.0)


def ends(transport: MemoryTransport) -> None:
    transport.now = evolve(transport.now, alive=False, exit_status=0)


def test_what_happens_between_look_and_press_sends_nothing() -> None:
    happens: list[tuple[Callable[[MemoryTransport], object], End]] = [
        (lambda t: setattr(t, "now", evolve(t.now, identity="another")), End.REFUSED),
        (lambda t: setattr(t, "now", evolve(t.now, accepts_keys=False)), End.REFUSED),
        (lambda t: t.show(at("$ ")), End.REFUSED),
        (lambda t: t.close(), End.GONE),
        (fails, End.UNKNOWN),
    ]
    for number, (change, end) in enumerate(happens):
        transport = session()
        transport.before_send = lambda change=change, transport=transport: change(transport)
        outcome = press(transport)
        assert (outcome.end, bool(outcome), transport.sent) == (end, False, []), number


def test_a_session_that_fails_at_the_second_look_is_an_outcome() -> None:
    for error, end in (
        (SessionGone("memory:", "it ended"), End.GONE),
        (TransportError("memory:", "no", "wait"), End.REFUSED),
    ):
        transport = session()
        transport.failing = error
        outcome = press(transport)
        assert (outcome.end, outcome.keys, transport.sent) == (end, None, [])


# --- a used-up limit, and what is forced ---


def test_a_limit_is_resumed_only_where_it_still_holds() -> None:
    for shows, keys, end, why in (
        ("usage limit", Keys.parse("Enter"), End.CLEARED, "the prompt went away"),
        ("Working", Keys.parse("Enter"), End.REFUSED, "it is working now: no limit holds it up"),
        ("usage limit", None, End.REFUSED, "nothing is configured for it"),
    ):
        transport = session(lambda keys: "Working again", Screen.from_text(shows))
        outcome = press(transport, Resume("it should be free", keys))
        assert (outcome.end, outcome.why) == (end, why)
        assert transport.sent == ([b"\r"] if end is End.CLEARED else [])


def test_what_is_forced_is_pressed_whatever_the_session_shows() -> None:
    for shows in ("Yes, I trust this folder", "Working", "usage limit", "nothing that is known"):
        transport = session(lambda keys: "Working on", Screen.from_text(shows))
        assert press(transport, Forced(Keys.parse("C-c"))).end is End.CLEARED, shows
        assert transport.sent == [b"\x03"]


def test_what_was_confirmed_is_committed_at_that_very_look() -> None:
    transport, clock = session(lambda keys: "Working"), FakeClock()
    now = confirm(transport, Press(TRUST), transport.now, ENGINE)
    assert isinstance(now, Snapshot) and transport.sent == []
    transport.show("Yes, I trust this folder!")
    moved = commit(transport, Press(TRUST), now, ENGINE, clock, clock.sleep)
    assert (moved.end, transport.sent) == (End.REFUSED, [])
    transport.show(PROMPT)
    assert commit(transport, Press(TRUST), now, ENGINE, clock, clock.sleep).end is End.CLEARED


# --- pressed ---


def test_what_came_of_a_press() -> None:
    effects: list[tuple[Callable[[MemoryTransport], object], End, bool]] = [
        (lambda t: t.show("Working"), End.CLEARED, True),
        (lambda t: t.show("nothing that is known"), End.REPLACED, True),  # it is read, and may be a prompt
        (lambda t: t.show("Allow?"), End.REPLACED, True),
        (lambda t: None, End.UNCHANGED, False),
        (lambda t: t.show("Yes, I trust this folder\n!"), End.UNCHANGED, False),
        (lambda t: t.close(), End.GONE, False),
        (ends, End.GONE, False),
        (fails, End.UNKNOWN, False),
    ]
    for number, (effect, end, went_away) in enumerate(effects):
        transport, clock = session(), FakeClock()
        transport.on_keys = lambda keys, effect=effect, transport=transport: effect(transport)  # type: ignore[misc]
        outcome = press(transport, clock=clock)
        assert (outcome.end, bool(outcome), outcome.pressed) == (end, went_away, True), number
        assert (str(outcome.keys), transport.sent) == ("1 Enter", [b"1\r"])
        assert clock.passed <= VERIFY_TIMEOUT_S + POLL_S
    clock = FakeClock()
    outcome = press(session(lambda keys: "Allow?"), clock=clock)
    assert clock.passed <= 2 * POLL_S, "two looks that agree are enough where no key follows"
    assert outcome.match is not None and outcome.match.signature == OTHER, "another prompt is handed back"


def test_an_effect_is_waited_for_as_long_as_its_signature_says() -> None:
    for after_s, end in ((VERIFY_TIMEOUT_S / 2, End.CLEARED), (2 * VERIFY_TIMEOUT_S, End.UNCHANGED)):
        transport = session()
        clock = FakeClock(lambda passed, s=after_s, t=transport: t.show("Working") if passed > s else None)  # type: ignore[misc]
        assert (press(transport, clock=clock).end, transport.sent) == (end, [b"1\r"])
        assert VERIFY_TIMEOUT_S / 2 < clock.passed <= VERIFY_TIMEOUT_S + POLL_S


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
