"""Claude Code itself, the version of the tests and npm's newest, with a scripted model: `stallkit start --wait` in a
folder that it does not know, by rules on labels; and the same answered from the queue alone.

The version of the tests, and npm's newest, which is fetched into .cache/newest; each start has a home of its own that
knows no folder, so that every dialog of a first start in a folder comes.
"""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Iterator

from attrs import define, field
from queued import COMMAND, Desk
from terminals import Server, wait_for

from soak.parts import Figure, Part, Run

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"
PINNED, NEWEST = CACHE / "agents" / "pinned" / "claude", CACHE / "newest" / "claude"
PACKAGE = "@anthropic-ai/claude-code"
START = "90s"
PATIENCE_S = 60.0
AGAIN = 10  # times at most that a person gives one answer: above a dialog a bullet may blink
NOTHING_PRESSED = 2  # the exit code of an answer
TRUST = "Yes, I trust this folder"
NOTHING_NEW = ["No, keep manual mode", "Not now", "Maybe later", "No, thanks"]
# What an operator consents to before: each a label of a dialog of a first start.
RULES = f"""format = 1
name = "starts"
profile = "careful"
[[rule]]
do = "press"
option = "{TRUST}"
agent = "claude"
[[rule]]
do = "press"
option = {json.dumps(NOTHING_NEW)}
agent = "claude"
"""
ASKS = [
    {"tool": "Bash", "input": {"command": "touch went", "description": "Make a file"}},
    {"text": "The file is there."},
]


@define
class Tried:
    """What came of one start, and why not where it failed."""

    ready: bool = False
    works: bool = False  # its composer took a text, and the model was asked
    answered: bool = False  # the folder's dialog, from the queue
    approved: bool = False  # a command, from the queue
    again: int = 0  # answers that pressed nothing, since it moved just then, and were given once more
    why: list[str] = field(factory=list)


@define
class Place:
    """A tmux server, a state directory and a version of Claude Code."""

    folder: Path
    claude: Path
    version: str
    server: Server
    desk: Desk

    def start(self, name: str, stage: Any, *words: str) -> subprocess.CompletedProcess[str]:
        """`stallkit start` of it in the stage's folder, with its home."""
        given = {"HOME": str(stage.root), "ANTHROPIC_BASE_URL": stage.model.url, "DISABLE_AUTOUPDATER": "1"}
        given |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "LANG": "C.UTF-8"}
        given |= {"ANTHROPIC_API_KEY": importlib.import_module("claude_stage").KEY}
        env = [word for name, value in given.items() for word in ("--env", f"{name}={value}")]
        folder = ("--cwd", str(stage.project), "-S", str(self.server.socket), "--size", "100x30")
        return self.ask("start", name, *folder, *env, *words, "--json", "--", str(self.claude))

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What `stallkit` says, on a busy machine too."""
        return subprocess.run(
            [COMMAND, *words],
            env=self.desk.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=5 * PATIENCE_S,
            check=False,
        )

    def screen(self, name: str) -> str:
        return self.server.tmux("capture-pane", "-p", "-t", f"={name}:")

    def say(self, name: str, stage: Any) -> bool:
        """Type a text as a person does; whether the model is asked."""
        before = len(stage.model.requests)
        self.server.tmux("send-keys", "-t", f"={name}:", "-l", "go on")
        time.sleep(0.5)
        self.server.tmux("send-keys", "-t", f"={name}:", "Enter")
        with suppress(AssertionError):
            wait_for(lambda: len(stage.model.requests) > before, "the model to be asked")
            return True
        return False


def soak(run: Run) -> list[Figure]:
    sys.path.insert(0, str(ROOT / "corpora" / "agents"))
    figures: list[Figure] = []
    versions = list(_versions(newest=run.size >= PART.full))
    for number, (version, claude) in enumerate(versions):
        folder = run.folder / version
        folder.mkdir()
        server = Server(folder)
        server.tmux("new-session", "-d", "-s", "keeper", "sleep", "100000")
        place = Place(folder, claude, version, server, Desk(folder, server))
        try:
            tried = []
            place.desk.watch("--all", "--interval", "1s")
            for each in range(run.size):
                tried.append(_started(place, f"start-{each}"))
                tried.append(_answered(place, f"queue-{each}"))
                run.tell((number * run.size + each + 1) // len(versions))
            figures += _figures(version, tried, run.size)
        finally:
            place.desk.end()
            server.end()
    return figures


def _versions(*, newest: bool) -> Iterator[tuple[str, Path]]:
    if newest:
        NEWEST.mkdir(parents=True, exist_ok=True)
        (NEWEST / "package.json").write_text(json.dumps({"private": True, "dependencies": {PACKAGE: "latest"}}))
        npm = ("npm", "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock")
        subprocess.run(npm, cwd=NEWEST, check=True, timeout=900)
    for folder in (PINNED, NEWEST) if newest else (PINNED,):
        package = folder / "node_modules" / PACKAGE / "package.json"
        if package.exists():
            yield json.loads(package.read_text())["version"], folder / "node_modules" / ".bin" / "claude"


def _staged(place: Place) -> Any:
    stage = importlib.import_module("claude_stage").Stage(place.claude, place.version, (100, 30), place.folder, False)
    stage.known(trusted=False)
    (stage.root / ".claude").mkdir(exist_ok=True)
    (stage.root / ".claude" / "settings.json").write_text(json.dumps(stage.settings))
    (place.folder / "starts.toml").write_text(RULES)
    return stage


def _started(place: Place, name: str) -> Tried:
    """In a folder that its start names, to its own composer, with no person."""
    stage, tried = _staged(place), Tried()
    try:
        done = place.start(name, stage, "--wait", START, "--policy", str(place.folder / "starts.toml"))
        tried.ready = done.returncode == 0
        if tried.ready:
            tried.works = place.say(name, stage)
        else:
            tried.why += [done.stdout[-600:], done.stderr[-300:], _screen(place, name)]
    finally:
        _end(place, name, stage)
    return tried


def _answered(place: Place, name: str) -> Tried:
    """Its folder's dialog and a command that it asks for, both from the queue; nothing else answers."""
    stage, tried = _staged(place), Tried()
    stage.model.script = [json.loads(json.dumps(step)) for step in ASKS]
    try:
        done = place.start(name, stage)
        assert done.returncode == 0, done.stderr
        for _ in range(4):  # the dialogs of a first start
            if not _replied(place, name, tried, lambda item: ("reply", _ref(item), _choice(item))):
                return tried
            ready = place.ask("wait", f"tmux:{name}", "--policy", "observe", "-S", str(place.server.socket))
            if ready.returncode == 0:
                break
        tried.answered = ready.returncode == 0
        tried.works = tried.answered and place.say(name, stage)
        if tried.works:
            approved = _replied(place, name, tried, lambda item: ("approve", _ref(item)))
            with suppress(AssertionError):
                wait_for((stage.project / "went").exists, "the command to run")
                tried.approved = approved
    except AssertionError as error:
        tried.why += [str(error)[-600:], _screen(place, name)]
    finally:
        _end(place, name, stage)
    return tried


