"""What is made of a person's routes and hosts: nothing that a person writes is more than a route or a host there."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stallkit_operator.sandbox.presets import read_hosts, render_tinyproxy
from stallkit_operator.sandbox.routes import (
    EMPTY,
    InvalidEdit,
    Route,
    changed_routes,
    digest_of,
    read_routes,
    render_nginx,
)

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


@pytest.mark.parametrize(
    "changed",
    [
        *(
            {"path": one}
            for one in ("", "a/", "/a;/", "/a b/", "//", "/../", "/supervise/notify", "/a\n/", "/{", "/$x/")
        ),
        *({"upstream": one} for one in ("h", "ftp://h/", "http://h/;", "http://h/ x", "http://$x/", "http://u:p@h/")),
        *({"upstream": one} for one in ("http://unix:/a.sock:/", "http://h/?a=b", "http://h\n", "http://h/${a}")),
        *({"auth": one} for one in ("", "GITHUB", "a-b", "a}", "ghp_A1", "x" * 50)),
        *({"header": one} for one in ("", "A B", "A:", "A;")),
        *({"scheme": one} for one in ("Bearer ", 'x"', "a1", "$x")),
        *({"probe": one} for one in ("/other/", "/github", "/github/ x", "http://h/")),
        *({"path": one} for one in (1, None, ["/a/"])),
        {"unknown": "x"},
    ],
    ids=repr,
)
def test_what_nginx_would_read_as_more_is_refused(changed: dict[str, object]) -> None:
    assert read_routes(routes(GOOD))
    with pytest.raises(InvalidEdit, match="route 1"):
        read_routes(routes({**GOOD, **changed}))


@pytest.mark.parametrize(
    ("text", "why"),
    [
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
    ],
    ids=range(11),
)
def test_what_is_no_file_of_routes_says_why(text: str, why: str) -> None:
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


def test_what_changed_is_known() -> None:
    one, two = Route("/a/", "http://h/"), Route("/b/", "http://h/")
    assert changed_routes((one,), (one, two)) == (two,)
    assert changed_routes((one, two), (two,)) == ()


@pytest.mark.parametrize(
    "host",
    [
        *("*", "*.", "*.org", "a b", "http://a.org", "a.org/", "a.org:1", ".a.org", "a..org", "-a.org", "^a$", "[a]"),
        *("a*.org", "(a", "\\", "é.org", "a." * 130),
    ],
)
def test_what_is_no_host_is_refused_with_its_line(host: str) -> None:
    with pytest.raises(InvalidEdit, match="line 2"):
        read_hosts(f"a.example.org\n{host}\n")


def test_a_host_is_there_once() -> None:
    with pytest.raises(InvalidEdit, match="twice"):
        read_hosts("a.org\nA.org # again")
    assert read_hosts("\n# nothing\n") == ()
    with pytest.raises(InvalidEdit, match="more than"):
        read_hosts("\n".join(f"h{n}.org" for n in range(5_001)))


names = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,5}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,5}[a-z0-9])?){0,3}", fullmatch=True)


@given(names, names, st.booleans())
def test_a_pattern_matches_its_host_and_no_other(host: str, other: str, below: bool) -> None:
    if below and "." not in host:
        return
    (pattern,) = render_tinyproxy(read_hosts(f"*.{host}" if below else host)).split()
    assert bool(re.search(pattern, host)) == (not below)
    assert bool(re.search(pattern, f"x.{host}")) == below
    for evil in (f"{host}.evil.test", f"evil-{host}", f"evil{host}", host.replace(".", "x", 1) if "." in host else "-"):
        assert not re.search(pattern, evil)
    assert bool(re.search(pattern, other)) == (other.endswith(f".{host}") if below else other == host)
