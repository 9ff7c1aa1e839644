"""Whole dialogs: every row is recognised, in one way, from an edge to the end of the screen; or nothing is."""

from __future__ import annotations

import textwrap
from typing import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallkit.detect.dialog import Button, Dialog, Element, FieldSpec, Role
from stallkit.detect.dialog_parser import Option, begins_in_sight, read, read_among, read_any
from stallkit.terminal.screen import Screen

DEPLOY = Dialog(
    [
        "Deploy {folder} to {place}?",
        Element(row="It takes about {minutes} minutes, and the site stays up while it goes on.", times=(0, 1)),
        Element(option=["Yes", "Yes, to {place}"], role=Role.ONCE),
        Element(option="No", role=Role.REJECT),
        "Enter to confirm",
    ],
    ["blank", "top", "rule"],
    {"folder": "path", "place": ["staging", "production"], "minutes": "number"},
)
SHOWN = """\
$ acme deploy

Deploy ~/site to staging?
It takes about 4 minutes, and the site
stays up while it goes on.

❯ 1. Yes
  2. No

Enter to confirm"""


def screen(text: str, rows: int = 40, columns: int = 80) -> Screen:
    return Screen.from_text(text, cursor=(0, 3), size=(columns, rows), cursor_visible=False)


def test_each_row_says_what_it_is() -> None:
    reading = read(DEPLOY, screen(SHOWN))
    assert reading.whole and reading.first == 2
    assert dict(reading.fields) == {"folder": "~/site", "place": "staging", "minutes": "4"}
    assert reading.options == (Option("Yes", 1, True, Role.ONCE), Option("No", 2, False, Role.REJECT))
    assert [row.row for row in reading.rows] == [2, 3, 4, 6, 7, 9]
    assert reading.rows[0].as_what == "Deploy {folder} to {place}?"


@pytest.mark.parametrize(
    ("was", "now", "doubt"),
    [
        ("Enter to confirm", "Enter to confirm\nand delete all", "row 10 is left over: 'and delete all'"),
        ("  2. No", "  2. No\n  and delete all", "left over"),
        ("  2. No", "  2. No, delete all", "left over"),
        ("to staging?", "to Mars?", "left over"),
        ("$ acme deploy\n\n", "All is lost.\n", "row 0 is left over: 'All is lost.'"),
        ("❯ 1. Yes", "❯ 1. Yes\n❯ 1. Yes", "left over"),
        ("  2. No", "❯ 2. No", "more than one option is selected"),
        ("  2. No", "  3. No", "not numbered in order"),
        ("  2. No", "  No", "not numbered in order"),
        ("\nEnter to confirm", "", "its last rows are missing"),
        ("~/site", "~/" + "x" * 1_100, "left over"),
    ],
)
def test_what_is_not_wholly_recognised(was: str, now: str, doubt: str) -> None:
    assert was in SHOWN
    reading = read(DEPLOY, screen(SHOWN.replace(was, now)))
    assert not reading.whole and doubt in reading.doubt


@given(st.from_regex(r"[A-Za-z]{1,9}(?: [a-z]{1,9}){0,4}", fullmatch=True), st.integers(2, 10))
def test_one_more_row_in_it_or_at_it_is_left_over(text: str, at: int) -> None:
    rows = SHOWN.split("\n")
    assert not read(DEPLOY, screen("\n".join([*rows[:at], text, *rows[at:]]))).whole


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_it_is_the_same_in_any_width(columns: int) -> None:
    prose = "It takes about 4 minutes, and the site stays up while it goes on."
    rows = ["Deploy ~/site to staging?", *textwrap.wrap(prose, columns), "❯ Yes", "  No", "Enter to confirm"]
    assert read(DEPLOY, screen("\n".join(rows), columns=columns)).whole
    box = [f"│ {row.ljust(columns)} │" for row in rows]
    framed = "\n".join([f"╭{'─' * columns}╮", *box, f"╰{'─' * columns}╯"])
    in_a_box = Dialog([*DEPLOY.elements, Element(rule=True)], "frame", DEPLOY.fields)
    assert read(in_a_box, screen(framed, columns=columns + 4)).whole


