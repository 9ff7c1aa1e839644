"""No program is judged by what was learned from it alone: how sources name programs, and which signatures go."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from stallkit_lab.corpus_lines import Line
from stallkit_lab.evaluate.backends import Settings, judge_chunk
from stallkit_lab.evaluate.holdout import installed_package_dirs, left_out, named_by, source_names, spellings

from stallkit import Clause, Engine, Pack, Signature


def signature(id: str, source: str = "", text: str = "Proceed") -> Signature:
    return Signature(id=id, title="", state="waiting", kind="confirm", all_of=[Clause(text=text)], source=source)


def test_a_source_names_its_programs() -> None:
    wrong = [
        (source, names)
        for source, names in [
            ("", set()),
            ("notes", set()),
            ("notes: common form", set()),
            ("notes: wording of the limits", set()),
            ("not seen in the versions captured", set()),
            ("not seen in the versions captured; rows are a Node prompt library's", set()),
            ("Claude Code 2.1.330 and 2.1.197, captured", {"Claude Code"}),
            ("Claude Code 2.1.330, captured; what to compact is a person's affair", {"Claude Code"}),
            ("Claude Code 2.1.330, whose first row is No, exit", {"Claude Code"}),
            ("the row style of Claude Code 2.1.197", {"Claude Code"}),
            ("notes: question and footer; Exit plan mode? of Claude Code 2.1.330, captured", {"Claude Code"}),
            ("prompts 2.4 and enquirer 2.4 captured at 80x24", {"prompts", "enquirer"}),
            ("inquirer 8.2, @inquirer/prompts 8.7 captured at 40x15", {"inquirer", "@inquirer/prompts"}),
            ("sudo 1.9, passwd, 7z 16.02 captured at 80x24", {"sudo", "passwd", "7z"}),
            ("node 20 readline, java 17 captured at 80x24", {"node readline", "java"}),
            ("bash 5.2 select captured at 80x24", {"bash select"}),
            ("a bash script captured at 80x24; others: common form", {"bash script"}),
            ("a program in Rust captured at 80x24", {"Rust"}),
            ("bash 5.2, dash 0.5 captured at 80x24; other shells: common form", {"bash", "dash"}),
            ("notes: common form of clack", {"clack"}),
            ("common form of starship and pure", {"starship", "pure"}),
            ("gemini 0.61, copilot 1.0.102 captured at 80x24; others: common form", {"gemini", "copilot"}),
        ]
        if source_names(source) != names
    ]
    assert wrong == []


@given(st.text(max_size=80))
def test_any_text_is_a_source_and_a_name(text: str) -> None:
    assert all(name.strip() for name in source_names(text))
    assert all(spellings(text)) and spellings(text) == spellings(f" {text} ")


def test_names_that_are_spelt_differently_are_the_same() -> None:
    wrong = [
        (one, other)
        for one, other in [
            ("claude-code", "Claude Code"),
            ("gemini-cli", "gemini"),
            ("qwen-code", "qwen"),
            ("awscli", "aws"),
            ("inquirer8", "inquirer"),
            ("node readline", "node"),
            ("rust program", "Rust"),
            ("bash", "bash script"),
            ("7z", "7z"),
        ]
        if not (spellings(one) & spellings(other))
    ]
    assert wrong == []


def test_other_programs_are_others() -> None:
    wrong = [
        (one, other)
        for one, other in [
            ("inquirer", "@inquirer/prompts"),
            ("prompts", "@inquirer/prompts"),
            ("python", "python-inquirer"),
            ("redis-server", "redis-benchmark"),
            ("npm", "npx"),
            ("create-t3-app", "create-next-app"),
        ]
        if spellings(one) & spellings(other)
    ]
    assert wrong == []


def test_source_and_captured_hits_each_leave_out(tmp_path: Path) -> None:
    for id, programs in {"hits_one": ["frob"], "hits_two": ["frob", "nicate"], "broken": ["frob"]}.items():
        folder = tmp_path / "screens" / id
        folder.mkdir(parents=True)
        for number, program in enumerate(programs):
            (folder / f"hit-{number}.txt").write_text(f'---\nprogram = "{program}"\n---\nProceed')
        (folder / "miss-1.txt").write_text('---\nprogram = "other"\n---\nno')
        (folder / "hit-none.txt").write_text("Proceed")
    (tmp_path / "screens" / "broken" / "hit-x.txt").write_text("---\nprogram = 7\n---\nProceed")
    pack = Pack(
        "p",
        distribution="made-up",
        signatures=[
            signature("by_source", "Frob 1.2, captured"),
            signature("by_two", "frob 1.2 and nicate 2.0 captured"),
            signature("hits_one", "frob 1.2 and nicate 2.0 captured"),
            signature("hits_two"),
            signature("broken"),
            signature("by_none", "notes"),
        ],
    )
    named = named_by([pack], {"made-up": [tmp_path]})
    assert left_out("frob-cli", named) == {"p:by_source", "p:hits_one", "p:broken"}
    assert left_out("nicate", named) == set()
    assert left_out("", named) == set()
    assert left_out("frob", named_by([pack], {})) == {"p:by_source"}, "without its screens only the source speaks"


def test_the_cases_of_each_program_meet_an_engine_without_it() -> None:
    pack = Pack("p", signatures=[signature("of_frob", "frob 1.0 captured"), signature("of_all", text="Proceed?")])
    named = tuple(named_by([pack], {}).items())
    lines = [
        Line("c", n, f'{{"id": "{n}", "program": "{program}", "screen": "Proceed{end}", "label": {label}}}'.encode())
        for n, (program, end) in enumerate([("frob", ""), ("nicate", ""), ("frob", "?")])
        for label in ['{"state": "waiting", "kind": "confirm"}']
    ]
    told = [one.signature for one in judge_chunk(Settings((pack,), named=named), lines).predictions]
    assert told == [None, "p:of_frob", "p:of_all"]
    assert [one.signature for one in judge_chunk(Settings((pack,)), lines).predictions] == ["p:of_frob"] * 3


def test_the_bundled_packs_lose_what_only_claude_code_showed() -> None:
    packs = Engine.default().packs
    named = named_by(packs, installed_package_dirs())
    gone = left_out("claude-code", named)
    assert "claude_code:composer" in gone, "its source and its hits name Claude Code"
    assert "claude_code:ask_user_question" not in gone, "a requirement names it, no capture"
    assert {rule.split(":")[0] for rule in gone} <= {"claude_code", "structural", "shell_tools"}, "forms it showed"
    assert not {"shell_tools:press_any_key", "structural:numbered_menu"} & gone, "others showed these as well"
    assert any(names for rule, evidence in named.items() if rule == "shell_yn:yes_no" for names in evidence)
