"""Which descriptors a process watches for input, and whether one of them is the terminal."""

from __future__ import annotations

import os
import struct
from typing import Iterable

from stallkit.probes.procfs import ProcEntry, device_of

__all__ = ["Descriptors"]

WATCHED = 1_024  # descriptors of one poll or epoll
_POLLIN, _EPOLLIN = 0x41, 0x41  # POLLIN | POLLRDNORM


class Descriptors:
    """What one process has open, and what it watches of that."""

    def __init__(self, process: ProcEntry, terminal: frozenset[int], home: str) -> None:
        self._process = process
        self._terminal = terminal  # the numbers of its device
        self._home = home  # where the process' descriptors and its memory are

    def polled(self, address: int, count: int) -> list[int]:
        """The descriptors of a poll for input: struct pollfd is an int and two shorts.  Raises OSError."""
        if count > WATCHED:
            raise OSError(f"{count} descriptors in one poll")
        memory = self._memory(address, 8 * count)
        return [number for number, events, _ in struct.iter_unpack("=iHH", memory) if number >= 0 and events & _POLLIN]

    def selected(self, count: int, address: int) -> list[int]:
        """The descriptors of a select for input: a bit each.  Raises OSError."""
        if not address:
            return []
        if count > WATCHED:
            raise OSError(f"{count} descriptors in one select")
        bits = int.from_bytes(self._memory(address, (count + 63) // 64 * 8), "little")
        return [number for number in range(count) if bits >> number & 1]

    def _memory(self, address: int, size: int) -> bytes:
        if not size:
            return b""
        opened = os.open(f"{self._home}mem", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._process.at)
        try:
            data = os.pread(opened, size, address)
        finally:
            os.close(opened)
        if len(data) != size:
            raise OSError("short read")
        return data

    def has_terminal(self, descriptors: Iterable[int], depth: int = 2) -> bool | None:
        """Whether one of them is the terminal, or an epoll that watches it."""
        unknown = False
        for number in descriptors:
            found = self.is_terminal(number)
            if found is False and self._is_epoll(number):
                found = self.watches(number, depth - 1) if depth else None
            if found:
                return True
            unknown = unknown or found is None
        return None if unknown else False

    def is_terminal(self, descriptor: int) -> bool | None:
        number = device_of(f"{self._home}fd/{descriptor}", self._process.at)
        return None if number is None else number in self._terminal

    def _is_epoll(self, descriptor: int) -> bool:
        try:
            return os.readlink(f"{self._home}fd/{descriptor}", dir_fd=self._process.at) == "anon_inode:[eventpoll]"
        except OSError:
            return False

    def watches(self, epoll: int, depth: int = 2) -> bool | None:
        """Whether an epoll has the terminal's input among what it watches; its own file lists that."""
        limit = 64 * WATCHED  # about a line each
        try:
            text = self._process.read(f"{self._home}fdinfo/{epoll}", limit)
        except OSError:
            return None
        watched = []
        for line in text.splitlines():
            words = line.split()  # tfd: N events: HEX data: HEX ...
            if len(words) >= 4 and words[0] == "tfd:" and words[2] == "events:" and int(words[3], 16) & _EPOLLIN:
                watched.append(int(words[1]))
        found = self.has_terminal(watched, depth)
        return None if found is False and len(text) >= limit else found
