"""The start of a sandbox: the five files that `sandbox init` writes, what is recorded, its directories, its session.

The files are its manifest, where its proxies are, and their configurations: a sandbox of bubblewrap that reaches two
proxies of the user's own and nothing else.  nginx gives credentials, tinyproxy lets hosts through; both allow nothing
yet (docs/sandboxes.md).

A start is written down before anything runs, so that no sandbox is unknown; one that fails takes it back.  A person's
reply may be typed into the terminal of a sandbox whose manifest says ``interactive = true``.
"""

from __future__ import annotations

import json
import math
import os
from contextlib import closing, suppress
from pathlib import Path
from typing import Callable, Mapping, Sequence

from attrs import frozen
from stallkit_sessions.lifecycle import SIZE, lasting
from stallkit_sessions.manager import Sessions
from stallkit_sessions.manifest import SOCKET_PLACE, Manifest, read_manifest
from stallkit_sessions.model import Sandboxed, Session
from stallkit_sessions.register import Register, RunningSession
from stallkit_sessions.sandbox_session import Folders, options_of, variables_of, writable_of
from stallkit_sessions.worktree import repository_place, worktree

from stallkit import private
from stallkit.config import sandboxes_dir, sandboxes_file, sessions_file, stuck_dir
from stallkit.errors import ConfigError, StallkitError, StartRefused, StoreError
from stallkit.transports.base import Options, Transport
from stallkit.transports.targets import open_target
from stallkit.transports.tmux.identity import Identity
from stallkit_operator.install import install
from stallkit_operator.item import Item
from stallkit_operator.sandbox.sandboxes import Sandbox, Sandboxes

# --- its first files ---

_MANIFEST = """\
# What the sandbox {name} is made of: docs/sandboxes.md.  Start it: stallkit start --manifest {folder}/{name}.toml
name = {name_}
engine = "bwrap"
command = {command}
directory = {directory}
tools = {tools}
# For `stallkit sandbox rebuild`: where its work is pushed, and what outlives it.
# repository = "git@git.example:acme/web.git"
# transcript = "/home/agent/.my-agent"

[proxies] # with bubblewrap the only things that it reaches
egress = "http://127.0.0.1:{egress}"
credential = "http://127.0.0.1:{credential}"
"""
_PROXIES = '''
[{name}.routes]
preset = "nginx"
file = "{folder}/routes.json"
rendered = "{folder}/routes.conf"
config = "{folder}/nginx.conf"
pid = "{folder}/nginx.pid"
url = "http://127.0.0.1:{credential}"

[{name}.egress]
preset = "tinyproxy"
file = "{folder}/hosts"
rendered = "{folder}/filter"
config = "{folder}/tinyproxy.conf"
pid = "{folder}/tinyproxy.pid"
url = "http://127.0.0.1:{egress}"
restart = ["sh", "-c", """cd {folder} && kill $(cat tinyproxy.pid) && while [ -e tinyproxy.pid ]; do sleep 0.1; done
exec tinyproxy -c {folder}/tinyproxy.conf"""]
'''
_NGINX = """\
# Start it: nginx -e stderr -c {folder}/nginx.conf
{user}worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/tmp;
    proxy_temp_path {folder}/tmp;
    fastcgi_temp_path {folder}/tmp;
    uwsgi_temp_path {folder}/tmp;
    scgi_temp_path {folder}/tmp;
    proxy_ssl_trusted_certificate /etc/ssl/certs/ca-certificates.crt;
    include {folder}/credentials.conf;
    server {{
        listen 127.0.0.1:{credential};
        include {folder}/routes.conf; # made by: stallkit sandbox routes edit {name}
    }}
}}
"""
_CREDENTIALS = """\
# One row for each credential that a route names as `auth`; then: stallkit sandbox routes reload {name}
# map "" $credential_github {{ default "ghp_..."; }}
"""
_TINYPROXY = """\
# Start it: tinyproxy -c {folder}/tinyproxy.conf
Port {egress}
Listen 127.0.0.1
PidFile "{folder}/tinyproxy.pid"
LogFile "{folder}/tinyproxy.log"
MaxClients 100
FilterDefaultDeny Yes
Filter "{folder}/filter"
"""


