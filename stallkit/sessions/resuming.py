"""How an agent that hangs is interrupted, and how its session goes on in a new process.  Values: nothing is pressed.

The tables are what each agent's ``--help`` says (`tests/sessions/test_resuming.py` holds them against the installed
ones).  A command line that is not wholly understood is not changed: then there is none.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from typing import Any, Callable, Mapping, Sequence

from attrs import field, frozen

from stallkit.core.verdict import Verdict

__all__ = ["AGENTS", "Resuming", "resume_command", "session_in", "session_of", "session_shown", "told_command"]

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{3,127}", re.ASCII)
_SUBCOMMAND = re.compile(r"[a-z][a-z-]*")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@frozen
class Resuming:
    """What is known of one agent's command line; options are separated by blanks."""

    resume: str  # what goes before the session's id
    latest: str  # what goes on with the latest session in the directory
    flags: frozenset[str] = field(converter=_words)  # options without a value that a new start keeps
    valued: frozenset[str] = field(converter=_words)  # options with one
    listed: frozenset[str] = field(converter=_words)  # options with all words up to the next option
    dropped: frozenset[str] = field(converter=_words)  # options that choose a session, without a value
    dropped_valued: frozenset[str] = field(converter=_words)  # and those with one, which may be left out
    text: str = ""  # what goes before a text that it is started with
    kept: str = ""  # where its own folder has sessions of a directory, as a glob; none: it is not known
    directory: bool = False  # its first argument is a directory, not a prompt
    escape: bool = True  # Escape once interrupts its turn, as measured (docs/judge.md)


AGENTS: Mapping[str, Resuming] = {
    "claude": Resuming(
        resume="--resume",
        latest="--continue",
        kept="projects/{directory}/*.jsonl",
        flags="--dangerously-skip-permissions --allow-dangerously-skip-permissions --verbose --ide --strict-mcp-config"
        " --chrome --no-chrome --bare --safe-mode --disable-slash-commands --brief --restricted",
        valued="--model --permission-mode --settings --append-system-prompt --system-prompt --agent --agents"
        " --fallback-model --effort --setting-sources --name -n --debug-file --plugin-dir",
        listed="--add-dir --allowedTools --allowed-tools --disallowedTools --disallowed-tools --mcp-config --betas"
        " --tools",
        dropped="--continue -c --fork-session",
        dropped_valued="--resume -r --session-id",
    ),
    "codex": Resuming(
        resume="resume",
        latest="resume --last",
        kept="sessions/*/*/*/rollout-*.jsonl",
        flags="--oss --search --no-alt-screen --dangerously-bypass-approvals-and-sandbox --approve-for-me --no-daemon"
        " --dangerously-bypass-hook-trust --strict-config",
        valued="--model -m --config -c --profile -p --sandbox -s --ask-for-approval -a --cd -C --add-dir --enable"
        " --disable --local-provider --remote --remote-auth-token-env",
        listed="",
        dropped="--last --all --include-non-interactive",
        dropped_valued="",
    ),
    "gemini": Resuming(
        resume="--resume",
        latest="--resume latest",
        text="--prompt-interactive",
        kept="tmp/*/chats/session-*",
        flags="--debug -d --sandbox -s --yolo -y --screen-reader --skip-trust",
        valued="--model -m --approval-mode",
        listed="--allowed-mcp-server-names --include-directories --extensions -e --policy",
        dropped="",
        dropped_valued="--resume -r --session-id",
    ),
    "opencode": Resuming(
        resume="--session",
        latest="--continue",
        text="--prompt",
        flags="--print-logs --pure --mdns --auto",
        valued="--model -m --agent --port --hostname --log-level --mdns-domain",
        listed="",
        dropped="--continue -c --fork",
        dropped_valued="--session -s",
        directory=True,
        escape=False,  # it wants it twice
    ),
    "copilot": Resuming(
        resume="--resume",
        latest="--continue",
        text="--interactive",
        flags="--allow-all-tools --allow-all-paths --allow-all-urls --allow-all --yolo --banner --no-color"
        " --no-custom-instructions --screen-reader --experimental --no-experimental --disable-builtin-mcps --autopilot"
        " --no-auto-update --no-ask-user --disallow-temp-dir --enable-memory --plain-diff",
        valued="--model --reasoning-effort --context --agent --add-dir --log-dir --log-level --stream -C --mode"
        " --additional-mcp-config --disable-mcp-server --enable-mcp-server --plugin-dir",
        listed="--allow-tool --deny-tool --available-tools --excluded-tools --allow-url --deny-url",
        dropped="--continue",
        dropped_valued="--resume -r --session-id",
        escape=False,
    ),
}


