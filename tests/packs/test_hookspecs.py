"""Hooks are called as pluggy calls them, whether it is asked or not."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Callable, Iterator

import pluggy
import pytest

from stallkit.packs import hookspecs
from stallkit.packs.hookspecs import answers, hookimpl

MARKERS: list[Callable[[Any], Any]] = [hookimpl, pluggy.HookimplMarker("stallkit")]


def module(**functions: object) -> ModuleType:
    made = ModuleType("acme")
    vars(made).update(functions)
    return made


def test_a_mark_is_that_of_pluggy() -> None:
    def one() -> None: ...
    def other() -> None: ...

    assert vars(hookimpl(one)) == vars(pluggy.HookimplMarker("stallkit")(other))


@pytest.mark.parametrize("mark", MARKERS)
@pytest.mark.parametrize("answer", [[1], [], None, "text"])
def test_a_plain_hook_is_called_without_pluggy(mark: Callable[[Any], Any], answer: object) -> None:
    made = module(stallkit_packs=mark(lambda: answer), other=3, Class=dict)
    assert hookspecs._plain_hook(made) is not None
    assert answers(made) == hookspecs._by_pluggy(made) == ([] if answer is None else [answer])


def test_all_else_is_left_to_pluggy() -> None:
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
