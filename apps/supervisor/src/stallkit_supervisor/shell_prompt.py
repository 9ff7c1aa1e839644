"""A command that is typed at a shell's own prompt, and the program that is then seen in front.

A program that was killed leaves its terminal as it had it: the cursor hidden, another screen, the mouse, no echo.  So
that is undone first, at the terminal itself, and the shell is interrupted, which makes it begin a new line.  Each step
is seen before the next: the prompt, the command behind it, the program in front.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
import termios
import time
from contextlib import suppress
from typing import Callable, Sequence, TypeVar

from attrs import evolve, frozen

from stallkit.detect.engine import Engine
from stallkit.errors import SessionGone, TransportError
from stallkit.evidence.snapshot import KernelFacts, Member, Snapshot, plain
from stallkit.press.gate import SEALED, End, Forced, Outcome, press
from stallkit.press.strokes import ENTER
from stallkit.probes.procfs import PROC, Process, ancestors, stat_of, text_of
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.transports.base import Transport, look

# --- a shell that waits for a command at its own prompt ---

# How each of them waits for a command.  Bash reads what a script of its own asks for in other ways.
_WAITS = {"bash": {"select"}, "dash": {"read"}, "fish": {"poll", "select"}, "zsh": {"poll", "read", "select"}}

_VALUES = frozenset({"--init-file", "--rcfile", "-C", "--init-command", "-O", "+O", "-o", "+o"})
_WORDS = 65_536  # bytes of a command line


@frozen
class IdleShell:
    """A shell at its prompt."""

    name: str  # "bash", "dash", "fish" or "zsh"
    member: Member
    process: Process
    terminal: str  # a path by which its terminal is opened


def idle_shell(seen: Snapshot, echoes: bool = False) -> IdleShell | str:
    """The shell that leads the foreground, alone, and reads its next command; or why there is none, in words.

    It runs no script, nothing else of its terminal is running or stopped, and no key waits unread.  Not told is what
    its user asks for at the line editor within a function of their own (``read -e``, ``vared``), nor if something is
    typed before the cursor.  `echoes`: the terminal was set to show what is typed, which a line editor does on its own.
    """
    kernel = seen.kernel or KernelFacts()
    shell = next((one for one in kernel.members if one.pid == kernel.group), None)
    if shell is None or shell.started is None or seen.elsewhere:
        return "which program is in the foreground is unknown"
    who, name = f"{shell.called or shell.name} (pid {shell.pid})", plain(shell.image or "")
    if kernel.relay or kernel.through:
        return f"{who} is not alone: {kernel.through or kernel.relay} shows another terminal"
    if name not in _WAITS:
        return f"{who} is in the foreground, none of the shells {', '.join(_WAITS)}"
    if not (shell.interactive and _takes_commands(shell.pid)):
        return f"{who} runs a script, judging by its command line"
    if kernel.background is None or not kernel.complete or kernel.readers is None:
        return f"whether {who} reads a command, and has no other job, is unknown"
    others = [one for one in (*kernel.members, *kernel.below, *kernel.background) if one.pid != shell.pid]
    if other := next((one for one in others if not one.ended), None):
        return f"{other.called or other.name} (pid {other.pid}) is on its terminal beside {who}"
    if [one.pid for one in kernel.readers] != [shell.pid] or kernel.how not in _WAITS[name]:
        return f"{who} does not wait for a command"
    terminal = f"{PROC}/{shell.pid}/fd/0"
    try:
        doubt = _doubt_of_terminal(terminal, name, shell.pid, echoes)
    except (OSError, ValueError, IndexError):
        return f"how {who} reads its terminal is unknown"
    if doubt is not None:
        return f"{who} {doubt}"
    return IdleShell(name, shell, Process(shell.pid, shell.started), terminal)


def _takes_commands(pid: int) -> bool:
    """Whether its command line names no script and no command, in a form that is wholly understood."""
    with suppress(OSError):
        words = iter(text_of(pid, "cmdline", _WORDS).removesuffix("\0").split("\0")[1:])
        for word in words:
            if word in _VALUES:
                next(words, None)
            elif not re.fullmatch(r"-(?!-command).*|[+][^c]*", word) or re.fullmatch(r"-[^-]*c.*", word):
                return False
        return True
    return False


def _doubt_of_terminal(terminal: str, name: str, pid: int, echoes: bool) -> str | None:
    """Why it is not at its prompt, by the settings and the queue of its terminal.  Raises OSError and others."""
    opened = os.open(terminal, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        stat = stat_of(pid)
        if stat is None or stat.device != os.fstat(opened).st_rdev or stat.foreground != pid:
            return "does not read its own terminal"
        local, characters = termios.tcgetattr(opened)[3::3]
        unread = int.from_bytes(fcntl.ioctl(opened, termios.FIONREAD, bytes(4)), sys.byteorder)
    except termios.error as error:
        raise OSError(*error.args) from error
    finally:
        os.close(opened)
    if unread:
        return "has not read yet what was typed"
    if name == "dash":  # its `read` takes one byte at a time, its prompt a whole buffer
        return None if int(text_of(pid, "syscall").split()[3], 16) > 1 else "does not wait for a command"
    # A line editor shows what is typed by itself, and takes the keys to quote or to quit as any other.
    quiet = not local & (termios.ICANON | (0 if echoes else termios.ECHO))
    edits = quiet and b"\0" in (characters[termios.VLNEXT], characters[termios.VQUIT])
    return None if edits else "is not in its line editor"


POLL_S = 0.1
LINE_S = 5.0  # for a shell to draw its prompt, or what is typed
UNMOVED_S = 1.0  # after which a new line looks as the one before
FRONT_S = 15.0  # for a program to come to the front
STAYS_S = 1.0  # one that ends sooner was not started again
CLEAR = Keys.parse("C-l")
# Ends what a full-screen program began: a frame under way, the other screen, colours and drawn characters, a scroll
# region, keys in another mode, mouse and focus reports, bracketed paste, a hidden cursor; and erases what is below.
RESET = (
    b"\x1b[?2026l\x1b[?1049l\x1b(B\x1b[m\x1b7\x1b[r\x1b8\x1b[4l\x1b[?1l\x1b>\x1b[=0;1u\x1b[>4;0m"
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[J"
)
_SIGNS = "$#%>❯➜λ»›➤✗✔"  # with which a prompt ends
_HALF_TYPED = re.compile(r"[$#%>❯λ»›➤✗✔]\s")  # an earlier one: what follows it may be a command
_CONTINUES = re.compile(r"(?:[a-z]+ )*[a-z]*>|#\?|\?#")  # a command goes on; a menu of `select`
_ARROW = re.compile(r"➜ +\S+ (?:git:\([^()\s]+\) (?:✗ )?)?")  # oh-my-zsh's own, which has its sign in front
_SAFE = re.compile(r"[\w./:@%+-]+", re.ASCII)
_T = TypeVar("_T")


def prompt_of(screen: Screen) -> str | None:
    """What stands before the cursor, if that is a prompt with nothing typed behind it, as far as a screen can tell.

    >>> prompt_of(Screen.from_text("Go on? (y/n) bash-5.2# ", cursor=(23, 0)))
    'Go on? (y/n) bash-5.2# '
    >>> [prompt_of(Screen.from_text(text, cursor=(len(text), 0))) for text in ("dev@box:~$ cat > ", "> ")]
    [None, None]
    """
    if screen.cursor is None:
        return None
    text = screen.prompt_line.text
    shown, sign = text.rstrip()[:-1], text.rstrip()[-1:]
    ends = sign and sign in _SIGNS and not _HALF_TYPED.search(shown) and not _CONTINUES.fullmatch(text.strip())
    if not ends and not _ARROW.fullmatch(text):
        return None
    behind = screen.text.split("\n")[screen.cursor.row][len(text) :][:1]
    return None if behind.strip() and behind.isascii() else text  # letters there are a command, whose begin is edited


@frozen
class _Line:
    """A look at a shell's prompt."""

    shell: IdleShell
    prompt: str
    seen: Snapshot


