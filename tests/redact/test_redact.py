"""The redactor: planted secrets go, prose stays.

Every secret is put together from parts here, so that nothing in this file looks like one.
"""

from __future__ import annotations

import string
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stallkit.redact.redact import MASK, redact, redact_all, redact_words, spans

examples = settings(max_examples=120, deadline=None)


def mixed(length: int) -> str:
    """Letters of both cases and digits, as services draw them."""
    return ("q7Zt2Kx9Wm4Bv6Rn1Lc8" * 8)[:length]


def lower(length: int) -> str:
    return mixed(length).lower()


def upper(length: int) -> str:
    return mixed(length).upper()


def hexed(length: int) -> str:
    return ("3f9a04c7e1b8d256" * 8)[:length]


TOKENS = {
    "AWS access key": "AKI" + "A" + upper(16),
    "AWS session key": "ASI" + "A" + upper(16),
    "GitHub personal": "gh" + "p_" + mixed(36),
    "GitHub OAuth": "gh" + "o_" + mixed(36),
    "GitHub app": "gh" + "s_" + mixed(36),
    "GitHub refresh": "gh" + "r_" + mixed(36),
    "GitHub fine-grained": "github" + "_pat_" + mixed(22) + "_" + mixed(40),
    "GitLab": "glp" + "at-" + mixed(20),
    "OpenAI": "sk" + "-proj-" + mixed(32),
    "Anthropic": "sk" + "-ant-api03-" + mixed(40),
    "Stripe secret": "sk" + "_live_" + mixed(24),
    "Stripe restricted": "rk" + "_test_" + mixed(24),
    "Slack bot": "xox" + "b-" + "1234567890-" + mixed(24),
    "Slack user": "xox" + "p-" + "1234567890-" + mixed(24),
    "Slack app": "xap" + "p-1-" + mixed(20),
    "Google API": "AI" + "za" + mixed(35),
    "Google OAuth": "ya" + "29." + mixed(40),
    "npm": "np" + "m_" + mixed(36),
    "PyPI": "pyp" + "i-" + mixed(60),
    "Hugging Face": "h" + "f_" + mixed(34),
    "DigitalOcean": "dop" + "_v1_" + hexed(64),
    "JSON web token": "ey" + "J" + mixed(20) + ".ey" + "J" + mixed(30) + "." + mixed(43),
    "age": "AGE-SECRET" + "-KEY-1" + upper(58),
    "SendGrid": "S" + "G." + mixed(22) + "." + mixed(43),
    "Groq": "gs" + "k_" + mixed(52),
    "HashiCorp Vault": "hv" + "s." + mixed(24),
    "Databricks": "da" + "pi" + hexed(32),
    "Grafana": "gl" + "sa_" + mixed(32) + "_" + hexed(8),
    "Linear": "lin" + "_api_" + mixed(40),
    "Shopify": "shp" + "at_" + hexed(32),
    "Telegram bot": "1234567" + "890:AA" + mixed(33),
    "Twilio": "S" + "K" + hexed(32),
    "some 40 random characters": mixed(40),
    "the same in base64": mixed(42) + "==",
}

SPOKEN = {  # what stands around the secret, which is {}
    "environment": "export API_KEY={}",
    "AWS environment": "AWS_SECRET_ACCESS_KEY={}",
    "password in an env file": 'DB_PASSWORD="{}"',
    "MySQL environment": "MYSQL_PWD={}",
    "short name": "DB_PASS={}",
    "JSON": '{{"client_secret": "{}"}}',
    "YAML": "password: {}",
    "TOML": "passphrase = '{}'",
    "header": "X-Api-Key: {}",
    "bearer": "Authorization: Bearer {}",
    "basic": "Authorization: Basic {}=",
    "GitHub's header": "Authorization: token {}",
    "URL": "postgres://ada:{}@db.example.org/app",
    "URL without a user": "redis://:{}@localhost:6379",
    "option with an equals sign": "mysqldump --password={} app",
    "option and a blank": "tool login --password {}",
    "option for a token": "tool login --token {}",
    "query": "https://example.org/cb?access_token={}&state=1",
    "netrc": "machine example.org login ada password {}",
    "credential": "credentials={}",
    "Azure": "AccountName=a;AccountKey={}==;EndpointSuffix=x",
    "a prompt that echoes": "Enter passphrase: {}",
    "coloured": "token:\t{}",
    "npmrc": "//registry.example.org/:_authToken={}",
}


def test_tokens_are_masked_wherever_they_stand() -> None:
    for name, secret in TOKENS.items():
        for around in ("{}", "got {} from the store.", "'{}'", "x={}\ny", "({}),"):
            shown = redact(around.format(secret))
            assert secret not in shown, (name, around)
            assert secret[-8:] not in shown, (name, around)  # nor any end of it
            assert MASK in shown, (name, around)


