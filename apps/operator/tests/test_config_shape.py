"""The diffs of an audit have no secret in them, and still show what changed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from secret_kinds import ASIDE, FRESH, KINDS, LAST, THIRD, Planted, planted
from secret_search import found_in, squeezed
from stallkit_operator.sandbox.config_shape import shape, shape_diff

from stallkit.redact.redact import redact

HOSTS = (("-", "10.0.0.1"), ("+", "evil.example"))
EVERY = {**KINDS, **ASIDE, **FRESH, **THIRD, **LAST}


def test_secrets_of_every_kind_are_in_no_diff() -> None:
    """At least 500 of at least 60 kinds: added, removed, moved, and beside a line that changed."""
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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
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
    ],
)
def test_the_shape_of_a_line(text: str, shown: str | None) -> None:
    assert shape(text) == (text if shown is None else shown)


def test_another_credential_proxy_shows() -> None:
    """In the terminal, the audit and the hand-off, which redact each line once more."""
    before = 'name = "web"\n[proxies]\ncredential = "http://10.0.0.1:8377"\n'
    diff = shape_diff(before, before.replace("10.0.0.1", "evil.example"))
    assert diff.splitlines()[-2:] == [f'{sign}credential = "http://{host}:8377"' for sign, host in HOSTS]
    assert redact(diff) == diff and [redact(line) for line in diff.splitlines()] == diff.splitlines()
    text = json.dumps(
        {"routes": [{"path": "/a/", "upstream": "https://h/oauth2/token", "auth": "npm_token"}]}, indent=2
    )
    assert shape(text) == redact(text) == text


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
