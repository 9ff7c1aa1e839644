"""`proxies.toml`: what is wrong in it is named with its line, and nobody else can have written it."""

from __future__ import annotations

from pathlib import Path

import pytest
from stallkit_operator.sandbox.proxies import proxy_of, read_proxies

from stallkit.errors import ConfigError

NGINX = """[web.routes]
preset = "nginx"
file = "/srv/routes.json"
rendered = "/srv/routes.conf"
config = "/srv/nginx.conf"
pid = "/srv/nginx.pid"
url = "http://127.0.0.1:8080"
"""


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "proxies.toml"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_proxy_has_its_presets_defaults(tmp_path: Path) -> None:
    path = written(tmp_path, NGINX)
    proxy = proxy_of(path, "web", "routes")
    assert (proxy.signal, proxy.name, proxy.timeout_s, proxy.notify) == ("HUP", "nginx", 10.0, None)
    tiny = NGINX.replace("web.routes", "web.egress").replace("nginx", "tinyproxy")
    assert proxy_of(written(tmp_path, tiny), "web", "egress").signal == "USR1"


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ('preset = "nginx"', 'preset = "apache"', 2, "one of nginx"),
        ('file = "/srv/', 'file = "srv/', 3, "absolute"),
        ('rendered = "/srv/routes.conf"', "", 1, "needs rendered"),
        ('url = "http://127.0.0.1:8080"', "", 1, "needs url"),
        ('pid = "/srv/nginx.pid"', "", 1, "pid, reload or restart"),
        ('pid = "/srv/nginx.pid"', 'pid = "/p"\nsignal = "NONE"', 7, "no signal"),
        ('pid = "/srv/nginx.pid"', 'pid = "/p"\ntimeout_s = 0', 7, "timeout_s"),
        ('pid = "/srv/nginx.pid"', 'pid = "/p"\nreload = "nginx -s"', 7, "not a list"),
        ('pid = "/srv/nginx.pid"', 'pid = "/p"\nunknown = 1', 7, "unknown key"),
        ("[web.routes]", "[web.other]", 1, "routes and egress"),
        ("[web.routes]", "[web", 1, "line 1"),
        ('preset = "nginx"', 'preset = "command"\nhealth = []', 3, "health or url"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, old: str, new: str, line: int, why: str) -> None:
    text = NGINX.replace(old, new)
    if "command" in new:
        text = text.replace('url = "http://127.0.0.1:8080"\n', "")
    with pytest.raises(ConfigError, match=why) as caught:
        read_proxies(written(tmp_path, text))
    assert caught.value.line == line


def test_a_file_that_others_can_write_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can be written by others"):
        read_proxies(written(tmp_path, NGINX, 0o662))
    with pytest.raises(ConfigError, match="no such file"):
        read_proxies(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match=r"no egress proxy of the sandbox 'web'.*\[web.egress\]"):
        proxy_of(written(tmp_path, NGINX), "web", "egress")
