"""Programs that get events: a command, a webhook and the services of apprise; the first two in CloudEvents 1.0.

In binary mode the body is the event as the event log has it, and the envelope is beside it, in headers or
variables; in structured mode one JSON object holds both.  The tests read every envelope back with the SDK of the
standard, which costs more than the attributes, short texts, and the one way to write them.
"""

from __future__ import annotations

import http.client
import json
import logging
import os
import shlex
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from contextlib import suppress
from typing import Any, Literal, Sequence
from urllib.parse import quote

from attrs import frozen

from stallkit.errors import StallkitError
from stallkit.jsonio import dump
from stallkit.press.events import Event
from stallkit.redact.redact import redact
from stallkit.terminal.text import escaped
from stallkit_supervisor.notify.notice import CLEARED, Notice

# --- the envelope ---

ContentMode = Literal["binary", "structured"]
CONTENT_MODES: tuple[ContentMode, ...] = ("binary", "structured")
JSON, ENVELOPE = "application/json", "application/cloudevents+json"
# A header has these as they are (HTTP binding 1.0.2, 3.1.3.2); everything else is percent-encoded.
_PLAIN = "".join(char for char in map(chr, range(0x21, 0x7F)) if char not in '"%')


@frozen
class CloudEvent:
    """An event with its `id`, unique among those of its `source`, a URI reference that names who tells it."""

    event: Event
    source: str
    id: str

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes of the standard, without secrets; an event of no session has no subject.

        >>> event = Event("escalation", "tmux:w1", {"why": "it asks"})
        >>> CloudEvent(event, "//host/stallkit", "1").attributes["type"]
        'stallkit.escalation'
        """
        subject = escaped(redact(self.event.target))
        return {
            "specversion": "1.0",
            "id": self.id,
            "source": self.source,
            "type": f"stallkit.{self.event.name}",
            **({"subject": subject} if subject else {}),
            "time": self.event.at.isoformat(timespec="milliseconds"),
            "datacontenttype": JSON,
        }

    def body(self, mode: ContentMode) -> str:
        """One line of JSON: the event, in structured mode as the envelope's `data`."""
        line = json.dumps(dump(self.event))
        return line if mode == "binary" else json.dumps({**self.attributes, "data": json.loads(line)})

    def headers(self, mode: ContentMode) -> dict[str, str]:
        """What an HTTP request with this body says of it."""
        if mode == "structured":
            return {"Content-Type": ENVELOPE}
        named = self.attributes
        kind = named.pop("datacontenttype")
        return {"Content-Type": kind, **{f"ce-{name}": quote(value, safe=_PLAIN) for name, value in named.items()}}

    @property
    def variables(self) -> dict[str, str]:
        """The attributes as environment variables: ``CE_ID``, ``CE_TYPE`` and so on."""
        return {f"CE_{name.upper()}": value for name, value in self.attributes.items()}


# --- who is told ---

COMMAND_S = 30.0
POST_S = 10.0
_WITH_ITS_END = "it is reported with the end of its session"
VARIABLE = 100_000  # characters of an event that fit into a variable: the kernel's bound is 128 KiB


class Command:
    """A command to run for each event: one line of JSON is on its standard input, in ``$STALLKIT_EVENT`` if it fits.

    The attributes of the envelope are in ``$CE_ID``, ``$CE_TYPE`` and so on.  It gets no shell, and at most `timeout_s`
    seconds.  Raises ValueError for a command that cannot be split into words.
    """

    def __init__(self, command: str, mode: ContentMode = "binary", timeout_s: float = COMMAND_S) -> None:
        self._words, self._mode, self._timeout_s = shlex.split(command), mode, timeout_s
        if not self._words:
            raise ValueError("the command is empty")
        self.name = f"command {self._words[0]}"

    def deliver(self, said: CloudEvent) -> str:
        if _told(said):
            return _WITH_ITS_END
        line = said.body(self._mode)
        with subprocess.Popen(
            self._words,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, **said.variables, "STALLKIT_EVENT": line[:VARIABLE]},
            start_new_session=True,  # so that it can be killed with its children, and Ctrl-C spares it
        ) as process:
            try:
                _, stderr = process.communicate(line + "\n", timeout=self._timeout_s)
            except subprocess.TimeoutExpired as error:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                raise OSError(f"it ran for more than {self._timeout_s:g} s") from error
        if process.returncode:
            complaints = stderr.strip().splitlines()
            last = f": {redact(complaints[-1])}" if complaints else ""
            raise OSError(f"exit status {process.returncode}{last}")
        return "it ended with status 0"

    def close(self) -> None:
        pass


