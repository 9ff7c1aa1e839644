"""Usage limits in plain words: before a shell's prompt, in what was last said, and never in what a person wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallkit.detect.signature import State
from stallkit.evidence.agents import AfterExit
from stallkit.evidence.snapshot import ProcessFacts, Snapshot
from stallkit.judging.judge import judge
from stallkit.judging.verdict import Verdict
from stallkit.packs.registry import installed_engine
from stallkit.terminal.screen import Screen

ENGINE = installed_engine()
COMPOSER = "\n\n────────────────────\n❯ \n────────────────────\n  ? for shortcuts"
PHRASES = ["Rate limit exceeded", "Quota exceeded.", "usage limit reached", "TOKEN LIMIT", "Please try again later."]


def verdict(text: str, foreground: str | None = None) -> Verdict:
    lines = text.split("\n")
    screen = Screen.from_text(text, cursor=(len(lines[-1]), len(lines) - 1))
    return judge(ENGINE.detect(screen), Snapshot(screen=screen, process=ProcessFacts(foreground)))


@pytest.mark.parametrize("phrase", PHRASES)
@pytest.mark.parametrize("prompt", ["$ ", "dev@box:~/work$ ", "root@box:/# ", "me@host ~/src> ", "box% "])
def test_a_limit_is_tried_before_a_shells_prompt(phrase: str, prompt: str) -> None:
    found = verdict(f"$ agent\nError: {phrase}\n{prompt}", "bash")
    assert (found.state, found.ended) == (State.QUOTA, AfterExit.SHELL), found.reasons


@pytest.mark.parametrize("phrase", PHRASES)
@pytest.mark.parametrize("below", ["\n\n> ", COMPOSER, "\n" * 30 + "> ", ""])
def test_a_limit_is_the_last_thing_that_was_said(phrase: str, below: str) -> None:
    assert verdict(f"> go on\n\n{phrase}{below}").state is State.QUOTA


@pytest.mark.parametrize(
    "text",
    [
        f"❯ what is the usage limit?\n\n● It is a number.{COMPOSER}",
        f"❯ rate limit exceeded, try again later{COMPOSER}",
        "● Done.\n\n────────────────────\n❯ quota exceeded\n────────────────────\n  ? for shortcuts",
        f"● Error: rate limit\n\n❯ and now?\n\n● Done.{COMPOSER}",
        f'● It prints "rate limit" where it is refused.{COMPOSER}',
        f"● I added a rate limit.{COMPOSER}",
        "$ grep -r 'rate limit' .\n$ ",
        "$ agent\nError: rate limit exceeded\n$ ls\nREADME\n$ ",
    ],
)
def test_what_a_person_wrote_or_a_text_speaks_of_is_no_limit(text: str) -> None:
    assert verdict(text, "bash" if text.endswith("$ ") else None).state is not State.QUOTA


@pytest.mark.parametrize("below", ["\n$ ", COMPOSER])
def test_overload_is_no_limit(below: str) -> None:
    assert verdict(f"API Error: 529 Overloaded. Please try again later.{below}").state is not State.QUOTA


def test_an_overloaded_service_is_work_that_is_tried_again() -> None:
    found = verdict("Server overloaded, retrying in 8 s (attempt 2/10)")
    assert (found.state, found.retrying) == (State.WORKING, "Server overloaded, retrying in 8 s (attempt 2/10)")


MARKS = ["> ", "❯ ", "› ", "▌ ", "│ > ", "You: ", "user> "]


@given(st.sampled_from(MARKS), st.lists(st.sampled_from(["the", "log says", "we hit", "Why?"]), max_size=6), st.data())
def test_what_a_person_typed_is_no_limit(mark: str, words: list[str], data: st.DataObject) -> None:
    """Nor on the further rows of what they typed; what the program adds below it with a mark of its own is one."""
    phrase = data.draw(st.sampled_from(PHRASES))
    breaks = data.draw(st.sampled_from([" ", "\n  "]))
    message = mark + breaks.join([*(words or ["so:"]), phrase])
    assert verdict(message + COMPOSER).state is not State.QUOTA
    assert verdict(f"> go on\n  ⎿  {phrase}{COMPOSER}").state is State.QUOTA
