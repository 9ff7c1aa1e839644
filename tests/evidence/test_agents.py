"""Which agents are there, which packs are asked, and what is left where an agent ended: over facts alone."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Certainty, Pack, Signature, State
from stallkit.evidence.agents import AfterExit, agents, asked
from stallkit.evidence.signal import Guard, Signal
from stallkit.evidence.snapshot import KernelFacts, Member, ProcessFacts, Snapshot, TtyFacts
from stallkit.judging.judge import judge, judged
from stallkit.judging.verdict import Verdict
from stallkit.terminal.screen import Screen

ALPHA = Pack("alpha", foreground=["alpha", "node"], signatures=[Signature("at_rest", "at rest", "idle", ["alpha>"])])
BETA = Pack("beta", foreground=["beta", "node"], signatures=[Signature("busy", "busy", "working", ["working"])])
ANY = Pack("any", signatures=[Signature("asks", "asks", "waiting", ["press enter"], kind="press_key")])
SHELL = Pack("shell", signatures=[Signature("prompt", "prompt", "ended", ["$ "])])
ENGINE = Engine([ALPHA, BETA, ANY, SHELL])
KNOWN = frozenset({"alpha", "beta"})

LOOP = Member(10, "bash", "S", 1, called="bash", image="bash", interactive=False, parent=1)
TYPED = Member(9, "bash", "S", 1, called="bash", image="bash", interactive=True, parent=1)
AGENT = Member(20, "alpha", "S", 2, called="alpha", image="alpha", parent=10)
OTHER = Member(30, "beta", "S", 3, called="beta", image="beta", parent=10)
PAUSE = Member(40, "sleep", "S", 4, called="sleep", image="sleep", parent=10)
NPM = Member(50, "npm run alpha", "S", 5, called="npm", image="node", script="npm", parent=1)
NODE = Member(60, "node", "S", 6, called="node", image="node", script="loop", parent=1)
MAKE = Member(70, "gcc", "R", 7, called="gcc", image="gcc", parent=10)
SHIM = Member(80, "node", "S", 8, called="node", image="node", script="alpha", parent=1)


def facts(*members: Member, **more: object) -> KernelFacts:
    first = members[0].called
    found = KernelFacts(pid=1, group=members[0].pid, foreground=first, members=members, complete=True, looked_at=1)
    return evolve(found, **more)


def look(text: str, *members: Member, **more: object) -> Snapshot:
    kernel = facts(*members, **more)
    process, tty = ProcessFacts(kernel.foreground), TtyFacts(False, False)
    return Snapshot(screen=Screen.from_text(text), alive=True, process=process, kernel=kernel, tty=tty, quiet_s=1.0)


def verdict(text: str, *members: Member, seen: Snapshot | None = None, **more: object) -> Verdict:
    now = look(text, *members, **more)
    return judge(asked(ENGINE, now), now, (), seen)


BEFORE = look("alpha>", LOOP, AGENT, listening=True, how="epoll", readers=(AGENT,))


@pytest.mark.parametrize(
    ("members", "here"),
    [
        ((AGENT,), {"alpha"}),
        ((LOOP, AGENT), {"alpha"}),
        ((NPM, AGENT), {"alpha"}),
        ((SHIM,), {"alpha"}),  # by its script
        ((LOOP, PAUSE), set()),
        ((NPM,), set()),  # an interpreter runs it, but no other program
        ((NODE,), None),  # whatever script that is
        ((LOOP, evolve(AGENT, state="Z")), set()),
        ((evolve(LOOP, name="alpha"),), set()),  # a shell's script of that name starts it
    ],
)
def test_agents_in_the_foreground(members: tuple[Member, ...], here: set[str] | None) -> None:
    assert agents(KNOWN, facts(*members)) == (None if here is None else frozenset(here))


@pytest.mark.parametrize(
    "unseen",
    [
        {"complete": False},
        {"relay": "ssh"},
        {"looked_at": 0, "members": (MAKE,)},  # nobody looked whether it shows another terminal
        {"members": ()},
    ],
)
def test_what_may_be_there_unseen_is_not_known_to_be_gone(unseen: dict[str, object]) -> None:
    assert agents(KNOWN, facts(LOOP, **unseen)) is None
    now = evolve(look("alpha>", LOOP), kernel=facts(LOOP, **unseen))
    assert asked(ENGINE, now).not_asked == frozenset()
    assert agents(KNOWN, None) is None


def test_a_pack_is_asked_only_where_one_of_its_programs_can_be() -> None:
    assert asked(ENGINE, look("alpha>", OTHER)).not_asked == {"alpha"}
    assert asked(ENGINE, look("alpha>", OTHER)).match is None
    assert asked(ENGINE, look("alpha>", AGENT)).match is not None
    assert asked(ENGINE, look("alpha>", NODE)).not_asked == frozenset()
    assert asked(ENGINE, look("alpha>", MAKE)).not_asked == {"alpha", "beta"}
    assert asked(ENGINE, Snapshot(screen=Screen.from_text("alpha>"))).match is not None, "nothing is known"


def test_who_says_that_it_is_there_is_whose_screen_it_is() -> None:
    """By a guarded signal, or by the foreground's name; what anything may have printed decides nothing."""
    bare = Snapshot(screen=Screen.from_text("alpha>"), process=ProcessFacts("node"))
    for app, guard, kept in (("beta", Guard.PROCESS, False), ("gamma", Guard.NAMED, False), ("beta", Guard.NONE, True)):
        now = evolve(bare, signals=(Signal("file", State.IDLE, app=app, guard=guard),))
        assert (asked(ENGINE, now).match is not None) is kept
    assert asked(ENGINE, evolve(bare, signals=(Signal("file", State.IDLE, app="alpha", guard=Guard.PROCESS),))).match
    assert asked(ENGINE, evolve(bare, process=ProcessFacts("beta"))).match is None
    assert asked(ENGINE, evolve(bare, process=ProcessFacts("alpha"))).match


