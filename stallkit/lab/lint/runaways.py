"""Patterns whose cost grows faster than the text, as recheck finds them (part of redos-linter, extra ``lint``).

recheck makes up texts, counts the steps that a backtracking search takes over each, and says how the count grows.  It
counts instead of timing, and its chance has a fixed seed: the result is the same on every machine.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Iterator, Sequence

from stallkit.core.bounds import most_steps
from stallkit.core.needs import by_line
from stallkit.core.rooms import Room
from stallkit.core.screen import REGION_COLUMNS
from stallkit.core.signature import Clause
from stallkit.lab.lint.ecmascript import ecmascript
from stallkit.lab.lint.findings import Finding, brief
from stallkit.lab.lint.subject import Subject

__all__ = ["MISSING", "check", "vulnerable"]

MISSING = "nothing looked for runaway patterns: pip install 'stallkit[lint]'"
# On one line of 500 characters a quadratic pattern takes 125,000 steps or more, and a linear one may take 90,000.
_ALWAYS = 40_000
_A_CHARACTER = 100
_MOST = 1_000_000
# recheck's own limits take seconds for each pattern; with these it takes a fraction of one, and finds the same.
_SEARCH = {
    "checker": "fuzz", "timeout": 10_000, "seedingTimeout": None, "incubationTimeout": None, "attackTimeout": None,
    "incubationLimit": 5_000, "maxInitialGenerationSize": 100, "maxGenerationSize": 30, "maxIteration": 3,
    "maxGeneStringSize": 300, "mutationSize": 10, "crossoverSize": 10,
}  # fmt: skip
_CHECKER = """
const {recheck} = await import(Deno.args[0]);
const jobs = JSON.parse(await new Response(Deno.stdin.readable).text());
console.log(JSON.stringify(jobs.map(([pattern, flags, limits]) => recheck.checkSync(pattern, flags, limits))));
"""


def check(subject: Subject, notes: list[str], thorough: bool = True) -> Iterator[Finding]:
    """Findings on patterns that run away, if `thorough`; checks that failed are added to `notes`."""
    clauses = dict.fromkeys(clause for *_, clause in subject.clauses() if clause.pattern is not None)
    found = vulnerable([clause for clause in clauses if not _proven(clause)], notes) if thorough else {}
    for signature, role, item, clause in subject.clauses():
        if clause in found:
            growth, attack = found[clause]["complexity"], found[clause]["attack"]
            grave = growth["type"] == "exponential" or growth["degree"] > 2
            repeated = [pump["pump"] for pump in attack["pumps"]]
            if not grave and any("\n" in pump for pump in repeated) and _has_few_rows(_room(clause)):
                continue
            cost = growth["summary"].removesuffix(" (fuzz)")
            why = f"the cost of {brief(clause)} is {cost} on a text that repeats {' and '.join(map(repr, repeated))}"
            yield subject.finding("SK103" if grave else "SK104", why, signature, role, item)


def vulnerable(clauses: Sequence[Clause], notes: list[str]) -> dict[Clause, dict[str, Any]]:
    """What recheck says of each clause that some text of its region makes run long."""
    if not clauses:
        return {}
    try:
        import deno
        import redos_linter
    except ImportError:
        notes.append(MISSING)
        return {}
    bundle = Path(redos_linter.__file__).with_name("recheck.bundle.js")
    jobs = [(*ecmascript(one, _room(one).rows == 1), _limits(_room(one))) for one in clauses]
    try:  # the program may be missing although its package is there
        command = [deno.find_deno_bin(), "eval", "--ext=js", _CHECKER, bundle.as_uri()]
        done = subprocess.run(command, input=json.dumps(jobs), capture_output=True, text=True, check=True)
        results = dict(zip(clauses, json.loads(done.stdout), strict=True))
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        said = str(getattr(error, "stderr", None) or error).strip().splitlines()[-1:]
        notes.append(f"nothing looked for runaway patterns, recheck failed: {''.join(said)}")
        return {}
    unknown = [clause for clause, result in results.items() if result["status"] == "unknown"]
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        notes.append(f"recheck cannot tell whether {brief(unknown[0])}{more} runs away")
    return {clause: result for clause, result in results.items() if result["status"] == "vulnerable"}


def _proven(clause: Clause) -> bool:
    """Whether no text can take so many steps, so that none has to be tried."""
    return most_steps(clause, _room(clause)) < _allowed(_room(clause))


def _room(clause: Clause) -> Room:
    return Room(1, REGION_COLUMNS) if by_line(clause) else Room.of(clause.where)


def _has_few_rows(room: Room) -> bool:
    """Whether a search from each row to the end is allowed: recheck bounds the characters of a text, not its rows."""
    return room.rows * room.characters < _allowed(room)


def _allowed(room: Room) -> int:
    return min(_ALWAYS + _A_CHARACTER * room.characters, _MOST)


def _limits(room: Room) -> dict[str, Any]:
    return {**_SEARCH, "maxAttackStringSize": room.characters, "attackLimit": _allowed(room)}
