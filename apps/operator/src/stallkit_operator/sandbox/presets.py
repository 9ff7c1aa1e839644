"""The proxies of each sandbox, and what an edit needs of one: what is made of a text, the check, the reload, the probe.

`proxies.toml` names them, and says how each is checked, reloaded and asked:

    [web.routes]                            # the credential proxy of the sandbox web
    preset = "nginx"
    file = "/srv/web/routes.json"           # what `stallkit sandbox routes edit web` opens
    rendered = "/srv/web/routes.conf"       # what is made of it; `config` includes it
    config = "/srv/web/nginx.conf"
    pid = "/srv/web/nginx.pid"
    url = "http://127.0.0.1:8080"

    [web.egress]                            # the egress proxy
    preset = "tinyproxy"
    ...

The file names commands that are run, so that one that others can write is refused.

`preset_of` gives the `Preset` of a proxy: nginx, tinyproxy, or commands of one's own.  For nginx routes are rendered to
a file that its configuration includes, tried by `nginx -t`, and served by a reload.  For tinyproxy hosts are rendered
to its filter, which it reads at a restart: at a signal it reads its files without a lock beside its threads, and may
die of it.  So the operator's `restart` is run; without one there is the signal alone, and the edit says so.
"""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Callable, ClassVar, Mapping, Sequence, TypeVar
from urllib.parse import urlsplit

from attrs import define, evolve, field, frozen

from stallkit import private
from stallkit.errors import ConfigError, UnknownFile
from stallkit.probes.procfs import PROC, all_pids, stat_of
from stallkit.redact.redact import redact
from stallkit.toml_file import TomlError, TomlFile, read_toml, structured
from stallkit_operator.sandbox.routes import (
    CONFIG_PATH,
    EMPTY,
    HEADER,
    InvalidEdit,
    Route,
    digest_of,
    read_routes,
    render_nginx,
)

REMEDIES = {"routes": "cred-proxy", "egress": "pipelock"}  # and the names of their audit logs
_PRESETS = {  # and the fields that each cannot do without
    "nginx": ("rendered", "config", "url"),
    "tinyproxy": ("rendered", "config", "url"),
    "command": (),
}
_SIGNALS = {"nginx": "HUP", "tinyproxy": "USR1"}
_PATHS = ("file", "rendered", "config", "pid", "notify")


@frozen
class Proxy:
    """One proxy of a sandbox.  A command is a list of words; `{file}` in one is the copy that must be checked."""

    preset: str
    file: str  # what a person edits
    rendered: str | None = None  # what is made of it
    config: str | None = None  # the proxy's own, which includes `rendered`
    pid: str | None = None  # the file with its process id
    url: str | None = None  # where it listens
    program: str | None = None  # where it is not in PATH under its own name
    notify: str | None = None  # the sandbox's notification socket, to which nginx forwards notices; "" for none
    signal: str | None = None  # HUP, USR1, ...
    probe: str | None = None  # of tinyproxy: http://{host}:8080/
    check: list[str] = field(factory=list)
    reload: list[str] = field(factory=list)
    restart: list[str] = field(factory=list)
    health: list[str] = field(factory=list)
    timeout_s: float = 10.0  # for each command, and for the proxy to serve what is new

    @property
    def name(self) -> str:
        """Of its program, as the kernel and people know it."""
        return Path(self.program or self.preset).name


def read_proxies(path: Path) -> dict[str, dict[str, Proxy]]:
    """The proxies by sandbox, and by ``routes`` or ``egress``.

    Raises ConfigError, UnknownFile if there is no such file.
    """
    try:
        file = read_toml(path)
        proxies = structured(file, dict[str, dict[str, Proxy]])
    except FileNotFoundError as error:
        raise UnknownFile(str(path), "there is no such file", "write it (docs/sandboxes.md)") from error
    except OSError as error:
        raise ConfigError(str(path), str(error), "correct its permissions") from error
    except TomlError as error:
        raise ConfigError(str(path), error.why, "correct the file", error.line) from error
    return {
        sandbox: {remedy: _checked(file, sandbox, remedy, proxy) for remedy, proxy in of.items()}
        for sandbox, of in proxies.items()
    }


