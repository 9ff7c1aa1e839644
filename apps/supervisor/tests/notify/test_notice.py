"""What is told: a notice in words that harm no terminal, an envelope of CloudEvents; and no secret in any."""

from __future__ import annotations

import json
from typing import Any

from cloudevents.core.bindings.http import HTTPMessage, from_http
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent as Standard
from hypothesis import given
from hypothesis import strategies as st
from stallkit_supervisor.notify.channels import WHATS
from stallkit_supervisor.notify.hooks import CONTENT_MODES, CloudEvent, ContentMode
from stallkit_supervisor.notify.notice import BODY, TITLE, Notice, what_of
from told_events import SECRET, event, said

from stallkit import dump

TEXTS = st.text(st.characters(codec=None), max_size=400)
QUESTION = {"question": "Which policy?", "questions": "1/2"}
OPTIONS = [{"text": "Backoff", "selected": False}, {"text": "Fixed", "selected": True}]
SIGNAL = {"state": "waiting", "counts": True, "guard": "process", "fields": {"question": "Which policy?"}}
ANSWER, ASKS = "one waits for an answer", "one asks a question"
NOTICES: list[tuple[str, dict[str, Any], str, str]] = [
    ("escalation", {"what": "waits", "line": "Proceed? [y/N]", "why": "severity medium"},
     ANSWER, "Proceed? [y/N] · severity medium"),
    ("escalation", {"what": "asks", "message": "All tests pass.\nShall I continue?"},
     ASKS, "Shall I continue? \xb7 All tests pass."),
    ("escalation", {"what": "failed", "times": 2, "message": "API Error: 401"}, "one still failed", "API Error: 401"),
    ("escalation", {"what": "waits", "request": {"command": "git status"}, "line": "❯ 1. Yes"}, ANSWER, "git status"),
    ("escalation", {"what": "hung", "message": "no answer", "why": "w" * 400, "item": 7},
     "one seems to hang", f"no answer · {'w' * 263}… · stallkit stuck show 7"),
    ("escalation", {"item": 7}, "one needs a person", "stallkit stuck show 7"),
    ("escalation", {"what": "waits", "line": "5. Chat about this", "request": QUESTION, "options": OPTIONS},
     ANSWER, "Which policy? (of 2 questions) \xb7 1. Backoff \xb7 \u276f 2. Fixed"),
    ("escalation", {"what": "waits", "line": "go on with part 3", "request": None, "signals": [SIGNAL]},
     ANSWER, "Which policy?"),
    ("escalation", {"why": "a rule"}, "one needs a person", "a rule"),
    ("gone", {"why": "no session"}, "one is gone", "no session"),
    ("cleared", {"by": "ada", "blocked_s": 75.3}, "one needs nobody any more", "answered by ada after 1 min"),
    ("brand_new", {}, "one brand_new", ""),
]  # fmt: skip


def test_who_needs_what() -> None:
    made = [Notice.of(event(name, **facts)) for name, facts, _, _ in NOTICES]
    assert [(one.title, one.body) for one in made] == [(title, body) for _, _, title, body in NOTICES]


@given(TEXTS, TEXTS, TEXTS, st.sampled_from(sorted(WHATS)))
def test_a_notice_is_two_short_lines_in_which_nothing_is_hidden(target: str, line: str, why: str, what: str) -> None:
    notice = Notice.of(event(target=target, line=line, why=why, what=what))
    assert notice.key == target
    assert 0 < len(notice.title) <= TITLE and len(notice.body) <= BODY
    assert notice.line.isprintable()


def test_no_secret_is_in_a_notice_or_an_envelope() -> None:
    notice = Notice.of(event(target=f"tmux:{SECRET}", line=f"key {SECRET}", why=SECRET))
    assert SECRET not in notice.line
    one = said(target=f"tmux:{SECRET}", why=SECRET)
    for mode in CONTENT_MODES:
        assert SECRET not in f"{one.headers(mode)}{one.body(mode)}{one.variables}"


def test_what_an_event_is_about() -> None:
    assert what_of(event(what="failed")) == "failed" and what_of(event("gone")) == "gone"
    assert what_of(event("cleared", what="failed")) == "cleared" and what_of(event(what=3)) == "escalation"


SHORT = st.text(st.characters(codec=None), max_size=30)  # also surrogates, control characters, nothing


@given(st.sampled_from(CONTENT_MODES), SHORT, st.dictionaries(SHORT, SHORT, max_size=3))
def test_what_is_told_is_a_cloudevent(mode: ContentMode, target: str, facts: dict[str, str]) -> None:
    one = CloudEvent(event(target=target, facts=facts), "//a%20host/stallkit", "an id")
    headers = {name.lower(): value for name, value in one.headers(mode).items()}
    assert all(value.isascii() and value.isprintable() for value in headers.values())
    found = from_http(HTTPMessage(headers, one.body(mode).encode()), JSONFormat(), Standard)
    assert found.get_specversion() == "1.0"
    assert (found.get_type(), found.get_source(), found.get_id()) == ("stallkit.escalation", one.source, "an id")
    assert found.get_time() == one.event.at.replace(microsecond=one.event.at.microsecond // 1000 * 1000)
    assert bool(found.get_subject()) == bool(target)
    assert found.get_data() == dump(one.event)


@given(SHORT)
def test_what_is_handed_to_a_command_are_variables(target: str) -> None:
    variables = said(target=target).variables
    assert all("\0" not in value and value.isprintable() for value in variables.values())


def test_the_body_in_binary_mode_is_the_line_of_the_event_log() -> None:
    one = said(why="it asks")
    assert one.body("binary") == json.dumps(dump(one.event))
