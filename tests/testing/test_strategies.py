"""The public strategies: what they promise, and the bundled packs held to them."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from functools import cache

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from stallkit.detect.dialog import Dialog
from stallkit.detect.engine import Engine
from stallkit.detect.signature import Clause, Pack, Signature
from stallkit.packs.registry import load_pack
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.testing import FORMS, examples, keys, near_misses, packs, prompt_screens, screens
from stallkit.testing.lookalikes import fillings

ASK = Signature(
    id="ask", title="acme asks", state="waiting", kind="confirm",  # type: ignore[arg-type]
    all_of=[Clause(pattern=r"^Deploy to \S+\? \[y/n\] $", where="prompt_line")],  # type: ignore[arg-type]
    hits=["Deploy to staging? [y/n] "],  # type: ignore[arg-type]
)  # fmt: skip
DIALOG = Signature(
    id="dialog", title="acme's menu", state="waiting", kind="select", all_of=["Pick one:", "❯ 名前"],  # type: ignore[arg-type]
    hits=["Pick one:\n❯ 名前 one\n  two"],  # type: ignore[arg-type]
)  # fmt: skip
PLAIN = settings(deadline=None, suppress_health_check=list(HealthCheck))
SAME = settings(PLAIN, derandomize=True, database=None)


def detects(pack: Pack, signature: Signature, screen: Screen) -> bool:
    match = Engine([pack]).detect(screen).match
    return match is not None and match.signature.id == signature.id


@settings(PLAIN, max_examples=60)
@given(keys())
def test_keys_are_what_they_are_written_as(drawn: Keys) -> None:
    assert Keys.parse(str(drawn)).to_bytes() == drawn.to_bytes()


@settings(PLAIN, max_examples=40)
@given(packs(), screens())
def test_any_pack_takes_any_screen(pack: Pack, screen: Screen) -> None:
    first = Engine([pack]).detect(screen)
    assert first == Engine([pack]).detect(screen)


@settings(PLAIN, max_examples=80)
@given(st.data())
def test_a_dressed_prompt_shows_the_same_lines(data: st.DataObject) -> None:
    signature = data.draw(st.sampled_from([ASK, DIALOG]))
    text = signature.hits[0]
    screen = data.draw(prompt_screens(signature))
    shown = "\n".join(screen.lines).rstrip("\n")
    assert shown == text or shown.endswith("\n\n" + text)
    assert detects(Pack("acme", signatures=[signature]), signature, screen)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", FORMS)
def test_each_form_tells_a_careless_signature_from_a_careful_one(form: str) -> None:
    careless = Signature(id="ask", title="", state="waiting", all_of=["Deploy to"], hits=ASK.hits)  # type: ignore[arg-type]
    mentioned = near_misses(ASK, forms=[form])
    found = find(mentioned, lambda screen: detects(Pack("acme", signatures=[careless]), careless, screen))  # type: ignore[arg-type]
    assert "Deploy to" in found.text
    with pytest.raises(NoSuchExample):
        find(mentioned, lambda screen: detects(Pack("acme", signatures=[ASK]), ASK, screen), settings=SAME)  # type: ignore[arg-type]


def tank(number: str, side: str = "") -> Signature:
    """A prompt whose pattern takes these numbers; with a side it is drawn in a box."""
    row = "Tank 4 holds 11 litres. Drain it? [y/n] "
    asks = Dialog(["Tank {tank} holds {litres} litres. Drain it? [y/n]"], "any", {"tank": "number", "litres": "number"})
    clause = Clause(pattern=rf"^Tank {number} holds \d+ litres", where="tail(3)" if side else "prompt_line")  # type: ignore[arg-type]
    return Signature(
        id="tank", title="", state="waiting", kind="confirm", all_of=[clause], dialog=asks,  # type: ignore[arg-type]
        hits=[row if not side else f"{side} {row} {side}"],  # type: ignore[arg-type]
    )  # fmt: skip


def test_a_pattern_of_the_captured_words_alone_is_found_to_be_narrow() -> None:
    narrow, wide = tank("[14]+"), tank(r"\d+")
    missed = find(prompt_screens(narrow), lambda screen: not detects(Pack("p", signatures=[narrow]), narrow, screen))  # type: ignore[arg-type]
    assert "holds 11 litres" in missed.text and "Tank 4" not in missed.text
    with pytest.raises(NoSuchExample):
        find(
            prompt_screens(wide), lambda screen: not detects(Pack("p", signatures=[wide]), wide, screen), settings=SAME
        )  # type: ignore[arg-type]


def test_other_contents_leave_the_sides_of_a_box_and_the_cursor_where_they_belong() -> None:
    at_end = Screen.from_text(tank("4").hits[0], cursor=(40, 0), size=(80, 24), cursor_visible=True)
    for filled in fillings(tank("4"), at_end)[1:]:
        assert filled.cursor is not None and filled.cursor.column == len(filled.lines[0].rstrip()) + 1
    boxed = tank("4", "│")
    base = Screen.from_text(boxed.hits[0].replace("] ", "]   "))
    rows = {filled.lines[0] for filled in fillings(boxed, base)}
    assert len(rows) == 7, "three numbers in each of two fields, and as it was"
    assert {(len(row), row[-1]) for row in rows} == {(len(base.lines[0]), "│")}


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: prompt_screens(Signature(id="bare", title="", state="idle", all_of=["x"])), "bare has no hits"),  # type: ignore[arg-type]
        (lambda: near_misses(ASK, forms=["poem"]), r"unknown forms \['poem'\]: prose, "),
        (lambda: near_misses(DIALOG, forms=["answered"]), "dialog is not a prompt at the cursor"),
    ],
)
def test_what_cannot_be_drawn_is_said_at_once(call: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        call()  # type: ignore[operator]


def test_without_hypothesis_the_rest_works_and_the_error_is_one_line() -> None:
    code = """
