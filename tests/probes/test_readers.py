"""Which processes read the terminal, as what programs, and what other jobs there are."""

from __future__ import annotations

import os
import sys

import pytest
from programs import Run, Running
from terminals import wait_for

from stallkit.evidence.facts import KernelFacts
from stallkit.probes import process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells this much")


def rests(running: Running) -> KernelFacts:
    """The kernel's facts at a look that shows the same as the one before."""
    looks: list[KernelFacts] = []

    def read() -> bool:
        kernel = running.transport.capture().kernel
        looks[:] = [kernel] if kernel else []
        return kernel is not None and bool(kernel.readers)

    wait_for(read, "a reader on a screen that rests")
    return looks[0]


def test_the_one_that_reads_is_named_and_its_parent_is_not(run: Run) -> None:
    facts = run(["bash", "-c", "bash -c 'read x'; true"]).until(lambda facts: facts.listening, "a read")
    assert facts.readers is not None
    (reader,) = facts.readers
    assert reader in facts.members[1:] and reader.pid != facts.group
    assert (reader.called, reader.image, reader.interactive) == ("bash", "bash", False)
    assert reader.names >= {"bash"}


def test_an_exec_makes_another_program_of_the_same_process(run: Run) -> None:
    running = run(["bash", "-c", "read x; exec -a bash cat"])
    (before,) = running.until(lambda facts: facts.readers, "the script's read").readers or ()
    (still,) = running.look().readers or ()
    assert still.is_still(before)
    os.write(running.master, b"\n")
    running.until(lambda facts: facts.readers and facts.readers[0].image == "cat", "cat's read")
    (after,) = running.look().readers or ()
    assert (after.pid, after.started, after.called) == (before.pid, before.started, before.called)
    assert not after.is_still(before)
    first = rests(running).first_seen
    assert first is not None and first[0].is_still(after)


def test_who_was_there_first_is_remembered_while_the_screen_rests(run: Run) -> None:
    running = run(["bash", "-c", "stty -echo; printf 'here '; read x; bash -c 'read x'; true"])
    running.shows("here")
    (script,) = rests(running).readers or ()
    os.write(running.master, b"\n")
    running.until(lambda facts: facts.readers and facts.readers[0].pid != script.pid, "the other reader")
    facts = rests(running)
    assert facts.readers is not None and facts.first_seen is not None
    assert not any(facts.readers[0].is_still(one) for one in facts.first_seen)


def test_other_jobs_are_told_where_a_shell_reads(run: Run) -> None:
    running = run(["bash", "--norc", "--noprofile", "-i"])
    running.shows("$")
    assert rests(running).background == ()
    os.write(running.master, b"cat & sleep 1000 &\n")
    wait_for(lambda: "T" in states(running), "cat, stopped as it wants to read")
    assert sorted((other.name, other.stopped) for other in rests(running).background or ()) == [
        ("cat", True),
        ("sleep", False),
    ]


def states(running: Running) -> set[str]:
    return {other.state for other in rests(running).background or ()}


def test_a_shell_that_waits_for_its_script_is_no_other_job(run: Run) -> None:
    running = run(["bash", "--norc", "--noprofile", "-i"])
    running.shows("$")
    os.write(running.master, b"bash -c 'read -p \"script> \" x'\n")
    running.shows("script> ")
    facts = rests(running)
    assert (facts.background, facts.readers and facts.readers[0].interactive) == ((), False)


def test_who_is_there_is_known_at_the_first_look(run: Run) -> None:
    running = run(["cat"])
    running.until(lambda facts: facts.listening, "a read")
    here = process.present(running.path, running.pid)
    assert [member.name for member in here.members] == ["cat"]
    assert (here.listening, here.first_seen) == (None, here.members)
    assert process.present("/dev/null", running.pid) == KernelFacts(pid=running.pid)
