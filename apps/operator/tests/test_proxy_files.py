"""What a person writes for proxies: routes, hosts, `proxies.toml`; and what a diff of it shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from secret_kinds import ASIDE, FRESH, KINDS, LAST, THIRD, Planted, planted
from secret_search import found_in, squeezed
from stallkit_operator.sandbox.config_shape import shape, shape_diff
from stallkit_operator.sandbox.presets import proxy_of, read_hosts, read_proxies, render_tinyproxy
from stallkit_operator.sandbox.routes import (
    EMPTY,
    InvalidEdit,
    Route,
    digest_of,
    read_routes,
    render_nginx,
)

from stallkit.errors import ConfigError
from stallkit.redact.redact import redact

GOOD = {"path": "/github/", "upstream": "https://api.github.com/", "auth": "github"}


def routes(*given: object) -> str:
    return json.dumps({"routes": given})


def test_a_route_is_rendered_with_the_name_of_its_credential_alone() -> None:
    text = render_nginx(read_routes(routes(GOOD)), "/run/web/notify.sock")
    for row in (
        "location /github/ {",
        "proxy_pass https://api.github.com/;",
        'proxy_set_header Authorization "Bearer $credential_github";',
        "proxy_ssl_verify on;",
        "proxy_pass http://unix:/run/web/notify.sock:/supervise/notify;",
        "proxy_read_timeout 8d;",
    ):
        assert f"{row}\n" in text
    digest = digest_of(text)
    assert digest and text.count(f"add_header X-Stallkit-Config {digest} always;") == 2
    other = render_nginx(read_routes(routes({**GOOD, "auth": "gitlab"})), "/run/web/notify.sock")
    assert digest_of(other) not in (None, digest) and digest_of("# by hand") is None


def test_no_routes_and_no_notices_are_served_as_well() -> None:
    text = render_nginx(read_routes(EMPTY))
    assert "notify" not in text and digest_of(text)
    with pytest.raises(InvalidEdit):
        render_nginx((), "/run/a b; return 200")


MORE: dict[str, list[object]] = {
    "path": ["", "a/", "/a;/", "/a b/", "//", "/../", "/supervise/notify", "/a\n/", "/{", "/$x/", 1, None, ["/a/"]],
    "upstream": [
        *("h", "ftp://h/", "http://h/;", "http://h/ x", "http://$x/", "http://u:p@h/", "http://unix:/a.sock:/"),
        *("http://h/?a=b", "http://h\n", "http://h/${a}"),
    ],
    "auth": ["", "GITHUB", "a-b", "a}", "ghp_A1", "x" * 50],
    "header": ["", "A B", "A:", "A;"],
    "scheme": ["Bearer ", 'x"', "a1", "$x"],
    "probe": ["/other/", "/github", "/github/ x", "http://h/"],
    "unknown": ["x"],
}


def test_what_nginx_would_read_as_more_is_refused() -> None:
    assert read_routes(routes(GOOD))
    for key, values in MORE.items():
        for value in values:
            with pytest.raises(InvalidEdit, match="route 1"):
                read_routes(routes({**GOOD, key: value}))


def test_what_is_no_file_of_routes_says_why() -> None:
    for text, why in (
        ("", "not JSON"),
        ('{"routes": [\n{]}', "line 2"),
        ("[]", "routes"),
        ('{"routes": {}}', "routes"),
        ('{"routes": [], "x": 1}', "routes"),
        ('{"routes": [], "routes": []}', "twice"),
        (routes(GOOD, GOOD), "route 2"),
        (routes("x"), "object"),
        (routes({"path": "/a/"}), "upstream is missing"),
        ("[" * 100_000, "nested"),
        (routes(*({**GOOD, "path": f"/r{n}/"} for n in range(501))), "more than 500"),
    ):
        with pytest.raises(InvalidEdit, match=why):
            read_routes(text)


@given(st.dictionaries(st.sampled_from(["path", "upstream", "auth", "header", "scheme"]), st.text(max_size=30)))
def test_no_value_is_more_than_a_word_of_the_include(given: dict[str, str]) -> None:
    try:
        found = read_routes(routes({**GOOD, **given}))
    except InvalidEdit:
        return
    shape = re.sub(r"[^\s;{}\"]+", "w", render_nginx(found))
    plain = re.sub(r"[^\s;{}\"]+", "w", render_nginx((Route("/a/", found[0].upstream, "x", scheme=found[0].scheme),)))
    assert shape.replace("w w {", "w {") == plain.replace("w w {", "w {")


NO_HOSTS = [
    *("*", "*.", "*.org", "a b", "http://a.org", "a.org/", "a.org:1", ".a.org", "a..org", "-a.org", "^a$", "[a]"),
    *("a*.org", "(a", "\\", "é.org", "a." * 130),
]


def test_what_is_no_host_is_refused_with_its_line_and_one_is_there_once() -> None:
    for host in NO_HOSTS:
        with pytest.raises(InvalidEdit, match="line 2"):
            read_hosts(f"a.example.org\n{host}\n")
    with pytest.raises(InvalidEdit, match="twice"):
        read_hosts("a.org\nA.org # again")
    assert read_hosts("\n# nothing\n") == ()
    with pytest.raises(InvalidEdit, match="more than"):
        read_hosts("\n".join(f"h{n}.org" for n in range(5_001)))


NAMES = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,5}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,5}[a-z0-9])?){0,3}", fullmatch=True)


@given(NAMES, NAMES, st.booleans())
def test_a_pattern_matches_its_host_and_no_other(host: str, other: str, below: bool) -> None:
    if below and "." not in host:
        return
    (pattern,) = render_tinyproxy(read_hosts(f"*.{host}" if below else host)).split()
    assert bool(re.search(pattern, host)) == (not below)
    assert bool(re.search(pattern, f"x.{host}")) == below
    for evil in (f"{host}.evil.test", f"evil-{host}", f"evil{host}", host.replace(".", "x", 1) if "." in host else "-"):
        assert not re.search(pattern, evil)
    assert bool(re.search(pattern, other)) == (other.endswith(f".{host}") if below else other == host)


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


PID, URL = 'pid = "/srv/nginx.pid"', 'url = "http://127.0.0.1:8080"'
WRONG = [
    ('preset = "nginx"', 'preset = "apache"', 2, "one of nginx"),
    ('file = "/srv/', 'file = "srv/', 3, "absolute"),
    ('rendered = "/srv/routes.conf"', "", 1, "needs rendered"),
    (URL, "", 1, "needs url"),
    (PID, "", 1, "pid, reload or restart"),
    (PID, 'pid = "/p"\nsignal = "NONE"', 7, "no signal"),
    (PID, 'pid = "/p"\ntimeout_s = 0', 7, "timeout_s"),
    (PID, 'pid = "/p"\nreload = "nginx -s"', 7, "not a list"),
    (PID, 'pid = "/p"\nunknown = 1', 7, "unknown key"),
    ("[web.routes]", "[web.other]", 1, "routes and egress"),
    ("[web.routes]", "[web", 1, "line 1"),
    ('preset = "nginx"', 'preset = "command"\nhealth = []', 3, "health or url"),
]


def test_what_is_wrong_is_named_with_its_line(tmp_path: Path) -> None:
    for old, new, line, why in WRONG:
        text = NGINX.replace(old, new)
        if "command" in new:
            text = text.replace(f"{URL}\n", "")
        with pytest.raises(ConfigError, match=why) as caught:
            read_proxies(written(tmp_path, text))
        assert caught.value.line == line, new


def test_a_file_that_others_can_write_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can be written by others"):
        read_proxies(written(tmp_path, NGINX, 0o662))
    with pytest.raises(ConfigError, match="no such file"):
        read_proxies(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match=r"no egress proxy of the sandbox 'web'.*\[web.egress\]"):
        proxy_of(written(tmp_path, NGINX), "web", "egress")


HOSTS = (("-", "10.0.0.1"), ("+", "evil.example"))
EVERY = {**KINDS, **ASIDE, **FRESH, **THIRD, **LAST}


def test_secrets_of_every_kind_are_in_no_diff() -> None:
    texts = planted(EVERY, 600, seed=11)
    assert len({one.kind for one in texts}) >= 60 and sum(len(one.secrets) for one in texts) >= 500
    leaks = [
        (one.kind, secret) for one in texts for secret in one.secrets if any(_holds(secret, d) for d in _diffs(one))
    ]
    assert leaks == []


def _diffs(one: Planted) -> list[str]:
    text = one.text
    moved = "\n".join(f"  {row}" for row in reversed(text.split("\n")))  # away from what calls it a secret
    quoted = json.dumps({"routes": [{"note": text}]}, indent=1, ensure_ascii=False)
    return [
        shape_diff("", text),
        shape_diff(text, ""),
        shape_diff(f"a = 1\n{text}\nb = 2\n", f"a = 2\n{text}\nb = 3\n"),
        shape_diff(f"a\n{text}\nb\n", moved),
        shape_diff(quoted, "{}"),
        shape_diff(text, f"{one.screen}\n{text}"),  # and wrapped, or in a frame
    ]


def _holds(secret: str, diff: str) -> bool:
    return found_in(secret, diff if len(squeezed(secret)) <= 8 else squeezed(diff))


def test_the_search_for_secrets_can_fail() -> None:
    assert _holds("hunter22", "-password = hunter22")


ROUTE = {"path": "/a/", "upstream": "https://h/oauth2/token", "auth": "npm_token"}
SHAPES: list[tuple[str, str | None]] = [
    ('proxy_set_header Authorization "Bearer $credential_github";', None),
    ("proxy_pass https://api.example.com/v1/;", None),
    ("^registry[.]example[.]com$", None),
    ('{"path": "/gh/", "upstream": "https://api.example.com", "auth": "github"}', None),
    ('proxy_set_header X-Api-Key "abcd1234efgh";', 'proxy_set_header X-Api-Key "[secret 1]";'),
    ("upstream http ada:hunter22@proxy:3128", "upstream http ada:[secret 1]@proxy:3128"),
    ('{"auth": "ghp_' + "a1B2" * 9 + '"}', '{"auth": "[secret 1]"}'),
    ("BasicAuth ada hunter22", "BasicAuth [secret 1] [secret 2]"),
    ('credential = "http://10.0.0.1:8377"\ndirect = ["localhost"]', None),
    ('credential = "http://cred.example/web/v2/"', None),
    ('credential = "http://a/web?key=abcd1234"\nx = 1', 'credential = "http://a/web[secret 1]"\nx = 1'),
    ('credential = "http://ada:hunter22@a/"', 'credential = "[secret 1]"'),
    ('credential = "http://a/x/zk3Jq81LpXw0v"', 'credential = "http://a/x[secret 1]"'),
    ('"upstream": "https://token.example:8443/token/v2/",\n   "auth": "npm_token"\n  },\n  {', None),
    ('"path": "/token/",\n "upstream": "https://h/oauth2/token",\n "scheme": "Token"\n', None),
    ('token: "hunter22"\nurl: "https://h/token"', 'token: "[secret 1]"\nurl: "https://h/token"'),
    ("password:\n  - one\n  - two\nport: 1", "password:\n  - [secret 1]\n  - [secret 2]\nport: 1"),
    (json.dumps({"routes": [ROUTE]}, indent=2), None),
]


def test_the_shape_of_a_line() -> None:
    wrong = [(text, shape(text)) for text, shown in SHAPES if shape(text) != (text if shown is None else shown)]
    assert wrong == [] and redact(SHAPES[-1][0]) == SHAPES[-1][0]
    before = 'name = "web"\n[proxies]\ncredential = "http://10.0.0.1:8377"\n'  # another credential proxy shows
    diff = shape_diff(before, before.replace("10.0.0.1", "evil.example"))
    assert diff.splitlines()[-2:] == [f'{sign}credential = "http://{host}:8377"' for sign, host in HOSTS]
    # in the terminal, the audit and the hand-off, which redact each line once more
    assert redact(diff) == diff and [redact(line) for line in diff.splitlines()] == diff.splitlines()


def test_a_secret_that_changed_shows_without_its_value() -> None:
    diff = shape_diff("port = 1\ntoken = abc123def\n", "port = 1\ntoken = xyz789uvw\n", "routes.json")
    assert diff.splitlines() == [
        *("--- routes.json before", "+++ routes.json after", "@@ -1,2 +1,2 @@"),
        *(" port = 1", "-token = [secret 1]", "+token = [secret 2]"),
    ]


@given(st.text(alphabet="abk=:\"'{}[], \n\tpassword1$", max_size=200), st.text(max_size=60))
def test_any_text_has_a_shape(text: str, other: str) -> None:
    assert shape(text).count("\n") == text.count("\n")
    assert shape_diff(text, text) == ""
    shape_diff(text, other)
