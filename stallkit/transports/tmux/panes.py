"""Sessions in tmux panes: begun so that their end leaves its pane behind, found again, and taken away.

What tmux knows of their end is in `end_facts`.
"""

from __future__ import annotations

import re
import time
from typing import Mapping, Sequence

from attrs import frozen

from stallkit.errors import CaptureTimeout, SessionGone, TransportError, TransportUnavailable
from stallkit.transports.base import Options
from stallkit.transports.tmux.call import NoServer, NoSessions, Server, ServerExited, TmuxSession, lost_socket, quoted
from stallkit.transports.tmux.format import Frame
from stallkit.transports.tmux.identity import IDENTITY, Identity
from stallkit.transports.tmux.listen import DRAINED

__all__ = ["ENDED", "NameTaken", "Pane", "StartError", "begin", "find", "panes_of", "remove", "valid_name"]

MARK = "@stallkit_session"  # a pane option of our own: which session this pane was made for
ENDED = "#{pane_dead_status},#{pane_dead_signal}"

START_S = 10.0  # for a start: it may be the server's own, which reads the user's configuration first
_AGAIN_S = 0.02
_REMOVED = "stallkit-removed"
# No `.` and `:`, which tmux changes; none of its wildcards, special names or formats; no option by its first character;
# fit to be a part of a container's name, a file's and a branch's.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")


class StartError(TransportError):
    """The session was not started."""

    _what = "could not start"


class NameTaken(StartError):
    """A session of that name exists on the server, whoever made it."""


def valid_name(name: str) -> bool:
    """Whether a session may be called that: 1 to 64 letters, digits, `_` and `-` of ASCII, no `-` in front."""
    return _NAME.fullmatch(name) is not None


def begin(
    session: TmuxSession,
    argv: Sequence[str],
    size: tuple[int, int],
    environment: Mapping[str, str],
    binary: str = "tmux",
) -> tuple[str, int | None]:
    """Start a program (argv) in a new tmux session; its identity, and its start in clock ticks since boot.

    The start is None where the program has ended already: its pane is there all the same.  `size` is columns and rows.
    A program that cannot be run ends with 126 or 127, and its pane says why.  Starts the server where there is none.

    Raises NameTaken, StartError, CaptureTimeout (then nothing is started later), TransportUnavailable; ValueError for a
    name that is not valid or an argv without a program.
    """
    if not valid_name(session.name) or not argv:
        what = f"{session.name!r} is no name for a session: letters, digits, _ and -, 64 at most"
        raise ValueError(what if argv else "there is no program to start")
    target, at, server = f"tmux:{session.name}", f"={session.name}:", Server.of(session, binary)
    # `env`, and not tmux's own -e: 3.1c has none, and what a user opens beside our pane is not the session.  A single
    # word would go to a shell; a first word with = in it would be a variable to env.
    given = [f"{name}={value}" for name, value in {**environment, "STALLKIT_SESSION": session.id}.items()]
    program = ["sh", "-c", 'exec "$@"', "sh", *argv] if "=" in argv[0] else argv
    made = ["new-session", "-d", "-P", "-F", IDENTITY, "-s", session.name, "-x", str(size[0]), "-y", str(size[1])]
    commands = [
        [*made, "--", "env", *given, *program],
        *_kept(at, session.id),
        # tmux loses what a program printed just before its end, unless it has a pipe to feed: docs/tmux.md.
        ["pipe-pane", "-O", "-t", at, "exec cat >/dev/null"],
        ["set-option", "-p", "-t", at, DRAINED, "1"],
        ["set-option", "-t", at, "destroy-unattached", "off"],
        ["display-message", "-p", "-t", at, "#{pane_id}"],
    ]
    line = " ; ".join(" ".join(map(quoted, command)) for command in commands)
    try:
        said, marked = server.start(target, line, START_S, session.directory).splitlines()
        identity = Identity.of(said)
        if identity.pane != marked:  # a hook of the user's made another pane the current one in between
            for command in [*_kept(identity.pane, session.id), *_not_kept(marked)]:
                server.run(target, command)
    except (CaptureTimeout, TransportUnavailable):
        raise
    except TransportError as error:
        raise _start_error(error, target) from error
    except ValueError as error:
        raise StartError(target, "tmux did not say what it started", "see whether tmux answers by hand") from error
    stat = identity.uncollected()
    return str(identity), stat.started if stat else None


