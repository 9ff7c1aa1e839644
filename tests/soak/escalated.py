"""Prompts of real sessions that a supervisor files and a person answers, while the supervisor is killed."""

from __future__ import annotations

import re
import subprocess
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Iterator

from attrs import define, field
from queued import COMMAND, Desk
from terminals import Server, wait_for

from soak.parts import Figure, Part, Run
from stallkit.stuck.item import Item
from stallkit.stuck.queue import Queue

SESSIONS = ("one", "two", "three")
PATIENCE_S = 120.0
# Asks again and again, each time for another part, and writes down what it gets.
ASKS = 'n=0; while read -p "Delete part $((n += 1))? [y/N] " it; do echo "$n$it" >>heard-{name}; done'


@define
class Stage:
    """The sessions, the supervisor that is replaced, and the queue that outlives it."""

    folder: Path
    server: Server
    desk: Desk
    queue: Queue
    supervisor: subprocess.Popen[bytes]
    codes: Counter[int] = field(factory=Counter)

    def open(self, number: int) -> dict[str, Item]:
        """The open items that ask for that part, by session."""
        return {item.session: item for item in self.queue.items() if asked(item) == number}

    def restart(self) -> None:
        self.supervisor.kill()
        self.supervisor.wait()
        self.supervisor = watch(self.desk)

    def replies(self, items: list[Item]) -> list[subprocess.Popen[bytes]]:
        words = [COMMAND, "stuck", "reply"]
        quiet = {"env": self.desk.environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return [subprocess.Popen([*words, item.ref, "y"], **quiet) for item in items]

    def answer(self, number: int) -> None:
        """Reply to all that ask for that part, and again where nothing was pressed."""
        deadline = time.monotonic() + PATIENCE_S
        while len(self.heard()) < number * len(SESSIONS):
            assert time.monotonic() < deadline, f"part {number} is not answered everywhere: {self.heard()[-4:]}"
            replies = self.replies(list(self.open(number).values()))
            self.codes.update(one.wait(PATIENCE_S) for one in replies)
            time.sleep(0.05)

    def heard(self) -> list[tuple[str, str]]:
        """What the sessions got: the session, and the part with the answer."""
        return [(name, line) for name in SESSIONS for line in _lines(self.folder / f"heard-{name}")]


def asked(item: Item) -> int:
    """The part that an item asks for; the screen may show earlier ones above it."""
    found = re.findall(r"Delete part (\d+)\?", item.words)
    return int(found[-1]) if found else 0


def watch(desk: Desk) -> subprocess.Popen[bytes]:
    return desk.watch(*(f"tmux:{name}" for name in SESSIONS))


def soak(run: Run) -> list[Figure]:
    server = Server(run.folder)
    desk = Desk(run.folder, server)
    with closing(Queue(run.folder / "state" / "queue.db", busy_s=30)) as queue:
        try:
            for name in SESSIONS:
                script = f"cd {run.folder}; {ASKS.format(name=name)}"
                server.start(name, "bash", "-c", script, shows="part 1?")
            stage = Stage(run.folder, server, desk, queue, watch(desk))
            for number in range(1, run.size + 1):
                _round(stage, number)
                run.tell(number)
            wait_for(lambda: len(stage.open(run.size + 1)) == len(SESSIONS), "the prompts after the last", PATIENCE_S)
            return _figures(run.size, stage)
        finally:
            desk.end()
            server.end()


def _round(stage: Stage, number: int) -> None:
    """Kill the supervisor once: as soon as it has filed a prompt, or while the prompts are answered."""
    if number % 2:
        wait_for(lambda: stage.open(number), f"a prompt {number}", PATIENCE_S)
        stage.restart()
    wait_for(lambda: len(stage.open(number)) == len(SESSIONS), f"all prompts {number}", PATIENCE_S)
    if number % 2 == 0:
        replies = stage.replies(list(stage.open(number).values()))
        time.sleep(0.1 * (number % 16))  # at another moment of the answers each time
        stage.restart()
        stage.codes.update(one.wait(PATIENCE_S) for one in replies)
    stage.answer(number)


def _lines(file: Path) -> Iterator[str]:
    return iter(file.read_text().split() if file.exists() else [])


def _figures(size: int, stage: Stage) -> list[Figure]:
    prompts = [(f"tmux:{name}", number) for name in SESSIONS for number in range(1, size + 1)]
    items = stage.queue.items(over=True, limit=100_000)
    filed = Counter((item.session, asked(item)) for item in items)
    answered = Counter((item.session, asked(item)) for item in items if item.state == "answered")
    heard = Counter(stage.heard())
    wanted = {(name, f"{number}y") for name in SESSIONS for number in range(1, size + 1)}
    lost, again = sum(not filed[one] for one in prompts), sum(filed[one] > 1 for one in prompts)
    unanswered, twice = sum(not answered[one] for one in prompts), sum(answered[one] > 1 for one in prompts)
    unheard = sum(not heard[one] for one in wanted)
    other = sum(heard.values()) - sum(heard[one] > 0 for one in wanted)
    keys = twice + other
    total, codes = len(prompts), ", ".join(f"{code}: {number}" for code, number in sorted(stage.codes.items()))
    return [
        Figure("kills of the supervisor", f"{size}", "all", True),
        Figure("prompts that were never filed", f"{lost} of {total}", "0", lost == 0),
        Figure("prompts filed twice", f"{again} of {total}", "0", again == 0),
        Figure("answers lost: the item does not have it", f"{unanswered} of {total}", "0", unanswered == 0),
        Figure("answers that the session did not get", f"{unheard} of {total}", "0", unheard == 0),
        Figure("prompts answered twice, in the queue or with a key", f"{keys} of {total}", "0", keys == 0),
        Figure("exit codes of the replies", codes, "told", True),
    ]


PART = Part(
    name="escalated",
    about="A supervisor files the prompts of three sessions, and is killed with SIGKILL as soon as the first of them "
    "is filed, or while `stallkit stuck reply` answers them; another takes its place.",
    unit="kills",
    full=20,
    short=2,
    soak=soak,
)
