"""Cases are read from lines, screens, recordings and folders; what is broken is named, and the rest is read."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from labelled import BUSY, row, write
from stallkit_lab.corpus_lines import Line
from stallkit_lab.evaluate.corpus import count, items, load
from stallkit_lab.evaluate.prediction import judge_case

from stallkit import Engine
from stallkit.detect.signature import Kind, State
from stallkit.errors import StallkitError, StoreError

CORPORA = sorted((Path(__file__).parents[4] / "tests" / "corpus").glob("*.jsonl"))
PACK = """format = 1
[[signature]]
id = "ask"
title = "asks"
state = "waiting"
kind = "confirm"
severity = "high"
all_of = ["frobnicate?"]
hits = ["frobnicate?"]
misses = ["no"]
"""


def read(path: Path) -> tuple[list[Any], list[str]]:
    problems: list[StallkitError] = []
    cases = list(load(path, problems))
    return cases, [str(problem) for problem in problems]


def test_the_development_corpora_are_read_whole() -> None:
    for path in CORPORA:
        cases, problems = read(path)
        assert problems == [] and len(cases) == count(path) == len(path.read_text("utf-8").splitlines()), path
        assert all(case.label.kind for case in cases if case.label.state is State.WAITING), path


def test_only_id_screen_and_state_are_required(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", {"id": "one", "screen": "hi", "label": {"state": "idle"}})
    (case,) = load(path)
    assert (case.id, case.program, case.label.state, case.snapshot.foreground) == ("one", "", State.IDLE, None)


def test_a_broken_line_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    for line, why in [
        ("{", "it is not JSON: Expecting property name"),
        ("[1]", "not a JSON object"),
        ('"text"', "not a JSON object"),
        ("[" * 100_000, "RecursionError"),
        ({"screen": "hi", "label": {"state": "idle"}}, "it has no id"),
        ({"id": "a", "label": {"state": "idle"}}, "it has no screen"),
        ({"id": "a", "screen": "hi"}, "it has no label.state"),
        ({"id": "a", "screen": "hi", "label": "idle"}, "it has no label.state"),
        (row("a", state="wating"), "label.state 'wating' is not a state: use working, waiting"),
        (row("a", state="unknown"), "label.state 'unknown' is not a state"),
        (row("a", label_kind="confrim"), "label.kind 'confrim' is not a kind: use confirm"),
        (row("a", label_dismissable_keys=[1]), "label.dismissable_keys"),
        (row("a") | {"id": 7}, "id is 7, not str"),
        (row("a") | {"screen": ["hi"]}, "screen is ['hi'], not str"),
        (row("a") | {"cursor_x": 1.5}, "cursor_x is 1.5, not int"),
        (row("a") | {"cursor_x": True}, "cursor_x is True, not int"),
        (row("a") | {"cursor_x": -1}, "count from 0"),
        (row("a", pane_current_command=["sh"]), "pane_current_command is ['sh'], not str"),
        (row("a", tty={"echo": "on"}), "tty.echo is 'on', not bool"),
        (row("a", proc=[7]), "TypeError"),
        (row("a", probe_1s=[1]), "AttributeError"),
    ]:
        path = write(tmp_path / "c.jsonl", row("first"), "", line, row("last"))
        cases, problems = read(path)
        assert [case.id for case in cases] == ["first", "last"], (line, why)
        assert len(problems) == 1 and f"{path}:3: " in problems[0] and why in problems[0], (line, why)
        with pytest.raises(StoreError, match=":3: "):
            list(load(path))


def test_a_line_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(json.dumps(row("a")).encode() + b"\n\xff\xfe\x00\n" + json.dumps(row("b")).encode())
    cases, problems = read(path)
    assert [case.id for case in cases] == ["a", "b"] and len(problems) == 1 and ":2: " in problems[0]


def test_kinds_of_what_does_not_wait_are_the_corpus_s_own_words(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", row("a", BUSY, "working", label_kind="compiling"), row("b", label_kind=None))
    assert [case.label.kind for case in load(path)] == [None, None]


_JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5), lambda inner: (
    st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["state", "kind", "echo", "how"]), inner, max_size=3)
))  # fmt: skip


@given(st.dictionaries(st.sampled_from([*row("a"), "cols", "rows", "tty", "proc", "probe_1s", "from_raw64k"]), _JSON))
def test_no_line_raises_anything_else_and_what_is_read_can_be_judged(odd: dict[str, Any]) -> None:
    line = Line("c.jsonl", 1, json.dumps(row("a") | odd).encode())
    try:
        case = line.read()
    except StoreError as error:
        assert "c.jsonl:1" in str(error)
    else:
        judge_case(case, Engine([]))


def test_a_file_that_is_not_there_is_an_oserror_or_a_problem(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(load(tmp_path / "none.jsonl"))
    cases, problems = read(tmp_path / "none.jsonl")
    assert cases == [] and len(problems) == 1 and "none.jsonl: No such file" in problems[0]


def test_a_folder_is_read_in_order_of_names_and_its_screens_are_labelled(tmp_path: Path) -> None:
    screens = tmp_path / "pack" / "screens" / "ask"
    screens.mkdir(parents=True)
    (tmp_path / "pack" / "signatures.toml").write_text(PACK)
    (screens / "hit-1.txt").write_text('---\nprogram = "frob"\n---\nfrobnicate?')
    (screens / "todo-1.txt").write_text("frob nicate?")
    (screens / "miss-1.txt").write_text("no")
    (screens / "todo-miss-1.txt").write_text("frobnicate? yes")
    (tmp_path / "README.txt").write_text("about these")
    write(tmp_path / "a.jsonl", row("first"))
    problems: list[StallkitError] = []
    skipped: list[str] = []
    found = [item.read() if isinstance(item, Line) else item for item in items(tmp_path, problems, skipped)]
    told = [(case.id, case.program, case.label.state, case.label.kind) for case in found]
    assert told == [
        ("first", "made-up", State.WAITING, None),
        ("pack/screens/ask/hit-1.txt", "frob", State.WAITING, Kind.CONFIRM),
        ("pack/screens/ask/todo-1.txt", "", State.WAITING, Kind.CONFIRM),
    ]
    assert problems == []
    assert [Path(name).name for name in skipped] == ["README.txt", "miss-1.txt", "todo-miss-1.txt"]


def test_broken_screens_and_packs_are_named(tmp_path: Path) -> None:
    screens = tmp_path / "screens" / "ask"
    other = tmp_path / "screens" / "other"
    for folder in (screens, other):
        folder.mkdir(parents=True)
    (tmp_path / "signatures.toml").write_text(PACK)
    (screens / "hit-1.txt").write_text("---\ncursor = 7\n---\nhi")
    (screens / "hit-2.txt").write_text("frobnicate?")
    (other / "hit-1.txt").write_text("hi")
    cases, problems = read(tmp_path)
    assert [case.id for case in cases] == ["screens/ask/hit-2.txt"]
    assert "hit-1.txt:2 (cursor)" in problems[0] and "no signature 'other'" in problems[1] and len(problems) == 2
    (alone := tmp_path / "alone.txt").write_text("hi")
    assert "it has no label" in read(alone)[1][0]
    broken = tmp_path / "broken"
    (broken / "screens" / "ask").mkdir(parents=True)
    (broken / "signatures.toml").write_text("format = 9")
    (broken / "screens" / "ask" / "hit-1.txt").write_text("hi")
    assert "its pack cannot be read" in read(broken)[1][0]


def test_a_recording_s_marked_intervals_are_cases_and_a_broken_one_is_named(tmp_path: Path) -> None:
    events = [
        [0.1, "o", "Proceed? [y/N] "],
        [0.5, "m", "waiting:confirm"],
        [3.0, "o", "y\r\ncc -c main.c\r\n"],
        [3.1, "m", "working"],
        [6.0, "o", "cc -c util.c\r\n"],
    ]
    lines = [json.dumps(one) for one in ({"version": 2, "width": 80, "height": 24}, *events)]
    (tmp_path / "a.cast").write_text("\n".join(lines) + "\n")
    (tmp_path / "b.cast").write_text("no recording\n")
    write(tmp_path / "c.jsonl", row("last"))
    cases, problems = read(tmp_path)
    told = [(case.label.state, case.label.kind) for case in cases]
    assert told == [(State.WAITING, Kind.CONFIRM), (State.WORKING, None), (State.WAITING, None)]
    assert len(problems) == 1 and "b.cast:1" in problems[0]
    assert pickle.loads(pickle.dumps(cases)) == cases, "or no other process could judge them"
    predictions = [judge_case(case, Engine.default()) for case in cases]
    assert [one.state for one in predictions] == [State.WAITING, State.WORKING, State.WAITING]


def test_an_empty_folder_is_a_problem(tmp_path: Path) -> None:
    assert "it holds no .jsonl, .cast or .txt file" in read(tmp_path)[1][0]


def test_a_label_s_harm_is_its_field_or_its_note(tmp_path: Path) -> None:
    path = write(
        tmp_path / "c.jsonl",
        row("a", label_harmful_default=True),
        row("b", label_note="default is No, exit"),
        row("c", label_note="default is No", label_harmful_default=False),
        row("d", label_note="[default]: none"),
    )
    assert [case.label.harmful_default for case in load(path)] == [True, True, False, False]


def test_a_front_block_without_an_end_is_named_and_a_diff_is_none(tmp_path: Path) -> None:
    (tmp_path / "open.txt").write_text('---\nsize = [80, 24]\nstate = "waiting"\nProceed? [y/N] \n')
    (tmp_path / "whole.txt").write_text('---\nstate = "waiting"\n---\n--- a/x\n+++ b/x\n')
    cases, problems = read(tmp_path)
    assert [case.id for case in cases] == ["whole.txt"]
    assert "open.txt:1: its front block has no end" in problems[0] and len(problems) == 1
    (tmp_path / "open.txt").write_text("---\nis a = b\n")
    assert read(tmp_path)[1] == [], "a screen that begins with a rule is a screen"


def test_a_recording_without_a_marker_is_skipped_and_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "a.cast").write_text('{"version": 2, "width": 80, "height": 24}\n[1.0, "o", "hi"]\n')
    (tmp_path / "b.cast").write_text("no recording\n")
    problems: list[StallkitError] = []
    skipped: list[str] = []
    assert list(items(tmp_path, problems, skipped)) == []
    assert skipped == [str(tmp_path / "a.cast")] and len(problems) == 1


def test_what_is_wrong_with_a_line_is_told_in_its_own_places(tmp_path: Path) -> None:
    for line, why in [
        (b'{"id": "x" "screen"', "it is not JSON: Expecting ',' delimiter, at character 12"),
        (b'{"id": "\xff"}', "it is not UTF-8, from byte 9 on"),
    ]:
        path = tmp_path / "c.jsonl"
        path.write_bytes(b"\n" + line + b"\n")
        assert f"{path}:2: {why}; correct the line" in read(path)[1][0], (line, why)
