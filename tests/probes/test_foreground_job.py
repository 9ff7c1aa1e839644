"""Who waits for the terminal, asked of real programs on real terminals."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import BUSY, OTHERS, RAW, READERS, Run, Running, python
from terminals import Server, wait_for

from stallkit.evidence.snapshot import KernelFacts, TtyFacts, listens
from stallkit.probes import foreground_job, procfs
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


CASES = {name: command for name, (command, _, _) in READERS.items()} | BUSY | OTHERS
SURE = {"read", "read -s", "read -n1", "cat", "getpass", "another descriptor", "epoll", "epoll in epoll"}


def settled(running: Running, name: str) -> KernelFacts:
    """The facts once the program waits as it is meant to."""
    if name in READERS:
        _, how, modes = READERS[name]

        def waits(facts: KernelFacts) -> bool:
            seen = tty_facts(running.master)
            return facts.how in how and (seen.echo, seen.canonical) == modes

        return running.until(waits, f"{name} to wait")
    if "setraw" in str(CASES[name]):  # the last thing that it does before it waits
        wait_for(lambda: tty_facts(running.master).canonical is False, "raw mode")
    return running.until(lambda facts: facts.running == (name == "a loop") and facts.members, f"{name} to settle")


def test_who_waits_for_a_key_is_known_and_without_rights_never_known_wrongly(run: Run) -> None:
    """Without rights what is ambiguous is unknown (docs/evidence.md has the counts)."""
    told = Counter[str]()
    names = [name for name in CASES if shutil.which(CASES[name][0])]
    for name, running in [(name, run(CASES[name])) for name in names]:
        facts = settled(running, name)
        assert (facts.source, facts.stopped) == ("syscall", False), (name, facts)
        if name in READERS:
            assert facts.listening is True, (name, facts)
            assert listens(facts, tty_facts(running.master)) is True and facts.looked_at == facts.threads, name
            by_path = foreground_job.probe(running.path, running.pid)
            assert (by_path.listening, by_path.how, by_path.group) == (True, facts.how, facts.group), name
        else:
            assert facts.how is None and facts.listening in ((False,) if name in BUSY else (False, None)), (name, facts)
        seen = running.look(Yama)
        assert (seen.source, seen.readers is None) == ("wchan", seen.listening is None), (name, seen)
        assert seen.listening in ((True,) if name in SURE else (facts.listening, None)), (name, seen)
        told["unknown" if seen.listening is None else "right"] += 1
    assert told["right"] >= len(names) // 2, told


def test_one_thread_of_several_reads(run: Run) -> None:
    reads = "import ctypes, os, threading; threading.Thread(target=os.read, args=(0, 1)).start()\n"
    facts = run(python(f"{reads}while True: pass")).until(lambda facts: facts.listening and facts.running, "both")
    assert (facts.how, facts.looked_at, facts.threads) == ("read", 2, 2)
    ended = run(python(f"{reads}ctypes.CDLL(None).pthread_exit(None)"))  # its process looks ended
    facts = ended.until(lambda facts: facts.listening and facts.members[0].state == "Z", "the first to end")
    assert not facts.members[0].ended


def test_a_stopped_program_does_not_read_until_it_goes_on(run: Run) -> None:
    polls = python(RAW + "p = select.poll(); p.register(0, select.POLLIN); p.poll(1000000)")
    for command, how in ((["cat"], "read"), (polls, "poll")):  # the kernel restarts a poll by a call of another number
        running = run(command)
        running.until(lambda facts, how=how: facts.how == how, how)
        os.kill(running.pid, signal.SIGSTOP)
        assert running.until(lambda facts: facts.stopped, "the stop").listening is False
        os.kill(running.pid, signal.SIGCONT)
        again = running.until(lambda facts: facts.listening, "it to go on")
        assert (again.stopped, again.how) == (False, how)


def test_a_stopped_job_gives_the_terminal_back(run: Run) -> None:
    running = run(["bash", "--norc", "-i"])
    running.until(lambda facts: facts.foreground == "bash" and facts.listening, "the shell")
    os.write(running.master, b"cat\n")
    running.until(lambda facts: facts.foreground == "cat" and facts.listening, "cat")
    os.write(running.master, b"\x1a")
    facts = running.until(lambda facts: facts.foreground == "bash" and facts.listening, "the shell")
    assert facts.stopped is False
    assert [member.name for member in facts.members] == ["bash"]


def test_a_zombie_is_a_member_that_ended(run: Run) -> None:
    running = run(python("import os; os.fork() or os._exit(0); os.read(0, 1)"))
    ended = [False, True]
    facts = running.until(
        lambda facts: facts.listening and [member.ended for member in facts.members] == ended, "a zombie"
    )
    assert facts.members[1].state == "Z"
    assert facts.stopped is False


def test_processes_and_threads_that_vanish_between_two_reads(run: Run) -> None:
    running = run(["bash", "-c", "while :; do (:) | (:) | (:); done"])
    assert {running.look().group for _ in range(300)} == {running.pid}
    code = "import threading\nwhile 1: t = [threading.Thread(target=str) for _ in range(9)]; [x.start() for x in t]"
    running = run(python(code))
    running.until(lambda facts: (facts.threads or 0) > 1, "threads")
    assert {running.look().listening for _ in range(100)} <= {False, None}


def test_a_session_that_ended_is_unknown(run: Run) -> None:
    running = run(["true"])
    wait_for(lambda: running.transport.capture().alive is False, "the end")
    assert running.look() == KernelFacts(pid=running.pid)
    assert foreground_job.probe(running.path, running.pid) == KernelFacts(pid=running.pid)


def test_thousands_of_threads_are_bounded(run: Run) -> None:
    code = (
        "import threading, time; threading.stack_size(1 << 16); e = threading.Event()\n"
        "for _ in range(2000): threading.Thread(target=e.wait, daemon=True).start()\n"
    )
    quiet = run(python(code + "e.wait()")).until(lambda facts: (facts.threads or 0) > 2000, "2,001 threads")
    assert quiet.looked_at == foreground_job.THREADS
    assert quiet.listening is None
    assert quiet.running is None
    reading = run(python(code + "input()")).until(lambda facts: (facts.threads or 0) > 2000 and facts.listening, "read")
    assert reading.how in ("read", "select")


def test_a_leader_of_another_terminal_is_nobodys(run: Run) -> None:
    """Then whoever has the terminal knows its foreground."""
    running, other = run(["cat"]), run(["sleep", "1000"])
    running.until(lambda facts: facts.listening, "a read")
    for terminal in (running.path, running.master):
        facts = foreground_job.probe(terminal, other.pid)
        assert (facts.foreground, facts.group, facts.started) == ("cat", running.pid, None)


def test_what_is_no_terminal_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    reading, writing = os.pipe()
    for terminal in (str(tmp_path), str(tmp_path / "file"), str(tmp_path / "none"), "/dev/null", "", reading, 10**6):
        assert foreground_job.probe(terminal, os.getpid()) == KernelFacts(pid=os.getpid()), terminal
    os.close(reading)
    os.close(writing)


@given(st.text() | st.from_regex(r"\d+ \(.*\) [A-Z]( -?\d{1,20}){0,45}", fullmatch=True))
def test_a_line_of_stat_is_read_or_refused(line: str) -> None:
    with suppress(ValueError, IndexError):
        assert procfs.Stat.parse(line).threads == int(line.rpartition(")")[2].split()[17])


def test_a_name_with_brackets(run: Run) -> None:
    running = run(python("import os; open('/proc/self/comm', 'w').write('a) S 1 (b'); os.read(0, 1)"))
    running.until(lambda facts: facts.listening and facts.members[0].name == "a) S 1 (b", "a read, by that name")


UNPRIVILEGED = """
import os, sys
from stallkit.probes import foreground_job
from stallkit.probes.readers import tty_facts
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
facts = foreground_job.probe(sys.argv[1], int(sys.argv[2]))
print(facts.foreground, facts.listening, facts.running, facts.stopped, facts.looked_at)
"""


def test_what_is_forbidden_is_unknown(run: Run) -> None:
    code = (
        "import ctypes, os; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); os.read(0, 1)"  # PR_SET_DUMPABLE: a secretive one
    )
    running = run(python(code))
    running.until(lambda facts: facts.members and facts.members[0].state == "S", "a wait")
    command = [sys.executable, "-c", UNPRIVILEGED, running.path, str(running.pid)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split()[1:] == ["None", "0", "False", "1"], done.stderr


HARD_UP = """
import resource, sys
from stallkit.probes import foreground_job
foreground_job.probe(sys.argv[1], int(sys.argv[2]))  # with everything imported that it needs
seen = []
for limit in range(3, 10):
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, 64))
    seen.append(foreground_job.probe(sys.argv[1], int(sys.argv[2])).listening)