import sys
sys.modules["hypothesis"] = None
from stallkit.testing import FakeClock, check_pack, check_signature, check_transport
try:
    from stallkit.testing import prompt_screens
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    wanted = "stallkit.testing.prompt_screens needs Hypothesis; install it with: pip install 'stallkit[testing]'\n"
    assert done.stdout == wanted


# --- the bundled packs ---

BUNDLED = ["agent_clis", "claude_code", "node_prompts", "shell_auth", "shell_tools", "shell_yn", "structural"]


@cache
def shown_by(package: str) -> dict[str, list[Screen]]:
    """The screens that each signature of a pack must see."""
    found: dict[str, list[Screen]] = defaultdict(list)
    for example in examples(package):
        if example.wanted and not example.todo and not example.name.startswith("hits"):
            found[example.signature].append(example.screen)
    return found


def signatures() -> list[tuple[str, Signature]]:
    return [(name, signature) for name in BUNDLED for signature in load_pack(f"stallkit_{name}").signatures]


def screens_for(name: str, signature: Signature) -> list[Screen]:
    return shown_by(f"stallkit_{name}")[signature.id]


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_signature_sees_its_prompt_in_any_dress(name: str) -> None:
    pack = load_pack(f"stallkit_{name}")
    engine = Engine([pack])

    @settings(SAME, max_examples=150)
    @given(st.data())
    def seen(data: st.DataObject) -> None:
        signature = data.draw(st.sampled_from(pack.signatures))
        screen = data.draw(prompt_screens(signature, screens_for(name, signature)))
        match = engine.detect(screen).match
        assert match is not None
        assert match.signature.id == signature.id

    seen()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_signature_is_not_taken_in_by_a_mention(name: str, form: str) -> None:
    pack = load_pack(f"stallkit_{name}")
    engine = Engine([pack])
    concerned = [signature for signature in pack.signatures if signature.state == "waiting"]
    if form == "answered":
        concerned = [one for one in concerned if any(clause.where == "prompt_line" for clause in one.all_of)]

    @settings(SAME, max_examples=100)
    @given(st.data())
    def refused(data: st.DataObject) -> None:
        signature = data.draw(st.sampled_from(concerned))
        screen = data.draw(near_misses(signature, screens_for(name, signature), [form]))
        match = engine.detect(screen).match
        assert match is None or match.signature.state != "waiting" or match.signature.certainty == "maybe"

    if concerned:
        refused()
