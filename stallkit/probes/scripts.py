"""Which programs the interpreters among some processes run, by their command lines."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Iterable

from stallkit.core.facts import INTERPRETERS, Member
from stallkit.probes.procfs import PROC

__all__ = ["script_in", "scripts"]


def scripts(members: Iterable[Member]) -> frozenset[str]:
    """The names of the scripts that these processes run; without what cannot be read."""
    found = set()
    for member in members:
        try:
            words = Path(PROC, str(member.pid), "cmdline").read_text("utf-8", "replace").split("\0")
        except OSError:
            continue
        found.add(script_in(words))
    return frozenset(found - {""})


def script_in(words: list[str]) -> str:
    """The name of the script in an interpreter's command line, without its suffix; or "".

    >>> script_in(["node", "--max-old-space-size=4096", "/usr/bin/gemini"]), script_in(["bash", "gemini"])
    ('gemini', '')
    """
    called = PurePath(words[0]).name.rstrip("0123456789.") if words else ""
    if called not in INTERPRETERS:
        return ""
    first = next((word for word in words[1:] if word), "")
    while first.startswith("--") and "=" in first:  # options that bring their value along
        words = words[1:]
        first = next((word for word in words[1:] if word), "")
    return "" if first.startswith("-") else PurePath(first).stem
