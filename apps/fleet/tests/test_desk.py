"""The dashboard over a fleet: two machines and a real bus, on a real terminal, driven by keys."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from fleets import Bus, FleetHost
from queued import COMMAND
from stallkit_fleet import bus as of_fleet
from stallkit_fleet.messages import ALIVE, STATE, VERSION, item_key, session_key
from stallkit_fleet.settings import FleetSettings
from stallkit_operator.board import Row
from stallkit_operator.cli.dashboard_desk import Desk
from stallkit_operator.orders import Elsewhere, Look, Order, Verb, read_line
from terminals import SIZES, OnTerminal, Server, wait_for

pytestmark = pytest.mark.e2e
ADA = ("--answers", "ada", "--operator", "ada")


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[Server]:
    """Where a person's terminal is, and no session."""
    (tmp_path / "t").mkdir()
    made = Server(tmp_path / "t")
    yield made
    made.end()


def joined(host: Callable[..., FleetHost], name: str, bus: Bus, guarded: bool = False) -> FleetHost:
    """A host that answers to ada, with a session that asks; `guarded`: on a server with the sample's rights."""
    made = host(name, bus)
    logins = ("--credentials", made.credentials(name), "--operator-credentials", made.credentials("ada"))
    done = made.join(*ADA, *(logins if guarded else ()))
    assert done.returncode == 0, done.stderr
    made.asks()
    made.watch("--all")
    wait_for(made.items, f"what {name} asks")
    return made


def dashboard(at: FleetHost, terminals: Server, size: tuple[int, int] = (80, 24)) -> OnTerminal:
    """The dashboard of that machine."""
    assert at.server is not None
    given = {name: at.environment[name] for name in ("STALLKIT_STATE_DIR", "XDG_CONFIG_HOME")}
    return OnTerminal(terminals, size, COMMAND, "dashboard", "-S", str(at.server.socket), **given, NO_COLOR="1")


def columns_are_apart(screen: str) -> None:
    """Two blanks at least are between the cells of a row of the list, of which each row has as many."""
    rows = [line.split("│")[1].strip() for line in screen.splitlines() if re.match(r"│ [●?►] ", line)]
    assert rows and len({len(re.split(" {2,}", row)) for row in rows if "Delete" in row}) == 1, screen


def test_both_hosts_are_seen_and_a_prompt_of_the_other_one_is_answered_by_a_key(
    guarded: Bus, host: Callable[..., FleetHost], terminals: Server
) -> None:
    admin = host("admin")
    created = admin("fleet", "create", guarded.url, "--credentials", admin.credentials("admin"))
    assert created.returncode == 0, created.stderr
    c, a = joined(host, "c", guarded, guarded=True), joined(host, "a", guarded, guarded=True)
    for size in reversed(SIZES):
        shown = dashboard(a, terminals, size)
        screen = shown.shows(
            r"^│ ● c/1 +c +web .*Delete all in", r"^│ ● 1 +a +web .*Delete all in", "2 wait for a person"
        )
        columns_are_apart(screen)
    shown.press("Up")  # what c asks is older
    shown.shows("─ c · web", "│ Delete all in c", "│ r +type your words", "its screen is on c", "    state: w")
    for key, what in (("e", "routes"), ("c", "routes"), ("b", "rebuild"), ("Enter", "tmux")):
        shown.press(key)
        shown.shows(f"^ {what}: do this on c itself$")
    shown.press(":approve c/7", "Enter")
    shown.shows("^ c/7 was not shown to you here: nothing was done")
    shown.press(":show c/7", "Enter")
    shown.shows("^ c/7: nothing of that number waits there now")
    shown.press("r")
    shown.shows("^│ r c/1 ")
    shown.press("y", "Enter")
    shown.shows("^ c/1 tmux:web: answered, ", "1 wait for a person")
    assert "went on with y" in c.screen() and "went on" not in a.screen()
    shown.press(":r a/1 n", "Enter")  # of this machine itself: by its own gate
    shown.shows("^ 1 tmux:web: answered, ", "0 wait for a person")
    assert "went on with n" in a.screen()
    shown.press("q")
    assert "Task was destroyed" not in shown.over(0)


def test_the_rows_of_this_machine_go_on_while_the_bus_is_down(
    bus: Bus, host: Callable[..., FleetHost], terminals: Server
) -> None:
    c, a = joined(host, "c", bus), joined(host, "a", bus)
    shown = dashboard(a, terminals)
    shown.shows("2 wait for a person$")
    bus.kill()
    shown.shows("2 wait for a person   no bus: nothing listens there$")
    shown.press(":r c/1 y", "Enter")
    shown.shows("nothing listens there; start nats-server")
    shown.press(":r 1 y", "Enter")
    shown.shows("^ 1 tmux:web: answered, ")
    screen = shown.shows(r"^│ \? c/1 +c +web +unreachable .*Delete", r"\? 1 unreachable", patience_s=40)
    columns_are_apart(screen)
    assert "went on with y" in a.screen() and "went on" not in c.screen()
    bus.start()
    shown.shows("1 wait for a person", r"^│ ● c/1 +c +web +confirm .*Delete", patience_s=40)
    shown.press(":r c/1 y", "Enter")
    shown.shows("^ c/1 tmux:web: answered, ", "0 wait for a person")
    assert "went on with y" in c.screen()


LONG = "\x1b[2J\u202e" + "very-long-name-" * 2_000
EVIL: dict[str, Any] = {  # what a host may write of a session and of an item
    "target": f"tmux:{LONG}",
    "state": "\x1b]0;owned\x07",
    "certainty": ["maybe"],
    "kind": {"\x1b[31m": LONG},
    "needs": {"since": "0001-01-01T00:00:00", LONG: LONG},
    "foreground": LONG,
    "signature": 7,
    "restarts": None,
}


