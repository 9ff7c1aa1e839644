"""What programs say of themselves, joined with screen and kernel: the rows of docs/signals.md."""

from __future__ import annotations

from itertools import product

import pytest
from acme import ENGINE, screen
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from stallkit.detect.signature import Certainty, Kind, State
from stallkit.evidence.signal import Guard, Signal
from stallkit.evidence.snapshot import KernelFacts, Member, ProcessFacts, Snapshot, TtyFacts
from stallkit.judging.judge import judge
from stallkit.judging.verdict import Verdict
from stallkit.packs.registry import installed_engine
from stallkit.press.policy import Policy, Press
from stallkit.press.rules import Rule, Scene
from stallkit.terminal.marks import MarksReader
from stallkit.terminal.screen import Screen

READS = KernelFacts(listening=True, how="read")
SILENT = KernelFacts(listening=False)
COOKED = TtyFacts(True, True)
SHOWN = ("nothing", "line", "dialog", "busy", "shell")


def look(shown: str, *signals: Signal, foreground: str = "acme", kernel: KernelFacts | None = None) -> Snapshot:
    tty = COOKED if kernel else None
    process = ProcessFacts(foreground)
    return Snapshot(screen=screen(shown), process=process, kernel=kernel, tty=tty, quiet_s=1.0, signals=signals)


def judged(snapshot: Snapshot) -> Verdict:
    return judge(ENGINE.detect(snapshot.screen), snapshot)


def reported(report: str, shown: str, foreground: str = "acme", kernel: KernelFacts | None = None) -> Verdict:
    """The verdict on a screen, and on a status report in its stream."""
    reader = MarksReader()
    reader.feed(f"\x1b]7501;{report}\x1b\\".encode(), 0.0)
    return judged(evolve(look(shown, foreground=foreground, kernel=kernel), marks=reader.marks))


def bound(state: State, kind: Kind | None = None) -> Signal:
    return Signal("file", state, kind, app="acme", guard=Guard.PROCESS)


@pytest.mark.parametrize(
    ("report", "shown", "state", "certainty", "kind"),
    [
        ("state=blocked:kind=permission", "nothing", "waiting", "sure", "permission"),
        ("state=blocked:kind=auth", "nothing", "waiting", "sure", "login"),
        ("state=blocked:kind=question", "dialog", "waiting", "maybe", "select"),  # a prompt keeps its own certainty
        ("state=blocked", "busy", "waiting", "maybe", None),
        ("state=working", "nothing", "working", "sure", None),
        ("state=working", "line", "waiting", "maybe", "confirm"),  # whatever prints in it can take its name
        ("state=working", "dialog", "waiting", "maybe", "select"),
        ("state=idle", "dialog", "waiting", "maybe", "select"),
        ("state=idle", "nothing", "idle", "sure", None),
        ("state=done", "busy", "idle", "maybe", None),
        ("state=error", "nothing", "idle", "sure", None),
        ("state=nonsense", "line", "waiting", "maybe", "confirm"),
    ],
)
def test_a_report_under_the_name_of_the_program(
    report: str, shown: str, state: str, certainty: str, kind: str | None
) -> None:
    found = reported(f"{report}:app=acme", shown)
    assert (found.state, found.certainty, found.kind) == (state, certainty, kind), found.reasons


def test_a_turn_ended_as_its_program_says_before_what_its_screen_shows() -> None:
    says = evolve(bound(State.IDLE), fields={"message": "I renamed it. Shall I continue?"})
    turn = judged(look("idle", says)).ended_turn
    assert turn is not None and (turn.how, turn.question) == ("asks", "Shall I continue?")
    failed = judged(look("idle", evolve(says, error="rate_limit", words="429"))).ended_turn
    assert failed is not None and failed.how == "failed"


