r"""Which signatures are left out for which program, so that no program is judged by signatures made from it alone.

A signature is left out for a program where its ``source`` names that program and no other, or where its captured hits
(``screens/<signature>/hit-*.txt``, ``program`` in the front block) are of that program and no other.  One that names
no program stays.  How the sources of packs name programs:

* up to the word ``captured`` a list: ``prompts 2.4, enquirer 2.4 captured at 80x24``;
* elsewhere every name with a version: ``the row style of Acme 2.1.197``;
* ``common form of clack`` names clack, ``others: common form`` names none.

Packs and corpora spell names differently, so two are the same where a simpler form of them agrees: `spellings`.  That
may take two programs for one (``commitizen (npm)``, ``commitizen (py)``), and then more is left out, never less.
"""

from __future__ import annotations

import contextlib
import re
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Iterable, Iterator, Mapping, Sequence

from stallkit.detect.signature import Pack, Signature
from stallkit.errors import PackFormatError
from stallkit.packs.registry import find
from stallkit.packs.screenfile import parse_screen

# For each signature (``pack:id``) the sets of programs that its evidence names: its source's, and its hits'.
Named = Mapping[str, tuple[frozenset[str], ...]]

# For each distribution the folders of its packages.
PackageDirs = Mapping[str, Sequence[Traversable]]

_SEPARATOR = re.compile(r",\s*|\s+and\s+|:\s+")
_VERSION = re.compile(r"\s+v?\d[\w.+~-]*(?=\s|$)")
_NUMBER = re.compile(r"v?[\d.]+")
_ASIDE = re.compile(r"^(?:notes?|others?\b.*|not\b.*)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the)\s+(?:program in\s+)?", re.IGNORECASE)
_LONGEST = 3  # words of a name without a version: longer text is prose
_ENDING = re.compile(r"(?:-?(?:cli|code)|\d+)$")


def spellings(name: str) -> frozenset[str]:
    """The simpler forms of a program's name: two names with a common form are the same program.

    Small letters without blanks, hyphens and brackets; the first word (``node readline`` is node); each also without a
    number, ``cli`` or ``code`` at its end.

    >>> sorted(spellings("Acme Code") & spellings("acme-code"))
    ['acme', 'acmecode']
    >>> spellings("inquirer") & spellings("@inquirer/prompts")
    frozenset()
    """
    name = name.strip().lower()
    words = name.split()
    shapes = {name, *words[:1]}
    shapes |= {_ENDING.sub("", shape) for shape in shapes}
    return frozenset(flat for shape in shapes if (flat := re.sub(r"[^\w@/]|_", "", shape)))


def source_names(source: str) -> frozenset[str]:
    """The programs that a signature's source names, as it spells them.

    >>> sorted(source_names("prompts 2.4 and enquirer 2.4 captured at 80x24; others: common form"))
    ['enquirer', 'prompts']
    """
    return frozenset(name for part in source.split(";") for name in _part_names(part.strip()))


def _part_names(part: str) -> Iterator[str]:
    head, common, tail = part.partition("common form")
    if common:
        head = tail.removeprefix(" of ") if tail.startswith(" of ") else ""
    listed, captured, _ = head.partition("captured")
    for entry in _SEPARATOR.split(listed):
        version = _VERSION.search(entry)
        name = (entry[: version.start()] + entry[version.end() :] if version else entry).strip()
        if version:
            name = name.rpartition(" of ")[2]  # the row style of Acme 2.1.197
        name = _ARTICLE.sub("", name)
        known = version or ((captured or common) and len(name.split()) <= _LONGEST and not _NUMBER.fullmatch(name))
        if name and known and not _ASIDE.match(name):
            yield name


def named_by(packs: Iterable[Pack], package_dirs: PackageDirs) -> Named:
    """The programs that the signatures of packs name."""
    return {
        f"{pack.name}:{one.id}": _evidence(one, package_dirs.get(pack.distribution, ()))
        for pack in packs
        for one in pack.signatures
    }


def installed_package_dirs() -> PackageDirs:
    """The folders of the installed packs' screens; a package that cannot be imported has none."""
    package_dirs: dict[str, list[Traversable]] = {}
    for found in find():
        with contextlib.suppress(Exception):  # a pack's code may fail, and the registry reports it
            name = re.sub(r"[_.]", "-", found.distribution.lower())
            package_dirs.setdefault(name, []).append(resources.files(found.module))
    return package_dirs


def _evidence(signature: Signature, package_dirs: Iterable[Traversable]) -> tuple[frozenset[str], ...]:
    fronts = (front for home in package_dirs for front in hits(home / "screens" / signature.id))
    named = frozenset(str(front["program"]) for front in fronts if front.get("program"))
    return tuple(names for names in (source_names(signature.source), named) if names)


def hits(folder: Traversable) -> Iterator[Mapping[str, Any]]:
    """The front blocks of a signature's hits; without files that cannot be read, which check_pack and lint report."""
    if not folder.is_dir():
        return
    for file in folder.iterdir():
        if file.name.startswith("hit-") and file.name.endswith(".txt"):
            try:
                found = parse_screen(file.read_bytes().decode("utf-8", "replace"), str(file))
            except PackFormatError:
                continue
            yield found.front


def left_out(program: str, named: Named) -> frozenset[str]:
    """The signatures (``pack:id``) that a program's cases are judged without."""
    own = spellings(program)
    return frozenset(
        rule
        for rule, evidence in named.items()
        if any(all(spellings(name) & own for name in names) for names in evidence)
    )
