"""The number of an item in the queue, as commands take it."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING, Any, Iterator

import click

from stallkit.cli.common import Name
from stallkit.config import queue_file
from stallkit_operator.queue import Queue

if TYPE_CHECKING:
    _Ref = click.ParamType[tuple[int, int | None]]
else:
    _Ref = click.ParamType  # older ones take no type

__all__ = ["ITEM", "ItemRef", "item_ref", "queue_items"]

_REF = re.compile(r"([1-9][0-9]{0,15})(?:@([1-9][0-9]{0,15}))?", re.ASCII)


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


def queue_items(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """What waits for a person, for a shell that completes its number."""
    if not queue_file().exists():
        return
    with closing(Queue(queue_file())) as queue:
        for item in queue.items(False):
            yield str(item.id), item.session


ITEM = Name("item", "stallkit_operator.cli.item_ref:queue_items")
