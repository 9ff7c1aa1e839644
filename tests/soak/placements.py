"""Files of settings where a person types commands, placed by an agent or another user: what they make happen.

None of them acts.  Every placement meets every command that reads settings; what would act leaves a mark.  Beside it,
what a person lets decide does act: the same file as the user's own, by ``--config``, and in a directory that was
allowed.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Callable, NamedTuple, Sequence
from unittest.mock import patch

from posted import Site

from soak.parts import Figure, Part, Run
from stallkit.settings_files import allow
from stallkit.toml_file import read_settings

OTHER = 65_534  # nobody's uid
WHAT = 'do = "press"\nsignature = ["shell_yn:yes_no", "shell_yn:proceed_question"]\nsession = "tmux:asks"\n'
PAUSE = '[[policy.rule]]\ndo = "press"\nsignature = "shell_tools:press_any_key"\nsession = "tmux:asks"\n'
ASKS = 'while read -rsn1 -p "Proceed? [y/N] " key; do echo "$key" >> {marks}/key; done'
COMMANDS = (
    *("config notify", "run -- true", "run --background -- true", "watch tmux:asks --for 1", "watch --all --for 1"),
    *(
        "watch --service --check",
        "watch --service",
        "check tmux:asks",
        "check tmux:asks --dismiss",
        "wait tmux:asks --timeout 1",
    ),
    *("explain tmux:asks", "policy explain tmux:asks", "start s{number} -- true", "list", "output s{number}"),
    *("attach last", "status", "report --incidents", "send tmux:none text", "stuck list", "sandbox serve web", "serve"),
    "config show",
)
AT_ONCE = 6
ENDLESS_S = 2.0  # after which a command that would serve for ever is ended


class Ground:
    """A person's home, a working directory, a tmux server that asks, and the marks of what acted; all in one folder."""

    def __init__(self, folder: Path, site: Site) -> None:
        self.folder, self.site = folder, site
        self.work, self.marks = folder / "work" / "here", folder / "marks"
        self.file, self.users = self.work / "stallkit.toml", folder / "home" / ".config" / "stallkit" / "stallkit.toml"
        for one in (self.work, self.marks, self.users.parent, folder / "tmux"):
            one.mkdir(parents=True)
        (folder / "tmux").chmod(0o700)

    def ask(self) -> None:
        asks = ASKS.format(marks=shlex.quote(str(self.marks)))
        self.run("tmux", "-f", "/dev/null", "new", "-d", "-s", "asks", "bash", "-c", asks)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "STALLKIT_CACHE", "LC_ALL") if name in os.environ}
        home = {"HOME": str(self.folder / "home"), "TMUX_TMPDIR": str(self.folder / "tmux")}
        return {**kept, **home, "STALLKIT_STATE_DIR": str(self.folder / "state"), "TERM": "xterm-256color"}

    @property
    def acting(self) -> str:
        """Settings that all act, each with a mark."""
        mark = self.marks
        return f"""
[watch]
targets = ["tmux:asks"]
interval_s = 0.3
stall_timeout_s = 0.2
hung_after_s = 0.1
[limits]
per_iteration = 99
total = 99
[restart]
command = ["touch", "{mark}/restart"]
total = 99
[hung]
escape = true
restart = true
[events]
exec = "touch {mark}/exec"
webhook = "{self.site.url}/mark"
file = "{mark}/events"
metrics = ":0"
[[session]]
target = "tmux:asks"
directory = "{mark}"
[policy]
trust = ["/"]
[[policy.rule]]
{WHAT}[[policy.rule]]
do = "resume"
state = "quota"
session = "tmux:asks"
[[policy.rule]]
do = "restart"
state = ["ended", "gone"]
"""

    def run(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """The end of a program, which is let go after a while."""
        process = subprocess.Popen(
            words, env=self.environment, cwd=cwd or self.work, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        endless = words[1:2] == ("serve",) or words[1:3] in (("sandbox", "serve"), ("watch", "--service"))
        try:
            out, err = process.communicate(timeout=ENDLESS_S if endless else 60)
        except subprocess.TimeoutExpired:
            process.terminate()
            out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def call(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return self.run(str(Path(sys.executable).parent / "stallkit"), *words, cwd=cwd)

    def allow(self, folder: Path) -> None:
        """As `stallkit config allow` does."""
        with patch.dict(os.environ, self.environment):
            allow(folder, read_settings(folder / "stallkit.toml"))

    def acted(self) -> list[str]:
        return sorted([path.name for path in self.marks.iterdir()] + ["webhook"] * bool(self.site.got))

    def end(self) -> None:
        for server in ([], ["-S", str(self.work / "s")]):
            self.run("tmux", *server, "kill-server", cwd=self.folder)


class Placement(NamedTuple):
    """A way to place settings; where that returns a directory, the commands are typed there, else in the usual one."""

    name: str
    place: Callable[[Ground], object]
    refused: bool = False  # whether the file is refused, also where a person allowed it, or names it


def _text(text: str) -> Callable[[Ground], object]:
    def place(ground: Ground) -> None:
        given = text.replace("MARK", str(ground.marks)).replace("URL", f"{ground.site.url}/mark")
        ground.file.write_text(given.replace("ALL", ground.acting))

    return place


def _bytes(made: Callable[[str], bytes]) -> Callable[[Ground], object]:
    return lambda ground: ground.file.write_bytes(made(ground.acting))


def _allowed(then: Callable[[Ground], object]) -> Callable[[Ground], object]:
    """Allowed by a person, and then something happens."""

    def place(ground: Ground) -> object:
        ground.file.write_text(ground.acting)
        ground.allow(ground.work)
        return then(ground)

    return place


def _beside(ground: Ground) -> None:
    (ground.work / "rules.toml").write_text(f"[[rule]]\n{WHAT}")
    ground.file.write_text('policy = "rules.toml"\n[watch]\ntargets = ["tmux:asks"]\ninterval_s = 0.3\n')


def _linked(ground: Ground) -> None:
    (ground.folder / "theirs").mkdir()
    (ground.folder / "theirs" / "any.toml").write_text(ground.acting)
    ground.file.symlink_to(ground.folder / "theirs" / "any.toml")


def _night(ground: Ground) -> Path:
    """A file of the user's own, which is used with --config at times."""
    (night := ground.users.parent / "night.toml").write_text(ground.acting)
    return night


def _socket(ground: Ground) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as made:
        before = Path.cwd()
        os.chdir(ground.work)  # a socket's path is short
        made.bind(ground.file.name)
        os.chdir(before)


def _server(text: str) -> Callable[[Ground], object]:
    """A tmux server of somebody else's; a session of that name leaves the mark when it gets a key."""

    def place(ground: Ground) -> None:
        server, key = str(ground.work / "s"), ground.marks / "key"
        ask = f'read -rsn1 -p "Press any key to continue" && touch {shlex.quote(str(key))}; sleep 60'
        ground.run("tmux", "-f", "/dev/null", "-S", server, "new", "-d", "-s", "asks", "bash", "-c", ask)
        ground.file.write_text(f"[tmux]\nsocket = {text.replace('HERE', str(ground.work))}\n")

    return place


def _copied(ground: Ground) -> Path:
    there = ground.folder / "work" / "there"
    there.mkdir()
    (there / "stallkit.toml").write_text(ground.file.read_text())
    return there


def _below(ground: Ground) -> Path:
    below = ground.work / "below"
    below.mkdir()
    (below / "stallkit.toml").write_text(ground.file.read_text())
    return below


def _git(ground: Ground) -> None:
    ground.run("git", "init", "-q", ".")
    hook = ground.work / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {ground.marks}/hook\n")
    hook.chmod(0o755)
    ground.run("git", "config", "core.fsmonitor", f"touch {ground.marks}/fsmonitor; true")
    ground.file.write_text(ground.acting)


def _python(ground: Ground) -> None:
    names = ("attrs", "click", "regex", "stallkit", "rich", "usercustomize", "sitecustomize", "tomllib", "json")
    for name in names:
        (ground.work / f"{name}.py").write_text(f"open({str(ground.marks / name)!r}, 'w')\n")
    ground.file.write_text(ground.acting)


def _forged_record(ground: Ground) -> None:
    ground.file.write_text(ground.acting)
    ground.allow(ground.work)
    [record] = (ground.folder / "state" / "allowed").iterdir()
    record.chmod(0o666)  # so that others could have written it


PLACEMENTS = (
    Placement("all settings that act", _text("ALL")),
    Placement("a command", _text('[events]\nexec = "touch MARK/exec"\n')),
    Placement("a webhook", _text('[events]\nwebhook = "URL"\n')),
    Placement("a file for events", _text('[events]\nfile = "MARK/events"\n')),
    Placement("a port", _text('[events]\nmetrics = ":0"\n')),
    Placement("a profile", _text('policy = "daemon"\n')),
    Placement("a profile in a table", _text('[policy]\nprofile = "daemon"\n')),
    Placement("a policy file beside it", _beside),
    Placement("a rule", _text(f"[[policy.rule]]\n{WHAT}")),
    Placement("trust", _text('[policy]\ntrust = ["/"]\n')),
    Placement("a restart", _text('[restart]\ncommand = ["touch", "MARK/restart"]\n')),
    Placement("keys after a limit", _text('[quota]\nkeys = "y Enter"\n')),
    Placement("escape and restart", _text("[hung]\nescape = true\nrestart = true\n[watch]\nhung_after_s = 0.1\n")),
    Placement("a session's directory", _text('[[session]]\ntarget = "tmux:asks"\ndirectory = "MARK"\n')),
    Placement("sessions", _text("[watch]\nall = true\ninterval_s = 0.2\nstall_timeout_s = 0.1\n")),
    Placement("a socket in the directory", _server('"./s"')),
    Placement("a socket by its path", _server('"HERE/s"')),
    Placement("dotted keys", _text('events.exec = "touch MARK/exec"\nevents.webhook = "URL"\n')),
    Placement("an inline table", _text('events = {exec = "touch MARK/exec"}\n')),
    Placement("quoted and escaped keys", _text('["e\\u0076ents"]\n"ex\\u0065c" = "touch MARK/exec"\n')),
    Placement("a format", _text('format = 1\n[events]\nexec = "touch MARK/exec"\n')),
    Placement("a number of a format that is not known", _text("format = 2\nALL")),
    Placement("no TOML at its end", _text("ALL\n[watch")),
    Placement("a key that nobody knows", _text("ALL\n[wach]\nall = true\n")),
    Placement("other line ends", _bytes(lambda text: text.replace("\n", "\r\n").encode())),
    Placement("UTF-16", _bytes(lambda text: text.encode("utf-16"))),
    Placement("two megabytes", _bytes(lambda text: f"{text}\n# {'x' * 2_000_000}\n".encode())),
    Placement("a link", _linked),
    Placement("a link to another file of the user's", lambda ground: ground.file.symlink_to(_night(ground))),
    Placement("a second name of a file of the user's", lambda ground: ground.file.hardlink_to(_night(ground))),
    Placement("a link to nothing", lambda ground: ground.file.symlink_to("nowhere")),
    Placement("a directory", lambda ground: ground.file.mkdir(), refused=True),
    Placement("a pipe", lambda ground: os.mkfifo(ground.file), refused=True),
    Placement("a device", lambda ground: ground.file.symlink_to("/dev/zero"), refused=True),
    Placement("a socket", _socket, refused=True),
    Placement("another user's", _allowed(lambda ground: os.chown(ground.file, OTHER, OTHER)), refused=True),
    Placement("written by others", _allowed(lambda ground: ground.file.chmod(0o666)), refused=True),
    Placement(
        "written by a group",
        _allowed(lambda ground: [os.chown(ground.file, -1, OTHER), ground.file.chmod(0o664)]),
        refused=True,
    ),
    Placement("in a directory of others", _allowed(lambda ground: ground.work.chmod(0o777)), refused=True),
    Placement("below a directory of others", _allowed(lambda ground: ground.work.parent.chmod(0o777)), refused=True),
    Placement(
        "below another user's directory", _allowed(lambda ground: os.chown(ground.work.parent, OTHER, 0)), refused=True
    ),
    Placement("changed after it was allowed", _allowed(lambda g: g.file.write_text(f"{g.acting}#"))),
    Placement("allowed elsewhere", _allowed(_copied)),
    Placement("allowed above", _allowed(_below)),
    Placement("allowed, and moved", _allowed(lambda ground: ground.work.rename(ground.folder / "work" / "moved"))),
    Placement("allowed, and denied", _allowed(lambda ground: ground.call("config", "deny", str(ground.work)))),
    Placement("allowed by a record that others can write", _forged_record),
    Placement("in a work tree with hooks", _git),
    Placement("beside modules of Python", _python),
)


def soak(run: Run) -> list[Figure]:
    """So many of the placements, spread over all, each with every command; beside it, what a person lets decide.

    In a short run, each meets its own part of the commands, and all of them meet every command.
    """
    turns = 1 if run.size >= len(PLACEMENTS) else run.size
    chosen = [PLACEMENTS[number * len(PLACEMENTS) // run.size] for number in range(run.size)]
    acts, silent, lock = list[str](), list[str](), Lock()

    def placed(number: int) -> None:
        (folder := run.folder / str(number)).mkdir()
        acted, said = _placed(Ground(folder, Site()), chosen[number], number, COMMANDS[number % turns :: turns], lock)
        if acted:
            acts.append(f"{chosen[number].name}: {', '.join(acted)}")
        if not said:
            silent.append(chosen[number].name)

    (let := run.folder / "let").mkdir()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        lets = pool.submit(_let, Ground(let, Site()), lock)
        for done, _ in enumerate(pool.map(placed, range(run.size)), 1):
            run.tell(done)
        worked = lets.result()
    all_act = all(one == ["events", "exec", "key", "webhook"] for one in worked.values())
    tried = f"{run.size} x {len(COMMANDS) // turns}"
    return [
        Figure("placements x commands after which anything had acted", f"{acts or 0} of {tried}", "0", not acts),
        Figure("placements of which no command said that it is ignored", f"{silent or 0}", "0", not silent),
        Figure("what acts for the user's own file, --config, an allowed directory", json.dumps(worked), "all", all_act),
    ]


def _placed(
    ground: Ground, placement: Placement, number: int, commands: Sequence[str], lock: Lock
) -> tuple[list[str], bool]:
    """What acted, and whether anything was said of the file; one at a time is placed, as that needs this process."""
    try:
        ground.ask()
        ground.users.write_text(PAUSE)  # the person's own rule: at its key a server that was placed leaves a mark
        with lock:
            placed = placement.place(ground)
        cwd = placed if isinstance(placed, Path) else None
        said = ""
        for words in commands:
            said += ground.call(*words.format(number=number).split(), cwd=cwd).stderr
        return ground.acted(), " is ignored, as it decides" in said or "nothing in it counts" in said
    finally:
        ground.end()
        ground.site.end()


def _let(ground: Ground, lock: Lock) -> dict[str, list[str]]:
    found = {}
    try:
        ground.ask()
        for way in ("user", "config", "allowed"):
            ground.file.unlink(missing_ok=True)
            options = ["--config", str(ground.work / "named.toml")] if way == "config" else []
            file = {"user": ground.users, "config": ground.work / "named.toml", "allowed": ground.file}[way]
            file.write_text(ground.acting)
            if way == "allowed":
                with lock:
                    ground.allow(ground.work)
            ground.site.got.clear()
            for mark in ground.marks.iterdir():
                mark.unlink()
            assert ground.call("config", "notify", *options).returncode == 0
            ground.call("watch", "tmux:asks", "--for", "4", *options)
            found[way] = [one for one in ground.acted() if not one.startswith(".")]
            file.unlink()
    finally:
        ground.end()
        ground.site.end()
    return found


PART = Part(__doc__, "placements", full=len(PLACEMENTS), short=3, soak=soak)