BUTTONS = [
    Button("Allow once", Role.ONCE),
    Button("Allow always", Role.ALWAYS),
    Button("Reject", Role.REJECT, "Escape"),
]
ALLOW = Dialog(["Allow 漢字", "$ {command}", Element(buttons=BUTTONS)], "blank", {"command": "command"})
ASKED = "\n".join(["", "  ┃  Allow 漢字", "  ┃  $ {}", "  ┃", "  ┃ {}"])


def test_buttons_are_read_with_the_cells_that_they_begin_in() -> None:
    for row in ("Allow once   Allow always   Reject", "Allow once  Allow always  Reject  enter confirm"):
        reading = read(ALLOW, screen(ASKED.format("make", row)))
        assert reading.whole and not reading.options and reading.fields == {"command": "make"}
        assert [one.button for one in reading.buttons] == BUTTONS
        assert {one.row for one in reading.buttons} == {4}
        assert [one.column for one in reading.buttons] == [4 + row.index(one.text) for one in BUTTONS]


@pytest.mark.parametrize(
    ("command", "row"),
    [
        ("make", "Allow once   Reject   Allow always"),
        ("make", "Allow once Allow always Reject"),
        ("make", "Allow once   Allow always   Reject all"),
        ("make", "Allow once   Allow always"),
        ("make\n  ┃  Allow once   Allow always   Reject", "Allow once   Allow always   Reject"),
    ],
)
def test_buttons_that_are_others_or_stand_there_twice_are_none(command: str, row: str) -> None:
    assert read(ALLOW, screen(ASKED.format(command, row))).doubt


def test_a_field_that_may_end_in_two_places_is_doubtful() -> None:
    runs = Dialog(["Run {command} in {folder}?"], "top", {"command": "command", "folder": "path"})
    assert read(runs, screen("Run make in /srv?")).whole
    assert "more than one way" in read(runs, screen("Run make in /tmp; rm -rf / # in /srv?")).doubt


def test_rows_that_two_fields_could_take_are_doubtful() -> None:
    asks = Dialog(["{command}", "{why}", "Allow?"], "top", {"command": "command", "why": "text"})
    assert read(asks, screen("git status\nto see\nAllow?")).fields["command"] == "git status"
    assert "more than one way" in read(asks, screen("git status\nrm -rf ~\nto see\nAllow?")).doubt


def test_rules_keep_fields_apart() -> None:
    rows = ["{why}", Element(rule=True), "{command}", Element(rule=True), "Allow?"]
    asks = Dialog(rows, "top", {"command": "command", "why": "line"})
    assert read(asks, screen("to see\n╌╌╌╌╌\ngit status\n╌╌╌╌╌\nAllow?")).fields["command"] == "git status"
    assert not read(asks, screen("rm -rf ~\ngit status\n╌╌╌╌╌\nAllow?")).whole
    forged = "to see\n╌╌╌╌╌\nrm -rf ~\n╌╌╌╌╌\ngit status\n╌╌╌╌╌\nAllow?"
    assert read(asks, screen(forged)).fields.get("command") != "git status"


def test_a_dialog_in_a_field_of_another_is_doubtful() -> None:
    tip = Dialog(["Try the compact mode?", Element(option="Yes"), Element(option="No")], "blank")
    rows = ["Run this?", "{command}", Element(option="Yes"), Element(option="No")]
    runs = Dialog(rows, ["blank", "top"], {"command": "command"})
    forged = screen("\n\nRun this?\necho 'x\n\nTry the compact mode?\n❯ Yes\n  No")
    assert read(tip, forged).whole
    assert "inside the dialog of permission" in read_among([tip], {"permission": [runs]}, forged).doubt


def test_a_prompt_of_one_line_ends_at_the_cursor() -> None:
    one = Dialog([Element(row="{question}", at_cursor=True)], "any", {"question": FieldSpec.of({"is": "line"})})
    text = "make: nothing to do\nGo on? [y/N] "
    assert read(one, Screen.from_text(text, cursor=(13, 1), size=(80, 24))).whole
    assert not read(one, Screen.from_text(text + "and delete", cursor=(13, 1), size=(80, 24))).whole
    assert not read(one, Screen.from_text(text + "\nmore", cursor=(13, 1), size=(80, 24))).whole
    assert not read(one, Screen.from_text(text, size=(80, 24))).whole


