"""The pictures are of real runs: the script that takes them works."""

from __future__ import annotations

import re

import pytest
from docs_site.pictures import PICTURES, drawn, stage

pytestmark = pytest.mark.e2e


def test_a_run_becomes_a_picture() -> None:
    with stage() as made:
        taken = {picture.name: words(made.take(picture)) for picture in PICTURES}
    assert re.search(r"tmux:fetch waiting:? secret", taken["watch"])
    assert "Deploy to production?" in taken["explain"]
    assert re.search(r"\bdeploy still confirm", taken["report"])


def words(picture: str) -> str:
    """What a picture says."""
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    return " ".join(" ".join(texts).replace("&#160;", " ").split())


def test_what_does_not_come_is_named() -> None:
    with stage() as made, pytest.raises(TimeoutError, match="build did not show nothing like it"):
        made.until("default", "build", ("nothing like it",), patience_s=0.3)


def test_a_picture_needs_nothing_from_elsewhere() -> None:
    picture = drawn(["\x1b[31mred\x1b[0m & <b>"], "a command", 40, "one")
    assert words(picture) == "a command red & &lt;b&gt;".replace("& ", "&amp; ")
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")
