"""``stallkit watch --host``: the sessions of other machines over ssh, without a server.

One ssh a host runs ``stallkit watch --json`` there.  What it prints is somebody else's: a line is bounded, only known
keys of an event are taken, and no control character of it reaches the terminal.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import shlex
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Sequence

import click
from click.core import ParameterSource

from stallkit.cli.common import must_be_there
from stallkit.cli.output import note
from stallkit.errors import StallkitError
from stallkit.jsonio import VERSION, load, schema
from stallkit.judging.verdict import Verdict
from stallkit.press.events import Event
from stallkit_supervisor.cli.watched_hosts import Host, HostsTable, Lines

# --- what a host prints ---

LONGEST = 1 << 20  # bytes of a line
_FACTS = """act agent blocked_s by characters dry_run file file_error forced foreground free_in_s incident item keys
    message outcome policy reason sent sessions since text times told waited_s what why with would"""
_KNOWN = {*schema(Verdict)["properties"], *_FACTS.split()} - {"version"}
_HOST = re.compile(r"[\w.:%@+~/\[\]-]{1,255}")  # nothing in it means anything to a shell


def checked(host: str) -> str:
    """The host, as ssh may be given it.  Raises click.UsageError for what would be an option, or two words."""
    if not _HOST.fullmatch(host) or host.startswith("-") or "@-" in host:
        raise click.UsageError(f"--host {host!r} names no machine: write NAME, USER@NAME, or a Host of ~/.ssh/config")
    return host


def event_of(line: bytes, host: str) -> dict[str, Any] | None:
    """The event of a line, as plain values, with its host; None for any other line.

    >>> event_of(b'{"version": 1, "time": "2026-11-28T08:21:01Z", "event": "gone", "target": "tmux:a", "x": 1}', "b")
    {'version': 1, 'time': '2026-11-28T08:21:01Z', 'event': 'gone', 'target': 'tmux:a', 'host': 'b'}
    >>> event_of(b"Welcome!", "b")
    """
    try:
        plain = json.loads(line, parse_float=_finite, parse_constant=_finite)
        event = load(Event, plain)
    except (ValueError, RecursionError):
        return None
    head = {"version": VERSION, "time": plain["time"], "event": event.name, "target": event.target, "host": host}
    return head | {key: value for key, value in event.facts.items() if key in _KNOWN and _shallow(value)}


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number of JSON")
    return number


def _shallow(value: object, depth: int = 8) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth > 0 and all(_shallow(one, depth - 1) for one in parts)


def trouble(host: str, code: int, errors: str, printed: str, began: bool) -> StallkitError:
    """Why a host is no longer watched, by what ssh said, the last line that was no event, and whether an event came."""
    last = (errors.strip() or printed.strip()).rpartition("\n")[2][:300].rstrip(".")
    said = f"exit code {code}{': ' if last else ''}{last}"
    if code == 127:
        why, todo = "no stallkit is there, on its PATH or in ~/.local/bin", f"install it there: {_INSTALL}"
    elif code == 255 and "Host key verification failed" in errors:
        why, todo = "its host key is not known here, or is another one", f"compare it by hand: ssh {host}"
    elif code == 255 and "Permission denied" in errors:
        why, todo = "no key of yours is allowed there", f"allow one: ssh-copy-id {host}"
    elif code == 255:
        why, todo = last.rpartition(": ")[2] or "the connection ended", f"see whether it is up: ssh {host}"
    elif began:
        why, todo = f"its watch ended, {said}", f"look there if it does not come back: ssh {host}"
    else:
        why, todo = f"no watch began there, {said}", f"try by hand: ssh {host} stallkit list; or {_INSTALL}"
    return StallkitError("could not watch", host, why, todo)


_INSTALL = "pip install 'stallkit[apps,packs]'"


# --- ssh ---

LONGEST_PAUSE_S = 30.0
GRACE_S = 2.0  # for ssh to end by itself, and the watch there with it
_OPTIONS = """BatchMode=yes ControlMaster=auto ControlPersist=60 ConnectTimeout=10 ServerAliveInterval=5
    ServerAliveCountMax=3 ClearAllForwardings=yes RemoteCommand=none LogLevel=ERROR"""
# The watch there ends with the input of this, which ends with the connection.
_THERE = (
    'PATH="$PATH:$HOME/.local/bin"; exec 3<&0; "$0" "$@" </dev/null 3<&- & p=$!; '
    "{ cat; kill $p; } <&3 >/dev/null 2>&1 & c=$!; exec 3<&-; wait $p; code=$?; kill $c 2>/dev/null; exit $code"
)


class Watch:
    """The watch of one host, begun again whenever it ends."""

    def __init__(self, host: Host, control: Path, words: Sequence[str], shows: Lines | HostsTable) -> None:
        self._host, self._control, self._shows = host, control, shows
        options = [word for option in (*_OPTIONS.split(), f"ControlPath={control}") for word in ("-o", option)]
        self._ssh = ["ssh", "-T", "-a", "-x", *options]
        there = shlex.join(["stallkit", "watch", "--json", *words])
        self._command = [*self._ssh, "--", host.name, f"exec sh -c {shlex.quote(_THERE)} {there}"]

    async def follow(self) -> None:
        """Watch until it is cancelled."""
        pause_s = 1.0
        while True:
            begun = time.monotonic()
            error = await self._once()
            if self._host.lost(error.why, time.time()):
                self._shows.lost(self._host, error)
            pause_s = 1.0 if time.monotonic() - begun > LONGEST_PAUSE_S else pause_s
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _once(self) -> StallkitError:
        """Watch until that ends; why it did."""
        process = await asyncio.create_subprocess_exec(
            *self._command, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=LONGEST, start_new_session=True
        )
        assert process.stdout and process.stderr
        errors = bytearray()
        hears = asyncio.create_task(_tail(process.stderr, errors))
        began, printed = False, b""
        try:
            while line := await _line(process.stdout):
                event = event_of(line, self._host.name)
                if event is None:
                    self._host.left_out += 1
                    printed = line
                else:
                    began = True
                    self._host.take(event, time.time())
                    self._shows.event(event)
        finally:
            await _end(process)
            hears.cancel()
        said = bytes(errors).decode(errors="replace"), printed[:1000].decode(errors="replace")
        return trouble(self._host.name, process.returncode or 0, *said, began)

    async def leave(self) -> None:
        """End the connection that ssh keeps."""
        if self._control.exists():
            words = [*self._ssh, "-O", "exit", "--", self._host.name]
            process = await asyncio.create_subprocess_exec(*words, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
            await asyncio.wait_for(process.wait(), GRACE_S)


async def _line(stream: asyncio.StreamReader) -> bytes:
    """The next line, empty at the end; of one that is too long no more than its end is ever returned."""
    await asyncio.sleep(0)  # a host that prints without end does not keep the others waiting
    try:
        return await stream.readline()
    except ValueError:
        return b"\n"


async def _tail(stream: asyncio.StreamReader, kept: bytearray) -> None:
    while chunk := await stream.read(4096):
        kept += chunk
        del kept[:-2000]


async def _end(process: Process) -> None:
    """Close its input, which ends the watch there; kill ssh if it does not end with that."""
    assert process.stdin and process.stdout
    process.stdin.close()
    for _ in range(2):
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                while await process.stdout.read(LONGEST):
                    pass
                await process.wait()
                return
        with suppress(ProcessLookupError):
            process.kill()


async def _watch(watches: Sequence[Watch], for_s: float | None) -> None:
    """Watch until SIGINT, SIGTERM or SIGHUP, or for so long.  A second SIGINT raises KeyboardInterrupt."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def interrupted() -> None:
        ended.set()
        loop.remove_signal_handler(signal.SIGINT)  # whoever presses Ctrl-C again does not want to wait

    loop.add_signal_handler(signal.SIGINT, interrupted)
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    tasks = [asyncio.create_task(one.follow()) for one in watches]
    until = asyncio.create_task(ended.wait())
    done, others = await asyncio.wait([until, *tasks], timeout=for_s, return_when=asyncio.FIRST_COMPLETED)
    for one in others:
        one.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.gather(*(one.leave() for one in watches), return_exceptions=True)
    for one in done - {until}:
        one.result()  # it raises: nobody reads what is printed any more


