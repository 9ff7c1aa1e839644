"""Planted secrets that are written anywhere, and ordinary lines that change: `python benchmarks/secret_count.py`.

The secrets are drawn from `secret_kinds`, by a seed, and go through every place that writes (`secret_sinks`), as a row
of a screen, wrapped over rows, in a frame, and with colours inside.  A secret counts as found where it, or either half
of it, stands in any of the files, control sequences, frames and line ends taken out.  Ordinary lines are those of the
screens in `tests/corpus`, of the packs' screens, and of the folder `--corpus`.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import timeit
from collections import Counter
from pathlib import Path
from typing import Iterator, Sequence

from secret_kinds import ASIDE, FRESH, KINDS, Planted, planted
from secret_sinks import SINKS

from stallkit.core.redact import redact
from stallkit.core.text import strip

ROOT = Path(__file__).parent.parent
HALF = 12  # characters of a secret whose halves are looked for as well


def found_in(secret: str, written: str) -> bool:
    """Whether a secret, or half of it, stands in what was written (as `squeezed` gives it)."""
    plain = squeezed(secret)
    if len(plain) <= 8:  # a short one may be a part of a number, a time or an id
        return re.search(rf"(?<![\w.:+-]){re.escape(plain)}(?![\w.:+-])", written) is not None
    half = len(plain) // 2
    return plain in written or (len(plain) >= HALF and (plain[:half] in written or plain[-half:] in written))


def squeezed(text: str) -> str:
    """A text without what a screen puts between the parts of a word."""
    return re.sub(r"[\s│|\\]+", "", text)


def written_in(folder: Path) -> str:
    """All that stands in a folder's files, JSON and HTML undone; a short secret keeps the blanks around it."""
    content = "\n".join(
        path.read_bytes().decode("utf-8", "replace") for path in sorted(folder.rglob("*")) if path.is_file()
    )
    content = re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), content).replace("\\n", "\n")
    for entity, char in (("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#x27;", "'")):
        content = content.replace(entity, char)
    return strip(content.replace('\\"', '"'))


def count(texts: Sequence[Planted]) -> dict[str, list[tuple[Planted, str]]]:
    """The secrets that each sink let through."""
    leaks: dict[str, list[tuple[Planted, str]]] = {}
    for name, sink in SINKS.items():
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "in"
            folder.mkdir(mode=0o700)
            sink(folder, texts)
            spaced = written_in(folder)
        whole = squeezed(spaced)
        leaks[name] = [
            (one, secret)
            for one in texts
            for secret in one.secrets
            if found_in(secret, spaced if len(squeezed(secret)) <= 8 else whole)
        ]
    return leaks


def ordinary(corpus: Path | None) -> Iterator[str]:
    """Every different screen of the corpora and of the packs."""
    seen: set[str] = set()
    files = [*(ROOT / "tests/corpus").glob("*.jsonl"), *(corpus.glob("*.jsonl") if corpus else ())]
    lines = (json.loads(line) for path in sorted(files) for line in path.read_text().splitlines())
    screens = (line["screen"] for line in lines if line.get("screen"))
    texts = ("\n".join(one) if isinstance(one, list) else one for one in screens)
    packs = (path.read_text() for path in sorted(ROOT.glob("plugins/*/src/*/screens/**/*.txt")))
    for text in (*texts, *packs):
        if text not in seen:
            seen.add(text)
            yield text


def changed(texts: Iterator[str]) -> tuple[int, list[tuple[str, str]]]:
    """How many lines that are not blank there are, and which change."""
    number, found = 0, []
    for text in texts:
        before, after = text.split("\n"), redact(text).split("\n")
        number += sum(not line.isspace() and line != "" for line in before)
        found += [(was, now) for was, now in zip(before, after, strict=True) if was != now]
    return number, found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--number", type=int, default=600, help="texts to plant for each set of kinds")
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--corpus", type=Path, default=ROOT.parent / "shared/corpus", help="a folder of *.jsonl")
    options.add_argument("--show", action="store_true", help="print what was found, and what changed")
    given = options.parse_args()
    for name, kinds in (("known", KINDS), ("aside", ASIDE), ("fresh", FRESH)):
        texts = planted(kinds, given.number, given.seed)
        leaks = count(texts)
        anywhere = {(one.text, secret): one.kind for found in leaks.values() for one, secret in found}
        total = sum(len(one.secrets) for one in texts)
        print(f"{name}: {len(anywhere)} of {total} secrets of {len(kinds)} kinds found ({len(anywhere) / total:.2%})")
        for sink, found in leaks.items():
            print(f"  {sink:20} {len(found)}")
        for kind, number in Counter(anywhere.values()).most_common():
            print(f"  of the kind {kind!r}: {number}")
        if given.show:
            for (text, secret), kind in anywhere.items():
                where = [sink for sink, found in leaks.items() if any(one.text == text for one, _ in found)]
                print(f"    {kind}: {secret!r} of {text!r} in {', '.join(where)}")
    number, lines = changed(ordinary(given.corpus if given.corpus.is_dir() else None))
    print(f"ordinary: {len(lines)} of {number} lines changed ({len(lines) / number:.2%})")
    for was, now in lines if given.show else ():
        print(f"    {was.strip()}\n    {now.strip()}")
    for name, text in (("prose", prose()), ("hostile", "password=token: sk-eyJ-" * 435)):
        for size in (len(text), 4 * len(text)):
            shown = (text * 4)[:size]
            spent = min(timeit.repeat(lambda text=shown: redact(text), number=1, repeat=5))
            print(f"time: {spent * 1000:.1f} ms for {size} characters of {name}")


def prose() -> str:
    """A screen of 200 columns and 50 rows, full of English."""
    rows, row = [], ""
    for word in (ROOT / "docs/watch.md").read_text().split():
        if len(row) + len(word) >= 200:
            rows.append(row)
            row = ""
        row += f" {word}" if row else word
    return "\n".join(rows[:50])


if __name__ == "__main__":
    main()
