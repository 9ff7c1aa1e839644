"""What differs between proxies: what is made of a person's text, the check on copies, the reload, the probe.

`preset_of` gives the `Preset` of a proxy: nginx, tinyproxy, or commands of one's own.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from attrs import define

from stallkit_operator.sandbox.nginx_preset import Nginx
from stallkit_operator.sandbox.preset import Answer, Base, Preset, fetch, told
from stallkit_operator.sandbox.proxies import Proxy
from stallkit_operator.sandbox.tinyproxy_preset import Tinyproxy

__all__ = ["preset_of"]


def preset_of(proxy: Proxy, notify: str | None) -> Preset:
    """The preset; `notify` is the path of the sandbox's notification socket."""
    if proxy.preset == "nginx":
        return Nginx(proxy, notify)
    return Tinyproxy(proxy) if proxy.preset == "tinyproxy" else _Command(proxy)


@define
class _Command(Base):
    empty: str = ""

    def render(self, text: str) -> None:
        return None

    def check(self, candidate: Path, rendered: str | None) -> None:
        self.alive()
        if self.proxy.check:
            self.run(self.proxy.check, file=str(candidate))

    def probe(self, before: str, after: str, rendered: str | None) -> None:
        if self.proxy.health:
            self.run(self.proxy.health, file=self.proxy.file)
        if self.proxy.url:
            path = urlsplit(self.url).path or "/"
            self.until(lambda: _unwell(fetch(self.url, path, self.proxy.timeout_s)))
        self.alive()


def _unwell(answer: Answer | None) -> str | None:
    return None if answer is not None and answer.status < 500 else f"it {told(answer)}"
