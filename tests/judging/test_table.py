"""The table of rules: what must hold whatever the sources claim."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from attrs import evolve, fields
from hypothesis import given
from hypothesis import strategies as some

from stallkit.detect.signature import Certainty, Kind, State
from stallkit.evidence.claim import Claim, Claims, Sign, Source, Weight
from stallkit.judging.table import ROWS, decide, otherwise, printed

PAGE = Path(__file__).parents[2] / "docs/judge.md"
GUESS, SIGN, OWN, PROOF = Weight
WAITS, WORKS, RESTS, ENDED, LIMIT, UNKNOWN = (
    *(State.WAITING, State.WORKING, State.IDLE, State.ENDED, State.QUOTA, State.UNKNOWN),
)
KINDS = some.sampled_from([None, Kind.CONFIRM, Kind.SECRET, Kind.TEXT])
# What each source may claim: the sign, the states and the weights that go with it.
MAY: dict[Source, list[tuple[Sign, tuple[State, ...], tuple[Weight, ...]]]] = {
    Source.SCREEN: [
        (Sign.PROMPT, (WAITS,), (GUESS, SIGN)),
        (Sign.DIALOG, (WAITS,), (GUESS, SIGN, OWN)),
        (Sign.MENU, (WAITS,), (GUESS, SIGN, OWN)),
        (Sign.SHELL_LIKE, (WAITS,), (GUESS,)),
        (Sign.OTHER, (RESTS, WORKS, LIMIT, ENDED), (GUESS, SIGN)),
        (Sign.DRAWN, (WAITS,), (GUESS,)),
        (Sign.EMPTY, (UNKNOWN,), (GUESS,)),
        (Sign.UNDECIDED, (UNKNOWN,), (GUESS,)),
    ],
    Source.MOTION: [(Sign.CHANGES, (WORKS,), (GUESS,))],
    Source.FOREGROUND: [
        (Sign.ASKS_NOTHING, (WORKS,), (SIGN,)),
        (Sign.PAGER, (WAITS,), (GUESS,)),
        (Sign.RUNS, (WORKS,), (GUESS,)),
    ],
    Source.KERNEL: [
        (Sign.STOPPED, (UNKNOWN,), (GUESS, SIGN)),
        (Sign.SECRET, (WAITS,), (GUESS, PROOF)),
        (Sign.READS, (WAITS,), (GUESS, SIGN)),
        (Sign.READS_ONCE, (WAITS,), (GUESS,)),
        (Sign.READS_MOVING, (WORKS,), (GUESS, SIGN)),
        (Sign.LINE_EDITOR, (ENDED,), (GUESS, SIGN)),
        (Sign.COMPUTES, (WORKS,), (GUESS, SIGN)),
        (Sign.NOBODY_READS, (WORKS,), (GUESS, SIGN)),
        (Sign.NOBODY_READS_KEYS, (WORKS,), (GUESS, SIGN)),
        (Sign.NOBODY_SEEN, (WAITS,), (GUESS, SIGN)),
        (Sign.HIDDEN, (WAITS,), (GUESS,)),
    ],
    Source.READ: [(Sign.BLOCKS, (WAITS,), (PROOF,))],
    Source.LEFT: [(Sign.OUTLIVED, (ENDED,), (PROOF,)), (Sign.PICTURE, (ENDED,), (GUESS,))],
    Source.SHELL: [(Sign.RUNNING, (WORKS,), (GUESS,)), (Sign.AWAITS, (ENDED,), (SIGN,))],
    Source.PROGRESS: [(Sign.BAR, (WORKS,), (SIGN,))],
    Source.SIGNAL: [(Sign.SAYS, (WAITS, WORKS, RESTS), (GUESS, SIGN, OWN)), (Sign.RESTS, (RESTS,), (SIGN, OWN))],
    Source.FORM: [(Sign.LOOKS, (WAITS, RESTS, WORKS, ENDED), (GUESS,)), (Sign.DOUBTS, (WAITS, RESTS, WORKS), (GUESS,))],
}


def claim(source: Source) -> some.SearchStrategy[Claim | None]:
    """What a source may claim, or nothing."""
    return some.one_of(
        some.none(),
        *(
            some.builds(
                Claim,
                some.just(source),
                some.just(sign),
                some.sampled_from(states),
                KINDS,
                some.sampled_from(weights),
                some.just(source is Source.SCREEN and WAITS in states and sign is not Sign.DRAWN),
            )
            for sign, states, weights in MAY[source]
        ),
    )


def all_claims() -> some.SearchStrategy[Claims]:
    """What all sources may claim together."""
    return some.builds(Claims, **{one.name: claim(Source(one.name)) for one in fields(Claims)})


@given(all_claims())
def test_every_combination_has_one_outcome_with_a_reason(of: Claims) -> None:
    outcome, row = decide(of)
    assert outcome.state in State and row.why and row.gives.words


@given(all_claims())
def test_a_key_follows_only_from_a_claim_that_carries_it_and_two_rows(of: Claims) -> None:
    outcome, row = decide(of)
    if outcome.keys:
        assert row.name in ("its own dialog", "read") and of.screen is not None and of.screen.keys
        assert (outcome.certainty, outcome.state, outcome.by) == (Certainty.SURE, WAITS, Source.SCREEN)


@given(all_claims())
def test_only_what_the_page_names_is_sure_without_the_kernel(of: Claims) -> None:
    outcome, row = decide(of.without(Source.KERNEL))
    exempt = {"ended below what started it", "its own dialog", "a read that blocks"}
    by_word = {"says what it shows", "says what it does, below a quotation", "says what nothing else shows"}
    assert outcome.certainty is not Certainty.SURE or row.name in exempt | by_word


@given(all_claims(), some.sampled_from([Source.KERNEL, Source.FOREGROUND, Source.MOTION]))
def test_removing_a_fact_never_turns_maybe_into_sure(of: Claims, source: Source) -> None:
    """But for a program's own dialog, an agent that ended, and what the program says, which are rows."""
    before, _ = decide(of)
    after, row = decide(of.without(source))
    rows = {"its own dialog", "says what it shows", "says what it does, below a quotation"}
    rows.add("ended below what started it")  # its job is stopped as well
    exempt = rows | {"says what nothing else shows", "a read that blocks"}
    if before.certainty is Certainty.MAYBE and row.name not in exempt:
        assert after.certainty is not Certainty.SURE or source is not Source.KERNEL or not of.kernel


