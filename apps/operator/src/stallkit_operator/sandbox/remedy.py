"""An edit of a proxy's configuration: its files, its steps as a pure machine, and how they are taken.

What is wrong is refused before anything is touched.  Whatever fails once files were replaced leads back to the files
that were there, and the proxy is asked again until it serves them.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, Callable, Mapping

from attrs import define, field, frozen

from stallkit.errors import StallkitError, StoreError
from stallkit_operator.audit import AuditLog
from stallkit_operator.item import Item, Who
from stallkit_operator.sandbox.config_shape import shape_diff
from stallkit_operator.sandbox.presets import Preset, RemedyFailed
from stallkit_operator.sandbox.routes import InvalidEdit
from stallkit_operator.sandbox.sandboxes import alone

# --- the files of one proxy, replaced together ---

_ABSENT = b"\0stallkit: there was no file\n"  # kept in place of a file that was not there


@frozen
class RemedyFiles:
    """The files that an edit replaces, the one that a person edits last: with it, the edit is done."""

    paths: tuple[Path, ...]

    def read(self) -> str:
        """What a person edits; empty if there is no file.  Raises OSError, UnicodeDecodeError."""
        try:
            return self.paths[-1].read_bytes().decode("utf-8")
        except FileNotFoundError:
            return ""

    def candidate(self, path: Path, text: str) -> Path:
        """A copy of what must be there, beside it: for checks.  Raises OSError."""
        copy = _beside(path, "check")
        _write(copy, text.encode(), path)
        return copy

    def drop_candidates(self) -> None:
        for path in self.paths:
            with suppress(OSError):
                _beside(path, "check").unlink(missing_ok=True)

    def replace(self, texts: Mapping[Path, str]) -> None:
        """Keep the old texts, then replace them.  Raises OSError."""
        for path in self.paths:
            kept = path.read_bytes() if path.exists() else _ABSENT
            _write(_beside(path, "new"), kept, path)
            _beside(path, "new").replace(_beside(path, "before"))
            self._sync()  # in this order: the last of them says that all are kept
        for path in self.paths:
            _write(_beside(path, "new"), texts[path].encode(), path)
            _beside(path, "new").replace(path)
        self._sync()

    def put_back(self) -> None:
        """Put the old texts back, as far as they were kept.  Raises OSError."""
        for path in self.paths:
            kept = _beside(path, "before")
            if not kept.exists():
                continue
            content = kept.read_bytes()
            if content == _ABSENT:
                path.unlink(missing_ok=True)
            else:
                _write(_beside(path, "new"), content, kept)
                _beside(path, "new").replace(path)
        self._sync()

    def forget(self) -> None:
        """The edit is over: nothing is kept any longer."""
        for path in reversed(self.paths):  # what says so goes first
            _beside(path, "before").unlink(missing_ok=True)
            self._sync()
            _beside(path, "new").unlink(missing_ok=True)

    @property
    def cut_off(self) -> bool:
        """Whether an earlier edit was interrupted, so that files may have been replaced."""
        return _beside(self.paths[-1], "before").exists()

    def _sync(self) -> None:
        for folder in {path.parent for path in self.paths}:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _beside(path: Path, what: str) -> Path:
    return path.with_name(f".{path.name}.stallkit-{what}")


def _write(path: Path, content: bytes, like: Path) -> None:
    """A new file, on the disk, with the owner and the mode of another one, or mode 0600."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        with suppress(FileNotFoundError):
            found = like.stat()
            os.fchmod(handle, found.st_mode & 0o777)
            with suppress(PermissionError):
                os.fchown(handle, found.st_uid, found.st_gid)
        os.fsync(handle)


class Step(StrEnum):
    """What is done next, or how it ended."""

    RENDER = "render"  # read the text, and make what the proxy reads of it
    CHECK = "check"  # the proxy's own check, on copies
    RECORD = "record"  # in the audit log, before anything is touched
    REPLACE = "replace"
    RELOAD = "reload"
    PROBE = "probe"  # a request that the new configuration allows
    PUT_BACK = "put back"
    RELOAD_BACK = "reload what was there"
    PROBE_BACK = "probe what was there"

    REFUSED = "refused"  # nothing was touched
    APPLIED = "applied"
    ROLLED_BACK = "rolled back"  # what was there is served again
    BROKEN = "broken"  # it could not be brought back, or does not serve after a reload: a person has to look


