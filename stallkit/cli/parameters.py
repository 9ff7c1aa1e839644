"""What commands take besides plain texts: spans of time, and names that a shell completes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from stallkit.distributions import named
from stallkit.durations import seconds_of

if TYPE_CHECKING:
    _Seconds = click.ParamType[float]
    _Text = click.ParamType[str]
else:
    _Seconds = _Text = click.ParamType  # older ones take no type

__all__ = ["PACK", "POLICY", "RUN", "SESSION", "SIGNATURE", "TARGET", "Duration", "Name"]


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


class Name(_Text):
    """A text whose completions `find` gives, the module:name of a function: each with a word about it."""

    def __init__(self, name: str, find: str, metavar: str | None = None) -> None:
        self.name, self._find, self._metavar = name, find, metavar

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str | None:
        return self._metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        return completed(self._find, ctx, incomplete)


def completed(find: str, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
    """The names that begin as what was typed.  Only a shell asks: whatever fails here has none, and says nothing."""
    try:
        found = [(name, about) for name, about in named(find)(ctx) if name.startswith(incomplete)]
    except Exception:
        return []
    return [CompletionItem(name, help=about or None) for name, about in found if name.isprintable()]


TARGET = Name("target", "stallkit.cli.reach:targets")
POLICY = Name("policy", "stallkit.cli.completions:policies", "NAME|FILE")
PACK = Name("pack", "stallkit.cli.completions:packs")
SIGNATURE = Name("signature", "stallkit.cli.completions:signatures")
SESSION = Name("name", "stallkit.cli.named_sessions:sessions")
RUN = Name("run", "stallkit.cli.completions:runs")
