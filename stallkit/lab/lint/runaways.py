"""Patterns whose time grows without measure: a text that may do it is made up, and then it is tried.

Texts come from the pattern's own repeats (`pumps`) and, with the extra ``lint``, from recheck, which redos-linter
carries.  Whether one runs long is measured, with the engine and the budget of every look: on a line of
480 characters (an error: it is exponential, or nearly), and on the longest that is ever looked at (a warning).
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from itertools import islice
from pathlib import Path
from typing import Any, Iterable, Iterator, Sequence

from attrs import evolve, frozen

from stallkit.core.matcher import TIMEOUT_S, Budget, find
from stallkit.core.screen import MAX_COLUMNS, Screen
from stallkit.core.signature import Clause
from stallkit.lab.lint.ecmascript import ecmascript
from stallkit.lab.lint.findings import Finding, brief
from stallkit.lab.lint.pumps import NOTHING, pumps
from stallkit.lab.lint.subject import Subject

__all__ = ["MISSING", "Attack", "attacks", "check", "suspects"]

MISSING = "only plain runaways were looked for; recheck looks deeper: pip install 'stallkit[lint]'"
_SHORT = 80 * 6  # characters in one line: six rows of a terminal, wrapped
_LONGEST = MAX_COLUMNS  # of one line: a 200x40 screen that is one
_WORTH_S = TIMEOUT_S / (_LONGEST / _SHORT) ** 2 / 2  # a quadratic pattern that takes less stays within the budget
_TRIES = 24  # texts made up for one pattern
_SLOWEST = 3  # of them are tried at full length
_DEADLINE_S = 300.0  # for all patterns; recheck's own limit for one is below

# redos-linter's own command gives recheck ten seconds a pattern and lets it guess at texts: 90 to 270 s for a pack of
# this repository.  Within 0.2 s a pattern its exact method tells of few, but of those it is certain.  The time is the
# clock's: a busy machine tells of fewer.
RECHECK_MS = 200
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
        """The same, about so many characters long."""
        fixed = len(self.end) + sum(len(prefix) for prefix, _ in self.repeated)
        times = max(1, (size - fixed) // sum(len(pump) for _, pump in self.repeated))
        return "".join(prefix + pump * times for prefix, pump in self.repeated) + self.end


def check(subject: Subject, notes: list[str], thorough: bool = True) -> Iterator[Finding]:
    """Findings on patterns that run away; what could not be found out is added to `notes`.

    `thorough` asks recheck as well, at about 0.2 s a pattern.
    """
    clauses = list(dict.fromkeys(clause for *_, clause in subject.clauses() if clause.pattern is not None))
    doubted = {clause: list(_made_up(clause)) for clause in clauses}
    for clause, attack in suspects(clauses, notes) if thorough else ():
        doubted[clause] += attacks(attack)
    worst = {clause: worst for clause, texts in doubted.items() if (worst := _worst(clause, texts))}
    for signature, role, item, clause in subject.clauses():
        if clause in worst:
            code, size = worst[clause]
            why = f"{brief(clause)} runs out of its budget on {size} characters in one line"
            yield subject.finding(code, why, signature, role, item)


def _made_up(clause: Clause) -> Iterator[Attack]:
    for before, pump, end in islice(pumps(clause), _TRIES):
        yield Attack(((before, pump),), end)


def _worst(clause: Clause, texts: Iterable[Attack]) -> tuple[str, int] | None:
    """The shortest of the two lengths at which some text makes the pattern run out of its budget."""
    _runs_away(clause, "")  # compiles it, which is not what is measured
    slow: list[tuple[float, Attack]] = []
    for attack in texts:
        ran_out, seconds = _runs_away(clause, attack.text(_SHORT))
        if ran_out:
            return "SK103", _SHORT
        slow.append((seconds, attack))
    slowest = sorted(slow, key=lambda one: one[0], reverse=True)[:_SLOWEST]
    for seconds, attack in slowest:
        if seconds > _WORTH_S and _runs_away(clause, attack.text(_LONGEST))[0]:
            return "SK104", _LONGEST
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
        notes.append(
            f"recheck could not tell in time of {len(unknown)} of {len(clauses)} patterns whether they run away"
        )
    for clause, result in zip(clauses, results, strict=True):
        if result["status"] == "vulnerable":
            yield clause, result["attack"]


def attacks(found: dict[str, Any]) -> Iterator[Attack]:
    """The attack that recheck found, in the characters of a screen.

    That holds no control characters, and no line end of JavaScript's but one: others take their place.
    """
    for line_end in ("\n", NOTHING):

        def shown(text: str, line_end: str = line_end) -> str:
            return re.sub(r"[\x00-\x09\x0b-\x1f\x7f]", NOTHING, re.sub("[\r\u2028\u2029]", line_end, text))

        repeated = [(shown(str(one["prefix"])), shown(str(one["pump"]))) for one in found.get("pumps") or []]
        if any(pump for _, pump in repeated):
            yield Attack(tuple(repeated), shown(str(found.get("suffix", ""))))


def _runs_away(clause: Clause, text: str) -> tuple[bool, float]:
    """Whether one search for a pattern ran out of its budget, and how much processor time it took."""
    where = clause.where if clause.where == "prompt_line" else "screen"
    lines = text.split("\n")
    screen = Screen.from_text(text, cursor=(2 * len(lines[-1]), len(lines) - 1))
    clause = evolve(clause, where=where)
    begun = time.process_time()
    ran_out = find(clause, screen, Budget()).held is None
    return ran_out, time.process_time() - begun
