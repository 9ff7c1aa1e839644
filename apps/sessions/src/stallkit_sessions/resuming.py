"""How an agent that hangs is interrupted, and how its session goes on in a new process.  Values: nothing is pressed.

What is known of an agent's command line is in its pack's ``agent.toml``.  A command line that is not wholly understood
is not changed: then there is none.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from typing import Callable, Iterable, Sequence

from stallkit.detect.agent import Agent, Resume
from stallkit.judging.verdict import Verdict

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{3,127}", re.ASCII)
_SUBCOMMAND = re.compile(r"[a-z][a-z-]*")


def resume_command(command: Sequence[str], agent: Agent, session_id: str | None) -> tuple[str, ...] | None:
    """The command that goes on with a session of an agent, from the one that started it; None if that is unknown.

    `session_id` comes from the agent itself (`session_of`, `session_shown`).  The options of the first start are kept,
    its task is not.  None as well for a command line with an option that is not known, and for another
    program.

    >>> from stallkit.detect.agent import Process
    >>> acme = Agent("acme", Process(["acme"]), resume=Resume("--resume", valued=frozenset({"--model"})))
    >>> resume_command(["acme", "--model", "big", "fix the tests"], acme, "0f8b-41")
    ('acme', '--resume', '0f8b-41', '--model', 'big')
    >>> resume_command(["sh", "-c", "acme"], acme, "0f8b-41") is None
    True
    """
    if session_id is None or not _ID.fullmatch(session_id):
        return None
    return _with(command, agent, lambda known: (known.resume, session_id))


def told_command(
    command: Sequence[str], text: str, agents: Iterable[Agent], directory: str = "", folder: Path | None = None
) -> tuple[str, ...] | None:
    """The command that starts an agent again with a text, from the one that started it; None if none of these did.

    It goes on with its latest session in a directory if its own `folder` has one.
    """

    def words(known: Resume) -> tuple[str, ...]:
        kept = known.kept.replace("{directory}", re.sub("[^A-Za-z0-9]", "-", directory))
        goes_on = folder is not None and kept and next(folder.glob(kept), None) is not None
        return (*(known.latest.split() if goes_on else ()), *known.text.split(), text)

    made = (_with(command, agent, words) for agent in agents)
    return next((one for one in made if one is not None), None)


def session_of(verdict: Verdict, agent: Agent) -> str | None:
    """The id of its session as an agent's own signal names it; None if none does."""
    named = (one.session for one in verdict.signals if one.app == agent.name and one.stale is None and one.session)
    return next(named, None)


def session_shown(text: str, agent: Agent) -> str | None:
    """The id in the command that an agent writes at its end for going on later; of several the lowest; else None.

    Whatever prints can write such a line: it names one of this user's own sessions at most.

    >>> from stallkit.detect.agent import Process
    >>> session_shown("To go on: acme resume 0f8b-41", Agent("acme", Process(["acme"]), resume=Resume("resume")))
    '0f8b-41'
    """
    known = agent.resume
    begins = rf"\b{re.escape(agent.name)} {re.escape(known.resume)}[ =]'?" if known else ""
    found = re.findall(rf"{begins}({_ID.pattern})", text, re.ASCII) if known else []
    return found[-1].rstrip(".") if found else None


def _with(command: Sequence[str], agent: Agent, words: Callable[[Resume], tuple[str, ...]]) -> tuple[str, ...] | None:
    """An agent's command line with other words instead of what chose its session, and of its text."""
    known = agent.resume
    kept = _kept(list(command[1:]), known) if known and command and PurePath(command[0]).name == agent.name else None
    if known is None or kept is None:
        return None
    directory, options = kept
    return (command[0], *directory, *words(known), *options)


def _kept(words: list[str], known: Resume) -> tuple[list[str], list[str]] | None:
    """The directory and the options of a command line; None if one of its words is not known."""
    first: list[str] = []
    options: list[str] = []
    while words:
        word = words.pop(0)
        name, equals, _ = word.partition("=")
        if word == "--":
            break  # a prompt follows
        if not word.startswith("-"):
            first.append(word)
        elif name in known.dropped_valued:
            if not equals and words and _ID.fullmatch(words[0]):
                words.pop(0)
        elif name in known.valued:
            if not equals and not words:
                return None
            options += [word] if equals else [word, words.pop(0)]
        elif name in known.listed:
            options.append(word)
            while words and not words[0].startswith("-"):
                options.append(words.pop(0))
        elif word in known.flags:
            options.append(word)
        elif word not in known.dropped:
            return None
    if known.directory:
        return (first, options) if len(first) <= 1 and all("/" in word or word == "." for word in first) else None
    if first and _SUBCOMMAND.fullmatch(first[0]) and first[0] != known.resume:
        return None  # it may be a command of the agent's own, and not a prompt
    return [], options
