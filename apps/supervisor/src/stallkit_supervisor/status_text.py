"""A text that the status line of a tmux server may show: its option ``@stallkit``, as ``#{@stallkit}``.

tmux draws the status line again where an option changes, so nothing has to be run in it.  A second option names the
process whose text it is: one that was killed leaves its text behind, and whoever comes later can tell.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Iterable, Literal

from stallkit.errors import TransportError
from stallkit.probes.procfs import Process
from stallkit.redact.redact import redact
from stallkit.terminal.marks import plain
from stallkit.transports.tmux.call import Server, quoted
from stallkit.transports.tmux.identity import ServerIdentity

# --- what the sessions of a supervisor need, in one short line for a status bar ---

# wait: for an answer, at a prompt or after its turn; failed, hung, ended: as a person is told; stopped: by a limit of
# stallkit's own, or by a rule; unseen: it could not be looked at; limit: of usage, which passes by itself.
StatusNeed = Literal["wait", "failed", "hung", "ended", "stopped", "unseen", "limit"]
NEEDS: tuple[StatusNeed, ...] = ("wait", "failed", "hung", "ended", "stopped", "unseen", "limit")  # in this order
ROOM = 60  # characters of names, for each need
NAME = 24


def summary(needs: Iterable[tuple[StatusNeed, str]]) -> str:
    """How many sessions need what, and which, as far as there is room; empty if none needs anything.

    The names are those of targets.  Without secrets, and without characters that a terminal would not show.
    """
    by_need: dict[StatusNeed, list[str]] = {need: [] for need in NEEDS}
    for need, target in needs:
        by_need[need].append(_short(target))
    return ", ".join(f"{len(names)} {need}: {_that_fit(sorted(names))}" for need, names in by_need.items() if names)


def _short(target: str) -> str:
    """A target's name for people: without its scheme, and not too long."""
    name = plain(redact(target.removeprefix("tmux:"))).replace(" ", "_")
    return name if len(name) <= NAME else f"{name[: NAME - 1]}…"


def _that_fit(names: list[str]) -> str:
    fit, room = 0, ROOM
    for name in names:
        room -= len(name) + 1
        if room < 0:
            break
        fit += 1
    left = len(names) - fit
    return " ".join([*names[:fit], *([f"+{left}"] if left else [])])


TEXT, OWNER = "@stallkit", "@stallkit_of"


class StatusText:
    """What this process has the status line of one server show."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._owner = "{}_{}".format(*Process.ours())
        self._shown: tuple[ServerIdentity, str] | None = None

    async def show(self, text: str, on: ServerIdentity) -> None:
        """Set the text, if it is a different one; nothing in it is taken as a format or a style."""
        if self._shown == (on, text):
            return
        lines = [f"set-option -g {TEXT} {quoted(text.replace('#', '##'))}", f"set-option -g {OWNER} {self._owner}"]
        await self._give(lines)
        self._shown = (on, text)

    async def clear(self) -> None:
        """Remove it, unless another process has set its own since."""
        if self._shown is not None:
            self._shown = None
            await self._give([self.clearing])

    @property
    def clearing(self) -> str:
        """The line of commands that does it."""
        return _cleared(self._owner)

    async def _give(self, lines: list[str]) -> None:
        with suppress(TransportError):  # a look reports it
            await self._server.answer(["source-file", "-"], "\n".join(lines) + "\n")


def clear_stale(server: Server) -> bool:
    """Remove the text of a process that has ended without doing so; whether there was one.

    Raises TransportError if tmux does not answer; SessionGone if no server runs.
    """
    owner = server.run(server.name, ["display-message", "-p", f"#{{{OWNER}}}"]).strip()
    pid, _, started = owner.partition("_")
    if not (pid.isdecimal() and started.isdecimal()) or Process(int(pid), int(started)).alive():
        return False
    server.read(server.name, _cleared(owner))
    return True


def _cleared(owner: str) -> str:
    unset = f"set-option -gu {TEXT} ; set-option -gu {OWNER}"
    return f"if-shell -F {quoted(f'#{{==:#{{{OWNER}}},{owner}}}')} {quoted(unset)}"