@given(all_claims())
def test_a_secret_that_is_hidden_stays_one(of: Claims) -> None:
    """Whatever a prompt looks like: what is typed at it is not shown."""
    hidden = of.kernel is not None and of.kernel.sign in (Sign.HIDDEN, Sign.NOBODY_SEEN)
    outcome, _ = decide(of)
    if hidden and outcome.by is Source.SCREEN and outcome.state is WAITS and of.screen and of.screen.keys:
        assert outcome.kind is Kind.SECRET


def some_of(source: Source) -> list[Claim | None]:
    """Each that it may claim, and nothing."""
    found: list[Claim | None] = [None]
    for sign, states, weights in MAY[source]:
        keys = source is Source.SCREEN and WAITS in states and sign is not Sign.DRAWN
        found += [Claim(source, sign, state, weight=weight, keys=keys) for state in states for weight in weights]
    return found


def test_every_row_decides_something() -> None:
    """Of screen, kernel, signal and one more: a row that decides nothing goes."""
    decided = set()
    main = [Source.SCREEN, Source.KERNEL, Source.SIGNAL]
    for one in (source for source in Source if source not in main):
        sources = [*main, one]
        for chosen in itertools.product(*map(some_of, sources)):
            decided.add(decide(Claims(**dict(zip(map(str, sources), chosen, strict=True))))[1].name)
    assert [row.name for row in ROWS if row.name not in decided] == []


def test_what_would_come_out_otherwise() -> None:
    prompt = Claim(Source.SCREEN, Sign.PROMPT, WAITS, Kind.CONFIRM, SIGN, keys=True)
    of = Claims(screen=prompt, kernel=Claim(Source.KERNEL, Sign.NOBODY_READS, WORKS, weight=SIGN))
    with_runs = evolve(of, foreground=Claim(Source.FOREGROUND, Sign.RUNS, WORKS))  # it decides nothing here
    assert [*otherwise(with_runs)][1:] == [*otherwise(of)][1:]
    assert [(source, row.name) for source, _, row in otherwise(of)] == [
        (Source.SCREEN, "nothing is shown, and nothing reads"),
        (Source.KERNEL, "the screen alone"),
    ]
    assert decide(evolve(of, kernel=None))[0].certainty is Certainty.MAYBE


