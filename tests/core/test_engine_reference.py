"""The engine says what a plain loop over ordered signatures says, however it gets there.

The loop below is the specification, written with `re` and without a prefilter, a cache or a budget.  Nothing in it
comes from the engine or the matcher; screens and clauses are plain values.
"""

from __future__ import annotations

import re
import time
import unicodedata
from functools import partial
from typing import Iterator

import attrs
import pytest
import strategies
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from stallkit.core.atoms import automaton, substrings
from stallkit.core.engine import Engine, Fate
from stallkit.core.prefilter import Prefilter
from stallkit.core.said import said_by_person
from stallkit.core.screen import Screen
from stallkit.core.signature import Clause, CursorState, Pack, Signature, State

TIERS = ["ended", "dialog", "quota", "working", "composer", "prompt_line", "maybe"]
SEARCHES = [automaton, substrings, partial(substrings, few=0)]
MARKS = "❯›▸▶➤➜→●◉❭»>"
COLUMNS, TEXT = 500, 20_000  # characters of one line, and of a whole region, that a clause is shown


def tier(signature: Signature) -> int:
    if signature.given_tier is not None:
        return TIERS.index(signature.given_tier.name.lower())
    if signature.certainty == "maybe":
        return TIERS.index("maybe")
    if signature.state == "waiting":
        return TIERS.index("prompt_line" if any(c.where == "prompt_line" for c in signature.all_of) else "dialog")
    return TIERS.index({"ended": "ended", "quota": "quota", "working": "working", "idle": "composer"}[signature.state])


def in_order(packs: tuple[Pack, ...]) -> list[tuple[Pack, Signature]]:
    rows = []
    for place, pack in enumerate(packs):
        for number, one in enumerate(pack.signatures):
            generic = not pack.foreground
            key = (tier(one), generic, pack.priority, pack.distribution, pack.name, place, number)
            rows.append((key, pack, one))
    return [(pack, one) for _, pack, one in sorted(rows, key=lambda row: row[0])]


def left_of(line: str, column: int) -> str:
    """The part of a line in its first columns, filled up with blanks."""
    taken, shown = 0, ""
    for char in line:
        no_width = unicodedata.category(char) in ("Mn", "Me", "Cf")
        taken += 0 if no_width else 1 + (unicodedata.east_asian_width(char) in "WF")
        if taken > column:
            return shown.ljust(len(shown) + column - taken + 1 + (unicodedata.east_asian_width(char) in "WF"))
        shown += char
    return shown + " " * (column - taken)


def region(where: str, screen: Screen) -> tuple[str, int] | None:
    """The text that a clause looks at and the row where it begins: no line, and no text, longer than its bound."""
    found = unbounded(where, screen)
    if found is None:
        return None
    kept: list[str] = []
    lines = [line[max(0, len(line) - COLUMNS) :] for line in found[0].split("\n")]
    for line in reversed(lines):
        if kept and sum(map(len, kept)) + len(kept) + len(line) > TEXT:
            break
        kept.append(line)
    return "\n".join(reversed(kept)), found[1] + len(lines) - len(kept)


def unbounded(where: str, screen: Screen) -> tuple[str, int] | None:
    """The same with all that stands there."""
    lines = [line.rstrip() for line in screen.lines]
    filled = [row for row, line in enumerate(lines) if line]
    last = filled[-1] if filled else 0
    if where == "screen":
        return "\n".join(lines), 0
    if where == "title":
        return None if screen.title is None else (screen.title, 0)
    if where.startswith("tail"):
        start = max(0, last + 1 - int(where[5:-1]))
        return "\n".join(lines[start : last + 1]), start
    if where == "block":
        marked = [row for row in filled if re.match(rf"[\s│┃║|▌▏]*[{MARKS}](\s|$|[◯◉○●☐☑\[])", screen.lines[row])]
        if not marked:
            return "", 0
        row = screen.cursor.row if screen.cursor and screen.cursor.row in marked else marked[-1]
        return around(row, lines)
    if screen.cursor is None:
        at, text = last, screen.lines[last]
    else:
        at = screen.cursor.row
        text = left_of(screen.lines[at] if at < len(lines) else "", screen.cursor.column)
    if where == "prompt_line":
        return text, at
    if where == "paragraph":
        if at >= len(lines) or not lines[at]:
            return "", at
        return around(at, lines)
    if where.startswith("down_to_cursor"):
        if screen.cursor is None:
            return None
        start = max(0, at + 1 - int(where[15:-1]))
        return "\n".join([*[*lines, *[""] * at][start:at], text.rstrip()]), start
    over = [row for row in filled if row < at]
    return (lines[over[-1]], over[-1]) if over else ("", 0)


