"""Programs that say nothing of themselves: what the relay says instead, where, and when it is silent."""

from __future__ import annotations

import base64
import re
import sys
from functools import partial
from pathlib import Path
from typing import Callable

import pytest
from stallkit_wrap.relay.judge_client import KEPT
from stallkit_wrap.relay.relay_judge import AGAIN_S, GAP_S, MOVING_S, REST_S, LookTimes, PartialScreen, pairs
from stallkit_wrap.relay.status_filter import CLEAR, SelfReports
from streams import osc
from terminals import wait_for
from wrapped import RAW, Outside, python

from stallkit.detect.engine import Detection
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.judging.verdict import Verdict
from stallkit.terminal.marks import MarksReader
from stallkit.terminal.screen import Screen

Start = Callable[..., Outside]
OURS = re.compile(rb"\x1b\]7501;(state=[^\x1b\x07]*:by=stallkit[^\x1b\x07]*)\x1b\\")


@pytest.fixture
def judged(start: Start) -> Start:
    """Begins a program behind a relay with a judge."""
    return partial(start, judge=True)


def said(at: Outside) -> list[str]:
    """The judgements that the terminal outside got, without their messages."""
    return [re.sub(":msg=[^:]*", "", one.decode()) for one in OURS.findall(at.seen)]


def test_a_prompt_is_said_to_be_blocked_and_its_answer_to_work(start: Start, judged: Start, tmp_path: Path) -> None:
    silent = start("bash", "--norc", "-c", "read -p 'Proceed? [y/N] ' x")
    silent.shows(b"[y/N] ")
    at = judged("bash", "--norc", "-c", "read -p 'Proceed? [y/N] ' x; echo building; exec sleep 1000")
    wait_for(lambda: said(at) == ["state=blocked:kind=question:app=bash:by=stallkit"], "the judgement")
    assert base64.b64encode(b"Proceed? [y/N]") in at.seen
    known = at.known
    assert known is not None and known.judged is not None and not known.marks.statuses
    assert (known.judged["state"], known.judged["certainty"], known.judged["kind"]) == ("waiting", "sure", "confirm")
    at.type(b"y\r")
    wait_for(lambda: said(at)[-1] == "state=working:app=sleep:by=stallkit", "the next")
    assert len(said(at)) == 2
    at.type(b"\x03")
    at.over()
    assert at.seen.endswith(CLEAR)
    assert silent.seen == b"Proceed? [y/N] " and silent.known is not None and silent.known.judged is None, "no judge"
    assert not list(tmp_path.iterdir()), "its own state is private"


def test_a_secret_is_not_told(judged: Start) -> None:
    at = judged("bash", "--norc", "-c", "read -s -p 'Password for hunter2: ' x; echo; read x; echo over")
    wait_for(lambda: said(at) == ["state=blocked:kind=auth:app=bash:by=stallkit"], "the judgement")
    assert base64.b64encode(b"it asks for a secret") in at.seen
    at.type(b"xyzzy\r\r")
    at.over()
    assert b"over" in at.seen and b"xyzzy" not in at.seen


REPORTS = """
os.write(1, b"Proceed? [y/N] \\x1b]7501;state=idle:app=acme\\x07")
os.read(0, 1)
"""


def test_nothing_is_said_of_a_program_that_reports(judged: Start) -> None:
    at = judged(*python(RAW + REPORTS))
    at.shows(b"state=idle:app=acme")
    wait_for(lambda: at.known and at.known.judged, "the judgement")
    assert said(at) == [] and at.known is not None and at.known.marks.root is not None


def test_a_judgement_is_taken_back_when_the_program_begins_to_report(judged: Start) -> None:
    at = judged("bash", "--norc", "-c", f"read -p 'Proceed? [y/N] ' x; exec {sys.executable} -c '{RAW}{REPORTS}'")
    wait_for(lambda: said(at), "the judgement")
    at.type(b"y\r")
    at.shows(CLEAR + osc("7501;state=idle:app=acme", b"\a"))


def test_what_a_program_was_doing_ends_with_it(judged: Start) -> None:
    reports = r"printf '\033]7501;state=blocked:app=acme\033\\'"
    at = judged("bash", "--norc", "-c", f"set -m; ({reports}; sleep 0.5); read -p 'Proceed? [y/N] ' x")
    wait_for(lambda: said(at), "the judgement of what came after it")
    assert said(at)[-1] == "state=blocked:kind=question:app=bash:by=stallkit"
    assert at.known is not None and not at.known.marks.statuses