def proxy_of(path: Path, sandbox: str, remedy: str) -> Proxy:
    """One of them.  Raises ConfigError if there is none."""
    found: Mapping[str, Proxy] = read_proxies(path).get(sandbox, {})
    if remedy not in found:
        todo = f"write [{sandbox}.{remedy}] into it (docs/sandboxes.md)"
        raise ConfigError(str(path), f"it names no {remedy} proxy of the sandbox {sandbox!r}", todo)
    return found[remedy]


def _checked(file: TomlFile, sandbox: str, remedy: str, proxy: Proxy) -> Proxy:
    """It, with its defaults.  Raises ConfigError."""
    part = f"[{sandbox}.{remedy}]"

    def wrong(name: str, why: str) -> ConfigError:
        return ConfigError(file.path, why, "correct the file", file.lines.of(sandbox, remedy, name), part)

    if remedy not in REMEDIES:
        raise wrong(remedy, f"a sandbox has {' and '.join(REMEDIES)}, not {remedy!r}")
    if proxy.preset not in _PRESETS:
        raise wrong("preset", f"preset is one of {', '.join(_PRESETS)}")
    for name in _PRESETS[proxy.preset]:
        if not getattr(proxy, name):
            raise wrong(name, f"{proxy.preset} needs {name}")
    for name in _PATHS:
        if (value := getattr(proxy, name)) and not Path(value).is_absolute():
            raise wrong(name, f"{name} is an absolute path")
    if proxy.signal is not None and not hasattr(signal, f"SIG{proxy.signal}"):
        raise wrong("signal", f"there is no signal {proxy.signal!r}: write HUP, USR1, ...")
    if not proxy.reload and not proxy.restart and not proxy.pid:
        raise wrong("pid", "it needs pid, reload or restart: how else does it get the new configuration")
    if proxy.preset == "command" and not proxy.health and not proxy.url:
        raise wrong("health", "it needs health or url: how else is it known to serve")
    if not 0 < proxy.timeout_s <= 600:
        raise wrong("timeout_s", "timeout_s is more than 0 and at most 600")
    return evolve(proxy, signal=proxy.signal or _SIGNALS.get(proxy.preset, "HUP"))


POLL_S = 0.05
TRIED = 20  # new routes or hosts, at most
T = TypeVar("T")


class RemedyFailed(Exception):
    """A step did not go well; the words say why, for a person."""


@frozen
class Answer:
    """What came back: `config` is what nginx says of its include, `refused` that the proxy itself forbids the host."""

    status: int
    config: str | None = None
    refused: bool = False


