"""What a signature could rest on: stable in all captures, in none of the others, and nothing that changes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stallkit_lab.propose import propose

from stallkit.detect.engine import Engine
from stallkit.detect.layout import read_layout
from stallkit.detect.signature import Clause, Pack, Signature
from stallkit.terminal.screen import Screen
from stallkit.testing import screens


def at_end(text: str) -> Screen:
    lines = text.split("\n")
    return Screen.from_text(text, cursor=(len(lines[-1]), len(lines) - 1))


def proposed(*texts: str, others: tuple[str, ...] = (), names: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    found = propose([at_end(text) for text in texts], [at_end(text) for text in others], names)
    return [(clause.source, clause.where) for clause in found.clauses]


def test_the_prompt_line_is_one_pattern_that_ends_at_the_cursor() -> None:
    wrong = [
        (texts, pattern)
        for texts, pattern in [
            (["Deploy to staging now? [y/n] ", "Deploy to prod now? [y/n] "], r"^Deploy to \S+ now\? \[y/n\] *$"),
            (["Overwrite /etc/motd? (yes/no) "], r"^Overwrite \S+\? \(yes/no\) *$"),
            (["rm: remove regular file 'a b'? "], r"^rm: remove regular file .*\? *$"),
            (["Restore the copy of 2026-11-02 10:11? "], r"^Restore the copy of \S+ \S+\? *$"),
            (["Retry in 12s (3 of 5)? "], r"^Retry in \S+ \(\S+ of \S+\)\? *$"),
            (["Password for ada@box: "], r"^Password for \S+: *$"),
            (["⠹ Waiting for your answer: "], r"^\S+ Waiting for your answer: *$"),
            (["Name of the app: ", "Name of the new big app: "], r"^Name of the .*app: *$"),
        ]
        if proposed(*texts) != [(pattern, "prompt_line")]
    ]
    assert wrong == []


def test_the_users_own_names_are_left_out() -> None:
    text = "Log in to tower as lovelace? "
    assert proposed(text) == [(r"^Log in to tower as lovelace\? *$", "prompt_line")]
    assert proposed(text, names=("lovelace", "tower")) == [(r"^Log in to \S+ as \S+\? *$", "prompt_line")]


def test_a_dialog_is_its_longest_words_in_the_lowest_part_that_holds_them() -> None:
    one = "log 1\nSelect a region\n\n❯ eu-west\n  us-east\n\n"
    two = "log 2\nmore\nSelect a region\n\n  eu-west\n❯ us-east\n\n"
    found = proposed(one, two)
    assert found == [("Select a region", "tail(6)"), ("us-east", "tail(3)")]
    assert proposed(one, two, others=("The word eu-west",))[0] == ("Select a region", "tail(6)")
    assert ("eu-west", "tail(4)") not in proposed(one, two, others=("The word eu-west",))


def test_a_hidden_cursor_says_dialog_and_is_part_of_the_signature() -> None:
    def menu(number: int, path: str, visible: bool) -> Screen:
        question = f"Delete {number} old snapshots from {path}?"
        text = f"{question}\n\n  ❯ Keep them\n    Delete them\n\n  ↑/↓ move · Enter choose"
        return Screen.from_text(text, cursor=(25, 5), size=(80, 24), cursor_visible=visible)

    found = propose([menu(12, "/var/log", False), menu(3, "/srv", False)], [line_of("x")])
    assert [(one.source, one.where) for one in found.clauses] == [
        ("old snapshots from", "tail(8)"),
        ("↑/↓ move · Enter choose", "tail(3)"),
    ]
    assert (found.cursor, found.doubts) == ("hidden", ())
    found = propose([menu(12, "/var/log", True), menu(3, "/srv", True)], [line_of("x")])
    assert [one.where for one in found.clauses] == ["prompt_line"]
    assert found.cursor == "any"


def test_what_a_person_said_or_types_over_is_no_part_of_it() -> None:
    rule = "─" * 40
    box = f"{rule}\n> Type your message here\n{rule}\n  ready · enter sends it"
    rests = f"> please fix the parser\n\n● I have mended it.\n\n{box}"
    screen = Screen.from_text(rests, cursor=(2, 5), size=(60, 20), cursor_visible=True)
    assert {"person", "composer"} <= read_layout(screen).parts.keys()
    found = propose([screen, screen], [line_of("x")])
    assert [one.source for one in found.clauses] == ["ready · enter sends it", "● I have mended it."]
    asks = Screen.from_text("Your name: acme-corporation", cursor=(11, 0), size=(60, 20), cursor_visible=True)
    assert [one.source for one in propose([asks], [line_of("x")]).clauses] == ["^Your name: *$"]


def test_what_others_show_as_well_is_backed_by_what_they_do_not() -> None:
    found = proposed("Restart needed\nGo on? [y/n] ", others=("Everything is fine\nGo on? [y/n] ",))
    assert found == [("^Go on\\? \\[y/n\\] *$", "prompt_line"), ("Restart needed", "tail(4)")]


def test_what_cannot_be_told_is_refused() -> None:
    for texts, others, why in [
        (["12 / 2026-11-02"], (), "nothing on it is stable"),
        (["Go on? [y/n] "], ("Go on? [y/n] ",), "nothing distinguishes it from 1 of the other screens"),
        (["Select a region\n", "Choose a colour now\n"], (), "nothing on it is stable"),
    ]:
        with pytest.raises(ValueError, match=why):
            proposed(*texts, others=others)


def test_doubts_are_said() -> None:
    line = at_end("Go on with it? ")
    assert "there is one capture" in propose([line]).doubts[0]
    assert propose([line, line], [at_end("x")]).doubts == ()
    assert "has no cursor" in propose([Screen.from_text("Go on with it? ")] * 2, [line_of("x")]).doubts[0]
    assert "no text at the cursor is stable" in propose([at_end("Select a region\n")] * 2, [at_end("x")]).doubts[0]


def line_of(text: str) -> Screen:
    return Screen.from_text(text)


@settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))
@given(
    st.lists(screens(), min_size=1, max_size=3),
    st.lists(screens(), max_size=2),
    st.sampled_from(["", "Deploy it now? [yes/no] ", "Select a region\n❯ (first) {x} $y"]),
)
def test_whatever_is_proposed_holds_on_all_and_on_no_other(
    drawn: list[Screen], others: list[Screen], common: str
) -> None:
    given = [at_end("\n".join(screen.lines[:20]) + "\n" + common) if common else screen for screen in drawn]
    try:
        clauses = propose(given, others).clauses
    except ValueError:
        return
    one = Signature(id="one", title="", state="working", all_of=clauses)  # type: ignore[arg-type]
    engine = Engine([Pack("p", signatures=[one])])  # type: ignore[arg-type]
    assert all(engine.detect(screen).match for screen in given)
    assert not any(engine.detect(screen).match for screen in others)
    assert all(isinstance(clause, Clause) and clause.source.strip() for clause in clauses)
