"""``stallkit demo``: scenes of real programs, a private tmux server for them, and a check of each.

It is also the shortest end-to-end test there is: a scene knows the state that it drove its program into.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Iterator, Sequence

import click
from attrs import define, evolve, frozen
from rich.progress import Progress

from stallkit.cli.common import engine, print_json
from stallkit.cli.output import Exit, hanging, paint, plain_console, quiet, shown
from stallkit.detect.engine import Engine
from stallkit.detect.signature import State
from stallkit.errors import TransportUnavailable
from stallkit.press.check import CheckResult, Status, check_session
from stallkit.press.policy import CAREFUL, Escalate
from stallkit.press.rules import Act, Rule
from stallkit.transports.base import Options
from stallkit.transports.tmux.pane import TmuxTransport

_WIDE = 80  # columns, also where there are more: lines are read more easily
READY_S = 20.0  # for a program to show its prompt, on a machine that is busy with something else
MARK = "STALLKIT_DEMO"  # in the environment of all processes started here, so that those left behind can be found

_BUSY = """
import itertools, time
for n in itertools.count():
    print(f"[{n % 99:2}%] Building module_{n}.o", flush=True)
    time.sleep(0.05)
"""
_QUIET = "print('Linking program', flush=True)\nwhile True: pass"
_ANY_KEY = "read -n 1 -s -r -p 'Press any key to continue . . . '; printf '\\nInstalling\\n'; sleep 1000"
_PRINTED = "printf 'Press any key to continue . . . '; while :; do :; done"
_NODE = """
const terminal = { input: process.stdin, output: process.stdout };
require("readline").createInterface(terminal).question("? Project name › ", () => {});
"""
_SHELL = "PS1='dev@box:~/project$ ' exec bash --norc --noprofile -i"


@define
class Scene:
    """One program, the state it is driven into, and the result of the check."""

    program: str
    command: Sequence[str]
    expected: State
    ready: str  # the text on the screen when the program is there
    needs: tuple[str, ...] = ()
    dismissed: bool = False
    result: CheckResult | None = None

    @property
    def pressed(self) -> bool:
        """Whether a key was pressed."""
        return self.result is not None and self.result.outcome is not None and self.result.outcome.pressed

    @property
    def right(self) -> bool:
        """Whether verdict and key are right."""
        if self.result is None or self.pressed is not self.dismissed:
            return False
        right = self.result.verdict.state is self.expected
        return right and (self.result.status is Status.DISMISSED) is self.dismissed

    def as_row(self) -> dict[str, str]:
        """The scene as a row of the table."""
        assert self.result is not None  # `run` checks every scene it returns
        verdict, outcome, decision = self.result.verdict, self.result.outcome, self.result.decision
        match = verdict.match
        if outcome is not None:
            keys = f"{outcome.keys if outcome.pressed else 'none'}: {outcome.end}"
        else:
            keys = f"none: {decision.why}" if isinstance(decision, Escalate) else "none: nothing to answer"
        return {
            "program": self.program,
            "driven_into": str(self.expected),
            "verdict": f"{verdict.state} {verdict.kind or ''}".strip(),
            "certainty": str(verdict.certainty),
            "signature": f"{match.pack.name}:{match.signature.id}" if match else "",
            "reason": "; ".join(verdict.reasons[1:] if match else verdict.reasons),
            "keys": keys,
        }


@frozen
class Demo:
    """The result of the demonstration; `left_behind` lists processes that outlived it, which must be none."""

    scenes: tuple[Scene, ...]
    skipped: tuple[str, ...]
    left_behind: tuple[int, ...]


def scenes() -> list[Scene]:
    """Every scene, whether its program is installed or not."""
    python = sys.executable
    waiting, working = State.WAITING, State.WORKING
    return [
        Scene("a build that prints", [python, "-c", _BUSY], working, "Building"),
        Scene("a build that is silent", [python, "-c", _QUIET], working, "Linking"),
        Scene("rm -i", ["rm", "-i", "notes.txt"], waiting, "notes.txt", ("rm",)),
        Scene("git add -p", ["git", "-C", "repo", "--no-pager", "add", "-p"], waiting, "Stage", ("git",)),
        Scene("Python getpass", [python, "-c", "import getpass; getpass.getpass()"], waiting, "assword"),
        Scene("Python input", [python, "-c", "input('Proceed? [y/N] ')"], waiting, "Proceed"),
        Scene("bash read, any key", ["bash", "-c", _ANY_KEY], waiting, "Press any key", ("bash",)),
        Scene("the same, by a rule", ["bash", "-c", _ANY_KEY], waiting, "Press any key", ("bash",), dismissed=True),
        Scene("Node readline", ["node", "-e", _NODE], waiting, "Project name", ("node",)),
        Scene("a prompt only printed", ["bash", "-c", _PRINTED], working, "Press any key", ("bash",)),
        Scene("tail -f of a log", ["tail", "-f", "install.log"], working, "[y/N]", ("tail",)),
        Scene("a shell, program gone", ["bash", "-c", _SHELL], State.ENDED, "box:", ("bash",)),
    ]


def run(engine: Engine, on_row: Callable[[int, int], None] = lambda done, total: None) -> Demo:
    """Drive every scene whose program is installed, check it, and end all that was started.

    Raises TransportUnavailable if tmux is missing, TransportError if it does not answer.
    """
    chosen = [scene for scene in scenes() if all(map(shutil.which, scene.needs))]
    skipped = tuple(f"{s.program}: {' and '.join(s.needs)} not installed" for s in scenes() if s not in chosen)
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    with tempfile.TemporaryDirectory(prefix="stallkit-demo-") as folder:
        stage = _Stage(Path(folder), mark)
        try:
            stage.build(chosen)
            for number, scene in enumerate(chosen, 1):
                policy = evolve(CAREFUL, rules=[_rule(number)]) if scene.dismissed else CAREFUL
                scene.result = check_session(stage.ready(number, scene), engine, policy)
                on_row(number, len(chosen))
        finally:
            left = stage.strike()
    return Demo(tuple(chosen), skipped, left)


def _rule(number: int) -> Rule:
    """The consent of a person: this prompt may be answered in this session."""
    return Rule(do=Act.PRESS, signature="shell_tools:press_any_key", session=f"tmux:scene-{number}")


class _Stage:
    """A private tmux server with one session a scene, in a folder of its own."""

    def __init__(self, folder: Path, mark: str) -> None:
        self._folder = folder
        self._socket = str(folder / "tmux.sock")
        self._mark = mark
        keep = {name: os.environ[name] for name in ("PATH", "TERM") if name in os.environ}
        home = {"HOME": str(folder), "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat"}
        self._environment = {**keep, **home, MARK: mark}

    def build(self, scenes: Sequence[Scene]) -> None:
        """Start every program; they get ready side by side."""
        (self._folder / "notes.txt").write_text("keep me\n")
        (self._folder / "install.log").write_text("12:00:01 the installer printed:\nProceed with the setup? [y/N] ")
        (self._folder / "tmux.conf").write_text("set -g remain-on-exit on\nset -g status off\n")
        if shutil.which("git"):
            self._repository()
        for number, scene in enumerate(scenes, 1):
            self._tmux("new-session", "-d", "-s", f"scene-{number}", "-x", "80", "-y", "24", *scene.command)

    def ready(self, number: int, scene: Scene) -> TmuxTransport:
        """The session of a scene, once its program shows the expected text, or after `READY_S`."""
        transport = TmuxTransport(f"scene-{number}", Options(tmux_socket_path=self._socket))
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline:
            if scene.ready in transport.capture().screen.text:
                break
            time.sleep(0.05)
        return transport

    def strike(self) -> tuple[int, ...]:
        """End the server and all in it; return the processes that had to be killed."""
        with contextlib.suppress(TransportUnavailable, subprocess.TimeoutExpired):
            self._tmux("kill-server")
        deadline = time.monotonic() + 5
        while (left := tuple(self._alive())) and time.monotonic() < deadline:
            time.sleep(0.05)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return left

    def _alive(self) -> Iterator[int]:
        """Every process with the mark of this run; none if there is no /proc."""
        wanted = f"{MARK}={self._mark}".encode()
        for entry in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if wanted in entry.read_bytes().split(b"\0"):
                    yield int(entry.parent.name)

    def _repository(self) -> None:
        repo = self._folder / "repo"
        git = ["git", "-C", str(repo), "-c", "user.name=demo", "-c", "user.email=demo@localhost"]
        file = repo / "greeting.txt"
        repo.mkdir()
        file.write_text("hello\n")
        for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
            subprocess.run([*git, *command], env=self._environment, check=True, capture_output=True, timeout=READY_S)
        file.write_text("hello, world\n")

    def _tmux(self, *command: str) -> None:
        config = str(self._folder / "tmux.conf")
        client = ["tmux", "-u", "-S", self._socket, "-f", config]
        try:
            subprocess.run(
                [*client, *command],
                env=self._environment,
                cwd=self._folder,
                check=True,
                capture_output=True,
                timeout=10,
            )
        except FileNotFoundError as error:
            raise TransportUnavailable("demo", "tmux", "tmux is not installed", "install tmux") from error
        except subprocess.CalledProcessError as error:
            why = error.stderr.decode(errors="replace")
            raise TransportUnavailable("demo", "tmux", why, "run tmux by hand") from error


# --- the command ---


@click.command("demo")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def demo_command(ctx: click.Context, as_json: bool) -> None:
    """Start real programs in a private tmux server, check each, and dismiss what the careful policy allows.

    Every program was driven into a known state; a verdict that differs, or a process left behind, exits with 1.

    \b
    Exit codes: 0 all as expected; 1 a verdict differs, or a process is left behind.
    Example:    stallkit demo
    """
    with Progress(console=plain_console(stderr=True, quiet=quiet()), transient=True) as progress:
        bar = progress.add_task("checking real programs")
        found = run(engine(), lambda done, total: progress.update(bar, completed=done, total=total))
    rows = [{name: shown(value) for name, value in scene.as_row().items()} for scene in found.scenes]
    wrong = [scene for scene in found.scenes if not scene.right]
    if as_json:
        print_json({"version": 1, "rows": rows, "wrong": len(wrong), "left_behind": found.left_behind})
    else:
        _print(rows, [scene.right for scene in found.scenes])
        for skipped in found.skipped:
            click.echo(shown(f"left out: {skipped}"))
        pressed = sum(scene.pressed for scene in found.scenes)
        outcome = f"{len(found.scenes) - len(wrong)} of {len(found.scenes)} right"
        click.echo(f"{outcome}, {pressed} dismissed, {len(found.left_behind)} processes left behind")
    ctx.exit(Exit.OK if not wrong and not found.left_behind else Exit.ERROR)


def _print(rows: list[dict[str, str]], right: list[bool]) -> None:
    """Each program in a few short lines: what it was driven into, what was found, what was pressed or why not."""
    for row, is_right in zip(rows, right, strict=True):
        mark = paint("right", fg="green") if is_right else paint("WRONG", fg="red", bold=True)
        by = f", by {row['signature']}" if row["signature"] else ""
        click.echo(f"{mark}  {row['program']}, {row['driven_into']}")
        click.echo(f"       {row['verdict']}, {row['certainty']}{by}")
        pressed = row["keys"].replace("none: ", "no key: ", 1)
        for told in filter(None, (row["reason"], pressed)):
            for line in hanging(plain_console(width=_WIDE), f"       {told}", 7):
                click.echo(line)