def test_what_is_called_a_secret_is_masked() -> None:
    for name, around in SPOKEN.items():
        for word in ("hunter2x", "Tr0ub4dor&3", "c0rrect-h0rse"):
            secret = mixed(12) if "Basic" in around else word
            shown = redact(around.format(secret))
            assert secret not in shown, name
            named = around.format(secret).split(secret)[0]  # what names it can still be read
            assert shown.split(MASK)[0] == named, name


def test_private_keys_are_masked_whole() -> None:
    for kind, ended in product(["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "PGP "], [True, False]):
        block = " BLOCK" if kind == "PGP " else ""
        body = "\n".join([mixed(64)] * 3)
        begin, end = (f"-----{word} {kind}" + f"PRIVATE KEY{block}-----" for word in ("BEGIN", "END"))
        shown = redact(f"id:\n{begin}\n{body}\n{end if ended else ''}")
        assert shown.startswith(f"id:\n{MASK}"), (kind, ended)
        assert mixed(64)[:12] not in shown, (kind, ended)


@pytest.mark.parametrize(
    "prose",
    [
        "Enter your password:",
        "[sudo] password for ada: ",
        "Password: ",
        "Do you want to reset the password? [y/N] ",
        "Enter passphrase for key '/home/ada/.ssh/id_ed25519': ",
        "Basic authentication is required",
        "a bearer certificate",
        "It costs 12k tokens so far",
        "the secret of good prose",
        "commit 3f9a04c7e1b8d2563f9a04c7e1b8d2563f9a04c7",
        "sha256:" + hexed(64),
        "https://example.org:8080/path?page=2",
        "git@github.com:acme/app.git",
        "/home/ada/Projects2/some-very-long-directory-name/with/parts/ABC1",
        "123e4567-e89b-12d3-a456-426614174000",
        "❯ 1. Yes, and don't ask again",
        "sk-learn and task-runner",
        "",
    ],
)
def test_prose_stays(prose: str) -> None:
    assert redact(prose) == prose


def test_redact_all_goes_through_lists_and_dicts_and_leaves_the_rest() -> None:
    secret = TOKENS["npm"]
    value = {
        "line": secret,
        "list": [secret, 1, None],
        "pair": (secret, True),
        "deep": {"x": [{"y": secret}]},
        "n": 2.5,
    }
    assert redact_all(value) == {
        "line": MASK,
        "list": [MASK, 1, None],
        "pair": [MASK, True],
        "deep": {"x": [{"y": MASK}]},
        "n": 2.5,
    }


def test_the_words_of_a_command_are_read_together() -> None:
    words = ["tool", "--token", "hunter22x", "--passphrase", "two 2 words", "-v", "sh", "-c", "mysql -phunter22"]
    assert redact_words(words) == ["tool", "--token", MASK, "--passphrase", MASK, "-v", "sh", "-c", f"mysql -p{MASK}"]
    assert redact_all({"command": words})["command"] == redact_words(words)


def test_a_value_of_a_table_is_read_with_its_name() -> None:
    value = {"DB_PASS": "two words", "tokens": "12k", "kind": "secret", "password": "", "keys": "1 Enter"}
    assert redact_all(value) == {**value, "DB_PASS": MASK}


def test_rows_that_are_wrapped_are_read_as_one_and_stay_rows() -> None:
    tokens = (TOKENS["npm"], TOKENS["JSON web token"], TOKENS["Anthropic"])
    for token, frame in product(tokens, ("{}", "│ {:40} │", "  {}")):
        text = f"export it: {token}"
        rows = [frame.format(text[at : at + 40]) for at in range(0, len(text), 40)]
        shown = redact("\n".join([*rows, frame.format("that is done")])).split("\n")  # its first word may go too
        assert len(shown) == len(rows) + 1 and "done" in shown[-1] and shown[0].lstrip("│ ").startswith("export it:")
        assert not [piece for piece in (token[:8], token[-8:]) if piece in "".join(shown)], (token, frame)


@examples
@given(st.text("ab1 \n\t│|\x1b[m\\u0041\x1f\u200b\u3000=:ü日", max_size=60))
def test_spans_are_in_order_and_leave_sequences_alone(text: str) -> None:
    text = f"{text}password: hunter22\x1b[1mx{text}"
    found = spans(text)
    assert found == sorted(found) and all(a[1] <= b[0] for a, b in pairwise(found))
    assert not any("\x1b" in text[start:end] for start, end in found)


PIECES = st.sampled_from([*TOKENS.values(), *(around.format("hunter2x") for around in SPOKEN.values())])
TEXTS = st.lists(PIECES | st.text(string.printable, max_size=6) | st.just(MASK), max_size=5).map("".join)


@examples
@given(TEXTS)
def test_a_second_time_changes_nothing(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@examples
@given(st.text())
def test_it_is_total(text: str) -> None:
    assert isinstance(redact(text), str)
