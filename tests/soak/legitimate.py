"""Prompts that a ground allows, of real programs, libraries and agents: in an empty pane, below a day's work (git
push, npm install, tests that are called deletes..., 400 rows and more), and below a shell's line.

What is allowed is pressed.  As much as `soak hostile` says what is not pressed: counted by what the program received,
which its exit status tells.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Sequence

from attrs import evolve

from soak.hostile_scenes.scene import Scene
from soak.hostile_scenes.staged import PATIENCE_S, Result, Room, Stage, worked
from soak.legitimate_prompts import POLICIES, Prompt, persons, prompts
from soak.parts import Figure, Part, Run
from stallkit.press.check import check_session
from stallkit.transports.tmux.pane import TmuxTransport

PANES = ("an empty pane", "a pane with a day's work", "below a shell's line")
PERSONS = "a person's"
AFTER_S = 0.6  # after its program ended, for keys that come behind the answer
REST_S = 1.0  # looks at a prompt that is a person's
WORK = "work.txt"
# What the prompt's program is run by, each command in the foreground as a shell runs it: its status is kept, then
# whatever comes behind the answer.
ASKS = "set -m\n{script}\nprintf %s $? > status.new; mv status.new status; stty raw -echo; exec cat > extra\n"

Job = tuple[int, str, Prompt]


def soak(run: Run) -> list[Figure]:
    _days_work(run.folder)
    asked = list(prompts())[: run.size]
    work = [(pane, prompt) for prompt in asked for pane in PANES]
    work += [(PERSONS, prompt) for prompt in persons()[: run.size]]
    jobs = [(number, pane, prompt) for number, (pane, prompt) in enumerate(work)]
    return _figures(worked(run, jobs, POLICIES, _tried), len(asked))


def _days_work(folder: Path) -> None:
    """A day's work, done once on a terminal of its own, as its rows come to one."""
    home = folder / "day"
    home.mkdir()
    script = Path(__file__).with_name("days_work.sh")
    done = ["script", "-qec", f"stty cols 80 rows 24; PY={sys.executable} bash {script}", "/dev/null"]
    found = subprocess.run(done, cwd=home, capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=120)
    assert found.stdout.count(b"\n") > 400, found.stdout.decode()[-2000:]
    (folder / WORK).write_bytes(found.stdout)


def _scene(prompt: Prompt, pane: str) -> Scene:
    files = {**prompt.files, "ask": ASKS.format(script=prompt.script)}
    scene = Scene(name=prompt.name, run="bash ask", shows=prompt.shows, session=prompt.session, files=files, reads=True)
    if pane == PANES[1]:
        return evolve(scene, run=f"cat ../../{WORK}; bash ask")
    if pane == PANES[2]:
        rc = "PS1='dev@box:~/app$ '; unset HISTFILE\necho 'On branch main'; ls -l\n"
        run = "exec bash --noprofile --rcfile rc -i"
        return evolve(scene, run=run, files={**files, "rc": rc}, ready="app$", typed="bash ask", enters=True)
    return scene


def _tried(room: Room, job: Job) -> Result:
    number, pane, prompt = job
    home = room.home(number)
    result = Result(pane, prompt.name, prompt.policy)
    stage = Stage(room.server, _scene(prompt, pane), home)
    try:
        stage.begin(room.bin)
        _look(stage, room, prompt, result, patience_s=REST_S if pane == PERSONS else PATIENCE_S)
        status = home / "status"
        until = time.monotonic() + PATIENCE_S * result.said
        while not status.exists() and time.monotonic() < until:
            time.sleep(0.05)
        if result.said:
            time.sleep(AFTER_S)
        result.got = [(home / "extra").read_bytes() if (home / "extra").exists() else b""]
        result.asked = status.exists() and status.read_text() == "0"
        if not result.asked:
            stage.measure(result)
            result.reasons.append(stage.screen[-300:])
    except AssertionError as error:
        result.fault = str(error)
    finally:
        stage.end()
    return result


def _look(stage: Stage, room: Room, prompt: Prompt, result: Result, patience_s: float) -> None:
    transport = TmuxTransport(stage.scene.session, stage.server.options)
    until = time.monotonic() + patience_s
    while time.monotonic() < until and not result.said:
        found = check_session(transport, room.engine, room.policies[prompt.policy])
        result.reasons = [*found.verdict.reasons, str(found.decision)[:200]]
        if found.outcome is not None:
            result.reasons.append(f"{found.outcome.end}: {found.outcome.why}")
            result.said |= found.outcome.pressed


def _figures(found: Sequence[Result], count: int) -> list[Figure]:
    figures = []
    for pane in PANES:
        mine = [one for one in found if one.family == pane]
        well = [one for one in mine if one.asked and not any(one.got)]
        must = count - max(1, count // 60)
        figures.append(Figure(f"answered in {pane}", f"{len(well)} of {len(mine)}", f"{must}", len(well) >= must))
        for one in mine:
            if one not in well:
                print(f"{pane}: {one.scene} ({one.policy}): {one.got} {one.fault} {one.reasons}", file=sys.stderr)
    behind = Counter(one.scene for one in found if one.family != PERSONS and any(one.got) and one.asked)
    figures.append(Figure("got more than the answer", str(behind.total()), "0", not behind))
    theirs = [one for one in found if one.family == PERSONS]
    pressed = [one for one in theirs if one.said or one.stray or one.pwned or one.asked]
    for one in pressed:
        print(f"a person's: {one.scene} ({one.policy}): {one.stray} {one.reasons}", file=sys.stderr)
    value = f"{len(pressed)} of {len(theirs)}"
    figures.append(Figure("prompts beside them that are a person's, and got a key", value, "0", not pressed))
    faults = [one for one in found if one.fault]
    figures.append(Figure.none("prompts that could not be staged", len(faults)))
    missing = [one.name for one in prompts(everything=True) if not all(map(shutil.which, one.needs))]
    figures.append(Figure.told("left out, as its program is not there", ", ".join(missing) or "none"))
    return figures


PART = Part(__doc__, "prompts, in each of three panes", full=len(prompts()), short=8, soak=soak)
