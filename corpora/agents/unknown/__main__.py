"""Coding agents that no pack names, driven into each of their states; each screen is saved with the kernel's facts.

    scripts/unknown install [AGENT ...]      their pinned releases (tests/real/unknown-agents.toml)
    scripts/unknown capture [AGENT ...]      their screens, a file for each agent in --out
    scripts/unknown join                     their corpora: of each set a third of the agents is kept aside

Agents are driven one at a time in a private tmux server, against a scripted model on loopback.  A label is what an
agent was driven into.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[0] = str(Path(__file__).parents[1])  # corpora/agents, whose modules these are

import others  # noqa: E402  # needs the line above

from unknown.corpora import join  # noqa: E402
from unknown.install import PINNED, install  # noqa: E402
from unknown.stage import Stage  # noqa: E402

CACHE = ROOT / ".cache"
SCENES = Path(__file__).parent / "scenes"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="scripts/unknown", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["install", "capture", "join"])
    parser.add_argument("agents", nargs="*", metavar="AGENT", help=", ".join(PINNED))
    parser.add_argument("--programs", type=Path, default=CACHE / "unknown-agents", metavar="DIR", help="their folder")
    parser.add_argument("--out", type=Path, default=CACHE / "unknown-screens", metavar="DIR", help="what was captured")
    parser.add_argument("--size", metavar="COLUMNSxROWS", help="one other than the scene's own")
    given = parser.parse_intermixed_args()
    if unknown := set(given.agents) - set(PINNED):
        parser.error(f"no scene is of {', '.join(sorted(unknown))}")
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.agents or ([] if given.what == "join" else PINNED):
        if given.what == "install":
            install(name, given.programs.absolute())
        else:
            capture(name, given.programs.absolute(), given.out, given.size)
    if given.what == "join":
        join(given.out, ROOT / "tests" / "corpus")


def capture(name: str, programs: Path, out: Path, size: str | None) -> None:
    """The scene of an agent, from its beginning; what was saved before at this size is replaced."""
    scene = tomllib.loads((SCENES / f"{name}.toml").read_text())
    size = size or scene.get("size", "80x24")
    stage = Stage(name, {"folder": name, "program": name, "version": PINNED[name].version, **scene}, size, programs)
    try:
        stage.play()
    finally:
        stage.close()
        others.tmux("kill-server")
    lines = [json.dumps(case, ensure_ascii=False) + "\n" for case in stage.cases]
    (out / f"{name}-{size}.jsonl").write_text("".join(lines))
    print(f"{name} at {size}: {len(lines)} screens", flush=True)


if __name__ == "__main__":
    main()
