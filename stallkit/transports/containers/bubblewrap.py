"""A session in bubblewrap's sandbox: it can read the system, write its directory, and has no network.

The sandbox is the program's own process tree: it sees no other processes and ends with its terminal; its exit status is
bwrap's own (128 plus the signal where one ended the program).  It does not hide files: home directories can be read.
"""

from __future__ import annotations

from pathlib import Path

from stallkit.transports.containers.runtime_call import BWRAP, ContainerSession

__all__ = ["run_command"]

# Empty directories of the sandbox hide these, with other programs' files and the sockets of daemons.
_EMPTY = ("/tmp", "/var/tmp", "/run")


def run_command(session: ContainerSession, arguments: int | None = None) -> list[str]:
    """The command for the session's terminal.

    `engine_options` come last, so that they take precedence: ``--bind`` of another writable folder, ``--tmpfs`` over a
    folder to hide, ``--share-net`` for the network.  bwrap reads more of them from the descriptor `arguments`.
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
    words += ["--args", str(arguments)] if arguments is not None else []
    # bwrap's own --share-net only undoes --unshare-all, which is not used here.
    options = [word for word in session.engine_options if word != "--share-net"]
    return [*words, *options, "--", *session.command]