@frozen
class ShellPrompt:
    """The terminal of a shell; `clock` and `sleep` are in seconds."""

    transport: Transport
    engine: Engine
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def run(self, command: Sequence[str]) -> Outcome:
        """Type a command, and tell what is in front then.  Refused, with nothing done, if no shell is at its prompt.

        Whoever reads is proven by the kernel.  Raises nothing that can be expected.
        """
        try:
            line = self._until(_line, UNMOVED_S)
            if isinstance(line, str):
                return Outcome(End.REFUSED, line)
            text = _typed(command, line.shell.name)
            _reset(line.shell)
            shown = self._type(begun, text) if isinstance(begun := self._begin(line), _Line) else begun
            if shown is None and line.shell.name == "bash":
                shown = self._with_echo(line, text)
            if not isinstance(shown, _Line):
                return shown or Outcome(End.UNCHANGED, "its shell does not show what is typed: nothing was started")
            entered = self._press(ENTER, shown.seen)
            if not entered.pressed:
                _interrupt(line.shell)
                return evolve(entered, end=End.UNCHANGED, why=f"typed, and taken back: {entered.why}")
            return self._in_front(shown.shell, entered)
        except SessionGone as error:
            return Outcome(End.GONE, str(error))
        except (TransportError, OSError, subprocess.SubprocessError) as error:
            return Outcome(End.UNKNOWN, f"what became of it was not seen: {error}")
        except ValueError as error:  # a command that cannot be typed
            return Outcome(End.REFUSED, str(error))

    def _begin(self, line: _Line) -> _Line | Outcome:
        """Have a new line begun."""
        rests = self._until(_rests, LINE_S)
        if isinstance(rests, str):
            return Outcome(End.REFUSED, rests)
        _interrupt(line.shell)
        if line.shell.name == "fish":  # at an empty line it has nothing to draw, and does not know that the screen went
            cleared = self._press(CLEAR, rests)
            if not cleared.pressed:
                return cleared
        from_s, before = self.clock(), rests.screen.fingerprint

        def begun(seen: Snapshot) -> _Line | str:
            waits = seen.screen.fingerprint == before and self.clock() - from_s < UNMOVED_S
            return "its shell began no new line" if waits else _line(seen)

        found = self._until(begun, LINE_S)
        if isinstance(found, str) or found.shell.process != line.shell.process:
            return Outcome(End.REFUSED, f"no new prompt came: {found if isinstance(found, str) else 'another shell'}")
        return found

    def _type(self, line: _Line, text: str, echoes: bool = False) -> _Line | Outcome | None:
        """Type a text, and see it behind the prompt, or take it back; None if nothing of it is shown."""
        done = self._press(Keys.typed(text), line.seen)
        if not done.pressed:
            return done
        wanted = _solid(line.prompt + text)

        def shown(seen: Snapshot) -> _Line | str:
            shell = idle_shell(seen, echoes)
            if isinstance(shell, str):
                return shell
            stands = shell.process == line.shell.process and any(_solid(rows) == wanted for rows in _ends(seen.screen))
            return _Line(shell, line.prompt, seen) if stands else "it does not stand behind the prompt"

        found = self._until(shown, LINE_S)
        if isinstance(found, _Line):
            return found
        _interrupt(line.shell)
        if done.end is End.UNCHANGED:
            return None
        return Outcome(End.UNCHANGED, f"typed, and taken back: {found}", done.keys, after=done.after)

    def _with_echo(self, line: _Line, text: str) -> _Line | Outcome | None:
        """The same below a program that left no echo: the terminal itself shows `stty sane`, which ends that.

        Bash takes over such settings, and gives them to what it starts.
        """
        again = self._begin(line)
        if isinstance(again, Outcome):
            return again
        _stty(again.shell, "echo", "opost", "onlcr")
        echoed = self._until(lambda seen: _line(seen, echoes=True), LINE_S)
        sane = self._type(echoed, "stty sane", echoes=True) if isinstance(echoed, _Line) else None
        if not isinstance(sane, _Line):
            return sane
        self._press(ENTER, sane.seen)
        after = self._until(_line, LINE_S)
        return self._type(after, text) if isinstance(after, _Line) else None

    def _in_front(self, shell: IdleShell, entered: Outcome) -> Outcome:
        """Look until a program that the shell started stays in the foreground."""
        until, first, since = self.clock() + FRONT_S, None, 0.0
        while True:
            seen = look(self.transport)
            if seen.alive is False:
                return evolve(entered, end=End.GONE, why="its shell ended", after=seen)
            now = _started(seen, shell)
            if now is None or first is None or not now.is_still(first):
                first, since = now, self.clock()
            elif self.clock() - since >= STAYS_S:
                why = f"{now.called or now.name} (pid {now.pid}) is in front, started in {shell.name}"
                return evolve(entered, end=End.CLEARED, why=why, after=seen)
            if self.clock() >= until:
                why = f"typed and entered, but no program stays in front: {shell.name} is, after {FRONT_S:g} s"
                return evolve(entered, end=End.UNCHANGED, why=why, after=seen)
            self.sleep(POLL_S)

    def _press(self, keys: Keys, seen: Snapshot) -> Outcome:
        return press(self.transport, Forced(keys), seen, self.engine, self.clock, self.sleep)

    def _until(self, holds: Callable[[Snapshot], _T | str], seconds: float) -> _T | str:
        """What holds at a look; or why it does not at the last one."""
        until = self.clock() + seconds
        while True:
            found = holds(look(self.transport))
            if not isinstance(found, str) or self.clock() >= until:
                return found
            self.sleep(POLL_S)


