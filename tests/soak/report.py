"""docs/reliability.md: a section for each part of the soak, and for what else measures and writes one."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from typing import Any

from soak.parts import PARTS

_HEAD = """# How reliable it is

Written by `scripts/soak`, which runs each part against real tmux servers, real programs and real signals
(`tests/soak`), and by `scripts/live`. A short form of each is in `scripts/nightly`. Every figure is of one run of its
part; zeros are of so many tries, and no more than that.
"""


def dated(found: dict[str, Any]) -> dict[str, Any]:
    """What was found, with today's date and this machine."""
    tmux = subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=False).stdout.strip()
    python = platform.python_version()
    machine = f"{os.cpu_count()} cores {platform.machine()}, {platform.system()}, Python {python}, {tmux}"
    return {**found, "date": datetime.now(UTC).date().isoformat(), "machine": machine}


def with_section(report: str, found: dict[str, Any]) -> str:
    """The report with this part's section in place of its earlier one, the parts in their order, then all others."""
    _, *earlier = report.split("\n## ")
    sections = {text.partition("\n")[0]: text.rstrip("\n") for text in earlier}
    sections[found["part"].capitalize()] = _section(found)
    titles = [name.capitalize() for name in PARTS]
    titles += [title for title in sections if title not in titles]
    return "\n".join([_HEAD, *(f"## {sections[title]}\n" for title in titles if title in sections)])


def _section(found: dict[str, Any]) -> str:
    size = f"{found['size']:,} {found['unit']}, {found['minutes']} minutes"
    lines = [f"{found['part'].capitalize()}\n\n{found['about']}\n"]
    lines += [f"{size}; {found['date']}, {found['machine']}.\n"]
    lines.append("| figure | measured | must | |\n| --- | --- | --- | --- |")
    for name, value, must, holds in found["figures"]:
        lines.append(f"| {name} | {value} | {must} | {'' if holds else 'missed'} |")
    return "\n".join(lines)
