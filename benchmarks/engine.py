"""What `Engine.detect` costs beside a plain loop over the same packs: `python benchmarks/engine.py`.

Real packs on real screens first.  Then made-up signatures, 5,000 against 6: phrases of three words from the corpus, in
the shape that shipped packs have: patterns nearly all, a third of them at the cursor, one in five in any case, one in
fifty a bare chevron.  At last a pack of runaway patterns.
"""

from __future__ import annotations

import json
import random
import re
import statistics
import time
from functools import partial
from pathlib import Path
from typing import Callable

from timing import interleaved, table

from stallkit import Clause, Engine, Pack, Screen, Signature
from stallkit.detect.layout import read_layout
from stallkit.detect.matcher import last_in
from stallkit.detect.rows import read_row

CORPUS = sorted((Path(__file__).parent.parent / "tests" / "corpus").glob("*.jsonl"))


def screens() -> list[Screen]:
    """Every screen of the tests' corpus."""
    cases = [json.loads(line) for path in CORPUS for line in path.read_text("utf-8").splitlines()]
    return [Screen.from_text(case["screen"], cursor=(case["cursor_x"], case["cursor_y"])) for case in cases]


def signatures(number: int, shown: list[Screen], without: Screen | None = None) -> list[Signature]:
    """Made-up signatures of words that real screens are full of, the same ones in every run.

    `without` leaves out every word that is on one screen.
    """
    words = sorted({word for screen in shown for word in re.findall(r"[A-Za-z][\w'-]{2,}[?:.,]?", screen.text)})
    if without is not None:
        words = [word for word in words if word.lower() not in without.text.lower()]
    dice = random.Random(number)
    return [
        Signature(id=f"s{n}", title="", state="waiting", kind="text", all_of=_all_of(n, dice.choices(words, k=3)))
        for n in range(number)
    ]


def _all_of(number: int, words: list[str]) -> list[Clause]:
    first, second, third = map(re.escape, words)
    in_any_case = number % 5 == 4
    if number % 50 == 49:
        return [Clause(pattern=r"^\s*\?\s.*[›❯▸▶]\s*$", where="prompt_line")]
    if number % 30 == 0:
        return [Clause(text=" ".join(words))]
    if number % 3 == 1:
        pattern = rf"\b{first} {second} {third}\b.{{0,40}}[?:] ?(?:\[[yY]/[nN]\])?\s*$"
        return [Clause(pattern=pattern, where="prompt_line", ignore_case=in_any_case)]
    return [Clause(pattern=rf"^[\s│┃]*(?:❯ )?{first} {second} (?:the |a )?{third}\b", ignore_case=in_any_case)]


def re_loop(made: tuple[Signature, ...]) -> Callable[[str], str | None]:
    """The plain way: compiled once, then every clause of every signature in order."""
    rules = [
        (
            one.id,
            [
                re.compile(
                    clause.pattern or re.escape(clause.source), re.MULTILINE | (re.I if clause.ignore_case else 0)
                ).search
                for clause in one.all_of
            ],
        )
        for one in made
    ]

    def first(text: str) -> str | None:
        return next((name for name, clauses in rules if all(search(text) for search in clauses)), None)

    return first


def typical(shown: list[Screen]) -> Screen:
    """The screen nearest to 2 KB on which no chevron stands at the cursor."""
    quiet = [one for one in shown if one.prompt_line.text.rstrip()[-1:] not in "›❯▸▶"]
    return min(quiet, key=lambda one: abs(len(one.text.encode()) - 2048))


def flatness(shown: list[Screen]) -> None:
    """t(5,000) / t(6), both engines in turns on one screen that has none of their words, and on others that have."""
    screen = typical(shown)
    others = [one for one in shown if 1000 < len(one.text) < 4000][:20]
    for name, without, quiet in (("no literal there", screen, [screen]), ("some literals there", None, others)):
        few, many = (Engine([Pack(name="made_up", signatures=signatures(n, shown, without))]) for n in (6, 5000))
        ways = {"few": partial(_all, few, quiet), "many": partial(_all, many, quiet)}
        ways |= {"few, new": partial(_all_new, few, quiet), "many, new": partial(_all_new, many, quiet)}
        taken = interleaved(ways, rounds=41)
        known, new = taken["many"] / taken["few"], taken["many, new"] / taken["few, new"]
        print(f"t(5,000) / t(6), {name}: {known:.2f} with lines that were seen before, {new:.2f} with new ones")
    print()


def _all_new(engine: Engine, shown: list[Screen]) -> None:
    for screen in shown:
        forget(engine)
        engine.detect(screen)


def forget(engine: Engine) -> None:
    """Forget what rows, regions and layouts of earlier screens had."""
    read_row.cache_clear()
    read_layout.cache_clear()
    last_in.cache_clear()
    engine._keywords._row.cache_clear()


def _all(engine: Engine, shown: list[Screen]) -> None:
    for screen in shown:
        engine.detect(screen)


