"""What the programs of some packs write of themselves, by name."""

from __future__ import annotations

from stallkit.detect.agent import Agent, Process, Resume, Title, Vocabulary

ALPHA = Agent("alpha", Process(["alpha", "node"], reports=True), Title(working=["alpha (busy)"]), resume=Resume("-r"))
BETA = Agent("beta", Process(["beta"]), resume=Resume("--resume"))
GAMMA = Agent("gamma", Process(["gamma"]), Title(waiting=["(?:a|aa)+!$"]))
WORDS = Vocabulary([GAMMA, BETA, ALPHA])


def test_who_reports_and_who_goes_on_in_a_new_process() -> None:
    assert WORDS.reporters == {"alpha", "node"}
    assert WORDS.resumable(["gamma", "beta", "alpha"]) == [ALPHA, BETA]
    assert WORDS.resumable(["beta", "delta"]) == [BETA]


def test_a_pattern_that_runs_away_tells_nothing_of_a_title_and_keeps_no_other_from_it() -> None:
    assert WORDS.titled("aa!") == (("gamma", "waiting", "aa!"),)
    assert WORDS.titled(f"{'a' * 60} ! alpha busy") == (("alpha", "working", "alpha busy"),)
