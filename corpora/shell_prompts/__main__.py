"""Plays scenes and writes their cases: ``python -m corpora.shell_prompts GROUP... [--only ID] -o FILE``."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path

from corpora.shell_prompts import scenes
from corpora.shell_prompts.stage import Stage


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="+")
    parser.add_argument("--only", default="", help="a pattern of ids")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/shell-prompts"))
    parser.add_argument("--path", default=os.defpath, help="where programs are looked for")
    parser.add_argument("--libraries", default="", help="and their libraries")
    parser.add_argument("--locales", default="", help="a folder that localedef wrote")
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    environ = {"PATH": given.path, "LD_LIBRARY_PATH": given.libraries, "LOCPATH": given.locales}
    stage = Stage(given.folder, {key: value for key, value in environ.items() if value})
    failed = 0
    with given.output.open("a") as output:
        for group in given.groups:
            for scene in getattr(scenes, group.upper()):
                if not re.search(given.only, scene.id):
                    continue
                for size in scene.sizes:
                    case = stage.play(scene, size)
                    if case is None:
                        print(
                            f"{scene.id} {size}: never seen; the last screen:\n{stage.last.rstrip()}", file=sys.stderr
                        )
                        failed += 1
                        break
                    output.write(json.dumps(case, ensure_ascii=False) + "\n")
                    output.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
