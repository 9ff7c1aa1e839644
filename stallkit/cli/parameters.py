"""What commands take besides plain texts: spans of time, and names that a shell completes."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from stallkit.durations import seconds_of

if TYPE_CHECKING:
    _Ref = click.ParamType[tuple[int, int | None]]
    _Seconds = click.ParamType[float]
    _Text = click.ParamType[str]
else:
    _Ref = _Seconds = _Text = click.ParamType  # older ones take no type

__all__ = ["ITEM", "PACK", "POLICY", "RUN", "SESSION", "SIGNATURE", "TARGET", "Duration", "ItemRef", "Name", "item_ref"]


_REF = re.compile(r"([1-9][0-9]{0,15})(?:@([1-9][0-9]{0,15}))?", re.ASCII)


class Duration(_Seconds):
    """Seconds, written with a unit or as a number of `unit`; not below 0, and with `above` over it."""

    name = "time"

    def __init__(self, unit: str = "s", above: bool = False) -> None:
        self._unit, self._above = unit, above

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = seconds_of(str(value), self._unit)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if seconds < 0 or (self._above and not seconds):
            self.fail(f"{value!r} is not {'over' if self._above else 'at least'} 0", param, ctx)
        return seconds


class ItemRef(_Ref):
    """A number of the queue, alone or with the revision that is meant: 3, or 3@2."""

    name = "id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int | None]:
        found = item_ref(str(value))
        if found is None:
            self.fail(f"{value!r} is no number that stallkit stuck list has: write 3, or 3@2", param, ctx)
        return found


def item_ref(text: str) -> tuple[int, int | None] | None:
    """The number and the revision in such a text; None where it is none.

    >>> item_ref("3@2"), item_ref("3"), item_ref("web")
    ((3, 2), (3, None), None)
    """
    found = _REF.fullmatch(text)
    return (int(found[1]), None if found[2] is None else int(found[2])) if found else None


class Name(_Text):
    """A text whose completions `find` gives: those that begin as it does, each with a word about it."""

    def __init__(self, name: str, find: str, metavar: str | None = None) -> None:
        self.name, self._find, self._metavar = name, find, metavar

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str | None:
        return self._metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        completions = import_module("stallkit.cli.completions")  # as a command: imported when it is asked for
        found: list[CompletionItem[str]] = completions.items(getattr(completions, self._find), ctx, incomplete)
        return found


TARGET = Name("target", "targets")
SESSION = Name("name", "sessions")
POLICY = Name("policy", "policies", "NAME|FILE")
PACK = Name("pack", "packs")
SIGNATURE = Name("signature", "signatures")
RUN = Name("run", "runs")
ITEM = Name("item", "queue_items")
