"""How agents ended their turns, on captured screens: by what their model was made to say, or their server to answer."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, Iterator

import pytest
import stallkit_agent_clis
from hypothesis import given
from hypothesis import strategies as st
from stallkit_lab.evaluate import corpus

from stallkit.detect.agent import NO_WORDS, Agent, Process, Turn, Vocabulary
from stallkit.evidence.agents import asked as decided
from stallkit.evidence.turn import EndedTurn, ended_turn, of_failure, of_message, unframed
from stallkit.judging.judge import judge
from stallkit.packs.registry import installed_engine
from stallkit.terminal.screen import Screen
from stallkit.transports.targets import open_target

SCREENS = Path(stallkit_agent_clis.__file__).parent / "screens"
CORPUS = Path(__file__).parents[1] / "corpus"
ENGINE = installed_engine()
# Cases that were saved after a server's refusal ended the turn, and the class of the failure.
FAILED = {
    r"limits-400-credit": {"billing_error"},
    r"limits-401|api-401|live-401|bad-key": {"authentication_failed"},
    r"limits-403": {"authentication_failed"},
    r"limits-prompt-too-long|live-context-full": {"context_full"},
    r"limits-400-(?!credit)": {"invalid_request"},
    r"529-overloaded-turn-failed|codex.*api-529": {"overloaded"},
}


def cases(*files: str) -> Iterator[dict[str, Any]]:
    for file in files:
        for line in (CORPUS / file).read_text().splitlines():
            case = json.loads(line)
            if case["label"]["state"] == "idle":
                yield case


def judged(case: dict[str, Any]) -> EndedTurn:
    size, cursor = (case["cols"], case["rows"]), (case["cursor_x"], case["cursor_y"])
    screen = Screen.from_text(case["screen"], cursor=cursor, size=size)
    match = ENGINE.detect(screen).match
    return ended_turn(screen, match.signature.composer if match else None, words=ENGINE.words)


def failure_of(case: dict[str, Any]) -> set[str] | None:
    return next((classes for pattern, classes in FAILED.items() if re.search(pattern, case["id"])), None)


def test_blanks_at_the_end_of_rows_change_nothing() -> None:
    """OpenCode writes each row in its whole width, which a saved screen leaves out."""
    for case in cases("turns/ended-turns.jsonl", "captured-agent_clis.jsonl"):
        if case["program"] == "opencode":
            wide = "\n".join(row.ljust(case["cols"]) for row in case["screen"].split("\n"))
            assert judged({**case, "screen": wide}).how == judged(case).how, case["id"]


def test_messages_that_ask_are_told_from_those_that_do_not() -> None:
    told: Counter[tuple[str, str]] = Counter()
    for case in cases("turns/ended-turns.jsonl"):
        told[case["label"]["ended_turn"], str(judged(case).how)] += 1
    assert told.total() >= 150
    asked = told["asks", "asks"]
    assert asked / sum(count for (_, said), count in told.items() if said == "asks") >= 0.97, told
    assert asked / sum(count for (true, _), count in told.items() if true == "asks") >= 0.9, told


def test_failures_are_told_with_their_class() -> None:
    found = [case for case in cases("captured-claude_code.jsonl", "captured-agent_clis.jsonl", "agents.jsonl")]
    failed = [(case, classes) for case in found if (classes := failure_of(case))]
    assert len(failed) >= 30
    right = [case for case, classes in failed if judged(case).error in classes]
    assert len(right) >= 0.9 * len(failed), {case["id"] for case, _ in failed} - {case["id"] for case in right}
    others = [case["id"] for case in found if failure_of(case) is None and judged(case).error is not None]
    assert len(others) <= 0.03 * len(failed), others


def test_agents_that_no_pack_names_are_heard_too() -> None:
    """Their messages stand in boxes, at bars, below names; the forms were written on these screens."""
    told: Counter[tuple[str, str]] = Counter()
    for file in (CORPUS / "unknown-agents.jsonl", CORPUS / "unknown-agents-aside.jsonl"):
        labels = {case["id"]: case["label"] for case in map(json.loads, file.read_text().splitlines())}
        for case in corpus.load(file):
            turn = judge(decided(ENGINE, case.snapshot), case.snapshot).ended_turn
            if turn is not None and "ended_turn" in labels[case.id]:
                told[labels[case.id]["ended_turn"], turn.how] += 1
    assert told["failed", "failed"] >= 0.9 * sum(count for (true, _), count in told.items() if true == "failed"), told
    assert told["asks", "asks"] >= 0.9 * sum(count for (true, _), count in told.items() if true == "asks"), told
    assert sum(count for (true, how), count in told.items() if how != true == "done") == 0, told


@given(st.lists(st.text("│┃║╭╮╰╯┌─━┐└┘┬:▌ you\tx")))
def test_a_frame_costs_no_row(rows: list[str]) -> None:
    assert len(unframed(rows)) == len(rows)


@pytest.mark.parametrize(
    ("message", "how"),
    [
        ("I renamed it.\n\nShall I run the tests?", "asks"),
        ("Which one?\n\n1. SQLite\n2. Redis", "asks"),
        ("Remove the folder as well? (yes/no)", "asks"),
        ("どちらにしますか。", "asks"),
        ("要不要继续？", "asks"),
        ("Soll ich weitermachen? 🙂", "asks"),
        ("Why did it fail? The cache was stale.", "done"),
        ("It prints:\n\n    Overwrite? [y/N]\n\nDone.", "done"),
        ("Let me know if you have any questions.", "done"),
        ("Would you like to see what's new in this version? (Y)es/(N)o [Yes]: n", "done"),
        ("Allow this action? [y/n/t]: y\n\nIt is done.", "done"),
        ("Should I use tabs? (y/n)", "asks"),
        ("openai.AuthenticationError: Error code: 401 - {'error': {'message': 'wrong'}}", "failed"),
        ("Error calling model: litellm.RateLimitError: slow down", "failed"),
        ("Interrupted · What should Claude do instead?", "done"),
        ("", "done"),
    ],
)
def test_a_message(message: str, how: str) -> None:
    assert of_message(message).how == how


def test_a_gauge_below_a_message_and_a_banner_above_it_are_no_part_of_it() -> None:
    above = "skiff v1.2\n\n\n  hello\n\n\nI renamed it.\n\nShall I continue with step 2?"
    boxed = "❯ go on\n╭── skiff ──╮\n│ I renamed it. Shall I continue with step 2? │\n╰───────────╯"
    for text in (above, boxed):
        for gauge in ("context ██░░░░░░░░ 11%", "[=====     ] 50%", "12% context used", "0s • 3x"):
            rows = [*text.split("\n"), gauge, "❯ "]
            turn = ended_turn(Screen.from_text("\n".join(rows), cursor=(2, len(rows) - 1), size=(80, 24)))
            assert turn.question == "Shall I continue with step 2?", (gauge, turn)
            assert turn.message == "I renamed it. Shall I continue with step 2?", (gauge, turn)


def test_the_box_of_a_tool_that_was_cancelled_asks_nothing() -> None:
    """As Qwen Code draws it, below its message."""
    box = [
        "╭────────────────────────────────────────────────────────────╮",
        "│ -  Shell read -p 'Install to /usr/local? [y/N] ' answer    │",
        "│                                                            │",
        "│    Install to /usr/local? [y/N]                            │",
        "╰────────────────────────────────────────────────────────────╯",
    ]
    for message, how in (("Request cancelled.", "done"), ("Shall I continue with step 2?", "asks")):
        rows = ["> go on", "", f"● {message}", "", *box, "", "─" * 60, "* ", "─" * 60]
        turn = ended_turn(Screen.from_text("\n".join(rows), cursor=(2, len(rows) - 2), size=(80, 24)))
        assert (str(turn.how), turn.message) == (how, message)


def test_messages_begin_below_where_their_agent_was_started() -> None:
    for case in cases("captured-agent_clis.jsonl", "captured-claude_code.jsonl"):
        assert re.search(r"Claude Code v\d|Aider v\d|\bpi v\d", judged(case).message) is None, case["id"]


def test_a_program_that_says_that_it_failed_is_told_with_the_line_that_says_why() -> None:
    shown = ended_turn(Screen.from_text("■ unexpected status 401 Unauthorized: wrong key\n\n› ", cursor=(2, 2)))
    found = [of_failure(*said, shown) for said in (("", "error"), ("query", "query"), ("HTTP 429: slow down", "query"))]
    assert [(one.message[:25], one.error) for one in found] == [
        ("unexpected status 401 Una", "authentication_failed"),
        ("unexpected status 401 Una", "authentication_failed"),
        ("HTTP 429: slow down", "rate_limit"),
    ]


@given(st.text())
def test_no_message_makes_it_raise(message: str) -> None:
    assert len(of_message(message).message) <= 501


def test_a_message_right_below_the_persons_line_is_told_from_one_after_work() -> None:
    asks = "⏺ I renamed it. Shall I continue?"
    work = "⏺ Bash(git mv a b)\n  ⎿  (No output)"
    before = "> rename it\n\n⏺ Done. Shall I continue?"
    composer = "─" * 40 + "\n> \n" + "─" * 40
    for above, at_once in (
        ("> yes", True),
        (f"> yes\n\n{work}", False),
        (f"{before}\n\n> yes", True),
        (f"{before}\n\n> yes\n\n{work}", False),
    ):
        text = f"{above}\n\n{asks}\n\n{composer}"
        rows = text.split("\n")
        turn = ended_turn(Screen.from_text(text, cursor=(2, len(rows) - 2), size=(80, 24)))
        assert (turn.how, turn.question, turn.at_once) == ("asks", "Shall I continue?", at_once), (above, turn)


def test_what_a_person_said_before_an_interrupt_is_no_failure() -> None:
    """OpenCode frames what its person says as it frames a failure, and tells no interrupt before an answer."""
    for name in ("composer/hit-opencode-1-18-interrupted-three-times", "retrying/miss-opencode-1-18-gave-up"):
        seen = open_target(f"file:{SCREENS}/opencode_{name}-80x24.txt").capture()
        turn = judge(ENGINE.detect(seen.screen), seen).ended_turn
        assert turn is not None and (turn.how == "failed") is ("gave-up" in name), turn


def test_a_failure_is_told_although_an_earlier_request_ends_below_it() -> None:
    """Gemini says so of a request that a person stopped while it was tried again, once the next one is under way."""
    seen = open_target(
        f"file:{SCREENS}/gemini_composer/hit-gemini-0-61-failed-then-a-stopped-request-80x30.txt"
    ).capture()
    turn = judge(ENGINE.detect(seen.screen), seen).ended_turn
    assert turn is not None and (turn.how, turn.error) == ("failed", "authentication_failed")
    shown = seen.screen.text.replace("API key", "key").replace("401", "").replace("[API Error", "All is done: [")
    done = ended_turn(Screen.from_text(shown, cursor=(5, 22), size=(80, 30)), words=ENGINE.words)
    assert done.how == "done" and done.message.startswith("User cancelled")


def told(rows: list[str], words: Vocabulary = NO_WORDS) -> EndedTurn:
    """How the turn ended that these rows show, above an empty composer."""
    text = "\n".join([*rows, "", "─" * 40, "> ", "─" * 40])
    screen = Screen.from_text(text, cursor=(2, text.count("\n") - 1), size=(80, 24))
    return ended_turn(screen, words=words)


def test_what_stands_below_a_message_and_is_none() -> None:
    """Boxes of tools, each below a titled rule; a row that only points at a failure above, where none is."""
    asks = "● I renamed it. Shall I continue?"
    box = ["──── tools ────────", "╭───────────╮", "│ ✓  Bash ls │", "╰───────────╯"]
    assert told([asks, *box]).question == told([asks, *box, *box]).question == "Shall I continue?"
    points = Vocabulary([Agent("acme", Process(["acme"]), turn=Turn(notices=["^See above"]))])
    assert told(["● See above."], points) == told(["● See above."])
    assert told(["● Error: 401 Unauthorized", "● See above."], points).how == "failed"


def test_bars_below_a_name_are_taken_away_down_to_the_last_row() -> None:
    assert unframed(["Agent:", "┃ Done.", "┃ Shall I?"]) == ["\0", "Done.", "Shall I?"]
    assert unframed(["Agent:", "┃ Done.", "text"]) == ["\0", "Done.", "text"]
