"""The verdict: each reason by table, and what unknown facts may never do."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from stallkit.detect.dialog import Dialog, Element
from stallkit.detect.engine import Detection, Engine, Rule
from stallkit.detect.signature import Certainty, Clause, Kind, Pack, Signature, State
from stallkit.evidence.signal import Guard, Signal
from stallkit.evidence.snapshot import KernelFacts, ProcessFacts, Snapshot
from stallkit.judging.judge import judge
from stallkit.judging.verdict import Hung, Verdict
from stallkit.terminal.screen import Screen
from stallkit.word_tables import ASKS_NOTHING, RELAYS, SHELLS

examples = settings(max_examples=120, deadline=None)


def _signature(name: str, literal: str, state: str = "waiting", where: str = "screen", **more: Any) -> Signature:
    return Signature(id=name, title=name, state=state, all_of=[Clause(text=literal, where=where)], **more)  # type: ignore[arg-type]


GENERIC = Pack(
    name="generic",
    signatures=[
        _signature("dialog", "Allow?", kind="permission"),
        _signature("one_line", "[y/N]", where="prompt_line", kind="confirm"),
        _signature("guess", "hmm", certainty="maybe", kind="text"),
        _signature("busy", "esc to interrupt", "working"),
        _signature("composer", "Ask anything", "idle"),
        _signature("quota", "usage limit", "quota"),
        _signature("shell", "$ ", "ended", "prompt_line"),
    ],
)
AGENT = Pack(name="agent", foreground=["claude", "node"], signatures=[_signature("trust", "I trust", kind="trust")])
ENGINE = Engine([GENERIC, AGENT])


def look(text: str, foreground: str | None = None, cursor: bool = True, **more: Any) -> Snapshot:
    """A look at a session of one line, the cursor behind it."""
    screen = Screen.from_text(text, cursor=(len(text), 0) if cursor else None)
    return Snapshot(screen=screen, process=ProcessFacts(foreground), **more)


def read(text: str, foreground: str | None = None, **more: Any) -> Snapshot:
    """The same, at rest, and somebody is known to read the terminal."""
    reads = KernelFacts(listening=True, how="read", foreground="acme")
    return look(text, foreground, **{"kernel": reads, "quiet_s": 1.0} | more)


INSIDE = KernelFacts(listening=True, how="read", foreground="claude", through="sudo")
UNREAD = "whether anything reads the terminal is unknown"


def verdict(now: Snapshot, *history: Snapshot) -> Verdict:
    return judge(ENGINE.detect(now.screen), now, history)


Y_N, ALLOW, TRUST, SHELL = "Go? [y/N] ", "Allow? ", "Yes, I trust it", "ada@box $ "


CASES = {
    "a dialog at once": (read(ALLOW), [], "waiting", "sure", "permission", "generic:dialog on the line 'Allow?'"),
    "a dialog, perhaps a picture": (look(ALLOW), [look(ALLOW)], "waiting", "maybe", "permission", UNREAD),
    "one line, one look": (look(Y_N), [], "waiting", "maybe", "confirm", "seen in one look only"),
    "one line, two looks": (read(Y_N), [look(Y_N)], "waiting", "sure", "confirm", "two looks agree"),
    "one line, perhaps a picture": (look(Y_N), [look(Y_N)], "waiting", "maybe", "confirm", UNREAD),
    "two looks differ": (look(Y_N), [look("x")], "waiting", "maybe", "confirm", "seen in one look only"),
    "only the last look counts": (look(Y_N), [look(Y_N), look("x")], "waiting", "maybe", "confirm", "one look only"),
    "no cursor": (
        look(Y_N, cursor=False),
        [look(Y_N, cursor=False)],
        "waiting",
        "maybe",
        "confirm",
        "cursor stands is unknown",
    ),
    "a signature that is never sure": (look("hmm"), [look("hmm")], "waiting", "maybe", "text", "itself is never sure"),
    "busy": (
        read("(esc to interrupt)", kernel=KernelFacts(listening=False, foreground="acme")),
        [],
        "working",
        "sure",
        None,
        "generic:busy",
    ),
    "busy, perhaps a picture": (look("(esc to interrupt)"), [], "working", "maybe", None, UNREAD),
    "a composer": (read("Ask anything"), [], "idle", "sure", None, "generic:composer"),
    "quota": (read("usage limit reached"), [], "quota", "sure", None, "generic:quota"),
    "a shell in front": (read(SHELL, "bash"), [], "ended", "sure", None, "generic:shell"),
    "a shell's prompt, nobody knows whose": (look(SHELL), [], "ended", "maybe", None, "foreground process is unknown"),
    "a shell behind a relay": (read(SHELL, "ssh"), [], "ended", "sure", None, "generic:shell"),
    "another program's prompt": (
        look(SHELL, "psql"),
        [],
        "waiting",
        "maybe",
        "repl_prompt",
        "but psql runs in the foreground",
    ),
    "printed by cat": (look(ALLOW, "cat"), [], "working", "maybe", None, "cat runs in the foreground and asks nothing"),
    "printed by make": (look(Y_N, "make"), [look(Y_N, "make")], "working", "maybe", None, "quoted or answered"),
    "the pack's own program": (look(TRUST, "claude"), [], "waiting", "sure", "trust", "agent:trust"),
    "another program": (
        look(TRUST, "vim"),
        [],
        "waiting",
        "maybe",
        "trust",
        "vim runs in the foreground, not claude or node",
    ),
    "behind a relay": (look(TRUST, "ssh"), [], "waiting", "maybe", "trust", "ssh shows another terminal"),
    "behind a relay that was seen through": (
        read(TRUST, "sudo", kernel=INSIDE),
        [],
        "waiting",
        "sure",
        "trust",
        "agent",
    ),
    "whose it is, is unknown": (look(TRUST), [], "waiting", "maybe", "trust", "agent:trust"),
    "nothing known": (look("text"), [], "working", "maybe", None, "no signature matches"),
    "a program without a prompt": (
        look("text", "gcc"),
        [look("text", "gcc")],
        "working",
        "maybe",
        None,
        "gcc runs in the foreground",
    ),
    "it changes": (look("text"), [look("other")], "working", "maybe", None, "the screen is changing"),
    "a shell without a prompt": (
        look("text", "zsh"),
        [look("text", "zsh")],
        "working",
        "maybe",
        None,
        "zsh runs in the foreground",
    ),
    "a pager at rest": (look("text", "less"), [look("text", "less")], "waiting", "maybe", "pager", "less rests"),
    "a pager that moves": (
        look("text", "less"),
        [look("x", "less")],
        "working",
        "maybe",
        None,
        "the screen is changing",
    ),
    "dead": (look(ALLOW, alive=False, exit_status=3), [], "gone", "sure", None, "exit status 3"),
    "dead, nobody knows how": (look(Y_N, alive=False), [look(Y_N)], "gone", "sure", None, "exit status unknown"),
}


@pytest.mark.parametrize(("now", "history", "state", "certainty", "kind", "reason"), CASES.values(), ids=CASES)
def test_judge(
    now: Snapshot, history: list[Snapshot], state: str, certainty: str, kind: str | None, reason: str
) -> None:
    found = verdict(now, *history)
    assert (found.state, found.certainty, found.kind) == (state, certainty, kind)
    assert reason in "; ".join(found.reasons)


def test_a_verdict_keeps_what_was_seen() -> None:
    found = verdict(look(ALLOW))
    assert found.match is not None
    assert found.match is found.detection.match
    assert found.match.signature.id == "dialog"


def test_behind_an_undecided_pattern_nothing_is_sure() -> None:
    now = read(ALLOW)
    clause = Clause(pattern="(a|aa)+$")
    undecided = ((Rule(GENERIC, GENERIC.signatures[0]), clause),)
    found = judge(Detection(now.screen, ENGINE.detect(now.screen).match, undecided), now)
    assert (found.state, found.certainty) == (State.WAITING, Certainty.MAYBE)
    assert any("generic:dialog is undecided" in reason for reason in found.reasons)


def test_an_undecided_pattern_and_no_match_is_unknown_not_working() -> None:
    now = look("text", "gcc")
    undecided = ((Rule(GENERIC, GENERIC.signatures[0]), Clause(pattern="(a|aa)+$")),)
    found = judge(Detection(now.screen, None, undecided), now, [now])
    assert (found.state, found.certainty) == (State.UNKNOWN, Certainty.MAYBE)
    assert "ran out of its budget" in found.reasons[0]


def test_the_lists_of_programs_do_not_overlap() -> None:
    assert not SHELLS & RELAYS
    assert not ASKS_NOTHING & (SHELLS | RELAYS)


TEXTS = st.sampled_from(
    [Y_N, ALLOW, TRUST, SHELL, "hmm", "text", "Ask anything", "esc to interrupt", "usage limit", ""]
)
FOREGROUNDS = st.sampled_from([None, "bash", "ssh", "cat", "claude", "vim", "gcc"])
SNAPSHOTS = st.builds(look, TEXTS, FOREGROUNDS, st.booleans(), alive=st.sampled_from([None, True]))
HISTORIES = st.lists(SNAPSHOTS, max_size=3)


@pytest.mark.parametrize(
    ("line", "kind"),
    [("Enter your token", Kind.SECRET), ("◆ New password:", Kind.SECRET), ("Password reset mail to", Kind.TEXT)],
)
def test_a_form_that_asks_for_text_asks_for_a_secret_where_its_words_name_one(line: str, kind: Kind) -> None:
    form = _signature("form", line, where="prompt_line", kind="text")
    screen = Screen.from_text(line, cursor=(len(line), 0))
    assert judge(Engine([Pack(name="p", signatures=[form])]).detect(screen), Snapshot(screen=screen)).kind is kind


@examples
@given(SNAPSHOTS, HISTORIES)
def test_without_the_looks_before_a_verdict_is_never_surer(now: Snapshot, history: list[Snapshot]) -> None:
    if verdict(now, *history).certainty is Certainty.MAYBE:
        assert verdict(now).certainty is Certainty.MAYBE


@examples
@given(TEXTS, st.booleans(), HISTORIES)
def test_unknown_facts_never_decide(text: str, cursor: bool, history: list[Snapshot]) -> None:
    """With nothing but the screen known, the verdict's state is the one that the signature says."""
    now = look(text, None, cursor)
    for bare in (now, Snapshot(screen=now.screen), Snapshot(screen=now.screen, alive=True, accepts_keys=False)):
        found = verdict(bare, *history)
        match = ENGINE.detect(now.screen).match
        if match is None:
            empty = not now.screen.text.strip()
            assert found.certainty is Certainty.MAYBE
            assert found.state is State.WORKING or (empty and found.state is State.UNKNOWN)
        else:
            assert (found.state, found.kind) == (match.signature.state, match.signature.kind)


