"""A wheel carries the manual pages of the commands that it brings, made of their own help texts: share/man/man1.

The apps use this file as well: their commands are those of their entry point in the group `stallkit.commands`.
"""

from __future__ import annotations

import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CHECKOUT = Path(__file__).parent


class ManualPages(BuildHookInterface[Any]):
    """Writes the pages into build/man, and has them installed."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before the wheel is made; a checkout that is installed in place has none."""
        if version == "editable":
            return
        sys.path[:0] = [str(CHECKOUT), *map(str, CHECKOUT.glob("apps/*/src"))]
        from stallkit.cli.main import OWN
        from stallkit.cli.manual import pages

        entries = self.metadata.core.entry_points.get("stallkit.commands", {})
        sets = [OWN]
        if entries:
            parts = [value.partition(":") for value in entries.values()]
            sets = [getattr(import_module(module), name) for module, _, name in parts]
        folder = Path(self.root) / "build" / "man"
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.1"):
            old.unlink()
        made = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
        for commands in sets:
            for name, content in pages(time.strftime("%Y-%m-%d", made), commands):
                (folder / name).write_text(content, encoding="utf-8")
                build_data["shared_data"][str(folder / name)] = f"share/man/man1/{name}"
