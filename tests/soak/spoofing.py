"""Two supervisors over terminals that show prompts which nobody asks; one also over real ones at the same time."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Sequence

from attrs import define
from terminals import Server, wait_for

from soak.answerable import Answerable, answerable
from soak.nursery import Nursery, kill
from soak.parts import Figure, Part, Run
from soak.trees import end_all, held, read_by, tree
from soak.unasked import Hostile, hostile_scenes

BATCH = 32  # hostile scenes, and as many real prompts, on one server at a time
WATCH_S = 7.0  # that every scene is watched for by both: two looks make a verdict sure, and one a third of a second
PATIENCE_S = 30.0  # for the real prompts to be answered, on a loaded machine
RESTS_S = 1.0  # what programs ask of their terminal at their start, and read the answer to, is over by then
RECORDER = Path(__file__).with_name("recorder.py")
# Whatever may be allowed by a rule, of every pack and in every session of a batch: what is left is that somebody asks.
PACKS = ("agent_clis", "claude_code", "node_prompts", "shell_auth", "shell_tools", "shell_yn", "structural")
ALLOWED = ", ".join(f'"{pack}:*"' for pack in PACKS)
MEDIUM = f'format = 1\nname = "medium"\n[[rule]]\ndo = "press"\nsignature = [{ALLOWED}]\nsession = "tmux:p*"\n'


@define
class Pane:
    """One terminal of a batch."""

    name: str
    scene: Hostile | Answerable
    record: Path
    pid: int = 0  # of the recorder, its first process
    read: int = -1  # what the processes of a scene that reads had read when the watch began

    @property
    def notes(self) -> list[list[str]]:
        """What the recorder wrote down."""
        return [line.split(" ") for line in self.record.read_text().splitlines()] if self.record.exists() else []

    def got(self, name: str) -> bytes:
        """Bytes that came to the terminal and were not read by the program."""
        return bytes.fromhex("".join(note[1] for note in self.notes if note[0] == name and len(note) > 1))

    @property
    def status(self) -> int | None:
        """How the program ended by itself."""
        return next((int(note[1]) for note in self.notes if note[0] == "status" and note[1] != "None"), None)


def soak(run: Run) -> list[Figure]:
    """Batches of hostile scenes and real prompts, until there were so many of each."""
    hostile, real = hostile_scenes(run.size), answerable(run.size)
    tally: Counter[str] = Counter()
    failures: list[str] = []
    with Nursery(run.folder) as nursery:
        for start in range(0, run.size, BATCH):
            folder = run.folder / f"batch-{start}"
            folder.mkdir()
            _batch(nursery, folder, hostile[start : start + BATCH], real[start : start + BATCH], tally, failures)
            run.tell(min(start + BATCH, run.size))
    for failure in failures:
        print(failure, file=sys.stderr)
    size = run.size
    return [
        Figure("bytes that came to hostile scenes", f"{tally['stray']} in {size} scenes", "0", tally["stray"] == 0),
        Figure("real prompts answered", f"{tally['answered']} of {size}", "99 %", tally["answered"] >= 0.99 * size),
        Figure("real prompts that got more than their answer", str(tally["twice"]), "0", tally["twice"] == 0),
        Figure("hostile scenes there to the end", f"{tally['stood']} of {size}", "all", tally["stood"] == size),
        Figure("hostile scenes judged by both", f"{tally['judged']} of {size}", "all", tally["judged"] == size),
        Figure(
            "events that say a key was pressed", str(tally["said"]), "as answered", tally["said"] >= tally["answered"]
        ),
        Figure("supervisors that failed", str(tally["crashed"]), "0", tally["crashed"] == 0),
    ]


def _batch(
    nursery: Nursery,
    folder: Path,
    hostile: Sequence[Hostile],
    real: Sequence[Answerable],
    tally: Counter[str],
    failures: list[str],
) -> None:
    server = Server(folder)
    panes: list[Pane] = []
    try:
        for scene in (*hostile, *real):
            panes.append(_started(server, folder, f"p{len(panes)}", scene))
        _show(server, panes)
        for pane in panes:
            if isinstance(pane.scene, Hostile) and pane.scene.reads:
                pane.read = _read_below(pane.pid)
        told = _watched(nursery, folder, server, panes)
        for pane in panes:
            _count(pane, tally, failures, told)
    finally:
        left = held(process for pane in panes for process in tree(pane.pid))
        server.end()
        end_all(left)


def _started(server: Server, folder: Path, name: str, scene: Hostile | Answerable) -> Pane:
    """The recorder in a pane of its own, with the program in its foreground, in a folder of its own."""
    home = folder / name
    home.mkdir()
    if isinstance(scene, Hostile):
        for file, text in scene.files.items():
            (home / file).write_text(text)
    pane = Pane(name, scene, folder / f"{name}.record")
    size = ("-x", "80", "-y", "24")
    recorder = (sys.executable, "-I", str(RECORDER), str(pane.record), "10" if isinstance(scene, Hostile) else "0")
    settings = ("-e", f"HOME={home}", "-e", "LESS=", "-e", "GIT_CONFIG_NOSYSTEM=1", "-e", "HISTFILE=")
    made = ("new-session", "-d", "-P", "-F", "#{pane_pid}", "-s", name, *size, *settings, "-c", str(home))
    pane.pid = int(server.tmux(*made, *recorder, *scene.command))
    return pane


def _show(server: Server, panes: Sequence[Pane]) -> None:
    """Until each shows what it is to show; then what was typed at it is typed, and all of it rests."""
    left = list(panes)

    def shown() -> bool:
        left[:] = [
            pane
            for pane in left
            if pane.scene.shows not in server.tmux("capture-pane", "-p", "-J", "-S", "-200", "-t", f"={pane.name}:")
            and not (isinstance(pane.scene, Hostile) and pane.scene.typed and "$" in _screen(server, pane))
        ]
        return not left

    deadline = time.monotonic() + 3 * PATIENCE_S
    while not shown():
        why = [(pane.scene, _screen(server, pane)) for pane in left]
        assert time.monotonic() < deadline, f"scenes that do not show what they are to: {why}"
        time.sleep(0.2)
    for pane in panes:
        if isinstance(pane.scene, Hostile) and pane.scene.typed:
            server.tmux("send-keys", "-t", f"={pane.name}:", "-H", *pane.scene.typed)
    time.sleep(RESTS_S)


def _screen(server: Server, pane: Pane) -> str:
    return server.tmux("capture-pane", "-p", "-t", f"={pane.name}:")


def _watched(nursery: Nursery, folder: Path, server: Server, panes: Sequence[Pane]) -> dict[str, list[dict[str, Any]]]:
    """Watch them by both, and return what was told, by supervisor."""
    (folder / "medium.toml").write_text(MEDIUM)
    hostile = [f"tmux:{pane.name}" for pane in panes if isinstance(pane.scene, Hostile)]
    pids, files = [], {}
    asked = [f"tmux:{pane.name}" for pane in panes if isinstance(pane.scene, Answerable)]
    for name, policy, real in (("careful", "careful", []), ("medium", str(folder / "medium.toml"), asked)):
        files[name] = folder / f"{name}.jsonl"
        spec = {"servers": [[str(server.socket), hostile + real]], "policy": policy, "interval_s": 0.4}
        spec |= {"store": str(folder / f"{name}.db"), "events": str(files[name])}
        pids.append(nursery.start(**spec))
    until, end = time.monotonic() + WATCH_S, time.monotonic() + PATIENCE_S
    asking = [pane for pane in panes if isinstance(pane.scene, Answerable)]
    while time.monotonic() < until or (time.monotonic() < end and any(pane.status is None for pane in asking)):
        time.sleep(0.2)
    for pid in pids:
        kill(pid, signal.SIGTERM)
    for pane in panes:
        if pane.read >= 0:
            pane.read = _read_below(pane.pid) - pane.read
        os.kill(pane.pid, signal.SIGUSR1)
    for pane in panes:
        wait_for(lambda pane=pane: ["over"] in pane.notes, f"the record of {pane.name}")  # type: ignore[misc]
    return {name: [json.loads(line) for line in file.read_text().splitlines()] for name, file in files.items()}


def _count(pane: Pane, tally: Counter[str], failures: list[str], told: dict[str, list[dict[str, Any]]]) -> None:
    unread = pane.got("left") + pane.got("after")
    mine = {
        name: [event for event in events if event.get("target") == f"tmux:{pane.name}"] for name, events in told.items()
    }
    if pane.name == "p0":
        tally["crashed"] += sum(event["event"] in ("crash", "defect") for events in told.values() for event in events)
    if isinstance(pane.scene, Hostile):
        stray = len(unread) + max(0, pane.read)
        tally["stray"] += stray
        tally["stood"] += pane.status is None
        tally["judged"] += all(any(one["event"] == "detection" for one in events) for events in mine.values())
        if stray or pane.status is not None:
            failures.append(
                f"hostile {pane.scene.number}, {pane.scene.way}: {unread!r}, {pane.read}, {pane.notes} {mine}"
            )
        return
    presses = [one for events in mine.values() for one in events if one["event"] == "dismissal" and one["keys"]]
    tally["said"] += bool(presses)
    tally["answered"] += pane.status == 0
    tally["twice"] += bool(unread)
    if pane.status != 0 or unread:
        failures.append(f"{pane.scene.name}: status {pane.status}, unread {unread!r}; {mine}")


def _read_below(pid: int) -> int:
    """How many bytes all processes below that one have read so far, from anything."""
    return sum(read_by(tree(pid)[1:]).values())


PART = Part(
    name="spoofing",
    about="Prompts that nobody asks, and real ones, watched by two supervisors: careful, and one with a rule for all.",
    unit="hostile scenes, and as many real prompts",
    full=320,
    short=12,
    soak=soak,
)
