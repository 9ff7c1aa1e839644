"""Writes the figures of the measured pages: `python benchmarks/docs.py [NAME...]`, all of them or those named.

A page says itself which command makes which figures:

    <!-- bench: startup.py 5 -->
    what the command printed the last time
    <!-- end -->

All around is written by hand.  Each command runs to its end before its figures are replaced; where one fails, the page
keeps what it had, and the exit code is 1.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Callable

HERE = Path(__file__).parent
PAGES = tuple(HERE.parent / "docs" / name for name in ("accuracy.md", "benchmarks.md", "reliability.md"))
_BLOCK = re.compile(r"(?ms)^<!-- bench: (?P<command>[^\n]+?) -->\n.*?^<!-- end -->$")


def commands(page: str) -> list[str]:
    """The commands whose figures a page shows, in order.

    >>> commands("a\\n<!-- bench: fleet.py 500 4 -->\\nold\\n<!-- end -->\\n")
    ['fleet.py 500 4']
    """
    return [block["command"] for block in _BLOCK.finditer(page)]


def replaced(page: str, command: str, printed: str) -> str:
    """The page with what this command printed in the place of its figures.

    >>> replaced("<!-- bench: a.py -->\\nold\\n<!-- end -->\\nby hand", "a.py", "new\\n").splitlines()
    ['<!-- bench: a.py -->', '', 'new', '', '<!-- end -->', 'by hand']
    """

    def block(found: re.Match[str]) -> str:
        if found["command"] != command:
            return found[0]
        return f"<!-- bench: {command} -->\n\n{printed.strip()}\n\n<!-- end -->"

    return _BLOCK.sub(block, page)


def write(path: Path, names: list[str], run: Callable[[str], str | None]) -> list[str]:
    """Run the commands of a page, or those with one of these names, and write it anew after each; those that failed."""
    failed = []
    for command in commands(path.read_text("utf-8")):
        if names and command.split(".py")[0] not in names:
            continue
        printed = run(command)
        if printed is None:
            failed.append(command)
        else:
            path.write_text(replaced(path.read_text("utf-8"), command, printed), "utf-8")
    return failed


def _run(command: str) -> str | None:
    """What a benchmark prints, which is shown as well; None where it fails."""
    print(f"\n== benchmarks/{command}\n", flush=True)
    script, *words = shlex.split(command)
    done = subprocess.run([sys.executable, str(HERE / script), *words], stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, flush=True)
    return done.stdout if done.returncode == 0 and done.stdout.strip() else None


def main() -> int:
    names = sys.argv[1:]
    known = {command.split(".py")[0] for page in PAGES for command in commands(page.read_text("utf-8"))}
    if unknown := set(names) - known:
        print(f"no page shows figures of {', '.join(sorted(unknown))}: {', '.join(sorted(known))}", file=sys.stderr)
        return 2
    failed = [command for page in PAGES for command in write(page, names, _run)]
    for command in failed:
        print(f"failed, so that its figures stay as they were: {command}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
