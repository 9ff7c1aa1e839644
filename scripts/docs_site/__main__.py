"""Builds the documentation as a site that a browser reads from files: the pages of docs/, and a generated reference.

The reference is made from what it describes: commands from their help, JSON schemas, events from the tables of the
pages, signatures of the packs, agents, and the library from its docstrings.  A warning is an error.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[0] = str(HERE.parent)  # scripts, whose package this is

from stallkit_lab.evaluate.holdout import installed_package_dirs  # noqa: E402

from docs_site import agents, commands, events, links, names, pictures, schemas, signatures, staging  # noqa: E402
from stallkit.packs.registry import installed_engine  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/docs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / ".cache" / "docs", metavar="DIR", help="the site's folder")
    parser.add_argument("--pages", type=Path, metavar="DIR", help="keep the pages that the builder reads here")
    parser.add_argument("--pictures", action="store_true", help="take docs/pictures anew, from real runs")
    given = parser.parse_args()
    if given.pictures:
        unseen = ROOT / "tests" / "corpus" / "unseen"
        corpora = [unseen / "newest-agents.jsonl", unseen / "unseen-classic.jsonl"]
        pictures.take_all(ROOT / "docs" / "pictures", corpora)
    with tempfile.TemporaryDirectory() as spare:
        pages = given.pages or Path(spare) / "pages"
        for folder, sign in ((given.out, ".buildinfo"), (pages, "index.md")):
            if folder.exists() and any(folder.iterdir()) and not (folder / sign).exists():
                parser.error(f"{folder}: is not empty, and no site was built there; name another folder")
            shutil.rmtree(folder, ignore_errors=True)
        staging.stage(ROOT, pages)
        for path, text in reference():
            (pages / path).parent.mkdir(parents=True, exist_ok=True)
            (pages / path).write_text(text, encoding="utf-8")
        build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-c", str(HERE)]
        done = subprocess.run([*build, "-d", f"{spare}/doctrees", str(pages), str(given.out)], check=False)
    found = list(links.wrong(given.out)) if given.out.exists() else []
    for line in found:
        print(line, file=sys.stderr)
    if done.returncode or found:
        return 1
    print(f"{os.path.relpath(given.out / 'index.html')}: {len(list(given.out.rglob('*.html')))} pages")
    return 0


def reference() -> Iterator[tuple[str, str]]:
    """Path and text of every generated page."""
    engine, package_dirs = installed_engine(), installed_package_dirs()
    yield from commands.pages()
    yield from schemas.pages()
    yield from events.pages(ROOT / "docs")
    yield from signatures.pages(engine, package_dirs)
    yield from agents.pages(engine, package_dirs, ROOT / "docs")
    yield from names.pages(ROOT / "stallkit" / "__init__.py")


if __name__ == "__main__":
    sys.exit(main())