def around(row: int, lines: list[str]) -> tuple[str, int]:
    """The lines around one, up and down to a blank one."""
    start = max([blank + 1 for blank in range(row) if not lines[blank]], default=0)
    end = min([blank for blank in range(row, len(lines)) if not lines[blank]], default=len(lines))
    return "\n".join(lines[start:end]), start


def ends(literal: str, text: str, start: int) -> int | None:
    """Where a literal found at a place ends: its closing blanks may be the end of the line."""
    if text.startswith(literal, start):
        return start + len(literal)
    body = start + len(literal.rstrip(" "))
    at_end = text.startswith(literal.rstrip(" "), start) and text[body : body + 1] in ("", "\n")
    return body if at_end and literal.endswith(" ") else None


def places(clause: Clause, text: str) -> Iterator[tuple[int, int]]:
    """Every place where a clause holds, the highest first."""
    if clause.pattern is not None:
        flags = re.MULTILINE | (re.IGNORECASE if clause.ignore_case else 0)
        yield from (match.span() for match in re.finditer(clause.pattern, text, flags))
        return
    literal = clause.text or ""
    for start in range(len(text)):
        if not clause.ignore_case:
            end = ends(literal, text, start)
        else:
            blanks = literal[len(literal.rstrip(" ")) :]
            source = re.escape(literal.rstrip(" ")) + (f"(?:{blanks}|$)" if blanks else "")
            found = re.compile(source, re.MULTILINE | re.IGNORECASE).match(text, start)
            end = found.end() if found else None
        if end is not None:
            yield start, end


def rows(clause: Clause, screen: Screen) -> tuple[int, int] | None:
    """The first and last row of the lowest place where a clause holds; line ends around it belong to no row."""
    where = region(clause.where, screen)
    found = list(places(clause, where[0])) if where else []
    if where is None or not found:
        return None
    start, end = found[-1]
    while start < end and where[0][start] == "\n":
        start += 1
    while start < end and where[0][end - 1] == "\n":
        end -= 1
    top = where[1] + where[0][:start].count("\n")
    return top, top + where[0][start:end].count("\n")


def holds(signature: Signature, screen: Screen) -> tuple[int, int] | None:
    """The rows that a signature rests on, or None."""
    visible = screen.cursor.visible if screen.cursor else None
    wanted = {CursorState.ANY: (True, False), CursorState.VISIBLE: (True,), CursorState.HIDDEN: (False,)}
    if signature.cursor is CursorState.SEEN and not visible:
        return None
    if visible is not None and signature.cursor in wanted and visible not in wanted[signature.cursor]:
        return None
    found = {clause: rows(clause, screen) for clause in signature.all_of}
    if None in found.values() or any(rows(clause, screen) for clause in signature.none_of):
        return None
    placed = [at for clause, at in found.items() if at and clause.where != "title"]  # the title is in no row
    if signature.state is State.QUOTA and placed and all(said_by_person(screen, top) for top, _ in placed):
        return None  # who asks about a limit has not reached one
    return min((top for top, _ in placed), default=-1), max((bottom for _, bottom in placed), default=10_000)


def reference(packs: tuple[Pack, ...], screen: Screen) -> str | None:
    """The first signature, in order, that holds and is live."""
    order = in_order(packs)
    for pack, one in order:
        found = holds(one, screen)
        if found is None:
            continue
        stale = False
        if one.state is State.WAITING:
            for _, other in order:
                if other.state in (State.WORKING, State.IDLE) and other.state not in one.allow_below:
                    below = holds(other, screen)
                    stale = stale or (below is not None and below[0] > found[1])
        if not stale:
            return f"{pack.name}:{one.id}"
    return None


