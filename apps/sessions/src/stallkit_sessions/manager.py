"""Sessions for programs that import stallkit: start, look at and stop them as the command line does."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from pathlib import Path
from types import TracebackType
from typing import Callable, Mapping, Sequence

from stallkit.config import sessions_file
from stallkit.errors import SessionGone, UnknownProgram
from stallkit.probes.procfs import boot_id
from stallkit.transports.base import Transport
from stallkit.transports.targets import open_target
from stallkit.transports.tmux.identity import Identity, valid_name
from stallkit.variables import Variables, read_variables
from stallkit_sessions.containers.runtime_call import BWRAP, DOCKER, PODMAN, kept
from stallkit_sessions.containers.runtimes import container_name
from stallkit_sessions.launch import check_variables
from stallkit_sessions.lifecycle import GRACE_S, SIZE, clear, finalize_now, start, stop
from stallkit_sessions.model import ExitRecord, Sandboxed, Session
from stallkit_sessions.register import Register, RunningSession

_ENGINES = (None, DOCKER, PODMAN, BWRAP)


class Sessions:
    """The sessions of this user: those that run, and how the others ended.

    ``with Sessions() as sessions: sessions.start("worker1", ["my-agent"], directory="work")``.  Several processes may
    have it open, the command line among them; a monitor beside them sees how sessions end.  Every method first notes
    what ended meanwhile.  Failures raise StoreError or a TransportError.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Sessions(Path(folder, "sessions.db")) as sessions:
    ...     sessions.living()
    []
    """

    def __init__(self, file: Path | None = None) -> None:
        """Open the register, in the state directory unless given.  Raises StoreError."""
        self._register = Register(file or sessions_file())

    def __enter__(self) -> Sessions:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the register; sessions keep running."""
        self._register.close()

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        directory: str | Path = ".",
        engine: str | None = None,
        image: str | None = None,
        engine_options: Sequence[str] = (),
        ports: Sequence[int] = (),
        size: tuple[int, int] = SIZE,
        replace: bool = False,
        hooks: bool = False,
        askpass: bool = False,
        relayed: bool = False,
        env: Mapping[str, str] | Variables | None = None,
        env_files: Sequence[str | Path] = (),
        tmux_socket_name: str | None = None,
        tmux_socket_path: str | Path | None = None,
        sandbox: Sandboxed | None = None,
        tell: Callable[[str], object] = lambda line: None,
    ) -> Session:
        """Start a program (argv, no shell) in a tmux session; the returned session has its ports.

        `engine` is ``docker``, ``podman`` (with an `image`) or ``bwrap``, `engine_options` are words for its `run`.  Of
        `ports`, 0 is any free one.  With `replace` a session of that name is stopped first.  With `hooks` an agent is
        started so that it says more of itself (docs/signals.md); with `askpass` git, ssh and sudo in it ask by
        stallkit's askpass program; both without a container or sandbox alone; `relayed` runs it behind a
        `stallkit wrap`; `sandbox` is of one that a manifest describes.  `env` and `env_files` are variables for it
        (docs/sessions.md): no value is in a list of processes, or kept.  `tell` is called with warnings.

        Raises ValueError for invalid values, StartRefused if name or port is taken, UnknownProgram if there is
        no such program, OSError if a file of variables cannot be read.
        """
        if not valid_name(name):
            raise ValueError(f"{name!r} is not a name for a session: 1 to 64 letters, digits, _ and -, no - in front")
        if engine not in _ENGINES or bool(image) != (engine in (DOCKER, PODMAN)):
            raise ValueError("engine must be docker or podman with an image, or bwrap without one")
        if hooks and engine is not None:
            raise ValueError("hooks do not work in a container or sandbox: leave out one of the two")
        if askpass and engine is not None:
            raise ValueError("askpass does not work in a container or sandbox: they do not reach stallkit")
        if isinstance(env, Variables):
            variables = env
        else:
            given = [f"{name}={value}" for name, value in (env or {}).items()]
            variables = read_variables(given, env_files, os.environ)
        place = Path(directory).expanduser().resolve()
        if engine is None and shutil.which(command[0]) is None and not (place / command[0]).exists():
            why, todo = f"no program {command[0]!r} is installed", "check the command, or name its path"
            raise UnknownProgram(name, why, todo)
        id, contained = secrets.token_hex(6), engine in (DOCKER, PODMAN)
        session = Session(
            name=name,
            id=id,
            command=tuple(command),
            directory=str(place),
            started_at=time.time(),
            boot=boot_id(),
            engine=engine,
            image=image,
            container=container_name(name, id, engine),
            engine_options=tuple(engine_options),
            engine_environment=kept(os.environ) if contained else (),
            ports=tuple(ports),
            hooks=hooks,
            askpass=askpass,
            relayed=relayed,
            env=variables.named,
            env_files=variables.files,
            sandbox=sandbox,
            tmux_socket_name=tmux_socket_name,
            tmux_socket_path=str(Path(tmux_socket_path).absolute()) if tmux_socket_path else None,
        )
        check_variables(session, variables)
        return start(self._register, session, size, replace, tell, variables)

    def latest(self, name: str) -> Session | ExitRecord | None:
        """The running session of that name, else how the last one ended; None if none was ever started."""
        found = self._found(name)
        return found.session if isinstance(found, RunningSession) else found

    def living(self) -> list[Session]:
        """All that have not ended, in the order of their start."""
        finalize_now(self._register)
        return [one.session for one in self._register.living()]

    def ends(self, name: str | None = None, limit: int = 20) -> list[ExitRecord]:
        """How sessions of that name, or all, ended: the latest `limit`, newest last."""
        finalize_now(self._register)
        return self._register.records(name, limit)

    def open(self, name: str) -> Transport:
        """A transport to exactly its pane, for `check` and the like.  Raises SessionGone if it does not run."""
        found = self._found(name)
        if not isinstance(found, RunningSession) or not found.bound:
            raise SessionGone(name, found.why if isinstance(found, ExitRecord) else "no such session runs")
        return open_target(f"tmux:{Identity.of(found.session.identity).pane}", found.session.options)

    def stop(self, name: str, grace_s: float = GRACE_S) -> ExitRecord:
        """End a session: program, record, then pane and container; for one that ended, remove what it left.

        Raises SessionGone if none was ever started, TransportError if it cannot be ended.
        """
        found = self._found(name)
        if found is None:
            raise SessionGone(name, "no session of this name was started")
        if isinstance(found, RunningSession):
            return stop(self._register, found, grace_s=grace_s)
        clear(found, grace_s)
        return found

    def _found(self, name: str) -> RunningSession | ExitRecord | None:
        finalize_now(self._register)
        return self._register.latest(name)
