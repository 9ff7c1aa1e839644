"""Classes of plain values as attrs makes them, at a tenth of what they cost a process that soon ends.

attrs compiles the methods of a class when it is defined, and imports `inspect`: a third of what one `stallkit check`
would take.  Of its sixty classes the command uses half, most of them once.  So here a constructor is compiled when it
is first called, and the other methods are shared.  What `check` imports takes these names, everything else attrs; they
mean the same, and type checkers see attrs itself.  `attrs.fields`, `attrs.evolve`, `attrs.asdict` and cattrs take these
classes for attrs' own.
"""

from __future__ import annotations

from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from attrs import Attribute, evolve, field, fields, frozen
    from attrs.validators import ge, instance_of, le

__all__ = ["by_name", "evolve", "field", "fields", "frozen", "ge", "instance_of", "le"]

_NONE = object()  # where there is no default


class _Field:
    """What a class says of one of its fields."""

    def __init__(self, name: str, said: dict[str, Any]) -> None:
        self.name, self.said = name, said
        self.alias: str = said.get("alias") or name.lstrip("_")
        self.default, self.factory = said.get("default", _NONE), said.get("factory")
        self.converter = said.get("converter")
        checks = said.get("validator") or ()
        self.checks = checks if isinstance(checks, (list, tuple)) else (checks,)
        self.repr, self.eq, self.init = said.get("repr", True), said.get("eq", True), said.get("init", True)
        self.hash = self.eq if said.get("hash") is None else said["hash"]

    @property
    def is_set(self) -> bool:
        """Whether the constructor sets it."""
        return self.init or self.default is not _NONE or self.factory is not None


class _Frozen:
    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be deleted")


class _ForAttrs:
    """``__attrs_attrs__``: what attrs and cattrs ask of a class, made when they first do."""

    def __get__(self, value: object, cls: type) -> tuple[Attribute[Any], ...]:
        import attrs

        said = {one.name: attrs.field(**one.said) for one in _fields(cls)}
        types = {name: kind for base in reversed(cls.__mro__) for name, kind in _annotations(base).items()}
        twin = attrs.frozen(type(cls.__name__, (), {**said, "__annotations__": {name: types[name] for name in said}}))
        made = attrs.fields(twin)
        cls.__attrs_attrs__ = made  # type: ignore[attr-defined]
        return made  # type: ignore[no-any-return]


class _Said:
    def __init__(self, **said: Any) -> None:
        self.said = said


def _frozen(cls: type | None = None, *, kw_only: bool = False) -> Any:
    return (lambda given: _made(given, kw_only)) if cls is None else _made(cls, kw_only)


