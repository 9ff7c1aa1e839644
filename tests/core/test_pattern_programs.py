"""Patterns made from kept programs are those that `re` and `regex` compile; what is no program is compiled anew."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from typing import Any, Iterator, Mapping

import pytest
import regex

from stallkit.core import pattern_programs
from stallkit.core.rooms import proven
from stallkit.core.signature import Clause
from stallkit.packs.registry import installed_engine


class Kept:
    """A store in memory, as another process would find it: what is put into it is pickled."""

    def __init__(self) -> None:
        self.content = b""
        self.given: dict[pattern_programs.Key, Any] = {}
        self.asked: list[pattern_programs.Key] = []

    def get(self, key: pattern_programs.Key) -> Any | None:
        self.asked.append(key)
        return self.given.get(key)

    def put(self, answers: Mapping[pattern_programs.Key, Any]) -> None:
        self.content = pickle.dumps(answers)

    def at_the_next_start(self) -> Kept:
        again = Kept()
        again.given = pickle.loads(self.content)
        return again


@pytest.fixture(autouse=True)
def store() -> Iterator[Kept]:
    store = Kept()
    pattern_programs.keep_in(lambda: store)
    yield store
    pattern_programs.keep_in(None)


def shipped() -> list[Clause]:
    signatures = installed_engine().signatures
    found = {clause for one in signatures for clause in (*one.all_of, *one.none_of) if clause.pattern is not None}
    assert len(found) > 400
    return sorted(found, key=str)


def flags_of(clause: Clause) -> int:
    return re.MULTILINE | (re.IGNORECASE if clause.ignore_case else 0)


def test_patterns_of_the_shipped_packs_are_the_same_from_their_programs(store: Kept) -> None:
    asked = [(clause.pattern or "", flags_of(clause)) for clause in shipped()]
    asked.append((r"(?P<letter>a)|(?P<other>b)(?i:c)", re.ASCII))
    made = [pattern_programs.plain(*one) for one in asked]
    pattern_programs.save()
    again = store.at_the_next_start()
    pattern_programs.keep_in(lambda: again)
    restored = [pattern_programs.plain(*one) for one in asked]
    assert len(again.asked) == len(set(asked))
    for (pattern, flags), first, second in zip(asked, made, restored, strict=True):
        same = re.compile(pattern, flags)
        assert first == second == same
        assert first.groupindex == second.groupindex == same.groupindex
        assert (second.groups, second.flags, second.pattern) == (same.groups, same.flags, same.pattern)
    assert restored[-1].fullmatch("bC") and restored[-1].fullmatch("a").lastgroup == "letter"  # type: ignore[union-attr]
    pattern_programs.save()
    assert not again.content, "nothing was compiled, so nothing is written"


def test_those_of_regex_find_the_same_from_what_was_kept(store: Kept) -> None:
    clauses = [one for one in shipped() if not proven(one, 500)[1]][:40]
    signatures = installed_engine().signatures
    shown = [hit for one in signatures for hit in one.hits]
    asked = [(clause.pattern or "", clause.ignore_case, False) for clause in clauses] + [(r"ab?", True, True)]
    for one in asked:
        pattern_programs.guarded(*one)
    pattern_programs.save()
    again = store.at_the_next_start()
    pattern_programs.keep_in(lambda: again)
    found = 0
    for one in asked:
        flags = regex.MULTILINE | regex.IGNORECASE * one[1] | regex.REVERSE * one[2]
        made, same = pattern_programs.guarded(*one), regex.compile(one[0], flags)
        for text in shown:
            spans = [match.span() for match in made.finditer(text, timeout=5)]
            assert spans == [match.span() for match in same.finditer(text)]
            found += len(spans)
    assert found > 1000
    pattern_programs.save()
    assert not again.content


@pytest.mark.parametrize("rubbish", [0, (), (1,), (0, [1, 2, 3], 0, {}, ()), (0, [], "x", {}, ()), ("x",) * 11, [[]]])
def test_what_is_no_program_is_not_taken(store: Kept, rubbish: object) -> None:
    class Foul(Kept):
        def get(self, key: pattern_programs.Key) -> Any | None:
            super().get(key)
            return rubbish

    foul = Foul()
    pattern_programs.keep_in(lambda: foul)
    assert pattern_programs.plain("a(b)", re.MULTILINE) == re.compile("a(b)", re.MULTILINE)
    assert pattern_programs.guarded("a(b)", False).findall("ab") == ["b"]
    assert len(foul.asked) == 2


def test_mistakes_are_those_of_the_compilers(store: Kept) -> None:
    with pytest.raises(re.error):
        pattern_programs.plain("(", 0)
    with pytest.raises(regex.error):
        pattern_programs.guarded("(", False)
    pattern_programs.save()
    assert not store.content


def test_a_proof_is_kept_for_the_size_that_it_was_made_for(store: Kept) -> None:
    clause = Clause(pattern=r"^a[^b]*b?$", where="prompt_line")
    assert proven(clause, 20) == (30, True)
    runs_long = Clause(pattern=r"(a|aa)+!$", where="prompt_line")
    assert proven(runs_long, 20) == (30, False)
    pattern_programs.save()
    again = store.at_the_next_start()
    pattern_programs.keep_in(lambda: again)
    assert proven(clause, 25) == (30, True)
    assert proven(runs_long, 25) == (30, False)
    assert proven(runs_long, 35)[1] is False
    assert [key[-2] for key in again.asked] == [30, 30, 80]


def test_without_a_store_nothing_is_kept() -> None:
    pattern_programs.keep_in(lambda: None)
    assert pattern_programs.plain("a") == re.compile("a")
    assert not pattern_programs._kept.asked


def test_what_was_kept_needs_regex_alone_not_its_compiler() -> None:
    """And whoever imports all of it finds one regex."""
    code = """import sys
from stallkit.core import pattern_programs as programs
class Store(dict):
    put = dict.update
store = Store()
programs.keep_in(lambda: store)
if sys.argv[1:]:
    import regex
    store["regex", "a(b)", False, False] = programs._data(regex.compile("a(b)", regex.M))
    for name in [name for name in sys.modules if name.startswith("regex")]:
        del sys.modules[name]
print(programs.guarded("a(b)", False).findall("ab", timeout=1), "regex._main" in sys.modules)
import regex
print(regex.compile("a(b)").findall("ab"), type(programs.guarded("a(b)", False)) is regex.Pattern)
"""

    def said(*words: str) -> list[str]:
        run = [sys.executable, "-c", code, *words]
        return subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines()

    assert said() == ["['b'] True", "['b'] True"]
    assert said("kept")[0] == "['b'] False"
