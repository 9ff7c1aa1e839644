"""The newest releases of the agents, each in a folder of its own below .cache/agents."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "opencode": "opencode-ai",
    "copilot": "@github/copilot",
    "qwen": "@qwen-code/qwen-code",
}


def install(agent: str, folder: Path) -> None:
    """Its newest release, by npm.  Raises CalledProcessError."""
    home = folder / agent
    home.mkdir(parents=True, exist_ok=True)
    words = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock", f"{PACKAGES[agent]}@latest"]
    subprocess.run(words, cwd=home, check=True, stdin=subprocess.DEVNULL)


def version(agent: str, folder: Path) -> str | None:
    """The version that is installed; None: it is not."""
    told = folder / agent / "node_modules" / PACKAGES[agent] / "package.json"
    if not told.exists():
        return None
    return str(json.loads(told.read_text())["version"])
