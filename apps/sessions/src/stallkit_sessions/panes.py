"""Sessions in tmux panes: started so that their pane remains after their end, found again, and removed.

`end_facts` has what tmux knows of their end.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Mapping, Sequence

from attrs import frozen

from stallkit.errors import CaptureTimeout, SessionGone, TransportError, TransportUnavailable
from stallkit.transports.base import Options
from stallkit.transports.tmux.call import NoServer, NoSessions, Server, ServerExited, TmuxSession, lost_socket, quoted
from stallkit.transports.tmux.format import FOLDER, SEALED, Frame
from stallkit.transports.tmux.identity import IDENTITY, Identity, valid_name
from stallkit.transports.tmux.pane import DRAINED

MARK = "@stallkit_session"  # our own pane option: the session that the pane was made for
ENDED = "#{pane_dead_status},#{pane_dead_signal}"

START_S = 10.0  # for a start, perhaps the server's own, which reads the user's configuration first
_AGAIN_S = 0.02
_REMOVED = "stallkit-removed"


class StartError(TransportError):
    """The session was not started."""

    _what = "could not start"


class NameTaken(StartError):
    """A session of that name exists on the server."""


def begin(
    session: TmuxSession, argv: Sequence[str], size: tuple[int, int], environment: Mapping[str, str]
) -> tuple[str, int | None]:
    """Start a program (argv) in a new tmux session; returns its identity, and its start in clock ticks since boot.

    The start is None if the program has ended already; its pane remains.  `size` is columns and rows.  A program
    that cannot be run ends with 126 or 127, and its pane says why.  Starts the server where there is none.

    Raises NameTaken, StartError, CaptureTimeout (then nothing is started later), TransportUnavailable; ValueError for
    an invalid name or an argv without a program.
    """
    if not valid_name(session.name) or not argv:
        what = f"{session.name!r} is not a name for a session: letters, digits, _ and -, 64 at most"
        raise ValueError(what if argv else "there is no program to start")
    target, at, server = f"tmux:{session.name}", f"={session.name}:", Server.of(session)
    made = ["new-session", "-d", "-P", "-F", IDENTITY, "-s", session.name, "-x", str(size[0]), "-y", str(size[1])]
    commands = [
        [*made, "--", *_words(session.id, argv, environment)],
        *_kept(at, session.id, session.sealed),
        *_named(at, session.directory),
        *_drained(at),
        ["set-option", "-t", at, "destroy-unattached", "off"],
        ["display-message", "-p", "-t", at, "#{pane_id}"],
    ]
    line = " ; ".join(map(_line, commands))
    try:
        started, marked = server.start(target, line, START_S, session.directory).splitlines()
        identity = Identity.of(started)
        if identity.pane != marked:  # a hook of the user made another pane the current one in between
            kept = [*_kept(identity.pane, session.id, session.sealed), *_named(identity.pane, session.directory)]
            marks = ("remain-on-exit", MARK, SEALED, FOLDER, DRAINED)
            for command in [*kept, *(["set-option", "-p", "-u", "-t", marked, mark] for mark in marks)]:
                server.run(target, command)
    except (CaptureTimeout, TransportUnavailable):
        raise
    except TransportError as error:
        raise _start_error(error, target) from error
    except ValueError as error:
        raise StartError(target, "tmux did not say what it started", "see whether tmux answers by hand") from error
    return _begun(identity)


def respawn(
    ended: TmuxSession, identifier: str, argv: Sequence[str], environment: Mapping[str, str]
) -> tuple[str, int | None]:
    """Start a program in the pane that a session left, for the session of this id; returns what `begin` does.

    The pane keeps its size and its directory.  Its server checks that the pane is still the dead one, in the command
    that starts.  Raises StartError and other TransportErrors; then nothing is started later.
    """
    target, identity = f"tmux:{ended.name}", Identity.of(ended.identity)
    at = identity.pane
    if not Path(ended.directory).is_dir():  # tmux would take the home directory
        raise StartError(target, f"{ended.directory} is not a directory", "make it again, or start it elsewhere")
    commands = [
        ["respawn-pane", "-t", at, "--", *_words(identifier, argv, environment)],
        *_kept(at, identifier, ended.sealed),
        ["if-shell", "-F", "-t", at, "#{pane_pipe}", "", " ; ".join(map(_line, _drained(at)))],
        ["display-message", "-p", "-t", at, IDENTITY],
    ]
    same = f"#{{&&:#{{pane_dead}},#{{==:{IDENTITY},{identity}}}}}"
    words = ["if-shell", "-F", "-t", at, same, " ; ".join(map(_line, commands)), "display-message -p other"]
    answer = Server.of(ended).read(target, _line(words)).strip()
    if answer == "other":
        raise StartError(target, "another process or server has its place now", "look again")
    try:
        return _begun(Identity.of(answer))
    except ValueError as error:
        raise StartError(target, f"tmux said {answer[:80]!r}", "see whether tmux answers by hand") from error


def _begun(identity: Identity) -> tuple[str, int | None]:
    stat = identity.uncollected()
    return str(identity), stat.started if stat else None


def _words(identifier: str, argv: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The command that starts a program (argv) for the session of this id.

    `env`, and not tmux's own -e: 3.1c has none, and it would also hold for panes that a user opens beside ours.  A
    single word would go to a shell; a first word with = in it would be a variable to env.
    """
    given = [f"{name}={value}" for name, value in {**environment, "STALLKIT_SESSION": identifier}.items()]
    program = ["sh", "-c", 'exec "$@"', "sh", *argv] if "=" in argv[0] else argv
    return ["env", *given, *program]


