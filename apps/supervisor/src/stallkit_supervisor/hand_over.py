"""The script that a pane's output is piped into if a collector listens: it hands the pipe over, and ends.

The tmux server runs it, so without our environment, with the folder of the collector's socket and the number under
which the collector expects the pane.  After that a pane that is listened to needs no process.
"""

from __future__ import annotations

import os
import sys
from socket import AF_UNIX, SCM_RIGHTS, SOCK_DGRAM, SOL_SOCKET, socket

DOOR = "door"  # the socket's name in its folder
PIPE = 0  # standard input

if __name__ == "__main__":
    try:
        os.chdir(sys.argv[1])  # the path of a socket is short
        to = socket(AF_UNIX, SOCK_DGRAM)
        rights = (SOL_SOCKET, SCM_RIGHTS, PIPE.to_bytes(4, sys.byteorder))
        to.sendmsg([sys.argv[2].encode()], [rights], 0, DOOR)
    except OSError:  # the collector has gone
        sys.exit(1)
