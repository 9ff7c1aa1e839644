"""The short form of each part of `scripts/soak`: every figure holds."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Callable, Mapping

import pytest
from machine_room import missing
from proxied import need_proxies
from soak.claude import PINNED
from soak.deaths import ROOMS
from soak.parts import PARTS, Figure, Run, part

pytestmark = pytest.mark.e2e

# Figures that the long form holds: on a busy machine times are none of ours, and some keys in flight cannot be told.
LEFT_OUT: Mapping[str, Callable[[Figure], bool]] = {
    "crowd": lambda figure: figure.name.split()[0] in ("seconds", "healthz"),
    "held": lambda figure: "seconds" in figure.name,
    "flips": lambda figure: "met another" in figure.name,
}
IN_FLIGHT = (
    3  # keys of the part `flips` that may meet another screen: a gate that does not check lets one in nine through
)


@pytest.mark.parametrize("name", PARTS)
def test_every_figure_holds(name: str) -> None:
    needs_what_is_missing(name)
    chosen = part(name)
    with tempfile.TemporaryDirectory(prefix="sk-", ignore_cleanup_errors=True) as folder:  # podman needs short paths
        figures = chosen.soak(Run(chosen.short, Path(folder)))
    assert figures
    left_out = LEFT_OUT.get(name, lambda figure: False)
    assert not [figure for figure in figures if not figure.holds and not left_out(figure)]
    if name == "flips":
        assert sum(int(figure.value.split(" of ")[0]) for figure in figures if left_out(figure)) <= IN_FLIGHT


def needs_what_is_missing(name: str) -> None:
    """Skip a part whose programs are not there."""
    if name == "claude" and not PINNED.exists():
        pytest.skip("scripts/test has not fetched it")
    if name == "reloads":
        need_proxies()
    needed = [kind.needs for kind in ROOMS] if name == "deaths" else [("bwrap",)] if name == "rebuild" else []
    for programs in needed:
        if why := missing(*programs):
            pytest.skip(why)
