"""A notice says who needs what, in words that harm no terminal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stallkit_supervisor.notify.channels import WHATS
from stallkit_supervisor.notify.notice import BODY, TITLE, Notice, what_of
from told_events import SECRET, event

TEXTS = st.text(st.characters(codec=None), max_size=400)


@pytest.mark.parametrize(
    ("name", "facts", "title", "body"),
    [
        ("escalation", {"what": "waits", "line": "Proceed? [y/N]", "why": "severity medium"},
         "one waits for an answer", "Proceed? [y/N] · severity medium"),
        ("escalation", {"what": "asks", "message": "All tests pass.\nShall I continue?"},
         "one asks a question", "Shall I continue? \xb7 All tests pass."),
        ("escalation", {"what": "failed", "times": 2, "message": "API Error: 401"},
         "one still failed", "API Error: 401"),
        ("escalation", {"what": "waits", "request": {"command": "git status"}, "line": "❯ 1. Yes"},
         "one waits for an answer", "git status"),
        ("escalation", {"what": "hung", "message": "no answer", "why": "w" * 400, "item": 7},
         "one seems to hang", f"no answer · {'w' * 263}… · stallkit stuck show 7"),
        ("escalation", {"item": 7}, "one needs a person", "stallkit stuck show 7"),
        ("escalation", {"what": "waits", "line": "5. Chat about this",
                        "request": {"question": "Which policy?", "questions": "1/2"},
                        "options": [{"text": "Backoff", "selected": False}, {"text": "Fixed", "selected": True}]},
         "one waits for an answer", "Which policy? (of 2 questions) \xb7 1. Backoff \xb7 \u276f 2. Fixed"),
        ("escalation", {"what": "waits", "line": "go on with part 3", "request": None,
                        "signals": [{"state": "waiting", "counts": True, "guard": "process",
                                     "fields": {"question": "Which policy?"}}]},
         "one waits for an answer", "Which policy?"),
        ("escalation", {"why": "a rule"}, "one needs a person", "a rule"),
        ("gone", {"why": "no session"}, "one is gone", "no session"),
        ("cleared", {"by": "ada", "blocked_s": 75.3}, "one needs nobody any more", "answered by ada after 1 min"),
        ("brand_new", {}, "one brand_new", ""),
    ],
)  # fmt: skip
def test_who_needs_what(name: str, facts: dict[str, Any], title: str, body: str) -> None:
    notice = Notice.of(event(name, **facts))
    assert (notice.title, notice.body) == (title, body)


@given(TEXTS, TEXTS, TEXTS, st.sampled_from(sorted(WHATS)))
def test_a_notice_is_two_short_lines_in_which_nothing_is_hidden(target: str, line: str, why: str, what: str) -> None:
    notice = Notice.of(event(target=target, line=line, why=why, what=what))
    assert notice.key == target
    assert 0 < len(notice.title) <= TITLE and len(notice.body) <= BODY
    assert notice.line.isprintable()


def test_no_secret_is_in_a_notice() -> None:
    notice = Notice.of(event(target=f"tmux:{SECRET}", line=f"key {SECRET}", why=SECRET))
    assert SECRET not in notice.line


def test_what_an_event_is_about() -> None:
    assert what_of(event(what="failed")) == "failed" and what_of(event("gone")) == "gone"
    assert what_of(event("cleared", what="failed")) == "cleared" and what_of(event(what=3)) == "escalation"
