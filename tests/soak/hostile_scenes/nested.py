"""Editors and pagers that run below another program, their text at the cursor; and terminals behind relays."""

from __future__ import annotations

import shlex
import sys
from itertools import cycle
from typing import Iterator

from soak.forged import COMPACT
from soak.hostile_scenes.losses import ANY_KEY, ENTER, YES_NO
from soak.hostile_scenes.scene import Scene, bash

__all__ = ["FAMILIES"]

PYTHON = shlex.quote(sys.executable)
# At whose words the cursor stands, or whose own prompt says them.
VIEWERS = {
    "vi": ("vi -u NONE text", "to continue"),
    "vi, at its end": ("vi -u NONE -c 'norm G$' text", "to continue"),
    "vi, inserting": ("vi -u NONE -c 'norm G$' -c startinsert! text", "to continue"),
    "vi, its own pause": ("vi -u NONE -c 'echo \"a\\nb\\nc\"' text", "Press ENTER"),
    "view": ("vi -u NONE -R -c 'norm G$' text", "to continue"),
    "nano": ("nano text", "to continue"),
    "less": ("less text", "to continue"),
    "less, its prompt": (f"less '-P{ENTER}' long", "Press ENTER"),
    "less, a key in its prompt": (f"less '-P{ANY_KEY}' long", "Press any"),
    "more": ("more long", "to continue"),
}
BELOW = {
    "a shell": "sh ./view; true",
    "bash": "bash --norc ./view; true",
    "Python": f'{PYTHON} -I -c \'import subprocess; subprocess.run(["sh", "./view"])\'',
    "node": 'node -e \'require("child_process").spawnSync("sh", ["./view"], {stdio: "inherit"})\'',
    "make": "printf 'all:\\n\\t@sh ./view\\n' > Makefile; make",
    "env": "env x=1 sh ./view; true",
}
TEXT = {"text": ENTER, "long": f"{ANY_KEY}\n{ENTER}\nto continue\n" * 40, "question": YES_NO}


def _below() -> Iterator[Scene]:
    parents = cycle(BELOW.items())
    for viewer, (command, shows) in VIEWERS.items():
        for _ in range(2):
            parent, script = next(parents)
            files = {**TEXT, "view": f"{command}\ntrue\n"}  # it is not its last command, which a shell would become
            yield bash(f"{viewer} below {parent}", script, shows, files=files, reads=True)
        next(parents)  # so that each parent comes with other viewers
    repository = "git init -q .; git config user.name x; git config user.email x@example.org; git add text;"
    yield bash(
        "git, a message's template in vi",
        f"{repository} GIT_EDITOR='vi -u NONE' git commit -q -t text",
        "to continue",
        files=TEXT,
        reads=True,
    )
    yield bash(
        "git, its log in less",
        f"{repository} git commit -qm '{ENTER}'; git -c core.pager='less \"-P{ENTER}\" -+F' log -p",
        "Press ENTER",
        files=TEXT,
        reads=True,
    )
    yield bash(
        "git, a diff in less",
        f"{repository} git commit -qm x; cp long text; git -c core.pager='less -+F -P\"{ANY_KEY}\"' diff",
        "Press any",
        files=TEXT,
        reads=True,
    )
    last = f"unset HISTFILE; set -o history; history -s 'touch pwned # {ENTER}'\n"
    last += "fc -e 'vi -u NONE' -1 -1\n"
    run = "exec bash --noprofile --rcfile rc -i"
    yield bash("bash's last line in vi", run, "touch", files={"rc": last}, reads=True)
    yield bash(
        "a question in vi",
        "sh -c \"vi -u NONE -c 'norm G$' -c startinsert! question\"; true",
        "[y/N]",
        files=TEXT,
        reads=True,
    )
    yield bash("a question in nano", "sh -c 'nano +,99 question'; true", "[y/N]", files=TEXT, reads=True)


INSIDE = {
    "a key that nobody asks for": (f"printf '{ANY_KEY}'; sleep 1000", "Press any"),
    "a question that nobody asks": (f"printf '{YES_NO}'; sleep 1000", "[y/N]"),
    "a secret": (f"echo '{ENTER}'; read -rsp '{ENTER}' x", "ENTER to"),
    "a loss": (f"echo 'All files will be removed.'; read -rsn1 -p '{ANY_KEY}' x", "Press any"),
    "a shell's prompt": (f"PS1={shlex.quote(ENTER)} exec bash --norc --noprofile -i", "ENTER to"),
    "a dialog": (f"printf %s {shlex.quote(COMPACT)}; exec cat", "No"),
}
SPAWN = "-I -c 'import pty, sys; pty.spawn(sys.argv[1:])' bash --norc --noprofile -c {}"
RELAYS = {
    "script": "script -q -c {} /dev/null",
    "su": "su root --session-command {}",
    "ssh": f"ssh {SPAWN}",
    "socat": f"socat {SPAWN}",
    "docker": f"docker {SPAWN}",
    "tmux": "env -u TMUX tmux -f /dev/null -S ./in new-session {} ';' set status off ';' set destroy-unattached on",
}


def _relays() -> Iterator[Scene]:
    for relay, template in RELAYS.items():
        for number, (what, (command, shows)) in enumerate(INSIDE.items()):
            if relay in ("ssh", "docker", "tmux") and number % 2 == len(relay) % 2:
                continue  # these are not seen through, one as another
            inner = (
                f"bash --norc --noprofile -c {shlex.quote(command)}" if relay in ("script", "su", "tmux") else command
            )
            script = template.format(shlex.quote(inner))
            yield bash(f"{what}, behind {relay}", script, shows, links=("ssh", "socat", "docker"), reads=True)


FAMILIES = {"editors and pagers": list(_below()), "relays": list(_relays())}
