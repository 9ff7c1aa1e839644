"""Each code has a page, and each page is true: its first example breaks the rule, its second breaks none."""

from __future__ import annotations

import re
from pathlib import Path

from stallkit_lab.corpus_lines import Case, Label
from stallkit_lab.lint.findings import CODES, Level, Subject
from stallkit_lab.lint.runner import Linted, check_programs, counted, lint_path

from stallkit import Clause, Pack, Screen, Signature, Snapshot
from stallkit.detect.signature import Kind, State

DOCS = Path(__file__).parents[4] / "docs" / "lint"
_BLOCK = re.compile(r"^```(?:toml|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SOFT = {"SK104", "SK105", "SK201", "SK205", "SK403", "SK406", "SK407"}
BY_CORPUS = {"SK406", "SK407"}
SEEN = [  # program, screen, state
    ("acme", "Deploy acme now? ", State.WAITING),
    ("frob", "Deploy frob now? ", State.WAITING),
    ("acme", "Proceed? [y/N] ", State.WAITING),
    ("nicate", "Proceed? [y/N] ", State.WAITING),
    ("make", "proceeding with the build", State.WORKING),
    ("ninja", "proceeding with the link", State.WORKING),
]


def cases() -> list[Case]:
    kinds = {State.WAITING: Kind.CONFIRM}
    return [
        Case(text, program, Snapshot(screen=Screen.from_text(text)), Label(state, kinds.get(state)))
        for program, text, state in SEEN
    ]


def examples(code: str) -> tuple[str, str]:
    """The failing and the passing example of a page."""
    bad, good = _BLOCK.findall((DOCS / f"{code}.md").read_text("utf-8"))
    return bad, good


def linted(code: str, text: str, folder: Path) -> Linted:
    if text.startswith("screens/"):  # a page on screen files names one
        screen = folder / text.strip()
        screen.parent.mkdir(parents=True)
        text = examples("SK402")[1]
        screen.write_text("---\ncursor = [8, 0]\n---\nDeploy? ", "utf-8")
    if code == "SK408":
        screen = folder / "screens/allow/hit-80x24.txt"
        screen.parent.mkdir(parents=True)
        screen.write_text('---\ncursor = [8, 0]\nforeground = "acme-agent"\n---\nDeploy? ', "utf-8")
    file = folder / "signatures.toml"
    file.write_text(text, "utf-8")
    return lint_path(file, thorough=False, cases=cases() if code in BY_CORPUS else ())


def test_the_first_example_of_a_page_breaks_its_rule_and_the_second_none(tmp_path: Path) -> None:
    wrong = []
    for code in CODES:
        bad, good = examples(code)
        (failing := tmp_path / code / "bad").mkdir(parents=True)
        (passing := tmp_path / code / "good").mkdir()
        found = linted(code, bad, failing)
        if code not in {finding.code for finding in found.findings} or found.failed is (code in SOFT):
            wrong.append((code, "its failing example", found))
        if (found := linted(code, good, passing)).findings:
            wrong.append((code, "its passing example", found))
    assert wrong == []


def test_the_programs_of_each_form_are_counted() -> None:
    pack = Pack("acme", signatures=[Signature(
        id="proceed", title="asks", state="waiting", kind="confirm",
        all_of=[Clause(pattern="[Pp]roceed", where="tail(4)"), Clause(pattern=r"\[y/N\] ?$", where="prompt_line")],
    )])  # fmt: skip
    counts = {count.clause: (count.right, count.wrong) for count in counted(pack, cases())}
    assert counts[""] == (("acme", "nicate"), ())
    assert counts["all_of[1]"] == (("acme", "nicate"), ("make", "ninja"))
    assert counts["all_of[2]"] == counts[""]
    own = Pack("acme", foreground=["acme"], signatures=pack.signatures)
    of_one = [count for count in counted(own, cases()[2:3])]
    assert list(check_programs(Subject(own, "acme"), of_one)) == [], "a pack of one program shows that program's forms"
    assert [found.code for found in check_programs(Subject(pack, "acme"), of_one)] == ["SK406"]


def test_the_page_says_what_the_code_says() -> None:
    for code in CODES.values():
        rule = CODES[getattr(code, "id", "")]
        page = (DOCS.parents[1] / rule.page).read_text("utf-8")
        assert page.startswith(f"# {rule.id}: {rule.title}\n\nLevel: {rule.level}. What to do: {rule.todo}.\n"), code
        index = (DOCS / "index.md").read_text("utf-8")
        assert f"| [{rule.id}]({rule.id}.md) | {rule.level} | {rule.title} |" in index, code


def test_which_rules_are_soft() -> None:
    assert {code.id for code in CODES.values() if code.level is Level.WARNING} == SOFT
