"""Patterns that are compiled when they are first used are those that `re.compile` would have given."""

from __future__ import annotations

import gc
import pkgutil
import re
from importlib import import_module

import pytest

import stallkit.core
from stallkit.core import late


def test_it_is_compiled_at_its_first_use() -> None:
    broken = late.compile("(")
    with pytest.raises(re.error):
        broken.search("")
    found = late.compile(r"(?P<number>\d+)", re.ASCII)
    assert found.sub("x", "a 12 b") == "a x b"
    assert found.fullmatch("12")
    assert found.pattern == r"(?P<number>\d+)"
    assert found.groupindex == {"number": 1}
    assert repr(found) == r"late.compile('(?P<number>\\d+)')"
    raw = late.compile(rb"\d")
    assert raw.findall(b"1 2") == [b"1", b"2"]


def test_every_such_pattern_is_one() -> None:
    """Else a mistake would be met only where the pattern is needed."""
    for one in pkgutil.iter_modules(stallkit.core.__path__, "stallkit.core."):
        import_module(one.name)
    import_module("stallkit.press.resets")
    gc.unfreeze()  # what other tests' commands had frozen is not among the objects else
    late_ones = [one for one in gc.get_objects() if isinstance(one, late._Late)]
    assert len(late_ones) > 100
    for pattern in late_ones:
        if pattern._given[0] != "(":
            assert pattern.flags >= 0
