"""What must never be pressed, what only talks like a dialog; the examples are items of their own."""

from pathlib import Path

import pytest
import stallkit_agent_clis
from stallkit_supervisor.notify.notice import how_many

from stallkit import Engine, Match, Screen, load_pack
from stallkit.detect.menu import menu_of
from stallkit.judging.judge import judge
from stallkit.press.strokes import choosing
from stallkit.transports.targets import open_target

PACK = load_pack("stallkit_agent_clis")
SCREENS = Path(stallkit_agent_clis.__file__).parent / "screens"
WAITING = [signature for signature in PACK.signatures if signature.state == "waiting"]


def detect(screen: Screen) -> Match | None:
    return Engine([PACK]).detect(screen).match


def test_keys_are_given_for_what_aider_offers_at_its_start_alone() -> None:
    given = {one.id: str(one.dismissal.keys) for one in PACK.signatures if one.dismissal}
    assert given == {"aider_release_notes": "n Enter", "aider_gitignore": "n Enter"}
    assert {one.id for one in PACK.signatures if one.severity != "high" and one.state == "waiting"} == set(given)


def test_what_is_known_from_notes_alone_is_never_answered_and_sure_only_as_a_dialog_without_a_cursor() -> None:
    noted = [one for one in PACK.signatures if one.source.startswith("notes")]
    assert noted and not [one.id for one in noted if one.dismissal]
    sure = [one for one in noted if one.certainty == "sure"]
    assert {(one.state, one.cursor) for one in sure} == {("waiting", "hidden")}


def test_a_signature_is_named_after_its_program() -> None:
    programs = {one.id.partition("_")[0] for one in PACK.signatures}
    assert {"codex", "gemini", "qwen", "opencode", "copilot", "aider"} <= programs


@pytest.mark.parametrize(
    "lines",
    [
        "Would you like to run the following command?\n› 1. Yes, proceed (y)\nPress enter to confirm or esc to cancel",
        "Do you trust the files in this folder?\n● 1. Trust folder (proj)\n  3. Don't trust",
        "Do you want to run this command?\n❯ 1. Yes\n  3. No, and tell Copilot what to do differently (Esc to stop)",
        "△ Permission required\n  Allow once   Allow always   Reject",
        "Approve tool call?\n[y] Approve   [n] Deny",
    ],
)
@pytest.mark.parametrize(
    "told", ["2026-11-02 10:11:12 INFO screen: {}", "+ {}", '"{}", it says', "prompts.md:12:{}", "> {}"]
)
def test_a_dialog_that_is_only_mentioned_is_none(lines: str, told: str) -> None:
    text = "\n".join(told.format(line) for line in lines.split("\n")) + "\n"
    match = detect(Screen.from_text(text, cursor=(0, text.count("\n")), cursor_visible=True))
    assert match is None or match.signature.state != "waiting"


def test_most_dialogs_are_dead_above_a_visible_cursor() -> None:
    """Nearly all of these programs hide it there; what does not has to say so by another clause."""
    loose = {one.id for one in WAITING if one.cursor == "any" and one.certainty != "maybe"}
    assert loose == LOOSE


QUESTIONS = {  # of a screen: the question, its options, the selected one, how many questions, whether several hold
    "codex_question/hit-codex-0-169-question-80x24": (4, 0, 1, False),
    "codex_question/hit-codex-0-171-question-of-two-80x24": (4, 0, 2, False),
    "copilot_question/hit-copilot-1-0-question-80x24": (4, 0, 1, False),
    "gemini_question/hit-gemini-0-61-question-single-choice-second-row-80x24": (3, 1, 1, False),
    "gemini_question/hit-gemini-0-61-question-of-two-80x24": (3, 0, 2, False),
    "opencode_question/hit-opencode-1-18-question-of-two-100x40": (4, None, 2, False),
    "opencode_question/hit-opencode-1-18-question-several-100x40": (4, None, 1, True),
    "qwen_question/hit-qwen-0-24-question-single-choice-80x24": (4, 0, 1, False),
    "qwen_question/hit-qwen-0-24-question-of-two-100x40": (4, 0, 2, False),
    "qwen_question/hit-qwen-0-24-question-several-100x40": (4, 0, 1, True),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_is_read_with_its_options(name: str) -> None:
    options, selected, questions, several = QUESTIONS[name]
    screen = open_target(f"file:{SCREENS / name}.txt").capture().screen
    reading = Engine([PACK]).detect(screen).dialog
    assert reading is not None
    assert reading.fields["question"].startswith(f"Which {'checks should' if several else 'retry policy should'}")
    assert [one.text for one in reading.options][:3] == ["Exponential backoff", "Fixed delay", "No retry"]
    marked = [place for place, one in enumerate(reading.options) if one.selected]
    assert (len(reading.options), marked) == (options, [] if selected is None else [selected])
    assert how_many(reading.fields.get("questions", "")) == questions
    assert any(one.ticked is not None for one in reading.options) is several


def test_copilots_no_takes_words_and_escape_says_no() -> None:
    seen = open_target(f"file:{SCREENS}/copilot_permission/hit-copilot-1-0-permission-run-80x24.txt").capture()
    menu = menu_of(Engine([PACK]).detect(seen.screen))
    assert menu is not None and [one.key for one in menu.options] == ["1", "2", "Escape"]
    strokes = choosing(menu.options[2].text, judge(Engine([PACK]).detect(seen.screen), seen), seen, exactly=False)
    assert not isinstance(strokes, str) and str(strokes.keys) == "Escape"


BUTTONS = {  # of a screen of OpenCode: the row of its buttons, and each with what chooses it
    "permission-buttons-60x24": (19, {"Allow once": "Click", "Allow always": "Click", "Reject": "Escape"}),
    "permission-fullscreen-60x24": (19, {"Allow once": "Click", "Allow always": "Click", "Reject": "Escape"}),
    "permission-shell-command-80x24": (21, {"Allow once": "Click", "Allow always": "Click", "Reject": "Escape"}),
    "permission-shell-command-120x40": (37, {"Allow once": "Click", "Allow always": "Click", "Reject": "Escape"}),
    "permission-always-60x24": (19, {"Confirm": "Click", "Cancel": "Escape"}),
}


@pytest.mark.parametrize("name", BUTTONS)
def test_opencodes_buttons_are_clicked_whichever_is_selected(name: str) -> None:
    row, keys = BUTTONS[name]
    seen = open_target(f"file:{SCREENS}/opencode_permission/hit-opencode-1-18-{name}.txt").capture()
    verdict = judge(Engine([PACK]).detect(seen.screen), seen)
    strokes = {label: choosing(label, verdict, seen, exactly=False) for label in keys}
    assert {
        label: getattr(one, "keys", one) and str(getattr(one, "keys", one)) for label, one in strokes.items()
    } == keys
    reading = verdict.detection.dialog
    assert reading is not None and {one.row for one in reading.buttons} == {row}
    for one in reading.buttons:
        assert seen.screen.lines[row][one.column :].startswith(one.button.text)  # no wide letter before it


LOOSE = {
    *("aider_confirm", "aider_gitignore", "aider_release_notes"),  # at the cursor itself
    *("codex_question",),  # a footer of keys is their last line
    *("opencode_help", "opencode_menu", "opencode_provider", "opencode_question"),  # a search box has the cursor
    *("cline_permission", "cline_question"),  # seen half drawn, the cursor not hidden yet
    *("copilot_signed_out",),  # at its composer
}
