"""Counts how often a live agent's permission dialog is answered from the queue at the first call, as a person would.

    python corpora/agents/approvals.py --programs DIR [--times 50] [--busy] [--verb approve] [--moved KEY] [AGENT ...]

DIR has a folder for each agent (`claude`, `codex`, ...).  An agent asks to run a command, a supervisor files it, and
``stallkit stuck approve ID`` (or ``decline``) answers; what the agent then does is read at its scripted model: a call
that was approved brings the tool's result, one that was declined does not.  `tick` ticks two options of a question of
which several may be chosen (Claude Code), and sends them by the page that follows.  `--busy` keeps every core busy;
`--moved` presses a key at the dialog before the answer, as somebody does who moves its selection (OpenCode: Right).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tests")]

import others  # noqa: E402  # needs the line above
from live_agents.cast import Actor  # noqa: E402
from live_agents.player import THANKS, Player  # noqa: E402
from live_agents.scenes import SCENES, Scene  # noqa: E402
from live_agents.screens import Screens  # noqa: E402
from live_agents.supervisor import COMMAND, Supervisor  # noqa: E402
from stallkit_operator.item import Item  # noqa: E402
from stallkit_operator.queue import Queue  # noqa: E402

SCENE, SEVERAL = SCENES["permission"], SCENES["question of several"]
TICKED, TAKEN = "1,3", "SQLite, Memory"
FILED_S, TOLD_S = 30.0, 25.0  # for the item to be in the queue; for the agent to tell its model


class Office:
    """An agent in a pane, a supervisor that watches it, and its queue."""

    def __init__(self, agent: str, folder: Path, programs: Path) -> None:
        others.tmux("new-session", "-d", "-s", "stays", "sleep", "infinity")
        self.folder, self.screens = folder, Screens(others.SOCKET)
        self.supervisor = Supervisor(folder, others.SOCKET, "careful", 300)
        actor = Actor(agent, agent, (SCENE.name, SEVERAL.name), "100x30")
        self.player = Player(actor, programs, self.screens, self.supervisor, folder / "screens")

    def close(self) -> None:
        self.supervisor.close()
        self.screens.close()
        self.player.close()
        others.tmux("kill-server")

    def start(self) -> None:
        self.player.keys("-l", self.player._launch)
        self.player.keys("Enter")
        if not self.player._ready():
            raise SystemExit(f"{self.player.actor.name} does not start:\n{self.player.screen()}")
        self.queue = Queue(self.folder / "state" / "queue.db")

    def once(self, verb: str, moved: str = "") -> str:
        """What became of one dialog: "right", or why not."""
        player = self.player
        item = self._asked(SCENE)
        if item is None:
            return "not filed"
        heard = len(player.model.requests)
        player.model.reply = THANKS
        if moved:
            player._press(moved)
        refused = self._stuck(verb, f"{item.id}@{item.revision}")
        if refused:
            player._press("Escape")
        self.screens.wait(lambda: len(player.model.requests) > heard, TOLD_S if verb == "approve" else 2.0)
        granted = any(one.granted for one in player.model.requests[heard:])
        left = not player._sees(SCENE.shows[player.actor.agent])
        player._rests(1.2, 15)
        if verb == "decline" or refused:
            player._press("C-u")
        if refused:
            return refused
        return "right" if left and granted is (verb == "approve") else f"wrong: dialog gone {left}, granted {granted}"

    def tick(self) -> str:
        """What became of a question of which two options are ticked, and of the page that sends the answers."""
        model, item = self.player.model, self._asked(SEVERAL)
        for answer in (TICKED, "1"):
            if item is None:
                return "not filed"
            before, heard = item.id, len(model.requests)
            model.reply = THANKS
            if refused := self._stuck("reply", f"{item.id}@{item.revision}", answer):
                self.player._press("Escape")
                return refused
            item = self._item(after=before) if answer == TICKED else None
        self.screens.wait(lambda: len(model.requests) > heard, TOLD_S)
        self.player._rests(1.2, 15)
        taken = [one.latest for one in model.requests[heard:]]
        return "right" if any(TAKEN in text for text in taken) else f"wrong: {taken}"

    def _asked(self, scene: Scene) -> Item | None:
        """The item of a dialog that the agent is driven into."""
        player = self.player
        asked = len(player.model.asked)
        player.model.reply = scene.reply(player.actor.agent)
        player._prompt()
        item = self._item() if player._appears(scene, asked) is not None else None
        if item is None:
            player._press("Escape")
        return item

    def _stuck(self, *words: str) -> str:
        """Why a command of the queue did nothing; empty if it did."""
        environment = {**os.environ, "STALLKIT_STATE_DIR": str(self.folder / "state")}
        words = (*COMMAND, "stuck", *words)
        done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=120, check=False)
        return f"exit {done.returncode}: {(done.stderr or done.stdout).strip()[:200]}" if done.returncode else ""

    def _item(self, after: int = 0) -> Item | None:
        until = time.monotonic() + FILED_S
        while time.monotonic() < until:
            items = (one for one in self.queue.items(False) if one.session == self.player.target and one.id > after)
            if (found := next(items, None)) is not None:
                return found
            time.sleep(0.1)
        return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", default=["claude", "codex"], metavar="AGENT")
    parser.add_argument("--programs", type=Path, default=ROOT / ".cache" / "agents", metavar="DIR")
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--verb", choices=["approve", "decline", "tick"], default="approve")
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--moved", default="", metavar="KEY")
    given = parser.parse_args()
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range((os.cpu_count() or 1) * given.busy)
    ]
    failed = False
    try:
        for agent in given.agents:
            with tempfile.TemporaryDirectory(prefix="approvals-") as folder:
                office = Office(agent, Path(folder), given.programs.absolute())
                try:
                    office.start()
                    found = Counter[str]()
                    for number in range(1, given.times + 1):
                        became = office.tick() if given.verb == "tick" else office.once(given.verb, given.moved)
                        found[became] += 1
                        if sys.stderr.isatty() or became != "right":
                            print(f"{agent} {number}: {became}", file=sys.stderr, flush=True)
                finally:
                    office.close()
            print(f"{agent}: {given.verb} at the first call: {found['right']} of {found.total()}", flush=True)
            failed |= found["right"] != found.total()
    finally:
        for one in busy:
            one.kill()
            one.wait()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
