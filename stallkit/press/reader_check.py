"""Who gets the key: the reason against a machine's key because of the process that reads the terminal.  Pure.

What a screen says was written by some process, and a key goes to whoever reads: perhaps to another one.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Mapping, Sequence

from stallkit.detect.engine import Match
from stallkit.detect.signature import Pack
from stallkit.evidence.snapshot import KernelFacts, Member, Snapshot, plain
from stallkit.judging.verdict import Verdict
from stallkit.word_tables import ASKS_NOTHING, EDITORS, INTERPRETERS, LINE_EDITORS, PAGERS, SHELLS, WRAPPERS

UNREAD = "which process reads the terminal is unknown"
# Seconds by which a program may start after its prompt was printed: a script prints, then starts what reads.
SLACK_S = 0.25


def doubt_of_reader(verdict: Verdict, now: Snapshot, before: Snapshot) -> str | None:
    """The reason against a machine's key, from who reads the terminal at two looks; None if there is none.

    Where the pack names its programs, one of them must read; else no shell, interpreter, editor or pager at which
    somebody types.  Whoever reads must have been there when the prompt came.
    """
    match, kernel = verdict.match, now.kernel or KernelFacts()
    if match is None:
        return "no signature matches"
    if kernel.reader is not None:
        return f"{kernel.reader} reads the terminal, from outside its foreground"
    if not kernel.readers:
        return UNREAD
    doubts = (_wrong_program(match, reader, kernel) for reader in kernel.readers)
    doubt = next(filter(None, doubts), None) or _silent(kernel) or _in_its_way(match, now, kernel)
    return doubt or came_later(now, before) or _beside(kernel, writers_alone=bool(match.pack.foreground))


def is_proven(name: str, path: str | None, executables: Sequence[str] = ()) -> bool:
    """Whether a process that runs this file is the program of that name: by its pack's patterns, else exactly.

    A `name` with a slash is the file itself.  What a program calls itself proves nothing.

    >>> is_proven("acme", "/opt/acme"), is_proven("acme", "/tmp/acme.js"), is_proven("acme", "/tmp/acme", ["*/bin/*"])
    (True, False, False)
    """
    if path is None:
        return False
    if executables:
        return any(fnmatchcase(path, pattern) for pattern in executables)
    return path == name if "/" in name else path.rpartition("/")[2] == name


def proven(programs: Mapping[str, Sequence[str]], kernel: KernelFacts | None) -> frozenset[str]:
    """The programs, of these with the patterns of their executables, that read the terminal and nothing else does.

    Empty if who reads is unknown.
    """
    if kernel is None or not kernel.readers or kernel.reader is not None:
        return frozenset()
    paths = [one.path for one in kernel.readers]
    return frozenset(name for name, known in programs.items() if all(is_proven(name, path, known) for path in paths))


def unproven(pack: Pack, kernel: KernelFacts | None) -> str | None:
    """Why it is not proven that all that reads is a program of the pack's own; None if it is, or the pack has none."""
    own = pack.own
    if not own or proven({name: pack.executables.get(name, ()) for name in own}, kernel):
        return None
    return f"that {' or '.join(sorted(own))} reads the terminal is not proven"


def is_of(pack: Pack, reader: Member, kernel: KernelFacts) -> bool:
    """Whether a process that reads the terminal may be a program that the pack names.

    It leads the group, or has a name of the pack's; an interpreter's only if the leader has no other: below an agent
    by name, a script of its interpreter is another program.  If the pack names interpreters alone, it is whatever reads
    below shells and launchers.  No shell, editor or pager is, whatever it is called.
    """
    if reader.names & (SHELLS | EDITORS | PAGERS):
        return False
    leader = next((member for member in kernel.members if member.pid == kernel.group), reader)
    own = pack.foreground - INTERPRETERS
    allowed = own if leader.names & own else pack.foreground
    others = [one for one in kernel.members if one.pid != reader.pid and not one.ended]
    alone = not own and all(one.names & (SHELLS | WRAPPERS) for one in others)
    return alone or reader.pid == kernel.group or bool(reader.names & allowed)