class Webhook:
    """An address to post each event to, as one JSON object.  Raises ValueError for an invalid address."""

    def __init__(self, url: str, mode: ContentMode = "binary", timeout_s: float = POST_S) -> None:
        self._mode, self._timeout_s = mode, timeout_s
        parts = urllib.parse.urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and url.isascii() and url.isprintable()
        if not sound or " " in url or "@" in parts.netloc or parts.port == 0:  # an invalid port raises
            raise ValueError("it is not an http or https address without a user and blanks")  # it may hold a token
        self._url, self._opener = url, urllib.request.build_opener(_Stays)
        self.name = f"webhook {parts.hostname}"  # the rest of it may hold a token

    def deliver(self, said: CloudEvent) -> str:
        if _told(said):
            return _WITH_ITS_END
        headers = {**said.headers(self._mode), "User-Agent": "stallkit"}
        request = urllib.request.Request(self._url, said.body(self._mode).encode(), headers, method="POST")
        try:
            with self._opener.open(request, timeout=self._timeout_s) as answer:
                return f"it answered {answer.status}"
        except urllib.error.HTTPError as error:
            error.close()
            raise OSError(f"it answered {error.code}") from error
        except http.client.HTTPException as error:
            raise OSError(f"it did not answer in HTTP: {type(error).__name__}") from error
        except urllib.error.URLError as error:
            raise OSError(str(error.reason)) from error

    def close(self) -> None:
        pass


def _told(said: CloudEvent) -> bool:
    """Whether that a session, or its server, is gone tells it already; what is shown to people is taken away for it."""
    return said.event.name == CLEARED and "with" in said.event.facts


class _Stays(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: it would turn the post into a get, without an error."""

    def redirect_request(self, *_: Any) -> None:
        return None


# --- the services that apprise reaches, each by an address: mail, ntfy, Telegram, Slack, Matrix and many more ---

logging.getLogger("apprise").addHandler(logging.NullHandler())  # it would print addresses, which hold tokens


class Apprise:
    """Notices as short messages of other services; of an address only its scheme is ever shown.

    Needs the extra ``apprise``.  What is over is not told there: these places have no way to take a message back.
    """

    def __init__(self, addresses: Sequence[str]) -> None:
        """Raises ValueError for an address that apprise does not know, StallkitError if apprise is not installed."""
        try:
            import apprise  # extra: apprise
        except ImportError as error:
            why, todo = "apprise is not installed", "pip install 'stallkit-supervisor[apprise]'"
            raise StallkitError("notify", "apprise", why, todo) from error
        self._places: list[tuple[str, apprise.Apprise]] = []  # each by its scheme
        for number, address in enumerate(addresses, 1):
            place = apprise.Apprise()
            if not place.add(address):
                raise ValueError(f"apprise does not know address {number} of [notify] apprise, or it is incomplete")
            self._places.append((address.partition(":")[0], place))
        self.name = f"apprise {' '.join(scheme for scheme, _ in self._places)}"

    def deliver(self, said: CloudEvent) -> str:
        if said.event.name == CLEARED:
            return "not told: a message cannot be taken back"
        notice = Notice.of(said.event)
        sent = [(scheme, place.notify(notice.body or notice.title, notice.title)) for scheme, place in self._places]
        if failed := [scheme for scheme, well in sent if not well]:
            raise OSError(f"{', '.join(failed)} did not take it")
        return "sent"

    def close(self) -> None:
        pass
