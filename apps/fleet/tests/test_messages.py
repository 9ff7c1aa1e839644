"""What goes over the bus, as values: CloudEvents, what a reader saw, and offers that are used once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_http
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from hypothesis import given
from hypothesis import strategies as st
from stallkit_fleet.messages import OFFER_S, Answer, FleetEvent, NotTaken, Offers, Seen, read_request
from stallkit_fleet.settings import FleetSettings

EVENT = {"version": 1, "time": "2026-11-22T22:00:00.000+00:00", "event": "escalation", "target": "tmux:w 1"}


def test_an_event_is_a_cloudevent_of_the_standard() -> None:
    one = FleetEvent("c", "e1", 7, EVENT)
    headers = {"content-type": "application/json", **one.headers}  # the same attributes, bound to HTTP
    standard = from_http(HTTPMessage(headers, one.body), JSONFormat(), CloudEvent)
    assert (standard.get_id(), standard.get_type(), standard.get_source()) == (
        "e1-7",
        "stallkit.escalation",
        "//c/stallkit",
    )
    assert (standard.get_subject(), standard.get_data()) == ("tmux:w 1", EVENT)
    assert one.headers["Nats-Msg-Id"] == one.id


def test_the_host_is_read_from_the_subject_that_the_server_guards_alone() -> None:
    one = FleetEvent("c", "e1", 7, EVENT)
    read = FleetEvent.read("stallkit.event.d", one.headers, one.body)
    assert read is not None and read.host == "d"
    for headers, body in (({}, one.body), (one.headers, b"["), (one.headers, b"[1]"), (one.headers, b"[" * 100_000)):
        assert FleetEvent.read("stallkit.event.c", headers, body) is None
    assert FleetEvent.read("stallkit.event.c", {**one.headers, "ce-sequence": "x"}, one.body) is None


def test_a_secret_does_not_leave() -> None:
    secret = "AKIA" + "IOSFODNN7EXAMPLE"
    assert secret not in FleetEvent("c", "e", 1, {**EVENT, "why": f"key {secret}"}).body.decode()


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["tmux:a", "tmux:b"]), st.integers(1, 9)), max_size=60)
)
def test_what_is_sent_again_is_seen_once(sent: list[tuple[str, str, int]]) -> None:
    seen, last = Seen(), dict[tuple[str, str], int]()
    for host, target, sequence in sent:
        fresh = sequence > last.get((host, target), 0)
        assert seen.is_new(FleetEvent(host, "e", sequence, {**EVENT, "target": target})) is fresh
        last[host, target] = max(sequence, last.get((host, target), 0))
    assert seen.is_new(FleetEvent("a", "another", 1, EVENT)), "the host's state was lost: it counts from 1 again"


def test_an_offer_is_taken_once_by_whom_it_was_made_to_and_not_late() -> None:
    offers = Offers(most=3)
    first = offers.make("ada", 0.0)
    for operator, now, why in (("bob", 1.0, "no such offer to you"), ("ada", 1.0, "no such offer")):
        with pytest.raises(NotTaken, match=why):
            offers.take(first, operator, now)
    second = offers.make("ada", 0.0)
    offers.take(second, "ada", OFFER_S)
    with pytest.raises(NotTaken, match="sent before"):
        offers.take(second, "ada", OFFER_S)
    late = offers.make("ada", 0.0)
    with pytest.raises(NotTaken, match="after the host was asked"):
        offers.take(late, "ada", OFFER_S + 1)
    with pytest.raises(NotTaken, match="sent before"):
        offers.take(late, "ada", 1.0)
    with pytest.raises(NotTaken, match="under way"):
        for _ in range(4):
            offers.make("eve", 0.0)
    assert offers.make("ada", 100 * OFFER_S), "what nobody used is forgotten"


JSONS = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=5)
NAMES = ["version", "do", "offer", "verb", "item", "revision", "action", "text"]


@given(st.dictionaries(st.sampled_from(NAMES), JSONS | st.just(1)))
def test_any_request_is_read_or_refused(plain: dict[str, Any]) -> None:
    try:
        answer = Answer.read(read_request(json.dumps(plain).encode()))
    except ValueError as error:
        assert str(error)
    else:
        assert Answer.read(read_request(answer.body)) == answer


@pytest.mark.parametrize("data", [b"", b"\xff", b"[", b"[]", b"[" * 100_000, b'{"version": 2}'])
def test_what_is_no_request_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="it is no request"):
        read_request(data)


def test_names_that_would_be_wildcards_or_two_parts_are_refused() -> None:
    for name in ("a.b", "*", ">", "a b", "ä", "x" * 64, "a\n"):
        with pytest.raises(ValueError, match="is no name on the bus"):
            FleetSettings("nats://bus", name)
        with pytest.raises(ValueError, match="is no name on the bus"):
            FleetSettings("nats://bus", "a", operators=[name])
    for url in ("bus", "http://bus:4222", "nats://", "nats://me:secret@bus", "nats://a,"):
        with pytest.raises(ValueError, match=r"^url "):
            FleetSettings(url)
    assert FleetSettings("nats://a:4222, tls://b", "build-3_x").name == "build-3_x"
