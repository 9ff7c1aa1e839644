"""Any class of attrs becomes JSON by its fields, or by the form that is registered for it, and comes back."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Mapping, Self

import jsonschema_rs
import pytest
from attrs import field, frozen

from stallkit import dump, load, schema
from stallkit.json_form import NEWER, SPREAD, Time, json_form


class Colour(StrEnum):
    RED = "red"


@frozen
class Size:
    columns: int
    rows: int = field(default=24, metadata=NEWER)


@frozen
class Box:
    colour: Colour
    size: Size
    counts: Mapping[int, float]
    names: frozenset[str] = frozenset()
    pair: tuple[int, int] | None = None


@json_form(Box)
@frozen
class BoxJson:
    """A box."""

    made: Time
    colour: Colour = field(metadata={"key": "is"})
    size: Size = field(metadata=SPREAD)
    counts: Mapping[int, float]
    names: frozenset[str]
    pair: tuple[int, int] | None
    rest: dict[str, Any] = field(metadata=SPREAD)

    @classmethod
    def of(cls, box: Box) -> Self:
        return cls("2026-03-04T12:00:00Z", box.colour, box.size, box.counts, box.names, box.pair, {"more": [1]})

    @property
    def value(self) -> Box:
        assert self.rest["more"] == [1] and self.made.startswith("2026")
        return Box(self.colour, self.size, self.counts, self.names, self.pair)


BOX = Box(Colour.RED, Size(80), {3: 0.5}, frozenset({"b", "a"}), (1, 2))
PLAIN: dict[str, Any] = {
    "version": 1, "made": "2026-03-04T12:00:00Z", "is": "red", "columns": 80, "counts": {3: 0.5}, "names": ["a", "b"],
    "pair": [1, 2], "more": [1],
}  # fmt: skip


def test_a_form_is_what_is_dumped_and_loaded() -> None:
    assert list(dump(BOX).items()) == list(PLAIN.items()), "in this order"
    back = load(Box, {**PLAIN, "counts": {"3": 0.5}, "further": None})
    assert back == BOX and back.colour is Colour.RED
    assert load(Box, {**dump(Box(Colour.RED, Size(80, 50), {})), "rows": 50}).size.rows == 50


def test_its_schema_is_of_what_is_dumped() -> None:
    carried = {**PLAIN, "counts": {"3": 0.5}}
    jsonschema_rs.validate(schema(Box), carried)
    assert schema(Box)["title"] == "A box; all texts are redacted"
    assert set(schema(Box)["required"]) == PLAIN.keys() - {"more"}, "what is newer, or anybody's, may be absent"
    wrong = [{"is": "blue"}, {"pair": [1]}, {"pair": [1, 2, 3]}, {"columns": "80"}, {"version": 2}, {"rows": "x"}]
    assert not [one for one in wrong if jsonschema_rs.is_valid(schema(Box), {**carried, **one})]


def test_anything_else_is_refused() -> None:
    wrong: list[Any] = [{"is": "blue"}, {"pair": [1]}, {"pair": [1, 2, 3]}, {"columns": "80"}, {"version": 2}]
    wrong += [{"names": "ab"}, {"counts": {"x": 1}}, {"counts": 3}, {"columns": True}, {"columns": None}]
    taken = []
    for one in wrong:
        with pytest.raises(ValueError, match=r"^not a box.*") as raised:
            taken.append(load(Box, {**PLAIN, **one}))
        assert "\n" not in str(raised.value)
    assert not taken
