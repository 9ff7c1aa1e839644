"""What the store keeps of presses and sessions, what nobody knows the end of, and what never gets into the file."""

from __future__ import annotations

import signal
import sqlite3
from pathlib import Path

import pytest
from stallkit_supervisor import store as module
from stallkit_supervisor.recovery_state import Counts, Limits
from stallkit_supervisor.store import Halted, Store
from stored import ONE, intend, reopened, unresolved, writer

from stallkit.probes.procfs import boot_id

# --- what is counted ---


def test_counts_survive(store: Store) -> None:
    for end in ("cleared", "unchanged", "unknown", "gone", "refused"):
        store.conclude(intend(store), end, "because")
    intend(store)  # whose end nobody knows
    intend(store, session="tmux:two")
    store.conclude(intend(store, "restart"), "cleared", "")
    store = reopened(store)
    counts = store.counts(ONE, "press")
    assert (counts.iteration, counts.total, len(counts.times)) == (5, 5, 5), "what was refused counts for nothing"
    assert store.counts(ONE, "restart").total == 1 and store.counts(ONE, "resume") == Counts()
    assert store.counts(ONE, "press", "restart").total == 6
    assert store.counts("tmux:three", "press") == Counts()
    store.close()


def test_a_signal_begins_an_iteration_and_a_loop(store: Store) -> None:
    """Requirement D6."""
    intend(store)
    store.new_iteration(ONE)
    intend(store)
    assert (store.counts(ONE, "press").iteration, store.counts(ONE, "press").total) == (1, 2)
    store.new_iteration(ONE, reset_total=True)
    store = reopened(store)
    counts = store.counts(ONE, "press")
    assert (counts.iteration, counts.total, len(counts.times)) == (0, 0, 2), "the window goes on"
    store.close()


def test_a_signal_begins_one_iteration_whoever_sees_it(store: Store) -> None:
    intend(store)
    store.new_iteration(ONE, stamp="1:2")
    intend(store)
    store.new_iteration(ONE, stamp="1:2")  # by another supervisor, later
    assert store.counts(ONE, "press").iteration == 1
    store.new_iteration(ONE, stamp="1:3")
    assert store.counts(ONE, "press").iteration == 0


def test_no_intent_passes_a_halt_or_a_limit_whoever_counted(store: Store) -> None:
    other, limits = Store(store.path), Limits(per_iteration=2)
    for one in (store, other):
        one.intend(ONE, "press", "%1", "f", "waiting sure acme:asks abc", None, limits)
    with pytest.raises(Halted, match="2 recoveries in this iteration, 2 are allowed"):
        store.intend(ONE, "resume", "%1", "f", "waiting sure acme:asks abc", None, limits)
    store.intend(ONE, "restart", "%1", "f", "", None, limits)
    other.halt(ONE, "a rule")
    with pytest.raises(Halted, match="a rule"):
        store.intend(ONE, "restart", "%1", "f", "", None)
    assert len(store.recoveries(ONE)) == 3, "nothing was written of those"
    other.close()


def test_a_release_forgets_what_was_done(store: Store) -> None:
    intend(store)
    store.halt(ONE, "enough", "/srv/.auto-stop")
    store.halt(ONE, None)
    store = reopened(store)
    assert (store.halted(ONE), store.stop_file(ONE), store.counts(ONE, "press")) == (None, None, Counts())
    assert store.last(ONE) is None and store.recoveries(ONE) == []
    intend(store)
    assert store.counts(ONE, "press").total == 1
    store.close()


def test_another_identity_is_a_new_loop_once(store: Store) -> None:
    """However many supervisors see it."""
    store.new_loop(ONE, "%1")
    intend(store)
    store.new_loop(ONE, "%1")
    assert store.counts(ONE, "press").total == 1 and store.identity(ONE) == "%1"
    for _ in range(2):
        store.new_loop(ONE, "%2")
    assert (store.counts(ONE, "press").total, store.identity(ONE)) == (0, "%2")
    intend(store)
    assert len(store.counts(ONE, "press").times) == 2, "the window goes on"
    store.belongs(ONE, None)
    store.new_loop(ONE, "%3")
    assert (store.counts(ONE, "press").total, store.identity(ONE)) == (1, "%3"), "one that we started goes on"
    assert store.identity("other") is None


