"""Waivers: exactly one thing, at one gate, for a time; and the gates that are shipped, in a real git repository."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Iterator

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from queued import COMMAND, Desk
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
    with pytest.raises(StallkitError, match="no waiver of that number"):
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


NO_SUBJECT = [
    *("", "HEAD", "main", COMMIT[:12], COMMIT + "0", f"{COMMIT} {OTHER}", f"{COMMIT[:-1]}g", "*", "rule:", "rule:key"),
    *("rule:key:", "rule:*:a", "rule:key:*", "rule:key:a/*.py", "rule:key:/a", "rule:key:../a", "rule:key:a/../b"),
    *("rule:key:a\nb", "rule:key: a", "rule:a b:c", "sha256:", "sha1:" + COMMIT),
]


def test_what_is_not_exactly_one_thing_is_no_subject() -> None:
    for subject in NO_SUBJECT:
        with pytest.raises(ValueError, match="whole id"):
            subject_of(subject)
    for subject in (COMMIT, "sha256:" + "0f" * 32, "0F" * 32, "rule:generic-api-key:tests/a b.json"):
        assert subject_of(subject_of(subject)) == subject_of(subject)


def test_no_waiver_without_a_reason_or_an_end(waivers: Waivers) -> None:
    for why, seconds in (("", 60), ("x", 0), ("x", LONGEST_S + 1)):
        with pytest.raises(ValueError, match=r"audited|at most"):
            waivers.grant(COMMIT, ADA, why, seconds, "push")
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


CHECK = '#!/bin/sh\n! git cat-file -p "$1:a.txt" | grep -q PLANTED\n'
SCANNER = """#!/bin/sh
git ls-tree -r --name-only "$1" | while read -r path; do
    git cat-file -p "$1:$path" | grep -q PLANTED && printf 'planted\\t%s\\n' "$path"
