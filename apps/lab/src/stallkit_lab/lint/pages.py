"""The page of each code: installed with the package, and in ``docs/lint`` of a checkout."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from stallkit_lab.lint.findings import CODES

__all__ = ["page_of"]


def page_of(code: str) -> str:
    """What a finding of this code means and what to do, in Markdown.  Raises ValueError for an unknown code.

    >>> page_of("sk105").splitlines()[0]
    '# SK105: nothing that must be on the screen'
    """
    code = code.upper()
    if code not in CODES:
        raise ValueError(f"there is no finding {code!r}: the codes are {', '.join(CODES)}")
    installed = resources.files("stallkit_lab") / "lint_pages" / f"{code}.md"
    if installed.is_file():
        return installed.read_text(encoding="utf-8")
    return (Path(__file__).parents[5] / CODES[code].page).read_text(encoding="utf-8")
