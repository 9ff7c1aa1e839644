"""Sessions as a program that imports stallkit has them."""

from __future__ import annotations

from typing import Any

import pytest
from stallkit_sessions import ExitRecord, Sessions
from stallkit_sessions.model import Cause, Session
from started import House
from terminals import wait_for

from stallkit import SessionGone, check
from stallkit.errors import StartRefused
from stallkit.transports.tmux.identity import Identity

pytestmark = pytest.mark.e2e


def test_a_session_from_its_start_to_its_end(house: House) -> None:
    where: dict[str, Any] = {"directory": house.work, "tmux_socket_path": house.socket}
    with Sessions() as sessions:
        assert sessions.latest("a") is None
        made = sessions.start("a", ["sh", "-c", "read answer; exit $answer"], ports=[0], **where)
        assert len(made.ports) == 1 and made.ports[0] > 0
        assert sessions.latest("a") == made and sessions.living() == [made]
        transport = sessions.open("a")
        assert check(transport).snapshot.foreground == "sh"
        transport.close()
        house.tmux("send-keys", "-t", Identity.of(made.identity).pane, "7", "Enter")
        wait_for(lambda: isinstance(sessions.latest("a"), ExitRecord), "its end")
        (ended,) = sessions.ends("a")
        assert ended.status is not None and (ended.cause, ended.status.code) == (Cause.EXITED, 7)
        assert sessions.stop("a") == ended and sessions.living() == []
        again = sessions.start("a", ["cat"], **where)
        assert isinstance(again, Session) and sessions.stop("a", grace_s=1).cause is Cause.STOPPED


def test_what_cannot_be(house: House) -> None:
    wrong: list[dict[str, Any]] = [{"engine": "docker"}, {"image": "bb:1"}, {"engine": "lxc"}]
    with Sessions() as sessions:
        for given in wrong:
            with pytest.raises(ValueError, match="engine must be"):
                sessions.start("a", ["cat"], **given)
        with pytest.raises(ValueError, match="not a name"):
            sessions.start("a.b", ["cat"])
        with pytest.raises(StartRefused, match="no program"):
            sessions.start("a", ["no-such-program"])
        for act in (sessions.stop, sessions.open):
            with pytest.raises(SessionGone):
                act("a")
