"""What the kernel claims: whether anything reads the terminal, and how; and what the program in the foreground is.

While nothing else of its program can go on, a read that blocks waits for sure, whatever it asks.  Alone, that says
nothing of what is asked: a verdict that is sure only by this (`Verdict.by_read`) is no reason to press a key.
"""

from __future__ import annotations

from stallkit.detect.signature import Kind, State, Tier
from stallkit.evidence.agents import agents
from stallkit.evidence.claim import Claim, Sign, Source, Weight
from stallkit.evidence.look import Look, asks_secret, guessed_kind
from stallkit.evidence.snapshot import KernelFacts, Member
from stallkit.word_tables import ASKS_NOTHING, PAGERS, SHELLS

# --- reads ---

# In which nothing of the program was on a CPU: longer than a program takes between two polls of something else.
STILL_S = 2.0
HIDDEN_KEYS = "single keys are read with echo off, below words of a secret"
_NOBODY = "nothing in the foreground reads the terminal"


def kernel_claim(look: Look) -> Claim | None:
    """That something reads the terminal, or that nothing does; None if that is unknown.

    It is a sign where who is in front and whether the screen rests are known as well, else a guess.
    """
    facts, screen = look.facts, look.detection.screen
    weight = Weight.SIGN if facts.unknown is None else Weight.GUESS

    def claim(sign: Sign, state: State, *why: str, kind: Kind | None = None) -> Claim:
        return Claim(Source.KERNEL, sign, state, kind, weight, why=why)

    if facts.stopped:
        return claim(Sign.STOPPED, State.UNKNOWN, "the foreground job is stopped: it needs a signal, not a key")
    if facts.hides and facts.listening and facts.rests is not False:
        weight = Weight.GUESS if facts.unknown else Weight.PROOF
        why = "the terminal is read with echo off: a secret is being asked"
        return claim(Sign.SECRET, State.WAITING, facts.how, why, kind=Kind.SECRET)
    if facts.listening is None:
        if not facts.hides:
            return None
        return claim(Sign.HIDDEN, State.WAITING, "what is typed is hidden", kind=Kind.SECRET)
    if not facts.listening:
        if not (facts.canonical or facts.computes):  # it may sleep between two looks for a key
            return claim(Sign.NOBODY_MOVES, State.WORKING, _NOBODY, f"{_NOBODY}; another process may")
        if facts.canonical is False:
            return claim(Sign.NOBODY_READS_KEYS, State.WORKING, _NOBODY, f"{_NOBODY}; another process may")
        if facts.hides and facts.relayed:
            why = f"{_NOBODY}, as far as it is seen; but what is typed is hidden"
            return claim(Sign.NOBODY_SEEN, State.WAITING, _NOBODY, why, kind=Kind.SECRET)
        return claim(Sign.NOBODY_READS, State.WORKING, _NOBODY)
    if facts.rests is False:
        return claim(Sign.READS_MOVING, State.WORKING, facts.how)
    if facts.rests and facts.edits_commands and screen.prompt_line.text.strip():
        why = "no signature says what is asked, and a shell at its line editor asks nothing"
        return claim(Sign.LINE_EDITOR, State.ENDED, facts.how, why)
    if facts.rests and facts.computes:
        return claim(Sign.COMPUTES, State.WORKING, facts.how, f"{facts.how}, but something of it computes")
    kind = guessed_kind(screen, facts.canonical)
    secret = facts.takes_keys and look.detection.match is None and asks_secret(look.detection, kind)
    sign, asks = Sign.READS if facts.rests else Sign.READS_ONCE, (facts.how, "no signature says what is asked")
    if secret:
        return claim(sign, State.WAITING, *asks, HIDDEN_KEYS, kind=Kind.SECRET)
    return claim(sign, State.WAITING, *asks, kind=kind)


def _takes_commands(reader: Member) -> bool:
    """Whether it is a shell at its prompt, or an interpreter; of a shell that has to be known."""
    return reader.interactive is not False if reader.names & SHELLS else reader.interactive is True


def read_claim(look: Look) -> Claim | None:
    """That it waits, if that is proved; never of an agent, whose states are its screen's."""
    if proof_in_s(look) != 0.0:
        return None
    facts = look.facts
    kind = Kind.SECRET if facts.hides else guessed_kind(look.detection.screen, facts.canonical)
    why = f"nothing of it was on a CPU for {STILL_S:g} s: it goes on only when somebody types"
    return Claim(Source.READ, Sign.BLOCKS, State.WAITING, kind, Weight.PROOF, why=(facts.how, why))


def proof_in_s(look: Look) -> float | None:
    """How long it has still to stand until that proves that it waits; 0: it is proved; None: it cannot be.

    A shell that runs a script reads like any program (`sh -c 'read x'`); one that takes commands is at its prompt,
    which is an end and no question, and so is not an interpreter's either: their packs say what they show.
    """
    kernel, facts, known = look.snapshot.kernel, look.facts, look.detection.agents
    stands = kernel.standstill if kernel else None
    if kernel is None or stands is None or facts.unknown or (facts.relayed and not facts.hides):
        return None
    readers = kernel.readers or ()
    if any(map(_takes_commands, readers)) or (not readers and facts.foreground in SHELLS):
        return None
    if agents(known, kernel, look.agents_before) or facts.foreground in known:
        return None
    match = look.detection.match
    if look.agent_seen is not None and match is not None and match.signature.tier is Tier.ENDED:
        return None  # a shell's prompt where an agent was
    return max(0.0, STILL_S - stands.lasts_s)


# --- the program in the foreground ---

RUNNERS = frozenset({"make", "ninja"})  # what they run may ask, in the same foreground group


def foreground_claim(look: Look) -> Claim | None:
    """That a program is there which asks nothing, or a pager, or any program."""
    name = look.snapshot.foreground
    if name is None:
        return None
    runs = f"{name} runs in the foreground and shows no prompt"
    silent = _names(name, look.snapshot.kernel) & ASKS_NOTHING
    if silent and not (silent & RUNNERS and look.facts.listening is True):
        why = f"quoted or answered: {name} runs in the foreground and asks nothing"
        return Claim(Source.FOREGROUND, Sign.ASKS_NOTHING, State.WORKING, weight=Weight.SIGN, why=(runs, why))
    if name in PAGERS:
        why = f"{name} rests in the foreground"
        return Claim(Source.FOREGROUND, Sign.PAGER, State.WAITING, Kind.PAGER, why=(why,))
    return Claim(Source.FOREGROUND, Sign.RUNS, State.WORKING, why=(runs,))


def _names(name: str, kernel: KernelFacts | None) -> frozenset[str]:
    """What runs in the foreground by its name and, of a script, its own, unless another of its group reads."""
    members, readers = (kernel and kernel.members) or (), (kernel and kernel.readers) or ()
    if members and any(one != members[0] for one in readers):
        return frozenset({name})
    own = members[0].names if members else {(kernel and kernel.foreground) or name}
    return frozenset({name, *own})


def left_claim(look: Look) -> Claim | None:
    """That an agent ended and what started it lives on, or that its screen alone is shown."""
    match = look.detection.match
    if match is not None and (match.signature.tier is Tier.ENDED or match.signature.state is State.ENDED):
        return None  # its screen says so itself
    if look.left is None:
        return None
    why, sure, _ = look.left
    sign, weight = (Sign.OUTLIVED, Weight.PROOF) if sure else (Sign.PICTURE, Weight.GUESS)
    return Claim(Source.LEFT, sign, State.ENDED, weight=weight, why=(why,))
