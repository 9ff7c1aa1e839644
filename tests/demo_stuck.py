"""An agent in a sandbox that is blocked four times and freed four ways, and a prompt answered: ``scripts/demo-stuck``.

Everything is real and on this machine alone: bubblewrap, nginx, tinyproxy, a git server with a gate, tmux.  A person's
part is played by the commands that a person would call, with an $EDITOR that makes one change.  Nothing is left behind.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Iterator, NoReturn

from machine_room import PROGRAMS
from proxied import NGINX, TINYPROXY, Nginx, Service, Tinyproxy, service, write_proxies
from queued import COMMAND, Desk
from repositories import CLEAN, git
from terminals import Server, wait_for

ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# What the agent runs: it tries, asks a person where it is refused, and tries again.
AGENT = """#!/bin/sh
cd "$(dirname "$0")" || exit 1
say() { printf '%s\\n' "$*" | tee -a log; }
ask() { say "stuck: $*"; say "a person says: $(/run/stallkit/stuck "$*")"; }
status() { curl -s -o /dev/null -w '%{http_code}' "$@"; }

while got=$(status "$STALLKIT_CREDENTIAL_PROXY/forge/issues"); [ "$got" != 200 ]; do
    ask "the credential proxy answers $got for /forge/issues"
done
say 'reads /forge/issues, with a credential that it never saw'
while got=$(status --proxy "$HTTP_PROXY" "http://localhost:SERVICE/"); [ "$got" != 200 ]; do
    ask "the egress proxy answers $got for localhost"
done
say 'fetches from localhost, through the egress proxy'
until git push -q git://127.0.0.1:GIT/repo.git HEAD:main 2>push; do
    ask "the push of $(git rev-parse HEAD) is refused; its key is made up, for a test"
done
say 'has pushed its commit'
until [ -x /opt/stallkit-tools/spell ]; do ask 'there is no program spell in this sandbox'; done
say "runs spell: $(/opt/stallkit-tools/spell)"
exec sleep 1000
"""
MANIFEST = """name = "web"
engine = "bwrap"
command = ["sh", "{work}/agent"]
directory = "{work}"
branch = "main"
repository = "{folder}/repo.git"
network = "host"

