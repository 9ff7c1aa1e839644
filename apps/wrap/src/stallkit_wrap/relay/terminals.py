"""The two terminals of a relay: the user's own, and the one of the program behind it.

The user's is in raw mode while the relay is in its foreground, and is restored at every end.  The program is started
with the job control that it would have had outside.  A shell stops and continues its jobs: a program that it started
through a relay can be stopped by Ctrl-Z only if its parent is in its own terminal's session, as the kernel stops no
group that nobody could continue.  A go-between, a child of the relay, is that parent.  It stops itself when the program
is stopped, which the relay sees.  A program whose relay is itself the first process of a terminal, as in a pane of
tmux, had no such parent outside, and gets none.
"""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import termios
from contextlib import suppress
from types import TracebackType
from typing import Any, NoReturn, Sequence

from stallkit.errors import StartRefused

FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


class InnerProgram:
    """A running program, by the child that the relay waits for: the program itself, or its go-between."""

    def __init__(self, child: int, program: int) -> None:
        self.pid = program
        self.leader = child  # of its terminal's session
        self.status: int | None = None  # as os.wait gives it, once it has ended

    @classmethod
    def start(cls, command: Sequence[str], terminal: int, keep_stderr: bool) -> InnerProgram:
        """Start a program on a terminal, given by the slave's descriptor; its standard error may stay the relay's.

        The process must have one thread only.  Raises StartRefused if it cannot be started.
        """
        between = os.getsid(os.getppid()) == os.getsid(0)
        told, tells = os.pipe()  # the program's pid, then the number of an error; closed by exec
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                os.close(told)
                os.setsid()
                fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
                if between:
                    _go_between(command, terminal, keep_stderr, tells)
                else:
                    _tell(tells, os.getpid())
                    _become(command, terminal, keep_stderr, tells)
            os._exit(_NOT_EXECUTABLE)
        os.close(tells)
        with os.fdopen(told, "rb") as said:
            words = said.read().split()
        if len(words) != 1:
            os.waitpid(child, 0)
            number = int(words[1]) if len(words) > 1 else errno.EAGAIN
            raise StartRefused(command[0], os.strerror(number), "check the command")
        return cls(child, int(words[0]))

    def look(self) -> bool:
        """Note whether it has ended; True if it was stopped by job control."""
        if self.status is None:
            pid, status = os.waitpid(self.leader, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                return self.leader != self.pid
            if pid:
                self.status = status
        return False

    def resume(self) -> None:
        """Continue a program that was stopped."""
        with suppress(ProcessLookupError):
            os.kill(self.leader, signal.SIGCONT)

    def signal(self, number: int) -> None:
        """Pass on a signal to its process group, as a shell sends it to a job."""
        if self.status is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)


