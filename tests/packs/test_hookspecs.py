"""The hook of a pack is called as pluggy calls it."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Callable, Iterator

import pluggy
import pytest

from stallkit.packs.hookspecs import answers, hookimpl

MARKERS: list[Callable[[Any], Any]] = [hookimpl, pluggy.HookimplMarker("stallkit")]


def module(**functions: object) -> ModuleType:
    made = ModuleType("acme")
    vars(made).update(functions)
    return made


@pytest.mark.parametrize("mark", MARKERS)
def test_a_marked_hook_is_called(mark: Callable[[Any], Any]) -> None:
    for answer in ([1], [], None, "text"):
        made = module(stallkit_packs=mark(lambda answer=answer: answer), other=3, Class=dict)
        assert answers(made) == ([] if answer is None else [answer])


def test_what_pluggy_can_do_a_pack_can() -> None:
    def wrapping() -> Iterator[None]:
        found = yield
        return [*found, "wrapped"]  # type: ignore[misc, has-type]

    mark: Any = pluggy.HookimplMarker("stallkit")
    wrapped = module(
        stallkit_packs=hookimpl(lambda: [1]), second=mark(wrapping, wrapper=True, specname="stallkit_packs")
    )
    assert answers(wrapped) == [[1], "wrapped"]
    two = module(stallkit_packs=hookimpl(lambda: [1]), second=mark(lambda: [2], specname="stallkit_packs"))
    assert sorted(answers(two)) == [[1], [2]]

    class Plugin:
        @hookimpl
        def stallkit_packs(self) -> list[int]:
            return [3]

    assert answers(Plugin()) == [[3]]
    with pytest.raises(pluggy.PluginValidationError, match="more"):
        answers(module(stallkit_packs=hookimpl(lambda more: [more])))


@pytest.mark.parametrize(
    "made", [module(), module(stallkit_packs=lambda: [1]), module(stalkit_packs=hookimpl(lambda: [1]))]
)
def test_no_hook_is_told(made: ModuleType) -> None:
    with pytest.raises(TypeError, match="no hook stallkit_packs"):
        answers(made)
