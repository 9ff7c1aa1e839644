"""`stallkit watch --host`: other machines over ssh, good ones and bad ones, and what is left there."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Iterator

import pytest
from other_machines import LATE_S, SSHD, STALLKIT, Here, kept, keygen, nothing_left
from stallkit_supervisor.cli.ssh_watch import checked
from terminal_fixtures import short_folder
from terminals import SIZES, OnTerminal, Server, read_of, wait_for


@pytest.fixture
def here() -> Iterator[Here]:
    if SSHD is None:
        pytest.skip("there is no sshd")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    with short_folder() as folder:
        made = Here(folder)
        yield made
        made.end()


# --- good machines ---


@pytest.mark.e2e
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_two_machines_are_one_list_and_nothing_is_left_there(here: Here, how: int) -> None:
    a, b = here.machine("a"), here.machine("b")
    for one in (a, b):
        one.up()
        one.asks(f"harm-{one.name}")
    watch = here.watch("a", "b")
    for one in (a, b):
        [told] = watch.has(one.name, "escalation")
        assert (told["target"], told["line"]) == (f"tmux:harm-{one.name}", "Delete all? [y/N]")
        assert watch.has(one.name, "start")[0]["policy"] == "observe"
        assert len(one.of(b"--json")) >= 1
    control = watch.control
    assert len(kept(control)) == 2, "one connection for each"
    assert watch.end(how) == (0 if how != signal.SIGKILL else -signal.SIGKILL)
    nothing_left(a, b)
    assert watch.errors == []
    if how == signal.SIGKILL:  # then they are kept for a minute
        for pid in kept(control):
            os.kill(pid, signal.SIGTERM)
        wait_for(lambda: not kept(control), "their end")
        shutil.rmtree(control)
    assert not kept(control) and not control.exists()


@pytest.mark.e2e
def test_what_is_given_here_counts_there_and_it_ends_after_its_time(here: Here) -> None:
    a = here.machine("a")
    a.up()
    a.asks("one")
    a.asks("two")
    words = ("tmux:one", "--policy", "careful", "--interval", "5", "--stall-timeout", "1m", "--agent", "claude")
    done = here("--host", "a", *words, "--for", "5")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert {one["target"] for one in events} == {"", "tmux:one"} and events[0]["policy"] == "careful"
    nothing_left(a)


@pytest.mark.e2e
@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_a_table_in_a_terminal(here: Here, tmp_path: Path, size: tuple[int, int]) -> None:
    a, b = here.machine("a"), here.machine("b")
    a.up()
    a.asks("harm")
    a.server.start(
        "build", "bash", "-c", "while :; do echo compiling $RANDOM; sleep 0.1; done", shows="compiling"
    ).close()
    terminals = Server(tmp_path)
    try:
        words = ("watch", "--host", "a", "--host", "b")
        drawn = OnTerminal(terminals, size, STALLKIT, *words, **here.environment)
        drawn.shows(
            r"^   host +session +state +since +asks$",
            r"^\? +b +unreachable +[\d:]{8} +Connection refused$",
            r"^● +a +tmux:harm +waiting: confirm +[\d:]{8} +Delete",
            r"^► +a +tmux:build +working",
            r"^[\d:]{8} could not watch b: Connection refused; see whether it is up:\s+ssh b$",
            r"^[\d:]{8} a/tmux:harm escalation: policy observe leaves it to a person",
        )
        b.up()
        screen = drawn.shows(r"^► +b +watched +[\d:]{8} +no tmux server yet", patience_s=LATE_S)
        assert "unreachable" not in screen and [line[3] for line in screen.splitlines()[:4]] == ["h", "a", "b", "a"]
        assert drawn.wrapped == []
        drawn.press("C-c")
        drawn.over()
        nothing_left(a, b)
    finally:
        terminals.end()


# --- bad machines ---


@pytest.mark.e2e
def test_each_machine_that_cannot_be_watched_is_told_in_one_line_and_the_others_go_on(
    here: Here, tmp_path: Path
) -> None:
    a, bare, motd, none, _ = (here.machine(name) for name in ("a", "bare", "motd", "none", "down"))
    a.up()
    a.asks("harm")
    bare.up(path=tmp_path)
    motd.up(login="printf 'Welcome!\\n\\033]0;mine\\007\\n'; exec sh -c \"$SSH_ORIGINAL_COMMAND\"")
    none.up(login="echo 'This account is not available.'; exit 1")
    here.knows("stranger", a, here.key, None)
    here.knows("changed", a, here.key, bare.host_key)
    here.knows("locked", a, keygen(tmp_path / "other"), a.host_key)
    bad = ("bare", "none", "down", "stranger", "changed", "locked")
    watch = here.watch("a", "motd", *bad)
    for name in bad:
        watch.has(name, "unreachable")
    watch.has("a", "escalation")
    assert watch.has("motd", "start")[0]["policy"] == "observe"
    told = sorted(watch.errors)
    assert watch.end(signal.SIGINT) == 0
    other = "its host key is not known here, or is another one; compare it by hand: ssh"
    assert told == [
        "stallkit: could not watch bare: no stallkit is there, on its PATH or in ~/.local/bin;"
        " install it there: pip install 'stallkit[apps,packs]'",
        f"stallkit: could not watch changed: {other} changed",
        "stallkit: could not watch down: Connection refused; see whether it is up: ssh down",
        "stallkit: could not watch locked: no key of yours is allowed there; allow one: ssh-copy-id locked",
        "stallkit: could not watch none: no watch began there, exit code 1: This account is not available;"
        " try by hand: ssh none stallkit list; or pip install 'stallkit[apps,packs]'",
        f"stallkit: could not watch stranger: {other} stranger",
    ]
    assert "stallkit: motd: left out 2 lines that are no events" in watch.errors
    nothing_left(a, bare, motd, none)


@pytest.mark.e2e
def test_a_connection_that_dies_is_made_again(here: Here) -> None:
    a = here.machine("a")
    a.up()
    a.asks("harm")
    watch = here.watch("a")
    watch.has("a", "escalation")
    a.cut_off()
    [lost] = watch.has("a", "unreachable")
    assert lost["target"] == "" and lost["why"]
    watch.has("a", "still")  # the same prompt, known there
    [there] = a.of(b"cat")
    assert len(a.of(b"watch")) == 3, "what served the dead connection has ended"
    [watching] = [pid for pid in a.of(b"watch") if b"python" in read_of(pid, "cmdline")]
    os.kill(watching, signal.SIGTERM)
    assert "its watch ended, exit code 0" in watch.has("a", "unreachable", 2)[1]["why"]
    watch.has("a", "still", 2)
    assert there not in a.of(b"cat")
    assert watch.end() == 0
    nothing_left(a)


@pytest.mark.e2e
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("ip") is None, reason="it takes root's network namespaces")
def test_a_partition(here: Here) -> None:
    name, octet = f"sk{secrets.token_hex(3)}", secrets.randbelow(250) + 1
    ours, theirs = f"198.18.{octet}.1", f"198.18.{octet}.2"

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    ip("netns", "add", name)
    try:
        ip("link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b", "netns", name)
        ip("addr", "add", f"{ours}/30", "dev", f"{name}a")
        ip("link", "set", f"{name}a", "up")
        ip("-n", name, "addr", "add", f"{theirs}/30", "dev", f"{name}b")
        ip("-n", name, "link", "set", f"{name}b", "up")
        far = here.machine("far", inside=name, at=theirs)
        near = here.machine("near")
        for one in (far, near):
            one.up()
            one.asks("harm")
        watch = here.watch("far", "near")
        watch.has("far", "escalation")
        watch.has("near", "escalation")
        ip("link", "set", f"{name}a", "down")
        assert watch.has("far", "unreachable")[0]["why"]
        ip("link", "set", f"{name}a", "up")
        watch.has("far", "start", 2)
        assert [one for one in watch.events if (one["host"], one["event"]) == ("near", "unreachable")] == []
        assert watch.end() == 0
        nothing_left(near)
        wait_for(lambda: not far.of(b"cat"), "the end of what the partition left there", LATE_S)
    finally:
        here.end()
        ip("netns", "del", name)


HOSTILE = rb"""#!/bin/sh
head='"version": 1, "time": "2026-11-28T06:00:00+00:00"'
printf '{%s, "event": "start", "target": "", "host": "b", "evil": 1}\n' "$head"
target='"target": "tmux:\u001b[2J\u202e", "state": "waiting", "line": "\u001b]0;x\u0007"'
printf '{%s, "event": "escalation", %s}\n' "$head" "$target"
printf '\033]0;mine\007\033[2J\n'
head -c 3000000 /dev/zero | tr '\0' x; echo
printf '%0100000d\n' 0 | tr 0 '['
printf '{%s, "event": "gone", "target": "tmux:a", "waited_s": NaN}\n' "$head"
printf '{%s, "event": "done", "target": "tmux:last"}\n' "$head"
printf '\033[31mbroken\033[0m\n' >&2
exit 3
"""


@pytest.mark.e2e
def test_what_a_hostile_machine_prints_is_harmless(here: Here, tmp_path: Path) -> None:
    a = here.machine("a")
    evil = a.folder / "stallkit"
    evil.write_bytes(HOSTILE)
    evil.chmod(0o755)
    a.up(path=a.folder)
    done = here("--host", "a", "--for", "4")
    assert done.returncode == 0 and "\x1b" not in done.stdout + done.stderr and "\x07" not in done.stdout
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert {one["host"] for one in events} == {"a"} and not any("evil" in one for one in events)
    assert [one["event"] for one in events][:4] == ["start", "escalation", "done", "unreachable"]
    assert r"its watch ended, exit code 3: \x1b[31mbroken\x1b[0m" in done.stderr
    terminals = Server(tmp_path)
    try:
        drawn = OnTerminal(terminals, SIZES[1], STALLKIT, "watch", "--host", "a", **here.environment)
        drawn.shows(
            r"^\? +a +unreachable", r"^[\d:]{8} a/tmux:\\x1b\[2J\\u202e escalation$", r"^a: \d+ lines are no events$"
        )
        drawn.press("C-c")
        drawn.over()
    finally:
        terminals.end()


# --- the line ---


@pytest.mark.parametrize("host", ["-oProxyCommand=true", "a b", "", "a@-b", "a;b", "$(a)", "a\nb", "a'b", "x" * 300])
def test_what_ssh_may_not_be_given_is_refused(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run([STALLKIT, "watch", f"--host={host}"], capture_output=True, text=True, check=False)
    assert done.returncode == 64 and "names no machine: write NAME" in done.stderr


@pytest.mark.parametrize("host", ["a", "user@b", "user@[::1]", "fe80::1%eth0", "ssh://u@h:22", "build_3.example"])
def test_what_ssh_may_be_given(host: str) -> None:
    assert checked(host) == host


OWN = [
    ["--exec", "x"], ["--webhook", "http://127.0.0.1:9/"], ["--notify", "tmux"], ["--dry-run"], ["--summary"],
    ["--config", "x.toml"], ["-L", "x"], ["-S", "x"], ["--log", "x"],
]  # fmt: skip


@pytest.mark.parametrize("words", OWN, ids=lambda words: words[0])
def test_what_is_of_this_machine_alone(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("")
    command = [STALLKIT, "watch", "--host", "a", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 64 and re.search(rf"{words[0]}(/\S+)? is not for --host", done.stderr)


def test_without_ssh_it_is_named(tmp_path: Path) -> None:
    command = [STALLKIT, "watch", "--host", "a"]
    done = subprocess.run(
        command, env={**os.environ, "PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 64 and re.search("ssh: no program of that name is on PATH", done.stderr), done.stderr