def _made(cls: type, kw_only: bool) -> type:
    """The class with slots and methods for its fields."""
    namespace = {name: value for name, value in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
    own = list[_Field]()
    for name in _annotations(cls):
        given = namespace.pop(name, _NONE)
        said = given.said if isinstance(given, _Said) else {} if given is _NONE else {"default": given}
        own.append(_Field(name, said | ({"kw_only": True} if kw_only else {})))
    late = any(isinstance(value, cached_property) for value in namespace.values())
    base = next((one for one in cls.__mro__[1:] if "_fields_" in one.__dict__), None)
    fields = (*(_fields(base) if base else ()), *own)
    namespace |= {"__qualname__": cls.__qualname__, "__attrs_attrs__": _ForAttrs(), "_fields_": fields}
    namespace["__slots__"] = (*(one.name for one in own), *(() if base else ("__weakref__",)), *(["__dict__"] * late))
    namespace["__match_args__"] = tuple(one.name for one in fields if one.init and not kw_only)
    bases = cls.__bases__ if base else (_Frozen,)
    made: type = type(cls)(cls.__name__, bases, namespace)
    for method in _methods(made, fields):
        if method.__name__ not in namespace:
            setattr(made, method.__name__, method)
    return made


def _methods(cls: type, fields: tuple[_Field, ...]) -> tuple[Any, ...]:
    compared = _getter([one.name for one in fields if one.eq])
    hashed = _getter([one.name for one in fields if one.hash])
    every = _getter([one.name for one in fields])

    def __eq__(self: Any, other: object) -> Any:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(hashed(self))

    def __repr__(self: Any) -> str:
        told = [(one, getattr(self, one.name)) for one in fields if one.repr]
        words = [f"{one.name}={one.repr(value) if callable(one.repr) else repr(value)}" for one, value in told]
        return f"{type(self).__qualname__.rpartition('>.')[2]}({', '.join(words)})"

    def __getstate__(self: Any) -> Any:
        return every(self)

    def __setstate__(self: Any, state: Any) -> None:
        made = _restorer(cls, fields)
        cls.__setstate__ = made  # type: ignore[attr-defined]
        made(self, state)

    return _Init(cls, fields), __eq__, __hash__, __repr__, __getstate__, __setstate__


class _Init:
    """Stands for the ``__init__`` of a class until one asks for it: to make a value, or for its parameters."""

    __name__ = "__init__"

    def __init__(self, cls: type, fields: tuple[_Field, ...]) -> None:
        self._of = cls, fields

    def __get__(self, value: Any, owner: type) -> Any:
        cls, fields = self._of
        made = _constructor(cls, fields)
        cls.__init__ = made  # type: ignore[misc]
        return made if value is None else made.__get__(value, owner)


def _constructor(cls: type, fields: tuple[_Field, ...]) -> Callable[..., None]:
    """The ``__init__`` of a class, with its fields as parameters."""
    names: dict[str, Any] = {"none": _NONE}
    parameters, named = ["self"], list[str]()
    lines, checks = list[str](), list[str]()
    for at, one in enumerate(fields):
        names |= {f"put{at}": getattr(cls, one.name).__set__, f"default{at}": one.default, f"made{at}": one.factory}
        names |= {f"converted{at}": one.converter, f"field{at}": one}
        value = one.alias if one.init else f"default{at}"
        if one.init:
            usual = "=none" if one.factory else "" if one.default is _NONE else f"=default{at}"
            (named if one.said.get("kw_only") else parameters).append(one.alias + usual)
        if one.factory is not None:
            value = f"(made{at}() if {one.alias} is none else {one.alias})" if one.init else f"made{at}()"
        if one.is_set:
            lines.append(f"put{at}(self, {f'converted{at}({value})' if one.converter else value})")
        for number, check in enumerate(one.checks):
            names[f"check{at}_{number}"] = check
            checks.append(f"check{at}_{number}(self, field{at}, self.{one.name})")
    after = ["self.__attrs_post_init__()"] if hasattr(cls, "__attrs_post_init__") else []
    body = "\n ".join([*lines, *checks, *after]) or "pass"
    exec(f"def __init__({', '.join([*parameters, *(['*', *named] if named else [])])}):\n {body}", names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _restorer(cls: type, fields: tuple[_Field, ...]) -> Callable[[Any, Any], None]:
    """The ``__setstate__`` of a class: a pack has a thousand values."""
    names: dict[str, Any] = {f"put{at}": getattr(cls, one.name).__set__ for at, one in enumerate(fields)}
    values = [f"value{at}" for at in range(len(fields))]
    body = "\n ".join([f"[{', '.join(values)}] = state", *(f"put{at}(self, value{at})" for at in range(len(fields)))])
    exec(f"def __setstate__(self, state):\n {body}", names)
    made: Callable[[Any, Any], None] = names["__setstate__"]
    return made


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """The values of these attributes, as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


def _fields(cls: type) -> tuple[_Field, ...]:
    found: tuple[_Field, ...] = cls.__dict__["_fields_"]
    return found


def _annotations(cls: type) -> dict[str, Any]:
    said = getattr(cls, "__annotations__", {})
    return {name: kind for name, kind in said.items() if "ClassVar" not in str(kind)}


def _evolve(value: Any, **changes: Any) -> Any:
    if "_fields_" not in type(value).__dict__:
        from attrs import evolve

        return evolve(value, **changes)
    kept = {one.alias: getattr(value, one.name) for one in _fields(type(value)) if one.init}
    return type(value)(**(kept | changes))


def by_name(value: Any) -> dict[str, Any]:
    """The fields of a value, by their names, as they are."""
    if "_fields_" in type(value).__dict__:
        return {one.name: getattr(value, one.name) for one in _fields(type(value))}
    from attrs import asdict

    return asdict(value, recurse=False)


def _ge(least: Any) -> Callable[[Any, Any, Any], None]:
    def check(instance: Any, attribute: Any, value: Any) -> None:
        if not value >= least:
            raise ValueError(f"'{attribute.name}' must be >= {least}: {value}")

    return check


def _le(most: Any) -> Callable[[Any, Any, Any], None]:
    def check(instance: Any, attribute: Any, value: Any) -> None:
        if not value <= most:
            raise ValueError(f"'{attribute.name}' must be <= {most}: {value}")

    return check


def _instance_of(kind: type) -> Callable[[Any, Any, Any], None]:
    def check(instance: Any, attribute: Any, value: Any) -> None:
        if not isinstance(value, kind):
            raise TypeError(f"'{attribute.name}' must be {kind!r} (got {value!r} that is a {type(value)!r}).")

    return check


if not TYPE_CHECKING:
    evolve, field, fields, frozen = _evolve, _Said, _fields, _frozen
    ge, instance_of, le = _ge, _instance_of, _le
