"""tmux for real: what a look sees, what a press sends, and how each failure is told from the others."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from terminals import Server, wait_for

from stallkit.detect.signature import State
from stallkit.errors import CaptureTimeout, KeysRefused, SessionGone, TransportError, TransportUnavailable
from stallkit.judging.judge import judged
from stallkit.packs.registry import installed_engine
from stallkit.terminal.keys import Keys
from stallkit.transports.base import Options
from stallkit.transports.pty import PtyTransport
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.e2e

# Raw, so that every byte arrives and none is acted upon.
RECORDER = """
import os, sys, termios, tty
tty.setraw(0)
print("ready", end="\\r\\n", flush=True)
while data := os.read(0, 4096):
    with open(sys.argv[1], "ab") as file:
        file.write(data)
"""


@pytest.fixture
def recorder(server: Server, tmp_path: Path) -> tuple[TmuxTransport, Path]:
    """A session that writes down every byte it is sent."""
    received = tmp_path / "received"
    received.write_bytes(b"")
    return server.start("recorder", sys.executable, "-c", RECORDER, str(received), shows="ready"), received


def test_a_look_sees_screen_cursor_title_and_processes(server: Server) -> None:
    script = r"printf '\033]2;build, a|b ❯\007%060d\nwide 漢字 ok? ' 7; exec cat"
    seen = server.wait(server.start("s", "sh", "-c", script, size=(40, 10)), "ok?")
    screen, cursor = seen.screen, seen.screen.cursor
    assert screen.lines[0] == f"{7:060d}", "a wrapped row is one line again"
    assert cursor is not None and (cursor.column, cursor.row, cursor.visible) == (14, 1, True)
    assert screen.prompt_line.text == "wide 漢字 ok? "
    assert (screen.title, screen.alternate) == ("build, a|b ❯", False)
    assert (seen.alive, seen.foreground, seen.accepts_keys) == (True, "cat", True)


# A menu as curses draws it: nothing but reverse video says what is selected.
MENU = """
import curses
def main(window):
    curses.curs_set(0)
    window.addstr(0, 0, "Which one do you want?")
    for row, name in enumerate(["Postgres", "SQLite", "MySQL"]):
        window.addstr(row + 2, 2, name, curses.A_REVERSE if row == 1 else curses.A_DIM if row == 2 else 0)
    window.getch()
