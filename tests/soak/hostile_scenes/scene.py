"""What a scene is, what the two grounds allow at it, and the usual ways to stage one."""

from __future__ import annotations

import json
import re
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Any, Mapping, Sequence

from attrs import field, frozen

from stallkit.terminal.text import strip

HERE = Path(__file__).parent
ACTOR, NODE_ACTOR = HERE / "actor.py", HERE / "actor.js"
PYTHON = Path(sys.executable).resolve()
POLICIES = ("careful", "daemon", "butler", "rules")
# Sessions of the policy `rules`: what waits for a key in the first, yes or no in the second, and one of no rule.
BUILD, DEPLOY, LOOSE = "build-7", "deploy-1", "loose"
ANY_KEY, ENTER, YES_NO = "Press any key to continue...", "Press ENTER to continue ", "Proceed? [y/N] "
KEYS = {ANY_KEY: b" ", ENTER: b"\n", YES_NO: b"y\n"}
WHERE = {ANY_KEY: BUILD, ENTER: BUILD, YES_NO: DEPLOY}
LAST = 16  # characters of a text's last line by which it is known to be there
MOVES = re.compile(rb"(?:\033\[[AB]|\033O[AB]|\r|\n)*")  # what a rule on an option allows, beside the option's own key


class Act(StrEnum):
    CHECK = "check"  # look, decide, press, several times
    SWITCH = "switch"  # look and decide, let the program become another, then press
    WATCH = "watch"  # let a supervisor watch it for a while


@frozen(kw_only=True)
class Scene:
    """One terminal: what bash runs in it, in a folder of its own with `files`, and what is tried there.

    The scene is set when `shows` is to be seen; if `ready` is, `typed` is typed first; with `enters`, Enter as
    well.  `reads`: other
    programs than the actor read, and what they read counts.  `may` says what a ground allows, by policy: the bytes that
    the first step may get, whole or their beginning; by `picks` a row may be chosen.  All else is wrong.
    """

    family: str = ""
    name: str
    run: str
    shows: str
    session: str = LOOSE
    files: Mapping[str, str] = field(factory=dict)
    ready: str = ""
    typed: str = ""
    enters: bool = False
    reads: bool = False
    size: tuple[int, int] = (80, 24)
    act: Act = Act.CHECK
    after: str = ""  # of one that switches: what it shows then
    may: Mapping[str, tuple[bytes, ...]] = field(factory=dict)
    picks: Mapping[str, str] = field(factory=dict)
    because: str = ""
    before: str = ""  # tmux commands, one a line, before it is tried: "{pane}" is the pane

    def wrong(self, policy: str, got: Sequence[bytes], chose: Sequence[str]) -> str | None:
        """What is wrong with the bytes that came to each step, and with the rows that were chosen; or None."""
        first, *others = got or [b""]
        if any(others):
            return f"keys came to the next prompt: {others}"
        if policy in self.picks:
            if any(row != self.picks[policy] for row in chose):
                return f"chose {chose[0]!r}"
            return None if MOVES.fullmatch(first) or len(first) == 1 else f"{first!r} came to the menu"
        allowed = self.may.get(policy, ())
        if not first or any(keys.startswith(first) for keys in allowed):
            return None
        return f"{first!r} came, where {' or '.join(map(repr, allowed)) or 'nothing'} may"


def ground(by: str, session: str, keys: bytes, *, asks: str = YES_NO) -> dict[str, tuple[bytes, ...]]:
    """What the policies allow at a plain question that this program asks in this session.

    `daemon` and `butler` say yes to proven agents, `rules` in the sessions that it names.
    """
    found = {}
    if by == "claude":
        found |= {"daemon": (keys,), "butler": (keys,)}
    if by == "butler":
        found["butler"] = (keys,)
    if session == WHERE.get(asks, DEPLOY):
        found["rules"] = (keys,)
    return found


def last_words(text: str) -> str:
    """What is to be seen when all of a text is drawn."""
    plain = strip(text).rstrip()
    return plain.split("\n")[-1].strip()[-LAST:].strip()


def program(by: str, play: str = "play.json") -> str:
    """A shell's command that lets a program of that name act: claude and butler as they are proven, or another."""
    if by == "butler":
        return f"butler {play}"
    if by == "node":
        return f"node {NODE_ACTOR} {play}"
    return shlex.join([by if by != "python" else str(PYTHON), "-I", "-S", str(ACTOR), play])


def acted(name: str, *steps: Mapping[str, object], by: str = "python", **given: Any) -> Scene:
    """A program plays; `shows` is the text of its first step unless given."""
    files = {"play.json": json.dumps(steps), **given.pop("files", {})}
    text = str(steps[0]["text"])
    shows = given.pop("shows", "") or last_words(text)
    return Scene(name=name, run=f"exec {program(by)}", shows=shows, files=files, **given)


def menu(name: str, rows: Sequence[str], wanted: str, text: str, *, how: str = "", at: int = 0, **given: Any) -> Scene:
    """Claude Code's own menu, and the row that the rule on its label may choose ("" for none)."""
    step = {"text": f"\033[?25l{text}", "mode": "raw", "takes": "menu", "rows": list(rows), "at": at, "how": how}
    picks = {"rules": wanted} if wanted else {}
    given = {"by": "claude", "shows": rows[-1][-LAST:].strip(), **given}
    return acted(name, step, picks=picks, **given)


def bash(name: str, script: str, shows: str, **given: Any) -> Scene:
    """What a script of bash does, which reads itself or starts what reads."""
    return Scene(name=name, run=script, shows=shows, **{"reads": True, **given})


def half_typed(name: str, background: str, shows: str, *, typed: str = "touch pwned", **given: Any) -> Scene:
    """An interactive bash at whose prompt a line is half typed when a job in its background does something."""
    rc = f"PS1='dev@box:~$ '; unset HISTFILE\n(while [ ! -e go ]; do sleep 0.05; done; {background}) &\n"
    files = {"rc": rc, **given.pop("files", {})}
    run = "exec bash --noprofile --rcfile rc -i"
    return Scene(name=name, run=run, shows=shows, ready="dev@box:~$", typed=typed, files=files, reads=True, **given)
