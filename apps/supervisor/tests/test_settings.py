"""A supervisor's settings: where they come from, in which order, and what is refused.  Requirement A11."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from stallkit_supervisor.recovery_state import Limits
from stallkit_supervisor.settings import Overrides, Settings, load_settings

from stallkit.config import STALL_TIMEOUT
from stallkit.errors import ConfigError
from stallkit.press.policy import CAREFUL, OBSERVE
from stallkit.press.policy_file import DAEMON
from stallkit.settings import configured_policy
from stallkit.settings_files import allow
from stallkit.terminal.keys import Keys
from stallkit.toml_file import read_settings

WHOLE = """
format = 1
policy = "daemon"

[watch]
targets = ["tmux:one", "tmux:two"]
interval_s = 30
stall_timeout_s = 90.5
reset_total_on_signal = true

[limits]
per_iteration = 2
total = 5
in_window = 4
window_s = 60

[quota]
keys = "again Enter"

[restart]
command = ["claude", "--continue"]
back_off_s = 1
in_window = 9

[events]
exec = "notify-send stalled"
metrics = ":9100"

[[session]]
target = "tmux:one"
directory = "~/one"
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An own home and an own project."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "config" / "stallkit").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def users(home: Path, text: str) -> Path:
    path = home / "config" / "stallkit" / "stallkit.toml"
    path.write_text(text)
    return path


def projects(home: Path, text: str) -> Path:
    """The file of the working directory, which a person allowed."""
    path = home / "project" / "stallkit.toml"
    path.write_text(text)
    with suppress(ConfigError):  # it is no TOML
        allow(path.parent, read_settings(path))
    return path


def load(path: Path | None = None, environment: dict[str, str] | None = None, **flags: Any) -> Settings:
    return load_settings(path, Overrides(**flags), environment or {})


def test_a_whole_file_and_what_flags_override(home: Path) -> None:
    path = projects(home, WHOLE)
    found = load(path)
    assert found.watch.targets == ["tmux:one", "tmux:two"] and found.watch.reset_total_on_signal
    assert found.policy == evolve(DAEMON, patience_s=90.5), "it acts once a stall is suspected"
    config = found.config
    assert (config.schedule.interval_s, config.schedule.stall_timeout_s) == (30, 90.5)
    assert config.limits == Limits(2, 5, 4, 60)
    assert (config.restarts, config.back_off_s) == (Limits(3, 10, 9, 3600), 1)
    assert config.waits_for_quota
    assert found.commands.restart == ("claude", "--continue") and found.commands.resume == Keys.parse("again Enter")
    assert found.directories == {"tmux:one": home / "one"}, "a directory is a person's own"
    given = {"agents": ("codex",), "dry_run": True, "command": "true", "webhook": "http://[::1]/"}
    found = load(policy="careful", interval_s=5.0, **given)
    assert (found.policy.name, found.policy.agents) == ("careful", {"codex"})
    assert (found.watch.interval_s, found.watch.dry_run) == (5, True)
    assert (found.events.exec, found.events.webhook, found.events.metrics) == ("true", "http://[::1]/", ":9100")


def test_the_stall_time_out_by_precedence(home: Path) -> None:
    """A flag, the variable, the project's file, the user's, the default: each over those below, whichever are there."""
    wrong = []
    for given in range(1 << 4):
        user, file, variable, flag = (bool(given >> number & 1) for number in range(4))
        users(home, "[watch]\nstall_timeout_s = 20" if user else "")
        projects(home, "[watch]\nstall_timeout_s = 30" if file else "")
        environment = {STALL_TIMEOUT: "40" if variable else ""}
        found = load(environment=environment, stall_timeout_s=50.0 if flag else None).config.schedule.stall_timeout_s
        if found != (50 if flag else 40 if variable else 30 if file else 20 if user else 180):
            wrong.append((user, file, variable, flag, found))
    assert wrong == []
    assert load(environment={STALL_TIMEOUT: "2m"}).watch.stall_timeout_s == 120, "the variable may have a unit"


def test_a_file_that_is_named_stands_alone(home: Path) -> None:
    users(home, "[watch]\nstall_timeout_s = 20")
    projects(home, "[watch]\nstall_timeout_s = 30")
    named = home / "other.toml"
    named.write_text("")
    found = load(named)
    assert found == type(found)() and found.policy == CAREFUL
    assert found.commands.restart == () and found.commands.resume == Keys.parse("continue Enter")
    assert load(named, {STALL_TIMEOUT: "40"}).config.schedule.stall_timeout_s == 40


