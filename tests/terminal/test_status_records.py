"""OSC 7501: every rule of the protocol by name, and what is near its limits."""

from __future__ import annotations

import unicodedata
from base64 import b64encode
from itertools import product
from typing import Any, Callable

from hypothesis import given, settings
from hypothesis import strategies as st
from streams import ROOT, assert_within_limits, osc, read, report, sized, text

from stallkit.terminal.marks import StatusKind, StatusState
from stallkit.terminal.osc_stream import LIMIT

IDLE, WORKING, DONE, BLOCKED, ERROR = StatusState
examples = settings(max_examples=150, deadline=None)

ROOT_STAYS = {"": {"state": IDLE}}


def records(stream: bytes) -> dict[str, dict[str, Any]]:
    """What the records say, by id, in their order; what they leave out is left out."""
    fields = ("state", "kind", "progress", "app", "title", "msg")
    return {
        status.id: {name: value for name in fields if (value := getattr(status, name)) is not None}
        for status in read(stream).statuses
    }


def path(levels: int, segment: str = "a") -> str:
    return "/".join([segment] * levels)


MANY = b"".join(report(f"state=done:id=n{number}") for number in range(256))
TREE = (
    report("state=idle:app=top") + report("state=done:id=a") + report("state=done:id=a/b") + report("state=done:id=ab")
)
AB, ALL_OF_TREE = {"state": DONE, "app": "top"}, {"state": IDLE, "app": "top"}

