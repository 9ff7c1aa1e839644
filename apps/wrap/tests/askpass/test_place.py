"""Where a prompt may be asked, over all that can be known of a terminal; and how prompts are told."""

from __future__ import annotations

import json
import string
import unicodedata
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as some
from stallkit_wrap.askpass.dialogue import Question
from stallkit_wrap.askpass.popup import TerminalFacts, refusal
from stallkit_wrap.askpass.prompts import AskedPrompt, prompts, publish, withdraw

from stallkit.evidence.snapshot import Member
from stallkit.probes.procfs import Process, boot_id
from stallkit.probes.readers import Reader, Readers
from stallkit.signals.collect import LENGTH, prompt_line

ASKER = 7
FREE = TerminalFacts(there=True, ours=True, canonical=True, readers=Readers(complete=True), asker=ASKER)

pids = some.integers(2, 12)
readers = some.builds(
    Readers,
    known=some.lists(some.builds(Reader, name=some.just("node"), pid=pids, how=some.just("epoll")), max_size=2).map(
        tuple
    ),
    unknown=some.lists(some.builds(Member, pid=pids, name=some.just("su"), state=some.just("S")), max_size=2).map(
        tuple
    ),
    complete=some.booleans(),
)
terminals = some.builds(
    TerminalFacts,
    there=some.booleans(),
    ours=some.booleans(),
    canonical=some.sampled_from([True, False, None]),
    readers=readers,
    asker=some.sampled_from([ASKER, None]),
    inside=some.sampled_from([None, "codex"]),
)


def test_a_terminal_that_nobody_else_reads_is_asked_at() -> None:
    assert refusal(FREE) is None


@given(terminals)
def test_every_doubt_refuses(facts: TerminalFacts) -> None:
    doubts = [
        not facts.there,
        not facts.ours,
        facts.canonical is not True,
        bool(facts.readers.known),
        any(one.pid != facts.asker for one in facts.readers.unknown),
        not facts.readers.complete,
        facts.inside is not None,
    ]
    assert (refusal(facts) is not None) is any(doubts)


def test_the_one_that_asks_counts_only_where_it_is_seen_to_read() -> None:
    may = evolve(FREE, readers=Readers(unknown=(Member(ASKER, "sudo", "S"),), complete=True))
    does = evolve(FREE, readers=Readers(known=(Reader("claude", ASKER, "epoll"),), complete=True))
    assert refusal(may) is None and refusal(does) == "claude (pid 7) reads its terminal"


def test_what_is_asked() -> None:
    for words, hint, kind, wants in [
        ("Enter passphrase for key '/home/a/.ssh/id_ed25519': ", "", "secret", "text"),
        ("Username for 'https://host.example': ", "", "text", "text"),
        ("Password for 'https://a@host.example': ", "", "secret", "text"),
        ("[sudo] password for a: ", "", "secret", "text"),
        ("Are you sure you want to continue connecting (yes/no/[fingerprint])? ", "", "confirm", "text"),
        ("Allow use of key id_ed25519?", "confirm", "confirm", "yes"),
        ("Confirm user presence for key ED25519-SK", "none", "confirm", "nothing"),
        ("Anything else at all", "", "secret", "text"),
    ]:
        question = Question.of(words, hint)
        assert (question.kind, question.wants, question.echo) == (kind, wants, kind != "secret"), (words, hint)


@given(some.text(max_size=2 * LENGTH))
def test_a_prompt_is_told_on_one_plain_line(words: str) -> None:
    told = prompt_line(words)
    assert len(told) <= LENGTH
    assert not [char for char in told if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")]


def ours(prompt: str = "Password:") -> AskedPrompt:
    process = Process.ours()
    return AskedPrompt("git", 2, prompt, "secret", 1.0, "/work", process.pid, process.started, boot_id())


def test_a_report_of_another_boot_or_process_is_not_listed(tmp_path: Path) -> None:
    publish(tmp_path, ours())
    assert prompts(folder=tmp_path) == [ours()] == prompts(below=Process.ours().pid, folder=tmp_path)
    for dead in (evolve(ours(), boot="another"), evolve(ours(), waits_started=ours().waits_started + 1)):
        publish(tmp_path, dead)
        assert dead not in prompts(folder=tmp_path)
    publish(tmp_path, ours())
    assert prompts(folder=tmp_path) == [ours()] and len(list(tmp_path.iterdir())) == 1, "they are not swept"
    withdraw(tmp_path, ours())
    assert list(tmp_path.iterdir()) == []


@given(some.text(string.printable, max_size=200) | some.from_type(type(None)) | some.integers())
def test_what_is_no_report_is_no_prompt(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    folder = tmp_path_factory.mktemp("asked")
    (folder / "1-1.json").write_text(value if isinstance(value, str) else json.dumps({"who": value}))
    assert prompts(folder=folder) == []


def test_what_another_writes_into_a_report_is_disarmed(tmp_path: Path) -> None:
    publish(tmp_path, ours("Pass\x1b[2Jword \u202egpj.exe"))
    assert [one.prompt for one in prompts(folder=tmp_path)] == ["Pass[2Jword gpj.exe"]
