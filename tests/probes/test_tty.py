"""How a terminal takes input: by its path, by its master, and nothing else is touched."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from programs import Run, Running, python
from terminals import wait_for

from stallkit.evidence.snapshot import KernelFacts, TtyFacts, listens
from stallkit.probes.readers import tty_facts

MODES = {  # by what stty sets
    "echo icanon": TtyFacts(echo=True, canonical=True, blocks=True, unread=0),
    "-echo icanon": TtyFacts(echo=False, canonical=True, blocks=True, unread=0),
    "echo -icanon": TtyFacts(echo=True, canonical=False, blocks=True, unread=0),
    "raw -echo": TtyFacts(echo=False, canonical=False, blocks=True, unread=0),
    "-icanon min 0 time 5": TtyFacts(echo=True, canonical=False, blocks=False, unread=0),
    "-icanon min 1 time 5": TtyFacts(echo=True, canonical=False, blocks=False, unread=0),
}


def with_modes(run: Run, stty: str) -> Running:
    running = run(["bash", "-c", f"stty {stty}; echo set; sleep 1000"])
    running.shows("set")
    return running


def test_both_ends_say_the_same(run: Run) -> None:
    for stty, expected in MODES.items():
        running = with_modes(run, stty)
        assert tty_facts(running.path) == tty_facts(running.master) == expected, stty


def test_what_was_typed_and_nobody_read_is_counted_in_whole_lines_if_lines_are_read(run: Run) -> None:
    for stty, unread in (("icanon", 4), ("-icanon", 6)):
        running = with_modes(run, stty)
        os.write(running.master, b"yes\rno")
        wait_for(lambda: tty_facts(running.path).unread == unread, f"{unread} bytes: {tty_facts(running.path)}")  # noqa: B023
        assert tty_facts(running.master) == tty_facts(running.path)


def test_what_is_no_terminal_is_unknown(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").write_text("")
    reading, writing = os.pipe()
    for terminal in (str(tmp_path), "/dev/null", "", "a\0b", reading, -1, 10**6):
        assert tty_facts(terminal) == TtyFacts(), terminal
    for name in ("fifo", "file", "none"):
        assert tty_facts(str(tmp_path / name)) == TtyFacts(), name
    os.close(reading)
    os.close(writing)


def test_a_terminal_that_hung_up_is_unknown(run: Run) -> None:
    running = run(["true"])
    wait_for(lambda: running.transport.capture().alive is False, "the end")
    running.transport.close()
    assert tty_facts(running.path) == TtyFacts()


def test_it_does_not_become_the_controlling_terminal(run: Run) -> None:
    running = run(["cat"])
    code = (
        "import sys; from stallkit.probes.readers import tty_facts; print(tty_facts(sys.argv[1]).echo)\n"
        "try: open('/dev/tty')\n"
        "except OSError: print('none')"
    )
    command = [*python(code), running.path]
    done = subprocess.run(command, start_new_session=True, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "none"]


def test_polling_counts_with_canonical_mode_off() -> None:
    for listening, how, canonical, expected in (
        (True, "read", True, True),
        (True, "read", None, True),
        (True, "epoll", False, True),
        (True, "epoll", True, None),
        (True, "poll", None, None),
        (False, None, False, False),
        (None, None, False, None),
    ):
        kernel = KernelFacts(listening=listening, how=how)  # type: ignore[arg-type]  # a string of the four
        assert listens(kernel, TtyFacts(canonical=canonical)) is expected, (listening, how, canonical)