# Each rule of the protocol, a stream, and the records behind it.
RULES: dict[str, tuple[bytes, dict[str, dict[str, Any]]]] = {
    # how a report is written
    "it ends with ESC backslash": (osc("7501;state=idle"), ROOT_STAYS),
    "it ends with BEL": (osc("7501;state=idle", b"\a"), ROOT_STAYS),
    "0x9c ends nothing": (osc(b"7501;state=idle\x9ctext"), {}),
    "CAN breaks it off": (ROOT + b"\x1b]7501;state=done\x18\a", ROOT_STAYS),
    "SUB breaks it off": (ROOT + b"\x1b]7501;state=done\x1a\a", ROOT_STAYS),
    "another escape breaks it off": (ROOT + b"\x1b]7501;state=done\x1b[m\a", ROOT_STAYS),
    "another report breaks it off": (b"\x1b]7501;state=done:id=x" + ROOT, ROOT_STAYS),
    "inside a DCS it is none, BEL or not": (b"\x1bPq\a]7501;state=idle\a\x1b\\", {}),
    "a control or DEL behind the ESC is obeyed in passing": (b"\x1b\n\x7f\0]7501;state=idle\a", ROOT_STAYS),
    "another number is another protocol": (osc("7502;state=idle") + osc("07501;state=idle"), {}),
    # state
    "state idle": (report("state=idle"), {"": {"state": IDLE}}),
    "state working": (report("state=working"), {"": {"state": WORKING}}),
    "state done": (report("state=done"), {"": {"state": DONE}}),
    "state blocked": (report("state=blocked"), {"": {"state": BLOCKED}}),
    "state error": (report("state=error"), {"": {"state": ERROR}}),
    "state is required": (ROOT + report("app=x") + report(""), ROOT_STAYS),
    "an unknown state rejects the report": (ROOT + report("state=asleep") + report("state="), ROOT_STAYS),
    # id
    "no id is the root record": (report("state=idle"), ROOT_STAYS),
    "an id is a path of segments": (report("state=idle:id=A-z/0_9.+/x"), {"A-z/0_9.+/x": {"state": IDLE}}),
    "an empty segment is no id": (ROOT + report("state=done:id=a//b") + report("state=done:id=a/"), ROOT_STAYS),
    "an id of another form is never the root's": (
        ROOT + report("state=clear:id=") + report("state=clear:id=a=b"),
        ROOT_STAYS,
    ),
    # kind
    "kind permission": (
        report("state=blocked:kind=permission"),
        {"": {"state": BLOCKED, "kind": StatusKind.PERMISSION}},
    ),
    "kind question": (report("state=blocked:kind=question"), {"": {"state": BLOCKED, "kind": StatusKind.QUESTION}}),
    "kind auth": (report("state=blocked:kind=auth"), {"": {"state": BLOCKED, "kind": StatusKind.AUTH}}),
    "kind only with blocked": (report("state=working:kind=auth"), {"": {"state": WORKING}}),
    "an unknown kind is none": (report("state=blocked:kind=lunch"), {"": {"state": BLOCKED}}),
    # progress
    "progress from 0": (report("state=working:progress=0"), {"": {"state": WORKING, "progress": 0}}),
    "progress to 100": (report("state=blocked:progress=100"), {"": {"state": BLOCKED, "progress": 100}}),
    "progress above 100 is absent": (report("state=working:progress=101"), {"": {"state": WORKING}}),
    "progress that is no number is absent": (
        report("state=working:id=a:progress=half")
        + report("state=working:id=b:progress=-1")
        + report("state=working:id=c:progress="),
        {"a": {"state": WORKING}, "b": {"state": WORKING}, "c": {"state": WORKING}},
    ),
    "progress not with idle, done, error": (
        report("state=idle:id=a:progress=5") + report("state=done:id=b:progress=5") + report("state=error:progress=5"),
        {"a": {"state": IDLE}, "b": {"state": DONE}, "": {"state": ERROR}},
    ),
    # app
    "an app of another form is absent": (
        report("state=idle:app=a/b") + report("state=idle:id=x:app="),
        {**ROOT_STAYS, "x": {"state": IDLE}},
    ),
    "app of the parent": (
        report("state=idle:id=a:app=x") + report("state=idle:id=a/b"),
        {"a": {"state": IDLE, "app": "x"}, "a/b": {"state": IDLE, "app": "x"}},
    ),
    "app of the nearest ancestor that has one, the root the last": (
        report("state=idle:app=top")
        + report("state=idle:id=a:app=x")
        + report("state=idle:id=a/b")
        + report("state=idle:id=a/b/c/d")
        + report("state=idle:id=ab/c"),
        {
            "": {"state": IDLE, "app": "top"},
            "a": {"state": IDLE, "app": "x"},
            "a/b": {"state": IDLE, "app": "x"},
            "a/b/c/d": {"state": IDLE, "app": "x"},
            "ab/c": {"state": IDLE, "app": "top"},
        },
    ),
    "app is inherited as it is now": (
        report("state=idle:id=a") + report("state=idle:app=x"),
        {"a": {"state": IDLE, "app": "x"}, "": {"state": IDLE, "app": "x"}},
    ),
    # title and msg
    "title and msg are base64 of UTF-8": (
        report(f"state=error:title={text('Löschen')}:msg={text('❯ quota')}"),
        {"": {"state": ERROR, "title": "Löschen", "msg": "❯ quota"}},
    ),
    "an empty text is a text": (report("state=idle:msg="), {"": {"state": IDLE, "msg": ""}}),
    "base64 may go unpadded": (report("state=idle:msg=" + text("a").rstrip("=")), {"": {"state": IDLE, "msg": "a"}}),
    "a msg of 2,732 bytes may decode to too many": (ROOT + report("state=done:msg=" + "bW1t" * 683), ROOT_STAYS),
    "bytes count, not characters": (ROOT + report("state=done:title=" + text("❯" * 65)), ROOT_STAYS),
    "invalid base64 discards the report": (
        ROOT + b"".join(report(f"state=done:msg={bad}") for bad in ("a", "YQ=", "YQ==YQ==", "Y_-a", "=", "YQ===")),
        ROOT_STAYS,
    ),
    "invalid UTF-8 discards the report": (
        ROOT + report("state=done:msg=" + text(b"\xff")) + report("state=done:msg=" + text(b"\xed\xa0\x80")),
        ROOT_STAYS,
    ),
    "a control character discards the report": (
        ROOT + b"".join(report("state=done:msg=" + text(f"a{char}b")) for char in "\0\t\n\r\x1b\x7f\x80\x85\x9b"),
        ROOT_STAYS,
    ),
    "a control character in the title discards it too": (ROOT + report("state=done:title=" + text("a\ab")), ROOT_STAYS),
    "invisible and bidirectional characters are disarmed": (
        report("state=idle:msg=" + text("\u202eab\u2066\u200b\u00ad\ufeffc\u3164\U000e0061\u2028\u061cd\u00a0e\ufff9")),
        {"": {"state": IDLE, "msg": "abcd e"}},
    ),
    "a filler is no blank": (report("state=idle:msg=" + text("a\u3164b")), {"": {"state": IDLE, "msg": "ab"}}),
    "markup stays text": (
        report("state=idle:msg=" + text("[red]<b>&amp;")),
        {"": {"state": IDLE, "msg": "[red]<b>&amp;"}},
    ),
    # pairs
    "a malformed pair is skipped": (
        report("state=idle:app:App=x:=x:app=a b:app=a;b: app=x:app=\u00e9:app=a\nb"),
        {"": {"state": IDLE}},
    ),
    "a malformed state is none": (ROOT + report("state=do ne"), ROOT_STAYS),
    "an unknown key is ignored": (report("state=idle:colour=red:x=="), ROOT_STAYS),
    "the last duplicate wins": (
        report("state=asleep:state=done:state=working:progress=1:progress=2:id=a:id=b"),
        {"b": {"state": WORKING, "progress": 2}},
    ),
    "the last duplicate wins, right or wrong": (ROOT + report("state=done:state=asleep"), ROOT_STAYS),
    "a limit holds for a duplicate that loses": (ROOT + report(f"state=done:app={'a' * 33}:app=x"), ROOT_STAYS),
    # the whole report
    "4,096 bytes from OSC to ST": (sized(4096, b"\x1b\\"), {"": {"state": WORKING}}),
    "4,096 bytes from OSC to BEL": (sized(4096, b"\a"), {"": {"state": WORKING}}),
    "no 4,097 bytes from OSC to ST": (ROOT + sized(4097, b"\x1b\\"), ROOT_STAYS),
    "no 4,097 bytes from OSC to BEL": (ROOT + sized(4097, b"\a"), ROOT_STAYS),
    "behind too long a report the next one counts": (sized(9999, b"\x1b\\") + report("state=idle"), ROOT_STAYS),
    # records
    "a report replaces its record whole": (
        report(f"state=blocked:kind=auth:progress=5:app=x:title={text('t')}:msg={text('m')}") + report("state=idle"),
        ROOT_STAYS,
    ),
    "a report leaves other records alone": (
        report("state=done:id=a:progress=5") + report("state=working:id=a/b"),
        {"a": {"state": DONE}, "a/b": {"state": WORKING}},
    ),
    "clear removes a record and its descendants": (TREE + report("state=clear:id=a"), {"": ALL_OF_TREE, "ab": AB}),
    "clear of a leaf leaves its parent": (TREE + report("state=clear:id=a/b"), {"": ALL_OF_TREE, "a": AB, "ab": AB}),
    "clear of a record that is not there removes nothing else": (ROOT + report("state=clear:id=a"), ROOT_STAYS),
    "clear without id removes all": (TREE + report("state=clear"), {}),
    "clear that breaks a limit removes nothing": (ROOT + report("state=clear:msg=a"), ROOT_STAYS),
    "256 records": (MANY, {f"n{number}": {"state": DONE} for number in range(256)}),
    "the least recently updated is evicted": (
        MANY + report("state=idle:id=n0") + report("state=done:id=n256"),
        {f"n{number}": {"state": DONE} for number in range(2, 256)} | {"n0": {"state": IDLE}, "n256": {"state": DONE}},
    ),
    # how long they live
    "a shell prompt ends working and blocked": (
        report("state=working") + report("state=blocked:id=a") + osc("133;A"),
        {},
    ),
    "a shell prompt leaves done and error": (
        report("state=done:id=a") + report("state=error") + osc("133;A;aid=1"),
        {"a": {"state": DONE}, "": {"state": ERROR}},
    ),
    "a prompt of OSC 633 is one": (report("state=working") + osc("633;A"), {}),
    "other marks of the shell are no prompt": (
        report("state=working") + osc("133;B") + osc("133;C") + osc("133;D;0"),
        {"": {"state": WORKING}},
    ),
    "a full reset removes every record": (TREE + b"\x1bc", {}),
    "a soft reset removes none": (ROOT + b"\x1b[!p", ROOT_STAYS),
    "switching screens removes none": (ROOT + b"\x1b[?1049h\x1b[?1049l\x1b[?47h", ROOT_STAYS),
    "a c behind another escape is no reset": (ROOT + b"\x1b(c\x1b[c\x1b\x18c", ROOT_STAYS),
    "a query is no report": (ROOT + osc("7501;?"), ROOT_STAYS),
}