def real(shown: list[Screen]) -> None:
    """The installed packs on screens of the corpus: new, with one line changed since the look before, unchanged."""
    engine = Engine.default()
    plain = re_loop(engine.signatures)
    _all(engine, shown)  # every pattern is compiled
    passed = [len(engine._keywords.among(one)) for one in shown]
    print(f"{len(engine.signatures)} signatures of the installed packs on {len(shown)} screens of tests/corpus;")
    print(f"{statistics.median(passed):.0f} have their keywords on the median screen, {max(passed)} at most.\n")
    sizes = {
        "as captured": [one for one in shown if one.text.strip()][:: len(shown) // 40],
        "80x24 to 10 KB": [_filled(shown, place, 80, 125) for place in range(0, len(shown), len(shown) // 8)],
        "200x50, 10 KB": [_filled(shown, place, 200, 50) for place in range(0, len(shown), len(shown) // 8)],
    }
    rows = []
    for name, screens in sizes.items():
        loop, ratios = _ways(engine, plain, screens)
        rows.append([name, f"{loop * 1e6:,.0f}", *(f"{ratio:,.1f}x" for ratio in ratios.values())])
    table(["screens", "`re` loop, us", *ratios], rows)


def real_ratios(shown: list[Screen]) -> dict[str, float]:
    """How many times faster than the plain loop detection is on the screens as captured."""
    engine = Engine.default()
    _all(engine, shown)
    return _ways(engine, re_loop(engine.signatures), [one for one in shown if one.text.strip()][:: len(shown) // 40])[1]


def _filled(shown: list[Screen], place: int, columns: int, rows: int) -> Screen:
    """A screen of this size, full of lines of the corpus."""
    words = " ".join(" ".join(one.text.split()) for one in (shown * 2)[place : place + 200])
    return Screen.from_text("\n".join(words[row * columns : (row + 1) * columns] for row in range(rows)))


def _ways(engine: Engine, plain: Callable[[str], str | None], screens: list[Screen]) -> tuple[float, dict[str, float]]:
    """The plain loop in seconds a screen, and how many times faster detection is."""
    clocks = iter([[_with_clock(one, second) for one in screens] for second in range(400)])
    seen = [engine.detect(one) for one in screens]
    again = [Screen(one.lines, one.cursor) for one in screens]
    _all(engine, next(clocks))

    def new() -> None:
        for one in again:
            forget(engine)
            engine.detect(Screen(one.lines, one.cursor))

    def loop() -> None:
        for one in screens:
            plain(one.text)

    forgetful = interleaved({"plain": loop, "new": new}, rounds=41)  # apart: it forgets what the others remember
    taken = interleaved(
        {
            "plain": loop,
            "one line changed": lambda: _all(engine, next(clocks)),
            "unchanged": lambda: [engine.detect(one, since=was) for one, was in zip(again, seen, strict=True)],
        },
        rounds=41,
    )
    ratios = {"new": forgetful["plain"] / forgetful["new"]}
    ratios |= {name: taken["plain"] / taken[name] for name in ("one line changed", "unchanged")}
    return taken["plain"] / len(screens), ratios


def _with_clock(screen: Screen, second: int) -> Screen:
    """The screen with a clock in a line above the cursor's."""
    lines = list(screen.lines)
    rows = [row for row, line in enumerate(lines) if line.strip() and not (screen.cursor and screen.cursor.row == row)]
    row = rows[len(rows) * 2 // 3] if rows else 0
    lines[row] += f" {second // 60:02}:{second % 60:02}"
    return Screen(tuple(lines), screen.cursor)


def hostile() -> None:
    """A pack of runaway patterns, on screens made for them: the longest single call."""
    # What they end in is only looked at, so that it is no keyword.
    sources = ["(a|aa)+(?!.)", "(a+)+(?!.)", "(.*)*(?=x)", r"(\w+\s?)+(?=:)", "(?:a|b|ab)*(?=c)", "(?i)(A|aa)+(?=!)"]
    made = [
        Signature(id=f"s{n}", title="", state="waiting", kind="text", all_of=[Clause(pattern=source)])
        for n, source in enumerate(sources * 10)
    ]
    for number in (1, len(made)):
        engine = Engine([Pack(name="hostile", signatures=made[:number])])
        engine.detect(Screen.from_text("warm up"))
        calls = []
        for length in (30, 100, 1000, 7000):
            for height in (1, 40):
                screen = Screen.from_text("\n".join(["a" * length + "?"] * height))
                for _ in range(3):
                    wall, own = time.perf_counter(), time.process_time()
                    engine.detect(screen)
                    calls.append((time.process_time() - own, time.perf_counter() - wall))
        own, wall = (max(column) * 1e3 for column in zip(*calls, strict=True))
        print(f"hostile pack, {number} patterns, {len(calls)} calls: worst {own:.0f} ms CPU, {wall:.0f} ms wall")


def main() -> None:
    shown = screens()
    real(shown)
    flatness(shown)
    hostile()


if __name__ == "__main__":
    main()
