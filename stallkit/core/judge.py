"""What a session is doing, judged from the screen and from the facts around it.

Pure.  The screen comes first: a signature, the foreground process by name, the previous looks.  Then the kernel
confirms or refutes it: does anything read the terminal?  Unknown facts never decide; facts that contradict lower the
certainty.  The rules are derived from counts on real screens (docs/judge.md).
"""

from __future__ import annotations

import re
from typing import Sequence

from stallkit.core.agents import agents, asked, led, runs_another, what_is_left
from stallkit.core.blocked_read import proved
from stallkit.core.by_form import by_form
from stallkit.core.claims import claims
from stallkit.core.classifier import Classifier
from stallkit.core.ended_turn import EndedTurn, ended_turn, of_failure, of_message
from stallkit.core.engine import Detection, Engine, Match
from stallkit.core.evidence import Kernel, agrees, asks_secret, names_secret, speaks_of_secret
from stallkit.core.facts import ASKS_NOTHING, EDITORS, INTERPRETERS, PAGERS, RELAYS, SHELLS, KernelFacts
from stallkit.core.features import talks
from stallkit.core.moved import only_a_clock, stays
from stallkit.core.ranking import decisive, ranked
from stallkit.core.reports import by_marks
from stallkit.core.retrying import retrying
from stallkit.core.said import names_person, talks_here
from stallkit.core.screen import Screen
from stallkit.core.signature import Certainty, Kind, Pack, State, Tier
from stallkit.core.values import evolve
from stallkit.core.verdict import Snapshot, Verdict

__all__ = ["judge", "judged"]

RUNNERS = frozenset({"make", "ninja"})  # what they run may ask, in the same foreground group
# The status line of tmux and screen: what is above it is another terminal's.
_MULTIPLEXER = re.compile(r"^\[[\w-]{1,20}\] ?\d+:\S.*\s*\Z|^ ?\d+[*$-]+ \S.*\s*\Z", re.MULTILINE)
_WRITTEN = re.compile(r"^[^\n]*\w", re.MULTILINE)
DRAWN = 3  # rows with words: fewer are a progress bar, a clock, or what a program printed before it draws


def judge(
    detection: Detection,
    snapshot: Snapshot,
    history: Sequence[Snapshot] = (),
    agent_seen: Snapshot | None = None,
    classifier: Classifier | None = None,
) -> Verdict:
    """The verdict on one look; `history` is the looks before it, oldest first.

    `agent_seen` is the latest look at this session whose verdict was that an agent is there (`Verdict.shows_agent`),
    however long ago: by it an agent that ended is known from one that never was.  `classifier` tells by its form what
    no signature of its own program knows: the shipped one, or another; `SILENT` tells nothing.

    A prompt on one line is sure when two looks in a row agree on it and the cursor is in it; a whole dialog is sure at
    once.  A prompt that nothing reads, or over a process that asks nothing, is quoted or answered.

    >>> from stallkit import Engine, Screen, Snapshot
    >>> screen = Screen.from_text("Proceed? [y/N] ")
    >>> str(judge(Engine.default().detect(screen), Snapshot(screen=screen)).certainty)
    'maybe'
    """
    if snapshot.alive is False:
        status = "unknown" if snapshot.exit_status is None else snapshot.exit_status
        return Verdict(State.GONE, Certainty.SURE, None, detection, (f"the process ended, exit status {status}",))
    before = history[-1].kernel if history else None
    if agent_seen is None and agents(detection.agents, before):
        agent_seen = history[-1]
    snapshot = led(snapshot, agents(detection.agents, snapshot.kernel))
    facts = Kernel.of(snapshot, history, detection.match)
    if facts.stopped:
        why = "the foreground job is stopped: it needs a signal, not a key"
        return Verdict(State.UNKNOWN, Certainty.MAYBE, None, detection, (why,))
    if facts.hides and facts.listening and facts.rests is not False:
        why = "the terminal is read with echo off: a secret is being asked"
        certainty = Certainty.MAYBE if facts.unknown else Certainty.SURE
        return Verdict(State.WAITING, certainty, Kind.SECRET, detection, (facts.how, why))
    verdict = facts.correct(_by_screen(detection, snapshot, history, reads=facts.listening is True))
    if facts.takes_keys and verdict.state is State.WAITING and asks_secret(verdict):
        why = "single keys are read with echo off, below words of a secret"
        verdict = verdict.but(why, kind=Kind.SECRET)
    verdict = by_form(verdict, snapshot, facts, classifier)
    verdict = proved(what_is_left(verdict, snapshot, agent_seen), snapshot, facts)
    signals = (*snapshot.signals, *claims(snapshot))
    if decisive(signals) is None:
        verdict = by_marks(verdict, snapshot.marks, snapshot.foreground, facts.edits_commands)
    verdict = ranked(evolve(verdict, signals=signals), signals) if signals else verdict
    if verdict.state in (State.WORKING, State.QUOTA):
        says = retrying(snapshot.screen)
        return verdict if says is None else evolve(verdict, retrying=says)
    return evolve(verdict, ended_turn=_ended_turn(verdict)) if verdict.state is State.IDLE else verdict