[proxies]
egress = "{egress}"
credential = "{credential}"
direct = ["127.0.0.1"]
"""
CHECK = "#!/bin/sh\n! git show --format= \"$1\" | grep -q '^+key = '\n"
ASKS = "read -p 'Deploy to staging? [y/N] ' it; echo \"deploy: got <$it>\"; exec sleep 1000"


class Wrong(Exception):
    """The demonstration did not go as it must."""


class Demo:
    """The sandbox, what is around it, and the operator's desk."""

    def __init__(self, folder: Path, behind: Service, stack: ExitStack) -> None:
        self.folder, self.behind, self.work = folder, behind, folder / "work"
        self.server = Server(folder)
        stack.callback(self.server.end)
        self.desk = Desk(folder, self.server)
        stack.callback(self.desk.end)
        self.desk.environment |= {**CLEAN, "STALLKIT_CACHE": str(folder / "cache"), "HOME": str(folder / "home")}
        self.desk.environment["PATH"] = f"{PROGRAMS}:{os.environ['PATH']}"
        self.desk.environment.pop("VISUAL", None)
        self.nginx = Nginx(folder / "nginx", folder / "state" / "stuck" / "web" / "notify.sock")
        stack.callback(self.nginx.end)
        self.tinyproxy = Tinyproxy(folder / "tiny", behind.port)
        stack.callback(self.tinyproxy.end)
        write_proxies(folder / "config", self.nginx.toml, self.tinyproxy.toml)
        self.git_port = self._git_server(stack)
        self._told = 0  # lines of the agent that were printed

    def _git_server(self, stack: ExitStack) -> int:
        """A repository behind a gate, served over git's own protocol; its port."""
        git(self.folder, "init", "-q", "--bare", "repo.git")
        hooks = self.folder / "repo.git" / "hooks"
        hooks.mkdir(exist_ok=True)
        for name, text in (
            ("pre-receive", self.desk("sandbox", "gate", "pre-receive").stdout),
            ("check-commit", CHECK),
        ):
            (hooks / name).write_text(text)
            (hooks / name).chmod(0o755)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = int(free.getsockname()[1])
        words = ["git", "daemon", "--listen=127.0.0.1", f"--port={port}", f"--base-path={self.folder}", "--export-all"]
        process = subprocess.Popen(
            [*words, "--enable=receive-pack", str(self.folder / "repo.git")],
            env={**self.desk.environment, "STALLKIT": COMMAND},
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        stack.callback(_end_group, process)
        return port

    def sandbox(self) -> None:
        """The agent's work tree, and the manifest of its sandbox."""
        self.work.mkdir()
        (self.folder / "home").mkdir()
        git(self.work, "init", "-q")
        script = AGENT.replace("SERVICE", str(self.behind.port)).replace("GIT", str(self.git_port))
        (self.work / "agent").write_text(script)
        (self.work / ".gitignore").write_text("log\npush\n")
        (self.work / "settings.toml").write_text('key = "not a real one"\n')
        git(self.work, "add", "-A")
        git(self.work, "commit", "-qm", "settings for a test")
        text = MANIFEST.format(work=self.work, folder=self.folder, egress=self.tinyproxy.url, credential=self.nginx.url)
        (self.folder / "web.toml").write_text(text)

    # --- what is printed ---

    def does(self, *words: str, code: int = 0) -> str:
        """A command of the operator's, shown with all that it prints.  Raises Wrong for another exit code."""
        print(f"  $ stallkit {shlex.join(words)}", flush=True)
        done = self.desk(*words)
        for line in (done.stderr + done.stdout).splitlines():
            print(f"    {line}")
        if done.returncode != code:
            raise Wrong(f"stallkit {shlex.join(words)} ended with {done.returncode}, not {code}")
        return done.stdout

    def agent_says(self, text: str) -> None:
        """Print what the agent says, until it says this."""
        log = self.work / "log"
        wait_for(lambda: log.exists() and text in log.read_text(), f"the agent to say {text!r}")
        lines = log.read_text().splitlines()
        for line in lines[self._told :]:
            print(f"  agent: {line}", flush=True)
        self._told = len(lines)

    def waits(self, text: str) -> str:
        """The number of the notice with that text, as soon as it is there."""
        self.agent_says(f"stuck: {text}")
        found: list[str] = []

        def listed() -> bool:
            found[:] = [str(item["id"]) for item in self.desk.items() if text in item["words"]]
            return bool(found)

        wait_for(listed, f"a notice {text!r}")
        return found[0]

    def edits(self, script: str) -> None:
        """From now on $EDITOR is this script, which gets the file as $1."""
        program = self.folder / "editor"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        self.desk.environment["EDITOR"] = str(program)

    # --- what happens ---

    def start(self) -> None:
        title("A sandbox with an agent: bubblewrap, nginx for credentials, tinyproxy for hosts")
        self.sandbox()
        print("  $ stallkit sandbox serve web &")
        self.desk.begin("sandbox", "serve", "web")
        wait_for((self.folder / "state/stuck/web/notify.sock").exists, "the endpoint")
        self.does("start", "--manifest", str(self.folder / "web.toml"), "-S", str(self.server.socket))

    def credential(self) -> None:
        title("1  Blocked at the credential proxy, freed by a route")
        id = self.waits("the credential proxy answers 404")
        self.does("stuck", "list")
        self.does("stuck", "triage", id, "credential")
        self.does("stuck", "show", id)
        route = {"path": "/forge/", "upstream": f"http://127.0.0.1:{self.behind.port}/", "auth": "github"}
        self.edits(f"printf '%s\\n' {shlex.quote(json.dumps({'routes': [route]}, indent=2))} >\"$1\"")
        self.does("sandbox", "routes", "edit", "web", "--reply", id, "there is a route now: try again")
        self.agent_says("never saw")

    def egress(self) -> None:
        title("2  Blocked at the egress proxy, freed by a host")
        id = self.waits("the egress proxy answers 403")
        self.does("stuck", "triage", id, "egress")
        self.edits('echo localhost >>"$1"')
        self.does("sandbox", "egress", "edit", "web", "--reply", id, "that host is allowed now")
        self.agent_says("through the egress proxy")

    def waiver(self) -> None:
        title("3  A push refused by a gate outside the sandbox, freed by a waiver")
        id = self.waits("the push of")
        commit = git(self.work, "rev-parse", "HEAD")
        self.does("sandbox", "waive", commit, "--why", "a key of the tests", "--for", "10m", "--item", id)
        self.does("stuck", "reply", id, "that commit is waived: push again")
        self.agent_says("has pushed")

    def capability(self) -> None:
        title("4  Blocked by what its sandbox lacks, freed by a rebuild")
        id = self.waits("there is no program")
        self.does("stuck", "triage", id, "capability")
        tool = self.folder / "tools" / "spell"
        tool.parent.mkdir()
        tool.write_text("#!/bin/sh\necho 0 words are wrong\n")
        tool.chmod(0o755)
        self.edits(f'sed -i \'1i tools = ["{tool}"]\' "$1"')
        self.does("sandbox", "rebuild", id, "--why", "it may use spell", "--yes")
        self.agent_says("runs spell")

    def prompt(self) -> None:
        title("5  A prompt of a watched session, answered from the queue")
        session = self.server.start("deploy", "bash", "-c", ASKS, shows="[y/N]")
        print("  $ stallkit watch tmux:deploy --policy observe &")
        self.desk.watch("tmux:deploy")
        id = str(self.desk.item(state="input_required", source="prompt")["id"])
        self.does("stuck", "show", id)
        self.does("stuck", "r", id, "y")
        [line] = [one for one in self.server.wait(session, "got <").screen.lines if "got <" in one]
        print(f"  session: {line.strip()}")
        if "got <y>" not in line:
            raise Wrong(f"the session shows {line}")

    def audit(self) -> None:
        title("What was done, on record")
        self.does("stuck", "list", "--all")
        for log in ("cred-proxy-web", "pipelock-web", "waivers", "manifests"):
            self.does("sandbox", "audit", "show", log)
        self.does("sandbox", "audit", "verify")
        self.does("stop", "web")

    def run(self) -> None:
        for part in (self.start, self.credential, self.egress, self.waiver, self.capability, self.prompt, self.audit):
            part()


def title(text: str) -> None:
    print(f"\n{text}", flush=True)


def left_behind(folder: Path) -> list[str]:
    """The processes that run from, or with, anything of this folder."""
    found = []
    mark = os.fsencode(folder)
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes()
            seen = [words, (entry / "environ").read_bytes(), bytes((entry / "cwd").readlink())]
            if words and any(mark in one for one in seen) and int(entry.name) != os.getpid():
                found.append(f"{entry.name} {words.replace(bytes(1), b' ').decode(errors='replace')[:100]}")
    return found


def _ended(number: int, frame: object) -> NoReturn:
    """What was started is ended first, undisturbed."""
    for one in ENDS:
        signal.signal(one, signal.SIG_IGN)
    sys.exit(128 + number)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _end_rest(folder: Path) -> None:
    """End what the commands started in the background: the sessions' monitor."""
    for line in left_behind(folder):
        with suppress(ProcessLookupError):
            os.kill(int(line.split()[0]), signal.SIGTERM)


@contextmanager
def _folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="demo-", dir="/tmp"))  # a socket's path is short
    try:
        yield made
    finally:
        _end_rest(made)
        with suppress(AssertionError):
            wait_for(lambda: not left_behind(made), "the end of all processes")
        shutil.rmtree(made, ignore_errors=True)


def main() -> int:
    """Run it; 0 if all went as it must, and nothing is left."""
    missing = [path.name for path in (PROGRAMS / "bwrap", NGINX, TINYPROXY) if not path.exists()]
    if missing:
        print(f"missing: {', '.join(missing)} in .cache, which scripts/demo-stuck fetches on Debian", file=sys.stderr)
        return 1
    began, failed = time.monotonic(), ""
    for number in ENDS:
        signal.signal(number, _ended)
    with _folder() as folder:
        try:
            with service() as behind, ExitStack() as stack:
                Demo(folder, behind, stack).run()
        except (Wrong, AssertionError) as error:
            failed = str(error)
    title(f"{time.monotonic() - began:.0f} s")
    rest = left_behind(folder)
    for line in rest:
        print(f"  left behind: {line}")
    if failed:
        print(f"  failed: {failed}")
    else:
        print(f"  blocked 4 times, freed in 4 ways, 1 prompt answered; left behind: {len(rest) + folder.exists()}")
    return 1 if failed or rest or folder.exists() else 0


if __name__ == "__main__":
    sys.exit(main())
