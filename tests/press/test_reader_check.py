"""Who reads the terminal decides against a key, never for one."""

from __future__ import annotations

from itertools import product
from typing import Any

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from looks import snapshot, verdict

from stallkit.detect.engine import Match
from stallkit.detect.signature import Pack, Signature
from stallkit.evidence.snapshot import KernelFacts, Member, Snapshot, TtyFacts
from stallkit.judging.verdict import Verdict
from stallkit.press.reader_check import SLACK_S, came_later, doubt_of_reader

RAW, LINES = TtyFacts(False, False), TtyFacts(True, True)
SHELL = Member(1, "bash", "S", 5, called="bash", image="bash", interactive=True)
SCRIPT = Member(7, "ask", "S", 50, called="bash", image="bash", execed="a", interactive=False, began=1_000.0)
INSTALLER = Member(7, "installer", "S", 50, called="installer", image="installer", execed="a", began=1_000.0)
CLAUDE = Member(7, "claude", "S", 50, called="claude", image="node", execed="a", began=1_000.0)
AGENT, NODE = (
    Pack(name="agent", foreground=frozenset({"claude", "node"})),
    Pack(name="n", foreground=frozenset({"node"})),
)
GENERIC = Pack(name="generic")


def below(leader: Member, name: str, image: str = "", **more: Any) -> Member:
    given = {"called": name, "image": image or name, "execed": "b", "parent": leader.pid, **more}
    return evolve(leader, pid=8, started=60, name=name, **given)


def look(*members: Member, reader: Member | None = None, tty: TtyFacts = LINES, **more: Any) -> Snapshot:
    """A look at a group, of which the last member reads unless another one is given."""
    given: dict[str, Any] = {"first_seen": members, "background": ()} | more
    readers = (reader or members[-1],)
    kernel = KernelFacts(1, 5, members[0].pid, members[0].called, members, True, "read", readers=readers, **given)
    return evolve(snapshot(foreground=members[0].called), kernel=kernel, tty=tty, printed_at=1_010.0)


def asked(pack: Pack, now: Snapshot, before: Snapshot | None = None) -> str | None:
    return doubt_of_reader(prompt(pack), now, before or now)


def prompt(pack: Pack) -> Verdict:
    found = verdict()
    given: Any = {"state": "waiting", "kind": "confirm", "severity": "low", "all_of": ["?"]}
    signature = Signature(id="asks", title="asks", **given)
    return evolve(found, detection=evolve(found.detection, match=Match(signature, pack, (), "?")))


ASK = [
    (GENERIC, (INSTALLER,)),
    (GENERIC, (SCRIPT,)),
    (GENERIC, (INSTALLER, below(INSTALLER, "dpkg"))),
    (GENERIC, (below(INSTALLER, "rm", "busybox"),)),
    (AGENT, (CLAUDE,)),
    (AGENT, (below(CLAUDE, "npm", "node"), below(CLAUDE, "claude", "node"))),
    (NODE, (below(CLAUDE, "npm", "node"), below(CLAUDE, "node"))),
    (NODE, (SCRIPT, below(SCRIPT, "python3"))),
]


def test_whoever_may_ask_is_answered() -> None:
    for (pack, members), tty in product(ASK, (RAW, LINES)):
        seen = look(*members, tty=tty)
        assert asked(pack, evolve(seen, kernel=evolve(seen.kernel, group=7))) is None, (pack, members, tty)


ASK_NOT = [
    (AGENT, (CLAUDE, below(CLAUDE, "bash")), "bash reads the terminal, not a program that pack agent names"),
    (AGENT, (CLAUDE, below(CLAUDE, "vi", "vim.basic")), "vi (vim.basic) reads"),
    (AGENT, (CLAUDE, below(CLAUDE, "psql")), "psql reads"),
    (AGENT, (CLAUDE, below(CLAUDE, "node")), "node reads"),
    (AGENT, (evolve(CLAUDE, image="bash"),), "claude (bash) reads"),
    (AGENT, (evolve(CLAUDE, image="cat"),), "asks nothing"),
    (GENERIC, (SHELL,), "runs no script"),
    (GENERIC, (evolve(SCRIPT, interactive=None),), "runs no script"),
    (GENERIC, (below(CLAUDE, "python3", interactive=True),), "runs no script"),
    (GENERIC, (below(CLAUDE, "sqlite3"),), "half-typed"),
    (GENERIC, (evolve(INSTALLER, image="cat"),), "installer (cat) reads the terminal, and asks nothing"),
    (GENERIC, (evolve(INSTALLER, called="dd", image="busybox"),), "asks nothing"),
    (GENERIC, (INSTALLER, below(INSTALLER, "less")), "less is among"),
    (GENERIC, (below(INSTALLER, "nvim"), INSTALLER), "nvim is among"),
]


def test_whoever_does_not_ask_gets_no_key() -> None:
    wrong = [(said, why) for pack, members, why in ASK_NOT if why not in (said := asked(pack, look(*members)) or "")]
    assert not wrong, wrong


