"""What programs claim of themselves: the best guarded of their signals, the marks of a shell, a progress bar.

The latter two (OSC 133, 9;4) come from the same stream as the screen, so a program that prints a fake prompt can print
them as well: neither removes a doubt about a prompt on the screen.
"""

from __future__ import annotations

from stallkit.detect.signature import State
from stallkit.evidence.claim import Claim, Sign, Source, Weight
from stallkit.evidence.look import Look
from stallkit.evidence.signal import Guard, decisive
from stallkit.word_tables import SHELLS

_WEIGHTS = {Guard.PROCESS: Weight.OWN_WORD, Guard.NAMED: Weight.SIGN, Guard.NONE: Weight.GUESS}


def signal_claim(look: Look) -> Claim | None:
    """What the signal says that decides."""
    says = decisive(look.heard)
    if says is None or says.state is None:
        return None
    no_menus = says.state is State.IDLE and (says.guard is Guard.NAMED or not says.menus)
    sign = Sign.RESTS if no_menus else Sign.SAYS
    return Claim(Source.SIGNAL, sign, says.state, says.kind, _WEIGHTS[says.guard], why=(says.told,))


def shell_claim(look: Look) -> Claim | None:
    """That the shell runs a command, or awaits one: if it is in the foreground, since any program can print that.

    Where an agent was and a shell is at its line editor, the agent said the former and is gone.
    """
    marks, foreground = look.snapshot.marks, look.snapshot.foreground
    if marks is None:
        return None
    if marks.shell == "running" and not (look.facts.edits_commands and look.agent_seen is not None):
        return Claim(Source.SHELL, Sign.RUNNING, State.WORKING, why=("but the shell runs a command (OSC 133)",))
    if marks.shell == "typing" and foreground in SHELLS:
        why = f"{foreground} awaits a command (OSC 133)"
        return Claim(Source.SHELL, Sign.AWAITS, State.ENDED, weight=Weight.SIGN, why=(why,))
    return None


def progress_claim(look: Look) -> Claim | None:
    """That the program shows progress."""
    bar = look.snapshot.marks and look.snapshot.marks.progress
    if not bar or not bar.shows_work:
        return None
    return Claim(Source.PROGRESS, Sign.BAR, State.WORKING, weight=Weight.SIGN, why=(f"but {bar} (OSC 9;4)",))
