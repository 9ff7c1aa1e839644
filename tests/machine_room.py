"""Real container engines for tests: a dockerd and a podman of our own, in a folder, seen by nobody else.

Programs come from `.cache/engines` (scripts/engines.sh).  Everything lives in one folder and in a mount namespace of
its own, where that folder's parts stand in for /run and /dev/shm.  Each engine has the image ``bb:1``, busybox alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Iterator, TypeVar

import pytest
from terminals import wait_for

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / ".cache" / "engines" / "bin"
IMAGE = "localhost/bb:1"  # podman names what it imports so; docker is given the same name

# Each wants its folder as $1.  A program of ours ends with the tests, however these end: that is what setpriv is for.
DOCKERD = r"""
mount --bind "$1/run" /run
mount --bind "$1/shm" /dev/shm
parent=$2
# Version 1 of cgroups: a controller in which no group can be made is left out, here alone.
for controller in /sys/fs/cgroup/*; do
    mountpoint -q "$controller" || continue
    mkdir -p "$controller/$parent" 2>/dev/null || umount "$controller"
done
exec setpriv --pdeathsig TERM dockerd -H "unix://$1/docker.sock" --data-root "$1/data" --exec-root "$1/exec" \
    -p "$1/docker.pid" --storage-driver=vfs --bridge=none --iptables=false --ip6tables=false --ip-forward=false \
    --ip-masq=false --default-ulimit nofile=4096:4096 --default-ulimit nproc=4096:4096 --oom-score-adjust 0 \
    --cgroup-parent "/$parent" --shutdown-timeout 1
"""
# crun refuses the mixed layout of both versions of cgroups, so the second is taken away from it.
PODMAN = r"""
mount --bind "$1/run" /run
mount --bind "$1/shm" /dev/shm
if mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified; fi
exec setpriv --pdeathsig TERM sh -c 'echo ready; exec sleep 1000000'
"""


def missing(*programs: str) -> str | None:
    """Why an engine cannot run here, or None."""
    if sys.platform != "linux":
        return "container engines run on Linux"
    if os.geteuid() != 0:
        return "container engines of our own need root"
    if subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode:
        return "container engines of our own need a mount namespace, which this root may not make"
    absent = [program for program in programs if not (PROGRAMS / program).exists()]
    return f"no {', '.join(absent)} in .cache/engines: run scripts/test on Debian 12" if absent else None


R = TypeVar("R", bound="Room")


class Room:
    """What both engines share: a folder, an environment in which their command finds them, and an end."""

    name = ""
    needs: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part in ("run", "shm", "bin", "home"):
            (folder / part).mkdir()
        # What a user's environment would hold; to be put over os.environ.
        self.environment = {
            "PATH": f"{folder / 'bin'}:{PROGRAMS}:{os.environ['PATH']}",
            "HOME": str(folder / "home"),
            "XDG_RUNTIME_DIR": str(folder / "run"),
        }

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One call of the engine's command, whatever it says."""
        command = [self.name, *words]
        return subprocess.run(
            command, env=self._all(), check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60
        )

    def run(self, *words: str) -> str:
        """What one call prints, which has to succeed."""
        done = self.call(*words)
        assert done.returncode == 0, f"{self.name} {' '.join(words)}: {done.stderr}"
        return done.stdout.strip()

    def discard(self, container: str) -> None:
        """Take a container away, whatever it does, without waiting for its program to end by itself."""
        program = self.says(container, "{{.State.Pid}}")
        if program.isdigit() and int(program):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(program), signal.SIGKILL)
        self.call("rm", "-f", container)

    def pid(self, container: str) -> int:
        """The program in a container, by its number outside."""
        return int(self.says(container, "{{.State.Pid}}"))

    def says(self, container: str, template: str) -> str:
        """One fact of a container, or "" where there is none."""
        return self.call("container", "inspect", "--format", template, container).stdout.strip()

    def _all(self) -> dict[str, str]:
        return {**os.environ, **self.environment}

    def _import_image(self, *words: str) -> None:
        rootfs = self.folder / "rootfs" / "bin"
        rootfs.mkdir(parents=True)
        busybox = next((ROOT / ".cache" / "engines" / "root").glob("*bin/busybox"))
        shutil.copy(busybox, rootfs)
        for applet in subprocess.check_output([busybox, "--list"], text=True).split():
            if applet != "busybox":
                (rootfs / applet).symlink_to("busybox")
        archive = self.folder / "bb.tar"
        subprocess.run(["tar", "-C", str(rootfs.parent), "-cf", str(archive), "."], check=True, timeout=60)
        self.run("import", *words, str(archive), IMAGE)

    def _kill_what_is_left(self) -> None:
        """Shims, monitors and programs in containers: whatever has our folder in its command line."""
        for pid in processes(str(self.folder)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class DockerRoom(Room):
    """A dockerd; its containers have no network but `none` and `host`."""

    name = "docker"
    needs = ("docker", "dockerd", "containerd", "containerd-shim-runc-v2", "runc", "busybox")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.environment["DOCKER_HOST"] = f"unix://{folder}/docker.sock"
        self.environment["DOCKER_CONFIG"] = str(folder / "home" / ".docker")
        self._parent = f"stallkit-{os.getpid()}-{folder.name}"
        self._daemon: subprocess.Popen[bytes] | None = None
        self.start()
        self._import_image()

    def start(self) -> None:
        """Start the daemon, and wait until it answers; it ends with the thread that started it."""
        # Where process 1 does not reap, a killed containerd stays a zombie, which dockerd takes for a living one.
        (self.folder / "exec" / "containerd" / "containerd.pid").unlink(missing_ok=True)
        with (self.folder / "dockerd.log").open("ab") as log:
            self._daemon = subprocess.Popen(
                ["unshare", "--mount", "sh", "-ec", DOCKERD, "sh", str(self.folder), self._parent],
                env=self._all(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_for(lambda: self._ended() or self.call("version").returncode == 0, "dockerd")
        assert not self._ended(), f"dockerd ended: {(self.folder / 'dockerd.log').read_text()[-2000:]}"

    def stopped(self) -> contextlib.AbstractContextManager[None]:
        """The daemon answers nobody, for a while."""
        assert self._daemon is not None
        return _stopped(self._daemon)

    def kill_shim(self, container: str) -> None:
        """The parent of a container's program is killed: whoever would learn how it ends."""
        [shim] = processes(f"-id\0{self.says(container, '{{.Id}}')}")
        os.kill(shim, signal.SIGKILL)

    def kill_all_of(self, identity: str, program: int) -> None:
        """A container's shim and program, also while the daemon is away."""
        for pid in [*processes(f"-id\0{identity}"), program]:
            os.kill(pid, signal.SIGKILL)

    def kill(self) -> None:
        """The daemon is killed, with nobody told."""
        assert self._daemon is not None
        self._daemon.kill()
        self._daemon.wait()

    def end(self) -> None:
        """Everything ends, in order where the daemon still lives."""
        if not self._ended() and (containers := self.call("ps", "-aq").stdout.split()):
            self.call("rm", "-f", *containers)
        if self._daemon is not None:
            self._daemon.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._daemon.wait(10)
            self._daemon.kill()
            self._daemon.wait()
        self._kill_what_is_left()
        for group in Path("/sys/fs/cgroup").glob(f"*/{self._parent}"):
            with contextlib.suppress(OSError):  # a program that is still ending holds its group
                group.rmdir()

    def _ended(self) -> bool:
        return self._daemon is None or self._daemon.poll() is not None


