"""Hosts on a real bus: one list, answers through each host's own gate, policies, and what survives which death."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Callable

import pytest
from fleets import Bus, FleetHost
from nats.aio.client import Client
from printed import printed
from stallkit_fleet import view
from stallkit_fleet.messages import EVENTS, OFFER_S, Answer, Seen
from stallkit_operator.queue import Queue
from terminals import wait_for

pytestmark = pytest.mark.e2e

Hosts = Callable[..., FleetHost]


def joined(hosts: Hosts, bus: Bus, name: str, *words: str) -> FleetHost:
    """A host that watches a session which asks something."""
    made = hosts(name, bus)
    done = made.join("--operator", "ada", "--answers", "ada", *words)
    assert done.returncode == 0, done.stderr
    made.asks()
    made.begin("watch", "--all", "--json", *socket_of(made))
    return made


def stopped(pid: int) -> bool:
    """Whether each thread of a process stands still."""
    stats = (one.read_text().rpartition(")")[2].split() for one in Path(f"/proc/{pid}/task").glob("*/stat"))
    return all(words[0] == "T" for words in stats)


def socket_of(host: FleetHost) -> tuple[str, str]:
    assert host.server is not None
    return "-S", str(host.server.socket)


def events_of(bus: Bus) -> list[view.FleetEvent]:
    """Every event that the bus has, as it stands there."""

    async def read(client: Client) -> list[view.FleetEvent]:
        js, found = client.jetstream(), []
        for sequence in range(1, (await js.stream_info(EVENTS)).state.last_seq + 1):
            message = await js.get_msg(EVENTS, sequence)
            one = view.FleetEvent.read(message.subject or "", message.headers or {}, message.data or b"")
            assert one is not None
            found.append(one)
        return found

    return bus.call(read)


def logged(host: FleetHost) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (host.folder / "state" / "events.jsonl").read_text().splitlines()]


def test_one_list_and_an_answer_from_another_host(bus: Bus, host: Hosts) -> None:
    a, c = joined(host, bus, "a"), joined(host, bus, "c")
    wait_for(lambda: a.item("a") and a.item("c"), "both prompts")
    item = a.item("c")
    assert item is not None and (item.words, item.session) == ("Delete all in c? [y/N]", "tmux:web")
    assert (a.state("a"), a.state("c")) == ("waiting", "waiting")
    ref = f"c/{item.id}"
    shown = a("fleet", "show", ref)
    assert f"stallkit fleet reply {ref} TEXT" in shown.stdout, shown.stdout
    done = a("fleet", "reply", ref, "n")
    assert (done.returncode, "answered" in done.stdout) == (0, True), (done.stdout, done.stderr)
    wait_for(lambda: "went on with n" in c.screen(), "the key")
    assert "went on" not in a.screen()
    wait_for(lambda: a.item("c") is None, "the end of the item")

    def by() -> list[str | None]:
        report = printed("fleet-report", a("fleet", "report", "c", "--json"))
        return [one["by"] for one in report["sessions"][0]["waits"]]

    wait_for(lambda: by() == ["ada"], "the report to tell who answered")
    again = a("fleet", "reply", f"{ref}@1", "y")
    assert again.returncode == 64 and "nothing of that number waits there now" in again.stderr
    table = a("fleet", "list").stdout.splitlines()
    assert table[0].split() == ["host", "session", "state", "since", "asks"] and table[1].split()[:3] == [
        "a",
        "web",
        "waiting",
    ]
    assert a("fleet", "doctor").stdout == "nothing is wrong\n"
    assert printed("fleet-doctor", a("fleet", "doctor", "--json"))["findings"] == []
    assert len(printed("fleet-list", a("fleet", "list", "--json"))["sessions"]) == 2


def test_each_command_prints_what_its_schema_says(bus: Bus, host: Hosts) -> None:
    c = joined(host, bus, "c")
    wait_for(lambda: c.item("c"), "the prompt")
    [row] = printed("fleet-stuck-list", c("fleet", "stuck", "list", "--json"))["items"]
    ref = f"c/{row['item']['id']}"
    assert printed("fleet-show", c("fleet", "show", ref, "--json"))["item"] == row["item"]
    assert printed("fleet-policy-list", c("fleet", "policy", "list", "--json"))["versions"] == []
    assert printed("fleet-approve", c("fleet", "approve", ref, "--json"))["result"] == "not_taken", "it has no options"
    assert printed("fleet-reply", c("fleet", "reply", f"{ref}@9", "n", "--json"))["result"] == "changed"
    assert printed("fleet-decline", c("fleet", "decline", ref, "no", "--json"))["result"] == "done"
    assert c.item("c") is None or wait_for(lambda: c.item("c") is None, "it to be off the list") is None


def test_an_answer_is_bound_to_what_was_shown_its_sender_and_its_moment(bus: Bus, host: Hosts) -> None:
    c = joined(host, bus, "c")
    wait_for(lambda: c.item("c"), "the prompt")

    async def tried(client: Client) -> list[tuple[str, str]]:
        found = (await view.read(client.jetstream())).items()[0]
        item, said = found.item, list[tuple[str, str]]()

        async def ask(body: bytes, person: str = "ada") -> dict[str, Any]:
            reply = await view.ask(client, "c", person, body, 30)
            said.append((str(reply.get("result")), str(reply.get("why"))))
            return {**reply}

        async def offer(person: str = "ada") -> str:
            return str((await ask(b'{"version": 1, "do": "offer"}', person)).get("offer"))

        await ask(Answer("made-up", "reply", item.id, item.revision, item.action, "y").body)
        await ask(Answer(await offer("bob"), "reply", item.id, item.revision, item.action, "y").body, "bob")
        await ask(Answer(await offer(), "reply", item.id, item.revision, item.action, "y").body, "bob")
        await ask(Answer(await offer(), "reply", item.id, item.revision + 1, item.action, "y").body)
        await ask(Answer(await offer(), "reply", item.id, item.revision, "another", "y").body)
        await ask(Answer(await offer(), "reply", item.id + 1, item.revision, item.action, "y").body)
        await ask(Answer(await offer(), "fly", item.id, item.revision, item.action, "y").body)
        await ask(b'{"version": 1, "do": "fly"}')
        await ask(b"[" * 100_000)
        used = await offer()
        late = await offer()
        good = Answer(used, "reply", item.id, item.revision, item.action, "n").body
        await ask(good)
        await ask(good)
        os.kill(c.started[0].pid, signal.SIGSTOP)  # it gets the next one late
        while not stopped(c.started[0].pid):
            await asyncio.sleep(0.02)
        later = asyncio.create_task(ask(Answer(late, "reply", item.id, item.revision, item.action, "y").body))
        await asyncio.sleep(OFFER_S + 1)
        os.kill(c.started[0].pid, signal.SIGCONT)
        await later
        return [one for one in said if one != ("None", "None")]

    told = bus.call(tried)
    expected = [
        ("not_taken", "no such offer"),
        ("not_taken", "bob may not answer here"),
        ("not_taken", "bob may not answer here"),
        ("not_taken", "bob may not answer here"),
        ("changed", "not as it was shown"),
        ("not_taken", "changed since it was shown"),
        ("refused", "nothing of that number was asked"),
        ("not_taken", "no answer 'fly'"),
        ("not_taken", "this host does not know this request"),
        ("not_taken", "it is no request"),
        ("done", ""),
        ("not_taken", "sent before"),
        ("not_taken", "after the host was asked"),
    ]
    assert len(told) == len(expected)
    wrong = [
        pair for pair in zip(told, expected, strict=True) if pair[0][0] != pair[1][0] or pair[1][1] not in pair[0][1]
    ]
    assert not wrong, wrong
    wait_for(lambda: "went on with n" in c.screen(), "the one key")


def test_a_notice_of_a_million_bytes_does_not_end_a_host(bus: Bus, host: Hosts) -> None:
    c = joined(host, bus, "c")
    with closing(Queue(c.folder / "state" / "queue.db")) as queue:
        item = queue.notify("web", "key-00001", "Which mirror? " + "é" * 400_000)
    wait_for(lambda: [one for one in c.seen().items() if one.item.id == item.id], "the notice", 40)
    wait_for(lambda: len(c.seen().items()) == 2, "the prompt beside it")
    done = c("fleet", "reply", f"c/{item.id}@1", "this one")
    assert done.returncode == 0, (done.stdout, done.stderr)


def test_of_two_persons_one_presses(bus: Bus, host: Hosts) -> None:
    c = joined(host, bus, "c", "--answers", "bob")
    wait_for(lambda: c.item("c"), "the prompt")

    async def both(client: Client) -> list[str]:
        found = (await view.read(client.jetstream())).items()[0]
        answers = (view.answer(client, who, "reply", found, key) for who, key in (("ada", "n"), ("bob", "y")))
        return sorted(str(one["result"]) for one in await asyncio.gather(*answers))

    results = bus.call(both)
    assert results in (["done", "over"], ["done", "refused"]), results
    wait_for(lambda: "went on with" in c.screen(), "a key")
    [cleared] = [one for one in logged(c) if one["event"] == "cleared"] or [None]
    assert cleared is None or cleared["by"] in ("ada", "bob")


def test_a_bus_that_dies_loses_nothing_and_delays_nobody(bus: Bus, host: Hosts) -> None:
    a = joined(host, bus, "a")
    wait_for(lambda: a.item("a"), "the prompt")
    for number in range(3):
        bus.kill()
        a.asks(f"more{number}")
        wait_for(lambda: [one for one in logged(a) if one["target"] == f"tmux:more{number}"], "local work")  # noqa: B023
        bus.start()
        wait_for(lambda: a.state("a", f"more{number}") == "waiting", "the bus to hear of it", 60)  # noqa: B023
    assert a("fleet", "list").returncode == 0
    a.started[0].terminate()
    assert a.started[0].wait(30) == 0
    seen, by_target = Seen(), dict[str, list[Any]]()
    for one in events_of(bus):
        if seen.is_new(one):
            by_target.setdefault(one.target, []).append(one.event)
    for target in {one["target"] for one in logged(a)}:
        assert by_target[target] == [one for one in logged(a) if one["target"] == target], target
    assert by_target[""][0]["event"] == "start" and by_target[""][-1]["event"] == "stop"
    assert "unwatched" in a("fleet", "list").stdout
    assert 3 <= a.said().count("kept, and sent later") <= 6


def test_a_host_that_is_killed_is_unreachable_and_goes_on_where_it_was(bus: Bus, host: Hosts) -> None:
    a, c = joined(host, bus, "a"), joined(host, bus, "c")
    wait_for(lambda: a.item("c"), "the prompt of c")
    c.started[0].kill()
    c.started[0].wait()
    wait_for(lambda: a.state("c") == "unreachable", "the silence to be noticed", 40)
    item = a.item("c")
    assert item is not None
    wait_for(lambda: "was waiting" in a("fleet", "list").stdout, "the list to say so")
    told = a("fleet", "reply", f"c/{item.id}@{item.revision}", "n")
    assert told.returncode == 1 and "no such host is connected: nothing was done" in told.stderr
    assert "last heard" in a("fleet", "doctor").stdout
    c.watch("--all")
    wait_for(lambda: a.state("c") == "waiting", "it to come back", 40)
    sent = [one for one in events_of(bus) if one.host == "c"]
    seen = Seen()
    numbers = [one.sequence for one in sent if seen.is_new(one) and one.target == "tmux:web"]
    assert numbers == sorted(set(numbers)) and len({one.epoch for one in sent}) == 1


def test_a_policy_is_taken_if_it_is_signed_below_the_ceiling(bus: Bus, host: Hosts, tmp_path: Path) -> None:
    a = host("a", bus)
    public = a("fleet", "policy", "key", str(tmp_path / "policy.key")).stdout.strip()
    other = a("fleet", "policy", "key", str(tmp_path / "other.key"))
    assert other.returncode == 0 and a("fleet", "policy", "key", str(tmp_path / "other.key")).returncode == 1
    file = tmp_path / "night.toml"
    file.write_text('profile = "daemon"\n[[rule]]\ndo = "wait"\nsession = "tmux:*"\n')
    c = joined(host, bus, "c", "--policy-key", public, "--ceiling", "observe")
    assert a.join("--operator", "ada").returncode == 0

    def runs(name: str = "c") -> Any:
        return a.fleet("policy", "list")["hosts"].get(name, {}).get("policy")

    put = a("fleet", "policy", "put", str(file), "--key", str(tmp_path / "policy.key"), "--note", "night")
    assert put.returncode == 0, put.stderr
    wait_for(lambda: runs() == 1, "the host to run it", 40)
    wait_for(lambda: [one for one in logged(c) if one["event"] == "reload"], "its supervisor to take it")
    assert [one["policy"] for one in logged(c) if one["event"] == "reload"] == ["fleet-1"]
    file.write_text("[[rule]]\ndo = 'fly'\n")
    bad = a("fleet", "policy", "put", str(file), "--key", str(tmp_path / "policy.key"))
    assert bad.returncode == 1 and "it is no policy" in bad.stderr
    file.write_text('profile = "careful"\n')
    assert a("fleet", "policy", "put", str(file), "--key", str(tmp_path / "other.key")).returncode == 0
    refusal = lambda: a.fleet("policy", "list")["hosts"]["c"]["policy_refused"]  # noqa: E731
    wait_for(lambda: "not signed by the key" in (refusal() or ""), "a refusal", 40)
    assert runs() == 1
    back = a("fleet", "policy", "rollback", "1", "--key", str(tmp_path / "policy.key"))
    assert back.returncode == 0, back.stderr
    wait_for(lambda: runs() == 3 and refusal() is None, "the roll-back", 40)
    listed = a("fleet", "policy", "list").stdout
    assert "as version 1" in listed and "c: runs version 3" in listed
    assert a("fleet", "policy", "rollback", "9", "--key", str(tmp_path / "policy.key")).returncode == 1


def test_events_are_printed_as_they_happen_and_leaving_ends_it(bus: Bus, host: Hosts) -> None:
    a = host("a", bus)
    assert a.join("--operator", "ada").returncode == 0
    watch = a.begin("fleet", "watch", "--json")
    wait_for(lambda: bus.call(lambda client: client.jetstream().consumers_info(EVENTS)), "the reader")
    c = joined(host, bus, "c")
    wait_for(lambda: '"escalation"' in a.said(), "the prompt", 40)
    lines = [printed("fleet-watch", CompletedProcess([], 0, line, "")) for line in a.said().splitlines()]
    assert {line["host"] for line in lines} == {"c"}
    watch.send_signal(signal.SIGINT)
    assert watch.wait(30) == 0, a.said()[-500:]
    c.started[0].terminate()
    assert c.started[0].wait(30) == 0
    left = c("fleet", "leave")
    assert left.returncode == 0 and "[fleet]" not in (c.folder / "config" / "stallkit" / "stallkit.toml").read_text()
    assert a.fleet("list") == {"version": 1, "hosts": a.fleet("list")["hosts"], "sessions": []}
    assert [one["host"] for one in a.fleet("list")["hosts"]] == ["a"]
    alone = c("fleet", "list")
    assert alone.returncode == 1 and "it names no fleet" in alone.stderr
