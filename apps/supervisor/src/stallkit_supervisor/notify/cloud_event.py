"""An event in the envelope that other programs know: CloudEvents 1.0, in both of its content modes.  Pure.

In binary mode the body is the event as it stands in the event log, and the envelope is beside it, in headers or
variables; in structured mode one JSON object holds both.

Attributes that are short texts, and one way to write them, are less than the SDK of the standard costs with what it
depends on: 20 ms at each start.  The tests read every envelope back with that SDK.
"""

from __future__ import annotations

import json
from typing import Literal
from urllib.parse import quote

from attrs import frozen

from stallkit.jsonio import dump
from stallkit.press.events import Event
from stallkit.redact.redact import redact
from stallkit.terminal.text import escaped

__all__ = ["CONTENT_MODES", "CloudEvent", "ContentMode"]

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
