"""Where the events of a single run go: `stallkit run` asks for this, and its background process tells them."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any, Callable, Mapping

from stallkit.config import FILE, user_config
from stallkit_supervisor.notify.channels import Channels, channels_of, open_notifier
from stallkit_supervisor.notify.notifier import Notifier
from stallkit_supervisor.settings import Overrides, load_settings

__all__ = ["chosen", "outlet"]


def chosen(hook: str | None, webhook: str | None) -> dict[str, str]:
    """The places that these flags and the settings name, as plain texts.  Raises ConfigError for an invalid one."""
    if not (hook or webhook or os.path.lexists(user_config()) or os.path.lexists(FILE)):
        return {}
    events = load_settings(None, Overrides(command=hook, webhook=webhook), {}, ["events"]).events
    channels_of(Channels(events.exec, events.webhook))  # it raises here, where a person sees it
    named = {"file": events.file, "exec": events.exec, "webhook": events.webhook, "cloudevents": events.cloudevents}
    return {name: value for name, value in named.items() if value is not None}


def outlet(stack: ExitStack, events: Mapping[str, Any], complain: Callable[[str], None]) -> Notifier | None:
    """What tells the places of `chosen`, without its file; closed by `stack`."""
    return open_notifier(stack, Channels(**events), complain)
