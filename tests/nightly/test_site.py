"""The site that `scripts/docs` builds: whole, readable from files, with a reference that says what the code says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import stallkit_sessions
import stallkit_supervisor
from docs_site import links, names

import stallkit
from stallkit.cli.main import cli
from stallkit.cli.printed_json import all_printed
from stallkit.packs.registry import installed_engine

ROOT = Path(__file__).parents[2]
BUILD = [sys.executable, str(ROOT / "scripts" / "docs_site")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run([*BUILD, "--out", str(out)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


def test_every_page_has_its_place(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert all((site / page).exists() for page in pages)
    front = links.Page((site / "index.html").read_text())
    assert {"tutorial.html", "watch.html", "judge.html", "reference/agents.html"} <= set(front.links)


def test_the_reference_has_all_that_there_is(site: Path) -> None:
    reference = site / "reference"
    assert all((reference / "commands" / f"{verb}.html").exists() for verb in ("check", "watch", "stuck"))
    assert "--for TIME" in re.sub(r"<[^>]+>", "", (reference / "commands" / "check.html").read_text())
    assert all((reference / "schemas" / f"{name}.html").exists() for name in all_printed().names)
    for pack in installed_engine().packs:
        page = links.Page((reference / "signatures" / f"{pack.name}.html").read_text())
        wanted = {signature.id.replace("_", "-") for signature in pack.signatures}
        assert wanted <= {place.replace("_", "-") for place in page.places}
    library = "".join(path.read_text() for path in (reference / "library").glob("*.html"))
    public = [name for room in names.public(ROOT).values() for name in room]
    packages = (stallkit, stallkit_sessions, stallkit_supervisor)
    assert len(public) == sum(len(package.__all__) for package in packages)
    assert all(f'id="{name}"' in library for name in public)
    assert len(list((reference / "commands").glob("*.html"))) > len(cli.commands)


def test_it_needs_nothing_from_elsewhere(site: Path) -> None:
    assert not list(links.wrong(site))
    assert json.loads((site / "searchindex.js").read_text().removeprefix("Search.setIndex(").removesuffix(")"))


def test_a_warning_is_an_error(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "index.md").write_text("# One\n\n[nowhere](none.md)\n")
    conf = ["-c", str(ROOT / "scripts" / "docs_site")]
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", *conf, str(pages), str(tmp_path / "out")]
    done = subprocess.run(build, check=False, capture_output=True, text=True)
    assert done.returncode != 0
    assert "none.md" in done.stderr


def test_a_folder_that_is_no_site_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    done = subprocess.run([*BUILD, "--out", str(tmp_path)], check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "no site was built there" in done.stderr
    assert (tmp_path / "letter.txt").exists()
