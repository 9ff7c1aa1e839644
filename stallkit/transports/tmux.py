"""tmux panes: one subprocess a look, one a key press, exact targets, a deadline on each.

Facts that shape this file were measured on tmux 3.1c to 3.8 (docs/tmux.md): ``-t name`` also matches a longer name,
``=name:`` does not; ``display-message`` on a missing target succeeds with empty fields, ``capture-pane`` fails;
``send-keys -H`` alone is byte-exact; without ``-u`` a client in the C locale loses every character beyond ASCII.
"""

from __future__ import annotations

import re
import subprocess
import time

from attrs import evolve

from stallkit.core.keys import Keys
from stallkit.core.screen import Screen, join_wraps
from stallkit.core.verdict import ProcessFacts, Snapshot
from stallkit.errors import CaptureTimeout, KeysRefused, SessionGone, TransportError, TransportUnavailable
from stallkit.transports.base import DEADLINE_S, Options
from stallkit.transports.kernel import probed
from stallkit.transports.pane_pipe import PanePipe

__all__ = ["TmuxTransport", "wraps"]

# One line of numbers, then one line each for what may hold any character.
_IDENTITY = ("pid", "start_time", "pane_id", "pane_pid")  # changes with the server, the pane, or the process in it
_SHOWN = ("cursor_x", "cursor_y", "cursor_flag", "alternate_on", "pane_width", "pane_height", "history_size")
_TAKES_KEYS = ("pane_dead", "pane_in_mode", "pane_synchronized")
_PRESSED = "@stallkit_pressed"  # a pane option of our own: which screen was last pressed at, and when
_NUMBERS = (*_IDENTITY, *_SHOWN, *_TAKES_KEYS, "pane_dead_status", "keypad_cursor_flag", "pane_tty", _PRESSED)
_HELD = (*_IDENTITY, *_SHOWN, *_TAKES_KEYS, _PRESSED, "pane_current_command")  # from the look to the press
_FORMAT = ",".join(f"#{{{name}}}" for name in _NUMBERS)
_REFUSED = "stallkit-refused"
# $1, @1 and {last} mean something else to tmux, with = before them or not; * and ? are patterns in a window's name.
_ADDRESS = re.compile(
    r"(?P<session>[^$@%{:\x00-\x1f][^:\x00-\x1f]*)(?::(?P<window>\w[^.:*?\[\x00-\x1f]*)?(?P<pane>\.\d+)?)?"
)
_NOT_THERE = re.compile(
    r"can't find (?:pane|session|window)|no server running"
    r"|error connecting to .*\((?:No such file or directory|Connection refused)\)"
)


