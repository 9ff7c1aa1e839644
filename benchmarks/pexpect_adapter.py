"""pexpect's own `expect([...])` against its adapter and detect on quiet: `python benchmarks/pexpect_adapter.py`.

A program prints a lot and then asks.  `expect` searches its whole buffer for 20 patterns after every read.  The adapter
feeds an emulator while there is something to read; the engine, with as many signatures, looks when it is quiet.  CPU
time of this process alone, both in turns; the program's own is not counted.
"""

from __future__ import annotations

import re
import select
import statistics
import sys
import time

import pexpect
from timing import table

from stallkit import Clause, Engine, Pack, Screen, Signature
from stallkit.transports.pexpect import PexpectTransport

SIZE = 115_000
ROUNDS = 5
QUIET_S = 0.05  # with nothing to read
PROMPT = "Overwrite the archive? (y/n) "
PROGRAM = f"""
import sys
line = "compiling module %05d of the project, with nothing to say but its name\\n"
text = "".join(line % n for n in range(SIZE // len(line % 0)))
sys.stdout.write(text + {PROMPT!r})
sys.stdout.flush()
sys.stdin.readline()
"""
OTHERS = [  # as scripts have them
    r"(?i)are you sure you want to continue connecting .*\?",
    r"(?i)\[sudo\] password for \S+:",
    r"(?i)enter passphrase for key .*:",
    r"(?i)username for '.*':",
    r"(?i)password:\s*$",
    r"(?i)press (?:any key|enter|return) to continue",
    r"(?i)do you want to continue\? \[y/n\]",
    r"(?i)is this ok \[y/d/n\]:",
    r"(?i)proceed \(\[y\]/n\)\?",
    r"(?i)ok to proceed\? \(y\)",
    r"(?i)remove (?:write-protected )?regular (?:empty )?file .*\?",
    r"(?i)do you accept the license terms\?",
    r"(?i)log ?in as:",
    r"(?i)verification code:",
    r"(?m)^--More--",
    r"\(END\)",
    r"(?m)^>>> $",
    r"(?m)^\(gdb\) $",
    r"(?m)^\? .* [›❯]\s*$",
]


def spawned(size: int) -> pexpect.spawn[str]:
    program = PROGRAM.replace("SIZE", str(size))
    return pexpect.spawn(sys.executable, ["-c", program], encoding="utf-8", timeout=60, dimensions=(40, 100))


def by_expect(size: int) -> float:
    """CPU seconds until `expect` finds the prompt."""
    patterns = [re.compile(one) for one in (*OTHERS, re.escape(PROMPT))]
    child = spawned(size)
    begun = time.process_time()
    assert child.expect(patterns) == len(OTHERS)
    taken = time.process_time() - begun
    child.close(force=True)
    return taken


def by_adapter(size: int) -> float:
    """CPU seconds until it is quiet and the engine finds the prompt."""
    clauses = [*(Clause(pattern=one) for one in OTHERS), Clause(text=PROMPT, where="prompt_line")]
    made = [
        Signature(id=f"s{n}", title="", state="waiting", kind="confirm", all_of=[clause])
        for n, clause in enumerate(clauses)
    ]
    engine = Engine([Pack(name="asked", signatures=made)])
    engine.detect(Screen.from_text("an engine that is in use already"))
    child = spawned(size)
    begun = time.process_time()
    transport = PexpectTransport(child)
    found = None
    deadline = time.monotonic() + 60
    while found is None:
        assert time.monotonic() < deadline, "the prompt never came"
        while select.select([child.child_fd], [], [], QUIET_S)[0]:
            transport.pump()
        found = engine.detect(transport.capture().screen).match
    taken = time.process_time() - begun
    transport.close()
    child.close(force=True)
    return taken


def main() -> None:
    by_adapter(1000)  # loads the emulator and regex, which is not what is measured
    by_expect(1000)
    rows = []
    for factor in (1, 2, 4):
        times = [(by_expect(SIZE * factor), by_adapter(SIZE * factor)) for _ in range(ROUNDS)]
        plain, adapted = (statistics.median(column) for column in zip(*times, strict=True))
        rows.append(
            [f"{SIZE * factor:,}", f"{plain * 1e3:,.0f} ms", f"{adapted * 1e3:,.1f} ms", f"{plain / adapted:,.0f}"]
        )
    print("20 patterns, CPU time of the reading process, medians in turns:\n")
    table(["bytes", "`expect([...])`", "adapter and detect", "ratio"], rows)


if __name__ == "__main__":
    main()
