"""What a signature needs is wider than the signature, and a clause found by remembered lines is found as by itself."""

from __future__ import annotations

import pickle
import re
import sys

import pytest
import strategies
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stallkit.core.atoms import BLANKS
from stallkit.core.lines import View
from stallkit.core.matcher import Budget, find
from stallkit.core.needs import LINE_END, Atom, ClauseNeeds, of_clause
from stallkit.core.prefilter import Prefilter
from stallkit.core.screen import Screen
from stallkit.core.signature import Clause, Signature
from stallkit.packs.registry import installed

SIGNATURES = [(pack, signature) for pack in installed().packs for signature in pack.signatures]


def shown(found: ClauseNeeds) -> list[list[set[str]]]:
    """Ways, each with what its pieces need; heads and feet are marked, and an empty one is a line end."""
    return [[set().union(*map(_texts, piece - LINE_END)) for piece in way] for way in found.ways]


def _texts(atom: Atom) -> set[str]:
    mark = {"head": "^", "foot": "$", "ink": "ink"}.get(atom.sort, "")
    return {f"{mark}{'|'.join(sorted(atom.any_of))}"}


@pytest.mark.parametrize(
    ("clause", "ways"),
    [
        (Clause(text="Allow?"), [[{"allow?"}]]),
        (Clause(text="Allow\nyes"), [[{"allow"}, set(), {"yes"}]]),
        (Clause(pattern="foo.*bar"), [[{"foo", "bar"}]]),
        (Clause(pattern=r"foo\s+bar"), [[{"foo"}, {"bar"}]]),
        (Clause(pattern=r"foo\s+bar", where="above"), [[{"foo", "bar"}]]),
        (Clause(pattern=r"foo[^x]bar"), [[{"foo"}, {"bar"}]]),
        (Clause(pattern="(?s)foo.bar"), [[{"foo"}, {"bar"}]]),
        (Clause(pattern=r"foo\nbar"), [[{"foo", "$o"}, set(), {"bar", "^b"}]]),
        (Clause(pattern=r"^[ │]*❯ \d"), [[{"^❯", "❯", "|0|1|2|3|4|5|6|7|8|9"}]]),
        (Clause(pattern=r"^\s*(?:>|\? )"), [[{"^>|?", ">|?"}]]),
        (Clause(pattern=r"^\d"), [[{"^|0|1|2|3|4|5|6|7|8|9", "|0|1|2|3|4|5|6|7|8|9"}]]),
        (Clause(pattern=r"^\s*x?y"), [[{"^x|y", "y"}]]),
        (Clause(pattern=r"^(?!a)\w"), []),
        (Clause(pattern=r"[?:]\s*$"), [[{"$:|?", ":|?"}]]),
        (Clause(pattern=r"\?(?: x)?$"), [[{"$?|x", "?"}]]),
        (Clause(pattern="foo bar|yes.*sir"), [[{"foo bar"}], [{"yes", "sir"}]]),
        (Clause(pattern="(?:foo|bar)baz"), [[{"bar|foo", "baz"}]]),
        (Clause(pattern="(?:foo|)bar"), [[{"bar"}]]),
        (Clause(pattern="(?=foo)bar(?!baz)"), [[{"bar"}]]),
        (Clause(pattern=r"(foo)x\1"), [[{"foo", "x"}]]),
        (Clause(pattern="(?:foo.{3})++"), [[{"foo"}]]),
        (Clause(pattern=r"(?:foo\n){2}bar"), [[{"foo", "$o"}, set(), {"foo", "$o"}, set(), {"bar"}]]),
        (Clause(pattern="kiss", ignore_case=True), [[{"kiss"}]]),
        (Clause(pattern="[äö]", ignore_case=True), []),
        (Clause(pattern="[ab]", ignore_case=True), [[{"A|B|a|b"}]]),
        (Clause(pattern="(?:foo){e<=1}"), []),
        (Clause(pattern="[[:alpha:]]x"), []),
        (Clause(pattern="foo", where="prompt_line"), [[{"foo", "ink"}]]),
    ],
    ids=lambda given: str(given) if isinstance(given, Clause) else "",
)
def test_needs(clause: Clause, ways: list[list[set[str]]]) -> None:
    found = shown(of_clause(clause))
    assert len(found) == len(ways)
    assert all(way in found for way in ways)


@pytest.mark.parametrize(
    ("pattern", "by_line"),
    [
        ("^foo.*bar$", True),
        (r"(?<!x)foo\b(?! bar)", True),
        (r"[^\n]*+x", True),
        (r"(\w)\1", False),  # it would hold, but a back-reference is not looked into
        (r"foo\s", False),
        (r"(?!\s)foo", False),
        (r"(?<=[^x])foo", False),
        (r"\Afoo", False),
        (r"foo\Z", False),
        (r"\Bfoo", False),
        ("(?s).", False),
        ("[^x]", False),
        (r"foo\n", False),
        (r"(?:foo){e<=1}", False),
    ],
)
def test_by_line(pattern: str, by_line: bool) -> None:
    assert of_clause(Clause(pattern=pattern)).by_line is by_line
    assert of_clause(Clause(pattern=pattern, where="prompt_line")).by_line


