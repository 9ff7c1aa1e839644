"""A real agent in a real docker container whose home is mounted: what it says of itself is heard from outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from machine_room import IMAGE, DockerRoom
from terminals import wait_for

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Certainty, State
from stallkit.evidence.signal import Guard
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.judge import judged
from stallkit.judging.verdict import Verdict
from stallkit.transports.base import look

pytestmark = pytest.mark.e2e

AGENTS = Path(__file__).resolve().parents[2] / ".cache" / "agents" / "pinned"
OF_THE_MACHINE = ("/usr", "/bin", "/lib", "/lib64", "/etc/ssl")  # the image has a busybox alone


def test_what_it_publishes_is_heard_through_docker(docker_room: DockerRoom, stage: Any, engine: Engine) -> None:
    places = [f"-v {one}:{one}:ro" for one in (*OF_THE_MACHINE, AGENTS) if Path(one).exists()]
    names = ["HOME", "PATH", "LANG", "TERM", "COLORTERM", "NO_PROXY", *stage.agent.env]
    given = " ".join(f"-e {name}" for name in names)
    reached = " ".join(f"{name}={docker_room.environment[name]}" for name in ("DOCKER_HOST", "DOCKER_CONFIG"))
    docker = (Path(docker_room.environment["PATH"].split(":")[1]) / "docker").as_posix()
    script = stage.home / "contained.sh"
    script.write_text(
        f"exec env {reached} {docker} run --rm -it --network host --name agent-here {' '.join(places)}"
        f" -v {stage.home}:{stage.home} -w {stage.project} {given} {IMAGE} claude\n"
    )
    looks: list[Snapshot] = []
    found: list[Verdict] = []

    def told() -> bool:
        looks.append(look(stage.transport))
        found.append(judged(engine, looks[-1], looks[-2] if len(looks) > 1 else None))
        drawn = found[-1].match is not None  # what it says of itself may be there before its screen is
        return drawn and bool(found[-1].signals) and found[-1].certainty is Certainty.SURE

    stage.type(f"bash {script}")
    stage.keys("Enter")
    try:  # at its composer, or at an offer before it
        wait_for(told, "that it says something of itself", patience_s=90)
        (says,) = found[-1].signals
        assert (says.source, says.guard, says.stale) == ("claude", Guard.PROCESS, None)
        assert says.state is found[-1].state and found[-1].state in (State.IDLE, State.WAITING)
        assert looks[-1].kernel is not None and looks[-1].kernel.foreground == "docker"
        assert "docker shows another terminal, and whether anything reads that is unknown" in found[-1].reasons
    finally:
        docker_room.discard("agent-here")
