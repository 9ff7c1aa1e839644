"""tmux panes: one subprocess for each look and each key press, with an exact target and a deadline.

Measured on tmux 3.1c to 3.8 (docs/tmux.md): ``-t name`` also matches a longer name, ``=name:`` does not;
``display-message`` on a missing target succeeds with empty fields, ``capture-pane`` fails; only ``send-keys -H`` is
byte-exact; without ``-u`` a client in the C locale loses every character beyond ASCII.
"""

from __future__ import annotations

import re
import time
from typing import Sequence

from attrs import evolve

from stallkit.core.keys import Keys
from stallkit.core.verdict import Snapshot
from stallkit.errors import KeysRefused, SessionGone, TransportError
from stallkit.probes.process import probed
from stallkit.transports.base import DEADLINE_S, Options
from stallkit.transports.tmux.call import Server, quoted
from stallkit.transports.tmux.format import (
    HELD,
    PRESSED,
    Frame,
    fields_of,
    identity_of,
    line_of,
    lines_of,
    look_commands,
    screen_of,
    snapshot_of,
)
from stallkit.transports.tmux.listen import PanePipe

__all__ = ["TmuxTransport"]

_REFUSED = "stallkit-refused"
_ROOM = 16_000  # bytes of a command: a client sends 16 kB at most, and a key takes three
# $1, @1 and {last} have another meaning in tmux, with or without =; * and ? are patterns in a window's name.
_ADDRESS = re.compile(
    r"(?P<session>[^$@%{:\x00-\x1f][^:\x00-\x1f]*)(?::(?P<window>\w[^.:*?\[\x00-\x1f]*)?(?P<pane>\.\d+)?)?"
)


