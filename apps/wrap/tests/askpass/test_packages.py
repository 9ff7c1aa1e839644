"""dpkg and apt: the question about a configuration file is reported by their status descriptor, until they go on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from stallkit_sessions.runs.background import ConffilePrompt, PackageStatus, with_status
from stallkit_wrap.askpass.prompts import prompts
from started import House
from terminals import wait_for

names = some.text(some.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=20)


@given(names, names, names, some.booleans(), some.booleans())
def test_the_lines_of_both(file: str, old: str, new: str, here: bool, there: bool) -> None:
    file = f"/etc/{file.replace(':', '').strip()}"
    old, new = f"/{old.replace(chr(39), '')}", f"/{new.replace(chr(39), '')}"
    rest = f"'{old}' '{new}' {here:d} {there:d}"
    for line in (f"status: {file} : conffile-prompt : {rest} \n", f"pmconffile:{file}:50.0000:{rest}\n"):
        assert ConffilePrompt.of(line) == ConffilePrompt(file, old, new, here, there)


@given(some.text(max_size=80) | some.sampled_from(["status: acme: half-configured", "pmstatus:acme:50.0:Configuring"]))
def test_no_other_line_is_one(line: str) -> None:
    assert ConffilePrompt.of(line) is None


def test_only_dpkg_and_apt_are_given_a_descriptor() -> None:
    assert with_status(["/usr/bin/dpkg", "-i", "x"], 5) == ["/usr/bin/dpkg", "--status-fd=5", "-i", "x"]
    assert with_status(["apt", "install", "x"], 5) == ["apt", "-o", "APT::Status-Fd=5", "install", "x"]
    assert with_status(["sudo", "apt", "install", "x"], 5) is None
    before = len(list(Path("/proc/self/fd").iterdir())) if sys.platform == "linux" else 0
    status = PackageStatus(["true"])
    status.begin(os.getpid(), "/")
    status.close()
    assert (status.command, status.descriptors) == (["true"], ())
    assert sys.platform != "linux" or len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.fixture
def upgrades(tmp_path: Path) -> dict[str, list[str]]:
    """Commands on a system of its own in a folder, where version 1 of a package is installed and its file changed."""
    if shutil.which("dpkg-deb") is None:
        pytest.skip("no dpkg here")
    for version in ("1", "2"):
        made = tmp_path / f"acme{version}"
        (made / "DEBIAN").mkdir(parents=True)
        (made / "etc").mkdir()
        (made / "DEBIAN" / "control").write_text(
            f"Package: acme\nVersion: {version}\nArchitecture: all\nMaintainer: nobody <a@host.example>\n"
            "Description: one file\n"
        )
        (made / "DEBIAN" / "conffiles").write_text("/etc/acme.conf\n")
        (made / "etc" / "acme.conf").write_text(f"version {version}\n")
        subprocess.run(["dpkg-deb", "-b", made, f"{made}.deb"], check=True, timeout=20, stdout=subprocess.DEVNULL)
    for folder in ("root", "admin/info", "admin/updates"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "admin" / "status").touch()
    options = ["--force-not-root", f"--log={tmp_path / 'dpkg.log'}", f"--instdir={tmp_path / 'root'}"]
    options.append(f"--admindir={tmp_path / 'admin'}")
    first = ["dpkg", *options, "-i", str(tmp_path / "acme1.deb")]
    subprocess.run(first, check=True, timeout=20, stdin=subprocess.DEVNULL, capture_output=True)
    (tmp_path / "root" / "etc" / "acme.conf").write_text("mine\n")
    second = str(tmp_path / "acme2.deb")
    return {"dpkg": ["dpkg", *options, "-i", second], "apt-get": [*apt(tmp_path, options), "install", second]}


def apt(folder: Path, options: list[str]) -> list[str]:
    """apt-get with everything in a folder, dpkg's part by these options."""
    for name in ("state/lists/partial", "cache/archives/partial", "etc", "log"):
        (folder / "apt" / name).mkdir(parents=True)
    places = {"State": folder / "apt" / "state", "State::status": folder / "admin" / "status"}
    places |= {"Cache": folder / "apt" / "cache", "Etc": folder / "apt" / "etc", "Log": folder / "apt" / "log"}
    given = [f"Dir::{name}={path}" for name, path in places.items()]
    given += ["Debug::NoLocking=1", "APT::Sandbox::User=root", *(f"Dpkg::Options::={option}" for option in options)]
    return ["apt-get", "-y", *(word for one in given for word in ("-o", one))]


@pytest.mark.e2e
@pytest.mark.skipif(sys.platform != "linux", reason="dpkg is Linux's")
@pytest.mark.parametrize("program", ["dpkg", "apt-get"])
def test_it_asks_and_goes_on(runs: House, upgrades: dict[str, list[str]], tmp_path: Path, program: str) -> None:
    if shutil.which(program) is None or (program != "dpkg" and os.geteuid() != 0):
        pytest.skip(f"no {program} for this user")
    begun = runs.call("run", "--askpass", "--background", "--json", "--", *upgrades[program])
    assert begun.returncode == 5, begun.stderr
    wait_for(prompts, "dpkg's prompt")
    [asked] = prompts()
    file = tmp_path / "root" / "etc" / "acme.conf"
    assert (asked.who, asked.kind) == (program, "confirm")
    assert asked.prompt == (
        f"configuration file '/etc/acme.conf' (changed here, changed by its package): '{file}', or '{file}.dpkg-new'?"
    )
    assert prompts(asked.pid) == [asked]
    told = json.loads(begun.stdout)
    runs.call("attach", told["id"], "--wait")
    done = runs.call("attach", told["id"], "--answer", "N")
    assert done.returncode == 0, done.stderr + done.stdout
    assert file.read_text() == "mine\n" and prompts() == []
