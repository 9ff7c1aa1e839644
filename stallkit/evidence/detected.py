"""What the screen claims, by the signature that matched or as a whole, and that it changes from look to look."""

from __future__ import annotations

import re

from stallkit.detect.composer import names_person, talks, talks_here
from stallkit.detect.engine import Match
from stallkit.detect.signature import Certainty, Kind, Pack, State, Tier
from stallkit.evidence.agents import names_here, runs_another
from stallkit.evidence.claim import Claim, Sign, Source, Weight
from stallkit.evidence.kernel import HIDDEN_KEYS
from stallkit.evidence.look import Look, agrees, asks_secret, names_secret, speaks_of_secret
from stallkit.evidence.snapshot import KernelFacts, plain
from stallkit.terminal.screen import only_a_clock
from stallkit.word_tables import ANY_PROGRAM, EDITORS, INTERPRETERS, JAVASCRIPT, PAGERS, RELAYS, SHELLS

# The status line of tmux and screen: what is above it is another terminal's.
_MULTIPLEXER = re.compile(r"^\[[\w-]{1,20}\] ?\d+:\S.*\s*\Z|^ ?\d+[*$-]+ \S.*\s*\Z", re.MULTILINE)
_WRITTEN = re.compile(r"^[^\n]*\w", re.MULTILINE)
_REPORTED = (Kind.PERMISSION, Kind.QUESTION, Kind.LOGIN, Kind.SECRET)  # what a status report names as a wait
DRAWN = 3  # rows with words: fewer are a progress bar, a clock, or what a program printed before it draws


def screen_claim(look: Look) -> Claim | None:
    """What the signature says that matched, or the screen as a whole where none did."""
    match = look.detection.match
    return _matched(look, match) if match is not None else _unmatched(look)


def _matched(look: Look, match: Match) -> Claim:
    signature, foreground = match.signature, look.snapshot.foreground
    state, kind, doubts, like_shell = signature.state, signature.kind, _doubts(look, match), False
    seen = f"{match.pack.name}:{signature.id} on the line {match.line!r}"
    a_shell = foreground is None or (foreground in SHELLS | RELAYS and not _runs_script(look.snapshot.kernel))
    if state is State.ENDED and not a_shell:
        state, kind, like_shell = State.WAITING, Kind.REPL_PROMPT, True
        doubts += (f"it looks like a shell's prompt, but {foreground} runs in the foreground",)
    shown, line, may_chat = look.detection.screen, match.line, kind in (Kind.LOGIN, Kind.TEXT)
    if state is State.WAITING and may_chat and (talks_here(shown, line) or (names_person(line) and talks(shown))):
        why = "a person writes messages at it, as they stand above, or as what stands there says"
        return Claim(Source.SCREEN, Sign.OTHER, State.IDLE, why=(seen, why))
    if kind is Kind.LOGIN and names_person(match.line):
        kind = Kind.TEXT  # it may ask for a name, or for anything
    if kind is Kind.TEXT and names_secret("\n".join(span.text for span in match.spans)):
        kind = Kind.SECRET  # a wrong guess must not turn a secret into text
    waits, hidden = state is State.WAITING, tuple[str, ...]()
    if waits and look.facts.takes_keys and asks_secret(look.detection, kind):
        kind, hidden = Kind.SECRET, (HIDDEN_KEYS,)
    dialog = signature.tier < Tier.PROMPT_LINE
    own = waits and signature.tier is Tier.DIALOG and foreground in match.pack.foreground - INTERPRETERS
    weight = Weight.GUESS if doubts else Weight.OWN_WORD if own and not look.facts.relayed else Weight.SIGN
    menu = signature.tier is Tier.DIALOG and signature.dismissal is None and signature.kind not in _REPORTED
    asks = Sign.SHELL_LIKE if like_shell else Sign.MENU if menu else Sign.DIALOG if dialog else Sign.PROMPT
    agreed = () if doubts or signature.tier is not Tier.PROMPT_LINE else ("two looks agree",)
    return Claim(
        Source.SCREEN, asks if waits else Sign.OTHER, state, kind, weight, waits, (seen, *agreed, *doubts), hidden
    )


