"""A supervisor that listens: what a program reports unasked is heard at once; other panes keep their pipes."""

from __future__ import annotations

import asyncio
import sys
from typing import Callable, Literal

import pytest
from stallkit_supervisor.schedule import Schedule
from stallkit_supervisor.session_state import WatchConfig
from stallkit_supervisor.sources import FleetSource
from stallkit_supervisor.supervisor import Supervisor
from supervised import PATIENCE_S, shell
from terminals import Server

from stallkit.detect.signature import Certainty, Kind, State
from stallkit.evidence.signal import Guard
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.verdict import Verdict
from stallkit.packs.registry import Engine
from stallkit.press.policy import OBSERVE

pytestmark = pytest.mark.e2e

SELDOM = Schedule(interval_s=600.0, eager_s=600.0)  # but for a reason to look at once
# It says what it is told to, with nothing new on its screen.
SAYS = """
import sys
print("a program", flush=True)
for line in sys.stdin:
    print(line.strip().encode().decode("unicode_escape"), end="", flush=True)
"""
BLOCKED = r"\x1b]7501;state=blocked:app=codex:kind=permission\x07"


def start(server: Server, name: str, program: str) -> None:
    """A program of that name which says what it is told to."""
    script = f'stty -echo -icanon; exec -a {program} {sys.executable} -c "$0"'
    server.start(name, "bash", "-c", script, SAYS, shows="a program").close()


def tell(server: Server, name: str, said: str) -> None:
    server.tmux("send-keys", "-t", f"={name}:", "-l", said)
    server.tmux("send-keys", "-t", f"={name}:", "Enter")


def piped(server: Server, session: str) -> bool:
    return server.tmux("display-message", "-p", "-t", f"={session}:", "#{pane_pipe}").strip() == "1"


def watched(
    server: Server,
    listen: Literal["auto", "all", "never"],
    then: Callable[[], None],
    until: Callable[[Snapshot, Verdict], object],
) -> Verdict:
    """The verdict on `s` that comes of what is done once it is listened to."""
    source = FleetSource([], server.options, everything=True, listen=listen)
    supervisor = Supervisor(policy=WatchConfig(OBSERVE, SELDOM), sources=[source], engine=Engine([]))

    async def watch() -> Verdict:
        async with asyncio.timeout(PATIENCE_S), supervisor:
            while not await asyncio.to_thread(piped, server, "s"):
                await asyncio.sleep(0.02)
            then()
            while True:
                seen = supervisor.sessions.get("tmux:s")
                if seen and seen.snapshot and seen.verdict and until(seen.snapshot, seen.verdict):
                    return seen.verdict
                await asyncio.sleep(0.02)

    return asyncio.run(watch())


def test_a_report_is_heard_at_once(server: Server) -> None:
    """The next look would be ten minutes later."""
    start(server, "s", "codex")
    shell(server, "other", "echo a shell; exec sleep 100", "a shell")
    others: list[bool] = []

    def say() -> None:
        others.append(piped(server, "other"))
        tell(server, "s", BLOCKED)

    verdict = watched(server, "auto", say, lambda _, verdict: verdict.signals)
    assert (verdict.state, verdict.certainty, verdict.kind) == (State.WAITING, Certainty.SURE, Kind.PERMISSION)
    assert verdict.by_signal and [one.source for one in verdict.signals] == ["osc7501"]
    assert others == [False], "a shell reports nothing: its pipe is free"
    assert not piped(server, "s")


def test_a_report_under_anothers_name_is_a_claim(server: Server) -> None:
    start(server, "s", "somebody")
    verdict = watched(server, "all", lambda: tell(server, "s", BLOCKED), lambda _, verdict: verdict.signals)
    assert verdict.certainty is Certainty.MAYBE and verdict.signals[0].guard is Guard.NONE


@pytest.mark.parametrize("said", [r"\x1b]9;Approval requested\x07", r"\x1b]777;notify;codex;Approval requested\x1b\\"])
def test_a_notice_is_a_reason_to_look(server: Server, said: str) -> None:
    """It names no state: the look at once finds what the screen shows."""
    start(server, "s", "codex")

    def ask() -> None:
        tell(server, "s", said + r"\r\nOverwrite? [y/N] ")

    verdict = watched(server, "auto", ask, lambda seen, _: "Overwrite" in seen.screen.text)
    (notice,) = verdict.signals
    assert (notice.source, notice.state, notice.counts) == ("notice", None, False)
    assert notice.words.endswith("Approval requested")


def test_who_does_not_want_it_is_not_listened_to(server: Server) -> None:
    start(server, "s", "codex")
    source = FleetSource([], server.options, everything=True, listen="never")

    async def sweep() -> None:
        for _ in range(3):
            await source.sweep(lambda target: True)
        assert not piped(server, "s")
        await source.close()

    asyncio.run(sweep())