@define
class Preset:
    """One proxy, as an edit needs it; as it is here, one that takes commands of a person's own.

    Every method raises RemedyFailed, or InvalidEdit for a text that is wrong.
    """

    proxy: Proxy
    noted: list[str] = field(factory=list, init=False)  # what a person should know of how it went, whatever the end

    empty: ClassVar[str] = ""  # what a person edits where there is no file yet

    def render(self, text: str) -> str | None:
        """What the proxy reads; None if it reads the text itself."""
        return None

    def check(self, candidate: Path, rendered: str | None) -> None:
        """Whether the proxy runs, and would take it; `candidate` is a copy beside the file that it is to replace."""
        self.alive()
        self.run(self.proxy.check, file=str(candidate))

    def reload(self) -> None:
        """Have it read its files again."""
        if words := self.proxy.reload or self.proxy.restart:
            self.run(words)
        else:
            os.kill(self.pid(), getattr(signal, f"SIG{self.proxy.signal}"))

    def probe(self, before: str, after: str, rendered: str | None) -> None:
        """Wait until it serves `after`, and what that allows and `before` did not.

        What it lets through, and does not answer now, is noted: that is no fault of the edit's.
        """
        self.run(self.proxy.health, file=self.proxy.file)
        if self.proxy.url:
            path = urlsplit(self.proxy.url).path or "/"
            self.until(lambda: None if _well(answer := self.ask(path)) else f"it {_told(answer)}")
        self.alive()

    # --- its process, and its commands ---

    def pid(self) -> int:
        """The process; one of another program, to which the number went, is none."""
        try:
            number = int(Path(self.proxy.pid or "").read_text("utf-8"))
            name = Path(f"/proc/{number}/comm")
            if (
                self.proxy.preset != "command"
                and name.parent.parent.exists()
                and name.read_text().strip() != self.proxy.name[:15]
            ):
                raise RemedyFailed(f"process {number} of {self.proxy.pid} is not {self.proxy.name}")
            os.kill(number, 0)
            if (stat := stat_of(number)) is not None and stat.ended:  # and nobody has collected it yet
                raise ProcessLookupError(number)
        except (OSError, ValueError) as error:
            raise RemedyFailed(f"it does not run: {self.proxy.pid} names no process") from error
        return number

    def alive(self) -> None:
        if self.proxy.pid:
            self.pid()

    def run(self, words: Sequence[str], **values: str) -> None:
        """Run a command, without a shell, if there is one."""
        if not words:
            return
        told = [re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], found[0]), word) for word in words]
        try:
            done = subprocess.run(
                told, stdin=subprocess.DEVNULL, capture_output=True, timeout=self.proxy.timeout_s, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise RemedyFailed(f"{words[0]} took more than {self.proxy.timeout_s:g} s") from error
        except OSError as error:
            raise RemedyFailed(f"{words[0]}: {error.strerror}") from error
        if done.returncode:
            said = redact((done.stderr or done.stdout).decode("utf-8", "replace")).strip().splitlines()
            raise RemedyFailed(f"{words[0]} says (exit code {done.returncode}): {' / '.join(said[-5:]) or 'nothing'}")

    # --- requests to it, or through it, to see whether it serves what it should ---

    def ask(self, target: str, method: str = "GET") -> Answer | None:
        """The answer to a path or a whole address, or to ``CONNECT host:port``; None if there is none."""
        place = urlsplit(self.proxy.url or "")
        kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
        try:
            with closing(kind(place.hostname or "", place.port, timeout=self.proxy.timeout_s)) as connection:
                host = urlsplit(target).netloc if "://" in target else target if method == "CONNECT" else place.netloc
                connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
                for name, value in (("Host", host), ("Connection", "close"), ("User-Agent", "stallkit")):
                    connection.putheader(name, value)
                connection.endheaders()
                answer = connection.getresponse()
                own = (answer.getheader("Server") or "").lower().startswith("tinyproxy")
                return Answer(answer.status, answer.getheader(HEADER), answer.status == 403 and own)
        except (OSError, http.client.HTTPException, ValueError):
            return None

    def until(self, good: Callable[[], str | None]) -> None:
        """Ask again until nothing is missing; `good` says what is."""
        deadline = time.monotonic() + self.proxy.timeout_s
        while (missing := good()) is not None:
            if time.monotonic() > deadline:
                raise RemedyFailed(f"{missing} after {self.proxy.timeout_s:g} s")
            time.sleep(POLL_S)

    def try_all(self, attempt: Callable[[T], str | None], things: Sequence[T]) -> None:
        """Make some attempts at once; what each comes back with is noted."""
        with ThreadPoolExecutor(TRIED) as pool:
            found = [*pool.map(attempt, things[:TRIED])]
        if (more := len(things) - TRIED) > 0:
            found.append(f"{more} more were not tried")
        self.noted += [note for note in found if note and note not in self.noted]

    def let_through(self, ask: Callable[[], Answer | None], refused: Callable[[Answer], str | None]) -> Answer | None:
        """Ask until the proxy lets it through: the answer, None if nothing answers while the proxy itself does."""
        answer: Answer | None = None

        def missing() -> str | None:
            nonlocal answer
            answer = ask() or (ask() if self.silent() is None else None)  # again: it may have been restarted meanwhile
            return self.silent() if answer is None else refused(answer)

        self.until(missing)
        return answer

    def silent(self) -> str | None:
        """Why the proxy itself gives no answer; None if it does."""
        return None if self.ask("/") is not None else f"{self.proxy.url} does not answer"


def _well(answer: Answer | None) -> bool:
    return answer is not None and answer.status < 500


def _told(answer: Answer | None) -> str:
    if answer is None:
        return "does not answer"
    return "is refused by the proxy" if answer.refused else f"answers {answer.status}"


def _readable(read: Callable[[str], tuple[T, ...]], text: str) -> tuple[T, ...]:
    """What a text says; nothing if another program wrote it."""
    try:
        return read(text)
    except InvalidEdit:
        return ()


# --- nginx ---


@define
class Nginx(Preset):
    notify: str | None
    _before: list[int] = field(init=False, factory=list)  # the workers before a reload

    empty: ClassVar[str] = EMPTY

    def render(self, text: str) -> str:
        return render_nginx(read_routes(text), self.notify)

    def check(self, candidate: Path, rendered: str | None) -> None:
        """`nginx -t` on a copy of its configuration, which includes the copy instead of the file."""
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
        self.run(self.proxy.health)
        known = _readable(read_routes, before)
        new = [route for route in _readable(read_routes, after) if route not in known]
        self.try_all(lambda route: self._answers(route, digest), new)

    def _workers(self) -> list[int]:
        """Those that run; none if nginx does not, which its `restart` may fix."""
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
        answer = self.ask(CONFIG_PATH)
        if answer is None:
            return f"{self.proxy.url} does not answer"
        return None if digest is None or answer.config == digest else "it still serves what was there before"

    def _answers(self, route: Route, digest: str | None) -> str | None:
        """Wait until it is served by the new configuration; a note if what is behind it is down, or refuses us."""
        path = route.probe or route.path
        before = f"{path} is not answered by the new configuration"  # by a process that takes no more soon
        answer = self.let_through(lambda: self.ask(path), lambda answer: None if answer.config == digest else before)
        if answer is not None and answer.status == 401 and route.auth:
            return f"{path} is served, and refuses the credential {route.auth}"
        return None if _well(answer) else f"{path} is served, and {_told(answer)} now"


# --- the hosts that an egress proxy lets through, one a line, rendered to tinyproxy's filter ---

MOST = 5_000
_HOST = re.compile(r"(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.){0,10}[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


def read_hosts(text: str) -> tuple[str, ...]:
    """The hosts in order, in lower case.  Raises InvalidEdit, with the line.

    >>> read_hosts("Registry.example.org  # packages")
    ('registry.example.org',)
    """
    found: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        host = line.partition("#")[0].strip().lower()
        if not host:
            continue
        if len(host) > 253 or not _HOST.fullmatch(host):
            raise InvalidEdit("it is no host: one name a line, or *.NAME; no scheme, port, path or pattern", number)
        if host.startswith("*.") and "." not in host[2:]:
            raise InvalidEdit(
                "*. needs a name of two parts at least: it would let a whole top-level domain through", number
            )
        if host in found:
            raise InvalidEdit("this host is listed twice", number)
        found.append(host)
    if len(found) > MOST:
        raise InvalidEdit(f"it has more than {MOST:,} hosts")
    return tuple(found)


def render_tinyproxy(hosts: tuple[str, ...]) -> str:
    """The filter: patterns that are the same as basic and as extended regular expressions.

    >>> print(render_tinyproxy(("a.example.org", "*.example.net")), end="")
    ^a[.]example[.]org$
    ^[a-z0-9_.-]*[.]example[.]net$
    """
    return "".join(f"{_pattern(host)}\n" for host in hosts)


def _pattern(host: str) -> str:
    below = host.startswith("*.")
    name = host.removeprefix("*.").replace(".", "[.]")
    return f"^{'[a-z0-9_.-]*[.]' if below else ''}{name}$"


@define
class Tinyproxy(Preset):
    empty: ClassVar[str] = "# One host a line, or *.HOST for every host below it.\n"

    def render(self, text: str) -> str:
        return render_tinyproxy(read_hosts(text))

    def check(self, candidate: Path, rendered: str | None) -> None:
        """tinyproxy has no check of its own, and ends on a bad filter: the filter is made of names alone."""
        self.alive()
        config, wanted = self._config(), {"filterdefaultdeny": "yes", "filter": self.proxy.rendered}
        for name, value in wanted.items():
            if config.get(name, "").lower() != str(value).lower():
                raise RemedyFailed(f"{self.proxy.config} does not have `{_SPELT[name]} {value}`")
        if config.get("filterurls", "no").lower() in ("yes", "on"):
            raise RemedyFailed(f"{self.proxy.config} has FilterURLs: the hosts would be looked for in whole addresses")
        self.run(self.proxy.check, file=str(candidate))

    def reload(self) -> None:
        super().reload()
        if not (self.proxy.reload or self.proxy.restart):
            self.noted.append(f"{self.proxy.name} was signalled, and may end of that while it serves: give a `restart`")

    def probe(self, before: str, after: str, rendered: str | None) -> None:
        self.until(self.silent)
        old, new = _readable(read_hosts, before), _readable(read_hosts, after)
        gone = [host for host in old if host not in new and not any(_within(host, other) for other in new)]
        added = [host for host in new if host not in old]
        for host in _plain(gone)[:TRIED]:
            self.until(lambda host=host: self._refuses(host))  # type: ignore[misc]
        self.try_all(self._allows, _plain(added))
        self.run(self.proxy.health)
        self.alive()

    def _config(self) -> dict[str, str]:
        try:
            lines = Path(self.proxy.config or "").read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise RemedyFailed(f"{self.proxy.config} cannot be read: {error}") from error
        words = [line.split(None, 1) for line in lines if line.strip() and not line.lstrip().startswith("#")]
        return {one[0].lower(): one[1].strip().strip("\"'") for one in words if len(one) == 2}

    def _refuses(self, host: str) -> str | None:
        answer = self._asked(host)
        return None if answer is not None and answer.refused else f"{host} {_told(answer)}, and is no longer allowed"

    def _allows(self, host: str) -> str | None:
        """Wait until it is; a note if it does not answer."""
        wanted = f"{host}, which is allowed now, is still refused by the proxy"
        answer = self.let_through(lambda: self._asked(host), lambda answer: wanted if answer.refused else None)
        return None if _well(answer) else f"{host} is allowed, and {_told(answer)} now"

    def _asked(self, host: str) -> Answer | None:
        if self.proxy.probe:
            return self.ask(self.proxy.probe.replace("{host}", host))
        answer = self.ask(f"{host}:443", "CONNECT")
        if answer is None or answer.refused or answer.status < 500:
            return answer
        return self.ask(f"http://{host}/")


_SPELT = {"filterdefaultdeny": "FilterDefaultDeny", "filter": "Filter"}


def _plain(hosts: list[str]) -> list[str]:
    """Those that can be asked for: a wildcard is no name."""
    return [host for host in hosts if not host.startswith("*.")]


def _within(host: str, other: str) -> bool:
    return other.startswith("*.") and host.endswith(other[1:])


# --- the preset of a proxy ---


def preset_of(proxy: Proxy, notify: str | None) -> Preset:
    """The preset; `notify` is the path of the sandbox's notification socket."""
    if proxy.preset == "nginx":
        return Nginx(proxy, notify)
    return Tinyproxy(proxy) if proxy.preset == "tinyproxy" else Preset(proxy)
