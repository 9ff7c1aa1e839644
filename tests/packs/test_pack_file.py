"""The pack file: what is read, and that every mistake is named by file, line and key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stallkit.detect.signature import Clause, CursorState, Dismissal, Expect, Kind, Severity, State, Tier
from stallkit.errors import PackFormatError
from stallkit.packs.pack_file import parse_pack, read_pack
from stallkit.packs.registry import load_pack
from stallkit.terminal.keys import Keys
from stallkit.word_tables import table

GOOD = """\
format = 1
name = "acme"
priority = 40
foreground = ["acme", "node"]

[[signature]]
id = "first"
title = "a dialog"
state = "waiting"
kind = "confirm"
severity = "low"
all_of = ["Allow?", { pattern = '^❯ \\d', where = "block", ignore_case = true }]
none_of = [{ text = "esc to interrupt", where = "tail(3)" }]
dismissal = { keys = "1 Enter", because = "it says so", expect = "changed", verify_timeout_s = 0.5 }
cursor = "hidden"
certainty = "sure"
allow_below = ["idle"]
tier = "prompt_line"
hits = ["Allow?\\n❯ 1"]
misses = ["Allow?"]
source = "acme 1.0"

[[signature]]
id = "second"
title = "busy"
state = "working"
all_of = ["Working"]
hits = ["Working"]
first_because = "it is rare"
misses = ["Worked"]
"""


def broken(old: str, new: str) -> PackFormatError:
    """The complaint about GOOD with one of its parts replaced."""
    assert old in GOOD
    with pytest.raises(PackFormatError) as caught:
        parse_pack(GOOD.replace(old, new, 1), "some/signatures.toml", "fallback")
    return caught.value


def test_a_good_file() -> None:
    pack = parse_pack(GOOD, "p", "fallback")
    assert (pack.name, pack.priority, pack.foreground) == ("acme", 40, {"acme", "node"})
    first, second = pack.signatures
    assert (first.id, first.title, first.source) == ("first", "a dialog", "acme 1.0")
    assert (first.state, first.kind, first.severity) == (State.WAITING, Kind.CONFIRM, Severity.LOW)
    assert first.all_of == (Clause(text="Allow?"), Clause(pattern=r"^❯ \d", where="block", ignore_case=True))
    assert first.none_of == (Clause(text="esc to interrupt", where="tail(3)"),)
    assert first.dismissal == Dismissal(Keys.parse("1 Enter"), "it says so", Expect.CHANGED, 0.5)
    assert (first.cursor, first.allow_below, first.tier) == (CursorState.HIDDEN, {State.IDLE}, Tier.PROMPT_LINE)
    assert (first.hits, first.misses) == (("Allow?\n❯ 1",), ("Allow?",))
    assert (second.state, second.severity, second.dismissal) == (State.WORKING, Severity.HIGH, None)
    assert (first.first_because, second.first_because) == ("", "it is rare")


def test_what_a_file_leaves_out() -> None:
    text = GOOD.replace('name = "acme"\npriority = 40\nforeground = ["acme", "node"]\n', "")
    pack = parse_pack(text, "p", "fallback")
    assert (pack.name, pack.priority, pack.foreground, pack.version) == ("fallback", 50, frozenset(), "0")


def test_a_phrase_is_put_in_and_any_other_name_is_left_to_the_pattern() -> None:
    def pattern(text: str) -> str | None:
        old = "pattern = '^❯ \\d'"
        assert old in GOOD
        return parse_pack(GOOD.replace(old, f"pattern = '{text}'"), "p", "p").signatures[0].all_of[1].pattern

    phrases = table("phrases")["pieces"]
    assert pattern("^(?&press_enter) (?&cancel)$") == f"^{phrases['press_enter']} {phrases['cancel']}$"
    assert pattern("(?P<pair>ab)(?&pair)") == "(?P<pair>ab)(?&pair)"  # what regex calls a group of the pattern
    with pytest.raises(PackFormatError, match=r"all_of.*nobody.*is not a pattern"):
        pattern("(?&nobody)")
    assert all(re.search(pattern(f"(?&{name})") or "", name, re.IGNORECASE) for name in ("yes", "no", "cancel"))


def test_line_ends_of_windows() -> None:
    assert parse_pack(GOOD.replace("\n", "\r\n"), "p", "p") == parse_pack(GOOD, "p", "p")


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "why"),
    [
        # the file itself
        ('name = "acme"', "name = ", 2, "", "Invalid value"),
        ('name = "acme"', 'name = "acme', 2, "", "line 2"),
        ('id = "first"', 'id = "first" id = 1', 7, "", "line 7"),
        ('priority = 40', 'name = "b"', 3, "", "overwrite"),
        ('misses = ["Worked"]\n', 'misses = ["""', 30, "", "end of document"),
        # its top
        ("format = 1", "format = 2", 1, "format", "2 is not a format"),
        ("format = 1\n", "", 1, "format", "None is not a format"),
        ("priority = 40", "prio = 40", 3, "prio", "unknown key 'prio'"),
        ("priority = 40", 'priority = "40"', 3, "priority", "not a number"),
        ('foreground = ["acme", "node"]', 'foreground = "acme"', 4, "foreground", "not a list of strings"),
        ('foreground = ["acme", "node"]', "foreground = [1]", 4, "foreground", "not a list of strings"),
        ('name = "acme"', "name = 5", 2, "name", "not a string"),
        # a signature's own keys
        ('id = "first"\n', "", 6, "id", "missing"),
        ('title = "a dialog"\n', "", 6, "title", "missing"),
        ('state = "waiting"\n', "", 6, "state", "missing"),
        ('kind = "confirm"\n', "", 6, "kind", "missing"),
        ('all_of = ["Working"]\n', "", 23, "all_of", "missing"),
        ('id = "first"', 'id = "First"', 7, "id", "lower-case"),
        ('id = "first"', "id = 5", 7, "id", "not a string"),
        ('title = "a dialog"', "title = 5", 8, "title", "not a string"),
        ('state = "waiting"', 'state = "bored"', 9, "state", "'bored'"),
        ('state = "waiting"', 'state = "gone"', 9, "state", "gone"),
        ('state = "working"', 'state = "working"\nkind = "text"', 27, "kind", "asks for nothing"),
        ('kind = "confirm"', 'kind = "confrim"', 10, "kind", "'confrim'"),
        ('kind = "confirm"', 'kind = "secret"', 14, "dismissal", "never answers secret"),
        ('severity = "low"', 'severity = "none"', 11, "severity", "'none'"),
        ('none_of = [', 'nnoe_of = [', 13, "nnoe_of", "unknown key 'nnoe_of'"),
        ('cursor = "hidden"', 'cursor = "off"', 15, "cursor", "'off'"),
        ('certainty = "sure"', 'preview = "yes"', 16, "preview", "not true or false"),
        ('certainty = "sure"', "certainty = true", 16, "certainty", "True"),
        ('allow_below = ["idle"]', 'allow_below = ["asleep"]', 17, "allow_below", "'asleep'"),
        ('allow_below = ["idle"]', 'allow_below = "idle"', 17, "allow_below", "not a list of strings"),
        ('tier = "prompt_line"', 'tier = "ground"', 18, "tier", "ground"),
        ('tier = "prompt_line"', "tier = 5", 18, "tier", "5"),
        ('hits = ["Working"]', 'hits = "Working"', 28, "hits", "not a list of strings"),
        ('misses = ["Worked"]', "misses = [1]", 30, "misses", "not a list of strings"),
        ('source = "acme 1.0"', "source = 5", 21, "source", "not a string"),
        ('first_because = "it is rare"', "first_because = true", 29, "first_because", "not a string"),
        ('id = "second"', 'id = "first"', 24, "id", "first"),
        # clauses
        ('all_of = ["Working"]', "all_of = []", 27, "all_of", "every screen"),
        ('all_of = ["Working"]', 'all_of = "Working"', 27, "all_of", "not a list of clauses"),
        ('all_of = ["Working"]', "all_of = [5]", 27, "all_of", "5 is not a clause"),
        ('all_of = ["Working"]', 'all_of = [" "]', 27, "all_of", "blanks"),
        ('all_of = ["Working"]', "all_of = [{}]", 27, "all_of", "either a text or a pattern"),
        ('all_of = ["Working"]', "all_of = [{ text = 5 }]", 27, "all_of", "not a string"),
        ('all_of = ["Working"]', "all_of = [{ pattern = 5 }]", 27, "all_of", "not a string"),
        ('all_of = ["Working"]', 'all_of = [{ text = "a", pattern = "b" }]', 27, "all_of", "either"),
        ('all_of = ["Working"]', 'all_of = [{ text = "a", were = "screen" }]', 27, "all_of", "unknown key 'were'"),
        ('all_of = ["Working"]', 'all_of = [{ text = "a", where = "tail" }]', 27, "all_of", "unknown region 'tail'"),
        ('all_of = ["Working"]', 'all_of = [{ text = "a", where = 5 }]', 27, "all_of", "not a string"),
        ('all_of = ["Working"]', 'all_of = [{ text = "a", ignore_case = "no" }]', 27, "all_of", "not true or false"),
        ('all_of = ["Working"]', 'all_of = [{ pattern = "(" }]', 27, "all_of", "'(' is not a pattern"),
        ("pattern = '^❯ \\d'", "pattern = 'a{2,1}'", 12, "all_of", "not a pattern"),
        ('where = "tail(3)"', 'where = "tail(0)"', 13, "none_of", "unknown region"),
        # composers
        ('state = "working"', 'state = "working"\ncomposer = { lead = "> " }', 27, "composer", "not one that is"),
        ('state = "working"', 'state = "idle"\ncomposer = { more = "> " }', 27, "composer", "lead is missing"),
        ('state = "working"', 'state = "idle"\ncomposer = { lead = "(" }', 27, "composer", "missing )"),
        ('state = "working"', 'state = "idle"\ncomposer = { lead = 5 }', 27, "composer", "not a string"),
        ('state = "working"', 'state = "idle"\ncomposer = { leed = "> " }', 27, "composer", "unknown key 'leed'"),
        ('state = "working"', 'state = "idle"\ncomposer = "> "', 27, "composer", "not a table"),
        # dismissals
        ('keys = "1 Enter"', 'keys = "1 Entre"', 14, "dismissal", "unknown key 'Entre'"),
        ('keys = "1 Enter"', 'keys = ""', 14, "dismissal", "no keys"),
        ('keys = "1 Enter"', "keys = 1", 14, "dismissal", "not a string"),
        ('keys = "1 Enter", ', "", 14, "dismissal", "keys"),
        ('expect = "changed"', 'expect = "moved"', 14, "dismissal", "'moved'"),
        ("verify_timeout_s = 0.5", 'verify_timeout_s = "0.5"', 14, "dismissal", "not a number"),
        ("verify_timeout_s = 0.5", "wait = 1", 14, "dismissal", "unknown key 'wait'"),
        ('dismissal = { keys = "1 Enter", because', 'dismissal = "Enter" #', 14, "dismissal", "not a table"),
        ('dismissal = { keys = "1 Enter", because', "dismissal = 5 #", 14, "dismissal", "not a table"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_by_file_line_and_key(old: str, new: str, line: int, key: str, why: str) -> None:
    error = broken(old, new)
    assert (error.path, error.line, error.key) == ("some/signatures.toml", line, key)
    assert why in error.why
    place = f"some/signatures.toml:{line} ({key})" if key else f"some/signatures.toml:{line}"
    assert str(error).startswith(f"pack file {place}: ")
    assert "\n" not in str(error)


def test_the_older_name_of_the_verify_timeout_is_read() -> None:
    older = parse_pack(GOOD.replace("verify_timeout_s", "settle_s"), "p", "fallback")
    assert older == parse_pack(GOOD, "p", "fallback")
    assert older.signatures[0].dismissal is not None and older.signatures[0].dismissal.verify_timeout_s == 0.5
    both = broken("verify_timeout_s = 0.5", "verify_timeout_s = 0.5, settle_s = 0.5")
    assert (both.line, both.why) == (14, "unknown key 'settle_s'")
    wrong = broken("verify_timeout_s = 0.5", 'settle_s = "0.5"')
    assert (wrong.line, wrong.key) == (14, "dismissal")
    assert "not a number" in wrong.why


@pytest.mark.parametrize(
    "text",
    ["format = 1\n", "format = 1\nsignature = []\n", "format = 1\nsignature = 5\n", "format = 1\nsignature = [5]\n"],
)
def test_a_file_without_signatures(text: str) -> None:
    with pytest.raises(PackFormatError) as caught:
        parse_pack(text, "p", "p")
    assert caught.value.key == "signature"
    assert "[[signature]]" in caught.value.todo


def test_a_number_of_a_file_is_no_matter_where_its_texts_look_like_signatures() -> None:
    text = GOOD.replace('hits = ["Allow?\\n❯ 1"]', "hits = ['''\n[[signature]]\nid = \"x\"\n''']")
    with pytest.raises(PackFormatError) as caught:
        parse_pack(text.replace('state = "working"', 'state = "bored"'), "p", "p")
    assert caught.value.line == text.split("\n").index('state = "working"') + 1


def test_a_file_is_read_from_disk(tmp_path: Path) -> None:
    path = tmp_path / "stallkit_acme" / "signatures.toml"
    path.parent.mkdir()
    path.write_text(GOOD.replace('name = "acme"\n', ""), "utf-8")
    assert read_pack(path).name == "acme"
    with pytest.raises(FileNotFoundError):
        read_pack(path.parent / "none.toml")


def test_bytes_that_are_no_text_are_the_authors_fault(tmp_path: Path) -> None:
    path = tmp_path / "signatures.toml"
    path.write_bytes(GOOD.encode().replace(b"Worked", b"W\xff"))
    with pytest.raises(PackFormatError, match=r"UTF-8|utf-8") as caught:
        read_pack(path)
    assert caught.value.path == str(path)


def test_a_package_is_read_wherever_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stallkit_readable", "stallkit_empty"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    (tmp_path / "stallkit_readable" / "signatures.toml").write_text(GOOD.replace('name = "acme"\n', ""), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert load_pack("stallkit_readable").name == "readable"
    with pytest.raises(FileNotFoundError):
        load_pack("stallkit_empty")
