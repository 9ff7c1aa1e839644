"""What the kernel claims: whether anything reads the terminal, and how."""

from __future__ import annotations

from stallkit.detect.signature import Kind, State
from stallkit.evidence.claim import Claim, Sign, Source, Weight
from stallkit.evidence.kernel_summary import asks_secret, guessed_kind
from stallkit.evidence.look import Look

__all__ = ["kernel_claim"]

HIDDEN_KEYS = "single keys are read with echo off, below words of a secret"
_NOBODY = "nothing in the foreground reads the terminal"


def kernel_claim(look: Look) -> Claim | None:
    """That something reads the terminal, or that nothing does; None where that is unknown.

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
