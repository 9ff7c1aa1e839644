"""A shell that waits for a command at its own prompt: told by the kernel, since a screen may show a picture of one."""

from __future__ import annotations

import fcntl
import os
import re
import sys
import termios
from contextlib import suppress

from attrs import frozen

from stallkit.evidence.facts import KernelFacts, Member, plain
from stallkit.evidence.snapshot import Snapshot
from stallkit.probes.procfs import PROC, Process, stat_of, text_of

__all__ = ["IdleShell", "idle_shell"]

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
    typed before the cursor.  `echoes`: the terminal was set to show what is typed, which a line editor does by itself.
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
        return f"{who} runs a script, as far as its command line tells"
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