class PodmanRoom(Room):
    """A podman; without cgroups, without networks.  Its command enters the namespace by itself."""

    name = "podman"
    needs = ("podman", "conmon", "crun", "busybox")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._configure()
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "sh", "-ec", PODMAN, "sh", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._holder.stdout is not None and self._holder.stdout.readline() == b"ready\n"
        command = folder / "bin" / "podman"
        namespace = f"/proc/{self._holder.pid}/ns/mnt"
        command.write_text(f'#!/bin/sh\nexec nsenter --mount={namespace} --wdns="$PWD" {PROGRAMS}/podman "$@"\n')
        command.chmod(0o755)
        policy = folder / "policy.json"
        policy.write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
        self._import_image("--signature-policy", str(policy))

    def _configure(self) -> None:
        here = self.folder

        def quoted(part: str) -> str:
            return json.dumps(str(here / part))

        (here / "containers.conf").write_text(f"""
[containers]
cgroups = "disabled"
netns = "none"
log_driver = "k8s-file"
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
events_logfile_path = {quoted("events.log")}
tmp_dir = {quoted("tmp")}
lock_type = "file"
runtime = "crun"
conmon_path = ["{PROGRAMS}/conmon"]
[engine.runtimes]
crun = ["{PROGRAMS}/crun"]
""")
        (here / "storage.conf").write_text(f"""
[storage]
driver = "vfs"
graphroot = {quoted("storage")}
runroot = {quoted("storage-run")}
""")
        (here / "registries.conf").write_text('unqualified-search-registries = []\nshort-name-mode = "disabled"\n')
        self.environment["CONTAINERS_CONF"] = str(here / "containers.conf")
        self.environment["CONTAINERS_STORAGE_CONF"] = str(here / "storage.conf")
        self.environment["CONTAINERS_REGISTRIES_CONF"] = str(here / "registries.conf")

    def kill_monitor(self, container: str) -> None:
        """conmon, which would write down how the program ends, is killed."""
        os.kill(int(self.says(container, "{{.State.ConmonPid}}")), signal.SIGKILL)

    def end(self) -> None:
        """Everything ends."""
        self.call("rm", "-f", "-a", "-t", "0")
        self._holder.kill()
        self._holder.wait()
        assert self._holder.stdout is not None
        self._holder.stdout.close()
        self._kill_what_is_left()


@contextlib.contextmanager
def _stopped(process: subprocess.Popen[bytes]) -> Iterator[None]:
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def processes(mark: str) -> list[int]:
    """Processes with a text in their command line; not ourselves."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def made_or_skipped(kind: type[R], folder: Path) -> R:
    """An engine that runs; where none can, the test is skipped with the reason."""
    if why := missing(*kind.needs):
        pytest.skip(why)
    return kind(folder)
