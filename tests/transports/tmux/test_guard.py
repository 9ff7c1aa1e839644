"""What a press is held to, in a real tmux: its server's own condition, and the comparison outside of it."""

from __future__ import annotations

import time
from itertools import count
from pathlib import Path
from typing import Iterator

import pytest
from attrs import evolve
from hypothesis import example, given, settings
from hypothesis import strategies as st
from terminals import Server, wait_for

from stallkit.errors import KeysRefused
from stallkit.terminal.keys import Keys
from stallkit.transports.tmux.format import Frame
from stallkit.transports.tmux.guard import MOVING_ROWS, PaneGuard, guarded_look, guarded_parts

pytestmark = pytest.mark.e2e

ROWS = [
    "#{pane_id}, (a|b)* } #(touch x) %H",
    "Replace the file? 替换文件吗？",
    "",
    "  keep",
    "❯ 1. No ",
    "  2. Yes",
    "  keep",
    "cafe\u0301 → Continue? [y/N] ",
]
SAVED, RESTORED = "\0337", "\0338"  # the cursor stays where it is


def drawn(rows: list[str]) -> str:
    return "\033[?1049l\033[?25h\033[H\033[2J" + "\r\n".join(rows)


def row(number: int, text: str) -> str:
    return f"{SAVED}\033[{number};1H\033[2K{text}{RESTORED}"


# What may change, and whether the server itself sees it.
CHANGES = {
    "a letter of the prompt": (row(8, "cafe\u0301 → Continue! [y/N] "), True),
    "a combining mark": (row(8, "cafe\u0300 → Continue? [y/N] "), True),
    "no combining mark": (row(8, "cafe → Continue? [y/N] "), True),
    "a sign that is not ASCII": (row(8, "cafe\u0301 ← Continue? [y/N] "), True),
    "a no-break space": (row(8, "cafe\u0301 →\u00a0Continue? [y/N] "), True),
    "a row above": (row(1, "#{pane_id}, (a|b)* } #(touch y) %H"), True),
    "a Chinese row": (row(2, "Replace the file? 删除文件吗？"), True),
    "one Chinese sign": (row(2, "Replace the file? 替换文件吗！"), True),
    "a blank row": (row(3, "All of it will be lost"), True),
    "options swapped": (row(5, "❯ 1. Yes") + row(6, "  2. No "), True),
    "the selected option": (row(5, "  1. No") + row(6, "❯ 2. Yes"), True),
    "more at a row's end": (row(6, "  2. Yes, all"), True),
    "a row that is gone": (row(4, ""), True),
    "the first of two rows alike": (row(4, "  wipe"), True),
    "the second of two rows alike": (row(7, "  wipe"), False),
    "below the prompt": (row(12, "or else"), False),  # a blank row, and not the first one
    "the cursor": ("\033[D", True),
    "the cursor is hidden": ("\033[?25l", True),
    "the alternate screen": ("\033[?1049h" + drawn(ROWS).partition("[?1049l")[2], True),
    "a line scrolled": ("\033[24H\n\033[8;25H", True),
}


class Pane:
    """A pane on whose terminal a test writes, as any process may; its program does nothing."""

    def __init__(self, server: Server) -> None:
        self.server, self._titles = server, count(1)
        self.transport = server.start("s", "sh", "-c", "stty raw -echo; echo ready; exec cat >/dev/null", shows="ready")
        self._tty = Path(server.tmux("display-message", "-p", "-t", "=s:", "#{pane_tty}").strip())

    def write(self, text: str) -> None:
        """Write, and wait until tmux has read it."""
        title = f"title {next(self._titles)}"
        with self._tty.open("wb") as terminal:
            terminal.write(f"{text}\033]2;{title}\007".encode())
        shown = ("display-message", "-p", "-t", "=s:", "#{pane_title}")
        wait_for(lambda: self.server.tmux(*shown).strip() == title, "tmux to read")

    def held(self) -> PaneGuard:
        frame = Frame()
        words = [word for command in guarded_look("=s:", frame) for word in (";", *command)][1:]
        fields, _, lines, *_ = guarded_parts(self.server.tmux(*words), frame)
        return PaneGuard.of(fields, lines)

    def is_as(self, held: PaneGuard) -> bool:
        """Whether tmux's server says so."""
        words = ("display-message -p same", "display-message -p other")
        answer = self.server.tmux("if-shell", "-F", "-t", "=s:", held.condition, *words).strip()
        assert answer in ("same", "other"), answer
        return answer == "same"

    def stty(self, *settings: str) -> None:
        self.server.tmux("run-shell", f"stty -F {self._tty} {' '.join(settings)}")


