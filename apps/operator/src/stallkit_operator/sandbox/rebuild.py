"""A rebuild, carried out: step by step as `rebuild_plan` says, each noted before it begins, so that it can go on.

It may be killed at any moment.  Whoever calls `rebuild` again for the same sandbox goes on where it stopped; a lock
keeps two apart.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

from attrs import asdict, field, frozen
from stallkit_sessions.containers.runtimes import runtime_of
from stallkit_sessions.lifecycle import SIZE
from stallkit_sessions.manager import Sessions
from stallkit_sessions.manifest import Manifest, read_manifest
from stallkit_sessions.model import ExitRecord, Session
from stallkit_sessions.resuming import told_command
from stallkit_sessions.work_snapshot import Store, WorkSnapshot

from stallkit.errors import StallkitError, StartRefused
from stallkit.packs.registry import Engine, installed_engine
from stallkit.press.send import Sent, send
from stallkit_operator.item import ItemState, NotAsShown, NotOpen, Source, Who
from stallkit_operator.queue import NoItem, Queue
from stallkit_operator.sandbox.config_shape import shape_diff
from stallkit_operator.sandbox.rebuild_plan import (
    GO_ON,
    LEADS,
    Leads,
    Outcome,
    Rebuilding,
    RebuildRows,
    Step,
    StepState,
    comment_of,
    comment_words,
    hand_off,
    next_step,
    outcome,
)
from stallkit_operator.sandbox.sandbox_start import Start, folders_of, home_of, start_sandbox, terminal_of
from stallkit_operator.sandbox.sandboxes import Sandboxes, alone

GOING_S = 60.0  # for an agent to come to its composer
COMMENT_S = 30.0  # for the forge's client
LIVES_S = 1.0  # that a program has to live to count as started
CONTAINER_S = 120.0  # for a container to begin: its image may have to be fetched
_TRANSCRIPT_BYTES = 1_000_000_000  # that are carried over at most


@frozen
class Rebuilt:
    """What became of a rebuild: None if it is not over, and goes on when it is called again; and why."""

    outcome: Outcome | None
    why: str


@frozen
class Runner:
    """Carries out rebuilds.  `told` is called before and after each step, with its state."""

    sandboxes: Sandboxes
    queue: Queue
    told: Callable[[Step, StepState, str], object] = field(default=lambda step, state, why: None)
    engine: Callable[[], Engine] = installed_engine
    audit: Callable[[Mapping[str, Any]], object] = field(default=lambda event: None)

    def rebuild(self, name: str) -> Rebuilt:
        """Go on with the rebuild of that sandbox that was approved, and audit the result.

        Raises StallkitError if none is under way, or another process does it; StoreError if a row cannot be
        written: then it goes on later.
        """
        lock = home_of(name) / "rebuild.lock"
        with alone(lock, StallkitError("rebuild", name, "another process rebuilds it", "wait for that one")):
            rows = RebuildRows(self.sandboxes)
            rebuilding = rows.unfinished(name)
            if rebuilding is None:
                raise StallkitError("rebuild", name, "none is under way", f"begin one: stallkit sandbox rebuild {name}")
            work = _Work(self.sandboxes, self.queue, rows, rebuilding, self.engine)
            why = "every step is done"
            while (step := next_step(rows.rows(rebuilding.id))) is not None:
                rows.note(rebuilding.id, step, StepState.BEGUN)
                self.told(step, StepState.BEGUN, "")
                try:
                    facts = work.do(step)
                except (StallkitError, OSError) as error:
                    why = f"{step}: {error}"
                    rows.note(rebuilding.id, step, StepState.FAILED, {"why": why})
                    self.told(step, StepState.FAILED, str(error))
                    if LEADS[step] is Leads.AGAIN:
                        self._audit("rebuild_waits", rebuilding, why)
                        return Rebuilt(None, why)
                    continue
                self.told(step, StepState.DONE, "")
                rows.note(rebuilding.id, step, StepState.DONE, facts)
            end = outcome(rows.rows(rebuilding.id))
            assert end is not None  # there is no next step
            why = why if end is Outcome.AS_IT_WAS else "the replacement runs"
            self._audit("rebuild_done" if end is Outcome.REPLACED else "rebuild_failed", rebuilding, why)
            rows.finish(rebuilding.id, end, why)
            return Rebuilt(end, why)

    def _audit(self, event: str, rebuilding: Rebuilding, why: str) -> None:
        known = self.sandboxes.get(rebuilding.sandbox)
        facts = {"sandbox": known.name, "manifest": known.version, "by": rebuilding.by, "item": rebuilding.item}
        self.audit({"event": event, **facts, "why": why})


@frozen
class _Work:
    """The steps of one rebuild; each does nothing if it finds itself done."""

    sandboxes: Sandboxes
    queue: Queue
    rows: RebuildRows
    rebuilding: Rebuilding
    engine: Callable[[], Engine]

    def do(self, step: Step) -> dict[str, Any]:
        """Call the method of its name; returns what must be known of it later.  Raises StallkitError, OSError."""
        method: Callable[[], dict[str, Any] | None] = getattr(self, step.name.lower())
        return method() or {}

    # --- what is known ---

    @property
    def name(self) -> str:
        return self.rebuilding.sandbox

    @property
    def ref(self) -> str:
        return f"refs/stallkit/{self.name}/{self.rebuilding.id}"

    @property
    def before(self) -> Manifest:
        """The manifest of the sandbox that is replaced."""
        return read_manifest(self._text_before, f"manifest {self.name}")

    @property
    def _text_before(self) -> str:
        history = self.sandboxes.history(self.name)
        return next(one.text for one in history if one.version == self.rebuilding.old_version)

    @property
    def diff(self) -> list[str]:
        """Of the shapes: it goes where others read it."""
        return shape_diff(self._text_before, self.rebuilding.text).splitlines()[2:]

    @property
    def _store(self) -> Store:
        """Where its work is kept.  Raises StallkitError if it has no repository."""
        place, folder = self.sandboxes.get(self.name).git_place, self.before.directory
        if place is None:
            why = f"{folder} was in no git repository when it was registered"
            raise StallkitError("rebuild", self.name, why, "make it one, and start the sandbox anew")
        return Store(home_of(self.name) / "snapshots.git", Path(folder), Path(place))

    @property
    def _first(self) -> WorkSnapshot:
        return WorkSnapshot(**self.rows.facts(self.rebuilding.id, Step.SNAPSHOT))

    @property
    def _last(self) -> tuple[str, WorkSnapshot]:
        """The latest snapshot, and its ref."""
        latest = self.rows.facts(self.rebuilding.id, Step.LATEST)
        return (f"{self.ref}-latest", WorkSnapshot(**latest)) if "commit" in latest else (self.ref, self._first)

    @property
    def _remote(self) -> str:
        repository = self.before.repository
        assert repository is not None  # `propose` has seen to it
        return repository

    def _session(self) -> tuple[Session | None, bool]:
        """Its latest session, and whether it runs."""
        with Sessions() as sessions:
            found = sessions.latest(self.name)
        return (found.session, False) if isinstance(found, ExitRecord) else (found, found is not None)

    # --- before the teardown ---

    def snapshot(self) -> dict[str, Any]:
        session, _ = self._session()
        if session is None or session.id != self.rebuilding.old_session:
            why = "it was started anew since the rebuild was approved"
            raise StallkitError("rebuild", self.name, why, "look at what runs now, and begin again")
        return asdict(self._store.take(self.ref, f"work of sandbox {self.name}, before its rebuild"))

    def push(self) -> None:
        self._store.push(self.ref, self._first, self._remote)

    def read_back(self) -> None:
        self._store.read_back(self.ref, self._first, self._remote)

    def teardown(self) -> None:
        try:
            session, _ = self._session()
            if session is not None and session.id == self.rebuilding.old_session:
                with Sessions() as sessions:
                    sessions.stop(self.name)
        except (StallkitError, OSError):
            session, runs = self._session()
            if runs and session is not None and session.id == self.rebuilding.old_session:
                raise  # it goes on as it was

    # --- after it ---

    def latest(self) -> dict[str, Any]:
        ref = f"{self.ref}-latest"
        found = self._store.take(ref, f"work of sandbox {self.name}, at its end")
        if found.tree == self._first.tree and found.parent == self._first.parent:
            return {}
        self.rows.note(self.rebuilding.id, Step.LATEST, StepState.BEGUN, asdict(found))
        with suppress(StallkitError):  # the work tree has it as well
            self._store.push(ref, found, self._remote)
        return asdict(found)

    def transcript(self) -> None:
        folders = folders_of(self.name)
        new = folders.given / ".transcript.new"
        shutil.rmtree(new, ignore_errors=True)
        copy_tree(folders.transcript, new)
        shutil.rmtree(folders.given / "transcript", ignore_errors=True)
        new.rename(folders.given / "transcript")

    def restore(self) -> dict[str, Any]:
        ref, snapshot = self._last
        return {"restored": self._store.restore(ref, snapshot, self._remote, self.before.branch)}

    def hand_off(self, failed: str = "") -> None:
        given = folders_of(self.name).given
        items = [
            one
            for one in self.queue.items(over=True)
            if one.session == self.name and one.source is Source.AGENT and (one.open or one.created >= self._since)
        ]
        carried = (given / "transcript").is_dir() and any((given / "transcript").iterdir())
        text = hand_off(self.rebuilding, self.diff, items, carried, self._last[1].commit, failed)
        new = given / ".hand-off.new"
        new.unlink(missing_ok=True)
        new.write_text(text, "utf-8")
        new.chmod(0o444)
        new.replace(given / "hand-off.md")

    @property
    def _since(self) -> float:
        """When the sandbox that is replaced was started."""
        session, _ = self._session()
        return session.started_at if session is not None else 0.0

    def start(self) -> None:
        self._start(self.rebuilding.text, self.rebuilding.why)

    def fall_back(self) -> None:
        self.hand_off(str(self.rows.facts(self.rebuilding.id, Step.START).get("why")))
        self._start(self._text_before, "started again as it was: the rebuild failed")
        with suppress(StallkitError):  # it runs
            self.set_going()

    def _start(self, text: str, why: str) -> None:
        session, runs = self._session()
        known = self.sandboxes.get(self.name)
        other = session if runs and session is not None and session.id != self.rebuilding.old_session else None
        if other is not None and known.latest.text == text:
            self.sandboxes.started(self.name, other.id)  # by one that was killed before it could note it
        else:
            if other is not None:  # a replacement that did not come to run
                with Sessions() as sessions:
                    sessions.stop(self.name)
            socket = known.tmux_socket_name, known.tmux_socket_path
            size = session.size if session is not None and session.size is not None else SIZE
            command = self._told(read_manifest(text, f"manifest {self.name}"))
            how = Start(self.rebuilding.by, why, self.rebuilding.item, *socket, size, command=command)
            start_sandbox(self.sandboxes, text, f"manifest {self.name}", how)
        try:
            self._check_lives()
        except StartRefused:
            self.sandboxes.withdraw(self.name, self.sandboxes.get(self.name).version, known)
            raise

    def _told(self, manifest: Manifest) -> tuple[str, ...] | None:
        """The command by which it goes on on its own; None if none is known."""
        if manifest.resume is not None:
            return tuple(GO_ON if word == "{text}" else word for word in manifest.resume) or None
        agents = self.engine().words.agents
        return told_command(manifest.command, GO_ON, agents, manifest.directory, folders_of(self.name).transcript)

    def set_going(self) -> None:
        """Type what it is to do into its composer, unless its command says so, or its manifest that nobody is to."""
        session, _ = self._session()
        manifest = self.sandboxes.get(self.name).manifest
        if manifest.resume == [] or session is None or session.command != tuple(manifest.command):
            return
        transport = terminal_of(self.name)
        if transport is None:
            why = f"it does not continue: it is sealed, and how to give {manifest.command[0]} a text is unknown"
            raise StallkitError("rebuild", self.name, why, "name its command in the manifest: resume = [..., '{text}']")
        with closing(transport):
            sending = send(transport, GO_ON, self.engine(), wait_s=GOING_S)
        if sending.sent is not Sent.TYPED:
            todo = f"look at it, then: stallkit send {self.name} TEXT"
            raise StallkitError("rebuild", self.name, f"it was not told to go on: {sending.why}", todo)

    def _check_lives(self) -> None:
        """Return once it surely runs: what a runtime refuses ends a moment after the start.  Raises StartRefused."""
        until = time.monotonic() + CONTAINER_S
        lives_until = time.monotonic() + LIVES_S
        while time.monotonic() < until:
            with Sessions() as sessions:
                found = sessions.latest(self.name)
            if not isinstance(found, Session):
                said = [line for line in (found.screen or () if found else ()) if line.strip()]
                why = f"it ended at once: {' '.join(said[-2:])[:300] or (found.why if found else 'nobody knows why')}"
                raise StartRefused(self.name, why, "correct its manifest")
            runtime = runtime_of(found)
            runs = runtime is None or runtime.facts(found.container or "").running
            if runs and time.monotonic() >= lives_until:
                return
            time.sleep(0.1)
        raise StartRefused(self.name, f"its container did not begin within {CONTAINER_S:g} s", "see whether it can")

    def comment(self) -> None:
        manifest = self.before
        if not manifest.comment or manifest.pull_request is None:
            return
        ref, snapshot = self._last
        text = comment_of(self.rebuilding, self.diff, snapshot.commit, ref)
        words = comment_words(manifest.comment, self._remote, manifest.pull_request, text)
        _run(words, home_of(self.name))

    def reply(self) -> None:
        if self.rebuilding.item is None:
            return
        who = Who(self.rebuilding.by, "stallkit sandbox rebuild")
        text = f"rebuilt: {self.rebuilding.why}"
        with suppress(NotOpen, NoItem):  # somebody answered it meanwhile
            item = self.queue.item(self.rebuilding.item)
            seen = item.revision if item.words == self.rebuilding.asked else 0
            try:
                self.queue.close_item(item.id, ItemState.ANSWERED, who, text, seen=seen)
            except NotAsShown as error:  # perhaps by the replacement
                why = "more was asked since the rebuild was approved, so it is still open"
                raise StallkitError("number", str(item.id), why, "stallkit stuck show, reply") from error


def copy_tree(source: Path, to: Path, most: int = _TRANSCRIPT_BYTES) -> None:
    """Copy the files of an agent's directory: no link is followed, at most so many bytes.  Raises OSError."""
    to.mkdir(mode=0o700)
    left = most
    for folder, folders, names, at in os.fwalk(source, follow_symlinks=False):
        place = to / Path(folder).relative_to(source)
        for one in folders:
            if stat.S_ISDIR(os.stat(one, dir_fd=at, follow_symlinks=False).st_mode):
                (place / one).mkdir(mode=0o700)
        for one in names:
            if not stat.S_ISREG((found := os.stat(one, dir_fd=at, follow_symlinks=False)).st_mode):
                continue
            left -= found.st_size
            if left < 0:
                raise OSError(0, f"it has more than {most:,} bytes", str(source))
            handle = os.open(one, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
            with os.fdopen(handle, "rb") as file, (place / one).open("xb") as copy:
                shutil.copyfileobj(file, copy)


def _run(words: Sequence[str], cwd: Path) -> None:
    """Call the forge's client.  Raises StallkitError."""
    try:
        done = subprocess.run(
            words, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=COMMENT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StallkitError("comment", words[0], str(error), "comment by hand") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"it exited with {done.returncode}"]
        raise StallkitError("comment", words[0], said[-1][:200], "comment by hand")
