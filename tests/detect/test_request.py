"""What an agent asks, field by field: which patterns fit it, and which never do."""

from __future__ import annotations

import pytest

from stallkit.detect.dialog import FieldSpec, Role
from stallkit.detect.dialog_parser import Option
from stallkit.detect.signature import Request

SPECS = {
    "command": FieldSpec.of("command"),
    "path": FieldSpec.of("path"),
    "why": FieldSpec.of("line"),
    "tool": FieldSpec.of(["Bash", "Edit"]),
    "note": FieldSpec.of({"is": "line", "aside": True}),
}


def request(*options: Option, **fields: str) -> Request:
    return Request(fields, SPECS, options)


@pytest.mark.parametrize(
    ("name", "value", "pattern", "fits"),
    [
        ("command", "git  status", "git status*", True),
        ("command", "git status; rm x", "git status*", False),
        ("command", "git status…", "git *", False),
        ("command", "", "*", False),
        ("path", "src/a.py", "src/*", True),
        ("path", "src/", "src/", True),
        ("path", "src/../../etc/passwd", "src/*", False),
        ("path", "src//a.py", "src/*", False),
        ("path", "src/long\nname.py", "src/longname.py", False),  # a blank may have stood there
        ("path", "src/long\nname.py", "src/*", True),
        ("path", "src/\n../x", "src/*", False),
        ("why", "to see\u202e", "*", False),
        ("why", "to see", "to *", True),
    ],
)
def test_which_patterns_fit_a_field(name: str, value: str, pattern: str, fits: bool) -> None:
    assert request(**{name: value}).fits(name, ["nothing", pattern]) is fits
    assert not request(**{name: value}).fits("other", ["*"]), "a field that is not there"


def test_what_is_mentioned_is_looked_for_in_every_field_and_as_a_shell_reads_it() -> None:
    asks = request(Option("Yes, and push"), command="git  push", path="a\nb", why="So")
    told = {pattern: asks.mentions([pattern]) for pattern in ("GIT PUSH", "*and PUSH", "a b", "ab", "so", "pull*")}
    assert told == {"GIT PUSH": True, "*and PUSH": True, "a b": True, "ab": True, "so": True, "pull*": False}


def test_what_may_say_anything_has_to_be_named() -> None:
    asks = request(tool="Bash", note="by the way", why="", path="a", command="ls")
    assert [asks.unnamed(names) for names in ([], ["path"], ["path", "command"])] == ["path", "command", None]


def test_the_option_for_this_once_is_one_or_none() -> None:
    once, other = Option("Yes", role=Role.ONCE), Option("No", role=Role.REJECT)
    assert request(other, once).once is once
    assert request(other).once is request(once, once).once is None