@examples
@given(TEXTS, st.booleans(), HISTORIES, st.sampled_from(["bash", "cat", "claude", "vim", "gcc"]))
def test_who_is_in_front_confirms_only_a_shell_and_the_programs_own_dialog(
    text: str, cursor: bool, history: list[Snapshot], foreground: str
) -> None:
    without, with_fact = verdict(look(text, None, cursor), *history), verdict(look(text, foreground, cursor), *history)
    if with_fact.certainty is Certainty.SURE and without.certainty is Certainty.MAYBE:
        assert (with_fact.state, foreground, text) in {
            (State.ENDED, "bash", SHELL),
            (State.WAITING, "claude", TRUST),
        }


@examples
@given(SNAPSHOTS, HISTORIES, st.none() | st.integers(-15, 255))
def test_a_dead_session_is_gone_whatever_it_shows(now: Snapshot, history: list[Snapshot], status: int | None) -> None:
    dead = Snapshot(screen=now.screen, process=now.process, alive=False, exit_status=status)
    found = verdict(dead, *history)
    assert (found.state, found.certainty, found.kind) == (State.GONE, Certainty.SURE, None)


@examples
@given(SNAPSHOTS, HISTORIES)
def test_every_verdict_gives_a_reason_and_a_kind_only_where_it_waits(now: Snapshot, history: list[Snapshot]) -> None:
    found = verdict(now, *history)
    assert found.reasons and all(found.reasons)
    assert found.kind is None or (found.state is State.WAITING and isinstance(found.kind, Kind))