def resume_command(command: Sequence[str], agent: str, session_id: str | None) -> tuple[str, ...] | None:
    """The command that goes on with a session of an agent, from the one that started it; None where that is unknown.

    `session_id` comes from the agent itself (`session_of`, `session_in`, `session_shown`).  The options of the first
    start are kept, what it was told to do is not.  None as well for a command line with an option that is not known,
    and for another program.

    >>> resume_command(["claude", "--model", "opus", "fix the tests"], "claude", "0f8b-41")
    ('claude', '--resume', '0f8b-41', '--model', 'opus')
    >>> resume_command(["sh", "-c", "claude"], "claude", "0f8b-41") is None
    True
    """
    if session_id is None or not _ID.fullmatch(session_id) or not command or PurePath(command[0]).name != agent:
        return None
    return _with(command, lambda known: (known.resume, session_id))


def told_command(
    command: Sequence[str], text: str, directory: str = "", folder: Path | None = None
) -> tuple[str, ...] | None:
    """The command that starts an agent anew with a text, from the one that started it; None where that is unknown.

    It goes on with its latest session in a directory if its own `folder` has one.

    >>> told_command(["claude", "--model", "opus", "fix the tests"], "go on")
    ('claude', 'go on', '--model', 'opus')
    """

    def words(known: Resuming) -> tuple[str, ...]:
        kept = known.kept.replace("{directory}", re.sub("[^A-Za-z0-9]", "-", directory))
        goes_on = folder is not None and kept and next(folder.glob(kept), None) is not None
        return (*(known.latest.split() if goes_on else ()), *known.text.split(), text)

    return _with(command, words)


def session_of(verdict: Verdict, agent: str) -> str | None:
    """The id of its session as an agent's own signal names it; None where none does."""
    named = (one.session for one in verdict.signals if one.app == agent and one.stale is None and one.session)
    return next(named, None)


def session_in(verdicts: Sequence[Mapping[str, Any]], agent: str) -> str | None:
    """The same from verdicts as `core.plain.describe` writes them, as an exit record has them; the latest counts."""
    for verdict in reversed(verdicts):
        for one in verdict.get("signals") or ():
            if one.get("app") == agent and one.get("stale") is None and one.get("session"):
                return str(one["session"])
    return None


def session_shown(text: str, agent: str) -> str | None:
    """The id in the command that an agent writes at its end for going on later; of several the lowest; else None.

    Whatever prints can write such a line: it names one of this user's own sessions at most.

    >>> session_shown("To continue this session, run codex resume 0f8b-41", "codex")
    '0f8b-41'
    """
    known = AGENTS.get(agent)
    found = re.findall(rf"\b{agent} {known.resume}[ =]'?({_ID.pattern})", text, re.ASCII) if known else []
    return found[-1].rstrip(".") if found else None


def _with(command: Sequence[str], words: Callable[[Resuming], tuple[str, ...]]) -> tuple[str, ...] | None:
    """An agent's command line with other words in place of what chose its session, and of its text."""
    known = AGENTS.get(PurePath(command[0]).name) if command else None
    kept = None if known is None else _kept(list(command[1:]), known)
    if known is None or kept is None:
        return None
    directory, options = kept
    return (command[0], *directory, *words(known), *options)


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
