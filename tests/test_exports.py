"""The public interface: each name once, from one place, and nothing heavy behind `import stallkit`."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest
import stallkit_sessions

import stallkit
from stallkit.press.gate import End


def test_every_public_name_is_defined_once() -> None:
    assert len(set(stallkit.__all__)) == len(stallkit.__all__)
    for name in stallkit.__all__:
        assert getattr(stallkit, name).__doc__, f"{name} has no docstring"


# A choice of types has no docstring of its own.
FOREIGN = {"Decision"}


def told_of(doc: str) -> str | None:
    """What a docstring lacks; None where it says what the thing is, in a sentence, and shows how it is used."""
    first = doc.strip().split("\n\n")[0].replace("\n", " ")
    if not re.match(r"[A-Z`].*[.;:]", first) or len(first) < 15:
        return "a first sentence that says the meaning"
    return None if re.search(r"^\s*>>> ", doc, re.MULTILINE) or "``async with" in doc else "an example"


@pytest.mark.parametrize("name", sorted({*stallkit.__all__} - FOREIGN))
def test_every_public_name_says_what_it_is_and_shows_it(name: str) -> None:
    thing = getattr(stallkit, name)
    assert told_of(thing.__doc__) is None
    if isinstance(thing, type):
        for part, value in vars(thing).items():
            doc = getattr(value, "__doc__", None) if callable(value) or isinstance(value, property) else "A part."
            own = isinstance(value, property | classmethod | types.FunctionType)
            assert part.startswith("_") or not own or doc, f"{name}.{part} has no docstring"


@pytest.mark.parametrize("doc", ["", "thing", "A thing that does it.", "    >>> 1\n    1"])
def test_a_docstring_that_says_too_little_is_found(doc: str) -> None:
    assert told_of(doc) is not None


def test_what_type_checkers_see_is_what_is_loaded() -> None:
    package = ast.parse(Path(str(stallkit.__file__)).read_text())
    froms = [node for node in ast.walk(package) if isinstance(node, ast.ImportFrom)]
    told = {one.name: node.module for node in froms for one in node.names if one.asname == one.name}
    assert told == stallkit._HOME_OF  # type: ignore[attr-defined]


def test_there_is_nothing_else() -> None:
    public = {name for name in dir(stallkit) if not name.startswith("_")}
    assert public == set(stallkit.__all__)
    try:
        stallkit.no_such_name  # noqa: B018  # the access is the test
    except AttributeError as error:
        assert "no_such_name" in str(error)
    else:
        raise AssertionError("an unknown name was found")


def test_import_pulls_in_nothing_heavy() -> None:
    heavy = ["pexpect", "sqlite3", "asyncio", "click", "rich", "hypothesis", "pytest", "textual"]
    code = f"import sys, stallkit; stallkit.Screen; stallkit.Engine; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_value_shows_itself_on_one_short_line_without_a_screen() -> None:
    """In a traceback, a log or at a prompt: a screen may hold a secret, a pack fills pages."""
    secret = "hunter2hunter2"
    asks = f"Use {secret} as the new password.\nProceed? [y/N] "
    result = stallkit.check(stallkit.MemoryTransport(asks), "careful")
    match, record = result.match, stallkit_sessions.run(["sh", "-c", f"echo {secret}; exit 3"])
    assert match is not None
    values = {
        *(result, result.verdict, result.verdict.detection, match, match.pack, match.signature, result.snapshot),
        *(result.snapshot.screen, result.decision, stallkit.Press(match.signature), stallkit.Policy("careful")),
    }
    event = stallkit.Event("escalation", "tmux:w1", {"message": asks})
    outcome = stallkit.Outcome(End.CLEARED, "it went away", stallkit.Keys.typed(secret))
    shown = [repr(value) for value in (*values, event, outcome, record)]
    assert [one for one in shown if len(one) > 300 or "\n" in one or secret in one] == []
