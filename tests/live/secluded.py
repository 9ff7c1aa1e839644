"""A private world for programs that ask for accounts: visitor, with a password, and a sshd on loopback.

Only processes started `inside` see its /etc, /run, /media, /usr/libexec and /var/log: they are in a mount namespace of
their own.  Nothing on the machine's own disk is touched, its records of logins included; the world ends with the last
process in it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from pathlib import Path

from live.scene import CACHE, PATH
from terminals import wait_for

DEBS = CACHE / "debs"
PASSWORD = "correct horse"
VISITOR, SSHD = 4242, 4243

# sudo has its rights only here, as a copy in memory: what scripts/test fetched has none.  Everything that reads a
# terminal's facts from outside still sees the processes, for the process namespace is the machine's.
ENTER = f"""#!/bin/sh
set -eu
world=$1; shift
mount --bind "$world/etc" /etc
for place in /run /media /usr/libexec /var/log; do mount -t tmpfs -o mode=755 tmpfs "$place"; done
mkdir -p /run/sshd /media/visitor/.ssh /media/bin
if [ -d {DEBS}/usr/libexec/sudo ]; then
    cp -r {DEBS}/usr/libexec/sudo /usr/libexec/
    cp {DEBS}/usr/bin/sudo /media/bin/
    chown -R 0:0 /usr/libexec/sudo /media/bin
    chmod 4755 /media/bin/sudo
fi
cp "$world/visitor.pub" /media/visitor/.ssh/authorized_keys
cp "$world/notes.txt" /media/visitor/
chown -R {VISITOR}:{VISITOR} /media/visitor
export PATH="/media/bin:$PATH"
exec "$@"
"""
SUDOERS = """Defaults use_pty, !lecture, !mail_badpass, !syslog
root ALL=(ALL:ALL) ALL
visitor ALL=(ALL:ALL) ALL, NOPASSWD: /bin/sh
"""
CONFIG = """ListenAddress 127.0.0.1
HostKey {world}/host
PidFile none
UsePAM no
PasswordAuthentication yes
KbdInteractiveAuthentication no
PrintMotd no
PrintLastLog no
Subsystem sftp internal-sftp
"""


class World:
    """Accounts of its own, keys, and where the program is there, a sshd on 127.0.0.1.

    `inside` are the words that run a command in it, `environment` is how its scenes log in.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[subprocess.Popen[bytes]] = []
        folder.joinpath("notes.txt").write_text("keep me\n")
        folder.joinpath("enter.sh").write_text(ENTER)
        self._accounts()
        for name in ("host", "visitor"):
            self._run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name))
        self.inside = ["unshare", "--mount", "sh", str(folder / "enter.sh"), str(folder)]
        self.port = self._sshd()
        known = folder / "known_hosts"
        known.write_text(f"[127.0.0.1]:{self.port} {folder.joinpath('host.pub').read_text()}")
        ssh = f"ssh -F none -p {self.port} -o GlobalKnownHostsFile=none -o IdentitiesOnly=yes -o LogLevel=ERROR"
        self.environment = {
            "SSH": f"{ssh} -o UserKnownHostsFile={known} -i {folder / 'visitor'} visitor@127.0.0.1",
            "SSH_PASSWORD": f"{ssh} -o UserKnownHostsFile={known} -o PubkeyAuthentication=no visitor@127.0.0.1",
            "SSH_STRANGER": f"{ssh} -o UserKnownHostsFile={folder / 'nobody'} visitor@127.0.0.1",
        }

    def _accounts(self) -> None:
        """A copy of /etc without its secrets, in which visitor and root have a password."""
        etc = self._folder / "etc"
        secrets = shutil.ignore_patterns("shadow*", "gshadow*", "ssh", "private", "*.key", "*.keytab", "sudoers*")
        shutil.copytree("/etc", etc, symlinks=True, ignore=secrets)
        secret = self._run("openssl", "passwd", "-6", PASSWORD).strip()
        passwd, shadow = etc / "passwd", etc / "shadow"
        people = [
            f"visitor:x:{VISITOR}:{VISITOR}::/media/visitor:/bin/sh",
            f"sshd:x:{SSHD}:65534::/run/sshd:/bin/false",
        ]
        passwd.write_text("\n".join([*passwd.read_text().splitlines(), *people, ""]))
        kept = [f"root:{secret}:19000:0:99999:7:::", f"visitor:{secret}:19000:0:99999:7:::", "sshd:!:19000::::::"]
        shadow.write_text("\n".join([*kept, ""]))
        group = etc / "group"
        group.write_text(f"{group.read_text()}visitor:x:{VISITOR}:\n")
        sudoers = etc / "sudoers"
        sudoers.write_text(SUDOERS)
        sudoers.chmod(0o440)
        if (DEBS / "etc" / "pam.d" / "sudo").exists():
            shutil.copy(DEBS / "etc" / "pam.d" / "sudo", etc / "pam.d")

    def _sshd(self) -> int:
        """Start the server, if it was fetched; its port."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port: int = free.getsockname()[1]
        binary = DEBS / "usr" / "sbin" / "sshd"
        if not binary.exists():
            return port
        config = self._folder / "sshd_config"
        parts = {"SshdSessionPath": "sshd-session", "SshdAuthPath": "sshd-auth"}  # since OpenSSH 9.8 and 10.0
        paths = {option: DEBS / "usr" / "lib" / "openssh" / name for option, name in parts.items()}
        found = [f"{option} {path}\n" for option, path in paths.items() if path.exists()]
        config.write_text(CONFIG.format(world=self._folder) + "".join(found))
        libraries = ":".join(str(path.parent) for path in DEBS.rglob("libwrap.so.0"))
        command = [*self.inside, str(binary), "-D", "-e", "-p", str(port), "-f", str(config)]
        with self._folder.joinpath("sshd.log").open("wb") as log:
            environment = {**os.environ, "LD_LIBRARY_PATH": libraries}
            self._started.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log, env=environment))
        try:
            wait_for(lambda: _answers(port), f"sshd on port {port}; see {self._folder}/sshd.log")
        except BaseException:
            self.close()
            raise
        return port

    def _run(self, *command: str) -> str:
        environment = {**os.environ, "PATH": PATH}
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment, timeout=20).stdout

    def close(self) -> None:
        """End the servers, and forget the copy of /etc; who was logged in is logged out."""
        for process in self._started:
            process.terminate()
            process.wait()
        shutil.rmtree(self._folder / "etc")


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as connection:
        return connection.recv(4) == b"SSH-"
    return False