def said(engine: Engine, screen: Screen) -> str | None:
    found = engine.detect(screen)
    assert not found.undecided
    return f"{found.match.pack.name}:{found.match.signature.id}" if found.match else None


def engines(packs: tuple[Pack, ...]) -> list[Engine]:
    """The engine with each way of searching for literals, whichever this machine would take."""
    made = []
    for search in SEARCHES:
        engine = Engine(packs)
        engine._prefilter = Prefilter(engine.signatures, search)
        made.append(engine)
    return made


THOROUGH = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@settings(THOROUGH, max_examples=200)
@given(case=strategies.cases())
def test_same_signature_as_the_plain_loop(case: strategies.Case) -> None:
    made = engines(case.packs)
    for screen in case.screens:
        expected = reference(case.packs, screen)
        assert [said(engine, screen) for engine in made] == [expected] * len(made)


@settings(THOROUGH, max_examples=60)
@given(case=strategies.cases(), data=st.data())
def test_so_it_does_where_a_line_is_longer_than_its_bound(case: strategies.Case, data: st.DataObject) -> None:
    made = engines(case.packs)
    for screen in case.screens:
        wide, by = data.draw(st.integers(0, len(screen.lines))), data.draw(st.sampled_from([490, 3_000]))
        lines = tuple("a " * (by // 2) + line if row == wide else line for row, line in enumerate(screen.lines))
        at = screen.cursor
        if at is not None and at.row == wide:
            at = attrs.evolve(at, column=at.column + by)
        long = attrs.evolve(screen, lines=lines, cursor=at, title=screen.title and "t" * 490 + screen.title)
        # A random pattern may be quadratic, and take too long on a line of 500 characters.
        assume(not any(engine.detect(long).undecided for engine in made))
        expected = reference(case.packs, long)
        assert [said(engine, long) for engine in made] == [expected] * len(made)


@pytest.mark.parametrize("where", ["screen", "tail(80)", "block", "down_to_cursor(80)"])
@pytest.mark.parametrize("pattern", ["Allow", "^Allow", "x\nx", r"\AAllow"])
@pytest.mark.parametrize("row", [0, 30, 31, 32, 33, 60])
def test_so_it_does_where_a_text_is_longer_than_its_bound(where: str, pattern: str, row: int) -> None:
    lines = ["x" * 480] * 70
    lines[row], lines[69] = "x" * 480 + "Allow", "❯"
    packs = (pack("one", Clause(pattern=pattern, where=where)),)
    screen = Screen.from_text("\n".join(lines), cursor=(1, 69))
    assert said(Engine(packs), screen) == reference(packs, screen)


@settings(THOROUGH, max_examples=30)
@given(case=strategies.cases())
def test_explain_and_detect_name_the_same_winner(case: strategies.Case) -> None:
    engine = Engine(case.packs)
    for screen in case.screens:
        won = [report.rule.name for report in engine.explain(screen) if report.fate is Fate.MATCH]
        assert won == [name for name in [said(engine, screen)] if name]


@settings(THOROUGH, max_examples=30)
@given(case=strategies.cases(), data=st.data())
def test_colour_and_repetition_change_nothing(case: strategies.Case, data: st.DataObject) -> None:
    engine = Engine(case.packs)
    for screen in case.screens:
        text = data.draw(strategies.decorated("\n".join(screen.lines) + "\n"))
        cursor = screen.cursor
        again = Screen.from_text(
            text,
            cursor=(cursor.column, cursor.row) if cursor else None,
            cursor_visible=cursor.visible if cursor else None,
            title=screen.title,
        )
        assert again == screen
        first = engine.detect(screen)
        assert engine.detect(again) == first == engine.detect(screen)
        assert engine.detect(again, since=first) is first


@settings(THOROUGH, max_examples=30)
@given(
    case=strategies.cases(),
    text=strategies.anything(),
    cursor=st.none() | st.tuples(st.integers(0, 10_000), st.integers(0, 10_000)),
)
def test_no_text_makes_detect_raise(case: strategies.Case, text: str, cursor: tuple[int, int] | None) -> None:
    engine = Engine(case.packs)
    for screen in (Screen.from_text(text, cursor, title=text), Screen(lines=(text,)), Screen(lines=())):
        assert engine.detect(screen).screen is screen


def pack(name: str, *clauses: Clause | str, state: str = "waiting", **rest: object) -> Pack:
    kind = "confirm" if state == "waiting" else None
    signature = Signature(id="only", title="", state=state, kind=kind, all_of=clauses, **rest)  # type: ignore[arg-type]
    return Pack(name=name, signatures=[signature])


FOLDED = [("K", "\u212a"), ("kiss", "ki\u017fs"), ("Titan", "T\u0130tan"), ("SIT", "s\u0131t")]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(("wanted", "shown"), FOLDED)
@pytest.mark.parametrize("written", ["text", "pattern", "inline flag", "group flag"])
def test_what_folds_alike_is_found(wanted: str, shown: str, written: str, search: object) -> None:
    clause = {
        "text": Clause(text=wanted, ignore_case=True),
        "pattern": Clause(pattern=wanted, ignore_case=True),
        "inline flag": Clause(pattern=f"(?i){wanted}"),
        "group flag": Clause(pattern=f"(?i:{wanted})"),
    }[written]
    engine = Engine([pack("one", clause)])
    engine._prefilter = Prefilter(engine.signatures, search)  # type: ignore[arg-type]
    assert said(engine, Screen.from_text(shown)) == "one:only"


RUNAWAY = Clause(pattern="(a|aa)+!$")
HOSTILE = "a" * 60 + " !"  # which has all that the pattern needs


def test_a_runaway_pattern_is_undecided_and_another_pack_is_not_touched() -> None:
    hostile = Pack(
        name="hostile",
        priority=1,
        signatures=[Signature(id=f"s{n}", title="", state="waiting", kind="text", all_of=[RUNAWAY]) for n in range(50)],
    )
    honest = pack("honest", Clause(pattern=r"^Proceed\? \[y/N\]"))
    screen = Screen.from_text(f"{HOSTILE}\nProceed? [y/N] ")
    found = Engine([hostile, honest]).detect(screen)
    assert found.match is not None
    assert found.match == Engine([honest]).detect(screen).match
    assert {rule.name for rule, _ in found.undecided} == {f"hostile:s{n}" for n in range(50)}


@pytest.mark.parametrize("many", [1, 2, 20])
def test_a_runaway_leaves_the_other_signatures_of_its_pack_decided(many: int) -> None:
    """The prompt is named, so that a person can be told; it is not sure, since what came first is unknown."""
    bad = [Signature(id=f"s{n}", title="", state="waiting", kind="text", all_of=[RUNAWAY]) for n in range(many)]
    good = Signature(id="good", title="", state="waiting", kind="confirm", all_of=[Clause(pattern=r"^Proceed\?")])
    screen = Screen.from_text(f"{HOSTILE}\nProceed? ")
    found = Engine([Pack(name="acme", signatures=[*bad, good])]).detect(screen)
    assert found.match is not None
    assert found.match.signature is good
    assert {rule.name for rule, _ in found.undecided} == {f"acme:s{n}" for n in range(many)}


def test_a_runaway_below_a_prompt_is_told() -> None:
    """It might have been what makes the prompt stale, so nobody may rely on the prompt."""
    engine = Engine([pack("dialog", "Allow?"), pack("busy", RUNAWAY, state="working")])
    found = engine.detect(Screen.from_text(f"Allow?\n{HOSTILE}"))
    assert found.match is not None
    assert [rule.name for rule, _ in found.undecided] == ["busy:only"]


def test_a_runaway_is_cut_short() -> None:
    """Generous, for a busy machine: unbounded, this pattern would take longer than the universe has lasted."""
    engine = Engine([pack("hostile", RUNAWAY)])
    engine.detect(Screen.from_text("warm"))
    begun = time.process_time()
    engine.detect(Screen.from_text("\n".join([HOSTILE] * 40)))
    assert time.process_time() - begun < 2
