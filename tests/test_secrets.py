"""A short form of `benchmarks/secret_count.py`: nothing that is planted is written, and ordinary lines stay."""

from __future__ import annotations

from itertools import islice

from secret_kinds import ASIDE, ATTACKED, FRESH, KINDS, LAST, NEWEST, THIRD, planted
from secret_search import changed, count, found_in, ordinary, squeezed
from secret_sinks import SINKS

from stallkit.redact.redact import redact
from stallkit.terminal.text import strip

ALL = {**KINDS, **ASIDE, **FRESH, **THIRD, **LAST, **ATTACKED, **NEWEST}


def test_planted_secrets_are_masked() -> None:
    """Each kind as a row, wrapped, framed and coloured: at most one of a hundred stays."""
    texts = planted(ALL, 8 * len(ALL), seed=3)
    stays = []
    for one in texts:
        shown = strip(f"{redact(one.text)}\n{redact(one.screen)}")
        stays += [(one.kind, secret) for secret in one.secrets if found_in(secret, _searched(secret, shown))]
    assert len(ALL) >= 250 and len(stays) <= len(texts) // 100, stays


def test_planted_secrets_are_written_nowhere() -> None:
    """Every sixth kind through every place that writes."""
    texts = planted({kind: ALL[kind] for kind in sorted(ALL)[::6]}, 32, seed=9)
    assert len(SINKS) >= 14
    assert not {name: found for name, found in count(texts).items() if found}


def test_the_search_finds_what_is_not_masked() -> None:
    for one in planted(ALL, 2 * len(ALL), seed=4):
        for text in (f"it asks: {one.text}\n", strip(one.screen)):
            assert all(found_in(secret, _searched(secret, text)) for secret in one.secrets), one


def test_ordinary_lines_stay() -> None:
    """Every eighth screen of the corpora and of the packs: at most one line of two hundred changes."""
    number, found = changed(islice(ordinary(None), 0, None, 8))
    assert number > 3_000 and len(found) <= number // 200, found


def _searched(secret: str, text: str) -> str:
    return text if len(squeezed(secret)) <= 8 else squeezed(text)