THOROUGH = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _same(signatures: list[Signature], screens: list[Screen]) -> None:
    """On every screen each clause is found as by itself, and who holds, or nearly, is among the candidates."""
    prefilter = Prefilter(signatures)
    for screen in [*screens, *screens]:  # what was remembered, too
        view = View(screen, prefilter.lines)
        candidates = prefilter.within(view)
        for number, signature in enumerate(signatures):
            for clause in (*signature.all_of, *signature.none_of):
                assert view.find(prefilter.plan(clause), Budget()) == find(clause, screen, Budget()), clause
            if all(find(clause, screen, Budget()).held for clause in signature.all_of):
                assert number in candidates


@settings(THOROUGH, max_examples=150)
@given(case=strategies.cases())
def test_random_clauses_are_found_as_by_themselves(case: strategies.Case) -> None:
    _same([signature for pack in case.packs for signature in pack.signatures], list(case.screens))


BEGINS = ["", "", "^", r"^\s*", "^[ │|]*", r"\A", r"\n", r"(?<=\n)", "^(?:k|❯)?", "^(?: *[❯>])?"]
INSIDE = ["k", "K", "s", "[ks]", "(?i:k)", "❯", "[❯>│]", "(?:k|❯)?", "(?:s|)", "│", "(?:a\\n)+", r"\d", "[^k\n]", ".*"]
INSIDE += [r"\s+", "[^x]", "(?=k)", "(?!k)", r"\b", "(?>k|ki)", "(?:i|s)++", "i", "(?:k{2}|s)", r"(?-i:K)", "a?", " "]
INSIDE += ["(?:^s|k$)", r"[\ds]", "٣", r"\n", "ſ", "."]
ENDINGS = ["", "", "$", r"\s*$", r"\Z", r"\n", r"[ │|]*$", "(?: k)?$", r"\s*\Z", r"(?=\n)", "(?: |$)"]
LINES = [
    "k",
    "x",
    "K s",
    "❯ k",
    " k",
    "\u212a",
    "ſk",
    "s 3",
    "│ k │",
    "",
    "k s",
    "x3",
    "aks",
    "> i",
    "k ",
    "│",
    "٣s",
    "❯",
    "ki",
]
WHERE = ["screen", "screen", "tail(2)", "prompt_line", "above", "block", "paragraph", "down_to_cursor(2)"]


@st.composite
def edged(draw: st.DrawFn) -> Signature:
    """A signature of one pattern with anchors, margins, line ends and characters that fold."""
    begin, end = draw(st.sampled_from(BEGINS)), draw(st.sampled_from(ENDINGS))
    inside = "".join(draw(st.lists(st.sampled_from(INSIDE), min_size=1, max_size=2)))
    pattern = begin + inside + end
    try:
        re.compile(pattern)
    except re.error:
        pattern = inside
    clause = Clause(
        pattern=pattern if pattern.strip() else "k", where=draw(st.sampled_from(WHERE)), ignore_case=draw(st.booleans())
    )
    return Signature(id="one", title="", state="waiting", kind="confirm", all_of=[clause])


@settings(THOROUGH, max_examples=150)
@given(
    signatures=st.lists(edged(), min_size=10, max_size=25),
    rows=st.lists(st.lists(st.sampled_from(LINES), min_size=1, max_size=4), min_size=3, max_size=8),
    column=st.none() | st.integers(0, 4),
)
def test_edges_of_lines(signatures: list[Signature], rows: list[list[str]], column: int | None) -> None:
    _same(
        signatures,
        [Screen.from_text("\n".join(one), None if column is None else (column, len(one) - 1)) for one in rows],
    )


@pytest.mark.parametrize(("pack", "signature"), SIGNATURES, ids=[f"{p.name}:{s.id}" for p, s in SIGNATURES])
def test_every_hit_and_miss_of_a_shipped_pack(pack: object, signature: Signature) -> None:
    screens = [Screen.from_text(text) for text in (*signature.hits, *signature.misses)]
    _same([signature], screens)


def test_every_blank_is_a_margin() -> None:
    assert set(BLANKS) == {char for char in map(chr, range(sys.maxunicode + 1)) if char.isspace()}


def test_needs_can_be_kept() -> None:
    for _, signature in SIGNATURES:
        for clause in signature.all_of:
            assert pickle.loads(pickle.dumps(of_clause(clause))) == of_clause(clause)


def test_a_screen_whose_lines_are_several_is_not_filtered() -> None:
    signature = Signature(id="one", title="", state="waiting", kind="confirm", all_of=[Clause(pattern="^b")])
    _same([signature], [Screen(lines=("a\nb",)), Screen(lines=("a",), title="a\nb"), Screen(lines=())])