def test_a_projects_file_overrides_the_users_key_by_key(home: Path) -> None:
    users(home, "policy = 'daemon'\n[watch]\ninterval_s = 5\nstall_timeout_s = 20\n[limits]\ntotal = 1")
    projects(home, "[watch]\nstall_timeout_s = 30\ntargets = ['tmux:one']")
    found = load()
    assert (found.watch.interval_s, found.watch.stall_timeout_s, found.limits.total) == (5, 30, 1)
    assert found.policy.name == "daemon"


def test_whom_the_daemon_helps() -> None:
    assert load(policy="daemon").policy == DAEMON
    assert load(policy="daemon", agents=("codex",)).policy == evolve(DAEMON, agents={"codex"})
    for name in ("node", "bash", "python3.11"):
        with pytest.raises((ConfigError, ValueError), match="runs any program, so it is no agent"):
            load(policy="daemon", agents=(name,))


def test_a_patient_policy_waits_for_the_stall_time_out_and_no_other_does(home: Path) -> None:
    projects(home, "[policy]\npatient = true")
    assert (load().policy.patience_s, load(stall_timeout_s=7.0).policy.patience_s) == (180, 7)
    assert load(policy="careful", stall_timeout_s=7.0).policy == CAREFUL
    assert configured_policy(None).patience_s == 180 and configured_policy("observe") == OBSERVE


def test_a_time_that_is_none_is_named(home: Path) -> None:
    projects(home, "[watch]\ninterval_s = 60")
    for bad in ("soon", "0", "-5", "nan", "inf", "5 parsecs", "0s", " "):
        with pytest.raises(ConfigError) as caught:
            load(environment={STALL_TIMEOUT: bad})
        said = str(caught.value)
        assert said == f"config ${STALL_TIMEOUT}: {bad!r} is not a time over 0; write 30s, 2m, or a number of seconds"
        assert load(environment={STALL_TIMEOUT: bad}, stall_timeout_s=3.0).watch.stall_timeout_s == 3, "a flag wins"
    for flag in ("interval_s", "stall_timeout_s"):
        for number in (0.0, -1.0, float("nan")):
            with pytest.raises(ConfigError, match=r"flags: .* must be a number of seconds over 0"):
                load(**{flag: number})


