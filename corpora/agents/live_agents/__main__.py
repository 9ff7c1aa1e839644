"""Live agents under a supervisor: is a person told of each that waits, asks, failed, ended or hangs, and how soon?

Agents of ten kinds, two of which no pack names, are started in one private tmux server, against scripted models on
loopback, and driven into what a person has to know; one `stallkit watch --service` watches them all.  What is true is
known from the models and the panes, what was told from its events.  Rounds are kept in .cache/live (`--last` tells them
again), screens of what was not told in its `screens`.  With --write it writes its tables of docs/reliability.md.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attrs import evolve

ROOT = Path(__file__).resolve().parents[3]
sys.path[0] = str(Path(__file__).parents[1])  # corpora/agents, whose modules these are
sys.path.insert(1, str(ROOT / "tests"))

import others  # noqa: E402  # needs the lines above
from rich.console import Console  # noqa: E402
from soak.report import dated, with_section  # noqa: E402

from live_agents.cast import CAST, SHORT, UNNAMED, Actor  # noqa: E402
from live_agents.player import Player  # noqa: E402
from live_agents.report import as_object, section, show  # noqa: E402
from live_agents.scenes import SCENES  # noqa: E402
from live_agents.scoring import figures  # noqa: E402
from live_agents.screens import Screens  # noqa: E402
from live_agents.supervisor import Supervisor  # noqa: E402
from live_agents.truth import Round, read, written  # noqa: E402

CACHE = ROOT / ".cache"
POLICIES = ("careful", "daemon", "rules")
HUNG_S = 120.0  # longer than Gemini and Qwen try again without a word
REPORT = ROOT / "docs" / "reliability.md"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/live", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--agents", nargs="+", metavar="NAME", help=f"of {', '.join(one.name for one in CAST)}, or a kind"
    )
    parser.add_argument("--only", nargs="+", metavar="SCENE", choices=list(SCENES), help="; ".join(SCENES))
    parser.add_argument("--policy", nargs="+", default=list(POLICIES), choices=POLICIES)
    parser.add_argument("--runs", type=int, default=3, help="rounds under each policy (3)")
    parser.add_argument(
        "--hang-timeout", type=float, default=HUNG_S, metavar="S", help=f"when a session counts as hung ({HUNG_S:g})"
    )
    parser.add_argument("--short", action="store_true", help="three agents of one kind, one round under rules")
    parser.add_argument("--last", action="store_true", help="drive nothing, tell the rounds that are kept")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    parser.add_argument("--write", action="store_true", help="write the section of docs/reliability.md")
    parser.add_argument("--programs", type=Path, default=CACHE / "agents", metavar="DIR", help="their folder")
    parser.add_argument("--kept", type=Path, default=CACHE / "live", metavar="DIR", help="where rounds are kept")
    given = parser.parse_args()
    there = tuple(one for one in (SHORT if given.short else CAST) if _is_there(one, given.programs))
    cast = _chosen(there, given.agents, given.only)
    if not cast:
        parser.error("no agent of that name plays such a scene")
    kept = given.kept / "rounds"
    kept.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    if not given.last:
        for file in kept.glob("*.jsonl"):
            file.unlink()
        policies, runs = (["rules"], 1) if given.short else (given.policy, given.runs)
        for number in range(1, runs + 1):
            for policy in policies:
                found = _round(cast, policy, number, given.hang_timeout, given.programs.absolute(), given.kept)
                (kept / f"{number}-{policy}.jsonl").write_text(written(found))
    rounds = [read(file.read_text().splitlines()) for file in sorted(kept.glob("*.jsonl"))]
    if given.json:
        print(json.dumps(as_object(rounds), ensure_ascii=False))
    else:
        show(Console(width=None if sys.stdout.isatty() else 200), rounds)
    if given.write:
        found = dated(section(rounds, round((time.monotonic() - began) / 60, 1)))
        REPORT.write_text(with_section(REPORT.read_text(), found))
    return 0 if all(figure.holds for figure in figures(rounds)) else 1


def _is_there(actor: Actor, programs: Path) -> bool:
    """Whether its program is installed; one that no pack names need not be."""
    if actor.agent not in UNNAMED or (programs / actor.agent).exists():
        return True
    print(f"{actor.name} is left out: scripts/unknown install {actor.agent} --programs {programs}", file=sys.stderr)
    return False


def _chosen(cast: tuple[Actor, ...], names: list[str] | None, scenes: list[str] | None) -> list[Actor]:
    known = [one for one in cast if names is None or one.name in names or one.agent in names]
    if scenes is None:
        return known
    only = [evolve(one, scenes=tuple(name for name in one.scenes if name in scenes)) for one in known if not one.first]
    return [one for one in only if one.plays]


def _round(cast: list[Actor], policy: str, number: int, hung_after_s: float, programs: Path, kept: Path) -> Round:
    """One run of the cast under one policy; the supervisor is there before the agents, and ends before they do."""
    folder = kept / f"{number}-{policy}"
    others.tmux("new-session", "-d", "-s", "stays", "sleep", "infinity")
    screens = Screens(others.SOCKET)
    supervisor = Supervisor(folder, others.SOCKET, policy, hung_after_s)
    players: list[Player] = []

    def end() -> None:
        supervisor.close()
        screens.close()
        for player in players:
            player.close()
        others.tmux("kill-server")

    def ended(number: int, _: object) -> None:
        end()  # threads would go on
        os._exit(128 + number)

    for number_of_signal in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number_of_signal, ended)
    try:
        for one in cast:
            players.append(Player(one, programs, screens, supervisor, kept / "screens" / f"{number}-{policy}"))
        with ThreadPoolExecutor(len(players)) as pool:
            list(pool.map(_played, players))
    finally:
        end()
    moments = sorted((moment for player in players for moment in player.moments), key=lambda one: one.appeared)
    return Round(policy, number, hung_after_s, moments, supervisor.events)


def _played(player: Player) -> None:
    try:
        player.play()
    except Exception as error:  # the others go on
        print(f"{player.actor.name}: failed: {error!r}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