def test_what_is_kept_of_a_screen_that_asks_is_its_dialog_or_a_few_rows() -> None:
    asks = Dialog(["Run {file}?", Element(option="Yes"), Element(option="No")], "blank", {"file": "path"})
    pack = Pack("acme", foreground=["acme"], signatures=[_signature("asks", "Run ", dialog=asks)])
    text = "\n".join(["above", "", "Run ls?", "❯ Yes", "  No"])
    for foreground, rows in ((["acme"], ["Run ls?", "❯ Yes", "No"]), ([], ["above", "Run ls?", "❯ Yes", "  No"])):
        screen = Screen.from_text(text, size=(80, 24))
        found = judge(Engine([evolve(pack, foreground=foreground)]).detect(screen), Snapshot(screen=screen))
        assert found.asking_rows == rows, foreground


def test_only_a_program_that_says_itself_that_it_works_may_be_hung() -> None:
    says = Signal("file", State.WORKING, app="acme", guard=Guard.PROCESS)
    busy, silent, asks = (verdict(read(text)) for text in ("esc to interrupt", "text", ALLOW))
    told = {
        "its screen": busy.says_it_works,
        "its word": evolve(silent, state=State.WORKING, signals=(says,)).says_it_works,
        "anybody's word": evolve(silent, state=State.WORKING, signals=(evolve(says, guard=Guard.NONE),)).says_it_works,
        "a stale word": evolve(silent, state=State.WORKING, signals=(evolve(says, stale="gone"),)).says_it_works,
        "that it waits": evolve(asks, signals=(says,)).says_it_works,
    }
    assert [name for name, said in told.items() if said] == ["its screen", "its word"]
    assert busy.but_hung(None) is busy
    hung = busy.but_hung(Hung(90.2))
    assert (hung.hung, hung.state, hung.reasons[-1]) == (
        Hung(90.2),
        State.WORKING,
        "hung: nothing has happened for 90 s",
    )


