"""A sandbox writes files while it is rebuilt again and again, with a fault each time: pushes are refused, the disk is
full but for a few pages, the process is killed with SIGKILL before or after a step, the changed manifest cannot
start or its program ends at once, or the work tree goes with the sandbox. What was interrupted is called again
without the fault.

A process of its own, on a small disk, has the sandbox and its faults; it prints what it counts after each, a line
of JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field
from machine_room import PROGRAMS
from rebuilt import Site
from repositories import git
from stallkit_operator.sandbox.rebuild_plan import Outcome, Step, StepState
from started import House

from soak.parts import Figure, Part, Run, Tally

# Writes a file each moment, until its end.
WRITES = 'mkdir -p agent; n=0; while :; do n=$((n + 1)); echo "$n" >agent/$(date +%s)-$$-$n; sleep 0.2; done'
FAULTS = (
    *("none", "push refused", "disk full", "kill", "kill", "kill"),
    *("start fails", "dies at once", "tree lost", "kill twice"),
)
MOST = 40  # files of ours, and of the agent, that are carried along
CHILD = """
import json, os, shutil, signal, sys
from contextlib import closing
from stallkit.config import queue_file, sandboxes_file
from stallkit_operator.queue import Queue
from stallkit_operator.sandbox.rebuild import Runner
from stallkit_operator.sandbox.sandboxes import Sandboxes
kill, lose = json.loads(sys.argv[1]), sys.argv[2]
def told(step, state, why):
    if lose and [step, state] == ["latest", "done"]:
        shutil.copytree(lose, lose + ".kept", symlinks=True)
        shutil.rmtree(lose)
    if [step, state] == kill:
        os.kill(os.getpid(), signal.SIGKILL)
with closing(Sandboxes(sandboxes_file())) as sandboxes, closing(Queue(queue_file())) as queue:
    Runner(sandboxes, queue, told).rebuild("web")
