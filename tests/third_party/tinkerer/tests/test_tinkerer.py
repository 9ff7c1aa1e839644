"""The signatures in any dress, and that what it publishes is read with care."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stallkit_tinkerer.session_file import SOURCE

from stallkit import Engine, Screen, Signature, load_pack
from stallkit.testing import StandIn, check_signal, examples, near_misses, prompt_screens

PACK = load_pack("stallkit_tinkerer")
ENGINE = Engine([PACK])
WAITING = [one for one in PACK.signatures if one.state == "waiting"]
SHOWN: dict[str, list[Screen]] = {one.id: [] for one in PACK.signatures}
for example in examples("stallkit_tinkerer"):
    if example.wanted:
        SHOWN[example.signature].append(example.screen)


@pytest.mark.parametrize("signature", WAITING, ids=lambda one: one.id)
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_it_is_seen_in_any_dress(signature: Signature, data: st.DataObject) -> None:
    match = ENGINE.detect(data.draw(prompt_screens(signature, SHOWN[signature.id]))).match
    assert match is not None and match.signature.id == signature.id


@pytest.mark.parametrize("signature", WAITING, ids=lambda one: one.id)
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_a_mention_is_not_the_prompt(signature: Signature, data: st.DataObject) -> None:
    match = ENGINE.detect(data.draw(near_misses(signature, SHOWN[signature.id]))).match
    assert match is None or match.signature.state != "waiting"


def test_its_session_file_is_read_with_care(tmp_path: Path) -> None:
    with StandIn(tmp_path, "tinkerer") as agent:
        file = tmp_path / ".tinkerer" / "sessions" / f"{agent.pid}.json"
        file.parent.mkdir(parents=True)
        said = {"pid": agent.pid, "started": str(agent.publisher.started), "status": "asks", "wants": "permission"}
        file.write_text(json.dumps({**said, "words": "make check", "session": "a1b2c3", "at": 1e9}))
        (signal,) = agent.signals()
        assert (signal.state, signal.kind, signal.fields) == ("waiting", "permission", {"command": "make check"})
        assert signal.counts and signal.session == "a1b2c3"
        assert check_signal(SOURCE, agent.publisher, [file]) > 20
