"""Real programs in real terminals: what stallkit says of each is what whoever drove it there knows.

Once with every installed pack, once with none, when every prompt is an unknown one; and nobody presses a key where
nobody asks.  The scenes, each with its true state, are in `scenes.py`.
"""

from __future__ import annotations

import contextlib
from typing import Iterator

import pytest
from live.scene import Scene
from live.scenes import SCENES
from live.stage import AT_ONCE, Seen, Stage, nobody_knows
from terminals import wait_for

from stallkit import Engine, State, Verdict
from stallkit.detect.signature import Certainty
from stallkit.press.check import observe
from stallkit.transports.pty import PtyTransport

pytestmark = pytest.mark.e2e

ONE_BY_ONE = ("read -p, words nobody listed", "getpass", "raw mode", "less", "printf, then asleep", "print, then busy")


class Playbill:
    """What was seen of each scene; the scenes are played a few at a time, when the first of them is asked for."""

    def __init__(self, stage: Stage) -> None:
        able = [scene for scene in SCENES if scene.missing is None]
        acts = -(-len(able) // AT_ONCE)
        self._acts = [able[act::acts] for act in range(acts)]  # each gets some of the busy ones
        self._seen: dict[str, Seen] = {}
        self._stage = stage

    def seen(self, scene: Scene) -> Seen:
        if scene.missing:
            pytest.skip(scene.missing)
        if scene.name not in self._seen:
            self._seen |= self._stage.watch(next(act for act in self._acts if scene in act))
        return self._seen[scene.name]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with contextlib.closing(Stage(tmp_path_factory.mktemp("live"))) as made:
        yield made


@pytest.fixture(scope="module")
def playbill(stage: Stage) -> Playbill:
    return Playbill(stage)


def scenes(*states: State) -> pytest.MarkDecorator:
    chosen = [scene for scene in SCENES if not states or scene.state in states]
    return pytest.mark.parametrize("scene", chosen, ids=[scene.name for scene in chosen])


def never_surely_wrong(scene: Scene, verdict: Verdict) -> None:
    assert verdict.state is scene.state or verdict.certainty is not Certainty.SURE, verdict.reasons


@scenes()
def test_with_every_installed_pack(playbill: Playbill, scene: Scene) -> None:
    verdict = playbill.seen(scene).known
    if scene.wavers:
        never_surely_wrong(scene, verdict)
    elif scene.misses:
        assert verdict.state is not scene.state, f"it is told right now: take `misses` away ({scene.misses})"
    else:
        assert verdict.state is scene.state, verdict.reasons
        assert not scene.kinds or verdict.kind in scene.kinds, verdict.reasons


@scenes(State.WAITING)
def test_a_prompt_that_no_pack_knows_is_waiting(playbill: Playbill, scene: Scene) -> None:
    verdict = playbill.seen(scene).unknown
    waiting = verdict.state is State.WAITING
    assert waiting is not bool(scene.unknown_misses), (scene.unknown_misses, verdict.reasons)


@scenes(State.WORKING)
def test_without_packs_work_is_no_prompt(playbill: Playbill, scene: Scene) -> None:
    verdict = playbill.seen(scene).unknown
    if scene.wavers:
        never_surely_wrong(scene, verdict)
    else:
        assert verdict.state is not State.WAITING or bool(scene.unknown_misses), verdict.reasons


@scenes(State.WORKING, State.ENDED, State.GONE)
def test_nothing_is_pressed_where_nobody_asks(playbill: Playbill, scene: Scene) -> None:
    assert playbill.seen(scene).pressed == ()


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_the_same_in_a_terminal_of_ours(stage: Stage, name: str) -> None:
    """The pty transport, which has the terminal's other end and an emulator of its own, says the same."""
    scene = next(scene for scene in SCENES if scene.name == name)
    if scene.missing:
        pytest.skip(scene.missing)
    with contextlib.closing(PtyTransport.spawn(stage.command(scene, f"pty-{ONE_BY_ONE.index(name)}"))) as transport:
        wait_for(lambda: scene.shows in transport.capture().screen.text, scene.shows)
        known, _ = observe(transport, Engine.default(), 1.0)
        assert known.state is scene.state, known.reasons
        assert not scene.kinds or known.kind in scene.kinds, known.reasons
        unknown, _ = observe(transport, nobody_knows(), 1.0)
        assert (unknown.state is State.WAITING) is (scene.state is State.WAITING), unknown.reasons


def test_the_list_is_long_enough() -> None:
    """The figures are of at least 40 unknown prompts, and no scene is played twice."""
    assert len({scene.name for scene in SCENES}) == len(SCENES)
    assert sum(scene.state is State.WAITING for scene in SCENES) >= 40
    assert sum(scene.fake for scene in SCENES) >= 12