"""


@define
class Round:
    site: Site
    number: int
    chance: random.Random
    tally: Tally = field(factory=Tally)

    def fails(self, name: str, why: object) -> None:
        self.tally.fails(name, f"round {self.number}: {why}")

    def run(self) -> None:
        site, fault = self.site, self.chance.choice(FAULTS)
        self.tally[f"fault: {fault}"] += 1
        before = site.running()
        assert before is not None
        old_text = site.sandboxes.get("web").latest.text
        site.scribble(self.chance.randrange(1, 6))
        (site.work / "file").write_text(f"round {self.number}\n")
        item = site.ask(f"round {self.number}") if self.chance.random() < 0.5 else None
        wrong = "skills = ['/nowhere']" if fault == "start fails" else ""
        text = manifest(site, self.number, wrong, "exit 3" if fault == "dies at once" else WRITES)
        id = site.approve(text, item)
        ours = files(site.work)
        self._faulty(fault)
        self._repaired(fault)
        tries = 0
        while site.rows.unfinished("web") is not None and tries < 4:
            tries += 1
            self.tally["resumed"] += tries == 1
            self._child()
        self._check(id, before.id, old_text, text, ours)

    def _faulty(self, fault: str) -> None:
        if fault == "push refused":
            self.site.refuse_pushes(True)
        if fault == "disk full":
            self._fill(4096 * self.chance.randrange(0, 40))
        kills = 2 if fault == "kill twice" else 1 if fault == "kill" else 0
        for _ in range(kills):
            steps = [step for step in Step if step is not Step.FALL_BACK]
            self._child([self.chance.choice(steps), self.chance.choice([StepState.BEGUN, StepState.DONE])])
            if self.site.rows.unfinished("web") is None:
                return
        if not kills:
            self._child(lose=str(self.site.work) if fault == "tree lost" else "")

    def _repaired(self, fault: str) -> None:
        self.site.refuse_pushes(False)
        (self.site.folder / "ballast").unlink(missing_ok=True)
        kept = Path(f"{self.site.work}.kept")
        if kept.exists():
            for name, content in files(kept).items():
                if not (self.site.work / name).is_file() or (self.site.work / name).read_bytes() != content:
                    self.fails("lost", f"{name} of a tree that was lost")
            shutil.rmtree(kept)

    def _fill(self, left: int) -> None:
        with (self.site.folder / "ballast").open("wb") as ballast, contextlib.suppress(OSError):
            disk = os.statvfs(self.site.folder)
            os.posix_fallocate(ballast.fileno(), 0, max(4096, disk.f_bavail * disk.f_frsize - left))

    def _child(self, kill: list[Any] | None = None, lose: str = "") -> None:
        words = [sys.executable, "-c", CHILD, json.dumps([str(one) for one in kill or []]), lose]
        subprocess.run(words, check=False, capture_output=True, timeout=300)

    def _check(self, id: int, old: str, old_text: str, text: str, ours: dict[str, bytes]) -> None:
        site, rebuilding = self.site, self.site.rows.get(id)
        assert rebuilding is not None
        rows, running = site.rows.rows(id), site.running()
        now = site.sandboxes.get("web").latest.text
        replaced = rebuilding.outcome == Outcome.REPLACED
        self.tally["rebuilds"] += 1
        self.tally[str(rebuilding.outcome)] += 1
        if running is None or rebuilding.outcome is None or len(panes(site)) != 1:
            facts = site.rows.facts(id, Step.START)
            self.fails("unsound", f"{rebuilding.outcome}, {running}, panes {panes(site)}, {rows}, {facts}")
        elif replaced and (running.id == old or now != text):
            self.fails("unsound", "the replacement does not run")
        elif not replaced and now != old_text:
            self.fails("unsound", "it does not run as it was")
        if Step.TEARDOWN in rows and rows.get(Step.READ_BACK) is not StepState.DONE:
            self.fails("early", rows)
        self.tally["files"] += len(ours)
        for name in site.lost(ours):
            self.fails("lost", name)
        if replaced:
            self.tally["pushed"] += len(ours)
            for name in site.unpushed(ours, f"refs/stallkit/web/{id}"):
                self.fails("unpushed", name)
        if running is None:
            site.start(manifest(site, self.number, "# after a failure"))
        for folder in ("d0", "d1", "d2", "agent"):
            for path in sorted((site.work / folder).glob("*"))[:-MOST]:
                path.unlink()


def manifest(site: Site, number: int, line: str = "", script: str = WRITES) -> str:
    return site.text(f"# round {number}", line, command=["sh", "-c", script])


def files(work: Path) -> dict[str, bytes]:
    """What is in a work tree, without its repository."""
    return {
        str(path.relative_to(work)): path.read_bytes()
        for path in work.rglob("*")
        if path.is_file() and not path.is_symlink() and ".git" not in path.parts and ".stallkit" not in path.parts
    }


def panes(site: Site) -> list[str]:
    words = ["tmux", "-S", str(site.socket), "list-panes", "-a", "-F", "#{session_name}"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.split()


def main() -> None:
    folder, size, programs = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    chance = random.Random(f"rebuild {size}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        house = House(folder, patch)
        site = Site(folder, house.socket)
        try:
            site.start(manifest(site, 0))
            for number in range(1, size + 1):
                one = Round(site, number, chance)
                one.run()
                print(json.dumps(one.tally), flush=True)
                if number % 25 == 0:
                    git(site.far, "gc", "-q")
        finally:
            site.close()
            house.end()


ROOT = Path(__file__).resolve().parents[1]
# A disk of its own, seen by nobody else, which can be full.
ON_A_DISK = 'mount -t tmpfs -o size=96m,mode=0700 tmpfs "$0" && exec "$@"'


def soak(run: Run) -> list[Figure]:
    disk = run.folder / "disk"
    disk.mkdir()
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ON_A_DISK, str(disk)]
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import soak.rebuild as it; it.main()"
    command += [sys.executable, "-c", code, str(disk), str(run.size), str(PROGRAMS)]
    tally = Tally()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for done, line in enumerate(child.stdout, 1):
            tally.update(json.loads(line))
            run.tell(min(done, run.size))
    return _figures(tally, run.size, child.returncode)


def _figures(tally: Tally, size: int, code: int) -> list[Figure]:
    def none(name: str, key: str, of: int) -> Figure:
        return Figure.none(name, tally[key], of)

    faults = ", ".join(f"{key[7:]} {n}" for key, n in sorted(tally.items()) if key.startswith("fault: "))
    whole = code == 0 and tally["rebuilds"] == size
    return [
        Figure("rebuilds", f"{tally['rebuilds']} of {size}: {faults}", "all", whole),
        Figure("interrupted, and gone on with", f"{tally['resumed']}", "some", True),
        Figure.told("ended with the replacement running", f"{tally['replaced']}"),
        Figure.told("ended with the sandbox as it was", f"{tally['as it was']}"),
        none("ended in no sound state", "unsound", size),
        none("torn down before the work was pushed and read back", "early", size),
        none("files lost", "lost", tally["files"]),
        none("files that the remote does not have, of what was replaced", "unpushed", tally["pushed"]),
    ]


PART = Part(__doc__, "rebuilds", full=200, short=8, soak=soak)
