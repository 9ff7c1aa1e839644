"""Patterns whose time grows faster than the text: they are searched for in texts made for that, and timed.

Texts come from the pattern's own repeats (`pumps`) and, with the extra ``lint``, from recheck, which is part of
redos-linter.  A linear pattern takes a fraction of what a look allows on all that its region can hold, one that grows
with the square or faster many times as much; the limit is between.  A time is taken in multiples of what a known search
takes on the same machine.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Iterator, NamedTuple, Sequence

import regex
from attrs import frozen

from stallkit.detect.matcher import TIMEOUT_S, compiled
from stallkit.detect.pattern import Chars, Edge, Group, Literal, Node, NotUnderstood, Repeat, parsed
from stallkit.detect.signature import Clause
from stallkit.terminal.screen import MAX_LINES, REGION_COLUMNS, REGION_TEXT
from stallkit_lab.lint.findings import Finding, Subject, brief

# --- a pattern in JavaScript's syntax and as a true regular expression, for a checker that reads nothing ---

_MANY = 4  # a higher bound is dropped: each step of a repeat is a state of the checker's automaton


def ecmascript(pattern: str) -> str:
    """The pattern, to be read with the flag ``m``.  Raises NotUnderstood.

    >>> ecmascript("(?>a|b)++[^c](?=d){0,9}")
    '(?:(?:a|b)){1,}[^c](?:(?:)){0,}'
    """
    return _sequence(parsed(pattern))


def _sequence(nodes: Sequence[Node]) -> str:
    return "".join(map(_node, nodes))


def _node(node: Node) -> str:
    match node:
        case Literal(char):
            return char if char.isascii() and char.isalnum() else f"\\u{min(ord(char), 0xFFFF):04x}"
        case Chars():
            return node.source
        case Edge(name):
            return name or "(?:)"
        case Group(branches):
            return f"(?:{'|'.join(map(_sequence, branches))})"
    most = "" if node.most is None or node.most > _MANY else node.most
    return f"(?:{_node(node.node)}){{{min(node.least, _MANY)},{most}}}"


# --- texts that may make a pattern run long ---

NOTHING = "\u00a4"  # the currency sign: hardly any pattern has it
_REPEATS = 30  # a bound below it multiplies the time by no more
_USUAL = " a0-:\n"
_ANYWHERE = (" ", "a", "a ", "0", "-", "? ", "(y) ", "y/n ", "a: ", "\n", "a\n")  # what may fill a screen
_MOST = 8  # pumps tried at one repeat


def pumps(clause: Clause) -> Iterator[tuple[str, str]]:
    """Pairs of a text that leads to a repeat and one that it repeats, each once; some lead to no repeat."""
    try:
        nodes = parsed(clause.pattern or "")
    except NotUnderstood:
        nodes = ()
    alphabet = "".join(dict.fromkeys([*_USUAL, *_literals(nodes)]))
    repeats = list(_repeats(nodes, ""))
    made = [("", pump) for pump in (*_ANYWHERE, *_samples(nodes, "")[:_MOST], *(before for before, _ in repeats))]
    made += [(before, text) for before, inner in repeats for text in _samples([inner], alphabet)[:_MOST]]
    yield from ((before, pump) for before, pump in dict.fromkeys(made) if pump)


def _repeats(nodes: Sequence[Node], before: str) -> Iterator[tuple[str, Node]]:
    """What each repeat without a near bound repeats, with a text that leads to it."""
    for node in nodes:
        if isinstance(node, Repeat):
            if node.most is None or node.most > _REPEATS:
                yield before, node.node
            yield from _repeats([node.node], before)
        elif isinstance(node, Group):
            for branch in node.branches:
                yield from _repeats(branch, before)
        before += next(iter(_samples([node], "")), "")


def _samples(nodes: Sequence[Node], alphabet: str) -> list[str]:
    """Texts that a sequence takes: one for each branch and, for a class, each of the alphabet that it may take."""
    found = [""]
    for node in nodes:
        found = [head + tail for head in found for tail in _choices(node, alphabet)][:_MOST]
    return found


def _choices(node: Node, alphabet: str) -> list[str]:
    match node:
        case Literal(char):
            return [char]
        case Chars(known):
            return [char for char in alphabet or _USUAL if known is None or char in known] or sorted(known or "x")[:1]
        case Group(branches):
            return [text for branch in branches for text in _samples(branch, alphabet)]
        case Repeat(inner, least):
            one = _samples([inner], alphabet)
            return [text * least for text in one] if least else [*one[:1], ""] if alphabet else [""]
    return [""]


def _literals(nodes: Sequence[Node]) -> Iterator[str]:
    for node in nodes:
        match node:
            case Literal(char):
                yield char
            case Chars(known) if known and len(known) <= _REPEATS:
                yield from sorted(known)
            case Group(branches):
                for branch in branches:
                    yield from _literals(branch)
            case Repeat(inner):
                yield from _literals([inner])


MISSING = "only plain runaways were looked for; recheck looks deeper: pip install 'stallkit-lab[lint]'"
_SHARE = 0.5  # of what a look allows a search, on the machine where this was written
_KNOWN = regex.compile("(?:a|b)+[cd]"), "a" * 1_000  # a search whose time grows with the square
_KNOWN_S = 0.005  # what it took there
_SMALL = 2_000  # characters of a region that every text is tried on
_WORST = 3  # texts are tried at the region's full size
_ONE_LINE = ("prompt_line", "above", "title")  # regions of one line
_DEADLINE_S = 300.0  # for all patterns; recheck's own limit for one is below

# redos-linter's own command gives recheck ten seconds a pattern and lets it guess at texts: 90 to 270 s for a pack of
# this repository.  Its exact method decides few, but those are certain.  A busy machine reports fewer.
RECHECK_MS = 50
_CHECKER = """
const {recheck} = await import(Deno.args[0]);
const patterns = JSON.parse(await new Response(Deno.stdin.readable).text());
recheck.checkSync("^(?:a|a)*b$", "m", {checker: "automaton"});  // the first one takes a second, whatever it is
const limits = {checker: "automaton", timeout: Number(Deno.args[1])};
const check = ([pattern, flags]) => {
  try {
    const {status, attack} = recheck.checkSync(pattern, flags, limits);
    return {status, attack};
  } catch (error) { return {status: "unknown", attack: String(error)}; }
};
console.log(JSON.stringify(patterns.map(check)));
"""


class Room(NamedTuple):
    """How much a region can hold: lines, and characters in all of them."""

    rows: int
    characters: int

    @classmethod
    def of(cls, where: str) -> Room:
        """The size of a region by its name."""
        if where in _ONE_LINE:
            return cls(1, REGION_COLUMNS)
        count = re.search(r"\d+", where)
        rows = min(int(count[0]), MAX_LINES) if count else MAX_LINES
        return cls(rows, min(rows * (REGION_COLUMNS + 1) - 1, REGION_TEXT))


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


def check(subject: Subject, notes: list[str], thorough: bool = True) -> Iterator[Finding]:
    """Findings on patterns that run away; checks that failed are added to `notes`.

    `thorough` runs recheck as well, beside the other texts.
    """
    clauses = list(dict.fromkeys(clause for *_, clause in subject.clauses() if clause.pattern is not None))
    with ThreadPoolExecutor(1) as beside:
        asked = beside.submit(lambda: dict(suspects(clauses, notes))) if thorough else None
        found = {clause: worst(clause, list(own_attacks(clause))) for clause in clauses}
        for clause, attack in (asked.result() if asked else {}).items():
            found[clause] = found[clause] or worst(clause, list(attacks(attack)))
    for signature, role, item, clause in subject.clauses():
        if (trouble := found.get(clause)) is not None:
            code, size = trouble
            why = f"{brief(clause)} takes too long on a text of {size:,} characters"
            yield subject.finding(code, why, signature, role, item)


def own_attacks(clause: Clause) -> Iterator[Attack]:
    """The texts that a clause's own pattern leads to.

    Each ends in what the pattern does not take, with and without the texts that it needs: where one of them is missing
    `regex` may look no further, where all are there it may find what ends the search.
    """
    needed = " ".join(min(some) for some in clause.texts)
    ends = dict.fromkeys([NOTHING, f"{NOTHING} {needed}".rstrip()])
    return (Attack(((before, pump),), end) for before, pump in pumps(clause) for end in ends)


def worst(clause: Clause, texts: Sequence[Attack]) -> tuple[str, int] | None:
    """The code of the finding on a clause, with the length of a text that takes it too long; None for no finding."""
    room = Room.of(clause.where)
    for line in dict.fromkeys(attack.text(REGION_COLUMNS).replace("\n", " ") for attack in texts):
        if _too_long(clause, line):
            return "SK103", len(line)
    small = Room(room.rows, min(room.characters, _SMALL))
    costs = {attack: max(_seconds(clause, text) for text in attack.texts(small)) for attack in dict.fromkeys(texts)}
    for attack in sorted(costs, key=costs.__getitem__, reverse=True)[:_WORST] if room.rows > 1 else ():
        for text in attack.texts(room):
            if _too_long(clause, text):
                return "SK104", len(text)
    return None


def _too_long(clause: Clause, text: str) -> bool:
    """Whether a search takes too long, each time that it is tried: other programs may take time as well."""
    return all(_seconds(clause, text) >= _limit_s() for _ in range(3))


def _seconds(clause: Clause, text: str) -> float:
    """The time of the processor that a search for every place takes; the limit where it takes longer."""
    return min(_timed(compiled(clause), text, _limit_s()), _limit_s())


@cache
def _limit_s() -> float:
    known = min(_timed(*_KNOWN, TIMEOUT_S) for _ in range(9))
    return TIMEOUT_S * _SHARE * known / _KNOWN_S


def _timed(pattern: regex.Pattern[str], text: str, limit_s: float) -> float:
    begun = time.thread_time()
    try:
        for _ in pattern.finditer(text, timeout=limit_s):
            pass
    except TimeoutError:
        return limit_s
    return time.thread_time() - begun


def suspects(clauses: Sequence[Clause], notes: list[str]) -> Iterator[tuple[Clause, dict[str, Any]]]:
    """Each clause that recheck doubts, with the attack that it found."""
    if not clauses:
        return
    try:
        import deno  # extra: lint
        import redos_linter  # extra: lint
    except ImportError:
        notes.append(MISSING)
        return
    bundle = Path(redos_linter.__file__).with_name("recheck.bundle.js")
    read = {clause: _for_recheck(clause) for clause in clauses}
    clauses = [clause for clause in clauses if read[clause] is not None]
    patterns = json.dumps([read[clause] for clause in clauses])
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


def _for_recheck(clause: Clause) -> tuple[str, str] | None:
    """The pattern as recheck reads it, and its flags; None for one that is not understood."""
    try:
        return ecmascript(clause.pattern or ""), "mi" if clause.ignore_case else "m"
    except NotUnderstood:
        return None


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