def watch_hosts(hosts: tuple[str, ...], words: list[str], as_json: bool, for_s: float | None) -> None:
    """Watch the sessions of these hosts, until Ctrl-C or for so long; `words` are given to each `stallkit watch`."""
    known = [Host(checked(name)) for name in dict.fromkeys(hosts)]
    must_be_there("ssh")
    with ExitStack() as stack:
        short = stack.enter_context(TemporaryDirectory(prefix="stallkit-", dir="/tmp"))  # as a socket's path has to be
        draws = sys.stdout.isatty() and not as_json
        shows: Lines | HostsTable = stack.enter_context(HostsTable(known)) if draws else Lines()
        asyncio.run(_watch([Watch(one, Path(short, str(at)), words, shows) for at, one in enumerate(known)], for_s))
    for one in known:
        if one.left_out:
            note(f"stallkit: {one.name}: left out {one.left_out} lines that are no events")


# --- what is given on the command line ---

_OF_THIS_MACHINE = {"config", "summary", "dry_run", "hook", "webhook", "shown_by", "log", "socket_name", "socket_path"}


def refuse_what_is_local(ctx: click.Context) -> None:
    """Raise click.UsageError for an option that is of this machine's own watch."""
    own = [one for one in ctx.command.params if one.name in _OF_THIS_MACHINE]
    given = [one for one in own if ctx.get_parameter_source(one.name or "") is ParameterSource.COMMANDLINE]
    if given:
        names = ", ".join("/".join(one.opts) for one in given)
        raise click.UsageError(f"{names} is not for --host, which watches other machines: leave one out")


def words_there(
    targets: tuple[str, ...],
    policy: str | None,
    interval_s: float | None,
    stall_s: float | None,
    agents: tuple[str, ...],
    everything: bool,
) -> list[str]:
    """What `stallkit watch` is given there: by default all sessions, and no key."""
    words = [*targets, *(["--all"] if everything or not targets else []), "--policy", policy or "observe"]
    words += ["--interval", str(interval_s)] if interval_s is not None else []
    words += ["--stall-timeout", str(stall_s)] if stall_s is not None else []
    return words + [word for agent in agents for word in ("--agent", agent)]
