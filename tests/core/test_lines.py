"""What is remembered of lines: always right, as much as comes again, and no more than that."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stallkit.core.lines import GROWS, Recent


def missed(memory: Recent[str], keys: range) -> int:
    """How many of these were not known, each made where it was not."""
    count = 0
    for key in keys:
        if memory.get(key) is None:
            memory.put(key, str(key))
            count += 1
    return count


@given(st.lists(st.integers(0, 40), max_size=400), st.integers(1, 8))
def test_what_is_known_is_what_was_put(keys: list[int], most: int) -> None:
    memory = Recent[str](most)
    for key in keys:
        assert memory.get(key) in (None, str(key))
        memory.put(key, str(key))
        assert memory.get(key) == str(key)
        assert len(memory.young) <= GROWS * most


def test_it_grows_to_what_comes_again() -> None:
    memory = Recent[str](64)
    rounds = [missed(memory, range(640)) for _ in range(12)]
    assert rounds[0] == 640 and rounds[-3:] == [0, 0, 0]


def test_what_never_comes_again_takes_no_more_room() -> None:
    memory = Recent[str](64)
    for _ in range(12):
        missed(memory, range(640))
    missed(memory, range(1_000, 60_000))
    assert len(memory.young) <= 64
