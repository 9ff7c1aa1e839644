"""What must never be pressed, and the order of trial; the examples are items of their own."""

from pathlib import Path

import pytest
import stallkit_claude_code
from stallkit_operator.queue_sync import draft_of
from stallkit_supervisor.notification import subject_of
from stallkit_supervisor.notify.notice import how_many

from stallkit import Engine, Match, Screen, load_pack
from stallkit.evidence.snapshot import KernelFacts, Snapshot, TtyFacts
from stallkit.judging.judge import judge
from stallkit.transports.targets import open_target

PACK = load_pack("stallkit_claude_code")
SCREENS = Path(stallkit_claude_code.__file__).parent / "screens"
FIRST = [
    "workspace_trust",
    "effort_level",
    "effort_level_alt",
    "compact_mode",
    "permission_dialog",
    "ask_user_question",
]
COMPOSER = "\n\n────────────────────────────────\n❯ \n────────────────────────────────\n  ? for shortcuts\n"
QUESTION = "\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend\n"


def detect(text: str, cursor_visible: bool | None = None) -> Match | None:
    cursor = None if cursor_visible is None else (0, len(text.splitlines()))
    return Engine([PACK]).detect(Screen.from_text(text, cursor=cursor, cursor_visible=cursor_visible)).match


def found(text: str) -> str | None:
    match = detect(text)
    return match.signature.id if match else None


def test_the_six_first_signatures_come_in_their_order() -> None:
    order = [signature.id for signature in Engine([PACK]).signatures]
    places = [order.index(name) for name in FIRST]
    assert places == sorted(places)
    assert places[0] == 0


def test_keys_are_given_for_low_severity_alone() -> None:
    given = {s.id: str(s.dismissal.keys) for s in PACK.signatures if s.dismissal}
    assert given == {
        "workspace_trust": "1 Enter",
        "workspace_trust_yes_selected": "Enter",
        "effort_level": "Enter",
        "effort_level_alt": "Enter",
        "compact_mode": "Enter",
        "theme_first_run": "Enter",
    }
    assert {str(s.severity) for s in PACK.signatures if s.dismissal} == {"low"}


@pytest.mark.parametrize(
    "rows",
    [
        "❯ 1. No, exit\n  2. Yes, I trust this folder",
        "  1. Yes, I trust this folder\n❯ 2. No, exit",
        "❯ No, exit\n  Yes, I trust this folder",
    ],
)
def test_trust_with_another_row_selected_is_left_to_a_person(rows: str) -> None:
    assert (
        found(f"Quick safety check: Is this a project you trust?\n\n{rows}\n\nEnter to confirm · Esc to cancel")
        == "workspace_trust_other"
    )


@pytest.mark.parametrize(
    "above",
    [
        "Effort in Opus 5.5\n\n❯ 1. Use medium effort\n  2. Use high effort",
        "❯ Use high effort\n  Use low effort",
        "Switch to compact mode?\n❯ Yes\n  No",
        "Quick safety check\n❯ 1. Yes, I trust this folder\n  2. No, exit",
        "./render --compact mode # compact mode",
    ],
)
def test_text_above_never_lends_its_key_to_another_dialog(above: str) -> None:
    match = detect(above + QUESTION)
    assert match is not None
    assert match.signature.dismissal is None


@pytest.mark.parametrize(
    "text",
    [
        "● The prompt reads Allow? and waits.",
        "● Allow?",
        "● It switches to compact mode.",
        "● Effort in Opus is set by /effort; Use high effort for hard tasks.",
        "● ```\n  Quick safety check\n  ❯ 1. Yes, I trust this folder\n    2. No, exit\n  ```",
        "● Bash(cat prompts.txt)\n  ⎿  Allow? [y/N]\n     Do you want to proceed? (y/n)\n     ❯ 1. Yes\n       2. No",
        "● The menu ends in Enter to select · Esc to cancel",
        "  12 +  ❯ 1. Yes\n  13 +    2. No, exit\n  14 +\n  15 +  Enter to confirm · Esc to cancel",
    ],
)
def test_what_is_only_mentioned_is_idle_over_a_composer(text: str) -> None:
    match = detect(text + COMPOSER)
    assert match is not None
    assert match.signature.state == "idle"


@pytest.mark.parametrize(
    "text",
    [
        "prompts.md:12: the dialog asks Allow? and shows compact mode",
        "2026-11-02 10:11:12 INFO Effort in Opus, Use high effort, compact mode",
        '-    all_of=["Quick safety check", "Yes, I trust"]',
        "Allow? [y/N] n\nskipped",
        "1. Yes\n2. No\n",
    ],
)
def test_what_is_only_mentioned_matches_nothing(text: str) -> None:
    assert detect(text) is None


