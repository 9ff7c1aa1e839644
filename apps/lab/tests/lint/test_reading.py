"""A pack file is read to its end: every fault becomes a finding in its true line, and the rest is kept."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from stallkit_lab.lint.pack_reading import read_subject
from stallkit_lab.lint.runner import lint_path

BROKEN_PACKS = Path(__file__).parents[4] / "tests" / "fixtures" / "broken_packs"

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


@given(st.text(), st.sampled_from([BROKEN, "format = 1\n"]), st.integers(0, len(BROKEN)))
def test_reading_takes_any_text(text: str, around: str, at: int) -> None:
    subject = read_subject(around[:at] + text + around[at:], "acme.toml", "acme")
    assert subject.refused
    assert all(one.line is not None for one in subject.refused)


def test_what_was_refused_is_not_judged(tmp_path: Path) -> None:
    """A hit of a signature whose clause was left out proves nothing."""
    file = tmp_path / "signatures.toml"
    file.write_text(
        'format = 1\n[[signature]]\nid = "a"\ntitle = "a"\nstate = "working"\nall_of = ["xyz", { pattern = "(" }]\n'
        'misses = ["xyz"]\nhits = ["no"]\nsource = "s"\n'
    )
    assert [one.code for one in lint_path(file, thorough=False).findings] == ["SK101"]


def test_screens_of_a_signature_that_cannot_be_read_prove_nothing() -> None:
    """They are not called out of place either, but for a name that says nothing."""
    found = lint_path(BROKEN_PACKS / "lost_signature", thorough=False).findings
    assert [(one.code, one.line, one.signature) for one in found] == [("SK405", None, "lost"), ("SK002", 16, "lost")]


def test_a_broken_agent_file_is_a_finding(tmp_path: Path) -> None:
    row = 'id = "asks"\ntitle = "asks"\nstate = "waiting"\nkind = "text"\nall_of = ["Go on?"]\n'
    (tmp_path / "signatures.toml").write_text(f"format = 1\n[[signature]]\n{row}")
    (tmp_path / "agent.toml").write_text('format = 1\nname = "acme"\n\n[process]\nnames = ["acme"]\nreport = true\n')
    found = [one for one in lint_path(tmp_path / "signatures.toml", thorough=False).findings if one.code == "SK002"]
    assert [(Path(one.file).name, one.line) for one in found] == [("agent.toml", 6)] and "report" in found[0].message
