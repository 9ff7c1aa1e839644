"""The pytest plug-in: every example of a pack is a test item, wherever pytest finds the pack's ``signatures.toml``.

It is loaded in every run of pytest where stallkit is installed, so it imports only what pytest has loaded already, and
reads only a ``signatures.toml``, or a screen named on the command line.  ``-p no:stallkit`` turns it off.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

_PACK = "signatures.toml"
_FORMAT = re.compile(rb"^format\s*=\s*[0-9]", re.MULTILINE)  # a number: others have files of this name as well
_REWRITTEN = "rewritten_screen"  # a property of an item of `items`: what it wrote


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --update-screens."""
    parser.getgroup("stallkit").addoption(
        "--update-screens",
        action="store_true",
        help="Rewrite the screens of packs as plain text, control sequences carried out.",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The items of a pack, or of one screen of it that is named on the command line."""
    if file_path.name == _PACK:
        pack, only = file_path, None
    elif file_path.suffix == ".txt" and parent.session.isinitpath(file_path):
        pack, only = file_path.parent.parent.parent / _PACK, file_path
        if file_path.parent.parent.name != "screens":
            return None
    else:
        return None
    if not pack.is_file() or not _FORMAT.search(pack.read_bytes()):
        return None
    from stallkit.testing.items import PackFile  # extra: testing; most runs find no pack

    made = PackFile.from_parent(parent, path=file_path)
    made.pack_path, made.only = pack, only
    return made


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what --update-screens rewrote, in this process or in others."""
    rewritten = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, value in getattr(report, "user_properties", ())
        if name == _REWRITTEN
    ]
    if rewritten:
        terminalreporter.section("screens rewritten")
        for difference in rewritten:
            terminalreporter.line(str(difference))