BROKEN = [
    ("[notify]\ndesktop = 'yes'", "'yes' is not a truth value @ $.notify.desktop"),
    ("[notify]\nterminal = 'osc8'", "osc8 not in literal"),
    ("[notify]\nquiet = '22-7'", "quiet is hours such as 22:00-07:00, not '22-7'"),
    ("[notify]\nquiet_except = ['fails']", "quiet_except knows asks, "),
    ("[notify]\nper_session = 0", "'per_session' must be >= 1: 0"),
    ("[notify]\nwindow_s = 0", "'window_s' must be > 0"),
    ("[events]\ncloudevents = 'yes'", "not in literal"),
    ("[watch]\ntargets = 'tmux:one'", "'tmux:one' is not a list @ $.watch.targets"),  # not eight letters
    ("[watch]\ntargets = ['a', 3]", "3 is not a text @ $.watch.targets"),
    ("[watch]\ndry_run = 'no'", "'no' is not a truth value @ $.watch.dry_run"),
    ("[watch]\nall = 1", "1 is not a truth value @ $.watch.all"),
    ("[watch]\ninterval_s = '60'", "'60' is not a number @ $.watch.interval_s"),
    ("[watch]\ninterval_s = true", "True is not a number @ $.watch.interval_s"),
    ("[watch]\ninterval_s = 0", "interval_s must be a number of seconds over 0"),
    ("[watch]\nstall_timeout_s = nan", "stall_timeout_s must be a number of seconds over 0"),
    ("[watch]\nstall_timeout_s = -5\ninterval_s = 5", "stall_timeout_s must be a number of seconds over 0"),
    ("[watch]\nintervall = 3", "unknown key intervall, known are targets, all, interval_s"),
    ("[limits]\ntotal = 3.7", "3.7 is not a whole number @ $.limits.total"),
    ("[limits]\ntotal = true", "True is not a whole number @ $.limits.total"),
    ("[limits]\ntotal = -1", "a limit must be 0 or more"),
    ("[limits]\nwindow_s = nan", "a limit must be 0 or more, and its window longer than 0 s"),
    ("[quota]\nwait = 'false'", "'false' is not a truth value @ $.quota.wait"),  # it is not true
    ("[quota]\nresume = true", "unknown key resume, known are wait, keys"),
    ("[quota]\nkeys = 'Retrun'", "Retrun"),
    ("[restart]\ncommand = 'claude --continue'", "'claude --continue' is not a list @ $.restart.command"),
    ("[restart]\nback_off_s = -1", "back_off_s must be a number of seconds"),
    ("[restart]\nback_off_s = nan", "back_off_s must be a number of seconds"),
    ("[restart]\nback_off_s = inf", "back_off_s must be a number of seconds"),
    ("[restart]\ntotal = -1", "a limit must be 0 or more"),
    ('[events]\nexec = "it\'s"', "No closing quotation"),
    ("[events]\nwebhook = 3", "3 is not a text @ $.events.webhook"),
    ("[[session]]\ndirectory = '/srv'", "target is missing @ $.session.target"),
    ("[[session]]\ntarget = 'a'\ndirectory = '~nobody-of-that-name/x'", "home directory"),
    ("[session]\ntarget = 'a'", "is not a list @ $.session"),
    ("session = ['a']", "session is not a table; begin it with [[session]]"),
    ("watch = 3", "watch is not a table; begin it with [watch]"),
    ("watch = []", "watch is not a table; begin it with [watch]"),
    (
        "[wach]\nall = true",
        "unknown key wach, known are watch, limits, quota, restart, hung, events, notify, session, tmux, record",
    ),
    ("policy = 3", "policy is neither a name nor a table; name one of careful, observe, daemon"),
    (
        "policy = 'carefull'",
        "/carefull: it is not built in, and there is no such file; name one of careful",
    ),
    ("[policy]\nprofile = 'carefull'", "there is no profile 'carefull'"),
    ("[policy]\nprofile = []", "there is no profile []"),
    ("[[policy.rule]]\ndo = 'type'", "rule 1: 'type' is not a valid Act"),
    ("[[policy.rule]]\ndo = 'press'\nsession = 'tmux:a'", 'names what: add signature = "PACK:ID", option = "LABEL"'),
    ("[[policy.rule]]\ndo = 'press'\nsignature = 'a:b'\nagent = '*'", 'names where: add session = "tmux:NAME"'),
    ("[[policy.rule]]\ndo = 'resume'", 'names where: add session = "tmux:NAME" or agent = "NAME"'),
    ("[policy]\nagents = ['node']", "node runs any program, so it is no agent: name the agent's own script or file"),
    ("format = 2", "it is of format 2; update stallkit, or write format = 1"),
    ("[watch", "it has to be TOML in UTF-8"),
]


def test_what_nobody_understands_is_one_line(home: Path) -> None:
    wrong = []
    for text, why in BROKEN:
        named = projects(home, text)
        users(home, text)
        for path in (named, None):
            with pytest.raises(ConfigError) as caught:
                load(path)
            said = str(caught.value)
            form = re.fullmatch(r"config [^\n]+: [^\n]+; [^\n]+", said)
            if why not in said or not form or not ("stallkit.toml" in said or "carefull" in said):
                wrong.append((text, said))
    assert wrong == []


def test_the_file_at_fault_is_named_and_both_that_contradict_each_other(home: Path) -> None:
    first = users(home, "[watch]\nall = 'yes'")
    projects(home, "[watch]\nall = true")
    with pytest.raises(ConfigError) as caught:
        load()
    assert caught.value.path == str(first)
    users(home, "[[policy.rule]]\ndo = 'press'\nsignature = 'a:b'\nsession = 'tmux:a'")
    projects(home, "[policy]\nprofile = 'observe'")
    with pytest.raises(ConfigError, match="presses, sends and restarts nothing") as caught:
        load()
    assert str(first) in str(caught.value) and "and stallkit.toml" in str(caught.value)


def test_a_file_that_is_there_and_cannot_be_read_is_not_passed_over(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / "config" / "stallkit" / "stallkit.toml"
    file.symlink_to("nowhere")
    with pytest.raises(ConfigError, match=r"stallkit\.toml: there is no such file"):
        load()
    file.unlink()
    file.mkdir()
    with pytest.raises(ConfigError, match=r"stallkit\.toml is not a plain file; "):
        load()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ("x" * 300)))
    with pytest.raises(ConfigError, match=re.escape(os.strerror(36))):
        load()
