"""nginx: routes are rendered to a file that its configuration includes, tried by `nginx -t`, and served by a reload."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from attrs import define, field

from stallkit import private
from stallkit.probes.procfs import PROC, all_pids, stat_of
from stallkit_operator.sandbox.preset import Base, RemedyFailed, fetch, told
from stallkit_operator.sandbox.routes import (
    CONFIG_PATH,
    EMPTY,
    InvalidEdit,
    Route,
    changed_routes,
    digest_of,
    read_routes,
    render_nginx,
)

__all__ = ["Nginx"]


@define
class Nginx(Base):
    notify: str | None
    empty: str = EMPTY
    _before: list[int] = field(init=False, factory=list)  # the workers before a reload

    def render(self, text: str) -> str:
        return render_nginx(read_routes(text), self.notify)

    def check(self, candidate: Path, rendered: str | None) -> None:
        """`nginx -t` on a copy of its configuration, which includes the copy in place of the file."""
        self.alive()
        proxy = self.proxy
        main, included = Path(proxy.config or ""), proxy.rendered or ""
        try:
            text = main.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise RemedyFailed(f"{main} cannot be read: {error}") from error
        include = re.compile(rf"(^[^#\n]*\binclude\s+)([\"']?){re.escape(included)}\2(\s*;)", re.MULTILINE)
        if not include.search(text):
            raise RemedyFailed(f"{main} does not have `include {included};`: no edit would have an effect")
        if re.search(r"^[^#\n]*\bworker_shutdown_timeout\b", text, re.MULTILINE):
            raise RemedyFailed(f"{main} has worker_shutdown_timeout, which would end held notices: remove it")
        copy = main.with_name(f".{main.name}.stallkit-check-{os.getpid()}")
        try:
            handle = private.opened(copy, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)  # a credential may be in it
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(include.sub(lambda found: f"{found[1]}{candidate}{found[3]}", text))
            own = [proxy.program or "nginx", "-t", "-q", "-e", "stderr", "-c", "{file}"]
            self.run(proxy.check or own, file=str(copy))
        except OSError as error:
            raise RemedyFailed(f"no copy beside {main}: {error.strerror}") from error
        finally:
            with suppress(OSError):
                copy.unlink(missing_ok=True)

    def reload(self) -> None:
        self._before = self._workers()
        super().reload()

    def probe(self, before: str, after: str, rendered: str | None) -> None:
        digest = digest_of(rendered or "")
        self.until(lambda: self._serves(digest))
        self.until(self._lingers)
        if self.proxy.health:
            self.run(self.proxy.health)
        self.try_all(lambda route: self._answers(route, digest), changed_routes(_routes(before), _routes(after)))

    def _workers(self) -> list[int]:
        """Those that run; none where nginx does not, which its `restart` may mend."""
        try:
            master = self.pid()
        except RemedyFailed:
            return []
        return [pid for pid in all_pids() if (stat := stat_of(pid)) is not None and stat.parent == master]

    def _lingers(self) -> str | None:
        """A worker from before the reload that takes connections still; it says so itself once it takes no more."""
        for pid in self._before:
            try:
                title = Path(f"{PROC}/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if title.startswith(b"nginx: worker process") and b"shutting down" not in title:
                return f"process {pid} from before still takes connections"
        return None

    def _serves(self, digest: str | None) -> str | None:
        answer = fetch(self.url, CONFIG_PATH, self.proxy.timeout_s)
        if answer is None:
            return f"{self.url} does not answer"
        return None if digest is None or answer.config == digest else "it still serves what was there before"

    def _answers(self, route: Route, digest: str | None) -> str | None:
        """Wait until it is served by the new configuration; a note if what is behind it is down, or refuses us."""
        path = route.probe or route.path
        before = f"{path} is not answered by the new configuration"  # by a process that takes no more soon
        answer = self.let_through(
            lambda: fetch(self.url, path, self.proxy.timeout_s),
            lambda answer: None if answer.config == digest else before,
        )
        if answer is not None and answer.status == 401 and route.auth:
            return f"{path} is served, and refuses the credential {route.auth}"
        return None if answer is not None and answer.status < 500 else f"{path} is served, and {told(answer)} now"


def _routes(text: str) -> tuple[Route, ...]:
    try:
        return read_routes(text)
    except InvalidEdit:
        return ()
