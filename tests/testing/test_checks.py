"""`check_signal`: a source that keeps to what is promised passes it, sources with a fault do not."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Iterable, Iterator

import pytest
from agent_stand_in import NAME, SOURCE, Acme
from attrs import evolve

from stallkit.detect.signature import State
from stallkit.evidence.signal import Guard, Signal
from stallkit.signals.collect import signals_below
from stallkit.signals.source import Publisher
from stallkit.testing import check_signal


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Acme]:
    with Acme(tmp_path) as made:
        made.says("Deploy?\x1b[2J\u202e\nnow")
        yield made


def test_a_source_that_keeps_to_it(agent: Acme) -> None:
    assert check_signal(SOURCE, agent.publisher, [agent.file], time.time()) == 23
    (said,) = signals_below(agent.shell.pid, [SOURCE])
    assert said.state is State.WAITING  # the file is as it was


class Bad:
    """A source that reads the session file with a fault."""

    name = "bad"
    programs = frozenset({NAME})

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def read(self, publisher: Publisher, now: float) -> Iterable[Signal]:
        file = publisher.path(f"{publisher.home}/.acme/{publisher.own_pid}.json")
        said = Signal("bad", State.WAITING, guard=Guard.PROCESS, pid=publisher.pid)
        if self.fault == "raises" and file.is_file():
            said = evolve(said, words=str(json.loads(file.read_text())["asks"]))
        elif self.fault == "raw words":
            said = evolve(said, words="two\nlines\x1b[2J")
        elif self.fault == "another pid":
            said = evolve(said, pid=1)
        elif self.fault == "writes":
            file.with_name("mine").touch()
        elif self.fault == "no bound" and file.is_file() and not file.is_symlink():
            file.read_bytes()
        elif self.fault == "long":
            said = evolve(said, words="x" * 100_000)
        elif self.fault == "no signal":
            return ["waiting"]  # type: ignore[list-item]
        elif self.fault == "future":
            said = evolve(said, age_s=-5.0)
        return [said]


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("raises", "it raised"),
        ("raw words", "0x1b"),
        ("another pid", "names process 1"),
        ("writes", "made or removed a file"),
        ("no bound", "is huge: one look read"),
        ("long", "100000 characters"),
        ("no signal", "is no Signal"),
        ("future", "an age of"),
    ],
)
def test_a_fault_is_named(fault: str, told: str, agent: Acme) -> None:
    with pytest.raises(AssertionError, match=told):
        check_signal(Bad(fault), agent.publisher, [agent.file])
    assert agent.file.exists()


def test_without_a_fault_the_same_source_passes(agent: Acme) -> None:
    check_signal(Bad(""), agent.publisher, [agent.file])


def test_what_is_no_source(agent: Acme) -> None:
    with pytest.raises(AssertionError, match="lacks name"):
        check_signal(object(), agent.publisher)  # type: ignore[arg-type]