ENDS = frozenset({Step.REFUSED, Step.APPLIED, Step.ROLLED_BACK, Step.BROKEN})
_THEN = {  # each step: what follows where it went well, and where it did not
    Step.RENDER: (Step.CHECK, Step.REFUSED),
    Step.CHECK: (Step.RECORD, Step.REFUSED),
    Step.RECORD: (Step.REPLACE, Step.REFUSED),
    Step.REPLACE: (Step.RELOAD, Step.PUT_BACK),
    Step.RELOAD: (Step.PROBE, Step.PUT_BACK),
    Step.PROBE: (Step.APPLIED, Step.PUT_BACK),
    Step.PUT_BACK: (Step.RELOAD_BACK, Step.BROKEN),
    Step.RELOAD_BACK: (Step.PROBE_BACK, Step.BROKEN),
    Step.PROBE_BACK: (Step.ROLLED_BACK, Step.BROKEN),
}
_RELOAD = {  # of a reload alone, after which there are no files to put back
    Step.RECORD: (Step.RELOAD, Step.REFUSED),
    Step.RELOAD: (Step.PROBE, Step.BROKEN),
    Step.PROBE: (Step.APPLIED, Step.BROKEN),
}


def next_step(step: Step, went_well: bool, reload: bool = False) -> Step:
    """The step after this one, of an edit or of a reload alone.

    >>> next_step(Step.CHECK, False)
    <Step.REFUSED: 'refused'>
    """
    then = {**_THEN, **_RELOAD} if reload else _THEN
    return then[step][0 if went_well else 1]


# --- an edit of a proxy's configuration ---


@frozen
class Notice:
    """What an agent asked, and what it gets once the proxy serves the edit."""

    item: Item
    reply: str


@frozen
class Edit:
    """What a person saw, what must be there, and the notice that it answers, if it does.

    A `reload` changes no file: it is for what the proxy reads and stallkit does not, as a credential that was renewed.
    """

    before: str = field(repr=False)
    after: str = field(repr=False)
    who: Who
    notice: Notice | None = field(default=None, repr=False)
    reload: bool = False


@frozen
class Edited:
    """How an edit ended, why, the diff of the shapes, and what else a person should know."""

    end: Step
    why: str
    diff: str
    notes: tuple[str, ...] = ()


@frozen
class Remedy:
    """The edits of one proxy of one sandbox; `lock` is a file of stallkit's own, `tell` hears of what takes time."""

    sandbox: str
    files: RemedyFiles
    preset: Preset
    audit: AuditLog
    lock: Path
    tell: Callable[[str], None]

    @property
    def path(self) -> Path:
        """The file that a person edits."""
        return self.files.paths[-1]

    def text(self) -> str:
        """What a person edits; what an earlier edit left that was killed is put back first.

        Raises StallkitError if somebody else edits now, or that cannot be put back.
        """
        with self._alone():
            return self._whole() or self.preset.empty

    def apply(self, edit: Edit) -> Edited:
        """Check, replace, reload, try, and roll back if it does not serve.  Raises StallkitError, OSError."""
        with self._alone():
            now = self._whole()
            if (now or self.preset.empty) != edit.before:
                why = "it was changed by somebody else meanwhile; nothing was touched"
                return Edited(Step.REFUSED, why, "")
            return _Run(self, edit, now).to_its_end()

    def _whole(self) -> str:
        """Its text, after what a killed edit left is put back."""
        if self.files.cut_off:
            self._put_back()
        try:
            return self.files.read()
        except UnicodeDecodeError as error:
            raise StallkitError("edit", str(self.path), "it is not UTF-8", "correct it by hand") from error

    def _put_back(self) -> None:
        self.tell(f"an earlier edit of {self.path} did not come to its end: what was there before is put back")
        left = self.files.read()
        self.files.put_back()
        now = self.files.read()
        why = "an earlier edit was interrupted"
        diff = shape_diff(left, now, self.path.name)
        try:
            self.preset.reload()
            self.preset.probe(now, now, self.preset.render(now or self.preset.empty))
        except (RemedyFailed, InvalidEdit, OSError) as error:
            why += f"; the proxy does not serve what was there before: {error}"
        facts = {"sandbox": self.sandbox, "file": str(self.path), "diff": diff, "why": why}
        self.audit.append({"event": "edit_put_back", **facts})
        self.files.forget()

    def _alone(self) -> AbstractContextManager[None]:
        return alone(self.lock, StallkitError("edit", self.sandbox, "somebody else is applying an edit", "try again"))