def _rests(seen: Snapshot) -> Snapshot | str:
    return seen if seen.quiet_s else "its screen does not come to rest"


def _line(seen: Snapshot, echoes: bool = False) -> _Line | str:
    """The shell's prompt that a look shows; or why it shows none, or takes no keys."""
    if seen.sealed or seen.accepts_keys is False:
        return SEALED if seen.sealed else "it takes no keys: it is in copy mode, or would type into other panes as well"
    shell, prompt = idle_shell(seen, echoes), prompt_of(seen.screen)
    if isinstance(shell, str):
        return shell
    if prompt is None:
        return "there is more than a prompt before the cursor: a command may be half typed"
    return _Line(shell, prompt, seen)


def _started(seen: Snapshot, shell: IdleShell) -> Member | None:
    """The leader of the foreground, if it is a program that the shell started or became."""
    members = seen.kernel.members if seen.kernel else ()
    leader = next((one for one in members if seen.kernel and one.pid == seen.kernel.group), None)
    if leader is None or leader.ended:
        return None
    if leader.pid == shell.process.pid:
        return None if leader.is_still(shell.member) else leader
    return leader if any(pid == shell.process.pid for pid, _ in ancestors(leader.pid)) else None


def _typed(command: Sequence[str], shell: str) -> str:
    """A command as that shell reads it.  Raises ValueError if it cannot be typed in one line."""
    if any(not char.isprintable() for word in command for char in word):
        raise ValueError("the restart command has a line break or a control character: nothing is typed")
    if shell == "fish":
        command = [word.replace("\\", "\\\\") for word in command]
    quote = "\\'" if shell == "fish" else "'\\''"
    return " ".join(word if _SAFE.fullmatch(word) else "'" + word.replace("'", quote) + "'" for word in command)


def _solid(text: str) -> str:
    return "".join(text.split())


def _ends(screen: Screen) -> list[str]:
    """The text that ends at the cursor, of one row, two rows, and so on: a shell may fold what it shows."""
    row = screen.prompt_line.row
    rows = [*screen.text.split("\n")[:row], screen.prompt_line.text]
    return ["".join(rows[at:]) for at in range(len(rows))]


# --- at the terminal itself ---


def _reset(shell: IdleShell) -> None:
    """Raises OSError, SubprocessError."""
    opened = os.open(shell.terminal, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        os.write(opened, RESET)
    finally:
        os.close(opened)
    if shell.name == "dash":  # it has no line editor of its own
        _stty(shell, "sane")


def _stty(shell: IdleShell, *words: str) -> None:
    """Raises OSError, SubprocessError."""
    subprocess.run(["stty", "-F", shell.terminal, *words], check=True, capture_output=True, timeout=LINE_S)


def _interrupt(shell: IdleShell) -> None:
    """SIGINT for this shell and no other process: whatever stands in its line is dropped, and a new one begins."""
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(shell.process.pid)
        try:
            if shell.process.alive():
                signal.pidfd_send_signal(handle, signal.SIGINT)
        finally:
            os.close(handle)
