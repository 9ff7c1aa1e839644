"""Make the end of `stallkit/data/secrets.toml` from the rules that others keep: `python scripts/secret_rules.py`.

The forms of services' tokens are CredSweeper's (MIT licence), which gains new ones every few weeks; the words of seed
phrases are those of `mnemonic` (MIT licence).  Both distributions are downloaded, read, and not installed:
CredSweeper would bring 30 others along.  Needs PyYAML.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import yaml

VERSIONS = ("credsweeper==1.19.5", "mnemonic==0.21")
OUTPUT = Path(__file__).parent.parent / "stallkit/data/secrets.toml"

# No secrets, or forms so wide that ordinary text has them; private keys and headers are the redactor's own.
LEFT_OUT = {
    "AWS S3 Bucket",
    "BASE64 Private Key",
    "Basic Authorization",
    "Bearer Authorization",
    "Composio Credentials",
    "Dropbox API secret (long term)",
    "Firebase Domain",
    "Google Multi",
    "PEM Private Key",
    "Salesforce Credentials",
}
SHORTEST = 3  # letters of a text that a rule requires: a rule without it would be tried at every word
MOST = 200  # repetitions: a match is extended to the end of its word afterwards, so that no rule reads far ahead
ROOM = 116  # characters in a row
EDGE = (  # before most of them, as the file repeats it
    r"(?:^|/|[^\\0-9A-Za-z+_-]|\\[0abfnrtv]|(?:%|\\x)[0-9A-Fa-f]{2}|\\[0-7]{3}|\\[Uu][0-9A-Fa-f]{4}"
    r"|\x1B\[[0-9;]{0,80}m)"
)

MARK = "# --- The rest is made by scripts/secret_rules.py. ---\n"
HEAD = """
[kept]  # services' tokens, and how the words of seed phrases begin
# The rules are those of {}, Copyright (c) 2021 SAMSUNG; the words those of {}, Copyright
# (c) 2013-2016 Pavol Rusnak.  Both are under the MIT licence: permission is granted, free of charge, to any person
# obtaining a copy of them, to deal in them without restriction, including without limitation the rights to use, copy,
# modify, merge, publish, distribute, sublicense, and/or sell copies, subject to this notice being included in all
# copies or substantial portions.  They are provided "as is", without warranty of any kind.
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for wanted in VERSIONS:
            subprocess.run(
                [sys.executable, "-m", "pip", "-q", "download", "--no-deps", "-d", folder, wanted], check=True
            )
        config = read(folder, "credsweeper", "credsweeper/rules/config.yaml")
        words = read(folder, "mnemonic", "mnemonic/wordlist/english.txt").split()
    rules = [made for one in yaml.safe_load(config) if (made := rule(one))]
    made = [HEAD.format(*VERSIONS), f"edge = {quoted(EDGE)}\n", "rules = [\n"]
    for name, texts, pattern in rules:
        made.append(f"    # {name}\n    [{quoted(' '.join(texts))}, {quoted(pattern.replace(EDGE, '(?&edge)'))}],\n")
    # A word is known by its first four letters: so the list was made.
    beginnings = "".join(f"{word[:4]:4}" for word in words)
    made.append(f"]\nbeginnings = '''\n{rows(beginnings)}'''\n")
    ours = OUTPUT.read_text().partition(MARK)[0]
    OUTPUT.write_text("".join([ours, MARK, *made]))
    print(f"{len(rules)} rules, {len(words)} words")


def read(folder: str, name: str, member: str) -> str:
    """One file of a downloaded distribution."""
    (wheel,) = Path(folder).glob(f"{name}-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        return packed.read(member).decode()


def rule(one: dict[str, Any]) -> tuple[str, tuple[str, ...], str] | None:
    """A rule's name, texts and pattern, where it names a form that nothing but a secret has."""
    texts = tuple(one.get("required_substrings") or ())
    wide = one["name"] in LEFT_OUT or one.get("use_ml") or one["type"] != "pattern" or one["severity"] == "info"
    if wide or not texts or min(map(len, texts)) < SHORTEST:
        return None
    (pattern,) = one["values"]
    pattern = re.sub(r",(\d{3,4})\}", lambda most: f",{min(int(most[1]), MOST)}}}", pattern)
    re.compile(pattern)
    return one["name"], texts, pattern


def rows(text: str) -> str:
    """A long text as rows."""
    return "".join(f"{text[at : at + ROOM]}\n" for at in range(0, len(text), ROOM))


def quoted(text: str) -> str:
    """A text as TOML, in which backslashes stand for themselves."""
    quotes = "'''" if "'" in text else "'"
    return f"{quotes}{text}{quotes}"


if __name__ == "__main__":
    main()
