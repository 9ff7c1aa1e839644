"""tmux panes: one subprocess for each look and each key press, with an exact target and a deadline.

Measured on tmux 3.1c to 3.8 (docs/tmux.md): ``-t name`` also matches a longer name, ``=name:`` does not;
``display-message`` on a missing target succeeds with empty fields, ``capture-pane`` fails; only ``send-keys -H`` is
byte-exact; without ``-u`` a client in the C locale loses every character beyond ASCII.

Listening to a pane: its output goes through a filter, which passes on what the program reports of itself.
``pipe-pane`` rather than a client in control mode, although that needs no process for each pane: an attached client
counts as a viewer (bells, focus, ``destroy-unattached``), one that lags holds up the pane's program, and tmux 3.3a and
3.5a crash if something happens to a session in the milliseconds in which such a client connects.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Callable, Sequence

from attrs import evolve

from stallkit.errors import CaptureTimeout, KeysRefused, SessionGone, TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.probes.activity import Stillness
from stallkit.probes.foreground_job import probed
from stallkit.signals.collect import with_signals
from stallkit.terminal.keys import Keys
from stallkit.terminal.marks import Marks, MarksReader
from stallkit.terminal.text import cells
from stallkit.transports.base import DEADLINE_S, Closing, Options
from stallkit.transports.tmux.call import DeferredCommand, Server, quoted
from stallkit.transports.tmux.format import (
    CLICKS,
    PRESSED,
    Frame,
    identity_of,
    pressed,
    screen_of,
    snapshot_of,
)
from stallkit.transports.tmux.guard import PaneGuard, complete, guarded_look, guarded_parts

# --- listening ---

CHUNK = 65_536  # bytes a read: the pipe's capacity
DRAINED = "@stallkit_drained"  # a pane option: its pipe is that of a session that was started, and may be replaced
_FILTER = Path(__file__).with_name("pane_filter.py")


class PanePipe:
    """Gathers `Marks` of one pane (``%3``), from when listening begins; what was reported before is unknown.

    A pane has one pipe: where the user has one already, the marks are None.  `run` is one call of tmux.  Not for use
    from several threads at once.
    """

    def __init__(self, run: Callable[[list[str]], str], pane: str) -> None:
        self._run, self._pane = run, pane
        self._folder: str | None = None
        self._pipe = -1
        self._reader = MarksReader()
        self._hears = False  # the filter runs
        self._asked = False

    def heard(self, *, alive: bool) -> Marks | None:
        """The marks up to now, None if there is no filter; not `alive`: the pane's program ended.

        Begins to listen at the first call, and again where the filter ended before the program: it was read too rarely.
        """
        if not self._asked:
            self._asked = True
            self._start()
        over = self._drain()
        if over and alive:
            self._reader, self._hears, self._asked = MarksReader(), False, not self._hears
        if not self._hears:
            return None
        if not alive:
            self._reader.process_exited()
        return self._reader.marks

    def close(self) -> None:
        """Stop listening, and remove the pane's pipe if it is still ours."""
        if self._hears and not self._drain():
            with suppress(TransportError):  # without this call it ends at the pane's next output
                self._run(["pipe-pane", "-t", self._pane])
        self._forget()

    def _forget(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        self._forget_folder()

    def _start(self) -> None:
        self._forget()
        try:
            self._folder = tempfile.mkdtemp(prefix="stallkit-")
            fifo = str(Path(self._folder, "marks"))
            os.mkfifo(fifo, 0o600)
            self._pipe = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            self._run(pipe_into(self._pane, _FILTER, fifo))
        except (OSError, TransportError):  # no space, or no server: the look itself reports it
            self._forget()

    def _drain(self) -> bool:
        """Read pending marks; True if no more can come."""
        while self._pipe >= 0:
            try:
                data = os.read(self._pipe, CHUNK)
            except BlockingIOError:
                return False
            except OSError:
                data = b""
            if not data:  # the filter has not opened it yet, or has closed it
                return self._hears
            if not self._hears:
                self._hears, data = True, data[1:]
                self._forget_folder()
            self._reader.feed(data, time.monotonic())
        return True

    def _forget_folder(self) -> None:
        """Remove the FIFO's folder: once both ends are open it is not needed, and nothing is left behind."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def pipe_into(pane: str, script: Path, *words: str) -> list[str]:
    """The tmux command that pipes a pane's output into a script of ours, unless it is piped already.

    The script runs without our environment, and gets these words, such as the path of the FIFO that it writes to.
    """
    program = "exec " + shlex.join([sys.executable, "-I", "-S", str(script), *words])
    taken = f"#{{&&:#{{pane_pipe}},#{{!=:#{{{DRAINED}}},1}}}}"
    take = f"set-option -p -u -t {pane} {DRAINED} ; pipe-pane -O -t {pane} {_quoted(program)}"
    return ["if-shell", "-F", "-t", pane, taken, "", take]


def _quoted(command: str) -> str:
    """A shell command as an argument of a tmux command, which expands formats and times in it."""
    return '"' + re.sub(r'(["\\$])', r"\\\1", command.replace("#", "##").replace("%", "%%")) + '"'


# --- panes ---

_REFUSED = "stallkit-refused"
_KEYS = 5_000  # bytes that are pressed at once: a program that reads slowly has room for 4,096
_ROOM = 100_000  # bytes of the command that presses: tmux takes no word above 120 kB
# $1, @1 and {last} have another meaning in tmux, with or without =; * and ? are patterns in a window's name.
_ADDRESS = re.compile(
    r"(?P<session>[^$@%{:\x00-\x1f][^:\x00-\x1f]*)(?::(?P<window>\w[^.:*?\[\x00-\x1f]*)?(?P<pane>\.\d+)?)?"
)


class TmuxTransport(Closing):
    """The transport over one tmux pane, found by name at the first look and then by its identity.

    `name` is ``NAME``, ``NAME:WINDOW.PANE`` or ``%PANE``.  A pane that takes the same name later is another session.

    With `Options.listen`, looks have `marks`, from shortly after the first look on (`PanePipe`); None if the pane's
    output is piped elsewhere already.
    """

    def __init__(self, name: str, options: Options | None = None, binary: str = "tmux") -> None:
        options = options or Options()
        self.target, self.options = f"tmux:{name}", options
        self._at = _exact(name, self.target)
        self._name = None if ":" in name or name.startswith("%") else name
        self._closed = False
        self._identity: str | None = None
        self._latest: tuple[Snapshot, dict[str, str], PaneGuard] | None = None
        self._earlier: PaneGuard | None = None  # of the look before
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
        return self._capture(moves=False)

    def capture_moving(self) -> Snapshot:
        """The same, and who reads the terminal is asked although the screen moves.  Raises as `capture` does."""
        return self._capture(moves=True)

    def _capture(self, moves: bool) -> Snapshot:
        frame = Frame()
        answer = self._run(*guarded_look(self._at, frame))
        fields, guard, snapshot = _read(frame, answer, self.target)
        if self._identity is None:
            self._identity, self._at = snapshot.identity, fields["pane_id"]
        elif snapshot.identity != self._identity:
            self._stop_listening()
            raise SessionGone(self.target, "another process or server has its place now")
        before = self._latest[0] if self._latest else None
        leader = identity_of(fields).pid
        snapshot = with_signals(probed(snapshot, before, fields["pane_tty"], leader, moves=moves), leader)
        if self._pipe is None and self._listen:
            self._pipe = PanePipe(self._run, self._at)
        if self._pipe is not None:
            snapshot = evolve(snapshot, marks=self._pipe.heard(alive=snapshot.alive is not False))
        self._earlier = self._latest[2] if self._latest else None
        self._latest = (snapshot, fields, guard)
        return snapshot

    def drawn(self) -> str:
        """Its rows as its program draws them: a text with control sequences, for a person.  Raises as `capture`."""
        return self._run(["capture-pane", "-p", "-e", "-J", "-t", self._at])

    def send(self, keys: Keys, seen: Snapshot) -> None:
        """Press keys, all in one write, if the pane is still as the latest look, `seen`, showed it.

        Compared twice: here, once tmux's client is connected, with what the kernel knows of the foreground; and by the
        server, in the same command that sends.  Where it printed a moment ago, waits for a second at most, since tmux
        knows the second of the latest output.  Raises KeysRefused, nothing sent, also if tmux does not answer.
        """
        self._send(keys, seen, self._guard(seen))

    def send_moving(self, keys: Keys, seen: Snapshot) -> None:
        """The same where a spinner turns: what moved between the latest two looks may move on, nothing else.

        The rows that moved are still held to what they began and ended with.  Raises as `send` does.
        """
        latest, earlier = self._guard(seen), self._earlier
        if earlier is None:
            raise KeysRefused(self.target, "it was looked at only once")
        try:
            guard = latest.without_moves(earlier)
        except ValueError as error:
            raise KeysRefused(self.target, str(error)) from None
        self._send(keys, seen, guard, moves=True)

    def send_below(self, keys: Keys, seen: Snapshot, first: int) -> None:
        """The same, but what stands above a row of the screen may have changed since.  Raises as `send` does."""
        columns = seen.screen.size.columns if seen.screen.size else 0
        above = sum(max(-(-cells(line) // columns), 1) for line in seen.screen.lines[:first]) if columns else 0
        self._send(keys, seen, self._guard(seen).below(above), first=first)

    def takes_clicks(self, seen: Snapshot) -> bool:
        """Whether the program had asked for the mouse at the latest look, `seen`."""
        latest = self._latest
        return latest is not None and latest[0] is seen and all(latest[1][name] == "1" for name in CLICKS)

    def _guard(self, seen: Snapshot) -> PaneGuard:
        """What is held from the latest look to a press.  Raises KeysRefused if no key may be pressed at it."""
        if self._latest is None or self._latest[0] is not seen:
            raise KeysRefused(self.target, "that is not the latest look at it")
        if seen.sealed:
            raise KeysRefused(self.target, "it is sealed: nothing goes in but replies to its own notices")
        if not seen.accepts_keys:
            why = "it takes no keys: it ended, is in copy mode, or types into other panes as well"
            raise KeysRefused(self.target, why)
        return self._latest[2]

    def _send(self, keys: Keys, seen: Snapshot, guard: PaneGuard, moves: bool = False, first: int = 0) -> None:
        assert self._latest is not None  # `_guard` has seen it
        fields = self._latest[1]
        codes = keys.to_tmux(application_cursor=fields["keypad_cursor_flag"] == "1")
        line = self._line(codes, guard, pressed(seen.screen, first))
        time.sleep(guard.active_for(time.time()))
        with Stillness(seen, fields["pane_tty"], moves) as still, self._deferred(frame := Frame()) as call:
            try:
                answer = call.said(lambda said: complete(said, frame))
                call.give(line)
            except CaptureTimeout as error:
                raise KeysRefused(self.target, f"tmux did not answer for {error.seconds:g} s") from error
            doubt = guard.differs(_read(frame, answer, self.target)[1]) or still.doubt()
            if doubt:
                raise KeysRefused(self.target, doubt)
            if _REFUSED in call.finish():
                raise KeysRefused(self.target, "it changed since it was looked at")

    def _line(self, codes: Sequence[str], guard: PaneGuard, mark: str) -> str:
        """The command that presses if the pane is as it was, and leaves a mark."""
        press = f"set-option -p -t {self._at} {PRESSED} {mark} ; send-keys -t {self._at} -H {' '.join(codes)}"
        words = [guard.condition, press, f"display-message -p {_REFUSED}"]
        line = f"if-shell -F -t {self._at} {' '.join(map(quoted, words))}\n"
        if len(codes) > _KEYS:
            raise KeysRefused(self.target, f"{len(codes)} bytes are too many for one press")
        if len(line) > _ROOM:
            raise KeysRefused(self.target, "what it shows is too much for tmux to compare in one command")
        return line

    def restart(self, command: Sequence[str], seen: Snapshot) -> None:
        """Start a program (argv) in the pane where the one in `seen` ended.

        tmux refuses where a program runs.  Raises SessionGone, TransportError.
        """
        if seen.sealed:
            raise TransportError(
                self.target, "it is sealed", "start it again: stallkit sandbox rebuild, stallkit start"
            )
        if seen.alive is not False or self.capture().identity != seen.identity:
            raise TransportError(self.target, "its program has not ended", "look again")
        self._run(["respawn-pane", "-t", self._at, "--", *_as_argv(command)])

    def start(self, command: Sequence[str], directory: str | None = None) -> None:
        """Start a program (argv) in a new session of the target's name, in a directory, else in ours.

        Raises TransportError if there is one of that name, or the target names more than a session.
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
        self._check_open()
        return self._server.run(self.target, *commands)

    def _deferred(self, frame: Frame) -> DeferredCommand:
        """A look, and then a command that comes later."""
        self._check_open()
        words = [word for command in guarded_look(self._at, frame) for word in (";", *command)]
        return DeferredCommand(self._server, self.target, words[1:])

    def _check_open(self) -> None:
        if self._closed:
            raise TransportError(self.target, "this transport was closed", "open the target again")


def _exact(name: str, target: str) -> str:
    """A tmux target that no other session, window or pane can match."""
    if re.fullmatch(r"%(0|[1-9][0-9]*)", name):  # tmux reads %01 as %1
        return name
    address = _ADDRESS.fullmatch(name)
    if address is None:
        raise ValueError(f"{target!r} names no pane: write tmux:NAME, tmux:NAME:WINDOW.PANE or tmux:%PANE")
    window, pane = address["window"] or "", address["pane"] or ""
    return f"={address['session']}:{window if window.isdecimal() or not window else '=' + window}{pane}"


def _read(frame: Frame, answer: str, target: str) -> tuple[dict[str, str], PaneGuard, Snapshot]:
    """The fields, what is held, and the snapshot in the answer to one look."""
    try:
        fields, title, lines = guarded_parts(answer, frame)
        snapshot = snapshot_of(fields, screen_of(fields, title, lines), target, time.monotonic())
        return fields, PaneGuard.of(fields, lines), snapshot
    except ValueError as error:
        raise TransportError(target, str(error), "see whether tmux answers by hand") from error


def _as_argv(command: Sequence[str]) -> Sequence[str]:
    """The command in at least two words, since tmux gives a single word to a shell."""
    return command if len(command) > 1 else ["env", *command]