@pytest.fixture(scope="module")
def pane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pane]:
    server = Server(tmp_path_factory.mktemp("held"))
    yield Pane(server)
    server.end()


def timeless(held: PaneGuard) -> PaneGuard:
    """Without the second of the latest output, so that it does not matter when a test runs."""
    return evolve(held, fields={name: value for name, value in held.fields.items() if name != "window_activity"})


def test_a_change_is_seen(pane: Pane) -> None:
    for name, (change, by_server) in CHANGES.items():
        pane.write(drawn(ROWS))
        held = timeless(pane.held())
        assert pane.is_as(held), name
        pane.write(change)
        assert pane.is_as(held) is not by_server, name
        assert held.differs(pane.held()), name


def test_above_a_row_anything_may_change_and_from_it_on_nothing(pane: Pane) -> None:
    pane.write(drawn(ROWS))
    held = pane.held().below(4)
    for above in ("a row above", "a Chinese row", "a blank row", "the first of two rows alike"):
        pane.write(CHANGES[above][0])
        assert pane.is_as(held) and held.differs(pane.held()) is None, above
    for below in ("the selected option", "a letter of the prompt", "more at a row's end"):
        pane.write(drawn(ROWS) + CHANGES[below][0])
        assert not pane.is_as(held) and held.differs(pane.held()), below


def test_a_change_is_refused(pane: Pane) -> None:
    for change in ("a Chinese row", "the second of two rows alike"):
        pane.write(drawn(ROWS))
        seen = pane.transport.capture()
        pane.write(CHANGES[change][0])
        with pytest.raises(KeysRefused, match="changed"):
            pane.transport.send(Keys.parse("y"), seen)


def test_the_server_sees_any_output_once_the_second_of_the_latest_is_over(pane: Pane) -> None:
    pane.write(drawn(ROWS))
    held = pane.held()
    wait_for(lambda: held.active_for(time.time()) == 0, "the second to be over")
    assert pane.is_as(held)
    pane.write(CHANGES["the second of two rows alike"][0])
    assert not pane.is_as(held)


def test_how_long_the_second_lasts() -> None:
    for activity, now, wait in ((5, 5.0, 1.0), (5, 5.75, 0.25), (5, 6.0, 0.0), (5, 2.0, 1.0)):
        assert PaneGuard({"window_activity": str(activity)}, ()).active_for(now) == wait


def test_another_way_to_take_input_is_refused(pane: Pane) -> None:
    for mode in ("echo", "icanon"):
        pane.write(drawn(ROWS))
        pane.transport.capture()
        seen = pane.transport.capture()
        assert seen.tty is not None and (seen.tty.echo, seen.tty.canonical) == (False, False)
        pane.stty(mode)
        try:
            with pytest.raises(KeysRefused, match="echo or canonical mode"):
                pane.transport.send(Keys.parse("y"), seen)
        finally:
            pane.stty(f"-{mode}")
        pane.transport.send(Keys.parse("y"), pane.transport.capture())


def test_another_size_is_refused_and_of_several_panes_in_a_window_the_time_says_nothing(server: Server) -> None:
    transport = server.start("s", "sh", "-c", "echo ready; exec cat", shows="ready")
    seen = transport.capture()
    server.tmux("resize-window", "-t", "=s:", "-x", "81", "-y", "24")
    with pytest.raises(KeysRefused, match="changed"):
        transport.send(Keys.parse("y"), seen)
    server.tmux("split-window", "-t", "=s:", "yes")
    transport.send(Keys.parse("y"), transport.capture())


CHARS = st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("#{},()[]|\\^$.*+?%;~'\" ─漢é\u0301")
TEXTS = st.lists(st.text(CHARS, max_size=30), min_size=1, max_size=8)


def first_places(wanted: PaneGuard, held: PaneGuard) -> list[int | None]:
    return [held.rows.index(text) if text in held.rows else None for text in wanted.rows]


