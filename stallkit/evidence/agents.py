"""Which agents are in a terminal's foreground, which packs can be asked, and what is left where an agent ended.  Pure.

An agent is a program that a pack names.  Often another one starts it (a loop in a shell, npm, su, timeout), so every
process of the foreground counts, not only the first.  What is not known decides nothing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Collection, Iterable, Sequence

from attrs import evolve

from stallkit.detect.agent import Vocabulary
from stallkit.detect.engine import Detection, Engine
from stallkit.detect.signature import Pack
from stallkit.evidence.osc import claims
from stallkit.evidence.signal import Guard
from stallkit.evidence.snapshot import KernelFacts, Member, ProcessFacts, Snapshot, names_of, plain
from stallkit.word_tables import ANY_NAME, ASKS_NOTHING, INTERPRETERS, RELAYS, SHELLS, STARTERS, WRAPPERS

_PAUSES = frozenset({"sleep"})
_ELSEWHERE = RELAYS - STARTERS


class AfterExit(StrEnum):
    """What is left in a session whose state is *ended*."""

    SHELL = "shell"  # a shell at its prompt, and no agent was there at the looks that were given
    AGENT = "agent"  # a shell at its prompt, where an agent was
    WRAPPED = "wrapped"  # what started the agent: it may start it again, ask, or do nothing


def agents(
    known: frozenset[str], kernel: KernelFacts | None, before: KernelFacts | None = None
) -> frozenset[str] | None:
    """The agents in the foreground, of those that are known by name; None if one may be there unseen.

    `before` are the facts of a look at which an agent was there: what was beside it is none itself.
    """
    if kernel is None or not kernel.members:
        return None
    beside = _beside(known, before)
    alive = [one for one in _alive(kernel) if not _is_among(one, beside)]
    found = frozenset(name for one in alive for name in _known(known, one))
    if found:
        return found
    # An interpreter whose script is not known for one may be an agent of another name.
    may_be = any(one.names & INTERPRETERS and not one.names & WRAPPERS for one in alive)
    return frozenset() if _all_seen(kernel) and not may_be else None


def agents_of(known: frozenset[str], kernel: KernelFacts | None) -> list[Member]:
    """The agents themselves: by their own names, or else by that of an interpreter's script."""
    there = [one for one in (_alive(kernel) if kernel else ()) if _known(known, one)]
    return [one for one in there if one.names & known] or there


def asked(engine: Engine, now: Snapshot, since: Detection | None = None) -> Detection:
    """What the engine finds on the screen, without the packs whose programs are known not to be there.

    `since`, an earlier detection, is returned as it is where neither the screen nor that has changed.

    >>> from stallkit.terminal.screen import Screen
    >>> asked(Engine([]), Snapshot(screen=Screen.from_text(""))).not_asked
    frozenset()
    """
    absent = _absent(engine, now)
    same = since is not None and since.screen == now.screen and since.not_asked == absent
    if since is not None and same and not since.undecided:  # a pattern that ran out of time may succeed now
        return since
    found = engine.detect(now.screen)
    rules = [*(rule for rule, _ in found.undecided), *(veto.rule for veto in found.vetoed)]
    left = found.match if found.match and found.match.pack.name in absent else None
    if left is None and absent.isdisjoint(rule.pack.name for rule in rules):
        return evolve(found, not_asked=absent)
    return evolve(engine.detect(now.screen, without=absent), not_asked=absent, left=left)


def runs_another(pack: Pack, kernel: KernelFacts | None) -> str | None:
    """The program that an interpreter in the foreground runs, if that is none of a pack's own by its name; or None.

    >>> kernel = KernelFacts(members=(Member(1, "node", "S", script="kiro"),))
    >>> runs_another(Pack("acme", foreground=["acme", "node"]), kernel)
    'kiro'
    """
    alive = _alive(kernel) if kernel else []
    scripts = [one.script for one in alive if one.names & INTERPRETERS and not one.names & WRAPPERS]
    if not pack.own or not scripts or any(_programs(one) & pack.own for one in alive):
        return None
    return scripts[0] if all(script and plain(script) not in ANY_NAME for script in scripts) else None