def _go_between(command: Sequence[str], terminal: int, keep_stderr: bool, tells: int) -> NoReturn:
    """Start the program in a group of its own, stop and continue with it, and end as it ends."""
    for number in (*FORWARDED, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # its end tells the terminal's foreground that the terminal is gone
    program = os.fork()
    if program == 0:
        with suppress(BaseException):
            os.setpgid(0, 0)
            os.tcsetpgrp(terminal, os.getpid())  # SIGTTOU is still ignored
            _tell(tells, os.getpid())
            for number in (*FORWARDED, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
                signal.signal(number, signal.SIG_DFL)
            _become(command, terminal, keep_stderr, tells)
        os._exit(_NOT_EXECUTABLE)
    with suppress(BaseException):
        # Above all the master: with the relay it closes.
        os.closerange(0, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        status = os.waitpid(program, os.WUNTRACED)[1]
        while os.WIFSTOPPED(status):
            os.kill(os.getpid(), signal.SIGSTOP)
            os.killpg(program, signal.SIGCONT)
            status = os.waitpid(program, os.WUNTRACED)[1]
        end_as(status)
    os._exit(_NOT_EXECUTABLE)


def _become(command: Sequence[str], terminal: int, keep_stderr: bool, tells: int) -> NoReturn:
    """Run the program in this process."""
    try:
        for descriptor in (0, 1) if keep_stderr else (0, 1, 2):
            os.dup2(terminal, descriptor, inheritable=True)
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python's own doing
            signal.signal(ignored, signal.SIG_DFL)
        os.execvp(command[0], list(command))
    except OSError as error:
        _tell(tells, error.errno or errno.EIO)
        os._exit(_NOT_FOUND if error.errno == errno.ENOENT else _NOT_EXECUTABLE)


def _tell(tells: int, number: int) -> None:
    os.write(tells, b"%d\n" % number)


def end_as(status: int) -> NoReturn:
    """End this process as another one ended, by its status as os.wait gives it: by the same signal, or exit code."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        with suppress(OSError, ValueError):  # SIGKILL has no handler
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
        os._exit(128 + number)
    os._exit(os.waitstatus_to_exitcode(status))


# --- the signals of a relay as numbers to read beside everything else, instead of interruptions ---


class Signals:
    """Takes them while it is entered; `descriptor` can be read where one came."""

    NUMBERS = (*FORWARDED, signal.SIGHUP, signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH, signal.SIGCHLD)

    def __enter__(self) -> Signals:
        self.descriptor, self._writes = os.pipe()
        for descriptor in (self.descriptor, self._writes):
            os.set_blocking(descriptor, False)
        self._before: dict[int, Any] = {number: signal.signal(number, _nothing) for number in self.NUMBERS}
        signal.set_wakeup_fd(self._writes, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self.descriptor)
        os.close(self._writes)

    def taken(self) -> bytes:
        """The signals that came."""
        with suppress(BlockingIOError):
            return os.read(self.descriptor, 4_096)
        return b""


def _nothing(number: int, frame: object) -> None:
    """A handler, so that the wake-up is written."""


_SIZE = b"\0" * 8  # struct winsize: rows, columns, and both in pixels, which images need


class OuterTerminal:
    """The terminal of descriptors 0 and 1, by descriptors of its own that never block; a context.

    The modes of 0 and 1 are shared with the shell, so those stay as they are.
    """

    def __init__(self) -> None:
        self.reads, self.writes = _opened(0), _opened(1)
        self.settings = termios.tcgetattr(self.reads)  # what the program's own terminal begins with
        self._raw = False

    def __enter__(self) -> OuterTerminal:
        self.take()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.give_back()

    def close(self) -> None:
        """Release its descriptors."""
        os.close(self.reads)
        os.close(self.writes)

    @property
    def ours(self) -> bool:
        """Whether it is in raw mode now, and its keys are for the program."""
        return self._raw

    @property
    def exists(self) -> bool:
        """Whether it is still connected."""
        try:
            termios.tcgetattr(self.reads)
        except (OSError, termios.error):
            return False
        return True

    def take(self) -> bool:
        """Set raw mode, if this process is in the foreground: to another process it must not happen."""
        with suppress(OSError, termios.error):
            if not self._raw and os.tcgetpgrp(self.reads) == os.getpgrp():
                self.settings = termios.tcgetattr(self.reads)
                termios.tcsetattr(self.reads, termios.TCSADRAIN, _raw(self.settings))
                self._raw = True
        return self._raw

    def give_back(self) -> None:
        """Restore the settings, if this process changed them."""
        if self._raw:
            self._raw = False
            with suppress(OSError, termios.error):
                termios.tcsetattr(self.reads, termios.TCSADRAIN, self.settings)

    def stop(self) -> None:
        """Give it back and stop this process's group, as Ctrl-Z does; returns when it continues."""
        self.give_back()
        before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.killpg(0, signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, before)
        self.take()


def _raw(settings: list[Any]) -> list[Any]:
    """The settings in which nothing is changed on the way, neither keys nor output, as of cfmakeraw(3)."""
    changes = termios.IGNBRK | termios.BRKINT | termios.PARMRK | termios.ISTRIP | termios.INLCR | termios.IGNCR
    changes |= termios.ICRNL | termios.IXON | termios.IXOFF | termios.IXANY
    local = termios.ECHO | termios.ECHONL | termios.ICANON | termios.ISIG | termios.IEXTEN
    raw = [*settings[:6], list(settings[6])]
    raw[0] &= ~changes
    raw[1] &= ~termios.OPOST
    raw[2] = raw[2] & ~(termios.CSIZE | termios.PARENB) | termios.CS8
    raw[3] &= ~local
    raw[6][termios.VMIN], raw[6][termios.VTIME] = 1, 0
    return raw


def copy_size(outer: int, inner: int) -> None:
    """Give one terminal the size of another, also in pixels; its foreground gets SIGWINCH if it changed."""
    with suppress(OSError):
        fcntl.ioctl(inner, termios.TIOCSWINSZ, fcntl.ioctl(outer, termios.TIOCGWINSZ, _SIZE))


def _opened(descriptor: int) -> int:
    try:
        return os.open(os.ttyname(descriptor), os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # another user's, as after su, or in another mount of devpts
        return os.dup(descriptor)