def _replied(place: Place, name: str, tried: Tried, words: Callable[[dict[str, Any]], tuple[str, ...]]) -> bool:
    """Whether it was answered; again, as a person does it, if nothing was pressed since it moved just then."""
    for _ in range(AGAIN):
        given = words(_item(place, name))
        done = place.ask("stuck", *given)
        tried.why.append(f"{' '.join(given)}: {done.returncode} {done.stdout[-200:]}{done.stderr[-200:]}")
        if done.returncode != NOTHING_PRESSED:
            return done.returncode == 0
        tried.again += 1
    return False


def _item(place: Place, name: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = []

    def listed() -> bool:
        found[:] = [one for one in place.desk.items() if one["session"] == f"tmux:{name}"]
        return bool(found)

    wait_for(listed, f"an item of {name}", PATIENCE_S)
    return found[0]


def _ref(item: dict[str, Any]) -> str:
    return f"{item['id']}@{item['revision']}"


def _choice(item: dict[str, Any]) -> str:
    """The option that a person takes at a dialog of the first start: trust, and nothing new."""
    labels = [str(option["name"]) for option in item.get("options", [])]
    assert labels, f"the item has no options: {item}"
    return next((label for label in (TRUST, *NOTHING_NEW) if label in labels), labels[-1])


def _screen(place: Place, name: str) -> str:
    with suppress(AssertionError):
        return place.screen(name).rstrip()
    return "its session is gone"


def _end(place: Place, name: str, stage: Any) -> None:
    with suppress(AssertionError):
        place.server.tmux("kill-session", "-t", f"={name}")
    stage.model.shutdown()
    stage.model.server_close()
    shutil.rmtree(stage.root, ignore_errors=True)


def _figures(version: str, tried: list[Tried], size: int) -> list[Figure]:
    for one in tried:
        if not one.works or (one.answered and not one.approved):
            print(f"{version}: {one}", file=sys.stderr)
    count = Counter[str]()
    for one in tried:
        count.update({name: bool(getattr(one, name)) for name in ("ready", "answered", "approved")})
        count["works"] += one.ready and one.works
    must = f"{size} of {size}"
    kinds = {
        "ready": "ready in a named folder, without a person",
        "works": "of them, took a text",
        "answered": "the folder's dialog answered from the queue",
        "approved": "a command approved from the queue",
    }
    return [
        *(
            Figure(f"{version}: {words}", f"{count[name]} of {size}", must, count[name] == size)
            for name, words in kinds.items()
        ),
        Figure.told(f"{version}: answers given again, since it moved just then", sum(one.again for one in tried)),
    ]


PART = Part(__doc__, "starts, and as many answered from the queue, of each version", full=20, short=1, soak=soak)