def test_a_prompt_after_a_flood_is_judged(judged: Start) -> None:
    flood = f"head -c {3 * KEPT} /dev/zero | tr '\\0' '\\n'; seq 2000"
    at = judged("bash", "--norc", "-c", f"read -p 'Proceed? [y/N] ' x; {flood}; read -p 'Overwrite? [y/N] ' x")
    wait_for(lambda: said(at), "the first judgement")
    at.type(b"y\r")
    at.shows(b"Overwrite?")
    wait_for(lambda: base64.b64encode(b"Overwrite? [y/N]") in at.seen, "the judgement")


def test_a_short_command_starts_no_judge(judged: Start) -> None:
    at = judged("sh", "-c", "cat /proc/$PPID/task/$PPID/children")
    assert at.over() == 0
    assert len(at.seen.split()) == 1  # the program alone


def test_after_a_gap_a_screen_is_unknown_until_it_was_filled() -> None:
    screen = PartialScreen(20, 5)
    screen.feed(b"begin\r\n")
    first = screen.screen()
    assert first is not None and "begin" in first.text
    screen.gap()
    screen.feed(b"half a line\r\nanother")
    assert screen.screen() is None
    screen.feed(b"\r\n".join(b"line %d" % number for number in range(30)))
    shown = screen.screen()
    assert shown is not None and "line 25" in shown.text and "line 24" not in shown.text
    screen.gap()
    screen.feed(b"\x1b[2J\x1b[Hclean")
    cleared = screen.screen()
    assert cleared is not None and cleared.text.strip() == "clean"
    screen.resize(30, 6)
    assert screen.screen() is not None


def test_looks_come_in_pairs_and_seldom() -> None:
    times = LookTimes(0.0)
    assert times.wait(0.0) == REST_S
    times.looked(1.0, False)
    assert times.second and times.wait(1.0) == pytest.approx(GAP_S)
    times.looked(2.0, True)
    assert times.wait(2.0) is None  # until the next output
    times.printed(3.0)
    assert times.wait(3.0) == pytest.approx(REST_S)
    for tenth in range(100):  # it never rests
        times.printed(3.0 + tenth / 10)
    assert times.wait(3.0 + MOVING_S) == 0.0
    for again in AGAIN_S:  # not sure, and nothing is printed
        times.looked(20.0, False)
        times.looked(20.0, False)
        assert times.wait(20.0) == pytest.approx(again)


def verdict(state: State, certainty: Certainty = Certainty.SURE, kind: Kind | None = None) -> Verdict:
    return Verdict(state, certainty, kind, Detection(Screen.from_text("")), ("why",))


def test_a_verdict_as_a_report() -> None:
    for judged, told in [
        (verdict(State.WAITING, kind=Kind.CONFIRM), "state=blocked:kind=question:app=acme:by=stallkit"),
        (verdict(State.WAITING, kind=Kind.PERMISSION), "state=blocked:kind=permission:app=acme:by=stallkit"),
        (verdict(State.WAITING, kind=Kind.REPL_PROMPT), "state=idle:app=acme:by=stallkit"),
        (verdict(State.WAITING, Certainty.MAYBE, Kind.TEXT), "state=idle:app=acme:by=stallkit:certainty=maybe"),
        (verdict(State.WORKING, Certainty.MAYBE), "state=working:app=acme:by=stallkit:certainty=maybe"),
        (verdict(State.ENDED), "state=idle:app=acme:by=stallkit"),
        (verdict(State.QUOTA), "state=error:app=acme:by=stallkit"),
        (verdict(State.UNKNOWN, Certainty.MAYBE), None),
    ]:
        made = pairs(judged, "ac\x1b:me")
        assert (made and re.sub(":msg=[^:]*", "", made)) == told, (judged, told)
        if made:
            reader = MarksReader()
            reader.feed(osc("7501;state=idle:app=former") + osc("7501;" + made), 0.0)
            heard = [(status.app, status.judged) for status in reader.marks.statuses]
            assert heard == ([("acme", True)] if judged.certainty is Certainty.SURE else []), (judged, told)


def test_a_judgement_waits_until_it_breaks_nothing() -> None:
    reports = SelfReports(lambda: 1)
    reports.feed(b"text\x1b[1", 0.0)
    reports.judged({"pairs": "state=idle"}, 0.0)
    assert reports.due() == b"" and reports.pending
    reports.feed(b"m", 0.0)
    assert reports.due() == osc("7501;state=idle") and not reports.pending
    assert reports.due() == b""
    reports.judged({"pairs": None}, 0.0)
    assert reports.due() == CLEAR
    assert reports.over() == b""
