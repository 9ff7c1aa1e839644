"""A session in bubblewrap's sandbox: it can read the system, write its directory, and has no network.

The sandbox is the program's own process tree: it sees no other processes and ends with its terminal; its exit status is
bwrap's own (128 plus the signal where one ended the program).  It does not hide files: home directories can be read.

One that a manifest describes has of the system the programs and a few files of /etc, nothing of any home directory, no
variable of ours, and what its options mount.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from stallkit_sessions.containers import forwarder
from stallkit_sessions.containers.runtime_call import BWRAP
from stallkit_sessions.model import Session

REACH = "--reach"  # an option of ours, before PORT=HOST:PORT: a proxy that is at this port of the sandbox's loopback

# Empty directories of the sandbox hide these, with other programs' files and the sockets of daemons.
_EMPTY = ("/tmp", "/var/tmp", "/run")
_SYSTEM = ("/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/usr")  # each a directory, or a link to one
# What programs want of /etc: no keys, no passwords.
_ETC = (
    *("alternatives", "bash.bashrc", "ca-certificates", "debian_version", "group", "hosts", "inputrc", "ld.so.cache"),
    *("ld.so.conf", "ld.so.conf.d", "locale.conf", "localtime", "mime.types", "nsswitch.conf", "os-release", "passwd"),
    *("pki/ca-trust", "pki/tls/certs", "profile", "protocols", "resolv.conf", "services", "shells", "ssl/certs"),
    *("ssl/openssl.cnf", "terminfo", "timezone"),
)
_HOME = "/home/agent"
_GIVEN = ("LANG", "LC_ALL", "TERM", "COLORTERM")  # of our variables: how it shows itself


def run_command(session: Session, arguments: int | None = None) -> list[str]:
    """The command for the session's terminal.

    `engine_options` come last, so that they take precedence: ``--bind`` of another writable folder, ``--tmpfs`` over a
    folder to hide, ``--share-net`` for the network.  bwrap reads more of them from the descriptor `arguments`.
    """
    boxed = session.sandbox is not None
    shares_network = "--share-net" in session.engine_options
    # The process that bubblewrap leaves inside would show what it was started with, in /proc/1/environ.
    bare = ["env", "-i", f"PATH={os.environ.get('PATH', os.defpath)}"] if boxed else []
    options = list(session.engine_options)
    ways = [options.pop(at) for at in reversed(range(len(options))) if options[at - 1 : at] == [REACH]]
    through = [sys.executable, "-I", forwarder.__file__, *reversed(ways), "--"] if ways else []
    words = [*bare, *through, BWRAP, "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    words += _box(session) if boxed else ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for place in _EMPTY:
        if boxed or (Path(place).is_dir() and not Path(place).is_symlink()):
            words += ["--tmpfs", place]
    if shares_network:  # where some systems keep the addresses of their name servers
        words += ["--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve"]
    else:
        words.append("--unshare-net")
    if session.directory != "/":
        words += ["--bind", session.directory, session.directory]
    words += ["--chdir", session.directory, "--setenv", "STALLKIT_SESSION", session.id]
    words += ["--args", str(arguments)] if arguments is not None else []
    # bwrap's own --share-net only undoes --unshare-all, which is not used here.
    options = [word for word in options if word not in ("--share-net", REACH)]
    return [*words, *options, "--", *session.command]


def _box(session: Session) -> list[str]:
    """An empty root with the programs of the system, a home directory of its own, and its own few variables."""
    words = ["--cap-drop", "ALL", "--clearenv", "--dev", "/dev", "--proc", "/proc"]
    for place in map(Path, _SYSTEM):
        if place.is_symlink():
            words += ["--symlink", str(place.readlink()), str(place)]
        elif place.is_dir():
            words += ["--ro-bind", str(place), str(place)]
    words += [word for name in _ETC for word in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")]
    words += ["--tmpfs", _HOME, "--setenv", "HOME", _HOME, "--setenv", "USER", "agent"]
    words += ["--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin"]
    words += [word for name in _GIVEN if name in os.environ for word in ("--setenv", name, os.environ[name])]
    if session.ports:
        numbers = [str(port) for port in session.ports]
        words += ["--setenv", "PORT", numbers[0], "--setenv", "STALLKIT_PORTS", " ".join(numbers)]
    return words
