"""A pack file is read to its end: every fault becomes a finding in its true line, and the rest is kept."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallkit.lab.lint.pack_reading import read_subject
from stallkit.lab.lint.positions import positions

BROKEN_PACKS = Path(__file__).parents[2] / "fixtures" / "broken_packs"
BUNDLED = [
    "stallkit_claude_code",
    "stallkit_node_prompts",
    "stallkit_shell_auth",
    "stallkit_shell_tools",
    "stallkit_shell_yn",
]

BROKEN = """\
format = 2
nmae = "acme"

[[signature]]
id = "ask"
title = '''
id = "not an id" # nor a key
[[signature]]
'''
state = "waiting"
kind = "secret"
all_of = [
    "a",
    { pattern = '(' },  # not a pattern
    { text = "b", were = "screen" }, { pattern = ']' }, "",
]
dismissal = { keys = "Enter" }
severity = "grave"

[[signature]]
id = "press"
title = "press"
state = "waiting"
kind = "press_key"
all_of = ["a"]
[signature.dismissal]
because = "why not"
keys = "Entre"

[[signature]]
id = "press"
title = "press"
state = "gone"
kind = "trust me"
all_of = ["a"]
"""


def test_every_fault_is_named_in_its_line() -> None:
    subject = read_subject(BROKEN, "acme.toml", "acme")
    assert [(one.code, one.line, one.signature, one.clause) for one in subject.refused] == [
        ("SK002", 1, "", ""),
        ("SK002", 2, "", ""),
        ("SK101", 14, "ask", "all_of[2]"),
        ("SK002", 15, "ask", "all_of[3]"),
        ("SK002", 15, "ask", "all_of[5]"),
        ("SK301", 17, "ask", ""),
        ("SK002", 18, "ask", ""),
        ("SK303", 28, "press", ""),
        ("SK002", 34, "press", ""),
    ]
    assert [signature.id for signature in subject.pack.signatures] == ["ask", "press"]
    assert [clause.source for clause in subject.pack.signatures[0].all_of] == ["a", "]"]
    assert subject.finding("SK201", "", "ask", "all_of", 1).line == 15


@pytest.mark.parametrize("package", BUNDLED)
def test_lines_of_a_real_pack(package: str) -> None:
    text = (resources.files(package) / "signatures.toml").read_text("utf-8")
    lines, found = text.split("\n"), positions(text)
    data = tomllib.loads(text)
    assert len(found.rows) == len(data["signature"])
    for where, row in zip(found.rows, data["signature"], strict=True):
        assert lines[where.start - 1] == "[[signature]]"
        for key, value in row.items():
            assert lines[where.of(key) - 1].startswith(f"{key} =")
            for item, entry in enumerate(value if isinstance(value, list) else []):
                source = entry.get("pattern") or entry.get("text") if isinstance(entry, dict) else entry
                piece = source.split("\n")[0][:9]
                assert piece.isascii() is False or not piece.isalnum() or piece in lines[where.of(key, item) - 1]


def test_signatures_as_one_list_and_tables_of_clauses() -> None:
    text = 'format = 1\nsignature = [\n  { id = "a" },\n  # x\n  { id = "b" }\n]\n'
    assert [row.start for row in positions(text).rows] == [3, 5]
    text = '[[signature]]\nid = "a"\n[[signature.all_of]]\ntext = "x"\n[[signature.all_of]]\ntext = "y"\n'
    assert positions(text).rows[0].items["all_of"] == [3, 5]


@given(
    st.lists(st.sampled_from([*"[]{}=,.#\"'\\\n \t", "[[signature]]\n", "id", "all_of = [", "'''", '"""'])).map("".join)
)
def test_positions_take_any_text(text: str) -> None:
    assert all(row.start <= text.count("\n") + 1 for row in positions(text).rows)


@given(st.text(), st.sampled_from([BROKEN, "format = 1\n"]), st.integers(0, len(BROKEN)))
def test_reading_takes_any_text(text: str, around: str, at: int) -> None:
    subject = read_subject(around[:at] + text + around[at:], "acme.toml", "acme")
    assert subject.refused
    assert all(one.line is not None for one in subject.refused)


def test_what_was_refused_is_not_judged(tmp_path: Path) -> None:
    """A hit of a signature whose clause was left out proves nothing."""
    from stallkit.lab.lint.runner import lint_path

    file = tmp_path / "signatures.toml"
    file.write_text(
        'format = 1\n[[signature]]\nid = "a"\ntitle = "a"\nstate = "working"\nall_of = ["xyz", { pattern = "(" }]\n'
        'misses = ["xyz"]\nhits = ["no"]\nsource = "s"\n'
    )
    assert [one.code for one in lint_path(file, thorough=False).findings] == ["SK101"]


def test_screens_of_a_signature_that_cannot_be_read_prove_nothing() -> None:
    """They are not called out of place either, but for a name that says nothing."""
    from stallkit.lab.lint.runner import lint_path

    found = lint_path(BROKEN_PACKS / "lost_signature", thorough=False).findings
    assert [(one.code, one.line, one.signature) for one in found] == [("SK405", None, "lost"), ("SK002", 16, "lost")]


def test_what_re_only_warns_of_is_a_finding(tmp_path: Path) -> None:
    from stallkit.lab.lint.runner import lint_path

    file = tmp_path / "signatures.toml"
    file.write_text(
        'format = 1\n[[signature]]\nid = "a"\ntitle = "a"\nstate = "working"\n'
        'all_of = [\n  { pattern = "Busy [[a]" }\n]\n'
        'hits = ["Busy ["]\nmisses = ["Busy"]\nsource = "s"\n'
    )
    assert [(one.code, one.line) for one in lint_path(file, thorough=False).findings] == [("SK102", 7)]
