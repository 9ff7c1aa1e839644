"""Patterns whose cost grows faster than the text: their steps over texts made for that are counted.

Texts come from the pattern's own repeats (`pumps`) and, with the extra ``lint``, from recheck, which is part of
redos-linter.  The limits are a number of steps a character for a search through a full region (a warning), and a
million for a single line (an error: it is exponential, or nearly).  Steps are counted (`steps`), and not timed: the
result is the same on every machine.
"""

from __future__ import annotations

import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

from attrs import frozen

from stallkit.core.screen import REGION_COLUMNS
from stallkit.core.signature import Clause
from stallkit.lab.lint.bounds import Room, most_steps
from stallkit.lab.lint.ecmascript import ecmascript
from stallkit.lab.lint.findings import Finding, brief
from stallkit.lab.lint.pumps import NOTHING, pumps
from stallkit.lab.lint.steps import Uncounted, steps
from stallkit.lab.lint.subject import Subject

__all__ = ["MISSING", "Attack", "allowed", "attacks", "check", "proven", "suspects", "worst"]

MISSING = "only plain runaways were looked for; recheck looks deeper: pip install 'stallkit[lint]'"
# A step took 1 to 10 ns where this was written, mostly 6: a million are 6 ms, a quarter of a pattern's budget.  On one
# line of 500 characters a quadratic pattern takes 125,000 or more, and a linear one may take 90,000.
_ALWAYS = 40_000
_A_CHARACTER = 100
_MOST = 1_000_000  # on one line; no text is counted further
_FIRST = REGION_COLUMNS  # characters of a region that every text is tried on
_WORST = 3  # texts are tried at the region's full size
_DEADLINE_S = 300.0  # for all patterns; recheck's own limit for one is below

# redos-linter's own command gives recheck ten seconds a pattern and lets it guess at texts: 90 to 270 s for a pack of
# this repository.  Its exact method decides few, but those are certain: of 289 unproven patterns of this repository 20
# within 50 ms each, 23 within 200, 25 within 400.  A busy machine reports fewer.
RECHECK_MS = 50
_CHECKER = """
const {recheck} = await import(Deno.args[0]);
const patterns = JSON.parse(await new Response(Deno.stdin.readable).text());
recheck.checkSync("^(?:a|a)*b$", "m", {checker: "automaton"});  // the first one takes a second, whatever it is
const limits = {checker: "automaton", timeout: Number(Deno.args[1])};
const check = (pattern) => {
  try {
    const {status, attack} = recheck.checkSync(pattern, "m", limits);
    return {status, attack};
  } catch (error) { return {status: "unknown", attack: String(error)}; }
};
console.log(JSON.stringify(patterns.map(check)));
"""