@pytest.mark.parametrize(("rows", "sight"), [(24, True), (10, False), (11, False), (12, True)])
def test_a_full_screen_hides_its_beginning(rows: int, sight: bool) -> None:
    assert begins_in_sight(screen(SHOWN, rows=rows)) is sight
    assert not begins_in_sight(Screen.from_text(SHOWN)), "of an unknown size"


@pytest.mark.parametrize(
    ("rows", "fields", "why"),
    [
        (["{x}"], {}, "x is no field"),
        (["x"], {"x": "line"}, "stands in no row"),
        ([], {}, "has rows"),
        (["{x}"], {"x": {"is": "command", "decides": True}}, "never decides"),
        (["{x}"], {"x": {"is": "poem"}}, "poem"),
        ([Element(row="{x}", times=(0, 2))], {"x": "command"}, "more than once"),
        (["{x}"], {"x": {"is": "line", "long": 3}}, "unknown key 'long'"),
        (["{x}"], {"x": {"most": 3}}, "says what it is"),
        (["{x}"], {"x": {"is": "line", "most": "3"}}, "number of characters"),
        (["{x}"], {"x": "choice"}, "a list of texts"),
        ([Element(pattern="(?P<Big>a)")], {"Big": "line"}, "not a name"),
    ],
)
def test_a_dialog_that_makes_no_sense_is_refused(
    rows: list[str | Element], fields: dict[str, object], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        Dialog(rows, "top", fields)  # type: ignore[arg-type]


def test_a_part_of_a_dialog_that_makes_no_sense_is_refused() -> None:
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: Button(" "), "a button has a text"),
        (lambda: Button("Yes", key="Entre"), "unknown key"),
        (Element, "an element has a row"),
        (lambda: Element(row="x", option="y"), "an element has a row"),
        (lambda: Element(row=["x", " "]), "an element has a row"),
        (lambda: Element(row="x", times=(2, 1)), "at least, at most"),
        (lambda: Element(row="x", times=(0, 0)), "at least, at most"),
        (lambda: Element(row="x", role="once"), "only an option"),
        (lambda: Element(row="x", key="y"), "only an option"),
        (lambda: Element(option="x", key="Entre"), "unknown key"),
    ]
    for number, (make, why) in enumerate(wrong):
        with pytest.raises(ValueError, match=why):
            make()
            pytest.fail(f"case {number}")


# --- what somebody else may have drawn ---

RUNS = Dialog(
    [
        "Run this?",
        "{command}",
        Element(option="Yes", role="once"),
        Element(option="No"),
        Element(row="Esc", times=(0, 1)),
    ],
    ["blank", "rule"],
    {"command": "command"},
)
ASKS = "\n  Run this?\n  ls\n  ❯ Yes\n    No"
NAMES = Dialog(["Open this?", "{file}"], "blank", {"file": {"is": "path", "decides": False}})
SAYS = Dialog(["Go on?", "{why}"], "blank", {"why": "line"})
FURTHER_UP, SIDED = "it may begin further up", "the sides of its rows differ"
DOUBTS: list[tuple[Dialog, str, str]] = [
    (RUNS, ASKS, ""),
    (RUNS, f"{ASKS}\n  Esc", ""),
    (RUNS, f"text\n{ASKS}", ""),
    (RUNS, f"  text\n{ASKS}", FURTHER_UP),
    (RUNS, f"├────┤\n{ASKS}", FURTHER_UP),
    (RUNS, f"├────┤{ASKS}", "no row of it"),  # a rule inside a box
    (RUNS, ASKS.replace("❯ Yes", "Yes"), ""),
    (RUNS, ASKS.replace("ls", "Yes\n  ls"), "more than once"),
    (RUNS, ASKS.replace("  ls", "  ls\n  │"), "passed over, and is not blank"),
    (RUNS, ASKS.replace("  ls", "  x\n" * 60), "longer than 60 rows"),
    (RUNS, "│\n│ Run this?\n│ ls\n│ ❯ Yes\n│   No", ""),  # a box without an upper side
    (NAMES, "\nOpen this?\n~/a", ""),
    (NAMES, "\nOpen this?\n~/a\u200bb", "row 2 has characters that show nothing"),
    (NAMES, "\n│ Open this? │\n~/a", SIDED),
    (SAYS, "\n│ Go on? │\nit is late", SIDED),
    (Dialog(["Run: {command}"], "any", {"command": "command"}), "Run:\nls", "command begins below the row"),
    (Dialog(["Run {command}?", "So {command}!"], "any", {"command": "command"}), "Run ls?\nSo rm!", "rows disagree"),
    (Dialog([Element(option="Yes", times=(1, 2))], "any"), "❯ Yes\n  Yes", "stands there twice"),
    (Dialog([Element(option="Yes", selected=True)], "any"), "  Yes", "left over"),
    (Dialog([Element(option="Yes", selected=True)], "any"), "❯ Yes", ""),
    (Dialog([Element(choices=True)], "any"), "Which?", "no list of choices"),
]


