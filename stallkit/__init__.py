"""stallkit tells a terminal session that waits for a key from one that works, and says which prompt it is.

>>> from stallkit import Engine, Screen
>>> detection = Engine.default().detect(Screen.from_text("Proceed? [y/N] "))
>>> detection.match.signature.kind
<Kind.CONFIRM: 'confirm'>

The names in ``__init__.pyi`` are the public interface; each is loaded when it is first used, so that importing stallkit
costs little.
"""

from importlib import import_module as _import_module

with open(f"{__file__.removesuffix('c')}i", encoding="utf-8") as _stub:  # noqa: PTH123  # pathlib takes 3 ms to import
    _MODULES = {line.split()[-1]: line.split()[1] for line in _stub if line.startswith("from ")}
__all__ = list(_MODULES)

from stallkit.old_names import give_back as _give_back


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(_import_module(_MODULES[name], __name__), name)
    _give_back()
    return value


def __dir__() -> list[str]:
    return __all__
