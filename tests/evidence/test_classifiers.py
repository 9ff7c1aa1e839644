"""The classifier of a distribution: found by its entry point, one alone, and never the fault of a look."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Callable, Iterator

import pytest
from acme import ENGINE

from stallkit.detect.signature import Certainty, Kind, State
from stallkit.evidence.claim import ENTRY_POINTS, SILENT, Claim, Classifier, Sign, Source, Weight, installed_classifier
from stallkit.evidence.look import Look
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.judge import judge
from stallkit.judging.verdict import Verdict
from stallkit.terminal.screen import Screen

SCREEN = Screen.from_text("A new program\n\n  What next?\n> ")
LOOKS = Claim(Source.FORM, Sign.LOOKS, State.IDLE, why=("it looks so",))
SAYING = """
from stallkit.evidence.claim import Claim, Sign, Source
from stallkit.detect.signature import State

def classify(look, shown):
    return Claim(Source.FORM, Sign.LOOKS, State.IDLE, why=({name!r},))
"""

Lay = Callable[..., None]


@pytest.fixture
def lay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lay]:
    """Lays a distribution with a classifier; those that it lays are all that are installed."""
    made: list[str] = []

    def laid(name: str, source: str = SAYING, function: str = ":classify") -> None:
        (tmp_path / f"{name}_module.py").write_text(source.format(name=name))
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\n{name} = {name}_module{function}\n")
        made.append(f"{name}_module")

    with monkeypatch.context() as patched:
        patched.setattr(sys, "path", [str(tmp_path)])
        installed_classifier.cache_clear()
        yield laid
    installed_classifier.cache_clear()
    for name in made:
        sys.modules.pop(name, None)


def told(classifier: Classifier | None = None) -> Verdict:
    return judge(ENGINE.detect(SCREEN), Snapshot(SCREEN), classifier=classifier)


def saying(claim: Claim) -> Classifier:
    """A classifier that claims this of every look."""

    def classify(look: Look, shown: Verdict, /) -> Claim | None:
        return claim

    return classify


def form_of(verdict: Verdict) -> Claim | None:
    assert verdict.claims is not None
    return verdict.claims.form


def test_without_one_nothing_is_claimed_by_form(lay: Lay) -> None:
    assert installed_classifier() is None
    assert told() == told(SILENT) and form_of(told()) is None


def test_the_installed_one_is_asked_and_another_takes_its_place(lay: Lay) -> None:
    lay("acme")
    assert str(installed_classifier()) == "acme 1.0"
    assert form_of(told()) == Claim(Source.FORM, Sign.LOOKS, State.IDLE, why=("acme",))
    assert (told().state, told().certainty) == (State.IDLE, Certainty.MAYBE)
    assert form_of(told(saying(LOOKS))) == LOOKS
    assert form_of(told(SILENT)) is None


def test_it_is_told_what_the_other_sources_come_to(lay: Lay) -> None:
    asked: list[tuple[Look, Verdict]] = []

    def classify(look: Look, shown: Verdict, /) -> Claim | None:
        asked.append((look, shown))
        return None

    screen = Screen.from_text("Proceed? [y/N] ")
    judge(ENGINE.detect(screen), Snapshot(screen), classifier=classify)
    ((look, shown),) = asked
    assert look.snapshot.screen == screen
    assert (shown.state, shown.kind, shown.certainty) == (State.WAITING, Kind.CONFIRM, Certainty.MAYBE)


def test_of_two_the_first_by_name_is_asked_and_the_other_is_logged(lay: Lay, caplog: pytest.LogCaptureFixture) -> None:
    lay("second")
    lay("first")
    assert str(installed_classifier()) == "first 1.0"
    assert caplog.messages == ["classifier second of second is left out: first 1.0 is asked"]


@pytest.mark.parametrize(
    ("source", "function", "why"),
    [
        ("raise RuntimeError('no luck today')", "", "no luck today"),
        (SAYING, ":nothing", "has no attribute 'nothing'"),
        (SAYING, "", "is no function"),
        ("import acme_weights_that_are_not_there", "", "No module named"),
    ],
)
def test_one_that_does_not_load_is_logged_and_the_next_is_asked(
    lay: Lay, caplog: pytest.LogCaptureFixture, source: str, function: str, why: str
) -> None:
    lay("broken", source, function)
    lay("sound")
    assert str(installed_classifier()) == "sound 1.0"
    (said,) = caplog.messages
    assert said.startswith("classifier broken of broken is left out: ") and why in said


def test_one_that_fails_at_a_look_says_nothing_of_it(lay: Lay, caplog: pytest.LogCaptureFixture) -> None:
    lay("failing", "def classify(look, shown): return 1 / 0")
    assert told() == told(SILENT)
    assert caplog.messages == ["classifier failing: ZeroDivisionError: division by zero"]


@pytest.mark.parametrize(
    "claim",
    [
        "Claim(Source.SIGNAL, Sign.SAYS, State.WAITING)",
        "Claim(Source.FORM, Sign.SAYS, State.WAITING)",
        "Claim(Source.FORM, Sign.LOOKS, State.WAITING, keys=True)",
        "Claim(Source.FORM, Sign.LOOKS, State.WAITING, weight=Weight.PROOF)",
        "'waiting'",
    ],
)
def test_what_no_form_can_tell_is_left_out(lay: Lay, caplog: pytest.LogCaptureFixture, claim: str) -> None:
    lay(
        "bold",
        "from stallkit.evidence.claim import *\nfrom stallkit.detect.signature import State\n"
        f"def classify(look, shown): return {claim}",
    )
    assert told() == told(SILENT)
    assert len(caplog.messages) == 1 and caplog.messages[0].startswith("classifier bold: ")


def test_no_key_and_no_certainty_follow_from_a_form() -> None:
    found = told(saying(Claim(Source.FORM, Sign.LOOKS, State.WAITING, Kind.CONFIRM, weight=Weight.GUESS)))
    assert (found.state, found.certainty) == (State.WAITING, Certainty.MAYBE)
