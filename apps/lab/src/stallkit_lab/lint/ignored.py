"""Comments in a pack file that take findings out: ``# lint: ignore SK105: nothing else is on that screen``.

On the line of the finding or right above it; right above ``[[signature]]``, for the whole signature.  A reason is
needed, and what protects from wrong keys stays.
"""

from __future__ import annotations

import re
from typing import Iterable, Iterator

from attrs import frozen

from stallkit_lab.lint.findings import CODES, Finding
from stallkit_lab.lint.subject import Subject

__all__ = ["Comment", "comments", "sorted_out"]

_COMMENT = re.compile(r"#[ ]*lint:[ ]*ignore\b[ ]*(?P<codes>[^:#]*)(?::[ ]*(?P<why>.*))?$")
_CODE = re.compile(r"[^\s,]+")
_STAYS = re.compile(r"SK[03]")  # what does not load, and what a machine would press


@frozen
class Comment:
    """One comment: its line (1-based), the codes that it names, and the line that it is about."""

    line: int
    codes: tuple[str, ...]
    about: int
    fault: str = ""


def comments(text: str) -> Iterator[Comment]:
    """The comments of a pack file.

    >>> [(one.about, one.codes) for one in comments("# lint: ignore SK105: short\\n[[signature]]")]
    [(2, ('SK105',))]
    """
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        found = _COMMENT.search(line)
        if found is None:
            continue
        codes = tuple(_CODE.findall(found["codes"]))
        alone = line.lstrip().startswith("#")
        below = (below for below, other in enumerate(lines[number:], number + 1) if not other.lstrip().startswith("#"))
        yield Comment(number, codes, next(below, number) if alone else number, _fault(codes, found["why"] or ""))


def _fault(codes: tuple[str, ...], why: str) -> str:
    unknown = next((code for code in codes if code not in CODES), None)
    if not codes or unknown:
        return f"lint: ignore {unknown}: there is no such code" if unknown else "lint: ignore names no code"
    if stays := next((code for code in codes if _STAYS.match(code)), None):
        return f"lint: ignore {stays}: that finding cannot be taken out"
    return "" if why.strip() else f"lint: ignore {', '.join(codes)}: say why behind a colon"


def sorted_out(findings: Iterable[Finding], text: str, subject: Subject) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """The findings that stay, with those on comments that are wrong; and a note for each comment without use."""
    given = list(comments(text))
    stays = [
        Finding("SK002", CODES["SK002"].level, one.fault, subject.pack.name, subject.path, one.line)
        for one in given
        if one.fault
    ]
    used: set[tuple[int, str]] = set()
    for finding in findings:
        lines = {finding.line} if finding.file == subject.path else set()
        if finding.signature in subject.rows:
            lines.add(subject.lines.of("signature", subject.rows[finding.signature]))
        hits = [one for one in given if not one.fault and finding.code in one.codes and one.about in lines]
        used |= {(one.line, finding.code) for one in hits}
        if not hits:
            stays.append(finding)
    idle = [(one, code) for one in given if not one.fault for code in one.codes if (one.line, code) not in used]
    notes = tuple(f"{subject.path}:{one.line}: lint: ignore {code} is without use: remove it" for one, code in idle)
    return tuple(stays), notes
