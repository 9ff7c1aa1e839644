"""What the prefilter is built of: literals a pattern cannot do without, and characters it ends in."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stallkit.core.literals import FOLDS, last_characters, needs_ink, parse, required
from stallkit.core.matcher import Budget, find
from stallkit.core.screen import Screen
from stallkit.core.signature import Clause

# Parts of patterns, put together at random: what a pack's author writes, and traps for whoever reads the parse tree.
ATOMS = [
    "yes",
    "[yY]/[nN]",
    r"\(y/n\)",
    "Allow",
    "a",
    "k",
    "s",
    "i",
    r"\d+",
    r"\s*",
    " ?",
    "",
    "❯",
    "é",
    "(?:ab|ac)",
    "(?:abc|x|)",
]
ATOMS += [
    "(?i:proceed)",
    "(?:Enter|Return)+",
    "(?:x?|yz)",
    "(?=Q)Q",
    "Z(?!q)",
    "(?:ok){2}",
    "(?:no){0,2}",
    "(?>at)",
    "b++",
    r"\bw",
]
PATTERNS = st.lists(st.sampled_from(ATOMS), min_size=1, max_size=4).map("".join) | st.lists(
    st.sampled_from(ATOMS), min_size=2, max_size=3
).map("|".join)
ENDS = st.sampled_from([r"\s*$", "$", " ?$", r"[ \t]*$", r"[?:] *$", "(?:x|y)$", "[)\\]]$", "(?:> ?|[$#])$", "!+$"])
examples = settings(max_examples=120, deadline=None)


@pytest.mark.parametrize(
    ("clause", "literals"),
    [
        (Clause(text="Allow?"), {"Allow?"}),
        (Clause(text=" Allow? "), {"Allow?"}),
        (Clause(text="\n? Pick one"), {"? Pick one"}),
        (Clause(text="ALLOW", ignore_case=True), {"allow"}),
        (Clause(text="Größe wählen", ignore_case=True), {"hlen"}),
        (Clause(pattern="Do you (?:want|wish) to"), {"Do you w"}),
        (Clause(pattern="(?:proceed|continue)\\?"), {"proceed", "continue"}),
        (Clause(pattern="[yY]"), None),
        (Clause(pattern="a?b*"), None),
        (Clause(pattern="(?:yes|)"), None),
        (Clause(pattern="(?:yes)?no"), {"no"}),
        (Clause(pattern="(?:ok)+"), {"ok"}),
        (Clause(pattern="(?i)Allow"), {"allow"}),
        (Clause(pattern="(?i:Allow)"), None),
        (Clause(pattern="(?!esc to)interrupt"), {"interrupt"}),
        (Clause(pattern=r"\d+ tokens?"), {"token"}),
        (Clause(pattern="|".join(f"{n:02}x" for n in range(17))), None),
    ],
    ids=str,
)
def test_required(clause: Clause, literals: set[str] | None) -> None:
    assert required(clause) == literals


@pytest.mark.parametrize(
    ("pattern", "ends"),
    [
        (r"\[y/N\]$", "]"),
        (r"\[y/N\] ?$", "]"),
        (r"\?\s*$", "?"),
        (r"[?:][ ]*$", "?:"),
        (r"(?:yes|no)$", "so"),
        (r"(a|[bc]) *$", "abc"),
        (r"[^x]$", None),
        (r"\w$", None),
        (r"x?$", None),
        (r"x", None),
        (r"x\Z", None),
        (r"x$|y", None),
        (r"(?i)x$", None),
        (r"(?i:x)$", None),
        (r"\s*$", None),
        (r"(?:x|)$", None),
    ],
)
def test_last_characters(pattern: str, ends: str | None) -> None:
    clause = Clause(pattern=pattern, where="prompt_line")
    assert last_characters(clause) == (None if ends is None else set(ends))


def test_last_characters_of_what_is_no_case_sensitive_pattern() -> None:
    assert last_characters(Clause(text="x")) is None
    assert last_characters(Clause(pattern="x$", ignore_case=True)) is None


@pytest.mark.parametrize(
    "pattern", ["(", "[", "a{2,1}", "*", r"\p{L}", "(?<n>a)", "(?P<n>a)(?P<n>b)", "a{99999999999}"]
)
def test_what_re_refuses_is_refused(pattern: str) -> None:
    with pytest.raises((re.error, OverflowError)):
        parse(pattern)


def _holds(clause: Clause, screen: Screen) -> bool:
    return bool(find(clause, screen, Budget()).held)


def _lowered(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").lower()  # as the prefilter does


@examples
@given(st.data(), PATTERNS, st.booleans(), st.text(max_size=3), st.text(max_size=3))
def test_a_required_literal_is_in_every_text_that_matches(
    data: st.DataObject, pattern: str, ignore_case: bool, before: str, after: str
) -> None:
    if not pattern.strip():
        return
    clause = Clause(pattern=pattern, ignore_case=ignore_case)
    flags = re.IGNORECASE if ignore_case else 0
    screen = Screen.from_text(before + data.draw(st.from_regex(re.compile(pattern, flags))) + after)
    literals = required(clause)
    if literals is None or not _holds(clause, screen):
        return
    folded = ignore_case and any(char in screen.text for char in FOLDS)  # those the prefilter looks for itself
    assert folded or any(_lowered(literal) in _lowered(screen.text) for literal in literals)


@examples
@given(
    st.sampled_from(["Allow?", " y ", "Kiss?", "a\n b", "❯ Yes", "Größe", "? ", "sIk"]),
    st.booleans(),
    st.text("Allow? ykisKIS❯\n", max_size=12),
    st.text(max_size=4),
)
def test_so_it_is_for_plain_texts(text: str, ignore_case: bool, before: str, after: str) -> None:
    clause = Clause(text=text, ignore_case=ignore_case)
    screen = Screen.from_text(before + text.swapcase() + "\n" + text + after)
    literals = required(clause)
    if literals is None or not _holds(clause, screen):
        return
    folded = ignore_case and any(char in screen.text for char in FOLDS)
    assert folded or any(_lowered(literal) in _lowered(screen.text) for literal in literals)


@examples
@given(st.data(), PATTERNS, ENDS, st.integers(0, 3))
def test_a_prompt_line_ends_in_a_last_character(data: st.DataObject, pattern: str, end: str, blanks: int) -> None:
    clause = Clause(pattern=pattern + end, where="prompt_line")
    ends = last_characters(clause)
    line = data.draw(st.from_regex(re.compile(pattern + end))) + " " * blanks
    screen = Screen.from_text(line)
    if ends is not None and _holds(clause, screen):
        assert screen.prompt_line.text.rstrip()[-1:] in ends


@pytest.mark.parametrize(
    ("clause", "ink"),
    [
        (Clause(text="? "), True),
        (Clause(text="\n "), False),
        (Clause(pattern=r"^\s*$"), False),
        (Clause(pattern=r"^ *[:>]? *$"), False),
        (Clause(pattern=r"^ *[:>] *$"), True),
        (Clause(pattern=r"[^x]"), False),
        (Clause(pattern=r"[a-z\d]+"), True),
        (Clause(pattern=r"[ -~]"), False),
        (Clause(pattern=r"\S"), True),
        (Clause(pattern=r"(?:a|b\s)+$"), True),
        (Clause(pattern=r"(?:a|\s)+$"), False),
        (Clause(pattern=r"(?=a)"), False),
        (Clause(pattern=r"x*\s"), False),
    ],
)
def test_needs_ink(clause: Clause, ink: bool) -> None:
    assert needs_ink(clause) is ink


@given(
    st.data(), st.sampled_from([r"^\s*$", r"\W", r"[^a]{2}", r"(?:a| )$", r".", r"\s+x?", r"[ -~]", r"(?s:.)", r"\D$"])
)
def test_what_matches_a_blank_line_needs_no_ink(data: st.DataObject, pattern: str) -> None:
    blank = data.draw(st.text(" \t\u3000", max_size=4))
    if re.search(pattern, blank):
        assert not needs_ink(Clause(pattern=pattern))
