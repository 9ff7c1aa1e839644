"""Drives the prompt libraries into states that are known, and writes each as a case of a corpus.

    python corpora/prompts_js/drive.py LIBRARIES OUT.jsonl [--only PATTERN] [--jobs N]

LIBRARIES is a folder outside of the tree with `cur`, `old`, `ink` (each with node_modules) and `py` (a virtual
environment); README.md beside this file lists what is installed there.  The label of a case is the state that
the program was driven into: which prompt was opened, and whether it was answered, typed into, cancelled or never asked.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Iterator

from attrs import evolve, frozen

from stallkit.probes.foreground_job import probe as probe_process
from stallkit.probes.readers import tty_facts

HERE = Path(__file__).parent
CHOICE = {"select", "multiselect"}
# What answers each kind: tmux's keys.
ANSWER = {
    "text": ["abc", "Enter"], "secret": ["x7", "Enter"], "confirm": ["y"], "select": ["Enter"],
    "multiselect": ["Space", "Enter"], "press_key": ["Enter"],
}  # fmt: skip
PACKAGE = {
    "clack": "@clack/prompts", "clack0": "clack0", "@inquirer": "@inquirer/prompts", "@topcli": "@topcli/prompts",
    "@poppinss": "@poppinss/prompts",
}  # fmt: skip
SHOWN = {"clack0": "@clack/prompts", "prompts1": "prompts", "inquirer": "inquirer14"}
PYTHON = {"questionary": "questionary", "inquirerpy": "InquirerPy", "inquirer": "python-inquirer", "bullet": "bullet"}
PYTHON |= {"pick": "pick", "simple_term_menu": "simple-term-menu", "rich": "rich", "click": "click", "beaupy": "beaupy"}
DISTRIBUTION = {"python-inquirer": "inquirer"}


@frozen
class Scene:
    """One program in one state, in a terminal of one size."""

    home: str  # cur, old, ink, py
    library: str
    what: str  # which prompt
    kind: str | None  # of waiting; None: it works from the start
    words: str = "plain"
    size: tuple[int, int] = (80, 24)
    then: str = ""  # "", typed, moved, wrong, done-quiet, done-busy, cancelled
    keys: tuple[str, ...] = ()
    plain: bool = False  # NO_COLOR

    @property
    def id(self) -> str:
        parts = [self.home if self.home == "py" else "js", self.library.strip("@"), self.what, self.words, self.then]
        name = ".".join(part for part in parts if part not in ("", "plain"))
        return f"{name}{'.nocolor' if self.plain else ''}-{self.size[0]}"

    @property
    def command(self) -> str:
        after = self.then.removeprefix("done-") if self.then.startswith("done") else "quiet"
        match self.home:
            case "py":
                said = ["python", "ask.py", self.library, self.what, after]
            case "ink":
                said = ["node", "ink.mjs", self.what, self.words, after]
            case _:
                said = ["node", "ask.mjs", self.library, self.what, self.words, after]
        return " ".join(said if after != "quiet" or self.words != "plain" else said[: 4 if self.home == "py" else -2])


class Stage:
    """A tmux server of our own with one pane."""

    def __init__(self, name: str, scene: Scene, folder: Path) -> None:
        self.name = name
        self.done = folder / f"done-{name}"  # the program writes it once its prompt was answered
        environment = {
            "PATH": f"{folder.parent}/py/bin:{os.environ['PATH']}",
            "TERM": "tmux-256color",
            "LANG": "C.UTF-8",
        }
        environment |= {"HOME": str(folder), "PS1": "dev@box:demo$ ", "EDITOR": "true", "LINES": "", "COLUMNS": ""}
        environment |= {"PROMPT_DONE": str(self.done)}
        environment |= {"NO_COLOR": "1"} if scene.plain else {}
        pairs = [f"{key}={value}" for key, value in environment.items() if value]
        columns, rows = scene.size
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(folder),
                  "env", "-i", *pairs, "bash", "--norc", "--noprofile", "-i")  # fmt: skip
        self.tmux("set", "-g", "status", "off")

    def tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self.name, *arguments], capture_output=True, text=True, timeout=20, check=True
        )
        return done.stdout

    def keys(self, *keys: str) -> None:
        for key in keys:
            named = key in ("Enter", "Space", "Down", "Up", "Tab", "C-c", "BSpace", "Right", "Left")
            self.tmux("send-keys", *([key] if named else ["-l", key]))
            time.sleep(0.15)

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def facts(self) -> dict[str, Any]:
        names = ["cursor_x", "cursor_y", "cursor_flag", "alternate_on", "pane_current_command", "pane_title"]
        names += ["pane_tty", "pane_pid", "pane_width", "pane_height"]
        values = (
            self.tmux("display-message", "-p", "\t".join(f"#{{{name}}}" for name in names)).rstrip("\n").split("\t")
        )
        return dict(zip(names, values, strict=True))

    def until(self, holds: Any, seconds: float = 25.0) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if holds():
                return True
            time.sleep(0.1)
        return False

    def rests(self, seconds: float = 12.0) -> None:
        end, seen, since = time.monotonic() + seconds, self.screen(), time.monotonic()
        while time.monotonic() < end and time.monotonic() - since < 0.9:
            time.sleep(0.15)
            now = self.screen()
            if now != seen:
                seen, since = now, time.monotonic()

    def end(self) -> None:
        subprocess.run(["tmux", "-L", self.name, "kill-server"], check=False, capture_output=True, timeout=20)
        self.done.unlink(missing_ok=True)


def played(scene: Scene, libraries: Path) -> dict[str, Any] | None:
    """One scene as a case, or None where it never reached the wanted state."""
    stage = Stage(f"prompts-{os.getpid()}-{abs(hash(scene)) % 10**8}", scene, libraries / scene.home)
    try:
        stage.until(lambda: stage.screen().rstrip().endswith("$"))
        stage.keys(scene.command, "Enter")
        runner = "python" if scene.home == "py" else "node"
        drawn = len(scene.command.split()) and stage.until(
            lambda: (
                stage.facts()["pane_current_command"].startswith(runner)
                and len("".join(stage.screen().split())) > len("".join(scene.command.split())) + 18
            )
        )
        if not drawn and scene.what not in ("outro", "cancel"):
            print(f"{scene.id}: nothing was drawn")
            return None
        if scene.kind is None:
            time.sleep(2.0)
        else:
            stage.rests()
        if scene.keys:
            stage.keys(*scene.keys)
            stage.rests(3.0) if scene.then not in ("done-busy", "done-spin") else time.sleep(1.5)
        return case(scene, stage, libraries)
    finally:
        stage.end()


def case(scene: Scene, stage: Stage, libraries: Path) -> dict[str, Any]:
    shown, facts = stage.screen(), stage.facts()
    hits, samples = 0, 5
    for _ in range(samples):
        kernel = probe_process(facts["pane_tty"], int(facts["pane_pid"]))
        hits += kernel.listening is True
        time.sleep(0.2)
    tty = tty_facts(facts["pane_tty"])
    how = {"epoll": "epoll_pwait", "poll": "poll", "select": "select", "read": "read"}.get(kernel.how or "")
    title = facts["pane_title"]
    command = facts["pane_current_command"]
    # None of this is read from the screen: the shell is back, the program reported its answer, or it asks.
    answered = scene.kind is None or stage.done.exists()
    state = "ended" if command == "bash" else "working" if answered else "waiting"
    label: dict[str, Any] = {"state": state, "waiting": state != "working"}
    if state == "waiting":
        label["kind"] = scene.kind
    label |= {
        "hard": scene.then in ("typed", "done-quiet", "wrong") or scene.what in ("spinnerask", "logs", "columns"),
        "note": scene.then,
    }
    return {
        "id": scene.id, "program": program(scene), "version": version(scene, libraries), "command": scene.command,
        "cols": int(facts["pane_width"]), "rows": int(facts["pane_height"]),
        "cursor_x": int(facts["cursor_x"]), "cursor_y": int(facts["cursor_y"]),
        "cursor_visible": facts["cursor_flag"] == "1",
        "alternate_on": facts["alternate_on"] == "1", "pane_current_command": command,
        "pane_title": "box" if title == socket.gethostname() else title, "screen": shown,
        "tty": {"echo": tty.echo, "icanon": tty.canonical},
        "proc": [{"comm": command, "tty_wait": {"how": how} if how else None}],
        "probe_1s": {"screen_same": stage.screen() == shown, "tty_wait_hits": hits, "tty_wait_samples": samples},
        "label": label,
    }  # fmt: skip


def program(scene: Scene) -> str:
    if scene.home == "py":
        return PYTHON[scene.library]
    if scene.home == "ink":
        return "ink"
    return SHOWN.get(scene.library) or PACKAGE.get(scene.library, scene.library)


def version(scene: Scene, libraries: Path) -> str:
    if scene.home == "py":
        name = DISTRIBUTION.get(program(scene), program(scene)).replace("-", "_")
        found = sorted((libraries / "py" / "lib").glob(f"python*/site-packages/{name.lower()}-*.dist-info")) or sorted(
            (libraries / "py" / "lib").glob(f"python*/site-packages/{name}-*.dist-info")
        )
        return found[0].name.removesuffix(".dist-info").rpartition("-")[2]
    package = "ink" if scene.home == "ink" else PACKAGE.get(scene.library, scene.library)
    return str(json.loads((libraries / scene.home / "node_modules" / package / "package.json").read_text())["version"])


KINDS = {
    what: kind
    for kind, whats in {
        "text": (
            "text proposal hint number numberproposal editable list date error multiline form snippet "
            "mail uitext question"
        ),
        "secret": "secret masked invisible uisecret",
        "confirm": "confirm confirmyes confirmwords confirmtall toggle noted strict uiconfirm",
        "select": (
            "select selecthints selectmany described search rawlist rawselect expand keys path quiz "
            "sort scale choose line grid boxed uiselect"
        ),
        "multiselect": "multi multibare multierror searchmulti group uimulti",
        "press_key": "editor pause",
    }.items()
    for what in whats.split()
}
WORKING = {"spinner", "spinnerask", "progress", "logs", "columns", "output", "uispinner"}
INQUIRER = "text proposal number secret masked confirm select multi rawlist expand editor error search"
LIBRARIES = {
    ("cur", "prompts"): (
        "text proposal number numberproposal secret invisible confirm confirmyes toggle select multi "
        "multibare search searchmulti list date error"
    ),
    ("old", "prompts1"): "text proposal confirm select multi toggle secret",
    ("cur", "enquirer"): (
        "text proposal number secret invisible confirm toggle select multi search list sort quiz form "
        "snippet scale error"
    ),
    ("cur", "@inquirer"): (
        "text proposal editable number secret masked confirm select described multi multierror "
        "rawlist expand editor search error"
    ),
    ("old", "inquirer6"): INQUIRER.replace(" search", ""),
    ("old", "inquirer7"): INQUIRER.replace(" search", ""),
    ("old", "inquirer8"): INQUIRER,
    ("old", "inquirer9"): INQUIRER.replace(" search", ""),
    ("cur", "clack"): (
        "text hint proposal secret confirm confirmwords confirmtall select selecthints selectmany "
        "multi multierror group keys search searchmulti path multiline date error noted spinner "
        "spinnerask progress logs"
    ),
    ("old", "clack0"): (
        "text hint proposal secret confirm confirmwords select selecthints selectmany multi group "
        "error spinner"
    ),
    ("ink", "ink"): (
        "select boxed text question secret confirm uiselect uimulti uiconfirm uitext uisecret spinner "
        "uispinner"
    ),
    ("cur", "listr2"): "text confirm select multi secret toggle spinner output",
    ("cur", "promptly"): "text proposal confirm choose secret masked",
    ("cur", "readline-sync"): "text secret confirm strict select pause number mail",
    ("cur", "@topcli"): "text proposal secret confirm select search multi",
    ("cur", "terminal-kit"): "text proposal secret confirm select line grid",
    ("cur", "@poppinss"): "text proposal secret confirm toggle select multi search list",
    ("cur", "prompt"): "text proposal secret",
    ("cur", "ora"): "spinner",
    ("cur", "cliui"): "columns",
    ("py", "questionary"): "proposal rawselect multi select confirm secret text",
    ("py", "inquirerpy"): "text proposal secret confirm select multi search number rawlist path",
    ("py", "inquirer"): "text proposal secret confirm select multi editor path",
    ("py", "bullet"): "text secret confirm select multi number",
    ("py", "pick"): "select multi",
    ("py", "simple_term_menu"): "select multi search",
    ("py", "rich"): "text proposal choose number secret confirm",
    ("py", "click"): "text proposal secret confirm choose pause",
    ("py", "beaupy"): "text secret confirm select multi",
}  # fmt: skip
OVERRIDES = {("py", "inquirerpy", "path"): "text", ("py", "inquirer", "path"): "text"}
ENTER_TOO = {
    "@inquirer",
    "inquirer6",
    "inquirer7",
    "inquirer8",
    "inquirer9",
    "inquirer",
    "promptly",
    "ink",
    "rich",
    "click",
}


def scenes() -> Iterator[Scene]:
    """All of them: each prompt as it opens, and a share of the sizes, languages and ends, turn by turn."""
    turn = 0
    for (home, library), whats in LIBRARIES.items():
        for what in whats.split():
            kind = OVERRIDES.get((home, library, what)) or (None if what in WORKING else KINDS[what])
            first = Scene(home, library, what, kind)
            yield first
            if kind is None:
                continue
            turn += 1
            if home != "py":
                yield evolve(
                    first,
                    words=("other", "long", "german", "japanese")[turn % 4],
                    size=((80, 24), (40, 15))[turn % 3 == 0],
                )
            if turn % 3 == 1:
                yield evolve(first, size=(40, 15), words="long" if home != "py" else "plain")
            if turn % 5 == 0:
                yield evolve(first, size=(200, 50), words="other" if home != "py" else "plain")
            if turn % 6 == 2:
                yield evolve(first, plain=True, words="other" if home != "py" else "plain")
            if kind in ("text", "secret") and turn % 2:
                yield evolve(first, then="typed", keys=("abc",), words="other" if home != "py" else "plain")
            if kind in CHOICE and turn % 2:
                yield evolve(first, then="moved", keys=("Down", "Down"))
            if what in ("error", "multierror"):
                yield evolve(first, then="wrong", keys=("a", "Enter") if what == "error" else ("Enter",))
            answer = tuple(ANSWER[kind]) if what != "search" else ("Down", "Enter")
            if kind == "confirm" and library in ENTER_TOO:
                answer = ("y", "Enter")
            if kind != "press_key":
                yield evolve(
                    first,
                    then=("done-quiet", "done-busy", "done-spin")[turn % (2 if home == "ink" else 3)],
                    keys=answer,
                    words=first.words,
                )
            if turn % 7 == 3:
                yield evolve(first, then="cancelled", keys=("C-c",))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("libraries", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=3)
    asked = parser.parse_args()
    for home in ("cur", "old", "ink", "py"):
        for script in (*HERE.glob("*.mjs"), HERE / "ask.py"):
            shutil.copy(script, asked.libraries / home)
    wanted = [scene for scene in scenes() if re.search(asked.only, scene.id)]
    random.Random(4).shuffle(wanted)  # so that a run that is stopped early has a fair share of all
    print(f"{len(wanted)} scenes")
    with ThreadPoolExecutor(asked.jobs) as pool, asked.out.open("a") as out:
        for made in pool.map(lambda scene: played(scene, asked.libraries.resolve()), wanted):
            if made is not None:
                out.write(json.dumps(made, ensure_ascii=False) + "\n")
                out.flush()


if __name__ == "__main__":
    main()
