"""A screen that is written to a file is read again as the same screen, whatever it shows."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from stallkit_lab.capture import at_rest, captured

from stallkit.evidence.snapshot import KernelFacts, ProcessFacts, Snapshot, TtyFacts
from stallkit.packs.screenfile import parse_screen
from stallkit.terminal.screen import Screen

SCREENS = st.builds(
    lambda lines, cursor, size, visible, title: Screen.from_text("\n".join(lines), cursor, size, visible, title, False),
    st.lists(
        st.text(st.characters(exclude_categories=("Cs",)), max_size=30) | st.sampled_from(["---", ""]), max_size=12
    ),
    st.none() | st.tuples(st.integers(0, 30), st.integers(0, 11)),
    st.just((30, 12)),
    st.none() | st.booleans(),
    st.none() | st.text(max_size=9),
)


class Moving:
    """A session that shows another number at each look, until it rests at the last one."""

    target = "moving"

    def __init__(self, last: int) -> None:
        self.last, self.looks = last, 0

    def capture(self) -> Snapshot:
        self.looks += 1
        return Snapshot(screen=Screen.from_text(f"at {min(self.looks, self.last)} %"), alive=True)


def test_a_screen_that_moves_is_taken_as_it_stands_after_a_few_looks() -> None:
    moving, resting = Moving(1_000), Moving(1)
    assert at_rest(moving).screen.text.strip() == "at 3 %"  # type: ignore[arg-type]
    assert at_rest(resting).screen.text.strip() == "at 1 %" and resting.looks == 2  # type: ignore[arg-type]


@settings(deadline=None)
@given(SCREENS, st.none() | st.booleans(), st.sampled_from(["read", "poll"]), st.text(max_size=9))
def test_what_is_written_is_read_again(screen: Screen, echo: bool | None, how: str, name: str) -> None:
    seen = Snapshot(
        screen=screen,
        process=ProcessFacts("rm"),
        kernel=KernelFacts(foreground="rm", listening=True, how=how),  # type: ignore[arg-type]
        tty=TtyFacts(echo=echo, canonical=True),
        quiet_s=1.5,
    )
    saved = parse_screen(captured(seen, redacts=False, program=name, note="---\n\x7f\ud800"))
    assert saved.screen == screen
    again = saved.snapshot()
    assert (again.kernel, again.tty, again.quiet_s, again.foreground) == (seen.kernel, seen.tty, 1.5, "rm")
