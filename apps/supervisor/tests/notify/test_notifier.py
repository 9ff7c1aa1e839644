"""Who is told, of what and when: the notifier with its outlets, and with a clock that the test drives."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import pytest
from stallkit_supervisor.notify.channels import Channels, NotifySettings, channels_of, open_notifier
from stallkit_supervisor.notify.hooks import CloudEvent
from stallkit_supervisor.notify.notifier import ESCALATIONS, RUNS, Notifier, Outlet
from stallkit_supervisor.notify.throttle import NoticeLimits
from terminals import wait_for
from told_events import event

from stallkit.errors import ConfigError
from stallkit.transports.base import Options

NOON, NIGHT = datetime(2026, 11, 23, 12), datetime(2026, 11, 23, 23)


class Place:
    """A channel that keeps what it was told."""

    name = "place"

    def __init__(self) -> None:
        self.got: list[CloudEvent] = []

    def deliver(self, said: CloudEvent) -> str:
        self.got.append(said)
        return "done"

    def close(self) -> None:
        pass

    @property
    def names(self) -> list[str]:
        return [one.event.name for one in self.got]


def threads() -> set[str]:
    return {one.name for one in threading.enumerate() if one.name.startswith("stallkit ")}


def test_what_a_person_should_know_is_told_and_what_clears_it() -> None:
    place, told = Place(), list[str]()
    notifier = Notifier([Outlet(place, told.append)], NoticeLimits(), told.append)
    for name in ["detection", *sorted(ESCALATIONS), "dismissal", "start", "done", *sorted(RUNS), "cleared"]:
        notifier(event(name, target=f"tmux:{name if name != 'cleared' else 'gone'}"))
    notifier.close()
    assert place.names == [*sorted(ESCALATIONS), *sorted(RUNS), "cleared"] and told == []
    assert len({one.id for one in place.got}) == len(place.got)
    assert not threads()


def test_every_place_gets_the_same_envelope() -> None:
    places = [Place(), Place()]
    notifier = Notifier([Outlet(place, print) for place in places], NoticeLimits(), print)
    notifier(event())
    notifier.close()
    assert places[0].got == places[1].got and len(places[0].got) == 1


def test_the_summary_comes_by_itself() -> None:
    """The thread looks by itself when a summary is due; the clock stands until the notices are in."""
    place, now = Place(), [0.0]
    limits = NoticeLimits(per_session=1, window_s=0.2)
    notifier = Notifier([Outlet(place, print)], limits, print, clock=lambda: now[0], local=lambda: NOON)
    for _ in range(4):
        notifier(event())
    now[0] = 1.0
    wait_for(lambda: place.names == ["escalation", "summary"], "the summary")
    assert place.got[-1].event.facts["count"] == 3
    notifier.close()
    assert place.names == ["escalation", "summary"]


def test_at_the_end_what_is_held_back_is_told() -> None:
    place = Place()
    notifier = Notifier([Outlet(place, print)], NoticeLimits(per_session=1), print)
    for _ in range(4):
        notifier(event())
    notifier.close()
    assert place.names == ["escalation", "summary"]


def test_in_the_night_it_is_said_elsewhere() -> None:
    place, told = Place(), list[str]()
    limits = NotifySettings(quiet="22:00-07:00").limits
    notifier = Notifier([Outlet(place, told.append)], limits, told.append, local=lambda: NIGHT)
    for _ in range(4):
        notifier(event())
    notifier.close()
    notifier.close()
    assert place.names == []
    assert told == ["4 notices of the quiet hours were not told: stallkit incidents lists them"]


# --- settings ---


def test_without_a_place_there_is_nothing_to_close() -> None:
    with ExitStack() as stack:
        assert open_notifier(stack, Channels(), print) is None
    assert not threads()


def test_settings_name_the_places(tmp_path: Path) -> None:
    shown = NotifySettings().with_shown(["terminal", "tmux", "desktop"])
    assert (shown.terminal, NotifySettings(terminal="bell").with_shown(["terminal"]).terminal) == ("auto", "bell")
    chosen = Channels("true", "http://127.0.0.1:1/", "structured", shown, Options(tmux_socket_name="other"))
    names = [channel.name for channel in channels_of(chosen)]
    assert names == ["command true", "webhook 127.0.0.1", "desktop", "terminal", "tmux -L other"]


@pytest.mark.parametrize(
    ("chosen", "where"), [(Channels(exec=" "), "events"), (Channels(webhook="ftp://a"), "webhook")]
)
def test_an_invalid_place_is_named(chosen: Channels, where: str) -> None:
    with pytest.raises(ConfigError, match=where):
        channels_of(chosen)