def test_a_printed_dialog_above_a_visible_cursor_is_not_a_dialog() -> None:
    assert detect(QUESTION, cursor_visible=False) is not None
    assert detect(QUESTION, cursor_visible=True) is None


@pytest.mark.parametrize("row", ["❯ 1. Yes, proceed\n  2. No, exit", "  1. Yes, proceed\n❯ 2. No, exit"])
def test_trust_of_versions_1_is_found_and_left_to_a_person(row: str) -> None:
    match = detect(f"Do you trust the files in this folder?\n\n{row}\n\n   Enter to confirm · Esc to exit")
    assert match is not None
    assert (match.signature.id, match.signature.dismissal) == ("workspace_trust_files", None)


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("✻ API error · Retrying in 40s · attempt 1/10", "quota"),
        ("✻ API error · Retrying in 2s · attempt 3/10", "working"),
        ("✻ API error · Retrying in 32s · attempt 8/10", "working"),
        ("✻ 500 Internal server error · Retrying in 20s · attempt 6/10", "working"),
        ("✻ 429 rate limited · Retrying in 3s · attempt 2/10", "quota"),
        ("  ⎿  You've hit your weekly limit · resets Nov 25, 8:07am (UTC)", "quota"),
        ("  ⎿  5-hour limit reached ∙ resets 8:10am", "quota"),
        ("  ⎿  Credit balance too low · Add funds:", "idle"),
        ("  ⎿  Context low · Run /compact to compact & continue", "idle"),
    ],
)
def test_a_limit_is_told_from_other_refusals(line: str, state: str) -> None:
    match = detect(f"❯ go on\n{line}{COMPOSER}")
    assert match is not None
    assert match.signature.state == state
    if "resets" in line:
        assert match.line.strip() == line.strip()


@pytest.mark.parametrize("footer", ["Showing detailed transcript · ctrl+o to toggle", "Showing detailed transcript"])
def test_a_transcript_that_shows_a_dialog_is_never_answered(footer: str) -> None:
    dialog = "Quick safety check\n\n❯ 1. Yes, I trust this folder\n  2. No, exit"
    match = detect(f"● It showed:\n\n  {dialog}\n\n────────────────────────\n  {footer}", cursor_visible=False)
    assert match is not None
    assert (match.signature.id, match.signature.dismissal) == ("transcript_untitled", None)


@pytest.mark.parametrize(
    ("name", "question", "options", "questions", "several"),
    [
        ("hit-third-row", "Which retry policy should the worker use?", 5, 1, False),
        ("hit-questions-single-2-0-42-80", "Which storage should the cache use?", 4, 1, False),
        ("hit-multi-select", "Which call sites should I change?", 6, 1, True),
        ("hit-review", None, 2, 2, False),
    ],
)
def test_a_question_is_read_with_its_options(
    name: str, question: str | None, options: int, questions: int, several: bool
) -> None:
    reading = Engine([PACK]).detect(open_target(f"file:{SCREENS}/question_dialog/{name}.txt").capture().screen).dialog
    assert reading is not None
    assert (reading.fields.get("question"), len(reading.options)) == (question, options)
    assert sum(one.selected for one in reading.options) == 1
    assert how_many(reading.fields.get("questions", "")) == questions
    assert any(one.ticked is not None for one in reading.options) is several


def test_a_list_shows_the_command_not_the_tip_above_it() -> None:
    seen = open_target(f"file:{SCREENS}/tool_permission/hit-bash-narrow.txt").capture()
    verdict = judge(Engine([PACK]).detect(seen.screen), seen)
    topic = subject_of(verdict)
    assert topic is not None and draft_of("tmux:a", topic, verdict, seen).asked == "rm -rf build && ls"


def test_whether_a_key_is_used_is_a_question_and_no_secret() -> None:
    shown = """\
  Detected a custom API key in your environment

  ANTHROPIC_API_KEY: sk-ant-...model-AA

  Do you want to use this API key?

    Yes
  ❯ No (recommended)

  Enter to confirm · Esc to cancel"""
    screen = Screen.from_text(shown, cursor=(0, 11), cursor_visible=False)
    seen = Snapshot(screen=screen, kernel=KernelFacts(listening=True, how="epoll"), tty=TtyFacts(False, False))
    verdict = judge(Engine([PACK]).detect(screen), seen)
    assert (verdict.state, verdict.kind) == ("waiting", "confirm"), verdict.reasons