def said(name: str, sign: Sign, state: State, weight: Weight = GUESS, kind: Kind | None = None) -> dict[str, Claim]:
    """One claim, by the name of its source."""
    return {name: Claim(Source(name), sign, state, kind, weight, keys=name == "screen" and state is WAITS)}


PROMPT, DIALOG = said("screen", Sign.PROMPT, WAITS, SIGN), said("screen", Sign.DIALOG, WAITS, OWN)
PICTURE = said("screen", Sign.DIALOG, WAITS, GUESS)
CONFIRMS = said("screen", Sign.PROMPT, WAITS, SIGN, Kind.CONFIRM)
LIKE_A_SHELL, EMPTY = said("screen", Sign.SHELL_LIKE, WAITS), said("screen", Sign.EMPTY, UNKNOWN)
AT_REST, AT_WORK = said("screen", Sign.OTHER, RESTS, SIGN), said("screen", Sign.OTHER, WORKS, SIGN)
READS, READS_TEXT = said("kernel", Sign.READS, WAITS, SIGN), said("kernel", Sign.READS, WAITS, GUESS, Kind.TEXT)
NOBODY, NO_KEYS = said("kernel", Sign.NOBODY_READS, WORKS, SIGN), said("kernel", Sign.NOBODY_READS_KEYS, WORKS, SIGN)
EDITS = said("kernel", Sign.LINE_EDITOR, ENDED, SIGN)
PAGER = said("foreground", Sign.PAGER, WAITS, GUESS, Kind.PAGER)
ASKS_NOTHING = said("foreground", Sign.ASKS_NOTHING, WORKS, SIGN)
SAYS_WORKS, SAYS_WAITS = said("signal", Sign.SAYS, WORKS, SIGN), said("signal", Sign.SAYS, WAITS, SIGN)
SAYS_ASKS = said("signal", Sign.SAYS, WAITS, OWN, Kind.PERMISSION)
ANYBODY_ASKS, ANYBODY_WORKS = (said("signal", Sign.SAYS, one, GUESS, Kind.PERMISSION) for one in (WAITS, WORKS))
BLOCKS = said("read", Sign.BLOCKS, WAITS, PROOF, Kind.TEXT)
HIDES = said("read", Sign.BLOCKS, WAITS, PROOF, Kind.SECRET)
FORM_ASKS = said("form", Sign.LOOKS, WAITS, GUESS, Kind.SELECT)
FORM_ENDED = said("form", Sign.LOOKS, ENDED)
BAR = said("progress", Sign.BAR, WORKS, SIGN)
RUNNING, OUTLIVED = said("shell", Sign.RUNNING, WORKS), said("left", Sign.OUTLIVED, ENDED, PROOF)
AT_SHELL, UNDECIDED = said("screen", Sign.OTHER, ENDED, SIGN), said("screen", Sign.UNDECIDED, UNKNOWN)
SAYS_RESTS = said("signal", Sign.RESTS, RESTS, SIGN)
CASES: list[tuple[dict[str, Claim], str, State, str, Kind | None]] = [
    (AT_REST | NOBODY, "the screen alone", RESTS, "maybe", None),  # who rests reads
    (AT_REST | READS, "rest, limit or end, and it reads", RESTS, "sure", None),
    (AT_WORK | NOBODY, "works", WORKS, "sure", None),
    (DIALOG, "its own dialog", WAITS, "sure", None),
    (DIALOG | NO_KEYS, "the screen alone", WAITS, "maybe", None),
    (LIKE_A_SHELL | SAYS_WORKS, "says what nothing else shows", WORKS, "sure", None),
    (LIKE_A_SHELL | SAYS_WAITS, "the screen alone", WAITS, "maybe", None),
    # a form that says waiting counts for nothing below a progress bar
    (FORM_ASKS, "by its form", WAITS, "maybe", Kind.SELECT),
    (FORM_ASKS | BAR | READS, "a progress bar", WORKS, "maybe", None),
    (FORM_ENDED | BAR | READS, "by its form", ENDED, "maybe", None),
    # a shell's line editor, below which somebody speaks
    (EMPTY | EDITS | SAYS_WORKS, "at a shell, and something speaks", ENDED, "maybe", None),
    (EMPTY | EDITS | SAYS_WORKS | PAGER, "a pager", WAITS, "maybe", Kind.PAGER),
    (DIALOG | EDITS | SAYS_WORKS, "a dialog or a limit against its word", WAITS, "maybe", None),
    (EMPTY | EDITS | RUNNING, "reads and rests", ENDED, "maybe", None),
    (AT_SHELL | EDITS, "rest, limit or end, and it reads", ENDED, "sure", None),
    (AT_SHELL | EDITS | RUNNING, "at a shell, and something speaks", ENDED, "maybe", None),
    # where an agent ended
    (OUTLIVED, "ended below what started it", ENDED, "sure", None),
    (OUTLIVED | RUNNING, "ended, and something speaks", ENDED, "maybe", None),
    (OUTLIVED | SAYS_WORKS, "ended, and something speaks", ENDED, "maybe", None),
    (OUTLIVED | RUNNING | SAYS_RESTS, "ended below what started it", ENDED, "sure", None),
    # of what kind it is
    (UNDECIDED | READS_TEXT, "undecided, and it reads", WAITS, "maybe", Kind.TEXT),
    (PICTURE | SAYS_ASKS, "says what it shows", WAITS, "sure", Kind.PERMISSION),
    (PROMPT | ANYBODY_WORKS, "the screen alone", WAITS, "maybe", None),
    (PROMPT | ANYBODY_ASKS, "the screen alone", WAITS, "maybe", Kind.PERMISSION),
    (READS_TEXT | ANYBODY_ASKS, "somebody says so", WAITS, "maybe", Kind.TEXT),
    (ANYBODY_ASKS, "somebody says so", WAITS, "maybe", Kind.PERMISSION),
    (READS_TEXT | ANYBODY_ASKS | PAGER, "somebody says so", WAITS, "maybe", Kind.PAGER),
    (READS_TEXT | ANYBODY_WORKS, "somebody says so", WORKS, "maybe", Kind.PERMISSION),
    (READS_TEXT | SAYS_ASKS, "says what nothing else shows", WAITS, "sure", Kind.PERMISSION),
    (READS_TEXT | SAYS_WAITS, "says what nothing else shows", WAITS, "sure", Kind.TEXT),
    (READS_TEXT | SAYS_WORKS, "says what nothing else shows", WORKS, "sure", None),
    # a read that blocks: what it asks, and what is said against it
    (BLOCKS, "a read that blocks", WAITS, "sure", Kind.TEXT),
    (BLOCKS | CONFIRMS, "a read that blocks", WAITS, "sure", Kind.CONFIRM),
    (HIDES | CONFIRMS, "a read that blocks", WAITS, "sure", Kind.SECRET),
    (BLOCKS | CONFIRMS | ASKS_NOTHING, "a read that blocks", WAITS, "sure", Kind.TEXT),
    (BLOCKS | CONFIRMS | ASKS_NOTHING | FORM_ASKS, "a read that blocks", WAITS, "sure", Kind.SELECT),
    (BLOCKS | EMPTY | FORM_ASKS, "a read that blocks", WAITS, "sure", Kind.SELECT),
    (BLOCKS | AT_WORK, "a read that blocks", WAITS, "sure", Kind.TEXT),
    (BLOCKS | AT_REST, "the screen alone", RESTS, "maybe", None),
    (BLOCKS | FORM_ENDED, "a read that blocks", WAITS, "sure", Kind.TEXT),
    (BLOCKS | ANYBODY_WORKS, "a read that blocks", WAITS, "sure", Kind.TEXT),
    (BLOCKS | SAYS_WORKS, "a read that blocks", WAITS, "maybe", Kind.TEXT),
    (BLOCKS | SAYS_WAITS, "a read that blocks", WAITS, "sure", Kind.TEXT),
]


def test_what_comes_of_some_claims_together() -> None:
    wrong = []
    for said_by, *wanted in CASES:
        outcome, row = decide(Claims(**said_by))
        if [row.name, outcome.state, outcome.certainty, outcome.kind] != wanted:
            wrong.append((said_by, wanted, row.name, outcome))
    assert not wrong


def test_the_page_has_the_rows() -> None:
    """To write them: python scripts/rules_page.py."""
    assert len([*printed()]) == 2 + len(ROWS)
    assert sum("| 3 of 4 |" in line for line in printed({ROWS[0].name: "3 of 4"})) == 1
    assert "\n".join(printed()) in re.sub(r" \d+ of \d+ \|$", "  |", PAGE.read_text(), flags=re.M)


def test_the_page_is_short() -> None:
    words = [word for word in PAGE.read_text().split() if word.strip("|-#*`<>!.")]
    assert len(words) <= 1500
