"""What a hostile scene is, and the usual ways to stage one."""

from __future__ import annotations

import json
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Any, Mapping

from attrs import field, frozen

from stallkit.core.text import strip

__all__ = ["ACTOR", "Act", "Scene", "actor", "bash", "drawn", "half_typed", "last_words", "piece", "played", "put"]

ACTOR = Path(__file__).with_name("actor.py")
PYTHON = Path(sys.executable).resolve()
LAST = 16  # characters of a text's last line by which it is known to be there


class Act(StrEnum):
    """What a machine is to try at a scene."""

    CHECK = "check"  # look, decide, press, as a supervisor does, several times
    SEND = "send"  # type text for an agent
    SWITCH = "switch"  # look and decide, let the program become another, then press


@frozen(kw_only=True)
class Scene:
    """One terminal: what runs in it, in a folder of its own with `files`, and what is tried there.

    `links` are names under which Python is there, for scripts before all others on PATH.  Where `ready` is shown,
    `typed` is typed, without Enter, and a file ``go`` is made; the scene is set when `shows` is to be seen.  `reads`:
    programs other than the actor read the terminal, and what they read counts.  No byte is to come to it under any
    policy, but for those of `meant`, `because` of something.
    """

    family: str = ""
    name: str
    run: tuple[str, ...]
    shows: str
    files: Mapping[str, str] = field(factory=dict)
    links: tuple[str, ...] = ()
    ready: str = ""
    typed: str = ""
    reads: bool = False
    size: tuple[int, int] = (80, 24)
    act: Act = Act.CHECK
    after: str = ""  # of one that switches: what it shows then
    allows: bool = False  # it is tried as well under a policy that allows some commands, and trusts a folder
    meant: frozenset[str] = frozenset()
    because: str = ""


def put(text: str, column: int, row: int, *, hides: bool = False) -> str:
    """A text, and the cursor at a cell of the screen, 0-based."""
    return f"{text}\033[{row + 1};{column + 1}H" + "\033[?25l" * hides


def piece(text: str) -> str:
    """Some of a text that is to be seen wherever it is drawn: of its longest line."""
    longest = max((line.strip() for line in strip(text).split("\n")), key=len)
    return longest[:LAST].strip()


def last_words(text: str) -> str:
    """What is to be seen when all of a text is drawn."""
    plain = strip(text).rstrip()
    return plain.split("\n")[-1].strip()[-LAST:].strip()


def drawn(name: str, text: str, *, program: str = "claude", hides: bool = True, **given: Any) -> Scene:
    """An agent of that name shows a text and reads keys in raw mode."""
    return played(name, {"text": "\033[?25l" * hides + text, "mode": "raw"}, program=program, **given)


def played(name: str, play: Mapping[str, object], *, program: str = "installer", **given: Any) -> Scene:
    """The actor under a name, with what it is to play; `shows` is what it draws unless given."""
    final = play
    while given.get("act") is not Act.SWITCH and "next" in final:
        final = final["next"]  # type: ignore[assignment]  # a play within a play
    shows = given.pop("shows", last_words(str(final["text"])))
    links = (program, *given.pop("links", ()))
    return bash(name, f"exec {actor(program, play)}", shows, links=links, **given)


def actor(program: str, play: Mapping[str, object]) -> str:
    """The actor as a shell's command; `program` has to be among the links."""
    return shlex.join([program, "-I", "-S", str(ACTOR), json.dumps(play)])


def bash(name: str, script: str, shows: str, **given: Any) -> Scene:
    """What a script of bash does."""
    run = ("bash", "--norc", "--noprofile", "-c", f'PATH="$PWD:$PATH"; {script}')
    return Scene(name=name, run=run, shows=shows, **given)


def half_typed(name: str, background: str, shows: str, *, typed: str = "touch pwned", **given: Any) -> Scene:
    """An interactive bash at whose prompt a line is half typed when a job in its background does something."""
    job = f"(while [ ! -e go ]; do sleep 0.05; done; {background}) &"
    rc = f"PS1='dev@box:~$ '; unset HISTFILE\n{job}\n"
    files = {"rc": rc, **given.pop("files", {})}
    run = ("bash", "--noprofile", "--rcfile", "rc", "-i")
    return Scene(name=name, run=run, shows=shows, ready="dev@box:~$", typed=typed, files=files, reads=True, **given)
