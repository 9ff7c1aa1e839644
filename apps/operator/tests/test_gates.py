"""The gates that are shipped, in a real git repository: refused, waived, accepted; nothing else passes."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest
from queued import COMMAND, Desk

pytestmark = pytest.mark.e2e

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
        self.hook("pre-receive", self.desk("stuck", "gate", "pre-receive").stdout)

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
    assert not accepted and f"refused: {commit}" in told and "stallkit stuck waive" in told
    assert forge.desk("stuck", "waive", commit, "--why", "a test key", "--for", "1s").returncode == 0
    while forge.desk("stuck", "waived", commit).returncode == 0:
        pass  # until it is expired
    assert not forge.push()[0]
    assert forge.desk("stuck", "waive", commit, "--why", "a test key", "--gate", "other").returncode == 0
    assert not forge.push()[0]  # another gate's
    assert forge.desk("stuck", "waive", commit, "--why", "a test key", "--item", "3").returncode == 0
    accepted, told = forge.push()
    assert accepted and f"waived: {commit}" in told
    other = forge.commit("PLANTED again\n")
    accepted, told = forge.push()
    assert not accepted and f"refused: {other}" in told
    found = json.loads(forge.desk("audit", "show", "waivers", "--json").stdout)["events"]
    assert [(one["event"], one["subject"]) for one in found if one["gate"] == "push"].count(
        ("waiver_used", commit)
    ) >= 1
    assert found[0]["why"] == "a test key" and found[0]["by"]


def test_one_of_two_refused_commits_that_is_waived_lets_neither_in(forge: Forge) -> None:
    forge.hook("check-commit", CHECK)
    first, second = forge.commit("PLANTED 1\n"), forge.commit("PLANTED 2\n")
    forge.desk("stuck", "waive", first, "--why", "x")
    accepted, told = forge.push()
    assert not accepted and f"refused: {second}" in told
    forge.desk("stuck", "waive", second, "--why", "x")
    assert forge.push()[0]


def test_a_gate_that_cannot_ask_refuses(forge: Forge) -> None:
    forge.hook("check-commit", CHECK)
    commit = forge.commit("PLANTED\n")
    forge.desk("stuck", "waive", commit, "--why", "x")
    forge.environment["STALLKIT"] = "/nonexistent/stallkit"
    accepted, told = forge.push()
    assert not accepted and "could not be asked" in told
    forge.environment["STALLKIT"] = COMMAND
    (forge.folder / "state" / "audit" / "waivers.log").write_text("cut\n")
    assert forge.desk("stuck", "waived", commit).returncode == 2
    assert not forge.push()[0]


@pytest.mark.parametrize("by", ["content", "rule"])
def test_a_scanners_finding_is_waived_by_content_or_by_rule(forge: Forge, by: str) -> None:
    forge.hook("check-commit", forge.desk("stuck", "gate", "scan").stdout)
    forge.hook("scanner", SCANNER)
    forge.commit("PLANTED\n", "tests data.txt")
    accepted, told = forge.push()
    digest = hashlib.sha256(b"PLANTED\n").hexdigest()
    assert not accepted and f"sha256:{digest}" in told
    subject = f"sha256:{digest}" if by == "content" else "rule:planted:tests data.txt"
    assert forge.desk("stuck", "waive", subject, "--gate", "secrets", "--why", "x").returncode == 0
    assert forge.push()[0]
    forge.commit("PLANTED\n", "other.txt")  # the same content elsewhere, another path
    assert forge.push()[0] == (by == "content")
    forge.commit("PLANTED, other\n", "tests data.txt")
    assert not forge.push()[0] or by == "rule"


def test_a_scanner_that_fails_lets_nothing_in(forge: Forge) -> None:
    forge.hook("check-commit", forge.desk("stuck", "gate", "scan").stdout)
    forge.hook("scanner", "#!/bin/sh\nexit 3\n")
    forge.commit("fine\n")
    accepted, told = forge.push()
    assert not accepted and "the scanner failed" in told


def test_a_waiver_is_asked_for_exactly(forge: Forge) -> None:
    usage = forge.desk("stuck", "waive", "HEAD", "--why", "x")
    assert usage.returncode == 64 and "whole id" in usage.stderr
    assert forge.desk("stuck", "waived", "HEAD").returncode == 64
    assert forge.desk("stuck", "waive", "a" * 40).returncode == 64  # no reason
    assert forge.desk("stuck", "waived", "a" * 40).returncode == 1
    assert forge.desk("stuck", "waive", "a" * 40, "--why", "x", "--for", "2y").returncode == 64
    assert forge.desk("stuck", "unwaive", "1").returncode == 1
    assert forge.desk("stuck", "waive", "a" * 40, "--why", "x").returncode == 0
    assert "until" in forge.desk("stuck", "waivers").stdout
    assert forge.desk("stuck", "unwaive", "1").returncode == 0
    assert forge.desk("stuck", "waived", "a" * 40).returncode == 1
    assert "taken back" in forge.desk("stuck", "waivers", "--all").stdout
