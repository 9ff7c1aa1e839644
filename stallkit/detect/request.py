"""What an agent asks to be allowed, as its dialog says it: typed fields and options, and which patterns fit them."""

from __future__ import annotations

import posixpath
import re
import shlex
from fnmatch import fnmatchcase
from itertools import product
from typing import Mapping, Sequence

from attrs import field, frozen

from stallkit.detect.dialog import FieldSpec, FieldType, Role
from stallkit.detect.dialog_parser import Option

__all__ = ["CLOSED", "Request", "simple_command"]

# What a shell acts on: lists, pipes, jobs, redirections, substitutions, groups, history, comments, escapes, file name
# patterns, braces, a home directory, and what is cut off.  Quoted or not: a doubt is no match.
_ACTIVE = re.compile(r"[;&|<>$`(){}!#\\*?\[\]~…\n]")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


def simple_command(text: str) -> str | None:
    """The command with its words quoted as the shell needs it; None where it is not one simple command.

    None as well for a command that sets a variable for itself, for one with letters that cannot be printed, and for one
    that is cut off.

    >>> simple_command("git   status -s")
    'git status -s'
    >>> simple_command("grep 'a b' notes.txt")
    "grep 'a b' notes.txt"
    >>> simple_command("git status; rm -rf ~") is None
    True
    """
    if not text.strip() or not text.isprintable() or _ACTIVE.search(text) or "..." in text:
        return None
    try:
        words = shlex.split(text)
    except ValueError:  # a quote is not closed
        return None
    if not words or not words[0] or _ASSIGNMENT.match(words[0]):
        return None
    return shlex.join(words)


CLOSED = frozenset({FieldType.CHOICE, FieldType.NUMBER})


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

        A command fits only as one simple command, a path without ``..`` in it and in each of its `paths`, and nothing
        that is cut off.
        """
        values = self._plain(name)
        return bool(values) and all(any(fnmatchcase(value, pattern) for pattern in patterns) for value in values)

    def mentions(self, patterns: Sequence[str]) -> bool:
        """Whether one of the shell patterns fits any field, as it stands or as a shell reads it, in any letter case."""
        texts = [*self.fields.values(), *(option.text for option in self.options)]
        texts += [path for name in self.fields for path in self.paths(name)]
        texts += [command for text in self.fields.values() if (command := simple_command(text))]
        values = [text.casefold() for text in texts]
        return any(fnmatchcase(value, pattern.casefold()) for value in values for pattern in patterns)

    def paths(self, name: str) -> tuple[str, ...]:
        """What a path may be; empty for another field.  Where it is broken over rows, a blank may have stood there."""
        value = self.fields.get(name, "")
        if not value or self.specs[name].type is not FieldType.PATH:
            return ()
        first, *more = value.split("\n")
        return tuple(first + "".join(parts) for parts in product(*((row, f" {row}") for row in more)))

    def unnamed(self, names: Sequence[str]) -> str | None:
        """A field that may say anything and is not among these names; or None.

        A word or a path may decide what its own pack presses, and may still be any.
        """
        for name, value in self.fields.items():
            spec = self.specs[name]
            if value and spec.type not in CLOSED and not spec.aside and name not in names:
                return name
        return None

    @property
    def once(self) -> Option | None:
        """The option that allows it this once; None where there is not exactly one."""
        found = [option for option in self.options if option.role is Role.ONCE]
        return found[0] if len(found) == 1 else None

    def _plain(self, name: str) -> tuple[str, ...]:
        """The field as a rule may name it, in each way to read it; empty where no rule may."""
        value = self.fields.get(name, "")
        if not value or "…" in value:
            return ()
        values: tuple[str, ...] = (value,)
        match self.specs[name].type:
            case FieldType.COMMAND:
                command = simple_command(value)
                values = (command,) if command else ()
            case FieldType.PATH:
                values = self.paths(name)
                if any(".." in one.split("/") or posixpath.normpath(one) != one.rstrip("/") for one in values):
                    return ()  # it leads elsewhere than down
        return values if all(map(str.isprintable, values)) else ()
