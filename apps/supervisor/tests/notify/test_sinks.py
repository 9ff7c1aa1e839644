"""Whatever the place does that events go to, the watch goes on; and nothing is lost unsaid."""

from __future__ import annotations

import threading
from typing import Callable

import pytest
from stallkit_supervisor.notify.hooks import CloudEvent
from stallkit_supervisor.notify.notifier import Outlet
from told_events import said


class Place:
    """A channel that hands what it is told to a function."""

    name = "test"

    def __init__(self, deliver: Callable[[int], object]) -> None:
        self._deliver, self.closed = deliver, False

    def deliver(self, said: CloudEvent) -> str:
        self._deliver(said.event.facts.get("number", 0))
        return "done"

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def told() -> list[str]:
    """What an outlet complained of."""
    return []


def test_events_are_handed_on_in_order_and_the_place_is_closed(told: list[str]) -> None:
    got: list[int] = []
    place = Place(got.append)
    outlet = Outlet(place, told.append)
    for number in range(20):
        outlet(said(number=number))
    outlet.close()
    assert got == [*range(20)] and place.closed
    assert told == [] and outlet.lost == 0 and not outlet._thread.is_alive()


def test_what_there_is_no_room_for_is_counted_and_told(told: list[str]) -> None:
    begun, free, got = threading.Event(), threading.Event(), list[int]()

    def deliver(number: int) -> None:
        begun.set()
        free.wait()
        got.append(number)

    outlet = Outlet(Place(deliver), told.append, held=3)
    outlet(said(number=0))
    begun.wait()  # one is in its hands, three wait
    for number in range(1, 10):
        outlet(said(number=number))
    assert outlet.lost == 6
    free.set()
    outlet.close()
    assert got == [0, 1, 2, 3]
    assert told == ["test: 6 events were lost"]


def test_what_there_is_no_time_for_at_the_end_is_told(told: list[str]) -> None:
    begun, free = threading.Event(), threading.Event()

    def deliver(number: int) -> None:
        begun.set()
        free.wait()

    outlet = Outlet(Place(deliver), told.append)
    for _ in range(4):
        outlet(said())
    begun.wait()
    outlet.close(timeout_s=0.01)
    assert told == ["test: 3 events were lost"]
    free.set()


@pytest.mark.parametrize("error", [OSError("no"), ValueError("odd"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad")])
def test_one_that_fails_is_told_and_the_next_is_handed_on(told: list[str], error: Exception) -> None:
    got: list[int] = []

    def deliver(number: int) -> None:
        got.append(number)
        if len(got) == 1:
            raise error

    outlet = Outlet(Place(deliver), told.append)
    outlet(said())
    outlet(said())
    outlet.close()
    assert len(got) == 2 and told == [f"test: {error}"]


def test_nor_does_it_matter_that_nobody_can_be_told() -> None:
    got: list[int] = []

    def deliver(number: int) -> None:
        got.append(number)
        raise OSError("no")

    def tell(line: str) -> None:
        raise BrokenPipeError

    outlet = Outlet(Place(deliver), tell)
    outlet(said())
    outlet(said())
    outlet.close()
    assert len(got) == 2
