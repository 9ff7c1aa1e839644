"""Which files of settings may decide: the user's, a named one, an allowed directory's.  Threat T21."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Iterator

import pytest
from attrs import fields, resolve_types
from posted import Site
from soak.placements import PLACEMENTS, Ground
from stallkit_fleet.settings import Settings
from stallkit_supervisor.settings import Overrides, load_settings
from started import House
from terminals import Server, wait_for

from stallkit.config import FILE
from stallkit.errors import ConfigError
from stallkit.press.policy import CAREFUL, OBSERVE
from stallkit.press.policy_file import load_policy
from stallkit.settings import TmuxSocket, chosen, configured_policy
from stallkit.settings_files import CANNOT_ACT, DECIDES, allow, deny, settings_files
from stallkit.toml_file import read_settings

EXEC = '[events]\nexec = "true"\n'


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.end()


@pytest.fixture
def ground(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    """A person in a working directory."""
    made = Ground(tmp_path, site)
    _enter(made, monkeypatch)
    yield made
    made.end()


def _enter(ground: Ground, monkeypatch: pytest.MonkeyPatch, cwd: Path | None = None) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "TMUX", "STALLKIT_TMUX"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ground.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(cwd or ground.work)


def _loaded(path: Path | None = None) -> tuple[Settings, list[str]]:
    told = list[str]()
    return load_settings(path, Overrides(), {}, tell=told.append), told


def test_what_each_setting_decides_is_said() -> None:
    names = set[str]()
    for table in fields(resolve_types(Settings)):
        kind = table.type
        plain = table.name in ("policy", "session") or not hasattr(kind, "__attrs_attrs__")
        names |= {table.name} if plain else {f"{table.name}.{one.name}" for one in fields(kind)}
    assert not [name for name in names if not {name, name.partition(".")[0]} & {*DECIDES}]
    assert not [name for name in (*DECIDES, *CANNOT_ACT) if not any(f"{one}.".startswith(f"{name}.") for one in names)]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can lay files of another user")
def test_nothing_that_was_placed_decides(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = list[str]()
    for number, one in enumerate(PLACEMENTS):
        (tmp_path / str(number)).mkdir()
        ground = Ground(tmp_path / str(number), site)
        try:
            placed = one.place(ground)
            _enter(ground, monkeypatch, placed if isinstance(placed, Path) else None)
            settings, told = _loaded()
            socket = chosen(None, None, {}, tell=told.append)
            if (settings, socket, configured_policy(None, tell=told.append)) != (Settings(), TmuxSocket(), CAREFUL):
                failed.append(f"{one.name}: decides {settings}, {socket}")
            if not told or not all("is ignored, as it decides" in line or "nothing in it" in line for line in told):
                failed.append(f"{one.name}: says {told}")
            for read in (lambda: _loaded(Path(FILE)), lambda: load_policy(Path(FILE).absolute())):
                if one.refused:
                    try:
                        read()
                        failed.append(f"{one.name}: is read where it is named")
                    except ConfigError:
                        pass
        finally:
            ground.end()
    assert not failed, "\n".join(failed)


def test_what_a_person_lets_decide_does(ground: Ground) -> None:
    failed, (nothing, _) = list[str](), _loaded()
    wanted, named = [ground.acting, 'policy = "observe"\n', EXEC], ground.folder / "named.toml"
    for text in wanted:
        named.write_text(text)
        whole = _loaded(named)
        assert whole[0] != nothing and not whole[1]
        for place in ("user", "allowed"):
            file = ground.users if place == "user" else ground.file
            file.write_text(text)
            if place != "user":
                allow(ground.work, read_settings(file))
            if _loaded() != whole or configured_policy(None).rules != whole[0].policy.rules:
                failed.append(f"{place}: {text}")
            file.unlink()
    ground.file.write_text('policy = "observe"\n[watch]\ndry_run = true\n[tmux]\nsocket = "work-1"\n')
    settings, told = _loaded()
    assert (settings.policy, settings.watch.dry_run, told) == (OBSERVE, True, []), "nobody has to allow that"
    assert chosen(None, None, {}).name == "work-1" and configured_policy(None) == OBSERVE
    assert not failed, "\n".join(failed)


def test_what_is_allowed_is_what_was_read(ground: Ground) -> None:
    """Files that are swapped all the time: each look takes the allowed one whole, or nothing."""
    ground.file.write_text('[events]\nexec = "good"\n')
    allow(ground.work, read_settings(ground.file))
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for text in ('[events]\nexec = "evil"\n', '[events]\nexec = "good"\n'):
                (ground.work / "new").write_text(text)
                (ground.work / "new").replace(ground.file)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        seen = [settings_files()[0] for _ in range(500)]
    finally:
        over.set()
        swapper.join()
    assert {one.counts.get("events", {}).get("exec") for one in seen} == {"good", None}


def test_one_that_changed_is_asked_for_again_and_may_be_taken_back(ground: Ground) -> None:
    ground.file.write_text(EXEC)
    allow(ground.work, read_settings(ground.file))
    ground.file.write_text(f"{EXEC}#")
    settings, [line] = _loaded()
    assert settings == Settings() and line == (
        "stallkit.toml:2: events.exec is ignored, as it decides which command runs, and the file changed since it was"
        f" allowed; to allow it: stallkit config allow {ground.work}"
    )
    allow(ground.work, read_settings(ground.file))
    assert _loaded()[0].events.exec == "true"
    assert deny(ground.work) and not deny(ground.work)
    assert _loaded()[0] == Settings()


def test_the_file_of_a_policy_is_beside_the_settings_and_nobody_elses(ground: Ground) -> None:
    rules = ground.users.with_name("rules.toml")
    rules.write_text('name = "mine"\n')
    (ground.work / "rules.toml").write_text('name = "theirs"\n')
    ground.users.write_text('policy = "rules.toml"\n')
    assert _loaded()[0].policy.name == configured_policy(None).name == "mine"
    assert configured_policy("observe") == OBSERVE and configured_policy("rules.toml").name == "theirs", "it is named"
    ground.file.write_text('policy = "rules.toml"\n')
    allow(ground.work, read_settings(ground.file))
    with pytest.raises(ConfigError, match="policy names another file, which may change; write its rules here"):
        _loaded()
    ground.file.unlink()
    for wide in (rules, ground.users, ground.users.parent, ground.work / "rules.toml"):
        before = wide.stat().st_mode
        wide.chmod(0o777)
        with pytest.raises(ConfigError, match=f"{wide} can be written by others: chmod go-w it"):
            configured_policy("rules.toml" if wide.parent == ground.work else None)
        wide.chmod(before)
    assert configured_policy(None).name == "mine"


@pytest.mark.e2e
def test_a_person_is_shown_what_it_decides_and_asked(ground: Ground, server: Server) -> None:
    ground.file.write_text('policy = "daemon"\n[events]\nexec = "a\\u001b[2Jb --token=abcdefgh12345678"\n')
    command = f"{Path(sys.executable).parent / 'stallkit'} config allow ."
    done = ground.call("config", "allow", ".")
    assert (done.returncode, done.stderr) == (
        1,
        "stallkit: it is not allowed; to allow it without a question, add --yes\n",
    )
    assert done.stdout.splitlines() == [
        f"{ground.file} decides",
        '  policy = "daemon"',
        "      what is pressed",
        '  events.exec = "a\\u001b[2Jb --token=abcdefgh12345678"',
        "      which command runs",
    ]
    for key, said, allowed in (("n", "it is not allowed", False), ("y", "allowed in", True)):
        pane = server.start(key, "bash", "-c", f"cd {ground.work}; {command}; sleep 60", shows="Allow it? [y/N]")
        server.tmux("send-keys", "-t", f"={key}:", key, "Enter")
        server.wait(pane, said)
        pane.close()
        assert (_loaded()[0].events.exec is not None) is allowed
    assert "nobody" not in ground.call("config", "deny", ".").stdout and _loaded()[0] == Settings()


@pytest.mark.e2e
def test_config_show_says_what_was_ignored_and_a_broken_file_stops_nothing(ground: Ground) -> None:
    ground.ask()
    ground.file.write_text(f"{EXEC}[watch]\ndry_run = true\n")
    shown = ground.call("config", "show", "--set")
    assert "watch.dry_run" in shown.stdout and "(stallkit.toml:4)" in shown.stdout and not shown.stderr
    assert "stallkit.toml:2: events.exec is ignored, as it decides which command runs" in shown.stdout
    ground.file.write_text("[watch")
    for words, code in (("check tmux:asks", 2), ("run -- true", 0), ("config show", 0)):
        done = ground.call(*words.split())
        assert done.returncode == code and (done.stdout + done.stderr).count("nothing in it counts") == 1, words


@pytest.mark.e2e
def test_a_supervisor_keeps_its_settings_where_the_allowed_file_changed(ground: Ground) -> None:
    ground.ask()
    ground.file.write_text('[watch]\ntargets = ["tmux:asks"]\n')
    ground.allow(ground.work)
    words, heard = [str(Path(sys.executable).parent / "stallkit"), "supervise"], ground.folder / "heard"
    with heard.open("w") as out:
        process = subprocess.Popen(words, cwd=ground.work, env=ground.environment, stdout=out, stderr=out)
    try:
        wait_for(lambda: '"detection"' in heard.read_text(), "a look")
        ground.file.write_text(ground.acting)
        process.send_signal(signal.SIGHUP)
        wait_for(lambda: "reload_refused" in heard.read_text(), "a refusal")
        assert "it changed since it was allowed; stallkit config allow" in heard.read_text()
    finally:
        process.terminate()
        assert process.wait(30) == 0


@pytest.mark.e2e
def test_no_module_of_the_working_directory_is_imported(house: House) -> None:
    for name in ("attrs", "click", "regex", "rich"):
        (house.folder / f"{name}.py").write_text(f"open({str(house.folder / 'imported')!r}, 'w')\n")
    for words in ([house.command], [sys.executable, "-m", "stallkit"]):
        done = subprocess.run([*words, "config", "show"], cwd=house.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert not (house.folder / "imported").exists()
