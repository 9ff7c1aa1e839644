"""Limits, halts and readers hold: an attacker in the loop's directory, kill -9, a full disk, a second supervisor."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import IO, Any

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from looks import ONE_LINE, SIZE, Tally, reads
from stallkit_supervisor.loop_files import SIGNAL, STOP, release, stopped
from stallkit_supervisor.persistence import EventBus, Persistence
from stallkit_supervisor.prompt_state import observed
from stallkit_supervisor.recovery import Recoverer
from stallkit_supervisor.recovery_state import Limits
from stallkit_supervisor.session_state import Halt, Loop, Perform, Schedule, WatchConfig
from stallkit_supervisor.store import Halted, Store
from stallkit_supervisor.supervisor import Supervisor
from stallkit_supervisor.transitions import on_outcome
from stallkit_supervisor.watched import Watched
from supervised import AGAIN, ASKS, EAGER, KEY, named, run, shell
from terminals import Server, wait_for
from watched_state import snapshot, verdict

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Clause, Dismissal, Pack, Signature
from stallkit.errors import StoreError
from stallkit.evidence.snapshot import KernelFacts, Snapshot
from stallkit.packs.registry import installed_engine
from stallkit.press.check import observe
from stallkit.press.events import Event
from stallkit.press.gate import End
from stallkit.press.policy import CAREFUL, Policy, Press
from stallkit.press.rules import Rule, Scene
from stallkit.terminal.screen import Screen
from stallkit.testing import FakeClock, MemoryTransport

ONE = "tmux:one"
LIMITS = Limits(per_iteration=2, total=4, in_window=100)
OURS = json.dumps({"reason": "stall_limit", "why": "", "session": ONE, "time": "2026-01-01T00:00:00+00:00"})


class Room(Store):
    """A store whose disk may be full."""

    full = False

    def _set(self, session: str, **values: object) -> None:
        if self.full:
            raise StoreError("store", str(self.path), "no space left on device", "free some")
        super()._set(session, **values)

    def intend(self, session: str, *given: Any, **more: Any) -> int:
        if self.full:
            raise StoreError("store", str(self.path), "no space left on device", "free some")
        return super().intend(session, *given, **more)


class Attacked(RuleBasedStateMachine):
    """Two supervisors of one loop, in whose directory an attacker does as it likes."""

    presses = halts = removals = 0

    @initialize()
    def begin(self) -> None:
        shared = Path("/dev/shm")
        self.folder = tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None)
        self.home = Path(self.folder.name) / "home"
        self.home.mkdir()
        self.loop = asyncio.new_event_loop()
        self.store = Room(Path(self.folder.name) / "watch.db")
        self.tally, self.now, self.signals, self.prompt = Tally(LIMITS), 1000.0, 0, 0
        self.config = WatchConfig(CAREFUL, Schedule(interval_s=20.0), LIMITS)
        self.kept = [self.loop.run_until_complete(self._started()) for _ in range(2)]

    def teardown(self) -> None:
        for persistence, _ in getattr(self, "kept", ()):
            self.loop.run_until_complete(persistence.bus.close())
        if hasattr(self, "loop"):
            self.loop.close()
            self.store.close()
            self.folder.cleanup()

    async def _started(self) -> tuple[Persistence, Watched]:
        persistence = Persistence(EventBus(self.store, []), lambda: self.now, {ONE: self.home})
        watched = persistence.begin(ONE)
        assert watched is not None
        return persistence, watched

    @rule(which=st.sampled_from([0, 0, 0, 1]), end=st.sampled_from([End.CLEARED, End.CLEARED, End.REFUSED, None]))
    def asks(self, which: int, end: End | None) -> None:
        """One of them sees a new prompt; None: it is killed before the end of its press."""
        self.loop.run_until_complete(self._look(which, end))

    async def _look(self, which: int, end: End | None) -> None:
        persistence, watched = self.kept[which]
        self.now, self.prompt = self.now + 1.0, self.prompt + 1
        watched.verdict = verdict(line=f"Press any key ({self.prompt})", kind="press_key", keys="Space")
        watched.snapshot = snapshot(f"a screen {self.prompt}")
        persistence.files(watched)
        there, was = stopped(self.home), watched.state.halt.halted
        for step in watched.step(self.now, self.config):
            match step:
                case Halt(reason, why):
                    Attacked.halts += 1
                    persistence.halt(watched, reason, why)
                case Loop():
                    persistence.loop(watched, step)
                case Perform(decision):
                    assert isinstance(decision, Press) and was is None
                    assert not there, "a key while an .auto-stop is there"
                    await self._press(persistence, watched, decision, end)
        await persistence.bus.flush()

    async def _press(self, persistence: Persistence, watched: Watched, decision: Press, end: End | None) -> None:
        assert watched.verdict is not None
        await persistence.bus.flush()
        given = ("press", "%1", "f", str(observed(watched.verdict)), "Space")
        try:
            intent = self.store.intend(ONE, *given, limits=LIMITS)
        except (StoreError, Halted):
            watched.state = on_outcome(watched.state, decision, End.REFUSED)
            return
        if end is not End.REFUSED:
            self.tally.did(self.now)
            Attacked.presses += 1
        if end is None:
            place = [one for _, one in self.kept].index(watched)
            self.kept[place] = await self._started()
            return
        self.store.conclude(intent, end, "")
        watched.state = on_outcome(watched.state, decision, end)

    @rule(which=st.sampled_from([0, 1]))
    def asks_on(self, which: int) -> None:
        """Prompt after prompt, each of which goes away."""
        for _ in range(3):
            self.loop.run_until_complete(self._look(which, End.CLEARED))

    @rule(what=st.sampled_from(["remove"] * 6 + ["touch", "forge", "link", "signal"]))
    def attack(self, what: str) -> None:
        stop = self.home / STOP
        if what == "signal":
            self._signal()
            return
        Attacked.removals += stopped(self.home)
        stop.unlink(missing_ok=True)
        match what:
            case "touch":
                stop.touch()
            case "forge":
                stop.write_text(OURS)
            case "link":
                stop.symlink_to("nowhere")

    def _signal(self) -> None:
        """An iteration counts from where the first of them sees its signal: before it acts again."""
        self.signals += 1
        (self.home / SIGNAL).touch()
        os.utime(self.home / SIGNAL, ns=(self.signals, self.signals))
        self.tally.begin(reset_total=False)

    @rule(which=st.sampled_from([0, 1]))
    def killed(self, which: int) -> None:
        self.kept[which] = self.loop.run_until_complete(self._started())

    @rule(full=st.booleans())
    def disk(self, full: bool) -> None:
        self.store.full = full

    @rule()
    def person(self) -> None:
        if not self.store.full and self.store.halted(ONE) is not None:
            release(self.store, ONE)
            self.tally = Tally(LIMITS)


def test_no_attack_passes_a_limit_or_a_stop() -> None:
    Attacked.presses = Attacked.halts = Attacked.removals = 0
    bound = settings(
        max_examples=50, stateful_step_count=40, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(Attacked, settings=bound)
    print(f"{Attacked.presses} presses, {Attacked.halts} halts, {Attacked.removals} removals")
    assert min(Attacked.presses, Attacked.halts, Attacked.removals) > 10, "a machine that does nothing breaks no limit"


SETTINGS = """
[limits]
per_iteration = 1
[[policy.rule]]
do = "press"
signature = "shell_tools:press_any_key"
session = "tmux:asks"
"""


class Watch:
    """`stallkit watch` as a process of its own, over one session, with a limit of one press."""

    def __init__(self, command: str, server: Server, home: Path) -> None:
        (settings := home / "mine.toml").write_text(SETTINGS)
        words = [command, "watch", "tmux:asks", "-S", str(server.socket), "--config", str(settings)]
        words += ["--json", "--interval", "0.3", "--for", "60"]
        self.process = subprocess.Popen(words, cwd=home, stdout=subprocess.PIPE)
        self.events: list[str] = []

    def until(self, name: str) -> dict[str, Any]:
        """The next event of that name; those on the way are kept in `events`."""
        out: IO[bytes] | None = self.process.stdout
        assert out is not None
        for line in out:
            event: dict[str, Any] = json.loads(line)
            if event.get("outcome") != "refused":
                self.events.append(event["event"])
                if event["event"] == name:
                    return event
        raise AssertionError(f"there was no {name}: {self.events}")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


@pytest.mark.e2e
@pytest.mark.usefixtures("alone")
def test_a_halt_outlives_its_file_and_its_supervisor(
    server: Server, store: Store, tmp_path: Path, stallkit_command: str
) -> None:
    shell(server, "asks", AGAIN, "Press any key")
    first = Watch(stallkit_command, server, tmp_path)
    stop = Path(first.until("auto_stop")["file"])
    assert first.events.count("dismissal") == 1
    wait_for(lambda: store.halted("tmux:asks"), "the halt in the store")
    stop.unlink()
    first.kill()
    again = Watch(stallkit_command, server, tmp_path)
    try:
        again.until("detection")
        assert "released" not in again.events and store.halted("tmux:asks")
        done = subprocess.run(
            [stallkit_command, "stuck", "release", "tmux:asks"], check=True, capture_output=True, text=True
        )
        assert done.stdout == "tmux:asks: released, after 1 recoveries in this iteration, 1 are allowed\n"
        assert done.stderr == "" and not stop.exists()
        again.until("dismissal")
        assert again.events.index("released") < again.events.index("dismissal")
    finally:
        again.kill()


@pytest.mark.e2e
def test_a_stop_of_somebody_else_holds_while_it_is_there(server: Server, store: Store, tmp_path: Path) -> None:
    stop = tmp_path / STOP
    stop.symlink_to("nowhere")
    shell(server, "asks", ASKS + "exec sleep 100", "Press any key")
    supervisor = Supervisor(["tmux:asks"], WatchConfig(KEY, EAGER), options=server.options, store=store)
    held: list[str | None] = []

    def pressed(events: list[Event]) -> bool:
        if named(events, "escalation") and not held:
            held.append(supervisor.sessions["tmux:asks"].as_object()["held"])
            stop.unlink()
        return bool(named(events, "dismissal"))

    events = run(supervisor, pressed)
    names = [one.name for one in events if one.name in ("held", "escalation", "held_over", "dismissal")]
    assert names == ["held", "escalation", "held_over", "dismissal"]
    assert named(events, "escalation")[0].facts["why"] == f"nothing is pressed or started while {stop} is there"
    assert held == [str(stop)] and store.home("tmux:asks") == tmp_path


@pytest.mark.e2e
def test_a_stop_that_comes_between_look_and_press_is_seen(server: Server, store: Store, tmp_path: Path) -> None:
    config, engine = WatchConfig(KEY, EAGER), installed_engine()
    transport = server.start("asks", "bash", "-c", ASKS + "exec sleep 100", shows="Press any key")
    seen, look = observe(transport, engine)
    decision, was = KEY.decide(seen, Scene.of(look)), observed(seen)
    assert isinstance(decision, Press)
    recoverer = Recoverer(engine, store)
    (tmp_path / STOP).touch()
    refused = recoverer.act(transport, "tmux:asks", decision, config, was, [tmp_path])
    assert (refused.end, refused.why) == (End.REFUSED, f"{tmp_path / STOP} is there")
    store.halt("tmux:asks", "a rule")
    refused = recoverer.act(transport, "tmux:asks", decision, config, was)
    assert (refused.end, refused.why) == (End.REFUSED, "a rule")
    store.halt("tmux:asks", None)
    assert recoverer.act(transport, "tmux:asks", decision, config, was).end is End.CLEARED


GO_ON = Signature(
    id="asks",
    title="asks",
    state="waiting",
    kind="confirm",
    severity="low",  # type: ignore[arg-type]  # as a pack says it
    all_of=[Clause(text="Go on?")],
    dismissal=Dismissal(keys="y Enter"),  # type: ignore[arg-type]
    dialog=ONE_LINE,
)

NAMES = ["tmux:one", "one", "tmux:%3", "memory:one"]
ENGINE = Engine([Pack(name="acme", foreground=["acme"], signatures=[GO_ON])])  # type: ignore[arg-type]


def test_another_reader_than_at_the_look_that_was_decided_on_gets_no_key() -> None:
    for pid, pressed in ((2, False), (1, True)):
        clock = FakeClock()
        asks = Screen.from_text("Go on? ", cursor=(7, 0), size=SIZE)
        transport = MemoryTransport(
            asks, lambda keys: Screen.from_text("gone"), foreground="acme", kernel=reads("acme")
        )
        verdict, seen = observe(transport, ENGINE, sleep=clock.sleep, clock=clock)
        decision = CAREFUL.decide(verdict, Scene.of(seen))
        assert isinstance(decision, Press)
        recoverer = Recoverer(ENGINE, None, clock=clock, sleep=clock.sleep)
        outcome = recoverer.act(transport, "one", decision, WatchConfig(CAREFUL), observed(verdict), last=by(seen, pid))
        assert (outcome.end is not End.REFUSED, bool(transport.sent)) == (pressed, pressed), outcome
        assert pressed or "did not when the prompt was first seen" in outcome.why


@given(st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from([*NAMES, "tmux:o*", "memory:*"]))
def test_what_a_look_decides_is_what_is_done_however_its_session_is_named_and_reached(
    watched: str, reached: str, ruled: str
) -> None:
    clock = FakeClock()
    policy = Policy("mine", rules=[Rule(do="press", signature="acme:asks", session=[ruled, "tmux:never"])])
    asks = Screen.from_text("Go on? ", cursor=(7, 0), size=SIZE)
    transport = MemoryTransport(asks, lambda keys: Screen.from_text("gone"), reached, "acme", kernel=reads("acme"))
    verdict, seen = observe(transport, ENGINE, sleep=clock.sleep, clock=clock)
    seen = evolve(seen, target=watched)
    explained = policy.decide(verdict, Scene.of(seen))
    decision = explained if isinstance(explained, Press) else Press(GO_ON)
    recoverer = Recoverer(ENGINE, None, clock=clock, sleep=clock.sleep)
    outcome = recoverer.act(transport, watched, decision, WatchConfig(policy), observed(verdict), last=seen)
    assert bool(transport.sent) == isinstance(explained, Press), outcome


@pytest.mark.e2e
def test_a_rule_on_a_session_holds_in_every_way_to_watch_it(server: Server) -> None:
    policy = Policy("mine", rules=[Rule(do="press", signature="shell_tools:press_any_key", session=["tmux:o*"])])
    for number, way in enumerate(({"targets": "tmux:{}"}, {"everything": True}), 1):
        name = f"o{number}"
        shell(server, name, ASKS + "exec sleep 100", "Press any key")
        given = {key: value.format(name) if isinstance(value, str) else value for key, value in way.items()}
        watch: Any = {"policy": WatchConfig(policy, EAGER), "options": server.options, **given}
        events = run(Supervisor(**watch), lambda seen: bool(named(seen, "dismissal") or named(seen, "escalation")))
        assert [one.facts["outcome"] for one in named(events, "dismissal")] == ["cleared"], (way, events)


def by(seen: Snapshot, pid: int) -> Snapshot:
    """The look as it would be with another process that reads."""
    kernel = seen.kernel or KernelFacts()
    return evolve(seen, kernel=evolve(kernel, readers=tuple(evolve(one, pid=pid) for one in kernel.readers or ())))
