"""The table of commands on the page of the command line is what the commands say."""

from __future__ import annotations

import commands_page


def test_the_page_has_the_commands_of_today() -> None:
    """To write them: python scripts/commands_page.py."""
    page = commands_page.PAGE.read_text()
    assert commands_page.written(page) == page
    assert page.count("`stallkit check TARGET`") == 1
