"""The rules on real and random packs: none raises, what is called certain is, bundled packs are free of errors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from stallkit_lab.lint import runaways
from stallkit_lab.lint.findings import Level
from stallkit_lab.lint.runaways import Attack, Room
from stallkit_lab.lint.runner import lint, lint_installed, lint_path
from stallkit_lab.lint.signature_rules import default_is_no, implies
from strategies import Case, cases

from stallkit.detect.matcher import Budget, find, region
from stallkit.detect.signature import Clause, Dismissal, Pack, Signature
from stallkit.packs.registry import installed
from stallkit.terminal.screen import MAX_LINES, REGION_COLUMNS, REGION_TEXT, Screen


def test_the_bundled_packs_have_no_finding() -> None:
    """Among the rules is the mutation check, SK205: no clause without use; and SK104: none takes too long."""
    for name in sorted(pack.name for pack in installed().packs):
        found = lint_installed(name, thorough=False)
        assert found is not None, name
        assert [(one.code, one.signature, one.clause, one.message) for one in found.findings] == [], name


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_lint_takes_any_pack(case: Case) -> None:
    first, *others = case.packs
    found = lint(first, others, thorough=False)
    assert found.pack == first.name
    assert {one.signature for one in found.findings} <= {signature.id for signature in first.signatures}
    assert "SK401" in {one.code for one in found.findings}  # random packs have no hits


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_what_implies_what_is_certain(case: Case) -> None:
    clauses = [
        clause
        for pack in case.packs
        for signature in pack.signatures
        for clause in (*signature.all_of, *signature.none_of)
    ]
    for one in clauses:
        for two in clauses:
            if implies(one, two):
                for screen in case.screens:
                    if find(one, screen, Budget()).held:
                        assert find(two, screen, Budget()).held, (one, two, screen)


def test_what_implies_what() -> None:
    assert implies(Clause(text="Allow this?"), Clause(text="Allow"))
    assert implies(Clause(pattern="^Allow this"), Clause(text="Allow"))
    assert implies(Clause(text="Allow", where="tail(3)"), Clause(text="Allow", where="tail(5)"))
    assert not implies(Clause(text="Allow"), Clause(text="Allow "))
    assert not implies(Clause(text="Allow", where="tail(5)"), Clause(text="Allow", where="tail(3)"))
    assert not implies(Clause(text="Allow", ignore_case=True), Clause(text="Allow"))
    assert not implies(Clause(pattern="x$", where="prompt_line"), Clause(pattern="x$"))


def at_cursor(pattern: str) -> Clause:
    return Clause(pattern=pattern, where="prompt_line")


GUARDS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["SK206"]),
    ({"first_because": " "}, ["SK206"]),  # a blank is no reason
    ({"first_because": "it loses data"}, []),
    ({"tier": "quota"}, []),
    ({"dismissal": Dismissal(keys="n")}, []),
]


def test_what_is_tried_before_what_may_be_dismissed_says_why() -> None:
    rest: dict[str, Any] = {"title": "", "state": "waiting", "kind": "confirm"}
    one = Signature(id="one", all_of=["b"], dismissal=Dismissal(keys="y"), **rest)
    last = Signature(id="last", all_of=["c"], **rest)
    for guard, told in GUARDS:
        pack = Pack("p", signatures=[Signature(id="guard", all_of=["a"], **{**rest, **guard}), one, last])
        found = [one for one in lint(pack, thorough=False).findings if one.code == "SK206"]
        assert [one.code for one in found] == told, guard
        assert {one.signature for one in found} <= {"guard"}, guard


APART: list[tuple[dict[str, Any], dict[str, Any], bool]] = [  # two signatures, and whether a screen may show both
    ({"all_of": [at_cursor(r"^Tank \d+ holds")]}, {"all_of": [at_cursor("^Delete it")]}, False),
    ({"all_of": [at_cursor(r"\[y/N\]: *$")]}, {"all_of": [at_cursor(r"\[yes/no\] ?$")]}, False),
    ({"all_of": [at_cursor("^Tank")]}, {"all_of": [at_cursor("^Tan")]}, True),
    ({"all_of": [at_cursor("(?:^Tank|x)")]}, {"all_of": [at_cursor("^Delete")]}, True),
    (
        {"all_of": [at_cursor("^TANK")]},
        {"all_of": [Clause(pattern="^tank", where="prompt_line", ignore_case=True)]},
        True,
    ),
    ({"all_of": [Clause(pattern="^a$")]}, {"all_of": [Clause(pattern="^b$")]}, True),  # two rows of one screen
    ({"all_of": ["a"], "none_of": ["Delete"]}, {"all_of": ["Delete it"]}, False),
    ({"all_of": ["a"], "cursor": "hidden"}, {"all_of": ["b"], "cursor": "seen"}, False),
    ({"all_of": ["a"], "cursor": "hidden"}, {"all_of": ["b"], "cursor": "visible"}, True),  # an unknown one fits both
]


def test_an_order_is_asked_for_only_where_two_can_meet() -> None:
    rest: dict[str, Any] = {"title": "", "state": "waiting", "kind": "confirm", "tier": "dialog"}
    wrong = []
    for one, two, meet in APART:
        first = Signature(id="first", **{**rest, **one})
        last = Signature(id="last", dismissal=Dismissal(keys="y"), **{**rest, **two})
        found = [one.code for one in lint(Pack("p", signatures=[first, last]), thorough=False).findings]
        if ("SK206" in found) is not meet:
            wrong.append((one, two))
    assert wrong == []


def test_the_default_is_read_from_the_screen() -> None:
    wrong = [
        (text, no)
        for text, no in [
            ("Proceed? [y/N] ", True),
            ("Proceed? [Y/n] ", False),
            ("Proceed? (y or [n]) ", True),
            ("Proceed? (default: no) ", True),
            ("Quit?\n❯ No, stay\n  Yes", True),
            ("Quit?\n  No, stay\n❯ Yes", False),
            ("Quit?\n❯ 2. Cancel\n  1. Yes", True),
            ("Quit?\n❯ Note it down\n  Yes", False),
        ]
        if bool(default_is_no(Screen.from_text(text))) is not no
    ]
    assert wrong == []


def test_a_signature_shadowed_by_another_pack() -> None:
    def pack(name: str, literal: str, **more: object) -> Pack:
        signature = Signature(
            id="ask", title="", state="waiting", kind="confirm", all_of=[literal],
            hits=["Allow this?"], misses=["x"], source="s",
        )  # fmt: skip
        return Pack(name, signatures=[signature], **more)  # type: ignore[arg-type]

    found = lint(pack("mine", "this?"), [pack("other", "Allow", priority=1)], thorough=False)
    assert [(one.code, one.message) for one in found.findings] == [
        ("SK202", "every hit is taken by an earlier one: hits[1] by other:ask")
    ]
    assert lint(pack("mine", "this?"), [pack("other", "Deny", priority=1)], thorough=False).findings == ()


def test_the_pack_of_a_program_takes_hits_from_a_pack_for_all_as_it_is_meant_to() -> None:
    def pack(name: str, literal: str, hits: list[str], **more: object) -> Pack:
        signature = Signature(
            id="ask", title="", state="waiting", kind="confirm", all_of=[literal], hits=hits, misses=["x"], source="s"
        )
        return Pack(name, signatures=[signature], **more)  # type: ignore[arg-type]

    def levels(among: Pack, *hits: str) -> list[tuple[str, Level]]:
        found = lint(pack("all", "?", list(hits)), [among], thorough=False).findings
        return [(one.code, one.level) for one in found]

    of_git = pack("git", "hunk", [], foreground=["git"])
    assert levels(of_git, "Stage this hunk?") == []
    assert levels(of_git, "Stage this hunk?", "Allow?") == []
    another_for_all = pack("other", "hunk", [], priority=1)
    assert levels(another_for_all, "Stage this hunk?") == [("SK202", Level.ERROR)]
    assert levels(another_for_all, "Stage this hunk?", "Allow?") == [("SK203", Level.ERROR)]


def test_a_screen_that_cannot_be_read_is_named_with_its_line_and_why(tmp_path: Path) -> None:
    text = 'format = 1\n[[signature]]\nid = "a"\ntitle = "t"\nstate = "working"\nall_of = ["x"]\nsource = "s"\n'
    (tmp_path / "signatures.toml").write_text(text + 'hits = ["x"]\nmisses = ["y"]\n', "utf-8")
    folder = tmp_path / "screens" / "a"
    (folder / "hit-folder.txt").mkdir(parents=True)
    (folder / "hit-front.txt").write_text("---\nsize = [80, 24]\nsizes = 3\n---\nx\n", "utf-8")
    (folder / "hit-latin.txt").write_bytes(b"x\ncaf\xe9\n")
    (folder / ".hit-front.txt.swp").write_bytes(b"\0\xff")
    (tmp_path / "screens" / ".DS_Store").write_bytes(b"\0")
    found = [(Path(one.file).name, one.line, one.message) for one in lint_path(tmp_path, thorough=False).findings]
    assert found == [
        ("hit-folder.txt", None, "a/hit-folder.txt: it cannot be read: Is a directory"),
        ("hit-front.txt", 3, "a/hit-front.txt: sizes: unknown key"),
        ("hit-latin.txt", 2, "a/hit-latin.txt: not UTF-8"),
    ]


def test_recheck_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runaways, "RECHECK_MS", 60_000)  # its answer, however busy the machine is
    notes: list[str] = []
    pytest.importorskip("redos_linter")
    clauses = [Clause(pattern="^(?:a|a)*b$"), Clause(pattern="^ab$")]
    found = dict(runaways.suspects(clauses, notes))
    assert list(found) == clauses[:1]
    assert notes == []
    assert any(attack.text(480).startswith("aaaa") for attack in runaways.attacks(found[clauses[0]]))


def test_a_recheck_without_its_program_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    deno = pytest.importorskip("deno")

    def missing() -> str:
        raise FileNotFoundError("deno is not there")

    monkeypatch.setattr(deno, "find_deno_bin", missing)
    notes: list[str] = []
    assert list(runaways.suspects([Clause(pattern="^ab$")], notes)) == []
    assert notes == ["only plain runaways were looked for, recheck failed: deno is not there"]


def test_without_the_extra_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redos_linter", None)
    signature = Signature(id="a", title="", state="working", all_of=[Clause(pattern="x.*y.*z.*!")])
    assert lint(Pack("p", signatures=[signature])).notes == (runaways.MISSING,)


def test_a_folder_without_a_pack_is_one_finding(tmp_path: Path) -> None:
    found = lint_path(tmp_path)
    assert [one.code for one in found.findings] == ["SK001"]
    (tmp_path / "signatures.toml").write_bytes(b"format = 1\n# \xff\n")
    assert [(one.code, one.line) for one in lint_path(tmp_path).findings] == [("SK001", 2)]


def test_a_pack_made_in_python_whose_pattern_is_none() -> None:
    signature = Signature(id="a", title="", state="working", all_of=[Clause(pattern="(")])
    assert [(one.code, one.signature) for one in lint(Pack("p", signatures=[signature])).findings] == [("SK101", "a")]


# --- patterns whose time grows faster than the text ---
def codes(pattern: str, where: str = "screen") -> set[str]:
    signature = Signature(id="a", title="", state="working", all_of=[Clause(pattern=pattern, where=where)])
    return {one.code for one in lint(Pack("p", signatures=[signature]), thorough=False).findings} & {"SK103", "SK104"}


def test_a_runaway_is_found_without_recheck() -> None:
    wrong = [
        (pattern, where)
        for pattern in ["^(?:a|a)*b$", r"(?:\w+\s?)+;", "(?:a|ab|b)*?c"]
        for where in ["prompt_line", "screen"]
        if codes(pattern, where) != {"SK103"}
    ]
    assert wrong == []


def test_one_that_takes_too_long_on_a_screen_alone_is_found() -> None:
    wrong = [
        pattern
        for pattern in [r"Allow[^?]*\?", r"\s+Deploy\?", r"\w+x", r"^.*;.*;.*;.*;.*;.*x$"]
        if codes(pattern) not in ({"SK104"}, {"SK103"})
    ]
    assert wrong == []


def test_a_linear_one_is_not() -> None:
    wrong = [
        (pattern, where)
        for pattern in [r"\b\w++x", r"^[└╰]─[^│|?\n]*[$#]$", r"\d-hour", "^.*press.*$", "Allow[^?]{0,20}"]
        for where in ["prompt_line", "screen"]
        if codes(pattern, where) != set()
    ]
    assert wrong == []


def test_texts_are_no_longer_than_what_a_clause_is_shown() -> None:
    for where in ["screen", "block", "tail(3)", "tail(999)", "down_to_cursor(5)", "prompt_line", "title"]:
        for pump in ["a", "y/n ", "│ a\n", "\n"]:
            room = Room.of(where)
            texts = list(Attack((("? ", pump),), "?").texts(room))
            assert texts, (where, pump)
            for text in texts:
                assert len(text) <= room.characters, (where, pump)
                assert text.count("\n") < room.rows, (where, pump)
                assert max(map(len, text.split("\n"))) <= REGION_COLUMNS, (where, pump)
            full = Screen.from_text("\n".join(["x" * 900] * 300), cursor=(900, 299), title="x" * 900)
            shown = region(where, full)
            assert shown is None or len(shown.text) <= room.characters <= REGION_TEXT, (where, pump)
            assert room.rows <= MAX_LINES, (where, pump)
