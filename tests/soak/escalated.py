"""A supervisor files the prompts of many panes (50 for each kill, 1,000 at most), and is killed with SIGKILL as soon
as the first new one is filed, or while `stallkit stuck reply` answers some; another takes its place.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from attrs import define, field
from queued import COMMAND, Desk
from stallkit_operator.item import Item
from stallkit_operator.queue import Queue
from terminals import Server, wait_for

from soak.held import many_files
from soak.parts import Figure, Part, Run

MOST = 1_000  # panes that wait at once
FOR_A_KILL = 50  # of them: 1,000 in the long form
ANSWERED = 20  # of them at each kill, in the long form
AT_ONCE = 5  # replies: each is a process of its own
PATIENCE_S = 300.0
# Asks again and again, each time for another part, and writes down what it gets.
ASKS = """n=0
while n=$((n + 1)); printf 'Delete part %d? [y/N] ' $n; read it; do echo "$n$it" >>"heard-$1"; done
"""


@define
class Stage:
    """The panes, the supervisor that is replaced, and the queue that outlives it."""

    folder: Path
    sessions: list[str]
    server: Server
    desk: Desk
    queue: Queue
    supervisor: subprocess.Popen[bytes]
    codes: Counter[int] = field(factory=Counter)
    waited: list[int] = field(factory=list)  # panes that waited at each kill
    told_s: list[float] = field(factory=list)  # from each start until all that wait are in the queue

    def part(self, name: str) -> int:
        return len(heard(self.folder, name)) + 1

    def open(self) -> dict[str, Item]:
        """What waits of each session; one that waits twice is an error."""
        items = self.queue.items()
        assert len({item.session for item in items}) == len(items), "a session waits twice"
        return {item.session.removeprefix("tmux:"): item for item in items}

    def missing(self, names: list[str]) -> list[str]:
        """Those of them whose prompt of now is not in the queue."""
        found = self.open()
        return [name for name in names if name not in found or asked(found[name]) != self.part(name)]

    def all_wait(self) -> None:
        begun = time.monotonic()
        wait_for(lambda: not self.missing(self.sessions), "every prompt to be filed", PATIENCE_S)
        self.told_s.append(time.monotonic() - begun)

    def restart(self) -> None:
        self.waited.append(len(self.open()))
        self.supervisor.kill()
        self.supervisor.wait()
        self.supervisor = self.desk.watch("--all")

    def replies(self, names: list[str]) -> list[subprocess.Popen[bytes]]:
        found = self.open()
        words = [COMMAND, "stuck", "reply"]
        quiet = {"env": self.desk.environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return [subprocess.Popen([*words, found[name].ref, "y"], **quiet) for name in names if name in found]

    def answer(self, names: list[str], number: int) -> None:
        """Reply to those that still ask for what they asked for before, and again where nothing was pressed."""
        deadline = time.monotonic() + PATIENCE_S
        while left := [name for name in names if self.part(name) == number]:
            assert time.monotonic() < deadline, f"part {number} is not answered by {left}"
            replies = self.replies(left[:AT_ONCE])
            self.codes.update(one.wait(PATIENCE_S) for one in replies)


def asked(item: Item) -> int:
    """The part that an item asks for; the screen may show earlier ones above it."""
    found = re.findall(r"Delete part (\d+)\?", item.words)
    return int(found[-1]) if found else 0


def soak(run: Run) -> list[Figure]:
    sessions = [f"p{number}" for number in range(min(MOST, FOR_A_KILL * run.size))]
    with many_files(), closing(Queue(run.folder / "state" / "queue.db", busy_s=30)) as queue:
        server = Server(run.folder)
        desk = Desk(run.folder, server)
        try:
            _panes(server, run.folder, sessions)
            stage = Stage(run.folder, sessions, server, desk, queue, desk.watch("--all"))
            chosen: list[str] = []
            answered = min(ANSWERED, AT_ONCE * run.size)
            for number in range(run.size):
                before, at = chosen, number * answered % len(sessions)
                chosen = sessions[at : at + answered]
                _round(stage, number, before or chosen, chosen)
                run.tell(number + 1)
            stage.all_wait()
            return _figures(run.size, stage)
        finally:
            desk.end()
            server.end()


def _panes(server: Server, folder: Path, sessions: list[str]) -> None:
    (folder / "asks").write_text(ASKS)
    for at in range(0, len(sessions), 50):  # as many words as one command may have
        words: list[str] = []
        for name in sessions[at : at + 50]:
            words += ["new-session", "-d", "-s", name, "-x", "80", "-y", "24", f"exec dash asks {name}", ";"]
        server.tmux(*words[:-1])


def _round(stage: Stage, number: int, before: list[str], chosen: list[str]) -> None:
    """Kill the supervisor once, as soon as it has filed a prompt of those that were answered `before`, or while the
    chosen ones are answered; then all wait, each once, and what is left of the chosen ones is answered."""
    if number % 2 == 0:
        wait_for(lambda: len(stage.missing(before)) < len(before), "a prompt to be filed", PATIENCE_S)
        stage.restart()
    stage.all_wait()
    part = stage.part(chosen[0])
    if number % 2:
        replies = stage.replies(chosen[:AT_ONCE])
        time.sleep(0.1 * (number % 16))  # at another moment of the answers each time
        stage.restart()
        stage.codes.update(one.wait(PATIENCE_S) for one in replies)
    stage.answer(chosen, part)


def heard(folder: Path, name: str) -> list[str]:
    """What that pane got so far, each with the number of its part."""
    file = folder / f"heard-{name}"
    return file.read_text().split() if file.exists() else []


def _figures(size: int, stage: Stage) -> list[Figure]:
    answers = {(name, number) for name in stage.sessions for number in range(1, stage.part(name))}
    prompts = answers | {(name, stage.part(name)) for name in stage.sessions}
    items = stage.queue.items(over=True, limit=100_000)
    filed = Counter((item.session.removeprefix("tmux:"), asked(item)) for item in items)
    answered = Counter((item.session.removeprefix("tmux:"), asked(item)) for item in items if item.state == "answered")
    never, again = sum(not filed[one] for one in prompts), sum(filed[one] > 1 for one in prompts)
    unkept, unheard = len(answers - answered.keys()), len(answered.keys() - answers)
    twice = sum(number > 1 for number in answered.values())
    got = (enumerate(heard(stage.folder, name), 1) for name in stage.sessions)
    other = sum(line != f"{number}y" for lines in got for number, line in lines)
    total, of, codes = len(prompts), len(answers), ", ".join(f"{code}: {n}" for code, n in sorted(stage.codes.items()))
    return [
        Figure("kills of the supervisor", f"{len(stage.waited)}", "all", len(stage.waited) == size),
        Figure.told("prompts that waited at the first kill, and at the others", _waited(stage.waited)),
        Figure.none("prompts that were never filed", never, total),
        Figure.none("prompts filed twice", again, total),
        Figure.none("answers lost: the item does not have it", unkept, of),
        Figure.none("answers that the pane did not get", unheard, of),
        Figure.none("prompts answered twice", twice, of),
        Figure.none("panes that got anything but one y for each answer", other, of),
        Figure.told("exit codes of the replies", codes),
        Figure.told("seconds until all that wait are filed", _range(stage.told_s)),
    ]


def _waited(counts: list[int]) -> str:
    """The first supervisor is killed while it files the very first prompts."""
    return f"{counts[0]:,}; {_range(counts[1:] or counts)}"


def _range(values: list[int] | list[float]) -> str:
    return f"{min(values):,.0f} to {max(values):,.0f}"


PART = Part(__doc__, "kills", full=20, short=2, soak=soak)


# --- two replies at once ---


def twice(run: Run) -> list[Figure]:
    """A supervisor files each prompt of a session; two processes of `stallkit stuck reply` answer it at once."""
    server = Server(run.folder)
    desk, codes = Desk(run.folder, server), Counter[int]()
    try:
        _panes(server, run.folder, ["one"])
        desk.watch("tmux:one")
        for number in range(1, run.size + 1):
            item = desk.item(state="input_required")
            command = [COMMAND, "stuck", "reply", f"{item['id']}@{item['revision']}", "y"]
            both = [subprocess.Popen(command, env=desk.environment, stdout=subprocess.DEVNULL) for _ in range(2)]
            codes.update(one.wait(timeout=120) for one in both)
            wait_for(lambda number=number: len(heard(run.folder, "one")) >= number, f"answer {number}")
            run.tell(number)
        got = heard(run.folder, "one")
    finally:
        desk.end()
        server.end()
    wanted = [f"{number}y" for number in range(1, run.size + 1)]
    wrong = sum(one != other for one, other in zip(got, wanted, strict=False)) + abs(len(got) - len(wanted))
    first, half = codes[0], codes.total() / 2
    return [
        Figure.none("prompts that got another answer than one y", wrong, run.size),
        Figure("answers that were told they were first", f"{first} of {codes.total()}", "half", first == half),
        Figure.told("others told: nothing pressed (2), over (4)", f"{codes[2]}, {codes[4]}"),
    ]


TWICE = Part(twice.__doc__ or "", "prompts", full=100, short=4, soak=twice)
