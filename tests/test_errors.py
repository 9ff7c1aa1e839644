"""Every exception of stallkit comes whole out of a pickle, a copy and another process."""

from __future__ import annotations

import copy
import inspect
import pickle
import pkgutil
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from operator import methodcaller
from pathlib import Path
from typing import Any, Callable, Sequence, get_type_hints

import pytest
import stallkit_sessions
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from stallkit_operator.item import Item
from stallkit_sessions.containers.runtime_call import call

import stallkit
from stallkit.errors import ContainerError, PackFormatError, StallkitError, TransportError, TransportUnavailable
from stallkit.packs.pack_file import read_pack
from stallkit.terminal.screen import Screen
from stallkit.transports.base import Options
from stallkit.transports.tmux.pane import TmuxTransport

APPS = [import_module(name) for name in ("stallkit_lab", "stallkit_operator", "stallkit_supervisor", "stallkit_wrap")]
for package in (stallkit, stallkit_sessions, *APPS):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)


def _below(kind: type[BaseException]) -> set[type[BaseException]]:
    return {kind}.union(*map(_below, kind.__subclasses__()))


KINDS = sorted(
    (kind for kind in _below(BaseException) if kind.__module__.startswith("stallkit")),
    key=lambda kind: f"{kind.__module__}.{kind.__qualname__}",
)
OF_A_HINT: dict[Any, st.SearchStrategy[Any]] = {
    float: st.floats(allow_nan=False),  # which is not equal to itself
    Item: st.from_type(Item).map(lambda item: evolve(item, created=0.0, expires=None, at=None)),
    Sequence[Screen]: st.lists(st.text().map(Screen.from_text), max_size=2),
}


def errors(kind: type[BaseException]) -> st.SearchStrategy[BaseException]:
    """Errors of a kind, made as the code makes them: from what `__init__` asks for, or from a message alone."""
    if not inspect.isfunction(kind.__init__):
        return st.builds(kind, st.text())
    hints = get_type_hints(kind.__init__)
    names = inspect.signature(kind).parameters
    return st.builds(kind, **{name: OF_A_HINT.get(hints[name], st.from_type(hints[name])) for name in names})


def assert_whole(error: BaseException, again: object) -> None:
    assert type(again) is type(error) and isinstance(again, BaseException)
    assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


WAYS: dict[str, Callable[[Any], Any]] = {
    **{f"pickle {n}": lambda error, n=n: pickle.loads(pickle.dumps(error, n)) for n in range(6)},  # type: ignore[misc]
    "pickle in Python": lambda error: pickle._loads(pickle._dumps(error)),  # type: ignore[attr-defined]
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def test_all_of_them_are_found() -> None:
    names = {kind.__name__ for kind in KINDS}
    assert {"StallkitError", "ContainerError", "NameTaken", "NotTold", "Interrupted"} <= names


@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_each_comes_back_whole_by_every_way(data: st.DataObject) -> None:
    for kind in KINDS:
        error = data.draw(errors(kind))
        for way in WAYS.values():
            assert_whole(error, way(error))


def test_what_was_added_to_it_comes_along() -> None:
    error = StallkitError("store", "/srv/store.db", "no room", "make room")
    error.add_note("while the sessions were noted")
    again = pickle.loads(pickle.dumps(error))
    assert again.__notes__ == ["while the sessions were noted"]
    deep = copy.deepcopy(error)
    deep.add_note("of the copy alone")
    assert len(error.__notes__) == 1


def test_a_subclass_of_somebody_elses_comes_back_whole() -> None:
    error = Elsewhere(3)
    assert_whole(error, pickle.loads(pickle.dumps(error)))


class Elsewhere(TransportError):
    """With an `__init__` of its own, as a third party's transport may have."""

    def __init__(self, lane: int) -> None:
        self.lane = lane
        super().__init__(f"lane:{lane}", "it is closed", "take another lane")


def test_it_comes_back_whole_from_another_process(tmp_path: Path) -> None:
    broken = tmp_path / "pack.toml"
    broken.write_text("= no TOML")
    no_server = str(tmp_path / "no.sock")
    work: list[tuple[type[StallkitError], Callable[..., object], tuple[object, ...]]] = [
        (TransportUnavailable, call, (["/no/such/engine"], "box")),
        (ContainerError, call, (["false"], "box")),
        (PackFormatError, read_pack, (broken,)),
        (TransportError, methodcaller("capture"), (TmuxTransport("nobody", Options(tmux_socket_path=no_server)),)),
    ]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as workers:
        for kind, function, given in work:
            with pytest.raises(kind) as here:
                function(*given)
            with pytest.raises(kind) as there:
                workers.submit(function, *given).result(60)
            assert_whole(here.value, there.value)