def test_what_anything_may_have_printed_makes_nothing_sure_and_hides_no_prompt() -> None:
    reports = ("blocked:kind=permission", "working", "idle", "done", "error")
    for name, report, shown in product(("", ":app=other"), reports, SHOWN):
        plain, found = judged(look(shown, kernel=READS)), reported(f"state={report}{name}", shown, kernel=READS)
        sure = found.certainty is not Certainty.MAYBE
        assert not sure or (found.state, found.kind) == (plain.state, plain.kind), (name, report, shown)
        assert plain.match is None or found.state is plain.state, (name, report, shown)


@pytest.mark.parametrize(
    ("state", "shown", "judged_as", "certainty", "kind"),
    [
        (State.WAITING, "dialog", "waiting", "sure", "select"),  # they agree: sure in any wrapper
        (State.WAITING, "line", "waiting", "sure", "confirm"),
        (State.WAITING, "nothing", "waiting", "sure", "permission"),
        (State.WAITING, "busy", "waiting", "maybe", "permission"),
        (State.WAITING, "shell", "ended", "maybe", None),
        (State.WORKING, "nothing", "working", "sure", None),
        (State.WORKING, "line", "working", "maybe", None),
        (State.WORKING, "dialog", "waiting", "maybe", "select"),
        (State.IDLE, "nothing", "idle", "sure", None),
        (State.IDLE, "line", "idle", "maybe", None),
        (State.IDLE, "dialog", "waiting", "maybe", "select"),
        (State.IDLE, "shell", "ended", "maybe", None),
    ],
)
def test_a_signal_that_is_bound_to_its_process(
    state: State, shown: str, judged_as: str, certainty: str, kind: str | None
) -> None:
    says = bound(state, Kind.PERMISSION if state is State.WAITING else None)
    foreground = "bash" if shown == "shell" else "wrapper"
    found = judged(look(shown, says, foreground=foreground))
    assert (found.state, found.certainty, found.kind) == (judged_as, certainty, kind), found.reasons
    assert says.told in " ".join(found.reasons) or judged_as == "ended"


@pytest.mark.parametrize(
    ("row", "footer", "kind", "certainty"),
    [
        ("1. Small  Fast and affordable", "  enter select · esc back", "select", "sure"),  # a person opened it
        ("1. Yes, proceed (y)", "  Press enter to confirm or esc to cancel", "permission", "maybe"),
    ],
)
def test_a_program_that_reports_rest_may_show_a_menu_but_no_permission(
    row: str, footer: str, kind: str, certainty: str
) -> None:
    asked, other = "Select Model\n\n", "2. Large  Slow"
    if kind == "permission":
        asked, other = "Would you like to run the following command?\n\n  $ make", "2. No, and tell Codex what to do"
    text = f"  {asked}\n\n› {row}\n  {other}\n\n{footer}"
    shown = Screen.from_text(text, cursor=(79, 23), size=(80, 24), cursor_visible=False)
    reader = MarksReader()
    reader.feed(b"\x1b]7501;state=idle:app=codex\x1b\\", 0.0)
    now = Snapshot(screen=shown, process=ProcessFacts("codex"), kernel=READS, quiet_s=1.0, marks=reader.marks)
    found = judge(installed_engine().detect(shown), now)
    assert (found.state, found.kind, found.certainty) == (State.WAITING, kind, certainty), found.reasons


@pytest.mark.parametrize(("menus", "certainty"), [(False, "sure"), (True, "maybe")])
def test_a_log_of_turns_alone_knows_no_menu(menus: bool, certainty: str) -> None:
    """It says rest while a person opened a menu, or the first start asks whether it may trust the folder."""
    text = "  Select Model\n\n\n› 1. Small  Fast and affordable\n  2. Large  Slow\n\n  enter select · esc back"
    shown = Screen.from_text(text, cursor=(79, 23), size=(80, 24), cursor_visible=False)
    rests = Signal("log", State.IDLE, app="codex", guard=Guard.PROCESS, menus=menus)
    now = Snapshot(screen=shown, process=ProcessFacts("codex"), kernel=READS, quiet_s=1.0, signals=[rests])
    found = judge(installed_engine().detect(shown), now)
    assert (found.state, found.certainty) == (State.WAITING, certainty), found.reasons


