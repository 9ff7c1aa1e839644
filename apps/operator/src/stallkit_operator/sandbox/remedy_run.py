"""An edit of a proxy's configuration, step by step as `remedy` has them: files, checks, signals, and the audit.

Only one edit of a proxy is under way at a time, and it is bound to what its person saw: where somebody else changed the
file meanwhile, it is refused.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping

from attrs import define, field, frozen

from stallkit import private
from stallkit.errors import StallkitError, StoreError
from stallkit_operator.audit import AuditLog
from stallkit_operator.item import Who
from stallkit_operator.sandbox.config_shape import shape_diff
from stallkit_operator.sandbox.preset import Preset, RemedyFailed
from stallkit_operator.sandbox.remedy import ENDS, FIRST, Step, next_step
from stallkit_operator.sandbox.remedy_files import RemedyFiles
from stallkit_operator.sandbox.routes import InvalidEdit

__all__ = ["Edit", "Edited", "Remedy"]


@frozen
class Edit:
    """What a person saw, what is to be there, and the notice that it answers, if it does.

    A `reload` changes no file: it is for what the proxy reads and stallkit does not, as a credential that was renewed.
    """

    before: str = field(repr=False)
    after: str = field(repr=False)
    who: Who
    item: int | None = None
    reply: str | None = field(default=None, repr=False)
    reload: bool = False


@frozen
class Edited:
    """How an edit ended, why, the diff of the shapes, and what else a person should know."""

    end: Step
    why: str
    diff: str
    notes: tuple[str, ...] = ()


class Remedy:
    """The edits of one proxy of one sandbox."""

    def __init__(
        self, sandbox: str, files: RemedyFiles, preset: Preset, audit: AuditLog, lock: Path, tell: Callable[[str], None]
    ) -> None:
        """`lock` is a file of stallkit's own; `tell` hears of each step that takes time."""
        self._sandbox, self._files, self._preset, self._audit = sandbox, files, preset, audit
        self._lock, self._tell = lock, tell

    def text(self) -> str:
        """What a person edits; what an earlier edit left that was killed is put back first.

        Raises StallkitError where somebody else edits now, or that cannot be put back.
        """
        with self._alone():
            return self._whole() or self._preset.empty

    def apply(self, edit: Edit) -> Edited:
        """Check, replace, reload, try, and roll back where it does not serve.  Raises StallkitError, OSError."""
        with self._alone():
            now = self._whole()
            if (now or self._preset.empty) != edit.before:
                why = "it was changed by somebody else meanwhile; nothing was touched"
                return Edited(Step.REFUSED, why, "")
            run = _Run(self._sandbox, self._files, self._preset, self._audit, edit, now, self._tell)
            return run.to_its_end()

    def _whole(self) -> str:
        """What is there, after what a killed edit left is put back."""
        if self._files.cut_off:
            self._put_back()
        try:
            return self._files.read()
        except UnicodeDecodeError as error:
            raise StallkitError("edit", str(self._files.paths[-1]), "it is not UTF-8", "correct it by hand") from error

    def _put_back(self) -> None:
        path = self._files.paths[-1]
        self._tell(f"an earlier edit of {path} did not come to its end: what was there before is put back")
        left = self._files.read()
        self._files.put_back()
        now = self._files.read()
        why = "an earlier edit did not come to its end"
        diff = shape_diff(left, now, path.name)
        try:
            self._preset.reload()
            self._preset.probe(now, now, self._preset.render(now or self._preset.empty))
        except (RemedyFailed, InvalidEdit, OSError) as error:
            why += f"; the proxy does not serve what was there before: {error}"
        self._audit.append(
            {"event": "edit_put_back", "sandbox": self._sandbox, "file": str(path), "diff": diff, "why": why}
        )
        self._files.forget()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        private.folder(self._lock.parent)
        handle = private.opened(self._lock, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(handle)
            raise StallkitError("edit", self._sandbox, "somebody else applies an edit now", "try again") from error
        try:
            yield
        finally:
            os.close(handle)


@define
class _Run:
    sandbox: str
    files: RemedyFiles
    preset: Preset
    audit: AuditLog
    edit: Edit
    now: str  # in the file; empty where there is none
    tell: Callable[[str], None]
    rendered: str | None = None
    diff: str = ""
    why: str = ""

    def to_its_end(self) -> Edited:
        self.diff = shape_diff(self.now, self.edit.after, self.path.name)
        step = FIRST
        try:
            while step not in ENDS:
                step = next_step(step, self._went_well(step), self.edit.reload)
        finally:
            self.files.drop_candidates()
        for note in self.preset.noted:
            self.tell(note)
        if step is not Step.BROKEN:
            self.files.forget()  # first: what is served must not be put back because the log's disk is full
        self._record(str(step), why=self.why or None, note="; ".join(self.preset.noted) or None)
        return Edited(step, self.why, self.diff, tuple(self.preset.noted))

    @property
    def path(self) -> Path:
        return self.files.paths[-1]

    def _went_well(self, step: Step) -> bool:
        try:
            _DO[step](self)
        except (RemedyFailed, InvalidEdit, StoreError, OSError) as error:
            first = self.why or f"{step}: {error}"
            self.why = first if not self.why else f"{first}; then {step}: {error}"
            return False
        return True

    def _render(self) -> None:
        self.rendered = self._served(self.edit.after) if self.edit.reload else self.preset.render(self.edit.after)

    def _check(self) -> None:
        self.tell("checking")
        first = self.files.paths[0]
        text = self._texts(self.edit.after, self.rendered)[first] if not self.edit.reload else first.read_text("utf-8")
        self.preset.check(self.files.candidate(first, text), self.rendered)

    def _record_begin(self) -> None:
        self._record("begun")

    def _replace(self) -> None:
        self.files.replace(self._texts(self.edit.after, self.rendered))

    def _reload(self) -> None:
        self.tell("reloading")
        self.preset.reload()

    def _probe(self) -> None:
        self.preset.probe("" if self.edit.reload else self.now, self.edit.after, self.rendered)

    def _put_back(self) -> None:
        self.tell(f"rolling back ({self.why})")
        self.files.put_back()

    def _probe_back(self) -> None:
        self.preset.probe(self.edit.after, self.now, self._served(self.now or self.preset.empty))

    def _served(self, text: str) -> str | None:
        """What is made of a text, if that is what the proxy reads now; None: that was edited by hand."""
        with suppress(InvalidEdit):  # not of ours
            rendered = self.preset.render(text)
            first = self.files.paths[0]
            if rendered is not None and first.exists() and first.read_text("utf-8") == rendered:
                return rendered
        return None

    def _texts(self, text: str, rendered: str | None) -> Mapping[Path, str]:
        return dict(zip(self.files.paths, [text] if rendered is None else [rendered, text], strict=True))

    def _record(self, what: str, **facts: Any) -> None:
        edit = self.edit
        event = f"{'reload' if edit.reload else 'edit'}_{what.replace(' ', '_')}"
        told = {"sandbox": self.sandbox, "by": edit.who.name, "through": edit.who.through, "file": str(self.path)}
        answered = {"item": edit.item, "reply": edit.reply} if edit.item is not None else {}
        self.audit.append({"event": event, **told, **answered, **facts, "diff": self.diff})


_DO: dict[Step, Callable[[_Run], None]] = {
    Step.RENDER: _Run._render,
    Step.CHECK: _Run._check,
    Step.RECORD: _Run._record_begin,
    Step.REPLACE: _Run._replace,
    Step.RELOAD: _Run._reload,
    Step.PROBE: _Run._probe,
    Step.PUT_BACK: _Run._put_back,
    Step.RELOAD_BACK: _Run._reload,
    Step.PROBE_BACK: _Run._probe_back,
}
