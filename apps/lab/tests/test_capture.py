"""A screen that is written to a file is read again as the same screen, whatever it shows."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from stallkit_lab.capture import captured

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