@settings(max_examples=40, deadline=None)
@given(rows=TEXTS, other=st.text(CHARS, max_size=30), place=st.integers(0, 7))
@example(rows=["##[x] #[fg=red] #,#} [^]] [[:alpha:]] [[.a.]]", "\\", "{1,2}"], other="", place=1)
@example(rows=["x" * 80, "漢" * 40, "e\u0301" * 80, "\u3000", "\u00a0"], other="漢" * 39, place=1)
def test_what_a_pane_shows_is_held_true_and_nothing_else(pane: Pane, rows: list[str], other: str, place: int) -> None:
    """By any text: the server says *the same* exactly where each row's first place is what it was."""
    pane.write(drawn(rows))
    before = timeless(pane.held())
    assert pane.is_as(before)
    changed = [other if number == place % len(rows) else text for number, text in enumerate(rows)]
    pane.write(drawn(changed) + f"\033[{int(before.fields['cursor_y']) + 1};{int(before.fields['cursor_x']) + 1}H")
    after = timeless(pane.held())
    same = before.fields == after.fields and first_places(before, before) == first_places(before, after)
    assert pane.is_as(before) is same
    assert (before.differs(after) is None) is (before == after)


SPINNER = [*ROWS[:4], "✢ Herding… (45s · ↓ 163 tokens)", *ROWS[5:]]
# What may be there a moment later, and whether a key may be pressed at it.
LATER = {
    "it turns on": (row(5, "✶ Herding… (47s · ↓ 163 tokens)"), True),
    "another text in its place": (row(5, " ❯ 1. Yes"), False),
    "a text that ends in the same way": (row(5, "rm -rf ~ # s · ↓ 163 tokens)"), True),
    "a row beside it": (row(6, "  2. Yes, all"), False),
    "the cursor": ("\033[D", False),
    "the alternate screen": ("\033[?1049h" + drawn(SPINNER).partition("[?1049l")[2], False),
}


def test_a_spinner_may_turn_on_and_nothing_else_may_move(pane: Pane) -> None:
    for name, (change, same) in LATER.items():
        pane.write(drawn(SPINNER))
        before = pane.held()
        pane.write(row(5, "✳ Herding… (46s · ↓ 163 tokens)"))
        held = pane.held().without_moves(before)
        assert "window_activity" not in held.fields and held.fields["pane_pid"]
        assert pane.is_as(held), name
        pane.write(change)
        assert (pane.is_as(held), held.differs(pane.held()) is None) == (same, same), name


FIELDS = st.fixed_dictionaries({"pane_pid": st.sampled_from("12"), "cursor_x": st.sampled_from("12")})


@given(before=TEXTS, data=st.data(), earlier=FIELDS, fields=FIELDS)
def test_what_moves_is_a_few_rows_and_all_else_is_held(
    before: list[str], data: st.DataObject, earlier: dict[str, str], fields: dict[str, str]
) -> None:
    now = [data.draw(st.just(text) | st.text(CHARS, max_size=30)) for text in before]
    moved = {number for number, (a, b) in enumerate(zip(before, now, strict=True)) if a != b}
    seen = PaneGuard(fields, tuple(now))
    if len(moved) > MOVING_ROWS or earlier["pane_pid"] != fields["pane_pid"]:
        with pytest.raises(ValueError, match=r"move|changed"):
            seen.without_moves(PaneGuard(earlier, tuple(before)))
        return
    held = seen.without_moves(PaneGuard(earlier, tuple(before)))
    assert set(held.moving) == moved and held.fields["pane_pid"] == fields["pane_pid"]
    assert ("cursor_x" in held.fields) is (earlier["cursor_x"] == fields["cursor_x"])
    assert held.differs(seen) is None and held.differs(PaneGuard(fields, tuple(before))) is None
    other = data.draw(st.integers(0, len(now) - 1))
    differs = held.differs(PaneGuard(fields, tuple(f"{text}!" if at == other else text for at, text in enumerate(now))))
    assert differs or other in moved


def test_the_widest_screen_of_wide_characters_can_be_answered(server: Server) -> None:
    text = "".join(chr(0x4E00 + number) for number in range(50 * 99))
    rows = [text[start : start + 99] for start in range(0, len(text), 99)]
    (server.socket.parent / "text").write_text("\r\n".join(rows))
    script = "stty raw -echo; cat text; exec sh -c 'read -r x'"
    transport = server.start("s", "sh", "-c", script, shows=rows[-1][:10], size=(200, 50))
    transport.send(Keys.parse("y"), transport.capture())