def _unmatched(look: Look) -> Claim | None:
    screen = look.detection.screen
    if look.detection.undecided:
        rule, clause = look.detection.undecided[0]
        why = f"undecided: {rule.name}, {clause} ran out of its budget"
        return Claim(Source.SCREEN, Sign.UNDECIDED, State.UNKNOWN, why=(why,))
    if not screen.text.strip():
        why = "the screen is empty, and nothing else is known"
        return Claim(Source.SCREEN, Sign.EMPTY, State.UNKNOWN, why=(why,))
    drawn = screen.alternate and len(_WRITTEN.findall(screen.text)) >= DRAWN
    if drawn and not _MULTIPLEXER.search(screen.text):
        kind = Kind.SECRET if speaks_of_secret(screen.text) else Kind.TUI
        why = "a program draws the whole screen, and nothing says that it works"
        return Claim(Source.SCREEN, Sign.DRAWN, State.WAITING, kind, why=("no signature matches", why))
    return None


def motion_claim(look: Look) -> Claim | None:
    """That the screen changes; not where only a clock does, nor where a dialog or a prompt stays among what moves."""
    match, facts = look.detection.match, look.facts
    if match is None:
        looks = look.history and not agrees(look.snapshot, look.history)
        moves = bool(looks) and not only_a_clock(look.history[-1].screen, look.snapshot.screen)
    else:
        line = match.signature.tier >= Tier.PROMPT_LINE
        still = facts.before is not None and match.stays(facts.before, look.detection.screen)
        moves = line and facts.rests is False and not still
    return Claim(Source.MOTION, Sign.CHANGES, State.WORKING, why=("the screen is changing",)) if moves else None


def _doubts(look: Look, match: Match) -> tuple[str, ...]:
    """Everything that keeps a match from being sure."""
    detection, snapshot, history = look.detection, look.snapshot, look.history
    signature, pack, foreground = match.signature, match.pack, snapshot.foreground
    doubts = [f"{rule.name} is undecided: {clause} ran out of its budget" for rule, clause in detection.undecided]
    if signature.certainty is Certainty.MAYBE:
        doubts.append("the signature itself is never sure")
    if signature.kind is Kind.LOGIN and names_person(match.line):
        doubts.append("it may be where a person writes messages")
    if pack.general and signature.state is State.IDLE and look.facts.rests is False:
        doubts.append("the screen changes, as it does while a program of this form works")
    if signature.preview:
        doubts.append("the signature is a preview: it was not measured yet")
    if snapshot.screen.cursor is None and signature.at_cursor:
        doubts.append("where the cursor stands is unknown")
    elif signature.tier is Tier.PROMPT_LINE and not (snapshot.quiet_s or agrees(snapshot, history)):
        again = bool(history) and match.stays(history[-1].screen, snapshot.screen)
        doubts.append("other rows of the screen move" if again else "seen in one look only")
    if foreground in EDITORS and signature.kind is not Kind.EDITOR:
        doubts.append(f"{foreground} is in the foreground: it may be text that is being edited")
    if foreground in PAGERS and signature.dismissal is not None and signature.kind is not Kind.PAGER:
        doubts.append(f"{foreground} is in the foreground: it may be text that is read, or a file's name")
    if signature.state is State.ENDED and foreground is None:
        doubts.append("the foreground process is unknown")
    built_with = not pack.own and foreground in detection.agents  # any agent may draw what a library draws
    if foreground is not None and not (built_with or _may_be_of(pack, foreground)):
        doubts.append(f"{foreground} runs in the foreground, not {' or '.join(sorted(pack.foreground))}")
    elif other := runs_another(pack, snapshot.kernel):
        doubts.append(f"{foreground} runs {other}, not {' or '.join(sorted(pack.own))}")
    elif pack.own and _runs_any(foreground, pack, snapshot.kernel):
        doubts.append(f"{foreground} runs any program, and which one is unknown")
    return tuple(doubts)


def _runs_any(foreground: str | None, pack: Pack, kernel: KernelFacts | None) -> bool:
    """Whether an interpreter is in front of which nothing says that it runs a program of the pack."""
    if plain(foreground or "") in ANY_PROGRAM:
        return not names_here(kernel) & pack.own
    return foreground in JAVASCRIPT and not any(one.script for one in (kernel.members if kernel else ()))


def _runs_script(kernel: KernelFacts | None) -> bool:
    """Whether what reads is a shell's script that another program started."""
    readers = (kernel and kernel.readers) or ()
    return any(one.interactive is False and kernel and one != kernel.members[0] for one in readers)


def _may_be_of(pack: Pack, foreground: str) -> bool:
    known = not pack.foreground or foreground in pack.foreground | RELAYS
    return known or foreground.rstrip("0123456789.") in INTERPRETERS
