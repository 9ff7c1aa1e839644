"""The JSON of a value as a class: the fields of its form are the keys of its JSON, in their order.

`stallkit.jsonio` dumps, loads and describes a value by its form, which is made `of` the value and has it as `value`; a
value without a form by its own fields.  A form stands beside the class that it is of.  Without a `value` it can only be
dumped.
"""

from __future__ import annotations

from typing import Annotated, Any, Callable, Protocol, Self, TypeVar

from attrs import fields

__all__ = ["FORMS", "NEWER", "SPREAD", "Time", "alike", "json_form"]

SPREAD = {"spread": True}  # of a field whose keys are the form's own: a value's, or all that the form does not name
NEWER = {"newer": True}  # of a field that earlier versions did not have: it is left out where it has its default
Time = Annotated[str, "date-time"]  # ISO 8601; the format for the schema
_T = TypeVar("_T")


class _Form(Protocol):
    @classmethod
    def of(cls, value: Any, /) -> Self: ...


_F = TypeVar("_F", bound=_Form)
FORMS: dict[type, type[Any]] = {}


def json_form(kind: type) -> Callable[[type[_F]], type[_F]]:
    """A decorator: the class is the form of values of that kind."""

    def registered(form: type[_F]) -> type[_F]:
        FORMS[kind] = form
        return form

    return registered


def alike(kind: type[_T], value: object, **given: Any) -> _T:
    """One of that class with these fields, and else with the attributes of `value` of the same names.

    >>> from stallkit.judging.verdict import Hung
    >>> alike(Hung, Hung(3.0, ("no data",)), since_s=4.0)
    Hung(since_s=4.0, evidence=('no data',))
    """
    names = [one.name for one in fields(kind) if one.init]  # type: ignore[arg-type]  # any class of attrs
    return kind(**{name: getattr(value, name) for name in names if hasattr(value, name)} | given)
