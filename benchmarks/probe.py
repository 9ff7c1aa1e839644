"""What one look at the kernel's facts costs: `python benchmarks/probe.py`.

A pane with a number of processes in its foreground group, and beside it idle processes that every look passes by.
CPU time of this process, median of many looks.  The unit of the ratio is one read of /proc/self/stat.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from timing import interleaved, table

from stallkit.probes import foreground_job
from stallkit.probes.readers import tty_facts
from stallkit.transports.pty import PtyTransport

READER = "import os; os.read(0, 1)"
POLLER = "import select, tty; tty.setraw(0); e = select.epoll(); e.register(0, select.EPOLLIN); e.poll()"
PATIENCE_S = 20.0


def group_of(count: int, code: str) -> PtyTransport:
    """A program with `count` processes in its group, each with the terminal open, once all of them are there."""
    forks = f"import os\nfor _ in range({count - 1}):\n    if not os.fork(): break\n{code}"
    transport = PtyTransport.spawn([sys.executable, "-c", forks])
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        facts = foreground_job.probe(transport.fileno(), pid_of(transport))
        if len(facts.members) == count and facts.listening:
            return transport
        time.sleep(0.02)
    raise SystemExit(f"the {count} processes did not start: {facts}")


def pid_of(transport: PtyTransport) -> int:
    facts = transport.capture().process
    if facts is None or facts.pid is None:
        raise SystemExit("the program did not start")
    return facts.pid


def main() -> None:
    rows = []
    for bystanders in (0, 500):
        idle = [subprocess.Popen(["sleep", "1000"]) for _ in range(bystanders)]
        for count, what, code in ((1, "read", READER), (10, "read", READER), (10, "epoll", POLLER)):
            transport = group_of(count, code)
            pid, master = pid_of(transport), transport.fileno()
            path = os.readlink(f"/proc/{pid}/fd/0")  # noqa: PTH115
            taken = interleaved(
                {
                    "stat": Path("/proc/self/stat").read_text,
                    "process": lambda master=master, pid=pid: foreground_job.probe(master, pid),
                    "tty": lambda path=path: tty_facts(path),
                }
            )
            everybody = sum(name.isdecimal() for name in os.listdir("/proc"))  # noqa: PTH208
            figures = [f"{taken[name] * 1_000:.3f}" for name in ("process", "tty")]
            rows.append([str(count), what, str(everybody), *figures, f"{taken['process'] / taken['stat']:.0f}"])
            transport.close()
        for one in idle:
            one.kill()
            one.wait()
    table(["in the group", "wait in", "in /proc", "process, ms CPU", "tty, ms CPU", "process, in reads of stat"], rows)


if __name__ == "__main__":
    main()