def test_a_stale_signal_counts_for_nothing() -> None:
    stale = evolve(bound(State.WORKING), stale="its process is in the background")
    for shown in SHOWN:
        without, found = judged(look(shown)), judged(look(shown, stale))
        assert (found.state, found.certainty) == (without.state, without.certainty)
        assert found.signals == (stale,)


def test_the_best_guarded_one_decides() -> None:
    claim = Signal("title", State.WAITING, Kind.PERMISSION)
    found = judged(look("nothing", claim, bound(State.WORKING)))
    assert (found.state, found.certainty) == (State.WORKING, Certainty.SURE)


def test_a_report_that_outlived_its_program_only_raises_a_doubt() -> None:
    assert reported("state=working:app=bash", "shell", "bash", READS).state is State.ENDED
    assert reported("state=working:app=bash", "shell", "bash", READS).certainty is Certainty.MAYBE
    assert reported("state=done:app=bash", "shell", "bash", READS).certainty is Certainty.SURE


STATES = st.sampled_from([None, State.WAITING, State.WORKING, State.IDLE, State.QUOTA, State.ENDED])
SIGNALS = st.builds(
    Signal,
    st.sampled_from(["file", "osc7501", "title"]),
    STATES,
    st.sampled_from([None, *Kind]),
    app=st.sampled_from([None, "acme"]),
    guard=st.sampled_from(Guard),
    stale=st.sampled_from([None, "old"]),
    age_s=st.none() | st.floats(0, 1e6),
)


ASKS = ("Press any key to continue . . . ", "Proceed? [y/N] ", "$ make\nInstall it? [Y/n] ")
PACKS = installed_engine()
ALLOWED = Policy("mine", rules=[Rule(do="press", signature=["shell_tools:*", "shell_yn:*"], session="tmux:one")])


def asked(text: str, *signals: Signal, kernel: KernelFacts | None = READS) -> bool:
    """Whether a policy that allows it would press at this text."""
    lines = text.split("\n")
    shown = Screen.from_text(text, cursor=(len(lines[-1]), len(lines) - 1), size=(80, 24))
    now = evolve(look("nothing", *signals, foreground="installer", kernel=kernel), screen=shown, target="tmux:one")
    return isinstance(ALLOWED.decide(judge(PACKS.detect(shown), now), Scene.of(now)), Press)


@pytest.mark.parametrize("text", ASKS)
def test_without_signals_these_are_pressed(text: str) -> None:
    assert asked(text)
    assert not asked(text, kernel=None)


@given(st.lists(SIGNALS, max_size=4), st.sampled_from(ASKS), st.sampled_from([None, READS, SILENT]))
def test_no_signal_leads_to_a_key(signals: list[Signal], text: str, kernel: KernelFacts | None) -> None:
    """Whatever programs say, nothing is pressed that would not be pressed without them."""
    assert asked(text, kernel=kernel) or not asked(text, *signals, kernel=kernel)


@pytest.mark.parametrize("interactive", [True, False])
def test_what_a_program_said_that_is_gone_is_stale(interactive: bool) -> None:
    """It was killed in mid-turn: a shell alone is in front and reads.  One that runs a script may have started it."""
    shell = Member(7, "bash", "S", interactive=interactive)
    kernel = KernelFacts(
        members=(shell,), readers=(shell,), complete=True, listening=True, how="read", foreground="bash"
    )
    found = reported("state=working:app=other", "shell", foreground="bash", kernel=kernel)
    titled = look("shell", foreground="bash", kernel=kernel)
    titled = evolve(titled, screen=evolve(titled.screen, title="acme is busy"))
    for verdict in (found, judged(titled)):
        assert (verdict.state, verdict.certainty) == ("ended", "sure" if interactive else "maybe"), verdict.reasons
        assert (verdict.signals[0].stale is not None) is interactive
