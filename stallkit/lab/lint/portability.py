"""Do `re` and `regex` find the same on the pack's own screens: every pattern over every screen it may meet.

`re` has no limit, so it runs in a process of its own.  The limit is so wide that no normal pattern comes near it on any
machine; the cost of a pattern is counted elsewhere (`runaways`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Iterator, Sequence

from stallkit.core.matcher import region
from stallkit.core.signature import Clause
from stallkit.lab.lint.findings import Finding, brief
from stallkit.lab.lint.subject import Subject

if TYPE_CHECKING:
    import regex

__all__ = ["check"]

_LIMIT_S = 1.0  # of processor time, for one search
_UNDER_RE = f"""
import json, re, signal, sys, warnings
warnings.simplefilter("ignore")
class TooLong(Exception): pass
def stop(*_): raise TooLong
signal.signal(signal.SIGVTALRM, stop)
def search(pattern, text):
    signal.setitimer(signal.ITIMER_VIRTUAL, {_LIMIT_S})
    try: return [found.span() for found in pattern.finditer(text)]
    except TooLong: return None
    finally: signal.setitimer(signal.ITIMER_VIRTUAL, 0)
def searches(source, flags, texts):
    pattern = re.compile(source, flags)
    for text in texts:
        spans = search(pattern, text)
        yield spans
        if spans is None: return
print(json.dumps([list(searches(*job)) for job in json.load(sys.stdin)]))
"""


def check(subject: Subject) -> Iterator[Finding]:
    """A finding on each pattern that the two match differently on a screen of the pack, or that runs away there."""
    import re

    clauses = [clause for clause in dict.fromkeys(clause for *_, clause in subject.clauses()) if _both_take(clause)]
    texts = [_texts(subject, clause) for clause in clauses]
    flags = [int(re.MULTILINE | (re.IGNORECASE if clause.ignore_case else 0)) for clause in clauses]
    jobs = [
        (clause.pattern, flag, [text for _, text in own])
        for clause, flag, own in zip(clauses, flags, texts, strict=True)
    ]
    troubles: dict[Clause, tuple[str, str]] = {}
    for clause, own, spans in zip(clauses, texts, _under_re(jobs), strict=True):
        trouble = _compare(clause, own, spans)
        if trouble is not None:
            troubles[clause] = trouble
    for signature, role, item, clause in subject.clauses():
        if clause in troubles:
            code, why = troubles[clause]
            yield subject.finding(code, why, signature, role, item)


def _both_take(clause: Clause) -> bool:
    """Whether there is something to compare; where one of them refuses it, another rule reports that."""
    import re

    import regex

    if clause.pattern is None:
        return False
    try:
        re.compile(clause.pattern)
        regex.compile(clause.pattern)
    except (re.error, regex.error, OverflowError, RecursionError, ValueError, Warning):
        return False
    return True


def _texts(subject: Subject, clause: Clause) -> list[tuple[str, str]]:
    """The text of the clause's region on each example, with the example's name, each text once."""
    found: dict[str, str] = {}
    for example in subject.examples:
        where = region(clause.where, example.screen)
        if where is not None:
            found.setdefault(where.text, f"{example.signature} {example.name}")
    return [(name, text) for text, name in found.items()]


def _under_re(jobs: Sequence[tuple[str | None, int, list[str]]]) -> list[list[list[list[int]] | None]]:
    """The spans of each pattern in each of its texts; None, as the last one, where it ran too long."""
    if not jobs:
        return []
    command = [sys.executable, "-I", "-S", "-c", _UNDER_RE]
    done = subprocess.run(command, input=json.dumps(jobs), capture_output=True, text=True, check=False)
    if done.returncode:  # such as out of memory: then there is nothing to report
        return [[] for _ in jobs]
    answer: list[list[list[list[int]] | None]] = json.loads(done.stdout)
    return answer


def _under_regex(pattern: regex.Pattern[str], text: str) -> list[list[int]] | None:
    """The same by `regex`; None where it ran too long."""
    try:
        return [list(match.span()) for match in pattern.finditer(text, timeout=_LIMIT_S)]
    except TimeoutError:
        return None


def _compare(
    clause: Clause, texts: Sequence[tuple[str, str]], under_re: Sequence[list[list[int]] | None]
) -> tuple[str, str] | None:
    """A pattern's first difference or runaway; None where there is none."""
    import regex

    flags = regex.MULTILINE | (regex.IGNORECASE if clause.ignore_case else 0)
    pattern = regex.compile(clause.pattern or "", flags)
    for (name, text), spans in zip(texts, under_re, strict=False):
        found = _under_regex(pattern, text)
        if found is None:
            return "SK103", f"{brief(clause)} runs away on {name}"
        if spans is None:
            return "SK103", f"{brief(clause)} runs away under re on {name}"
        if spans != found:
            counts = f"{len(spans)} times by re, {len(found)} times by regex"
            places = counts if len(spans) != len(found) else "in other places by re than by regex"
            return "SK102", f"on {name}, {brief(clause)} is found {places}"
    return None
