"""recheck finds patterns that run away, of every kind, and nothing in the shipped packs."""

from __future__ import annotations

import re
import sys

import pytest

from stallkit.core.signature import Clause, Pack, Signature
from stallkit.lab.lint import runaways
from stallkit.lab.lint.ecmascript import ecmascript
from stallkit.lab.lint.runner import lint
from stallkit.lab.lint.subject import Subject
from stallkit.packs.registry import installed

HOSTILE = {
    "SK103": [
        "^(?:a|a)*b$", r"(?:\w+\s?)+;", r"^.*;.*;.*;.*;.*;.*x$", r"^(?:a|aa)+$", r"(?:[a-z]+)*!",
        r"(?x) (?: a+ )+ b  # why",
        r"(?P<word>\w+)(?P=word)x", r"(?=(?:a|a)*b)c", r"(?i)^(?:ab|AB)*c$", r"(?:(?>a|b)+)+c", r"(?:\d+,?)+\.",
    ],
    "SK104": [
        r"\w+x", r"\s+Deploy\?", r"^[└╰]─+[^│|?\n]*[$#]$", r"a.*press$", r"\[default[^\]]*[ ]*:$",
        r"(?:k|l).*\[retrying",
        r"\d+-hour", r"Allow[^?]*\?", r"(?s)Allow.*deny", r"(?>\w+)x",
    ],
}  # fmt: skip
HARMLESS = [
    r"\b\w++x", r"^[└╰]─[^│|?\n]*[$#]$", r"\d-hour", "^.*press.*$", "Allow[^?]{0,20}", "#a*b", "(?x) a  # (a+)+b\n b",
]  # fmt: skip


def pack(patterns: list[str]) -> Pack:
    clauses = [Clause(pattern=pattern) for pattern in patterns]
    return Pack("p", signatures=[Signature(id="a", title="", state="working", all_of=clauses)])


def found_in(given: Pack) -> tuple[list[tuple[str, int]], list[str]]:
    notes: list[str] = []
    found = runaways.check(Subject(given, "p"), notes)
    return [(one.code, int(one.clause[7:-1])) for one in found], notes


def test_hostile_patterns_of_every_kind_are_found_and_harmless_ones_are_not() -> None:
    patterns = [pattern for code in HOSTILE for pattern in HOSTILE[code]] + HARMLESS
    found, notes = found_in(pack(patterns))
    assert {patterns[place - 1]: code for code, place in found} == {
        pattern: code for code, bad in HOSTILE.items() for pattern in bad
    }
    assert notes == []


def test_none_of_the_shipped_packs_runs_away() -> None:
    wrong = []
    for shipped in installed().packs:
        notes: list[str] = []
        found = list(runaways.check(Subject(shipped, shipped.name), notes))
        wrong += [(shipped.name, one.signature, one.clause, one.message) for one in found] + notes
    assert wrong == []


def test_what_recheck_does_not_read_is_noted() -> None:
    found, notes = found_in(pack(["(a+)?(?(1)b|c)"]))
    assert found == []
    assert len(notes) == 1 and notes[0].startswith("recheck cannot tell whether")


def test_without_the_extra_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redos_linter", None)
    assert lint(pack(["x.*y.*z.*!"])).notes == (runaways.MISSING,)
    assert lint(pack(["ab"])).notes == (), "that it does not run away is proven without recheck"


def test_the_translation_takes_what_the_pattern_takes() -> None:
    """`re` reads the translation too, names of groups apart."""
    for pattern, text in [
        (r"\A(?P<a>x)y++\1.[]]\Z", "xyyx-]"), (r"(?>a+)b", "caab"), (r"(?x) a b  # c", "ab"), ("#a", "#a"),
        ("a{,2}b", "aab"),
        (r"(?s:a.)b.", "a\nbc"), (r"^a$", "b\na"), (r"(a)(?P<b>b)\2(?P=b)", "abbb"),
    ]:  # fmt: skip
        translated = re.sub(r"\\k<(\w+)>", r"(?P=\1)", ecmascript(Clause(pattern=pattern))[0].replace("(?<g", "(?P<g"))
        translated = translated.replace("(?<a1>", "(?P<a1>")
        one, two = (re.search(form, text, re.MULTILINE) for form in (pattern, translated))
        assert one is not None and two is not None and one.span() == two.span(), (pattern, translated)