class TmuxTransport:
    """The transport over one tmux pane, found by name at the first look and then by its identity.

    `name` is ``NAME``, ``NAME:WINDOW.PANE`` or ``%PANE``.  A pane that takes the same name later is another session.

    With `Options.listen`, looks have `marks`, from shortly after the first look on (`PanePipe`); None where the pane's
    output is piped elsewhere already.
    """

    def __init__(self, name: str, options: Options | None = None, binary: str = "tmux") -> None:
        options = options or Options()
        self.target, self.options = f"tmux:{name}", options
        self._at = _exact(name, self.target)
        self._name = None if ":" in name or name.startswith("%") else name
        self._closed = False
        self._identity: str | None = None
        self._latest: tuple[Snapshot, dict[str, str]] | None = None
        self._listen = options.listen
        self._pipe: PanePipe | None = None
        self._server = Server(options, binary)

    @property
    def pane(self) -> str:
        """The pane's own address, ``%PANE``, once it was looked at; until then the one it was opened by."""
        return self._at

    @classmethod
    def open(cls, address: str, options: Options) -> TmuxTransport:
        """The pane of a target's address, without a look at it."""
        return cls(address, options)

    def capture(self) -> Snapshot:
        """One look, in one call of tmux.  Raises SessionGone, CaptureTimeout, TransportUnavailable, TransportError."""
        frame = Frame()
        answer = self._run(*look_commands(self._at, frame), frame.end)
        fields, snapshot = _read(frame, answer, self.target)
        if self._identity is None:
            self._identity, self._at = snapshot.identity, fields["pane_id"]
        elif snapshot.identity != self._identity:
            self._stop_listening()
            raise SessionGone(self.target, "another process or server has its place now")
        before = self._latest[0] if self._latest else None
        snapshot = probed(snapshot, before, fields["pane_tty"], identity_of(fields).pid)
        if self._pipe is None and self._listen:
            self._pipe = PanePipe(self._run, self._at)
        if self._pipe is not None:
            snapshot = evolve(snapshot, marks=self._pipe.heard(alive=snapshot.alive is not False))
        self._latest = (snapshot, fields)
        return snapshot

    def send(self, keys: Keys, seen: Snapshot) -> None:
        """Press keys, all in one write, if the pane is still as the latest look, `seen`, showed it.

        The server checks that in the same command that sends: the same process in the pane, the same foreground
        command, cursor, size and prompt line, nothing scrolled, no copy mode, and no key pressed since.
        """
        if self._latest is None or self._latest[0] is not seen:
            raise KeysRefused(self.target, "that is not the latest look at it")
        if not seen.accepts_keys:
            why = "it takes no keys: it ended, is in copy mode, or types into other panes as well"
            raise KeysRefused(self.target, why)
        fields = self._latest[1]
        mark = f"{seen.screen.fingerprint}-{time.monotonic()}"
        unchanged = [f"#{{==:#{{{name}}},{_escaped(fields[name])}}}" for name in HELD]
        unchanged.append(f"#{{==:#{{C/r:{fields['line']}}},{fields['line_at']}}}")
        codes = " ".join(keys.to_tmux(application_cursor=fields["keypad_cursor_flag"] == "1"))
        press = f"set-option -p -t {self._at} {PRESSED} {mark} ; send-keys -t {self._at} -H {codes}"
        refuse = f"display-message -p {_REFUSED}"
        command = ["if-shell", "-F", "-t", self._at, _all_of(unchanged), press, refuse]
        if sum(len(word.encode()) + 1 for word in command) > _ROOM:
            raise KeysRefused(self.target, f"{len(codes.split())} bytes are too many for one call of tmux")
        if _REFUSED in self._run(command):
            raise KeysRefused(self.target, "it changed since it was looked at")

    def restart(self, command: Sequence[str], seen: Snapshot) -> None:
        """Start a program (argv) in the pane where the one in `seen` ended.

        tmux refuses where a program runs.  Raises SessionGone, TransportError.
        """
        if seen.alive is not False or self.capture().identity != seen.identity:
            raise TransportError(self.target, "its program has not ended", "look again")
        self._run(["respawn-pane", "-t", self._at, "--", *_as_argv(command)])

    def start(self, command: Sequence[str], directory: str | None = None) -> None:
        """Start a program (argv) in a new session of the target's name, in a directory, else in ours.

        Raises TransportError where there is one of that name, or the target names more than a session.
        """
        if self._name is None:
            raise TransportError(self.target, "it names a window or a pane, not a session", "start it by hand")
        words = ["new-session", "-d", "-P", "-F", "#{pane_id}", "-s", self._name, "--", *_as_argv(command)]
        if directory is None:
            self._run(words)
        else:  # not tmux's own -c, which is a format
            self._server.start(self.target, " ".join(map(quoted, words)), DEADLINE_S, directory)

    def close(self) -> None:
        """Allow no more looks or keys through this transport; the session keeps running."""
        self._stop_listening()
        self._closed, self._latest = True, None

    def _stop_listening(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None

    def _run(self, *commands: Sequence[str]) -> str:
        """What one call of tmux prints."""
        if self._closed:
            raise TransportError(self.target, "this transport was closed", "open the target again")
        return self._server.run(self.target, *commands)


def _exact(name: str, target: str) -> str:
    """A tmux target that no other session, window or pane can match."""
    if re.fullmatch(r"%(0|[1-9][0-9]*)", name):  # tmux reads %01 as %1
        return name
    address = _ADDRESS.fullmatch(name)
    if address is None:
        raise ValueError(f"{target!r} names no pane: write tmux:NAME, tmux:NAME:WINDOW.PANE or tmux:%PANE")
    window, pane = address["window"] or "", address["pane"] or ""
    return f"={address['session']}:{window if window.isdecimal() or not window else '=' + window}{pane}"


def _read(frame: Frame, answer: str, target: str) -> tuple[dict[str, str], Snapshot]:
    """The fields and the snapshot in the answer to one look."""
    try:
        numbers, command, title, captured = frame.parts(answer)
        fields, lines = fields_of(numbers) | {"pane_current_command": command}, lines_of(captured)
        snapshot = snapshot_of(fields, screen_of(fields, title, lines), target, time.monotonic())
        fields |= line_of(lines[: int(fields["pane_height"])], int(fields["cursor_y"]))
    except ValueError as error:
        raise TransportError(target, str(error), "see whether tmux answers by hand") from error
    return fields, snapshot


def _escaped(value: str) -> str:
    """A value as a tmux format compares it literally."""
    return re.sub(r"([#,}])", r"#\1", value)


def _all_of(conditions: list[str]) -> str:
    """One condition, as flat as possible: tmux 3.1c reads formats ten levels deep, and takes deeper ones as false."""
    if len(conditions) == 1:
        return conditions[0]
    half = len(conditions) // 2
    return f"#{{&&:{_all_of(conditions[:half])},{_all_of(conditions[half:])}}}"


def _as_argv(command: Sequence[str]) -> Sequence[str]:
    """The command in at least two words, since tmux gives a single word to a shell."""
    return command if len(command) > 1 else ["env", *command]
