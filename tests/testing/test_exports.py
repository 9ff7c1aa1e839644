"""The public test kit: each name once, none of them a module of the same name."""

from __future__ import annotations

from types import ModuleType

import pytest

from stallkit import testing


def test_every_public_name_is_defined_once() -> None:
    assert sorted(set(testing.__all__)) == list(testing.__all__)
    assert sorted(name for names in testing._HOMES.values() for name in names.split()) == sorted(testing.__all__)
    for name in testing.__all__:
        value = getattr(testing, name)
        assert value.__doc__ and not isinstance(value, ModuleType), name
    assert set(testing.__all__) == set(dir(testing))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        testing.no_such_name  # noqa: B018  # the access is the test
