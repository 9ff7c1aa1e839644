"""One look with what sources need to know of it: who asks, and what the facts come to."""

from __future__ import annotations

from functools import cached_property
from typing import Sequence

from attrs import frozen

from stallkit.detect.composer import names_person
from stallkit.detect.engine import Detection, Match
from stallkit.detect.menu import read_menu
from stallkit.detect.signature import Kind, State, Tier
from stallkit.evidence.agents import AfterExit, agents, led, left_of, left_to
from stallkit.evidence.osc import claims
from stallkit.evidence.signal import Signal
from stallkit.evidence.snapshot import KernelFacts, Member, Snapshot, TtyFacts, listens
from stallkit.terminal.screen import Screen, only_a_clock
from stallkit.word_tables import RELAYS, SHELLS, Patterns

_of = Patterns("prompts")
_SECRET_COLUMNS = 200  # of a line's end are looked at: the search is quadratic


def agrees(snapshot: Snapshot, history: Sequence[Snapshot]) -> bool:
    """Whether the previous look shows the same screen."""
    return bool(history) and history[-1].screen.fingerprint == snapshot.screen.fingerprint


@frozen
class Kernel:
    """The kernel facts of one look, as far as they are known."""

    listening: bool | None  # something waits for a key: it reads, or polls while canonical mode is off
    rests: bool | None  # nothing was printed since the previous look, but for a full-screen program's clock
    before: Screen | None  # of that look
    canonical: bool | None
    hides: bool  # echo off in canonical mode
    takes_keys: bool  # echo off in raw mode: a program shows what is typed itself, or does not
    edits_commands: bool  # a shell reads single keys for its line editor: it is at its prompt
    computes: bool  # beside what reads, something of the foreground is on a CPU
    stopped: bool
    how: str
    unseen: str | None  # the same of a prompt whose words the terminal does not show
    unknown: str | None  # what must be known before the verdict can be sure: the screen alone may be a quotation
    relayed: bool  # the screen may be that of another terminal, which is not seen
    foreground: str | None

    @classmethod
    def of(cls, snapshot: Snapshot, history: Sequence[Snapshot], match: Match | None = None) -> Kernel:
        kernel, tty = snapshot.kernel or KernelFacts(), snapshot.tty or TtyFacts()
        asks = match if match is not None and match.signature.state is State.WAITING else None
        in_shells = [one.names & SHELLS and one.interactive is not False for one in kernel.readers or ()]
        edits = tty.canonical is False and kernel.how != "read" and snapshot.foreground in SHELLS and all(in_shells)
        rests = snapshot.quiet_s > 0 if snapshot.quiet_s is not None else None
        before = history[-1].screen if history else None
        if rests is None and history:
            rests = agrees(snapshot, history)
        if rests is False and before is not None:
            rests = only_a_clock(before, snapshot.screen)
        quiet = f" for {snapshot.quiet_s:.1f} s" if snapshot.quiet_s else ""
        listening = listens(kernel, tty)
        if listening is None and kernel.listening and not kernel.relay:  # it polls for a line, as some do that work
            at_cursor = asks is not None and asks.signature.at_cursor
            stands = kernel.standstill and (kernel.output or not rests)  # it does nothing but wait
            listening = True if stands or (rests and tty.echo and at_cursor) else None  # an answer would have moved it
        who = kernel.reader or kernel.foreground or "the foreground"
        waits = f"{who} waits in {kernel.how} on the terminal"
        unseen = f", and its output goes to {kernel.output}" if kernel.output and not asks else ""
        relay = kernel.relay or (snapshot.foreground if snapshot.foreground in RELAYS else None)
        unknown = {
            f"{relay} shows another terminal, and whether anything reads that is unknown": listening is None and relay,
            "whether anything reads the terminal is unknown": listening is None,
            "who is in the foreground is unknown": snapshot.foreground is None,
            "whether the screen rests is unknown: it was seen in one look only": rests is None,
        }
        return cls(
            listening=listening,
            rests=rests,
            before=before,
            canonical=tty.canonical,
            hides=tty.echo is False and tty.canonical is True,
            takes_keys=tty.echo is False and tty.canonical is False,
            edits_commands=edits,
            computes=bool(kernel.running),
            stopped=kernel.stopped is True,
            how=f"{waits}{quiet}{unseen}",
            unseen=waits + unseen if unseen else None,
            unknown=next((why for why, holds in unknown.items() if holds), None),
            relayed=relay is not None,
            foreground=snapshot.foreground,
        )