def _ended_turn(verdict: Verdict) -> EndedTurn:
    """How its turn ended: as it says itself, or else by its last message."""
    says = decisive(verdict.signals)
    if says is not None and says.error is None and says.fields.get("message"):
        return of_message(says.fields["message"])
    match = verdict.match
    composer = match.signature.composer if match else None
    top = match.spans[0].line if match and match.spans and composer is None else None
    shown = ended_turn(verdict.detection.screen, composer, top)
    return shown if says is None or says.error is None else of_failure(says.words, says.error, shown)


def judged(
    engine: Engine, now: Snapshot, before: Snapshot | None = None, agent_seen: Snapshot | None = None
) -> Verdict:
    """Detect and judge: the verdict on one look, given the one before it; `agent_seen` as for `judge`."""
    return judge(asked(engine, now), now, () if before is None else (before,), agent_seen)


def _by_screen(detection: Detection, snapshot: Snapshot, history: Sequence[Snapshot], reads: bool) -> Verdict:
    """The verdict from the screen, the foreground process by name, and the previous looks.

    `reads`: something in the foreground group is known to read the terminal.
    """
    match = detection.match
    if match is None:
        state, kind, reasons = _unmatched(detection, snapshot, history)
        return Verdict(state, Certainty.MAYBE, kind, detection, reasons)
    seen = f"{match.pack.name}:{match.signature.id} on the line {match.line!r}"
    foreground = snapshot.foreground
    state, kind = match.signature.state, match.signature.kind
    doubts = _doubts(detection, match, snapshot, history)
    silent = foreground in ASKS_NOTHING and not (reads and foreground in RUNNERS)
    if state in (State.WAITING, State.ENDED) and silent:
        why = f"quoted or answered: {foreground} runs in the foreground and asks nothing"
        return Verdict(State.WORKING, Certainty.MAYBE, None, detection, (seen, why))
    a_shell = foreground is None or (foreground in SHELLS | RELAYS and not _runs_script(snapshot.kernel))
    if state is State.ENDED and not a_shell:
        state, kind = State.WAITING, Kind.REPL_PROMPT
        doubts += (f"it looks like a shell's prompt, but {foreground} runs in the foreground",)
    if state is State.WAITING and kind in (Kind.LOGIN, Kind.TEXT) and _chats(detection.screen, match.line):
        why = "a person writes messages at it, as they stand above, or as what stands there says"
        return Verdict(State.IDLE, Certainty.MAYBE, None, detection, (seen, why))
    if kind is Kind.LOGIN and names_person(match.line):
        kind = Kind.TEXT  # it may ask for a name, or for anything
    if kind is Kind.TEXT and names_secret("\n".join(span.text for span in match.spans)):
        kind = Kind.SECRET  # a wrong guess must not turn a secret into text
    agreed = () if doubts or match.signature.tier is not Tier.PROMPT_LINE else ("two looks agree",)
    certainty = Certainty.MAYBE if doubts else Certainty.SURE
    return Verdict(state, certainty, kind, detection, (seen, *agreed, *doubts))


def _chats(screen: Screen, line: str) -> bool:
    """Whether a prompt is the name at which a person writes messages, or may."""
    return talks_here(screen, line) or (names_person(line) and talks(screen))