def led(now: Snapshot, here: frozenset[str] | None) -> Snapshot:
    """The look with who asks as its foreground process: an agent that another program started, else what reads.

    A program that reads and asks nothing reads for the one that started it: `key=$(head -c1)`.
    """
    kernel = now.kernel
    if kernel is None or not kernel.members or now.foreground in (here or ()):
        return now
    first = kernel.members[0]
    reads = [one for one in kernel.readers or () if not one.names & ASKS_NOTHING]
    if here and first.names & (WRAPPERS | SHELLS | INTERPRETERS):
        name = next(name for one in _alive(kernel) for name in sorted(_known(here, one)))
    elif reads and first not in reads:
        name = min(_known(here or frozenset(), reads[0]), default=reads[0].called or reads[0].name)
    else:  # a program that may show its own text, such as an editor
        return now
    process = evolve(now.process or ProcessFacts(), foreground=name)
    return evolve(now, process=process, kernel=evolve(kernel, foreground=name))


def left_of(detection: Detection, now: Snapshot, seen: Snapshot | None) -> tuple[str, bool, AfterExit] | None:
    """Why an agent is known to have ended, whether that is sure, and what is left; None if it may be there."""
    known, kernel = detection.agents, now.kernel or KernelFacts()
    before = seen.kernel if seen is not None and seen.identity == now.identity else None
    there = agents(known, now.kernel, before)
    if there is None or there:
        return None
    alive, left = _alive(kernel), detection.left
    beside, gone = _beside(known, before), agents_of(known, before)
    if any(_is_among(one, gone) for one in kernel.background or ()):
        return None  # it was sent to the background
    if not all(starts_others(one) or _is_among(one, beside) for one in alive):
        return None
    parents = {_outlived_by(one, beside, alive) for one in gone}
    by = next((one for one in alive if _started(one, parents, beside)), None)
    if by is not None:
        why = f"{_names(known, gone)} ended, and {by.called or by.name}, which started it, lives on"
    elif gone and _takes_commands(alive) and kernel.listening is True and kernel.background == ():
        # An interactive shell alone, as after script, which ends with it, over what it had drawn.
        by = alive[0]
        why = f"{_names(known, gone)} ended, and {by.called or by.name} reads the next command"
    elif left is not None and left.pack.own:  # any program may draw what a library draws
        why = f"{left.pack.name}:{left.signature.id} stands on the screen, and none of its programs is there"
    else:
        return None
    return why, by is not None, AfterExit.AGENT if gone and _takes_commands(alive) else AfterExit.WRAPPED


def starts_others(member: Member) -> bool:
    """Whether it is no agent itself, but a shell, a wrapper, or the pause before one is started again."""
    return bool(member.names & (SHELLS | WRAPPERS | _PAUSES))


def left_to(member: Member, now: Snapshot) -> str | None:
    """That a process ended, and only what starts others lives on where it was; None if that is not surely so."""
    kernel = now.kernel or KernelFacts()
    alive = _alive(kernel)
    if not alive or not kernel.complete or _is_among(member, (*alive, *(kernel.background or ()))):
        return None
    if not all(map(starts_others, (*alive, *(kernel.background or ())))):
        return None
    return f"{member.called or member.name} ended, and {alive[0].called or alive[0].name} is there"


def _takes_commands(alive: Sequence[Member]) -> bool:
    return bool(alive) and all(one.interactive and one.names & SHELLS for one in alive)


def _say_their_names(now: Snapshot, known: frozenset[str], words: Vocabulary) -> frozenset[str]:
    """The agents that say themselves that they are there, by a guarded signal; or by name, where no more is known."""
    says = (*now.signals, *claims(now, words))
    names = {one.app for one in says if one.app and one.counts and one.guard is not Guard.NONE}
    if now.foreground in known and not (now.kernel and now.kernel.members):
        names.add(now.foreground)
    return frozenset(names)


