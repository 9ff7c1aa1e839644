"""What one look found, as values."""

from __future__ import annotations

from attrs import evolve

from stallkit.evidence.snapshot import Member, Snapshot, Standstill
from stallkit.terminal.screen import Screen

ONE = Member(7, "sh", "S", started=1)


def test_a_process_is_still_the_one_that_was_seen() -> None:
    """By pid, start and what it last executed; where that is unknown by its name."""
    for now, before, still in (
        (ONE, ONE, True),
        (evolve(ONE, started=2), ONE, False),
        (evolve(ONE, name="ls"), ONE, False),
        (evolve(ONE, name="renamed", execed="1"), evolve(ONE, execed="1"), True),
        (evolve(ONE, execed="2"), evolve(ONE, execed="1"), False),
        (evolve(ONE, execed="2"), ONE, True),
    ):
        assert now.is_still(before) is still, (now, before)


def test_what_job_control_or_a_debugger_holds_is_stopped() -> None:
    assert {state: Member(7, "sh", state).stopped for state in "TtSZ"} == {"T": True, "t": True, "S": False, "Z": False}


def test_the_rows_below_one() -> None:
    seen = Snapshot(Screen.from_text("a\nb\nc", cursor=(1, 2)), target="tmux:one")
    assert seen.below(0) is seen
    assert seen.below(1) == evolve(seen, screen=Screen.from_text("b\nc", cursor=(1, 1)))


def test_all_stands_for_as_long_as_no_thread_was_on_a_cpu() -> None:
    stood = Standstill({7: 40, 8: 1}, 1.5)
    for now, before, lasts_s in (({7: 40, 8: 1}, stood, 2.5), ({7: 41, 8: 1}, stood, 0.0), ({7: 40, 8: 1}, None, 0.0)):
        assert Standstill(now).after(before, 1.0) == Standstill(now, lasts_s), (now, before)
