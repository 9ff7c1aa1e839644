"""The index of an engine's signatures: from the cache, where these packs were in one engine before, else made and kept.

To make it takes as long as all else that is left of loading the packs once they were compiled.
"""

from __future__ import annotations

import pickle
from contextlib import suppress
from hashlib import sha256
from typing import Sequence

from stallkit.cache import Cache, user_cache
from stallkit.core.engine import Rule
from stallkit.core.index import Index, index_of
from stallkit.packs.compiled import fingerprint, plain_value
from stallkit.packs.load import read_from

__all__ = ["installed_index", "through"]

_PROTOCOL = 5


def installed_index(rules: Sequence[Rule]) -> Index:
    """The index of these rules; it is kept only where all their packs are as they are in files."""
    cache = user_cache("packs")
    made_by = fingerprint() if cache else None
    if cache is None or made_by is None:
        return index_of([rule.signature for rule in rules])
    return through(cache, made_by, rules)


def through(cache: Cache, made_by: bytes, rules: Sequence[Rule]) -> Index:
    """The same, from this cache; `made_by` is a `fingerprint`."""
    signatures = [rule.signature for rule in rules]
    packs = {rule.pack.name: rule.pack for rule in rules}
    files = [read_from(pack.signatures) for pack in packs.values()]
    if not files or None in files:  # made by a program, or no pack at all
        return index_of(signatures)
    named = [*(f"{name} {digest}" for name, digest in zip(packs, files, strict=True)), *(rule.name for rule in rules)]
    key = sha256(made_by + "\0".join(named).encode()).digest()
    place = "index-" + sha256("\0".join(sorted(packs)).encode()).hexdigest()[:32]  # one file for each set of packs
    found = cache.read(place, key)
    if found is not None:
        with suppress(Exception):  # whatever bytes that were not written here lead to
            index = plain_value(found)
            if isinstance(index, Index) and len(index.wanted) == len(rules):
                return index
    made = index_of(signatures)
    cache.write(place, key, pickle.dumps(made, _PROTOCOL))
    return made