def _absent(engine: Engine, now: Snapshot) -> frozenset[str]:
    """The packs none of whose programs can be there."""
    kernel, names = now.kernel or KernelFacts(), _say_their_names(now, engine.agents, engine.words)
    here = names or agents(engine.agents, kernel)
    if here is None or _is_relayed(kernel):
        return frozenset()
    run = names.union(*map(_runs, _alive(kernel)))
    # Where an agent is there, an interpreter of a pack's own is no sign of it, and its prompts may be anybody's.
    named = engine.programs_themselves if here else engine.programs
    return frozenset([pack for pack, programs in named if programs.isdisjoint(run)])


def _alive(kernel: KernelFacts) -> list[Member]:
    return [one for one in (*kernel.members, *kernel.below) if not one.ended]


def _programs(member: Member) -> frozenset[str]:
    """The names of what it runs: its own, and that of its script."""
    return member.names | names_of(member.script, None, None) if member.script else member.names


def names_here(kernel: KernelFacts | None) -> frozenset[str]:
    """The names of what is in the foreground, as far as they are known."""
    if kernel is None:
        return frozenset()
    return frozenset(filter(None, [kernel.foreground])).union(*map(_programs, kernel.members))


def _runs(member: Member) -> frozenset[str]:
    """The programs that it may be: npm is run by an interpreter, but no other script than npm."""
    return _programs(member) - (INTERPRETERS - WRAPPERS) if member.names & WRAPPERS else _programs(member)


def _known(known: frozenset[str], member: Member) -> frozenset[str]:
    """The agents that it may be by name; a shell's script of that name is none."""
    return frozenset() if member.names & SHELLS else _programs(member) & known


def _is_relayed(kernel: KernelFacts) -> bool:
    """Whether some of what the terminal shows may be of programs that are not to be seen."""
    if kernel.relay is not None and kernel.relay not in STARTERS:
        return True
    return any(one.names & _ELSEWHERE for one in _alive(kernel))


def _all_seen(kernel: KernelFacts) -> bool:
    """Whether no program is there that is not to be seen."""
    if not kernel.complete or _is_relayed(kernel):
        return False
    # Whether a program that nobody knows shows another terminal is only found out where all threads are looked at.
    return kernel.looked_at > 0 or all(one.names & (SHELLS | WRAPPERS | _PAUSES) for one in _alive(kernel))


def _beside(known: frozenset[str], kernel: KernelFacts | None) -> list[Member]:
    """What runs beside an agent; nothing if no agent runs."""
    there = agents_of(known, kernel)
    return [one for one in _alive(kernel) if one not in there] if kernel and there else []


def _is_among(member: Member, others: Iterable[Member]) -> bool:
    return any(member.is_still(other) for other in others)


def _outlived_by(gone: Member, beside: Sequence[Member], alive: Sequence[Member]) -> int | None:
    """The pid of the nearest process above one that is not gone with it, as a launcher goes with its program."""
    launchers = {one.pid: one for one in beside if not _is_among(one, alive)}
    parent, seen = gone.parent, set[int | None]()
    while parent in launchers and parent not in seen:
        seen.add(parent)
        parent = launchers[parent].parent
    return parent


def _started(member: Member, parents: Collection[int | None], beside: Sequence[Member]) -> bool:
    """Whether it was there beside one of them, had started it, or is the pause before that is done again."""
    if any((member.pid, member.started) == (one.pid, one.started) for one in beside):
        return True  # as a shell becomes its last command
    return member.pid in parents or (member.parent in parents and bool(member.names & _PAUSES))


def _names(known: frozenset[str], gone: Iterable[Member]) -> str:
    return ", ".join(sorted({min(_known(known, one)) for one in gone}))