def test_every_rule_of_the_protocol() -> None:
    wrong = {
        rule: found
        for rule, (stream, expected) in RULES.items()
        if list((found := records(stream)).items()) != list(expected.items())  # the latest report stands last
    }
    assert not wrong, wrong


LIMITS: dict[str, tuple[int, Callable[[int], str]]] = {
    "app": (32, lambda size: "a" * size),
    "id": (128, lambda size: ("s" * 30 + "/") * 4 + "s" * (size - 124)),
    "id of one segment": (32, lambda size: "s" * size),
    "id of levels": (8, path),
    "title": (192, lambda size: "t" * size),
    "msg": (2048, lambda size: "m" * size),
    "key": (16, lambda size: "k" * size),
}


def test_what_is_within_a_limit_is_taken_whole_and_what_is_beyond_changes_nothing() -> None:
    for name, over in product(LIMITS, range(-3, 4)):
        limit, value = LIMITS[name]
        what, given = name.split()[0], value(limit + over)
        pair = f"{given}=x" if what == "key" else f"{what}={text(given) if what in ('title', 'msg') else given}"
        marks = read(ROOT + report(f"state=error:{pair}"))
        found = [status for status in marks.statuses if status.state is ERROR]
        assert [getattr(one, what, given) for one in found] == ([given] if over <= 0 else []), (name, over)
        assert_within_limits(marks)


@examples
@given(st.integers(LIMIT - 2, LIMIT + 2), st.sampled_from([b"\a", b"\x1b\\"]), st.integers(0, LIMIT))
def test_reports_near_the_length(total: int, end: bytes, cut: int) -> None:
    whole = sized(total, end)
    assert len(whole) == total
    assert len(read(whole[:cut], whole[cut:]).statuses) == (total <= LIMIT)


@examples
@given(st.text(max_size=60))
def test_any_text_is_shown_as_text_or_not_at_all(message: str) -> None:
    encoded = message.encode("utf-8", "surrogatepass")
    marks = read(report("state=error:msg=" + b64encode(encoded).decode()))
    refused = any(unicodedata.category(char) in ("Cc", "Cs") for char in message)
    assert bool(marks.statuses) == (not refused)
    assert_within_limits(marks)
