"""The register beside a simple model of it, under any sequence of calls by two processes, and reopened at any time."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from stallkit_sessions.model import FINAL, Cause, ExitRecord, Order, Session
from stallkit_sessions.register import OutEvent, Register, RunningSession

from stallkit.errors import StartRefused

STEPS, LENGTH = int(os.environ.get("STALLKIT_SOAK_STEPS", "1500")), 50
PORTS = (41_001, 41_002, 41_003)
names = st.sampled_from(["w", "w1", "w10", "W"])
ids = st.integers(0, 11).map(str)  # few, so that calls meet sessions that are known
doors = st.integers(0, 1)  # which of two connections


class Model(RuleBasedStateMachine):
    """Plain dicts say what the register has to say."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.doors = [Register(self.folder / "sessions.db") for _ in range(2)]
        self.living: dict[str, Session] = {}  # by id, in the order of their claims
        self.bound: set[str] = set()
        self.ready: set[str] = set()
        self.late: set[str] = set()
        self.orders: dict[str, Order | None] = {}
        self.ended: list[tuple[str, Cause]] = []  # name and cause
        self.gone: set[str] = set()  # ids that are no longer to be used
        self.out: list[tuple[str, str]] = []  # events that have to come out, in this order
        self.seen: list[tuple[str, str]] = []  # ... and those that did

    @rule(door=doors, id=ids, name=names, ports=st.lists(st.sampled_from(PORTS), unique=True, max_size=2))
    def claim(self, door: int, id: str, name: str, ports: list[int]) -> None:
        if id in self.living or id in self.gone:
            return
        taken = {one.name for one in self.living.values()}
        handed = {port for one in self.living.values() for port in one.ports}
        made = Session(
            name=name,
            id=id,
            command=("x",),
            directory="/",
            started_at=0.0,
            boot="b",
            ports=(*ports, 0)[: len(ports) + 1],
        )
        try:
            got = self.doors[door].claim(made, (1, 1))
        except StartRefused as refused:
            assert name in taken or set(ports) & handed
            assert refused.holder is not None
        else:
            assert name not in taken and not set(ports) & handed
            assert got.ports[:-1] == tuple(ports) and got.ports[-1] not in {0, *handed, *ports}
            self.living[id] = got

    @rule(door=doors, id=ids)
    def bind(self, door: int, id: str) -> None:
        may = id in self.living and id not in self.bound
        assert self.doors[door].bound(id, f"1 2 %{id} 4", 5) is may
        if may:
            self.bound.add(id)
            self.out.append((id, "session_started"))

    @rule(door=doors, id=ids)
    def abandon(self, door: int, id: str) -> None:
        may = id in self.living and id not in self.bound
        assert self.doors[door].abandon(id) is may
        if may:
            del self.living[id]
            self._forget(id)

    def _forget(self, id: str) -> None:
        self.orders.pop(id, None)
        self.gone.add(id)

    @rule(door=doors, id=ids, order=st.sampled_from([None, *Order]))
    def order(self, door: int, id: str, order: Order | None) -> None:
        assert self.doors[door].order(id, order) is (id in self.living)
        if id in self.living:
            self.orders[id] = order

    @rule(door=doors, id=ids)
    def is_ready(self, door: int, id: str) -> None:
        may = id in self.living and id in self.bound and id not in self.ready
        assert self.doors[door].ready(id) is may
        if may:
            self.ready.add(id)
            self.out.append((id, "session_ready"))

    @rule(door=doors, id=ids)
    def is_late(self, door: int, id: str) -> None:
        may = id in self.living and id not in self.late
        assert self.doors[door].start_timeout(id, "no prompt") is may
        if may:
            self.late.add(id)
            self.out.append((id, "start_timeout"))

    @rule(
        door=doors, id=ids, cause=st.sampled_from([Cause.EXITED, Cause.STOPPED]), event=st.sampled_from(sorted(FINAL))
    )
    def end(self, door: int, id: str, cause: Cause, event: str) -> None:
        of = self.living.get(id) or Session("w", id, ("x",), "/", 0.0, "b")
        name = of.name
        in_a_row = 0
        for one, why in reversed(self.ended):
            if one == name and why is not cause:
                break
            in_a_row += one == name
        register = self.doors[door]
        assert register.earlier(name, cause) == in_a_row
        may = id in self.living
        assert register.end(ExitRecord(of, cause, "", float(len(self.ended))), event, {}) is may
        if may:
            del self.living[id]
            self._forget(id)
            self.ended.append((name, cause))
            self.out.append((id, event))

    @rule(door=doors, fails=st.booleans())
    def write_out(self, door: int, fails: bool) -> None:
        def write(event: OutEvent) -> None:
            if fails and event.name == "session_ready":
                raise OSError("the disk is full")
            self.seen.append((event.session or "", event.name))

        left = self.doors[door].drain(write)
        assert left == len(self.out) - len(self.seen)
        assert fails or not left

    @rule(door=doors)
    def reopen(self, door: int) -> None:
        self.doors[door].close()
        self.doors[door] = Register(self.folder / "sessions.db")

    @invariant()
    def says_what_the_model_says(self) -> None:
        found = self.doors[0].living()
        assert [(one.session.id, one.session.ports, one.bound, one.order) for one in found] == [
            (id, one.ports, id in self.bound, self.orders.get(id)) for id, one in self.living.items()
        ]
        handed = [port for one in found for port in one.session.ports]
        assert len(handed) == len(set(handed))
        assert [(one.session.name, one.cause) for one in self.doors[1].records(limit=1_000)] == self.ended
        for name in ("w", "w1", "w10", "W"):
            latest = self.doors[0].latest(name)
            here = next((one.id for one in self.living.values() if one.name == name), None)
            assert (latest.session.id if isinstance(latest, RunningSession) else None) == here

    @invariant()
    def every_event_comes_once_and_in_order(self) -> None:
        finals = [id for id, name in self.out if name in FINAL]
        assert len(finals) == len(set(finals))
        for id in {id for id, _ in self.out}:
            mine = [event for event in self.out if event[0] == id]
            assert [event for event in self.seen if event[0] == id] == mine[: sum(one[0] == id for one in self.seen)]

    def teardown(self) -> None:
        for door in self.doors:
            door.close()
        shutil.rmtree(self.folder)


@pytest.mark.filterwarnings("error")
def test_any_sequence() -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Model,
        settings=settings(
            max_examples=max(1, STEPS // LENGTH),
            stateful_step_count=LENGTH,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
