"""`check_pack` finds each kind of fault that a pack's examples can show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Callable, Sequence

import pytest

from stallkit.detect.signature import Clause, Pack, Signature
from stallkit.testing import check_pack, check_signature, examples

GOOD = """\
format = 1

[[signature]]
id = "allow"
title = "a dialog"
state = "waiting"
kind = "confirm"
all_of = ["Allow?"]
hits = ["Allow? (y)"]
misses = ["Allowed"]

[[signature]]
id = "busy"
title = "at work"
state = "working"
all_of = ["Working"]
hits = ["Working..."]
misses = ["Worked"]
"""
MakePack = Callable[..., str]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> MakePack:
    """Write a package with these signatures and screens (name to text), and give its name."""
    name = "checked_" + re.sub(r"\W", "_", request.node.name)
    monkeypatch.syspath_prepend(tmp_path)

    def made(signatures: str = GOOD, **screens: str) -> str:
        package = tmp_path / name
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "signatures.toml").write_text(signatures, "utf-8")
        for path, text in screens.items():
            (package / "screens" / path).parent.mkdir(parents=True, exist_ok=True)
            (package / "screens" / path).write_text(text, "utf-8")
        return name

    return made


def failures(package: str, *among: Pack) -> list[str]:
    """What is found wrong, line by line."""
    with pytest.raises(AssertionError) as caught:
        check_pack(package, among=among)
    first, *rest = str(caught.value).split("\n  ")
    assert first == f"pack {package}: {len(rest)} failures"
    return rest


def other(literal: str, state: str = "waiting", foreground: Sequence[str] = ()) -> Pack:
    """Another installed pack, which comes first."""
    clause = Clause(text=literal)
    taker = Signature(id="taker", title="taker", state=state, all_of=[clause], tier="ended")  # type: ignore[arg-type]
    return Pack(name="other", foreground=foreground, signatures=[taker])  # type: ignore[arg-type]


def test_a_good_pack_is_counted(make: MakePack) -> None:
    screens = {"allow/hit-1.txt": "---\nsize = [80, 24]\n---\nAllow?", "busy/miss-1.txt": "Allow?"}
    screens |= {"allow/todo-1.txt": "Permit?", "allow/todo-miss-1.txt": "a log that says Allow?"}
    package = make(**screens)
    assert check_pack(package, among=[other("Deny?")]) == 8
    assert [(e.signature, e.name, e.wanted, e.todo) for e in examples(package)] == [
        ("allow", "hits[1]", True, False),
        ("allow", "misses[1]", False, False),
        ("allow", "hit-1.txt", True, False),
        ("allow", "todo-1.txt", True, True),
        ("allow", "todo-miss-1.txt", False, True),
        ("busy", "hits[1]", True, False),
        ("busy", "misses[1]", False, False),
        ("busy", "miss-1.txt", False, False),
    ]


def test_another_pack_of_the_same_name_is_its_own_installed_copy(make: MakePack) -> None:
    package = make()
    assert check_pack(package, among=[Pack(name=package, signatures=other("Allow?").signatures)]) == 4


@pytest.mark.parametrize(
    ("old", "new", "failure"),
    [
        ('hits = ["Allow? (y)"]', "hits = []", "allow: it has no hit"),
        ('misses = ["Allowed"]\n', "", "allow: it has no miss"),
        ('hits = ["Allow? (y)"]', 'hits = ["Allow? (y)", "Deny?"]', "allow hits[2]: a hit that nothing matches"),
        ('misses = ["Allowed"]', 'misses = ["Allow?"]', "allow misses[1]: a miss that {}:allow matches"),
        ('hits = ["Working..."]', 'hits = ["Allow? Working"]', "busy hits[1]: a hit that {}:allow matches"),
    ],
)
def test_a_fault_among_its_own_examples(make: MakePack, old: str, new: str, failure: str) -> None:
    assert old in GOOD
    package = make(GOOD.replace(old, new))
    assert failures(package) == [failure.format(package)]


@pytest.mark.parametrize(
    ("file", "text", "failure"),
    [
        ("allow/hit-1.txt", "Deny?", "allow hit-1.txt: a hit that nothing matches"),
        ("allow/miss-1.txt", "Allow?", "allow miss-1.txt: a miss that {}:allow matches"),
        ("allow/todo-1.txt", "Allow?", "allow todo-1.txt: a known gap that is met now; rename it to hit-"),
        ("allow/todo-miss-1.txt", "x", "allow todo-miss-1.txt: a known gap that is met now; rename it to miss-"),
        ("gone/hit-1.txt", "Allow?", "screens/gone: no signature has this id"),
        ("allow/shot-1.txt", "Allow?", "screens/allow/shot-1.txt: begin its name with hit-, miss- or todo-"),
    ],
)
def test_a_fault_among_its_screens(make: MakePack, file: str, text: str, failure: str) -> None:
    package = make(**{file: text})
    with pytest.raises(AssertionError) as caught:
        check_pack(package, among=())
    assert failure.format(package) in str(caught.value)


def test_a_screen_in_another_state_is_a_fair_miss(make: MakePack) -> None:
    package = make(**{"allow/miss-1.txt": "Working..."})
    assert check_pack(package, among=()) == 5


def test_a_hit_that_another_pack_takes(make: MakePack) -> None:
    shadowed = ["allow hits[1]: a hit that is shadowed by other:taker"]
    package = make()
    assert failures(package, other("Allow?")) == shadowed
    assert failures(package, other("Allow?", "working", ["acme"])) == shadowed


def test_the_pack_of_a_program_takes_hits_from_a_pack_for_all(make: MakePack) -> None:
    assert check_pack(make(), among=[other("Allow?", "waiting", ["acme"])]) == 4


def test_a_hit_that_goes_to_an_earlier_signature_of_its_own_pack(make: MakePack) -> None:
    broad = GOOD.replace('all_of = ["Working"]', 'all_of = ["Allow?", "really"]')
    broad = broad.replace('state = "working"', 'state = "waiting"\nkind = "confirm"')
    package = make(broad.replace('hits = ["Working..."]', 'hits = ["Allow? really"]'))
    assert failures(package) == [f"busy hits[1]: a hit that {package}:allow matches"]


def test_every_failure_is_listed(make: MakePack) -> None:
    package = make(GOOD.replace('hits = ["Allow? (y)"]', 'hits = ["Deny?"]'), **{"busy/hit-1.txt": "idle"})
    assert failures(package) == [
        "allow hits[1]: a hit that nothing matches",
        "busy hit-1.txt: a hit that nothing matches",
    ]


def test_screens_that_cannot_be_read_are_listed_beside_the_other_failures(make: MakePack, tmp_path: Path) -> None:
    package = make(
        **{"allow/hit-1.txt": "---\nsizes = 3\n---\nAllow?", "allow/hit-2.txt": "Deny?", "busy/shot.txt": ""}
    )
    screens = tmp_path / package / "screens"
    (screens / "allow/hit-3.txt").write_bytes(b"Allow?\n\xe9")
    (screens / "allow/.hit-1.txt.swp").write_bytes(b"\0\xff")
    (screens / ".DS_Store").touch()
    (screens / "busy/hit-4.txt").mkdir()
    (screens / "allow/hit-5.txt").write_text("---\nsize = [80, 24]\nAllow?")
    front, latin, unended, folder, name, other = failures(package)
    assert "hit-5.txt:1: its front block has no end" in unended
    assert "hit-1.txt:2 (sizes): unknown key" in front
    assert "hit-3.txt:2: not UTF-8" in latin
    assert "shot.txt: begin its name with" in name
    assert "hit-4.txt: it cannot be read: Is a directory" in folder
    assert other == "allow hit-2.txt: a hit that nothing matches"
    with pytest.raises(AssertionError, match=r"busy: 2 failures"):
        check_signature(package, "busy", among=())


def test_one_signature_is_held_to_its_own_examples_and_to_those_that_it_takes(make: MakePack) -> None:
    package = make(GOOD.replace('hits = ["Working..."]', 'hits = ["Allow? Working"]'), **{"allow/hit-1.txt": "Allow?"})
    failure = f"busy hits[1]: a hit that {package}:allow matches"
    for id in ("busy", "allow"):
        with pytest.raises(AssertionError) as caught:
            check_signature(package, id, among=())
        assert str(caught.value) == f"signature {package}:{id}: 1 failures\n  {failure}"


def test_a_good_signature_is_counted_in_a_folder_as_in_a_package(make: MakePack, tmp_path: Path) -> None:
    package = make(**{"allow/hit-1.txt": "Allow?", "busy/hit-1.txt": "idle"})
    assert check_signature(package, "allow", among=()) == check_signature(tmp_path / package, "allow", among=()) == 3
    with pytest.raises(AssertionError, match=r"busy hit-1.txt: a hit that nothing matches"):
        check_pack(tmp_path / package, among=())
    with pytest.raises(ValueError, match=r"has no signature 'deny'; it has allow, busy"):
        check_signature(package, "deny")
