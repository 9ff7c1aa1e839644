"""What a supervisor that runs answers at once: ``check tmux:NAME``, ``check -`` and ``status --short``.

To start an engine for one look takes ten times as long as to ask who has one.  The look is the supervisor's own, made
now (`supervise.resident_check`).  Where anything is in doubt there is no answer, and the command does it by itself;
so this knows the plain forms of the two commands alone, and imports next to nothing.
"""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path
from typing import Any, Sequence

from stallkit.cli.check_colour import painted, shows_colours
from stallkit.cli.check_words import plain_words
from stallkit.cli.exits import Exit, exit_of
from stallkit.config import FILE, TMUX_SOCKET, state_dir, user_config

__all__ = ["answered"]

SHORT_S = 0.25  # as `cli.status_commands`: a status bar waits for the line
CHECK_S = 8.0  # a check takes 3 s at most, and a machine may be slow
_TARGET = re.compile(r"tmux:(?:%\d+|[A-Za-z0-9_][A-Za-z0-9_-]*)")


def answered(words: Sequence[str]) -> int | None:
    """Print the answer to these words of a command line and return its exit code; None where there is no answer."""
    sockets = sorted(state_dir().glob("supervisor-*.sock"))
    if not sockets:
        return None
    if words[0] == "status":
        return _status(sockets) if list(words[1:]) == ["--short"] else None
    return _check(sockets, words[1:])


def _status(sockets: Sequence[Path]) -> int | None:
    found = _ask(sockets[0], {"do": "status"}, SHORT_S) if len(sockets) == 1 else None
    if found is None or not isinstance(found.get("short"), str):
        return None
    needs = {row["need"] for row in found["sessions"]} - {None, "limit"}
    return _printed([found["short"]], Exit.STALLED if needs else Exit.OK)


def _check(sockets: Sequence[Path], words: Sequence[str]) -> int | None:
    asked = plain_words(words)
    if asked is None or not (asked.target == "-" or _TARGET.fullmatch(asked.target)):
        return None
    request: dict[str, Any] = {"do": "check", "json": asked.as_json, "target": asked.target}
    if asked.socket_name is not None:
        request["socket_name"] = asked.socket_name
    if asked.socket_path is not None:
        request["socket_path"] = str(Path(asked.socket_path).absolute())
    if not _reaches(request) or not _has_text(request):
        return None
    from stallkit.process_context import context

    found = _ask(sockets[0], {**request, "context": context()}, CHECK_S)
    if found is None:
        return None
    lines = found["lines"]
    if not request["json"] and shows_colours(sys.stdout):
        lines = painted(lines, found["status"])
    return _printed(lines, exit_of(found["status"], asked.idle_ok))


def _reaches(request: dict[str, Any]) -> bool:
    """Add the tmux server where no option names one, as tmux does; whether it is known."""
    if "socket_name" in request or "socket_path" in request:
        return True
    given, around = os.environ.get(TMUX_SOCKET), os.environ.get("TMUX", "").partition(",")[0]
    if given is not None or os.path.lexists(FILE) or os.path.lexists(user_config()):
        return False  # `tmux_socket` knows how to read these
    if around:
        request["socket_path"] = around
    else:
        request["socket_name"] = "default"
    return True


def _has_text(request: dict[str, Any]) -> bool:
    """Add the text on standard input where that is the target; whether there is all that is asked for."""
    if request["target"] != "-":
        return True
    if sys.stdin is None:
        return False
    given = sys.stdin.buffer.read()
    sys.stdin = io.TextIOWrapper(io.BytesIO(given))  # for the command itself, where nobody answers
    request["text"] = given.decode("utf-8", "replace")
    return True


def _ask(path: Path, request: dict[str, Any], answer_s: float) -> dict[str, Any] | None:
    from stallkit.daemon_client import DaemonError, ask

    try:
        return ask(path, request, answer_s)
    except DaemonError:
        return None


def _printed(lines: Sequence[str], code: Exit) -> int:
    try:
        text = "".join(f"{line}\n" for line in lines)
        sys.stdout.write(text.encode(sys.stdout.encoding, "backslashreplace").decode(sys.stdout.encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains at its own exit
        return Exit.ERROR
    return code
