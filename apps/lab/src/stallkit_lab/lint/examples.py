"""Rules on examples: they exist, each is met, and no hit goes to another signature."""

from __future__ import annotations

from typing import Iterator

from stallkit.detect.engine import Match
from stallkit.detect.signature import Signature
from stallkit.testing.example import Example, gives_way, unfound_under
from stallkit_lab.evaluate.prediction import decided
from stallkit_lab.lint.findings import Finding
from stallkit_lab.lint.subject import Subject

__all__ = ["check"]


def check(subject: Subject) -> Iterator[Finding]:
    """Findings on every example, and on signatures that lack some."""
    yield from subject.misplaced
    for signature in subject.pack.signatures:
        own = [example for example in subject.examples if example.signature == signature.id]
        if not signature.source.strip():
            yield subject.finding("SK403", "the place where it was seen is missing", signature, "source")
        for wanted, code, key in ((True, "SK401", "hits"), (False, "SK402", "misses")):
            if not any(one.wanted is wanted and not one.todo for one in own):
                yield subject.finding(code, f"no example in {key}, none in screens/{signature.id}", signature, key)
        if signature.id not in subject.unsure:
            yield from _hits(subject, signature, [one for one in own if one.wanted])
            yield from _misses(subject, signature, [one for one in own if not one.wanted])


def _hits(subject: Subject, signature: Signature, hits: list[Example]) -> Iterator[Finding]:
    """Findings on hits: matched by no signature, or taken by another one."""
    taken: list[tuple[Example, Match]] = []
    for hit in hits:
        match = decided(subject.alone, hit.screen).match
        if match is not None and _is(match, subject, signature):
            match = decided(subject.together, hit.screen).match
        won = match is not None and _is(match, subject, signature)
        if hit.todo:
            if won:
                yield _on(subject, "SK405", hit, "a known gap that is met now: rename it to hit-")
        elif match is None:
            yield _on(subject, "SK404", hit, "a hit that nothing matches")
        elif not won and not gives_way(subject.pack, match, signature):
            taken.append((hit, match))
        elif won and (name := unfound_under(subject.together, subject.pack, hit)):
            yield _on(subject, "SK408", hit, f"a hit that is not found where {name} runs")
    if taken and len(taken) == sum(not hit.todo for hit in hits):
        hit, match = taken[0]
        why = f"every hit is taken by an earlier one: {hit.name} by {_name(match)}"
        yield subject.finding("SK202", why, signature, *_key(hit))
        return
    for hit, match in taken:
        yield _on(subject, "SK203", hit, f"a hit that {_name(match)} takes")


def _misses(subject: Subject, signature: Signature, misses: list[Example]) -> Iterator[Finding]:
    for miss in misses:
        match = decided(subject.alone, miss.screen).match
        clean = match is None or match.signature.state is not signature.state
        if miss.todo and clean:
            yield _on(subject, "SK405", miss, "a known gap that is met now: rename it to miss-")
        elif not miss.todo and not clean and match is not None:
            yield _on(subject, "SK404", miss, f"a miss that {_name(match)} matches")


def _on(subject: Subject, code: str, example: Example, why: str) -> Finding:
    return subject.finding(code, f"{example.name}: {why}", example.signature, *_key(example))


def _key(example: Example) -> tuple[str, int | None]:
    """An example's place in the pack file; a screen file's is its signature's line, with its name."""
    key, bracket, number = example.name.removesuffix("]").partition("[")
    return (key, int(number) - 1) if bracket and number.isdecimal() else ("id", None)


def _is(match: Match, subject: Subject, signature: Signature) -> bool:
    return match.pack.name == subject.pack.name and match.signature.id == signature.id


def _name(match: Match) -> str:
    return f"{match.pack.name}:{match.signature.id}"