@frozen
class Look:
    """What every source is given."""

    detection: Detection
    snapshot: Snapshot  # with who asks as its foreground process
    history: Sequence[Snapshot]  # the looks before it, oldest first
    agent_seen: Snapshot | None  # the latest that showed an agent
    unnamed: Member | None  # a program that a person talks with and no pack names, as it was last seen to read
    facts: Kernel

    @classmethod
    def of(
        cls,
        detection: Detection,
        snapshot: Snapshot,
        history: Sequence[Snapshot],
        agent_seen: Snapshot | None,
        unnamed: Member | None,
    ) -> Look:
        """The look, with who asks found out."""
        if agent_seen is None and history and agents(detection.agents, history[-1].kernel):
            agent_seen = history[-1]
        snapshot = led(snapshot, agents(detection.agents, snapshot.kernel))
        return cls(detection, snapshot, history, agent_seen, unnamed, Kernel.of(snapshot, history, detection.match))

    @cached_property
    def heard(self) -> tuple[Signal, ...]:
        """All that the programs say of themselves, outside of their output and in it."""
        return (*self.snapshot.signals, *claims(self.snapshot, self.detection.words))

    @cached_property
    def left(self) -> tuple[str, bool, AfterExit] | None:
        """Why an agent is known to have ended, whether that is sure, and what is left; None if it may be there."""
        found = left_of(self.detection, self.snapshot, self.agent_seen)
        if found is None and self.unnamed is not None and (why := left_to(self.unnamed, self.snapshot)) is not None:
            return why, True, AfterExit.WRAPPED
        return found

    @property
    def agents_before(self) -> KernelFacts | None:
        """The kernel's facts of the latest look that showed an agent, if that was the same session."""
        seen = self.agent_seen
        return seen.kernel if seen is not None and seen.identity == self.snapshot.identity else None


def names_secret(text: str) -> bool:
    """Whether a line of the text ends in a secret's name, or in the bullets that hide its characters."""
    return _of.secret_line.search("\n".join([line[-_SECRET_COLUMNS:] for line in text.split("\n")])) is not None


def speaks_of_secret(text: str) -> bool:
    """Whether a word for a secret stands anywhere in the text; wider than `asks_secret`, which agents' screens pass."""
    return _of.secret_word.search(text) is not None or _of.secret_thing.search(text) is not None


def asks_secret(detection: Detection, kind: Kind | None) -> bool:
    """Whether a prompt's words speak of a secret: those that matched, and for a prompt on one line its paragraph.

    Looser than `names_secret`, for where the terminal shows nothing of what is typed; so it is at a line editor, too.
    """
    screen, match = detection.screen, detection.match
    menu = match is not None and match.signature.tier is Tier.DIALOG
    if kind in (Kind.REPL_PROMPT, Kind.EDITOR):
        return False
    if menu and (kind is Kind.LOGIN or read_menu(screen) is not None):
        return False  # a menu names keys and passwords, as in Use this API key?, and takes none
    text = [span.text for span in match.spans] if match else []
    if match is not None and names_person(match.line):
        return names_secret("\n".join(text))  # what stands above it was said in a chat, as may be that a key is wrong
    if match is None or match.signature.tier >= Tier.PROMPT_LINE:
        text.append(screen.paragraph.text)
    return _of.secret_word.search("\n".join(text)) is not None


def guessed_kind(screen: Screen, canonical: bool | None) -> Kind:
    """What a prompt without a signature may ask for: a wrong guess must not turn a secret into text."""
    if names_secret(screen.tail(4).text):
        return Kind.SECRET
    return Kind.TUI if canonical is False and screen.alternate else Kind.TEXT