def came_later(now: Snapshot, before: Snapshot) -> str | None:
    """Why whoever reads the terminal may not be who wrote the prompt: it came later, or was not there before."""
    kernel, earlier = now.kernel or KernelFacts(), before.kernel or KernelFacts()
    if kernel.through and earlier.listening is None:  # a look at who is there does not go through a relay
        earlier = KernelFacts()
    for reader in kernel.readers or ():
        who = f"{_shown(reader)} (pid {reader.pid})"
        own = reader.pid == kernel.pid  # nothing was printed before the session's first process was there
        if not own and None not in (reader.began, now.printed_at) and _later(reader, now):
            return f"{who} reads the terminal, and was started after the prompt was printed"
        for seen in (kernel.first_seen, earlier.first_seen, earlier.readers):
            # No process at all is a look that found none.
            if seen and not any(reader.is_still(one) for one in seen):
                return f"{who} reads the terminal, and did not when the prompt was first seen"
    return None


def _later(reader: Member, now: Snapshot) -> bool:
    return (reader.began or 0.0) > (now.printed_at or 0.0) + SLACK_S


def _wrong_program(match: Match, reader: Member, kernel: KernelFacts) -> str | None:
    """Why this process cannot be the one that asks."""
    who, names = _shown(reader), reader.names
    if names & ASKS_NOTHING:
        return f"{who} reads the terminal, and asks nothing"
    if match.pack.foreground:
        ours = is_of(match.pack, reader, kernel)
        return None if ours else f"{who} reads the terminal, not a program that pack {match.pack.name} names"
    if names & LINE_EDITORS:
        return f"{who} reads the terminal: a half-typed command may stand there"
    if reader.interactive or (names & SHELLS and reader.interactive is not False):
        return f"{who} reads the terminal and runs no script: a half-typed command may stand there"
    return None


def _in_its_way(match: Match, now: Snapshot, kernel: KernelFacts) -> str | None:
    """What else on the terminal may have written the prompt, or edits the text at the cursor."""
    if match.pack.foreground:
        return None
    for member in kernel.members:
        if not member.ended and member.names & (EDITORS | PAGERS):
            return f"{_shown(member)} is among the programs in the foreground: it may be its text"
    shell = any(reader.names & SHELLS for reader in kernel.readers or ())
    single_keys = now.tty is not None and now.tty.canonical is False
    if shell and kernel.background is None:
        return "a shell reads the terminal, and whether it has other jobs is unknown"
    if kernel.background and (shell or single_keys):
        other = kernel.background[0]
        does = "is stopped" if other.stopped else "runs"
        return f"{_shown(other)} (pid {other.pid}) {does} in the background: it may have written the prompt"
    return None


def _silent(kernel: KernelFacts) -> str | None:
    """Whether what reads can show nothing on the terminal, so that another one wrote the prompt."""
    mute = [one for one in kernel.readers or () if kernel.writers is not None and one.pid not in kernel.writers]
    return f"{_shown(mute[0])} reads the terminal, and its words go elsewhere: another one wrote this" if mute else None


def _beside(kernel: KernelFacts, writers_alone: bool) -> str | None:
    """Whether a program of the foreground group neither reads nor waits for the one that does, as a shell would.

    An agent has helpers, whose words go to it: beside one, `writers_alone`, only what writes to the terminal counts.
    """
    alive = {member.pid: member for member in kernel.members if not member.ended}
    pid, waiting = (kernel.readers or kernel.members)[0].pid, set[int]()
    while pid in alive and pid not in waiting:
        waiting.add(pid)
        pid = alive[pid].parent or 0
    counts = {*(kernel.writers or ())} if writers_alone else alive.keys()
    other = next((one for one in alive.values() if one.pid not in waiting and one.pid in counts), None)
    if other is None:
        return None
    return f"{_shown(other)} (pid {other.pid}) is in the foreground as well: it may have written the prompt"


def _shown(member: Member) -> str:
    """Its name for a person, with that of its executable where it goes by another."""
    name = member.called or member.name
    return name if member.image is None or plain(member.image) == plain(name) else f"{name} ({member.image})"