curses.wrapper(main)
"""


def test_colours_are_seen_in_a_pane_and_in_a_terminal_of_our_own(server: Server) -> None:
    seen = server.wait(server.start("colours", sys.executable, "-c", MENU), "MySQL")
    with PtyTransport.spawn([sys.executable, "-c", MENU]) as own:
        wait_for(lambda: "MySQL" in own.capture().screen.text, "the menu")
        screens = [seen.screen, own.capture().screen]
    assert [(sorted(one.shades.highlighted), sorted(one.shades.dim)) for one in screens] == [([3], [4])] * 2
    verdict = judged(installed_engine(), seen)
    assert verdict.state is State.WAITING and "structural" in verdict.reasons[0], verdict


def test_frames_in_the_locale_c_are_drawn_and_a_press_compares_the_letters(server: Server) -> None:
    transport = server.start("frames", "env", "LC_ALL=C", "dialog", "--yesno", "Go on?", "7", "30", shows="Go on?")
    seen = transport.capture()
    assert "┌─" in seen.screen.text and "lqq" not in seen.screen.text
    assert "lqq" in server.tmux("capture-pane", "-p", "-t", "=frames:")
    transport.send(Keys.parse("Enter"), seen)
    wait_for(lambda: not transport.capture().alive, "its end")


def test_full_rows_the_cursors_visibility_and_the_alternate_screen(server: Server) -> None:
    script = f"printf '{'x' * 40}\\r\\n{'y' * 40}\\r\\nlast? '; exec cat"
    seen = server.wait(server.start("rows", "sh", "-c", script, size=(40, 10)), "last?")
    assert [line.rstrip() for line in seen.screen.lines[:3]] == ["x" * 40, "y" * 40, "last?"], "they do not wrap"
    seen = server.wait(server.start("menu", "sh", "-c", r"printf '\033[?1049h\033[?25lmenu'; exec cat"), "menu")
    assert seen.screen.cursor is not None and seen.screen.cursor.visible is False
    assert seen.screen.alternate is True


def test_only_the_exact_name_is_found(server: Server) -> None:
    server.start("worker10", "cat")
    for name in ("worker", "worker1", "%99", "worker10:7", "=worker10", "worke*", "foo;", "-x", "!"):
        with pytest.raises(SessionGone) as caught:
            TmuxTransport(name, server.options).capture()
        assert caught.value.target == f"tmux:{name}"
    for name in ("", ":0", "a\nb", "$0", "@1", "%01", "{last}", "s:d*", "s:{end}", "s:^", "s:0.x", "s:0:1"):
        with pytest.raises(ValueError, match="names no pane"):
            TmuxTransport(name)


def test_windows_by_their_whole_name_and_panes_by_address(server: Server) -> None:
    server.start("s", "cat")
    command = ("sh", "-c", "echo second; exec cat")
    pane = server.tmux("split-window", "-t", "=s:", "-P", "-F", "#{pane_id}", *command).strip()
    for name in (pane, "s:0.1"):
        assert "second" in server.wait(TmuxTransport(name, server.options), "second").screen.text
    server.tmux("new-window", "-d", "-t", "=s:", "-n", "deploy-prod", "cat")
    assert TmuxTransport("s:deploy-prod", server.options).capture().alive
    with pytest.raises(SessionGone):
        TmuxTransport("s:dep", server.options).capture()


def test_keys_arrive_byte_for_byte(server: Server, recorder: tuple[TmuxTransport, Path]) -> None:
    transport, received = recorder
    text = "foo; -x #{pane_id} 'q' \"$HOME\" \\; ✓ é;"
    wanted = b""
    for keys in (Keys.parse("1 Enter C-c Escape Up F5"), Keys.typed(text), Keys.typed(";"), Keys.typed("-l")):
        transport.send(keys, transport.capture())
        wanted += keys.to_bytes()
        wait_for(lambda: len(received.read_bytes()) >= len(wanted), "the keys")  # noqa: B023  # called at once
    assert received.read_bytes() == wanted
    assert server.tmux("list-sessions", "-F", "#{session_name}").split() == ["recorder"]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60))
def test_any_text_arrives_unchanged(recorder: tuple[TmuxTransport, Path], text: str) -> None:
    transport, received = recorder
    received.write_bytes(b"")
    transport.send(Keys.typed(text), transport.capture())
    wait_for(lambda: len(received.read_bytes()) >= len(text.encode()), "the text")
    assert received.read_bytes() == text.encode()


def test_a_text_that_tmux_cannot_take_in_one_call_is_refused_whole(recorder: tuple[TmuxTransport, Path]) -> None:
    transport, received = recorder
    received.write_bytes(b"")
    for length in (8_000, 200_000):  # more than tmux takes, more than the system does
        with pytest.raises(KeysRefused, match=f"{length} bytes"):
            transport.send(Keys.typed("x" * length), transport.capture())
    transport.send(Keys.typed("y" * 4_000), transport.capture())
    wait_for(lambda: len(received.read_bytes()) >= 4_000, "the text")
    assert received.read_bytes() == b"y" * 4_000


def test_nothing_is_sent_to_another_prompt_in_the_same_place(server: Server, tmp_path: Path) -> None:
    """The cursor is where it was, and so is the process: only what stands there is not."""
    before = "Press any key to go on?  "
    for number, after in enumerate(("Delete all files?  [y/N]?", "Préss any key to go on? ")):
        go, shown = tmp_path / f"go{number}", after.ljust(len(before))
        script = f"printf '{before}'; while ! test -e {go}; do sleep 0.01; done; printf '\\r{shown}'; cat"
        transport = server.start(f"s{number}", "sh", "-c", script, shows="Press")
        seen = transport.capture()
        go.touch()
        server.wait(TmuxTransport(f"s{number}", server.options), after.rstrip())
        with pytest.raises(KeysRefused, match="changed"):
            transport.send(Keys.parse("y"), seen)


def test_a_prompt_of_any_characters_can_be_answered(server: Server) -> None:
    script = "printf '\\n\\n'; printf \"$1\"; exec cat"
    lines = ("#{pane_id}, (a|b)* }~ ✓ 漢字 ❯? ", "x" * 79, "$(id) `id` \\\\ %% ' ", "  indented: ")
    panes = [server.start(f"s{number}", "sh", "-c", script, "sh", line) for number, line in enumerate(lines)]
    for pane in panes:
        wait_for(lambda pane=pane: bool(pane.capture().screen.prompt_line.text.strip()), "the prompt")
        pane.send(Keys.typed("yes"), pane.capture())
        server.wait(pane, "yes")


def test_of_two_that_saw_the_same_screen_one_presses_and_none_by_a_look_of_the_other(server: Server) -> None:
    first = server.start("s", "cat")
    second = TmuxTransport("s", server.options)
    one = first.capture()
    with pytest.raises(KeysRefused, match="latest"):
        second.send(Keys.parse("y"), one)
    other = second.capture()
    first.send(Keys.parse("BTab"), one)
    with pytest.raises(KeysRefused):
        second.send(Keys.parse("BTab"), other)


def test_copy_mode_and_panes_that_share_their_keys_take_none(server: Server) -> None:
    transport = server.start("s", "cat")
    live = transport.capture()
    server.tmux("copy-mode", "-t", "=s:")
    with pytest.raises(KeysRefused, match="changed"):
        transport.send(Keys.parse("y"), live)
    seen = transport.capture()
    assert seen.accepts_keys is False
    with pytest.raises(KeysRefused, match="copy mode"):
        transport.send(Keys.parse("y"), seen)
    shared = server.start("shared", "cat")
    server.tmux("split-window", "-t", "=shared:", "cat")
    server.tmux("set-option", "-w", "-t", "=shared:", "synchronize-panes", "on")
    seen = shared.capture()
    assert seen.accepts_keys is False
    with pytest.raises(KeysRefused):
        shared.send(Keys.parse("y"), seen)


def test_a_program_that_ended_is_seen_with_its_status_or_none(server: Server) -> None:
    """tmux 3.3a loses the status of some programs (docs/tmux.md): then it is unknown, never another one."""
    server.start("keeper", "cat")
    statuses = []
    for number in range(6):
        name = f"s{number}"
        transport = server.start(name, "sh", "-c", "read line; exit 7")
        transport.capture()
        server.tmux("send-keys", "-t", f"={name}:", "Enter")
        wait_for(lambda: transport.capture().alive is False, "the end")  # noqa: B023  # called at once
        seen = transport.capture()
        assert seen.accepts_keys is False
        statuses.append(seen.exit_status)
    assert set(statuses) in ({7}, {7, None})


def test_a_namesake_and_a_respawned_pane_are_other_sessions(server: Server) -> None:
    server.start("other", "cat")
    transport = server.start("s", "cat")
    transport.capture()
    server.tmux("kill-session", "-t", "=s")
    respawned = server.start("s", "cat")
    with pytest.raises(SessionGone):
        transport.capture()
    seen = respawned.capture()
    server.tmux("respawn-pane", "-k", "-t", "=s:", "cat")
    with pytest.raises(KeysRefused):
        respawned.send(Keys.parse("y"), seen)
    with pytest.raises(SessionGone, match="another process"):
        respawned.capture()


def test_a_stopped_server_is_not_gone(server: Server) -> None:
    transport = server.start("s", "cat")
    seen, pid = transport.capture(), server.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(CaptureTimeout):
            transport.capture()
        with pytest.raises(KeysRefused, match="did not answer"):
            transport.send(Keys.parse("y"), seen)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert transport.capture().alive


def test_no_server_no_tmux_and_no_socket_are_three_things(server: Server, tmp_path: Path) -> None:
    with pytest.raises(SessionGone):
        TmuxTransport("s", Options(tmux_socket_path=str(tmp_path / "none"))).capture()
    with pytest.raises(TransportUnavailable, match="install tmux"):
        TmuxTransport("s", binary="no-such-tmux").capture()
    (tmp_path / "file").touch()
    with pytest.raises(TransportError) as caught:
        TmuxTransport("s", Options(tmux_socket_path=str(tmp_path / "file" / "socket"))).capture()
    assert not isinstance(caught.value, SessionGone), "a path that cannot be says nothing about the session"


def test_a_pane_that_is_resized_while_it_is_looked_at(server: Server) -> None:
    """Each look is of one moment: as many rows as the pane had then, the cursor among them, the prompt at it."""
    ask = "read -p \"$(seq -s ' ' 40) Overwrite the file? [y/N] \" x"
    transport = server.start("s", "bash", "-c", ask, shows="[y/N]", size=(60, 12))
    over = threading.Event()

    def resize() -> None:
        for width, height in itertools.cycle([(60, 12), (90, 20), (41, 5), (120, 30)]):
            if over.is_set():
                return
            server.tmux("resize-window", "-t", "=s:", "-x", str(width), "-y", str(height))

    with ThreadPoolExecutor() as pool:
        resizing = pool.submit(resize)
        try:
            looks = [transport.capture() for _ in range(60)]
        finally:
            over.set()
        resizing.result()
    for look in looks:
        size, cursor = look.screen.size, look.screen.cursor
        assert size is not None and cursor is not None
        assert len(look.screen.lines) <= size.rows
        assert cursor.row < size.rows
    assert len({look.screen.size for look in looks}) > 1
    server.wait(transport, "[y/N]")


def test_a_program_is_started_with_its_words_as_they_are(server: Server) -> None:
    """tmux ends a command at a word that ends in a semicolon."""
    command = ["sh", "-c", 'printf "%s|" "$@"; exec sleep 100', "sh", "one;", ";", "a;b", r"c\;", "d;;"]
    server.start("other", "cat")
    server.tmux("set-option", "-g", "remain-on-exit", "on")
    transport = TmuxTransport("made", server.options)
    transport.start(command)
    seen = server.wait(transport, r"one;|;|a;b|c\;|d;;|")
    assert seen.process is not None and seen.process.pid is not None
    os.kill(seen.process.pid, signal.SIGKILL)
    dead = []
    wait_for(lambda: dead.append(transport.capture()) or dead[-1].alive is False, "its end")
    transport.restart(command, dead[-1])
    server.wait(TmuxTransport("made", server.options), r"one;|;|a;b|c\;|d;;|")