@define
class _Run:
    remedy: Remedy
    edit: Edit
    now: str  # in the file; empty where there is none
    rendered: str | None = None
    diff: str = ""
    why: str = ""

    def to_its_end(self) -> Edited:
        remedy, noted = self.remedy, self.remedy.preset.noted
        self.diff = shape_diff(self.now, self.edit.after, remedy.path.name)
        step = Step.RENDER
        try:
            while step not in ENDS:
                step = next_step(step, self._went_well(step), self.edit.reload)
        finally:
            remedy.files.drop_candidates()
        for note in noted:
            remedy.tell(note)
        if step is not Step.BROKEN:
            remedy.files.forget()  # first: what is served must not be put back because the log's disk is full
        self._record(str(step), why=self.why or None, note="; ".join(noted) or None)
        return Edited(step, self.why, self.diff, tuple(noted))

    def _went_well(self, step: Step) -> bool:
        try:
            self._take(step)
        except (RemedyFailed, InvalidEdit, StoreError, OSError) as error:
            self.why = f"{self.why}; then {step}: {error}" if self.why else f"{step}: {error}"
            return False
        return True

    def _take(self, step: Step) -> None:
        files, preset, edit, tell = self.remedy.files, self.remedy.preset, self.edit, self.remedy.tell
        match step:
            case Step.RENDER:
                self.rendered = self._served(edit.after) if edit.reload else preset.render(edit.after)
            case Step.CHECK:
                tell("checking")
                first = files.paths[0]
                text = first.read_text("utf-8") if edit.reload else self._texts()[first]
                preset.check(files.candidate(first, text), self.rendered)
            case Step.RECORD:
                self._record("begun")
            case Step.REPLACE:
                files.replace(self._texts())
            case Step.RELOAD | Step.RELOAD_BACK:
                tell("reloading")
                preset.reload()
            case Step.PROBE:
                preset.probe("" if edit.reload else self.now, edit.after, self.rendered)
            case Step.PUT_BACK:
                tell(f"rolling back ({self.why})")
                files.put_back()
            case Step.PROBE_BACK:
                preset.probe(edit.after, self.now, self._served(self.now or preset.empty))

    def _served(self, text: str) -> str | None:
        """What is made of a text, if that is what the proxy reads now; None: that was edited by hand."""
        with suppress(InvalidEdit):  # not of ours
            rendered = self.remedy.preset.render(text)
            first = self.remedy.files.paths[0]
            if rendered is not None and first.exists() and first.read_text("utf-8") == rendered:
                return rendered
        return None

    def _texts(self) -> Mapping[Path, str]:
        """What must be in each file."""
        texts = [self.edit.after] if self.rendered is None else [self.rendered, self.edit.after]
        return dict(zip(self.remedy.files.paths, texts, strict=True))

    def _record(self, what: str, **facts: Any) -> None:
        edit, sandbox, file = self.edit, self.remedy.sandbox, str(self.remedy.path)
        event = f"{'reload' if edit.reload else 'edit'}_{what.replace(' ', '_')}"
        told = {"sandbox": sandbox, "by": edit.who.name, "through": edit.who.through, "file": file}
        answered = {"item": edit.notice.item.id, "reply": edit.notice.reply} if edit.notice is not None else {}
        self.remedy.audit.append({"event": event, **told, **answered, **facts, "diff": self.diff})