def first_files(
    name: str,
    folder: Path,
    proxies: Path,
    directory: Path,
    command: Sequence[str],
    tools: Sequence[Path],
    ports: tuple[int, int],
    user: str | None,
) -> Mapping[Path, str]:
    """The five files of the sandbox, and the two empty ones that the proxies include, each with its text.

    `proxies` is appended to; `ports` are those of the credential and the egress proxy; `user` is whom nginx serves as,
    if it is started as root.
    """
    credential, egress = ports
    given = {
        **{"name": name, "name_": json.dumps(name), "folder": folder, "credential": credential, "egress": egress},
        **{"command": json.dumps([*command]), "directory": json.dumps(str(directory))},
        **{"tools": json.dumps([*map(str, tools)]), "user": f"user {user};\n" if user else ""},
    }
    texts = {
        **{folder / f"{name}.toml": _MANIFEST, proxies: _PROXIES, folder / "nginx.conf": _NGINX},
        **{folder / "credentials.conf": _CREDENTIALS, folder / "tinyproxy.conf": _TINYPROXY},
        **{folder / "routes.conf": "", folder / "filter": ""},
    }
    return {path: text.format(**given) for path, text in texts.items()}


# --- its terminal ---


def composer_of(item: Item) -> Transport | None:
    """The pane of the sandbox that asked, which the caller closes.

    None if it was not started from a manifest, is sealed, does not run, or was replaced since it asked: then the
    reply is to another agent.  Raises StoreError, TransportError.
    """
    return terminal_of(item.session, item.created)


def terminal_of(name: str, by: float = math.inf) -> Transport | None:
    """The pane of a sandbox into which keys go, if it runs and was started by then; the caller closes it."""
    if not sandboxes_file().exists() or not sessions_file().exists():
        return None
    with closing(Sandboxes(sandboxes_file())) as sandboxes:
        sandbox = sandboxes.find(name)
    try:
        if sandbox is None or not sandbox.manifest.interactive:
            return None
    except ConfigError:  # an earlier stallkit read it otherwise
        return None
    with closing(Register(sessions_file(), or_copy=True)) as register:
        found = register.latest(name)
    if not isinstance(found, RunningSession) or not found.bound:
        return None
    session = found.session
    if session.id != sandbox.session or session.sealed or session.started_at > by:
        return None
    options = Options(session.tmux_socket_name, session.tmux_socket_path)
    return open_target(f"tmux:{Identity.of(session.identity).pane}", options)


# --- its start ---

LOOK_S = 5.0  # for git to say which branch a directory is on


@frozen
class Start:
    """How a sandbox must be started: who starts it and why, and where its terminal is."""

    by: str
    why: str = "started"
    item: int | None = None
    tmux_socket_name: str | None = None
    tmux_socket_path: str | None = None
    size: tuple[int, int] = SIZE
    replace: bool = False
    command: tuple[str, ...] | None = None  # in place of the manifest's
    tell: Callable[[str], object] = lambda line: None


