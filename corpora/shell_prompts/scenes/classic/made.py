"""What the scenes of classic programs have in common."""

from __future__ import annotations

import re
from itertools import cycle
from typing import Any, Iterable, Sequence

from attrs import evolve

from corpora.shell_prompts.stage import DPKG, Scene

SIZES = cycle(("", "large", "", "large", "", "large", "", "large", "", "large", "narrow"))
FULL_SIZES = cycle(("", "large"))  # full-screen programs need the room


def typed(text: str) -> str:
    """This text and Enter, as tmux's keys."""
    return " Space ".join(re.sub(r";$", r"\\;", word) for word in text.split(" ")) + " Enter"


def packaged(package: str) -> str:
    """What prints the version of a system package, without its epoch."""
    return f"{DPKG}{package} | sed 's/^[0-9]*://'"


def repl(  # a table's columns
    package: str,
    program: str,
    command: str,
    prompt: str,
    busy: str = "",
    leave: str = "",
    more: Sequence[tuple[str, str, str, str]] = (),
    **options: Any,
) -> list[Scene]:
    """An interpreter: at its prompt, busy with what was typed, at further prompts (name, kind, typed, shown), left."""
    name, shared = program.replace(" ", "-"), {"version": packaged(package), **options}
    scenes = [Scene(name, program, command, kind="repl_prompt", until=prompt, **shared)]
    if busy:
        seen = re.escape(busy.split(" ")[-1]) + r"\s*$"
        steps = ((prompt, typed(busy)),)
        scenes.append(Scene(f"{name}-busy", program, command, state="working", steps=steps, until=seen, **shared))
    for what, kind, text, until in more:
        steps = ((prompt, typed(text)),)
        scenes.append(Scene(f"{name}-{what}", program, command, kind=kind, steps=steps, until=until, **shared))
    if leave:
        keys = leave if leave.startswith("C-") else typed(leave)
        steps = ((prompt, keys),)
        scenes.append(Scene(f"{name}-left", program, command, state="ended", steps=steps, until=r"\$ *$", **shared))
    return scenes


def placed(scenes: Iterable[Scene], full: bool = False) -> list[Scene]:
    """Each at one size, unless it names some: 80x24 and 120x35 in turns, without `full` every eleventh 40x15."""
    return [
        scene if scene.sizes != ("",) else evolve(scene, sizes=(next(FULL_SIZES if full else SIZES),))
        for scene in scenes
    ]