class TmuxTransport:
    """The transport over one tmux pane, found by name once and held to from then on.

    `name` is ``NAME``, ``NAME:WINDOW.PANE`` or ``%PANE``.  A pane that takes the same name later is another session.

    With `Options.listen`, each look has `marks`, from shortly after the first one on: what the program says of itself
    then, not what it said before (`PanePipe`).  None where the pane's output is piped elsewhere already.
    """

    def __init__(self, name: str, options: Options | None = None, binary: str = "tmux") -> None:
        options = options or Options()
        self.target = f"tmux:{name}"
        self._at = _exact(name, self.target)
        self._closed = False
        self._identity: str | None = None
        self._latest: tuple[Snapshot, dict[str, str]] | None = None
        self._listen = options.listen
        self._pipe: PanePipe | None = None
        self._client = [binary, "-u"]
        if options.tmux_socket_path:
            self._client += ["-S", options.tmux_socket_path]
        elif options.tmux_socket_name:
            self._client += ["-L", options.tmux_socket_name]

    @classmethod
    def open(cls, address: str, options: Options) -> TmuxTransport:
        """The pane of a target's address; nothing is looked at yet."""
        return cls(address, options)

    def capture(self) -> Snapshot:
        """One look, in one call of tmux.  Raises SessionGone, CaptureTimeout, TransportUnavailable, TransportError."""
        at = ["-p", "-t", self._at]
        output = self._run(
            [
                *("display-message", *at, _FORMAT, ";"),
                *("display-message", *at, "#{pane_current_command}", ";"),
                *("display-message", *at, "#{pane_title}", ";"),
                *("capture-pane", *at, "-N", ";"),
                *("capture-pane", *at, "-J"),
            ]
        )
        fields, snapshot = _read(output, self.target)
        if self._identity is None:
            self._identity, self._at = snapshot.identity, fields["pane_id"]
        elif snapshot.identity != self._identity:
            self._listen_no_more()
            raise SessionGone(self.target, "another process or server has its place now")
        before = self._latest[0] if self._latest else None
        snapshot = probed(snapshot, before, fields["pane_tty"], int(fields["pane_pid"]))
        if self._pipe is None and self._listen:
            self._pipe = PanePipe(self._run, self._at)
        if self._pipe is not None:
            snapshot = evolve(snapshot, marks=self._pipe.heard(alive=snapshot.alive is not False))
        self._latest = (snapshot, fields)
        return snapshot

    def send(self, keys: Keys, seen: Snapshot) -> None:
        """Press keys, all in one write, if tmux itself finds the pane as the latest look, `seen`, showed it.

        The condition is checked inside the server, by the same command that sends: the same process in the pane, the
        same foreground command, cursor, size and prompt line, nothing scrolled, no copy mode, and nobody pressed since.
        """
        if self._latest is None or self._latest[0] is not seen:
            raise KeysRefused(self.target, "that is not the latest look at it")
        if not seen.accepts_keys:
            why = "it takes no keys: it ended, is in copy mode, or types into other panes as well"
            raise KeysRefused(self.target, why)
        fields = self._latest[1]
        mark = f"{seen.screen.fingerprint}-{time.monotonic()}"
        unchanged = [f"#{{==:#{{{name}}},{_escaped(fields[name])}}}" for name in _HELD]
        unchanged.append(f"#{{==:#{{C/r:{fields['line']}}},{fields['line_at']}}}")
        codes = " ".join(keys.to_tmux(application_cursor=fields["keypad_cursor_flag"] == "1"))
        press = f"set-option -p -t {self._at} {_PRESSED} {mark} ; send-keys -t {self._at} -H {codes}"
        refuse = f"display-message -p {_REFUSED}"
        if _REFUSED in self._run(["if-shell", "-F", "-t", self._at, _all_of(unchanged), press, refuse]):
            raise KeysRefused(self.target, "it changed since it was looked at")

    def close(self) -> None:
        """No look or key through this transport from now on; the session was there before and lives on."""
        self._listen_no_more()
        self._closed, self._latest = True, None

    def _listen_no_more(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None

    def _run(self, command: list[str]) -> str:
        """What one call of tmux prints; every way in which it fails is mapped here."""
        if self._closed:
            raise TransportError(self.target, "this transport was closed", "open the target again")
        try:
            done = subprocess.run(
                [*self._client, *command],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=DEADLINE_S,
                check=False,
            )
        except FileNotFoundError as error:
            why, todo = "tmux is not installed", "install tmux, or add it to PATH"
            raise TransportUnavailable(self.target, "tmux", why, todo) from error
        except subprocess.TimeoutExpired as error:
            raise CaptureTimeout(self.target, DEADLINE_S) from error
        except OSError as error:
            raise TransportUnavailable(self.target, "tmux", str(error), "see whether tmux runs by hand") from error
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip() or f"tmux exited with {done.returncode}"
            if _NOT_THERE.search(said):
                raise SessionGone(self.target, said)
            raise TransportError(self.target, said, "see whether tmux answers by hand")
        return done.stdout.decode("utf-8", "replace")


def _exact(name: str, target: str) -> str:
    """A tmux target that no other session's, window's or pane's name can match."""
    if re.fullmatch(r"%\d+", name):
        return name
    address = _ADDRESS.fullmatch(name)
    if address is None:
        raise ValueError(f"{target!r} names no pane: write tmux:NAME, tmux:NAME:WINDOW.PANE or tmux:%PANE")
    window, pane = address["window"] or "", address["pane"] or ""
    exact = f"={address['session']}:{window if window.isdecimal() or not window else '=' + window}{pane}"
    return exact[:-1] + r"\;" if exact.endswith(";") else exact  # tmux would end its command at the ;


def _read(output: str, target: str) -> tuple[dict[str, str], Snapshot]:
    """The fields and the snapshot in what one look printed."""
    lines = output.split("\n")
    values = lines[0].split(",")[: len(_NUMBERS)]
    if len(values) < len(_NUMBERS) or not values[_NUMBERS.index("pane_pid")]:
        raise TransportError(target, f"tmux answered {lines[0][:80]!r}", "see whether tmux answers by hand")
    fields = dict(zip(_NUMBERS, values, strict=True)) | {"pane_current_command": lines[1]}
    width, height = int(fields["pane_width"]), int(fields["pane_height"])
    rows, joined = lines[3 : 3 + height], lines[3 + height : -1]
    physical = (int(fields["cursor_x"]), int(fields["cursor_y"]))
    text, cursor = join_wraps(rows, wraps(rows, joined), physical)
    screen = Screen.from_text(
        "\n".join(text),
        cursor=cursor,
        size=(width, height),
        cursor_visible=fields["cursor_flag"] == "1",
        title=lines[2],
        alternate=fields["alternate_on"] == "1",
    )
    fields |= _line_of(rows, physical[1])
    dead = fields["pane_dead"] == "1"
    status = fields["pane_dead_status"]
    snapshot = Snapshot(
        screen=screen,
        taken_at=time.monotonic(),
        alive=not dead,
        exit_status=int(status) if dead and status else None,
        process=ProcessFacts(lines[1] or None, int(fields["pane_pid"])),
        accepts_keys=all(fields[name] in ("", "0") for name in _TAKES_KEYS),
        pressed_at=_pressed_at(fields[_PRESSED], screen),
        target=target,
        identity=" ".join(fields[name] for name in _IDENTITY),
    )
    return fields, snapshot


def _line_of(rows: list[str], cursor_row: int) -> dict[str, str]:
    """A pattern for the cursor's row that has no character special to a format, and the first row that it finds.

    tmux counts rows from 1.  What is no ASCII letter, digit or blank is any character: a format cannot hold it.
    """
    line = re.sub(r"[^\x00-\x7f]+", ".*", re.sub(r"[^\w ]", ".", rows[cursor_row].rstrip(), flags=re.ASCII))
    pattern = f"^{line.replace('_', '.')} *$"
    found = next((number for number, row in enumerate(rows) if re.fullmatch(pattern[1:-1], row.rstrip())), cursor_row)
    return {"line": pattern, "line_at": str(found + 1)}


def _pressed_at(noted: str, screen: Screen) -> float | None:
    """When a key was last pressed at this very screen, by whichever process: the monotonic clock is the machine's."""
    fingerprint, _, at = noted.partition("-")
    return float(at) if fingerprint == screen.fingerprint else None


def wraps(rows: list[str], joined: list[str]) -> list[bool]:
    """Of each row whether it goes on in the next, told from the same rows as tmux joined them."""
    wraps: list[bool] = []
    lines = iter(joined)
    sofar, line = "", next(lines, "")
    for row in rows:
        sofar += row
        ends = sofar.rstrip() == line.rstrip()
        wraps.append(not ends)
        if ends:
            sofar, line = "", next(lines, "")
        elif not line.startswith(sofar):
            return [False] * len(rows)  # not the same moment: better unjoined than joined wrongly
    return [*wraps[:-1], False]


def _escaped(value: str) -> str:
    """A value that a tmux format compares as it is."""
    return re.sub(r"([#,}])", r"#\1", value)


def _all_of(conditions: list[str]) -> str:
    joined = conditions[0]
    for condition in conditions[1:]:
        joined = f"#{{&&:{joined},{condition}}}"
    return joined