print(*seen)
"""


def test_without_free_descriptors_it_is_unknown(run: Run) -> None:
    running = run(["cat"])
    running.until(lambda facts: facts.listening, "a read")
    command = [sys.executable, "-c", HARD_UP, running.path, str(running.pid)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seen = done.stdout.split()
    assert (seen[0], seen[-1]) == ("None", "True"), done.stderr
    assert "False" not in seen


def test_processes_of_others_that_are_hidden_may_read(run: Run) -> None:
    running = run(["sleep", "1000"])
    running.until(lambda facts: facts.listening is False, "sleep")
    own = {running.pid: [running.pid]}
    assert foreground_job.probe(running.path, running.pid, groups=own).listening is None
    assert foreground_job.probe(running.path, running.pid, groups={**own, 1: [1]}).listening is False


def test_a_relay_is_seen_through(run: Run) -> None:
    for command, relay in (
        (["script", "-qc", "exec cat", "/dev/null"], "script"),
        (python("import pty; pty.spawn('cat')"), "python"),
        (["script", "-qc", "exec script -qc 'exec cat' /dev/null", "/dev/null"], "script"),
    ):
        facts = run(command).until(lambda facts: facts.listening and facts.foreground == "cat", "cat to wait")
        assert (facts.relay, facts.how) == (None, "read"), command
        assert facts.through is not None and facts.through.startswith(relay), command
        assert facts.terminal is not None
        assert tty_facts(facts.terminal) == TtyFacts(echo=True, canonical=True, blocks=True, unread=0)
    for inner in ("exec sleep 1000", "printf 'Proceed? [y/N] '; exec sleep 1000"):
        facts = run(["script", "-qc", inner, "/dev/null"]).until(lambda facts: facts.foreground == "sleep", "sleep")
        assert (facts.listening, facts.relay, facts.through) == (False, None, "script")


def test_a_program_that_begins_a_terminal_later_shows_a_screen_of_its_own(run: Run) -> None:
    """As an agent does that has a tool at work: what it waits for is asked of itself."""
    later_s = foreground_job.WITH_IT_S + 1
    late = f"import os, pty, time, tty; tty.setraw(0); time.sleep({later_s}); tool, there = pty.fork()"
    running = run(python(f"{late}\nif not tool: os.execvp('bash', ['bash', '-c', 'read x'])\nos.read(0, 1)"))
    facts = running.until(lambda facts: procfs.children_of(running.pid) and facts.how, "its tool")
    assert (facts.listening, facts.how, facts.through, facts.relay) == (True, "read", None, None)
    assert [one.pid for one in facts.members] == [running.pid]


def test_of_two_inner_terminals_neither_is_seen(run: Run) -> None:
    both = python(
        "import os, pty, time\nfor _ in range(2):\n if pty.fork()[0] == 0: os.execlp('cat', 'cat')\ntime.sleep(1000)"
    )
    running = run(both)

    def cats() -> list[procfs.Stat]:
        stats = (procfs.stat_of(int(path.name)) for path in Path("/proc").iterdir() if path.name.isdecimal())
        return [one for one in stats if one is not None and (one.parent, one.name) == (running.pid, "cat")]

    wait_for(lambda: len(cats()) == 2, "both inner terminals")
    facts = running.until(lambda facts: facts.relay, "the relay")
    assert (facts.listening, facts.through) == (None, None)


def test_who_reads_from_outside_of_the_foreground(run: Run) -> None:
    """As gpg's pinentry: another session's process asks on this terminal."""
    asks = """
