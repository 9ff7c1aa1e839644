"""The public interface: each name once, from one place, and nothing heavy behind `import stallkit`."""

from __future__ import annotations

import subprocess
import sys

import stallkit


def test_every_public_name_is_defined_once() -> None:
    assert len(set(stallkit.__all__)) == len(stallkit.__all__)
    for name in stallkit.__all__:
        assert getattr(stallkit, name).__doc__, f"{name} has no docstring"


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
