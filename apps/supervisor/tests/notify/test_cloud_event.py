"""Every envelope is one that the SDK of CloudEvents reads back, whatever an event holds."""

from __future__ import annotations

import json

from cloudevents.core.bindings.http import HTTPMessage, from_http
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent as Standard
from hypothesis import given
from hypothesis import strategies as st
from stallkit_supervisor.notify.hooks import CONTENT_MODES, CloudEvent, ContentMode
from told_events import SECRET, event, said

from stallkit import dump

TEXTS = st.text(st.characters(codec=None), max_size=30)  # also surrogates, control characters, nothing


@given(st.sampled_from(CONTENT_MODES), TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=3))
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


@given(TEXTS)
def test_what_is_handed_to_a_command_are_variables(target: str) -> None:
    variables = said(target=target).variables
    assert all("\0" not in value and value.isprintable() for value in variables.values())


def test_no_secret_is_in_an_envelope() -> None:
    one = said(target=f"tmux:{SECRET}", why=SECRET)
    for mode in CONTENT_MODES:
        assert SECRET not in f"{one.headers(mode)}{one.body(mode)}{one.variables}"


def test_the_body_in_binary_mode_is_the_line_of_the_event_log() -> None:
    one = said(why="it asks")
    assert one.body("binary") == json.dumps(dump(one.event))
