"""Who reads a terminal, as what programs, beside or below the one in front too; and what other jobs there are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from programs import Run, Running, python
from terminals import wait_for

from stallkit.evidence.snapshot import KernelFacts
from stallkit.probes import foreground_job
from stallkit.probes import readers as probed
from stallkit.probes.procfs import all_pids, ancestors, stat_of
from stallkit.probes.readers import InnerReader, holders, inner_readers, readers

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
    wait_for(
        lambda: "T" in [other.state for other in rests(running).background or ()], "cat, stopped as it wants to read"
    )
    assert sorted((other.name, other.stopped) for other in rests(running).background or ()) == [
        ("cat", True),
        ("sleep", False),
    ]


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
    here = foreground_job.present(running.path, running.pid)
    assert [member.name for member in here.members] == ["cat"]
    assert (here.listening, here.first_seen) == (None, here.members)
    assert foreground_job.present("/dev/null", running.pid) == KernelFacts(pid=running.pid)


BWRAP = Path(__file__).parents[2] / ".cache" / "engines" / "bin" / "bwrap"

# An agent: it waits for keys in epoll, and has started the command of its arguments.
AGENT = (
    "import select, subprocess, sys, tty; tty.setraw(0); child = subprocess.Popen(sys.argv[1:]); "
    "e = select.epoll(); e.register(0, select.EPOLLIN); e.poll()"
)
# The same, with the command on a terminal of its own, which it reads.
HOLDER = (
    "import os, pty, select, sys, tty; tty.setraw(0); pid, master = pty.fork()\n"
    "if not pid: os.execvp(sys.argv[1], sys.argv[1:])\n"
    "e = select.epoll(); e.register(0, select.EPOLLIN); e.register(master, select.EPOLLIN)\n"
    "while True:\n"
    "  for fd, _ in e.poll():\n"
    "    if fd == master: os.read(master, 999)"
)
ASKS = ["bash", "-c", "read -rsp 'Passphrase: ' x < /dev/tty"]


def device(pid: int) -> int:
    stat = stat_of(pid)
    assert stat is not None
    return stat.device


def one_of(pid: int) -> InnerReader:
    """The one reader inside a session's work, as soon as it reads."""
    wait_for(lambda: len(inner_readers(pid)) == 1, "a reader inside")
    return inner_readers(pid)[0]


def test_a_child_that_reads_the_terminal_beside_its_agent(run: Run) -> None:
    running = run([*python(AGENT), "sh", "-c", 'exec "$@" 2>&1', "sh", *ASKS])
    found = one_of(running.pid)
    assert (found.name, found.how, found.below, found.terminal) == ("bash", "read", False, running.path)
    assert found.inside.startswith("python") and (running.pid in dict(ancestors(found.pid)))
    known = readers(device(running.pid)).known
    assert {one.pid for one in known} == {running.pid, found.pid}
    assert {one.pid for one in readers(device(running.pid), but={found.pid}).known} == {running.pid}


def test_a_child_that_reads_a_terminal_below_its_agent(run: Run) -> None:
    running = run([*python(HOLDER), *ASKS])
    found = one_of(running.pid)
    assert (found.name, found.how, found.below) == ("bash", "read", True)
    assert found.terminal != running.path and holders(device(found.pid)) == [running.pid]


NOBODY_INSIDE = {
    "the program in front itself": ASKS,
    "its caller waits for it, and does not read": ["bash", "-c", "bash -c 'read x'; true"],
    "asleep": [*python(AGENT), "sleep", "1000"],
    "asleep below": [*python(HOLDER), "sleep", "1000"],
    "a shell that rests at its prompt": [*python(HOLDER), "bash", "--norc", "--noprofile", "-i"],
    "a relay: the probe looks through it": ["script", "-qc", "bash -c 'read x'", "/dev/null"],
}


def test_nobody_reads_inside(run: Run) -> None:
    started = {name: run(command) for name, command in NOBODY_INSIDE.items()}
    for name, running in started.items():

        def begun(running: Running = running, asks: bool = "asleep" not in name) -> bool:
            below = [pid for pid in all_pids() if running.pid in _above(pid)]
            read = [pid for pid in (running.pid, *below) if pid in _reading(device(pid))]
            return bool(read if asks else below)

        wait_for(begun, f"the beginning of {name}")
        assert inner_readers(running.pid) == (), name


def _above(pid: int) -> set[int]:
    return {above for above, _ in ancestors(pid)}


def _reading(terminal: int) -> set[int]:
    return {one.pid for one in readers(terminal).known}


# In a container, where terminals are counted from 0 again: it reads one of the number of its argument.
CONTAINED = (
    "import os, sys\n"
    "kept = [os.openpty()]\n"
    "while os.ttyname(kept[-1][1]) != '/dev/pts/' + sys.argv[1]: kept.append(os.openpty())\n"
    "print('reads', flush=True); os.read(kept[-1][1], 1)"
)


def test_a_terminal_of_the_same_number_in_a_container_is_another_one(run: Run) -> None:
    if not BWRAP.exists():
        pytest.skip("no bubblewrap here")
    running = run(["bash", "-c", "read -r x"])
    number = device(running.pid)
    box = [str(BWRAP), "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    contained = subprocess.Popen([*box, *python(CONTAINED), str(os.minor(number))], stdout=subprocess.PIPE, text=True)
    assert contained.stdout is not None
    with contained, contained.stdout:
        try:
            assert contained.stdout.readline() == "reads\n"
            wait_for(lambda: bool(readers(number).known), "the one that reads here")
            for _ in range(20):
                assert [one.pid for one in readers(number).known] == [running.pid]
            assert contained.pid not in holders(number) and len(holders(number)) == 1
            assert probed.reader(all_pids(), {running.pid}, number) is None
        finally:
            contained.kill()


def test_what_is_gone_or_nowhere() -> None:
    assert inner_readers(2**22 - 1) == ()
    assert holders(os.makedev(136, 1_048_000)) == []
    assert readers(os.makedev(136, 1_048_000)).known == ()


def test_who_is_below_is_the_same_by_the_kernels_lists_and_by_a_search() -> None:
    """A kernel may not list the children of a process: then all processes are searched."""
    script = "sleep 60 & (sleep 60; :) & echo ready; wait"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True) as shell:
        assert shell.stdout is not None
        assert shell.stdout.readline() == "ready\n"
        try:
            wait_for(lambda: len(probed._searched_below(shell.pid)) == 4, "both to sleep")
            listed = probed._listed_below(shell.pid)
            assert listed == probed._searched_below(shell.pid)
            assert sorted(map(len, listed.values())) == [0, 1, 1, 2]
        finally:
            os.killpg(shell.pid, signal.SIGKILL)
