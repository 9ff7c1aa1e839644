"""How right the installed packs are on labelled screens: `python benchmarks/accuracy.py [CORPUS...] [--misses]`."""

import argparse
from pathlib import Path

from stallkit import Engine
from stallkit.lab.corpus import load
from stallkit.lab.evaluate import evaluate

CORPUS = Path(__file__).parent.parent / "tests" / "corpus"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="*", type=Path, default=sorted(CORPUS.glob("*.jsonl")))
    parser.add_argument("--misses", action="store_true", help="list every case whose state was not told right")
    parser.add_argument("--program", help="only cases of this program")
    options = parser.parse_args()
    engine = Engine.default()
    for path in options.corpus:
        cases = [case for case in load(path) if options.program in (None, case.program)]
        for title, chosen in (("screen only", [case.screen_only for case in cases]), ("with facts", cases)):
            found = evaluate(chosen, engine)
            waiting, sure = found["waiting"], found["sure"]
            print(
                f"{path.name}, {title}: {found['cases']} cases; waiting P {waiting['precision']} R {waiting['recall']}"
                f" F1 {waiting['f1']}; sure P {sure['precision']} R {sure['recall']};"
                f" states {found['states']['accuracy']}; kinds {found['kinds']['accuracy']};"
                f" wrong keys {found['wrong_keys']}; right keys {found['right_keys']}"
            )
        if options.misses:
            for miss in found["misses"]:
                print(f"  {miss['id']}: is {miss['true']}, said {miss['predicted']} ({miss['signature']})")


if __name__ == "__main__":
    main()
