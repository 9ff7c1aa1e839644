"""One live agent: started in a session of its own, driven into each of its scenes, answered as a person answers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from itertools import count
from pathlib import Path

import others  # the modules of corpora/agents
from attrs import evolve
from turns import COMPOSER, squeezed

from live_agents.cast import Actor, start
from live_agents.model import Model
from live_agents.scenes import FIRST, GAVE_UP, KEPT, OFFERS, Scene, interrupt
from live_agents.scoring import CAN_BE_ALLOWED, tells
from live_agents.screens import Screens, Shown
from live_agents.supervisor import Supervisor
from live_agents.truth import Moment
from stallkit.errors import StallkitError
from stallkit.packs.screenfile import front_of, render_screen
from stallkit.transports.base import Options
from stallkit.transports.tmux.pane import TmuxTransport

START_S = 150.0
REACH_S = 60.0  # for a state to be reached
TOLD_S = 15.0  # for a person to be told of it, somewhat more than it may take
RETRYING_S = 75.0  # what tries again by itself is told later
AWAY_S, BACK_S = 45.0, 150.0  # for its model to be away, and to be heard again: Gemini tries less and less often
DONE_S = 11.0  # nothing may be told for so long
LINGER_S = 1.5  # after it was told: more would be too much
PATIENT_S = 10.0  # under a patient policy, which may do something then
ALLOWED_S = 25.0  # where a rule may answer: a bullet that blinks above it refuses some of its tries
CLEARED_S = 7.0
REST_S, FAILED_REST_S, STOPPED_S = 1.2, 3.0, 8.0
AT_WORK_S = 5.0  # in which it is seen at work
LEFT_S = 8.0  # for an answered dialog to leave the pane, on a busy machine
STATES = {None: "idle", "waits": "waiting", "ended": "ended", "limit": "quota", "hung": "working"}
STATES |= {"asks": "idle", "failed": "idle", "done": "idle", "retrying": "working"}
HERE = rf"{COMPOSER}|^User|help with\?|^\w*>(\s|$)"  # its composer
OWN = re.compile(r"go on with part \d+|^hello$")  # what the person types
THANKS = {"text": "All right, that is all."}


class Player(others.Stage):
    """`play` goes through all of its scenes; `moments` is what was true, and when."""

    starting = threading.Semaphore(2)  # at a time: to start is most of an agent's work

    def __init__(self, actor: Actor, programs: Path, screens: Screens, supervisor: Supervisor, kept: Path) -> None:
        told = start(actor)
        self.actor, self.model, self.moments = actor, Model(told.model, told.tools), list[Moment]()
        self._screens, self._supervisor, self._kept, self._numbers = screens, supervisor, kept, count(1)
        files = {f"~/{place}": self._filled(text) for place, text in told.files.items()}
        files |= {f"{KEPT}/kept.txt": "kept\n", "build/out.txt": "built\n"}
        files["package.json"] = json.dumps({"scripts": {"agent": told.command}})
        env = {name: self._filled(text) for name, text in told.env.items()}
        scene = {"folder": actor.agent, "project": "proj", "files": files, "env": env}
        super().__init__(actor.name, scene, actor.size, programs, Path(os.devnull))
        self._back = ""
        self._launch = actor.launch.replace("AGENT", told.command).replace("$HOME_NAME", self.home.name)
        self._programs = (programs / actor.agent, (programs / actor.agent).resolve())

    def _filled(self, text: str) -> str:
        return text.replace("$MODEL", self.model.url)

    @property
    def target(self) -> str:
        return f"tmux:{self.actor.name}"

    def screen(self) -> str:
        return self._screens.of(self.actor.name).text

    def play(self) -> None:
        """All scenes; one that is not reached is noted, and the next is tried."""
        with self.starting:
            self.keys("-l", self._launch)
            self.keys("Enter")
            if not self.actor.first and not self._ready():
                self._unreached("start", None)
                return
        if self.actor.first:
            for scene in FIRST[self.actor.first]:
                if not self._scene(scene):
                    break
        for scene in self.actor.plays:
            self._scene(scene)

    # ---- the start

    def _ready(self) -> bool:
        """Whether it came to its composer and took a first prompt."""
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            self._rests(2.0, 20)
            offered = next((one for one in OFFERS if self._sees(one.shows.get(self.actor.agent, r"(?!)"))), None)
            if offered:
                self._meet(offered, self._shown.since)
            elif self._sees(HERE):
                break
        self.model.reply = {"text": "Hello! The project is a retry helper and its tests."}
        while not self.model.requests and time.monotonic() < until:
            if not self._sees("hello"):  # some draw their composer before they read
                self.keys("-l", "hello")
                time.sleep(0.6)
            self.keys("Enter")
            self._screens.wait(lambda: bool(self.model.requests), 5)
        return bool(self.model.requests) and self._rests(REST_S, REACH_S)

    def _rests(self, rest: float, seconds: float) -> bool:
        return self._screens.wait(lambda: time.time() - self._shown.since >= rest and bool(self._shown.text), seconds)

    @property
    def _shown(self) -> Shown:
        return self._screens.of(self.actor.name)

    # ---- a scene

    def _scene(self, scene: Scene) -> bool:
        """Drive it there and meet it; whether it was reached."""
        asked = len(self.model.asked)
        if (scene.by or scene.busy) and not self.actor.first:
            self.model.reply = scene.reply(self.actor.agent)
            if self.model.reply.get("closed"):
                self.model.close()
            self._prompt()
        appeared = self._appears(scene, asked) if scene.by or scene.busy else time.time()
        if scene.kills and appeared is not None:
            if scene.busy:
                self._screens.wait(lambda: False, AT_WORK_S)
            appeared = self._crash()
        if appeared is None:
            self._unreached(scene.name, scene.what)
            self._leave(scene)
            return False
        self._meet(scene, appeared)
        return True

    def _meet(self, scene: Scene, appeared: float) -> None:
        """Wait until somebody is told of what appeared, answer, wait until that is seen."""
        allows = scene.by_policy.get(self._supervisor.policy, ())
        moment = Moment(self.actor.name, self.actor.agent, scene.name, scene.what, appeared, allows=allows)
        heard = len(self.model.requests)
        self._hold(scene, moment)
        if self._stopped(scene):
            self.moments.append(evolve(moment, ended=self._shown.since))
            self._meet(GAVE_UP, self._shown.since)
            return
        if self._gone(scene):
            moment = evolve(moment, ended=self._shown.since)
            self._screens.wait(lambda: len(self.model.requests) > heard, 5)
            moment = evolve(moment, taken=self._taken(heard))
        else:
            moment = evolve(moment, taken=self._taken(heard))
            pressed, left = self._leave(scene)
            moment = evolve(moment, answered=left, ended=pressed or time.time())
        lost = not (self.home / "proj" / KEPT / "kept.txt").exists()
        self.moments.append(evolve(moment, lost=lost))
        self._say(f"{scene.name}: {'told' if self._told(moment) else 'not told'}")
        back_s = BACK_S if scene.by == "model" else 0.0
        if scene.then and (not back_s or self._screens.wait(lambda: self._sees(self._back), back_s)):
            came = time.time()
            self._rests(REST_S, 20)
            self._meet(scene.then, came if back_s else self._shown.since)
        if scene.by:
            self._screens.wait(lambda: self._is("cleared", moment.ended), CLEARED_S if self._told(moment) else 1.0)
            if not self.actor.first:
                self._rests(REST_S, 20)

    def _prompt(self) -> None:
        """Ask it to go on, in words that were not used before."""
        if self.actor.agent == "gptme":  # what is typed while it does not read is lost
            self._screens.wait(lambda: self.screen().rstrip().endswith("User:"), REACH_S)
        self.keys("-l", f"go on with part {next(self._numbers)}")
        time.sleep(0.6)
        self.keys("Enter")

    def _appears(self, scene: Scene, asked: int) -> float | None:
        """When it came to what it was driven into; None: it never did."""
        shows = scene.shows.get(self.actor.agent)
        if self.model.closed and scene.busy:
            return time.time()
        if scene.busy:
            heard = self._screens.wait(lambda: len(self.model.asked) > asked, REACH_S)
            return self.model.asked[asked] if heard else None
        if scene.fails:

            def failed() -> bool:
                new = self.model.asked[asked:]
                at_rest = time.time() - max([self._shown.since, *new]) >= FAILED_REST_S
                return at_rest and bool(new or self.model.closed) and (not shows or self._sees(shows))

            return self._shown.since if self._screens.wait(failed, REACH_S) else None
        if shows:
            return self._shown.since if self._screens.wait(lambda: self._sees(shows), scene.reach_s) else None
        last = squeezed(self.model.reply["text"])[-12:]

        def said() -> bool:
            at_rest = time.time() - self._shown.since >= REST_S
            lines = [squeezed(line) for line in self.screen().split("\n")]
            return at_rest and (last in "".join(lines) or any(last[-5:] in line for line in lines))

        return self._shown.since if self._screens.wait(said, REACH_S) else None

    def _sees(self, pattern: str) -> bool:
        return re.search(pattern, self.screen(), re.MULTILINE) is not None

    def _hold(self, scene: Scene, moment: Moment) -> None:
        """Until it was told, or answered by the policy, or took too long."""
        if moment.what is None:
            self._screens.wait(lambda: False, moment.appeared + DONE_S - time.time())
            return
        takes = {"hung": self._supervisor.hung_after_s + 35, "retrying": RETRYING_S}.get(moment.what, TOLD_S)
        takes = AWAY_S if scene.by == "model" else takes

        def over() -> bool:
            return (self._told(moment) and scene.by != "model") or self._gone(scene) or self._stopped(scene)

        if not self._screens.wait(over, moment.appeared + takes - time.time()):
            self._keep(moment)
            if scene.what == "retrying":  # it may have given up just now
                self._screens.wait(lambda: self._stopped(scene) or self._moves(), STOPPED_S)
        patient = self._supervisor.policy == "daemon" and scene.by in ("keys", "text")
        linger = PATIENT_S if patient else LINGER_S
        if moment.allows and moment.agent in CAN_BE_ALLOWED:
            linger = ALLOWED_S
        self._screens.wait(lambda: self._gone(scene), linger)

    def _told(self, moment: Moment) -> bool:
        return any(
            tells(one, moment) or (one["event"] == "dismissal" and one.get("keys"))
            for one in self._supervisor.since(self.target, moment.appeared - 0.5)
        )

    def _is(self, name: str, at: float) -> bool:
        return any(one["event"] == name for one in self._supervisor.since(self.target, at - 0.5))

    def _moves(self) -> bool:
        return time.time() - self._shown.since < REST_S

    def _stopped(self, scene: Scene) -> bool:
        """Whether it no longer tries what it tried again and again: nothing turns any more."""
        return scene.what == "retrying" and time.time() - self._shown.since >= STOPPED_S

    def _gone(self, scene: Scene) -> bool:
        """Whether its dialog went away without the person."""
        shows = scene.shows.get(self.actor.agent)
        return scene.by == "keys" and bool(shows) and not self._sees(str(shows))

    def _taken(self, heard: int) -> tuple[str, ...]:
        """What came to the agent since, as its model heard: a tool that was allowed, or a line of somebody else."""
        new = self.model.requests[heard:]
        words = [one.texts[-1].strip() for one in new if one.texts and not one.granted]
        granted = ["Enter" for one in new if one.granted]
        return (*granted, *(word for word in words if "\n" not in word and not OWN.search(word)))

    def _leave(self, scene: Scene) -> tuple[float | None, float | None]:
        """Answer as a person does: the dialog's key, the end of the work, a text; when, and when the agent took it."""
        if self.model.closed:
            self.model.open()
        self._back = f"Back for the {len(self.moments)}th"  # said once
        self.model.reply = {"text": f"{self._back}."} if scene.by == "model" else THANKS
        shows = scene.shows.get(self.actor.agent, "")
        if scene.by == "keys":
            answered = self._press(*scene.keys)
            left = self._screens.wait(lambda: not self._sees(shows), LEFT_S)
            if not left and not self.actor.first:
                self._press("Escape")
            return answered, max(answered, self._shown.since) if left else None
        if scene.by == "busy":
            answered = self._press(*interrupt(self.actor.agent))
            self._rests(REST_S, 10)
            self._press("C-u")
            return answered, answered
        if scene.by == "text":
            before = self.model.answered
            self._prompt()
            answered = time.time()
            self._screens.wait(lambda: self.model.answered > before, 20)
            return answered, answered
        return None, None

    def _press(self, *keys: str) -> float:
        """When the last of them went out."""
        pressed = time.time()
        for key in keys:
            pressed = time.time()
            self.keys(key)
            time.sleep(0.4)
        return pressed

    def _crash(self) -> float:
        """Kill the agent itself, and nothing around it."""
        for told in Path("/proc").glob("[0-9]*"):
            try:
                home = f"HOME={self.home}".encode() in (told / "environ").read_bytes().split(b"\0")
                words = (told / "cmdline").read_text()
                runs = f"{(told / 'exe').readlink()} {words}"
                named = words.strip("\0 ") == self.actor.agent  # pi takes that name in place of its command line
                if home and (named or any(str(place) in runs for place in self._programs)):
                    os.kill(int(told.name), signal.SIGKILL)
            except (OSError, UnicodeDecodeError):
                continue
        return time.time()

    # ---- what a person is to look at

    def _unreached(self, scene: str, what: str | None) -> None:
        now = time.time()
        moment = Moment(self.actor.name, self.actor.agent, scene, what, now, now, reached=False)
        self.moments.append(moment)
        self._keep(moment)
        self._say(f"{scene}: not reached")

    def _keep(self, moment: Moment) -> None:
        """The screen as a file, as `stallkit pack capture` writes it."""
        try:
            transport = TmuxTransport(self.actor.name, Options(tmux_socket_name=others.SOCKET))
            seen = transport.capture()
            transport.close()
        except StallkitError as error:
            print(f"{moment.name}: {error}", file=sys.stderr, flush=True)
            return
        note = f"{moment.scene}; to be told: {moment.what or 'nothing'}"
        front = {**front_of(seen), "program": self.actor.agent, "state": STATES[moment.what], "note": note}
        text = render_screen(seen.screen.text, front).replace(str(self.home), "/home/dev")
        self._kept.mkdir(parents=True, exist_ok=True)
        (self._kept / f"{re.sub(r'[^a-z0-9]+', '-', moment.name.lower())}.txt").write_text(text)

    def _say(self, text: str) -> None:
        print(f"{self._supervisor.policy}: {self.actor.name}: {text}", file=sys.stderr, flush=True)

    def close(self) -> None:
        subprocess.run(["tmux", "-L", f"{self.home.name}-inner", "kill-server"], capture_output=True, check=False)
        super().close()
        if not self.model.closed:
            self.model.close()
