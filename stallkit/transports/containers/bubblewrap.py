"""A session in bubblewrap's sandbox: the system to read, its directory to write, no network, no other processes.

The sandbox is the program's own process tree: it ends with its terminal, and its exit status is bwrap's own (128 and
the signal where one ended the program).  It is a fence, not a prison: what can be read, homes among it, can be read.
"""

from __future__ import annotations

from pathlib import Path

from stallkit.transports.containers.runtime_call import BWRAP, ContainerSession

__all__ = ["run_command"]

# The sandbox's own instead of this machine's: other programs' files, and the sockets of daemons.
_EMPTY = ("/tmp", "/var/tmp", "/run")


def run_command(session: ContainerSession) -> list[str]:
    """The command for the session's terminal.

    `engine_options` come last, so that they win: ``--bind`` of one more folder that can be written, ``--tmpfs`` over
    one that is not to be read, ``--share-net`` for the network.
    """
    shares_network = "--share-net" in session.engine_options
    words = [BWRAP, "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for place in _EMPTY:
        if Path(place).is_dir() and not Path(place).is_symlink():
            words += ["--tmpfs", place]
    if shares_network:  # where some systems keep the addresses of their name servers
        words += ["--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve"]
    else:
        words.append("--unshare-net")
    if session.directory != "/":
        words += ["--bind", session.directory, session.directory]
    words += ["--chdir", session.directory, "--setenv", "STALLKIT_SESSION", session.id]
    # It lifts --unshare-all alone, which is not ours.
    options = [word for word in session.engine_options if word != "--share-net"]
    return [*words, *options, "--", *session.command]
