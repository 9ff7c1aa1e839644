"""An agent's own composer: where text may be typed, where Enter may be pressed below it, where Escape is.  Pure.

For text the composer must be sure, its agent must read the terminal, and exactly what we know of may stand in it:
nothing before the text is typed, the text and nothing else before Enter.  What the screen says is judged without our
own text, which may itself read like a dialog.

An agent that hangs may be interrupted, or ended.  Its spinner turns, so the whole screen is never the same at two
looks: what must hold is who reads, and that nothing stands there which Escape would take away, neither a dialog nor a
draft.
"""

from __future__ import annotations

from attrs import evolve, frozen

from stallkit.detect.composer import Composer, Written, written
from stallkit.detect.engine import Match
from stallkit.detect.families import INTERPRETERS
from stallkit.detect.signature import State
from stallkit.evidence.facts import KernelFacts
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.verdict import Verdict
from stallkit.press.reader_check import came_later, is_of, unproven
from stallkit.terminal.keys import Keys

__all__ = ["Compose", "doubt", "doubt_of_interrupt", "doubt_of_work", "draft"]


@frozen
class Compose:
    """Keys for a composer that holds exactly the text `before`, and holds exactly `after` once they took effect.

    `instead` is what the empty composer shows.
    """

    keys: Keys
    composer: Composer
    before: str
    after: str
    instead: str = ""

    def beneath(self, seen: Snapshot) -> Snapshot:
        """The look as if we had typed nothing: what it says must not hang on our own text."""
        found = written(seen.screen, self.composer)
        if found is None or not found.is_exactly(self.before or self.after):
            return seen
        return evolve(seen, screen=found.put_back(seen.screen, self.instead))

    def doubt(self, verdict: Verdict, now: Snapshot) -> str | None:
        """The reason against the keys, from the look and the verdict on what is beneath the text; or None."""
        found = written(now.screen, self.composer)
        if self.before and (found is None or not found.is_exactly(self.before)):
            return "what stands in the composer is not exactly the text"
        return doubt(verdict, self.beneath(now))

    def took_effect(self, after: Snapshot) -> bool:
        """Whether the keys did what they were for."""
        found = written(after.screen, self.composer)
        if self.after:
            return found is not None and found.is_exactly(self.after)
        return found is None or found.at_start


def doubt(verdict: Verdict, seen: Snapshot) -> str | None:
    """Why this is not an empty composer of the agent that reads the terminal; or None."""
    match = verdict.match
    if verdict.state is not State.IDLE or match is None:
        return f"it is {verdict.state}: {verdict.reasons[-1]}"
    if not verdict.sure_by_screen:
        return f"it may be a picture of a composer: {verdict.reasons[-1]}"
    name = f"{match.pack.name}:{match.signature.id}"
    if match.signature.composer is None:
        return f"{name} does not say where the text stands in it"
    proven = match.pack.own and unproven(match.pack, seen.kernel) is None  # whatever started it: a script, a loop
    if not (proven or by_its_agent(match, seen) or _in_bubblewrap(match, seen)):
        return f"the program that reads is not one that pack {match.pack.name} names"
    found = written(seen.screen, match.signature.composer)
    if found is None:
        return "the cursor is not in the composer"
    return None if found.empty else draft(found)


def by_its_agent(match: Match, seen: Snapshot) -> bool:
    """Whether the agent itself reads: by its name, or as the script of an interpreter in the foreground."""
    kernel, foreground = seen.kernel, seen.foreground
    if kernel is None or kernel.reader is not None or foreground is None:
        return False
    if foreground not in match.pack.foreground and foreground.rstrip("0123456789.") not in match.pack.foreground:
        return False
    if not all(is_of(match.pack, reader, kernel) for reader in kernel.readers or ()):
        return False
    alive = [member for member in kernel.members if not member.ended]
    present = {name for member in alive for name in (member.name, member.script)}
    agents = match.pack.foreground - INTERPRETERS
    return not agents.isdisjoint({foreground, *present})


def _in_bubblewrap(match: Match, seen: Snapshot) -> bool:
    """Whether only agents, each by its own name, read below bubblewrap, and nothing that runs there is hidden."""
    kernel, own = seen.kernel, match.pack.foreground - INTERPRETERS
    if kernel is None or kernel.reader is not None or seen.foreground != "bwrap" or not kernel.complete:
        return False
    readers = kernel.readers or ()
    return bool(readers) and all(is_of(match.pack, one, kernel) and own & {*one.names, one.script} for one in readers)


def draft(found: Written) -> str:
    """Where somebody's text may stand, in words."""
    where = "right of the cursor" if found.at_start else "left of the cursor"
    return f"somebody's text may stand in the composer, {where}"


# --- an agent that hangs ---


def doubt_of_work(verdict: Verdict, now: Snapshot) -> str | None:
    """Why this may not be an agent that surely says it works, above a composer without a draft; or None."""
    match, kernel = verdict.match, now.kernel or KernelFacts()
    if now.sealed:
        return "it is sealed: no key goes in, and it is not ended for hanging (stallkit stuck rebuild)"
    if verdict.state is not State.WORKING or match is None or match.signature.state is not State.WORKING:
        return f"it does not say that it works: it is {verdict.state} ({verdict.reasons[-1]})"
    if not verdict.sure_by_screen:
        return f"it may be a picture of an agent at work: {'; '.join(verdict.reasons)}"
    if any(one.counts and one.state is State.WAITING for one in verdict.signals):
        return "it says itself that it waits"
    if kernel.relay is not None or kernel.through is not None:
        return f"it is shown through {kernel.through or kernel.relay}"
    if not match.pack.foreground or not by_its_agent(match, now):
        return f"the program in the foreground is not one that pack {match.pack.name} names"
    return _doubt_of_composer(match, now)


def doubt_of_interrupt(verdict: Verdict, now: Snapshot, before: Snapshot) -> str | None:
    """Why Escape may reach something else than that agent's turn, from two looks; or None."""
    doubt = doubt_of_work(verdict, now)
    if doubt is not None:
        return doubt
    if now.kernel is None or not now.kernel.readers:
        return "which process reads the terminal is unknown"
    if verdict.match is not None and (doubt := unproven(verdict.match.pack, now.kernel)):
        return doubt
    return came_later(now, before)


def _doubt_of_composer(match: Match, now: Snapshot) -> str | None:
    """Whether a draft may stand there, or something in the composer's place, where its agent has one."""
    composers = {one.composer for one in match.pack.signatures if one.composer is not None}
    if not composers:
        return None
    found = [one for composer in composers if (one := written(now.screen, composer)) is not None]
    if not found:
        return "the cursor is not in its composer: something else may stand in its place"
    return next((draft(one) for one in found if not one.empty), None)
