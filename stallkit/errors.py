"""Errors, typed by where the fault is.

Every message is one line, ``<what> <where>: <why>; <what to do>``, built from fields that a caller can read as well.
A caller's own mistake is a `ValueError` or `TypeError`.  No match, an undecided clause, a reached limit and a dismissal
that did not work are values, not errors.
"""

from __future__ import annotations

import copyreg
from typing import Any


class Portable(BaseException):
    """An exception that can be pickled and copied with its message and its fields, whatever its `__init__` takes.

    Python would call `__init__` again, with the message as its only argument.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class Unknown:
    """Of errors about a name that nothing has, or a path where nothing is: who typed it can correct it."""


class StallkitError(Portable, Exception):
    """The root of all errors that stallkit raises on purpose.

    >>> from stallkit import SessionGone
    >>> issubclass(SessionGone, StallkitError)
    True
    """

    def __init__(self, what: str, where: str, why: str, todo: str) -> None:
        self.what, self.where, self.why, self.todo = what, where, why, todo
        super().__init__(_one_line("".join(self.parts)))

    @property
    def parts(self) -> tuple[str, ...]:
        """The message in pieces, none of which says what another one is."""
        return (f"{self.what} ", self.where, f": {self.why}", f"; {self.todo}")


class PackError(StallkitError):
    """The fault of a pack's author.

    >>> from stallkit.packs.pack_file import parse_pack
    >>> try:
    ...     parse_pack("format = 2", "acme.toml", "acme")
    ... except PackError as error:
    ...     error.line
    1
    """


class PackFormatError(PackError):
    """A pack file cannot be read; `path`, `line` (1-based, or None) and `key` say where."""

    def __init__(self, path: str, line: int | None, key: str, why: str, todo: str = "correct the file") -> None:
        self.path, self.line, self.key = path, line, key
        place = path if line is None else f"{path}:{line}"
        super().__init__("pack file", f"{place} ({key})" if key else place, why, todo)


class SignatureError(PackError):
    """A signature contradicts itself; `signature` and `clause` name it."""

    def __init__(self, signature: str, clause: str, why: str, todo: str = "correct the signature") -> None:
        self.signature, self.clause = signature, clause
        super().__init__("signature", f"{signature} ({clause})" if clause else signature, why, todo)


class DuplicateSignature(PackError):
    """Two signatures of one pack, or two packs, carry the same name."""

    def __init__(self, name: str, where: str) -> None:
        self.name = name
        super().__init__("duplicate name", name, f"it occurs twice in {where}", "rename one of them")


class PackLoadError(PackError):
    """An installed pack cannot be imported, or does not return packs; the cause is chained."""

    def __init__(self, entry_point: str, distribution: str, why: str) -> None:
        self.entry_point, self.distribution = entry_point, distribution
        super().__init__("pack", f"{entry_point} (from {distribution})", why, "fix or uninstall that distribution")


class TransportError(StallkitError):
    """Something outside stallkit failed; `target` names the session, which may still be running.

    >>> from stallkit import open_target
    >>> try:
    ...     open_target("file:/no/such").capture()
    ... except TransportError as error:
    ...     error.target
    'file:/no/such'
    """

    def __init__(self, target: str, why: str, todo: str) -> None:
        self.target = target
        super().__init__(self._what, target, why, todo)

    _what = "could not look at"


class SessionGone(TransportError):
    """The session does not exist, or no longer exists; `exit_status` is None if it is unknown.

    >>> from stallkit import open_target
    >>> try:
    ...     open_target("tmux:none").capture()
    ... except SessionGone as error:
    ...     error.exit_status is None
    True
    """

    _what = "no session"

    def __init__(self, target: str, why: str, exit_status: int | None = None) -> None:
        self.exit_status = exit_status
        super().__init__(target, why, self._todo)

    _todo = "check the name, or start it again"


class TransportUnavailable(TransportError):
    """Something that the transport needs, named by `needs`, is not installed or not reachable."""

    def __init__(self, target: str, needs: str, why: str, todo: str) -> None:
        self.needs = needs
        super().__init__(target, why, todo)


class CaptureTimeout(TransportError):
    """The other side did not answer within the deadline (`seconds`)."""

    def __init__(self, target: str, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(target, f"no answer within {seconds:g} s", "look again later: it may be stopped or overloaded")


class KeysRefused(TransportError):
    """The keys were not sent: the session is no longer as it was seen, or its program does not read.

    >>> raise KeysRefused("tmux:w1", "it changed since it was looked at")
    Traceback (most recent call last):
    stallkit.errors.KeysRefused: no key sent to tmux:w1: it changed since it was looked at; look again before you press
    """

    _what = "no key sent to"

    def __init__(self, target: str, why: str) -> None:
        super().__init__(target, why, "look again before you press")


class StartRefused(TransportError):
    """A session was not started: another session, the `holder`, has its name or one of its ports (`port`).

    `holder` is None if stallkit did not start that one.
    """

    _what = "could not start"

    def __init__(self, target: str, why: str, todo: str, holder: str | None = None, port: int | None = None) -> None:
        self.holder, self.port = holder, port
        super().__init__(target, why, todo)


class UnknownProgram(Unknown, StartRefused):
    """There is no program of this name, or it cannot be executed."""


class ContainerError(TransportError):
    """A container runtime or sandbox (docker, podman, bwrap) failed; `target` is the container.

    >>> from stallkit import TransportError
    >>> issubclass(ContainerError, TransportError)
    True
    """

    _what = "container"


class ConfigError(StallkitError):
    """A configuration is invalid, or cannot be read; `path` and `line` (1-based, or None) say where.

    >>> from stallkit.press.policy_file import load_policy
    >>> try:
    ...     load_policy("/no/such.toml")
    ... except ConfigError as error:
    ...     error.path, error.line
    ('policy /no/such.toml', None)
    """

    def __init__(self, path: str, why: str, todo: str, line: int | None = None, part: str = "") -> None:
        self.path, self.line = path, line
        place = path if line is None else f"{path}:{line}"
        super().__init__("config", f"{place}, {part}" if part else place, why, todo)


class StoreError(StallkitError):
    """A record could not be written or read."""


class UnknownName(Unknown, StoreError):
    """Nothing has this name."""


class UnknownFile(Unknown, ConfigError):
    """There is no such file of settings, or policy."""


class UnknownTarget(Unknown, TransportError):
    """There is no such saved screen."""


def _one_line(text: str) -> str:
    # A name in it may be an attacker's: no control character of it reaches a terminal.
    return "".join([char if char.isprintable() else ascii(char)[1:-1] for char in " ".join(text.split())])


def bad_argument(meant: str, given: object, hint: str = "") -> TypeError:
    """The error that says what is meant, of what type the given value is, and what to do.

    It does not quote the value: that may be a screen, with a secret on it.

    >>> str(bad_argument("keys are a text", b"Down", "write 'Down Enter'"))
    "keys are a text, not bytes: write 'Down Enter'"
    """
    shown = repr(given) if given is None or isinstance(given, int | float) else type(given).__name__
    return TypeError(f"{meant}, not {shown}{f': {hint}' if hint else ''}")
