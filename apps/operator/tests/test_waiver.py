"""Waivers: exactly one thing, at one gate, for a time; what is not sure is refused."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Iterator

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from stallkit_operator.audit import AuditLog
from stallkit_operator.item import Who
from stallkit_operator.waiver import LONGEST_S, Waiver, Waivers, holds, subject_of

from stallkit.errors import StallkitError, StoreError

COMMIT, OTHER = "9fceb02d0ae598e95dc970b74767f19372d61af8", "a" * 40
ADA = Who("ada", "a test")


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def waivers(tmp_path: Path, clock: Clock) -> Iterator[Waivers]:
    with closing(Waivers(tmp_path / "s" / "waivers.db", AuditLog(tmp_path / "s" / "waivers.log"), now=clock)) as made:
        yield made


def events(waivers: Waivers) -> list[str]:
    return [event["event"] for event in AuditLog(waivers.path.with_suffix(".log")).verify().events]


def test_one_commit_is_let_through_until_it_expires(waivers: Waivers, clock: Clock) -> None:
    assert waivers.waived(COMMIT, ADA) is None
    waivers.grant(COMMIT.upper(), ADA, "a test key", 60, item=3)
    assert waivers.waived(COMMIT, ADA) is not None
    assert waivers.waived(OTHER, ADA) is None and waivers.waived(COMMIT, ADA, "secrets") is None
    for now in (1_060.0, 999.0):  # late, and a clock that was set back
        clock.now = now
        assert waivers.waived(COMMIT, ADA) is None
    assert events(waivers) == ["waiver_granted", "waiver_used"]


def test_what_is_taken_back_holds_no_more(waivers: Waivers) -> None:
    first = waivers.grant(COMMIT, ADA, "twice", 60)
    second = waivers.grant(COMMIT, ADA, "twice", 60)
    waivers.revoke(second.id, ADA)
    assert waivers.waived(COMMIT, ADA) == first
    waivers.revoke(first.id, ADA)
    assert waivers.waived(COMMIT, ADA) is None and waivers.all() == []
    assert len(waivers.all(over=True)) == 2
    with pytest.raises(StallkitError, match="none of that number"):
        waivers.revoke(99, ADA)


def test_what_cannot_be_audited_is_not_granted_and_not_used(waivers: Waivers) -> None:
    waivers.grant(COMMIT, ADA, "a test key", 60)
    log = waivers.path.with_suffix(".log")
    log.write_bytes(log.read_bytes()[:-3])
    with pytest.raises(StoreError):
        waivers.grant(OTHER, ADA, "a test key", 60)
    assert [one.subject for one in waivers.all(over=True)] == [COMMIT]
    with pytest.raises(StoreError):
        waivers.waived(COMMIT, ADA)


@pytest.mark.parametrize(
    "subject",
    [
        *("", "HEAD", "main", COMMIT[:12], COMMIT + "0", f"{COMMIT} {OTHER}", f"{COMMIT[:-1]}g", "*"),
        *(
            "rule:",
            "rule:key",
            "rule:key:",
            "rule:*:a",
            "rule:key:*",
            "rule:key:a/*.py",
            "rule:key:/a",
            "rule:key:../a",
        ),
        *("rule:key:a/../b", "rule:key:a\nb", "rule:key: a", "rule:a b:c", "sha256:", "sha1:" + COMMIT),
    ],
)
def test_what_is_not_exactly_one_thing_is_no_subject(subject: str) -> None:
    with pytest.raises(ValueError, match="whole id"):
        subject_of(subject)


@pytest.mark.parametrize("subject", [COMMIT, "sha256:" + "0f" * 32, "0F" * 32, "rule:generic-api-key:tests/a b.json"])
def test_subjects_are_kept_in_one_form(subject: str) -> None:
    assert subject_of(subject_of(subject)) == subject_of(subject)


@pytest.mark.parametrize(("why", "seconds", "gate"), [("", 60, "push"), ("x", 0, "push"), ("x", LONGEST_S + 1, "push")])
def test_no_waiver_without_a_reason_or_an_end(waivers: Waivers, why: str, seconds: float, gate: str) -> None:
    with pytest.raises(ValueError, match=r"audited|at most"):
        waivers.grant(COMMIT, ADA, why, seconds, gate)
    with pytest.raises(ValueError, match="no name of a gate"):
        waivers.grant(COMMIT, ADA, "x", 60, "Push *")


numbers = st.floats(-1e9, 1e9)


@given(numbers, numbers, numbers, st.none() | numbers, st.sampled_from([COMMIT, OTHER]), st.sampled_from(["push", "x"]))
def test_it_holds_only_within_its_time_for_its_thing_at_its_gate(
    granted: float, expires: float, now: float, revoked: float | None, subject: str, gate: str
) -> None:
    waiver = Waiver(1, COMMIT, "push", "why", "ada", "test", granted, expires, revoked=revoked)
    assert holds(waiver, subject, gate, now) == (
        subject == COMMIT and gate == "push" and revoked is None and granted <= now < expires
    )
    assert not holds(evolve(waiver, revoked=now), COMMIT, "push", now)
