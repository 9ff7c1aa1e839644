"""Words of the version before: they do what they did, and say once what they are called today."""

from __future__ import annotations

from typing import Sequence

import click

from stallkit.cli.speech import note

__all__ = ["todays_options", "todays_verb"]

_VERBS = {"wait-ready": "wait"}
_OPTIONS = {"--hung-after": "--hang-timeout", "--watch-for": "--for", "--wait-ready": "--wait"}


def todays_verb(verb: str) -> str:
    """What a verb is called today; one of today's is itself."""
    return _renamed(verb, _VERBS[verb]) if verb in _VERBS else verb


def todays_options(words: Sequence[str], command: click.Command) -> list[str]:
    """The words behind the verb, with the options that this command calls otherwise today; not what follows ``--``."""
    known = {option for one in command.params for option in one.opts}
    end = words.index("--") if "--" in words else len(words)
    found = []
    for word in words[:end]:
        name, equals, value = word.partition("=")
        now = _OPTIONS.get(name)
        renamed = now in known and name not in known
        found.append(f"{_renamed(name, now)}{equals}{value}" if renamed and now else word)
    return [*found, *words[end:]]


def _renamed(old: str, new: str) -> str:
    note(f"{old} is called {new} now; the old name goes with the next version")
    return new