@pytest.mark.parametrize(
    ("script", "sure"),
    [("alpha", True), ("cli", True), ("", False), (None, False), ("alpha-next", False), ("kiro", False)],
)
def test_the_script_of_an_interpreter_says_whose_screen_it_is(script: str | None, sure: bool) -> None:
    """Another name may be one of its own, and none may be any: it is asked all the same, and never sure."""
    found = verdict("alpha>", evolve(NODE, script=script), listening=True, how="epoll")
    assert (found.state, found.certainty is Certainty.SURE) == (State.IDLE, sure), found.reasons


def test_a_detection_is_kept_while_screen_and_programs_are_the_same() -> None:
    first = asked(ENGINE, look("alpha>", AGENT))
    assert asked(ENGINE, look("alpha>", AGENT), first) is first
    assert asked(ENGINE, look("alpha>", LOOP), first) is not first


def test_an_agent_below_a_wrapper_counts_as_the_foreground() -> None:
    found = judge(asked(ENGINE, BEFORE), BEFORE)
    assert (found.state, found.certainty, found.agents) == (State.IDLE, Certainty.SURE, frozenset({"alpha"}))
    assert found.shows_agent


@pytest.mark.parametrize("text", ["alpha>", "alpha> \npress enter to restart", "Killed"])
@pytest.mark.parametrize("rest", [(LOOP,), (LOOP, PAUSE)])
def test_a_wrapper_that_lives_on_shows_that_its_agent_ended(text: str, rest: tuple[Member, ...]) -> None:
    found = verdict(text, *rest, seen=BEFORE)
    assert (found.state, found.certainty, found.ended) == (State.ENDED, Certainty.SURE, AfterExit.WRAPPED)
    assert not found.shows_agent


def test_a_shim_that_outlives_its_agent_is_no_agent() -> None:
    before = look("alpha>", SHIM, evolve(AGENT, parent=80))
    found = verdict("alpha>", SHIM, seen=before)
    assert (found.state, found.ended) == (State.ENDED, AfterExit.WRAPPED)


def test_a_loop_that_is_typed_at_a_prompt_pauses() -> None:
    before = look("alpha>", evolve(AGENT, parent=9))
    found = verdict("Killed", evolve(PAUSE, parent=9), seen=before)
    assert (found.state, found.ended) == (State.ENDED, AfterExit.WRAPPED)
    assert verdict("compiling", evolve(MAKE, parent=9), seen=before).state is State.WORKING


