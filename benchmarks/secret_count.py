"""Planted secrets that are written anywhere, and ordinary lines that change: `python benchmarks/secret_count.py`.

The secrets are drawn from `tests/secret_kinds.py`, by a seed, and go through every place that writes
(`tests/secret_sinks.py`), as a row of a screen, wrapped over rows, in a frame, and with colours inside.  A secret
counts as found where it, or either half of it, is in any of the files, without control sequences, frames and line ends.
Ordinary lines are those of the screens in `tests/corpus`, of the packs' screens, and of the folder `--corpus`.
"""

from __future__ import annotations

import argparse
import sys
import timeit
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from secret_kinds import ASIDE, ATTACKED, FRESH, KINDS, LAST, NEWEST, THIRD, UNSEEN, planted
from secret_search import ROOT, changed, count, ordinary

from stallkit.redact.redact import redact


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--number", type=int, default=600, help="texts to plant for each set of kinds")
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--corpus", type=Path, default=ROOT.parent / "shared/corpus", help="a folder of *.jsonl")
    options.add_argument("--show", action="store_true", help="print what was found, and what changed")
    given = options.parse_args()
    sets = {
        "the first four sets": {**KINDS, **ASIDE, **FRESH, **THIRD},
        "the fifth set": LAST,
        "what an attack found, and the sixth set": {**ATTACKED, **NEWEST},
        "the set that was not learnt from": UNSEEN,
    }
    for name, kinds in sets.items():
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