import os, tty
path = os.ttyname(0)
tty.setraw(0)
if os.fork() == 0:
    os.setsid()
    os.read(os.open(path, os.O_RDWR | os.O_NOCTTY), 1)
os.wait()
"""
    running = run(python(asks))
    running.until(lambda facts: facts.listening is False and tty_facts(running.master).canonical is False, "the wait")
    wait_for(lambda: foreground_job.probe_elsewhere(running.look(), running.master).listening, "the reader")
    facts = foreground_job.probe_elsewhere(running.look(), running.master)
    assert (facts.how, facts.foreground is not None, facts.reader) == ("read", True, facts.foreground)
    assert running.look().listening is False


def test_a_pane_of_tmux(server: Server) -> None:
    transport = server.start("one", "bash", "-c", "printf 'Continue? '; read -r x", shows="Continue?")
    path, pid = server.tmux("display-message", "-p", "-t", "=one:", "#{pane_tty} #{pane_pid}").split()
    wait_for(lambda: foreground_job.probe(path, int(pid)).listening, "the read")
    facts = foreground_job.probe(path, int(pid))
    assert (facts.foreground, facts.how, facts.relay) == ("bash", "read", None)
    assert facts.foreground == transport.capture().foreground


def test_a_client_of_tmux_is_a_relay(run: Run, server: Server) -> None:
    server.start("inner", "cat")
    client = ["env", "-u", "TMUX", "tmux", "-S", str(server.socket), "attach", "-t", "=inner"]
    running = run(client)
    facts = running.until(lambda facts: facts.relay and tty_facts(running.master).canonical is False, "the client")
    assert facts.relay == "tmux"
    assert facts.listening is None  # the server reads


def test_ps_where_there_is_no_proc(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    if not shutil.which("ps"):
        pytest.skip("ps is not installed")
    running = run(["bash", "-c", "sleep 1000; true"])
    running.until(lambda facts: len(facts.members) == 2 and facts.members[1].name == "sleep", "sleep")
    monkeypatch.setattr(foreground_job, "PROC", "/nowhere")
    facts = running.look()
    assert (facts.foreground, facts.group, facts.listening, facts.stopped) == ("bash", running.pid, None, False)
    assert [member.name for member in facts.members] == ["bash", "sleep"]
    os.killpg(running.pid, signal.SIGSTOP)
    running.until(lambda facts: facts.stopped, "the stop")
    monkeypatch.setenv("PATH", "/nowhere")
    assert running.look() == KernelFacts(pid=running.pid)