@frozen
class Attack:
    """A text of any length that may make a pattern run long: pairs of a prefix and what is repeated, then the end."""

    repeated: tuple[tuple[str, str], ...]
    end: str

    def text(self, size: int) -> str:
        """The text, about this many characters long."""
        fixed = len(self.end) + sum(len(prefix) for prefix, _ in self.repeated)
        times = max(1, (size - fixed) // sum(len(pump) for _, pump in self.repeated))
        return "".join(prefix + pump * times for prefix, pump in self.repeated) + self.end

    def texts(self, room: Room) -> Iterator[str]:
        """The text in one line, in long lines and in short ones, as far as there is room."""
        line = self.text(REGION_COLUMNS)
        if room.rows == 1:
            yield line.replace("\n", " ")[-REGION_COLUMNS:]
            return
        before = "".join(prefix for prefix, _ in self.repeated)
        pump = "".join(pump for _, pump in self.repeated)
        wide = (pump * REGION_COLUMNS)[:REGION_COLUMNS]
        for first, repeated in ((line, line), (before + wide, wide), (before + pump, pump), (before + pump,) * 2):
            times = min(room.rows, room.characters // (len(repeated) + 1) + 1)
            yield _fitted("\n".join([first, *[repeated] * times, self.end]), room)


def _fitted(text: str, room: Room) -> str:
    """The text as the region would show it, but with the beginning kept rather than the end."""
    lines = [line[:REGION_COLUMNS].rstrip() for line in text.split("\n")]
    last = lines.pop() if len(lines) > 1 else ""
    kept = "\n".join(lines[: room.rows - 1])[: room.characters - len(last) - 1]
    return f"{kept}\n{last}"


def allowed(room: Room) -> int:
    """How many steps a search through a full region may take."""
    return min(_ALWAYS + _A_CHARACTER * room.characters, _MOST)


def check(subject: Subject, notes: list[str], thorough: bool = True) -> Iterator[Finding]:
    """Findings on patterns that run away; checks that failed are added to `notes`.

    `thorough` runs recheck as well, beside the count of the other texts.
    """
    clauses = list(dict.fromkeys(clause for *_, clause in subject.clauses() if clause.pattern is not None))
    unproven = [clause for clause in clauses if not proven(clause)]
    found: dict[Clause, tuple[str, int, int]] = {}
    uncounted: set[Clause] = set()
    with ThreadPoolExecutor(1) as beside:
        doubts = beside.submit(lambda: list(suspects(unproven, notes) if thorough else ()))
        plain = {clause: [Attack(((before, pump),), end) for before, pump, end in pumps(clause)] for clause in unproven}
        _count(plain, found, uncounted)
        _count({clause: [*plain[clause], *attacks(one)] for clause, one in doubts.result()}, found, uncounted)
    if uncounted:
        notes.append(f"the steps of {len(uncounted)} of {len(clauses)} patterns could not be counted")
    for signature, role, item, clause in subject.clauses():
        if clause in found:
            code, taken, size = found[clause]
            why = f"{brief(clause)} takes {taken:,} steps or more on {size:,} characters"
            yield subject.finding(code, why, signature, role, item)


def _count(
    doubted: Mapping[Clause, Sequence[Attack]], found: dict[Clause, tuple[str, int, int]], uncounted: set[Clause]
) -> None:
    """Add what some texts show of their patterns, as `worst` tells it."""
    for clause, texts in doubted.items():
        try:
            trouble = worst(clause, texts)
        except Uncounted:
            uncounted.add(clause)
        else:
            if trouble is not None:
                found[clause] = trouble


def proven(clause: Clause) -> bool:
    """Whether no text can make the clause a finding, so that none has to be tried."""
    room = Room.of(clause.where)
    on_a_line = most_steps(clause, Room(1, REGION_COLUMNS))
    return on_a_line < _MOST and most_steps(clause, room) < allowed(room)


def worst(clause: Clause, texts: Sequence[Attack]) -> tuple[str, int, int] | None:
    """The code of the finding on a clause, with the steps that some text takes and its length; None for no finding.

    No text is counted further than a million steps.  Raises Uncounted.
    """
    room = Room.of(clause.where)
    most = allowed(room)
    counted = cache(partial(steps, clause, most=_MOST))  # many attacks are the same text
    for attack in texts if most_steps(clause, Room(1, REGION_COLUMNS)) >= _MOST else ():  # else it is proven
        line = attack.text(REGION_COLUMNS).replace("\n", " ")
        if counted(line) >= _MOST:
            return "SK103", _MOST, len(line)
    if most_steps(clause, room) < most:
        return None
    small = Room(room.rows, min(room.characters, _FIRST))
    costs: dict[Attack, float] = {}
    for attack in texts:
        taken, size = max((counted(text), len(text)) for text in attack.texts(small))
        if taken >= most:
            return "SK104", most, size
        costs[attack] = taken / size
    for attack in sorted(costs, key=costs.__getitem__, reverse=True)[:_WORST]:
        for text in attack.texts(room):
            if counted(text) >= most:
                return "SK104", most, len(text)
    return None


def suspects(clauses: Sequence[Clause], notes: list[str]) -> Iterator[tuple[Clause, dict[str, Any]]]:
    """Each clause that recheck doubts, with the attack that it found."""
    if not clauses:
        return
    try:
        import deno
        import redos_linter
    except ImportError:
        notes.append(MISSING)
        return
    bundle = Path(redos_linter.__file__).with_name("recheck.bundle.js")
    patterns = json.dumps([ecmascript(clause) for clause in clauses])
    try:  # the program may be missing where its package is not
        command = [deno.find_deno_bin(), "eval", "--ext=js", _CHECKER, bundle.as_uri(), str(RECHECK_MS)]
        done = subprocess.run(command, input=patterns, capture_output=True, text=True, timeout=_DEADLINE_S, check=True)
        results = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        said = str(getattr(error, "stderr", None) or error).strip().splitlines()[-1:]
        notes.append(f"only plain runaways were looked for, recheck failed: {''.join(said)}")
        return
    unknown = [clause for clause, result in zip(clauses, results, strict=True) if result["status"] == "unknown"]
    if unknown:
        notes.append(f"recheck had no time to decide whether {len(unknown)} of {len(clauses)} patterns run away")
    for clause, result in zip(clauses, results, strict=True):
        if result["status"] == "vulnerable":
            yield clause, result["attack"]


def attacks(found: dict[str, Any]) -> Iterator[Attack]:
    """The attack that recheck found, in the characters of a screen.

    A screen has no control characters, and only one of JavaScript's line ends: others replace them.
    """
    for line_end in ("\n", NOTHING):

        def shown(text: str, line_end: str = line_end) -> str:
            return re.sub(r"[\x00-\x09\x0b-\x1f\x7f]", NOTHING, re.sub("[\r\u2028\u2029]", line_end, text))

        repeated = [(shown(str(one["prefix"])), shown(str(one["pump"]))) for one in found.get("pumps") or []]
        if any(pump for _, pump in repeated):
            yield Attack(tuple(repeated), shown(str(found.get("suffix", ""))))
