"""What speaks beside the screen: the kernel, and the program itself.  Each corrects what the screen says."""

from __future__ import annotations

from typing import Sequence

from attrs import evolve, frozen

from stallkit.core.facts import KernelFacts, TtyFacts, listens
from stallkit.core.marks import Status, StatusKind, StatusState
from stallkit.core.signature import Certainty, Kind, State, Tier
from stallkit.core.verdict import Snapshot, Verdict

__all__ = ["Kernel", "agrees", "arguments", "by_report"]


def agrees(snapshot: Snapshot, history: Sequence[Snapshot]) -> bool:
    """Whether the look before shows the same."""
    return bool(history) and history[-1].screen.fingerprint == snapshot.screen.fingerprint


def arguments(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Each fact beside the screen, for a person, and what it argues for; what is unknown says so."""
    kernel, tty, marks = snapshot.kernel, snapshot.tty, snapshot.marks
    told = [(f"in the foreground: {snapshot.foreground or 'unknown'}", "whose prompt it can be")]
    if snapshot.quiet_s is None:
        told.append(("quiet: unknown", "nothing"))
    else:
        rests = f"quiet for {snapshot.quiet_s:.1f} s" if snapshot.quiet_s else "the screen is changing"
        told.append((rests, "waiting, or silent work" if snapshot.quiet_s else "working"))
    if kernel is None or kernel.listening is None:
        told.append(("reads the terminal: unknown", "nothing"))
    elif kernel.listening:
        told.append((f"reads the terminal: yes, in {kernel.how} ({kernel.looked_at} threads seen)", "waiting"))
    else:
        told.append((f"reads the terminal: no ({kernel.looked_at} threads seen)", "working; a prompt is only printed"))
    if kernel is not None and kernel.relay:
        told.append((f"relay: {kernel.relay}", "what it shows is another terminal's"))
    if tty is None or tty.echo is None:
        told.append(("echo and canonical mode: unknown", "nothing"))
    else:
        modes = f"echo {'on' if tty.echo else 'off'}, canonical mode {'on' if tty.canonical else 'off'}"
        secret = tty.canonical and not tty.echo
        told.append((modes, "a secret, if it reads" if secret else "lines" if tty.canonical else "single keys"))
    status = marks.strongest if marks else None
    told.append((f"OSC 7501: {status.state if status else 'none'}", _REPORTED[status.state] if status else "nothing"))
    return told


@frozen
class Kernel:
    """What the kernel says of one look, as far as it is known."""

    listening: bool | None  # something waits for a key: it reads, or polls while canonical mode is off
    rests: bool | None  # nothing was printed since the look before
    canonical: bool | None
    hides: bool  # echo off in canonical mode
    stopped: bool
    relay: str | None
    how: str

    @classmethod
    def of(cls, snapshot: Snapshot, history: Sequence[Snapshot]) -> Kernel:
        kernel, tty = snapshot.kernel or KernelFacts(), snapshot.tty or TtyFacts()
        rests = snapshot.quiet_s > 0 if snapshot.quiet_s is not None else None
        if rests is None and history:
            rests = agrees(snapshot, history)
        quiet = f" for {snapshot.quiet_s:.1f} s" if snapshot.quiet_s else ""
        return cls(
            listening=listens(kernel, tty),
            rests=rests,
            canonical=tty.canonical,
            hides=tty.echo is False and tty.canonical is True,
            stopped=kernel.stopped is True,
            relay=kernel.relay,
            how=f"{kernel.foreground or 'the foreground'} waits in {kernel.how} on the terminal{quiet}",
        )

    def correct(self, verdict: Verdict) -> Verdict:
        """What the screen says, confirmed or refuted."""
        if self.listening is None:
            secret = self.hides and verdict.state is State.WAITING
            return evolve(verdict, kind=Kind.SECRET, certainty=Certainty.MAYBE) if secret else verdict
        return self._read(verdict) if self.listening else self._unread(verdict)

    def _unread(self, verdict: Verdict) -> Verdict:
        """Nothing reads the terminal."""
        why = "nothing in the foreground reads the terminal"
        match verdict.state:
            case State.WORKING:
                quoted = verdict.match is not None and verdict.match.signature.state is not State.WORKING
                sure = Certainty.MAYBE if quoted else Certainty.SURE
                return _but(verdict, why, certainty=sure)
            case State.WAITING if self.canonical is False:
                # Raw, and somebody else may read: a pinentry, an agent between two looks at its keyboard.
                return _but(verdict, f"{why}; another process may", certainty=Certainty.MAYBE)
            case State.WAITING:
                return _but(
                    verdict, f"quoted or answered: {why}", state=State.WORKING, certainty=Certainty.MAYBE, kind=None
                )
        return _but(verdict, why, certainty=Certainty.MAYBE)

    def _read(self, verdict: Verdict) -> Verdict:
        """Something reads the terminal."""
        at_line = verdict.match is None or verdict.match.signature.tier >= Tier.PROMPT_LINE
        match verdict.state:
            case State.WAITING if at_line and self.rests is False:
                return _but(
                    verdict, "the screen is changing", state=State.WORKING, certainty=Certainty.MAYBE, kind=None
                )
            case State.WAITING:
                return _but(verdict, self.how)
            case State.WORKING if self.rests and self.relay:
                return _but(verdict, f"{self.relay} shows another terminal, which cannot be seen from here")
            case State.WORKING if self.rests and verdict.match is None:
                kind = Kind.TUI if self.canonical is False and verdict.detection.screen.alternate else Kind.TEXT
                why = (self.how, "no signature says what is asked")
                return Verdict(State.WAITING, Certainty.MAYBE, kind, verdict.detection, why)
            case State.WORKING if self.rests:
                return _but(verdict, f"but {self.how}", certainty=Certainty.MAYBE)
        return verdict


# What the program's own report (OSC 7501) says a session is doing, and what it waits for.
_REPORTED = {
    StatusState.BLOCKED: State.WAITING,
    StatusState.WORKING: State.WORKING,
    StatusState.IDLE: State.IDLE,
    StatusState.DONE: State.IDLE,
    StatusState.ERROR: State.IDLE,
}
_KIND_REPORTED = {
    StatusKind.PERMISSION: Kind.PERMISSION,
    StatusKind.QUESTION: Kind.QUESTION,
    StatusKind.AUTH: Kind.LOGIN,
}


def _reported_kind(status: Status) -> Kind | None:
    return _KIND_REPORTED[status.kind] if status.kind else None


def by_report(verdict: Verdict, status: Status | None) -> Verdict:
    """What the program says of itself: *blocked* settles waiting, all else ranks below a dialog and a limit of use.

    Over a shell's prompt, or a terminal that was stopped, it is stale, and only makes the verdict doubtful.
    """
    if status is None:
        return verdict
    said = f"the program reports {status.state} (OSC 7501)" + (f": {status.msg}" if status.msg else "")
    state = _REPORTED[status.state]
    signature = verdict.match.signature if verdict.match else None
    if verdict.state in (State.ENDED, State.UNKNOWN):
        outlived = status.state in (
            StatusState.IDLE,
            StatusState.DONE,
            StatusState.ERROR,
        )  # these outlive their program
        return verdict if outlived else _but(verdict, f"but {said}", certainty=Certainty.MAYBE)
    if state is State.WAITING:
        kind = verdict.kind if verdict.state is State.WAITING and verdict.kind else _reported_kind(status)
        # Whoever prints a fake prompt can print the report as well: it never lifts the doubt on a prompt that is seen.
        seen = signature is not None and signature.state is State.WAITING
        certainty = verdict.certainty if seen else Certainty.SURE
        return _but(verdict, said, state=state, certainty=certainty, kind=kind)
    if signature is not None and signature.tier in (Tier.DIALOG, Tier.QUOTA) and verdict.state is signature.state:
        return _but(verdict, said)
    return _but(verdict, said, state=state, certainty=Certainty.SURE, kind=None)


def _but(
    verdict: Verdict,
    why: str,
    state: State | None = None,
    certainty: Certainty | None = None,
    kind: Kind | bool | None = True,
) -> Verdict:
    """The verdict with one reason more, and what follows from it."""
    return evolve(
        verdict,
        state=state or verdict.state,
        certainty=certainty or verdict.certainty,
        kind=verdict.kind if isinstance(kind, bool) else kind,
        reasons=(*verdict.reasons, why),
    )
