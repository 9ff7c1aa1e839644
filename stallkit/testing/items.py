"""A pack's examples as pytest items; made by the plug-in when it finds a pack."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, Iterator

import pytest

from stallkit.detect.engine import Engine
from stallkit.errors import PackError
from stallkit.packs.pack_file import read_pack
from stallkit.terminal.screen import Screen
from stallkit.testing.checks import incomplete, judges
from stallkit.testing.example import Example, Judges, Place, difference, golden, places, text_of

_GAP = "a known gap; once it passes, rename it to {}-"


class Fault(AssertionError):
    """An example that fails; only its text is shown."""


class Gap(Fault):
    """A known gap that still fails."""


class PackFile(pytest.File):
    """A pack, or with `only` one screen of it.  No screen is read before its item runs."""

    pack_path: Path
    only: Path | None = None

    @property
    def folder(self) -> Path:
        """Where the pack's file and its screens are."""
        return self.pack_path.parent

    @cached_property
    def judges(self) -> Judges:
        """The engines, made when the first item runs."""
        return judges(self.folder)

    def collect(self) -> Iterator[pytest.Item]:
        """An item for each example, named by signature and example, and one that checks for missing ones."""
        try:
            pack = read_pack(self.pack_path)
        except PackError as error:
            raise self.CollectError(str(error)) from None
        found = list(places(pack, self.folder / "screens"))
        for place in found:
            if self.only is None or place.file == self.only:
                yield ExampleItem.from_parent(self, name=_name(place), place=place)
        if self.only is None:
            yield CompleteItem.from_parent(self, name="complete", places=found)


class _Item(pytest.Item):
    """An item of a pack: a fault is shown by its text alone."""

    pack: PackFile

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """A fault's own text; pytest's usual report of any other exception."""
        if isinstance(excinfo.value, Fault | PackError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Its path and its name in reports."""
        return self.path, None, self.name


class ExampleItem(_Item):
    """One example of one signature."""

    def __init__(self, *, place: Place, **given: Any) -> None:
        super().__init__(**given)
        self.place = place
        self.pack = given["parent"]
        if place.todo:
            reason = _GAP.format("hit" if place.wanted else "miss")
            self.add_marker(pytest.mark.xfail(strict=True, raises=Gap, reason=reason))

    def runtest(self) -> None:
        """Check the example.  Raises Fault."""
        try:
            example = self.place.read()
            if self.place.file is not None:
                self._check_file(Path(str(self.place.file)))
        except AssertionError as error:
            raise Fault(str(error)) from None
        except OSError as error:
            raise Fault(f"{self.place.file}: it cannot be read: {error.strerror or error}") from None
        fault = self.pack.judges.fault(example)
        if example.todo and fault is None:
            raise Gap(_GAP.format("hit" if example.wanted else "miss"))
        if not example.todo and fault is not None:
            raise Fault(f"{self.place.file or self.path}: {fault}\n{self._reasons(example)}")

    def _check_file(self, file: Path) -> None:
        content = file.read_bytes()
        text = text_of(content, str(file))
        kept = golden(text)
        if kept.encode() == content:
            return
        changed = difference(text, kept, f"{file.parent.name}/{file.name}")
        if not self.config.getoption("--update-screens"):
            raise Fault(f"{file}: not in the golden form; pytest --update-screens rewrites it\n{changed}")
        draft = file.with_name(f".{file.name}.draft")
        draft.write_bytes(kept.encode())
        draft.replace(file)  # atomic: another process may read it
        self.user_properties.append(("rewritten_screen", changed))

    def _reasons(self, example: Example) -> str:
        """For a hit, whether each clause of the signature holds; for a miss, the line that matched."""
        engine: Engine = self.pack.judges.alone
        if not example.wanted:
            match = engine.detect(example.screen).match
            return f"  it matched: {match.line}" if match else ""
        reports = engine.explain(example.screen)
        report = next(report for report in reports if report.rule.signature.id == example.signature)
        lines = [f"  {role} {clause}: {_held(found.held)}" for role, clause, found in report.clauses]
        if not report.cursor_fits:
            lines.append(f"  cursor {report.rule.signature.cursor}: no")
        return "\n".join([f"  {example.signature}: {report.fate}", *lines, _prompt_line(example.screen)])


class CompleteItem(_Item):
    """Every signature has a hit and a miss, every folder of screens a signature."""

    def __init__(self, *, places: list[Place], **given: Any) -> None:
        super().__init__(**given)
        self.places = places
        self.pack = given["parent"]

    def runtest(self) -> None:
        """Check for missing examples.  Raises Fault."""
        missing = list(incomplete(read_pack(self.pack.pack_path), self.pack.folder, self.places))
        if missing:
            raise Fault(f"{self.path}:\n  " + "\n  ".join(missing))


def _name(place: Place) -> str:
    return f"{place.signature}/{place.name.removesuffix('.txt')}"


def _held(held: bool | None) -> str:
    return {True: "yes", False: "no", None: "ran out of its budget"}[held]


def _prompt_line(screen: Screen) -> str:
    return f"  the prompt line is {screen.prompt_line.text!r}"
