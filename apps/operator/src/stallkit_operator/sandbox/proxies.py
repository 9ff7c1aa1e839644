"""`proxies.toml`: where the proxies of each sandbox are, and how each is checked, reloaded and asked.

    [web.routes]                            # the credential proxy of the sandbox web
    preset = "nginx"
    file = "/srv/web/routes.json"           # what `stallkit routes edit web` opens
    rendered = "/srv/web/routes.conf"       # what is made of it; `config` includes it
    config = "/srv/web/nginx.conf"
    pid = "/srv/web/nginx.pid"
    url = "http://127.0.0.1:8080"

    [web.egress]                            # the egress proxy
    preset = "tinyproxy"
    ...

The file names commands that are run, so that one that others can write is refused.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Mapping

from attrs import evolve, field, frozen

from stallkit.errors import ConfigError, UnknownFile
from stallkit.toml_file import TomlError, TomlFile, read_toml, structured

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
    """One proxy of a sandbox.  A command is a list of words; `{file}` in one is the copy that is to be checked."""

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

    Raises ConfigError, UnknownFile where there is no such file.
    """
    try:
        file = read_toml(path)
        proxies = structured(file, dict[str, dict[str, Proxy]])
    except FileNotFoundError as error:
        raise UnknownFile(str(path), "there is no such file", "write it (docs/remedies.md)") from error
    except OSError as error:
        raise ConfigError(str(path), str(error), "correct its permissions") from error
    except TomlError as error:
        raise ConfigError(str(path), error.why, "correct the file", error.line) from error
    return {
        sandbox: {remedy: _checked(file, sandbox, remedy, proxy) for remedy, proxy in of.items()}
        for sandbox, of in proxies.items()
    }


def proxy_of(path: Path, sandbox: str, remedy: str) -> Proxy:
    """One of them.  Raises ConfigError where there is none."""
    found: Mapping[str, Proxy] = read_proxies(path).get(sandbox, {})
    if remedy not in found:
        todo = f"write [{sandbox}.{remedy}] into it (docs/remedies.md)"
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
