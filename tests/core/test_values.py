"""Classes of values are what attrs would have made of them: each is made twice here, and both do the same."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from functools import cached_property
from typing import Any, Callable, ClassVar, Iterator

import attrs
import cattrs
import pytest
from attrs import validators

from stallkit.core import values
from stallkit.core.screen import Cursor, Screen, Size


def upper(text: str) -> str:
    return text.upper()


@values.frozen
class Plain:
    """A class of each sort of field."""

    LIMIT: ClassVar[int] = 3
    name: str = values.field(converter=upper)
    count: int = values.field(default=1, validator=[values.ge(0), values.le(9)])
    kind: int = values.field(default=2, validator=values.instance_of(int))
    tags: list[str] = values.field(factory=list, hash=False)
    _own: str = "x"
    unseen: int = values.field(default=0, repr=False, eq=False)
    short: str = values.field(default="long", repr=lambda text: text[:1], alias="brief")
    made: str = values.field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "made", f"{self.name}{self.count}")

    @cached_property
    def length(self) -> list[int]:
        return [len(self.name)]


@attrs.frozen
class ByAttrs:
    LIMIT: ClassVar[int] = 3
    name: str = attrs.field(converter=upper)
    count: int = attrs.field(default=1, validator=[validators.ge(0), validators.le(9)])
    kind: int = attrs.field(default=2, validator=validators.instance_of(int))
    tags: list[str] = attrs.field(factory=list, hash=False)
    _own: str = "x"
    unseen: int = attrs.field(default=0, repr=False, eq=False)
    short: str = attrs.field(default="long", repr=lambda text: text[:1], alias="brief")
    made: str = attrs.field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "made", f"{self.name}{self.count}")


GIVEN: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("a",), {}),
    (("a", 2), {}),
    (("a", 2, 3, ["t"], "o", 1, "b"), {}),
    ((), {"name": "a", "own": "z", "brief": "c", "tags": ["u"]}),
    (("a",), {"unseen": 5}),
    ((), {}),
    (("a",), {"_own": "z"}),
    (("a",), {"short": "z"}),
    (("a",), {"made": "z"}),
    (("a", 1), {"count": 2}),
    (("a", -1), {}),
    (("a", 10), {}),
    (("a", 1, "2"), {}),
    ((1,), {}),
]


def outcome(make: Callable[[], Any]) -> tuple[Any, ...]:
    try:
        made = make()
    except Exception as error:
        return type(error), str(error.args[0]).replace("ByAttrs", "Plain")
    return tuple(getattr(made, one.name) for one in attrs.fields(ByAttrs))


@pytest.mark.parametrize(("given", "named"), GIVEN)
def test_they_are_made_of_the_same_and_refuse_the_same(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    assert outcome(lambda: Plain(*given, **named)) == outcome(lambda: ByAttrs(*given, **named))


def made() -> Iterator[tuple[Plain, ByAttrs]]:
    for given, named in GIVEN[:5]:
        yield Plain(*given, **named), ByAttrs(*given, **named)


def test_they_are_equal_hash_and_show_alike() -> None:
    for one, other in made():
        assert repr(one) == repr(other).replace("ByAttrs", "Plain")
        assert one != other
        assert one.__eq__(other) is NotImplemented
        for again, too in made():
            assert (one == again) is (other == too)
            assert (hash(one) == hash(again)) is (hash(other) == hash(too))
    assert Plain.__match_args__ == ByAttrs.__match_args__  # type: ignore[attr-defined]
    assert Plain.__doc__ == "A class of each sort of field."
    assert Plain.LIMIT == 3


def test_nothing_can_be_set_or_deleted_and_nothing_added() -> None:
    value = Plain("a")
    for name in ("name", "unseen", "other", "_own"):
        with pytest.raises(AttributeError, match="Plain is frozen"):
            setattr(value, name, 1)
        with pytest.raises(AttributeError, match="Plain is frozen"):
            delattr(value, name)
    assert Plain("a").tags is not Plain("a").tags


def test_they_are_copied_and_pickled_whole() -> None:
    for one, _ in made():
        for again in (copy.copy(one), copy.deepcopy(one), *(pickle.loads(pickle.dumps(one, at)) for at in (2, 5))):
            assert again == one
            assert (again.unseen, again.made) == (one.unseen, one.made)
    value = Plain("abc")
    assert value.length is value.length == [3]


def test_evolve_and_by_name() -> None:
    value, other = Plain("a", own="z", brief="q"), ByAttrs("a", own="z", brief="q")
    changed = values.evolve(value, count=4, own="y")
    assert (changed.count, changed._own, changed.short, changed.made) == (4, "y", "q", "A4")
    assert attrs.evolve(value, count=4, own="y") == changed
    assert values.evolve(other, count=4) == attrs.evolve(other, count=4)
    assert values.by_name(value) == attrs.asdict(value) == values.by_name(other)


def test_attrs_takes_them_for_its_own() -> None:
    for one, other in zip(attrs.fields(Plain), attrs.fields(ByAttrs), strict=True):
        for said in ("name", "alias", "type", "init", "eq", "hash", "kw_only", "converter", "default"):
            assert getattr(one, said) == getattr(other, said), (one.name, said)
    assert attrs.has(Plain)
    assert attrs.fields(attrs.resolve_types(Size))[0].type is int

    screen = Screen.from_text("a\nb", cursor=(1, 1), size=(8, 2))
    assert cattrs.structure({"column": 2, "row": 3}, Cursor) == Cursor(2, 3)
    assert cattrs.unstructure(screen)["size"] == {"columns": 8, "rows": 2}

    @attrs.frozen
    class More(Cursor):
        depth: int = 0

    assert More(1, 2, depth=3).row == 2
    assert values.evolve(More(1, 2, depth=3), row=4) == More(1, 4, depth=3)


def test_one_of_them_may_have_another_as_its_base() -> None:
    @values.frozen
    class Base:
        one: int

        def twice(self) -> int:
            return 2 * self.one

    @values.frozen
    class Derived(Base):
        two: int = 5

    assert Derived(1) == Derived(1, 5) != Derived(1, 6)
    assert (Derived(2).twice(), Base(3).twice(), repr(Derived(1)).endswith("Derived(one=1, two=5)")) == (4, 6, True)
    assert values.evolve(Derived(1), one=3) == Derived(3)
    assert [one.name for one in attrs.fields(Derived)] == ["one", "two"]


def test_by_name_only() -> None:
    @values.frozen(kw_only=True)
    class Named:
        one: int = 1
        two: list[int] = values.field(factory=list)

    assert Named(two=[3]).two == [3] != Named().two
    with pytest.raises(TypeError, match="positional"):
        Named(1)  # type: ignore[misc]
    assert str(inspect.signature(Screen.from_text)).startswith("(text")


def test_a_module_of_them_does_not_import_attrs() -> None:
    code = "import sys, stallkit.core.judge; print({'attr', 'inspect'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout == b"set()\n"


def test_a_class_that_no_value_was_made_of_says_its_parameters() -> None:
    """Who asks is `inspect`, or Hypothesis, which else finds nothing to give."""

    @values.frozen
    class Pair:
        one: int
        other: str = "x"

    assert str(inspect.signature(Pair)) == "(one, other='x')"
    assert Pair(1) == Pair(1, "x")