@frozen
class Pane:
    """One pane in a list."""

    identity: Identity
    dead: bool
    ended: str  # in the form of `ENDED`
    mark: str


def panes_of(server: Server) -> list[Pane] | None:
    """Every pane that a server has; None where no server answers to its socket.  Raises TransportError."""
    frame = Frame()
    line = frame.line(IDENTITY, "#{pane_dead}", ENDED, f"#{{{MARK}}}")
    for last in (False, False, True):
        try:
            answer = server.run(server.name, ["list-panes", "-a", "-F", line], frame.end)
            break
        except SessionGone:
            return None
        except NoSessions:
            return []
        except ServerExited:
            if last:
                raise
            time.sleep(_AGAIN_S)  # it is about to be no more
    try:
        parts = iter(frame.parts(answer))
        return [
            Pane(Identity.of(identity), dead == "1", ended, marked)
            for identity, dead, ended, marked, _ in zip(*[parts] * 5, strict=True)
        ]
    except ValueError as error:
        raise TransportError(server.name, f"its answer was cut: {error}", "look again") from error


def find(identifier: str, options: Options, binary: str = "tmux") -> tuple[str, int | None] | None:
    """The pane that was made for the session of this id, as `begin` tells it; None where there is none.

    Raises TransportError where nobody could look.
    """
    for pane in panes_of(Server(options, binary)) or ():
        if pane.mark == identifier:
            stat = pane.identity.uncollected()
            return str(pane.identity), stat.started if stat else None
    return None


def remove(session: TmuxSession, binary: str = "tmux") -> bool:
    """Take away the pane of a session, and with its last pane the tmux session; whether it was there.

    What a user opened beside it stays, and so does whatever else has its name or its pane by now.  A program that
    runs in it loses its terminal: `ending.end_program` ends it first.  Raises TransportError where nobody could look;
    then nothing is taken away later.
    """
    target, identity = f"tmux:{session.name}", Identity.of(session.identity)
    same = f"#{{==:{IDENTITY},{identity}}}"
    kill = f"display-message -p -t {identity.pane} {_REMOVED} ; kill-pane -t {identity.pane}"
    words = ["if-shell", "-F", "-t", identity.pane, same, kill, "display-message -p other"]
    try:
        return _REMOVED in Server.of(session, binary).read(target, " ".join(map(quoted, words)))
    except NoServer as error:
        if identity.server_lives(session.pane_started):
            raise lost_socket(target, identity.server.pid) from error
        return False
    except SessionGone:
        return False


def _kept(at: str, identifier: str) -> list[list[str]]:
    """The commands that have a pane outlive its program, and say whose it is."""
    return [["set-option", "-p", "-t", at, "remain-on-exit", "on"], ["set-option", "-p", "-t", at, MARK, identifier]]


def _not_kept(at: str) -> list[list[str]]:
    """The commands that undo it."""
    return [["set-option", "-p", "-u", "-t", at, name] for name in ("remain-on-exit", MARK, DRAINED)]


def _start_error(error: TransportError, target: str) -> StartError:
    if "duplicate session" in error.why:
        return NameTaken(target, "a session of that name exists", "take another name, or end that one first")
    # A start in the very moment of kill-server may leave a server behind that never ends (tmux 3.3a, by any client).
    hangs = isinstance(error, ServerExited)
    return StartError(target, error.why, "end the tmux server on that socket by its pid" if hangs else error.todo)
