"""The probes where no thread's system call may be read: what is ambiguous is unknown (docs/judge.md has the counts)."""

from __future__ import annotations

import shutil
import sys
from collections import Counter

import pytest
from programs import BUSY, OTHERS, READERS, Run, Running
from terminals import wait_for

from stallkit.evidence.snapshot import KernelFacts
from stallkit.probes.procfs import ProcEntry
from stallkit.probes.readers import tty_facts

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells this much")


class Yama(ProcEntry):
    """A process as its user sees it under Ubuntu's ptrace_scope = 1: calls and memory are its ancestors' to read."""

    def read(self, name: str, limit: int = 4_096) -> str:
        if name.endswith("/syscall"):
            raise PermissionError(name)
        return super().read(name, limit)

    def memory(self, path: str, address: int, size: int) -> bytes:
        raise PermissionError(path)


SURE = {"read", "read -s", "read -n1", "cat", "getpass", "another descriptor", "epoll", "epoll in epoll"}
CASES = {name: command for name, (command, _, _) in READERS.items()} | BUSY | OTHERS


def settled(running: Running, name: str) -> KernelFacts:
    """The facts of one who may read them all, once the program waits as it is meant to."""
    if "setraw" in str(CASES[name]):
        wait_for(lambda: tty_facts(running.master).canonical is False, "raw mode")
    if name in READERS:
        return running.until(lambda facts: facts.listening, f"{name} to wait")
    busy = 1 if name == "a loop" else 0
    return running.until(lambda facts: facts.running == busy and facts.members, f"{name} to settle")


def test_no_answer_is_wrong_and_what_can_be_told_is_told(run: Run) -> None:
    told = Counter[str]()
    names = [name for name in CASES if shutil.which(CASES[name][0])]
    for name, running in [(name, run(CASES[name])) for name in names]:
        truth = settled(running, name)
        seen = running.look(Yama)
        assert seen.listening in (truth.listening, None), f"{name}: {seen}"
        assert seen.source == "wchan"
        assert (seen.readers is None) is (seen.listening is None), f"{name}: {seen}"
        assert seen.listening is True if name in SURE else True, f"{name}: {seen}"
        told["unknown" if seen.listening is None else "right"] += 1
    assert told["right"] >= len(names) // 2, told
