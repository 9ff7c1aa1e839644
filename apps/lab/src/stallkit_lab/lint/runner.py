"""All rules over one pack: from a path, from an installed pack's name, or from a `Pack` itself.

With labelled screens it counts on how many programs each form of a pack was right, and on how many wrong.  A signature
that one program's line meets is not general, whatever its figures are: these are counts of programs, not of screens.  A
clause alone is wrong on many, since the others decide with it; that it holds on one program only is what tells.
"""

from __future__ import annotations

from collections import defaultdict
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Sequence

from attrs import evolve, frozen

from stallkit.detect.engine import Engine, Fate
from stallkit.detect.signature import Pack, Signature
from stallkit.errors import PackError, PackFormatError, PackLoadError, SignatureError
from stallkit.packs.pack_file import agent_files, parse_agents
from stallkit.packs.registry import Installed, find, installed
from stallkit.testing import Example
from stallkit_lab.corpus_lines import Case, Label
from stallkit_lab.evaluate.prediction import SORTS
from stallkit_lab.lint import runaways
from stallkit_lab.lint.findings import CODES, Finding, Level, Subject, in_order
from stallkit_lab.lint.pack_reading import read_subject, sorted_out
from stallkit_lab.lint.signature_rules import (
    check_answers,
    check_clauses,
    check_dialogs,
    check_examples,
    check_order,
    check_patterns,
    check_uses,
)

_FILE = "signatures.toml"
Rule = Callable[[Subject], Iterator[Finding]]
RULES: tuple[Rule, ...] = (
    check_patterns, check_clauses, check_order, check_answers, check_dialogs, check_examples, check_uses,
)  # fmt: skip


