"""Bubblewrap in a network of its own, which has nothing but some proxies: each at a port of its loopback.

    python forwarder.py 8888=10.0.0.1:8888 -- bwrap --unshare-net ... -- COMMAND

This process becomes bubblewrap, which waits until another one, outside the sandbox, has put a listening socket for each
proxy into the new network.  That one passes on what is connected there, and ends with bubblewrap; nothing of it is in
the sandbox.  It is run as a file, without stallkit around it.
"""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import json
import os
import signal
import socket
import sys
from functools import partial
from pathlib import Path

_OWNER = 0xB701  # NS_GET_USERNS: the user namespace that a network belongs to
_PIECE = 65_536


def main(words: list[str]) -> None:
    """Become the command behind ``--``, with the ways before it: PORT=HOST:PORT."""
    at = words.index("--")
    ways, command = dict(word.split("=", 1) for word in words[:at]), words[at + 1 :]
    told, tells = os.pipe()
    waits, lets = os.pipe()
    bubblewrap = os.pidfd_open(os.getpid())
    if os.fork() == 0:
        if os.fork() == 0:  # no child of bubblewrap's: of a session's processes it is none
            os.setsid()
            os.close(tells)
            os.close(waits)
            try:
                _forward(ways, told, lets, bubblewrap)
            except BaseException as error:  # whatever it is: the sandbox must not begin, or go on, without them
                print(f"stallkit: the sandbox has no way to its proxies: {error}", file=sys.stderr, flush=True)
                signal.pidfd_send_signal(bubblewrap, signal.SIGTERM)
        os._exit(0)
    os.wait()
    for own in (told, lets, bubblewrap):
        os.close(own)
    for given in (tells, waits):
        os.set_inheritable(given, True)
    os.execvp(command[0], [command[0], "--info-fd", str(tells), "--block-fd", str(waits), *command[1:]])


def _forward(ways: dict[str, str], told: int, lets: int, bubblewrap: int) -> None:
    """Put the sockets into its network, let it begin, and pass on until it ends."""
    with os.fdopen(told) as info:
        text = info.read()
    if not text:
        return  # it ended at once, and says why itself
    listening = _inside(json.loads(text)["child-pid"], [int(port) for port in ways])
    os.write(lets, b"1")
    os.close(lets)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for given in (0, 1, 2):  # the terminal is the sandbox's
        os.dup2(nowhere, given)
    os.chdir("/")
    asyncio.run(_serve(listening, list(ways.values()), bubblewrap))


def _inside(pid: int, ports: list[int]) -> list[socket.socket]:
    """A listening socket for each port, at the loopback of that process's network."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            _enter(pid)
            made = [socket.create_server(("127.0.0.1", port), backlog=128) for port in ports]
            socket.send_fds(theirs, [b"1"], [one.fileno() for one in made])
        except OSError as error:
            theirs.send(str(error).encode()[:200] or b"?")
        os._exit(0)
    theirs.close()
    said, found, _, _ = socket.recv_fds(ours, 256, len(ports))
    os.waitpid(child, 0)
    if len(found) < len(ports):
        raise OSError(said.decode() or "its network could not be entered")
    return [socket.socket(fileno=one) for one in found]


def _enter(pid: int) -> None:
    """Go into the network of a process, by way of the user namespace that it belongs to."""
    libc = ctypes.CDLL(None, use_errno=True)
    network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    owner = fcntl.ioctl(network, _OWNER)
    own = Path("/proc/self/ns/user").stat()
    for place in (network,) if os.path.samestat(os.fstat(owner), own) else (owner, network):
        if libc.setns(place, 0):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


async def _serve(listening: list[socket.socket], proxies: list[str], bubblewrap: int) -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(bubblewrap, ended.set)
    for one, proxy in zip(listening, proxies, strict=True):
        await asyncio.start_server(partial(_pass_on, proxy), sock=one)
    await ended.wait()


async def _pass_on(proxy: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    host, _, port = proxy.rpartition(":")
    try:
        there, out = await asyncio.open_connection(host.strip("[]"), port)
    except OSError:
        writer.close()
        return
    try:
        await asyncio.gather(_copy(reader, out), _copy(there, writer))
    except OSError:
        pass  # one of the two is gone
    finally:
        writer.close()
        out.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_PIECE):
        writer.write(data)
        await writer.drain()
    writer.write_eof()


if __name__ == "__main__":
    main(sys.argv[1:])
