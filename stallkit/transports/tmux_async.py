"""One call of tmux without blocking, within its deadline.  Apart from `tmux_client`: asyncio takes long to load."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from asyncio.subprocess import PIPE
from contextlib import suppress
from typing import IO, Sequence

from attrs import frozen

from stallkit.errors import CaptureTimeout
from stallkit.transports.base import DEADLINE_S
from stallkit.transports.tmux_client import not_installed

__all__ = ["Answer", "answered"]


@frozen
class Answer:
    """What one call of tmux printed, its complaints, and its exit status."""

    text: str
    complaints: str
    status: int


async def answered(command: Sequence[str], target: str, commands: str = "") -> Answer:
    """One call of tmux, with `commands` (lines) for its standard input; whether it failed is the caller's to see.

    Raises CaptureTimeout after `DEADLINE_S`, TransportUnavailable where tmux cannot be started.  The child has ended
    when this returns or raises, also where it is cancelled.
    """
    with _scratch() as asked, _scratch() as said:
        asked.write(commands.encode())
        asked.seek(0)
        try:
            process = await asyncio.create_subprocess_exec(*command, stdin=asked, stdout=said, stderr=PIPE)
        except OSError as error:
            raise not_installed(target, error) from error
        try:
            async with asyncio.timeout(DEADLINE_S):
                _, complaints = await process.communicate()
        except TimeoutError as error:
            raise CaptureTimeout(target, DEADLINE_S) from error
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        assert process.returncode is not None  # it has ended
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
    return Answer(text, complaints.decode("utf-8", "replace"), process.returncode)


def _scratch() -> IO[bytes]:
    """A file for what tmux reads or prints, in one piece: pipes take 300 turns of the event loop for 500 panes.

    In memory where the system has that: a screen may show a secret, and a disk may be full.
    """
    if sys.platform == "linux":
        return open(os.memfd_create("stallkit"), "w+b")  # noqa: PTH123  # a descriptor has no path
    return tempfile.TemporaryFile()