@frozen
class Linted:
    """The findings on one pack, `notes`: checks that could not run, and `counts` of programs where cases were given."""

    pack: str
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    counts: tuple[Count, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether a finding is an error."""
        return any(finding.level is Level.ERROR for finding in self.findings)

    def count(self, level: Level) -> int:
        """How many findings are of a level."""
        return sum(finding.level is level for finding in self.findings)


def lint(pack: Pack, among: Sequence[Pack] = (), thorough: bool = True, cases: Sequence[Case] = ()) -> Linted:
    """All rules over a pack without a file.

    `thorough` asks recheck about runaways, which takes longest; `cases` are labelled screens, on which the programs are
    counted that each form is right and wrong on.
    """
    others = [other for other in among if other.name != pack.name]
    return lint_subject(Subject(pack, pack.distribution or pack.name, others=others), thorough, cases)


def lint_subject(subject: Subject, thorough: bool = True, cases: Sequence[Case] = ()) -> Linted:
    """All rules over a subject.  Never raises for the pack's content."""
    notes: list[str] = []
    counts: tuple[Count, ...] = ()
    found: list[Finding] = list(subject.refused)
    if subject.pack.signatures:
        try:
            subject.together  # noqa: B018  # an engine takes its patterns, or says whose it does not
        except SignatureError as error:
            found.append(subject.finding("SK101", error.why, error.signature.partition(":")[2], "all_of"))
        else:
            for rule in RULES:
                found += rule(subject)
            found += runaways.check(subject, notes, thorough)
            counts = counted(subject.pack, cases) if cases else ()
            found += check_programs(subject, counts)
    return Linted(subject.pack.name, in_order(found), tuple(notes), counts)


def lint_path(path: Path, thorough: bool = True, cases: Sequence[Case] = ()) -> Linted:
    """All rules over a pack file, or the one in a folder.  Raises OSError if the path does not exist."""
    path.stat()
    files = [path] if path.is_file() else sorted(_files(path))
    if len(files) != 1:
        why = f"{len(files)} files {_FILE} in it: name one" if files else f"there is no {_FILE} in it"
        return _broken(path.name, str(path), why)
    return _lint_file(files[0], thorough, cases=cases)


def lint_installed(
    name: str, thorough: bool = True, packs: Installed | None = None, cases: Sequence[Case] = ()
) -> Linted | None:
    """All rules over an installed pack, by its name; None if there is none, one finding if it does not load."""
    packs = installed() if packs is None else packs
    for pack in packs.packs:
        if pack.name == name:
            file = home_of(pack)
            if file is None:
                return lint(pack, packs.packs, thorough, cases)
            return _lint_file(file, thorough, pack, cases)
    for problem in packs.problems:
        if isinstance(problem, PackLoadError) and name in (problem.entry_point, problem.distribution):
            return _broken(name, problem.distribution, problem.why)
    return None


def examples_of(pack: Pack) -> tuple[Example, ...]:
    """Every example of an installed pack: those in its file, and its screens if it has a file."""
    file = home_of(pack)
    screens = file.parent / "screens" if isinstance(file, Path) else None
    return Subject(pack, str(file or pack.name), screens=screens).examples


def _files(folder: Path) -> Iterable[Path]:
    """The pack files in a folder, without those of environments and builds."""
    for file in folder.rglob(_FILE):
        parts = file.relative_to(folder).parts[:-1]
        if not any(part.startswith(".") or part in ("node_modules", "build", "dist", "venv") for part in parts):
            yield file


def _broken(name: str, file: str, why: str) -> Linted:
    return Linted(name, (Finding("SK001", CODES["SK001"].level, why, name, file),))


def _lint_file(file: Traversable, thorough: bool, pack: Pack | None = None, cases: Sequence[Case] = ()) -> Linted:
    screens = file.parent / "screens" if isinstance(file, Path) else None  # a pack in an archive has its file alone
    shown = str(file)
    default = pack.name if pack else Path(shown).parent.name.removeprefix("stallkit_")
    try:
        text = file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        return Linted(default, (Finding("SK001", CODES["SK001"].level, "not UTF-8", default, shown, line),))
    except OSError as error:
        return _broken(default, shown, error.strerror or str(error))
    subject = _with_agents(read_subject(text, shown, default, screens, installed().packs), file)
    found = lint_subject(subject, thorough, cases)
    stays, notes = sorted_out(found.findings, text, subject)
    return evolve(found, findings=in_order(stays), notes=(*found.notes, *notes))


def _with_agents(subject: Subject, file: Traversable) -> Subject:
    """The subject with the agent files beside its pack file; one that cannot be read is a finding."""
    try:
        agents = parse_agents(agent_files(file.parent)) if isinstance(file, Path) else ()
    except PackFormatError as error:
        fault = Finding("SK002", CODES["SK002"].level, error.why, subject.pack.name, error.path, error.line)
        return evolve(subject, refused=(*subject.refused, fault))
    return evolve(subject, pack=subject.pack.with_agents(agents))


def home_of(pack: Pack) -> Traversable | None:
    """The file that an installed pack was read from; None for one that is made in Python."""
    for point in find():
        try:
            file = resources.files(point.module) / _FILE
            if file.is_file():
                given = read_subject(file.read_bytes().decode("utf-8"), "", pack.name).pack.signatures
                if given and given == pack.signatures:
                    return file
        except (ImportError, OSError, UnicodeDecodeError, PackError, TypeError, ValueError):
            continue
    return None


# --- programs ---


@frozen
class Count:
    """The programs on whose screens a signature, or one clause of it alone (``all_of[1]``), was right or wrong.

    Right: the screen's label has the signature's state, and if that is waiting a kind that calls for the same sort
    of answer.  A program may be in both.
    """

    signature: str
    clause: str  # empty for the whole signature
    right: tuple[str, ...]
    wrong: tuple[str, ...]

    def as_object(self) -> dict[str, Any]:
        """As ``stallkit pack lint --corpus --json`` prints it."""
        clause = self.clause or None
        return {"signature": self.signature, "clause": clause, "right": self.right, "wrong": self.wrong}


def counted(pack: Pack, cases: Sequence[Case]) -> tuple[Count, ...]:
    """The counts of each signature and of each of its `all_of` clauses, in the order of the pack.

    >>> counted(Pack("acme", signatures=[]), [])
    ()
    """
    engine = Engine([pack])
    programs: dict[tuple[str, str, bool], set[str]] = defaultdict(set)
    for case in cases:
        for report in engine.explain(case.snapshot.screen):
            signature = report.rule.signature
            right = _is_right(signature, case.label)
            held = [found.held is True for role, _, found in report.clauses if role == "all_of"]
            whole = report.fate in (Fate.MATCH, Fate.SHADOWED)
            for place, holds in enumerate([whole, *held]):
                if holds:
                    programs[signature.id, f"all_of[{place}]" if place else "", right].add(case.program)
    return tuple(
        Count(one.id, clause, *(tuple(sorted(programs[one.id, clause, right])) for right in (True, False)))
        for one in pack.signatures
        for clause in ("", *(f"all_of[{place}]" for place, _ in enumerate(one.all_of, 1)))
    )


def check_programs(subject: Subject, counts: Iterable[Count]) -> Iterator[Finding]:
    """The forms that one program alone shows, and those that are wrong on as many programs as they are right."""
    for count in counts:
        if subject.pack.own or count.clause:
            continue
        right, wrong = len(count.right), len(count.wrong)
        if right == 1:
            yield subject.finding("SK406", f"of all programs, only {count.right[0]} shows it", count.signature)
        if wrong and wrong >= right:
            named = ", ".join(count.wrong[:4])
            yield subject.finding("SK407", f"right on {right} programs, wrong on {wrong}: {named}", count.signature)


def _is_right(signature: Signature, label: Label) -> bool:
    if signature.state is not label.state:
        return False
    return signature.kind is label.kind or any({signature.kind, label.kind} <= sort for sort in SORTS)
