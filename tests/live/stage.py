"""Where scenes are played: started a few at a time, driven, looked at by both engines at once, ended."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Iterator, Sequence

from attrs import evolve, frozen
from live.agent import Agent
from live.scene import CACHE, PATH, ROOT, Scene, Step
from live.secluded import World
from terminals import Server, wait_for

from stallkit import Engine, Verdict
from stallkit.detect.signature import State
from stallkit.press.check import check_session, observe
from stallkit.press.policy import CAREFUL, Policy
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import Rule
from stallkit.transports.tmux.pane import TmuxTransport

AT_ONCE = 14  # scenes: enough to hide that programs start slowly, few enough that two cores carry the busy ones
WATCH_S = 1.5
# Packs' own dialogs; daemon's forms, without its patience; and consent to whatever the packs of any program recognise.
GENERAL = ["shell_tools:*", "shell_yn:*", "node_prompts:*"]
POLICIES = (
    CAREFUL,
    evolve(DAEMON, patience_s=0.0),
    Policy("allowed", rules=[Rule(do="press", signature=GENERAL, session="tmux:s*")]),
)
# What a person may have set, and what makes programs behave in other ways than everybody's do.
PERSONAL = (
    "EDITOR",
    "FZF_DEFAULT_OPTS",
    "GIT_EDITOR",
    "GIT_PAGER",
    "LESS",
    "NO_COLOR",
    "PAGER",
    "PYTHONSTARTUP",
    "VISUAL",
)


@frozen
class Seen:
    """What was made of one scene."""

    known: Verdict  # with every installed pack
    unknown: Verdict  # with none
    pressed: tuple[str, ...] = ()  # what any policy pressed there, and the mark that a press leaves at the pane


def nobody_knows() -> Engine:
    """An engine without a single pack: every prompt is an unknown one."""
    return Engine(())


class Stage:
    """One private tmux server and, where a scene asks for it, a private world of accounts and servers."""

    def __init__(self, folder: Path) -> None:
        self.server = Server(folder)
        self.server.tmux("new-session", "-d", "-s", "open", "sleep", "10000")  # a server without sessions exits
        self._folder = folder
        self._world: World | None = None
        self._agent: Agent | None = None
        self._engine, self._nobody = Engine.default(), nobody_knows()
        self._numbers = iter(range(1000))

    @contextlib.contextmanager
    def playing(self, scenes: Sequence[Scene]) -> Iterator[dict[str, TmuxTransport]]:
        """The scenes, each driven into its state, by name; they end with the context."""
        sessions = {scene.name: f"s{next(self._numbers)}" for scene in scenes}
        try:
            for scene in scenes:
                self.start(scene, sessions[scene.name])
            yield {scene.name: self.drive(scene, sessions[scene.name]) for scene in scenes}
        finally:
            for session in sessions.values():
                self.end(session)

    def watch(self, scenes: Sequence[Scene]) -> dict[str, Seen]:
        """What is made of each of the scenes, all played at the same time."""
        with self.playing(scenes) as transports, ThreadPoolExecutor(2 * len(scenes)) as pool:
            known = {name: pool.submit(observe, one, self._engine, WATCH_S) for name, one in transports.items()}
            unknown = {name: pool.submit(self._without_packs, one) for name, one in transports.items()}
            seen = {name: Seen(known[name].result()[0], unknown[name].result()) for name in transports}
            tempted = [scene for scene in scenes if scene.state is not State.WAITING]
            pressed = pool.map(self.tempt, (transports[scene.name] for scene in tempted))
            for scene, what in zip(tempted, pressed, strict=True):
                seen[scene.name] = Seen(seen[scene.name].known, seen[scene.name].unknown, what)
        return seen

    def _without_packs(self, transport: TmuxTransport) -> Verdict:
        another = TmuxTransport(transport.target.removeprefix("tmux:"), self.server.options)  # it keeps its last look
        return observe(another, self._nobody, WATCH_S)[0]

    def tempt(self, transport: TmuxTransport) -> tuple[str, ...]:
        """What the policies press at a session in which nobody asks."""
        pressed = []
        for policy in POLICIES:
            outcome = check_session(transport, self._engine, policy).outcome
            if outcome is not None and outcome.keys is not None:
                pressed.append(f"{outcome.keys}: {outcome.why}")
        at = f"={transport.target.removeprefix('tmux:')}:"
        noted = self.server.tmux("display-message", "-p", "-t", at, "#{@stallkit_pressed}").strip()
        return (*pressed, noted) if noted else tuple(pressed)

    def environment(self, folder: Path) -> dict[str, str]:
        """What a scene finds in its environment."""
        made = [one.environment for one in (self._world, self._agent) if one]
        here = {"HOME": str(folder), "CACHE": str(CACHE), "ROOT": str(ROOT), "NODE_LIBS": str(CACHE / "npm")}
        git = {"EMAIL": "dev@example.com", "GIT_AUTHOR_NAME": "dev", "GIT_COMMITTER_NAME": "dev"}
        git |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "HISTFILE": os.devnull}
        quiet = {"npm_config_update_notifier": "false", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "CI": ""}
        path = f"{Path(sys.executable).parent}{os.pathsep}{PATH}"
        return {"PATH": path, **here, **git, **quiet} | {name: value for one in made for name, value in one.items()}

    def folder_of(self, session: str) -> Path:
        """A new folder for a scene, with what most of them work on."""
        folder = self._folder / session
        folder.mkdir()
        (folder / "notes.txt").write_text("keep me\n")
        (folder / "other.txt").write_text("me too\n")
        (folder / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 501)))
        (folder / "transcript.txt").write_text("$ ./install\nProceed with it? [y/N] y\nDo you agree? [y/N] ")
        return folder

    def command(self, scene: Scene, session: str) -> list[str]:
        """The words that play a scene in whatever terminal runs them."""
        if scene.secluded and self._world is None:
            (self._folder / "world").mkdir()
            self._world = World(self._folder / "world")
        if "gpg-agent" in scene.needs and self._agent is None:
            self._agent = Agent(self._folder / "gnupg")
        folder = self.folder_of(session)
        variables = [f"{name}={value}" for name, value in self.environment(folder).items()]
        inside = self._world.inside if scene.secluded and self._world else []
        unset = [word for name in PERSONAL for word in ("-u", name)]
        return ["env", "-C", str(folder), *unset, *variables, *inside, "sh", "-c", scene.script]

    def start(self, scene: Scene, session: str) -> None:
        """Play a scene in a session of that name, and return before it shows anything."""
        width, height = map(str, scene.size)
        command = self.command(scene, session)
        self.server.tmux("new-session", "-d", "-s", session, "-x", width, "-y", height, *command)

    def press(self, session: str, step: Step) -> None:
        """What a person does in a session."""
        self.server.tmux("send-keys", "-t", f"={session}:", *step.keys)

    def drive(self, scene: Scene, session: str) -> TmuxTransport:
        """Bring a scene that was started where it is to be, and reach it."""
        transport = TmuxTransport(session, self.server.options)
        self.server.wait(transport, scene.shows)
        if not scene.shows:  # it is there when it took the place of what started it
            wait_for(lambda: transport.capture().foreground not in ("env", "sh"), f"the start of {scene.name}")
        for step in scene.steps:
            self.press(session, step)
            self.server.wait(transport, step.shows)
        if scene.state is State.GONE:
            wait_for(lambda: transport.capture().alive is False, f"the end of {scene.name}")
        return transport

    def end(self, session: str) -> None:
        """End a session, also what outlives the loss of its terminal (make does)."""
        with contextlib.suppress(AssertionError, ValueError):  # it may have ended by itself
            pid = int(self.server.tmux("display-message", "-p", "-t", f"={session}:", "#{pane_pid}"))
            self.server.tmux("kill-session", "-t", f"={session}:")
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)

    def close(self) -> None:
        """End everything that was started."""
        try:
            self.server.end()
        finally:
            for one in (self._world, self._agent):
                if one is not None:
                    one.close()
