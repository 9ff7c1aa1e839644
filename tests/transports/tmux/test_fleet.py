"""All panes of a tmux server: the same looks as one pane's transport has, and nothing missed between two sweeps."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable, Iterator

import pytest
from attrs import evolve, frozen
from hypothesis import given
from hypothesis import strategies as st
from terminals import HEARD, Server, wait_for

from stallkit.errors import TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.terminal.keys import Keys
from stallkit.transports.tmux.fleet import BATCH, Fleet, Look, Sweep, listed, looks, to_list, to_look
from stallkit.transports.tmux.format import Frame, look_commands
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.e2e


class Watch:
    """A fleet with the loop that it runs in, and the latest snapshot of each pane as its caller knows it."""

    def __init__(self, server: Server, runner: asyncio.Runner) -> None:
        self.fleet = Fleet(server.options)
        self.latest: dict[str, Snapshot] = {}
        self._run = runner.run

    def sweep(self, *fresh: str) -> Sweep:
        done = self._run(self.fleet.sweep(fresh=fresh))
        for pane, look in done.looks.items():
            assert isinstance(look, Snapshot), look
            self.latest[pane] = look
        assert done.unchanged <= set(self.latest)
        assert {row.pane for row in done.rows} == set(done.looks) | done.unchanged
        return done

    def rests(self, *panes: str) -> Sweep:
        """The first sweep in which these panes were left alone."""
        sweeps: list[Sweep] = []

        def resting() -> bool:
            sweeps.append(self.sweep())
            return sweeps[-1].unchanged >= set(panes)

        wait_for(resting, f"{panes} to rest")
        return sweeps[-1]


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


@pytest.fixture
def watch(server: Server, runner: asyncio.Runner) -> Watch:
    return Watch(server, runner)


def id_of(server: Server, session: str) -> str:
    return server.tmux("display-message", "-p", "-t", f"={session}:", "#{pane_id}").strip()


def shell(script: str) -> Callable[[Server, str], str]:
    """A pane that runs a script, which ends with the word `shown`."""

    def make(server: Server, name: str) -> str:
        server.start(name, "bash", "-c", f"{script}; exec cat", shows="shown", size=(41, 12))
        return id_of(server, name)

    return make


def dead(server: Server, name: str) -> str:
    transport = server.start(name, "sh", "-c", f"echo shown; {HEARD}; exit 3")
    wait_for(lambda: transport.capture().alive is False, "its end")
    return id_of(server, name)


def copied(server: Server, name: str) -> str:
    pane = shell("seq 100; printf shown")(server, name)
    server.tmux("copy-mode", "-u", "-t", pane)
    return pane


def pressed(server: Server, name: str) -> str:
    transport = server.start(name, "sh", "-c", "stty -echo; echo shown; exec cat", shows="shown")
    transport.send(Keys.parse("y"), transport.capture())
    assert transport.capture().pressed_at is not None
    return id_of(server, name)


def shared(server: Server, name: str) -> str:
    server.start(name, "cat")
    server.tmux("split-window", "-t", f"={name}:", "cat")
    server.tmux("set-option", "-w", "-t", f"={name}:", "synchronize-panes", "on")
    return id_of(server, name)


def without_a_process(server: Server, name: str) -> str:
    server.start(name, "cat")
    return server.tmux("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", f"={name}:", "").strip()


SCENES = {
    "plain": shell(r"printf 'one\n  two  \n\n\nProceed? [y/N] shown'"),
    "wraps": shell(r"printf '%060d\nand %0100d shown' 7 8"),
    "full rows that do not wrap": shell(rf"printf '{'x' * 41}\r\n{'y' * 41}\r\nshown'"),
    "wide characters": shell(r"printf '漢字 ok? é ❯ 1. ✓ 🎉 shown'"),
    "wide characters that wrap in an odd width": shell(r"printf '漢%.0s' {1..60}; printf '\nshown'"),
    "alternate screen without a cursor": shell(r"printf '\033[?1049h\033[?25lmenu shown'"),
    "title": shell(r"printf '\033]2;build, a|b ❯ #{pane_id} \047q\047 %%end\007shown'"),
    "colours and line drawing": shell(r"printf '\033[31;1mred\033[m \033(0lqqk\033(B shown'"),
    "a cursor that was moved": shell(r"printf 'shown\033[5;7H'"),
    "scrolled": shell(r"seq 400; printf shown"),
    "what looks like the end of an answer": shell(r"printf '%%begin 1 1 0\n%%end 1 1 0\n%%exit\n%%error 2 2 1\nshown'"),
    "dead": dead,
    "copy mode": copied,
    "pressed": pressed,
    "panes that share their keys": shared,
    "a pane without a process": without_a_process,
}


def test_a_look_is_the_one_that_the_panes_own_transport_has(server: Server, watch: Watch) -> None:
    panes = {scene: make(server, scene) for scene, make in SCENES.items()}
    try:
        for scene, pane in panes.items():
            mine = watch.sweep(pane).looks[pane]
            theirs = TmuxTransport(pane, server.options).capture()
            assert isinstance(mine, Snapshot)
            assert mine.taken_at is not None and theirs.taken_at is not None and mine.taken_at < theirs.taken_at
            assert evolve(mine, taken_at=None) == evolve(theirs, taken_at=None, kernel=None), scene
            assert mine.screen.lines == theirs.screen.lines, scene
            assert mine.screen.fingerprint == theirs.screen.fingerprint, scene
    finally:  # the process of the last is 0, which would be ours where processes are ended
        server.tmux("kill-pane", "-t", panes["a pane without a process"])


def test_rows_name_every_pane(server: Server, watch: Watch) -> None:
    names = ["plain", "a,b c", "q'x\"y", "#{pid}", "-x", "❯ 漢字", "%1", "=s", "$HOME `id`"]
    for name in names:
        server.tmux("new-session", "-d", "-s", name, "cat")
    server.tmux("split-window", "-d", "-t", "=plain:", "cat")
    server.tmux("new-window", "-d", "-t", "=plain:7", "cat")
    rows = watch.sweep().rows
    made = server.tmux("list-sessions", "-F", "#{session_name}").splitlines()  # tmux changes some of the names
    assert sorted(row.session for row in rows) == sorted([*made, "plain", "plain"])
    assert len(made) == len(names)
    assert {row.name for row in rows if row.session == "plain"} == {"plain:0.0", "plain:0.1", "plain:7.0"}
    assert all(row.target == f"tmux:{row.pane}" and row.pane[0] == "%" and not row.dead for row in rows)
    assert {row.pane: str(row.identity) for row in rows} == {pane: look.identity for pane, look in watch.latest.items()}


def test_a_pane_that_rests_is_left_alone_until_something_happens(server: Server, watch: Watch) -> None:
    server.start("other", "cat")
    server.start("s", "sh", "-c", "stty -echo; read line; printf '\\033]2;new\\007'; exec cat")
    pane, other = id_of(server, "s"), id_of(server, "other")
    happens = [
        lambda: server.tmux("copy-mode", "-t", pane),  # none of these but the third prints anything
        lambda: server.tmux("send-keys", "-t", pane, "-X", "cancel"),
        lambda: server.tmux("send-keys", "-t", pane, "Enter"),
        lambda: server.tmux("resize-window", "-t", "=s:", "-x", "50"),
        lambda: server.tmux("set-option", "-p", "-t", pane, "@stallkit_pressed", "other-1.0"),
    ]
    for number, happen in enumerate(happens):
        watch.rests(pane, other)
        happen()
        wait_for(lambda: pane in watch.sweep().looks, f"change {number} to be seen")
    assert watch.latest[pane].screen.title == "new"
    assert watch.latest[pane].foreground == "cat"
    assert watch.rests(other)


def test_what_is_printed_in_the_second_of_a_look_is_not_missed(server: Server, watch: Watch) -> None:
    """Nothing but the text differs: not the cursor, not the history, and `window_activity` has whole seconds."""
    server.start("s", "sh", "-c", "stty raw -echo; exec cat", shows="")
    pane = id_of(server, "s")
    terminal = os.open(
        server.tmux("display-message", "-p", "-t", pane, "#{pane_tty}").strip(), os.O_WRONLY | os.O_NOCTTY
    )
    try:
        for number in range(100):
            os.write(terminal, b"\r%03d" % number)
            text = f"{number:03d}"

            def shown() -> bool:
                watch.sweep()
                return watch.latest[pane].screen.text.startswith(text)  # noqa: B023  # called at once

            wait_for(shown, text)
    finally:
        os.close(terminal)


def test_a_screen_that_shows_the_same_is_the_same_object_and_only_wanted_panes_are_looked_at_once(
    server: Server, watch: Watch, runner: asyncio.Runner
) -> None:
    server.start("s", "cat")
    server.tmux("new-session", "-d", "-s", "another", "-t", "=s")  # the same window
    (row,) = watch.sweep().rows
    watch.rests(row.pane)
    before = watch.latest[row.pane]
    again = watch.sweep(row.pane).looks[row.pane]
    assert isinstance(again, Snapshot)
    assert again is not before and again.screen is before.screen
    assert again.taken_at is not None and before.taken_at is not None and again.taken_at > before.taken_at
    server.start("no", "cat")
    done = runner.run(Fleet(server.options).sweep(wanted=lambda row: row.session != "no"))
    assert len(done.rows) == 2 and set(done.looks) | done.unchanged == {row.pane}


def test_gone_is_told_in_the_second_sweep_once_and_a_respawned_pane_is_another(server: Server, watch: Watch) -> None:
    server.start("keeper", "cat")
    server.start("s", "cat")
    (row,) = (row for row in watch.sweep().rows if row.session == "s")
    server.tmux("kill-session", "-t", "=s")
    assert [watch.sweep().gone for _ in range(3)] == [(), (row,), ()]
    (before,) = watch.sweep().rows
    server.tmux("respawn-pane", "-k", "-t", "=keeper:", "cat")
    (after,) = watch.sweep().rows
    assert after.pane == before.pane and after.identity != before.identity
    assert [row.identity for row in watch.sweep().gone] == [before.identity]


def test_a_name_of_several_lines_forges_no_pane(server: Server, watch: Watch) -> None:
    """A program may call itself what it likes, also what looks like the line of another pane."""
    server.start("honest", "cat")
    name = "x\n%99,1,2\n\n1795,0,0\n"
    server.tmux("new-session", "-d", "-s", "forger", "bash", "-c", f"exec -a '{name}' cat")
    pane = id_of(server, "forger")
    wait_for(lambda: watch.sweep(pane) and "%99" in (watch.latest[pane].foreground or ""), "the name")
    assert {row.session for row in watch.sweep().rows} == {"honest", "forger"}
    theirs = TmuxTransport(id_of(server, "honest"), server.options).capture()
    assert watch.latest[id_of(server, "honest")].screen == theirs.screen


def test_more_panes_than_one_call_looks_at(server: Server, watch: Watch) -> None:
    server.start("s", "cat")
    window = ["new-window", "-d", "-t", "=s:", "sh", "-c", "echo $TMUX_PANE shown; exec cat", ";"]
    for _ in range(4):
        server.tmux(*window * (BATCH // 2))
    assert len(watch.sweep().rows) == 2 * BATCH + 1

    def shown() -> bool:
        watch.sweep()
        return sum(f"{pane} shown" in look.screen.text for pane, look in watch.latest.items()) == 2 * BATCH

    wait_for(shown, "every pane to show its own id")


def test_looks_fit_while_panes_are_resized(server: Server, watch: Watch) -> None:
    server.start("s", "sh", "-c", "seq -s ' ' 90; exec cat", shows="90", size=(60, 12))
    over = threading.Event()

    def resize() -> None:
        for width, height in itertools.cycle([(60, 12), (90, 20), (41, 5), (120, 30)]):
            if over.is_set():
                return
            server.tmux("resize-window", "-t", "=s:", "-x", str(width), "-y", str(height))

    with ThreadPoolExecutor() as pool:
        resizing = pool.submit(resize)
        try:
            looks = [look for _ in range(40) for look in watch.sweep().looks.values()]
        finally:
            over.set()
        resizing.result()
    for look in looks:
        assert isinstance(look, Snapshot)
        size, cursor = look.screen.size, look.screen.cursor
        assert size is not None and cursor is not None
        assert len(look.screen.lines) <= size.rows and cursor.row < size.rows
    assert len({look.screen.size for look in looks if isinstance(look, Snapshot)}) > 1


def test_panes_that_end_while_they_are_looked_at_cost_nobody_else(server: Server, runner: asyncio.Runner) -> None:
    server.start("keeper", "cat")
    keeper, fleet, over = id_of(server, "keeper"), Fleet(server.options), threading.Event()

    def end() -> None:
        while not over.is_set():
            server.tmux("new-window", "-d", "-t", "=keeper:", "cat", ";", "set-option", "-w", "remain-on-exit", "off")
            server.tmux(
                "new-window", "-t", "=keeper:9", "-k", "cat", ";", "respawn-pane", "-k", "-t", "=keeper:9", "cat"
            )
            server.tmux("kill-window", "-t", "=keeper:9")

    with ThreadPoolExecutor() as pool:
        ending = pool.submit(end)
        try:
            sweeps = [runner.run(fleet.sweep(fresh=[keeper])) for _ in range(60)]
        finally:
            over.set()
        ending.result()
    for sweep in sweeps:
        assert isinstance(sweep.looks[keeper], Snapshot)
        others = {pane: look for pane, look in sweep.looks.items() if isinstance(look, TransportError)}
        assert all(error.target == f"tmux:{pane}" for pane, error in others.items())
        assert keeper not in {row.pane for row in sweep.gone}


def test_nothing_is_left_on_the_server(server: Server, watch: Watch, tmp_path: Path) -> None:
    """No client stays, no session or option is made."""
    server.start("s", "cat")
    told = [("list-sessions",), ("list-clients",), ("show-options", "-g"), ("show-options", "-s"), ("list-buffers",)]
    before = [server.tmux(*command) for command in told]
    for _ in range(3):
        watch.sweep()
    assert [server.tmux(*command) for command in told] == before


MARK = "5d2b291c39e0ffee"
FRAME = Frame(MARK)
# What a program may have seen of earlier calls, and pieces of the mark that it could guess.
PIECES = [Frame().mark, MARK[:-1], MARK[1:], MARK[:8], "5", "ee", ",", " "]
CHARS = st.characters(exclude_characters="\n", exclude_categories=["Cs"])
ANY = (
    st.lists(st.sampled_from(PIECES) | st.text(CHARS, max_size=8), max_size=4)
    .map("".join)
    .filter(lambda text: MARK not in text)
)
ROWS = st.lists(ANY, min_size=3, max_size=3)


@frozen
class Pane:
    """What tmux is asked for of a pane of three rows."""

    rows: list[str]
    session: str
    command: str
    title: str
    folder: str = ""

    def line(self, number: int) -> str:
        noted, terminal = self.folder.encode().hex(), f"/dev/pts/{number}"
        numbers = (
            f"77,1795000000,%{number},{100 + number},0,1,1,0,80,3,0,0,0,0,0,0,0,{noted},,,0,{terminal},1795000001,"
        )
        return FRAME.line(numbers, self.command, self.title, "2,0", self.session)

    def answer(self, number: int) -> str:
        return "\n".join([self.line(number), *self.rows, *self.rows, ""])


PANES = st.lists(st.builds(Pane, ROWS, ANY, ANY | st.just("x\n%1,2,3\n"), ANY, ANY), min_size=1, max_size=5)


def whole(panes: list[Pane]) -> str:
    return "".join(pane.answer(number) for number, pane in enumerate(panes)) + MARK + "\n"


def list_of(text: str) -> object:
    return listed(text, FRAME, {})


def lines(panes: list[Pane]) -> str:
    return "".join(pane.line(number) + "\n" for number, pane in enumerate(panes)) + MARK + "\n"


@given(PANES)
def test_each_pane_has_its_own(panes: list[Pane]) -> None:
    found = looks(whole(panes), FRAME, 1.0, {})
    assert list(found) == [f"%{number}" for number in range(len(panes))]
    for pane, look in zip(panes, found.values(), strict=True):
        assert isinstance(look, Look)
        assert look.drawn_from[0] == "\n" + "\n".join([*pane.rows, *pane.rows, ""])
        assert look.snapshot.foreground == (pane.command or None)
        assert look.snapshot.started_in == (pane.folder or None)
    rows = listed(lines(panes), FRAME, {})
    assert [one.state for one in rows.values()] == [look.state for look in found.values() if isinstance(look, Look)]
    assert [one.row.session for one in rows.values()] == [pane.session for pane in panes]


@given(PANES, st.data())
def test_a_cut_answer_is_never_taken_for_a_whole_one(panes: list[Pane], data: st.DataObject) -> None:
    for answer, read in ((whole(panes), lambda text: looks(text, FRAME, 1.0, {})), (lines(panes), list_of)):
        end = data.draw(st.integers(0, len(answer) - 1))
        with pytest.raises(ValueError, match="tmux"):
            read(answer[:end])


@given(st.lists(st.sampled_from([MARK, "\n", ",", "%1", "7", "", "x"]) | st.text(), max_size=60))
def test_nothing_but_value_errors_comes_of_any_text(parts: list[str]) -> None:
    text = "".join(parts)
    with contextlib.suppress(ValueError):
        listed(text, FRAME, {})
    with contextlib.suppress(ValueError):
        looks(text, FRAME, 1.0, {})


@given(PANES, st.integers(0, 6))
def test_rows_that_do_not_fit_are_that_panes_own_error(panes: list[Pane], count: int) -> None:
    other = Pane(["", "", ""], "s", "c", "t")
    cut = "\n".join([other.line(99), *["row"] * count, ""])
    found = looks(cut + whole(panes), FRAME, 1.0, {})
    assert isinstance(found["%99"], Look) == (3 < count <= 6)
    assert all(isinstance(look, Look) for pane, look in found.items() if pane != "%99")


@given(PANES)
def test_a_screen_is_shared_only_with_the_same(panes: list[Pane]) -> None:
    first = looks(whole(panes), FRAME, 1.0, {})
    known = {pane: look for pane, look in first.items() if isinstance(look, Look)}
    again = looks(whole(panes), FRAME, 2.0, known)
    assert all(
        isinstance(look, Look) and look.snapshot.screen is known[pane].snapshot.screen for pane, look in again.items()
    )
    for changed in (evolve(panes[0], title=panes[0].title + "!"), evolve(panes[0], rows=["!", *panes[0].rows[1:]])):
        look = looks(whole([changed]), FRAME, 2.0, known)["%0"]
        assert isinstance(look, Look)
        assert (look.snapshot.screen is known["%0"].snapshot.screen) == (changed == panes[0])


def test_nobody_there_is_left_out() -> None:
    """tmux 3.3a prints the line of a pane that is not there, its fields empty."""
    empty = FRAME.line("77,1795000000,,,,,,,,,,,,,,,,,,", "", "", ",,", "") + "\n"
    assert list(looks(empty + whole([Pane(["", "", ""], "s", "c", "t")]), FRAME, 1.0, {})) == ["%0"]


def test_what_is_asked_has_one_line_a_command() -> None:
    """3.1c takes no command of several lines."""
    commands = [line.split(" ")[0] for line in to_look(["%1", "%2"], FRAME).split("\n")]
    assert commands == [*["display-message", "capture-pane", "capture-pane"] * 2, "display-message", ""]
    assert to_list(FRAME)[:3] == ["list-panes", "-a", "-F"]


def test_no_two_calls_share_a_mark_and_an_answer_to_another_call_is_none() -> None:
    other = Frame()
    assert other.mark != Frame().mark and other.mark not in str(look_commands("%1", FRAME))
    with pytest.raises(ValueError, match="tmux answered"):
        FRAME.parts(other.line("a", "b") + "\n" + other.mark + "\n")