def _doubts(detection: Detection, match: Match, snapshot: Snapshot, history: Sequence[Snapshot]) -> tuple[str, ...]:
    """Everything that keeps a match from being sure."""
    signature, pack, foreground = match.signature, match.pack, snapshot.foreground
    doubts = [f"{rule.name} is undecided: {clause} ran out of its budget" for rule, clause in detection.undecided]
    if signature.certainty is Certainty.MAYBE:
        doubts.append("the signature itself is never sure")
    if signature.kind is Kind.LOGIN and names_person(match.line):
        doubts.append("it may be where a person writes messages")
    if signature.preview:
        doubts.append("the signature is a preview: it was not measured yet")
    if snapshot.screen.cursor is None and any(clause.where == "prompt_line" for clause in signature.all_of):
        doubts.append("where the cursor stands is unknown")
    elif signature.tier is Tier.PROMPT_LINE and not (snapshot.quiet_s or agrees(snapshot, history)):
        again = bool(history) and stays(match, history[-1].screen, snapshot.screen)
        doubts.append("other rows of the screen move" if again else "seen in one look only")
    if foreground in EDITORS and signature.kind is not Kind.EDITOR:
        doubts.append(f"{foreground} is in the foreground: it may be text that is being edited")
    if foreground in PAGERS and signature.dismissal is not None and signature.kind is not Kind.PAGER:
        doubts.append(f"{foreground} is in the foreground: it may be text that is read, or a file's name")
    if signature.state is State.ENDED and foreground is None:
        doubts.append("the foreground process is unknown")
    built_with = not pack.own and foreground in detection.agents  # any agent may draw what a library draws
    if pack.foreground and foreground is not None and not (_may_be_of(pack, foreground) or built_with):
        doubts.append(f"{foreground} runs in the foreground, not {' or '.join(sorted(pack.foreground))}")
    elif other := runs_another(pack, snapshot.kernel):
        doubts.append(f"{foreground} runs {other}, not {' or '.join(sorted(pack.own))}")
    return tuple(doubts)


def _runs_script(kernel: KernelFacts | None) -> bool:
    """Whether what reads is a shell's script that another program started."""
    readers = (kernel and kernel.readers) or ()
    return any(one.interactive is False and kernel and one != kernel.members[0] for one in readers)


def _may_be_of(pack: Pack, foreground: str) -> bool:
    return foreground in pack.foreground | RELAYS or foreground.rstrip("0123456789.") in INTERPRETERS


def _unmatched(
    detection: Detection, snapshot: Snapshot, history: Sequence[Snapshot]
) -> tuple[State, Kind | None, tuple[str, ...]]:
    """State, kind and reasons where no signature matched: always a guess."""
    nothing, foreground = "no signature matches", snapshot.foreground
    if detection.undecided:
        rule, clause = detection.undecided[0]
        return State.UNKNOWN, None, (f"undecided: {rule.name}, {clause} ran out of its budget",)
    if history and not agrees(snapshot, history) and not only_a_clock(history[-1].screen, snapshot.screen):
        return State.WORKING, None, (nothing, "the screen is changing")
    if foreground in PAGERS:
        return State.WAITING, Kind.PAGER, (nothing, f"{foreground} rests in the foreground")
    if foreground is not None:
        return State.WORKING, None, (nothing, f"{foreground} runs in the foreground and shows no prompt")
    if not snapshot.screen.text.strip():
        return State.UNKNOWN, None, ("the screen is empty, and nothing else is known",)
    if snapshot.screen.alternate and _draws_all(snapshot.screen):
        kind = Kind.SECRET if speaks_of_secret(snapshot.screen.text) else Kind.TUI
        return State.WAITING, kind, (nothing, "a program draws the whole screen, and nothing says that it works")
    return State.WORKING, None, (nothing,)


def _draws_all(screen: Screen) -> bool:
    """Whether a program draws a whole screen of its own: more than a few rows, and none of a multiplexer."""
    return len(_WRITTEN.findall(screen.text)) >= DRAWN and not _MULTIPLEXER.search(screen.text)