def test_a_program_may_ask_inside_the_work_of_an_agent_that_is_not_at_rest() -> None:
    for state, certainty, agents, may in (
        (State.WORKING, Certainty.SURE, {"acme"}, True),
        (State.WORKING, Certainty.SURE, set(), False),
        (State.WORKING, Certainty.SURE, None, False),
        (State.IDLE, Certainty.MAYBE, {"acme"}, True),
        (State.IDLE, Certainty.SURE, {"acme"}, False),
        (State.WAITING, Certainty.SURE, {"acme"}, False),
        (State.QUOTA, Certainty.SURE, {"acme"}, False),
    ):
        found = evolve(verdict(read(ALLOW)), state=state, certainty=certainty, agents=agents)
        assert found.may_ask_inside is may, (state, certainty, agents)
    works = verdict(read(ALLOW)).but_asked_inside("git asks")
    assert (works.state, works.certainty, works.kind, works.inside) == (State.WORKING, Certainty.SURE, None, "git asks")
    assert works.reasons[-1] == "inside its work git asks" and works.ended_turn is None


def test_one_more_reason_changes_only_what_it_is_given() -> None:
    asks = verdict(read(ALLOW))
    same = asks.but("so it is")
    assert same == evolve(asks, reasons=(*asks.reasons, "so it is"))
    assert asks.but("", kind=None).kind is None and asks.but("", certainty=Certainty.MAYBE).certainty == "maybe"
