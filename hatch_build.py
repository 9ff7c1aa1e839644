"""The wheel carries the manual pages, made of the commands' own help texts: share/man/man1."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManualPages(BuildHookInterface[Any]):
    """Writes the pages into build/man, and has them installed."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before the wheel is made."""
        sys.path.insert(0, self.root)
        from stallkit.cli.manual import pages

        folder = Path(self.root) / "build" / "man"
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.1"):
            old.unlink()
        made = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
        for name, content in pages(time.strftime("%Y-%m-%d", made)):
            (folder / name).write_text(content, encoding="utf-8")
            build_data["shared_data"][str(folder / name)] = f"share/man/man1/{name}"
