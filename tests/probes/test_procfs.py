"""Which file a process runs, and where: what the kernel says, whatever the program calls itself."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from agent_stand_in import installed_agent
from hypothesis import given
from hypothesis import strategies as st
from programs import Run

from stallkit.evidence.snapshot import Member, names_of, plain
from stallkit.press.reader_check import is_proven
from stallkit.probes.procfs import script_path, takes_commands

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells this much")

READS = "import os; os.read(0, 1)"
CLAUDE = ["*/@anthropic-ai/claude-code*/*"]


def reader(run: Run, command: list[str]) -> Member:
    """The one process that reads."""
    facts = run(command).until(lambda facts: facts.listening and facts.readers, "a reader")
    assert facts.readers is not None and len(facts.readers) == 1
    return facts.readers[0]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "ask.py"
    path.write_text(READS)
    return path


def test_a_program_is_the_file_that_runs(run: Run, tmp_path: Path) -> None:
    cat = os.path.realpath(shutil.which("cat") or "cat")
    program = installed_agent(tmp_path)
    for command, path in (
        (["cat"], cat),
        (["bash", "-c", "exec -a claude cat"], cat),
        ([str(program), "-c", READS], str(program)),
        (["bash", "-c", f"exec -a python3 {program} -c '{READS}'"], str(program)),
    ):
        member = reader(run, command)
        assert (member.path, member.cwd) == (path, str(Path.cwd())), command


def test_what_an_interpreter_or_a_shell_runs_is_its_script(run: Run, tmp_path: Path, script: Path) -> None:
    asks = tmp_path / "ask.sh"
    asks.write_text("#!/bin/bash\nread -r x\n")
    asks.chmod(0o755)
    (tmp_path / "claude").symlink_to(script)
    (tmp_path / "python.claude").symlink_to(Path(sys.executable).resolve())
    for command, path in (
        ([sys.executable, str(script)], str(script)),
        ([sys.executable, str(tmp_path / "claude")], str(script)),
        ([sys.executable, os.path.relpath(script)], "ask.py"),  # of whatever directory
        (["bash", "-c", f"cd {tmp_path}; exec {sys.executable} ask.py"], "ask.py"),
        ([str(asks)], str(asks)),
        (["bash", str(asks)], str(asks)),
        ([sys.executable, "-c", READS], None),
        ([sys.executable, "-I", str(script)], str(script)),
        (["bash", "-c", "read -r x"], None),
        (["bash", "-c", f"exec -a claude {sys.executable} {script}"], None),
        ([str(tmp_path / "python.claude"), "-c", READS], None),
    ):
        assert reader(run, command).path == path, command


def test_a_program_whose_file_was_replaced_is_still_that_file(run: Run, tmp_path: Path) -> None:
    program = installed_agent(tmp_path)
    running = run([str(program), "-c", READS])
    running.until(lambda facts: facts.listening, "a reader")
    program.unlink()
    facts = running.until(lambda facts: facts.listening and facts.readers, "the reader")
    assert facts.readers is not None and facts.readers[0].path == str(program)


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
def test_what_node_runs_beside_its_script_leaves_that_unproven(run: Run, tmp_path: Path) -> None:
    script, more = tmp_path / "cli.js", tmp_path / "more.js"
    script.write_text("require('fs').readSync(0, Buffer.alloc(1))")
    more.write_text("")
    for command, path in (
        (["node", str(script)], str(script)),
        (["node", "--max-old-space-size=4096", "--no-warnings", str(script)], str(script)),
        (["env", "NODE_OPTIONS=--max-old-space-size=4096", "node", str(script)], str(script)),
        (["node", f"--eval={script.read_text()}", str(script)], None),
        (["node", f"--require={more}", str(script)], None),
        (["node", "--import=data:text/javascript,1", str(script)], None),
        (["env", f"NODE_OPTIONS=--require {more}", "node", str(script)], None),
    ):
        assert reader(run, command).path == path, command


# An interpreter's script is known by its command line, which a process may write over, and by its working directory,
# which it may change: neither makes another script an agent.
CHANGES = {
    "its working directory": "import os, sys; os.chdir({agent!r}); os.read(0, 1)",
    "its command line": (
        "import ctypes, os, re\n"
        "rows = open('/proc/self/maps').read()\n"
        "start, end = (int(one, 16) for one in re.search('([0-9a-f]+)-([0-9a-f]+) .*\\\\[stack', rows).groups())\n"
        "line = open('/proc/self/cmdline', 'rb').read()\n"
        "at = start + ctypes.string_at(start, end - start).rindex(line)\n"
        "new = b'node\\0' + {script!r}.encode() + b'\\0'\n"
        "assert len(new) <= len(line)\n"
        "ctypes.memmove(at, new + bytes(len(line) - len(new)), len(line))\n"
        "os.read(0, 1)"
    ),
}


def test_a_script_that_changes_what_is_seen_of_it_is_no_agent(run: Run, tmp_path: Path) -> None:
    agent = tmp_path / "node_modules/@anthropic-ai/claude-code"
    agent.mkdir(parents=True)
    (agent / "cli.js").write_text("")
    padding = "x" * 200  # room for another command line
    for what, code in CHANGES.items():
        (tmp_path / "cli.js").write_text(code.format(agent=str(agent), script=str(agent / "cli.js")))
        member = reader(run, ["bash", "-c", f"cd {tmp_path}; exec {sys.executable} cli.js {padding}"])
        assert not is_proven("claude", member.path, CLAUDE), (what, member)


def test_the_script_in_a_command_line() -> None:
    wrong = []
    for line, path in (
        ("node /usr/lib/acme/cli.js --flag", "/usr/lib/acme/cli.js"),
        ("node --max-old-space-size=4096 cli.js", "cli.js"),
        ("/usr/bin/python3.11 ask.py", "ask.py"),
        ("-bash", ""),
        ("bash ask.sh", "ask.sh"),
        ("bash -c read", ""),
        ("node -r ./hook cli.js", ""),
        ("python3 -I -u ask.py", "ask.py"),
        ("python3 -m acme", ""),
        ("node /dev/stdin", ""),
        ("sh /proc/self/fd/0", ""),
        ("acme cli.js", ""),
        ("", ""),
    ):
        if script_path(tuple(line.split())) != path:
            wrong.append((line, script_path(tuple(line.split()))))
    assert not wrong


# --- whether a shell runs a script, by its command line: doubt means that somebody types there ---


def takes(line: str) -> bool | None:
    words = shlex.split(line)
    return takes_commands(tuple(words), frozenset({plain(words[0].removeprefix("-").rpartition("/")[2])}))


SCRIPTS = [
    "bash -c 'read x'",
    "/bin/bash ./ask.sh -i",
    "bash -eu -o pipefail ask.sh",
    "bash --norc --noprofile -c 'read x'",
    "sh -ec 'read x'",
    "dash -- ask.sh",
    "busybox sh ask.sh",
    "zsh -f ask.zsh",
    "fish ask.fish",
    "fish -c read",
    "python3 ask.py -i",
    "python3.11 -I -c 'input()'",
    "python3 -W error -m acme",
    "node -r ./hook ask.js",
    "node -e 'process.stdin'",
]
TYPED_AT = [
    "bash",
    "-bash",
    "bash -i",
    "bash -ic 'read x'",
    "bash --norc -i",
    "bash -o vi",
    "bash --rcfile ask.sh",
    "bash --init-file ask.sh",
    "bash +O extglob",
    "bash -s x",
    "bash -c",
    "bash --",
    "bash /dev/stdin",
    "sh - /dev/tty",
    "busybox sh",
    "bash --unheard-of ask.sh",
    "zsh -Z ask.zsh",
    "fish -C 'echo hi'",
    "fish --init-command x",
    "pwsh -NoExit -File ask.ps1",
    "python3",
    "python3 -q",
    "python3 -i ask.py",
    "python3 -W error",
    "python3 -",
    "node",
    "node -r ./hook",
]


def test_a_script_somebody_who_types_and_any_other_program_are_told_apart() -> None:
    assert [line for line in SCRIPTS if takes(line) is not False] == []
    assert [line for line in TYPED_AT if takes(line) is not True] == []
    assert [line for line in ("installer -i", "vim ask.sh", "npm install") if takes(line) is not None] == []
    assert takes_commands((), frozenset({"bash"})) is None
    assert takes_commands(("rm", "-i", "x"), names_of("rm", "rm", "busybox")) is None
    assert takes_commands(("python3", "/usr/bin/xonsh"), frozenset({"xonsh", "python"})) is True


@given(st.lists(st.sampled_from(["-o", "+O", "--rcfile", "-i", "-x", "--norc", "-l"]), max_size=4))
def test_a_shell_without_an_operand_has_no_script(options: list[str]) -> None:
    assert takes_commands(("bash", *options), frozenset({"bash"})) is True
