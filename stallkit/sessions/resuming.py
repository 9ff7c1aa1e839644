"""How an agent that hangs is interrupted, and how its session goes on in a new process.  Values: nothing is pressed.

The tables are what each agent's ``--help`` says (`tests/sessions/test_resuming.py` holds them against the installed
ones).  A command line that is not wholly understood is not changed: then there is none.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any, Mapping, Sequence

from attrs import field, frozen

from stallkit.core.verdict import Verdict

__all__ = ["AGENTS", "Resuming", "resume_command", "session_in", "session_of"]

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{3,127}", re.ASCII)
_SUBCOMMAND = re.compile(r"[a-z][a-z-]*")


@frozen
class Resuming:
    """What is known of one agent's command line."""

    words: tuple[str, ...]  # before the session's id
    flags: frozenset[str] = field(converter=frozenset)  # options without a value that a new start keeps
    valued: frozenset[str] = field(converter=frozenset)  # options with one
    dropped: Mapping[str, bool]  # options that choose a session, and whether they take a value, which may be left out
    directory: bool = False  # its first argument is a directory, not a prompt
    escape: bool = True  # Escape once interrupts its turn, as measured


AGENTS: Mapping[str, Resuming] = {
    "claude": Resuming(
        words=("--resume",),
        flags={
            "--dangerously-skip-permissions",
            "--allow-dangerously-skip-permissions",
            "--verbose",
            "--debug",
            "--ide",
        }
        | {"--strict-mcp-config", "--chrome", "--no-chrome", "--bare", "--safe-mode", "--disable-slash-commands"},
        valued={"--model", "--permission-mode", "--settings", "--append-system-prompt", "--system-prompt", "--agent"}
        | {"--fallback-model", "--effort", "--setting-sources", "--agents", "--name", "-n", "--debug-file"},
        dropped={"--continue": False, "-c": False, "--resume": True, "-r": True, "--session-id": True}
        | {"--fork-session": False},
    ),
    "codex": Resuming(
        words=("resume",),
        flags={"--oss", "--full-auto", "--search", "--no-alt-screen", "--dangerously-bypass-approvals-and-sandbox"},
        valued={"--model", "-m", "--config", "-c", "--profile", "-p", "--sandbox", "-s", "--ask-for-approval", "-a"}
        | {"--cd", "-C", "--add-dir", "--enable", "--disable", "--local-provider", "--remote"},
        dropped={"--last": False, "--all": False},
    ),
    "gemini": Resuming(
        words=("--resume",),
        flags={"--debug", "-d", "--sandbox", "-s", "--yolo", "-y", "--screen-reader", "--skip-trust"},
        valued={"--model", "-m", "--approval-mode", "--allowed-mcp-server-names", "--include-directories", "--policy"},
        dropped={"--resume": True, "-r": True, "--session-id": True},
    ),
    "opencode": Resuming(
        words=("--session",),
        flags={"--print-logs", "--pure", "--mdns", "--auto"},
        valued={"--model", "-m", "--agent", "--port", "--hostname", "--log-level", "--cors"},
        dropped={"--continue": False, "-c": False, "--session": True, "-s": True, "--fork": False},
        directory=True,
        escape=False,  # it wants it twice
    ),
    "copilot": Resuming(
        words=("--resume",),
        flags={"--allow-all-tools", "--allow-all-paths", "--allow-all-urls", "--allow-all", "--yolo", "--banner"}
        | {"--no-color", "--no-custom-instructions", "--screen-reader", "--experimental", "--disable-builtin-mcps"},
        valued={"--model", "--add-dir", "--agent", "--log-level", "--log-dir", "--additional-mcp-config"},
        dropped={"--continue": False, "--resume": True},
    ),
}


def resume_command(command: Sequence[str], agent: str, session_id: str | None) -> tuple[str, ...] | None:
    """The command that goes on with a session of an agent, from the one that started it; None where that is unknown.

    `session_id` comes from the agent itself (`session_of`, `session_in`).  The options of the first start are kept,
    what it was told to do is not.  None as well for a command line with an option that is not known, and for another
    program.

    >>> resume_command(["claude", "--model", "opus", "fix the tests"], "claude", "0f8b-41")
    ('claude', '--resume', '0f8b-41', '--model', 'opus')
    >>> resume_command(["sh", "-c", "claude"], "claude", "0f8b-41") is None
    True
    """
    known = AGENTS.get(agent)
    if known is None or session_id is None or not _ID.fullmatch(session_id):
        return None
    if not command or PurePath(command[0]).name != agent:
        return None
    kept = _kept(list(command[1:]), known)
    if kept is None:
        return None
    directory, options = kept
    return (command[0], *directory, *known.words, session_id, *options)


def session_of(verdict: Verdict, agent: str) -> str | None:
    """The id of its session as an agent's own signal names it; None where none does."""
    named = (one.session for one in verdict.signals if one.app == agent and one.stale is None and one.session)
    return next(named, None)


def session_in(verdicts: Sequence[Mapping[str, Any]], agent: str) -> str | None:
    """The same from verdicts as `press.events.describe` writes them, as an exit record has them; the latest counts."""
    for verdict in reversed(verdicts):
        for one in verdict.get("signals") or ():
            if one.get("app") == agent and one.get("stale") is None and one.get("session"):
                return str(one["session"])
    return None


def _kept(words: list[str], known: Resuming) -> tuple[list[str], list[str]] | None:
    """The directory and the options of a command line; None where one of its words is not known."""
    first: list[str] = []
    options: list[str] = []
    while words:
        word = words.pop(0)
        name, equals, _ = word.partition("=")
        if word == "--":
            break  # a prompt follows
        if not word.startswith("-"):
            first.append(word)
        elif name in known.dropped:
            if known.dropped[name] and not equals and words and _ID.fullmatch(words[0]):
                words.pop(0)
        elif name in known.valued:
            if not equals and not words:
                return None
            options += [word] if equals else [word, words.pop(0)]
        elif word in known.flags:
            options.append(word)
        else:
            return None
    if known.directory:
        return (first, options) if len(first) <= 1 and all("/" in word or word == "." for word in first) else None
    if first and _SUBCOMMAND.fullmatch(first[0]) and first[0] not in known.words:
        return None  # it may be a command of the agent's own, and not a prompt
    return [], options
