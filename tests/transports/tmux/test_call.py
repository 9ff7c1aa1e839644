"""What tmux complains of, told apart by the words of 3.1c to 3.8."""

from __future__ import annotations

import pytest

from stallkit.errors import SessionGone, TransportError
from stallkit.transports.tmux.call import EXITED, NoServer, NoSessions, ServerExited, failure


@pytest.mark.parametrize(
    ("complaint", "kind"),
    [
        ("can't find pane: %7", SessionGone),
        ("can't find session: worker", SessionGone),
        ("can't find window: 3", SessionGone),
        ("no server running on /tmp/tmux-0/default", NoServer),
        ("error connecting to /tmp/x (No such file or directory)", NoServer),
        ("error connecting to /tmp/x (Connection refused)", NoServer),
        ("error connecting to /tmp/x (Permission denied)", TransportError),
        ("no current target", NoSessions),
        (EXITED, ServerExited),
        ("server exited", ServerExited),
        ("", TransportError),
    ],
)
def test_each_complaint_has_its_error(complaint: str, kind: type[TransportError]) -> None:
    error = failure("tmux:s", complaint + "\n", 1)
    assert type(error) is kind
    assert (complaint or "tmux exited with 1") in str(error)