def test_what_an_older_loop_did_before_the_machine_started_is_long_ago(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is as old as the start would fill the window of the first minutes."""
    intend(store)
    store.new_iteration(ONE, reset_total=True)
    intend(store)
    monkeypatch.setattr(module, "boot_id", lambda: "another start of the machine")
    assert store.counts(ONE, "press").times == (0.0,)


def test_times_are_of_this_boot(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    intend(store)
    assert store.counts(ONE, "press").times[0] > 0 and boot_id()
    monkeypatch.setattr(module, "boot_id", lambda: "another start of the machine")
    assert store.counts(ONE, "press").times == (0.0,)


def test_what_is_noted_of_a_session_survives(store: Store) -> None:
    store.halt(ONE, "enough", "/srv/.auto-stop")
    store.new_iteration(ONE, stamp="1:2")
    store.wait(ONE, 5000.5)
    store.saw({ONE: {"state": "waiting"}})
    store = reopened(store)
    waiting = store.waiting(ONE)
    assert (store.halted(ONE), store.stop_file(ONE), store.signalled(ONE)) == ("enough", "/srv/.auto-stop", "1:2")
    assert waiting is not None and waiting.free_at == 5000.5
    (row,) = store.sessions()
    assert (row["name"], row["status"]) == (ONE, '{"state": "waiting"}')
    store.halt(ONE, None)
    store.wait_over(ONE)
    assert (store.halted(ONE), store.stop_file(ONE), store.waiting(ONE)) == (None, None, None)
    assert (store.halted("other"), store.stop_file("other"), store.waiting("other")) == (None, None, None)
    store.wait(ONE, None)
    waiting = store.waiting(ONE)
    assert waiting is not None and waiting.free_at is None
    store.close()


def test_the_newest_incidents_are_kept(path: Path) -> None:
    store = Store(path, incidents=3)
    for number in range(5):
        store.incident(ONE, "escalation", {"number": number})
    assert [one["facts"]["number"] for one in store.incidents()] == [2, 3, 4]
    store.close()


def test_incidents_are_the_latest_oldest_first(store: Store) -> None:
    for number in range(5):
        store.incident(ONE if number % 2 else "tmux:two", "escalation", {"number": number})
    assert [one["facts"]["number"] for one in store.incidents()] == [0, 1, 2, 3, 4]
    assert [one["facts"]["number"] for one in store.incidents(limit=2)] == [3, 4]
    assert [one["facts"]["number"] for one in store.incidents(ONE)] == [1, 3]
    assert store.incidents("other") == []


# --- what nobody knows the end of ---


def test_an_intent_without_an_end_is_unresolved(store: Store) -> None:
    store.conclude(intend(store), "cleared", "")
    begun, doubtful = intend(store), intend(store)
    store.conclude(doubtful, "unknown", "the server did not answer")
    store.conclude(intend(store), "refused", "")
    store = reopened(store)
    found = unresolved(store)
    assert [(one.id, one.outcome) for one in found] == [(begun, None), (doubtful, "unknown")]
    assert (found[0].identity, found[0].shown, found[0].keys) == ("%1", "waiting sure acme:asks abc", "y Enter")
    last = store.last(ONE)
    assert last is not None and last.id == doubtful, "what was refused was not done"
    assert store.last("other") is None
    store.close()


@pytest.mark.parametrize("number", range(20))
def test_kill_9_loses_nothing_that_was_acknowledged(path: Path, number: int) -> None:
    process = writer(path)
    assert process.stdout is not None
    with process.stdout as pipe:
        said = [pipe.readline() for _ in range(1 + number)]
        process.send_signal(signal.SIGKILL)
        said += pipe.readlines()  # what it said before it was killed
    assert process.wait() == -signal.SIGKILL
    told = {"intended": set[int](), "concluded": set[int](), "incident": set[int]()}
    for line in said:
        if line.endswith("\n"):  # whole
            what, intent = line.split()
            told[what].add(int(intent))
    store = Store(path)
    found = {one.id: one for one in store.recoveries(ONE)}
    assert told["intended"] and told["intended"] <= found.keys()
    assert all(found[intent].outcome == "cleared" for intent in told["concluded"])
    assert told["incident"] <= {one["facts"]["intent"] for one in store.incidents(limit=1_000_000)}
    assert len(found) <= len(told["intended"]) + 1, "one more may be written than could be said"
    left = {one.id for one in unresolved(store)}
    assert left == {intent for intent, one in found.items() if one.outcome is None}
    assert left >= {intent for intent in told["intended"] if intent % 3 == 1}  # which it never ends
    assert store.counts(ONE, "press").total == len(found)
    store.close()
    base = sqlite3.connect(path)
    assert base.execute("pragma integrity_check").fetchall() == [("ok",)]
    base.close()


# --- what never gets into it ---


def test_no_secret_is_in_the_file(path: Path) -> None:
    secret = "gh" + "p_" + "q7Zt2Kx9Wm4Bv6Rn1Lc8" * 2
    store = Store(path)
    for session in (secret, f"tmux:{secret}", f"acme:token={secret}"):
        intent = intend(store, session=session, keys=f"'{secret}' Enter")
        store.conclude(intent, "refused", f"another prompt is there: 'Use {secret}?'")
        store.halt(session, f"a rule: {secret}")
        store.saw({session: {"line": f"Use {secret}?", "more": [{"deep": secret}]}})
        store.incident(session, "escalation", {"why": f"api_key={secret}"})
        assert store.incidents(session) and store.halted(session)
    files = [file.read_bytes() for file in path.parent.iterdir()]
    assert files and not any(secret.encode() in held for held in files)
    store.close()
    assert secret.encode() not in path.read_bytes()


def test_names_that_differ_in_a_secret_alone_are_two(store: Store) -> None:
    first, second = (f"acme:token=hunter{number}x" for number in (1, 2))
    intend(store, session=first)
    store.halt(first, "enough")
    assert (store.halted(first), store.halted(second)) == ("enough", None)
    assert (store.counts(first, "press").total, store.counts(second, "press").total) == (1, 0)
    (row,) = store.sessions()
    assert "hunter" not in row["name"] and store.halted(row["name"]) == "enough", "a name that was listed is found"


@pytest.mark.parametrize("odd", ["\ud800", "tmux:\udcff", "a\0b", "", " ", "x" * 10_000, "'; drop table session; --"])
def test_any_text_can_be_kept(store: Store, odd: str) -> None:
    intent = store.intend(odd, "press", odd, "f", "waiting sure - -", None)
    store.conclude(intent, "unchanged", odd)
    store.halt(odd, odd or "enough", odd)
    store.incident(odd, "escalation", {"why": odd})
    assert [one.id for one in store.recoveries(odd)] == [intent]
    assert len(store.incidents(odd)) == 1 and store.last(odd) is not None


def test_a_transaction_that_could_not_be_taken_back_stops_no_later_write(store: Store) -> None:
    store._base.execute("begin immediate")  # what a failed commit leaves whose rollback failed as well
    store.wait(ONE, None)
    assert store.waiting(ONE) is not None