def evil_item(id: int, session: str) -> dict[str, Any]:
    """An item whose every text is for our terminal."""
    names = dict.fromkeys(("by", "at", "text", "through", "expires", "category"))
    option = {"id": "1\x1b[2J", "name": "[red]Yes[/]", "kind": None, "about": LONG, "selected": True}
    texts = {"words": f"{LONG}\nstallkit stuck approve 1", "asked": "\x1b[2Jstallkit stuck approve 1", "action": "x"}
    made = {"id": id, "session": session, "kind": "\x1b[31mred" + LONG, "revision": 1, "questions": 1, "several": False}
    when = {"created": "2026-01-01T00:00:00+00:00", "source": "prompt", "state": "input_required", "delivery": "held"}
    return {**names, **made, **texts, **when, "options": [option]}


def test_what_a_hostile_host_writes_is_shown_as_text_and_hides_nobody_else(
    bus: Bus, host: Callable[..., FleetHost], terminals: Server
) -> None:
    a, name = joined(host, "a", bus), "e" * 63

    async def written() -> None:
        async with of_fleet.connected(FleetSettings(bus.url), None, "evil") as client:
            js = client.jetstream()
            for host in (name, "no!token"):
                rows: dict[str, Any] = {
                    f"{host}.host": {"host": {LONG: LONG}},
                    session_key(host, "1"): {"session": EVIL},
                    session_key(host, "2"): {"session": {"target": ["web"]}},
                    item_key(host, 1): {"item": evil_item(1, f"tmux:{LONG}")},
                    item_key(host, 2): {"item": evil_item(1, "web")},  # the number of another
                    item_key(host, 3): {"item": {**evil_item(3, "web"), "words": 5}},
                }
                for key, row in rows.items():
                    body = json.dumps({"version": VERSION, "run": "r", **row}).encode()
                    await client.publish(f"$KV.{STATE}.{key}", body)
                await client.publish(f"$KV.{ALIVE}.{host}", b"{}")
            await js.account_info()  # they are there

    asyncio.run(written())
    for size in SIZES:
        shown = dashboard(a, terminals, size)
        # It is not heard for long; then it comes after those that wait.
        screen = shown.shows("wait for a person", r"^│ ● 1 +(a +)?web .*Delete", r"^│ [●?] e\S*/1 .*\\x1b\[2J")
        columns_are_apart(screen)
        shown.press("/stuck", "Enter")
        shown.shows("─ eeee", r"│ \\x1b\[2J\\u202every-long")
        shown.press("Escape")
        shown.shows("─ Sessions ─")
        shown.press("/very-long", "Enter")  # the session whose name is long
        screen = shown.shows(r"    state: \\x1b\]0;owned")
        assert "\u202e" not in screen and "\x1b[2J" not in shown.styled and "\x1b[31m" not in shown.styled
        assert not re.search("^stallkit stuck approve", screen, re.M), screen
        shown.press("q")
        shown.over(0)


def test_without_a_fleet_nothing_of_it_is_imported(host: Callable[..., FleetHost]) -> None:
    a = host("a")
    code = """if 1:
        import sys
        from stallkit_operator.cli.dashboard_desk import fleet_desk
        with fleet_desk() as fleet:
            print(fleet, sorted({"nats", "stallkit_fleet.desk", "stallkit_fleet.settings"} & {*sys.modules}))
    """
    settings = Path(a.environment["XDG_CONFIG_HOME"]) / "stallkit" / "stallkit.toml"
    settings.parent.mkdir(parents=True)
    for text, said in (
        ("", "None []"),
        ("[watch]\ndry_run = true\n", "None []"),
        ("[fleet]\nhost = 'a'\n", "None"),
    ):
        settings.write_text(text)
        done = subprocess.run(
            [sys.executable, "-c", code], env=a.environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.startswith(said), (text, done)


def test_an_order_names_the_host_of_its_item() -> None:
    lines = {
        "r c/3 try again": Order(Verb.REPLY, 3, "try again", "c"),
        "stallkit fleet approve c/3": Order(Verb.APPROVE, 3, host="c"),
        "answer build-1/3 2": Order(Verb.ANSWER, 3, "2", "build-1"),
        "decline a/3": Order(Verb.DECLINE, 3),
        "show c/3": Look(3, "c"),
        "rebuild a/3": Elsewhere(("sandbox", "rebuild", "3")),
    }
    assert {line: read_line(line, own="a") for line in lines} == lines
    for line in ("triage c/3 egress", "rebuild c/3"):
        with pytest.raises(ValueError, match="do this on c itself"):
            read_line(line, own="a")
    for line in ("r /3 y", "r c/0 y", "r c/x y", "r c.d/3 y", f"r {'c' * 64}/3 y", "approve c/3 4", "answer c/3"):
        with pytest.raises(ValueError, match=r"which one\?|takes|give"):
            read_line(line)


def test_an_order_for_another_host_needs_a_fleet_and_what_was_shown() -> None:
    desk = Desk()
    with pytest.raises(ValueError, match="c/3 was not shown to you here"):
        desk.do(Order(Verb.APPROVE, 3, host="c"), None)
    with pytest.raises(ValueError, match="c/3: nothing of that number"):
        desk.item(Look(3, "c"))
    with pytest.raises(ValueError, match="tmux: do this on c itself"):
        desk.window(Row("web", "tmux:web", "working", host="c"))