def _line(words: Sequence[str]) -> str:
    return " ".join(map(quoted, words))


@frozen
class Pane:
    """One pane in a list."""

    identity: Identity
    dead: bool
    ended: str  # in the form of `ENDED`
    mark: str


def panes_of(server: Server) -> list[Pane] | None:
    """Every pane of a server; None if no server answers on its socket.  Raises TransportError."""
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
            time.sleep(_AGAIN_S)  # it is just ending
    try:
        parts = iter(frame.parts(answer))
        return [
            Pane(Identity.of(identity), dead == "1", ended, marked)
            for identity, dead, ended, marked, _ in zip(*[parts] * 5, strict=True)
        ]
    except ValueError as error:
        raise TransportError(server.name, f"its answer was cut: {error}", "look again") from error


def find(identifier: str, options: Options) -> tuple[str, int | None] | None:
    """The pane that was made for the session of this id, in the form of `begin`; None if there is none.

    Raises TransportError if looking failed.
    """
    for pane in panes_of(Server(options)) or ():
        if pane.mark == identifier:
            return _begun(pane.identity)
    return None


def remove(session: TmuxSession) -> bool:
    """Remove the pane of a session, and with its last pane the tmux session; whether it existed.

    Panes that a user opened beside it stay, and so does another session that has since got its name or pane.  A program
    that still runs in it loses its terminal, so it should be ended first.  Raises TransportError if looking failed;
    then nothing is removed later.
    """
    target, identity = f"tmux:{session.name}", Identity.of(session.identity)
    same = f"#{{==:{IDENTITY},{identity}}}"
    kill = f"display-message -p -t {identity.pane} {_REMOVED} ; kill-pane -t {identity.pane}"
    words = ["if-shell", "-F", "-t", identity.pane, same, kill, "display-message -p other"]
    try:
        return _REMOVED in Server.of(session).read(target, _line(words))
    except NoServer as error:
        if identity.server_lives(session.pane_started):
            raise lost_socket(target, identity.server.pid) from error
        return False
    except (SessionGone, NoSessions):
        return False


def _kept(at: str, identifier: str, sealed: bool) -> list[list[str]]:
    """The commands that make a pane remain after its program, mark its session, and keep every key out of one."""
    marks = [["remain-on-exit", "on"], [MARK, identifier], *([[SEALED, "1"]] if sealed else [])]
    return [["set-option", "-p", "-t", at, *mark] for mark in marks]


def _named(at: str, folder: str) -> list[list[str]]:
    """The command that notes which folder the operator named; not a home directory or the root, which nobody means."""
    if Path(folder) in (Path("/"), Path.home()):
        return []
    return [["set-option", "-p", "-t", at, FOLDER, os.fsencode(folder).hex()]]


def _drained(at: str) -> list[list[str]]:
    """The commands that give a pane a pipe: without, tmux loses what is printed just before an end (docs/tmux.md)."""
    return [["pipe-pane", "-O", "-t", at, "exec cat >/dev/null"], ["set-option", "-p", "-t", at, DRAINED, "1"]]


def unpiped(at: str) -> str:
    """The line of commands that takes our pipe from a pane; a session of ours gets back the one that it began with."""
    drained = " ; ".join(map(_line, _drained(at)))
    return _line(["if-shell", "-F", "-t", at, f"#{{{MARK}}}", drained, _line(["pipe-pane", "-t", at])])


def _start_error(error: TransportError, target: str) -> StartError:
    if "duplicate session" in error.why:
        return NameTaken(target, "a session of that name exists", "take another name, or end that one first")
    # A start at the moment of kill-server may leave a server behind that never ends (tmux 3.3a, with any client).
    hangs = isinstance(error, ServerExited)
    return StartError(target, error.why, "end the tmux server on that socket by its pid" if hangs else error.todo)
