"""Policies that the fleet hands out: versions, signed; and what of one is in force below a machine's own ceiling.

A version is a policy file with its number, and a signature over both by a key that each host names.  A host keeps the
last good one, and never goes back to an earlier number: a roll-back is a new version with an old text.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from attrs import asdict, field, frozen

from stallkit import private
from stallkit.errors import ConfigError, StallkitError
from stallkit.judging.verdict import Verdict
from stallkit.press.policy import OBSERVE, Choose, Decision, Escalate, Interrupt, Policy, Press, Restart, Resume, Send
from stallkit.press.policy_file import policy_from
from stallkit.press.rules import PromptFacts, Scene
from stallkit.toml_file import TomlError, parse_toml

FORMAT = 1
MOST = 256_000  # bytes of a policy
_ACTS = Press | Choose | Send | Restart | Resume | Interrupt


class PolicyRefused(StallkitError):
    """A version that this machine does not take."""

    def __init__(self, version: int, why: str) -> None:
        super().__init__("fleet policy", f"version {version}", why, "the policy before it stays in force")


@frozen
class PolicyVersion:
    """One version, as the bucket has it."""

    version: int
    text: str
    by: str
    at: float  # by the clock of who put it
    note: str = ""
    signature: str = field(default="", repr=False)

    @property
    def signed_part(self) -> bytes:
        """What the signature is over."""
        return json.dumps([FORMAT, self.version, self.text, self.by, self.at, self.note]).encode()

    @property
    def policy(self) -> Policy:
        """What it says.  Raises PolicyRefused if that is no policy."""
        name = f"fleet-{self.version}"
        try:
            if len(self.text) > MOST:
                raise ValueError(f"it has more than {MOST:,} characters")
            return policy_from(parse_toml(self.text, name).data, name, name)
        except (ConfigError, TomlError, ValueError) as error:
            raise PolicyRefused(self.version, f"it is no policy: {getattr(error, 'why', error)}") from error

    def dumped(self) -> bytes:
        """As the bucket has it, and the file of the last good one."""
        return json.dumps({"format": FORMAT, **asdict(self)}).encode()

    @classmethod
    def loaded(cls, data: bytes) -> Self:
        """The inverse of `dumped`.  Raises PolicyRefused."""
        try:
            found: dict[str, Any] = json.loads(data)
            if found.pop("format") != FORMAT:
                raise ValueError("it is of another format: update stallkit-fleet")
            made = cls(**found)
            if not isinstance(made.version, int) or not all(isinstance(one, str) for one in (made.text, made.by)):
                raise TypeError
            return made
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            why = str(error) if "format" in str(error) else "it is no version of a policy"
            raise PolicyRefused(0, why) from error


def kept_version(file: Path, public: str | None) -> PolicyVersion | None:
    """The last good version that is kept in the file, if it was taken for this public key."""
    with suppress(OSError, ValueError, PolicyRefused):
        key, _, rest = private.content(file).partition(b"\n")
        return PolicyVersion.loaded(rest) if public and key.decode() == public else None
    return None


def kept_policy(file: Path, public: str | None) -> Policy | None:
    """The policy that it holds; None if there is none."""
    kept = kept_version(file, public)
    return None if kept is None else kept.policy


def keep(found: PolicyVersion, public: str, file: Path) -> None:
    """Keep a version whose signature was checked.  Raises OSError."""
    private.folder(file.parent)
    new = file.with_suffix(".new")
    with os.fdopen(private.opened(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as out:
        out.write(public.encode() + b"\n" + found.dumped())
    new.replace(file)


@frozen
class Bounded(Policy):
    """A policy that does only what a ceiling would do as well, and tells a person the rest."""

    ceiling: Policy = OBSERVE

    @classmethod
    def below(cls, ceiling: Policy, given: Policy) -> Self:
        """The given policy below the ceiling, as patient as the more patient of the two."""
        patience_s = max(given.patience_s, ceiling.patience_s)
        return cls(given.name, given.dialogs, given.rules, given.agents, given.trust, patience_s, ceiling)

    @property
    def presses(self) -> bool:
        """Whether it may press, type or start anything."""
        return super().presses and self.ceiling.presses

    @property
    def may_restart(self) -> bool:
        """Whether a rule starts anything again."""
        return super().may_restart and self.ceiling.may_restart

    def decide(self, verdict: Verdict | PromptFacts, scene: Scene | None = None) -> Decision:
        """What to do about one verdict."""
        wanted = super().decide(verdict, scene)
        if not isinstance(wanted, _ACTS):
            return wanted
        allowed = self.ceiling.decide(verdict, scene)
        if _same(wanted, allowed):
            return wanted
        return Escalate(f"policy {self.name} would act, and the ceiling {self.ceiling.name} would not")

    def resumes(self, verdict: Verdict | PromptFacts, scene: Scene | None = None) -> bool:
        """Whether a rule presses keys once the usage limit is over that holds the session up."""
        return super().resumes(verdict, scene) and self.ceiling.resumes(verdict, scene)


def _same(wanted: Decision, allowed: Decision) -> bool:
    """Whether both do the same: the same keys, option or text; a restart that resumes or not."""
    match wanted, allowed:
        case (Press(), Press()) | (Choose(), Choose()):
            return wanted == allowed
        case Send(text), Send(other):
            return text == other
        case Restart(_, resumes), Restart(_, other):
            return resumes == other
        case (Resume(), Resume()) | (Interrupt(), Interrupt()):
            return True
    return False