def test_what_the_terminal_does_not_show_wrote_no_prompt() -> None:
    for pack, member in ((AGENT, CLAUDE), (GENERIC, INSTALLER)):
        assert asked(pack, look(member, writers=(7,))) is None
        assert "its words go elsewhere" in (asked(pack, look(member, writers=())) or "")


def test_beside_an_agent_only_what_writes_to_the_terminal_may_have_drawn_its_dialog() -> None:
    helper, reads = below(CLAUDE, "sh"), CLAUDE
    assert asked(AGENT, look(CLAUDE, helper, reader=reads, writers=(7,))) is None
    assert "may have written" in (asked(AGENT, look(CLAUDE, helper, reader=reads, writers=(7, 8))) or "")
    npm = below(CLAUDE, "npm", "node")  # which started it, and waits
    both = look(npm, evolve(CLAUDE, parent=8), writers=(7, 8))
    assert asked(AGENT, evolve(both, kernel=evolve(both.kernel, group=8))) is None


def test_another_job_may_have_written_what_stands_at_a_shells_read() -> None:
    job = Member(9, "make", "R", 40, called="make")
    assert "make (pid 9) runs" in (asked(GENERIC, look(SCRIPT, background=(job,))) or "")
    assert "make (pid 9) is stopped" in (asked(GENERIC, look(SCRIPT, background=(evolve(job, state="T"),))) or "")
    assert "unknown" in (asked(GENERIC, look(SCRIPT, background=None)) or "")
    assert "make" in (asked(GENERIC, look(INSTALLER, background=(job,), tty=RAW)) or "")
    assert asked(GENERIC, look(INSTALLER, background=(job,))) is None
    assert asked(AGENT, look(CLAUDE, background=(job,), tty=RAW)) is None


def test_an_unknown_reader_and_one_outside_the_foreground_get_no_key() -> None:
    seen = look(CLAUDE)
    for pack, kernel in product((AGENT, GENERIC), (None, KernelFacts(), KernelFacts(listening=True, readers=None))):
        assert asked(pack, evolve(seen, kernel=kernel)) == "which process reads the terminal is unknown"
    outside = evolve(seen, kernel=evolve(seen.kernel, readers=(), reader="pinentry"))
    assert "outside its foreground" in (asked(AGENT, outside) or "")


def test_who_was_started_after_the_last_output_did_not_write_it() -> None:
    for began, late in ((1_000.0, False), (1_010.0 + SLACK_S, False), (1_010.1 + SLACK_S, True), (2_000.0, True)):
        reader = evolve(INSTALLER, began=began)
        seen = look(reader)
        assert ("started after" in (asked(GENERIC, seen) or "")) is late, began
        own = evolve(seen, kernel=evolve(seen.kernel, pid=reader.pid))
        assert came_later(own, own) is None, "before a session's first process nothing was printed"
        assert came_later(evolve(seen, printed_at=None), seen) is None


ANOTHER = [
    evolve(INSTALLER, pid=8),
    evolve(INSTALLER, started=51),
    evolve(INSTALLER, execed="another program"),
    evolve(INSTALLER, execed=None, name="another name"),
]


def test_who_was_not_there_when_the_prompt_came_gets_no_key() -> None:
    before = look(INSTALLER)
    for other in ANOTHER:
        both = (INSTALLER, evolve(other, pid=9))
        said = [asked(GENERIC, look(other), before), asked(GENERIC, look(other, first_seen=(INSTALLER,)))]
        said.append(asked(GENERIC, look(*both), look(*both, reader=INSTALLER)))
        assert all("did not when" in (one or "") for one in said), (other, said)


def test_a_first_look_that_did_not_go_through_a_relay_says_nothing() -> None:
    outside = KernelFacts(members=(SHELL,), first_seen=(SHELL,))
    inside = look(INSTALLER, through="sudo")
    assert came_later(inside, evolve(inside, kernel=outside)) is None
    assert came_later(inside, evolve(inside, kernel=evolve(outside, listening=True))) is not None
    assert came_later(look(INSTALLER), evolve(inside, kernel=outside)) is not None


MEMBERS = st.sampled_from([SHELL, SCRIPT, INSTALLER, CLAUDE, below(CLAUDE, "vi"), below(INSTALLER, "cat"), *ANOTHER])


@given(st.lists(MEMBERS, min_size=1, max_size=4), st.sampled_from([AGENT, GENERIC, NODE]), st.data())
def test_one_more_reader_never_makes_a_key_possible(readers: list[Member], pack: Pack, data: st.DataObject) -> None:
    fewer = readers[: data.draw(st.integers(1, len(readers)))]
    seen = look(*readers)
    less, more = (evolve(seen, kernel=evolve(seen.kernel, readers=tuple(one))) for one in (fewer, readers))
    if asked(pack, less) is not None:
        assert asked(pack, more) is not None
