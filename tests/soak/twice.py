"""A supervisor files each prompt of a session; two processes of `stallkit stuck reply` answer it at once."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

from queued import COMMAND, Desk
from terminals import Server, wait_for

from soak.parts import Figure, Part, Run

# Asks again and again, each time for another part, and writes down what it gets.
ASKS = 'n=0; while read -p "Delete part $((n += 1))? [y/N] " it; do echo "$n$it" >>heard; done'


def soak(run: Run) -> list[Figure]:
    server = Server(run.folder)
    desk = Desk(run.folder, server)
    heard, codes = run.folder / "heard", Counter[int]()
    try:
        server.start("one", "bash", "-c", f"cd {run.folder}; {ASKS}", shows="part 1?")
        desk.watch("tmux:one")
        for number in range(1, run.size + 1):
            item = desk.item(state="input_required")
            command = [COMMAND, "stuck", "reply", f"{item['id']}@{item['revision']}", "y"]
            both = [subprocess.Popen(command, env=desk.environment, stdout=subprocess.DEVNULL) for _ in range(2)]
            codes.update(one.wait(timeout=120) for one in both)
            wait_for(lambda number=number: len(_heard(heard)) >= number, f"answer {number}")
            run.tell(number)
        got = _heard(heard)
    finally:
        desk.end()
        server.end()
    wanted = [f"{number}y" for number in range(1, run.size + 1)]
    wrong = sum(one != other for one, other in zip(got, wanted, strict=False)) + abs(len(got) - len(wanted))
    others = codes.total() - codes[0]
    return [
        Figure.none("prompts that got another answer than one y", wrong, run.size),
        Figure("answers that were told they were first", f"{codes[0]} of {codes.total()}", "half", codes[0] == others),
        Figure("others told: nothing pressed (2), over (4)", f"{codes[2]}, {codes[4]}", "half", True),
    ]


def _heard(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []


PART = Part(__doc__, "prompts", full=100, short=4, soak=soak)
