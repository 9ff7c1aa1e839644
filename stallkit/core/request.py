"""What an agent asks to be allowed, as its dialog says it: typed fields and options, and which patterns fit them."""

from __future__ import annotations

import posixpath
from fnmatch import fnmatchcase
from typing import Mapping, Sequence

from attrs import field, frozen

from stallkit.core.dialog import FieldSpec, FieldType, Role
from stallkit.core.reading import Option
from stallkit.core.simple_command import simple_command

__all__ = ["Request"]


@frozen
class Request:
    """The fields of a dialog that was wholly recognised, such as ``command``, ``path``, ``tool``, and its options.

    The texts are the screen's own, not redacted; events and JSON hold them redacted.
    """

    fields: Mapping[str, str] = field(hash=False)
    specs: Mapping[str, FieldSpec] = field(repr=False, hash=False)
    options: tuple[Option, ...] = ()

    def fits(self, name: str, patterns: Sequence[str]) -> bool:
        """Whether the field is there and one of the shell patterns fits it.

        A command fits only as one simple command, a path without ``..`` in it, and nothing that is cut off.
        """
        value = self._plain(name)
        return value is not None and any(fnmatchcase(value, pattern) for pattern in patterns)

    def mentions(self, patterns: Sequence[str]) -> bool:
        """Whether one of the shell patterns fits any field as it stands, in any letter case."""
        values = [text.casefold() for text in (*self.fields.values(), *(option.text for option in self.options))]
        return any(fnmatchcase(value, pattern.casefold()) for value in values for pattern in patterns)

    def unnamed(self, names: Sequence[str]) -> str | None:
        """A field that may say anything and is not among these names; or None."""
        for name, value in self.fields.items():
            spec = self.specs[name]
            if value and not spec.decides and not spec.aside and name not in names:
                return name
        return None

    @property
    def once(self) -> Option | None:
        """The option that allows it this once; None where there is not exactly one."""
        found = [option for option in self.options if option.role is Role.ONCE]
        return found[0] if len(found) == 1 else None

    def _plain(self, name: str) -> str | None:
        value = self.fields.get(name, "")
        if not value or not value.isprintable() or "…" in value:
            return None
        match self.specs[name].type:
            case FieldType.COMMAND:
                return simple_command(value)
            case FieldType.PATH:
                return (
                    value if ".." not in value.split("/") and posixpath.normpath(value) == value.rstrip("/") else None
                )
        return value
