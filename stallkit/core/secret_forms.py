"""Secrets that are known by the form around them: headers, addresses, command lines, one-time codes.

Every pattern reads a limited number of characters from where it begins, so that the time is linear in the text.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Iterator

from stallkit.core import late, pattern_programs
from stallkit.core.secret_views import Span

__all__ = ["forms"]

_ROW = r"[^\n;&|]{0,160}?"  # of a command line: what stands between a program and its option
_V = r"(?:(?P<quote>[\"'])(?P<quoted>[^\n\"']{1,200})(?P=quote)|(?P<value>(?!\d{1,5}(?!\S))[^\s\"'`<>|;\ue000]{3,400}))"
_SCHEME = r"(?i:token|bearer|basic|digest|apikey|negotiate|ntlm)"
_ENCODED = r"(?=[\w.~+/-]{0,200}(?:\d|=|[a-z][A-Z]))[\w.~+/=-]{8,}"  # elsewhere `basic` and `bearer` are plain words
_LOGIN = r"docker|podman|nerdctl|helm|oc|az|skopeo|buildah|crane|regctl|mongo\w{0,8}|influx|clickhouse-client|cqlsh"
_SHORT = r"ldap\w{3,8}|ipmitool|sqlcmd|bcp|mssql-cli|vncviewer|rdesktop|rpcclient|zip|unzip|ssh-keygen|useradd|usermod"
_STDIN = r"(?:sudo\s[^\n]{0,20}-S|--password-stdin|--with-token|chpasswd|--stdin|pass-stdin)"

# Words of which one must be present, and a pattern whose group `value`, or `quoted`, is the secret.
_FORMS = (
    # Headers.
    (
        "uthorization UTHORIZATION",
        rf"(?i:authorization)[\"']?\s?[:=]\s{{0,3}}[\"']?(?:{_SCHEME}\s{{1,3}})?"
        rf"(?P<value>(?!{_SCHEME}(?![^\s\ue000]))[^\s\"',\ue000]{{4,}}"
        r"(?:,?[ ][\w-]{1,30}=[^\s\ue000]{1,200}){0,20})",
    ),
    ("earer EARER", rf"(?i:\bbearer)\s{{1,3}}(?P<value>{_ENCODED})"),
    ("asic ASIC", rf"(?i:\bbasic)\s{{1,3}}(?P<value>{_ENCODED})"),
    ("ookie", r"(?i:\bset-cookie2?)[\"']?:\s{0,3}[\"']?[\w.$-]{1,80}=(?P<value>[^\s;\"'\ue000]{4,})"),
    (
        "ookie",
        r"(?i:(?<!set-)\bcookies?)[\"']?:\s{0,3}[\"']?"
        r"(?P<value>[\w.$-]{1,80}=[^\s;\"'\ue000]+(?:;\s{0,2}[^\s;\"'\ue000]{1,400}){0,40})",
    ),
    # Addresses with a user.
    (
        "://",
        r"(?i:\b[a-z][a-z0-9+.-]{1,20})://[^\s:/@\"'<>]{0,100}:"
        r"(?P<value>[^\s/\ue000][^\s\"'<>/\ue000]{0,200})(?=@[\w\[$%])",
    ),
    ("://", r"(?i:\bhttps?)://(?=[^\s/]{0,100}\d)(?P<value>[\w-]{16,200})(?=@)"),
    # Command lines.
    (
        "mysql mariadb sshpass mycli 7z rar",
        rf"\b(?:mysql\w*|mariadb[\w-]*|sshpass|mycli|7z\w?|rar|unrar)\b{_ROW}\s-p{_V}",
    ),
    ("sshpass login -u", rf"\b(?:sshpass|(?:{_LOGIN})\b{_ROW}(?:login|-u))\b{_ROW}\s-p\s{{1,3}}{_V}"),
    (
        "ldap ipmitool sqlcmd bcp mssql vncviewer rdesktop rpcclient zip ssh-keygen useradd usermod",
        rf"\b(?:{_SHORT})\b{_ROW}\s-[wPpyN]\s{{1,3}}{_V}",
    ),
    (
        "-cli http xh",
        rf"\b(?:redis-cli|valkey-cli|https?|xh)\b{_ROW}\s(?:-a|--auth)[\s=]{{1,3}}(?:[\w.@-]{{1,64}}:)?{_V}",
    ),
    (
        "curl",
        rf"\bcurl\b{_ROW}\s(?:-u|--user|-U|--proxy-user)[= ]{{0,2}}[\"']?[^\s:\"']{{1,64}}:"
        r"(?P<value>[^\s\"'\ue000]{3,200})",
    ),
    (
        "smbclient rpcclient net",
        rf"\b(?:smbclient|rpcclient|net)\b{_ROW}\s-U\s{{0,2}}[\"']?[\w.\\/-]{{1,64}}%(?P<value>[^\s\"'\ue000]{{3,200}})",
    ),
    ("pass:", r"\bpass:(?P<value>[^\s\"'\ue000]{3,200})"),
    ("echo printf", rf"\b(?:echo|printf)\s{{1,3}}(?:-n\s)?{_V}\s{{0,3}}\|[^\n]{{0,80}}{_STDIN}"),
    ("<<<", rf"(?:login|pass\w*|sudo\s-S|token)\b{_ROW}<<<\s{{0,2}}{_V}"),
    ("htpasswd", rf"\bhtpasswd\s{_ROW}-\w{{0,4}}b\w{{0,4}}\s\S{{1,100}}\s\S{{1,64}}\s{_V}"),
    ("/add", rf"\bnet\s{{1,2}}user\s\S{{1,64}}\s{_V}\s{{1,2}}/add"),
    ("snmp", rf"\bsnmp\w{{2,12}}\b{_ROW}\s-A\s{{1,3}}{_V}"),
    ("snmp", rf"\bsnmp\w{{2,12}}\b{_ROW}\s-X\s{{1,3}}{_V}"),
    ("ecureString", rf"(?i:convertto-securestring)\s(?:-\w{{1,20}}\s)?{_V}"),
    ("PASS", rf"(?m:^)\W{{0,4}}PASS\s(?=[^\s/]{{0,60}}(?!\S))(?=\S{{0,60}}\d){_V}"),
    ("AUTH", rf"\bAUTH\s(?:(?:PLAIN|LOGIN|XOAUTH2|CRAM-MD5|default)\s)?(?=\S{{0,40}}[\d=]){_V}"),
    ("LOGIN", rf"\bLOGIN\s\S{{1,100}}\s(?=\S{{0,60}}\d){_V}"),
    ("pass show", rf"\bpass\sshow\s\S{{1,100}}[^\S\n]{{0,8}}\n{_V}"),
    ("@", r"(?<![^\s\"'`])[\w.-]{1,40}:(?P<value>[^\s\"'`/:\ue000]{3,100})@[\w-]{1,60}\.[\w.-]{1,100}(?![\w@])"),
    ("/p", rf"(?<!\S)/p(?:ass(?:word)?)?:{_V}"),
    ("wpa_pass", rf"\bwpa_passphrase\s\S{{1,64}}\s{_V}"),
    ("dentified DENTIFIED", rf"(?i:\bidentified\s(?:with\s\S{{1,40}}\s)?(?:by|as)\s(?:password\s)?){_V}"),
    ("login", r"\blogin\s{1,20}\S{1,100}\s{1,20}password\s{1,20}(?P<value>[^\s\"'\ue000]{1,200})"),
    # A code that is to be typed.
    (
        " to  as  pour  para  per  um  zum  för  для",
        r"(?<![\w.,:/-])(?P<value>\d{4,8})\s(?:to|as|pour|para|per|um|zum|för|для)\s(?:\S{1,12}\s){0,2}"
        r"(?i:verif|confirm|bestät|log[ -]?in|sign[ -]?in|continu|authenti)",
    ),
    # A row of .pgpass.
    (
        ":",
        r"(?<![^\s\"'`])[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w.*-]{1,64}:[\w.*-]{1,64}:"
        r"(?P<value>[^\s\"'`\ue000]{3,200})(?![^\s\"'`])",
    ),
)

# A part of an address that gives what it names to whoever has it.
_URL = late.compile(r"(?i:https?|wss?|otpauth|ftp)://[^\s\"'`<>\ue000]{8,}")
_GIVES = late.compile(r"(?i:[?&;\#]|%26|%3F)(?P<name>[\w.\[\]-]{1,40})(?:=|%3D)(?P<value>[^&\s;\#\ue000]{3,})")
_GIVING = late.compile(
    r"(?i)sig|signature|.*[_-](?:signature|credential|secret)|.*(?:key|keyid|token|passw(?:or)?d|secret)|.*pass|pwd|auth"
    r"|code|ticket|.*session(?:[_-]?id)?|sid|jwt|hmac|otp|pin"
)
_PLACES = late.compile(
    r"(?i)hook|reset|invit|verif|confirm|magic|login|signin|auth|token|secret|key|share|unsubscribe|activat"
)
_SEGMENT = late.compile(r"/(?P<value>(?=[^/?#]{0,100}\d)[\w@.%~=+-]{16,}|[TB][A-Z0-9]{8,})")
_VERBATIM = late.compile(r"\d{4}-\d\d-\d\d.*|.*\.(?:html?|js|css|png|svg|tar|gz|zip|md|py|json|git)", re.IGNORECASE)


def forms(text: str) -> Iterator[Span]:
    """The spans of what stands where a secret stands."""
    for words, pattern in _split():
        if any(word in text for word in words):
            for found in _compiled(pattern).finditer(text):
                quoted = "quoted" in found.re.groupindex and found["quoted"] is not None
                yield found.span("quoted" if quoted else "value")
    if "://" in text:
        for found in _URL.finditer(text):
            yield from _addressed(found[0], found.start())
    if "=" in text:
        for found in _GIVES.finditer(text):
            if _GIVING.fullmatch(found["name"]) and (len(found["value"]) >= 8 or "pass" in found["name"].lower()):
                yield found.span("value")


@cache
def _split() -> list[tuple[tuple[str, ...], str]]:
    return [(tuple(words.split()), pattern) for words, pattern in _FORMS]


_compiled = cache(pattern_programs.plain)  # each when it is first needed


def _addressed(url: str, at: int) -> Iterator[Span]:
    """The parts of an address's path that nobody can guess, where it names a hook, a reset or the like."""
    path = url.partition("?")[0]
    if _PLACES.search(path):
        for found in _SEGMENT.finditer(path, path.find("://") + 3):
            if not _VERBATIM.fullmatch(found["value"]):
                yield at + found.start("value"), at + found.end("value")
