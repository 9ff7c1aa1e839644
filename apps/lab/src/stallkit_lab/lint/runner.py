"""All rules over one pack: from a path, from an installed pack's name, or from a `Pack` itself."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Callable, Iterable, Iterator, Sequence

from attrs import evolve, frozen

from stallkit.detect.signature import Pack
from stallkit.errors import PackError, PackFormatError, PackLoadError, SignatureError
from stallkit.packs.pack_file import agent_files, parse_agents
from stallkit.packs.registry import Installed, find, installed
from stallkit.testing import Example
from stallkit_lab.corpus_lines import Case
from stallkit_lab.lint import programs, runaways
from stallkit_lab.lint.clauses import check_clauses, check_patterns
from stallkit_lab.lint.findings import CODES, Finding, Level, in_order
from stallkit_lab.lint.pack_reading import read_subject, sorted_out
from stallkit_lab.lint.signature_rules import check_answers, check_dialogs, check_examples, check_order, check_uses
from stallkit_lab.lint.subject import Subject

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
    counts: tuple[programs.Count, ...] = ()

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
    counts: tuple[programs.Count, ...] = ()
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
            counts = programs.counted(subject.pack, cases) if cases else ()
            found += programs.check(subject, counts)
    return Linted(subject.pack.name, in_order(found), tuple(notes), counts)


def lint_path(path: Path, thorough: bool = True, cases: Sequence[Case] = ()) -> Linted:
    """All rules over a pack file, or the one in a folder.  Raises OSError where the path does not exist."""
    path.stat()
    files = [path] if path.is_file() else sorted(_files(path))
    if len(files) != 1:
        why = f"{len(files)} files {_FILE} in it: name one" if files else f"there is no {_FILE} in it"
        return _broken(path.name, str(path), why)
    return _lint_file(files[0], thorough, cases=cases)


def lint_installed(
    name: str, thorough: bool = True, packs: Installed | None = None, cases: Sequence[Case] = ()
) -> Linted | None:
    """All rules over an installed pack, by its name; None where there is none, one finding where it does not load."""
    packs = installed() if packs is None else packs
    for pack in packs.packs:
        if pack.name == name:
            file = _home(pack)
            if file is None:
                return lint(pack, packs.packs, thorough, cases)
            return _lint_file(file, thorough, pack, cases)
    for problem in packs.problems:
        if isinstance(problem, PackLoadError) and name in (problem.entry_point, problem.distribution):
            return _broken(name, problem.distribution, problem.why)
    return None


def examples_of(pack: Pack) -> tuple[Example, ...]:
    """Every example of an installed pack: those in its file, and its screens where it has a file."""
    file = _home(pack)
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


def _home(pack: Pack) -> Traversable | None:
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
