"""The pinned releases of the agents, each in a folder of its own."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

from attrs import frozen

PINS = Path(__file__).resolve().parents[3] / "tests" / "real" / "unknown-agents.toml"
FIRST = "unknown-agents"


@frozen
class Pin:
    """One release; `registry` is npm or pypi, `more` is installed with it, `python` the interpreter that it needs.

    `corpus` is the set that its screens belong to: each later one was captured after everything had been fitted to
    those before it.
    """

    registry: str
    package: str
    version: str
    more: tuple[str, ...] = ()
    python: str = "python3"
    corpus: str = FIRST


PINNED = {
    name: Pin(**{**told, "more": tuple(told.get("more", ()))}) for name, told in tomllib.loads(PINS.read_text()).items()
}


def install(name: str, folder: Path) -> None:
    """One agent.  Raises CalledProcessError."""
    pin, home = PINNED[name], folder / name
    home.mkdir(parents=True, exist_ok=True)
    if pin.registry == "npm":
        words = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock"]
        words += [f"{pin.package}@{pin.version}", *pin.more]
    else:
        subprocess.run([pin.python, "-m", "venv", str(home)], check=True)
        words = [str(home / "bin" / "pip"), "install", "--quiet", f"{pin.package}=={pin.version}", *pin.more]
    subprocess.run(words, cwd=home, check=True, stdin=subprocess.DEVNULL)