def start_sandbox(sandboxes: Sandboxes, text: str, path: str, how: Start) -> tuple[Sandbox, Session]:
    """Start it; `path` is where the text is from, for messages.

    Raises ConfigError for a manifest that cannot be read, StartRefused and other TransportErrors if it could not be
    started, StoreError if that cannot be noted: then nothing runs, and nothing is recorded.
    """
    manifest = read_manifest(text, path)
    before = sandboxes.find(manifest.name)
    socket = lasting(how.tmux_socket_name, how.tmux_socket_path)
    place = _checked(manifest, before)
    variables = variables_of(manifest, os.environ)
    folders, home = folders_of(manifest.name), home_of(manifest.name)
    options = options_of(manifest, folders, socket[1], _written_by_others(sandboxes, manifest.name))
    if manifest.unproxied:
        how.tell(f"{manifest.name}: {manifest.unproxied}")
    try:
        _make(folders, home)
    except OSError as error:
        raise StoreError("sandbox", str(error.filename or home), error.strerror or str(error), "make room") from error
    noted = sandboxes.enrol(manifest, text, how.by, how.why, item=how.item, git_place=place, tmux=socket)
    try:
        kept, new = home / "manifest.toml", home / ".manifest.toml.new"
        with os.fdopen(private.opened(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8") as file:
            file.write(text)
        new.replace(kept)
        with Sessions() as sessions:
            session = sessions.start(
                manifest.name,
                manifest.command if how.command is None else how.command,
                directory=manifest.directory,
                engine=manifest.engine,
                image=manifest.image,
                engine_options=options,
                ports=manifest.ports,
                size=how.size,
                replace=how.replace,
                env=variables,
                tmux_socket_name=how.tmux_socket_name,
                tmux_socket_path=how.tmux_socket_path,
                sandbox=Sandboxed(str(kept), noted.version, sealed=not manifest.interactive),
                tell=how.tell,
            )
    except (StallkitError, OSError, ValueError) as error:
        sandboxes.withdraw(manifest.name, noted.version, before)
        if isinstance(error, StallkitError):
            raise
        raise StartRefused(manifest.name, str(error), "correct the manifest, or what it names") from error
    sandboxes.started(manifest.name, session.id)
    return sandboxes.get(manifest.name), session


def _written_by_others(sandboxes: Sandboxes, name: str) -> list[str]:
    """The directories in which sandboxes of another name can write."""
    found: list[str] = []
    for one in sandboxes.listing():
        if one.name != name:
            with suppress(ConfigError):  # an earlier stallkit read it otherwise
                found += writable_of(one.manifest)
    return found


def home_of(name: str) -> Path:
    """The directory of all that stallkit keeps of a sandbox."""
    return sandboxes_dir() / name


def folders_of(name: str) -> Folders:
    """The directories that a sandbox gets."""
    home = home_of(name)
    return Folders(socket=stuck_dir() / name, given=home / "given", transcript=home / "transcript")


def _make(folders: Folders, home: Path) -> None:
    private.folder(home.parent)
    private.folder(folders.socket.parent)
    for folder in (home, folders.socket, folders.given, folders.transcript):
        private.folder(folder)
    install(folders.socket, SOCKET_PLACE)


def _checked(manifest: Manifest, before: Sandbox | None) -> str | None:
    """Where the work tree's repository is.  Raises StartRefused if it is not what the manifest says."""
    name = manifest.name
    place = repository_place(manifest.directory)
    found = None if place is None else str(place)
    if before is not None and before.git_place not in (None, found) and _same_tree(before, manifest):
        why = f"the repository of its directory is {found} now, and was {before.git_place} when it was registered"
        raise StartRefused(name, why, "put back what its .git file says, or give the sandbox another name")
    if manifest.repository is not None and found is None:
        why = f"{manifest.directory} is in no git repository, so nothing of it could be pushed"
        raise StartRefused(name, why, "clone it there, or leave repository out of the manifest")
    if manifest.branch is not None and found is not None:
        is_on = (worktree(manifest.directory, LOOK_S) or {}).get("branch")
        if is_on != manifest.branch:
            why = f"{manifest.directory} is on {'no branch' if is_on is None else is_on}, not on {manifest.branch}"
            raise StartRefused(name, why, "git switch it, or correct the manifest")
    return found


def _same_tree(before: Sandbox, manifest: Manifest) -> bool:
    try:
        return before.manifest.directory == manifest.directory
    except ConfigError:  # of another version
        return False