done
exit 0
"""


class Forge:
    """A bare repository with the hook, a clone of it, and a person's desk."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.desk = folder, Desk(folder)
        self.bare, self.clone = folder / "repo.git", folder / "clone"
        self.environment = {**self.desk.environment, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        self.environment |= {"STALLKIT": COMMAND}
        self.environment |= {
            f"GIT_{who}_{what}": "ada@x.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        self.git(folder, "init", "-q", "--bare", "-b", "main", str(self.bare))
        self.git(folder, "clone", "-q", str(self.bare), str(self.clone))
        self.hook("pre-receive", self.desk("sandbox", "gate", "pre-receive").stdout)

    def hook(self, name: str, text: str) -> None:
        path = self.bare / "hooks" / name
        path.write_text(text)
        path.chmod(0o755)

    def git(self, where: Path, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *words], cwd=where, env=self.environment, capture_output=True, text=True, timeout=60, check=False
        )

    def commit(self, text: str, name: str = "a.txt") -> str:
        (self.clone / name).write_text(text)
        self.git(self.clone, "add", "-A")
        self.git(self.clone, "commit", "-qm", "a change")
        return self.git(self.clone, "rev-parse", "HEAD").stdout.strip()

    def push(self) -> tuple[bool, str]:
        done = self.git(self.clone, "push", "-q", "origin", "HEAD:main")
        head = self.git(self.bare, "rev-parse", "-q", "--verify", "main").stdout.strip()
        accepted = done.returncode == 0
        assert accepted == (head == self.git(self.clone, "rev-parse", "HEAD").stdout.strip())
        return accepted, done.stderr


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge(tmp_path)


def test_a_refused_push_is_waived_by_its_commit(forge: Forge) -> None:
    forge.hook("check-commit", CHECK)
    forge.commit("fine\n")
    assert forge.push() == (True, "")
    commit = forge.commit("PLANTED\n")
    accepted, told = forge.push()
    assert not accepted and f"refused: {commit}" in told and "stallkit sandbox waive" in told
    assert forge.desk("sandbox", "waive", commit, "--why", "a test key", "--for", "1s").returncode == 0
    while forge.desk("sandbox", "waived", commit).returncode == 0:
        pass  # until it is expired
    assert not forge.push()[0]
    assert forge.desk("sandbox", "waive", commit, "--why", "a test key", "--gate", "other").returncode == 0
    assert not forge.push()[0]  # another gate's
    assert forge.desk("sandbox", "waive", commit, "--why", "a test key", "--item", "3").returncode == 0
    accepted, told = forge.push()
    assert accepted and f"waived: {commit}" in told
    other = forge.commit("PLANTED again\n")
    accepted, told = forge.push()
    assert not accepted and f"refused: {other}" in told
    found = json.loads(forge.desk("sandbox", "audit", "show", "waivers", "--json").stdout)["events"]
    assert [(one["event"], one["subject"]) for one in found if one["gate"] == "push"].count(
        ("waiver_used", commit)
    ) >= 1
    assert found[0]["why"] == "a test key" and found[0]["by"]


@pytest.mark.e2e
def test_a_gate_refuses_what_is_waived_in_part_and_when_it_cannot_ask(forge: Forge) -> None:
    forge.hook("check-commit", CHECK)
    first, commit = forge.commit("PLANTED 1\n"), forge.commit("PLANTED\n")
    forge.desk("sandbox", "waive", first, "--why", "x")
    accepted, told = forge.push()
    assert not accepted and f"refused: {commit}" in told, "one of two lets neither in"
    forge.desk("sandbox", "waive", commit, "--why", "x")
    forge.environment["STALLKIT"] = "/nonexistent/stallkit"
    accepted, told = forge.push()
    assert not accepted and "could not be asked" in told
    forge.environment["STALLKIT"] = COMMAND
    log = forge.folder / "state" / "audit" / "waivers.log"
    whole = log.read_bytes()
    log.write_text("cut\n")
    assert forge.desk("sandbox", "waived", commit).returncode == 2
    assert not forge.push()[0]
    log.write_bytes(whole)
    assert forge.push()[0]


@pytest.mark.e2e
@pytest.mark.parametrize("by", ["content", "rule"])
def test_a_scanners_finding_is_waived_by_content_or_by_rule(forge: Forge, by: str) -> None:
    forge.hook("check-commit", forge.desk("sandbox", "gate", "scan").stdout)
    forge.hook("scanner", "#!/bin/sh\nexit 3\n")
    forge.commit("PLANTED\n", "tests data.txt")
    accepted, told = forge.push()
    assert not accepted and "the scanner failed" in told
    forge.hook("scanner", SCANNER)
    accepted, told = forge.push()
    digest = hashlib.sha256(b"PLANTED\n").hexdigest()
    assert not accepted and f"sha256:{digest}" in told
    subject = f"sha256:{digest}" if by == "content" else "rule:planted:tests data.txt"
    assert forge.desk("sandbox", "waive", subject, "--gate", "secrets", "--why", "x").returncode == 0
    assert forge.push()[0]
    forge.commit("PLANTED\n", "other.txt")  # the same content elsewhere, another path
    assert forge.push()[0] == (by == "content")
    forge.commit("PLANTED, other\n", "tests data.txt")
    assert not forge.push()[0] or by == "rule"


def test_a_waiver_is_asked_for_exactly(forge: Forge) -> None:
    usage = forge.desk("sandbox", "waive", "HEAD", "--why", "x")
    assert usage.returncode == 64 and "whole id" in usage.stderr
    assert forge.desk("sandbox", "waived", "HEAD").returncode == 64
    assert forge.desk("sandbox", "waive", "a" * 40).returncode == 64  # no reason
    assert forge.desk("sandbox", "waived", "a" * 40).returncode == 1
    assert forge.desk("sandbox", "waive", "a" * 40, "--why", "x", "--for", "2y").returncode == 64
    assert forge.desk("sandbox", "unwaive", "1").returncode == 1
    assert forge.desk("sandbox", "waive", "a" * 40, "--why", "x").returncode == 0
    assert "until" in forge.desk("sandbox", "waivers").stdout
    assert forge.desk("sandbox", "unwaive", "1").returncode == 0
    assert forge.desk("sandbox", "waived", "a" * 40).returncode == 1
    assert "revoked" in forge.desk("sandbox", "waivers", "--all").stdout