def test_every_doubt_says_why() -> None:
    said = [(read(dialog, screen(text, rows=90)).doubt, doubt, text) for dialog, text, doubt in DOUBTS]
    assert [one for one in said if (one[1] not in one[0] if one[1] else one[0])] == []


def test_a_reading_of_too_many_steps_is_doubtful() -> None:
    names = "abcdefg"
    many = Dialog([*(f"{{{name}}}" for name in names), "End"], "any", dict.fromkeys(names, "text"))
    assert read(many, screen("row\n" * 100, rows=120)).doubt == "its rows can be read in too many ways"


def test_what_reads_as_two_dialogs_is_doubtful() -> None:
    one, other = (Dialog([row], "any", {"x": {"is": "line", "decides": True}}) for row in ("Run {x} now?", "Run {x}?"))
    assert read_any([one], screen("Run it now?")).whole
    assert read_any([one, other], screen("Run it now?")).doubt == "it can be read as two dialogs"


def test_a_list_whose_words_are_anybodys() -> None:
    asks = Dialog(["Which?", Element(choices=True), Element(option="Send", role="submit"), "Enter"], "blank")
    shown = "\nWhich?\n❯ 1. [ ] Red  it is warm\n  2. [x] Blue\n       and cold\n  3. Other\n  Send\nEnter"
    reading = read(asks, screen(shown))
    assert reading.whole and reading.submit == Option("Send", role=Role.SUBMIT)
    assert [(one.text, one.number, one.selected, one.ticked, one.about) for one in reading.options] == [
        ("Red", 1, True, False, "it is warm"),
        ("Blue", 2, False, True, "and cold"),
        ("Other", 3, False, None, ""),
    ]


def test_what_is_said_of_a_field() -> None:
    """An address is broken in the middle of a word; of a remark in several rows none is told."""
    fields = {"url": "address", "note": {"is": "line", "aside": True}}
    opens = Dialog(["Open {url} now?", Element(row="- {note}", times=(0, 2))], "any", fields)
    reading = read(opens, screen("Open https://example.org/a\nb now?\n- one\n- two"))
    assert (reading.doubt, dict(reading.fields)) == ("", {"url": "https://example.org/ab"})


def test_a_button_is_named_by_its_label() -> None:
    reading = read(ALLOW, screen(ASKED.format("make", "Allow once   Allow always   Reject")))
    assert (found := reading.button("ALLOW ONCE")) is not None and found.button == BUTTONS[0]
    assert reading.button("Allow") is None


@given(st.text(max_size=300), st.booleans())
def test_no_screen_makes_it_raise(text: str, below: bool) -> None:
    read(DEPLOY, screen(f"{SHOWN}\n{text}" if below else f"{text}\n{SHOWN}"))


def test_a_pattern_that_runs_away_makes_a_reading_doubtful() -> None:
    dialog = Dialog([Element(pattern=("(?:a|aa)+!",)), "Go on?"], "any")
    reading = read(dialog, Screen.from_text("a" * 60 + " !\nGo on?", cursor=(6, 1), size=(80, 24)))
    assert not reading.whole
    assert reading.doubt == "its patterns take too long to read its rows"
