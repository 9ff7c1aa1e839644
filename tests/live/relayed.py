"""Programs that ask for a password of an account, and terminals that show another terminal: ssh, sudo, su, script."""

from __future__ import annotations

from typing import Any

from live.asking import SECRET, asks, press
from live.scene import CHOICES, TYPED, Scene
from live.working import fakes, works

from stallkit import Kind, State

SSHD = ("ssh", "debs/usr/sbin/sshd")
SUDO = ("setpriv", "debs/usr/bin/sudo")
VISITOR = "setpriv --reuid 4242 --regid 4242 --clear-groups"
KNOWN_INSIDE = "read -p 'Proceed? [y/N] ' x"
UNKNOWN_INSIDE = "read -p 'Whither now, and why ' x"
FAR_FAKE = "behind a relay, whether anything reads the inner terminal is unknown, and it is taken for a prompt"
CANNOT_SEE = "behind a relay, whether anything reads the inner terminal is unknown, and unknown is not waiting"


def ssh(name: str, script: str, shows: str, *rest: Any, **more: Any) -> Scene:
    return asks(name, script, shows, *rest, secluded=True, needs=SSHD, **more)


RELAYED: list[Scene] = [
    ssh(
        "ssh, an unknown host",
        "exec $SSH_STRANGER",
        "continue connecting",
        CHOICES | {Kind.TEXT, Kind.TRUST},
    ),
    ssh("ssh, a password", "exec $SSH_PASSWORD", "assword:", SECRET),
    ssh(
        "ssh -t, a question inside",
        f'exec $SSH -t "bash -c \\"{KNOWN_INSIDE}\\""',
        "[y/N]",
        CHOICES,
        unknown_misses=CANNOT_SEE,
    ),
    ssh(
        "ssh -t, an unknown question inside",
        f'exec $SSH -t "bash -c \\"{UNKNOWN_INSIDE}\\""',
        "Whither",
        TYPED,
        misses=CANNOT_SEE,
        unknown_misses=CANNOT_SEE,
    ),
    ssh(
        "ssh -t, a pager inside",
        "exec $SSH -t 'seq 99 | less'",
        "\n9\n",
        frozenset({Kind.PAGER}),
        unknown_misses=CANNOT_SEE,
    ),
    works("ssh -t, at work", "exec $SSH -t 'echo building; sleep 1000'", "building", needs=SSHD, secluded=True),
    fakes(
        "ssh -t, answered",
        f'exec $SSH -t "bash -c \\"{KNOWN_INSIDE}; sleep 1000\\""',
        "[y/N]",
        press("y", "Enter", shows="[y/N] y"),
        needs=SSHD,
        secluded=True,
    ),
    fakes(
        "ssh -t, printed inside",
        "exec $SSH -t 'printf \"Proceed? [y/N] \"; sleep 1000'",
        "[y/N]",
        needs=SSHD,
        secluded=True,
        misses=FAR_FAKE,
    ),
    Scene(
        "ssh, at a shell",
        "exec $SSH -t 'PS1=\"visitor@box:~$ \" exec bash --norc --noprofile -i'",
        "$",
        State.ENDED,
        needs=SSHD,
        secluded=True,
    ),
    asks("sudo, a password", f"exec {VISITOR} sudo -k true", "assword", SECRET, secluded=True, needs=SUDO),
    asks(
        "sudo, a question inside",
        f'exec {VISITOR} sudo /bin/sh -c "bash -c \\"{KNOWN_INSIDE}\\""',
        "[y/N]",
        CHOICES,
        secluded=True,
        needs=SUDO,
    ),
    works(
        "sudo, at work",
        f"exec {VISITOR} sudo /bin/sh -c 'echo building; sleep 1000'",
        "building",
        secluded=True,
        needs=SUDO,
    ),
    fakes(
        "sudo, printed inside",
        f"exec {VISITOR} sudo /bin/sh -c 'printf \"Proceed? [y/N] \"; sleep 1000'",
        "[y/N]",
        secluded=True,
        needs=SUDO,
    ),
    asks("su, a password", f"exec {VISITOR} su root", "assword", SECRET, secluded=True, needs=("setpriv", "su")),
    asks(
        "passwd",
        f"exec {VISITOR} passwd",
        "assword",
        SECRET,
        secluded=True,
        needs=("setpriv", "passwd"),
        why="the account is in the scene's own world",
    ),
    asks(
        "script, a question inside",
        f'exec script -q -c "bash -c \\"{KNOWN_INSIDE}\\"" /dev/null',
        "[y/N]",
        CHOICES,
    ),
    asks(
        "script, an unknown question inside",
        f'exec script -q -c "bash -c \\"{UNKNOWN_INSIDE}\\"" /dev/null',
        "Whither",
        TYPED,
    ),
    works("script, at work", "exec script -q -c 'echo building; sleep 1000' /dev/null", "building"),
    fakes(
        "script, printed inside",
        "exec script -q -c 'printf \"Proceed? [y/N] \"; sleep 1000' /dev/null",
        "[y/N]",
    ),
]
