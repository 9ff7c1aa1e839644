"""The supervisor over real tmux servers: what it presses, what it tells, and what it does when something ends."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from attrs import evolve
from stallkit_supervisor.loop_files import SIGNAL
from stallkit_supervisor.notification import Notify
from stallkit_supervisor.notify.hooks import Command
from stallkit_supervisor.notify.notifier import Notifier, Outlet
from stallkit_supervisor.notify.throttle import NoticeLimits
from stallkit_supervisor.recovery_state import Limits
from stallkit_supervisor.session_state import RecoveryCommands, Schedule, WatchConfig
from stallkit_supervisor.sources import FleetSource, SourceLook
from stallkit_supervisor.store import Store
from stallkit_supervisor.supervisor import Supervisor
from stallkit_supervisor.watched import Watched
from supervised import AGAIN, ASKS, EAGER, KEY, has, named, run, shell
from terminals import Server

from stallkit.errors import SessionGone
from stallkit.evidence.snapshot import KernelFacts, ProcessFacts, Snapshot
from stallkit.packs.registry import installed_engine
from stallkit.press.events import Event
from stallkit.press.policy import CAREFUL, OBSERVE, Policy
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import Rule
from stallkit.terminal.screen import Screen
from stallkit.transports.base import Transport

pytestmark = pytest.mark.e2e


def asked(events: list[Event]) -> list[Event]:
    """What a person was told of as waiting."""
    return [one for one in named(events, "escalation") if one.facts.get("what") == "waits"]


def test_it_presses_what_is_allowed_once_and_tells_of_the_rest(server: Server) -> None:
    shell(server, "asks", ASKS + "exec sleep 100", "Press any key")
    shell(server, "harm", "read -p 'Delete all? [y/N] '; exec sleep 100", "Delete")
    supervisor = Supervisor(["tmux:asks", "tmux:harm", "tmux:none"], WatchConfig(KEY, EAGER), options=server.options)
    events = run(supervisor, lambda seen: has("dismissal", "gone")(seen) and bool(asked(seen)))
    assert [(one.target, one.facts["outcome"]) for one in named(events, "dismissal")] == [("tmux:asks", "cleared")]
    assert [one.target for one in asked(events)] == ["tmux:harm"]
    assert [one.target for one in named(events, "gone")] == ["tmux:none"]
    assert events[0].name == "start"


GOES_ON = """
import select, sys, time
print("Delete all? [y/N] ", end="", flush=True)
select.select([sys.stdin], [], [], float(sys.argv[1]))
print("\\nwent on", flush=True)
time.sleep(1000)
"""


def test_who_ended_a_wait_counts_a_key_that_no_program_has_read_yet(server: Server) -> None:
    for name, patience_s in (("typed", "1000"), ("itself", "5")):
        server.start(name, sys.executable, "-c", GOES_ON, patience_s, shows="Delete all").close()
        terminal = server.tmux("display-message", "-p", "-t", f"={name}:", "#{pane_tty}").strip()
        os.utime(terminal, (0, 0))  # nobody has typed for long
    supervisor = Supervisor(everything=True, policy=WatchConfig(OBSERVE, EAGER), options=server.options)

    def both(events: list[Event]) -> bool:
        if len(asked(events)) == 2:
            server.tmux("send-keys", "-t", "=typed:", "n", "Enter")
        return len(named(events, "cleared")) == 2

    ended = {one.target: one.facts["by"] for one in named(run(supervisor, both), "cleared")}
    assert ended == {"tmux:typed": "typed there", "tmux:itself": "by itself"}


def test_every_pane_is_watched_and_those_that_come_later(server: Server) -> None:
    shell(server, "first", "read -p 'Delete all? [y/N] '", "Delete")
    supervisor = Supervisor(everything=True, policy=WatchConfig(OBSERVE, EAGER), options=server.options)

    def both(events: list[Event]) -> bool:
        if len(named(events, "escalation")) == 1 and "later" not in server.tmux("list-sessions"):
            shell(server, "later", "read -p 'Overwrite x? [y/N] '", "Overwrite")
        return len(named(events, "escalation")) == 2

    events = run(supervisor, both)
    assert {one.target for one in named(events, "escalation")} == {"tmux:first", "tmux:later"}


def test_the_same_prompt_right_where_it_was_is_left_to_a_person(server: Server, tmp_path: Path) -> None:
    pages = "for page in 1 2 3; do clear; echo page $page; echo; read -n1 -s -r -p 'Press any key to continue...'; "
    shell(server, "pages", f"{pages} echo >>{tmp_path}/keys; done; exec sleep 100", "page 1")
    events = run(Supervisor(["tmux:pages"], WatchConfig(KEY, EAGER), options=server.options), has("escalation"))
    assert [one.facts["outcome"] for one in named(events, "dismissal")] == ["unchanged"]
    assert "it was answered once" in named(events, "escalation")[0].facts["why"]
    assert (tmp_path / "keys").read_text() == "\n"


def test_a_prompt_that_comes_back_at_once_is_answered_again_when_that_is_sure_and_nothing_else_is_said(
    server: Server,
) -> None:
    shell(server, "asks", f"for turn in 1 2; do clear; {ASKS} clear; sleep 1; done; exec sleep 100", "Press any key")
    supervisor = Supervisor(["tmux:asks"], WatchConfig(KEY, Schedule(eager_s=0.2)), options=server.options)
    events = run(supervisor, lambda seen: len(named(seen, "cleared")) == 2)
    assert [one.facts["outcome"] for one in events if one.name == "dismissal"] == ["cleared", "cleared"]
    assert named(events, "escalation") == []


def test_the_end_of_a_server_is_one_notice_that_names_its_sessions(server: Server, tmp_path: Path) -> None:
    names = ["one", "three", "two"]
    for name in names:
        shell(server, name, "read -p 'Delete all? [y/N] '; exec sleep 100", "Delete")
    calls, failures = tmp_path / "calls", list[str]()
    notifier = Notifier([Outlet(Command(f"sh -c 'cat >>{calls}'"), failures.append)], NoticeLimits(), failures.append)
    config = WatchConfig(OBSERVE, Schedule(eager_s=0.2))
    targets = [f"tmux:{name}" for name in (*names, "never1", "never2")]
    supervisor = Supervisor(targets, config, options=server.options, hooks=[notifier])
    pid, ended = server.pid, list[int]()

    def until(events: list[Event]) -> bool:
        if len(asked(events)) == len(names) and not ended:
            ended.append(pid)
            os.kill(pid, signal.SIGKILL)
        return len(named(events, "gone")) == len(targets)

    events = run(supervisor, until)
    notifier.close()
    told = [json.loads(line) for line in calls.read_text().splitlines()]
    assert [one["event"] for one in told if "never" not in one["target"]] == [
        *["escalation"] * 3,
        "incident",
    ] and failures == []
    assert told[-1]["sessions"] == [f"tmux:{name}" for name in names]
    assert {one.facts.get("incident") for one in named(events, "gone")} == {told[-1]["incident"], None}
    assert {one.facts["by"] for one in named(events, "cleared")} == {"gone with its session"}


def test_a_dry_run_says_what_it_would_press(server: Server) -> None:
    shell(server, "asks", ASKS + "exec sleep 100", "Press any key")
    supervisor = Supervisor(["tmux:asks"], WatchConfig(KEY, EAGER), options=server.options, dry_run=True)
    events = run(supervisor, has("dry_run"))
    assert named(events, "dry_run")[0].facts == {"would": "press", "keys": "Space"}
    assert not named(events, "escalation") and supervisor.sessions["tmux:asks"].state.recovery.counts.total == 0
    assert "went on" not in server.tmux("capture-pane", "-p", "-t", "=asks:")


def test_the_daemon_waits_for_a_stall_and_helps_agents_alone(server: Server, tmp_path: Path) -> None:
    asks = "read -p 'Continue? [y/N] ' x\nexec sleep 100\n"
    agent, other = tmp_path / "node_modules/@anthropic-ai/claude-code/cli.sh", tmp_path / "claude"
    for file in (agent, other):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(asks)
    server.start("asks", "bash", str(agent), shows="Continue").close()
    server.start("other", "bash", str(other), shows="Continue").close()
    supervisor = Supervisor(["tmux:asks", "tmux:other"], WatchConfig(DAEMON, EAGER), options=server.options)

    def both(seen: list[Event]) -> bool:
        return has("dismissal")(seen) and "tmux:other" in [one.target for one in asked(seen)]

    events = run(supervisor, both)
    assert [(one.target, one.facts["keys"]) for one in named(events, "dismissal")] == [("tmux:asks", "y Enter")]
    told = {one.target: one.facts["why"] for one in asked(events)}
    assert told["tmux:other"] == "any program may show this prompt; to allow it: stallkit policy allow tmux:other"


def test_a_signal_begins_an_iteration(server: Server, store: Store, tmp_path: Path) -> None:
    shell(server, "asks", AGAIN, "Press any key")
    config = WatchConfig(KEY, EAGER, Limits(per_iteration=1, in_window=100))
    supervisor = Supervisor(
        ["tmux:asks"], config, options=server.options, store=store, directories={"tmux:asks": tmp_path}
    )

    def on_signal(events: list[Event]) -> bool:
        if named(events, "dismissal") and not (tmp_path / SIGNAL).exists():
            (tmp_path / SIGNAL).touch()
        return len(named(events, "dismissal")) == 2

    events = run(supervisor, on_signal)
    assert named(events, "iteration")
    assert store.counts("tmux:asks", "press").iteration == 1 and store.counts("tmux:asks", "press").total == 2


def test_a_press_without_an_outcome_is_not_repeated(server: Server, store: Store) -> None:
    shell(server, "asks", ASKS + "exec sleep 100", "Press any key")
    options: dict[str, Any] = {"options": server.options, "store": store}
    events = run(Supervisor(["tmux:asks"], WatchConfig(OBSERVE, EAGER), **options), has("escalation"))
    assert named(events, "escalation")[-1].facts["certainty"] == "sure"
    supervisor = Supervisor(["tmux:asks"], WatchConfig(OBSERVE, EAGER), **options)
    run(supervisor, has("escalation"))
    watched = supervisor.sessions["tmux:asks"]
    assert watched.snapshot is not None and watched.state.prompt.seen is not None
    store.intend(  # what a supervisor that is killed right after leaves
        "tmux:asks", "press", watched.snapshot.identity, watched.snapshot.screen.fingerprint,
        str(watched.state.prompt.seen), "Space",
    )  # fmt: skip
    events = run(Supervisor(["tmux:asks"], WatchConfig(KEY, EAGER), **options), has("outcome_unknown", "escalation"))
    assert not named(events, "dismissal")
    assert "went on" not in server.tmux("capture-pane", "-p", "-t", "=asks:")


def test_a_server_that_hangs_is_told_of_and_delays_no_other(server: Server, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Server(tmp_path / "other")
    shell(server, "a", "exec sleep 100")
    shell(other, "b", "read -p 'Delete all? [y/N] '", "Delete")
    sources = [FleetSource([], server.options, True), FleetSource(["tmux:b"], other.options)]
    supervisor = Supervisor(policy=WatchConfig(OBSERVE, EAGER), sources=sources)
    pid = server.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        events = run(supervisor, has("could_not_look", "escalation"))
    finally:
        os.kill(pid, signal.SIGCONT)
        other.end()
    assert not named(events, "gone")


def test_what_ended_is_started_again_its_last_screen_kept(server: Server, store: Store) -> None:
    server.start("agent", "sh", "-c", "echo; echo it broke; read x; exit 7", shows="it broke").close()
    server.tmux("send-keys", "-t", "=agent:", "Enter")  # tmux loses last words, and scrolls a line
    back = Policy("back", rules=[Rule(do="restart", state="gone")])  # type: ignore[arg-type]  # words become enums
    commands = RecoveryCommands(restart=("bash", "-c", "read -p 'Delete all? [y/N] '"))
    supervisor = Supervisor(
        ["tmux:agent"], WatchConfig(back, EAGER), options=server.options, store=store, commands=commands
    )
    events = run(supervisor, has("restart", "escalation"))
    assert named(events, "restart")[0].facts["outcome"] == "cleared"
    kept = [one for one in store.incidents("tmux:agent") if one["event"] == "before_restart"]
    assert kept[0]["facts"]["exit_status"] in (7, None) and "it broke" in kept[0]["facts"]["screen"]


def test_a_command_is_typed_into_the_shell_that_is_left(server: Server) -> None:
    server.start("agent", "bash", "--norc", "--noprofile", "-i", shows="bash-").close()
    commands = RecoveryCommands(restart=("bash", "-c", "read -p 'Delete all? [y/N] '"))
    config = WatchConfig(evolve(DAEMON, agents={"claude"}), EAGER)
    events = run(
        Supervisor(["tmux:agent"], config, options=server.options, commands=commands), has("restart", "escalation")
    )
    assert named(events, "restart")[0].facts["outcome"] in ("cleared", "replaced")


class Shows:
    """A source that shows one text, in a session that nobody can press keys in."""

    def __init__(self, text: str) -> None:
        self.text, self.opened = text, 0

    async def sweep(self, due: Callable[[str], bool]) -> list[SourceLook]:
        screen = Screen.from_text(self.text, cursor=(0, 3), size=(80, 24))
        look = Snapshot(screen=screen, taken_at=time.monotonic(), alive=True, target="any:one", identity="1")
        return [SourceLook("any:one", look)]

    def open(self, target: str) -> Transport:
        self.opened += 1
        raise SessionGone(target, "it is a picture")

    async def close(self) -> None: ...


def test_targets_and_sources_of_ones_own_are_watched_together(server: Server) -> None:
    shell(server, "asks", "read -p 'Delete all? [y/N] '", "Delete")
    source = Shows("Overwrite it? [y/N] ")
    supervisor = Supervisor("tmux:asks", WatchConfig(OBSERVE, EAGER), sources=[source], options=server.options)
    run(supervisor, lambda events: {one.target for one in named(events, "detection")} == {"tmux:asks", "any:one"})


def test_a_session_started_anew_within_a_look_keeps_its_name(server: Server) -> None:
    shell(server, "nightly", "read -p 'Delete one? [y/N] '", "Delete one")
    supervisor = Supervisor((), WatchConfig(OBSERVE, EAGER), everything=True, options=server.options)

    def until(events: list[Event]) -> bool:
        lines = [one.facts.get("line") for one in named(events, "escalation")]
        if "Delete one? [y/N]" in lines and not named(events, "cleared"):
            anew = ("new-session", "-d", "-s", "nightly", "bash", "-c", "read -p 'Delete two? [y/N] '")
            server.tmux("kill-session", "-t", "=nightly", ";", *anew)
        return "Delete two? [y/N]" in lines

    events = run(supervisor, until)
    assert {one.target for one in named(events, "escalation")} == {"tmux:nightly"}
    assert [one.facts["by"] for one in named(events, "cleared")] == ["gone with its session"]


def test_a_used_up_limit_is_waited_for_across_a_restart(store: Store) -> None:
    limit = "● Working on it\n\n  ⎿  You've hit your session limit · resets 8:10am (UTC)\n"
    source = Shows(limit)
    events = run(Supervisor(sources=[source], policy=WatchConfig(CAREFUL, EAGER), store=store), has("detection"))
    assert [one.facts["state"] for one in named(events, "detection")] == ["quota"]
    waiting = store.waiting("any:one")
    assert waiting is not None and waiting.free_at is not None
    assert 0 < waiting.free_at - waiting.since <= 86_400
    source.text = "● Done\n"
    events = run(Supervisor(sources=[source], policy=WatchConfig(CAREFUL, EAGER), store=store), has("detection"))
    assert not any(one.facts.get("what") == "limit" for one in named(events, "escalation"))
    assert store.waiting("any:one") is None
    assert source.opened == 0


def test_a_halt_of_which_no_file_could_be_written_stands_until_a_person_releases_it(
    server: Server, store: Store, tmp_path: Path
) -> None:
    shell(server, "asks", AGAIN, "Press any key")
    config = WatchConfig(KEY, EAGER, Limits(per_iteration=1))
    home = {"tmux:asks": tmp_path / "none"}
    made: dict[str, Any] = {"policy": config, "options": server.options, "store": store, "directories": home}
    events = run(Supervisor(["tmux:asks"], **made), has("auto_stop"))
    assert "file_error" in named(events, "auto_stop")[0].facts

    def looks(events: list[Event]) -> bool:
        if named(events, "escalation") and not named(events, "released"):
            store.new_iteration("tmux:asks", reset_total=True)  # what `stallkit stuck release` does
            store.halt("tmux:asks", None)
        return bool(named(events, "dismissal"))

    events = run(Supervisor(["tmux:asks"], **made), looks)
    told = [one.name for one in events if one.name in ("released", "dismissal")]
    assert told == ["released", "dismissal"]


def test_what_works_is_looked_at_every_few_seconds_and_what_waits_sooner() -> None:
    schedule = Schedule(interval_s=60.0, eager_s=1.0)
    looks: dict[str, list[float]] = {}
    for text in ("✻ Thinking… (12s · esc to interrupt)", "Delete all? [y/N] "):
        watched, now = Watched("any:one"), 0.0
        engine = installed_engine()
        for now in range(121):
            if watched.due(float(now), schedule):
                looks.setdefault(text, []).append(now)
                screen = Screen.from_text(f"{text}{now // 10 if 'esc' in text else ''}", cursor=(len(text), 0))
                reads = KernelFacts(listening=True, how="read", foreground="acme")
                busy = "esc" in text
                kernel = KernelFacts(listening=False) if busy else reads
                look = Snapshot(screen=screen, alive=True, quiet_s=1.0, kernel=kernel, process=ProcessFacts("acme"))
                watched.look(look, engine)
                watched.step(float(now), WatchConfig(OBSERVE, schedule))
    working, waiting = looks.values()
    assert working == [5 * number for number in range(25)] and len(waiting) == 121


def test_a_policy_is_given_by_the_name_of_its_profile() -> None:
    assert Supervisor(sources=[], policy="observe").config.policy == OBSERVE
    assert Supervisor(sources=[]).config.policy == CAREFUL
    with pytest.raises(ValueError, match="a profile is one of careful, observe, daemon, not 'bold'"):
        Supervisor(sources=[], policy="bold")


REMINDS = WatchConfig(CAREFUL, EAGER, notify=Notify({"waits": 0.0}, remind_s=0.5))
DELETES, NEXT = "read -p 'Delete all? [y/N] ' it; ", "read -p 'Really delete all? [y/N] ' it; exec sleep 100"


def test_who_mutes_a_session_is_told_of_its_next_prompt_and_of_none_where_it_is_for_a_time(
    server: Server, store: Store
) -> None:
    shell(server, "one", DELETES + NEXT, "Delete")
    for name in ("muted", "other"):
        shell(server, name, DELETES, "Delete")
    store.mute("tmux:muted", time.time() + 3600)
    targets = ["tmux:one", "tmux:muted", "tmux:other"]
    supervisor = Supervisor(targets, REMINDS, options=server.options, store=store)
    muted_at: list[int] = []  # how often the other one was told by then
    typed: list[str] = []

    def until(seen: list[Event]) -> bool:
        told = [one.target for one in named(seen, "escalation")]
        if told.count("tmux:one") == 2 and not muted_at:  # it was told, and told again
            store.mute("tmux:one")
            muted_at.append(told.count("tmux:other"))
        if muted_at and told.count("tmux:other") >= muted_at[0] + 4 and not typed:
            typed.append("n")
            server.tmux("send-keys", "-t", "=one:", "n", "Enter")
        return any("Really" in one.facts["line"] for one in named(seen, "escalation"))

    told = named(run(supervisor, until), "escalation")
    lines = [one.facts["line"] for one in told if one.target == "tmux:one"]
    assert lines[-1] == "Really delete all? [y/N]" and lines[:-1] in ([lines[0]] * 2, [lines[0]] * 3)  # one on its way
    assert {one.target for one in told} == {"tmux:one", "tmux:other"}
    store.unmute("tmux:muted")
    supervisor = Supervisor(["tmux:muted"], REMINDS, options=server.options, store=store)
    assert run(supervisor, has("escalation"))