def test_a_launcher_that_went_with_its_agent_started_it_in_somebody_elses_name() -> None:
    """As Copilot's, which node starts: the loop in a shell is above both."""
    launcher = evolve(SHIM, script="npm-loader", parent=9)
    before = look("alpha>", launcher, evolve(AGENT, parent=80))
    found = verdict("alpha> Killed", evolve(PAUSE, parent=9), seen=before)
    assert (found.state, found.certainty, found.ended) == (State.ENDED, Certainty.SURE, AfterExit.WRAPPED)
    assert verdict("compiling", evolve(MAKE, parent=9), seen=before).state is State.WORKING


def test_a_loop_that_does_other_work_in_between_is_not_ended() -> None:
    assert verdict("compiling", LOOP, MAKE, seen=BEFORE).state is State.WORKING


def test_an_agent_in_the_background_has_not_ended() -> None:
    before = look("alpha>", evolve(AGENT, parent=9))
    found = verdict("stopped", TYPED, seen=before, background=(evolve(AGENT, state="T"),))
    assert found.state is not State.ENDED


def test_a_screen_that_nobody_there_can_show_is_doubtful_without_an_earlier_look() -> None:
    found = verdict("alpha>", LOOP, PAUSE)
    assert (found.state, found.certainty, found.ended) == (State.ENDED, Certainty.MAYBE, AfterExit.WRAPPED)
    assert verdict("alpha>", MAKE).state is State.WORKING, "a text that is shown"


def test_a_shell_that_reads_again_shows_that_an_agent_in_script_ended() -> None:
    """What started it ended with it; what it had drawn still says that it works."""
    seen = look("alpha>", AGENT, listening=True, through="script")
    found = verdict("working", TYPED, seen=seen, listening=True, background=())
    assert (found.state, found.certainty, found.ended) == (State.ENDED, Certainty.SURE, AfterExit.AGENT)
    assert "reads the next command" in found.reasons[-1]
    for doubtful in ({"background": (AGENT,)}, {"background": None}, {"listening": False}):
        about = {"listening": True, "background": (), **doubtful}
        assert verdict("working", TYPED, seen=seen, **about).certainty is not Certainty.SURE


def test_a_plain_shell_is_told_from_one_in_which_an_agent_ended() -> None:
    plain = verdict("$ ", TYPED, listening=True, how="read", readers=(TYPED,))
    assert (plain.state, plain.ended, plain.agents) == (State.ENDED, AfterExit.SHELL, frozenset())
    left = verdict("$ ", TYPED, seen=BEFORE, listening=True, how="read", readers=(TYPED,))
    assert (left.state, left.ended) == (State.ENDED, AfterExit.AGENT)


def test_the_look_before_is_enough_where_it_shows_the_agent() -> None:
    now = look("Killed", LOOP)
    assert judged(ENGINE, now, BEFORE).ended is AfterExit.WRAPPED
    other = evolve(BEFORE, identity="another session of that name")
    assert judge(asked(ENGINE, now), now, (), other).state is not State.ENDED


members = st.sampled_from([LOOP, TYPED, AGENT, OTHER, PAUSE, NPM, NODE, MAKE, SHIM])


@given(
    there=st.lists(members, min_size=1, max_size=4, unique_by=lambda one: one.pid),
    seen=st.lists(members, max_size=4, unique_by=lambda one: one.pid),
    text=st.sampled_from(["alpha>", "working", "press enter", "$ ", "", "alpha>\nworking"]),
)
def test_an_agent_that_is_there_never_ended(there: list[Member], seen: list[Member], text: str) -> None:
    before = look(text, *seen) if seen else None
    found = verdict(text, *there, seen=before)
    if found.agents:
        assert found.ended is not AfterExit.WRAPPED
    hidden = evolve(look(text, *there), kernel=facts(*there, complete=False))
    unsure = judge(asked(ENGINE, hidden), hidden, (), before)
    assert unsure.ended is not AfterExit.WRAPPED, "what may be there unseen decides nothing"
