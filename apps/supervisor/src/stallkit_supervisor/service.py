"""A supervisor as a service: signals, the watchdog, and what its settings name, opened and closed in order."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Callable, Sequence

from stallkit_sessions.lifecycle import reconcile

from stallkit.config import event_log
from stallkit.errors import ConfigError, StallkitError
from stallkit.press.events import Event, EventLog
from stallkit.transports.base import Options
from stallkit_supervisor.escalations import Escalations
from stallkit_supervisor.notify.channels import open_notifier
from stallkit_supervisor.notify.metrics import Metrics
from stallkit_supervisor.notify.otlp import Otlp
from stallkit_supervisor.persistence import Hook
from stallkit_supervisor.settings import Settings
from stallkit_supervisor.sources import Source
from stallkit_supervisor.store import Store
from stallkit_supervisor.supervisor import Supervisor
from stallkit_supervisor.supervisor_socket import answering

Beside = Callable[[Callable[[], object]], AbstractContextManager[None]]


def opened(
    stack: ExitStack,
    settings: Settings,
    store: Store | None,
    tell: Callable[[str], None],
    sources: Sequence[Source],
    log: Path | None = None,
    tmux: Options | None = None,
    escalations: Escalations | None = None,
) -> Supervisor:
    """A supervisor with everything that the settings name; `stack` closes what was opened.

    `tell` is called with failures to deliver events; `tmux` is the server whose clients see notices; `escalations`
    files what a person hears of.  Raises ConfigError, StallkitError, ValueError.
    """
    events = settings.events
    file = Path(events.file).expanduser() if events.file else None
    hooks: list[Hook] = [EventLog(event_log(log or file), max_bytes=EventLog.ROTATED).write]
    notifier = open_notifier(stack, settings.channels(tmux or Options()), tell)
    if notifier is not None:
        hooks.append(notifier)
    if events.metrics:
        metrics = Metrics(events.metrics)
        stack.callback(metrics.close)
        hooks.append(metrics)
    if events.otlp:
        otlp = Otlp(events.otlp, tell)
        stack.callback(otlp.close)
        hooks.append(otlp)
    return Supervisor(
        policy=settings.config,
        store=store,
        sources=sources,
        hooks=hooks,
        commands=settings.commands,
        directories=settings.directories,
        dry_run=settings.watch.dry_run,
        reset_total_on_signal=settings.watch.reset_total_on_signal,
        escalations=escalations,
    )


async def serve(
    supervisor: Supervisor,
    each: Callable[[Event], None],
    settings: Settings,
    reload: Callable[[], Settings] | None = None,
    for_s: float | None = None,
    tell: Callable[[str], None] = lambda said: None,
    beside: Callable[[Callable[[], object]], AbstractContextManager[None]] | None = None,
) -> None:
    """Watch until SIGTERM or SIGINT, which drain it, or for `for_s` seconds; `each` is called with each event.

    A second SIGINT does not wait until it is drained: it raises KeyboardInterrupt.
    SIGHUP reads the `settings` again by `reload`; invalid ones are reported, and the old ones kept.  Without `reload`
    it ends the watch.  Under systemd it reports that it is ready, and serves the watchdog while its loop runs.
    `beside` is entered for as long; it may call what it is given to have the settings applied again, from any thread.
    """
    loop = asyncio.get_running_loop()
    gc.freeze()  # the engine stays for the whole run, and tracing it took a tenth of a busy sweep

    def change() -> None:
        if reload is None:
            supervisor.stop()  # its terminal is gone
            return
        notify("RELOADING=1")
        apply(reload)
        notify("READY=1")

    def apply(read: Callable[[], Settings]) -> None:
        nonlocal settings
        try:
            settings = _changed(supervisor, settings, read())
        except (StallkitError, ValueError) as error:
            tell(f"{error}; the old settings are kept")
            supervisor.refuse(str(error))

    def interrupted() -> None:
        supervisor.stop()
        loop.remove_signal_handler(signal.SIGINT)  # whoever presses Ctrl-C again does not want to wait

    stack = ExitStack()
    loop.add_signal_handler(signal.SIGTERM, supervisor.stop)
    loop.add_signal_handler(signal.SIGINT, interrupted)
    loop.add_signal_handler(signal.SIGHUP, change)
    try:
        try:
            await asyncio.to_thread(reconcile)
        except (StallkitError, OSError) as error:
            tell(str(error))
        if beside is not None:
            stack.enter_context(beside(lambda: loop.call_soon_threadsafe(apply, lambda: settings)))
        async with answering(supervisor, tell), supervisor:
            notify("READY=1")
            beats = loop.create_task(_beats())
            end = loop.call_later(for_s, supervisor.stop) if for_s is not None else None
            try:
                async for event in supervisor:
                    each(event)
            finally:
                beats.cancel()
                if end is not None:
                    end.cancel()
                notify("STOPPING=1")
    finally:
        await asyncio.to_thread(stack.close)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.remove_signal_handler(number)


def _changed(supervisor: Supervisor, before: Settings, after: Settings) -> Settings:
    """Apply other settings; raises ConfigError for those that need a new start."""
    fixed = {
        "targets in [watch]": before.watch.targets != after.watch.targets,
        "all in [watch]": before.watch.all != after.watch.all,
        "listen in [watch]": before.watch.listen != after.watch.listen,
        "[tmux]": before.tmux != after.tmux,
        "[events]": before.events != after.events,
        "[notify]": before.notify != after.notify,
    }
    for key, changed in fixed.items():
        if changed:
            raise ConfigError("settings", f"{key} changed, which needs a restart", "restart the service")
    watch = after.watch
    supervisor.change(after.config, after.commands, after.directories, watch.dry_run, watch.reset_total_on_signal)
    return after


async def _beats() -> None:
    """Tell systemd's watchdog that the loop runs, twice as often as it requires."""
    asked = os.environ.get("WATCHDOG_USEC", "")
    while asked.isdecimal() and int(asked) > 0:
        notify("WATCHDOG=1")
        await asyncio.sleep(int(asked) / 2_000_000)


def notify(state: str) -> bool:
    """Tell systemd (``$NOTIFY_SOCKET``); whether a process listened.  The protocol is that of sd_notify(3)."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return False
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
            to.connect("\0" + address[1:] if address.startswith("@") else address)
            to.sendall(state.encode())
    except OSError:
        return False
    return True
