"""Each code has a section, and each is true: its wrong rows break the rule, its right rows break none."""

from __future__ import annotations

import re
from pathlib import Path

from stallkit_lab.corpus_lines import Case, Label
from stallkit_lab.lint.findings import CODES, Level, Subject, section_of
from stallkit_lab.lint.runner import Linted, check_programs, counted, lint_path

from stallkit import Clause, Pack, Screen, Signature, Snapshot
from stallkit.detect.signature import Kind, State

PAGE = (Path(__file__).parents[4] / "docs" / "lint.md").read_text("utf-8")
BASE = PAGE[: PAGE.index("\n## SK001")].rpartition("```toml\n")[2].partition("```")[0].partition("[[signature]]\n")[2]
_BLOCK = re.compile(r"^```(?:toml|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r" +# (wrong|right)$")
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


def example(code: str, mark: str) -> list[str]:
    """The rows of a section's example, the wrong ones or the right ones."""
    (block,) = _BLOCK.findall(section_of(code))
    marked = [(_MARK.sub("", row), _MARK.search(row)) for row in block.splitlines()]
    return [row for row, found in marked if found is None or found[1] == mark]


def pack_of(rows: list[str]) -> str:
    """The page's pack with these rows in place of its own."""
    head, signatures = [], [list[str]()]
    for row in rows:
        if row == "[[signature]]":
            signatures += [[]] if signatures[-1] else []
        elif row.startswith(("foreground", "priority")):
            head.append(row)
        elif row:
            signatures[-1].append(row)
    keys = [{row.split()[0] for row in own} for own in signatures]
    kept = [[row for row in BASE.splitlines() if row and row.split()[0] not in own] for own in keys]
    tables = ["\n".join(["[[signature]]", *own, *rest]) for own, rest in zip(signatures, kept, strict=True)]
    return "\n".join(["format = 1", *head, *tables]) + "\n"


def linted(code: str, mark: str, folder: Path) -> Linted:
    folder.mkdir(parents=True)
    rows = example(code, mark)
    if rows[0].startswith("screens/"):
        screen = folder / rows.pop().strip()
        screen.parent.mkdir(parents=True)
        screen.write_text("---\ncursor = [8, 0]\n---\nDeploy? ", "utf-8")
    if code == "SK408":
        screen = folder / "screens/deploy/hit-80x24.txt"
        screen.parent.mkdir(parents=True)
        screen.write_text('---\ncursor = [8, 0]\nforeground = "acme-agent"\n---\nDeploy? ', "utf-8")
    file = folder / "signatures.toml"
    file.write_text(pack_of(rows), "utf-8")
    return lint_path(file, thorough=False, cases=cases() if code in BY_CORPUS else ())


def test_the_wrong_rows_of_a_section_break_its_rule_and_the_right_ones_none(tmp_path: Path) -> None:
    wrong = []
    for code in CODES:
        found = linted(code, "wrong", tmp_path / code / "wrong")
        if code not in {finding.code for finding in found.findings} or found.failed is (code in SOFT):
            wrong.append((code, "its wrong rows", found.findings))
        if (found := linted(code, "right", tmp_path / code / "right")).findings:
            wrong.append((code, "its right rows", found.findings))
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


def test_the_page_has_a_section_for_each_code_that_says_what_the_code_says() -> None:
    assert re.findall(r"^## (SK\d+)", PAGE, re.MULTILINE) == list(CODES)
    for code in CODES.values():
        said = f"## {code.id}: {code.title}\n\nLevel: {code.level}. What to do: {code.todo}.\n\n"
        assert section_of(code.id).startswith(said), code
    assert CODES["SK105"].page == "docs/lint.md#sk105-nothing-that-must-be-on-the-screen"


def test_which_rules_are_soft() -> None:
    assert {code.id for code in CODES.values() if code.level is Level.WARNING} == SOFT
